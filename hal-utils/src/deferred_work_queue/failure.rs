//! Ends that concern a whole device: loss and closing.

use super::queue_core::QueueCore;
use super::states::Ready;
use crate::core::Core;
use crate::native::Native;
use crate::sync::{Arc, Weak};
use crate::timeline::Worklist;
use hal_core::{Error, Semaphore};

/// Fails everything of a device that is not issued, closes its queues, and fails its semaphores.
pub(crate) fn end_members<N: Native>(core: &Arc<Core<N>>, error: &Error) {
    let (queues, semaphores) = {
        let mut members = core.members.lock();
        members.end.get_or_insert_with(|| error.clone());
        (std::mem::take(&mut members.queues), std::mem::take(&mut members.semaphores))
    };
    for queue in queues.iter().filter_map(Weak::upgrade) {
        fail_unissued(&queue, error);
    }
    core.host_calls.cancel(error);
    for semaphore in semaphores.iter().filter_map(Weak::upgrade) {
        semaphore.fail(error.clone());
    }
}

/// Fails everything of a device that is not issued, and closes its queues. Semaphores stay usable.
pub(crate) fn cancel_unissued<N: Native>(core: &Arc<Core<N>>, error: &Error) {
    let queues = {
        let mut members = core.members.lock();
        members.end.get_or_insert_with(|| error.clone());
        std::mem::take(&mut members.queues)
    };
    for queue in queues.iter().filter_map(Weak::upgrade) {
        fail_unissued(&queue, error);
    }
    core.host_calls.cancel(error);
}

fn fail_unissued<N: Native>(queue: &Arc<QueueCore<N>>, error: &Error) {
    let (pending, ready) = {
        let mut state = queue.state.lock();
        state.end.get_or_insert_with(|| error.clone());
        (std::mem::take(&mut state.pending), std::mem::take(&mut state.ready))
    };
    let mut worklist = Worklist::default();
    for (_, node) in pending {
        node.fail_pending(error, &mut worklist);
    }
    for Ready(mut work) in ready.into_sorted_vec().into_iter().rev() {
        work.fail(error.clone(), &mut worklist);
        work.recycle();
    }
    worklist.settle();
}
