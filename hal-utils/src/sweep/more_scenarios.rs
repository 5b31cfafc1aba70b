//! Beginnings and ends: of code, queues, devices; and who hears of them.

use super::stage::Stage;
use crate::mock;
use hal_core::{
    BufferRange, BufferRef, DeviceParams, Encoding, Error, ErrorKind, Fence, Result, SemaphorePoint,
    Submission, wait_any,
};
use std::sync::mpsc::channel;

pub(super) fn executables_come_and_go(stage: &Stage) -> Result<()> {
    let device = stage.device()?;
    for _ in 0..2 {
        let (first, second) = (stage.executable(&device)?, stage.executable(&device)?);
        first.entry_point("kernel0")?;
        drop(first);
        second.entry_point("kernel3")?;
        second.entry_point("kernel3")?;
    }
    Ok(())
}

pub(super) fn device_closed_with_work_pending(stage: &Stage) -> Result<()> {
    let device = stage.device()?;
    let (queue, never) = (stage.queue(&device)?, device.create_semaphore(0)?);
    let (first, second) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    let work = Submission::new().wait(&never, 1).execute(&stage.fills(&device, 1)?);
    stage.submit(&queue, work, &[(&first, 1)])?;
    stage.submit(&queue, Submission::new().wait(&first, 1), &[(&second, 1)])?;
    stage.watch(&second, 1);
    drop(queue);
    drop(device);
    match second.query() {
        // As it must be, and no failure.
        Err(error) if error.kind() == ErrorKind::Cancelled => Ok(()),
        other => other.map(drop),
    }
}

pub(super) fn device_closed_with_work_issued(stage: &Stage) -> Result<()> {
    let device = stage.device()?;
    let queues = [stage.queue(&device)?, stage.queue(&device)?];
    let done = device.create_semaphore(0)?;
    for (queue, step) in queues.iter().zip(0..) {
        let work = Submission::new().wait(&done, step).execute(&stage.fills(&device, 2)?);
        stage.submit(queue, work, &[(&done, step + 1)])?;
    }
    stage.watch(&done, 2);
    drop(device);
    drop(queues);
    done.query().map(drop)
}

pub(super) fn callbacks(stage: &Stage) -> Result<()> {
    let device = stage.device()?;
    let (queue, done) = (stage.queue(&device)?, device.create_semaphore(0)?);
    for step in 1..=2 {
        stage.submit(&queue, Submission::new().execute(&stage.fills(&device, 1)?), &[(&done, step)])?;
        stage.watch(&done, step);
    }
    stage.wait(&done, 2);
    Ok(())
}

pub(super) fn fence_waits(stage: &Stage) -> Result<()> {
    let device = stage.device()?;
    let mut fence = Fence::new();
    let queues = [stage.queue(&device)?, stage.queue(&device)?];
    for queue in &queues {
        let end = device.create_semaphore(0)?;
        stage.submit(queue, Submission::new().execute(&stage.fills(&device, 1)?), &[(&end, 1)])?;
        fence.insert(SemaphorePoint::new(&end, 1));
    }
    stage.see(wait_any(fence.points(), stage.soon()).map(drop));
    stage.see(fence.wait(stage.soon()));
    Ok(())
}

/// The second device is another driver's, and never fails by itself.
pub(super) fn two_devices(stage: &Stage) -> Result<()> {
    let device = stage.device()?;
    let (other, _) = mock::device(&DeviceParams::default());
    let queues = [stage.queue(&device)?, stage.queue(&other)?];
    let timeline = other.create_semaphore(0)?;
    for step in 0..4 {
        let on = if step % 2 == 0 { &device } else { &other };
        let work = Submission::new().wait(&timeline, step).execute(&stage.fills(on, 1)?);
        stage.submit(&queues[step as usize % 2], work, &[(&timeline, step + 1)])?;
    }
    stage.wait(&timeline, 4);
    Ok(())
}

pub(super) fn recycled_streams(stage: &Stage) -> Result<()> {
    let device = stage.device()?;
    for _ in 0..3 {
        let (queue, done) = (stage.queue(&device)?, device.create_semaphore(0)?);
        stage.submit(&queue, Submission::new().execute(&stage.fills(&device, 1)?), &[(&done, 1)])?;
        stage.wait(&done, 1);
        stage.wait_idle(&queue);
    }
    Ok(())
}

pub(super) fn event_pool_growth(stage: &Stage) -> Result<()> {
    let params = DeviceParams { event_pool_capacity: 1, ..stage.params() };
    let device = mock::open(&params, &stage.control)?;
    let (queue, done) = (stage.queue(&device)?, device.create_semaphore(0)?);
    let work = stage.fills(&device, 1)?;
    for step in 1..=4 {
        stage.submit(&queue, Submission::new().execute(&work), &[(&done, step)])?;
    }
    stage.wait(&done, 4);
    Ok(())
}

pub(super) fn shared_streams(stage: &Stage) -> Result<()> {
    let params = DeviceParams { max_streams: 1, ..stage.params() };
    let device = mock::open(&params, &stage.control)?;
    let queues = [stage.queue(&device)?, stage.queue(&device)?, stage.queue(&device)?];
    let done = device.create_semaphore(0)?;
    for (queue, step) in queues.iter().zip(0..) {
        let work = Submission::new().wait(&done, step).execute(&stage.fills(&device, 1)?);
        stage.submit(queue, work, &[(&done, step + 1)])?;
    }
    stage.wait(&done, 3);
    Ok(())
}

pub(super) fn behind_the_inline_limit(stage: &Stage) -> Result<()> {
    let params = DeviceParams { inline_issue_limit: 0, ..stage.params() };
    let device = mock::open(&params, &stage.control)?;
    let (queue, done) = (stage.queue(&device)?, device.create_semaphore(0)?);
    for step in 1..=3 {
        stage.submit(&queue, Submission::new().execute(&stage.fills(&device, 1)?), &[(&done, step)])?;
    }
    stage.wait(&done, 3);
    Ok(())
}

pub(super) fn buffers_outlive_the_device(stage: &Stage) -> Result<()> {
    let device = stage.device()?;
    let (queue, done) = (stage.queue(&device)?, device.create_semaphore(0)?);
    let (buffer, executable) = (stage.buffer(&device)?, stage.executable(&device)?);
    let mut encoder = device.encoder();
    encoder.fill(&buffer, 0, 64, &[1])?;
    let commands = encoder.finish(&*device)?;
    stage.submit(&queue, Submission::new().execute(&commands), &[(&done, 1)])?;
    stage.wait(&done, 1);
    drop(queue);
    drop(device);
    drop((commands, executable));
    drop(buffer);
    Ok(())
}

pub(super) fn a_callback_submits(stage: &Stage) -> Result<()> {
    let device = stage.device()?;
    let queue = stage.queue(&device)?;
    let (first, second) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    let (work, again) = (stage.fills(&device, 1)?, stage.fills(&device, 1)?);
    let (send, receive) = channel();
    let callback = {
        let (queue, second) = (queue.clone(), second.clone());
        move |outcome: Result<()>| {
            let submission = Submission::new().execute(&again).signal(&second, 1);
            let taken = outcome.and_then(|()| queue.submit(submission).map(drop));
            drop((again, queue));
            send.send(taken).ok();
        }
    };
    first.on_reached(1, Box::new(callback));
    stage.submit(&queue, Submission::new().execute(&work), &[(&first, 1)])?;
    let taken =
        receive.recv().map_err(|_| Error::new(ErrorKind::Internal, "the callback was never called"))?;
    match taken {
        Ok(()) => stage.wait(&second, 1),
        Err(error) => stage.see(Err(error)),
    }
    Ok(())
}

pub(super) fn host_failure_meets_work(stage: &Stage) -> Result<()> {
    let device = stage.device()?;
    let queue = stage.queue(&device)?;
    let (gate, done, other) =
        (device.create_semaphore(0)?, device.create_semaphore(0)?, device.create_semaphore(0)?);
    let gated = Submission::new().wait(&gate, 1).execute(&stage.fills(&device, 1)?);
    stage.submit(&queue, gated, &[(&done, 1)])?;
    stage.submit(&queue, Submission::new().execute(&stage.fills(&device, 1)?), &[(&other, 1)])?;
    gate.fail(Error::new(ErrorKind::Aborted, "on purpose"));
    stage.wait(&other, 1);
    match done.wait(1, stage.soon()) {
        // As it must be, and no failure.
        Err(error) if error.kind() == ErrorKind::Aborted => {}
        other => stage.see(other),
    }
    Ok(())
}

pub(super) fn a_chain_of_sixteen(stage: &Stage) -> Result<()> {
    let device = stage.device()?;
    let queues = [stage.queue(&device)?, stage.queue(&device)?, stage.queue(&device)?];
    let done = device.create_semaphore(0)?;
    let work = stage.fills(&device, 1)?;
    for step in 0..16 {
        let submission = Submission::new().wait(&done, step).execute(&work);
        stage.submit(&queues[step as usize % 3], submission, &[(&done, step + 1)])?;
    }
    stage.wait(&done, 16);
    Ok(())
}

/// In flight on two queues, and bound anew.
pub(super) fn graphs(stage: &Stage) -> Result<()> {
    let device = stage.device()?;
    let queues = [stage.queue(&device)?, stage.queue(&device)?];
    let done = (0..3).map(|_| device.create_semaphore(0)).collect::<Result<Vec<_>>>()?;
    let buffers = [stage.buffer(&device)?, stage.buffer(&device)?];
    let mut encoder = device.encoder();
    let slot = |slot| BufferRef::Slot { slot, offset: 0, length: 64 };
    encoder.fill_ref(slot(0), &[1])?;
    encoder.fill_ref(slot(1), &[2])?;
    encoder.barrier();
    encoder.fill_ref(slot(0), &[3])?;
    let commands = encoder.finish_as(&*device, Encoding::Graph)?;
    for (step, done) in done.iter().enumerate() {
        let mut table: Vec<BufferRange> = buffers.iter().map(BufferRange::whole).collect();
        table.rotate_left(step % 2);
        let submission = Submission::new().execute_with(&commands, table);
        stage.submit(&queues[step % 2], submission, &[(done, 1)])?;
    }
    drop((buffers, commands));
    done.iter().for_each(|done| stage.wait(done, 1));
    queues.iter().for_each(|queue| stage.wait_idle(queue));
    Ok(())
}
