//! Floating-point instructions.

use super::super::PtxError;
use super::super::ast::Instr;
use super::super::types::Ty;
use super::function::FunctionBuilder;
use super::mods::Mods;
use crate::exec::alu::{self, rounding::Round};
use crate::exec::code::{Args, Op};

pub(super) fn round(mods: &mut Mods<'_>) -> Option<Round> {
    mods.one_of(&["rn", "rz", "rm", "rp"]).map(|word| match word {
        "rz" => Round::Zero,
        "rm" => Round::Down,
        "rp" => Round::Up,
        _ => Round::Nearest,
    })
}

impl<'a> FunctionBuilder<'_, '_, 'a> {
    pub(super) fn float(&mut self, i: &Instr<'a>, mods: &mut Mods<'a>) -> Result<bool, PtxError> {
        let (name, count) = match i.opcode.text {
            "add" | "sub" | "mul" | "div" | "min" | "max" | "copysign" => (i.opcode.text, 2),
            "fma" | "mad" => ("fma", 3),
            "abs" | "neg" | "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh" => {
                (i.opcode.text, 1)
            }
            _ => return Ok(false),
        };
        let ty = mods.ty()?;
        let round = round(mods).unwrap_or(Round::Nearest);
        let arithmetic = !matches!(name, "min" | "max" | "abs" | "neg" | "copysign");
        if matches!(name, "div" | "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh") {
            mods.ignore(&["approx", "full"]);
        }
        // 16-bit floats keep their subnormals either way: a choice hardware does not have, and nobody relies on.
        let flush = mods.take("ftz") && ty == Ty::F32;
        let saturate = arithmetic && mods.take("sat");
        let relu = mods.take("relu");
        let nan = matches!(name, "min" | "max") && mods.take("NaN");
        let name = match (name, nan) {
            ("min", true) => "min.nan",
            ("max", true) => "max.nan",
            _ => name,
        };
        let f = match ty {
            Ty::F16x2 | Ty::Bf16x2 => alu::half2::find(name, ty),
            _ => alu::float::find(name, ty, round).or_else(|| alu::float::approximate(name, ty)),
        };
        let f = f.ok_or_else(|| i.opcode.error("instruction is not supported in this form"))?;
        self.operands(i, count + 1)?;
        let mut slots = self.sources(&i.operands[1..], &[ty; 3][..count])?;
        let d = self.target(&i.operands[0], ty)?;
        if flush {
            for slot in &mut slots[..count] {
                *slot = self.flushed(i, *slot)?;
            }
        }
        self.emit(Op::Alu(f, Args { d, a: slots[0], b: slots[1], c: slots[2], aux: 0 }));
        for (wanted, adjust) in [(flush, "ftz"), (saturate, "sat"), (relu, "relu")] {
            if wanted {
                self.adjust(i, adjust, ty, d, d)?;
            }
        }
        Ok(true)
    }

    /// A copy of a 32-bit float with subnormals replaced by zero.
    pub(super) fn flushed(&mut self, i: &Instr<'a>, slot: u32) -> Result<u32, PtxError> {
        let copy = self.scratch(Ty::F32, i.opcode)?;
        self.adjust(i, "ftz", Ty::F32, copy, slot)?;
        Ok(copy)
    }

    pub(super) fn adjust(
        &mut self,
        i: &Instr<'a>,
        how: &str,
        ty: Ty,
        d: u32,
        a: u32,
    ) -> Result<(), PtxError> {
        let f = alu::float::adjust(how, ty)
            .ok_or_else(|| i.opcode.error(format!("`.{how}` is not supported here")))?;
        self.emit(Op::Alu(f, Args { d, a, ..Args::default() }));
        Ok(())
    }
}
