//! Outline to code: names become slots, offsets and instruction indices; whatever is wrong is found here.

mod arith;
mod call;
mod control;
mod data;
mod float;
mod function;
mod kernel;
mod memory;
mod mods;
mod operand;
mod warp;

use super::ast::{Formal, Function, Space, Var};
use super::lexer::Token;
use super::parser::Outline;
use super::{Global, Kernel, Module, Param, PtxError};
use kernel::KernelBuilder;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Instructions of all kernels together; functions count once per kernel that calls them.
const MAX_INSTRS: usize = 1 << 22;
/// Parameters of a kernel, as on hardware since PTX 8.1.
const MAX_PARAM_BYTES: usize = 32764;

/// A module's names.
pub(crate) struct Names<'a> {
    pub vars: HashMap<&'a str, (&'a Var<'a>, Option<u32>)>,
    /// The last definition, or declaration, under a name.
    pub functions: HashMap<&'a str, &'a Function<'a>>,
    pub globals: usize,
}

pub(crate) fn translate(outline: &Outline<'_>) -> Result<Module, PtxError> {
    let names = names(outline)?;
    let mut module = Module { kernels: Vec::new(), globals: Vec::new() };
    for var in &outline.vars {
        if matches!(var.space, Space::Global | Space::Const) {
            module.globals.push(Global {
                name: var.name.text.to_owned(),
                size: var.size,
                align: var.align,
                init: var.init.clone(),
                constant: var.space == Space::Const,
            });
        }
    }
    let mut instrs = 0;
    let mut seen = HashSet::new();
    // Kernels first. A function that none of them calls is translated too, only to see that it could be.
    let (entries, others): (Vec<_>, Vec<_>) =
        outline.functions.iter().filter(|f| f.body.is_some()).partition(|f| f.entry);
    for function in entries.into_iter().chain(others) {
        if !function.entry && seen.contains(function.name.text) {
            continue;
        }
        let (params, bytes) = if function.entry { layout(function)? } else { (Vec::new(), 0) };
        let built = KernelBuilder::new(&names, function).build(&params)?;
        if function.entry {
            seen.extend(built.functions);
        }
        instrs += built.code.instrs.len();
        if instrs > MAX_INSTRS {
            return Err(function.name.error(format!("module has more than {MAX_INSTRS} instructions")));
        }
        if function.entry {
            let mut code = built.code;
            code.globals = names.globals;
            code.param_bytes = bytes;
            module.kernels.push(Arc::new(Kernel {
                name: function.name.text.to_owned(),
                params,
                static_shared: built.shared,
                max_threads: function.max_threads,
                code,
            }));
        }
    }
    Ok(module)
}

fn names<'a>(outline: &'a Outline<'a>) -> Result<Names<'a>, PtxError> {
    let mut names = Names { vars: HashMap::new(), functions: HashMap::new(), globals: 0 };
    for var in &outline.vars {
        let index = matches!(var.space, Space::Global | Space::Const).then_some(names.globals as u32);
        names.globals += usize::from(index.is_some());
        if names.vars.insert(var.name.text, (var, index)).is_some() {
            return Err(var.name.error("variable defined twice"));
        }
    }
    for function in &outline.functions {
        match names.functions.get(function.name.text) {
            Some(known) if known.body.is_some() && function.body.is_some() => {
                return Err(function.name.error("function defined twice"));
            }
            Some(known) if known.body.is_some() => {}
            _ => {
                names.functions.insert(function.name.text, function);
            }
        }
    }
    Ok(names)
}

/// Where a kernel's parameters lie in the block that a launch brings.
fn layout(function: &Function<'_>) -> Result<(Vec<Param>, usize), PtxError> {
    let mut end = 0usize;
    let mut params = Vec::new();
    for formal in &function.params {
        let var = match formal {
            Formal::Memory(var) => var,
            Formal::Register(name, _) => return Err(name.error("a kernel takes no register parameters")),
        };
        let (size, align) = (var.size as usize, var.align as usize);
        let offset = end.next_multiple_of(align);
        params.push(Param { offset, size });
        end = offset + size;
        if end > MAX_PARAM_BYTES {
            return Err(too_many(var.name));
        }
    }
    Ok((params, end))
}

fn too_many(at: Token<'_>) -> PtxError {
    at.error(format!("kernel has more than {MAX_PARAM_BYTES} bytes of parameters"))
}
