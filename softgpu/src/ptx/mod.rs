//! PTX text to code.

mod ast;
mod cursor;
mod decl;
mod lexer;
mod parser;
mod stmt;
mod translate;
pub(crate) mod types;

use crate::exec::code::Code;
use std::sync::Arc;

/// A translation unit, ready to run.
#[derive(Debug)]
pub struct Module {
    /// Its `.entry` functions.
    pub kernels: Vec<Arc<Kernel>>,
    /// Its `.global` and `.const` variables; the driver gives each an address before anything runs.
    pub globals: Vec<Global>,
}

/// A module-level variable.
#[derive(Debug)]
pub struct Global {
    /// Its name.
    pub name: String,
    /// Bytes it takes.
    pub size: u64,
    /// Alignment in bytes, a power of two.
    pub align: u64,
    /// Initial contents, `size` bytes.
    pub init: Vec<u8>,
    /// `.const`: kernels may not write it.
    pub constant: bool,
}

/// A kernel parameter: where its bytes lie in the parameter block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Byte offset in the block.
    pub offset: usize,
    /// Size in bytes.
    pub size: usize,
}

/// An `.entry` function.
#[derive(Debug)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Its parameters, in order.
    pub params: Vec<Param>,
    /// Static shared memory in bytes.
    pub static_shared: u32,
    /// `.maxntid`, multiplied out; `None` if not given.
    pub max_threads: Option<u32>,
    pub(crate) code: Code,
}

/// Why a text is not a module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message} at `{token}`")]
pub struct PtxError {
    /// 1-based.
    pub line: u32,
    /// 1-based.
    pub column: u32,
    /// The text that was not understood, or `end of text`.
    pub token: String,
    /// What is wrong with it.
    pub message: String,
}

/// Translates PTX text. Everything that can be wrong with a text is found here, never while it runs.
pub fn parse(text: &str) -> Result<Module, PtxError> {
    let tokens = lexer::lex(text)?;
    let outline = parser::parse(&tokens)?;
    translate::translate(&outline)
}
