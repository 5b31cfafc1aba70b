//! Why a kernel was stopped.

use std::fmt;

/// Where in a grid a fault happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Name of the kernel that was launched.
    pub kernel: String,
    /// 1-based line in the PTX text.
    pub line: u32,
    /// Block index, x y z.
    pub block: [u32; 3],
    /// Thread index in the block, x y z.
    pub thread: [u32; 3],
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [tx, ty, tz] = self.thread;
        let [bx, by, bz] = self.block;
        write!(f, "by thread ({tx},{ty},{tz}) of block ({bx},{by},{bz}), PTX line {}", self.line)
    }
}

/// What a kernel tried to do with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// A load.
    Read,
    /// A store.
    Write,
    /// An atomic read-modify-write.
    Atomic,
}

impl fmt::Display for AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Atomic => "atomic access",
        })
    }
}

/// One memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The address as the thread computed it.
    pub address: u64,
    /// Bytes accessed.
    pub size: u32,
    /// What was tried.
    pub kind: AccessKind,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} bytes at {:#x}", self.kind, self.size, self.address)
    }
}

/// Why a kernel did not run to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// An access outside every allocation, or a write to read-only memory.
    #[error("kernel `{}`: illegal {access} {at}", at.kernel)]
    IllegalAddress {
        /// Where.
        at: Place,
        /// The access.
        access: Access,
    },
    /// An address that is no multiple of the access size.
    #[error("kernel `{}`: misaligned {access} {at}", at.kernel)]
    Misaligned {
        /// Where.
        at: Place,
        /// The access.
        access: Access,
    },
    /// An access whose address does not lie in the state space that the instruction names.
    #[error("kernel `{}`: {access} in the wrong address space {at}", at.kernel)]
    InvalidAddressSpace {
        /// Where.
        at: Place,
        /// The access.
        access: Access,
    },
    /// `trap` or `brkpt` was executed.
    #[error("kernel `{}`: trap executed {at}", at.kernel)]
    Trap {
        /// Where.
        at: Place,
    },
    /// A device-side assertion failed.
    #[error("kernel `{}`: assertion `{message}` failed {at}", at.kernel)]
    Assert {
        /// Where.
        at: Place,
        /// The asserted expression.
        message: String,
    },
    /// An instruction was used in a way the machine cannot honour.
    #[error("kernel `{}`: illegal instruction ({reason}) {at}", at.kernel)]
    IllegalInstruction {
        /// Where.
        at: Place,
        /// What was wrong.
        reason: String,
    },
    /// Calls nest too deep or need more local memory than a thread has.
    #[error("kernel `{}`: out of stack {at}", at.kernel)]
    Stack {
        /// Where.
        at: Place,
    },
    /// No thread can go on: some wait at a barrier that the others will never reach.
    #[error("kernel `{}`: deadlock at a barrier, first {at}", at.kernel)]
    Deadlock {
        /// A thread that waits.
        at: Place,
    },
    /// The launch itself cannot run: block size or parameter bytes do not fit the kernel.
    #[error("kernel `{kernel}`: {reason}")]
    InvalidLaunch {
        /// The kernel.
        kernel: String,
        /// What does not fit.
        reason: String,
    },
    /// `Launch::stop` was set.
    #[error("kernel `{kernel}`: stopped")]
    Stopped {
        /// The kernel.
        kernel: String,
    },
}
