//! A set of points on timelines.

use crate::{Deadline, FenceFuture, Result, SemaphorePoint, wait_all};
use smallvec::SmallVec;
use std::future::IntoFuture;

/// A set of (semaphore, value), one entry per semaphore: reached when all of them are, failed with the first that
/// fails. An empty fence is reached.
///
/// ```
/// use hal_core::{Deadline, Fence};
///
/// let fence = Fence::new();
/// assert!(fence.query().unwrap());
/// fence.wait(Deadline::NOW).unwrap();
/// ```
///
/// It can be awaited under any executor, with a deadline through the executor's timer:
///
/// ```
/// use hal_core::Fence;
/// use std::future::IntoFuture;
/// use std::time::Duration;
///
/// # let executor = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
/// # executor.block_on(async {
/// let fence = Fence::new();
/// tokio::time::timeout(Duration::from_secs(1), fence.into_future()).await.expect("in time").expect("no failure");
/// # });
/// ```
#[derive(Clone, Debug, Default)]
pub struct Fence {
    points: SmallVec<[SemaphorePoint; 4]>,
}

impl Fence {
    /// The empty fence.
    pub fn new() -> Self {
        Fence::default()
    }

    /// Adds a point. Of two for one semaphore the larger value stays, since reaching it implies the other.
    pub fn insert(&mut self, point: SemaphorePoint) {
        insert(&mut self.points, point);
    }

    /// Adds every point of another fence.
    pub fn join(&mut self, other: &Fence) {
        for point in &other.points {
            self.insert(point.clone());
        }
    }

    /// The entries.
    pub fn points(&self) -> &[SemaphorePoint] {
        &self.points
    }

    /// Whether every entry is reached.
    ///
    /// # Errors
    /// The first failure among the entries.
    pub fn query(&self) -> Result<bool> {
        let mut reached = true;
        for point in &self.points {
            reached &= point.is_reached()?;
        }
        Ok(reached)
    }

    /// Blocks until every entry is reached.
    ///
    /// # Errors
    /// `DeadlineExceeded`, or the first failure.
    pub fn wait(&self, deadline: Deadline) -> Result<()> {
        wait_all(&self.points, deadline)
    }

    pub(crate) fn into_points(self) -> impl Iterator<Item = SemaphorePoint> {
        self.points.into_iter()
    }
}

impl FromIterator<SemaphorePoint> for Fence {
    fn from_iter<I: IntoIterator<Item = SemaphorePoint>>(points: I) -> Self {
        let mut fence = Fence::new();
        points.into_iter().for_each(|point| fence.insert(point));
        fence
    }
}

impl IntoFuture for Fence {
    type Output = Result<()>;
    type IntoFuture = FenceFuture;

    fn into_future(self) -> FenceFuture {
        FenceFuture::new(self)
    }
}

/// Adds a point to a list that has one entry per semaphore.
#[inline]
pub(crate) fn insert<const N: usize>(points: &mut SmallVec<[SemaphorePoint; N]>, point: SemaphorePoint)
where
    [SemaphorePoint; N]: smallvec::Array<Item = SemaphorePoint>,
{
    if points.is_empty() { points.push(point) } else { merge(points, point) }
}

fn merge<const N: usize>(points: &mut SmallVec<[SemaphorePoint; N]>, point: SemaphorePoint)
where
    [SemaphorePoint; N]: smallvec::Array<Item = SemaphorePoint>,
{
    match points.iter_mut().find(|entry| entry.same_timeline(&point)) {
        Some(entry) => entry.value = entry.value.max(point.value),
        None => points.push(point),
    }
}
