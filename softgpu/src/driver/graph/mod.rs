//! Graphs: work recorded once and launched many times.
//!
//! A launch puts the nodes on the stream in an order that respects the edges. Nodes without a dependency between them
//! run one after the other, which is one of the orders that the vendors allow.

mod exec;
mod memory;
mod order;
mod work;

pub use exec::{EXECS, GraphExec, Instantiate, UpdateFailure, UpdateResult};
pub use memory::{GraphMemory, usage as memory_usage};
pub use work::{NodeKind, Work};

use super::context::Context;
use super::error::{Error, Result};
use super::handle::{Handle, Registry, fresh};
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Every live graph.
pub static GRAPHS: Registry<Graph> = Registry::new("graphs");
/// Which graph a node belongs to.
static NODES: RwLock<BTreeMap<Handle, Handle>> = RwLock::new(BTreeMap::new());

/// A node.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its handle, unique among all nodes.
    pub handle: Handle,
    /// Nodes of the same graph that come before it.
    pub after: Vec<Handle>,
    /// What it does.
    pub work: Work,
    /// The node that it is a clone of.
    pub origin: Option<Handle>,
}

/// A graph.
#[derive(Debug)]
pub struct Graph {
    /// Its handle.
    pub handle: Handle,
    context: Handle,
    /// Whether it belongs to a node of another graph, and goes with it.
    is_child: bool,
    nodes: Mutex<Vec<Node>>,
}

impl Graph {
    /// The context it belongs to.
    pub(super) fn context(&self) -> Handle {
        self.context
    }

    /// Makes an empty graph.
    pub fn create(context: &Context) -> Arc<Self> {
        Self::register(context.handle, false)
    }

    fn register(context: Handle, is_child: bool) -> Arc<Self> {
        GRAPHS.insert_with(|handle| Self { handle, context, is_child, nodes: Mutex::default() })
    }

    /// Destroys a graph. Executables made from it live on. A graph that belongs to a node goes with it, and not before.
    pub fn destroy(handle: Handle) -> Result<()> {
        if GRAPHS.get(handle)?.is_child {
            return Err(Error::INVALID_VALUE);
        }
        GRAPHS.remove(handle)?.forget_nodes();
        Ok(())
    }

    /// Makes the handles of its nodes unknown, and those of the graphs they own.
    fn forget_nodes(&self) {
        let nodes = std::mem::take(&mut *self.nodes.lock());
        let mut owners = NODES.write();
        for node in &nodes {
            owners.remove(&node.handle);
        }
        drop(owners);
        nodes.into_iter().for_each(|node| forget_work(&node.work));
    }

    /// The graph that a node belongs to.
    pub fn of_node(node: Handle) -> Result<Arc<Self>> {
        let graph = NODES.read().get(&node).copied().ok_or(Error::INVALID_VALUE)?;
        GRAPHS.get(graph).map_err(|_| Error::INVALID_VALUE)
    }

    /// Adds a node after others of this graph.
    pub fn add(&self, after: &[Handle], work: Work) -> Result<Handle> {
        self.insert(after, work, None)
    }

    fn insert(&self, after: &[Handle], work: Work, origin: Option<Handle>) -> Result<Handle> {
        if self.is_child && work.is_memory() {
            return Err(Error::NOT_SUPPORTED);
        }
        let mut nodes = self.nodes.lock();
        let mut seen: Vec<Handle> = Vec::with_capacity(after.len());
        for handle in after {
            let known = nodes.iter().any(|node| node.handle == *handle);
            if !known || seen.contains(handle) {
                return Err(Error::INVALID_VALUE);
            }
            seen.push(*handle);
        }
        if let Work::Free(memory) = &work {
            memory.claim_free_node()?;
        }
        let handle = fresh();
        nodes.push(Node { handle, after: seen, work, origin });
        NODES.write().insert(handle, self.handle);
        Ok(handle)
    }

    /// Work that runs a copy of a graph as it is now. Graphs that allocate cannot be copied.
    pub fn as_child(&self) -> Result<Work> {
        self.copy(true).map(Work::Child)
    }

    /// Makes a graph with the same work and the same order.
    pub fn duplicate(&self) -> Result<Arc<Self>> {
        self.copy(false)
    }

    fn copy(&self, is_child: bool) -> Result<Arc<Self>> {
        Self::with_nodes(self.context, &self.nodes(), is_child)
    }

    /// A graph for a child node, with copies of these nodes.
    fn child_of(context: Handle, nodes: Vec<Node>) -> Result<Arc<Self>> {
        Self::with_nodes(context, &nodes, true)
    }

    fn with_nodes(context: Handle, nodes: &[Node], is_child: bool) -> Result<Arc<Self>> {
        if nodes.iter().any(|node| node.work.is_memory()) {
            return Err(Error::NOT_SUPPORTED);
        }
        let copy = Self::register(context, is_child);
        let filled = copy.fill_from(nodes);
        if filled.is_err() {
            drop(GRAPHS.remove(copy.handle));
            copy.forget_nodes();
        }
        filled.map(|()| copy)
    }

    fn fill_from(&self, nodes: &[Node]) -> Result<()> {
        let mut known = HashMap::new();
        for node in nodes {
            let work = match &node.work {
                Work::Child(child) => child.as_child()?,
                other => other.clone(),
            };
            known.insert(node.handle, self.insert(&[], work, Some(node.handle))?);
        }
        // An edge may lead to a node that is older than where it comes from.
        for node in nodes {
            for before in &node.after {
                let ends = known.get(before).zip(known.get(&node.handle));
                ends.map_or(Ok(()), |(from, to)| self.connect(*from, *to))?;
            }
        }
        Ok(())
    }

    /// The node that is the copy of `original`.
    pub fn find_copy(&self, original: Handle) -> Result<Handle> {
        let nodes = self.nodes.lock();
        let found = nodes.iter().find(|node| node.origin == Some(original));
        found.map(|node| node.handle).ok_or(Error::INVALID_VALUE)
    }

    /// Puts one node after another. Circles are found when the graph is instantiated.
    pub fn connect(&self, from: Handle, to: Handle) -> Result<()> {
        let mut nodes = self.nodes.lock();
        if from == to || !nodes.iter().any(|node| node.handle == from) {
            return Err(Error::INVALID_VALUE);
        }
        let node = nodes.iter_mut().find(|node| node.handle == to).ok_or(Error::INVALID_VALUE)?;
        if node.after.contains(&from) {
            return Err(Error::INVALID_VALUE);
        }
        node.after.push(from);
        Ok(())
    }

    /// Undoes [`Graph::connect`].
    pub fn disconnect(&self, from: Handle, to: Handle) -> Result<()> {
        let mut nodes = self.nodes.lock();
        let node = nodes.iter_mut().find(|node| node.handle == to).ok_or(Error::INVALID_VALUE)?;
        let at = node.after.iter().position(|before| *before == from).ok_or(Error::INVALID_VALUE)?;
        node.after.remove(at);
        Ok(())
    }

    /// Removes a node and its edges.
    pub fn remove(&self, handle: Handle) -> Result<()> {
        let mut nodes = self.nodes.lock();
        let at = nodes.iter().position(|node| node.handle == handle).ok_or(Error::INVALID_VALUE)?;
        if nodes[at].work.is_memory() {
            return Err(Error::NOT_SUPPORTED);
        }
        let removed = nodes.remove(at);
        nodes.iter_mut().for_each(|node| node.after.retain(|before| *before != handle));
        drop(nodes);
        NODES.write().remove(&handle);
        forget_work(&removed.work);
        Ok(())
    }

    /// The nodes, in order of creation.
    pub fn nodes(&self) -> Vec<Node> {
        self.nodes.lock().clone()
    }

    /// The handles of the nodes, in order of creation.
    pub fn node_handles(&self) -> Vec<Handle> {
        self.nodes.lock().iter().map(|node| node.handle).collect()
    }

    /// The nodes that wait for no other.
    pub fn roots(&self) -> Vec<Handle> {
        let nodes = self.nodes.lock();
        nodes.iter().filter(|node| node.after.is_empty()).map(|node| node.handle).collect()
    }

    /// Which nodes come before which.
    pub fn edges(&self) -> Vec<(Handle, Handle)> {
        let nodes = self.nodes.lock();
        nodes.iter().flat_map(|node| node.after.iter().map(|before| (*before, node.handle))).collect()
    }

    /// One node.
    pub fn node(&self, handle: Handle) -> Result<Node> {
        let nodes = self.nodes.lock();
        nodes.iter().find(|node| node.handle == handle).cloned().ok_or(Error::INVALID_VALUE)
    }

    /// Gives a node new parameters of the same kind. Executables keep the old ones.
    pub fn set_work(&self, handle: Handle, work: Work) -> Result<()> {
        let mut nodes = self.nodes.lock();
        let node = nodes.iter_mut().find(|node| node.handle == handle).ok_or(Error::INVALID_VALUE)?;
        if node.work.kind() != work.kind() || work.is_memory() {
            return Err(Error::INVALID_VALUE);
        }
        let old = std::mem::replace(&mut node.work, work);
        drop(nodes);
        forget_work(&old);
        Ok(())
    }
}

/// Lets go of the graph that a node owned.
fn forget_work(work: &Work) {
    if let Work::Child(child) = work {
        // It may be gone with its context.
        drop(GRAPHS.remove(child.handle));
        child.forget_nodes();
    }
}

/// What one node does, whatever graph it is in.
pub fn work_of(node: Handle) -> Result<Work> {
    Graph::of_node(node)?.node(node).map(|node| node.work)
}

/// Gives a node of a graph new parameters of the same kind.
pub fn set_work_of(node: Handle, work: Work) -> Result<()> {
    Graph::of_node(node)?.set_work(node, work)
}

/// Forgets the graphs of a context that is gone.
pub(super) fn remove_of(context: Handle) {
    for graph in GRAPHS.remove_where(|graph| graph.context == context) {
        graph.forget_nodes();
    }
    exec::remove_of(context);
}
