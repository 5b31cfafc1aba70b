//! What a failure leaves alone: everything that does not depend on it.

use super::spread::{all_failed, fail};
use crate::support::{Gate, Spinner, contents, host_buffer, queues, record, soon, timelines};
use crate::{Outcome, Requirement};
use hal_core::{Deadline, Device, ErrorKind, Submission};
use std::sync::Arc;

suite! { "spared",
    &[] => [
        every_other_submission_fails,
        later_work_on_the_same_queue_is_untouched,
        work_of_other_queues_is_untouched,
        second_producer_of_a_failed_timeline_completes,
        hosts_failure_of_a_signal_stays,
        signal_that_came_before_the_failure_is_kept,
        same_work_again_after_a_failure,
        thousand_failures_do_not_lose_the_device,
    ],
    &[Requirement::Kernels] => [work_that_runs_is_untouched],
}

/// Of a thousand on one queue; those between them do their work.
fn every_other_submission_fails(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let (bad, good) = (device.create_semaphore(0)?, Gate::new(device)?);
    let result = host_buffer(device, &[0_u8; 1000])?;
    let ends = timelines(device, 1000)?;
    for (number, end) in ends.iter().enumerate() {
        let commands = record(device, |encoder| encoder.fill(&result, number as u64, 1, &[1]))?;
        let start = if number % 2 == 0 { &bad } else { good.semaphore() };
        queue.submit(Submission::new().wait(start, 1).execute(&commands).signal(end, 1))?;
    }
    fail(&bad, "every other");
    good.open()?;
    all_failed(ends.iter().step_by(2))?;
    for end in ends.iter().skip(1).step_by(2) {
        end.wait(1, soon())?;
    }
    check!(contents::<u8>(&result)?.chunks(2).all(|pair| pair == [0, 1]));
    Ok(())
}

/// What was submitted before the failure and what comes after it.
fn later_work_on_the_same_queue_is_untouched(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let gate = Gate::new(device)?;
    let (start, bad, good) =
        (device.create_semaphore(0)?, device.create_semaphore(0)?, device.create_semaphore(0)?);
    for value in 1..=50 {
        queue.submit(Submission::new().wait(&start, value).signal(&bad, value))?;
        queue.submit(Submission::new().wait(gate.semaphore(), 1).signal(&good, value))?;
    }
    fail(&start, "half of it");
    for value in 51..=100 {
        queue.submit(Submission::new().wait(&bad, value))?;
        queue.submit(Submission::new().wait(&good, value - 1).signal(&good, value))?;
    }
    all_failed([&bad])?;
    check_eq!(good.query()?, 0);
    gate.open()?;
    good.wait(100, soon())?;
    Ok(())
}

/// Though they wait for some of the same timelines.
fn work_of_other_queues_is_untouched(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 8)?;
    let (shared, failing) = (Gate::new(device)?, device.create_semaphore(0)?);
    let ends = timelines(device, 8)?;
    for (number, (queue, end)) in queues.iter().zip(&ends).enumerate() {
        let submission = Submission::new().wait(shared.semaphore(), 1).signal(end, 1);
        queue.submit(if number == 3 { submission.wait(&failing, 1) } else { submission })?;
    }
    fail(&failing, "the fourth");
    all_failed([&ends[3]])?;
    shared.open()?;
    for (_, end) in ends.iter().enumerate().filter(|(number, _)| *number != 3) {
        end.wait(1, soon())?;
    }
    Ok(())
}

/// It has nothing to do with the first.
fn second_producer_of_a_failed_timeline_completes(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let gate = Gate::new(device)?;
    let (start, shared, end) =
        (device.create_semaphore(0)?, device.create_semaphore(0)?, device.create_semaphore(0)?);
    queues[0].submit(Submission::new().wait(&start, 1).signal(&shared, 1))?;
    queues[1].submit(Submission::new().wait(gate.semaphore(), 1).signal(&shared, 2).signal(&end, 1))?;
    fail(&start, "of the first");
    all_failed([&shared])?;
    gate.open()?;
    end.wait(1, soon())?;
    check_err!(shared.wait(2, Deadline::NOW), ErrorKind::Aborted);
    Ok(())
}

/// The submission completes and is not counted as failed.
fn hosts_failure_of_a_signal_stays(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let gate = Gate::new(device)?;
    let before = device.counters().failed;
    let ends = timelines(device, 3)?;
    let waiting = Submission::new().wait(gate.semaphore(), 1);
    queue.submit(ends.iter().fold(waiting, |all, end| all.signal(end, 1)))?;
    fail(&ends[1], "the host's own reason");
    gate.open()?;
    ends[0].wait(1, soon())?;
    ends[2].wait(1, soon())?;
    queue.wait_idle(soon())?;
    let error = check_err!(ends[1].query(), ErrorKind::Aborted);
    check!(error.message().contains("the host's own reason"), "{error}");
    check_eq!(device.counters().failed, before);
    Ok(())
}

/// Who has been released runs on, and what he signals stays signalled.
fn signal_that_came_before_the_failure_is_kept(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    for round in 0..50 {
        let timeline = device.create_semaphore(0)?;
        let ends = timelines(device, 2)?;
        queues[0].submit(Submission::new().wait(&timeline, 1).signal(&ends[0], 1))?;
        queues[1].submit(Submission::new().wait(&timeline, 2).signal(&ends[1], 1))?;
        timeline.signal(1)?;
        fail(&timeline, "after the first");
        all_failed(&ends[1..])?;
        ends[0].wait(1, soon())?;
        check_eq!(ends[0].query()?, 1, "round {round}");
    }
    Ok(())
}

/// The same recording, the same memory, the same queue; new timelines.
fn same_work_again_after_a_failure(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let buffer = host_buffer(device, &[0_u8; 17])?;
    buffer.write(0, &[1])?;
    let commands = record(device, |encoder| encoder.copy(&buffer, 0, &buffer, 1, 1))?;
    for round in 0..20 {
        let (start, end) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
        buffer.write(1, &[0])?;
        queue.submit(Submission::new().wait(&start, 1).execute(&commands).signal(&end, 1))?;
        if round % 2 == 0 {
            fail(&start, "this time");
            all_failed([&end])?;
        } else {
            start.signal(1)?;
            end.wait(1, soon())?;
        }
        queue.wait_idle(soon())?;
        check_eq!(contents::<u8>(&buffer)?[1], (round % 2) as u8, "round {round}");
    }
    Ok(())
}

/// Nor do they use anything up.
fn thousand_failures_do_not_lose_the_device(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    for _ in 0..1000 {
        let (start, end) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
        queue.submit(Submission::new().wait(&start, 1).signal(&end, 1))?;
        fail(&start, "one of a thousand");
        all_failed([&end])?;
    }
    check!(device.lost().is_none());
    let end = device.create_semaphore(0)?;
    queue.submit(Submission::new().signal(&end, 1))?;
    end.wait(1, soon())?;
    Ok(())
}

/// On the same queue and on another.
fn work_that_runs_is_untouched(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let start = device.create_semaphore(0)?;
    let spinners = [Spinner::new(device)?, Spinner::new(device)?];
    let (runs, ends) = (timelines(device, 2)?, timelines(device, 2)?);
    for number in 0..2 {
        let running = Submission::new().execute(spinners[number].commands());
        queues[number].submit(running.signal(&runs[number], 1))?;
        queues[number].submit(Submission::new().wait(&start, 1).signal(&ends[number], 1))?;
    }
    fail(&start, "while others run");
    all_failed(&ends)?;
    for (spinner, run) in spinners.iter().zip(&runs) {
        check_eq!(run.query()?, 0);
        spinner.stop()?;
        run.wait(1, soon())?;
    }
    Ok(())
}
