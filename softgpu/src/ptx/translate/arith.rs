//! Integer and bit instructions.

use super::super::PtxError;
use super::super::ast::{Instr, Operand, OperandKind};
use super::super::types::Ty;
use super::function::FunctionBuilder;
use super::mods::Mods;
use crate::exec::alu;
use crate::exec::code::{AluFn, Args, Carry, Logic, Op, Pred, TRUE};

impl<'a> FunctionBuilder<'_, '_, 'a> {
    pub(super) fn arith(&mut self, i: &Instr<'a>, mods: &mut Mods<'a>) -> Result<bool, PtxError> {
        let float = mods.peek_ty().is_some_and(Ty::float);
        match i.opcode.text {
            "add" | "sub" | "mul" | "mad" | "div" | "rem" | "abs" | "neg" | "min" | "max" | "sad"
            | "mul24" | "mad24"
                if !float =>
            {
                self.integer(i, mods)?;
            }
            "addc" | "subc" | "madc" => self.carry(i, mods, true)?,
            "and" | "or" | "xor" | "not" if mods.peek_ty() == Some(Ty::Pred) => self.logic(i, mods)?,
            "and" | "or" | "xor" => {
                let ty = mods.ty()?;
                self.simple(i, alu::bits::find(i.opcode.text, ty), ty, &[ty, ty])?;
            }
            "not" | "cnot" => {
                let ty = mods.ty()?;
                self.simple(i, alu::bits::find(i.opcode.text, ty), ty, &[ty])?;
            }
            "shl" | "shr" => {
                let ty = mods.ty()?;
                self.simple(i, alu::bits::find(i.opcode.text, ty), ty, &[ty, Ty::U32])?;
            }
            "popc" | "clz" => {
                let ty = mods.ty()?;
                self.simple(i, alu::bits::find(i.opcode.text, ty), Ty::U32, &[ty])?;
            }
            "brev" => {
                let ty = mods.ty()?;
                self.simple(i, alu::bits::find("brev", ty), ty, &[ty])?;
            }
            "bfind" => {
                let name = if mods.take("shiftamt") { "bfind.shiftamt" } else { "bfind" };
                let ty = mods.ty()?;
                self.simple(i, alu::bits::find(name, ty), Ty::U32, &[ty])?;
            }
            "bfe" => {
                let ty = mods.ty()?;
                self.simple(i, alu::bits::find("bfe", ty), ty, &[ty, Ty::U32, Ty::U32])?;
            }
            "bfi" => {
                let ty = mods.ty()?;
                self.operands(i, 5)?;
                let len = self.source(&i.operands[4], Ty::U32)?;
                let f = alu::bits::find4("bfi", ty);
                self.with(i, f, ty, &[ty, ty, Ty::U32], len)?;
            }
            "lop3" => {
                let ty = mods.ty()?;
                self.operands(i, 5)?;
                let OperandKind::Int(table) = i.operands[4].kind else {
                    return Err(i.operands[4].at.error("expected a number"));
                };
                self.with(i, alu::bits::find4("lop3", ty), ty, &[ty, ty, ty], table as u32)?;
            }
            "prmt" => {
                let ty = mods.ty()?;
                let mode = mods.first();
                let name = mode.map_or("prmt".to_owned(), |m| format!("prmt.{m}"));
                let f = if ty == Ty::B32 { alu::bits::find(&name, ty) } else { None };
                self.simple(i, f, ty, &[ty, ty, Ty::B32])?;
            }
            "shf" => {
                let side = mods.one_of(&["l", "r"]).unwrap_or("?");
                let mode = mods.one_of(&["wrap", "clamp"]).unwrap_or("?");
                let ty = mods.ty()?;
                let f = alu::bits::find(&format!("shf.{side}.{mode}"), ty).filter(|_| ty == Ty::B32);
                self.simple(i, f, ty, &[ty, ty, Ty::U32])?;
            }
            "dp4a" => {
                let (a, b) = (mods.ty()?, mods.ty()?);
                let name = |t: Ty| if t == Ty::S32 { "s32" } else { "u32" };
                let f = alu::bits::find(&format!("dp4a.{}.{}", name(a), name(b)), Ty::B32);
                self.simple(i, f, Ty::B32, &[Ty::B32, Ty::B32, Ty::B32])?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn integer(&mut self, i: &Instr<'a>, mods: &mut Mods<'a>) -> Result<(), PtxError> {
        let op = i.opcode.text;
        if mods.take("cc") {
            return self.carry_with(i, mods, false, true);
        }
        let part = if matches!(op, "mul" | "mad" | "mul24" | "mad24") {
            mods.one_of(&["lo", "hi", "wide"])
                .ok_or_else(|| i.opcode.error("expected `.lo`, `.hi` or `.wide`"))?
        } else {
            ""
        };
        let saturate = mods.take("sat");
        let ty = mods.ty()?;
        let name = match (part, saturate) {
            ("", false) => op.to_owned(),
            ("", true) => format!("{op}.sat"),
            (part, false) => format!("{op}.{part}"),
            (_, true) => return Err(i.opcode.error("`.sat` is not supported here")),
        };
        let result = match (part, ty) {
            ("wide", Ty::U16) => Ty::U32,
            ("wide", Ty::S16) => Ty::S32,
            ("wide", Ty::U32) => Ty::U64,
            ("wide", Ty::S32) => Ty::S64,
            _ => ty,
        };
        let sources: &[Ty] = match op {
            "abs" | "neg" => &[ty],
            "mad" | "mad24" => &[ty, ty, result],
            "sad" => &[ty, ty, ty],
            _ => &[ty, ty],
        };
        self.simple(i, alu::int::find(&name, ty), result, sources)
    }

    fn carry(&mut self, i: &Instr<'a>, mods: &mut Mods<'a>, carry_in: bool) -> Result<(), PtxError> {
        let carry_out = mods.take("cc");
        self.carry_with(i, mods, carry_in, carry_out)
    }

    fn carry_with(
        &mut self,
        i: &Instr<'a>,
        mods: &mut Mods<'a>,
        carry_in: bool,
        carry_out: bool,
    ) -> Result<(), PtxError> {
        let kind = match &i.opcode.text[..3] {
            "add" => Carry::Add,
            "sub" => Carry::Sub,
            "mad" if mods.take("lo") => Carry::MadLo,
            "mad" if mods.take("hi") => Carry::MadHi,
            _ => return Err(i.opcode.error("carry is not supported here")),
        };
        let ty = mods.ty()?;
        if !matches!(ty, Ty::U32 | Ty::S32 | Ty::U64 | Ty::S64) {
            return Err(i.opcode.error("carry takes 32 or 64 bits"));
        }
        // The high half depends on the sign.
        if kind == Carry::MadHi && ty.signed() {
            return Err(i.opcode.error("a signed high product with carry is not supported"));
        }
        let mad = matches!(kind, Carry::MadLo | Carry::MadHi);
        self.operands(i, if mad { 4 } else { 3 })?;
        let args = Args {
            d: self.target(&i.operands[0], ty)?,
            a: self.source(&i.operands[1], ty)?,
            b: self.source(&i.operands[2], ty)?,
            c: if mad { self.source(&i.operands[3], ty)? } else { 0 },
            aux: 0,
        };
        self.emit(Op::Carry { kind, wide: ty.bytes() == 8, args, carry_in, carry_out });
        Ok(())
    }

    fn logic(&mut self, i: &Instr<'a>, mods: &mut Mods<'a>) -> Result<(), PtxError> {
        mods.ty()?;
        let not = i.opcode.text == "not";
        self.operands(i, if not { 2 } else { 3 })?;
        let d = self.pred_target(i.operands[0].at)?;
        let a = self.pred_source(&i.operands[1])?;
        let (logic, b) = match i.opcode.text {
            "and" => (Logic::And, self.pred_source(&i.operands[2])?),
            "or" => (Logic::Or, self.pred_source(&i.operands[2])?),
            "xor" => (Logic::Xor, self.pred_source(&i.operands[2])?),
            _ => (Logic::Xor, Pred { slot: TRUE, negate: false }),
        };
        self.emit(Op::Predicate { logic, d, a, b });
        Ok(())
    }

    pub(super) fn operands(&self, i: &Instr<'a>, count: usize) -> Result<(), PtxError> {
        if i.operands.len() == count {
            return Ok(());
        }
        Err(i.opcode.error(format!("takes {count} operands, not {}", i.operands.len())))
    }

    /// One destination, then sources of the given types.
    pub(super) fn simple(
        &mut self,
        i: &Instr<'a>,
        f: Option<AluFn>,
        result: Ty,
        sources: &[Ty],
    ) -> Result<(), PtxError> {
        self.operands(i, sources.len() + 1)?;
        self.with(i, f, result, sources, 0)
    }

    fn with(
        &mut self,
        i: &Instr<'a>,
        f: Option<AluFn>,
        result: Ty,
        sources: &[Ty],
        aux: u32,
    ) -> Result<(), PtxError> {
        let f = f.ok_or_else(|| i.opcode.error("instruction is not supported in this form"))?;
        let slots = self.sources(&i.operands[1..], sources)?;
        let d = self.target(&i.operands[0], result)?;
        self.emit(Op::Alu(f, Args { d, a: slots[0], b: slots[1], c: slots[2], aux }));
        Ok(())
    }

    pub(super) fn sources(&mut self, operands: &[Operand<'a>], types: &[Ty]) -> Result<[u32; 3], PtxError> {
        let mut slots = [0; 3];
        for (slot, (operand, ty)) in slots.iter_mut().zip(operands.iter().zip(types)) {
            *slot = self.source(operand, *ty)?;
        }
        Ok(slots)
    }
}
