//! One kernel with every function that it calls, laid out into one run of instructions.
//!
//! Registers and local memory of a function are allotted once per kernel, so a call moves no frame; the price is
//! that a function cannot be active twice in one thread, which is why recursion is refused.

use super::super::ast::{Formal, Function, Var};
use super::super::lexer::{Pos, Token};
use super::super::types::Ty;
use super::super::{Param, PtxError};
use super::Names;
use super::function::FunctionBuilder;
use crate::exec::code::{Code, Const, FIRST_PRED, Instr, Op};
use std::collections::HashMap;

const MAX_SLOTS: u32 = 1 << 16;
const MAX_PREDS: u32 = 1 << 16;
/// Local memory of a thread, as on hardware.
const MAX_LOCAL: u64 = 512 << 10;
/// Shared memory of a block, as on the largest hardware.
const MAX_SHARED: u64 = 227 << 10;

/// Where a formal parameter or result lives.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    Local { offset: u32, size: u32 },
    Register { slot: u32, ty: Ty },
}

/// A function's share of the kernel.
#[derive(Debug)]
pub(super) struct Frame {
    pub params: Vec<Place>,
    pub results: Vec<Place>,
    entry: Option<u32>,
    calls: Vec<(usize, u32)>,
}

pub(super) struct Built<'a> {
    pub code: Code,
    pub shared: u32,
    /// Names of everything in it.
    pub functions: Vec<&'a str>,
}

pub(super) struct KernelBuilder<'m, 'a> {
    pub names: &'m Names<'a>,
    pub code: Code,
    consts: HashMap<(Const, bool), u32>,
    shared: HashMap<(u32, u32), u32>,
    shared_end: u64,
    functions: Vec<&'m Function<'a>>,
    numbers: HashMap<&'a str, usize>,
    frames: Vec<Frame>,
    /// Call instructions and the function each wants.
    pub calls: Vec<(usize, usize)>,
}

impl<'m, 'a> KernelBuilder<'m, 'a> {
    pub(super) fn new(names: &'m Names<'a>, root: &'m Function<'a>) -> Self {
        Self {
            names,
            code: Code { preds: FIRST_PRED, shared_align: 16, ..Code::default() },
            consts: HashMap::new(),
            shared: HashMap::new(),
            shared_end: 0,
            functions: vec![root],
            numbers: HashMap::new(),
            frames: Vec::new(),
            calls: Vec::new(),
        }
    }

    pub(super) fn build(mut self, params: &[Param]) -> Result<Built<'a>, PtxError> {
        let root = self.functions[0];
        let frame = if root.entry {
            Frame { params: Vec::new(), results: Vec::new(), entry: None, calls: Vec::new() }
        } else {
            self.frame(root)?
        };
        self.frames.push(frame);
        self.numbers.insert(root.name.text, 0);
        let mut next = 0;
        // A function of no kernel is only looked at itself; what it calls has its own turn.
        while next < if root.entry { self.functions.len() } else { 1 } {
            self.frames[next].entry = Some(self.code.instrs.len() as u32);
            let function = self.functions[next];
            FunctionBuilder::new(&mut self, function, next, params)?.translate()?;
            if self.code.instrs.len() > super::MAX_INSTRS {
                return Err(function.name.error("kernel has too many instructions"));
            }
            next += 1;
        }
        for (at, function) in std::mem::take(&mut self.calls) {
            if let (Op::Call { target }, Some(entry)) =
                (&mut self.code.instrs[at].op, self.frames[function].entry)
            {
                *target = entry;
            }
        }
        self.refuse_recursion()?;
        let functions = self.functions.iter().map(|f| f.name.text).collect();
        Ok(Built { code: self.code, shared: self.shared_end as u32, functions })
    }

    /// The number of a function that is called, and its frame.
    pub(super) fn callee(&mut self, name: Token<'a>) -> Result<(usize, &Frame), PtxError> {
        let function: &'m Function<'a> = match self.names.functions.get(name.text) {
            Some(function) => function,
            None => return Err(name.error("call of a function that is not declared")),
        };
        if function.body.is_none() {
            return Err(name.error("call of a function that this module only declares"));
        }
        if function.entry {
            return Err(name.error("a kernel cannot be called"));
        }
        let number = match self.numbers.get(name.text) {
            Some(number) => *number,
            None => {
                let frame = self.frame(function)?;
                self.frames.push(frame);
                self.functions.push(function);
                self.numbers.insert(name.text, self.functions.len() - 1);
                self.functions.len() - 1
            }
        };
        Ok((number, &self.frames[number]))
    }

    pub(super) fn note_call(&mut self, caller: usize, callee: usize, line: u32) {
        self.calls.push((self.code.instrs.len(), callee));
        self.frames[caller].calls.push((callee, line));
    }

    pub(super) fn own_frame(&self, number: usize) -> &Frame {
        &self.frames[number]
    }

    fn frame(&mut self, function: &Function<'a>) -> Result<Frame, PtxError> {
        let mut place = |formal: &Formal<'a>| match formal {
            Formal::Memory(var) => Ok(Place::Local { offset: self.local(var)?, size: var.size as u32 }),
            Formal::Register(name, ty) => Ok(Place::Register { slot: self.register(*ty, *name)?, ty: *ty }),
        };
        let params = function.params.iter().map(&mut place).collect::<Result<_, PtxError>>()?;
        let results = function.results.iter().map(&mut place).collect::<Result<_, PtxError>>()?;
        Ok(Frame { params, results, entry: None, calls: Vec::new() })
    }

    /// Depth-first with a list of its own: 0 unseen, 1 on the path, 2 done.
    fn refuse_recursion(&self) -> Result<(), PtxError> {
        let mut state = vec![0u8; self.frames.len()];
        let mut path = vec![(0usize, 0usize)];
        state[0] = 1;
        while let Some((function, next)) = path.last_mut() {
            let (function, index) = (*function, *next);
            *next += 1;
            match self.frames[function].calls.get(index) {
                None => {
                    state[function] = 2;
                    path.pop();
                }
                Some((callee, line)) => match state[*callee] {
                    0 => {
                        state[*callee] = 1;
                        path.push((*callee, 0));
                    }
                    1 => {
                        let mut name = self.functions[*callee].name;
                        name.pos = Pos { line: *line, column: 1 };
                        return Err(name.error("recursive calls are not supported"));
                    }
                    _ => {}
                },
            }
        }
        Ok(())
    }

    /// A fresh register slot, or predicate slot for `pred`.
    pub(super) fn register(&mut self, ty: Ty, at: Token<'_>) -> Result<u32, PtxError> {
        let (count, taken, limit) = match ty {
            Ty::Pred => (&mut self.code.preds, 1, MAX_PREDS),
            _ => (&mut self.code.slots, if ty.bytes() == 8 { 2 } else { 1 }, MAX_SLOTS),
        };
        let slot = *count;
        *count += taken;
        if *count > limit {
            return Err(at.error("kernel uses too many registers"));
        }
        Ok(slot)
    }

    pub(super) fn constant(&mut self, value: Const, wide: bool, at: Token<'_>) -> Result<u32, PtxError> {
        if let Some(slot) = self.consts.get(&(value, wide)) {
            return Ok(*slot);
        }
        let slot = self.register(if wide { Ty::B64 } else { Ty::B32 }, at)?;
        self.consts.insert((value, wide), slot);
        self.code.consts.push((slot, value, wide));
        Ok(slot)
    }

    /// Allots local memory.
    pub(super) fn local(&mut self, var: &Var<'_>) -> Result<u32, PtxError> {
        let offset = u64::from(self.code.local).next_multiple_of(var.align);
        let end = offset + var.size;
        if end > MAX_LOCAL {
            return Err(var.name.error(format!("a thread has {MAX_LOCAL} bytes of local memory")));
        }
        self.code.local = end as u32;
        Ok(offset as u32)
    }

    /// Allots shared memory when a kernel first names a variable; `None` for the dynamic part.
    pub(super) fn shared(&mut self, var: &Var<'_>) -> Result<Option<u32>, PtxError> {
        if var.open {
            self.code.shared_align = self.code.shared_align.max(var.align as u32);
            return Ok(None);
        }
        let key = (var.name.pos.line, var.name.pos.column);
        if let Some(offset) = self.shared.get(&key) {
            return Ok(Some(*offset));
        }
        let offset = self.shared_end.next_multiple_of(var.align);
        let end = offset + var.size;
        if end > MAX_SHARED {
            return Err(var.name.error(format!("a block has {MAX_SHARED} bytes of shared memory")));
        }
        self.shared_end = end;
        self.shared.insert(key, offset as u32);
        Ok(Some(offset as u32))
    }

    pub(super) fn site(&mut self) -> u32 {
        self.code.sites += 1;
        self.code.sites - 1
    }

    pub(super) fn push(&mut self, instr: Instr) {
        self.code.instrs.push(instr);
    }
}
