//! Random command programs: the stream encoding, the graph encoding and a model on the CPU come to the same bytes.
//!
//! The software GPU runs the nodes of a graph in any order that its edges permit, as a seed decides, so that a missing edge
//! shows. `HAL_PROGRAMS` sets how many are run for each backend, `HAL_SEED` where they start.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]
#![cfg(all(feature = "cuda", feature = "hip", feature = "soft"))]

use hal::{
    Argument, Buffer, BufferParams, BufferRange, BufferRef, CommandBuffer, CommandEncoder, Deadline, Device,
    Dispatch, Encoding, Executable, ExecutableParams, Queue, QueueParams, Result, Semaphore, Submission,
};
use std::sync::Arc;
use std::time::Duration;

mod encodings {
    pub(crate) mod program;
}
use encodings::program::{BUFFERS, Op, Part, Program, SIZE, SLOTS};

/// For each backend, by default.
const PROGRAMS: u64 = 5000;

const PTX: &str = include_str!("../kernels/ptx/add_one.ptx");

struct Bench {
    device: Arc<dyn Device>,
    queue: Arc<dyn Queue>,
    done: Arc<dyn Semaphore>,
    submitted: u64,
    executable: Arc<dyn Executable>,
    /// Those that programs name, and those that slots stand for: two tables of them.
    buffers: Vec<Arc<dyn Buffer>>,
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

impl Bench {
    fn open(uri: &str) -> Result<Self> {
        let device = hal::open(uri)?;
        let buffer = || device.allocate_buffer(&BufferParams::host_visible(SIZE as u64));
        Ok(Bench {
            queue: device.create_queue(&QueueParams::default())?,
            done: device.create_semaphore(0)?,
            submitted: 0,
            executable: device.load_executable(&ExecutableParams::ptx("add_one", PTX))?,
            buffers: (0..BUFFERS + 2 * SLOTS).map(|_| buffer()).collect::<Result<_>>()?,
            device,
        })
    }

    fn reference(&self, part: Part) -> BufferRef {
        let (offset, length) = (part.offset as u64, part.length as u64);
        match part.memory.checked_sub(BUFFERS) {
            None => BufferRef::Direct(BufferRange::new(&self.buffers[part.memory], offset, length)),
            Some(slot) => BufferRef::Slot { slot: slot as u32, offset, length },
        }
    }

    fn record(&self, program: &Program, encoding: Encoding) -> Result<Arc<dyn CommandBuffer>> {
        let mut encoder = self.device.encoder();
        for op in &program.ops {
            self.encode(&mut encoder, op)?;
        }
        encoder.finish_as(&*self.device, encoding)
    }

    fn encode(&self, encoder: &mut CommandEncoder, op: &Op) -> Result<()> {
        let count = |part: &Part| (part.length / 4) as u32;
        match op {
            Op::Fill { target, pattern } => encoder.fill_ref(self.reference(*target), pattern),
            Op::Update { memory, offset, data } => {
                encoder.update(&self.buffers[*memory], *offset as u64, data)
            }
            Op::Copy { source, target } => encoder.copy_ref(self.reference(*source), self.reference(*target)),
            Op::AddOne { target } => {
                let dispatch = Dispatch::new(&self.executable, "add_one")?.block(16);
                let dispatch = dispatch.arg(Argument::Buffer(self.reference(*target))).arg(count(target));
                // SAFETY: what the kernel takes: numbers, and how many there are.
                unsafe { encoder.dispatch(dispatch) }
            }
            Op::CopyByKernel { source, target } => {
                let dispatch = Dispatch::new(&self.executable, "copy_u32")?.block(16);
                let dispatch = dispatch
                    .arg(Argument::ReadOnly(self.reference(*source)))
                    .arg(Argument::Buffer(self.reference(*target)))
                    .arg(count(source));
                // SAFETY: as above; it writes the second alone.
                unsafe { encoder.dispatch(dispatch) }
            }
            Op::Barrier => {
                encoder.barrier();
                Ok(())
            }
        }
    }

    /// Runs it with the first or the second table, and returns all that the program can see.
    fn run(
        &mut self,
        commands: &Arc<dyn CommandBuffer>,
        program: &Program,
        table: usize,
    ) -> Result<Vec<Vec<u8>>> {
        let seen: Vec<_> =
            (0..BUFFERS).chain((0..SLOTS).map(|slot| BUFFERS + SLOTS * table + slot)).collect();
        for (memory, &index) in seen.iter().enumerate() {
            self.buffers[index].write(0, &program.initial(memory))?;
        }
        let bound: Vec<_> = seen[BUFFERS..].iter().map(|&index| (&self.buffers[index]).into()).collect();
        self.submitted += 1;
        let submission = Submission::new().execute_with(commands, bound).signal(&self.done, self.submitted);
        self.queue.submit(submission)?;
        self.done.wait(self.submitted, Deadline::after(Duration::from_secs(60)))?;
        let read = |&index: &usize| {
            let mut bytes = vec![0; SIZE];
            self.buffers[index].read(0, &mut bytes).map(|()| bytes)
        };
        seen.iter().map(read).collect()
    }
}

/// Returns how many commands there were.
fn compare(uri: &str) -> Result<u64> {
    // Both tests set the same, and nobody takes it back.
    softgpu::driver::order::set_seed(Some(1));
    let mut bench = Bench::open(uri)?;
    let first = setting("HAL_SEED", 1);
    let mut commands = 0;
    for seed in first..first + setting("HAL_PROGRAMS", PROGRAMS) {
        let program = Program::generate(seed);
        commands += program.ops.len() as u64;
        let expected = program.model();
        let stream = bench.record(&program, Encoding::Stream)?;
        let graph = bench.record(&program, Encoding::Graph)?;
        let found = bench.run(&stream, &program, 0)?;
        assert_eq!(found, expected, "{uri}, stream: {program}");
        // The same graph, bound anew.
        for table in [0, 1] {
            let found = bench.run(&graph, &program, table)?;
            assert_eq!(found, expected, "{uri}, graph, table {table}: {program}");
        }
    }
    Ok(commands)
}

#[test]
fn both_encodings_and_the_model_agree_on_cuda() -> Result<()> {
    assert!(compare("soft://cuda/0")? > 0);
    Ok(())
}

#[test]
fn both_encodings_and_the_model_agree_on_hip() -> Result<()> {
    assert!(compare("soft://hip/0")? > 0);
    Ok(())
}
