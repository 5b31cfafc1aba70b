//! Graphs: making them, their edges, and what is in them.

use super::Cuda;
use crate::abi::{In, Out, entries};
use crate::both::graph::{self, EdgeData, list};
use crate::driver::graph::{GRAPHS, Graph};
use crate::driver::{Error, context};

entries! { Cuda;
    /// Makes an empty graph.
    "cuGraphCreate" 10000 => fn cuGraphCreate(graph: Out<u64>, flags: u32) {
        graph.check()?;
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        graph.set(Graph::create(&*context::current()?).handle)
    }
    /// Destroys a graph.
    "cuGraphDestroy" 10000 => fn cuGraphDestroy(graph: u64) {
        Graph::destroy(graph)
    }
    /// Makes a graph with the same work and the same order.
    "cuGraphClone" 10000 => fn cuGraphClone(clone: Out<u64>, original: u64) {
        clone.check()?;
        clone.set(GRAPHS.get(original)?.duplicate()?.handle)
    }
    /// The node of a clone that was made from a node of the original.
    "cuGraphNodeFindInClone" 10000 => fn cuGraphNodeFindInClone(
        node: Out<u64>, original: u64, clone: u64,
    ) {
        node.check()?;
        node.set(GRAPHS.get(clone)?.find_copy(original)?)
    }
    /// The nodes of a graph; without a place for them, how many there are.
    "cuGraphGetNodes" 10000 => fn cuGraphGetNodes(graph: u64, nodes: Out<u64>, count: Out<usize>) {
        list(&GRAPHS.get(graph)?.node_handles(), nodes, count)
    }
    /// The nodes of a graph that wait for no other.
    "cuGraphGetRootNodes" 10000 => fn cuGraphGetRootNodes(graph: u64, nodes: Out<u64>, count: Out<usize>) {
        list(&GRAPHS.get(graph)?.roots(), nodes, count)
    }
    /// Which nodes of a graph come before which.
    "cuGraphGetEdges" 10000 => fn cuGraphGetEdges(
        graph: u64, from: Out<u64>, to: Out<u64>, count: Out<usize>,
    ) {
        graph::edges(graph, from, to, Out::at(0), count)
    }
    /// The nodes that a node waits for.
    "cuGraphNodeGetDependencies" 10000 => fn cuGraphNodeGetDependencies(
        node: u64, nodes: Out<u64>, count: Out<usize>,
    ) {
        graph::neighbours(node, true, nodes, Out::at(0), count)
    }
    /// The nodes that wait for a node.
    "cuGraphNodeGetDependentNodes" 10000 => fn cuGraphNodeGetDependentNodes(
        node: u64, nodes: Out<u64>, count: Out<usize>,
    ) {
        graph::neighbours(node, false, nodes, Out::at(0), count)
    }
    /// Adds edges.
    "cuGraphAddDependencies" 10000 => fn cuGraphAddDependencies(
        graph: u64, from: In<u64>, to: In<u64>, count: usize,
    ) {
        graph::connect(graph, from, to, count)
    }
    /// Removes edges.
    "cuGraphRemoveDependencies" 10000 => fn cuGraphRemoveDependencies(
        graph: u64, from: In<u64>, to: In<u64>, count: usize,
    ) {
        graph::disconnect(graph, from, to, count)
    }
    /// Which nodes of a graph come before which, and how.
    "cuGraphGetEdges" 12030 => fn cuGraphGetEdges_v2(
        graph: u64, from: Out<u64>, to: Out<u64>, data: Out<EdgeData>, count: Out<usize>,
    ) {
        graph::edges(graph, from, to, data, count)
    }
    /// The nodes that a node waits for, and how.
    "cuGraphNodeGetDependencies" 12030 => fn cuGraphNodeGetDependencies_v2(
        node: u64, nodes: Out<u64>, data: Out<EdgeData>, count: Out<usize>,
    ) {
        graph::neighbours(node, true, nodes, data, count)
    }
    /// The nodes that wait for a node, and how.
    "cuGraphNodeGetDependentNodes" 12030 => fn cuGraphNodeGetDependentNodes_v2(
        node: u64, nodes: Out<u64>, data: Out<EdgeData>, count: Out<usize>,
    ) {
        graph::neighbours(node, false, nodes, data, count)
    }
    /// Adds edges; only plain ones are supported.
    "cuGraphAddDependencies" 12030 => fn cuGraphAddDependencies_v2(
        graph: u64, from: In<u64>, to: In<u64>, data: In<EdgeData>, count: usize,
    ) {
        graph::plain_edges(data, count)?;
        graph::connect(graph, from, to, count)
    }
    /// Removes edges; only plain ones are supported.
    "cuGraphRemoveDependencies" 12030 => fn cuGraphRemoveDependencies_v2(
        graph: u64, from: In<u64>, to: In<u64>, data: In<EdgeData>, count: usize,
    ) {
        graph::plain_edges(data, count)?;
        graph::disconnect(graph, from, to, count)
    }
    /// Removes a node and its edges.
    "cuGraphDestroyNode" 10000 => fn cuGraphDestroyNode(node: u64) {
        Graph::of_node(node)?.remove(node)
    }
    /// What kind of node one is.
    "cuGraphNodeGetType" 10000 => fn cuGraphNodeGetType(node: u64, kind: Out<i32>) {
        kind.set(graph::node_type(node)?)
    }
}
