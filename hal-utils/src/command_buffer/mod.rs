//! Command buffers: a recorded list, resolved once, in one of two encodings.
//!
//! | Idea | Where |
//! |---|---|
//! | commands with everything looked up that does not depend on a binding table | `step` |
//! | the stream encoding: one call per command | `stream` |
//! | which commands of a graph come after which | `edges` |
//! | the graph encoding: a pool of executable graphs | `graph` |
//! | one executable graph, and what it is bound to | `instance` |

mod edges;
mod graph;
mod instance;
mod step;
mod stream;

#[cfg(test)]
#[cfg(not(any(hal_loom, hal_shuttle)))]
mod tests;

pub(crate) use graph::Lease;

use crate::buffer::DeviceBuffer;
use crate::core::Core;
use crate::native::Native;
use crate::sync::Arc;
use graph::Graph;
use hal_core::{
    Buffer, BufferRange, CommandBuffer, CommandList, DeviceId, Encoding, Error, ErrorKind, Result,
};
use smallvec::SmallVec;
use std::any::Any;
use std::fmt;
use step::Step;

/// What recorded work is put into, and what must be kept until that has ended.
pub(crate) struct Target<'a, N: Native> {
    pub(crate) native: &'a N,
    pub(crate) stream: N::Stream,
    /// One thread at a time issues for a queue.
    pub(crate) queue: u64,
    /// Set once the device may be using what the work uses.
    pub(crate) touched: &'a mut bool,
    pub(crate) leases: &'a mut SmallVec<[Lease<N>; 1]>,
}

/// A command buffer.
pub(crate) struct Recorded<N: Native> {
    /// Keeps buffers and executables alive.
    list: CommandList,
    steps: Arc<[Step<N>]>,
    /// In the graph encoding. Nothing to do needs no graph.
    graph: Option<Arc<Graph<N>>>,
    encoding: Encoding,
}

impl<N: Native> Recorded<N> {
    pub(crate) fn new(core: &Arc<Core<N>>, list: CommandList) -> Result<Self> {
        let encoding = match (list.encoding(), core.params.encoding) {
            (Encoding::Auto, Encoding::Graph) | (Encoding::Graph, _) => Encoding::Graph,
            _ => Encoding::Stream,
        };
        if encoding == Encoding::Graph && !core.info().capabilities.graphs {
            return Err(Error::new(
                ErrorKind::Unimplemented,
                format!("{} has no graphs; finish with `Encoding::Stream`", core.info().uri()),
            ));
        }
        let steps: Arc<[Step<N>]> = step::steps(list.commands())?;
        let graph = match encoding {
            Encoding::Graph if !steps.is_empty() => {
                let plan = edges::plan(edges::items(list.commands()));
                Some(Graph::new(core, steps.clone(), plan, list.slots().len())?)
            }
            _ => None,
        };
        Ok(Recorded { list, steps, graph, encoding })
    }

    /// Puts the work into a stream.
    ///
    /// # Safety
    /// The device is current; this, the buffers of `bindings` and the leases live until the stream has done it.
    pub(crate) unsafe fn put(&self, target: Target<'_, N>, bindings: &[BufferRange]) -> Result<()> {
        match &self.graph {
            // SAFETY: as for this function.
            Some(graph) => unsafe { Graph::launch(graph, target, bindings) },
            // SAFETY: as for this function.
            None => unsafe {
                stream::replay(&self.steps, target.native, target.stream, bindings, target.touched)
            },
        }
    }
}

impl<N: Native> CommandBuffer for Recorded<N> {
    fn device_id(&self) -> DeviceId {
        self.list.device_id()
    }

    fn list(&self) -> &CommandList {
        &self.list
    }

    fn encoding(&self) -> Encoding {
        self.encoding
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl<N: Native> fmt::Debug for Recorded<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandBuffer")
            .field("encoding", &self.encoding)
            .field("commands", &self.list.commands().len())
            .finish_non_exhaustive()
    }
}

/// Whether a buffer is one of this crate's, so that its address can be trusted.
pub(crate) fn ours<N: Native>(buffer: &dyn Buffer) -> Result<()> {
    if buffer.as_any().is::<DeviceBuffer<N>>() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::InvalidArgument,
        "a buffer of a foreign implementation; allocate it with the device",
    ))
}
