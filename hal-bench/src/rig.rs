//! A device with queues and semaphores, and the ways a submission can take.

use crate::gauge::{Gauge, Gauged};
use crate::mock::{Costs, Mock};
use anyhow::Context as _;
use hal_core::{
    CommandBuffer, Deadline, Device, DeviceParams, Dispatch, ExecutableParams, Queue, QueueParams, Result,
    Semaphore, Submission,
};
use hal_utils::SharedDriver;
use hal_utils::loader::{DriverChoice, Resolver};
use hal_utils::native::NativeDriver;
use std::sync::Arc;
use std::time::Duration;

/// Submissions in a batch: what is in flight at once. Fewer than the event pool holds by default.
pub const BATCH: u64 = 50;

/// Nothing measured here takes that long; what does is broken.
const LIMIT: Duration = Duration::from_secs(120);

/// A kernel that does nothing.
pub const KERNEL: &str = "nothing";
pub const PTX: &str =
    ".version 5.0\n.target sm_52\n.address_size 64\n.visible .entry nothing()\n{\n\tret;\n}\n";

/// What a submission goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Path {
    /// No waits, no work.
    Ready,
    /// No waits, and a dispatch.
    ReadyDispatch,
    /// Waits for what another queue has on the device.
    DeviceWait,
    /// Waits for what nobody has issued yet, and then another queue issues.
    Deferred,
    /// Waits for a signal by the host, one for each.
    HostSignalled,
}

impl Path {
    /// Those that the report names.
    pub const REPORTED: [Path; 4] = [Path::Ready, Path::DeviceWait, Path::Deferred, Path::HostSignalled];

    pub fn name(self) -> &'static str {
        match self {
            Path::Ready => "ready",
            Path::ReadyDispatch => "ready_dispatch",
            Path::DeviceWait => "device_wait",
            Path::Deferred => "deferred",
            Path::HostSignalled => "host_signalled",
        }
    }

    /// Submissions of a batch, the one that the others wait for included.
    pub fn submissions(self) -> u64 {
        match self {
            Path::DeviceWait | Path::Deferred => BATCH + 1,
            Path::Ready | Path::ReadyDispatch | Path::HostSignalled => BATCH,
        }
    }
}

/// Which device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Target {
    /// The one that does nothing.
    Mock,
    /// The software GPU, through CUDA.
    Soft,
}

impl Target {
    pub fn name(self) -> &'static str {
        match self {
            Target::Mock => "mock",
            Target::Soft => "soft",
        }
    }

    /// Opened as a user would.
    pub fn open(self) -> anyhow::Result<Arc<dyn Device>> {
        match self {
            Target::Mock => Ok(mock(Costs::default())?),
            Target::Soft => hal::open("soft").context("opening the software GPU"),
        }
    }

    /// Opened with a gauge between the HAL and the driver.
    pub fn open_gauged(self, gauge: &Arc<Gauge>) -> anyhow::Result<Arc<dyn Device>> {
        let params = DeviceParams::default();
        match self {
            Target::Mock => {
                let native = Gauged::new(Mock::new(Costs::default()), gauge);
                Ok(SharedDriver::new(native).open(0, &params)?)
            }
            Target::Soft => Ok(SharedDriver::new(Gauged::new(soft()?, gauge)).open(0, &params)?),
        }
    }
}

/// A device that takes that long for its calls.
pub fn mock(costs: Costs) -> Result<Arc<dyn Device>> {
    SharedDriver::new(Mock::new(costs)).open(0, &DeviceParams::default())
}

/// The software GPU's native calls.
pub fn soft() -> Result<impl NativeDriver> {
    // SAFETY: the software GPU's functions have the ABI of the CUDA driver, and stay.
    let resolver = unsafe { Resolver::new("softgpu", softgpu::cuda::resolve) };
    hal_cuda::load(&DriverChoice::Soft, Some(resolver))
}

pub struct Rig {
    pub device: Arc<dyn Device>,
    gauge: Option<Arc<Gauge>>,
    queue: Arc<dyn Queue>,
    producer: Arc<dyn Queue>,
    /// What submissions wait for.
    start: Arc<dyn Semaphore>,
    /// What they signal.
    done: Arc<dyn Semaphore>,
    pub commands: Arc<dyn CommandBuffer>,
    started: u64,
    submitted: u64,
}

impl Rig {
    pub fn new(device: Arc<dyn Device>, gauge: Option<Arc<Gauge>>) -> Result<Self> {
        Ok(Rig {
            queue: device.create_queue(&QueueParams::default())?,
            producer: device.create_queue(&QueueParams::default())?,
            start: device.create_semaphore(0)?,
            done: device.create_semaphore(0)?,
            commands: commands(&device)?,
            device,
            gauge,
            started: 0,
            submitted: 0,
        })
    }

    /// Submits a batch and waits for its end.
    pub fn batch(&mut self, path: Path) -> Result<()> {
        if let Some(gauge) = &self.gauge {
            gauge.hold(path.submissions());
        }
        match path {
            Path::Ready => self.submit_each(|_| Submission::new()),
            Path::ReadyDispatch => {
                let commands = self.commands.clone();
                self.submit_each(|_| Submission::new().execute(&commands))
            }
            Path::DeviceWait => {
                self.produce()?;
                let (start, value) = (self.start.clone(), self.started);
                self.submit_each(|_| Submission::new().wait(&start, value))
            }
            Path::Deferred => {
                let (start, value) = (self.start.clone(), self.started + 1);
                self.submit_each(|_| Submission::new().wait(&start, value))?;
                self.produce()
            }
            Path::HostSignalled => {
                let (start, first) = (self.start.clone(), self.started + 1);
                self.submit_each(|index| Submission::new().wait(&start, first + index))?;
                self.started += BATCH;
                (first..first + BATCH).try_for_each(|value| start.signal(value))
            }
        }?;
        self.wait_done()
    }

    /// Waits until the host knows that what was submitted last is done.
    pub fn wait_done(&self) -> Result<()> {
        self.done.wait(self.submitted, LIMIT.into())
    }

    pub fn submit_each(&mut self, make: impl Fn(u64) -> Submission) -> Result<()> {
        for index in 0..BATCH {
            self.submitted += 1;
            self.queue.submit(make(index).signal(&self.done, self.submitted))?;
        }
        Ok(())
    }

    fn produce(&mut self) -> Result<()> {
        self.started += 1;
        self.producer.submit(Submission::new().signal(&self.start, self.started))?;
        Ok(())
    }

    /// Submits one with a dispatch, and waits until the host knows that it is done.
    pub fn round_trip(&mut self) -> Result<()> {
        let submission = Submission::new().execute(&self.commands);
        self.there_and_back(submission)
    }

    /// The same without work.
    pub fn empty_round_trip(&mut self) -> Result<()> {
        self.there_and_back(Submission::new())
    }

    fn there_and_back(&mut self, submission: Submission) -> Result<()> {
        self.submitted += 1;
        self.queue.submit(submission.signal(&self.done, self.submitted))?;
        self.wait_done()
    }

    pub fn wait_idle(&self) -> Result<()> {
        self.device.wait_idle(Deadline::after(LIMIT))
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        // Where a batch failed half-way, the device could not close.
        if let Some(gauge) = &self.gauge {
            gauge.release();
        }
    }
}

fn commands(device: &Arc<dyn Device>) -> Result<Arc<dyn CommandBuffer>> {
    let executable = device.load_executable(&ExecutableParams::ptx(KERNEL, PTX))?;
    let mut encoder = device.encoder();
    // SAFETY: the kernel has no parameters and touches nothing.
    unsafe { encoder.dispatch(Dispatch::new(&executable, KERNEL)?) }?;
    encoder.finish(&**device)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_takes_the_calls_it_should() {
        for target in [Target::Mock, Target::Soft] {
            for path in
                [Path::Ready, Path::ReadyDispatch, Path::DeviceWait, Path::Deferred, Path::HostSignalled]
            {
                let gauge = Gauge::new(true);
                let device = target.open_gauged(&gauge).unwrap();
                let mut rig = Rig::new(device, Some(gauge.clone())).unwrap();
                for _ in 0..3 {
                    rig.batch(path).unwrap();
                }
                rig.wait_idle().unwrap();
                let counters = rig.device.counters();
                let what = format!("{target:?} {path:?} {counters:?}");
                assert_eq!(counters.retired, 3 * path.submissions(), "{what}");
                assert_eq!(gauge.records(), counters.retired, "{what}");
                let waits = matches!(path, Path::DeviceWait | Path::Deferred);
                assert_eq!(counters.device_waits, if waits { 3 * BATCH } else { 0 }, "{what}");
            }
        }
    }
}
