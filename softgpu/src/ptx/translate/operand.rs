//! Operands to slots.

use super::super::PtxError;
use super::super::ast::{Operand, OperandKind, Space};
use super::super::lexer::Token;
use super::super::types::Ty;
use super::function::{FunctionBuilder, Symbol};
use crate::exec::code::{Clock, Const, LaneMask, Op, Pred, TRUE};
use crate::exec::space;

/// A register: where, and what it was declared as.
#[derive(Clone, Copy, Debug)]
pub(super) struct Register {
    pub slot: u32,
    pub ty: Ty,
}

/// The bits of an immediate as a value of `ty`.
fn immediate(kind: &OperandKind<'_>, ty: Ty) -> Option<u64> {
    let bits = match (kind, ty) {
        (OperandKind::Int(v), Ty::F32) => u64::from((*v as i64 as f32).to_bits()),
        (OperandKind::Int(v), Ty::F64) => (*v as i64 as f64).to_bits(),
        (OperandKind::Int(v), _) => *v,
        (OperandKind::Single(v), Ty::F32 | Ty::B32) => u64::from(*v),
        (OperandKind::Single(v), Ty::F64) => f64::from(f32::from_bits(*v)).to_bits(),
        (OperandKind::Double(v), Ty::F32) => u64::from((*v as f32).to_bits()),
        (OperandKind::Double(v), Ty::F64 | Ty::B64) => v.to_bits(),
        _ => return None,
    };
    Some(match ty.bytes() {
        1 => bits & 0xff,
        2 => bits & 0xffff,
        4 => bits & 0xffff_ffff,
        _ => bits,
    })
}

impl<'a> FunctionBuilder<'_, '_, 'a> {
    pub(super) fn register(&mut self, at: Token<'a>) -> Result<Option<Register>, PtxError> {
        Ok(match self.find(at)? {
            Some(Symbol::Register { slot: Some(slot), ty }) => Some(Register { slot, ty }),
            _ => None,
        })
    }

    /// The slot of a predicate register.
    pub(super) fn predicate(&mut self, at: Token<'a>) -> Result<u32, PtxError> {
        match self.register(at)? {
            Some(Register { slot, ty: Ty::Pred }) => Ok(slot),
            _ => Err(at.error("expected a predicate register")),
        }
    }

    /// A predicate as an operand: `p`, `!p`, or a number.
    pub(super) fn pred_source(&mut self, operand: &Operand<'a>) -> Result<Pred, PtxError> {
        match operand.kind {
            OperandKind::Not => Ok(Pred { slot: self.predicate(operand.at)?, negate: true }),
            OperandKind::Int(value) => Ok(Pred { slot: TRUE, negate: value == 0 }),
            OperandKind::Name { suffix: None, offset: 0 } => {
                Ok(Pred { slot: self.predicate(operand.at)?, negate: false })
            }
            _ => Err(operand.at.error("expected a predicate")),
        }
    }

    /// A predicate that is written; `_` throws the result away.
    pub(super) fn pred_target(&mut self, at: Token<'a>) -> Result<u32, PtxError> {
        if at.text == "_" { self.kernel.register(Ty::Pred, at) } else { self.predicate(at) }
    }

    pub(super) fn scratch(&mut self, ty: Ty, at: Token<'a>) -> Result<u32, PtxError> {
        self.kernel.register(ty, at)
    }

    pub(super) fn bits32(&mut self, value: u32, at: Token<'a>) -> Result<u32, PtxError> {
        self.kernel.constant(Const::Bits32(value), false, at)
    }

    pub(super) fn bits64(&mut self, value: u64, at: Token<'a>) -> Result<u32, PtxError> {
        self.kernel.constant(Const::Bits64(value), true, at)
    }

    /// A register that an instruction of type `ty` writes: sizes must agree.
    pub(super) fn target(&mut self, operand: &Operand<'a>, ty: Ty) -> Result<u32, PtxError> {
        Ok(self.target_register(operand, ty, false)?.slot)
    }

    /// As [`target`](Self::target); `wider`: the register may be wider than the type, as for `ld` and `cvt`.
    pub(super) fn target_register(
        &mut self,
        operand: &Operand<'a>,
        ty: Ty,
        wider: bool,
    ) -> Result<Register, PtxError> {
        let OperandKind::Name { suffix: None, offset: 0 } = operand.kind else {
            return Err(operand.at.error("expected a register"));
        };
        if operand.at.text == "_" {
            let ty = if ty.bytes() == 1 { Ty::B16 } else { ty };
            return Ok(Register { slot: self.scratch(ty, operand.at)?, ty });
        }
        let register = self.register(operand.at)?.ok_or_else(|| operand.at.error("undefined register"))?;
        self.check_size(operand.at, register.ty, ty, wider)?;
        Ok(register)
    }

    fn check_size(&self, at: Token<'a>, register: Ty, ty: Ty, wider: bool) -> Result<(), PtxError> {
        let fits = register.bytes() == ty.bytes() || (wider && register.bytes() > ty.bytes());
        if !fits || (register == Ty::Pred) != (ty == Ty::Pred) {
            let (have, want) = (register.bytes() * 8, ty.bytes() * 8);
            return Err(match register {
                Ty::Pred => at.error("a predicate cannot be used here"),
                _ => at.error(format!("register of {have} bits where the instruction takes {want}")),
            });
        }
        Ok(())
    }

    /// A value of type `ty` that an instruction reads.
    pub(super) fn source(&mut self, operand: &Operand<'a>, ty: Ty) -> Result<u32, PtxError> {
        Ok(self.source_register(operand, ty, false)?.slot)
    }

    pub(super) fn source_register(
        &mut self,
        operand: &Operand<'a>,
        ty: Ty,
        wider: bool,
    ) -> Result<Register, PtxError> {
        let at = operand.at;
        if let OperandKind::Name { suffix, offset } = operand.kind {
            if suffix.is_none()
                && let Some(register) = self.register(at)?
            {
                if offset != 0 {
                    return Err(at.error("a register cannot have an offset here"));
                }
                self.check_size(at, register.ty, ty, wider)?;
                return Ok(register);
            }
            if let Some(register) = self.special(at, suffix, ty)? {
                return Ok(register);
            }
            if at.text.starts_with('%') {
                return Err(at.error("undefined register"));
            }
            let slot = self.address_of(at, offset, false, ty.bytes() == 8)?;
            if ty.bytes() < 4 {
                return Err(at.error("an address does not fit in fewer than 32 bits"));
            }
            return Ok(Register { slot, ty });
        }
        let bits = immediate(&operand.kind, ty).ok_or_else(|| at.error("operand does not fit the type"))?;
        let slot = if ty.bytes() == 8 { self.bits64(bits, at)? } else { self.bits32(bits as u32, at)? };
        Ok(Register { slot, ty })
    }

    /// A slot holding the address of a variable in its own state space, or its generic address.
    pub(super) fn address_of(
        &mut self,
        at: Token<'a>,
        offset: i64,
        generic: bool,
        wide: bool,
    ) -> Result<u32, PtxError> {
        let window = |base: u64| if generic { base } else { 0 };
        let shared = |me: &mut Self, var: &super::super::ast::Var<'a>| match me.kernel.shared(var)? {
            Some(start) => Ok(Const::Bits64(
                window(space::SHARED).wrapping_add(u64::from(start)).wrapping_add(offset as u64),
            )),
            None => Ok(Const::DynamicShared((window(space::SHARED) as i64).wrapping_add(offset))),
        };
        let value = match self.find(at)? {
            Some(Symbol::Local { offset: start, param, .. }) => {
                let base = match (param, generic) {
                    (false, _) => window(space::LOCAL),
                    (true, false) => space::FUNCTION_PARAM,
                    (true, true) => space::PARAM + space::FUNCTION_PARAM,
                };
                Const::Bits64(base.wrapping_add(u64::from(start)).wrapping_add(offset as u64))
            }
            Some(Symbol::KernelParam { offset: start, .. }) => {
                Const::Bits64(window(space::PARAM).wrapping_add(u64::from(start)).wrapping_add(offset as u64))
            }
            Some(Symbol::Shared(var)) => shared(self, &var)?,
            Some(_) => return Err(at.error("expected a variable")),
            None => match self.kernel.names.vars.get(at.text).copied() {
                Some((_, Some(index))) => Const::Global(index, offset),
                Some((var, None)) if var.space == Space::Shared => shared(self, var)?,
                Some(_) => return Err(at.error("local memory outside of functions is not supported")),
                None if self.kernel.names.functions.contains_key(at.text) => {
                    return Err(at.error("addresses of functions are not supported"));
                }
                None => return Err(at.error("undefined name")),
            },
        };
        match value {
            Const::Global(..) if !wide => Err(at.error("an address in global memory takes 64 bits")),
            Const::Bits64(bits) if !wide => self.bits32(bits as u32, at),
            value => self.kernel.constant(value, wide, at),
        }
    }

    /// A special register, if the name is one.
    fn special(&mut self, at: Token<'a>, suffix: Option<&str>, ty: Ty) -> Result<Option<Register>, PtxError> {
        let axis = match suffix {
            None => None,
            Some("x") => Some(0),
            Some("y") => Some(1),
            Some("z") => Some(2),
            Some(_) => return Err(at.error("unknown component")),
        };
        let wide = ty.bytes() == 8;
        if let Some(clock) = clock(at.text) {
            let is_wide = matches!(clock, Clock::Full | Clock::Timer);
            if is_wide != wide {
                return Err(at.error("special register of another size than the instruction"));
            }
            let ty = if wide { Ty::U64 } else { Ty::U32 };
            let slot = self.scratch(ty, at)?;
            self.emit(Op::ReadClock { clock, d: slot });
            return Ok(Some(Register { slot, ty }));
        }
        let value = match (at.text, axis) {
            ("%tid", Some(axis)) => Const::Tid(axis),
            ("%ntid", Some(axis)) => Const::Ntid(axis),
            ("%ctaid", Some(axis)) => Const::Ctaid(axis),
            ("%nctaid", Some(axis)) => Const::Nctaid(axis),
            ("%laneid", None) => Const::LaneId,
            ("%warpid", None) => Const::WarpId,
            ("%nwarpid", None) => Const::WarpCount,
            ("%smid", None) => Const::Bits32(0),
            ("%nsmid", None) => Const::Bits32(1),
            ("WARP_SZ", None) if !wide => Const::Bits32(32),
            ("WARP_SZ", None) => Const::Bits64(32),
            ("%gridid", None) if wide => Const::Bits64(0),
            ("%gridid", None) => Const::Bits32(0),
            ("%lanemask_eq", None) => Const::LaneMask(LaneMask::Eq),
            ("%lanemask_le", None) => Const::LaneMask(LaneMask::Le),
            ("%lanemask_lt", None) => Const::LaneMask(LaneMask::Lt),
            ("%lanemask_ge", None) => Const::LaneMask(LaneMask::Ge),
            ("%lanemask_gt", None) => Const::LaneMask(LaneMask::Gt),
            ("%dynamic_smem_size", None) => Const::DynamicSharedSize,
            ("%total_smem_size", None) => Const::TotalSharedSize,
            _ => return Ok(None),
        };
        if wide != matches!(value, Const::Bits64(_)) {
            return Err(at.error("special register of another size than the instruction"));
        }
        let slot = self.kernel.constant(value, wide, at)?;
        Ok(Some(Register { slot, ty: if wide { Ty::U64 } else { Ty::U32 } }))
    }
}

fn clock(name: &str) -> Option<Clock> {
    Some(match name {
        "%clock" => Clock::Low,
        "%clock_hi" => Clock::High,
        "%clock64" => Clock::Full,
        "%globaltimer" => Clock::Timer,
        "%globaltimer_lo" => Clock::TimerLow,
        "%globaltimer_hi" => Clock::TimerHigh,
        _ => return None,
    })
}
