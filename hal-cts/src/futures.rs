//! Running futures without a runtime.

use crate::Failure;
use crate::support::soon;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls on this thread, which sleeps until woken. A future that is not woken in time is a failure.
#[track_caller]
pub(crate) fn block_on<F: Future>(future: F) -> Result<F::Output, Failure> {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let deadline = soon();
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Ok(output);
        }
        match deadline.remaining() {
            Some(left) if left.is_zero() => return Err(Failure::new("the future was not woken within 20 s")),
            Some(left) => thread::park_timeout(left),
            None => thread::park(),
        }
    }
}

/// Counts how often it is woken.
#[derive(Default)]
pub(crate) struct Counter(AtomicUsize);

impl Counter {
    /// A counter and a waker that raises it.
    pub(crate) fn new() -> (Arc<Counter>, Waker) {
        let counter = Arc::new(Counter::default());
        (counter.clone(), Waker::from(counter))
    }

    /// Wakes so far.
    pub(crate) fn woken(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Polls once.
pub(crate) fn poll_once<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    std::pin::Pin::new(future).poll(&mut Context::from_waker(waker))
}
