//! How recorded commands reach the driver, and what orders them among themselves.

use std::ops::BitOr;

/// How a command buffer is handed to the driver. The effects are the same; the costs are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// What [`DeviceParams::encoding`](crate::DeviceParams::encoding) says; `Stream` if that says `Auto` too. A graph
    /// pays only where it is submitted many times, and that the caller alone knows.
    #[default]
    Auto,
    /// One driver call per command and submission. Costs nothing in advance.
    Stream,
    /// A native graph: made and instantiated once, one driver call per submission, and another per command whose
    /// bindings have changed. Commands between which no barrier stands, or which share no memory, may run at once.
    /// Needs [`Capabilities::graphs`](crate::Capabilities::graphs).
    Graph,
}

/// Kinds of commands, as a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stages(u8);

impl Stages {
    /// Fills, updates and copies.
    pub const TRANSFER: Stages = Stages(1);
    /// Dispatches.
    pub const DISPATCH: Stages = Stages(2);
    /// Every command.
    pub const ALL: Stages = Stages(3);

    /// Whether it contains all of these.
    pub const fn contains(self, other: Stages) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Stages {
    type Output = Stages;

    fn bitor(self, other: Stages) -> Stages {
        Stages(self.0 | other.0)
    }
}

/// Kinds of access to memory, as a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Accesses(u8);

impl Accesses {
    /// Reading.
    pub const READ: Accesses = Accesses(1);
    /// Writing.
    pub const WRITE: Accesses = Accesses(2);
    /// Both.
    pub const ALL: Accesses = Accesses(3);

    /// Whether it contains all of these.
    pub const fn contains(self, other: Accesses) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Accesses {
    type Output = Accesses;

    fn bitor(self, other: Accesses) -> Accesses {
        Accesses(self.0 | other.0)
    }
}

/// One side of a barrier: which commands, and which of their accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    /// Which commands.
    pub stages: Stages,
    /// Which of their accesses.
    pub accesses: Accesses,
}

impl Scope {
    /// Everything.
    pub const ALL: Scope = Scope { stages: Stages::ALL, accesses: Accesses::ALL };

    /// These accesses of those commands.
    pub const fn new(stages: Stages, accesses: Accesses) -> Self {
        Scope { stages, accesses }
    }
}

/// Makes commands after it wait for commands before it, where both use the same memory, one of them writes it, and both
/// uses are in scope. Commands that share no memory are left unordered: they could not tell.
///
/// Barriers do not add up: what one orders before some commands, and another orders those before others, is ordered
/// through these commands only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Barrier {
    /// What is waited for.
    pub before: Scope,
    /// What waits.
    pub after: Scope,
}

impl Barrier {
    /// Everything after waits for everything before.
    pub const FULL: Barrier = Barrier { before: Scope::ALL, after: Scope::ALL };
}
