//! Memory of ended submissions, used again: in the steady state a submission allocates nothing.

use crate::sync::{Arc, Mutex};
use std::collections::VecDeque;
use std::mem::MaybeUninit;

/// How many spares are looked at that somebody held, before new memory is taken.
const TRIES: usize = 4;

/// What lives in a box and has a part that others may hold for a while longer.
pub(crate) trait Part {
    /// What it is made anew with.
    type With;

    /// Nobody needs it for now. Returns whether it keeps something that makes it worth taking first.
    fn rest(&mut self) -> bool;

    /// Makes it as new.
    fn renew(&mut self, with: Self::With);
}

/// The memory of one object: a box without contents, and the part that goes with it.
pub(crate) struct Spare<T, P> {
    memory: Box<MaybeUninit<T>>,
    part: Arc<P>,
}

impl<T, P> Spare<T, P> {
    pub(crate) fn new(part: P) -> Self {
        Spare { memory: Box::new_uninit(), part: Arc::new(part) }
    }

    /// Nothing while somebody else holds the part too.
    fn part_mut(&mut self) -> Option<&mut P> {
        Arc::get_mut(&mut self.part)
    }

    #[inline]
    pub(crate) fn fill(self, make: impl FnOnce(Arc<P>) -> T) -> Box<T> {
        Box::write(self.memory, make(self.part))
    }
}

/// Spares, up to a capacity.
pub(crate) struct Spares<T, P> {
    state: Mutex<State<T, P>>,
    capacity: usize,
}

struct State<T, P> {
    /// Nobody else's, and worth taking first.
    best: Vec<Spare<T, P>>,
    /// Nobody else's either.
    plain: Vec<Spare<T, P>>,
    /// Somebody held the part still when it came. Oldest first, so that they have let go of what is looked at.
    held: VecDeque<Spare<T, P>>,
    closed: bool,
}

impl<T, P> Default for State<T, P> {
    fn default() -> Self {
        State { best: Vec::new(), plain: Vec::new(), held: VecDeque::new(), closed: false }
    }
}

impl<T, P> State<T, P> {
    fn len(&self) -> usize {
        self.best.len() + self.plain.len() + self.held.len()
    }

    /// The first that has been let go of.
    fn take_held(&mut self, tries: usize) -> Option<Spare<T, P>> {
        for _ in 0..tries {
            let mut oldest = self.held.pop_front()?;
            if oldest.part_mut().is_some() {
                return Some(oldest);
            }
            // Later. What is taken instead comes here too, so that soon there are enough.
            self.held.push_back(oldest);
        }
        None
    }
}

impl<T, P: Part> Spares<T, P> {
    pub(crate) fn new(capacity: usize) -> Self {
        Spares { state: Mutex::default(), capacity }
    }

    /// One as new, whose part is nobody else's.
    pub(crate) fn take(&self, with: P::With) -> Result<Spare<T, P>, P::With> {
        let taken = {
            let mut state = self.state.lock();
            let free = state.best.pop().or_else(|| state.plain.pop());
            free.or_else(|| state.take_held(TRIES))
        };
        let Some(mut spare) = taken else { return Err(with) };
        // Outside the lock: it may give back what it owns.
        match spare.part_mut() {
            Some(part) => part.renew(with),
            None => return Err(with),
        }
        Ok(spare)
    }

    /// Drops the contents and keeps the memory.
    pub(crate) fn give(&self, full: Box<T>, part: Arc<P>) {
        let raw = Box::into_raw(full);
        // SAFETY: the pointer is the box's; the contents are dropped once, and the memory lives on as uninitialised.
        let memory = unsafe {
            raw.drop_in_place();
            Box::from_raw(raw.cast::<MaybeUninit<T>>())
        };
        // One more for each that comes, so that none keeps for long what it could let go of.
        if let Some(late) = self.keep(Spare { memory, part }) {
            self.keep(late);
        }
    }

    /// Returns another, if one is found that could not be put to rest as it came.
    fn keep(&self, mut spare: Spare<T, P>) -> Option<Spare<T, P>> {
        // Outside the lock, for what it lets go of.
        let rest = spare.part_mut().map(P::rest);
        let mut state = self.state.lock();
        if state.closed || state.len() >= self.capacity {
            drop(state);
            drop(spare);
            return None;
        }
        match rest {
            Some(true) => state.best.push(spare),
            Some(false) => state.plain.push(spare),
            None => {
                state.held.push_back(spare);
                return None;
            }
        }
        if state.held.is_empty() { None } else { state.take_held(1) }
    }

    /// Lets go of all of them, and of what comes later.
    pub(crate) fn close(&self) {
        let idle = std::mem::replace(&mut *self.state.lock(), State { closed: true, ..State::default() });
        drop(idle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Counter {
        used: u32,
        rests: bool,
    }

    impl Part for Counter {
        type With = ();

        fn rest(&mut self) -> bool {
            self.rests
        }

        fn renew(&mut self, (): ()) {
            self.used = 0;
        }
    }

    type Contents = (Arc<()>, Arc<Counter>);

    fn fill(spare: Spare<Contents, Counter>, contents: &Arc<()>) -> Box<Contents> {
        spare.fill(|part| (contents.clone(), part))
    }

    fn give(spares: &Spares<Contents, Counter>, full: Box<Contents>) {
        let part = full.1.clone();
        spares.give(full, part);
    }

    #[test]
    fn memory_is_used_again_and_its_contents_dropped_once() {
        let spares = Spares::new(1);
        let contents = Arc::new(());
        let first = fill(Spare::new(Counter { used: 7, rests: false }), &contents);
        let address = &raw const *first;
        give(&spares, first);
        assert_eq!(Arc::strong_count(&contents), 1);
        let second = fill(spares.take(()).unwrap(), &contents);
        assert!(std::ptr::eq(address, &raw const *second));
        assert_eq!(second.1.used, 0);
        drop(second);
        assert_eq!(Arc::strong_count(&contents), 1);
    }

    #[test]
    fn a_part_that_somebody_holds_is_not_used_again() {
        let spares = Spares::new(8);
        let contents = Arc::new(());
        let held = Arc::new(Counter { used: 7, rests: false });
        let held_too = held.clone();
        let full = Spare { memory: Box::new_uninit(), part: held_too }.fill(|part| (contents.clone(), part));
        give(&spares, full);
        give(&spares, fill(Spare::new(Counter { used: 8, rests: false }), &contents));
        assert_eq!(spares.take(()).unwrap().part.used, 0);
        assert!(spares.take(()).is_err());
        assert_eq!(held.used, 7);
        drop(held);
        assert_eq!(spares.take(()).unwrap().part.used, 0);
        assert!(spares.take(()).is_err());
    }

    #[test]
    fn what_keeps_something_is_taken_first() {
        let spares = Spares::new(8);
        let contents = Arc::new(());
        for rests in [false, true, false] {
            give(&spares, fill(Spare::new(Counter { used: 0, rests }), &contents));
        }
        let taken: Vec<_> =
            std::iter::from_fn(|| spares.take(()).ok()).map(|spare| spare.part.rests).collect();
        assert_eq!(taken, [true, false, false]);
    }

    #[test]
    fn what_was_held_as_it_came_is_put_to_rest_later() {
        let spares = Spares::new(8);
        let contents = Arc::new(());
        let full = fill(Spare::new(Counter { used: 0, rests: true }), &contents);
        let held = full.1.clone();
        give(&spares, full);
        drop(held);
        assert_eq!(spares.state.lock().held.len(), 1);
        give(&spares, fill(Spare::new(Counter::default()), &contents));
        let state = spares.state.lock();
        assert_eq!((state.best.len(), state.plain.len(), state.held.len()), (1, 1, 0));
    }

    #[test]
    fn nothing_stays_after_the_end() {
        let spares = Spares::new(8);
        let contents = Arc::new(());
        give(&spares, fill(Spare::new(Counter::default()), &contents));
        spares.close();
        assert!(spares.take(()).is_err());
        give(&spares, fill(Spare::new(Counter::default()), &contents));
        assert!(spares.take(()).is_err());
    }
}

#[cfg(test)]
#[cfg(hal_loom)]
mod models {
    use super::*;
    use crate::sync::model::explore;
    use crate::sync::thread;

    /// Not as new until renewed.
    struct Used(bool);

    impl Part for Used {
        type With = ();

        fn rest(&mut self) -> bool {
            false
        }

        fn renew(&mut self, (): ()) {
            self.0 = false;
        }
    }

    fn take_use_give(spares: &Spares<Arc<Used>, Used>) {
        let mut spare = spares.take(()).unwrap_or_else(|()| Spare::new(Used(false)));
        let mine = spare.part_mut().expect("somebody else has it too");
        assert!(!std::mem::replace(&mut mine.0, true), "not as new");
        let full = spare.fill(|part| part);
        let part = Arc::clone(&full);
        spares.give(full, part);
    }

    #[test]
    fn memory_has_one_user() {
        explore(|| {
            let spares = Arc::new(Spares::new(1));
            let full = Spare::new(Used(true)).fill(|part| part);
            let held = Arc::clone(&full);
            spares.give(full, held.clone());
            let other = spares.clone();
            let other = thread::spawn("model", move || {
                take_use_give(&other);
                take_use_give(&other);
            });
            drop(held);
            take_use_give(&spares);
            other.unwrap().join().unwrap();
            assert_eq!(spares.state.lock().len(), 1);
        });
    }

    #[test]
    fn what_comes_after_the_end_goes() {
        explore(|| {
            let spares = Arc::new(Spares::new(1));
            let part = Arc::new(Used(true));
            let other = (spares.clone(), part.clone());
            let other = thread::spawn("model", move || other.0.give(Box::new(other.1.clone()), other.1));
            spares.close();
            other.unwrap().join().unwrap();
            assert_eq!(Arc::strong_count(&part), 1);
        });
    }
}
