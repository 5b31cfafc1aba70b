//! Executable graphs: how many there are, what changes in them, and who owns them when a call fails.

use crate::mock::{self, Control};
use hal_core::{
    Buffer, BufferParams, BufferRange, BufferRef, CommandBuffer, Deadline, Device, DeviceParams, Encoding,
    Error, ErrorKind, Queue, QueueParams, Submission,
};
use std::sync::Arc;
use std::time::Duration;

struct Bench {
    device: Arc<dyn Device>,
    control: Control,
    queue: Arc<dyn Queue>,
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(20))
}

impl Bench {
    fn new() -> Self {
        let (device, control) = mock::device(&DeviceParams::default());
        let queue = device.create_queue(&QueueParams::default()).unwrap();
        Bench { device, control, queue }
    }

    fn buffer(&self) -> Arc<dyn Buffer> {
        self.device.allocate_buffer(&BufferParams::device_local(64)).unwrap()
    }

    /// A fill of slot 0, a fill of a buffer, and a copy from there to slot 1.
    fn graph(&self) -> Arc<dyn CommandBuffer> {
        let mut encoder = self.device.encoder();
        let buffer = self.buffer();
        let slot = |slot| BufferRef::Slot { slot, offset: 0, length: 64 };
        encoder.fill_ref(slot(0), &[1]).unwrap();
        encoder.fill(&buffer, 0, 64, &[2]).unwrap();
        encoder.barrier();
        encoder.copy_ref(BufferRef::Direct(BufferRange::whole(&buffer)), slot(1)).unwrap();
        encoder.finish_as(&*self.device, Encoding::Graph).unwrap()
    }

    fn table(&self, buffers: &[&Arc<dyn Buffer>]) -> Vec<BufferRange> {
        buffers.iter().map(|buffer| BufferRange::whole(buffer)).collect()
    }

    /// Submits to this queue and tells how it ends.
    fn run_on(
        &self,
        queue: &Arc<dyn Queue>,
        commands: &Arc<dyn CommandBuffer>,
        table: Vec<BufferRange>,
    ) -> Result<(), Error> {
        let done = self.device.create_semaphore(0)?;
        queue.submit(Submission::new().execute_with(commands, table).signal(&done, 1))?;
        done.wait(1, soon())?;
        // Resources are back a moment after the signal.
        queue.wait_idle(soon())
    }

    fn run(&self, commands: &Arc<dyn CommandBuffer>, table: Vec<BufferRange>) -> Result<(), Error> {
        self.run_on(&self.queue, commands, table)
    }

    /// Lets go of everything: nothing may be left, or have been done wrong.
    fn end(self, commands: Arc<dyn CommandBuffer>) {
        self.queue.wait_idle(soon()).unwrap();
        drop(commands);
        let census = self.control.census();
        assert_eq!((census.graphs, census.execs), (0, 0));
        assert!(self.control.violations().is_empty(), "{:?}", self.control.violations());
    }
}

#[test]
fn a_graph_is_instantiated_once_and_changed_where_bindings_changed() {
    let bench = Bench::new();
    let commands = bench.graph();
    let (a, b, c) = (bench.buffer(), bench.buffer(), bench.buffer());
    bench.run(&commands, bench.table(&[&a, &b])).unwrap();
    bench.run(&commands, bench.table(&[&a, &b])).unwrap();
    assert_eq!(bench.control.count("graph_exec_set"), 0);
    bench.run(&commands, bench.table(&[&a, &c])).unwrap();
    assert_eq!(bench.control.count("graph_exec_set"), 1);
    bench.run(&commands, bench.table(&[&b, &a])).unwrap();
    assert_eq!(bench.control.count("graph_exec_set"), 3);
    assert_eq!(bench.control.count("graph_instantiate"), 1);
    assert_eq!(bench.control.count("graph_launch"), 4);
    bench.end(commands);
}

#[test]
fn without_slots_it_is_there_before_the_first_submission() {
    let bench = Bench::new();
    let buffer = bench.buffer();
    let mut encoder = bench.device.encoder();
    encoder.fill(&buffer, 0, 64, &[1]).unwrap();
    let commands = encoder.finish_as(&*bench.device, Encoding::Graph).unwrap();
    assert_eq!(commands.encoding(), Encoding::Graph);
    assert_eq!(bench.control.count("graph_instantiate"), 1);
    bench.run(&commands, Vec::new()).unwrap();
    assert_eq!(bench.control.count("graph_instantiate"), 1);
    bench.end(commands);
}

#[test]
fn submissions_in_flight_have_an_executable_graph_for_each_queue_and_table() {
    let bench = Bench::new();
    let commands = bench.graph();
    let (a, b) = (bench.buffer(), bench.buffer());
    let other = bench.device.create_queue(&QueueParams::default()).unwrap();
    bench.control.hold();
    let submit = |queue: &Arc<dyn Queue>, table| {
        queue.submit(Submission::new().execute_with(&commands, table)).unwrap();
    };
    for _ in 0..3 {
        submit(&bench.queue, bench.table(&[&a, &b]));
        submit(&other, bench.table(&[&a, &b]));
        submit(&bench.queue, bench.table(&[&b, &a]));
    }
    // Nothing waits: all of it is in the streams.
    assert_eq!(bench.control.count("graph_launch"), 9);
    assert_eq!(bench.control.census().execs, 3);
    bench.control.release();
    bench.device.wait_idle(soon()).unwrap();
    bench.run(&commands, bench.table(&[&a, &b])).unwrap();
    assert_eq!(bench.control.count("graph_instantiate"), 3);
    assert_eq!(bench.control.count("graph_exec_set"), 0, "one was bound so already");
    drop(other);
    bench.end(commands);
}

#[test]
fn a_running_graph_keeps_what_it_was_bound_to() {
    let bench = Bench::new();
    let commands = bench.graph();
    bench.control.hold();
    for _ in 0..4 {
        let (a, b) = (bench.buffer(), bench.buffer());
        let submission = Submission::new().execute_with(&commands, bench.table(&[&a, &b]));
        bench.queue.submit(submission).unwrap();
    }
    assert_eq!(bench.control.live_allocations(), 9);
    bench.control.release();
    bench.end(commands);
}

#[test]
fn a_call_that_fails_leaves_nothing_behind() {
    let made = ["graph_create", "graph_add", "graph_instantiate"].map(|call| (call, false));
    for (call, changes) in made.into_iter().chain([("graph_exec_set", true), ("graph_launch", false)]) {
        let bench = Bench::new();
        let commands = bench.graph();
        let (a, b) = (bench.buffer(), bench.buffer());
        if changes {
            bench.run(&commands, bench.table(&[&a, &b])).unwrap();
        }
        bench.control.fail(call, 1, 2, false);
        let error = bench.run(&commands, bench.table(&[&b, &a])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ResourceExhausted, "{call}");
        assert_eq!(error.native().unwrap().call, call);
        bench.queue.wait_idle(soon()).unwrap();
        assert_eq!(bench.control.census().execs, 0, "{call}");
        // It is as good as before.
        bench.run(&commands, bench.table(&[&b, &a])).unwrap();
        bench.end(commands);
    }
}

#[test]
fn one_that_is_too_large_for_the_driver_says_what_to_do() {
    let bench = Bench::new();
    let buffer = bench.buffer();
    let mut encoder = bench.device.encoder();
    encoder.fill(&buffer, 0, 64, &[1]).unwrap();
    bench.control.fail("graph_instantiate", 1, 2, false);
    let error = encoder.finish_as(&*bench.device, Encoding::Graph).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ResourceExhausted);
    assert!(error.to_string().contains("a graph of 1 nodes; record several smaller"), "{error}");
    assert_eq!(bench.control.census().graphs, 0);
}

/// Drivers cannot change a copy to memory of another kind.
#[test]
fn one_that_cannot_be_changed_is_made_anew() {
    let bench = Bench::new();
    let commands = bench.graph();
    let (a, b) = (bench.buffer(), bench.buffer());
    bench.run(&commands, bench.table(&[&a, &b])).unwrap();
    bench.control.fail("graph_exec_set", 1, 1, false);
    bench.run(&commands, bench.table(&[&b, &a])).unwrap();
    assert_eq!(bench.control.count("graph_instantiate"), 2);
    assert_eq!(bench.control.census().execs, 1);
    bench.end(commands);
}

/// A launch that fails may have begun: what it uses stays until the stream is idle.
#[test]
fn a_failed_launch_keeps_its_graph_until_the_stream_is_idle() {
    let bench = Bench::new();
    let commands = bench.graph();
    let (a, b) = (bench.buffer(), bench.buffer());
    bench.control.hold();
    bench.queue.submit(Submission::new().execute_with(&commands, bench.table(&[&a, &b]))).unwrap();
    bench.control.fail("graph_launch", 1, 999, false);
    let done = bench.device.create_semaphore(0).unwrap();
    let again = Submission::new().execute_with(&commands, bench.table(&[&a, &b])).signal(&done, 1);
    bench.queue.submit(again).unwrap();
    assert_eq!(done.wait(1, soon()).unwrap_err().kind(), ErrorKind::Internal);
    assert_eq!(bench.control.census().execs, 1);
    bench.control.release();
    bench.queue.wait_idle(soon()).unwrap();
    assert_eq!(bench.control.census().execs, 0);
    bench.end(commands);
}

#[test]
fn a_lost_device_lets_go_of_its_graphs() {
    let bench = Bench::new();
    let commands = bench.graph();
    let (a, b) = (bench.buffer(), bench.buffer());
    bench.run(&commands, bench.table(&[&a, &b])).unwrap();
    bench.control.hold();
    bench.control.lose(700);
    assert!(bench.run(&commands, bench.table(&[&a, &b])).is_err());
    drop((commands, a, b));
    let Bench { device, control, queue } = bench;
    drop((device, queue));
    assert!(control.violations().is_empty(), "{:?}", control.violations());
    assert_eq!(control.devices(), (1, 1));
}
