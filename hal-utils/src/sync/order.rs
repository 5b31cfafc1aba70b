//! The order in which locks are taken, checked while debug builds run.
//!
//! A thread may take a lock of a higher rank than all it holds; a leaf only while it holds none. The ranks are those of
//! `deferred_work_queue`. Release builds have no trace of this.

/// Which lock this is, outermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(not(debug_assertions), allow(dead_code, reason = "ranks are checked in debug builds"))]
pub(crate) enum Rank {
    /// A module's functions. The only one that is held while a driver is called.
    Module,
    /// `Core::members`.
    Members,
    /// `QueueCore::state`.
    Queue,
    /// A semaphore's state.
    Semaphore,
    /// `Node::pending`.
    Pending,
    /// Everything else; never held with another lock.
    Leaf,
}

pub(super) use checking::{Held, Ranking};

/// States that this thread holds no lock that others could need while it is away: in a driver, in a callback.
#[cfg_attr(debug_assertions, track_caller)]
pub(crate) fn assert_unlocked() {
    checking::assert_unlocked();
}

// Loom has no cheap thread-locals, and runs code that the other two run as well.
#[cfg(all(debug_assertions, not(hal_loom)))]
mod checking {
    use super::Rank;
    use std::cell::Cell;

    /// A mutex's rank.
    pub(in crate::sync) struct Ranking(Rank);

    /// Remembers that this thread holds it.
    pub(in crate::sync) struct Held(Rank);

    #[cfg(not(hal_shuttle))]
    std::thread_local! {
        static HELD: Cell<u8> = const { Cell::new(0) };
    }
    #[cfg(hal_shuttle)]
    shuttle::thread_local! {
        static HELD: Cell<u8> = Cell::new(0);
    }

    fn bit(rank: Rank) -> u8 {
        1 << rank as u8
    }

    impl Ranking {
        pub(in crate::sync) fn new(rank: Rank) -> Self {
            Ranking(rank)
        }

        #[track_caller]
        pub(in crate::sync) fn hold(&self) -> Held {
            let rank = self.0;
            HELD.with(|held| {
                let lower = if rank == Rank::Leaf { 0 } else { bit(rank) - 1 };
                // While unwinding, order is past caring for, and a second panic would end the process.
                assert!(
                    held.get() & !lower == 0 || std::thread::panicking(),
                    "lock order: {rank:?} is taken while ranks {:#b} are held; see deferred_work_queue",
                    held.get()
                );
                held.set(held.get() | bit(rank));
            });
            Held(rank)
        }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            HELD.with(|held| held.set(held.get() & !bit(self.0)));
        }
    }

    #[track_caller]
    pub(super) fn assert_unlocked() {
        HELD.with(|held| {
            assert!(
                held.get() & !bit(Rank::Module) == 0 || std::thread::panicking(),
                "ranks {:#b} are held while leaving for a driver, a callback or a waiter",
                held.get()
            );
        });
    }
}

#[cfg(not(all(debug_assertions, not(hal_loom))))]
mod checking {
    use super::Rank;

    pub(in crate::sync) struct Ranking;

    pub(in crate::sync) struct Held;

    impl Ranking {
        pub(in crate::sync) fn new(_rank: Rank) -> Self {
            Ranking
        }

        pub(in crate::sync) fn hold(&self) -> Held {
            Held
        }
    }

    pub(super) fn assert_unlocked() {}
}

#[cfg(all(test, debug_assertions, not(any(hal_loom, hal_shuttle))))]
mod tests {
    use super::{Rank, assert_unlocked};
    use crate::sync::Mutex;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    const ALL: [Rank; 6] =
        [Rank::Module, Rank::Members, Rank::Queue, Rank::Semaphore, Rank::Pending, Rank::Leaf];

    fn panics(run: impl FnOnce()) -> bool {
        catch_unwind(AssertUnwindSafe(run)).is_err()
    }

    #[test]
    fn only_higher_ranks_may_follow_and_leaves_stand_alone() {
        for outer in ALL {
            for inner in ALL {
                let (first, second) = (Mutex::ranked(outer, ()), Mutex::ranked(inner, ()));
                let refused = panics(|| {
                    let _first = first.lock();
                    let _second = second.lock();
                });
                let allowed = outer < inner && inner != Rank::Leaf;
                assert_eq!(refused, !allowed, "{inner:?} after {outer:?}");
                // What was held then is not any more.
                assert_unlocked();
            }
        }
    }

    #[test]
    fn locks_may_be_released_in_any_order() {
        let (first, second) = (Mutex::ranked(Rank::Queue, ()), Mutex::ranked(Rank::Semaphore, ()));
        let outer = first.lock();
        let inner = second.lock();
        drop(outer);
        assert!(panics(|| drop(first.lock())));
        drop(inner);
        drop(first.lock());
    }

    #[test]
    fn leaving_with_a_lock_is_refused() {
        let lock = Mutex::new(());
        let held = lock.lock();
        assert!(panics(assert_unlocked));
        drop(held);
        assert_unlocked();
    }
}
