//! Hardware queues that streams share.
//!
//! A device has fewer queues than a program may have streams (`CUDA_DEVICE_MAX_CONNECTIONS` for CUDA,
//! `GPU_MAX_HW_QUEUES` for HIP). Work of streams on one queue begins in the order of issue: what stands behind a wait of
//! another stream waits too, though nothing in the program says so.

use super::config::config;
use super::device::Device;
use super::op::Op;
use super::stream::Point;
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// What was last issued on each queue of each device.
static LAST: Mutex<BTreeMap<(usize, u64), Point>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The queue of a new stream, in turns; `None` if every stream has its own.
pub(super) fn assign() -> Option<u64> {
    match config().hardware_queues {
        0 => None,
        count => Some(NEXT.fetch_add(1, Ordering::Relaxed) % count),
    }
}

/// One issue to a shared queue. Issues to all queues exclude one another: order of issue is one order.
pub(super) struct Issue {
    last: MutexGuard<'static, BTreeMap<(usize, u64), Point>>,
    key: (usize, u64),
}

impl Issue {
    /// Begins an issue.
    pub(super) fn on(device: &Device, queue: u64) -> Self {
        Self { last: LAST.lock(), key: (device.ordinal, queue) }
    }

    /// What the queue has to do before.
    pub(super) fn before(&self) -> Option<Op> {
        let point = self.last.get(&self.key).filter(|point| !point.reached())?;
        Some(Op::Wait(vec![point.clone()]))
    }

    /// Notes where the issue ends.
    pub(super) fn done(mut self, point: Point) {
        self.last.insert(self.key, point);
    }
}
