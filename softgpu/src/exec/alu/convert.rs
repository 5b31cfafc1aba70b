//! `cvt`.

use super::rounding::{self, Round};
use crate::exec::code::AluFn;
use crate::exec::half::{Bf16, F16};
use crate::exec::regs::{LANES, alu, un};
use crate::ptx::types::Ty;

/// Everything that tells one conversion from another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conversion {
    pub from: Ty,
    pub to: Ty,
    pub round: Round,
    /// `.rni` and its like: the result is a whole number.
    pub integral: bool,
    pub saturate: bool,
    /// Width of the destination register in bytes; an integer result is extended to it.
    pub register: u32,
    /// Width of the source register in bytes.
    pub source: u32,
}

const TYPES: [Ty; 12] = [
    Ty::U8,
    Ty::U16,
    Ty::U32,
    Ty::U64,
    Ty::S8,
    Ty::S16,
    Ty::S32,
    Ty::S64,
    Ty::F16,
    Ty::Bf16,
    Ty::F32,
    Ty::F64,
];

fn index(ty: Ty) -> Option<u32> {
    TYPES.iter().position(|t| *t == ty).map(|i| i as u32)
}

impl Conversion {
    /// Packs into [`Args::aux`].
    ///
    /// [`Args::aux`]: crate::exec::code::Args::aux
    pub(crate) fn pack(self) -> Option<u32> {
        Some(
            index(self.from)?
                | index(self.to)? << 4
                | (self.round as u32) << 8
                | u32::from(self.integral) << 12
                | u32::from(self.saturate) << 13
                | u32::from(self.register == 8) << 14
                | u32::from(self.source == 8) << 15
                | u32::from(self.register == 4) << 16,
        )
    }

    fn unpack(bits: u32) -> Self {
        Self {
            from: TYPES[(bits & 15) as usize % TYPES.len()],
            to: TYPES[(bits >> 4 & 15) as usize % TYPES.len()],
            round: match bits >> 8 & 15 {
                0 => Round::Nearest,
                1 => Round::Zero,
                2 => Round::Down,
                _ => Round::Up,
            },
            integral: bits & 1 << 12 != 0,
            saturate: bits & 1 << 13 != 0,
            register: if bits & 1 << 14 != 0 {
                8
            } else if bits & 1 << 16 != 0 {
                4
            } else {
                2
            },
            source: if bits & 1 << 15 != 0 { 8 } else { 4 },
        }
    }

    /// A function made for this conversion, or the general one.
    pub(crate) fn function(self) -> AluFn {
        let plain = !self.saturate;
        let nearest = plain && self.round == Round::Nearest && !self.integral;
        let whole = self.integral && self.round == Round::Zero;
        match (self.from, self.to, self.source, self.register) {
            (Ty::U32, Ty::U64 | Ty::S64, 4, 8) if plain => un!(u32, |a: u32| u64::from(a)),
            (Ty::S32, Ty::S64 | Ty::U64, 4, 8) if plain => un!(i32, |a: i32| i64::from(a)),
            (Ty::U64 | Ty::S64, Ty::U32 | Ty::S32, 8, 4) if plain => un!(u64, |a: u64| a as u32),
            (Ty::U16, Ty::U32 | Ty::S32, 4, 4) if plain => un!(u16, |a: u16| u32::from(a)),
            (Ty::S16, Ty::U32 | Ty::S32, 4, 4) if plain => un!(i16, |a: i16| i32::from(a)),
            (Ty::U32 | Ty::S32, Ty::U16 | Ty::S16, 4, 2) if plain => un!(u32, |a: u32| a as u16),
            (Ty::S32, Ty::F32, 4, 4) if nearest => un!(i32, |a: i32| a as f32),
            (Ty::U32, Ty::F32, 4, 4) if nearest => un!(u32, |a: u32| a as f32),
            (Ty::F32, Ty::S32, 4, 4) if whole => un!(f32, |a: f32| a as i32),
            (Ty::F32, Ty::U32, 4, 4) if whole => un!(f32, |a: f32| a as u32),
            (Ty::F32, Ty::F64, ..) if nearest => un!(f32, |a: f32| f64::from(a)),
            (Ty::F64, Ty::F32, ..) if nearest => un!(f64, |a: f64| a as f32),
            (Ty::F16, Ty::F32, ..) if nearest => un!(F16, |a: F16| a.get()),
            (Ty::F32, Ty::F16, ..) if nearest => un!(f32, |a: f32| F16::new(a)),
            _ => alu!(|r, s, m| {
                let conversion = Conversion::unpack(s.aux);
                let from = r.read_bits(s.a, conversion.source == 8);
                let mut out = [0; LANES];
                for lane in 0..LANES {
                    if m >> lane & 1 != 0 {
                        out[lane] = conversion.apply(from[lane]);
                    }
                }
                r.write_bits(s.d, conversion.register == 8, m, &out);
            }),
        }
    }

    fn apply(self, bits: u64) -> u64 {
        if self.from.float() {
            let value = match self.from {
                Ty::F16 => f64::from(F16(bits as u16).get()),
                Ty::Bf16 => f64::from(Bf16(bits as u16).get()),
                Ty::F32 => f64::from(f32::from_bits(bits as u32)),
                _ => f64::from_bits(bits),
            };
            if self.to.float() { self.float_to_float(value) } else { self.float_to_int(value) }
        } else {
            let value = match self.from {
                Ty::U8 => i128::from(bits as u8),
                Ty::U16 => i128::from(bits as u16),
                Ty::U32 => i128::from(bits as u32),
                Ty::U64 => i128::from(bits),
                Ty::S8 => i128::from(bits as i8),
                Ty::S16 => i128::from(bits as i16),
                Ty::S32 => i128::from(bits as i32),
                _ => i128::from(bits as i64),
            };
            if self.to.float() {
                self.int_to_float(value)
            } else {
                let value = if self.saturate { self.clamp(value) } else { value };
                self.extend(value as u64)
            }
        }
    }

    fn clamp(self, value: i128) -> i128 {
        let bits = self.to.bytes() * 8;
        if self.to.signed() {
            value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        } else {
            value.clamp(0, (1 << bits) - 1)
        }
    }

    /// Cuts to the type, then extends to the register.
    fn extend(self, value: u64) -> u64 {
        let value = match self.to {
            Ty::U8 => u64::from(value as u8),
            Ty::U16 => u64::from(value as u16),
            Ty::U32 => u64::from(value as u32),
            Ty::S8 => value as i8 as u64,
            Ty::S16 => value as i16 as u64,
            Ty::S32 => value as i32 as u64,
            _ => value,
        };
        match self.register {
            2 => u64::from(value as u16),
            4 => u64::from(value as u32),
            _ => value,
        }
    }

    fn whole(self, value: f64) -> f64 {
        match self.round {
            Round::Nearest => value.round_ties_even(),
            Round::Zero => value.trunc(),
            Round::Down => value.floor(),
            Round::Up => value.ceil(),
        }
    }

    /// Float to integer always saturates; a NaN becomes zero.
    fn float_to_int(self, value: f64) -> u64 {
        self.extend(self.clamp(self.whole(value) as i128) as u64)
    }

    fn float_to_float(self, value: f64) -> u64 {
        let mut value = if self.integral { self.whole(value) } else { value };
        if self.saturate {
            value = if value > 0.0 { value.min(1.0) } else { 0.0 };
        }
        self.float_bits(value, 0.0)
    }

    fn int_to_float(self, value: i128) -> u64 {
        let near = value as f64;
        // `as` saturates only beyond 64 bits, which no operand has.
        let lost = value - near as i128;
        let near64 = if self.to == Ty::F64 && self.round != Round::Nearest {
            match self.round {
                Round::Down if lost < 0 => near.next_down(),
                Round::Up if lost > 0 => near.next_up(),
                Round::Zero if lost < 0 && near > 0.0 => near.next_down(),
                Round::Zero if lost > 0 && near < 0.0 => near.next_up(),
                _ => near,
            }
        } else {
            near
        };
        if self.to == Ty::F32 && self.round == Round::Nearest {
            return u64::from((value as f32).to_bits());
        }
        self.float_bits(near64, lost as f64)
    }

    fn float_bits(self, value: f64, error: f64) -> u64 {
        match self.to {
            Ty::F16 => {
                let near = F16::from_f64(value);
                u64::from(self.step16(near.0, f64::from(near.get()), value))
            }
            Ty::Bf16 => {
                let near = Bf16::new(value as f32);
                u64::from(self.step16(near.0, f64::from(near.get()), value))
            }
            Ty::F32 => u64::from(rounding::narrow(value, error, self.round).to_bits()),
            _ => value.to_bits(),
        }
    }

    /// Moves a 16-bit float toward zero by one step where the direction asks for it (away from zero likewise).
    fn step16(self, bits: u16, near: f64, value: f64) -> u16 {
        let too_big = near.abs() > value.abs();
        let too_small = near.abs() < value.abs();
        let away = match self.round {
            Round::Nearest => return bits,
            Round::Zero => false,
            Round::Down => value < 0.0,
            Round::Up => value > 0.0,
        };
        match away {
            false if too_big => bits - 1,
            true if too_small => bits + 1,
            _ => bits,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cvt(from: Ty, to: Ty, round: Round, saturate: bool, bits: u64) -> u64 {
        let c = Conversion {
            from,
            to,
            round,
            integral: from.float() && !to.float(),
            saturate,
            register: to.bytes().max(2),
            source: from.bytes(),
        };
        assert_eq!(c.pack().map(|p| Conversion::unpack(p).apply(bits)), Some(c.apply(bits)));
        c.apply(bits)
    }

    #[test]
    fn integers_saturate_or_wrap() {
        assert_eq!(cvt(Ty::S32, Ty::U8, Round::Nearest, true, (-5i32) as u32 as u64), 0);
        assert_eq!(cvt(Ty::S32, Ty::U8, Round::Nearest, true, 300), 255);
        assert_eq!(cvt(Ty::S32, Ty::S8, Round::Nearest, false, 0x80), 0xff80);
        assert_eq!(cvt(Ty::S8, Ty::S64, Round::Nearest, false, 0xff), u64::MAX);
    }

    #[test]
    fn floats_round_as_told() {
        let bits = |v: f32| u64::from(v.to_bits());
        assert_eq!(cvt(Ty::F32, Ty::S32, Round::Nearest, false, bits(2.5)), 2);
        assert_eq!(cvt(Ty::F32, Ty::S32, Round::Up, false, bits(-2.5)) as i32, -2);
        assert_eq!(cvt(Ty::F32, Ty::U32, Round::Zero, false, bits(-1.0)), 0);
        assert_eq!(cvt(Ty::F32, Ty::S32, Round::Zero, false, bits(f32::NAN)), 0);
        assert_eq!(cvt(Ty::U32, Ty::F32, Round::Zero, false, 0x1ff_ffff), bits(33_554_430.0));
        assert_eq!(cvt(Ty::U64, Ty::F32, Round::Down, false, u64::MAX), bits(18_446_742_974_197_923_840.0));
        assert_eq!(cvt(Ty::F32, Ty::F16, Round::Zero, false, bits(2049.5)), 0x6800);
        assert_eq!(cvt(Ty::F32, Ty::F16, Round::Up, false, bits(2048.5)), 0x6801);
    }
}
