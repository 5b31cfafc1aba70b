//! Single elements of memory. Other threads may use the same bytes, so each access is a relaxed atomic of its size.

use super::code::{AtomOp, AtomTy};
use super::half::{F16, packed2};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// An element as it lies in memory.
pub(crate) trait Cell: Copy + Default {
    /// # Safety
    /// `at` is valid for the element's size and aligned to it.
    unsafe fn load(at: *const u8) -> Self;
    /// # Safety
    /// As for [`load`](Self::load), and writable.
    unsafe fn store(self, at: *mut u8);
}

macro_rules! cell {
    ($($ty:ty, $atomic:ty;)*) => {$(
        impl Cell for $ty {
            #[inline(always)]
            unsafe fn load(at: *const u8) -> Self {
                // SAFETY: the caller vouches for the pointer; a load writes nothing.
                unsafe { <$atomic>::from_ptr(at.cast_mut().cast()) }.load(Relaxed)
            }
            #[inline(always)]
            unsafe fn store(self, at: *mut u8) {
                // SAFETY: the caller vouches for the pointer.
                unsafe { <$atomic>::from_ptr(at.cast()) }.store(self, Relaxed);
            }
        }
    )*};
}

cell! {
    u8, AtomicU8;
    u16, AtomicU16;
    u32, AtomicU32;
    u64, AtomicU64;
}

/// Loads `size` bytes, zero-extended.
///
/// # Safety
/// `at` is valid for `size` bytes (1, 2, 4 or 8) and aligned to them.
#[inline(always)]
pub(crate) unsafe fn load(at: *const u8, size: u8) -> u64 {
    // SAFETY: passed on from the caller.
    unsafe {
        match size {
            1 => u64::from(u8::load(at)),
            2 => u64::from(u16::load(at)),
            4 => u64::from(u32::load(at)),
            _ => u64::load(at),
        }
    }
}

/// Stores the low `size` bytes.
///
/// # Safety
/// As for [`load`], and writable.
#[inline(always)]
pub(crate) unsafe fn store(at: *mut u8, size: u8, value: u64) {
    // SAFETY: passed on from the caller.
    unsafe {
        match size {
            1 => (value as u8).store(at),
            2 => (value as u16).store(at),
            4 => (value as u32).store(at),
            _ => value.store(at),
        }
    }
}

/// Performs a read-modify-write and returns the old value.
///
/// # Safety
/// `at` is valid for reads and writes of the type's size and aligned to it.
pub(crate) unsafe fn atom(at: *mut u8, op: AtomOp, ty: AtomTy, b: u64, c: u64) -> u64 {
    match ty {
        AtomTy::U64 | AtomTy::S64 | AtomTy::F64 => {
            // SAFETY: the caller vouches for the pointer.
            let cell = unsafe { AtomicU64::from_ptr(at.cast()) };
            match (op, ty) {
                (AtomOp::Add, AtomTy::U64 | AtomTy::S64) => cell.fetch_add(b, Relaxed),
                (AtomOp::Exch, _) => cell.swap(b, Relaxed),
                (AtomOp::Cas, _) => cell.compare_exchange(b, c, Relaxed, Relaxed).unwrap_or_else(|old| old),
                _ => update(|new| cell.fetch_update(Relaxed, Relaxed, new), |old| combine64(op, ty, old, b)),
            }
        }
        AtomTy::B16 | AtomTy::F16 => {
            // SAFETY: the caller vouches for the pointer.
            let cell = unsafe { AtomicU16::from_ptr(at.cast()) };
            u64::from(match ty {
                AtomTy::B16 => {
                    cell.compare_exchange(b as u16, c as u16, Relaxed, Relaxed).unwrap_or_else(|old| old)
                }
                _ => update(|new| cell.fetch_update(Relaxed, Relaxed, new), |old| half_sum(old, b as u16)),
            })
        }
        _ => {
            // SAFETY: the caller vouches for the pointer.
            let cell = unsafe { AtomicU32::from_ptr(at.cast()) };
            let (b, c) = (b as u32, c as u32);
            u64::from(match (op, ty) {
                (AtomOp::Add, AtomTy::U32 | AtomTy::S32) => cell.fetch_add(b, Relaxed),
                (AtomOp::Exch, _) => cell.swap(b, Relaxed),
                (AtomOp::Cas, _) => cell.compare_exchange(b, c, Relaxed, Relaxed).unwrap_or_else(|old| old),
                _ => update(|new| cell.fetch_update(Relaxed, Relaxed, new), |old| combine32(op, ty, old, b)),
            })
        }
    }
}

/// `fetch_update` with a function that always has an answer.
#[inline(always)]
fn update<T: Copy>(
    fetch: impl FnOnce(&mut dyn FnMut(T) -> Option<T>) -> Result<T, T>,
    new: impl Fn(T) -> T,
) -> T {
    fetch(&mut |old| Some(new(old))).unwrap_or_else(|old| old)
}

fn half_sum(a: u16, b: u16) -> u16 {
    F16::new(F16(a).get() + F16(b).get()).0
}

fn combine64(op: AtomOp, ty: AtomTy, old: u64, b: u64) -> u64 {
    match (op, ty) {
        (AtomOp::Add, AtomTy::F64) => (f64::from_bits(old) + f64::from_bits(b)).to_bits(),
        (AtomOp::Min, AtomTy::S64) => (old as i64).min(b as i64) as u64,
        (AtomOp::Max, AtomTy::S64) => (old as i64).max(b as i64) as u64,
        (AtomOp::Min, _) => old.min(b),
        (AtomOp::Max, _) => old.max(b),
        (AtomOp::And, _) => old & b,
        (AtomOp::Or, _) => old | b,
        (AtomOp::Xor, _) => old ^ b,
        (AtomOp::Add, _) => old.wrapping_add(b),
        _ => b,
    }
}

pub(crate) fn combine32(op: AtomOp, ty: AtomTy, old: u32, b: u32) -> u32 {
    match (op, ty) {
        (AtomOp::Add, AtomTy::F32) => (f32::from_bits(old) + f32::from_bits(b)).to_bits(),
        (AtomOp::Add, AtomTy::F16x2) => packed2(old, b, half_sum),
        (AtomOp::Min, AtomTy::S32) => (old as i32).min(b as i32) as u32,
        (AtomOp::Max, AtomTy::S32) => (old as i32).max(b as i32) as u32,
        (AtomOp::Min, _) => old.min(b),
        (AtomOp::Max, _) => old.max(b),
        (AtomOp::And, _) => old & b,
        (AtomOp::Or, _) => old | b,
        (AtomOp::Xor, _) => old ^ b,
        (AtomOp::Inc, _) => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        (AtomOp::Dec, _) => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
        (AtomOp::Add, _) => old.wrapping_add(b),
        _ => b,
    }
}
