//! Which bytes a kernel touched, and how.

use crate::exec::AccessKind;
use std::collections::BTreeMap;

const PAGE: u64 = 4096;
const READ: u8 = 1;
const WRITE: u8 = 2;
const ATOMIC: u8 = 4;

/// Marks for every byte of the pages that were touched.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    pages: BTreeMap<u64, Box<[u8; PAGE as usize]>>,
}

impl Touched {
    /// Notes an access.
    pub(crate) fn mark(&mut self, address: u64, bytes: u64, kind: AccessKind) {
        let mark = match kind {
            AccessKind::Read => READ,
            AccessKind::Write => WRITE,
            AccessKind::Atomic => ATOMIC,
        };
        let mut at = address;
        let end = address + bytes;
        while at < end {
            let page = self.pages.entry(at / PAGE).or_insert_with(|| Box::new([0; PAGE as usize]));
            let from = (at % PAGE) as usize;
            let count = (end - at).min(PAGE - at % PAGE);
            page[from..from + count as usize].iter_mut().for_each(|byte| *byte |= mark);
            at += count;
        }
    }

    /// The ranges of addresses that were touched alike, in order. What was also written counts as written.
    pub(crate) fn ranges(&self) -> Vec<(u64, u64, AccessKind)> {
        let mut ranges: Vec<(u64, u64, AccessKind)> = Vec::new();
        for (page, bytes) in &self.pages {
            for (offset, byte) in (0..).zip(bytes.iter()) {
                let kind = match *byte {
                    0 => continue,
                    READ => AccessKind::Read,
                    ATOMIC => AccessKind::Atomic,
                    _ => AccessKind::Write,
                };
                let address = page * PAGE + offset;
                match ranges.last_mut() {
                    Some((_, end, last)) if *end == address && *last == kind => *end += 1,
                    _ => ranges.push((address, address + 1, kind)),
                }
            }
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_join() {
        let mut touched = Touched::default();
        touched.mark(PAGE - 4, 8, AccessKind::Read);
        touched.mark(PAGE + 4, 4, AccessKind::Read);
        touched.mark(PAGE, 4, AccessKind::Write);
        let expected = [
            (PAGE - 4, PAGE, AccessKind::Read),
            (PAGE, PAGE + 4, AccessKind::Write),
            (PAGE + 4, PAGE + 8, AccessKind::Read),
        ];
        assert_eq!(touched.ranges(), expected);
    }
}
