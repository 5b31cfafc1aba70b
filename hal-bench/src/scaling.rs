//! How the total cost grows, over the mock device. In each series the work is proportional to the parameter, so that an
//! exponent of 1 is what one hopes for.

use crate::fit;
use crate::mock::Costs;
use crate::rig;
use hal_core::{Deadline, Device, Error, Queue, QueueParams, Result, Semaphore, Submission};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Points of (parameter, nanoseconds), each the least of several runs, and the exponent that fits them.
pub struct Series {
    pub name: &'static str,
    pub points: Vec<(u64, f64)>,
}

impl Series {
    pub fn exponent(&self) -> f64 {
        fit::exponent(&self.points)
    }
}

pub fn measure(quick: bool) -> Result<Vec<Series>> {
    let bench = Bench { device: rig::mock(Costs::default())?, quick };
    let depths: &[u64] =
        if quick { &[100, 1_000, 10_000, 100_000] } else { &[100, 1_000, 10_000, 100_000, 1_000_000] };
    Ok(vec![
        bench.series("pending", depths, Bench::pending)?,
        bench.series("waits", &[1, 2, 4, 8, 16, 32, 64, 128, 256], Bench::waits)?,
        bench.series("semaphores", &[1, 10, 100, 1_000, 10_000], Bench::semaphores)?,
        bench.series("queues", &[1, 2, 4, 8, 16, 32, 64], Bench::queues)?,
        bench.series("threads", &[1, 2, 4, 8, 16], Bench::threads)?,
    ])
}

struct Bench {
    device: Arc<dyn Device>,
    quick: bool,
}

impl Bench {
    fn series(
        &self,
        name: &'static str,
        parameters: &[u64],
        run: fn(&Bench, u64) -> Result<Duration>,
    ) -> Result<Series> {
        let mut points = Vec::new();
        for &parameter in parameters {
            // Until one of them has hardly been disturbed.
            let enough = Duration::from_millis(if self.quick { 50 } else { 300 });
            let (mut samples, mut spent) = (Vec::new(), Duration::ZERO);
            while samples.len() < 3 || (spent < enough && samples.len() < 200) {
                let took = run(self, parameter)?;
                spent += took;
                samples.push(took.as_nanos() as f64);
                if took > Duration::from_secs(2) {
                    break;
                }
            }
            points.push((parameter, fit::quantile(&mut samples, 0.0)));
        }
        Ok(Series { name, points })
    }

    fn semaphore(&self) -> Result<Arc<dyn Semaphore>> {
        self.device.create_semaphore(0)
    }

    fn queue(&self) -> Result<Arc<dyn Queue>> {
        self.device.create_queue(&QueueParams::default())
    }

    /// Pending submissions, each waiting for a value of its own, which the host then signals one by one.
    fn pending(&self, depth: u64) -> Result<Duration> {
        let (queue, start, done) = (self.queue()?, self.semaphore()?, self.semaphore()?);
        let begin = Instant::now();
        for value in 1..=depth {
            queue.submit(Submission::new().wait(&start, value).signal(&done, value))?;
        }
        for value in 1..=depth {
            start.signal(value)?;
        }
        done.wait(depth, Deadline::NEVER)?;
        self.device.wait_idle(Deadline::NEVER)?;
        Ok(begin.elapsed())
    }

    /// 50 submissions that wait for that many semaphores each.
    fn waits(&self, waits: u64) -> Result<Duration> {
        let (queue, done) = (self.queue()?, self.semaphore()?);
        let starts = (0..waits).map(|_| self.semaphore()).collect::<Result<Vec<_>>>()?;
        let begin = Instant::now();
        for value in 1..=50 {
            let waiting =
                starts.iter().fold(Submission::new(), |submission, start| submission.wait(start, 1));
            queue.submit(waiting.signal(&done, value))?;
        }
        starts.iter().try_for_each(|start| start.signal(1))?;
        done.wait(50, Deadline::NEVER)?;
        self.device.wait_idle(Deadline::NEVER)?;
        Ok(begin.elapsed())
    }

    /// That many semaphores, with 10 submissions waiting for each.
    fn semaphores(&self, semaphores: u64) -> Result<Duration> {
        let (queue, done) = (self.queue()?, self.semaphore()?);
        let starts = (0..semaphores).map(|_| self.semaphore()).collect::<Result<Vec<_>>>()?;
        let mut value = 0;
        let begin = Instant::now();
        for wanted in 1..=10 {
            for start in &starts {
                value += 1;
                queue.submit(Submission::new().wait(start, wanted).signal(&done, value))?;
            }
        }
        starts.iter().try_for_each(|start| start.signal(10))?;
        done.wait(value, Deadline::NEVER)?;
        self.device.wait_idle(Deadline::NEVER)?;
        Ok(begin.elapsed())
    }

    /// That many queues, with 200 submissions each.
    fn queues(&self, queues: u64) -> Result<Duration> {
        let queues = (0..queues).map(|_| self.queue()).collect::<Result<Vec<_>>>()?;
        let dones = queues.iter().map(|_| self.semaphore()).collect::<Result<Vec<_>>>()?;
        let begin = Instant::now();
        for value in 1..=200 {
            for (queue, done) in queues.iter().zip(&dones) {
                queue.submit(Submission::new().signal(done, value))?;
            }
        }
        self.device.wait_idle(Deadline::NEVER)?;
        Ok(begin.elapsed())
    }

    /// That many threads, with 1,000 submissions each to one queue.
    fn threads(&self, threads: u64) -> Result<Duration> {
        let queue = self.queue()?;
        let dones = (0..threads).map(|_| self.semaphore()).collect::<Result<Vec<_>>>()?;
        let begin = Instant::now();
        std::thread::scope(|scope| {
            let submit = |done: &Arc<dyn Semaphore>| {
                (1..=1_000)
                    .try_for_each(|value| queue.submit(Submission::new().signal(done, value)).map(drop))
            };
            let running: Vec<_> = dones.iter().map(|done| scope.spawn(move || submit(done))).collect();
            running.into_iter().try_for_each(|thread| match thread.join() {
                Ok(result) => result,
                Err(_) => Err(Error::new(hal_core::ErrorKind::Internal, "a submitting thread panicked")),
            })
        })?;
        self.device.wait_idle(Deadline::NEVER)?;
        Ok(begin.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_series_runs() {
        let bench = Bench { device: rig::mock(Costs::default()).unwrap(), quick: true };
        let runs = [Bench::pending, Bench::waits, Bench::semaphores, Bench::queues, Bench::threads];
        for run in runs {
            run(&bench, 3).unwrap();
        }
        let counters = bench.device.counters();
        assert_eq!(counters.retired, 3 + 50 + 30 + 600 + 3_000);
        assert_eq!(counters.failed, 0);
    }
}
