//! Which bytes of an allocation were written.

use std::sync::atomic::{AtomicU64, Ordering};

/// One bit for each byte.
#[derive(Debug)]
pub(crate) struct Init {
    words: Vec<AtomicU64>,
}

impl Init {
    /// Nothing was written yet. `None` if there is no memory to remember it in.
    pub(crate) fn new(len: u64) -> Option<Self> {
        let count = usize::try_from(len.div_ceil(64)).ok()?;
        let mut words = Vec::new();
        words.try_reserve_exact(count).ok()?;
        words.resize_with(count, AtomicU64::default);
        Some(Self { words })
    }

    /// The words that a range lies in, each with the bits of the range.
    fn parts(&self, start: u64, len: u64) -> impl Iterator<Item = (&AtomicU64, u64, u64)> {
        let end = start + len;
        (start / 64..end.div_ceil(64)).filter_map(move |word| {
            let (from, to) = (start.max(word * 64) - word * 64, end.min(word * 64 + 64) - word * 64);
            let bits = if to - from == 64 { u64::MAX } else { ((1 << (to - from)) - 1) << from };
            self.words.get(word as usize).map(|place| (place, bits, word * 64))
        })
    }

    /// Notes that bytes were written.
    pub(crate) fn set(&self, start: u64, len: u64) {
        for (word, bits, _) in self.parts(start, len) {
            if word.load(Ordering::Relaxed) & bits != bits {
                word.fetch_or(bits, Ordering::Relaxed);
            }
        }
    }

    fn unset(&self, start: u64, len: u64) {
        for (word, bits, _) in self.parts(start, len) {
            word.fetch_and(!bits, Ordering::Relaxed);
        }
    }

    /// The first byte of a range that was not written.
    pub(crate) fn first_unset(&self, start: u64, len: u64) -> Option<u64> {
        self.parts(start, len).find_map(|(word, bits, at)| {
            let missing = bits & !word.load(Ordering::Relaxed);
            (missing != 0).then(|| at + u64::from(missing.trailing_zeros()))
        })
    }

    /// Takes over what is known of `len` bytes of another allocation, or of another part of this one.
    pub(crate) fn copy_from(&self, to: u64, other: &Self, from: u64, len: u64) {
        if other.first_unset(from, len).is_none() {
            return self.set(to, len);
        }
        let known: Vec<bool> = (0..len).map(|at| other.first_unset(from + at, 1).is_none()).collect();
        for (at, known) in (0..).zip(known) {
            if known { self.set(to + at, 1) } else { self.unset(to + at, 1) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_told_apart() {
        let init = Init::new(200).unwrap();
        assert_eq!(init.first_unset(0, 200), Some(0));
        init.set(60, 70);
        assert_eq!(init.first_unset(60, 70), None);
        assert_eq!(init.first_unset(59, 2), Some(59));
        assert_eq!(init.first_unset(100, 31), Some(130));
        assert_eq!(init.first_unset(64, 0), None);
        let other = Init::new(200).unwrap();
        other.set(0, 10);
        other.copy_from(5, &init, 55, 10);
        assert_eq!((other.first_unset(0, 10), other.first_unset(10, 5)), (Some(5), None));
    }
}
