//! Memory of short-lived objects, used again: in the steady state a submission allocates nothing.

use crate::sync::{Arc, Mutex};
use std::collections::VecDeque;
use std::mem::MaybeUninit;

/// Boxes without contents, up to a capacity.
pub(crate) struct Boxes<T> {
    empty: Mutex<Vec<Box<MaybeUninit<T>>>>,
    capacity: usize,
}

impl<T> Boxes<T> {
    pub(crate) fn new(capacity: usize) -> Self {
        Boxes { empty: Mutex::default(), capacity }
    }

    pub(crate) fn fill(&self, value: T) -> Box<T> {
        let empty = self.empty.lock().pop();
        match empty {
            Some(empty) => Box::write(empty, value),
            None => Box::new(value),
        }
    }

    /// Drops the contents and keeps the box.
    pub(crate) fn empty(&self, full: Box<T>) {
        let raw = Box::into_raw(full);
        // SAFETY: the pointer is the box's; the contents are dropped once, and the memory lives on as uninitialised.
        let empty = unsafe {
            raw.drop_in_place();
            Box::from_raw(raw.cast::<MaybeUninit<T>>())
        };
        let mut kept = self.empty.lock();
        if kept.len() < self.capacity {
            kept.push(empty);
        }
    }
}

/// How many shared objects are looked at before a new one is made.
const TRIES: usize = 4;

/// Can be made as new.
pub(crate) trait Reset {
    fn reset(&mut self);
}

/// Shared objects that nobody needs any more, though somebody may still hold one for a moment. Oldest first, so that
/// the others have let go of what is taken.
pub(crate) struct Shared<T> {
    idle: Mutex<VecDeque<Arc<T>>>,
    capacity: usize,
}

impl<T: Reset> Shared<T> {
    pub(crate) fn new(capacity: usize) -> Self {
        Shared { idle: Mutex::default(), capacity }
    }

    /// One as new, if one is to be had.
    pub(crate) fn take(&self) -> Option<Arc<T>> {
        let mut item = {
            let mut idle = self.idle.lock();
            let mut tries = 0;
            loop {
                let mut oldest = idle.pop_front()?;
                if Arc::get_mut(&mut oldest).is_some() {
                    break oldest;
                }
                // Later, when it has been let go of. What is made instead comes here too, so that soon there are enough.
                idle.push_back(oldest);
                tries += 1;
                if tries == TRIES {
                    return None;
                }
            }
        };
        // Outside the lock: it may give back what it owns.
        Arc::get_mut(&mut item)?.reset();
        Some(item)
    }

    /// Resets it at once if nobody else holds it, which gives back what it owns.
    pub(crate) fn give(&self, mut item: Arc<T>) {
        if let Some(item) = Arc::get_mut(&mut item) {
            item.reset();
        }
        let mut idle = self.idle.lock();
        if idle.len() < self.capacity {
            idle.push_back(item);
            return;
        }
        drop(idle);
        drop(item);
    }

    /// Lets go of all of them.
    pub(crate) fn clear(&self) {
        let idle = std::mem::take(&mut *self.idle.lock());
        drop(idle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_used_again_and_its_contents_dropped_once() {
        let boxes = Boxes::new(1);
        let contents = Arc::new(());
        let first = boxes.fill(contents.clone());
        let address = &raw const *first;
        boxes.empty(first);
        assert_eq!(Arc::strong_count(&contents), 1);
        let second = boxes.fill(contents.clone());
        assert!(std::ptr::eq(address, &raw const *second));
        drop(second);
        assert_eq!(Arc::strong_count(&contents), 1);
    }

    #[derive(Default)]
    struct Item(u32);

    impl Reset for Item {
        fn reset(&mut self) {
            self.0 = 0;
        }
    }

    #[test]
    fn what_somebody_holds_is_not_used_again() {
        let shared = Shared::new(8);
        let held = Arc::new(Item(7));
        shared.give(held.clone());
        shared.give(Arc::new(Item(8)));
        assert_eq!(shared.take().unwrap().0, 0);
        assert!(shared.take().is_none());
        assert_eq!(held.0, 7);
        drop(held);
        assert_eq!(shared.take().unwrap().0, 0);
        assert!(shared.take().is_none());
    }
}

#[cfg(test)]
#[cfg(hal_loom)]
mod models {
    use super::*;
    use crate::sync::model::explore;
    use crate::sync::thread;

    /// Not as new until reset.
    struct Item {
        used: bool,
    }

    impl Reset for Item {
        fn reset(&mut self) {
            self.used = false;
        }
    }

    fn take_use_give(shared: &Shared<Item>) {
        let mut item = shared.take().unwrap_or_else(|| Arc::new(Item { used: false }));
        let mine = Arc::get_mut(&mut item).expect("somebody else has it too");
        assert!(!std::mem::replace(&mut mine.used, true), "not as new");
        shared.give(item);
    }

    #[test]
    fn an_object_has_one_user() {
        explore(|| {
            let shared = Arc::new(Shared::new(1));
            let held = Arc::new(Item { used: true });
            shared.give(held.clone());
            let other = shared.clone();
            let other = thread::spawn("model", move || {
                take_use_give(&other);
                take_use_give(&other);
            });
            drop(held);
            take_use_give(&shared);
            other.unwrap().join().unwrap();
        });
    }

    #[test]
    fn a_box_has_one_user() {
        explore(|| {
            let boxes = Arc::new(Boxes::new(1));
            boxes.empty(boxes.fill(0));
            let other = boxes.clone();
            let other = thread::spawn("model", move || other.empty(other.fill(1)));
            let mine = boxes.fill(2);
            other.unwrap().join().unwrap();
            assert_eq!(*mine, 2);
            boxes.empty(mine);
            assert_eq!(boxes.empty.lock().len(), 1);
        });
    }
}
