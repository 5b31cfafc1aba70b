//! Waiting without a thread. No executor is assumed.

use crate::{Fence, Result, Semaphore, TimepointId};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A future of a timeline reaching a value; see [`SemaphoreExt::reached`](crate::SemaphoreExt::reached).
#[must_use = "futures do nothing unless polled"]
pub struct Reached {
    semaphore: Arc<dyn Semaphore>,
    value: u64,
    slot: Option<TimepointId>,
}

impl Reached {
    pub(crate) fn new(semaphore: Arc<dyn Semaphore>, value: u64) -> Self {
        Reached { semaphore, value, slot: None }
    }
}

impl Future for Reached {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let this = &mut *self;
        this.semaphore.poll_reached(this.value, &mut this.slot, context.waker())
    }
}

impl Drop for Reached {
    fn drop(&mut self) {
        if let Some(timepoint) = self.slot.take() {
            self.semaphore.cancel(timepoint);
        }
    }
}

impl fmt::Debug for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reached").field("value", &self.value).finish_non_exhaustive()
    }
}

/// A future of every point of a [`Fence`] being reached.
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct FenceFuture {
    unresolved: Vec<Reached>,
}

impl FenceFuture {
    pub(crate) fn new(fence: Fence) -> Self {
        FenceFuture {
            unresolved: fence.into_points().map(|point| Reached::new(point.semaphore, point.value)).collect(),
        }
    }
}

impl Future for FenceFuture {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let mut failure = None;
        // Every entry is polled, so that each has a waker and the first failure is seen wherever it is.
        self.unresolved.retain_mut(|reached| match Pin::new(reached).poll(context) {
            Poll::Pending => true,
            Poll::Ready(Ok(())) => false,
            Poll::Ready(Err(error)) => {
                failure.get_or_insert(error);
                false
            }
        });
        match failure {
            Some(error) => {
                self.unresolved.clear();
                Poll::Ready(Err(error))
            }
            None if self.unresolved.is_empty() => Poll::Ready(Ok(())),
            None => Poll::Pending,
        }
    }
}
