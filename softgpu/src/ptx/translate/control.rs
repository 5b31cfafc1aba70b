//! Branches, returns, barriers and fences.

use super::super::PtxError;
use super::super::ast::{Instr, Operand, OperandKind};
use super::super::types::Ty;
use super::function::{FunctionBuilder, Symbol};
use super::mods::Mods;
use crate::exec::code::{Bar, BarReduce, NONE, Op, Pred, TRUE};

impl<'a> FunctionBuilder<'_, '_, 'a> {
    pub(super) fn control(&mut self, i: &Instr<'a>, mods: &mut Mods<'a>) -> Result<bool, PtxError> {
        match i.opcode.text {
            "bra" => {
                mods.take("uni");
                self.operands(i, 1)?;
                self.note_branch(vec![i.operands[0].at]);
                self.emit(Op::Branch { target: 0 });
            }
            "brx" => {
                mods.take("idx");
                mods.take("uni");
                self.operands(i, 2)?;
                let index = self.source(&i.operands[0], Ty::U32)?;
                let Some(Symbol::Targets(labels)) = self.find(i.operands[1].at)? else {
                    return Err(i.operands[1].at.error("expected a list of branch targets"));
                };
                self.note_branch(labels);
                self.emit(Op::BranchTable { index, targets: Box::default() });
            }
            "call" => self.call(i, mods)?,
            "ret" => {
                mods.take("uni");
                self.operands(i, 0)?;
                self.emit(Op::Return);
            }
            "exit" => {
                self.operands(i, 0)?;
                self.emit(Op::Exit);
            }
            "trap" | "brkpt" => {
                self.operands(i, 0)?;
                self.emit(Op::Trap);
            }
            "bar" | "barrier" => self.barrier(i, mods)?,
            "membar" | "fence" => {
                mods.ignore(&["gl", "cta", "sys", "gpu", "cluster", "sc", "acq_rel", "acquire", "release"]);
                self.emit(Op::Nop);
            }
            "nanosleep" => {
                mods.ty()?;
                self.operands(i, 1)?;
                self.source(&i.operands[0], Ty::U32)?;
                self.emit(Op::Yield);
            }
            "pmevent" => self.emit(Op::Nop),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn barrier(&mut self, i: &Instr<'a>, mods: &mut Mods<'a>) -> Result<(), PtxError> {
        if mods.take("warp") {
            mods.take("sync");
            self.operands(i, 1)?;
            let members = self.source(&i.operands[0], Ty::B32)?;
            self.emit(Op::WarpSync { members });
            return Ok(());
        }
        mods.ignore(&["cta", "aligned"]);
        let kind = mods
            .one_of(&["sync", "arrive", "red"])
            .ok_or_else(|| i.opcode.error("expected `.sync`, `.arrive` or `.red`"))?;
        let mut bar = Bar {
            id: 0,
            threads: NONE,
            arrive_only: kind == "arrive",
            reduce: BarReduce::None,
            pred: Pred { slot: TRUE, negate: false },
        };
        let mut rest: &[Operand<'a>] = &i.operands;
        if kind == "red" {
            let op =
                mods.one_of(&["popc", "and", "or"]).ok_or_else(|| i.opcode.error("lacks an operation"))?;
            let ty = mods.ty()?;
            let [first, middle @ .., last] = rest else {
                return Err(i.opcode.error("lacks operands"));
            };
            bar.pred = self.pred_source(last)?;
            bar.reduce = match (op, ty) {
                ("popc", Ty::U32) => BarReduce::Count { d: self.target(first, ty)? },
                ("and", Ty::Pred) => BarReduce::And { d: self.pred_target(first.at)? },
                ("or", Ty::Pred) => BarReduce::Or { d: self.pred_target(first.at)? },
                _ => return Err(i.opcode.error("instruction is not supported in this form")),
            };
            rest = middle;
        }
        let (id, threads) = match rest {
            [] if kind == "sync" && i.opcode.text == "barrier" => (None, None),
            [id] if kind != "arrive" => (Some(id), None),
            [id, threads] => (Some(id), Some(threads)),
            _ => return Err(i.opcode.error("takes a barrier and perhaps a number of threads")),
        };
        bar.id = match id {
            Some(operand) => {
                if let OperandKind::Int(16..) = operand.kind {
                    return Err(operand.at.error("barriers are numbered 0 to 15"));
                }
                self.source(operand, Ty::U32)?
            }
            None => self.bits32(0, i.opcode)?,
        };
        if let Some(threads) = threads {
            bar.threads = self.source(threads, Ty::U32)?;
        }
        self.emit(Op::Barrier(Box::new(bar)));
        Ok(())
    }
}
