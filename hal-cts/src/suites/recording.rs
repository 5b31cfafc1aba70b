//! Command buffers: groups, barriers, submission again and again.

use crate::Outcome;
use crate::support::{Gpu, contents, host_buffer, record, soon};
use hal_core::{Device, ErrorKind, Submission};
use std::sync::Arc;
use std::thread;

suite! { "recording", in both encodings,
    &[] => [
        empty_command_buffer_runs,
        only_barriers,
        doubled_barriers_are_harmless,
        hundreds_of_commands_between_barriers,
        groups_nest,
        unbalanced_begin_is_refused,
        unbalanced_end_is_refused,
        list_shows_what_was_recorded,
        submitted_twice,
        submitted_twice_in_one_submission,
        several_in_one_submission_run_in_order,
        recorded_on_many_threads,
        dropped_encoder_records_nothing,
    ],
}

/// Nothing to do is done at once.
fn empty_command_buffer_runs(device: &Arc<dyn Device>) -> Outcome {
    let commands = device.encoder().finish(&**device)?;
    check!(commands.list().commands().is_empty());
    Gpu::new(device)?.execute(&commands)?;
    Ok(())
}

/// Barriers need nothing to order.
fn only_barriers(device: &Arc<dyn Device>) -> Outcome {
    Gpu::new(device)?.run(|encoder| {
        (0..3).for_each(|_| encoder.barrier());
        Ok(())
    })?;
    Ok(())
}

/// First, last and doubled.
fn doubled_barriers_are_harmless(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let (a, b) = (gpu.zeros::<u8>(64)?, gpu.zeros::<u8>(64)?);
    gpu.run(|encoder| {
        encoder.barrier();
        encoder.fill(&a, 0, 64, &[3])?;
        encoder.barrier();
        encoder.barrier();
        encoder.copy(&a, 0, &b, 0, 64)?;
        encoder.barrier();
        encoder.barrier();
        Ok(())
    })?;
    check_eq!(gpu.download::<u8>(&b)?, [3; 64]);
    Ok(())
}

/// There is no limit on what lies between two barriers.
fn hundreds_of_commands_between_barriers(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let (a, b) = (gpu.zeros::<u8>(700)?, gpu.zeros::<u8>(700)?);
    gpu.run(|encoder| {
        (0..700).try_for_each(|n| encoder.fill(&a, n, 1, &[n as u8]))?;
        encoder.barrier();
        (0..700).try_for_each(|n| encoder.copy(&a, n, &b, 699 - n, 1))
    })?;
    let found = gpu.download::<u8>(&b)?;
    check!(found.iter().rev().enumerate().all(|(index, &byte)| byte == index as u8));
    Ok(())
}

/// Groups have no effect on the work.
fn groups_nest(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = gpu.zeros::<u8>(4)?;
    gpu.run(|encoder| {
        encoder.begin_group("outer");
        encoder.fill(&buffer, 0, 2, &[1])?;
        encoder.begin_group("inner ✓");
        encoder.fill(&buffer, 2, 1, &[2])?;
        encoder.end_group()?;
        encoder.begin_group("");
        encoder.end_group()?;
        encoder.end_group()
    })?;
    check_eq!(gpu.download::<u8>(&buffer)?, [1, 1, 2, 0]);
    Ok(())
}

/// An open group is found at the end.
fn unbalanced_begin_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let mut encoder = device.encoder();
    encoder.begin_group("never closed");
    check_err!(encoder.finish(&**device), ErrorKind::InvalidArgument);
    Ok(())
}

/// A close without an open is found at once, and forgotten.
fn unbalanced_end_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let mut encoder = device.encoder();
    check_err!(encoder.end_group(), ErrorKind::InvalidArgument);
    encoder.begin_group("a");
    encoder.end_group()?;
    check_err!(encoder.end_group(), ErrorKind::InvalidArgument);
    encoder.finish(&**device)?;
    Ok(())
}

/// The list is there to read.
fn list_shows_what_was_recorded(device: &Arc<dyn Device>) -> Outcome {
    let buffer = host_buffer(device, &[0_u8; 16])?;
    let commands = record(device, |encoder| {
        encoder.fill(&buffer, 0, 8, &[1])?;
        encoder.barrier();
        encoder.update(&buffer, 8, &[2])
    })?;
    check_eq!(commands.list().commands().len(), 3);
    check!(commands.list().slots().is_empty());
    check_eq!(commands.list().device_id(), device.id());
    Ok(())
}

/// A command buffer is not used up.
fn submitted_twice(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = host_buffer(device, &[0_u8; 8])?;
    let commands = record(device, |encoder| encoder.fill(&buffer, 0, 8, &[4]))?;
    gpu.execute(&commands)?;
    check_eq!(contents::<u8>(&buffer)?, [4; 8]);
    buffer.write(0, &[0; 8])?;
    gpu.execute(&commands)?;
    check_eq!(contents::<u8>(&buffer)?, [4; 8]);
    Ok(())
}

/// Also not within a submission: the pair shifts a block twice.
fn submitted_twice_in_one_submission(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = gpu.upload(&[1_u8, 2, 3, 4])?;
    let rotate = record(device, |encoder| {
        encoder.copy(&buffer, 1, &buffer, 0, 1)?;
        encoder.barrier();
        encoder.copy(&buffer, 2, &buffer, 1, 1)?;
        encoder.barrier();
        encoder.copy(&buffer, 3, &buffer, 2, 1)
    })?;
    let done = device.create_semaphore(0)?;
    gpu.queue.submit(Submission::new().execute(&rotate).execute(&rotate).signal(&done, 1))?;
    done.wait(1, soon())?;
    check_eq!(gpu.download::<u8>(&buffer)?, [3, 4, 4, 4]);
    Ok(())
}

/// Each sees what those before it did.
fn several_in_one_submission_run_in_order(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = gpu.zeros::<u8>(64)?;
    let mut submission = Submission::new();
    for value in 1..=10 {
        submission = submission.execute(&record(device, |encoder| encoder.fill(&buffer, 0, 64, &[value]))?);
    }
    let done = device.create_semaphore(0)?;
    gpu.queue.submit(submission.signal(&done, 1))?;
    done.wait(1, soon())?;
    check_eq!(gpu.download::<u8>(&buffer)?, [10; 64]);
    Ok(())
}

/// Encoders do not share anything.
fn recorded_on_many_threads(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = gpu.zeros::<u8>(800)?;
    let recorded: Vec<_> = thread::scope(|scope| {
        let record_part = |part: u64| {
            record(device, |encoder| {
                (0..100).try_for_each(|n| encoder.fill(&buffer, part * 100 + n, 1, &[part as u8 + 1]))
            })
        };
        let threads: Vec<_> = (0..8).map(|part| scope.spawn(move || record_part(part))).collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    for commands in recorded {
        let Ok(commands) = commands else { return Err(crate::Failure::new("recording panicked")) };
        gpu.execute(&commands?)?;
    }
    let found = gpu.download::<u8>(&buffer)?;
    check!(found.iter().enumerate().all(|(index, &byte)| usize::from(byte) == index / 100 + 1));
    Ok(())
}

/// Recording alone has no effect.
fn dropped_encoder_records_nothing(device: &Arc<dyn Device>) -> Outcome {
    let buffer = host_buffer(device, &[1_u8; 8])?;
    let mut encoder = device.encoder();
    encoder.fill(&buffer, 0, 8, &[9])?;
    drop(encoder);
    drop(record(device, |encoder| encoder.fill(&buffer, 0, 8, &[9]))?);
    device.wait_idle(soon())?;
    check_eq!(contents::<u8>(&buffer)?, [1; 8]);
    Ok(())
}
