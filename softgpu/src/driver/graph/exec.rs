//! Executable graphs.

use super::{Graph, GraphMemory, Node, Work, order};
use crate::driver::capture;
use crate::driver::error::{Error, Result};
use crate::driver::event::{Event, Stamp};
use crate::driver::handle::{Handle, Registry};
use crate::driver::op::Op;
use crate::driver::stream::{Point, Stream};
use crate::driver::tasks::Step;
use parking_lot::Mutex;
use std::borrow::Cow;
use std::sync::Arc;

/// Every live executable graph.
pub static EXECS: Registry<GraphExec> = Registry::new("executable graphs");

/// Flag of an executable: a launch frees what the last one allocated and nobody freed.
const AUTO_FREE: u64 = 1;
/// Flag of an executable that kernels launch.
const DEVICE_LAUNCH: u64 = 4;
/// All flags there are.
const FLAGS: u64 = 15;

/// Why a graph was not instantiated, numbered as `CUgraphInstantiateResult`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instantiate {
    /// It was.
    Success = 0,
    /// Flags that exclude one another.
    InvalidFlags = 1,
    /// The edges form a circle.
    InvalidStructure = 2,
    /// A node or a flag that is not supported.
    NotSupported = 3,
}

/// Why an executable was not updated, numbered as `CUgraphExecUpdateResult`, which HIP shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateResult {
    /// It was.
    Success = 0,
    /// Other nodes, or other edges.
    TopologyChanged = 2,
    /// A node of another kind.
    NodeTypeChanged = 3,
    /// Parameters that cannot change: the context of a kernel, the memory of an allocation.
    ParametersChanged = 5,
}

/// What stands in the way of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateFailure {
    /// The kind of difference.
    pub result: UpdateResult,
    /// The node of the graph that differs, if it is one node.
    pub node: Option<Handle>,
}

#[derive(Clone, Debug)]
struct ExecNode {
    /// The handle of the node that this was made from.
    handle: Handle,
    /// Positions of the nodes before it.
    after: Vec<usize>,
    work: Work,
    /// What a child node runs.
    child: Option<Plan>,
    enabled: bool,
}

/// Nodes in order of creation, and an order of execution.
#[derive(Clone, Debug)]
struct Plan {
    nodes: Vec<ExecNode>,
    order: Vec<usize>,
}

impl Plan {
    /// The graph as it is now; `None` if its edges form a circle.
    fn of(graph: &Graph) -> Option<Self> {
        let nodes = graph.nodes();
        let order = order::of(&nodes)?;
        let exec_nodes: Option<Vec<ExecNode>> = nodes.iter().map(|node| ExecNode::of(node, &nodes)).collect();
        Some(Self { nodes: exec_nodes?, order })
    }

    fn find(&mut self, handle: Handle) -> Option<&mut ExecNode> {
        for node in &mut self.nodes {
            if node.handle == handle {
                return Some(node);
            }
            if let Some(found) = node.child.as_mut().and_then(|child| child.find(handle)) {
                return Some(found);
            }
        }
        None
    }

    fn node(&mut self, handle: Handle) -> Result<&mut ExecNode> {
        self.find(handle).ok_or(Error::INVALID_VALUE)
    }

    /// What keeps `other` from taking this one's place.
    fn difference(&self, other: &Self) -> std::result::Result<(), UpdateFailure> {
        let fail = |result, node| Err(UpdateFailure { result, node });
        if self.nodes.len() != other.nodes.len() {
            return fail(UpdateResult::TopologyChanged, None);
        }
        for (old, new) in self.nodes.iter().zip(&other.nodes) {
            let at = Some(new.handle);
            if old.work.kind() != new.work.kind() {
                return fail(UpdateResult::NodeTypeChanged, at);
            }
            if old.after != new.after {
                return fail(UpdateResult::TopologyChanged, at);
            }
            let same_place = match (&old.work, &new.work) {
                (Work::Launch(a), Work::Launch(b)) => {
                    a.function().context.handle == b.function().context.handle
                }
                (Work::Allocate(a) | Work::Free(a), Work::Allocate(b) | Work::Free(b)) => Arc::ptr_eq(a, b),
                _ => true,
            };
            if !same_place {
                return fail(UpdateResult::ParametersChanged, at);
            }
            if let (Some(a), Some(b)) = (&old.child, &new.child) {
                a.difference(b)?;
            }
        }
        Ok(())
    }

    /// Takes the work of `other`, which does not differ in shape. Handles and switches stay.
    fn take_work(&mut self, other: Self) {
        for (old, new) in self.nodes.iter_mut().zip(other.nodes) {
            old.work = new.work;
            if let (Some(a), Some(b)) = (&mut old.child, new.child) {
                a.take_work(b);
            }
        }
    }

    /// The nodes that are switched on, as nodes of a graph; those that are off do nothing.
    fn parts(&self) -> Vec<Node> {
        let part = |node: &ExecNode| Node {
            handle: node.handle,
            after: node.after.iter().map(|at| self.nodes[*at].handle).collect(),
            work: if node.enabled { node.work.clone() } else { Work::Empty },
            origin: None,
        };
        self.nodes.iter().map(part).collect()
    }

    fn memory(&self) -> Memory {
        let mut memory = Memory::default();
        for node in &self.nodes {
            match &node.work {
                Work::Allocate(allocated) => memory.allocated.push(allocated.clone()),
                Work::Free(freed) => memory.freed.push(freed.clone()),
                _ => {}
            }
        }
        memory
    }

    /// The order of a launch: always the same, unless a seed decides.
    fn launch_order(&self) -> Cow<'_, [usize]> {
        if !crate::driver::order::is_active() {
            return Cow::Borrowed(&self.order);
        }
        let mut left = self.order.clone();
        let mut order: Vec<usize> = Vec::with_capacity(left.len());
        while !left.is_empty() {
            let is_ready = |at: &usize| self.nodes[*at].after.iter().all(|before| order.contains(before));
            let ready: Vec<usize> = (0..left.len()).filter(|place| is_ready(&left[*place])).collect();
            // There is always one: the plan has no circles.
            let Some(place) = ready.get(crate::driver::order::choose(ready.len())) else { break };
            order.push(left.remove(*place));
        }
        Cow::Owned(order)
    }

    /// The operations of a launch of `exec`. What a child runs counts as one node.
    fn flatten(
        &self,
        exec: Handle,
        ops: &mut Vec<Op>,
        records: &mut Vec<(Arc<Event>, Arc<Stamp>)>,
    ) -> Vec<Step> {
        let sequence = |node: &ExecNode| exec << 32 | node.handle & 0xffff_ffff;
        let mut steps = Vec::new();
        for node in self.launch_order().iter().map(|at| &self.nodes[*at]) {
            let first = ops.len();
            if node.enabled {
                node.put(exec, ops, records);
            }
            let after = node.after.iter().map(|before| sequence(&self.nodes[*before])).collect();
            steps.push(Step { ops: first..ops.len(), sequence: sequence(node), after });
        }
        steps
    }
}

impl ExecNode {
    fn put(&self, exec: Handle, ops: &mut Vec<Op>, records: &mut Vec<(Arc<Event>, Arc<Stamp>)>) {
        match &self.work {
            Work::Empty | Work::Allocate(_) | Work::Free(_) => {}
            Work::Launch(launch) => ops.push(Op::Launch(launch.clone())),
            Work::Copy(copy) => ops.extend(copy.clone().map(Op::Copy)),
            Work::Fill(fill) => ops.extend(fill.clone().map(Op::Fill)),
            Work::Record(event) => {
                let stamp = Arc::new(Stamp::default());
                ops.push(Op::Record(stamp.clone()));
                records.push((event.clone(), stamp));
            }
            Work::WaitEvent(event) => ops.extend(event.pending().map(|point| Op::Wait(vec![point]))),
            Work::Host(function) => ops.push(Op::Host(*function)),
            Work::Child(_) => self.child.iter().for_each(|child| drop(child.flatten(exec, ops, records))),
        }
    }
}

impl ExecNode {
    fn of(node: &Node, siblings: &[Node]) -> Option<Self> {
        let position = |handle: &Handle| siblings.iter().position(|sibling| sibling.handle == *handle);
        let child = match &node.work {
            Work::Child(graph) => Some(Plan::of(graph)?),
            _ => None,
        };
        Some(Self {
            handle: node.handle,
            after: node.after.iter().map(position).collect::<Option<_>>()?,
            work: node.work.clone(),
            child,
            enabled: true,
        })
    }
}

/// What a launch allocates and frees.
#[derive(Debug, Default)]
struct Memory {
    allocated: Vec<Arc<GraphMemory>>,
    freed: Vec<Arc<GraphMemory>>,
}

impl Memory {
    /// Refuses a launch that would allocate what is allocated or free what is not.
    fn check(&self, auto_free: bool) -> Result<()> {
        let twice = self.allocated.iter().any(|memory| memory.is_outstanding());
        let allocates = |memory| self.allocated.iter().any(|allocated| Arc::ptr_eq(allocated, memory));
        let none = self.freed.iter().any(|memory| !allocates(memory) && !memory.is_outstanding());
        if twice && !auto_free || none { Err(Error::INVALID_VALUE) } else { Ok(()) }
    }

    fn apply(&self) {
        self.allocated.iter().for_each(|memory| memory.allocated());
        for memory in &self.freed {
            // Checked before the launch; a program that frees meanwhile has freed.
            let _ = memory.free();
        }
    }
}

/// An executable graph.
#[derive(Debug)]
pub struct GraphExec {
    /// Its handle.
    pub handle: Handle,
    /// The flags it was made with.
    pub flags: u64,
    context: Handle,
    plan: Mutex<Plan>,
    last: Mutex<Option<Point>>,
}

impl Graph {
    /// Makes an executable of the graph as it is now.
    pub fn instantiate(&self, flags: u64) -> std::result::Result<Arc<GraphExec>, Instantiate> {
        if flags & !FLAGS != 0 || flags & AUTO_FREE != 0 && flags & DEVICE_LAUNCH != 0 {
            return Err(Instantiate::InvalidFlags);
        }
        if flags & DEVICE_LAUNCH != 0 {
            return Err(Instantiate::NotSupported);
        }
        let plan = Plan::of(self).ok_or(Instantiate::InvalidStructure)?;
        let make = |handle| GraphExec {
            handle,
            flags,
            context: self.context,
            plan: Mutex::new(plan),
            last: Mutex::new(None),
        };
        Ok(EXECS.insert_with(make))
    }
}

impl From<Instantiate> for Error {
    fn from(result: Instantiate) -> Self {
        if result == Instantiate::NotSupported { Self::NOT_SUPPORTED } else { Self::INVALID_VALUE }
    }
}

impl GraphExec {
    /// The context it belongs to.
    pub(in crate::driver) fn context(&self) -> Handle {
        self.context
    }

    /// Destroys an executable. Launches that were made still run.
    pub fn destroy(handle: Handle) -> Result<()> {
        EXECS.remove(handle).map(drop)
    }

    /// Gives a node new parameters of the same kind. Launches that were made keep the old ones.
    pub fn set_work(&self, node: Handle, work: Work) -> Result<()> {
        let child = match &work {
            Work::Child(graph) => Some(Plan::of(graph).ok_or(Error::INVALID_VALUE)?),
            _ => None,
        };
        let mut plan = self.plan.lock();
        let node = plan.node(node)?;
        if node.work.kind() != work.kind() || work.is_memory() {
            return Err(Error::INVALID_VALUE);
        }
        if let (Work::Launch(old), Work::Launch(new)) = (&node.work, &work)
            && old.function().context.handle != new.function().context.handle
        {
            return Err(Error::INVALID_VALUE);
        }
        match (&mut node.child, child) {
            (Some(old), Some(new)) => {
                old.difference(&new).map_err(|_| Error::INVALID_VALUE)?;
                old.take_work(new);
            }
            _ => node.work = work,
        }
        Ok(())
    }

    /// Switches a kernel, copy or fill on or off; off, it does nothing.
    pub fn set_enabled(&self, node: Handle, enabled: bool) -> Result<()> {
        let mut plan = self.plan.lock();
        let node = plan.node(node)?;
        if !node.work.can_be_disabled() {
            return Err(Error::INVALID_VALUE);
        }
        node.enabled = enabled;
        Ok(())
    }

    /// Whether a kernel, copy or fill is switched on.
    pub fn is_enabled(&self, node: Handle) -> Result<bool> {
        let mut plan = self.plan.lock();
        let node = plan.node(node)?;
        if node.work.can_be_disabled() { Ok(node.enabled) } else { Err(Error::INVALID_VALUE) }
    }

    /// Takes the parameters of a graph of the same shape: nodes made in the same order, with the same edges.
    pub fn update(&self, graph: &Graph) -> std::result::Result<(), UpdateFailure> {
        let circle = UpdateFailure { result: UpdateResult::TopologyChanged, node: None };
        let new = Plan::of(graph).ok_or(circle)?;
        let mut plan = self.plan.lock();
        plan.difference(&new)?;
        plan.take_work(new);
        Ok(())
    }

    /// Work that runs the graph as a node of another.
    fn as_child(&self) -> Result<Work> {
        let plan = self.plan.lock().clone();
        Graph::child_of(self.context, plan.parts()).map(Work::Child)
    }

    /// Puts the graph on a stream. Launches of one executable run one after the other, on whatever streams.
    pub fn launch(&self, stream: &Arc<Stream>) -> Result<()> {
        if capture::add(stream, || self.as_child())?.is_some() {
            return Ok(());
        }
        let mut last = self.last.lock();
        let mut ops = Vec::new();
        let mut records = Vec::new();
        ops.extend(
            last.as_ref().filter(|point| !point.is_settled()).map(|point| Op::Wait(vec![point.clone()])),
        );
        let (steps, memory) = {
            let plan = self.plan.lock();
            (plan.flatten(self.handle, &mut ops, &mut records), plan.memory())
        };
        memory.check(self.flags & AUTO_FREE != 0)?;
        let point = stream.enqueue_laid_out(ops, &steps)?;
        memory.apply();
        for (event, stamp) in records {
            event.recorded(point.clone(), stamp);
        }
        *last = Some(point);
        Ok(())
    }
}

/// Forgets the executables of a context that is gone.
pub(super) fn remove_of(context: Handle) {
    EXECS.remove_where(|exec| exec.context == context);
}
