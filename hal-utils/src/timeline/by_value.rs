//! An ordered set of waiters: first by value, then by age. Adding, taking the first and taking any one back cost
//! O(log n), and memory once grown is used again.
//!
//! A binary heap of keys, and slots that know where in the heap their key is. `std::collections::BinaryHeap` cannot take
//! one out of the middle, and `BTreeMap` frees its nodes as it empties and allocates them again.

use hal_core::TimepointId;

/// No slot.
const NONE: u32 = u32::MAX;

pub(super) struct ByValue<T> {
    /// A binary heap, smallest first.
    heap: Vec<TimepointId>,
    slots: Vec<Slot<T>>,
    /// Head of the list of free slots.
    free: u32,
    next_age: u64,
}

enum Slot<T> {
    Free { next: u32 },
    Taken { place: u32, item: T },
}

impl<T> Default for ByValue<T> {
    fn default() -> Self {
        ByValue { heap: Vec::new(), slots: Vec::new(), free: NONE, next_age: 0 }
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
        self.rise(place as usize);
        timepoint
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
}
