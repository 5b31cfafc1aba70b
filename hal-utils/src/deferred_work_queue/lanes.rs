//! The issued submissions of a device, by queue, oldest first. Owned by the completion thread.

use super::states::Issued;
use crate::native::Native;
use crate::sync::Ordering;
use std::collections::VecDeque;

/// One queue's.
pub(super) struct Lane<N: Native> {
    queue: u64,
    pub(super) issued: VecDeque<Issued<N>>,
}

pub(super) struct Lanes<N: Native> {
    busy: Vec<Lane<N>>,
    /// Memory of lanes that were busy, to be used again.
    spare: Vec<VecDeque<Issued<N>>>,
}

impl<N: Native> Lanes<N> {
    pub(super) fn new() -> Self {
        Lanes { busy: Vec::new(), spare: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.busy.is_empty()
    }

    pub(super) fn add(&mut self, issued: Issued<N>) {
        let queue = issued.0.id.queue;
        let place = &issued.0.queue().lane;
        if let Some(lane) =
            self.busy.get_mut(place.load(Ordering::Relaxed)).filter(|lane| lane.queue == queue)
        {
            lane.issued.push_back(issued);
            return;
        }
        place.store(self.busy.len(), Ordering::Relaxed);
        let mut lane = self.spare.pop().unwrap_or_default();
        lane.push_back(issued);
        self.busy.push(Lane { queue, issued: lane });
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Lane<N>> {
        self.busy.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Lane<N>> {
        self.busy.iter_mut()
    }

    /// Puts lanes aside that have become empty.
    pub(super) fn sweep(&mut self) {
        let mut index = 0;
        while let Some(lane) = self.busy.get(index) {
            if lane.issued.is_empty() {
                self.spare.push(self.busy.swap_remove(index).issued);
                // The last has come here, unless it is empty too, and goes next.
                if let Some(moved) = self.busy.get(index).and_then(|lane| lane.issued.front()) {
                    moved.0.queue().lane.store(index, Ordering::Relaxed);
                }
            } else {
                index += 1;
            }
        }
    }

    /// Everything, queue by queue.
    pub(super) fn into_issued(self) -> impl Iterator<Item = Issued<N>> {
        self.busy.into_iter().flat_map(|lane| lane.issued)
    }
}
