//! Directed rounding, without touching the CPU's rounding mode (which compiled code must not see changed).
//!
//! An operation is done to nearest and the sign of what was lost is found exactly; a step to the neighbour follows
//! where the direction asks for it.

/// Where to round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    Nearest,
    Zero,
    Down,
    Up,
}

/// `sum` is rounded to nearest; `error` has the sign of exact − `sum`.
#[inline(always)]
fn step64(sum: f64, error: f64, round: Round) -> f64 {
    if !sum.is_finite() {
        // Finite operands that overflow stop at the largest number when rounding away from infinity.
        return match round {
            Round::Zero if sum.is_infinite() && !error.is_nan() => f64::MAX.copysign(sum),
            Round::Down if sum == f64::INFINITY && !error.is_nan() => f64::MAX,
            Round::Up if sum == f64::NEG_INFINITY && !error.is_nan() => f64::MIN,
            _ => sum,
        };
    }
    match round {
        Round::Down if error < 0.0 => sum.next_down(),
        Round::Up if error > 0.0 => sum.next_up(),
        Round::Zero if error < 0.0 && sum > 0.0 => sum.next_down(),
        Round::Zero if error > 0.0 && sum < 0.0 => sum.next_up(),
        _ => sum,
    }
}

/// Error of `a + b` (Knuth's two-sum).
#[inline(always)]
fn sum_error(a: f64, b: f64, sum: f64) -> f64 {
    let bb = sum - a;
    (a - (sum - bb)) + (b - bb)
}

pub(crate) fn add64(a: f64, b: f64, round: Round) -> f64 {
    let sum = a + b;
    if sum == 0.0 && a != 0.0 && round == Round::Down {
        return -0.0;
    }
    let error =
        if sum.is_finite() { sum_error(a, b, sum) } else { overflow_mark(a.is_finite() && b.is_finite()) };
    step64(sum, error, round)
}

/// Stands for the error of an overflow: a number if the operands were finite, else NaN, "leave it".
fn overflow_mark(finite: bool) -> f64 {
    if finite { 0.0 } else { f64::NAN }
}

pub(crate) fn mul64(a: f64, b: f64, round: Round) -> f64 {
    let product = a * b;
    let error = if product.is_finite() {
        a.mul_add(b, -product)
    } else {
        overflow_mark(a.is_finite() && b.is_finite())
    };
    step64(product, error, round)
}

pub(crate) fn fma64(a: f64, b: f64, c: f64, round: Round) -> f64 {
    let sum = a.mul_add(b, c);
    if !sum.is_finite() {
        return step64(sum, overflow_mark(a.is_finite() && b.is_finite() && c.is_finite()), round);
    }
    // Boldo and Muller's error of a fused multiply-add.
    let product = a * b;
    let low = a.mul_add(b, -product);
    let alpha = c + low;
    let alpha_error = sum_error(c, low, alpha);
    let beta = product + alpha;
    let beta_error = sum_error(product, alpha, beta);
    step64(sum, ((beta - sum) + beta_error) + alpha_error, round)
}

pub(crate) fn div64(a: f64, b: f64, round: Round) -> f64 {
    let quotient = a / b;
    if !quotient.is_finite() || quotient == 0.0 {
        return quotient;
    }
    // a − q·b is exact; its sign, seen through b's, is the sign of what was lost.
    let rest = quotient.mul_add(-b, a);
    step64(quotient, rest * b.signum(), round)
}

pub(crate) fn sqrt64(a: f64, round: Round) -> f64 {
    let root = a.sqrt();
    step64(root, if root.is_finite() { root.mul_add(-root, a) } else { f64::NAN }, round)
}

/// Rounds the exact value `value + error` to `f32`, where `value` is it rounded to nearest `f64`.
pub(crate) fn narrow(value: f64, error: f64, round: Round) -> f32 {
    let near = value as f32;
    if round == Round::Nearest || value.is_nan() {
        return near;
    }
    if near.is_infinite() && value.is_finite() {
        let toward = match round {
            Round::Down => value < 0.0,
            Round::Up => value > 0.0,
            _ => false,
        };
        return if toward { near } else { f32::MAX.copysign(near) };
    }
    let lost = value - f64::from(near);
    let lost = if lost == 0.0 { error } else { lost };
    match round {
        Round::Down if lost < 0.0 => near.next_down(),
        Round::Up if lost > 0.0 => near.next_up(),
        Round::Zero if lost < 0.0 && value > 0.0 => near.next_down(),
        Round::Zero if lost > 0.0 && value < 0.0 => near.next_up(),
        _ => near,
    }
}

pub(crate) fn add32(a: f32, b: f32, round: Round) -> f32 {
    fma32(a, 1.0, b, round)
}

pub(crate) fn mul32(a: f32, b: f32, round: Round) -> f32 {
    // The product of two 24-bit significands is exact in 53 bits.
    narrow(f64::from(a) * f64::from(b), 0.0, round)
}

pub(crate) fn fma32(a: f32, b: f32, c: f32, round: Round) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    if sum == 0.0 && product != 0.0 && round == Round::Down {
        return -0.0;
    }
    narrow(sum, if sum.is_finite() { sum_error(product, c, sum) } else { 0.0 }, round)
}

pub(crate) fn div32(a: f32, b: f32, round: Round) -> f32 {
    let (a, b) = (f64::from(a), f64::from(b));
    let quotient = a / b;
    let rest = if quotient.is_finite() { quotient.mul_add(-b, a) * b.signum() } else { 0.0 };
    narrow(quotient, rest, round)
}

pub(crate) fn sqrt32(a: f32, round: Round) -> f32 {
    let a = f64::from(a);
    let root = a.sqrt();
    narrow(root, if root.is_finite() { root.mul_add(-root, a) } else { 0.0 }, round)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_bracket_the_exact_value() {
        let tiny = f32::from_bits(1);
        assert_eq!(add32(1.0, tiny, Round::Down), 1.0);
        assert_eq!(add32(1.0, tiny, Round::Up), 1.0f32.next_up());
        assert_eq!(add32(-1.0, -tiny, Round::Zero), -1.0);
        assert_eq!(add32(1.0, -tiny, Round::Zero), 1.0f32.next_down());
        assert_eq!(div32(1.0, 3.0, Round::Up).to_bits() - div32(1.0, 3.0, Round::Down).to_bits(), 1);
        assert_eq!(fma64(1.0, 1.0, 1e-40, Round::Up), 1.0f64.next_up());
        assert_eq!(mul64(f64::MAX, 2.0, Round::Zero), f64::MAX);
        assert_eq!(add64(f64::INFINITY, 1.0, Round::Zero), f64::INFINITY);
        assert_eq!(mul32(f32::MAX, 2.0, Round::Down), f32::MAX);
    }
}
