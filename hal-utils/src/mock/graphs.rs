//! Graphs: what their nodes use. They run in the order in which they were added.

use super::state::State;
use super::streams::{Op, Use};
use hal_core::Result;
use std::collections::HashMap;

/// A node: its handle, what sort of work it does, and what that uses.
#[derive(Clone, Debug)]
pub(super) struct Node {
    handle: u64,
    sort: &'static str,
    used: Use,
}

#[derive(Debug)]
pub(super) struct Exec {
    graph: u64,
    nodes: Vec<Node>,
}

#[derive(Debug, Default)]
pub(super) struct Graphs {
    pub(super) graphs: HashMap<u64, Vec<Node>>,
    pub(super) execs: HashMap<u64, Exec>,
}

impl State {
    pub(super) fn graph_create(&mut self) -> Result<u64> {
        self.call("graph_create", |state| {
            let graph = state.handle();
            state.graphs.graphs.insert(graph, Vec::new());
            graph
        })
    }

    pub(super) fn graph_destroy(&mut self, graph: u64) -> Result<()> {
        self.call("graph_destroy", |state| {
            if state.graphs.graphs.remove(&graph).is_none() {
                state.violation(format!("graph {graph} destroyed twice"));
            }
        })
    }

    pub(super) fn graph_add(
        &mut self,
        graph: u64,
        after: &[u64],
        sort: &'static str,
        used: Use,
    ) -> Result<u64> {
        self.call("graph_add", |state| {
            let handle = state.handle();
            state.log.push(format!("graph_add g{graph} {sort} {handle} after {after:?}"));
            let nodes = state.graphs.graphs.get_mut(&graph);
            let known =
                |nodes: &Vec<Node>| after.iter().all(|after| nodes.iter().any(|node| node.handle == *after));
            match nodes {
                Some(nodes) if known(nodes) => nodes.push(Node { handle, sort, used }),
                _ => state.violation(format!("graph {graph} is dead, or has none of {after:?}")),
            }
            handle
        })
    }

    pub(super) fn graph_instantiate(&mut self, graph: u64) -> Result<u64> {
        self.call("graph_instantiate", |state| {
            state.log.push(format!("graph_instantiate g{graph}"));
            let exec = state.handle();
            match state.graphs.graphs.get(&graph) {
                Some(nodes) => {
                    let nodes = nodes.clone();
                    state.graphs.execs.insert(exec, Exec { graph, nodes });
                }
                None => state.violation(format!("instantiation of the dead graph {graph}")),
            }
            exec
        })
    }

    pub(super) fn graph_exec_set(
        &mut self,
        exec: u64,
        node: u64,
        sort: &'static str,
        used: Use,
    ) -> Result<()> {
        self.call("graph_exec_set", |state| {
            state.log.push(format!("graph_exec_set e{exec} {sort} {node}"));
            if state.in_flight(|used| used.exec == Some(exec)) {
                state.violation(format!("executable graph {exec} changed while it may run"));
            }
            let found = state.graphs.execs.get_mut(&exec).and_then(|found| {
                let lives = state.graphs.graphs.contains_key(&found.graph);
                found.nodes.iter_mut().find(|found| lives && found.handle == node && found.sort == sort)
            });
            match found {
                Some(found) => found.used = used,
                None => state.violation(format!("executable graph {exec} has no {sort} {node} to change")),
            }
        })
    }

    pub(super) fn graph_launch(&mut self, exec: u64, stream: u64) -> Result<()> {
        self.call_on("graph_launch", Some(stream), |state| {
            state.log.push(format!("graph_launch s{stream} {exec}"));
            let Some(found) = state.graphs.execs.get(&exec) else {
                state.violation(format!("launch of the dead executable graph {exec}"));
                return;
            };
            for node in found.nodes.clone() {
                for allocation in &node.used.allocations {
                    if !state.allocations.contains_key(allocation) {
                        state.violation(format!("a graph uses {allocation:#x}, which is not allocated"));
                    }
                }
                state.give(stream, Op::Work(Use { exec: Some(exec), ..node.used }));
            }
        })
    }

    pub(super) fn graph_exec_destroy(&mut self, exec: u64) -> Result<()> {
        self.call("graph_exec_destroy", |state| {
            if state.in_flight(|used| used.exec == Some(exec)) {
                state.violation(format!("executable graph {exec} destroyed while it may run"));
            }
            if state.graphs.execs.remove(&exec).is_none() {
                state.violation(format!("executable graph {exec} destroyed twice"));
            }
        })
    }
}
