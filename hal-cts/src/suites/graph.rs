//! Chains, diamonds and graphs of submissions over queues, compared with what the CPU computes.

use crate::support::{
    Gate, Gpu, Launch, Random, contents, host_buffer, on_threads, queues, record, soon, timelines,
};
use crate::{Outcome, Requirement, kernels};
use hal_core::{Buffer, CommandBuffer, Device, Dispatch, Result, Semaphore, Submission};
use std::sync::Arc;

suite! { "graph",
    &[] => [
        chain_of_a_thousand_on_one_queue,
        chain_of_a_thousand_on_two_queues,
        chain_of_a_thousand_on_four_queues,
        chain_of_a_thousand_on_eight_queues,
        chain_of_a_thousand_behind_a_gate,
        chain_of_a_thousand_backwards,
        chain_of_a_thousand_in_any_order,
        diamonds_in_a_row,
        butterfly_over_eight_queues,
        random_graph_in_order,
        random_graph_backwards,
        random_graph_in_any_order,
        random_graph_behind_a_gate,
        random_graph_from_threads,
    ],
    &[Requirement::Kernels] => [kernels_in_a_chain_over_eight_queues],
}

/// Submits the links of a chain in this order; each moves a block on by one place. Checks what arrives.
fn chain(device: &Arc<dyn Device>, count: usize, gated: bool, order: Vec<u64>) -> Outcome {
    let queues = queues(device, count)?;
    let gate = Gate::new(device)?;
    let timeline = device.create_semaphore(0)?;
    let links = order.len() as u64;
    let buffer = host_buffer(device, &vec![0_u8; 4 * (order.len() + 1)])?;
    buffer.write(0, &[4, 3, 2, 1])?;
    for link in order {
        let commands = record(device, |encoder| encoder.copy(&buffer, link * 4, &buffer, link * 4 + 4, 4))?;
        let mut submission = Submission::new().wait(&timeline, link).execute(&commands);
        if gated && link == 0 {
            submission = submission.wait(gate.semaphore(), 1);
        }
        queues[link as usize % count].submit(submission.signal(&timeline, link + 1))?;
    }
    if gated {
        check_eq!(timeline.query()?, 0);
        gate.open()?;
    }
    timeline.wait(links, soon())?;
    let found = contents::<u8>(&buffer)?;
    check!(found.chunks(4).all(|block| block == [4, 3, 2, 1]));
    Ok(())
}

/// Order without waiting.
fn chain_of_a_thousand_on_one_queue(device: &Arc<dyn Device>) -> Outcome {
    chain(device, 1, false, (0..1000).collect())
}

/// There and back.
fn chain_of_a_thousand_on_two_queues(device: &Arc<dyn Device>) -> Outcome {
    chain(device, 2, false, (0..1000).collect())
}

/// In turn.
fn chain_of_a_thousand_on_four_queues(device: &Arc<dyn Device>) -> Outcome {
    chain(device, 4, false, (0..1000).collect())
}

/// In a larger turn.
fn chain_of_a_thousand_on_eight_queues(device: &Arc<dyn Device>) -> Outcome {
    chain(device, 8, false, (0..1000).collect())
}

/// All of it is there before any of it can start.
fn chain_of_a_thousand_behind_a_gate(device: &Arc<dyn Device>) -> Outcome {
    chain(device, 8, true, (0..1000).collect())
}

/// Every wait before its signal.
fn chain_of_a_thousand_backwards(device: &Arc<dyn Device>) -> Outcome {
    chain(device, 8, false, (0..1000).rev().collect())
}

/// Some waits before their signals.
fn chain_of_a_thousand_in_any_order(device: &Arc<dyn Device>) -> Outcome {
    chain(device, 8, false, Random::new(7).shuffled(0..1000))
}

/// A node takes eight bytes from each of two nodes before it.
struct Node {
    left: usize,
    right: usize,
}

const ROW: usize = 16;

/// Nodes of a graph, with what each is to compute.
struct Graph {
    nodes: Vec<Node>,
    expected: Vec<u8>,
    memory: Arc<dyn Buffer>,
    ends: Vec<Arc<dyn Semaphore>>,
}

impl Graph {
    /// Node *n* depends on what `parents` says of *n*; the first are `roots`, which depend on nothing.
    fn new(
        device: &Arc<dyn Device>,
        roots: usize,
        count: usize,
        mut parents: impl FnMut(usize) -> (usize, usize),
    ) -> Result<Self> {
        let mut expected: Vec<u8> = (0..roots * ROW).map(|index| index as u8).collect();
        let mut initial = expected.clone();
        initial.resize(count * ROW, 0);
        let mut nodes = Vec::new();
        for number in roots..count {
            let (left, right) = parents(number);
            // The halves change places, so that no order of two steps gives what another does.
            expected.extend_from_within(right * ROW..right * ROW + 8);
            expected.extend_from_within(left * ROW + 8..left * ROW + 16);
            nodes.push(Node { left, right });
        }
        let (memory, ends) = (host_buffer(device, &initial)?, timelines(device, count)?);
        ends[..roots].iter().try_for_each(|end| end.signal(1))?;
        // Roots are there from the start.
        let first = (0..roots).map(|number| Node { left: number, right: number });
        let nodes = first.chain(nodes).collect();
        Ok(Graph { nodes, expected, memory, ends })
    }

    fn commands(&self, device: &Arc<dyn Device>, number: usize) -> Result<Arc<dyn CommandBuffer>> {
        let node = &self.nodes[number];
        let at = |number: usize, half: usize| (number * ROW + half * 8) as u64;
        record(device, |encoder| {
            encoder.copy(&self.memory, at(node.right, 0), &self.memory, at(number, 0), 8)?;
            encoder.copy(&self.memory, at(node.left, 1), &self.memory, at(number, 1), 8)
        })
    }

    fn submission(&self, device: &Arc<dyn Device>, number: usize) -> Result<Submission> {
        let node = &self.nodes[number];
        let waits = Submission::new().wait(&self.ends[node.left], 1).wait(&self.ends[node.right], 1);
        Ok(waits.execute(&self.commands(device, number)?).signal(&self.ends[number], 1))
    }

    fn check(&self) -> Outcome {
        for end in &self.ends {
            end.wait(1, soon())?;
        }
        check!(contents::<u8>(&self.memory)? == self.expected);
        Ok(())
    }
}

/// One before two before one, fifty times, on four queues.
fn diamonds_in_a_row(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 4)?;
    // Three nodes each: two sides of the one before, and the one that joins them.
    let graph = Graph::new(device, 1, 1 + 3 * 50, |number| match number % 3 {
        1 => (number - 1, number - 1),
        2 => (number - 2, number - 2),
        _ => (number - 2, number - 1),
    })?;
    for number in 1..graph.nodes.len() {
        queues[number % 4].submit(graph.submission(device, number)?)?;
    }
    graph.check()
}

/// Sixteen layers of eight; each node waits for two of the layer before, as in a fast Fourier transform.
fn butterfly_over_eight_queues(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 8)?;
    let graph = Graph::new(device, 8, 8 * 17, |number| {
        let (layer, place) = (number / 8 - 1, number % 8);
        (layer * 8 + place, layer * 8 + (place ^ (1 << (layer % 3))))
    })?;
    for number in 8..graph.nodes.len() {
        queues[number % 8].submit(graph.submission(device, number)?)?;
    }
    graph.check()
}

/// Four hundred nodes, of which each depends on any two before it.
fn random_graph(device: &Arc<dyn Device>, seed: u64) -> Result<Graph> {
    let mut random = Random::new(seed);
    Graph::new(device, 4, 400, move |number| (random.below(number), random.below(number)))
}

fn submit_random_graph(device: &Arc<dyn Device>, order: Vec<usize>) -> Outcome {
    for seed in 0..3 {
        let queues = queues(device, 5)?;
        let graph = random_graph(device, seed)?;
        let mut random = Random::new(seed + 100);
        for &number in &order {
            queues[random.below(5)].submit(graph.submission(device, number)?)?;
        }
        graph.check()?;
    }
    Ok(())
}

/// Each signal is submitted before its waits.
fn random_graph_in_order(device: &Arc<dyn Device>) -> Outcome {
    submit_random_graph(device, (4..400).collect())
}

/// Each wait is submitted before its signal.
fn random_graph_backwards(device: &Arc<dyn Device>) -> Outcome {
    submit_random_graph(device, (4..400).rev().collect())
}

/// Some of each.
fn random_graph_in_any_order(device: &Arc<dyn Device>) -> Outcome {
    submit_random_graph(device, Random::new(8).shuffled(4..400))
}

/// Every node also waits for one of three gates, which open in turn.
fn random_graph_behind_a_gate(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 3)?;
    let gates = [Gate::new(device)?, Gate::new(device)?, Gate::new(device)?];
    let graph = random_graph(device, 9)?;
    for number in Random::new(10).shuffled(4..400) {
        let submission = graph.submission(device, number)?.wait(gates[number % 3].semaphore(), 1);
        queues[number / 3 % 3].submit(submission)?;
    }
    for gate in &gates {
        gate.open()?;
    }
    graph.check()
}

/// Eight threads, each with some of the nodes and all of the queues.
fn random_graph_from_threads(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 4)?;
    let graph = random_graph(device, 11)?;
    on_threads(8, |thread| {
        for number in (4..400).filter(|number| number % 8 == thread) {
            queues[number / 8 % 4].submit(graph.submission(device, number)?)?;
        }
        Ok(())
    })?;
    graph.check()
}

/// The number of links can be read from the result.
fn kernels_in_a_chain_over_eight_queues(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let queues = queues(device, 8)?;
    let executable = kernels::ADD_ONE.load(device)?;
    let x = gpu.zeros::<u32>(64)?;
    let commands = record(device, |encoder| {
        encoder.launch(Dispatch::new(&executable, "add_one")?.block(64).arg(&x).arg(64_u32))
    })?;
    let timeline = device.create_semaphore(0)?;
    for link in 0..500 {
        let submission = Submission::new().wait(&timeline, link).execute(&commands);
        queues[link as usize % 8].submit(submission.signal(&timeline, link + 1))?;
    }
    timeline.wait(500, soon())?;
    check_eq!(gpu.download::<u32>(&x)?, [500; 64]);
    Ok(())
}
