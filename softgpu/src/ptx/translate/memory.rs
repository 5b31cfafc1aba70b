//! Loads, stores, atomics and address arithmetic.

use super::super::PtxError;
use super::super::ast::{Instr, Operand, OperandKind, Space};
use super::super::decl::space_named;
use super::super::types::Ty;
use super::function::{FunctionBuilder, Symbol};
use super::mods::Mods;
use crate::exec::alu;
use crate::exec::code::{Access, Args, Atom, AtomOp, AtomTy, NONE, Op, Where};
use crate::exec::space;

/// Words about caching, ordering and scope. Blocks run one after another and every access is atomic, so all orders
/// are kept anyway.
const HINTS: [&str; 33] = [
    "ca",
    "cg",
    "cs",
    "lu",
    "cv",
    "wb",
    "wt",
    "nc",
    "volatile",
    "weak",
    "relaxed",
    "acquire",
    "release",
    "acq_rel",
    "seq_cst",
    "sc",
    "mmio",
    "cta",
    "cluster",
    "gpu",
    "gl",
    "sys",
    "unified",
    "noftz",
    "L1::evict_normal",
    "L1::evict_unchanged",
    "L1::evict_first",
    "L1::evict_last",
    "L1::no_allocate",
    "L2::64B",
    "L2::128B",
    "L2::256B",
    "aligned",
];

/// Where an address leads: a place known now, or a slot.
struct Address {
    space: Where,
    base: u32,
    wide: bool,
    offset: i64,
}

impl<'a> FunctionBuilder<'_, '_, 'a> {
    pub(super) fn memory(&mut self, i: &Instr<'a>, mods: &mut Mods<'a>) -> Result<bool, PtxError> {
        match i.opcode.text {
            "ld" | "ldu" => self.load(i, mods)?,
            "st" => self.store(i, mods)?,
            "atom" => self.atom(i, mods, true)?,
            "red" => self.atom(i, mods, false)?,
            "cvta" => self.cvta(i, mods)?,
            "isspacep" => {
                let space = self.space(mods);
                self.operands(i, 2)?;
                let p = self.pred_target(i.operands[0].at)?;
                let a = self.source(&i.operands[1], Ty::U64)?;
                let space = match space {
                    Space::Global | Space::Const => Where::Global,
                    Space::Shared => Where::Shared,
                    Space::Local => Where::Local,
                    Space::Param => Where::Param,
                    Space::Generic => return Err(i.opcode.error("lacks a state space")),
                };
                self.emit(Op::IsSpace { space, a, d: p });
            }
            "prefetch" | "prefetchu" => {
                mods.ignore(&["global", "local", "L1", "L2", "L2::evict_last", "L2::evict_normal"]);
                self.emit(Op::Nop);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn space(&mut self, mods: &mut Mods<'a>) -> Space {
        mods.take_if(|w| space_named(w).is_some()).and_then(space_named).unwrap_or(Space::Generic)
    }

    fn vector(&mut self, i: &Instr<'a>, mods: &mut Mods<'a>, ty: Ty) -> Result<u8, PtxError> {
        let lanes = match mods.one_of(&["v2", "v4"]) {
            Some("v2") => 2,
            Some(_) => 4,
            None => 1,
        };
        if ty == Ty::Pred {
            return Err(i.opcode.error("predicates are not in memory"));
        }
        if u32::from(lanes) * ty.bytes() > 16 {
            return Err(i.opcode.error("access of more than 16 bytes"));
        }
        Ok(lanes)
    }

    fn elements<'o>(
        &self,
        operand: &'o Operand<'a>,
        lanes: u8,
    ) -> Result<std::borrow::Cow<'o, [Operand<'a>]>, PtxError> {
        match &operand.kind {
            OperandKind::Vector(list) if list.len() == usize::from(lanes) => Ok(list.as_slice().into()),
            OperandKind::Vector(_) => {
                Err(operand.at.error("vector of another length than the instruction's"))
            }
            _ if lanes == 1 => Ok(std::slice::from_ref(operand).into()),
            _ => Err(operand.at.error("expected a vector")),
        }
    }

    fn access(&mut self, address: Address, ty: Ty, lanes: u8, regs: &[u32], reg: u32) -> Access {
        let mut slots = [NONE; 4];
        for (slot, reg) in slots.iter_mut().zip(regs) {
            *slot = *reg;
        }
        Access {
            space: address.space,
            base: address.base,
            wide: address.wide,
            offset: address.offset,
            size: ty.bytes() as u8,
            lanes,
            signed: ty.signed(),
            reg: reg as u8,
            regs: slots,
            site: self.kernel.site(),
        }
    }

    fn load(&mut self, i: &Instr<'a>, mods: &mut Mods<'a>) -> Result<(), PtxError> {
        let space = self.space(mods);
        mods.ignore(&HINTS);
        let ty = mods.ty()?;
        let lanes = self.vector(i, mods, ty)?;
        self.operands(i, 2)?;
        let mut slots = Vec::with_capacity(4);
        let mut width = 0;
        for operand in self.elements(&i.operands[0], lanes)?.iter() {
            let register = self.target_register(operand, ty, true)?;
            let bytes = register.ty.bytes();
            if operand.at.text != "_" {
                if width != 0 && width != bytes {
                    return Err(operand.at.error("registers of a vector differ in size"));
                }
                width = bytes;
            }
            slots.push(if operand.at.text == "_" { NONE } else { register.slot });
        }
        let width = if width == 0 { ty.bytes().max(2) } else { width };
        let address = &i.operands[1];
        if space == Space::Param
            && let OperandKind::Address { offset } = address.kind
            && let Some(Symbol::KernelParam { offset: start, size }) = self.find(address.at)?
        {
            let bytes = i64::from(lanes) * i64::from(ty.bytes());
            if offset < 0 || offset.checked_add(bytes).is_none_or(|end| end > i64::from(size)) {
                return Err(address.at.error("reads outside the parameter"));
            }
            let place = Address { space: Where::Param, base: 0, wide: true, offset: 0 };
            let access = self.access(place, ty, lanes, &slots, width);
            self.emit(Op::LoadParam { offset: start + offset as u32, access });
            return Ok(());
        }
        let address = self.address(address, space)?;
        let access = self.access(address, ty, lanes, &slots, width);
        self.emit(Op::Load(access));
        Ok(())
    }

    fn store(&mut self, i: &Instr<'a>, mods: &mut Mods<'a>) -> Result<(), PtxError> {
        let space = self.space(mods);
        mods.ignore(&HINTS);
        let ty = mods.ty()?;
        let lanes = self.vector(i, mods, ty)?;
        self.operands(i, 2)?;
        if space == Space::Const {
            return Err(i.opcode.error("constant memory cannot be written"));
        }
        let mut slots = Vec::with_capacity(4);
        let mut width = 0;
        for operand in self.elements(&i.operands[1], lanes)?.iter() {
            let mut register = self.source_register(operand, ty, true)?;
            let immediate = !matches!(operand.kind, OperandKind::Name { .. });
            if width != 0 && (width == 8) != (register.ty.bytes() == 8) {
                return Err(operand.at.error("registers of a vector differ in size"));
            }
            if immediate && register.ty.bytes() < 2 {
                register.ty = Ty::B16;
            }
            width = register.ty.bytes();
            slots.push(register.slot);
        }
        let address = self.address(&i.operands[0], space)?;
        if address.space == Where::Param {
            return Err(i.operands[0].at.error("kernel parameters cannot be written"));
        }
        let access = self.access(address, ty, lanes, &slots, width);
        self.emit(Op::Store(access));
        Ok(())
    }

    /// The address of `[base + offset]` in a state space.
    fn address(&mut self, operand: &Operand<'a>, space: Space) -> Result<Address, PtxError> {
        let at = operand.at;
        let OperandKind::Address { offset } = operand.kind else {
            return Err(at.error("expected an address in brackets"));
        };
        let place = match space {
            Space::Generic => Where::Generic,
            Space::Global | Space::Const => Where::Global,
            Space::Shared => Where::Shared,
            Space::Local => Where::Local,
            Space::Param => Where::Param,
        };
        if let super::super::lexer::Tok::Int(value) = at.tok {
            let base = self.bits64(value, at)?;
            return Ok(Address { space: place, base, wide: true, offset });
        }
        match self.find(at)? {
            Some(Symbol::Register { slot: Some(base), ty }) => match ty.bytes() {
                8 => return Ok(Address { space: place, base, wide: true, offset }),
                4 if ty != Ty::F32 => return Ok(Address { space: place, base, wide: false, offset }),
                _ => return Err(at.error("an address takes a register of 32 or 64 bits")),
            },
            // Functions' parameters are local memory; no need to go through the parameter space.
            Some(Symbol::Local { offset: start, size, param: true }) if space == Space::Param => {
                if offset < 0 || offset >= i64::from(size.max(1)) {
                    return Err(at.error("outside the parameter"));
                }
                let base = self.bits64(u64::from(start), at)?;
                return Ok(Address { space: Where::Local, base, wide: true, offset });
            }
            None if at.text.starts_with('%') => return Err(at.error("undefined register")),
            _ => {}
        }
        self.check_space(operand, space)?;
        let base = self.address_of(at, 0, space == Space::Generic, true)?;
        Ok(Address { space: place, base, wide: true, offset })
    }

    /// A variable must lie in the space that the instruction names.
    fn check_space(&mut self, operand: &Operand<'a>, space: Space) -> Result<(), PtxError> {
        let at = operand.at;
        let actual = match self.find(at)? {
            Some(Symbol::Local { param: false, .. }) => Space::Local,
            Some(Symbol::Local { .. } | Symbol::KernelParam { .. }) => Space::Param,
            Some(Symbol::Shared(_)) => Space::Shared,
            Some(_) => return Err(at.error("expected a variable")),
            None => match self.kernel.names.vars.get(at.text) {
                Some((var, _)) => var.space,
                None => return Err(at.error("undefined name")),
            },
        };
        if space != Space::Generic && space != actual {
            return Err(at.error("variable lies in another state space than the instruction names"));
        }
        Ok(())
    }

    fn atom(&mut self, i: &Instr<'a>, mods: &mut Mods<'a>, returns: bool) -> Result<(), PtxError> {
        let space = self.space(mods);
        mods.ignore(&HINTS);
        let op = match mods.one_of(&["add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"]) {
            Some("add") => AtomOp::Add,
            Some("min") => AtomOp::Min,
            Some("max") => AtomOp::Max,
            Some("and") => AtomOp::And,
            Some("or") => AtomOp::Or,
            Some("xor") => AtomOp::Xor,
            Some("exch") => AtomOp::Exch,
            Some("cas") => AtomOp::Cas,
            Some("inc") => AtomOp::Inc,
            Some("dec") => AtomOp::Dec,
            _ => return Err(i.opcode.error("lacks an operation")),
        };
        let ty = mods.ty()?;
        let kind = match (op, ty) {
            (AtomOp::Add, Ty::F16) => AtomTy::F16,
            (AtomOp::Add, Ty::F16x2) => AtomTy::F16x2,
            (AtomOp::Add, Ty::F32) => AtomTy::F32,
            (AtomOp::Add, Ty::F64) => AtomTy::F64,
            (AtomOp::Cas, Ty::B16) => AtomTy::B16,
            (AtomOp::Inc | AtomOp::Dec, Ty::U32) => AtomTy::U32,
            (AtomOp::Add | AtomOp::Min | AtomOp::Max, Ty::S32) => AtomTy::S32,
            (AtomOp::Add | AtomOp::Min | AtomOp::Max, Ty::S64) => AtomTy::S64,
            (AtomOp::Inc | AtomOp::Dec, _) => return Err(unsupported_atom(i)),
            (_, Ty::B32 | Ty::U32 | Ty::S32) => AtomTy::U32,
            (_, Ty::B64 | Ty::U64 | Ty::S64) => AtomTy::U64,
            _ => return Err(unsupported_atom(i)),
        };
        let values = if op == AtomOp::Cas { 2 } else { 1 };
        let first = usize::from(returns);
        self.operands(i, first + 1 + values)?;
        let mut regs = [NONE; 3];
        if returns && i.operands[0].at.text != "_" {
            regs[0] = self.target(&i.operands[0], ty)?;
        }
        for n in 0..values {
            regs[n + 1] = self.source(&i.operands[first + 1 + n], ty)?;
        }
        let address = self.address(&i.operands[first], space)?;
        if !matches!(address.space, Where::Generic | Where::Global | Where::Shared) || space == Space::Const {
            return Err(i.opcode.error("atomics work on global and shared memory"));
        }
        let access = self.access(address, ty, 1, &regs, ty.bytes());
        self.emit(Op::Atom(Box::new(Atom { op, ty: kind, access })));
        Ok(())
    }

    fn cvta(&mut self, i: &Instr<'a>, mods: &mut Mods<'a>) -> Result<(), PtxError> {
        let to = mods.take("to");
        let space = self.space(mods);
        let ty = mods.ty()?;
        self.operands(i, 2)?;
        if ty != Ty::U64 {
            return Err(i.opcode.error("only 64-bit addresses are supported"));
        }
        let window = match space {
            Space::Global | Space::Const => 0,
            Space::Shared => space::SHARED,
            Space::Local => space::LOCAL,
            Space::Param => space::PARAM,
            Space::Generic => return Err(i.opcode.error("lacks a state space")),
        };
        let a = self.source(&i.operands[1], ty)?;
        let d = self.target(&i.operands[0], ty)?;
        let (name, b) = if window == 0 {
            ("mov", a)
        } else {
            (if to { "sub" } else { "add" }, self.bits64(window, i.opcode)?)
        };
        let f = if name == "mov" { alu::bits::find(name, ty) } else { alu::int::find(name, ty) };
        let f = f.ok_or_else(|| i.opcode.error("instruction is not supported in this form"))?;
        self.emit(Op::Alu(f, Args { d, a, b, ..Args::default() }));
        Ok(())
    }
}

fn unsupported_atom(i: &Instr<'_>) -> PtxError {
    i.opcode.error("atomic operation is not supported for this type")
}
