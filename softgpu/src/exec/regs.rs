//! The registers of one warp, and loops over its lanes.

use super::code::{AluFn, Args, CompareFn};
use super::half::{Bf16, F16};

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;
/// All lanes.
pub(crate) const FULL: u32 = u32::MAX;

/// Lane l's bit in a mask; a table, since a shift by the lane does not vectorise without AVX2.
const BIT: [u32; LANES] = {
    let mut table = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        table[lane] = 1 << lane;
        lane += 1;
    }
    table
};

#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Slot([u32; LANES]);

/// Registers, predicates and constants of a warp.
#[derive(Debug)]
pub(crate) struct Regs {
    slots: Box<[Slot]>,
    pub(crate) preds: Box<[u32]>,
}

/// What a slot holds per lane: 32 or 64 bits.
pub(crate) trait Raw: Copy + Default + 'static {}

impl Raw for u32 {}
impl Raw for u64 {}

impl Regs {
    pub(crate) fn new(slots: u32, preds: u32) -> Self {
        Self {
            // One more than asked for: an unused 32-bit slot at the end may be looked at as 64 bits.
            slots: vec![Slot([0; LANES]); slots as usize + 1].into_boxed_slice(),
            preds: vec![0; preds as usize].into_boxed_slice(),
        }
    }

    #[inline(always)]
    fn ptr<R: Raw>(&self, slot: u32) -> *const [R; LANES] {
        debug_assert!((slot as usize) < self.slots.len());
        // SAFETY: translation numbers slots below the count this file was made with, see `Code::slots`.
        unsafe { self.slots.as_ptr().add(slot as usize).cast() }
    }

    #[inline(always)]
    pub(crate) fn row<R: Raw>(&self, slot: u32) -> &[R; LANES] {
        // SAFETY: a `Slot` is 32 plain words and is aligned for both widths; a 64-bit register owns the slot
        // behind it too, and the file ends with a spare one. Any bits are valid.
        unsafe { &*self.ptr(slot) }
    }

    #[inline(always)]
    pub(crate) fn row_mut<R: Raw>(&mut self, slot: u32) -> &mut [R; LANES] {
        // SAFETY: as in `row`; the exclusive borrow covers the whole file.
        unsafe { &mut *self.slots.as_mut_ptr().add(slot as usize).cast() }
    }

    /// Writes the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn write<R: Raw>(&mut self, slot: u32, mask: u32, values: &[R; LANES]) {
        let row = self.row_mut::<R>(slot);
        if mask == FULL {
            *row = *values;
        } else {
            for lane in 0..LANES {
                row[lane] = if mask & BIT[lane] != 0 { values[lane] } else { row[lane] };
            }
        }
    }

    /// Writes `values`, as wide as the register is.
    #[inline(always)]
    pub(crate) fn write_bits(&mut self, slot: u32, wide: bool, mask: u32, values: &[u64; LANES]) {
        if wide {
            self.write(slot, mask, values);
        } else {
            let mut narrow = [0u32; LANES];
            for lane in 0..LANES {
                narrow[lane] = values[lane] as u32;
            }
            self.write(slot, mask, &narrow);
        }
    }

    /// Reads a register of either width.
    #[inline(always)]
    pub(crate) fn read_bits(&self, slot: u32, wide: bool) -> [u64; LANES] {
        if wide {
            return *self.row(slot);
        }
        let row = self.row::<u32>(slot);
        let mut out = [0; LANES];
        for lane in 0..LANES {
            out[lane] = u64::from(row[lane]);
        }
        out
    }

    #[inline(always)]
    pub(crate) fn pred(&self, p: super::code::Pred) -> u32 {
        self.preds[p.slot as usize] ^ if p.negate { FULL } else { 0 }
    }

    #[inline(always)]
    pub(crate) fn set_pred(&mut self, slot: u32, mask: u32, bits: u32) {
        let p = &mut self.preds[slot as usize];
        *p = (*p & !mask) | (bits & mask);
    }
}

/// A type that lives in a register.
pub(crate) trait Lane: Copy {
    type Raw: Raw;
    fn from_raw(raw: Self::Raw) -> Self;
    fn to_raw(self) -> Self::Raw;
}

macro_rules! lane {
    ($($ty:ty, $raw:ty, |$r:ident| $from:expr, |$v:ident| $to:expr;)*) => {$(
        impl Lane for $ty {
            type Raw = $raw;
            #[inline(always)]
            fn from_raw($r: $raw) -> Self { $from }
            #[inline(always)]
            fn to_raw(self) -> $raw { let $v = self; $to }
        }
    )*};
}

lane! {
    u16, u32, |r| r as u16, |v| u32::from(v);
    i16, u32, |r| r as i16, |v| u32::from(v as u16);
    u32, u32, |r| r, |v| v;
    i32, u32, |r| r as i32, |v| v as u32;
    f32, u32, |r| f32::from_bits(r), |v| v.to_bits();
    F16, u32, |r| F16(r as u16), |v| u32::from(v.0);
    Bf16, u32, |r| Bf16(r as u16), |v| u32::from(v.0);
    u64, u64, |r| r, |v| v;
    i64, u64, |r| r as i64, |v| v as u64;
    f64, u64, |r| f64::from_bits(r), |v| v.to_bits();
}

#[inline(always)]
pub(crate) fn unary<T: Lane, U: Lane>(r: &mut Regs, s: &Args, m: u32, f: impl Fn(T) -> U) {
    let a = r.row::<T::Raw>(s.a);
    let mut out = [U::Raw::default(); LANES];
    for lane in 0..LANES {
        out[lane] = f(T::from_raw(a[lane])).to_raw();
    }
    r.write(s.d, m, &out);
}

#[inline(always)]
pub(crate) fn binary<T: Lane, V: Lane, U: Lane>(r: &mut Regs, s: &Args, m: u32, f: impl Fn(T, V) -> U) {
    let (a, b) = (r.row::<T::Raw>(s.a), r.row::<V::Raw>(s.b));
    let mut out = [U::Raw::default(); LANES];
    for lane in 0..LANES {
        out[lane] = f(T::from_raw(a[lane]), V::from_raw(b[lane])).to_raw();
    }
    r.write(s.d, m, &out);
}

#[inline(always)]
pub(crate) fn ternary<T: Lane, V: Lane, W: Lane, U: Lane>(
    r: &mut Regs,
    s: &Args,
    m: u32,
    f: impl Fn(T, V, W) -> U,
) {
    let (a, b, c) = (r.row::<T::Raw>(s.a), r.row::<V::Raw>(s.b), r.row::<W::Raw>(s.c));
    let mut out = [U::Raw::default(); LANES];
    for lane in 0..LANES {
        out[lane] = f(T::from_raw(a[lane]), V::from_raw(b[lane]), W::from_raw(c[lane])).to_raw();
    }
    r.write(s.d, m, &out);
}

#[inline(always)]
pub(crate) fn compare<T: Lane>(r: &Regs, s: &Args, f: impl Fn(T, T) -> bool) -> u32 {
    let (a, b) = (r.row::<T::Raw>(s.a), r.row::<T::Raw>(s.b));
    let mut bits = 0;
    for lane in 0..LANES {
        bits |= if f(T::from_raw(a[lane]), T::from_raw(b[lane])) { BIT[lane] } else { 0 };
    }
    bits
}

/// Whether the CPU has what the second copy of every lane loop is compiled for.
pub(crate) fn wide_cpu() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("fma")
            && std::arch::is_x86_feature_detected!("bmi2")
            && std::arch::is_x86_feature_detected!("lzcnt")
            && std::arch::is_x86_feature_detected!("popcnt")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Picks between two copies of a function that differ in the CPU they need.
pub(crate) fn pick<F>(base: F, wide: F) -> F {
    if wide_cpu() { wide } else { base }
}

/// Keeps the types of the two function pointers in one place.
pub(crate) fn pick_alu(base: AluFn, wide: AluFn) -> AluFn {
    pick(base, wide)
}

/// As [`pick_alu`].
pub(crate) fn pick_compare(base: CompareFn, wide: CompareFn) -> CompareFn {
    pick(base, wide)
}

/// Makes an [`AluFn`] of an expression, compiled twice: for any CPU, and for one with AVX2 and FMA.
macro_rules! alu {
    (|$r:ident, $s:ident, $m:ident| $body:expr) => {{
        fn base($r: &mut $crate::exec::regs::Regs, $s: &$crate::exec::code::Args, $m: u32) {
            $body
        }
        #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,bmi2,lzcnt,popcnt"))]
        fn wide($r: &mut $crate::exec::regs::Regs, $s: &$crate::exec::code::Args, $m: u32) {
            $body
        }
        $crate::exec::regs::pick_alu(base, wide)
    }};
}

/// `alu!` over one, two or three operands of the given types.
macro_rules! un {
    ($t:ty, $f:expr) => {
        $crate::exec::regs::alu!(|r, s, m| $crate::exec::regs::unary::<$t, _>(r, s, m, $f))
    };
}
macro_rules! bin {
    ($t:ty, $f:expr) => {
        $crate::exec::regs::alu!(|r, s, m| $crate::exec::regs::binary::<$t, $t, _>(r, s, m, $f))
    };
    ($t:ty, $v:ty, $f:expr) => {
        $crate::exec::regs::alu!(|r, s, m| $crate::exec::regs::binary::<$t, $v, _>(r, s, m, $f))
    };
}
macro_rules! tri {
    ($t:ty, $f:expr) => {
        $crate::exec::regs::alu!(|r, s, m| $crate::exec::regs::ternary::<$t, $t, $t, _>(r, s, m, $f))
    };
    ($t:ty, $v:ty, $w:ty, $f:expr) => {
        $crate::exec::regs::alu!(|r, s, m| $crate::exec::regs::ternary::<$t, $v, $w, _>(r, s, m, $f))
    };
}
macro_rules! cmp {
    ($t:ty, $f:expr) => {{
        fn base(r: &mut $crate::exec::regs::Regs, s: &$crate::exec::code::Args) -> u32 {
            $crate::exec::regs::compare::<$t>(r, s, $f)
        }
        #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,bmi2,lzcnt,popcnt"))]
        fn wide(r: &mut $crate::exec::regs::Regs, s: &$crate::exec::code::Args) -> u32 {
            $crate::exec::regs::compare::<$t>(r, s, $f)
        }
        $crate::exec::regs::pick_compare(base, wide)
    }};
}
pub(crate) use {alu, bin, cmp, tri, un};
