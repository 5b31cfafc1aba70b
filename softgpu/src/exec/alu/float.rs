//! Floating-point arithmetic on `f32`, `f64` and single 16-bit floats.

use super::rounding::{self, Round};
use crate::exec::code::AluFn;
use crate::exec::half::{Bf16, F16};
use crate::exec::regs::{bin, tri, un};
use crate::ptx::types::Ty;

macro_rules! nearest {
    ($name:expr, $t:ty) => {
        match $name {
            "add" => bin!($t, |a: $t, b: $t| a + b),
            "sub" => bin!($t, |a: $t, b: $t| a - b),
            "mul" => bin!($t, |a: $t, b: $t| a * b),
            "fma" => tri!($t, |a: $t, b: $t, c: $t| a.mul_add(b, c)),
            "div" => bin!($t, |a: $t, b: $t| a / b),
            "rcp" => un!($t, |a: $t| 1.0 / a),
            "sqrt" => un!($t, |a: $t| a.sqrt()),
            "abs" => un!($t, |a: $t| a.abs()),
            "neg" => un!($t, |a: $t| -a),
            // A NaN operand loses against a number.
            "min" => bin!($t, |a: $t, b: $t| minimum(a, b, a.is_sign_negative(), b.is_nan())),
            "max" => bin!($t, |a: $t, b: $t| maximum(a, b, a.is_sign_negative(), b.is_nan())),
            "min.nan" => bin!($t, |a: $t, b: $t| if a.is_nan() || b.is_nan() {
                <$t>::NAN
            } else {
                minimum(a, b, a.is_sign_negative(), false)
            }),
            "max.nan" => bin!($t, |a: $t, b: $t| if a.is_nan() || b.is_nan() {
                <$t>::NAN
            } else {
                maximum(a, b, a.is_sign_negative(), false)
            }),
            // The sign is that of the first operand.
            "copysign" => bin!($t, |a: $t, b: $t| b.copysign(a)),
            _ => return None,
        }
    };
}

#[inline(always)]
fn minimum<T: PartialOrd + Copy>(a: T, b: T, a_negative: bool, b_nan: bool) -> T {
    if b_nan || a < b || (a == b && a_negative) { a } else { b }
}

#[inline(always)]
fn maximum<T: PartialOrd + Copy>(a: T, b: T, a_negative: bool, b_nan: bool) -> T {
    if b_nan || a > b || (a == b && !a_negative) { a } else { b }
}

macro_rules! directed {
    ($op:expr, $t:ty, $round:expr, $add:path, $mul:path, $fma:path, $div:path, $sqrt:path) => {
        match $op {
            "add" => bin!($t, |a: $t, b: $t| $add(a, b, $round)),
            "sub" => bin!($t, |a: $t, b: $t| $add(a, -b, $round)),
            "mul" => bin!($t, |a: $t, b: $t| $mul(a, b, $round)),
            "fma" => tri!($t, |a: $t, b: $t, c: $t| $fma(a, b, c, $round)),
            "div" => bin!($t, |a: $t, b: $t| $div(a, b, $round)),
            "rcp" => un!($t, |a: $t| $div(1.0, a, $round)),
            "sqrt" => un!($t, |a: $t| $sqrt(a, $round)),
            _ => return None,
        }
    };
}

macro_rules! single {
    ($op:expr, $round:expr) => {
        directed!(
            $op,
            f32,
            $round,
            rounding::add32,
            rounding::mul32,
            rounding::fma32,
            rounding::div32,
            rounding::sqrt32
        )
    };
}

macro_rules! double {
    ($op:expr, $round:expr) => {
        directed!(
            $op,
            f64,
            $round,
            rounding::add64,
            rounding::mul64,
            rounding::fma64,
            rounding::div64,
            rounding::sqrt64
        )
    };
}

/// The function for `add`, `fma` and so on, rounded as asked.
pub(crate) fn find(name: &str, ty: Ty, round: Round) -> Option<AluFn> {
    let f = match (ty, round) {
        (Ty::F32, Round::Nearest) => nearest!(name, f32),
        (Ty::F64, Round::Nearest) => nearest!(name, f64),
        (Ty::F32, Round::Zero) => single!(name, Round::Zero),
        (Ty::F32, Round::Down) => single!(name, Round::Down),
        (Ty::F32, Round::Up) => single!(name, Round::Up),
        (Ty::F64, Round::Zero) => double!(name, Round::Zero),
        (Ty::F64, Round::Down) => double!(name, Round::Down),
        (Ty::F64, Round::Up) => double!(name, Round::Up),
        (Ty::F16, Round::Nearest) => half(name)?,
        (Ty::Bf16, Round::Nearest) => brain(name)?,
        _ => return None,
    };
    Some(f)
}

/// The functions that hardware only approximates; here they are as good as the platform's.
pub(crate) fn approximate(name: &str, ty: Ty) -> Option<AluFn> {
    let f = match (name, ty) {
        ("rsqrt", Ty::F32) => un!(f32, |a: f32| (1.0 / f64::from(a).sqrt()) as f32),
        ("rsqrt", Ty::F64) => un!(f64, |a: f64| 1.0 / a.sqrt()),
        ("sin", Ty::F32) => un!(f32, |a: f32| a.sin()),
        ("cos", Ty::F32) => un!(f32, |a: f32| a.cos()),
        ("lg2", Ty::F32) => un!(f32, |a: f32| a.log2()),
        ("ex2", Ty::F32) => un!(f32, exp2),
        ("tanh", Ty::F32) => un!(f32, |a: f32| a.tanh()),
        ("ex2", Ty::F16) => un!(F16, |a: F16| F16::new(a.get().exp2())),
        ("tanh", Ty::F16) => un!(F16, |a: F16| F16::new(a.get().tanh())),
        _ => return None,
    };
    Some(f)
}

/// 2^a in a form that compilers turn into vector code: whole part by exponent, the rest by a polynomial in `f64`.
#[inline(always)]
fn exp2(a: f32) -> f32 {
    // Beyond these the result is 0 or infinity in f32 anyway. A NaN passes through.
    let x = f64::from(a.clamp(-160.0, 160.0));
    // Adding this constant leaves the nearest integer in the low bits of the significand.
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    let shifted = x + MAGIC;
    let t = (x - (shifted - MAGIC)) * std::f64::consts::LN_2;
    let scale = f64::from_bits((shifted.to_bits().wrapping_add(1023)) << 52);
    // Taylor: |t| ≤ 0.35, so the first term left out is below 2^-32.
    let p = 1.0
        + t * (1.0
            + t * (0.5
                + t * (1.0 / 6.0
                    + t * (1.0 / 24.0
                        + t * (1.0 / 120.0 + t * (1.0 / 720.0 + t * (1.0 / 5040.0 + t / 40320.0)))))));
    (p * scale) as f32
}

fn half(name: &str) -> Option<AluFn> {
    Some(match name {
        "add" => bin!(F16, |a: F16, b: F16| F16::new(a.get() + b.get())),
        "sub" => bin!(F16, |a: F16, b: F16| F16::new(a.get() - b.get())),
        "mul" => bin!(F16, |a: F16, b: F16| F16::new(a.get() * b.get())),
        "fma" => tri!(F16, |a: F16, b: F16, c: F16| half_fma(a, b, c)),
        "neg" => un!(F16, |a: F16| F16(a.0 ^ 0x8000)),
        "abs" => un!(F16, |a: F16| F16(a.0 & 0x7fff)),
        "min" => bin!(F16, |a: F16, b: F16| F16::new(a.get().min(b.get()))),
        "max" => bin!(F16, |a: F16, b: F16| F16::new(a.get().max(b.get()))),
        _ => return None,
    })
}

pub(super) fn half_fma(a: F16, b: F16, c: F16) -> F16 {
    F16::from_f64(f64::from(a.get()) * f64::from(b.get()) + f64::from(c.get()))
}

pub(super) fn brain_fma(a: Bf16, b: Bf16, c: Bf16) -> Bf16 {
    Bf16::new(a.get().mul_add(b.get(), c.get()))
}

fn brain(name: &str) -> Option<AluFn> {
    Some(match name {
        "add" => bin!(Bf16, |a: Bf16, b: Bf16| Bf16::new(a.get() + b.get())),
        "sub" => bin!(Bf16, |a: Bf16, b: Bf16| Bf16::new(a.get() - b.get())),
        "mul" => bin!(Bf16, |a: Bf16, b: Bf16| Bf16::new(a.get() * b.get())),
        "fma" => tri!(Bf16, |a: Bf16, b: Bf16, c: Bf16| brain_fma(a, b, c)),
        "neg" => un!(Bf16, |a: Bf16| Bf16(a.0 ^ 0x8000)),
        "abs" => un!(Bf16, |a: Bf16| Bf16(a.0 & 0x7fff)),
        "min" => bin!(Bf16, |a: Bf16, b: Bf16| Bf16::new(a.get().min(b.get()))),
        "max" => bin!(Bf16, |a: Bf16, b: Bf16| Bf16::new(a.get().max(b.get()))),
        _ => return None,
    })
}

/// `"ftz"` replaces subnormals by zero of their sign, `"sat"` clamps to 0..1; applied before and after an operation.
pub(crate) fn adjust(name: &str, ty: Ty) -> Option<AluFn> {
    let f = match (name, ty) {
        ("ftz", Ty::F32) => {
            un!(f32, |a: f32| if a.abs() < f32::MIN_POSITIVE { 0.0f32.copysign(a) } else { a })
        }
        ("sat", Ty::F32) => un!(f32, |a: f32| if a > 0.0 { a.min(1.0) } else { 0.0 }),
        ("sat", Ty::F64) => un!(f64, |a: f64| if a > 0.0 { a.min(1.0) } else { 0.0 }),
        ("sat", Ty::F16) => {
            un!(F16, |a: F16| if a.get() > 0.0 { F16::new(a.get().min(1.0)) } else { F16(0) })
        }
        ("relu", Ty::F16) => un!(F16, |a: F16| if a.get() > 0.0 { a } else { F16(0) }),
        _ => return None,
    };
    Some(f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp2_is_near_the_platform_and_exact_where_it_can_be() {
        for i in -1600..1600 {
            let x = i as f32 * 0.0931;
            let (got, want) = (f64::from(exp2(x)), f64::from(x).exp2());
            let want32 = f64::from(want as f32);
            assert!(got == want32 || (got - want32).abs() <= want * 1.3e-7 + 1.5e-45, "{x}: {got} {want}");
        }
        assert_eq!(exp2(3.0), 8.0);
        assert_eq!(exp2(-1.0), 0.5);
        assert_eq!(exp2(f32::NEG_INFINITY), 0.0);
        assert_eq!(exp2(f32::INFINITY), f32::INFINITY);
        assert_eq!(exp2(1e30), f32::INFINITY);
        assert!(exp2(f32::NAN).is_nan());
    }

    #[test]
    fn minimum_prefers_numbers_and_negative_zero() {
        let min = |a: f32, b: f32| minimum(a, b, a.is_sign_negative(), b.is_nan());
        assert_eq!(min(f32::NAN, 1.0), 1.0);
        assert_eq!(min(1.0, f32::NAN), 1.0);
        assert!(min(-0.0, 0.0).is_sign_negative());
        assert!(min(0.0, -0.0).is_sign_negative());
    }
}
