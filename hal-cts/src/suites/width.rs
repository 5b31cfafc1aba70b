//! Any number of waits, signals, command buffers and dispatches in one submission; what is named twice counts once.

use crate::support::{Gate, Gpu, Launch, Random, contents, host_buffer, queues, record, soon, timelines};
use crate::{Outcome, Requirement, kernels};
use hal_core::{BufferRange, Device, Dispatch, Error, ErrorKind, Result, Submission};
use std::sync::Arc;

suite! { "width",
    &[] => [
        any_number_of_waits_for_the_host,
        any_number_of_waits_for_queues,
        any_number_of_waits_for_one_submission,
        any_number_of_reached_waits,
        any_number_of_signals,
        any_number_of_signals_release_dependants,
        two_hundred_waits_and_signals,
        thousand_waits_for_one_timeline_are_one,
        thousand_signals_of_one_timeline_are_one,
        waits_for_and_signals_one_timeline,
        one_failed_of_two_hundred_waits_fails_it,
        two_hundred_signals_fail_together,
        hundred_command_buffers_run_in_order,
    ],
    &[Requirement::Kernels] => [
        any_number_of_dispatches_between_barriers,
        any_number_of_barriers,
    ],
}

const WAITS: [usize; 4] = [1, 33, 65, 200];
const SIGNALS: [usize; 3] = [1, 40, 200];

/// Signalled in any order; one is kept back.
fn any_number_of_waits_for_the_host(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    for count in WAITS {
        let waits = timelines(device, count)?;
        let (end, next) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
        let all = waits.iter().fold(Submission::new(), |submission, wait| submission.wait(wait, 1));
        queue.submit(all.signal(&end, 1))?;
        for (step, wait) in Random::new(count as u64).shuffled(&waits).into_iter().enumerate() {
            if step + 1 == count {
                queue.submit(Submission::new().signal(&next, 1))?;
                next.wait(1, soon())?;
                check_eq!(end.query()?, 0, "{step} of {count} were enough");
            }
            wait.signal(1)?;
        }
        end.wait(1, soon())?;
    }
    Ok(())
}

/// A submission for each, on four queues, before and after the one that waits.
fn any_number_of_waits_for_queues(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 4)?;
    for count in WAITS {
        let waits = timelines(device, count)?;
        let end = device.create_semaphore(0)?;
        let (before, after) = waits.split_at(count / 2);
        let submit = |parts: &[_]| {
            let mut parts = parts.iter().enumerate();
            parts.try_for_each(|(index, part)| {
                queues[index % 4].submit(Submission::new().signal(part, 1)).map(|_| ())
            })
        };
        submit(before)?;
        let all = waits.iter().fold(Submission::new(), |submission, wait| submission.wait(wait, 1));
        queues[0].submit(all.signal(&end, 1))?;
        submit(after)?;
        end.wait(1, soon())?;
    }
    Ok(())
}

/// One submission gives them all.
fn any_number_of_waits_for_one_submission(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    for count in WAITS {
        let gate = Gate::new(device)?;
        let parts = timelines(device, count)?;
        let end = device.create_semaphore(0)?;
        let producer = Submission::new().wait(gate.semaphore(), 1);
        queues[0].submit(parts.iter().fold(producer, |submission, part| submission.signal(part, 1)))?;
        let all = parts.iter().fold(Submission::new(), |submission, part| submission.wait(part, 1));
        queues[1].submit(all.signal(&end, 1))?;
        check_eq!(end.query()?, 0);
        gate.open()?;
        end.wait(1, soon())?;
    }
    Ok(())
}

/// What is there already delays nothing.
fn any_number_of_reached_waits(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    for count in WAITS {
        let reached = (0..count as u64).map(|n| device.create_semaphore(n)).collect::<Result<Vec<_>>>()?;
        let end = device.create_semaphore(0)?;
        let all = reached.iter().zip(0..).fold(Submission::new(), |all, (wait, n)| all.wait(wait, n));
        queue.submit(all.signal(&end, 1))?;
        end.wait(1, soon())?;
    }
    Ok(())
}

/// A value of its own for each.
fn any_number_of_signals(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    for count in SIGNALS {
        let ends = timelines(device, count)?;
        let all = ends.iter().zip(1..).fold(Submission::new(), |all, (end, value)| all.signal(end, value));
        queue.submit(all)?;
        for (end, value) in ends.iter().zip(1..) {
            end.wait(value, soon())?;
            check_eq!(end.query()?, value);
        }
    }
    Ok(())
}

/// A submission waits for each.
fn any_number_of_signals_release_dependants(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 4)?;
    for count in SIGNALS {
        let gate = Gate::new(device)?;
        let (middle, ends) = (timelines(device, count)?, timelines(device, count)?);
        for (index, (from, to)) in middle.iter().zip(&ends).enumerate() {
            queues[index % 4].submit(Submission::new().wait(from, 1).signal(to, 1))?;
        }
        let one = Submission::new().wait(gate.semaphore(), 1);
        queues[0].submit(middle.iter().fold(one, |submission, part| submission.signal(part, 1)))?;
        gate.open()?;
        for end in &ends {
            end.wait(1, soon())?;
        }
    }
    Ok(())
}

/// A layer of eight submissions, each of which waits for and signals two hundred.
fn two_hundred_waits_and_signals(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 8)?;
    let layers = (0..=8).map(|_| timelines(device, 200)).collect::<Result<Vec<_>>>()?;
    for (step, pair) in layers.windows(2).enumerate() {
        let waits = pair[0].iter().fold(Submission::new(), |submission, wait| submission.wait(wait, 1));
        queues[step].submit(pair[1].iter().fold(waits, |submission, end| submission.signal(end, 1)))?;
    }
    for start in &layers[0] {
        start.signal(1)?;
    }
    for end in &layers[8] {
        end.wait(1, soon())?;
    }
    Ok(())
}

/// The largest value counts, wherever it stands.
fn thousand_waits_for_one_timeline_are_one(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let (start, end) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    let values = Random::new(4).shuffled(1..=1000);
    let all = values.into_iter().fold(Submission::new(), |all, value| all.wait(&start, value));
    check_eq!(all.clone().parts().waits.len(), 1);
    queue.submit(all.signal(&end, 1))?;
    let next = device.create_semaphore(0)?;
    start.signal(999)?;
    queue.submit(Submission::new().signal(&next, 1))?;
    next.wait(1, soon())?;
    check_eq!(end.query()?, 0);
    start.signal(1000)?;
    end.wait(1, soon())?;
    Ok(())
}

/// The payload goes to the largest value at once: nobody sees another.
fn thousand_signals_of_one_timeline_are_one(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let end = device.create_semaphore(0)?;
    let values = Random::new(5).shuffled(1..=1000);
    let all = values.into_iter().fold(Submission::new(), |all, value| all.signal(&end, value));
    check_eq!(all.clone().parts().signals.len(), 1);
    queue.submit(all)?;
    end.wait(1, soon())?;
    check_eq!(end.query()?, 1000);
    Ok(())
}

/// A step along a timeline.
fn waits_for_and_signals_one_timeline(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let timeline = device.create_semaphore(0)?;
    for step in Random::new(6).shuffled(0..100_u64) {
        let submission = Submission::new().wait(&timeline, step * 10 + 5).signal(&timeline, step * 10 + 15);
        queues[step as usize % 2].submit(submission)?;
    }
    check_eq!(timeline.query()?, 0);
    timeline.signal(5)?;
    timeline.wait(1005, soon())?;
    check_eq!(timeline.query()?, 1005);
    Ok(())
}

/// The rest is not waited for.
fn one_failed_of_two_hundred_waits_fails_it(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let waits = timelines(device, 200)?;
    let end = device.create_semaphore(0)?;
    let all = waits.iter().fold(Submission::new(), |submission, wait| submission.wait(wait, 1));
    queue.submit(all.signal(&end, 1))?;
    waits[123].fail(Error::new(ErrorKind::Aborted, "number 123"));
    let error = check_err!(end.wait(1, soon()), ErrorKind::Aborted);
    check!(error.message().contains("number 123"), "{error}");
    queue.wait_idle(soon())?;
    Ok(())
}

/// None is left out.
fn two_hundred_signals_fail_together(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let start = device.create_semaphore(0)?;
    let ends = timelines(device, 200)?;
    let waiting = Submission::new().wait(&start, 1);
    queue.submit(ends.iter().fold(waiting, |submission, end| submission.signal(end, 1)))?;
    start.fail(Error::new(ErrorKind::Aborted, "for all"));
    for end in &ends {
        check_err!(end.wait(1, soon()), ErrorKind::Aborted);
    }
    Ok(())
}

/// Each moves a block on by one place.
fn hundred_command_buffers_run_in_order(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = host_buffer(device, &[0_u8; 101 * 4])?;
    buffer.write(0, &[1, 2, 3, 4])?;
    let end = device.create_semaphore(0)?;
    let mut submission = Submission::new();
    for step in 0..100 {
        let commands = record(device, |encoder| encoder.copy(&buffer, step * 4, &buffer, step * 4 + 4, 4))?;
        submission = submission.execute(&commands);
    }
    gpu.queue.submit(submission.signal(&end, 1))?;
    end.wait(1, soon())?;
    check_eq!(contents::<u8>(&buffer)?[400..], [1, 2, 3, 4]);
    Ok(())
}

/// None of them touches what another does; the next round adds to every one.
fn any_number_of_dispatches_between_barriers(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::ADD_ONE.load(device)?;
    for count in [33, 64, 65, 200] {
        let x = gpu.zeros::<u32>(16 * count)?;
        gpu.run(|encoder| {
            for _ in 0..3 {
                for part in 0..count as u64 {
                    let range = BufferRange::new(&x, part * 64, 64);
                    encoder
                        .launch(Dispatch::new(&executable, "add_one")?.block(16).arg(range).arg(16_u32))?;
                }
                encoder.barrier();
            }
            Ok(())
        })?;
        check!(gpu.download::<u32>(&x)?.into_iter().all(|number| number == 3), "{count} dispatches");
    }
    Ok(())
}

/// Three hundred in a row, each needed.
fn any_number_of_barriers(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::ADD_ONE.load(device)?;
    let x = gpu.zeros::<u32>(8)?;
    gpu.run(|encoder| {
        for _ in 0..300 {
            encoder.launch(Dispatch::new(&executable, "add_one")?.block(8).arg(&x).arg(8_u32))?;
            encoder.barrier();
        }
        Ok(())
    })?;
    check_eq!(gpu.download::<u32>(&x)?, [300; 8]);
    Ok(())
}
