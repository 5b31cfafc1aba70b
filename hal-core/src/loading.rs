//! Executables on their way.

use crate::{Deadline, Error, ErrorKind, Executable, Result};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Somebody to be given an executable.
pub type OnLoaded = Box<dyn FnOnce(Result<Arc<dyn Executable>>) + Send>;

/// An executable that is being loaded on another thread; see
/// [`load_executable_in_background`](trait.Device.html#method.load_executable_in_background). A future, and something
/// to wait for. Dropping it does not stop the loading.
pub struct Loading(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    loaded: Condvar,
}

#[derive(Default)]
struct State {
    outcome: Option<Result<Arc<dyn Executable>>>,
    waker: Option<Waker>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No code of a caller runs under it, so that it is whole even if poisoned.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Loading {
    /// One to give away, and what ends it.
    pub(crate) fn new() -> (Self, OnLoaded) {
        let shared = Arc::new(Shared::default());
        let sink = shared.clone();
        let end = move |outcome| {
            let waker = {
                let mut state = sink.lock();
                state.outcome = Some(outcome);
                state.waker.take()
            };
            sink.loaded.notify_all();
            if let Some(waker) = waker {
                waker.wake();
            }
        };
        (Loading(shared), Box::new(end))
    }

    /// Blocks until it is loaded. The answer is the same each time.
    ///
    /// # Errors
    /// `DeadlineExceeded`, which leaves everything as it was; what
    /// [`load_executable`](crate::Device::load_executable) answers.
    pub fn wait(&self, deadline: Deadline) -> Result<Arc<dyn Executable>> {
        let mut state = self.0.lock();
        loop {
            if let Some(outcome) = &state.outcome {
                return outcome.clone();
            }
            state = match deadline.remaining() {
                None => self.0.loaded.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(remaining) if remaining.is_zero() => {
                    return Err(Error::new(
                        ErrorKind::DeadlineExceeded,
                        "waiting for an executable to be loaded; wait again, or load it anew",
                    ));
                }
                Some(remaining) => {
                    self.0.loaded.wait_timeout(state, remaining).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

impl Future for Loading {
    type Output = Result<Arc<dyn Executable>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.0.lock();
        if let Some(outcome) = &state.outcome {
            return Poll::Ready(outcome.clone());
        }
        let replaced = state.waker.replace(context.waker().clone());
        drop(state);
        drop(replaced);
        Poll::Pending
    }
}

impl fmt::Debug for Loading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loading").field("ended", &self.0.lock().outcome.is_some()).finish()
    }
}
