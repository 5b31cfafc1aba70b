//! Operations as the race checker knows them.

use super::op::Op;
use crate::check::calls;
use crate::check::race::{self, Task};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A node of a graph in a launch of it.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// The first of its operations in the launch, and how many there are.
    pub ops: std::ops::Range<usize>,
    /// Its sequence: it runs many times, one after the other.
    pub sequence: u64,
    /// Sequences of the nodes before it.
    pub after: Vec<u64>,
}

/// Grows over all sequences, so that it grows in each.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Tasks for operations that come after `last` on a stream, and the task that stands for all of them. The steps of a
/// layout count operations from `shift`; operations in no step are in stream order.
pub(super) fn of(
    ops: &[Op],
    layout: &[Step],
    shift: usize,
    stream: u64,
    last: Option<&Arc<Task>>,
) -> (Vec<Option<Arc<Task>>>, Option<Arc<Task>>) {
    let call = calls::current();
    let mut clock = race::host_clock();
    if let Some(last) = last {
        clock.join(&last.clock);
    }
    let mut tasks: Vec<Option<Arc<Task>>> = vec![None; ops.len()];
    let in_graph = |at: usize| layout.iter().any(|step| step.ops.contains(&at.wrapping_sub(shift)));
    for (at, op) in ops.iter().enumerate().filter(|(at, _)| layout.is_empty() || !in_graph(*at)) {
        learn_waits(&mut clock, op);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        clock.learn(stream, number);
        let what = op.label();
        tasks[at] =
            Some(Arc::new(Task { what, sequence: stream, number, stream, call, clock: clock.clone() }));
    }
    if layout.is_empty() {
        let last = tasks.last().cloned().flatten().or_else(|| last.cloned());
        return (tasks, last);
    }
    let mut done: HashMap<u64, crate::check::Clock> = HashMap::new();
    for step in layout {
        let mut here = clock.clone();
        step.after.iter().filter_map(|before| done.get(before)).for_each(|before| here.join(before));
        for at in step.ops.clone().map(|at| at + shift) {
            let Some(op) = ops.get(at) else { continue };
            learn_waits(&mut here, op);
            let (sequence, number) = (step.sequence, NEXT.fetch_add(1, Ordering::Relaxed));
            here.learn(sequence, number);
            let what = format!("{} of a graph", op.label());
            tasks[at] = Some(Arc::new(Task { what, sequence, number, stream, call, clock: here.clone() }));
        }
        done.insert(step.sequence, here);
    }
    done.values().for_each(|step| clock.join(step));
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    clock.learn(stream, number);
    let what = "graph launch".to_owned();
    (tasks, Some(Arc::new(Task { what, sequence: stream, number, stream, call, clock })))
}

fn learn_waits(clock: &mut crate::check::Clock, op: &Op) {
    match op {
        Op::Wait(points) => points.iter().filter_map(|p| p.task()).for_each(|task| clock.join(&task.clock)),
        Op::Value(value) if value.is_wait() => clock.give_up(),
        _ => {}
    }
}
