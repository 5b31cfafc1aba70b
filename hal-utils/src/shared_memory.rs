//! Copies between ordinary memory and memory that a device may be writing at the same moment.
//!
//! Through relaxed atomics, since a plain copy would be a data race, and undefined behaviour reachable from safe code,
//! where the device is a thread of this process. The compiler makes loads and stores of them.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

const WORD: usize = size_of::<u64>();

/// # Safety
/// `source` is valid for reads of `target.len()` bytes, and only ever accessed atomically or by devices meanwhile.
pub(crate) unsafe fn read(source: NonNull<u8>, target: &mut [u8]) {
    let head = source.as_ptr().align_offset(WORD).min(target.len());
    let (head, rest) = target.split_at_mut(head);
    let mut from = source.as_ptr();
    for byte in head {
        // SAFETY: within the range.
        unsafe {
            *byte = AtomicU8::from_ptr(from).load(Ordering::Relaxed);
            from = from.add(1);
        }
    }
    let mut words = rest.chunks_exact_mut(WORD);
    for word in &mut words {
        // SAFETY: within the range, and aligned after the head.
        unsafe {
            word.copy_from_slice(&AtomicU64::from_ptr(from.cast()).load(Ordering::Relaxed).to_ne_bytes());
            from = from.add(WORD);
        }
    }
    for byte in words.into_remainder() {
        // SAFETY: within the range.
        unsafe {
            *byte = AtomicU8::from_ptr(from).load(Ordering::Relaxed);
            from = from.add(1);
        }
    }
}

/// # Safety
/// `target` is valid for writes of `source.len()` bytes, and only ever accessed atomically or by devices meanwhile.
pub(crate) unsafe fn write(target: NonNull<u8>, source: &[u8]) {
    let head = target.as_ptr().align_offset(WORD).min(source.len());
    let (head, rest) = source.split_at(head);
    let mut to = target.as_ptr();
    let (words, tail) = rest.as_chunks::<WORD>();
    for byte in head {
        // SAFETY: within the range.
        unsafe {
            AtomicU8::from_ptr(to).store(*byte, Ordering::Relaxed);
            to = to.add(1);
        }
    }
    for word in words {
        // SAFETY: within the range, and aligned after the head.
        unsafe {
            AtomicU64::from_ptr(to.cast()).store(u64::from_ne_bytes(*word), Ordering::Relaxed);
            to = to.add(WORD);
        }
    }
    for byte in tail {
        // SAFETY: within the range.
        unsafe {
            AtomicU8::from_ptr(to).store(*byte, Ordering::Relaxed);
            to = to.add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_alignment_and_length() {
        for start in 0..WORD {
            for length in 0..40 {
                let source: Vec<u8> = (1..=length as u8).collect();
                let mut memory = [0u8; 64];
                let at = NonNull::new(memory[start..].as_mut_ptr()).unwrap();
                let mut back = vec![0; length];
                // SAFETY: 64 bytes hold any start below 8 and length below 40; nobody else has them.
                unsafe {
                    write(at, &source);
                    read(at, &mut back);
                }
                assert_eq!(back, source);
                assert!(memory[..start].iter().chain(&memory[start + length..]).all(|&byte| byte == 0));
            }
        }
    }
}
