//! Graphs and executable graphs.

use super::{Hip, current, stream_of};
use crate::abi::{Out, entries};
use crate::driver::graph::{EXECS, GRAPHS, Graph, GraphExec, Node, Work};
use crate::driver::handle::Handle;
use crate::driver::{Error, Result};
use std::collections::HashMap;
use std::ffi::c_char;

/// Writes as many handles as there is room for, null where there are no more; without a place for them, how many there
/// are.
fn list(all: &[Handle], out: Out<u64>, count: Out<usize>) -> Result<()> {
    if out.is_null() {
        return count.set(all.len());
    }
    let room = count.get()?;
    for at in 0..room {
        out.set_at(at, all.get(at).copied().unwrap_or(0));
    }
    count.set(room.min(all.len()))
}

fn node_of(handle: Handle) -> Result<Node> {
    let graphs = GRAPHS.all();
    let found = graphs.iter().flat_map(|graph| graph.nodes()).find(|node| node.handle == handle);
    found.ok_or(Error::INVALID_VALUE)
}

/// `hipGraphNodeType`, in the numbering since HIP 6.
fn node_type(work: &Work) -> i32 {
    match work {
        Work::Launch(_) => 0,
        Work::Copy(_) => 1,
        Work::Fill(_) => 2,
        Work::Host(_) => 3,
        Work::Child(_) => 4,
        Work::Empty => 5,
        Work::WaitEvent(_) => 6,
        Work::Record(_) => 7,
    }
}

entries! { Hip;
    /// Makes an empty graph.
    "hipGraphCreate" 50200000 => fn hipGraphCreate(graph: Out<u64>, flags: u32) {
        graph.check()?;
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        graph.set(Graph::create(&*current::context()?).handle)
    }
    /// Destroys a graph.
    "hipGraphDestroy" 50200000 => fn hipGraphDestroy(graph: u64) {
        Graph::destroy(graph)
    }
    /// Makes a graph with the same work and the same order.
    "hipGraphClone" 50200000 => fn hipGraphClone(clone: Out<u64>, original: u64) {
        clone.check()?;
        let nodes = GRAPHS.get(original)?.nodes();
        let copy = Graph::create(&*current::context()?);
        let mut known = HashMap::new();
        for node in nodes {
            let after: Vec<Handle> = node.after.iter().filter_map(|handle| known.get(handle).copied()).collect();
            known.insert(node.handle, copy.add(&after, node.work)?);
        }
        clone.set(copy.handle)
    }
    /// The nodes of a graph; without a place for them, how many there are.
    "hipGraphGetNodes" 50200000 => fn hipGraphGetNodes(graph: u64, nodes: Out<u64>, count: Out<usize>) {
        let all: Vec<Handle> = GRAPHS.get(graph)?.nodes().iter().map(|node| node.handle).collect();
        list(&all, nodes, count)
    }
    /// The nodes of a graph that wait for no other.
    "hipGraphGetRootNodes" 50200000 => fn hipGraphGetRootNodes(graph: u64, nodes: Out<u64>, count: Out<usize>) {
        let nodes_of = GRAPHS.get(graph)?.nodes();
        let roots: Vec<Handle> =
            nodes_of.iter().filter(|node| node.after.is_empty()).map(|node| node.handle).collect();
        list(&roots, nodes, count)
    }
    /// Which nodes of a graph come before which.
    "hipGraphGetEdges" 50200000 => fn hipGraphGetEdges(
        graph: u64, from: Out<u64>, to: Out<u64>, count: Out<usize>,
    ) {
        let nodes = GRAPHS.get(graph)?.nodes();
        let edges = nodes.iter().flat_map(|node| node.after.iter().map(|before| (*before, node.handle)));
        let (before, after): (Vec<Handle>, Vec<Handle>) = edges.unzip();
        if from.is_null() != to.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let room = count.get()?;
        list(&before, from, count)?;
        if !to.is_null() {
            count.set(room)?;
            list(&after, to, count)?;
        }
        Ok(())
    }
    /// What kind of node one is.
    "hipGraphNodeGetType" 60000000 => fn hipGraphNodeGetType(node: u64, kind: Out<i32>) {
        kind.set(node_type(&node_of(node)?.work))
    }
    /// Makes an executable graph; the log stays empty.
    "hipGraphInstantiate" 50200000 => fn hipGraphInstantiate(
        exec: Out<u64>, graph: u64, node: Out<u64>, log: Out<c_char>, size: usize,
    ) {
        exec.check()?;
        node.set_if(0);
        if !log.is_null() && size > 0 {
            log.set_text("", size)?;
        }
        exec.set(GRAPHS.get(graph)?.instantiate().handle)
    }
    /// Makes an executable graph.
    "hipGraphInstantiateWithFlags" 50200000 => fn hipGraphInstantiateWithFlags(
        exec: Out<u64>, graph: u64, flags: u64,
    ) {
        exec.check()?;
        if flags > 15 {
            return Err(Error::INVALID_VALUE);
        }
        exec.set(GRAPHS.get(graph)?.instantiate().handle)
    }
    /// Readies an executable graph for a stream; nothing is left to do.
    "hipGraphUpload" 50300000 => fn hipGraphUpload(exec: u64, stream: u64) {
        EXECS.get(exec)?;
        stream_of(stream).map(drop)
    }
    /// Puts an executable graph on a stream.
    "hipGraphLaunch" 50200000 => fn hipGraphLaunch(exec: u64, stream: u64) {
        EXECS.get(exec)?.launch(&stream_of(stream)?)
    }
    /// Destroys an executable graph.
    "hipGraphExecDestroy" 50200000 => fn hipGraphExecDestroy(exec: u64) {
        GraphExec::destroy(exec)
    }
}
