//! What submissions are made of.

use super::stage::Stage;
use hal_core::{Argument, BufferRange, BufferRef, Dispatch, Result, Submission};

pub(super) fn single_submission(stage: &Stage) -> Result<()> {
    let device = stage.device()?;
    let (queue, done) = (stage.queue(&device)?, device.create_semaphore(0)?);
    stage.submit(&queue, Submission::new().execute(&stage.fills(&device, 1)?), &[(&done, 1)])?;
    stage.wait(&done, 1);
    stage.wait_idle(&queue);
    Ok(())
}

pub(super) fn chain_on_one_queue(stage: &Stage) -> Result<()> {
    let device = stage.device()?;
    let (queue, done) = (stage.queue(&device)?, device.create_semaphore(0)?);
    for step in 0..3 {
        let work = Submission::new().wait(&done, step).execute(&stage.fills(&device, 1)?);
        stage.submit(&queue, work, &[(&done, step + 1)])?;
    }
    stage.wait(&done, 3);
    Ok(())
}

pub(super) fn chain_over_queues(stage: &Stage) -> Result<()> {
    let device = stage.device()?;
    let queues = [stage.queue(&device)?, stage.queue(&device)?];
    let done = device.create_semaphore(0)?;
    for step in 0..4 {
        let work = Submission::new().wait(&done, step).execute(&stage.fills(&device, 1)?);
        stage.submit(&queues[step as usize % 2], work, &[(&done, step + 1)])?;
    }
    stage.wait(&done, 4);
    Ok(())
}

pub(super) fn fan_out(stage: &Stage) -> Result<()> {
    let device = stage.device()?;
    let first = device.create_semaphore(0)?;
    let mut ends = Vec::new();
    for _ in 0..3 {
        let (queue, end) = (stage.queue(&device)?, device.create_semaphore(0)?);
        let work = Submission::new().wait(&first, 1).execute(&stage.fills(&device, 1)?);
        stage.submit(&queue, work, &[(&end, 1)])?;
        ends.push(end);
    }
    let work = Submission::new().execute(&stage.fills(&device, 2)?);
    stage.submit(&stage.queue(&device)?, work, &[(&first, 1)])?;
    ends.iter().for_each(|end| stage.wait(end, 1));
    Ok(())
}

pub(super) fn fan_in(stage: &Stage) -> Result<()> {
    let device = stage.device()?;
    let (last, done) = (stage.queue(&device)?, device.create_semaphore(0)?);
    let mut submission = Submission::new();
    for _ in 0..3 {
        let (queue, end) = (stage.queue(&device)?, device.create_semaphore(0)?);
        stage.submit(&queue, Submission::new().execute(&stage.fills(&device, 1)?), &[(&end, 1)])?;
        submission = submission.wait(&end, 1);
    }
    stage.submit(&last, submission.execute(&stage.fills(&device, 1)?), &[(&done, 1)])?;
    stage.wait(&done, 1);
    stage.wait_idle(&last);
    Ok(())
}

pub(super) fn wait_before_signal(stage: &Stage) -> Result<()> {
    let device = stage.device()?;
    let queues = [stage.queue(&device)?, stage.queue(&device)?];
    let (gate, middle, done) =
        (device.create_semaphore(0)?, device.create_semaphore(0)?, device.create_semaphore(0)?);
    let last = Submission::new().wait(&middle, 1).execute(&stage.fills(&device, 1)?);
    stage.submit(&queues[0], last, &[(&done, 1)])?;
    let first = Submission::new().wait(&gate, 1).execute(&stage.fills(&device, 1)?);
    stage.submit(&queues[1], first, &[(&middle, 1)])?;
    // Fails if the device is lost.
    gate.signal(1)?;
    stage.wait(&done, 1);
    Ok(())
}

pub(super) fn many_signals(stage: &Stage) -> Result<()> {
    let device = stage.device()?;
    let queue = stage.queue(&device)?;
    let semaphores = (0..8).map(|_| device.create_semaphore(0)).collect::<Result<Vec<_>>>()?;
    let signals: Vec<_> = semaphores.iter().map(|semaphore| (semaphore, 3)).collect();
    stage.submit(&queue, Submission::new().execute(&stage.fills(&device, 1)?), &signals)?;
    semaphores.iter().for_each(|semaphore| stage.wait(semaphore, 3));
    Ok(())
}

pub(super) fn many_commands(stage: &Stage) -> Result<()> {
    let device = stage.device()?;
    let (queue, done) = (stage.queue(&device)?, device.create_semaphore(0)?);
    let submission = Submission::new().execute(&stage.fills(&device, 4)?).execute(&stage.fills(&device, 3)?);
    stage.submit(&queue, submission, &[(&done, 1)])?;
    stage.submit(&queue, Submission::new().execute(&stage.fills(&device, 2)?), &[(&done, 2)])?;
    stage.wait(&done, 2);
    Ok(())
}

pub(super) fn update_copy_fill(stage: &Stage) -> Result<()> {
    let device = stage.device()?;
    let (queue, done) = (stage.queue(&device)?, device.create_semaphore(0)?);
    let (source, target) = (stage.buffer(&device)?, stage.buffer(&device)?);
    let mut encoder = device.encoder();
    encoder.update(&source, 0, &[1, 2, 3])?;
    encoder.barrier();
    encoder.copy(&source, 0, &target, 32, 16)?;
    encoder.fill(&target, 0, 32, &[7])?;
    stage.submit(&queue, Submission::new().execute(&encoder.finish(&*device)?), &[(&done, 1)])?;
    drop((source, target));
    stage.wait(&done, 1);
    Ok(())
}

pub(super) fn dispatch(stage: &Stage) -> Result<()> {
    let device = stage.device()?;
    let (queue, done) = (stage.queue(&device)?, device.create_semaphore(0)?);
    let (executable, buffer) = (stage.executable(&device)?, stage.buffer(&device)?);
    let mut encoder = device.encoder();
    let dispatch = Dispatch::new(&executable, "kernel2")?.arg(&buffer).arg(5u64).shared_memory(60 << 10);
    // SAFETY: the kernel has two parameters of eight bytes, and no code.
    unsafe { encoder.dispatch(dispatch) }?;
    stage.submit(&queue, Submission::new().execute(&encoder.finish(&*device)?), &[(&done, 1)])?;
    drop((executable, buffer));
    stage.wait(&done, 1);
    stage.wait_idle(&queue);
    Ok(())
}

pub(super) fn queues_dropped_while_busy(stage: &Stage) -> Result<()> {
    let device = stage.device()?;
    let mut ends = Vec::new();
    for _ in 0..4 {
        let (queue, end) = (stage.queue(&device)?, device.create_semaphore(0)?);
        stage.submit(&queue, Submission::new().execute(&stage.fills(&device, 2)?), &[(&end, 1)])?;
        drop(queue);
        ends.push(end);
    }
    ends.iter().for_each(|end| stage.wait(end, 1));
    Ok(())
}

pub(super) fn buffers_dropped_in_flight(stage: &Stage) -> Result<()> {
    let device = stage.device()?;
    let (queue, done) = (stage.queue(&device)?, device.create_semaphore(0)?);
    for step in 1..=3 {
        let work = stage.fills(&device, 2)?;
        stage.submit(&queue, Submission::new().execute(&work), &[(&done, step)])?;
        drop(work);
        drop(stage.buffer(&device)?);
    }
    stage.wait(&done, 3);
    Ok(())
}

pub(super) fn bindings_dropped_in_flight(stage: &Stage) -> Result<()> {
    let device = stage.device()?;
    let (queue, done) = (stage.queue(&device)?, device.create_semaphore(0)?);
    let executable = stage.executable(&device)?;
    let mut encoder = device.encoder();
    encoder.fill_ref(BufferRef::Slot { slot: 0, offset: 0, length: 16 }, &[1])?;
    let dispatch = Dispatch::new(&executable, "kernel1")?.arg(Argument::slot(1, 64));
    // SAFETY: the kernel has one parameter of eight bytes, and no code.
    unsafe { encoder.dispatch(dispatch) }?;
    let commands = encoder.finish(&*device)?;
    drop(executable);
    for step in 1..=2 {
        let bindings =
            vec![BufferRange::whole(&stage.buffer(&device)?), BufferRange::whole(&stage.buffer(&device)?)];
        stage.submit(&queue, Submission::new().execute_with(&commands, bindings), &[(&done, step)])?;
    }
    drop(commands);
    stage.wait(&done, 2);
    Ok(())
}
