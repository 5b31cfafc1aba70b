//! Statements of one function: scopes, labels, and the way of an instruction to its translator.

use super::super::ast::{Formal, Function, Instr, Stmt, Var};
use super::super::lexer::Token;
use super::super::types::Ty;
use super::super::{Param, PtxError};
use super::kernel::{KernelBuilder, Place};
use super::mods::Mods;
use crate::exec::code::{Instr as Decoded, Op, Pred, TRUE};
use std::collections::HashMap;

/// What a name stands for inside a function.
#[derive(Clone, Debug)]
pub(super) enum Symbol<'a> {
    Register {
        slot: Option<u32>,
        ty: Ty,
    },
    /// Registers `name0` to `name(count-1)`.
    Range {
        count: u64,
        ty: Ty,
    },
    /// In the thread's local memory: `.local`, and `.param` of functions and calls.
    Local {
        offset: u32,
        size: u32,
        param: bool,
    },
    KernelParam {
        offset: u32,
        size: u32,
    },
    Shared(Var<'a>),
    Targets(Vec<Token<'a>>),
}

pub(super) struct FunctionBuilder<'b, 'm, 'a> {
    pub kernel: &'b mut KernelBuilder<'m, 'a>,
    function: &'m Function<'a>,
    pub number: usize,
    scopes: Vec<(usize, HashMap<&'a str, Symbol<'a>>)>,
    /// Parent of each scope; scope 0 is the function's own.
    parents: Vec<usize>,
    labels: HashMap<(usize, &'a str), u32>,
    branches: Vec<(usize, usize, Vec<Token<'a>>)>,
    pub guard: Pred,
    pub line: u32,
}

impl<'b, 'm, 'a> FunctionBuilder<'b, 'm, 'a> {
    pub(super) fn new(
        kernel: &'b mut KernelBuilder<'m, 'a>,
        function: &'m Function<'a>,
        number: usize,
        params: &[Param],
    ) -> Result<Self, PtxError> {
        let mut scope = HashMap::new();
        let frame = kernel.own_frame(number);
        let kernel_params =
            params.iter().map(|p| Symbol::KernelParam { offset: p.offset as u32, size: p.size as u32 });
        let places = frame.params.iter().map(|place| match *place {
            Place::Local { offset, size } => Symbol::Local { offset, size, param: true },
            Place::Register { slot, ty } => Symbol::Register { slot: Some(slot), ty },
        });
        let params: Vec<Symbol<'a>> = if function.entry { kernel_params.collect() } else { places.collect() };
        let results = frame.results.iter().map(|place| match *place {
            Place::Local { offset, size } => Symbol::Local { offset, size, param: true },
            Place::Register { slot, ty } => Symbol::Register { slot: Some(slot), ty },
        });
        let formals = function.params.iter().zip(params).chain(function.results.iter().zip(results));
        for (formal, symbol) in formals {
            let name = match formal {
                Formal::Memory(var) => var.name,
                Formal::Register(name, _) => *name,
            };
            if name.text != "_" && scope.insert(name.text, symbol).is_some() {
                return Err(name.error("parameter defined twice"));
            }
        }
        Ok(Self {
            kernel,
            function,
            number,
            scopes: vec![(0, scope)],
            parents: vec![0],
            labels: HashMap::new(),
            branches: Vec::new(),
            guard: Pred { slot: TRUE, negate: false },
            line: 0,
        })
    }

    pub(super) fn translate(mut self) -> Result<(), PtxError> {
        let function = self.function;
        for stmt in function.body.iter().flatten() {
            self.stmt(stmt)?;
        }
        self.guard = Pred { slot: TRUE, negate: false };
        self.line = function.end.line;
        self.emit(Op::Return);
        for (at, scope, targets) in std::mem::take(&mut self.branches) {
            let found = targets.iter().map(|t| self.label(scope, *t)).collect::<Result<Vec<u32>, _>>()?;
            match &mut self.kernel.code.instrs[at].op {
                Op::Branch { target } => *target = found[0],
                Op::BranchTable { targets, .. } => *targets = found.into_boxed_slice(),
                _ => {}
            }
        }
        Ok(())
    }

    fn label(&self, scope: usize, name: Token<'a>) -> Result<u32, PtxError> {
        let mut scope = scope;
        loop {
            if let Some(at) = self.labels.get(&(scope, name.text)) {
                return Ok(*at);
            }
            if scope == 0 {
                return Err(name.error("undefined label"));
            }
            scope = self.parents[scope];
        }
    }

    /// The label names of the branch that is emitted next.
    pub(super) fn note_branch(&mut self, targets: Vec<Token<'a>>) {
        let scope = self.scopes.last().map_or(0, |s| s.0);
        self.branches.push((self.kernel.code.instrs.len(), scope, targets));
    }

    pub(super) fn emit(&mut self, op: Op) {
        self.kernel.push(Decoded { op, guard: self.guard, line: self.line });
    }

    fn stmt(&mut self, stmt: &Stmt<'a>) -> Result<(), PtxError> {
        match stmt {
            Stmt::Open => {
                let parent = self.scopes.last().map_or(0, |s| s.0);
                self.parents.push(parent);
                self.scopes.push((self.parents.len() - 1, HashMap::new()));
            }
            Stmt::Close => {
                self.scopes.pop();
            }
            Stmt::Reg { name, ty, count } => {
                let symbol = match count {
                    Some(count) => Symbol::Range { count: *count, ty: *ty },
                    None => Symbol::Register { slot: None, ty: *ty },
                };
                self.define(*name, symbol)?;
            }
            Stmt::Var(var) => self.variable(var)?,
            Stmt::Label(name) => {
                let scope = self.scopes.last().map_or(0, |s| s.0);
                let here = self.kernel.code.instrs.len() as u32;
                if self.labels.insert((scope, name.text), here).is_some() {
                    return Err(name.error("label defined twice"));
                }
            }
            Stmt::Targets { name, labels } => self.define(*name, Symbol::Targets(labels.clone()))?,
            Stmt::Instr(instr) => self.instr(instr)?,
        }
        Ok(())
    }

    fn variable(&mut self, var: &Var<'a>) -> Result<(), PtxError> {
        use super::super::ast::Space;
        let symbol = match var.space {
            Space::Shared => Symbol::Shared(var.clone()),
            space => Symbol::Local {
                offset: self.kernel.local(var)?,
                size: var.size as u32,
                param: space == Space::Param,
            },
        };
        self.define(var.name, symbol)
    }

    fn define(&mut self, name: Token<'a>, symbol: Symbol<'a>) -> Result<(), PtxError> {
        if let Some((_, scope)) = self.scopes.last_mut()
            && scope.insert(name.text, symbol).is_some()
        {
            return Err(name.error("name defined twice in one scope"));
        }
        Ok(())
    }

    /// What a name stands for, from the innermost scope outward; registers get their slot at first use.
    pub(super) fn find(&mut self, name: Token<'a>) -> Result<Option<Symbol<'a>>, PtxError> {
        for at in (0..self.scopes.len()).rev() {
            let scope = &mut self.scopes[at].1;
            match scope.get(name.text) {
                Some(Symbol::Register { slot: None, ty }) => {
                    let ty = *ty;
                    return self.place(at, name, ty).map(Some);
                }
                Some(Symbol::Range { .. }) | None => {}
                Some(symbol) => return Ok(Some(symbol.clone())),
            }
            if let Some(ty) = in_range(scope, name.text) {
                return self.place(at, name, ty).map(Some);
            }
        }
        Ok(None)
    }

    fn place(&mut self, scope: usize, name: Token<'a>, ty: Ty) -> Result<Symbol<'a>, PtxError> {
        let symbol = Symbol::Register { slot: Some(self.kernel.register(ty, name)?), ty };
        self.scopes[scope].1.insert(name.text, symbol.clone());
        Ok(symbol)
    }

    fn instr(&mut self, instr: &Instr<'a>) -> Result<(), PtxError> {
        self.line = instr.opcode.pos.line;
        self.guard = match instr.guard {
            Some((name, negate)) => Pred { slot: self.predicate(name)?, negate },
            None => Pred { slot: TRUE, negate: false },
        };
        let mut mods = Mods::new(instr.opcode, &instr.mods);
        let known = self.arith(instr, &mut mods)?
            || self.float(instr, &mut mods)?
            || self.data(instr, &mut mods)?
            || self.memory(instr, &mut mods)?
            || self.control(instr, &mut mods)?
            || self.warp(instr, &mut mods)?;
        if !known {
            return Err(instr.opcode.error("unknown instruction"));
        }
        mods.finish()
    }
}

/// Whether a scope has a range of registers that a name such as `%r12` falls into.
fn in_range(scope: &HashMap<&str, Symbol<'_>>, name: &str) -> Option<Ty> {
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    // A prefix may itself end in digits.
    for split in name.len() - digits..name.len() {
        if let Some(Symbol::Range { count, ty }) = scope.get(&name[..split]) {
            let number = &name[split..];
            let canonical = number == "0" || !number.starts_with('0');
            if canonical && number.parse::<u64>().is_ok_and(|n| n < *count) {
                return Some(*ty);
            }
        }
    }
    None
}
