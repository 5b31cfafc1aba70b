//! Bits: logic, shifts, fields, counts, permutes, moves.

use crate::exec::code::AluFn;
use crate::exec::regs::{bin, tri, un};
use crate::ptx::types::Ty;

/// Operations on untyped bits of `$t`.
macro_rules! untyped {
    ($name:expr, $t:ty) => {
        match $name {
            "mov" => un!($t, |a: $t| a),
            "and" => bin!($t, |a, b| a & b),
            "or" => bin!($t, |a, b| a | b),
            "xor" => bin!($t, |a, b| a ^ b),
            "not" => un!($t, |a: $t| !a),
            "cnot" => un!($t, |a: $t| <$t>::from(a == 0)),
            // Hardware clamps the amount: shifting by the width or more gives zero.
            "shl" => bin!($t, u32, |a: $t, b: u32| if b < <$t>::BITS { a << b } else { 0 }),
            _ => return None,
        }
    };
}

macro_rules! wide_bits {
    ($name:expr, $t:ty) => {
        match $name {
            "popc" => un!($t, |a: $t| a.count_ones()),
            "clz" => un!($t, |a: $t| a.leading_zeros()),
            "brev" => un!($t, |a: $t| a.reverse_bits()),
            _ => return None,
        }
    };
}

fn bfe_u(a: u64, pos: u32, len: u32, bits: u32) -> u64 {
    let (pos, len) = (pos & 255, len & 255);
    if len == 0 || pos >= bits {
        return 0;
    }
    let shifted = a >> pos;
    if len >= 64 { shifted } else { shifted & ((1 << len) - 1) }
}

/// The sign bit is the field's top bit, or the value's own where the field reaches beyond it.
fn bfe_s(a: i64, pos: u32, len: u32, bits: u32) -> i64 {
    let (pos, len) = (pos & 255, len & 255);
    if len == 0 {
        return 0;
    }
    let shifted = a >> pos.min(bits - 1);
    let kept = len.min(64);
    (shifted << (64 - kept)) >> (64 - kept)
}

fn bfi(field: u64, base: u64, pos: u32, len: u32, bits: u32) -> u64 {
    let (pos, len) = (pos & 255, len & 255);
    if len == 0 || pos >= bits {
        return base;
    }
    let mask = if len >= 64 { u64::MAX } else { (1 << len) - 1 } << pos;
    (base & !mask) | ((field << pos) & mask)
}

/// Index of the top bit that differs from the sign; all ones if there is none.
fn bfind(a: u64, shift_amount: bool, bits: u32) -> u32 {
    let top = 63u32.wrapping_sub(a.leading_zeros());
    if a == 0 {
        u32::MAX
    } else if shift_amount {
        bits - 1 - top
    } else {
        top
    }
}

fn find_bits(name: &str, ty: Ty) -> Option<AluFn> {
    let amount = name.ends_with(".shiftamt");
    let f = match (ty, amount) {
        (Ty::U32, false) => un!(u32, |a: u32| bfind(u64::from(a), false, 32)),
        (Ty::U32, true) => un!(u32, |a: u32| bfind(u64::from(a), true, 32)),
        (Ty::U64, false) => un!(u64, |a: u64| bfind(a, false, 64)),
        (Ty::U64, true) => un!(u64, |a: u64| bfind(a, true, 64)),
        (Ty::S32, false) => un!(i32, |a: i32| bfind(u64::from((a ^ (a >> 31)) as u32), false, 32)),
        (Ty::S32, true) => un!(i32, |a: i32| bfind(u64::from((a ^ (a >> 31)) as u32), true, 32)),
        (Ty::S64, false) => un!(i64, |a: i64| bfind((a ^ (a >> 63)) as u64, false, 64)),
        (Ty::S64, true) => un!(i64, |a: i64| bfind((a ^ (a >> 63)) as u64, true, 64)),
        _ => return None,
    };
    Some(f)
}

/// `prmt`: byte i of the result is the one of `b:a` that nibble i of the selector names.
fn prmt(a: u32, b: u32, selector: u32) -> u32 {
    let source = u64::from(b) << 32 | u64::from(a);
    let mut out = 0;
    for i in 0..4 {
        let nibble = selector >> (4 * i) & 15;
        let byte = (source >> (8 * (nibble & 7))) as u8;
        let byte = if nibble & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte };
        out |= u32::from(byte) << (8 * i);
    }
    out
}

/// The selector that the named modes of `prmt` stand for.
fn prmt_mode(mode: &str, c: u32) -> u32 {
    let c = c & 3;
    match mode {
        "f4e" => 0x3210 + 0x1111 * c,
        "b4e" => [0x5670, 0x6701, 0x7012, 0x0123][c as usize],
        "rc8" => 0x1111 * c,
        "ecl" => [0x3210, 0x3211, 0x3222, 0x3333][c as usize],
        "ecr" => [0x0000, 0x1110, 0x2210, 0x3210][c as usize],
        _ => [0x1010, 0x3232][(c & 1) as usize],
    }
}

/// `lop3`: the table's bit (a b c) is the result.
fn lop3(a: u32, b: u32, c: u32, table: u32) -> u32 {
    let mut out = 0;
    for row in 0..8 {
        if table >> row & 1 != 0 {
            let pick = |value: u32, bit: u32| if row >> bit & 1 != 0 { value } else { !value };
            out |= pick(a, 2) & pick(b, 1) & pick(c, 0);
        }
    }
    out
}

fn shifts(name: &str, ty: Ty) -> Option<AluFn> {
    let f = match (name, ty) {
        ("shr", Ty::B16 | Ty::U16) => bin!(u16, u32, |a: u16, b: u32| if b < 16 { a >> b } else { 0 }),
        ("shr", Ty::B32 | Ty::U32) => bin!(u32, u32, |a: u32, b: u32| if b < 32 { a >> b } else { 0 }),
        ("shr", Ty::B64 | Ty::U64) => bin!(u64, u32, |a: u64, b: u32| if b < 64 { a >> b } else { 0 }),
        ("shr", Ty::S16) => bin!(i16, u32, |a: i16, b: u32| a >> b.min(15)),
        ("shr", Ty::S32) => bin!(i32, u32, |a: i32, b: u32| a >> b.min(31)),
        ("shr", Ty::S64) => bin!(i64, u32, |a: i64, b: u32| a >> b.min(63)),
        ("shf.l.wrap", _) => tri!(u32, |lo, hi, c| (funnel(lo, hi) << (c & 31) >> 32) as u32),
        ("shf.l.clamp", _) => tri!(u32, |lo, hi, c| (funnel(lo, hi) << c.min(32) >> 32) as u32),
        ("shf.r.wrap", _) => tri!(u32, |lo, hi, c| (funnel(lo, hi) >> (c & 31)) as u32),
        ("shf.r.clamp", _) => tri!(u32, |lo, hi, c| (funnel(lo, hi) >> c.min(32)) as u32),
        _ => return None,
    };
    Some(f)
}

#[inline(always)]
fn funnel(lo: u32, hi: u32) -> u64 {
    u64::from(hi) << 32 | u64::from(lo)
}

fn dot4(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool) -> u32 {
    let byte = |v: u32, i: u32, signed: bool| {
        let v = (v >> (8 * i)) as u8;
        if signed { i32::from(v as i8) } else { i32::from(v) }
    };
    let mut sum = c as i32;
    for i in 0..4 {
        sum = sum.wrapping_add(byte(a, i, a_signed) * byte(b, i, b_signed));
    }
    sum as u32
}

/// The function for `and`, `shl`, `bfe` and so on.
pub(crate) fn find(name: &str, ty: Ty) -> Option<AluFn> {
    let f = match name {
        "mov" | "and" | "or" | "xor" | "not" | "cnot" | "shl" => match ty.bytes() {
            2 => untyped!(name, u16),
            4 => untyped!(name, u32),
            8 => untyped!(name, u64),
            _ => return None,
        },
        "popc" | "clz" | "brev" => match ty {
            Ty::B32 => wide_bits!(name, u32),
            Ty::B64 => wide_bits!(name, u64),
            _ => return None,
        },
        "bfind" | "bfind.shiftamt" => return find_bits(name, ty),
        "bfe" => match ty {
            Ty::U32 => tri!(u32, |a, b, c| bfe_u(u64::from(a), b, c, 32) as u32),
            Ty::S32 => tri!(i32, u32, u32, |a: i32, b: u32, c: u32| bfe_s(i64::from(a), b, c, 32) as i32),
            Ty::U64 => tri!(u64, u32, u32, |a: u64, b: u32, c: u32| bfe_u(a, b, c, 64)),
            Ty::S64 => tri!(i64, u32, u32, |a: i64, b: u32, c: u32| bfe_s(a, b, c, 64)),
            _ => return None,
        },
        "prmt" => tri!(u32, prmt),
        "prmt.f4e" => tri!(u32, |a, b, c| prmt(a, b, prmt_mode("f4e", c))),
        "prmt.b4e" => tri!(u32, |a, b, c| prmt(a, b, prmt_mode("b4e", c))),
        "prmt.rc8" => tri!(u32, |a, b, c| prmt(a, b, prmt_mode("rc8", c))),
        "prmt.ecl" => tri!(u32, |a, b, c| prmt(a, b, prmt_mode("ecl", c))),
        "prmt.ecr" => tri!(u32, |a, b, c| prmt(a, b, prmt_mode("ecr", c))),
        "prmt.rc16" => tri!(u32, |a, b, c| prmt(a, b, prmt_mode("rc16", c))),
        "dp4a.u32.u32" => tri!(u32, |a, b, c| dot4(a, b, c, false, false)),
        "dp4a.s32.s32" => tri!(u32, |a, b, c| dot4(a, b, c, true, true)),
        "dp4a.s32.u32" => tri!(u32, |a, b, c| dot4(a, b, c, true, false)),
        "dp4a.u32.s32" => tri!(u32, |a, b, c| dot4(a, b, c, false, true)),
        _ => return shifts(name, ty),
    };
    Some(f)
}

/// Functions of four operands; the last is a number known at translation, or a slot, in [`Args::aux`].
///
/// [`Args::aux`]: crate::exec::code::Args::aux
pub(crate) fn find4(name: &str, ty: Ty) -> Option<AluFn> {
    use crate::exec::regs::{LANES, alu};
    let f = match (name, ty) {
        ("lop3", Ty::B32) => alu!(|r, s, m| {
            let table = s.aux;
            crate::exec::regs::ternary::<u32, u32, u32, u32>(r, s, m, |a, b, c| lop3(a, b, c, table))
        }),
        ("bfi", Ty::B32) => alu!(|r, s, m| {
            let len = *r.row::<u32>(s.aux);
            let (a, b, c) = (*r.row::<u32>(s.a), *r.row::<u32>(s.b), *r.row::<u32>(s.c));
            let mut out = [0u32; LANES];
            for l in 0..LANES {
                out[l] = bfi(u64::from(a[l]), u64::from(b[l]), c[l], len[l], 32) as u32;
            }
            r.write(s.d, m, &out);
        }),
        ("bfi", Ty::B64) => alu!(|r, s, m| {
            let len = *r.row::<u32>(s.aux);
            let (a, b, c) = (*r.row::<u64>(s.a), *r.row::<u64>(s.b), *r.row::<u32>(s.c));
            let mut out = [0u64; LANES];
            for l in 0..LANES {
                out[l] = bfi(a[l], b[l], c[l], len[l], 64);
            }
            r.write(s.d, m, &out);
        }),
        _ => return None,
    };
    Some(f)
}

/// Takes `part` bytes out of `whole` bytes; `aux` is the shift.
pub(crate) fn unpack(whole: u32, part: u32) -> AluFn {
    use crate::exec::regs::{alu, unary};
    match (whole, part) {
        (4, _) => alu!(|r, s, m| {
            let shift = s.aux;
            unary::<u32, u16>(r, s, m, |a| (a >> (shift & 31)) as u16)
        }),
        (_, 2) => alu!(|r, s, m| {
            let shift = s.aux;
            unary::<u64, u16>(r, s, m, |a| (a >> (shift & 63)) as u16)
        }),
        _ => alu!(|r, s, m| {
            let shift = s.aux;
            unary::<u64, u32>(r, s, m, |a| (a >> (shift & 63)) as u32)
        }),
    }
}

/// Joins 2 or 4 parts; the fourth is the slot in `aux`.
pub(crate) fn pack(parts: usize, part: u32) -> AluFn {
    use crate::exec::regs::{LANES, alu};
    match (parts, part) {
        (2, 4) => bin!(u32, |a: u32, b: u32| u64::from(b) << 32 | u64::from(a)),
        (2, _) => bin!(u32, |a: u32, b: u32| b << 16 | (a & 0xffff)),
        _ => alu!(|r, s, m| {
            let parts = [s.a, s.b, s.c, s.aux].map(|slot| *r.row::<u32>(slot));
            let mut out = [0u64; LANES];
            for (n, part) in parts.iter().enumerate() {
                for lane in 0..LANES {
                    out[lane] |= u64::from(part[lane] & 0xffff) << (16 * n);
                }
            }
            r.write(s.d, m, &out);
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        assert_eq!(bfe_u(0xabcd, 4, 8, 32), 0xbc);
        assert_eq!(bfe_s(0xff0, 4, 8, 32), -1);
        assert_eq!(bfi(0xf, 0, 8, 4, 32), 0xf00);
        assert_eq!(bfi(0xf, 7, 40, 4, 32), 7);
        assert_eq!(bfind(0, false, 32), u32::MAX);
        assert_eq!(bfind(0x10, false, 32), 4);
        assert_eq!(bfind(0x10, true, 32), 27);
    }

    #[test]
    fn permutes() {
        assert_eq!(prmt(0x0403_0201, 0x0807_0605, 0x3210), 0x0403_0201);
        assert_eq!(prmt(0x0403_0201, 0x0807_0605, 0x7654), 0x0807_0605);
        assert_eq!(prmt(0x80, 0, 0x8888), 0xffff_ffff);
        assert_eq!(lop3(0b1100, 0b1010, 0, 0xc0) & 0xf, 0b1000);
    }
}
