//! Graphs: making them, their edges, and what is in them.

use super::{Hip, current};
use crate::abi::{In, Out, entries};
use crate::both::graph::{self, list};
use crate::driver::Error;
use crate::driver::graph::{GRAPHS, Graph};

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
        clone.set(GRAPHS.get(original)?.duplicate()?.handle)
    }
    /// The node of a clone that was made from a node of the original.
    "hipGraphNodeFindInClone" 50200000 => fn hipGraphNodeFindInClone(
        node: Out<u64>, original: u64, clone: u64,
    ) {
        node.check()?;
        node.set(GRAPHS.get(clone)?.find_copy(original)?)
    }
    /// The nodes of a graph; without a place for them, how many there are.
    "hipGraphGetNodes" 50200000 => fn hipGraphGetNodes(graph: u64, nodes: Out<u64>, count: Out<usize>) {
        list(&GRAPHS.get(graph)?.node_handles(), nodes, count)
    }
    /// The nodes of a graph that wait for no other.
    "hipGraphGetRootNodes" 50200000 => fn hipGraphGetRootNodes(graph: u64, nodes: Out<u64>, count: Out<usize>) {
        list(&GRAPHS.get(graph)?.roots(), nodes, count)
    }
    /// Which nodes of a graph come before which.
    "hipGraphGetEdges" 50200000 => fn hipGraphGetEdges(
        graph: u64, from: Out<u64>, to: Out<u64>, count: Out<usize>,
    ) {
        graph::edges(graph, from, to, Out::at(0), count)
    }
    /// The nodes that a node waits for.
    "hipGraphNodeGetDependencies" 50200000 => fn hipGraphNodeGetDependencies(
        node: u64, nodes: Out<u64>, count: Out<usize>,
    ) {
        graph::neighbours(node, true, nodes, Out::at(0), count)
    }
    /// The nodes that wait for a node.
    "hipGraphNodeGetDependentNodes" 50200000 => fn hipGraphNodeGetDependentNodes(
        node: u64, nodes: Out<u64>, count: Out<usize>,
    ) {
        graph::neighbours(node, false, nodes, Out::at(0), count)
    }
    /// Adds edges.
    "hipGraphAddDependencies" 50200000 => fn hipGraphAddDependencies(
        graph: u64, from: In<u64>, to: In<u64>, count: usize,
    ) {
        graph::connect(graph, from, to, count)
    }
    /// Removes edges.
    "hipGraphRemoveDependencies" 50200000 => fn hipGraphRemoveDependencies(
        graph: u64, from: In<u64>, to: In<u64>, count: usize,
    ) {
        graph::disconnect(graph, from, to, count)
    }
    /// Removes a node and its edges.
    "hipGraphDestroyNode" 50200000 => fn hipGraphDestroyNode(node: u64) {
        Graph::of_node(node)?.remove(node)
    }
    /// What kind of node one is.
    "hipGraphNodeGetType" 60000000 => fn hipGraphNodeGetType(node: u64, kind: Out<i32>) {
        kind.set(graph::node_type(node)?)
    }
}
