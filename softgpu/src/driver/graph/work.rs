//! What a node of a graph does.

use super::{Graph, GraphMemory};
use crate::driver::copy::{Copy, Fill};
use crate::driver::event::Event;
use crate::driver::launch::Launch;
use crate::driver::op::HostFunction;
use std::fmt;
use std::sync::Arc;

/// What a node does.
#[derive(Clone)]
pub enum Work {
    /// Nothing: a point to depend on.
    Empty,
    /// Runs a kernel.
    Launch(Arc<Launch>),
    /// Copies memory; `None` copies nothing.
    Copy(Option<Arc<Copy>>),
    /// Fills memory; `None` fills nothing.
    Fill(Option<Arc<Fill>>),
    /// Records an event.
    Record(Arc<Event>),
    /// Waits for an event as it stands at launch.
    WaitEvent(Arc<Event>),
    /// Calls into the program.
    Host(HostFunction),
    /// The nodes of a graph that belongs to the node.
    Child(Arc<Graph>),
    /// Allocates memory, at an address that was known when the node was made.
    Allocate(Arc<GraphMemory>),
    /// Frees what a node of this or another graph allocated.
    Free(Arc<GraphMemory>),
}

/// The kinds of nodes, for ABIs to number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as the variants of `Work`")]
pub enum NodeKind {
    Empty,
    Launch,
    Copy,
    Fill,
    Record,
    WaitEvent,
    Host,
    Child,
    Allocate,
    Free,
}

impl Work {
    /// What kind of node this makes.
    pub fn kind(&self) -> NodeKind {
        match self {
            Self::Empty => NodeKind::Empty,
            Self::Launch(_) => NodeKind::Launch,
            Self::Copy(_) => NodeKind::Copy,
            Self::Fill(_) => NodeKind::Fill,
            Self::Record(_) => NodeKind::Record,
            Self::WaitEvent(_) => NodeKind::WaitEvent,
            Self::Host(_) => NodeKind::Host,
            Self::Child(_) => NodeKind::Child,
            Self::Allocate(_) => NodeKind::Allocate,
            Self::Free(_) => NodeKind::Free,
        }
    }

    /// Whether it allocates or frees: such nodes cannot be cloned, removed or put into child graphs.
    pub fn is_memory(&self) -> bool {
        matches!(self, Self::Allocate(_) | Self::Free(_))
    }

    /// Whether an executable can switch it off.
    pub(super) fn can_be_disabled(&self) -> bool {
        matches!(self, Self::Launch(_) | Self::Copy(_) | Self::Fill(_))
    }
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.kind())
    }
}
