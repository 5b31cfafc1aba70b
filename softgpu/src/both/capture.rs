//! Stream capture: what a capturing stream says of itself.

use crate::abi::{In, Out};
use crate::both::graph::{EdgeData, plain_edges};
use crate::driver::capture::{self, Mode};
use crate::driver::graph::GRAPHS;
use crate::driver::stream::Stream;
use crate::driver::{Error, Result};
use std::sync::Arc;

/// Begins a capture into a graph that exists.
pub(crate) fn begin_to_graph(
    stream: &Arc<Stream>,
    graph: u64,
    after: In<u64>,
    data: In<EdgeData>,
    count: usize,
    mode: i32,
) -> Result<()> {
    plain_edges(data, count)?;
    capture::begin(stream, Mode::of(mode)?, Some((GRAPHS.get(graph)?, after.list(count)?)))
}

/// Ends a capture; the graph is null if it went wrong.
pub(crate) fn end(stream: &Stream, graph: Out<u64>) -> Result<()> {
    graph.set(0)?;
    graph.set(capture::end(stream)?.handle)
}

/// Swaps the mode of the thread.
pub(crate) fn exchange(mode: Out<i32>) -> Result<()> {
    let asked = Mode::of(mode.get()?)?;
    mode.set(capture::exchange_mode(asked) as i32)
}

/// Not capturing, capturing, or capturing in vain.
fn number(branch: Option<&capture::Branch>) -> i32 {
    branch.map_or(0, |branch| if branch.capture.is_invalid() { 2 } else { 1 })
}

/// Whether a stream captures.
pub(crate) fn status(stream: &Stream, status: Out<i32>) -> Result<()> {
    status.check()?;
    status.set(number(capture::status(stream)?.as_ref()))
}

/// Where to say what.
pub(crate) struct Info {
    pub(crate) status: Out<i32>,
    pub(crate) id: Out<u64>,
    pub(crate) graph: Out<u64>,
    pub(crate) after: Out<*const u64>,
    pub(crate) count: Out<usize>,
}

impl Info {
    /// Says what a stream captures, and what its next node comes after.
    pub(crate) fn write(self, stream: &Stream) -> Result<()> {
        self.status.check()?;
        let branch = capture::status(stream)?;
        self.status.set(number(branch.as_ref()))?;
        if let Some(branch) = branch {
            self.id.set_if(branch.capture.id);
            self.graph.set_if(branch.capture.graph.handle);
            self.count.set_if(branch.after.len());
            self.after.set_if(stream.lend_list(branch.after));
        }
        Ok(())
    }
}

/// Changes what the next node comes after: flag 0 adds, 1 replaces.
pub(crate) fn update(stream: &Stream, nodes: In<u64>, count: usize, flags: u32) -> Result<()> {
    if flags > 1 {
        return Err(Error::INVALID_VALUE);
    }
    capture::update_dependencies(stream, &nodes.list(count)?, flags == 1)
}
