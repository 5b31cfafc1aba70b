//! Comparisons.

use crate::exec::code::CompareFn;
use crate::exec::half::{Bf16, F16};
use crate::exec::regs::cmp;
use crate::ptx::types::Ty;

/// A comparison as: a function, whether to swap the operands, whether to negate the answer.
pub(crate) struct Comparison {
    pub f: CompareFn,
    pub swap: bool,
    pub negate: bool,
}

#[derive(Clone, Copy)]
enum Base {
    Eq,
    Lt,
    Le,
    /// Less or greater: unequal and neither is a NaN.
    Ne,
    /// Either is a NaN.
    Nan,
}

fn ordered(op: &str) -> Option<(Base, bool, bool)> {
    Some(match op {
        "eq" => (Base::Eq, false, false),
        "lt" | "lo" => (Base::Lt, false, false),
        "le" | "ls" => (Base::Le, false, false),
        "gt" | "hi" => (Base::Lt, true, false),
        "ge" | "hs" => (Base::Le, true, false),
        _ => return None,
    })
}

fn floating(op: &str) -> Option<(Base, bool, bool)> {
    Some(match op {
        "ne" => (Base::Ne, false, false),
        "equ" => (Base::Ne, false, true),
        "neu" => (Base::Eq, false, true),
        "ltu" => (Base::Le, true, true),
        "leu" => (Base::Lt, true, true),
        "gtu" => (Base::Le, false, true),
        "geu" => (Base::Lt, false, true),
        "nan" => (Base::Nan, false, false),
        "num" => (Base::Nan, false, true),
        _ => return ordered(op),
    })
}

macro_rules! whole {
    ($base:expr, $t:ty) => {
        match $base {
            Base::Eq => cmp!($t, |a, b| a == b),
            Base::Lt => cmp!($t, |a, b| a < b),
            Base::Le => cmp!($t, |a, b| a <= b),
            Base::Ne | Base::Nan => return None,
        }
    };
}

macro_rules! real {
    ($base:expr, $t:ty, $get:expr) => {
        match $base {
            Base::Eq => cmp!($t, |a, b| $get(a) == $get(b)),
            Base::Lt => cmp!($t, |a, b| $get(a) < $get(b)),
            Base::Le => cmp!($t, |a, b| $get(a) <= $get(b)),
            Base::Ne => cmp!($t, |a, b| $get(a) < $get(b) || $get(a) > $get(b)),
            Base::Nan => cmp!($t, |a, b| $get(a).is_nan() || $get(b).is_nan()),
        }
    };
}

/// The comparison `op` at a type.
pub(crate) fn find(op: &str, ty: Ty) -> Option<Comparison> {
    let (base, swap, negate) = if ty.float() {
        floating(op)?
    } else if op == "ne" {
        (Base::Eq, false, true)
    } else {
        ordered(op)?
    };
    // `lo`, `ls`, `hi`, `hs` are the unsigned orders.
    if matches!(op, "lo" | "ls" | "hi" | "hs") && (ty.float() || ty.signed()) {
        return None;
    }
    let f = match ty {
        Ty::B16 | Ty::U16 => whole!(base, u16),
        Ty::B32 | Ty::U32 => whole!(base, u32),
        Ty::B64 | Ty::U64 => whole!(base, u64),
        Ty::S16 => whole!(base, i16),
        Ty::S32 => whole!(base, i32),
        Ty::S64 => whole!(base, i64),
        Ty::F32 => real!(base, f32, |v: f32| v),
        Ty::F64 => real!(base, f64, |v: f64| v),
        Ty::F16 => real!(base, F16, |v: F16| v.get()),
        Ty::Bf16 => real!(base, Bf16, |v: Bf16| v.get()),
        _ => return None,
    };
    Some(Comparison { f, swap, negate })
}

/// `testp`: a property of one float; the second operand is ignored.
pub(crate) fn property(name: &str, ty: Ty) -> Option<CompareFn> {
    macro_rules! of {
        ($t:ty) => {
            match name {
                "finite" => cmp!($t, |a, _| a.is_finite()),
                "infinite" => cmp!($t, |a, _| a.is_infinite()),
                "number" => cmp!($t, |a, _| !a.is_nan()),
                "notanumber" => cmp!($t, |a, _| a.is_nan()),
                "normal" => cmp!($t, |a, _| a.is_normal()),
                "subnormal" => cmp!($t, |a, _| a.is_subnormal()),
                _ => return None,
            }
        };
    }
    Some(match ty {
        Ty::F32 => of!(f32),
        Ty::F64 => of!(f64),
        _ => return None,
    })
}
