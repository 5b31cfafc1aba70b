//! Packed pairs of 16-bit floats.

use super::float::{brain_fma, half_fma};
use crate::exec::code::AluFn;
use crate::exec::half::{Bf16, F16, packed2};
use crate::exec::regs::{bin, tri, un};
use crate::ptx::types::Ty;

macro_rules! both {
    ($t:ident, |$a:ident, $b:ident| $e:expr) => {
        bin!(u32, |x: u32, y: u32| packed2(x, y, |a, b| {
            let ($a, $b) = ($t(a).get(), $t(b).get());
            $t::new($e).0
        }))
    };
}

macro_rules! fused {
    ($t:ident, $f:path) => {
        tri!(u32, |x: u32, y: u32, z: u32| {
            let low = $f($t(x as u16), $t(y as u16), $t(z as u16)).0;
            let high = $f($t((x >> 16) as u16), $t((y >> 16) as u16), $t((z >> 16) as u16)).0;
            u32::from(low) | u32::from(high) << 16
        })
    };
}

/// The function for `add`, `fma` and so on at `f16x2` or `bf16x2`.
pub(crate) fn find(name: &str, ty: Ty) -> Option<AluFn> {
    Some(match (name, ty) {
        ("add", Ty::F16x2) => both!(F16, |a, b| a + b),
        ("sub", Ty::F16x2) => both!(F16, |a, b| a - b),
        ("mul", Ty::F16x2) => both!(F16, |a, b| a * b),
        ("min", Ty::F16x2) => both!(F16, |a, b| a.min(b)),
        ("max", Ty::F16x2) => both!(F16, |a, b| a.max(b)),
        ("fma", Ty::F16x2) => fused!(F16, half_fma),
        ("add", Ty::Bf16x2) => both!(Bf16, |a, b| a + b),
        ("sub", Ty::Bf16x2) => both!(Bf16, |a, b| a - b),
        ("mul", Ty::Bf16x2) => both!(Bf16, |a, b| a * b),
        ("min", Ty::Bf16x2) => both!(Bf16, |a, b| a.min(b)),
        ("max", Ty::Bf16x2) => both!(Bf16, |a, b| a.max(b)),
        ("fma", Ty::Bf16x2) => fused!(Bf16, brain_fma),
        ("neg", _) => un!(u32, |a: u32| a ^ 0x8000_8000),
        ("abs", _) => un!(u32, |a: u32| a & 0x7fff_7fff),
        _ => return None,
    })
}
