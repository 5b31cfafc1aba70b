//! Moves, conversions, comparisons and selections.

use super::super::PtxError;
use super::super::ast::{Instr, Operand, OperandKind};
use super::super::types::Ty;
use super::float::round;
use super::function::FunctionBuilder;
use super::mods::Mods;
use crate::exec::alu::{self, convert::Conversion, rounding::Round};
use crate::exec::code::{Args, Logic, NONE, Op, Pred, TRUE};

const COMPARISONS: [&str; 18] = [
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu",
    "num", "nan",
];

impl<'a> FunctionBuilder<'_, '_, 'a> {
    pub(super) fn data(&mut self, i: &Instr<'a>, mods: &mut Mods<'a>) -> Result<bool, PtxError> {
        match i.opcode.text {
            "mov" => self.mov(i, mods)?,
            "cvt" => self.cvt(i, mods)?,
            "setp" => {
                let (compare, logic) = compare_mods(i, mods)?;
                let ty = mods.ty()?;
                let (p, q) = self.pred_pair(i)?;
                self.comparison(i, mods, compare, logic, ty, p, q)?;
            }
            "set" => self.set(i, mods)?,
            "testp" => {
                let property = mods.first().unwrap_or("");
                let ty = mods.ty()?;
                let f =
                    alu::compare::property(property, ty).ok_or_else(|| i.opcode.error("unknown property"))?;
                self.operands(i, 2)?;
                let a = self.source(&i.operands[1], ty)?;
                let p = self.pred_target(i.operands[0].at)?;
                let args = Args { a, b: a, ..Args::default() };
                self.emit(Op::Compare { f, args, negate: false, logic: None, p, q: NONE });
            }
            "selp" => {
                let ty = mods.ty()?;
                self.operands(i, 4)?;
                let p = self.pred_source(&i.operands[3])?;
                self.select(i, ty, p)?;
            }
            "slct" => {
                mods.take("ftz");
                let (ty, by) = (mods.ty()?, mods.ty()?);
                self.operands(i, 4)?;
                let zero = self.bits32(0, i.opcode)?;
                let compare = alu::compare::find("ge", by).filter(|_| matches!(by, Ty::S32 | Ty::F32));
                let compare = compare.ok_or_else(|| i.opcode.error("selects by `.s32` or `.f32`"))?;
                let c = self.source(&i.operands[3], by)?;
                let p = self.scratch(Ty::Pred, i.opcode)?;
                // `ge` is `le` with its operands swapped.
                let args = Args { a: zero, b: c, ..Args::default() };
                self.emit(Op::Compare {
                    f: compare.f,
                    args,
                    negate: compare.negate,
                    logic: None,
                    p,
                    q: NONE,
                });
                self.select(i, ty, Pred { slot: p, negate: false })?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn select(&mut self, i: &Instr<'a>, ty: Ty, p: Pred) -> Result<(), PtxError> {
        let a = self.source(&i.operands[1], ty)?;
        let b = self.source(&i.operands[2], ty)?;
        let d = self.target(&i.operands[0], ty)?;
        if ty.bytes() < 2 {
            return Err(i.opcode.error("instruction is not supported in this form"));
        }
        self.emit(Op::Select { wide: ty.bytes() == 8, d, a, b, p });
        Ok(())
    }

    /// `p|q` or `p`.
    pub(super) fn pred_pair(&mut self, i: &Instr<'a>) -> Result<(u32, u32), PtxError> {
        let first = i.operands.first().ok_or_else(|| i.opcode.error("lacks operands"))?;
        match first.kind {
            OperandKind::Pair(q) => Ok((self.pred_target(first.at)?, self.pred_target(q)?)),
            OperandKind::Name { suffix: None, offset: 0 } => Ok((self.pred_target(first.at)?, NONE)),
            _ => Err(first.at.error("expected a predicate register")),
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn comparison(
        &mut self,
        i: &Instr<'a>,
        mods: &mut Mods<'a>,
        compare: &str,
        logic: Option<Logic>,
        ty: Ty,
        p: u32,
        q: u32,
    ) -> Result<(), PtxError> {
        let flush = mods.take("ftz") && ty == Ty::F32;
        self.operands(i, if logic.is_some() { 4 } else { 3 })?;
        let found = alu::compare::find(compare, ty)
            .ok_or_else(|| i.opcode.error("comparison is not supported for this type"))?;
        let mut a = self.source(&i.operands[1], ty)?;
        let mut b = self.source(&i.operands[2], ty)?;
        if flush {
            (a, b) = (self.flushed(i, a)?, self.flushed(i, b)?);
        }
        if found.swap {
            (a, b) = (b, a);
        }
        let logic = match logic {
            Some(logic) => Some((logic, self.pred_source(&i.operands[3])?)),
            None => None,
        };
        let args = Args { a, b, ..Args::default() };
        self.emit(Op::Compare { f: found.f, args, negate: found.negate, logic, p, q });
        Ok(())
    }

    fn set(&mut self, i: &Instr<'a>, mods: &mut Mods<'a>) -> Result<(), PtxError> {
        let (compare, logic) = compare_mods(i, mods)?;
        let (result, ty) = (mods.ty()?, mods.ty()?);
        let one = match result {
            Ty::F32 => 1.0f32.to_bits(),
            Ty::U32 | Ty::S32 => u32::MAX,
            _ => return Err(i.opcode.error("sets `.u32`, `.s32` or `.f32`")),
        };
        let p = self.scratch(Ty::Pred, i.opcode)?;
        self.comparison(i, mods, compare, logic, ty, p, NONE)?;
        let d = self.target(&i.operands[0], result)?;
        let (a, b) = (self.bits32(one, i.opcode)?, self.bits32(0, i.opcode)?);
        self.emit(Op::Select { wide: false, d, a, b, p: Pred { slot: p, negate: false } });
        Ok(())
    }

    fn mov(&mut self, i: &Instr<'a>, mods: &mut Mods<'a>) -> Result<(), PtxError> {
        let ty = mods.ty()?;
        self.operands(i, 2)?;
        let (d, a) = (&i.operands[0], &i.operands[1]);
        if ty == Ty::Pred {
            let (d, a) = (self.pred_target(d.at)?, self.pred_source(a)?);
            let b = Pred { slot: TRUE, negate: false };
            self.emit(Op::Predicate { logic: Logic::And, d, a, b });
            return Ok(());
        }
        match (&d.kind, &a.kind) {
            (OperandKind::Vector(parts), _) => self.unpack(i, ty, parts, a),
            (_, OperandKind::Vector(parts)) => self.pack(i, ty, d, parts),
            _ => self.simple(i, alu::bits::find("mov", ty), ty, &[ty]),
        }
    }

    fn part(&self, i: &Instr<'a>, ty: Ty, parts: usize) -> Result<Ty, PtxError> {
        match (ty.bytes(), parts) {
            (4, 2) | (8, 4) => Ok(Ty::B16),
            (8, 2) => Ok(Ty::B32),
            _ => Err(i.opcode.error("moves a vector of 2 or 4 parts of at least 16 bits")),
        }
    }

    fn unpack(
        &mut self,
        i: &Instr<'a>,
        ty: Ty,
        parts: &[Operand<'a>],
        whole: &Operand<'a>,
    ) -> Result<(), PtxError> {
        let part = self.part(i, ty, parts.len())?;
        let a = self.source(whole, ty)?;
        for (n, operand) in parts.iter().enumerate() {
            if operand.at.text == "_" {
                continue;
            }
            let d = self.target(operand, part)?;
            let shift = n as u32 * part.bytes() * 8;
            let f = alu::bits::unpack(ty.bytes(), part.bytes());
            self.emit(Op::Alu(f, Args { d, a, aux: shift, ..Args::default() }));
        }
        Ok(())
    }

    fn pack(
        &mut self,
        i: &Instr<'a>,
        ty: Ty,
        d: &Operand<'a>,
        parts: &[Operand<'a>],
    ) -> Result<(), PtxError> {
        let part = self.part(i, ty, parts.len())?;
        let mut slots = [0; 4];
        for (slot, operand) in slots.iter_mut().zip(parts) {
            *slot = self.source(operand, part)?;
        }
        let d = self.target(d, ty)?;
        let f = alu::bits::pack(parts.len(), part.bytes());
        self.emit(Op::Alu(f, Args { d, a: slots[0], b: slots[1], c: slots[2], aux: slots[3] }));
        Ok(())
    }

    fn cvt(&mut self, i: &Instr<'a>, mods: &mut Mods<'a>) -> Result<(), PtxError> {
        let whole = mods.one_of(&["rni", "rzi", "rmi", "rpi"]);
        let mut rounding = round(mods).unwrap_or(Round::Nearest);
        match whole {
            Some("rzi") => rounding = Round::Zero,
            Some("rmi") => rounding = Round::Down,
            Some("rpi") => rounding = Round::Up,
            _ => {}
        }
        let flush = mods.take("ftz");
        let saturate = mods.take("sat");
        let relu = mods.take("relu");
        let (to, from) = (mods.ty()?, mods.ty()?);
        if matches!(to, Ty::F16x2 | Ty::Bf16x2) && from == Ty::F32 && !saturate && !relu {
            return self.cvt_pair(i, to, rounding);
        }
        self.operands(i, 2)?;
        let source = self.source_register(&i.operands[1], from, !from.float())?;
        let target = self.target_register(&i.operands[0], to, !to.float())?;
        // Immediates and special registers have the type's own size.
        let conversion = Conversion {
            from,
            to,
            round: rounding,
            integral: whole.is_some() || (from.float() && !to.float()),
            saturate,
            register: target.ty.bytes(),
            source: if source.ty.bytes() == 8 { 8 } else { 4 },
        };
        let aux = conversion
            .pack()
            .ok_or_else(|| i.opcode.error("conversion between these types is not supported"))?;
        let mut a = source.slot;
        if flush && from == Ty::F32 {
            a = self.flushed(i, a)?;
        }
        self.emit(Op::Alu(conversion.function(), Args { d: target.slot, a, aux, ..Args::default() }));
        if flush && to == Ty::F32 {
            self.adjust(i, "ftz", to, target.slot, target.slot)?;
        }
        if relu {
            self.adjust(i, "relu", to, target.slot, target.slot)?;
        }
        Ok(())
    }

    /// `cvt.rn.f16x2.f32 d, a, b`: `a` becomes the upper half.
    fn cvt_pair(&mut self, i: &Instr<'a>, to: Ty, round: Round) -> Result<(), PtxError> {
        self.operands(i, 3)?;
        let half = if to == Ty::F16x2 { Ty::F16 } else { Ty::Bf16 };
        let conversion = Conversion {
            from: Ty::F32,
            to: half,
            round,
            integral: false,
            saturate: false,
            register: 2,
            source: 4,
        };
        let aux = conversion.pack().unwrap_or_default();
        let mut halves = [0; 2];
        for (d, operand) in halves.iter_mut().zip([&i.operands[2], &i.operands[1]]) {
            let a = self.source(operand, Ty::F32)?;
            *d = self.scratch(half, i.opcode)?;
            self.emit(Op::Alu(conversion.function(), Args { d: *d, a, aux, ..Args::default() }));
        }
        let d = self.target(&i.operands[0], to)?;
        self.emit(Op::Alu(alu::bits::pack(2, 2), Args { d, a: halves[0], b: halves[1], c: 0, aux: 0 }));
        Ok(())
    }
}

fn compare_mods<'a>(i: &Instr<'a>, mods: &mut Mods<'a>) -> Result<(&'a str, Option<Logic>), PtxError> {
    let compare = mods.one_of(&COMPARISONS).ok_or_else(|| i.opcode.error("lacks a comparison"))?;
    let logic = mods.one_of(&["and", "or", "xor"]).map(|word| match word {
        "and" => Logic::And,
        "or" => Logic::Or,
        _ => Logic::Xor,
    });
    Ok((compare, logic))
}
