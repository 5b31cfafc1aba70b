//! An ordered set of waiters: first by value, then by age. Adding, taking the first and taking any one back cost
//! O(log n), and memory once grown is used again.
//!
//! After a burst it is given back. A review looks whenever the set is empty, or has been taken from as often as it has
//! slots: what neither of the last two reviews saw in use goes, beyond a small number that stays. So a lone burst is
//! paid for by itself, and one that recurs finds its memory the second time.
//!
//! A binary heap of keys, and slots that know where in the heap their key is. `std::collections::BinaryHeap` cannot take
//! one out of the middle, and `BTreeMap` frees its nodes as it empties and allocates them again.

use hal_core::TimepointId;

/// No slot.
const NONE: u32 = u32::MAX;
/// Slots that are always kept.
const KEPT: usize = 256;

pub(super) struct ByValue<T> {
    /// A binary heap, smallest first.
    heap: Vec<TimepointId>,
    slots: Vec<Slot<T>>,
    /// Head of the list of free slots.
    free: u32,
    next_age: u64,
    usage: Usage,
}

/// How much was needed of late.
#[derive(Default)]
struct Usage {
    /// Most at a time since the last review.
    peak: usize,
    /// The same for the time before.
    peak_before: usize,
    /// Taken out since the last review.
    taken: usize,
}

enum Slot<T> {
    Free { next: u32 },
    Taken { place: u32, item: T },
}

impl<T> Default for ByValue<T> {
    fn default() -> Self {
        ByValue { heap: Vec::new(), slots: Vec::new(), free: NONE, next_age: 0, usage: Usage::default() }
    }
}

impl<T> ByValue<T> {
    pub(super) fn insert(&mut self, value: u64, item: T) -> TimepointId {
        let place = self.heap.len() as u32;
        let taken = Slot::Taken { place, item };
        let slot = match self.slots.get_mut(self.free as usize) {
            Some(slot) => {
                let index = self.free;
                if let Slot::Free { next } = std::mem::replace(slot, taken) {
                    self.free = next;
                }
                index
            }
            None => {
                self.slots.push(taken);
                self.slots.len() as u32 - 1
            }
        };
        self.next_age += 1;
        let timepoint = TimepointId { value, age: self.next_age, slot };
        self.heap.push(timepoint);
        self.usage.peak = self.usage.peak.max(self.heap.len());
        self.rise(place as usize);
        timepoint
    }

    pub(super) fn first_value(&self) -> Option<u64> {
        self.heap.first().map(|first| first.value)
    }

    /// The first, if its value is at most `value`.
    pub(super) fn take_first(&mut self, value: u64) -> Option<T> {
        let first = *self.heap.first()?;
        if first.value <= value { self.take(first) } else { None }
    }

    /// This one, if it is still there.
    pub(super) fn take(&mut self, timepoint: TimepointId) -> Option<T> {
        let slot = self.slots.get_mut(timepoint.slot as usize)?;
        let Slot::Taken { place, .. } = slot else { return None };
        let place = *place as usize;
        if self.heap[place] != timepoint {
            return None;
        }
        let taken = std::mem::replace(slot, Slot::Free { next: self.free });
        self.free = timepoint.slot;
        self.heap.swap_remove(place);
        if place < self.heap.len() {
            self.moved(place);
            let place = self.rise(place);
            self.sink(place);
        }
        self.usage.taken += 1;
        if self.heap.is_empty() || self.usage.taken >= self.slots.len() {
            self.review();
        }
        match taken {
            Slot::Taken { item, .. } => Some(item),
            Slot::Free { .. } => None,
        }
    }

    pub(super) fn get_mut(&mut self, timepoint: TimepointId) -> Option<&mut T> {
        match self.slots.get_mut(timepoint.slot as usize)? {
            Slot::Taken { place, item } if self.heap[*place as usize] == timepoint => Some(item),
            _ => None,
        }
    }

    fn review(&mut self) {
        let Usage { peak, peak_before, .. } = self.usage;
        self.usage = Usage { peak: self.heap.len(), peak_before: peak, taken: 0 };
        let wanted = KEPT.max(2 * peak.min(peak_before));
        if self.slots.len() > wanted {
            self.give_back(wanted);
        }
    }

    /// Shortens to `wanted` slots, or to the last one taken: those in between cannot move, since timepoints name them.
    #[cold]
    fn give_back(&mut self, wanted: usize) {
        let last = self.slots.iter().rposition(|slot| matches!(slot, Slot::Taken { .. }));
        let kept = wanted.max(last.map_or(0, |last| last + 1));
        if kept >= self.slots.len() {
            return;
        }
        self.slots.truncate(kept);
        self.slots.shrink_to_fit();
        self.heap.shrink_to(kept);
        // Low ones first from here on, so that the end stays free.
        self.free = NONE;
        for (index, slot) in self.slots.iter_mut().enumerate().rev() {
            if let Slot::Free { next } = slot {
                *next = std::mem::replace(&mut self.free, index as u32);
            }
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }

    /// Tells the slot where its key is now.
    fn moved(&mut self, to: usize) {
        if let Some(Slot::Taken { place, .. }) = self.slots.get_mut(self.heap[to].slot as usize) {
            *place = to as u32;
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.moved(a);
        self.moved(b);
    }

    fn rise(&mut self, mut place: usize) -> usize {
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.heap[parent] <= self.heap[place] {
                break;
            }
            self.swap(parent, place);
            place = parent;
        }
        place
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let mut least = place;
            for child in [2 * place + 1, 2 * place + 2] {
                if child < self.heap.len() && self.heap[child] < self.heap[least] {
                    least = child;
                }
            }
            if least == place {
                return;
            }
            self.swap(least, place);
            place = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// A small generator, so that a failure repeats.
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % bound
        }
    }

    #[test]
    fn behaves_as_a_sorted_map() {
        for seed in 1..=200 {
            let mut random = Random(seed);
            let (mut set, mut model) = (ByValue::default(), BTreeMap::new());
            for step in 0..300u64 {
                match random.below(4) {
                    0 | 1 => {
                        let timepoint = set.insert(random.below(20), step);
                        model.insert((timepoint.value, timepoint.age), (timepoint, step));
                    }
                    2 => {
                        let value = random.below(20);
                        let first =
                            model.first_key_value().filter(|(key, _)| key.0 <= value).map(|(key, _)| *key);
                        let expected = first.and_then(|key| model.remove(&key)).map(|(_, item)| item);
                        assert_eq!(set.take_first(value), expected, "seed {seed}, step {step}");
                    }
                    _ => {
                        let Some(key) =
                            model.keys().nth(random.below(model.len().max(1) as u64) as usize).copied()
                        else {
                            continue;
                        };
                        let (timepoint, item) = model.remove(&key).unwrap();
                        assert_eq!(set.get_mut(timepoint).copied(), Some(item));
                        assert_eq!(set.take(timepoint), Some(item), "seed {seed}, step {step}");
                        assert_eq!(set.take(timepoint), None);
                    }
                }
                assert_eq!(set.len(), model.len());
            }
        }
    }

    #[test]
    fn memory_is_used_again() {
        let mut set = ByValue::default();
        for round in 0..100 {
            let all: Vec<_> = (0..8).map(|value| set.insert(value, round)).collect();
            assert!(all.iter().all(|timepoint| timepoint.slot < 8));
            while set.take_first(u64::MAX).is_some() {}
        }
        assert_eq!(set.slots.len(), 8);
    }

    fn burst(set: &mut ByValue<u64>, size: u64) {
        for value in 0..size {
            set.insert(value, value);
        }
        for value in 0..size {
            assert_eq!(set.take_first(u64::MAX), Some(value));
        }
    }

    #[test]
    fn a_burst_gives_its_memory_back() {
        let mut set = ByValue::default();
        burst(&mut set, 100_000);
        assert!(set.slots.capacity() <= KEPT && set.heap.capacity() <= KEPT);
    }

    #[test]
    fn bursts_that_recur_keep_their_memory_and_lose_it_when_they_stop() {
        let mut set = ByValue::default();
        burst(&mut set, 10_000);
        burst(&mut set, 10_000);
        let memory = (set.slots.as_ptr(), set.heap.as_ptr());
        for _ in 0..10 {
            burst(&mut set, 10_000);
            burst(&mut set, 9_000);
            assert_eq!((set.slots.as_ptr(), set.heap.as_ptr()), memory);
        }
        burst(&mut set, 1);
        burst(&mut set, 1);
        assert!(set.slots.capacity() <= KEPT && set.heap.capacity() <= KEPT);
    }

    #[test]
    fn small_sets_never_move() {
        let mut set = ByValue::default();
        burst(&mut set, KEPT as u64);
        let memory = (set.slots.as_ptr(), set.heap.as_ptr());
        for size in [1, 7, 0, 200, 1, 1, KEPT as u64, 3] {
            burst(&mut set, size);
            assert_eq!((set.slots.as_ptr(), set.heap.as_ptr()), memory);
        }
    }

    #[test]
    fn one_that_stays_does_not_keep_the_memory_of_those_after_it() {
        let mut set = ByValue::default();
        let stays = set.insert(u64::MAX, 0);
        for value in 0..10_000 {
            set.insert(value, value);
        }
        while set.take_first(u64::MAX - 1).is_some() {}
        assert!(set.slots.len() > KEPT);
        // Two reviews' worth of use that is small.
        for value in 0..30_000 {
            set.insert(value, value);
            set.take_first(value);
        }
        assert!(set.slots.capacity() <= KEPT && set.heap.capacity() <= KEPT);
        assert_eq!(set.take(stays), Some(0));
    }

    #[test]
    fn timepoints_stay_good_when_memory_goes() {
        for seed in 1..=20 {
            let mut random = Random(seed);
            let (mut set, mut kept) = (ByValue::default(), Vec::new());
            for round in 0..20 {
                let size = if round % 3 == 0 { 3000 } else { 10 };
                let mut passing = Vec::new();
                for item in 0..size {
                    let timepoint = set.insert(random.below(100), item);
                    if random.below(500) == 0 {
                        kept.push((timepoint, item));
                    } else {
                        passing.push(timepoint);
                    }
                }
                for timepoint in passing {
                    assert!(set.take(timepoint).is_some());
                    assert_eq!(set.take(timepoint), None);
                }
            }
            for (timepoint, item) in kept {
                assert_eq!(set.take(timepoint), Some(item));
            }
            assert_eq!(set.len(), 0);
        }
    }
}
