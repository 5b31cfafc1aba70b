//! The worker thread: issues what became ready while nobody was there to do so.

use super::LINGER;
use super::issue;
use super::queue_core::QueueCore;
use crate::core::Core;
use crate::native::Native;
use crate::sync::{Arc, Condvar, Mutex, thread};
use std::collections::VecDeque;

/// Queues with something ready.
pub(crate) struct WorkerInbox<N: Native> {
    state: Mutex<Inbox<N>>,
    changed: Condvar,
}

struct Inbox<N: Native> {
    queues: VecDeque<Arc<QueueCore<N>>>,
    asleep: bool,
    exit: bool,
    /// The thread has ended.
    ended: bool,
}

impl<N: Native> Default for WorkerInbox<N> {
    fn default() -> Self {
        let state = Inbox { queues: VecDeque::new(), asleep: false, exit: false, ended: false };
        WorkerInbox { state: Mutex::new(state), changed: Condvar::new() }
    }
}

impl<N: Native> WorkerInbox<N> {
    pub(super) fn schedule(&self, queue: Arc<QueueCore<N>>) {
        let wake = {
            let mut inbox = self.state.lock();
            if inbox.ended {
                // The queue has been emptied. Kept here, it would keep the device, and that this inbox.
                drop(inbox);
                drop(queue);
                return;
            }
            inbox.queues.push_back(queue);
            // One system call per idle-to-busy transition: while it is awake, it looks again by itself.
            std::mem::take(&mut inbox.asleep)
        };
        if wake {
            self.changed.notify_one();
        }
    }

    /// Makes the thread end once there is nothing to do.
    pub(crate) fn exit(&self) {
        self.state.lock().exit = true;
        self.changed.notify_one();
    }

    fn next(&self) -> Option<Arc<QueueCore<N>>> {
        let mut inbox = self.state.lock();
        let mut lingered = 0;
        loop {
            if let Some(queue) = inbox.queues.pop_front() {
                return Some(queue);
            }
            if inbox.exit {
                inbox.ended = true;
                return None;
            }
            if lingered < LINGER {
                lingered += 1;
                drop(inbox);
                thread::yield_now();
                inbox = self.state.lock();
                continue;
            }
            inbox.asleep = true;
            self.changed.wait(&mut inbox);
            inbox.asleep = false;
        }
    }
}

/// The thread.
pub(crate) fn run<N: Native>(core: &Arc<Core<N>>) {
    while let Some(queue) = core.worker.next() {
        drain(core, &queue);
    }
}

/// Issues everything that is ready, oldest first.
fn drain<N: Native>(core: &Arc<Core<N>>, queue: &Arc<QueueCore<N>>) {
    {
        let mut state = queue.state.lock();
        state.scheduled = false;
        if state.draining {
            // Whoever drains it looks again before it stops.
            return;
        }
        state.draining = true;
    }
    // Entered per drain rather than once: what runs on this thread in between may be a callback of the user's.
    let current = core.enter();
    loop {
        let ready = {
            let mut state = queue.state.lock();
            match state.ready.pop() {
                Some(ready) => ready,
                None => {
                    state.draining = false;
                    return;
                }
            }
        };
        match &current {
            Ok(_) => issue::issue(queue, ready),
            Err(error) => issue::no_context(queue, ready, error.clone()),
        }
    }
}
