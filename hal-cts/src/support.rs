//! What cases have in common.

use crate::{Failure, Outcome, kernels};
use hal_core::{
    Buffer, BufferParams, CommandBuffer, CommandEncoder, Deadline, Device, Dispatch, Queue, Result,
    Semaphore, Submission,
};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

/// Long enough for anything that works, on a slow machine under load.
pub(crate) fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(20))
}

/// Short, for waits that are meant to time out.
pub(crate) fn shortly() -> Deadline {
    Deadline::after(Duration::from_millis(5))
}

/// Queues of normal priority.
pub(crate) fn queues(device: &Arc<dyn Device>, count: usize) -> Result<Vec<Arc<dyn Queue>>> {
    (0..count).map(|_| device.create_queue(&Default::default())).collect()
}

/// Timelines at 0.
pub(crate) fn timelines(device: &Arc<dyn Device>, count: usize) -> Result<Vec<Arc<dyn Semaphore>>> {
    (0..count).map(|_| device.create_semaphore(0)).collect()
}

/// Polls until something holds that the HAL does on its own, with nothing to wait for.
#[track_caller]
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) -> Outcome {
    let deadline = soon();
    while !holds() {
        if deadline.has_passed() {
            return Err(Failure::new(format!("not within 20 s: {what}")));
        }
        thread::yield_now();
    }
    Ok(())
}

/// Runs one function on several threads at once, which get their number; the results in that order.
#[track_caller]
pub(crate) fn on_threads<T: Send>(count: usize, run: impl Fn(usize) -> Outcome<T> + Sync) -> Outcome<Vec<T>> {
    let together = Barrier::new(count);
    let joined: Vec<_> = thread::scope(|scope| {
        let start = |number| {
            let (together, run) = (&together, &run);
            scope.spawn(move || {
                together.wait();
                run(number)
            })
        };
        let threads: Vec<_> = (0..count).map(start).collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    let panicked = |_| Err(Failure::new("a thread of the case panicked"));
    joined.into_iter().map(|outcome| outcome.unwrap_or_else(panicked)).collect()
}

/// The same numbers in every run.
pub(crate) struct Random(u64);

impl Random {
    /// A sequence of its own for each seed.
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Below a limit that is not 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    /// In any order.
    pub(crate) fn shuffled<T>(&mut self, things: impl IntoIterator<Item = T>) -> Vec<T> {
        let mut things: Vec<T> = things.into_iter().collect();
        for end in (1..things.len()).rev() {
            things.swap(end, self.below(end + 1));
        }
        things
    }
}

/// Numbers and their bytes.
pub(crate) trait Plain: Copy {
    /// Appends the bytes.
    fn put(self, bytes: &mut Vec<u8>);
    /// Reads one from exactly its bytes.
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! plain {
    ($($type:ty),*) => {$(
        impl Plain for $type {
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_ne_bytes());
            }
            fn get(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<$type>()];
                own.copy_from_slice(bytes);
                Self::from_ne_bytes(own)
            }
        }
    )*};
}
plain!(u8, u32, i32, f32, f64);

/// The bytes of some numbers.
pub(crate) fn to_bytes<T: Plain>(numbers: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size_of_val(numbers));
    numbers.iter().for_each(|number| number.put(&mut bytes));
    bytes
}

/// Host-visible memory with these contents.
pub(crate) fn host_buffer<T: Plain>(device: &Arc<dyn Device>, numbers: &[T]) -> Result<Arc<dyn Buffer>> {
    let bytes = to_bytes(numbers);
    let buffer = device.allocate_buffer(&BufferParams::host_visible(bytes.len() as u64))?;
    buffer.write(0, &bytes)?;
    Ok(buffer)
}

/// Contents of a host-visible buffer.
pub(crate) fn contents<T: Plain>(buffer: &Arc<dyn Buffer>) -> Result<Vec<T>> {
    let mut bytes = vec![0; buffer.size() as usize];
    buffer.read(0, &mut bytes)?;
    Ok(bytes.chunks_exact(size_of::<T>()).map(T::get).collect())
}

/// Records commands.
pub(crate) fn record(
    device: &Arc<dyn Device>,
    commands: impl FnOnce(&mut CommandEncoder) -> Result<()>,
) -> Result<Arc<dyn CommandBuffer>> {
    let mut encoder = device.encoder();
    commands(&mut encoder)?;
    encoder.finish(&**device)
}

/// Dispatch as a safe call, for this suite's own kernels only.
pub(crate) trait Launch {
    /// Records a dispatch.
    fn launch(&mut self, dispatch: Dispatch) -> Result<()>;
}

impl Launch for CommandEncoder {
    fn launch(&mut self, dispatch: Dispatch) -> Result<()> {
        // SAFETY: the kernels are those of `kernels/`, and cases pass what these expect; those of the suite `loss` that
        // do not run on devices that contain a faulting kernel (`Requirement::FaultReporting`).
        unsafe { self.dispatch(dispatch) }
    }
}

/// A device with a queue: work that runs at once.
pub(crate) struct Gpu<'a> {
    pub(crate) device: &'a Arc<dyn Device>,
    pub(crate) queue: Arc<dyn Queue>,
}

impl<'a> Gpu<'a> {
    /// With a queue of its own.
    pub(crate) fn new(device: &'a Arc<dyn Device>) -> Result<Self> {
        Ok(Gpu { device, queue: device.create_queue(&Default::default())? })
    }

    /// Records, submits, waits.
    pub(crate) fn run(&self, commands: impl FnOnce(&mut CommandEncoder) -> Result<()>) -> Result<()> {
        self.execute(&record(self.device, commands)?)
    }

    /// Submits and waits.
    pub(crate) fn execute(&self, commands: &Arc<dyn CommandBuffer>) -> Result<()> {
        let done = self.device.create_semaphore(0)?;
        self.queue.submit(Submission::new().execute(commands).signal(&done, 1))?;
        done.wait(1, soon())
    }

    /// Device memory with these contents.
    pub(crate) fn upload<T: Plain>(&self, numbers: &[T]) -> Result<Arc<dyn Buffer>> {
        let staging = host_buffer(self.device, numbers)?;
        let buffer = self.device.allocate_buffer(&BufferParams::device_local(staging.size()))?;
        self.run(|encoder| encoder.copy(&staging, 0, &buffer, 0, staging.size()))?;
        Ok(buffer)
    }

    /// Device memory of zeros.
    pub(crate) fn zeros<T: Plain>(&self, count: usize) -> Result<Arc<dyn Buffer>> {
        let buffer =
            self.device.allocate_buffer(&BufferParams::device_local((count * size_of::<T>()) as u64))?;
        self.run(|encoder| encoder.fill(&buffer, 0, buffer.size(), &[0]))?;
        Ok(buffer)
    }

    /// Contents of device memory.
    pub(crate) fn download<T: Plain>(&self, buffer: &Arc<dyn Buffer>) -> Result<Vec<T>> {
        let staging = self.device.allocate_buffer(&BufferParams::host_visible(buffer.size()))?;
        self.run(|encoder| encoder.copy(buffer, 0, &staging, 0, buffer.size()))?;
        contents(&staging)
    }
}

/// Signals a semaphore when dropped, so that a case that fails early leaves no work behind that waits for ever.
pub(crate) struct Gate(Arc<dyn Semaphore>);

impl Gate {
    /// Closed: its semaphore is at 0.
    pub(crate) fn new(device: &Arc<dyn Device>) -> Result<Self> {
        Ok(Gate(device.create_semaphore(0)?))
    }

    /// Reaches 1 when the gate opens.
    pub(crate) fn semaphore(&self) -> &Arc<dyn Semaphore> {
        &self.0
    }

    /// Lets waiting work go.
    pub(crate) fn open(&self) -> Result<()> {
        self.0.signal(1)
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        // Refused if it is open or has failed; both are fine.
        let _ = self.0.signal(1);
    }
}

/// A kernel that runs until it is told to stop; it stops when this is dropped.
pub(crate) struct Spinner {
    flag: Arc<dyn Buffer>,
    commands: Arc<dyn CommandBuffer>,
}

impl Spinner {
    /// Recorded, not submitted.
    pub(crate) fn new(device: &Arc<dyn Device>) -> Result<Self> {
        let flag = host_buffer(device, &[0_u32])?;
        let executable = kernels::FAULTS.load(device)?;
        let commands =
            record(device, |encoder| encoder.launch(Dispatch::new(&executable, "spin_forever")?.arg(&flag)))?;
        Ok(Spinner { flag, commands })
    }

    /// Runs until [`stop`](Spinner::stop).
    pub(crate) fn commands(&self) -> &Arc<dyn CommandBuffer> {
        &self.commands
    }

    /// Ends the kernel, now or as soon as it starts.
    pub(crate) fn stop(&self) -> Result<()> {
        self.flag.write(0, &1_u32.to_ne_bytes())
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        // Only an out-of-range write could fail.
        let _ = self.stop();
    }
}
