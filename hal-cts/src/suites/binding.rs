//! Slots of command buffers, and the binding tables that fill them.

use crate::support::{Gpu, Launch, contents, host_buffer, record, soon};
use crate::{Outcome, Requirement, kernels};
use hal_core::{
    Argument, BufferParams, BufferRange, BufferRef, CommandBuffer, Device, Dispatch, ErrorKind, Result,
    Submission, validate,
};
use std::sync::Arc;

suite! { "binding", in both encodings,
    &[] => [
        slot_stands_for_a_range,
        each_submission_has_its_own_table,
        offsets_count_from_the_binding,
        list_tells_what_slots_need,
        entries_that_are_not_used_are_allowed,
        missing_table_is_refused,
        short_table_is_refused,
        small_binding_is_refused,
        binding_beyond_its_buffer_is_refused,
        overlap_of_bound_memory_is_refused,
        slot_number_has_a_limit,
        refused_submission_leaves_semaphores_alone,
        table_keeps_its_buffers,
    ],
    &[Requirement::Kernels] => [dispatch_takes_slots],
}

fn slot(slot: u32, offset: u64, length: u64) -> BufferRef {
    BufferRef::Slot { slot, offset, length }
}

/// Copies 16 bytes from slot 0 to slot 1.
fn copy_16(device: &Arc<dyn Device>) -> Result<Arc<dyn CommandBuffer>> {
    record(device, |encoder| encoder.copy_ref(slot(0, 0, 16), slot(1, 0, 16)))
}

/// What is bound is used.
fn slot_stands_for_a_range(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let (source, target) = (host_buffer(device, &[8_u8; 16])?, host_buffer(device, &[0_u8; 16])?);
    let done = device.create_semaphore(0)?;
    let table = vec![BufferRange::whole(&source), BufferRange::whole(&target)];
    gpu.queue.submit(Submission::new().execute_with(&copy_16(device)?, table).signal(&done, 1))?;
    done.wait(1, soon())?;
    check_eq!(contents::<u8>(&target)?, [8; 16]);
    Ok(())
}

/// One recording, fifty tables.
fn each_submission_has_its_own_table(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let commands = copy_16(device)?;
    let done = device.create_semaphore(0)?;
    let sources = (0..50_u8).map(|n| host_buffer(device, &[n; 16])).collect::<Result<Vec<_>>>()?;
    let targets = (0..50).map(|_| host_buffer(device, &[0xff_u8; 16])).collect::<Result<Vec<_>>>()?;
    for (index, (source, target)) in sources.iter().zip(&targets).enumerate() {
        let table = vec![source.into(), target.into()];
        gpu.queue.submit(Submission::new().execute_with(&commands, table).signal(&done, index as u64 + 1))?;
    }
    done.wait(50, soon())?;
    for (n, target) in targets.iter().enumerate() {
        check_eq!(contents::<u8>(target)?, [n as u8; 16]);
    }
    Ok(())
}

/// Offsets of binding and reference add up.
fn offsets_count_from_the_binding(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = host_buffer(device, &[0_u8; 64])?;
    let commands = record(device, |encoder| encoder.fill_ref(slot(0, 8, 4), &[5]))?;
    let done = device.create_semaphore(0)?;
    let table = vec![BufferRange::new(&buffer, 32, 16)];
    gpu.queue.submit(Submission::new().execute_with(&commands, table).signal(&done, 1))?;
    done.wait(1, soon())?;
    let expected: Vec<u8> = (0..64).map(|index| if (40..44).contains(&index) { 5 } else { 0 }).collect();
    check_eq!(contents::<u8>(&buffer)?, expected);
    Ok(())
}

/// The largest end of any use, per slot.
fn list_tells_what_slots_need(device: &Arc<dyn Device>) -> Outcome {
    let commands = record(device, |encoder| {
        encoder.fill_ref(slot(2, 8, 4), &[1])?;
        encoder.fill_ref(slot(2, 0, 4), &[1])?;
        encoder.fill_ref(slot(0, 100, 28), &[1])?;
        encoder.fill_ref(slot(5, 100, 0), &[1])
    })?;
    check_eq!(commands.list().slots(), [128, 0, 12]);
    Ok(())
}

/// A table may have more than is needed.
fn entries_that_are_not_used_are_allowed(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = host_buffer(device, &[0_u8; 4])?;
    let empty = device.allocate_buffer(&BufferParams::device_local(0))?;
    let commands = record(device, |encoder| encoder.fill_ref(slot(1, 0, 4), &[5]))?;
    let done = device.create_semaphore(0)?;
    let table = vec![BufferRange::whole(&empty), BufferRange::whole(&buffer), BufferRange::whole(&buffer)];
    gpu.queue.submit(Submission::new().execute_with(&commands, table).signal(&done, 1))?;
    done.wait(1, soon())?;
    check_eq!(contents::<u8>(&buffer)?, [5; 4]);
    Ok(())
}

/// Slots need a table.
fn missing_table_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let commands = copy_16(device)?;
    check_err!(gpu.queue.submit(Submission::new().execute(&commands)), ErrorKind::InvalidArgument);
    Ok(())
}

/// Every slot needs an entry.
fn short_table_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = host_buffer(device, &[0_u8; 16])?;
    let submission = Submission::new().execute_with(&copy_16(device)?, vec![BufferRange::whole(&buffer)]);
    check_err!(gpu.queue.submit(submission), ErrorKind::InvalidArgument);
    Ok(())
}

/// An entry has the bytes that the commands use.
fn small_binding_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let (large, small) = (host_buffer(device, &[0_u8; 64])?, host_buffer(device, &[0_u8; 15])?);
    let commands = copy_16(device)?;
    for entry in [BufferRange::whole(&small), BufferRange::new(&large, 0, 8), BufferRange::new(&large, 8, 0)]
    {
        let table = vec![BufferRange::whole(&large), entry];
        let submission = Submission::new().execute_with(&commands, table);
        check_err!(gpu.queue.submit(submission), ErrorKind::OutOfRange);
    }
    Ok(())
}

/// An entry lies within its buffer, without overflow.
fn binding_beyond_its_buffer_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = host_buffer(device, &[0_u8; 64])?;
    let commands = copy_16(device)?;
    for (offset, length) in [(56, 16), (64, 16), (0, 65), (u64::MAX, 16), (u64::MAX - 15, 16)] {
        let table = vec![BufferRange::new(&buffer, 0, 16), BufferRange::new(&buffer, offset, length)];
        let submission = Submission::new().execute_with(&commands, table);
        check_err!(gpu.queue.submit(submission), ErrorKind::OutOfRange);
    }
    Ok(())
}

/// What cannot be seen when recording is seen at submission.
fn overlap_of_bound_memory_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = host_buffer(device, &[0_u8; 64])?;
    let commands = copy_16(device)?;
    for offset in [0, 1, 15] {
        let table = vec![BufferRange::new(&buffer, 0, 16), BufferRange::new(&buffer, offset, 16)];
        let submission = Submission::new().execute_with(&commands, table);
        check_err!(gpu.queue.submit(submission), ErrorKind::InvalidArgument);
    }
    Ok(())
}

/// So that a wrong number does not ask for gigabytes.
fn slot_number_has_a_limit(device: &Arc<dyn Device>) -> Outcome {
    let mut encoder = device.encoder();
    encoder.fill_ref(slot(validate::MAX_SLOTS - 1, 0, 4), &[1])?;
    check_err!(encoder.fill_ref(slot(validate::MAX_SLOTS, 0, 4), &[1]), ErrorKind::OutOfRange);
    check_err!(encoder.fill_ref(slot(u32::MAX, 0, 4), &[1]), ErrorKind::OutOfRange);
    check_err!(encoder.fill_ref(slot(0, u64::MAX, 4), &[1]), ErrorKind::OutOfRange);
    Ok(())
}

/// On error nothing has happened.
fn refused_submission_leaves_semaphores_alone(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let done = device.create_semaphore(0)?;
    let commands = copy_16(device)?;
    let refused = Submission::new().execute(&commands).signal(&done, 1);
    check_err!(gpu.queue.submit(refused), ErrorKind::InvalidArgument);
    gpu.queue.wait_idle(soon())?;
    check_eq!(done.query()?, 0);
    gpu.queue.submit(Submission::new().signal(&done, 1))?;
    done.wait(1, soon())?;
    Ok(())
}

/// The submission holds what is bound.
fn table_keeps_its_buffers(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let gate = crate::support::Gate::new(device)?;
    let source = gpu.upload(&[4_u8; 16])?;
    let target = host_buffer(device, &[0_u8; 16])?;
    let done = device.create_semaphore(0)?;
    let table = vec![BufferRange::whole(&source), BufferRange::whole(&target)];
    let submission = Submission::new().wait(gate.semaphore(), 1).execute_with(&copy_16(device)?, table);
    gpu.queue.submit(submission.signal(&done, 1))?;
    drop(source);
    gate.open()?;
    done.wait(1, soon())?;
    check_eq!(contents::<u8>(&target)?, [4; 16]);
    Ok(())
}

/// Kernel arguments may be slots.
fn dispatch_takes_slots(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::ADD_ONE.load(device)?;
    let commands = record(device, |encoder| {
        let n = 10_u32;
        encoder.launch(Dispatch::new(&executable, "add_one")?.block(32).arg(Argument::slot(0, 40)).arg(n))
    })?;
    let (a, b) = (host_buffer(device, &[1_u32; 10])?, host_buffer(device, &[100_u32; 100])?);
    let done = device.create_semaphore(0)?;
    let tables = [BufferRange::whole(&a), BufferRange::new(&b, 200, 40), BufferRange::new(&b, 200, 200)];
    for (table, value) in tables.into_iter().zip(1..) {
        gpu.queue.submit(Submission::new().execute_with(&commands, vec![table]).signal(&done, value))?;
    }
    done.wait(3, soon())?;
    check_eq!(contents::<u32>(&a)?, [2; 10]);
    let expected: Vec<u32> =
        (0..100).map(|index| if (50..60).contains(&index) { 102 } else { 100 }).collect();
    check_eq!(contents::<u32>(&b)?, expected);
    let short = vec![BufferRange::new(&a, 0, 39)];
    check_err!(gpu.queue.submit(Submission::new().execute_with(&commands, short)), ErrorKind::OutOfRange);
    Ok(())
}
