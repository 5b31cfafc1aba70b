//! The same native calls with and without the HAL, in turns, so that both see the same machine.

use crate::fit;
use crate::futex;
use crate::mock::{Costs, Mock};
use crate::rig::{self, BATCH, KERNEL, PTX, Rig};
use hal_core::{DeviceParams, ExecutableFormat, QueuePriority, Result, Submission};
use hal_utils::SharedDriver;
use hal_utils::native::{LaunchShape, Native, NativeDriver, Progress};
use std::time::Instant;

/// Nanoseconds; medians over batches.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    /// Of the calling thread, for handing one dispatch over.
    pub hal_caller: f64,
    pub native_caller: f64,
    /// From the first submission of a batch until all are known to be done, for each.
    pub hal_batch: f64,
    pub native_batch: f64,
    /// From the submission of one until it is known to be done.
    pub hal_round_trip: [f64; 2],
    /// The same, asking without a pause.
    pub native_round_trip: [f64; 2],
}

impl Comparison {
    pub fn caller_ratio(&self) -> f64 {
        self.hal_caller / self.native_caller
    }
}

/// Over a mock device whose calls take what a real driver's take.
pub fn over_calibrated_mock(quick: bool) -> Result<Comparison> {
    compare(|| Ok(Mock::new(Costs::PUBLISHED)), quick)
}

/// Over a mock device whose calls take no time: what the HAL itself takes.
pub fn over_mock(quick: bool) -> Result<Comparison> {
    compare(|| Ok(Mock::new(Costs::default())), quick)
}

/// Over the software GPU.
pub fn over_soft(quick: bool) -> Result<Comparison> {
    compare(rig::soft, quick)
}

/// Median round trip of a submission without work over a mock device, as a multiple of a futex ping-pong. In short
/// turns, since both depend most on which cores the threads are on.
pub fn wake_ratio(quick: bool) -> Result<f64> {
    let mut rig = Rig::new(rig::mock(Costs::default())?, None)?;
    let mut ratios = Vec::new();
    for _ in 0..if quick { 20 } else { 100 } {
        let [hal, _] = round_trips(200, || rig.empty_round_trip())?;
        let [futex, _] = futex::round_trip(200);
        ratios.push(hal / futex);
    }
    Ok(fit::median(ratios))
}

/// Median and 99th percentile, in nanoseconds.
fn round_trips(trips: usize, mut trip: impl FnMut() -> Result<()>) -> Result<[f64; 2]> {
    let mut samples = Vec::with_capacity(trips);
    for _ in 0..trips {
        let begin = Instant::now();
        trip()?;
        samples.push(begin.elapsed().as_nanos() as f64);
    }
    Ok([fit::quantile(&mut samples, 0.5), fit::quantile(&mut samples, 0.99)])
}

fn compare<D: NativeDriver>(load: impl Fn() -> Result<D>, quick: bool) -> Result<Comparison> {
    let mut rig = Rig::new(SharedDriver::new(load()?).open(0, &DeviceParams::default())?, None)?;
    let native = load()?.open(0)?;
    let by_hand = ByHand::new(&native)?;
    let (batches, trips) = if quick { (200, 1_000) } else { (1_000, 5_000) };
    let [mut hal_caller, mut native_caller, mut hal_batch, mut native_batch] = [const { Vec::new() }; 4];
    for _ in 0..batches {
        let (caller, batch) = rig.timed_batch()?;
        hal_caller.push(caller);
        hal_batch.push(batch);
        let (caller, batch) = by_hand.timed_batch()?;
        native_caller.push(caller);
        native_batch.push(batch);
    }
    Ok(Comparison {
        hal_caller: fit::median(hal_caller),
        native_caller: fit::median(native_caller),
        hal_batch: fit::median(hal_batch),
        native_batch: fit::median(native_batch),
        hal_round_trip: round_trips(trips, || rig.round_trip())?,
        native_round_trip: round_trips(trips, || by_hand.round_trip())?,
    })
}

impl Rig {
    /// Nanoseconds for each submission: of the calling thread, and until all are done.
    fn timed_batch(&mut self) -> Result<(f64, f64)> {
        let commands = self.commands.clone();
        let begin = Instant::now();
        self.submit_each(|_| Submission::new().execute(&commands))?;
        let caller = begin.elapsed();
        self.wait_done()?;
        let batch = begin.elapsed();
        // Not to be paid for by what comes next.
        self.wait_idle()?;
        Ok((caller.as_nanos() as f64 / BATCH as f64, batch.as_nanos() as f64 / BATCH as f64))
    }
}

/// A stream, events and a kernel, without the HAL.
struct ByHand<'a, N: Native> {
    native: &'a N,
    stream: N::Stream,
    function: N::Function,
    module: N::Module,
    events: Vec<N::Event>,
}

impl<'a, N: Native> ByHand<'a, N> {
    fn new(native: &'a N) -> Result<Self> {
        current(native, || {
            // SAFETY: the device is current; the image is a module with this kernel.
            unsafe {
                let module = native.module_load(ExecutableFormat::Ptx, PTX.as_bytes())?;
                Ok(ByHand {
                    native,
                    stream: native.stream_create(QueuePriority::Normal)?,
                    function: native.module_function(module, KERNEL)?,
                    module,
                    events: (0..BATCH).map(|_| native.event_create()).collect::<Result<_>>()?,
                })
            }
        })
    }

    fn submit(&self, event: N::Event) -> Result<()> {
        let shape = LaunchShape { grid: [1; 3], block: [1; 3], shared_memory: 0 };
        current(self.native, || {
            // SAFETY: the device is current; the kernel has no parameters.
            unsafe {
                self.native.launch(self.stream, self.function, shape, &mut [])?;
                self.native.event_record(event, self.stream)
            }
        })
    }

    fn wait(&self, event: N::Event) -> Result<()> {
        current(self.native, || {
            // SAFETY: the device is current and the event recorded.
            while unsafe { self.native.event_query(event) }? == Progress::Running {
                std::thread::yield_now();
            }
            Ok(())
        })
    }

    fn timed_batch(&self) -> Result<(f64, f64)> {
        let begin = Instant::now();
        for &event in &self.events {
            self.submit(event)?;
        }
        let caller = begin.elapsed();
        for &event in &self.events {
            self.wait(event)?;
        }
        let batch = begin.elapsed();
        Ok((caller.as_nanos() as f64 / BATCH as f64, batch.as_nanos() as f64 / BATCH as f64))
    }

    fn round_trip(&self) -> Result<()> {
        self.submit(self.events[0])?;
        self.wait(self.events[0])
    }
}

impl<N: Native> Drop for ByHand<'_, N> {
    fn drop(&mut self) {
        // What the driver refuses to free goes with the process.
        let _ = current(self.native, || {
            // SAFETY: the device is current, and everything put into the stream has been waited for.
            unsafe {
                for &event in &self.events {
                    self.native.event_destroy(event)?;
                }
                self.native.stream_destroy(self.stream)?;
                self.native.module_unload(self.module)
            }
        });
    }
}

fn current<N: Native, R>(native: &N, run: impl FnOnce() -> Result<R>) -> Result<R> {
    let previous = native.enter()?;
    let result = run();
    native.leave(previous);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_work_on_the_software_gpu() {
        let native = rig::soft().unwrap().open(0).unwrap();
        let by_hand = ByHand::new(&native).unwrap();
        by_hand.timed_batch().unwrap();
        by_hand.round_trip().unwrap();
        let mut rig = Rig::new(crate::rig::Target::Soft.open().unwrap(), None).unwrap();
        rig.timed_batch().unwrap();
        rig.round_trip().unwrap();
        assert_eq!(rig.device.counters().failed, 0);
    }
}
