//! Calls: arguments and results are copied between the caller's and the function's own places.

use super::super::PtxError;
use super::super::ast::{Instr, Operand, OperandKind};
use super::super::lexer::Token;
use super::super::types::Ty;
use super::function::{FunctionBuilder, Symbol};
use super::kernel::Place;
use super::mods::Mods;
use crate::exec::alu;
use crate::exec::code::{Access, Args, NONE, Op, Where};

impl<'a> FunctionBuilder<'_, '_, 'a> {
    pub(super) fn call(&mut self, i: &Instr<'a>, mods: &mut Mods<'a>) -> Result<(), PtxError> {
        mods.take("uni");
        let (results, name, params): (&[Operand<'a>], _, &[Operand<'a>]) = match i.operands.as_slice() {
            [Operand { kind: OperandKind::List(results), .. }, name, rest @ ..] => {
                (results, name, list(i, rest)?)
            }
            [name, rest @ ..] => (&[], name, list(i, rest)?),
            [] => return Err(i.opcode.error("lacks a function")),
        };
        if !matches!(name.kind, OperandKind::Name { suffix: None, offset: 0 }) {
            return Err(name.at.error("expected a function"));
        }
        if self.find(name.at)?.is_some() {
            return Err(name.at.error("indirect calls are not supported"));
        }
        let declared_only = self.kernel.names.functions.get(name.at.text).is_none_or(|f| f.body.is_none());
        if declared_only && self.builtin(name.at, results, params)? {
            return Ok(());
        }
        let (number, frame) = self.kernel.callee(name.at)?;
        let (formals, returns) = (frame.params.clone(), frame.results.clone());
        if formals.len() != params.len() || returns.len() != results.len() {
            return Err(name.at.error("call with another number of arguments than the function has"));
        }
        for (formal, actual) in formals.iter().zip(params) {
            self.pass(*formal, actual)?;
        }
        let line = self.line;
        self.kernel.note_call(self.number, number, line);
        self.emit(Op::Call { target: 0 });
        for (formal, actual) in returns.iter().zip(results) {
            self.take_back(*formal, actual)?;
        }
        Ok(())
    }

    /// Functions that the device itself provides.
    fn builtin(
        &mut self,
        name: Token<'a>,
        results: &[Operand<'a>],
        params: &[Operand<'a>],
    ) -> Result<bool, PtxError> {
        match (name.text, params.len()) {
            // Nothing is printed, which is what a zero count of printed arguments says.
            ("vprintf", 2) => {
                for result in results {
                    let zero = self.bits32(0, name)?;
                    self.take_back(Place::Register { slot: zero, ty: Ty::B32 }, result)?;
                }
                Ok(true)
            }
            ("__assertfail", 5) => {
                let message = self.scratch(Ty::B64, name)?;
                self.pass(Place::Register { slot: message, ty: Ty::B64 }, &params[0])?;
                self.emit(Op::Assert { message });
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn actual(&mut self, operand: &Operand<'a>) -> Result<Option<(u32, u32)>, PtxError> {
        if !matches!(operand.kind, OperandKind::Name { suffix: None, offset: 0 }) {
            return Ok(None);
        }
        Ok(match self.find(operand.at)? {
            Some(Symbol::Local { offset, size, param: true }) => Some((offset, size)),
            Some(Symbol::KernelParam { .. }) => {
                return Err(operand.at.error("a kernel's parameter cannot be passed on; load it first"));
            }
            _ => None,
        })
    }

    fn pass(&mut self, formal: Place, operand: &Operand<'a>) -> Result<(), PtxError> {
        let actual = self.actual(operand)?;
        match (formal, actual) {
            (Place::Local { offset, size }, Some((from, have))) => {
                if have < size {
                    return Err(operand.at.error("argument is smaller than the parameter"));
                }
                self.emit(Op::CopyLocal { to: offset, from, size });
            }
            (Place::Local { offset, size }, None) => {
                let ty = of_size(size).ok_or_else(|| operand.at.error("argument must be in memory"))?;
                let slot = self.source(operand, ty)?;
                let access = self.local_access(operand.at, offset, ty, slot)?;
                self.emit(Op::Store(access));
            }
            (Place::Register { slot, ty }, Some((from, have))) => {
                if have < ty.bytes() {
                    return Err(operand.at.error("argument is smaller than the parameter"));
                }
                let access = self.local_access(operand.at, from, ty, slot)?;
                self.emit(Op::Load(access));
            }
            (Place::Register { slot, ty }, None) => {
                let from = self.source(operand, ty)?;
                self.copy(operand.at, ty, slot, from)?;
            }
        }
        Ok(())
    }

    fn take_back(&mut self, formal: Place, operand: &Operand<'a>) -> Result<(), PtxError> {
        let actual = self.actual(operand)?;
        match (formal, actual) {
            (Place::Local { offset, size }, Some((to, have))) => {
                self.emit(Op::CopyLocal { to, from: offset, size: size.min(have) });
            }
            (Place::Local { offset, size }, None) => {
                let ty = of_size(size).ok_or_else(|| operand.at.error("result must go to memory"))?;
                let slot = self.target(operand, ty)?;
                let access = self.local_access(operand.at, offset, ty, slot)?;
                self.emit(Op::Load(access));
            }
            (Place::Register { slot, ty }, Some((to, have))) => {
                if have < ty.bytes() {
                    return Err(operand.at.error("result is larger than its place"));
                }
                let access = self.local_access(operand.at, to, ty, slot)?;
                self.emit(Op::Store(access));
            }
            (Place::Register { slot, ty }, None) => {
                let to = self.target(operand, ty)?;
                self.copy(operand.at, ty, to, slot)?;
            }
        }
        Ok(())
    }

    fn copy(&mut self, at: Token<'a>, ty: Ty, d: u32, a: u32) -> Result<(), PtxError> {
        let f =
            alu::bits::find("mov", ty.bits()).ok_or_else(|| at.error("cannot be passed in a register"))?;
        self.emit(Op::Alu(f, Args { d, a, ..Args::default() }));
        Ok(())
    }

    fn local_access(&mut self, at: Token<'a>, offset: u32, ty: Ty, slot: u32) -> Result<Access, PtxError> {
        if ty == Ty::Pred {
            return Err(at.error("predicates are not passed in memory"));
        }
        Ok(Access {
            space: Where::Local,
            base: self.bits64(u64::from(offset), at)?,
            wide: true,
            offset: 0,
            size: ty.bytes() as u8,
            lanes: 1,
            signed: false,
            reg: ty.bytes().max(2) as u8,
            regs: [slot, NONE, NONE, NONE],
            site: self.kernel.site(),
        })
    }
}

fn list<'o, 'a>(i: &Instr<'a>, rest: &'o [Operand<'a>]) -> Result<&'o [Operand<'a>], PtxError> {
    match rest {
        [] => Ok(&[]),
        [Operand { kind: OperandKind::List(list), .. }] => Ok(list),
        // A third list names the prototype of an indirect call.
        _ => Err(i.opcode.error("indirect calls are not supported")),
    }
}

fn of_size(size: u32) -> Option<Ty> {
    match size {
        1 => Some(Ty::B8),
        2 => Some(Ty::B16),
        4 => Some(Ty::B32),
        8 => Some(Ty::B64),
        _ => None,
    }
}
