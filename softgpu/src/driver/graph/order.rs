//! An order of execution that respects edges.

use super::{Handle, Node};
use std::collections::HashMap;

/// Positions of the nodes in an order in which every node comes after those it waits for; among several, the older
/// first. `None` if the edges form a circle.
pub(super) fn of(nodes: &[Node]) -> Option<Vec<usize>> {
    let position: HashMap<Handle, usize> =
        nodes.iter().enumerate().map(|(at, node)| (node.handle, at)).collect();
    let mut missing: Vec<usize> = nodes.iter().map(|node| node.after.len()).collect();
    let mut dependants = vec![Vec::new(); nodes.len()];
    for (at, node) in nodes.iter().enumerate() {
        for before in &node.after {
            dependants[*position.get(before)?].push(at);
        }
    }
    let mut ready: std::collections::BTreeSet<usize> =
        (0..nodes.len()).filter(|at| missing[*at] == 0).collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(at) = ready.pop_first() {
        order.push(at);
        for &next in &dependants[at] {
            missing[next] -= 1;
            if missing[next] == 0 {
                ready.insert(next);
            }
        }
    }
    (order.len() == nodes.len()).then_some(order)
}
