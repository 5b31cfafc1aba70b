//! Native streams, recycled.
//!
//! A dropped queue may still have work. Its stream stays with that work, and comes here when the last of it has been
//! retired; so what is here is idle, and a new queue can take it.

use crate::core::Core;
use crate::native::Native;
use crate::sync::Mutex;
use hal_core::{QueueCounters, QueuePriority, Result};

pub(crate) struct Streams<N: Native> {
    state: Mutex<State<N>>,
}

struct State<N: Native> {
    idle: Vec<(QueuePriority, N::Stream)>,
    counters: QueueCounters,
}

impl<N: Native> Streams<N> {
    pub(crate) fn new() -> Self {
        Streams { state: Mutex::new(State { idle: Vec::new(), counters: QueueCounters::default() }) }
    }

    pub(crate) fn counters(&self) -> QueueCounters {
        self.state.lock().counters
    }

    /// An idle stream of this priority, or a new one.
    pub(crate) fn acquire(&self, core: &Core<N>, priority: QueuePriority) -> Result<N::Stream> {
        {
            let mut state = self.state.lock();
            if let Some(index) = state.idle.iter().position(|(idle, _)| *idle == priority) {
                let (_, stream) = state.idle.swap_remove(index);
                state.counters.reused += 1;
                state.counters.live += 1;
                return Ok(stream);
            }
        }
        // SAFETY: the closure runs with the device current.
        let stream = core.with_current(|native| unsafe { native.stream_create(priority) })?;
        let mut state = self.state.lock();
        state.counters.created += 1;
        state.counters.live += 1;
        Ok(stream)
    }

    /// The user has dropped the queue.
    pub(crate) fn abandon(&self) {
        let mut state = self.state.lock();
        state.counters.live -= 1;
        state.counters.outstanding += 1;
    }

    /// An abandoned queue's work has ended.
    pub(crate) fn release(&self, core: &Core<N>, priority: QueuePriority, stream: N::Stream) {
        let mut state = self.state.lock();
        state.counters.outstanding -= 1;
        if !core.is_closed() {
            state.idle.push((priority, stream));
            return;
        }
        drop(state);
        // SAFETY: the closure runs with the device current; the queue was the last user of the stream.
        core.note(core.with_current(|native| unsafe { native.stream_destroy(stream) }));
    }

    /// Destroys the idle ones.
    ///
    /// # Safety
    /// The device is current.
    pub(crate) unsafe fn drain(&self, core: &Core<N>) {
        loop {
            let Some((_, stream)) = self.state.lock().idle.pop() else { return };
            // SAFETY: it was idle, and is nobody's now.
            core.note(unsafe { core.native().stream_destroy(stream) });
        }
    }
}
