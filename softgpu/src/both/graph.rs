//! Graphs: lists of handles, and instantiation.

use crate::abi::{In, Out};
use crate::driver::copy::Fill;
use crate::driver::graph::{EXECS, GRAPHS, Graph, GraphMemory, NodeKind, Work, work_of};
use crate::driver::handle::Handle;
use crate::driver::{Error, Result};
use std::ffi::c_char;
use std::sync::Arc;

/// Writes as many handles as there is room for, null where there are no more; without a place for them, how many there
/// are.
pub(crate) fn list(all: &[Handle], out: Out<u64>, count: Out<usize>) -> Result<()> {
    if out.is_null() {
        return count.set(all.len());
    }
    let room = count.get()?;
    for at in 0..room {
        out.set_at(at, all.get(at).copied().unwrap_or(0));
    }
    count.set(room.min(all.len()))
}

/// `CUgraphEdgeData`: only the plain kind of edge exists here, which is all zeros.
pub(crate) type EdgeData = [u8; 8];

/// Writes edges as two lists, and as a third what kind of edge each is.
pub(crate) fn edges(
    graph: u64,
    from: Out<u64>,
    to: Out<u64>,
    data: Out<EdgeData>,
    count: Out<usize>,
) -> Result<()> {
    if from.is_null() != to.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    let (before, after): (Vec<Handle>, Vec<Handle>) = GRAPHS.get(graph)?.edges().into_iter().unzip();
    if from.is_null() {
        return count.set(before.len());
    }
    let room = count.get()?;
    list(&before, from, count)?;
    count.set(room)?;
    if !data.is_null() {
        (0..room).for_each(|at| data.set_at(at, EdgeData::default()));
    }
    list(&after, to, count)
}

/// The nodes before a node, or those after it.
pub(crate) fn neighbours(
    node: u64,
    before: bool,
    out: Out<u64>,
    data: Out<EdgeData>,
    count: Out<usize>,
) -> Result<()> {
    let graph = Graph::of_node(node)?;
    let all = if before {
        graph.node(node)?.after
    } else {
        graph.edges().into_iter().filter(|(from, _)| *from == node).map(|(_, to)| to).collect()
    };
    if !out.is_null() && !data.is_null() {
        (0..count.get()?).for_each(|at| data.set_at(at, EdgeData::default()));
    }
    list(&all, out, count)
}

/// Refuses kinds of edges other than the plain one.
pub(crate) fn plain_edges(data: In<EdgeData>, count: usize) -> Result<()> {
    let plain = data.is_null() || data.list(count)?.iter().all(|data| *data == EdgeData::default());
    if plain { Ok(()) } else { Err(Error::NOT_SUPPORTED) }
}

/// Adds edges. All of them, or none.
pub(crate) fn connect(graph: u64, from: In<u64>, to: In<u64>, count: usize) -> Result<()> {
    let graph = GRAPHS.get(graph)?;
    let edges: Vec<_> = from.list(count)?.into_iter().zip(to.list(count)?).collect();
    for (done, (from, to)) in edges.iter().enumerate() {
        if let Err(error) = graph.connect(*from, *to) {
            for (from, to) in &edges[..done] {
                graph.disconnect(*from, *to)?;
            }
            return Err(error);
        }
    }
    Ok(())
}

/// Removes edges. All of them, or none.
pub(crate) fn disconnect(graph: u64, from: In<u64>, to: In<u64>, count: usize) -> Result<()> {
    let graph = GRAPHS.get(graph)?;
    let edges: Vec<_> = from.list(count)?.into_iter().zip(to.list(count)?).collect();
    for (done, (from, to)) in edges.iter().enumerate() {
        if let Err(error) = graph.disconnect(*from, *to) {
            for (from, to) in &edges[..done] {
                graph.connect(*from, *to)?;
            }
            return Err(error);
        }
    }
    Ok(())
}

/// `CUgraphNodeType`, and `hipGraphNodeType` in the numbering since HIP 6.
pub(crate) fn node_type(node: u64) -> Result<i32> {
    Ok(match work_of(node)?.kind() {
        NodeKind::Launch => 0,
        NodeKind::Copy => 1,
        NodeKind::Fill => 2,
        NodeKind::Host => 3,
        NodeKind::Child => 4,
        NodeKind::Empty => 5,
        NodeKind::WaitEvent => 6,
        NodeKind::Record => 7,
        NodeKind::Allocate => 10,
        NodeKind::Free => 11,
    })
}

/// Adds a node.
pub(crate) fn add(
    node: Out<u64>,
    graph: u64,
    after: In<u64>,
    count: usize,
    work: Result<Work>,
) -> Result<()> {
    node.check()?;
    let graph = GRAPHS.get(graph)?;
    node.set(graph.add(&after.list(count)?, work?)?)
}

/// Makes an executable; the log stays empty.
pub(crate) fn instantiate_with_log(
    exec: Out<u64>,
    graph: u64,
    node: Out<u64>,
    log: Out<c_char>,
    size: usize,
) -> Result<()> {
    node.set_if(0);
    if !log.is_null() && size > 0 {
        log.set_text("", size)?;
    }
    instantiate(exec, graph, 0)
}

/// Makes an executable.
pub(crate) fn instantiate(exec: Out<u64>, graph: u64, flags: u64) -> Result<()> {
    exec.check()?;
    if flags > 15 {
        return Err(Error::INVALID_VALUE);
    }
    exec.set(GRAPHS.get(graph)?.instantiate(flags)?.handle)
}

/// `CUDA_GRAPH_INSTANTIATE_PARAMS` and `hipGraphInstantiateParams`, whose fields are ordered differently.
pub(crate) struct InstantiateParams {
    pub(crate) flags: u64,
    /// What went wrong, in the numbering both share.
    pub(crate) result: i32,
}

impl InstantiateParams {
    /// Makes an executable, and says in `result` what stood in the way.
    pub(crate) fn run(&mut self, exec: Out<u64>, graph: u64) -> Result<()> {
        exec.check()?;
        if self.flags > 15 {
            return Err(Error::INVALID_VALUE);
        }
        match GRAPHS.get(graph)?.instantiate(self.flags) {
            Ok(made) => {
                self.result = 0;
                exec.set(made.handle)
            }
            Err(why) => {
                self.result = why as i32;
                Err(why.into())
            }
        }
    }
}

/// The code of an executable that does not take a graph's parameters.
pub(crate) const UPDATE_FAILURE: Error = Error(910);

/// Gives an executable the parameters of a graph: what stood in the way as a number, and where.
pub(crate) fn update(exec: u64, graph: u64) -> Result<std::result::Result<(), (i32, u64)>> {
    let (exec, graph) = (EXECS.get(exec)?, GRAPHS.get(graph)?);
    Ok(exec.update(&graph).map_err(|failure| (failure.result as i32, failure.node.unwrap_or(0))))
}

/// A fill, as both vendors describe it.
pub(crate) fn fill_work(
    dst: u64,
    value: u32,
    element: u32,
    size: (usize, usize),
    pitch: usize,
) -> Result<Work> {
    let element = u8::try_from(element).map_err(|_| Error::INVALID_VALUE)?;
    let fill = Fill::new(dst, value, element, size.0 as u64, size.1 as u64, pitch as u64)?;
    Ok(Work::Fill(fill.map(Arc::new)))
}

/// The memory that the node of an allocation stands for.
pub(crate) fn memory_of(node: u64, kind: NodeKind) -> Result<Arc<GraphMemory>> {
    match work_of(node)? {
        Work::Allocate(memory) if kind == NodeKind::Allocate => Ok(memory),
        Work::Free(memory) if kind == NodeKind::Free => Ok(memory),
        _ => Err(Error::INVALID_VALUE),
    }
}

/// Work that frees what an allocation node allocates.
pub(crate) fn free_work(address: u64) -> Result<Work> {
    GraphMemory::at(address).map(Work::Free).ok_or(Error::INVALID_VALUE)
}
