//! Decoded instructions. The translator writes them, the interpreter runs them; names are gone by now.
//!
//! Registers are *slots*: 32 lanes of 32 bits. A 64-bit register takes two slots in a row. Constants and special
//! registers are slots too, filled before a kernel starts, so every operand is just a slot. Predicates live apart,
//! as one bit per lane.

use super::regs::Regs;

/// A predicate slot that is true in every lane.
pub(crate) const TRUE: u32 = 0;
/// The predicate slot that holds the carry flag.
pub(crate) const CARRY: u32 = 1;
/// The first predicate slot that is free for registers.
pub(crate) const FIRST_PRED: u32 = 2;
/// No slot.
pub(crate) const NONE: u32 = u32::MAX;

/// Operand slots of a register-to-register instruction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Args {
    pub d: u32,
    pub a: u32,
    pub b: u32,
    pub c: u32,
    /// A number whose meaning is the function's own.
    pub aux: u32,
}

/// Computes for the lanes of a mask.
///
/// # Safety
/// The slots of the arguments lie in the register file, and the CPU has the features it was compiled for.
pub(crate) type AluFn = unsafe fn(&mut Regs, &Args, u32);
/// Compares all lanes; bit l is lane l's answer.
///
/// # Safety
/// As for [`AluFn`].
pub(crate) type CompareFn = unsafe fn(&mut Regs, &Args) -> u32;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Pred {
    pub slot: u32,
    pub negate: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logic {
    And,
    Or,
    Xor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    Generic,
    Global,
    Shared,
    Local,
    /// Kernel parameters read through a pointer.
    Param,
}

/// A load or a store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub space: Where,
    /// Base address: a slot, of 64 bits if `wide`.
    pub base: u32,
    pub wide: bool,
    pub offset: i64,
    /// Bytes of an element, and elements.
    pub size: u8,
    pub lanes: u8,
    /// Loads: sign-extend to the register.
    pub signed: bool,
    /// Width of the registers in bytes.
    pub reg: u8,
    pub regs: [u32; 4],
    /// Number of this access in the kernel; indexes the cache of extents.
    pub site: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomOp {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    Exch,
    Cas,
    Inc,
    Dec,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomTy {
    U32,
    S32,
    U64,
    S64,
    F16,
    F16x2,
    F32,
    F64,
    B16,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Atom {
    pub op: AtomOp,
    pub ty: AtomTy,
    /// `regs[0]` takes the old value unless it is `NONE`; `regs[1]` and `regs[2]` are the operands.
    pub access: Access,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShflMode {
    Up,
    Down,
    Bfly,
    Idx,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VoteMode {
    All,
    Any,
    Uni,
    Ballot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    Low,
    High,
    Full,
    TimerLow,
    TimerHigh,
    Timer,
}

/// `bar.red`: what is made of the predicate over the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarReduce {
    None,
    Count { d: u32 },
    And { d: u32 },
    Or { d: u32 },
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Bar {
    /// Slots; `threads` may be `NONE`: all of the block.
    pub id: u32,
    pub threads: u32,
    pub arrive_only: bool,
    pub reduce: BarReduce,
    pub pred: Pred,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carry {
    Add,
    Sub,
    /// Multiply-add, low and high half.
    MadLo,
    MadHi,
}

#[derive(Debug)]
pub(crate) enum Op {
    Alu(AluFn, Args),
    Compare {
        f: CompareFn,
        args: Args,
        negate: bool,
        logic: Option<(Logic, Pred)>,
        p: u32,
        q: u32,
    },
    Select {
        wide: bool,
        d: u32,
        a: u32,
        b: u32,
        p: Pred,
    },
    Predicate {
        logic: Logic,
        d: u32,
        a: Pred,
        b: Pred,
    },
    Carry {
        kind: Carry,
        wide: bool,
        args: Args,
        carry_in: bool,
        carry_out: bool,
    },
    LoadParam {
        offset: u32,
        access: Access,
    },
    Load(Access),
    Store(Access),
    /// Copies `size` bytes inside a thread's local memory: arguments and results of calls.
    CopyLocal {
        to: u32,
        from: u32,
        size: u32,
    },
    Atom(Box<Atom>),
    IsSpace {
        space: Where,
        a: u32,
        d: u32,
    },
    Branch {
        target: u32,
    },
    BranchTable {
        index: u32,
        targets: Box<[u32]>,
    },
    Call {
        target: u32,
    },
    Return,
    Exit,
    Trap,
    Assert {
        message: u32,
    },
    Barrier(Box<Bar>),
    /// `bar.warp.sync`: waits for the lanes of a mask.
    WarpSync {
        members: u32,
    },
    Shfl {
        mode: ShflMode,
        args: Args,
        p: u32,
        members: u32,
    },
    Vote {
        mode: VoteMode,
        d: u32,
        p: Pred,
        members: u32,
    },
    Match {
        all: bool,
        wide: bool,
        d: u32,
        p: u32,
        a: u32,
        members: u32,
    },
    Redux {
        op: AtomOp,
        signed: bool,
        d: u32,
        a: u32,
        members: u32,
    },
    ActiveMask {
        d: u32,
    },
    ReadClock {
        clock: Clock,
        d: u32,
    },
    /// Gives other threads a chance: `nanosleep`, fences.
    Yield,
    Nop,
}

#[derive(Debug)]
pub(crate) struct Instr {
    pub op: Op,
    pub guard: Pred,
    pub line: u32,
}

/// What a constant slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Const {
    Bits32(u32),
    Bits64(u64),
    /// Address of a module's variable plus an offset.
    Global(u32, i64),
    /// First byte of dynamic shared memory.
    DynamicShared(i64),
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    WarpId,
    WarpCount,
    LaneMask(LaneMask),
    DynamicSharedSize,
    TotalSharedSize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LaneMask {
    Eq,
    Le,
    Lt,
    Ge,
    Gt,
}

/// A kernel and every function it calls.
#[derive(Debug, Default)]
pub(crate) struct Code {
    pub instrs: Vec<Instr>,
    /// Slots to fill, and whether they are 64 bits wide.
    pub consts: Vec<(u32, Const, bool)>,
    pub slots: u32,
    pub preds: u32,
    /// Bytes of local memory per thread.
    pub local: u32,
    /// Number of memory accesses.
    pub sites: u32,
    /// Alignment of dynamic shared memory.
    pub shared_align: u32,
    /// Variables in the module.
    pub globals: usize,
    /// Bytes of parameters.
    pub param_bytes: usize,
}
