//! One executable graph, and what it is bound to.

use super::edges::Plan;
use super::step::{Step, base};
use crate::core::Core;
use crate::native::{Graph, GraphExec, GraphNode, Native, NodeWork};
use crate::sync::Arc;
use hal_core::{BufferRange, ErrorKind, Result};

/// Not running when it is dropped.
pub(super) struct Instance<N: Native> {
    // In this order: an executable graph first.
    exec: OwnedExec<N>,
    /// Nodes can be changed as long as it exists.
    _graph: OwnedGraph<N>,
    /// One for each of the plan.
    nodes: Vec<GraphNode>,
    /// Where what each slot stands for begins.
    bound: Vec<u64>,
}

struct OwnedGraph<N: Native> {
    core: Arc<Core<N>>,
    handle: Graph,
}

struct OwnedExec<N: Native> {
    core: Arc<Core<N>>,
    handle: GraphExec,
}

impl<N: Native> Drop for OwnedGraph<N> {
    fn drop(&mut self) {
        // SAFETY: the closure runs with the device current; nothing uses the graph any more.
        self.core.note(self.core.with_current(|native| unsafe { native.graph_destroy(self.handle) }));
    }
}

impl<N: Native> Drop for OwnedExec<N> {
    fn drop(&mut self) {
        // SAFETY: the closure runs with the device current; it does not run, since leases keep its instance.
        self.core.note(self.core.with_current(|native| unsafe { native.graph_exec_destroy(self.handle) }));
    }
}

impl<N: Native> Instance<N> {
    /// Makes one, bound so. Errors are looked at before what there is of it is destroyed: a driver that is being torn
    /// down must not be asked to.
    ///
    /// # Safety
    /// The device is current; what the steps use lives as long as this.
    pub(super) unsafe fn build(
        core: &Arc<Core<N>>,
        steps: &[Step<N>],
        plan: &Plan,
        slots: usize,
        bindings: &[BufferRange],
    ) -> Result<Self> {
        let native = core.native();
        // SAFETY: the device is current.
        let graph = OwnedGraph { handle: unsafe { native.graph_create() }?, core: core.clone() };
        let mut nodes: Vec<GraphNode> = Vec::with_capacity(plan.nodes.len());
        let mut after = Vec::new();
        for planned in &plan.nodes {
            after.clear();
            after.extend(planned.after.iter().map(|&node| nodes[node]));
            // SAFETY: the device is current; ranges and alignment were validated when recorded, bindings when
            // submitted; `CommandEncoder::dispatch` leaves the arguments to its caller.
            let add =
                |work: NodeWork<'_, N::Function>| unsafe { native.graph_add(graph.handle, &after, work) };
            nodes.push(core.inspect(match planned.step {
                Some(step) => steps[step].with(bindings, add),
                None => add(NodeWork::Empty),
            })?);
        }
        // SAFETY: the device is current.
        let exec = core.inspect(unsafe { native.graph_instantiate(graph.handle) }).map_err(|error| {
            let advice = match error.kind() {
                ErrorKind::ResourceExhausted => {
                    "; record several smaller command buffers, or finish with `Encoding::Stream`"
                }
                _ => "",
            };
            error.context(format_args!("a graph of {} nodes{advice}", nodes.len()))
        })?;
        let exec = OwnedExec { core: core.clone(), handle: exec };
        let bound = bindings.iter().take(slots).map(base).collect();
        Ok(Instance { exec, _graph: graph, nodes, bound })
    }

    pub(super) fn exec(&self) -> GraphExec {
        self.exec.handle
    }

    pub(super) fn is_bound_to(&self, bindings: &[BufferRange]) -> bool {
        self.bound.iter().zip(bindings).all(|(bound, binding)| *bound == base(binding))
    }

    /// Binds it anew: changes the nodes whose slots stand for something else now. `dynamic` are the nodes that use
    /// slots, with their steps. After a failure nobody knows what it is bound to.
    ///
    /// # Safety
    /// The device is current; it does not run.
    pub(super) unsafe fn rebind(
        &mut self,
        native: &N,
        steps: &[Step<N>],
        dynamic: &[(usize, usize)],
        bindings: &[BufferRange],
    ) -> Result<()> {
        let changed = |bound: &[u64], slot: usize| {
            bindings.get(slot).is_none_or(|binding| bound.get(slot) != Some(&base(binding)))
        };
        for &(node, step) in dynamic {
            if steps[step].slots().any(|slot| changed(&self.bound, slot)) {
                // SAFETY: as for `build`; the graph exists as long as this; nobody else has it.
                steps[step].with(bindings, |work| unsafe {
                    native.graph_exec_set(self.exec.handle, self.nodes[node], work)
                })?;
            }
        }
        for (bound, binding) in self.bound.iter_mut().zip(bindings) {
            *bound = base(binding);
        }
        Ok(())
    }
}
