//! What the parser hands to the translator: names as written, nothing resolved.

use super::lexer::{Pos, Token};
use super::types::Ty;

/// State spaces of variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Generic,
    Global,
    Const,
    Shared,
    Local,
    Param,
}

/// A variable in memory: `.shared`, `.local`, `.param`, or a module's `.global` and `.const`.
#[derive(Clone, Debug)]
pub(crate) struct Var<'a> {
    pub name: Token<'a>,
    pub space: Space,
    pub size: u64,
    pub align: u64,
    /// Whether its size is given by the launch: `.extern .shared … x[]`.
    pub open: bool,
    pub init: Vec<u8>,
}

/// A formal parameter of a function: in memory, or (older PTX) a register.
#[derive(Clone, Debug)]
pub(crate) enum Formal<'a> {
    Memory(Var<'a>),
    Register(Token<'a>, Ty),
}

#[derive(Clone, Debug)]
pub(crate) struct Function<'a> {
    pub name: Token<'a>,
    pub entry: bool,
    pub results: Vec<Formal<'a>>,
    pub params: Vec<Formal<'a>>,
    pub max_threads: Option<u32>,
    /// `None` for a declaration.
    pub body: Option<Vec<Stmt<'a>>>,
    /// The closing brace.
    pub end: Pos,
}

#[derive(Clone, Debug)]
pub(crate) enum Stmt<'a> {
    Open,
    Close,
    /// One register, or `count` registers `name0…`.
    Reg {
        name: Token<'a>,
        ty: Ty,
        count: Option<u64>,
    },
    Var(Var<'a>),
    Label(Token<'a>),
    /// `name: .branchtargets a, b;`
    Targets {
        name: Token<'a>,
        labels: Vec<Token<'a>>,
    },
    Instr(Instr<'a>),
}

#[derive(Clone, Debug)]
pub(crate) struct Instr<'a> {
    /// Predicate and whether it is negated.
    pub guard: Option<(Token<'a>, bool)>,
    pub opcode: Token<'a>,
    pub mods: Vec<&'a str>,
    pub operands: Vec<Operand<'a>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Operand<'a> {
    pub at: Token<'a>,
    pub kind: OperandKind<'a>,
}

#[derive(Clone, Debug)]
pub(crate) enum OperandKind<'a> {
    /// A register, special register (with suffix), variable (with offset), label or function.
    Name {
        suffix: Option<&'a str>,
        offset: i64,
    },
    /// `!p`
    Not,
    Int(u64),
    Single(u32),
    Double(f64),
    /// `p|q`
    Pair(Token<'a>),
    /// `{a, b}`
    Vector(Vec<Operand<'a>>),
    /// `(a, b)` of a call.
    List(Vec<Operand<'a>>),
    /// `[base + offset]`; `at` is the base.
    Address {
        offset: i64,
    },
}
