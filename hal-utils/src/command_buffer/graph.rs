//! The graph encoding: executable graphs, made when needed and used again.
//!
//! A submission takes one that nothing runs on and binds it, or one that its own queue has in flight, bound alike: a
//! stream runs them one after the other anyway. So submissions never wait for each other, and there are as many
//! executable graphs as bindings were in flight at once. It gives it back when it is retired.
//!
//! # What is owned when a driver call fails
//!
//! | Failed call | The executable graph |
//! |---|---|
//! | making one | what there is of it is destroyed |
//! | changing a node, since the driver cannot change it so | is destroyed, since nothing runs on it, and another is made |
//! | changing a node, for another reason | is destroyed |
//! | the launch | may run in part: it is destroyed when those that use it are retired |

use super::Target;
use super::edges::Plan;
use super::instance::Instance;
use super::step::Step;
use crate::core::Core;
use crate::native::{GraphExec, Native};
use crate::sync::{Arc, Mutex};
use hal_core::{BufferRange, Error, Result};

/// `CUDA_ERROR_INVALID_VALUE`, `hipErrorInvalidValue`.
const INVALID_VALUE: i64 = 1;

pub(crate) struct Graph<N: Native> {
    core: Arc<Core<N>>,
    steps: Arc<[Step<N>]>,
    plan: Plan,
    slots: usize,
    /// The nodes that use slots, and their steps.
    dynamic: Vec<(usize, usize)>,
    pool: Mutex<Vec<Entry<N>>>,
}

struct Entry<N: Native> {
    instance: Instance<N>,
    /// Submissions that have it.
    users: usize,
    /// The queue of these.
    queue: u64,
    /// Not to be used again.
    broken: bool,
}

/// Keeps an executable graph from being changed or destroyed.
pub(crate) struct Lease<N: Native> {
    graph: Arc<Graph<N>>,
    exec: GraphExec,
    broken: bool,
}

impl<N: Native> Graph<N> {
    /// Without slots, the first executable graph is made now.
    pub(super) fn new(
        core: &Arc<Core<N>>,
        steps: Arc<[Step<N>]>,
        plan: Plan,
        slots: usize,
    ) -> Result<Arc<Self>> {
        let dynamic = plan.nodes.iter().enumerate().filter_map(|(node, planned)| {
            let step = planned.step?;
            steps[step].slots().next().map(|_| (node, step))
        });
        let dynamic = dynamic.collect();
        let graph = Graph { core: core.clone(), steps, plan, slots, dynamic, pool: Mutex::default() };
        if slots == 0 {
            let _current = core.inspect(core.enter())?;
            // SAFETY: the device is current; the command buffer keeps what the steps use.
            let instance = core.inspect(unsafe { graph.build(&[]) })?;
            graph.pool.lock().push(Entry { instance, users: 0, queue: 0, broken: false });
        }
        Ok(Arc::new(graph))
    }

    /// Puts it into a stream, bound so.
    ///
    /// # Safety
    /// As for `Recorded::put`.
    pub(super) unsafe fn launch(
        graph: &Arc<Self>,
        target: Target<'_, N>,
        bindings: &[BufferRange],
    ) -> Result<()> {
        // SAFETY: the device is current.
        let exec = unsafe { graph.take(target.queue, bindings) }?;
        let mut lease = Lease { graph: graph.clone(), exec, broken: false };
        // Some drivers put a graph into streams node by node: one that is refused may run in part.
        *target.touched = true;
        // SAFETY: the device is current; nobody else has the executable graph, but earlier submissions of this queue,
        // for which no other thread issues now.
        let launched = unsafe { target.native.graph_launch(exec, target.stream) };
        lease.broken = launched.is_err();
        target.leases.push(lease);
        launched.map_err(|error| error.context(format_args!("a graph of {} nodes", graph.plan.nodes.len())))
    }

    /// One that is bound so, with one user more.
    ///
    /// # Safety
    /// The device is current.
    unsafe fn take(&self, queue: u64, bindings: &[BufferRange]) -> Result<GraphExec> {
        let idle = {
            let mut pool = self.pool.lock();
            let shared = pool.iter_mut().find(|entry| {
                entry.users > 0
                    && entry.queue == queue
                    && !entry.broken
                    && entry.instance.is_bound_to(bindings)
            });
            if let Some(entry) = shared {
                entry.users += 1;
                return Ok(entry.instance.exec());
            }
            let fits = |entry: &Entry<N>| entry.users == 0 && entry.instance.is_bound_to(bindings);
            let best = pool.iter().position(fits).or_else(|| pool.iter().position(|entry| entry.users == 0));
            best.map(|index| pool.swap_remove(index).instance)
        };
        // SAFETY: the device is current; nothing uses one without users.
        let instance = unsafe { self.bind(idle, bindings) }?;
        let exec = instance.exec();
        self.pool.lock().push(Entry { instance, users: 1, queue, broken: false });
        Ok(exec)
    }

    /// # Safety
    /// The device is current; the instance does not run.
    unsafe fn bind(&self, idle: Option<Instance<N>>, bindings: &[BufferRange]) -> Result<Instance<N>> {
        if let Some(mut instance) = idle {
            if instance.is_bound_to(bindings) {
                return Ok(instance);
            }
            let native = self.core.native();
            // SAFETY: as for this function.
            let bound = unsafe { instance.rebind(native, &self.steps, &self.dynamic, bindings) };
            // Before it is destroyed, which a driver that is being torn down must not be asked to do.
            match self.core.inspect(bound) {
                Ok(()) => return Ok(instance),
                Err(error) if cannot_be_changed_so(&error) => {}
                Err(error) => return Err(error),
            }
        }
        // SAFETY: the device is current.
        unsafe { self.build(bindings) }
    }

    /// # Safety
    /// The device is current.
    unsafe fn build(&self, bindings: &[BufferRange]) -> Result<Instance<N>> {
        // SAFETY: the device is current; the command buffer, and submissions with their bindings, keep what is used.
        unsafe { Instance::build(&self.core, &self.steps, &self.plan, self.slots, bindings) }
    }
}

/// Only an invalid value says so, 1 in both APIs (`cuGraphExecKernelNodeSetParams` and its kin). An invalid handle, which
/// is an `InvalidArgument` as well, would be a fault of ours and must not go unseen.
fn cannot_be_changed_so(error: &Error) -> bool {
    error.native().is_some_and(|native| native.code == INVALID_VALUE)
}

impl<N: Native> Drop for Lease<N> {
    fn drop(&mut self) {
        let broken = {
            let mut pool = self.graph.pool.lock();
            let Some(index) = pool.iter().position(|entry| entry.instance.exec() == self.exec) else {
                return;
            };
            let entry = &mut pool[index];
            entry.users -= 1;
            entry.broken |= self.broken;
            (entry.broken && entry.users == 0).then(|| pool.swap_remove(index))
        };
        // Destroyed outside the lock.
        drop(broken);
    }
}
