//! Submissions of one queue that are ready run in the order of their numbers, whoever submitted them.

use crate::Outcome;
use crate::support::{Gate, Gpu, Random, contents, host_buffer, on_threads, queues, record, soon, timelines};
use hal_core::{BufferRange, BufferRef, Device, Error, ErrorKind, Queue, Result, Semaphore, Submission};
use std::sync::Arc;

suite! { "sequence",
    &[] => [
        ready_from_sixteen_threads_run_in_sequence,
        gated_from_sixteen_threads_run_in_sequence,
        freed_by_a_queue_they_run_in_sequence,
        gated_and_ready_each_run_in_sequence,
        sixteen_threads_leave_no_gap_on_any_queue,
        submissions_see_all_before_them,
        producers_on_two_queues_raise_one_timeline,
        producers_on_two_queues_take_turns,
        failed_submissions_have_numbers,
        refused_submissions_have_none,
        one_recording_a_hundred_times_in_flight,
        submitted_from_callbacks_they_run_in_sequence,
    ],
}

const THREADS: usize = 16;
const EACH: usize = 40;
const WORDS: usize = 64;

/// Words that a submission overwrites: which ones, and with what.
#[derive(Clone, Copy)]
struct Stroke {
    sequence: u64,
    from: usize,
    to: usize,
    tag: u32,
}

/// Memory that many overwrite in part. What is left tells the order.
struct Canvas<'a> {
    gpu: Gpu<'a>,
    words: Arc<dyn hal_core::Buffer>,
}

impl<'a> Canvas<'a> {
    fn new(device: &'a Arc<dyn Device>) -> Result<Self> {
        let gpu = Gpu::new(device)?;
        let words = gpu.zeros::<u32>(WORDS)?;
        Ok(Canvas { gpu, words })
    }

    /// Submits a stroke of this tag.
    fn paint(&self, tag: u32, submission: Submission) -> Result<Stroke> {
        let mut random = Random::new(tag.into());
        let from = random.below(WORDS);
        let to = from + 1 + random.below(WORDS - from);
        let (offset, length) = (4 * from as u64, 4 * (to - from) as u64);
        let commands =
            record(self.gpu.device, |encoder| encoder.fill(&self.words, offset, length, &tag.to_le_bytes()))?;
        let sequence = self.gpu.queue.submit(submission.execute(&commands))?.sequence;
        Ok(Stroke { sequence, from, to, tag })
    }

    /// Sixteen threads paint at once.
    fn paint_on_threads(&self, submission: impl Fn(u32) -> Submission + Sync) -> Outcome<Vec<Stroke>> {
        let painted = on_threads(THREADS, |thread| {
            let tags = (thread * EACH + 1) as u32..=((thread + 1) * EACH) as u32;
            Ok(tags.map(|tag| self.paint(tag, submission(tag))).collect::<Result<Vec<_>>>()?)
        })?;
        Ok(painted.concat())
    }

    /// Whether memory is as if the strokes had been made in sequence.
    fn check(&self, mut strokes: Vec<Stroke>) -> Outcome {
        self.gpu.queue.wait_idle(soon())?;
        strokes.sort_by_key(|stroke| stroke.sequence);
        let mut expected = [0; WORDS];
        for stroke in strokes {
            expected[stroke.from..stroke.to].fill(stroke.tag);
        }
        check_eq!(self.gpu.download::<u32>(&self.words)?, expected);
        Ok(())
    }
}

/// Nothing to wait for.
fn ready_from_sixteen_threads_run_in_sequence(device: &Arc<dyn Device>) -> Outcome {
    let canvas = Canvas::new(device)?;
    let strokes = canvas.paint_on_threads(|_| Submission::new())?;
    canvas.check(strokes)
}

/// One signal of the host frees them all.
fn gated_from_sixteen_threads_run_in_sequence(device: &Arc<dyn Device>) -> Outcome {
    let canvas = Canvas::new(device)?;
    let gate = Gate::new(device)?;
    let strokes = canvas.paint_on_threads(|_| Submission::new().wait(gate.semaphore(), 1))?;
    check!(!canvas.gpu.queue.is_idle());
    gate.open()?;
    canvas.check(strokes)
}

/// One submission of another queue frees them all.
fn freed_by_a_queue_they_run_in_sequence(device: &Arc<dyn Device>) -> Outcome {
    let canvas = Canvas::new(device)?;
    let freeing = device.create_semaphore(0)?;
    let strokes = canvas.paint_on_threads(|_| Submission::new().wait(&freeing, 1))?;
    let other = device.create_queue(&Default::default())?;
    other.submit(Submission::new().signal(&freeing, 1))?;
    canvas.check(strokes)
}

/// Two pictures by one queue: what waits paints one, what does not the other.
fn gated_and_ready_each_run_in_sequence(device: &Arc<dyn Device>) -> Outcome {
    let ready = Canvas::new(device)?;
    let mut gated = Canvas::new(device)?;
    gated.gpu.queue = ready.gpu.queue.clone();
    let gate = Gate::new(device)?;
    let mut strokes = (Vec::new(), Vec::new());
    for thread in on_threads(THREADS, |thread| {
        let mut both = (Vec::new(), Vec::new());
        for tag in (thread * EACH + 1) as u32..=((thread + 1) * EACH) as u32 {
            both.0.push(ready.paint(tag, Submission::new())?);
            both.1.push(gated.paint(tag, Submission::new().wait(gate.semaphore(), 1))?);
        }
        Ok(both)
    })? {
        strokes.0.extend(thread.0);
        strokes.1.extend(thread.1);
    }
    gate.open()?;
    ready.check(strokes.0)?;
    gated.check(strokes.1)
}

/// Each queue counts what it takes, from whichever thread.
fn sixteen_threads_leave_no_gap_on_any_queue(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 4)?;
    let submit = |thread: usize, step: usize| queues[(thread + step) % 4].submit(Submission::new());
    let ids = on_threads(THREADS, |thread| {
        Ok((0..EACH).map(|step| submit(thread, step)).collect::<Result<Vec<_>>>()?)
    })?;
    for queue in &queues {
        let own = |id: &&hal_core::SubmissionId| id.queue == queue.id();
        for thread in &ids {
            check!(thread.iter().filter(own).is_sorted(), "{thread:?}");
        }
        let mut all: Vec<_> = ids.iter().flatten().filter(own).map(|id| id.sequence).collect();
        all.sort_unstable();
        check!(all.iter().copied().eq(0..(THREADS * EACH / 4) as u64), "{all:?}");
    }
    Ok(())
}

/// Without a semaphore between them: each moves a block on by one place.
fn submissions_see_all_before_them(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let buffer = host_buffer(device, &[0_u8; 301 * 4])?;
    buffer.write(0, &[9, 8, 7, 6])?;
    for step in 0..300 {
        let commands = record(device, |encoder| encoder.copy(&buffer, step * 4, &buffer, step * 4 + 4, 4))?;
        queue.submit(Submission::new().execute(&commands))?;
    }
    queue.wait_idle(soon())?;
    check_eq!(contents::<u8>(&buffer)?[1200..], [9, 8, 7, 6]);
    Ok(())
}

/// Without any order between them: what comes late and low changes nothing.
fn producers_on_two_queues_raise_one_timeline(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let timeline = device.create_semaphore(0)?;
    on_threads(2, |thread| {
        for value in (1..=400).filter(|value| value % 2 == thread as u64) {
            queues[thread].submit(Submission::new().signal(&timeline, value))?;
        }
        Ok(())
    })?;
    let mut last = 0;
    while last < 400 {
        timeline.wait(last + 1, soon())?;
        let payload = timeline.query()?;
        check!(payload > last && payload <= 400, "{payload} after {last}");
        last = payload;
    }
    device.wait_idle(soon())?;
    check_eq!(timeline.query()?, 400);
    Ok(())
}

/// Odd values come from one queue and even ones from the other, each after the other's.
fn producers_on_two_queues_take_turns(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let timeline = device.create_semaphore(0)?;
    let buffer = host_buffer(device, &[0_u8; 402])?;
    buffer.write(0, &[77])?;
    on_threads(2, |thread| {
        for value in (1..=400).filter(|value| value % 2 == thread as u64) {
            let commands = record(device, |encoder| encoder.copy(&buffer, value - 1, &buffer, value, 1))?;
            let submission = Submission::new().wait(&timeline, value - 1).execute(&commands);
            queues[thread].submit(submission.signal(&timeline, value))?;
        }
        Ok(())
    })?;
    timeline.wait(400, soon())?;
    let found = contents::<u8>(&buffer)?;
    check!(found[..=400].iter().all(|&byte| byte == 77));
    check_eq!(found[401], 0);
    Ok(())
}

/// What is taken and then fails has been taken.
fn failed_submissions_have_numbers(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let failed = device.create_semaphore(0)?;
    failed.fail(Error::new(ErrorKind::Aborted, "counts all the same"));
    for sequence in 0..10 {
        let submission = Submission::new();
        let submission = if sequence % 2 == 0 { submission.wait(&failed, 1) } else { submission };
        check_eq!(queue.submit(submission)?.sequence, sequence);
    }
    queue.wait_idle(soon())?;
    Ok(())
}

/// What is refused has never been there.
fn refused_submissions_have_none(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let target = BufferRef::Slot { slot: 0, offset: 0, length: 16 };
    let commands = record(device, |encoder| encoder.fill_ref(target, &[1]))?;
    let before = device.counters().submitted;
    for sequence in 0..5 {
        check_err!(queue.submit(Submission::new().execute(&commands)), ErrorKind::InvalidArgument);
        check_err!(
            queue.submit(Submission::new().execute_with(&commands, Vec::<BufferRange>::new())),
            ErrorKind::InvalidArgument
        );
        check_eq!(queue.submit(Submission::new())?.sequence, sequence);
    }
    queue.wait_idle(soon())?;
    check_eq!(device.counters().submitted - before, 5);
    Ok(())
}

/// A recording is not used up, and its submissions do not get in each other's way.
fn one_recording_a_hundred_times_in_flight(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 4)?;
    let gate = Gate::new(device)?;
    let ends = timelines(device, 100)?;
    let table = (0..100).map(|_| host_buffer(device, &[0_u8; 16])).collect::<Result<Vec<_>>>()?;
    let target = BufferRef::Slot { slot: 0, offset: 4, length: 8 };
    let commands = record(device, |encoder| encoder.fill_ref(target, &[5]))?;
    for (index, (buffer, end)) in table.iter().zip(&ends).enumerate() {
        let submission = Submission::new().wait(gate.semaphore(), 1);
        let submission = submission.execute_with(&commands, vec![buffer.into()]).signal(end, 1);
        queues[index % 4].submit(submission)?;
    }
    check!(table.iter().all(|buffer| contents::<u8>(buffer).is_ok_and(|bytes| bytes == [0; 16])));
    gate.open()?;
    for (buffer, end) in table.iter().zip(&ends) {
        end.wait(1, soon())?;
        check_eq!(contents::<u8>(buffer)?, [0, 0, 0, 0, 5, 5, 5, 5, 5, 5, 5, 5, 0, 0, 0, 0]);
    }
    Ok(())
}

/// The end of each submits the next.
fn submitted_from_callbacks_they_run_in_sequence(device: &Arc<dyn Device>) -> Outcome {
    const LAST: u64 = 100;
    fn next(queue: Arc<dyn Queue>, timeline: Arc<dyn Semaphore>, value: u64) -> Result<()> {
        let id = queue.submit(Submission::new().signal(&timeline, value))?;
        let again = timeline.clone();
        let callback = move |outcome: Result<()>| {
            let outcome = outcome.and_then(|()| match value {
                LAST => Ok(()),
                _ if id.sequence + 1 == value => next(queue, again.clone(), value + 1),
                _ => Err(Error::new(ErrorKind::Internal, format!("{id:?} for value {value}"))),
            });
            if let Err(error) = outcome {
                again.fail(error);
            }
        };
        timeline.on_reached(value, Box::new(callback));
        Ok(())
    }
    let timeline = device.create_semaphore(0)?;
    next(device.create_queue(&Default::default())?, timeline.clone(), 1)?;
    timeline.wait(LAST, soon())?;
    Ok(())
}
