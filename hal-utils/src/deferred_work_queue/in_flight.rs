//! What is in flight, and who waits for it to end.
//!
//! A wait is for what was there as it began. So every submission has an age, the number of waits that had begun before
//! it, and count and age are one word: a wait learns in one step how many it waits for and makes all later ones younger.
//! Whoever ends with its age still the current one is waited for by nobody, and pays for no more than counting.

use super::queue_core::QueueCore;
use crate::native::Native;
use crate::sync::{Arc, AtomicU64, Condvar, Mutex, Ordering};
use hal_core::Deadline;
use std::mem::ManuallyDrop;

/// A count, and in the upper half the age of whoever comes next.
#[derive(Default)]
pub(super) struct Count {
    word: AtomicU64,
    waiters: Mutex<Vec<Waiter>>,
    ended: Condvar,
}

const YOUNGER: u64 = 1 << 32;

/// Ages wrap; one submission would have to outlive as many waits for that to matter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Age(u32);

struct Waiter {
    /// It waits for this age and all before.
    age: u32,
    left: u64,
}

impl Waiter {
    fn waits_for(&self, age: Age, now: u32) -> bool {
        let since = now.wrapping_sub(self.age);
        since != 0 && since <= now.wrapping_sub(age.0)
    }
}

fn parts(word: u64) -> (u32, u64) {
    ((word >> 32) as u32, word & (YOUNGER - 1))
}

impl Count {
    pub(super) fn get(&self) -> u64 {
        parts(self.word.load(Ordering::Acquire)).1
    }

    /// One more.
    pub(super) fn enter(&self) -> Age {
        Age(parts(self.word.fetch_add(1, Ordering::Relaxed)).0)
    }

    /// One more, waited for by whoever waits for one of that age that is still there.
    fn join(&self, age: Age) {
        let (now, _) = parts(self.word.fetch_add(1, Ordering::Relaxed));
        if now != age.0 {
            for waiter in self.waiters.lock().iter_mut().filter(|waiter| waiter.waits_for(age, now)) {
                waiter.left += 1;
            }
        }
    }

    /// One less.
    fn leave(&self, age: Age) {
        let (now, _) = parts(self.word.fetch_sub(1, Ordering::AcqRel));
        if now != age.0 {
            self.tell(age, now);
        }
    }

    #[cold]
    fn tell(&self, age: Age, now: u32) {
        let mut over = false;
        for waiter in self.waiters.lock().iter_mut().filter(|waiter| waiter.waits_for(age, now)) {
            waiter.left -= 1;
            over |= waiter.left == 0;
        }
        if over {
            self.ended.notify_all();
        }
    }

    /// Waits for what is there now. `Err` with how much of it is left when the deadline has passed.
    pub(super) fn wait(&self, deadline: Deadline) -> Result<(), u64> {
        match self.get() {
            0 => return Ok(()),
            left if deadline.has_passed() => return Err(left),
            _ => {}
        }
        let mut waiters = self.waiters.lock();
        // Within the lock: who ends from here on finds the waiter.
        let (age, left) = parts(self.word.fetch_add(YOUNGER, Ordering::AcqRel));
        waiters.push(Waiter { age, left });
        loop {
            let Some(index) = waiters.iter().position(|waiter| waiter.age == age) else { return Ok(()) };
            let left = waiters[index].left;
            let remaining = deadline.remaining();
            if left == 0 || remaining.is_some_and(|remaining| remaining.is_zero()) {
                waiters.swap_remove(index);
                return if left == 0 { Ok(()) } else { Err(left) };
            }
            match remaining {
                None => self.ended.wait(&mut waiters),
                Some(remaining) => {
                    self.ended.wait_for(&mut waiters, remaining);
                }
            }
        }
    }
}

/// How old something is, to its queue and to its device.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ages {
    queue: Age,
    device: Age,
}

/// Counts a submission as in flight, for its queue and its device, while it lives.
pub(crate) struct InFlight<N: Native> {
    queue: ManuallyDrop<Arc<QueueCore<N>>>,
    ages: Ages,
}

impl<N: Native> InFlight<N> {
    pub(super) fn new(queue: &Arc<QueueCore<N>>) -> Self {
        let counters = &queue.core.counters;
        let ages = Ages { queue: queue.in_flight.enter(), device: counters.in_flight.enter() };
        counters.submitted.fetch_add(1, Ordering::Relaxed);
        InFlight { queue: ManuallyDrop::new(queue.clone()), ages }
    }

    pub(super) fn queue(&self) -> &Arc<QueueCore<N>> {
        &self.queue
    }

    pub(super) fn ages(&self) -> Ages {
        self.ages
    }
}

impl<N: Native> Drop for InFlight<N> {
    fn drop(&mut self) {
        let core = self.queue.core.clone();
        core.counters.retired.fetch_add(1, Ordering::Relaxed);
        self.queue.in_flight.leave(self.ages.queue);
        // Before the device counts as idle: a dropped queue gives its stream back here.
        // SAFETY: nothing follows that uses it.
        unsafe { ManuallyDrop::drop(&mut self.queue) };
        core.counters.in_flight.leave(self.ages.device);
    }
}

impl<N: Native> QueueCore<N> {
    /// Counts something more as in flight, as old as a submission that still is.
    pub(super) fn prolong(&self, ages: Ages) {
        self.in_flight.join(ages.queue);
        self.core.counters.in_flight.join(ages.device);
    }

    /// The end of what was prolonged.
    pub(super) fn relinquish(&self, ages: Ages) {
        self.in_flight.leave(ages.queue);
        self.core.counters.in_flight.leave(ages.device);
    }
}

#[cfg(all(test, not(any(hal_loom, hal_shuttle))))]
mod tests {
    use super::*;
    use std::time::Duration;

    fn soon() -> Deadline {
        Deadline::after(Duration::from_secs(20))
    }

    fn waiting(count: &Count, waiters: usize) {
        while count.waiters.lock().len() < waiters {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_wait_is_for_what_was_there() {
        let count = Count::default();
        count.wait(Deadline::NOW).unwrap();
        let first = count.enter();
        assert_eq!(count.wait(Deadline::NOW), Err(1));
        std::thread::scope(|scope| {
            let earlier = scope.spawn(|| count.wait(soon()));
            waiting(&count, 1);
            let second = count.enter();
            let later = scope.spawn(|| count.wait(soon()));
            waiting(&count, 2);
            let third = count.enter();
            // One that comes and goes while others wait is nobody's concern.
            count.leave(count.enter());
            count.leave(second);
            assert!(!earlier.is_finished() && !later.is_finished());
            count.leave(first);
            assert_eq!((earlier.join().unwrap(), later.join().unwrap()), (Ok(()), Ok(())));
            assert_eq!(count.get(), 1);
            count.leave(third);
        });
        assert_eq!((count.get(), count.waiters.lock().len()), (0, 0));
    }

    #[test]
    fn what_joins_is_waited_for_as_what_it_joins() {
        let count = Count::default();
        let first = count.enter();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| count.wait(soon()));
            waiting(&count, 1);
            count.join(first);
            count.leave(first);
            assert_eq!(count.waiters.lock()[0].left, 1);
            count.leave(first);
            assert_eq!(waiter.join().unwrap(), Ok(()));
        });
    }

    #[test]
    fn a_wait_that_gives_up_says_how_many_are_left_of_its_own() {
        let count = Count::default();
        let ages = [count.enter(), count.enter()];
        assert_eq!(count.wait(Deadline::after(Duration::from_millis(1))), Err(2));
        let later = count.enter();
        count.leave(ages[0]);
        assert_eq!(count.wait(Deadline::after(Duration::from_millis(1))), Err(2));
        count.leave(ages[1]);
        count.leave(later);
        assert_eq!((count.wait(Deadline::NOW), count.waiters.lock().len()), (Ok(()), 0));
    }

    /// Threads that enter and leave all the time, and one that waits again and again.
    #[test]
    fn waits_end_while_others_come_and_go() {
        let count = Count::default();
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut held = std::collections::VecDeque::from([count.enter()]);
                    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                        held.push_back(count.enter());
                        count.leave(held.pop_front().unwrap());
                    }
                    held.into_iter().for_each(|age| count.leave(age));
                });
            }
            for _ in 0..1000 {
                count.wait(soon()).unwrap();
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        assert_eq!((count.get(), count.waiters.lock().len()), (0, 0));
    }
}
