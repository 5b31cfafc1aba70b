//! 16-bit floats, kept as bits and computed in wider ones.

/// IEEE binary16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct F16(pub u16);

/// The upper half of a binary32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bf16(pub u16);

impl F16 {
    /// Exact.
    #[inline(always)]
    pub(crate) fn get(self) -> f32 {
        let (sign, exponent, fraction) =
            (u32::from(self.0 >> 15) << 31, u32::from(self.0 >> 10) & 31, u32::from(self.0) & 0x3ff);
        match exponent {
            // Subnormal: the fraction counts units of 2^-24.
            0 => f32::from_bits(sign | (fraction as f32 * (1.0 / 16_777_216.0)).to_bits()),
            31 => f32::from_bits(sign | 0x7f80_0000 | (fraction << 13)),
            _ => f32::from_bits(sign | ((exponent + 112) << 23) | (fraction << 13)),
        }
    }

    /// Rounds to nearest, ties to even.
    #[inline(always)]
    pub(crate) fn new(value: f32) -> Self {
        Self::from_f64(f64::from(value))
    }

    /// Rounds to nearest, ties to even; from `f64` so that the result of a fused operation is rounded once.
    pub(crate) fn from_f64(value: f64) -> Self {
        let bits = value.to_bits();
        let sign = ((bits >> 48) & 0x8000) as u16;
        let magnitude = value.abs();
        if value.is_nan() {
            return Self(0x7fff);
        }
        if magnitude >= 65520.0 {
            return Self(sign | 0x7c00);
        }
        // Adding and subtracting a power of two rounds the sum at the bit that binary16 ends with.
        let exponent = ((magnitude.to_bits() >> 52) as i64 - 1023).max(-14);
        let unit = f64::from_bits(((exponent - 10 + 52 + 1023) as u64) << 52);
        let rounded = (magnitude + unit) - unit;
        let exponent = ((rounded.to_bits() >> 52) as i64 - 1023).max(-15);
        if rounded < 6.103_515_625e-5 {
            return Self(sign | (rounded * 16_777_216.0) as u16);
        }
        Self(sign | (((exponent + 15) as u16) << 10) | ((rounded.to_bits() >> 42) & 0x3ff) as u16)
    }
}

impl Bf16 {
    #[inline(always)]
    pub(crate) fn get(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }

    /// Rounds to nearest, ties to even.
    #[inline(always)]
    pub(crate) fn new(value: f32) -> Self {
        if value.is_nan() {
            return Self(0x7fff);
        }
        let bits = value.to_bits();
        Self((bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16) as u16)
    }
}

/// Applies to both halves of a packed pair.
#[inline(always)]
pub(crate) fn packed2(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_the_way_through_f32() {
        for bits in 0..=u16::MAX {
            let half = F16(bits);
            if half.get().is_nan() {
                assert!(F16::new(half.get()).get().is_nan());
            } else {
                assert_eq!(F16::new(half.get()), half, "{bits:#x}");
            }
        }
    }

    #[test]
    fn halves_round_to_even_and_overflow_to_infinity() {
        assert_eq!(F16::new(2049.0).get(), 2048.0);
        assert_eq!(F16::new(2051.0).get(), 2052.0);
        assert_eq!(F16::new(65519.0).get(), 65504.0);
        assert_eq!(F16::new(65520.0).get(), f32::INFINITY);
        assert_eq!(F16::new(-1e-9), F16(0x8000));
    }
}
