//! Native streams, used again.
//!
//! A dropped queue may still have work. Its stream stays with that work, and counts as idle when the last of it has been
//! retired; a new queue then takes it over. Where every stream is taken and there are as many as
//! `DeviceParams::max_streams` allows, queues share: correct as ever, since a stream only adds order, but a long kernel of
//! one then delays the other. So queues that are created, filled and dropped without end need no more streams than that.

use crate::core::Core;
use crate::native::Native;
use crate::sync::{Mutex, Rank};
use hal_core::{QueueCounters, QueuePriority, Result};

pub(crate) struct Streams<N: Native> {
    state: Mutex<State<N>>,
}

struct State<N: Native> {
    streams: Vec<Entry<N>>,
    /// Places taken in `streams` by those who are creating one.
    creating: usize,
    counters: QueueCounters,
}

struct Entry<N: Native> {
    priority: QueuePriority,
    stream: N::Stream,
    /// Queues whose work goes here, dropped or not.
    users: usize,
}

impl<N: Native> Streams<N> {
    pub(crate) fn new() -> Self {
        let state = State { streams: Vec::new(), creating: 0, counters: QueueCounters::default() };
        Streams { state: Mutex::ranked(Rank::Leaf, state) }
    }

    pub(crate) fn counters(&self) -> QueueCounters {
        self.state.lock().counters
    }

    /// An idle stream of this priority, or a new one, or the one with the fewest users.
    pub(crate) fn acquire(&self, core: &Core<N>, priority: QueuePriority) -> Result<N::Stream> {
        {
            let mut state = self.state.lock();
            if let Some(stream) = state.take_over(priority, core.params.max_streams) {
                return Ok(stream);
            }
            state.creating += 1;
        }
        // SAFETY: the closure runs with the device current.
        let created = core.with_current(|native| unsafe { native.stream_create(priority) });
        let mut state = self.state.lock();
        state.creating -= 1;
        let stream = created?;
        state.streams.push(Entry { priority, stream, users: 1 });
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
    pub(crate) fn release(&self, core: &Core<N>, stream: N::Stream) {
        let unused = {
            let mut state = self.state.lock();
            state.counters.outstanding -= 1;
            state.leave(stream, core.is_closed())
        };
        if unused {
            // SAFETY: the closure runs with the device current; the queue was the last user of the stream.
            core.note(core.with_current(|native| unsafe { native.stream_destroy(stream) }));
        }
    }

    /// Destroys the idle ones.
    ///
    /// # Safety
    /// The device is current.
    pub(crate) unsafe fn drain(&self, core: &Core<N>) {
        let idle: Vec<_> = self.state.lock().streams.extract_if(.., |entry| entry.users == 0).collect();
        for entry in idle {
            if core.is_gone() {
                return;
            }
            // SAFETY: it was idle, and is nobody's now.
            core.note(unsafe { core.native().stream_destroy(entry.stream) });
        }
    }
}

impl<N: Native> State<N> {
    /// A stream that is there already: an idle one, or, if there may be no more, the one with the fewest users.
    fn take_over(&mut self, priority: QueuePriority, most: usize) -> Option<N::Stream> {
        let full = self.streams.len() + self.creating >= most;
        let candidates = self.streams.iter_mut().filter(|entry| entry.priority == priority);
        let entry = candidates.min_by_key(|entry| entry.users).filter(|entry| entry.users == 0 || full)?;
        if entry.users == 0 {
            self.counters.reused += 1;
        } else {
            self.counters.shared += 1;
        }
        self.counters.live += 1;
        entry.users += 1;
        Some(entry.stream)
    }

    /// Whether the stream is now to be destroyed.
    fn leave(&mut self, stream: N::Stream, closed: bool) -> bool {
        let Some(index) = self.streams.iter().position(|entry| entry.stream == stream) else { return false };
        let entry = &mut self.streams[index];
        entry.users -= 1;
        let unused = closed && entry.users == 0;
        if unused {
            self.streams.swap_remove(index);
        }
        unused
    }
}
