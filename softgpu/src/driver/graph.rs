//! Graphs: work recorded once and launched many times.
//!
//! A node can only depend on nodes that exist, so the order of creation is an order of execution; a launch puts the
//! nodes on the stream in that order. Nodes without a dependency between them run one after the other, which is one
//! of the orders that the vendors allow.

use super::context::Context;
use super::copy::{Copy, Fill};
use super::error::{Error, Result};
use super::event::{Event, Stamp};
use super::handle::{Handle, Registry, fresh};
use super::launch::Launch;
use super::op::{HostFunction, Op};
use super::stream::{Point, Stream};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

/// Every live graph.
pub static GRAPHS: Registry<Graph> = Registry::new("graphs");
/// Every live executable graph.
pub static EXECS: Registry<GraphExec> = Registry::new("executable graphs");

/// What a node does.
#[derive(Clone)]
pub enum Work {
    /// Nothing: a point to depend on.
    Empty,
    /// Runs a kernel.
    Launch(Arc<Launch>),
    /// Copies memory; `None` copies nothing.
    Copy(Option<Arc<Copy>>),
    /// Fills memory; `None` fills nothing.
    Fill(Option<Arc<Fill>>),
    /// Records an event.
    Record(Arc<Event>),
    /// Waits for an event as it stands at launch.
    WaitEvent(Arc<Event>),
    /// Calls into the program.
    Host(HostFunction),
    /// The nodes of another graph, as they were when the node was made.
    Child(Vec<Node>),
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "Empty",
            Self::Launch(_) => "Launch",
            Self::Copy(_) => "Copy",
            Self::Fill(_) => "Fill",
            Self::Record(_) => "Record",
            Self::WaitEvent(_) => "WaitEvent",
            Self::Host(_) => "Host",
            Self::Child(_) => "Child",
        })
    }
}

/// A node.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its handle, unique among all nodes.
    pub handle: Handle,
    /// Nodes of the same graph that come before it.
    pub after: Vec<Handle>,
    /// What it does.
    pub work: Work,
}

/// A graph.
#[derive(Debug)]
pub struct Graph {
    /// Its handle.
    pub handle: Handle,
    context: Handle,
    nodes: Mutex<Vec<Node>>,
}

impl Graph {
    /// Makes an empty graph.
    pub fn create(context: &Context) -> Arc<Self> {
        GRAPHS.insert_with(|handle| Self { handle, context: context.handle, nodes: Mutex::default() })
    }

    /// Destroys a graph. Executables made from it live on.
    pub fn destroy(handle: Handle) -> Result<()> {
        GRAPHS.remove(handle).map(drop)
    }

    /// Adds a node after others of this graph.
    pub fn add(&self, after: &[Handle], work: Work) -> Result<Handle> {
        let mut nodes = self.nodes.lock();
        let mut seen: Vec<Handle> = Vec::with_capacity(after.len());
        for handle in after {
            let known = nodes.iter().any(|node| node.handle == *handle);
            if !known || seen.contains(handle) {
                return Err(Error::INVALID_VALUE);
            }
            seen.push(*handle);
        }
        let handle = fresh();
        nodes.push(Node { handle, after: seen, work });
        Ok(handle)
    }

    /// The nodes, in order of creation.
    pub fn nodes(&self) -> Vec<Node> {
        self.nodes.lock().clone()
    }

    /// Makes an executable of the graph as it is now.
    pub fn instantiate(&self) -> Arc<GraphExec> {
        let nodes = self.nodes();
        EXECS.insert_with(|handle| GraphExec {
            handle,
            context: self.context,
            nodes: Mutex::new(nodes),
            last: Mutex::new(None),
        })
    }
}

/// An executable graph.
#[derive(Debug)]
pub struct GraphExec {
    /// Its handle.
    pub handle: Handle,
    context: Handle,
    nodes: Mutex<Vec<Node>>,
    last: Mutex<Option<Point>>,
}

impl GraphExec {
    /// Destroys an executable. Launches that were made still run.
    pub fn destroy(handle: Handle) -> Result<()> {
        EXECS.remove(handle).map(drop)
    }

    /// Gives a node new parameters of the same kind. Launches that were made keep the old ones.
    pub fn set_work(&self, node: Handle, work: Work) -> Result<()> {
        let mut nodes = self.nodes.lock();
        let node = nodes.iter_mut().find(|other| other.handle == node).ok_or(Error::INVALID_VALUE)?;
        if std::mem::discriminant(&node.work) != std::mem::discriminant(&work) {
            return Err(Error::INVALID_VALUE);
        }
        node.work = work;
        Ok(())
    }

    /// Puts the graph on a stream. Launches of one executable run one after the other, on whatever streams.
    pub fn launch(&self, stream: &Arc<Stream>) -> Result<()> {
        let mut last = self.last.lock();
        let mut ops = Vec::new();
        let mut records = Vec::new();
        ops.extend(last.as_ref().filter(|point| !point.reached()).map(|point| Op::Wait(vec![point.clone()])));
        flatten(&self.nodes.lock(), &mut ops, &mut records);
        let point = stream.enqueue(ops)?;
        for (event, stamp) in records {
            event.recorded(point.clone(), stamp);
        }
        *last = Some(point);
        Ok(())
    }
}

fn flatten(nodes: &[Node], ops: &mut Vec<Op>, records: &mut Vec<(Arc<Event>, Arc<Stamp>)>) {
    for node in nodes {
        match &node.work {
            Work::Empty => {}
            Work::Launch(launch) => ops.push(Op::Launch(launch.clone())),
            Work::Copy(copy) => ops.extend(copy.clone().map(Op::Copy)),
            Work::Fill(fill) => ops.extend(fill.clone().map(Op::Fill)),
            Work::Record(event) => {
                let stamp = Arc::new(Stamp::default());
                ops.push(Op::Record(stamp.clone()));
                records.push((event.clone(), stamp));
            }
            Work::WaitEvent(event) => ops.extend(event.pending().map(|point| Op::Wait(vec![point]))),
            Work::Host(function) => ops.push(Op::Host(function.clone())),
            Work::Child(nodes) => flatten(nodes, ops, records),
        }
    }
}

/// Forgets the graphs of a context that is gone.
pub(super) fn remove_of(context: Handle) {
    GRAPHS.remove_where(|graph| graph.context == context);
    EXECS.remove_where(|exec| exec.context == context);
}
