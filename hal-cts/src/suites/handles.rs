//! Objects outlive what they came from, and come and go in callbacks.

use crate::support::{Gate, contents, eventually, host_buffer, record, soon, timelines};
use crate::{Failure, Outcome};
use hal_core::{Device, Result, Submission};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

suite! { "handles",
    &[] => [
        timeline_outlives_its_queue,
        timeline_keeps_no_queue_busy,
        dropped_timeline_frees_its_callbacks,
        device_of_a_queue_is_the_device,
        device_reached_through_a_queue_does_everything,
        queue_dropped_in_a_callback,
        everything_made_in_a_callback,
        wait_that_nobody_can_end_is_left_behind,
    ],
}

/// Reached, waited for, and raised further by the host and by another queue.
fn timeline_outlives_its_queue(device: &Arc<dyn Device>) -> Outcome {
    let timeline = device.create_semaphore(0)?;
    device.create_queue(&Default::default())?.submit(Submission::new().signal(&timeline, 1))?;
    timeline.wait(1, soon())?;
    timeline.signal(2)?;
    device
        .create_queue(&Default::default())?
        .submit(Submission::new().wait(&timeline, 2).signal(&timeline, 3))?;
    timeline.wait(3, soon())?;
    check_eq!(timeline.query()?, 3);
    Ok(())
}

/// Held for ever by the case; the queue has ended and been reused long since.
fn timeline_keeps_no_queue_busy(device: &Arc<dyn Device>) -> Outcome {
    let kept = timelines(device, 100)?;
    for timeline in &kept {
        let queue = device.create_queue(&Default::default())?;
        queue.submit(Submission::new().signal(timeline, 1))?;
    }
    eventually("no outstanding queue", || device.counters().queues.outstanding == 0)?;
    for timeline in &kept {
        check_eq!(timeline.query()?, 1);
    }
    Ok(())
}

/// They can never run.
fn dropped_timeline_frees_its_callbacks(device: &Arc<dyn Device>) -> Outcome {
    let timeline = device.create_semaphore(0)?;
    let owned = Arc::new(());
    for value in 1..=100 {
        let held = owned.clone();
        timeline.on_reached(value, Box::new(move |_| drop(held)));
    }
    check_eq!(Arc::strong_count(&owned), 101);
    drop(timeline);
    check_eq!(Arc::strong_count(&owned), 1);
    Ok(())
}

/// By identity.
fn device_of_a_queue_is_the_device(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let same = queue.device();
    check_eq!(same.id(), device.id());
    check_eq!(same.info().uuid, device.info().uuid);
    let again = same.create_queue(&Default::default())?;
    check!(again.id() != queue.id());
    check_eq!(again.device().id(), device.id());
    Ok(())
}

/// Only queues are held; each makes the next, and goes.
fn device_reached_through_a_queue_does_everything(device: &Arc<dyn Device>) -> Outcome {
    let mut queue = device.clone().create_queue(&Default::default())?;
    let timeline = queue.device().create_semaphore(0)?;
    let buffer = host_buffer(&queue.device(), &[0_u8; 50])?;
    for step in 0..50 {
        let commands = record(&queue.device(), |encoder| encoder.fill(&buffer, step, 1, &[1]))?;
        queue
            .submit(Submission::new().wait(&timeline, step).execute(&commands).signal(&timeline, step + 1))?;
        queue = queue.device().create_queue(&Default::default())?;
    }
    timeline.wait(50, soon())?;
    queue.device().wait_idle(soon())?;
    check_eq!(contents::<u8>(&buffer)?, [1; 50]);
    Ok(())
}

/// The last handle goes on the thread that tells of the queue's own work.
fn queue_dropped_in_a_callback(device: &Arc<dyn Device>) -> Outcome {
    let gate = Gate::new(device)?;
    let (middle, end) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    for value in 1..=20 {
        let queue = device.create_queue(&Default::default())?;
        queue.submit(Submission::new().wait(gate.semaphore(), 1).signal(&middle, value))?;
        queue.submit(Submission::new().wait(&middle, value).signal(&end, value))?;
        middle.on_reached(value, Box::new(move |_| drop(queue)));
    }
    gate.open()?;
    end.wait(20, soon())?;
    eventually("no live queue", || device.counters().queues.live == 0)
}

/// Queue, buffer, recording and timeline.
fn everything_made_in_a_callback(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let start = device.create_semaphore(0)?;
    let inside = device.clone();
    let (sender, receiver) = channel();
    let make = move || -> Result<_> {
        let result = host_buffer(&inside, &[0_u8; 16])?;
        let commands = record(&inside, |encoder| encoder.fill(&result, 0, 16, &[4]))?;
        let end = inside.create_semaphore(0)?;
        let queue = inside.create_queue(&Default::default())?;
        queue.submit(Submission::new().execute(&commands).signal(&end, 1))?;
        Ok((result, end))
    };
    start.on_reached(1, Box::new(move |outcome| _ = sender.send(outcome.and_then(|()| make()))));
    queue.submit(Submission::new().signal(&start, 1))?;
    let made = receiver.recv_timeout(Duration::from_secs(20));
    let Ok(made) = made else { return Err(Failure::new("the callback did not run")) };
    let (result, end) = made?;
    end.wait(1, soon())?;
    check_eq!(contents::<u8>(&result)?, [4; 16]);
    Ok(())
}

/// Its timeline is nobody's any more. The device must be able to close all the same, which is seen after the case.
fn wait_that_nobody_can_end_is_left_behind(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let (end, next) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    for _ in 0..10 {
        queue.submit(Submission::new().wait(&device.create_semaphore(0)?, 1).signal(&end, 1))?;
    }
    queue.submit(Submission::new().signal(&next, 1))?;
    next.wait(1, soon())?;
    check_eq!(end.query()?, 0);
    Ok(())
}
