//! Integer arithmetic.

use crate::exec::code::AluFn;
use crate::exec::regs::{bin, tri, un};
use crate::ptx::types::Ty;

/// Arithmetic whose bits do not depend on signedness.
macro_rules! wrapping {
    ($name:expr, $t:ty) => {
        match $name {
            "add" => bin!($t, |a, b| a.wrapping_add(b)),
            "sub" => bin!($t, |a, b| a.wrapping_sub(b)),
            "mul.lo" => bin!($t, |a, b| a.wrapping_mul(b)),
            "mad.lo" => tri!($t, |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
            _ => return None,
        }
    };
}

/// Arithmetic that reads its operands as `$t`; `$w` is twice as wide. Hardware divides by zero to all ones.
macro_rules! numeric {
    ($name:expr, $t:ty, $w:ty, $bits:expr) => {
        match $name {
            "mul.hi" => bin!($t, |a, b| ((<$w>::from(a) * <$w>::from(b)) >> $bits) as $t),
            "mad.hi" => {
                tri!($t, |a, b, c| (((<$w>::from(a) * <$w>::from(b)) >> $bits) as $t).wrapping_add(c))
            }
            "div" => bin!($t, |a, b| if b == 0 { !0 } else { a.wrapping_div(b) }),
            "rem" => bin!($t, |a, b| if b == 0 { a } else { a.wrapping_rem(b) }),
            "min" => bin!($t, |a, b| if a < b { a } else { b }),
            "max" => bin!($t, |a, b| if a > b { a } else { b }),
            "sad" => {
                tri!($t, |a, b, c| (if a < b { b.wrapping_sub(a) } else { a.wrapping_sub(b) })
                    .wrapping_add(c))
            }
            _ => return None,
        }
    };
}

macro_rules! signed_only {
    ($name:expr, $t:ty) => {
        match $name {
            "abs" => un!($t, |a: $t| a.wrapping_abs()),
            "neg" => un!($t, |a: $t| a.wrapping_neg()),
            _ => return None,
        }
    };
}

macro_rules! widening {
    ($name:expr, $t:ty, $w:ty) => {
        match $name {
            "mul.wide" => bin!($t, |a, b| <$w>::from(a).wrapping_mul(<$w>::from(b))),
            "mad.wide" => tri!($t, $t, $w, |a: $t, b: $t, c: $w| <$w>::from(a)
                .wrapping_mul(<$w>::from(b))
                .wrapping_add(c)),
            _ => return None,
        }
    };
}

/// The function for `add`, `mul.hi` and so on at an integer type.
pub(crate) fn find(name: &str, ty: Ty) -> Option<AluFn> {
    let f = match name {
        "add" | "sub" | "mul.lo" | "mad.lo" => match ty {
            Ty::U16 | Ty::S16 => wrapping!(name, u16),
            Ty::U32 | Ty::S32 => wrapping!(name, u32),
            Ty::U64 | Ty::S64 => wrapping!(name, u64),
            _ => return None,
        },
        "add.sat" if ty == Ty::S32 => bin!(i32, |a, b| a.saturating_add(b)),
        "sub.sat" if ty == Ty::S32 => bin!(i32, |a, b| a.saturating_sub(b)),
        "abs" | "neg" => match ty {
            Ty::S16 => signed_only!(name, i16),
            Ty::S32 => signed_only!(name, i32),
            Ty::S64 => signed_only!(name, i64),
            _ => return None,
        },
        "mul.wide" | "mad.wide" => match ty {
            Ty::U16 => widening!(name, u16, u32),
            Ty::S16 => widening!(name, i16, i32),
            Ty::U32 => widening!(name, u32, u64),
            Ty::S32 => widening!(name, i32, i64),
            _ => return None,
        },
        "mul24.lo" => match ty {
            Ty::U32 => bin!(u32, |a, b| (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff)),
            Ty::S32 => bin!(i32, |a, b| ((a << 8) >> 8).wrapping_mul((b << 8) >> 8)),
            _ => return None,
        },
        "mad24.lo" => match ty {
            Ty::U32 => tri!(u32, |a, b, c| (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff).wrapping_add(c)),
            Ty::S32 => tri!(i32, |a, b, c| ((a << 8) >> 8).wrapping_mul((b << 8) >> 8).wrapping_add(c)),
            _ => return None,
        },
        _ => match ty {
            Ty::U16 => numeric!(name, u16, u32, 16),
            Ty::S16 => numeric!(name, i16, i32, 16),
            Ty::U32 => numeric!(name, u32, u64, 32),
            Ty::S32 => numeric!(name, i32, i64, 32),
            Ty::U64 => numeric!(name, u64, u128, 64),
            Ty::S64 => numeric!(name, i64, i128, 64),
            _ => return None,
        },
    };
    Some(f)
}
