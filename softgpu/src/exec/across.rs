//! Operations that look at other lanes of the warp.

use super::cells::combine32;
use super::code::{Args, AtomOp, AtomTy, NONE, Pred, ShflMode, VoteMode};
use super::regs::{FULL, LANES, Regs};

pub(crate) fn shfl(regs: &mut Regs, mode: ShflMode, s: &Args, p: u32, mask: u32) {
    let (a, b, c) = (*regs.row::<u32>(s.a), *regs.row::<u32>(s.b), *regs.row::<u32>(s.c));
    let mut out = [0u32; LANES];
    let mut inside = 0;
    for lane in 0..LANES {
        let (bval, clamp, segment) = (b[lane] & 31, c[lane] & 31, c[lane] >> 8 & 31);
        let here = lane as u32;
        let max = (here & segment) | (clamp & !segment);
        let min = here & segment;
        let (from, ok) = match mode {
            ShflMode::Up => (here.wrapping_sub(bval), here as i32 - bval as i32 >= max as i32),
            ShflMode::Down => (here + bval, here + bval <= max),
            ShflMode::Bfly => (here ^ bval, here ^ bval <= max),
            ShflMode::Idx => {
                let from = min | (bval & !segment);
                (from, from <= max)
            }
        };
        let from = if ok { from } else { here };
        inside |= u32::from(ok) << lane;
        out[lane] = a[(from & 31) as usize];
    }
    regs.write(s.d, mask, &out);
    if p != NONE {
        regs.set_pred(p, mask, inside);
    }
}

pub(crate) fn vote(regs: &mut Regs, mode: VoteMode, d: u32, p: Pred, mask: u32) {
    let yes = regs.pred(p) & mask;
    let answer = match mode {
        VoteMode::Ballot => {
            regs.write(d, mask, &[yes; LANES]);
            return;
        }
        VoteMode::All => yes == mask,
        VoteMode::Any => yes != 0,
        VoteMode::Uni => yes == mask || yes == 0,
    };
    regs.set_pred(d, mask, if answer { FULL } else { 0 });
}

pub(crate) fn matching(regs: &mut Regs, all: bool, wide: bool, d: u32, p: u32, a: u32, mask: u32) {
    let values = regs.read_bits(a, wide);
    let lanes = || (0..LANES).filter(|lane| mask >> lane & 1 != 0);
    let mut out = [0u32; LANES];
    for lane in lanes() {
        out[lane] = lanes().filter(|other| values[*other] == values[lane]).map(|other| 1 << other).sum();
    }
    if all {
        let same = lanes().all(|lane| out[lane] == mask);
        out = [if same { mask } else { 0 }; LANES];
        if p != NONE {
            regs.set_pred(p, mask, if same { FULL } else { 0 });
        }
    }
    regs.write(d, mask, &out);
}

pub(crate) fn redux(regs: &mut Regs, op: AtomOp, signed: bool, d: u32, a: u32, mask: u32) {
    let values = *regs.row::<u32>(a);
    let ty = if signed { AtomTy::S32 } else { AtomTy::U32 };
    let mut lanes = (0..LANES).filter(|lane| mask >> lane & 1 != 0).map(|lane| values[lane]);
    let first = lanes.next().unwrap_or_default();
    let result = lanes.fold(first, |sum, value| combine32(op, ty, sum, value));
    regs.write(d, mask, &[result; LANES]);
}

/// Arithmetic with a carry flag, which is a predicate.
pub(crate) fn carry(
    regs: &mut Regs,
    kind: super::code::Carry,
    wide: bool,
    s: &Args,
    carry_in: bool,
    carry_out: bool,
    mask: u32,
) {
    use super::code::{CARRY, Carry};
    let bits = if wide { 64 } else { 32 };
    let low = if wide { u128::from(u64::MAX) } else { u128::from(u32::MAX) };
    let (a, b) = (regs.read_bits(s.a, wide), regs.read_bits(s.b, wide));
    let c = regs.read_bits(s.c, wide);
    let flags = if carry_in { regs.preds[CARRY as usize] } else { 0 };
    let (mut out, mut carries) = ([0u64; LANES], 0u32);
    for lane in 0..LANES {
        let (a, b, c) = (u128::from(a[lane]), u128::from(b[lane]), u128::from(c[lane]));
        let flag = u128::from(flags >> lane & 1);
        let (value, carried) = match kind {
            Carry::Add => (a + b + flag, a + b + flag > low),
            // The flag is a carry, not a borrow: set where nothing was borrowed. Compilers rely on that when they
            // follow `sub.cc` by `addc`.
            Carry::Sub => {
                let sum = a + (!b & low) + if carry_in { flag } else { 1 };
                (sum, sum > low)
            }
            Carry::MadLo => (((a * b) & low) + c + flag, ((a * b) & low) + c + flag > low),
            Carry::MadHi => (((a * b) >> bits) + c + flag, ((a * b) >> bits) + c + flag > low),
        };
        out[lane] = (value & low) as u64;
        carries |= u32::from(carried) << lane;
    }
    regs.write_bits(s.d, wide, mask, &out);
    if carry_out {
        regs.set_pred(CARRY, mask, carries);
    }
}
