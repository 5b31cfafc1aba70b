//! Instructions that look across the lanes of a warp.

use super::super::PtxError;
use super::super::ast::{Instr, Operand, OperandKind};
use super::super::types::Ty;
use super::function::FunctionBuilder;
use super::mods::Mods;
use crate::exec::code::{Args, AtomOp, NONE, Op, ShflMode, VoteMode};

impl<'a> FunctionBuilder<'_, '_, 'a> {
    pub(super) fn warp(&mut self, i: &Instr<'a>, mods: &mut Mods<'a>) -> Result<bool, PtxError> {
        match i.opcode.text {
            "shfl" => self.shfl(i, mods)?,
            "vote" => self.vote(i, mods)?,
            "match" => self.matching(i, mods)?,
            "redux" => self.redux(i, mods)?,
            "activemask" => {
                mods.ty()?;
                self.operands(i, 1)?;
                let d = self.target(&i.operands[0], Ty::B32)?;
                self.emit(Op::ActiveMask { d });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The member mask that `.sync` forms end with.
    fn members(&mut self, i: &Instr<'a>, sync: bool, others: usize) -> Result<u32, PtxError> {
        self.operands(i, others + usize::from(sync))?;
        if sync { self.source(&i.operands[others], Ty::B32) } else { Ok(NONE) }
    }

    /// `d|p` or `d`.
    fn with_predicate(&mut self, operand: &Operand<'a>) -> Result<(u32, u32), PtxError> {
        let (kind, p) = match operand.kind {
            OperandKind::Pair(p) => (OperandKind::Name { suffix: None, offset: 0 }, self.pred_target(p)?),
            _ => (operand.kind.clone(), NONE),
        };
        let d = self.target(&Operand { at: operand.at, kind }, Ty::B32)?;
        Ok((d, p))
    }

    fn shfl(&mut self, i: &Instr<'a>, mods: &mut Mods<'a>) -> Result<(), PtxError> {
        let sync = mods.take("sync");
        let mode = match mods.one_of(&["up", "down", "bfly", "idx"]) {
            Some("up") => ShflMode::Up,
            Some("down") => ShflMode::Down,
            Some("bfly") => ShflMode::Bfly,
            Some(_) => ShflMode::Idx,
            None => return Err(i.opcode.error("lacks a mode")),
        };
        if mods.ty()?.bytes() != 4 {
            return Err(i.opcode.error("shuffles 32 bits"));
        }
        let members = self.members(i, sync, 4)?;
        let (d, p) = self.with_predicate(&i.operands[0])?;
        let [a, b, c] = self.sources(&i.operands[1..4], &[Ty::B32; 3])?;
        self.emit(Op::Shfl { mode, args: Args { d, a, b, c, aux: 0 }, p, members });
        Ok(())
    }

    fn vote(&mut self, i: &Instr<'a>, mods: &mut Mods<'a>) -> Result<(), PtxError> {
        let sync = mods.take("sync");
        let mode = match mods.one_of(&["all", "any", "uni", "ballot"]) {
            Some("all") => VoteMode::All,
            Some("any") => VoteMode::Any,
            Some("uni") => VoteMode::Uni,
            Some(_) => VoteMode::Ballot,
            None => return Err(i.opcode.error("lacks a mode")),
        };
        mods.ty()?;
        let members = self.members(i, sync, 2)?;
        let d = match mode {
            VoteMode::Ballot => self.target(&i.operands[0], Ty::B32)?,
            _ => self.pred_target(i.operands[0].at)?,
        };
        let p = self.pred_source(&i.operands[1])?;
        self.emit(Op::Vote { mode, d, p, members });
        Ok(())
    }

    fn matching(&mut self, i: &Instr<'a>, mods: &mut Mods<'a>) -> Result<(), PtxError> {
        let all = mods.one_of(&["any", "all"]) == Some("all");
        mods.take("sync");
        let ty = mods.ty()?;
        let members = self.members(i, true, 2)?;
        let (d, p) = self.with_predicate(&i.operands[0])?;
        if ty.bytes() < 4 {
            return Err(i.opcode.error("matches 32 or 64 bits"));
        }
        let a = self.source(&i.operands[1], ty)?;
        self.emit(Op::Match { all, wide: ty.bytes() == 8, d, p, a, members });
        Ok(())
    }

    fn redux(&mut self, i: &Instr<'a>, mods: &mut Mods<'a>) -> Result<(), PtxError> {
        mods.take("sync");
        let op = match mods.one_of(&["add", "min", "max", "and", "or", "xor"]) {
            Some("add") => AtomOp::Add,
            Some("min") => AtomOp::Min,
            Some("max") => AtomOp::Max,
            Some("and") => AtomOp::And,
            Some("or") => AtomOp::Or,
            Some(_) => AtomOp::Xor,
            None => return Err(i.opcode.error("lacks an operation")),
        };
        let ty = mods.ty()?;
        if !matches!(ty, Ty::U32 | Ty::S32 | Ty::B32) {
            return Err(i.opcode.error("reduces 32-bit integers"));
        }
        let members = self.members(i, true, 2)?;
        let d = self.target(&i.operands[0], Ty::B32)?;
        let a = self.source(&i.operands[1], Ty::B32)?;
        self.emit(Op::Redux { op, signed: ty == Ty::S32, d, a, members });
        Ok(())
    }
}
