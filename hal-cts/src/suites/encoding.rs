//! What must not depend on how a command buffer reaches the driver: barriers with scopes, slots, many submissions in
//! flight.

use crate::support::{Gate, Gpu, Launch, contents, host_buffer, queues, record, soon};
use crate::{Outcome, Requirement, kernels};
use hal_core::{
    Accesses, Argument, BufferRange, BufferRef, CommandBuffer, Device, Dispatch, Encoding, ErrorKind, Result,
    Scope, Stages, Submission,
};
use std::sync::Arc;

suite! { "encoding", in both encodings,
    &[] => [
        the_device_decides_what_auto_means,
        a_graph_where_there_is_none_is_refused,
        only_groups_and_barriers_run,
        transfers_wait_for_transfers,
        slots_are_bound_anew,
        tables_in_flight_do_not_see_each_other,
        one_buffer_on_many_queues_with_many_tables,
        memory_of_another_kind_is_bound,
        an_update_of_a_megabyte,
    ],
    &[Requirement::Kernels] => [
        dispatches_wait_for_transfers,
        readers_stand_side_by_side,
        what_is_reached_otherwise_is_ordered,
    ],
}

fn slot(slot: u32, length: u64) -> BufferRef {
    BufferRef::Slot { slot, offset: 0, length }
}

/// Adds nothing itself: copies slot 0 to slot 1 and then fills the first half of slot 0.
fn moving(device: &Arc<dyn Device>) -> Result<Arc<dyn CommandBuffer>> {
    record(device, |encoder| {
        encoder.copy_ref(slot(0, 16), slot(1, 16))?;
        encoder.barrier();
        encoder.fill_ref(slot(0, 8), &[0xff])
    })
}

/// As the device was opened.
fn the_device_decides_what_auto_means(device: &Arc<dyn Device>) -> Outcome {
    let auto = device.encoder().finish(&**device)?.encoding();
    check!(auto != Encoding::Auto);
    check_eq!(device.encoder().finish_as(&**device, Encoding::Stream)?.encoding(), Encoding::Stream);
    Ok(())
}

/// And there is one where the device says so.
fn a_graph_where_there_is_none_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let made = device.encoder().finish_as(&**device, Encoding::Graph);
    if device.info().capabilities.graphs {
        check_eq!(made?.encoding(), Encoding::Graph);
    } else {
        check_err!(made, ErrorKind::Unimplemented);
    }
    Ok(())
}

/// Nothing to do.
fn only_groups_and_barriers_run(device: &Arc<dyn Device>) -> Outcome {
    Gpu::new(device)?.run(|encoder| {
        encoder.begin_group("nothing");
        encoder.barrier_between(Scope::ALL, Scope::ALL);
        encoder.barrier();
        encoder.end_group()
    })?;
    Ok(())
}

/// With transfers in scope alone.
fn transfers_wait_for_transfers(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let (a, b) = (gpu.zeros::<u8>(64)?, gpu.zeros::<u8>(64)?);
    let transfers = Scope::new(Stages::TRANSFER, Accesses::ALL);
    gpu.run(|encoder| {
        encoder.fill(&a, 0, 64, &[1])?;
        encoder.barrier_between(transfers, transfers);
        encoder.copy(&a, 0, &b, 0, 64)?;
        encoder.barrier_between(transfers, transfers);
        encoder.update(&a, 3, &[9])
    })?;
    let mut expected = [1; 64];
    check_eq!(gpu.download::<u8>(&b)?, expected);
    expected[3] = 9;
    check_eq!(gpu.download::<u8>(&a)?, expected);
    Ok(())
}

/// A table is of its submission.
fn slots_are_bound_anew(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let commands = moving(device)?;
    let done = device.create_semaphore(0)?;
    let buffers = [1_u8, 2, 3].map(|value| host_buffer(device, &[value; 16]));
    let [a, b, c] = buffers;
    let (a, b, c) = (a?, b?, c?);
    for (value, (from, to)) in (1..).zip([(&a, &b), (&b, &c), (&b, &a)]) {
        let table = vec![BufferRange::whole(from), BufferRange::whole(to)];
        gpu.queue.submit(Submission::new().execute_with(&commands, table).signal(&done, value))?;
        done.wait(value, soon())?;
    }
    let half = [[0xff_u8; 8], [1; 8]].concat();
    check_eq!(contents::<u8>(&a)?, half);
    check_eq!(contents::<u8>(&b)?, half);
    check_eq!(contents::<u8>(&c)?, [1; 16]);
    Ok(())
}

/// All are submitted before the first runs.
fn tables_in_flight_do_not_see_each_other(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let gate = Gate::new(device)?;
    let done = device.create_semaphore(0)?;
    let commands = record(device, |encoder| encoder.copy_ref(slot(0, 16), slot(1, 16)))?;
    let mut pairs = Vec::new();
    for value in 1..=20_u8 {
        let (from, to) = (host_buffer(device, &[value; 16])?, host_buffer(device, &[0_u8; 16])?);
        let table = vec![BufferRange::whole(&from), BufferRange::whole(&to)];
        let submission = Submission::new().wait(gate.semaphore(), 1).execute_with(&commands, table);
        gpu.queue.submit(submission.signal(&done, value.into()))?;
        pairs.push((value, to));
    }
    gate.open()?;
    done.wait(20, soon())?;
    for (value, to) in pairs {
        check_eq!(contents::<u8>(&to)?, [value; 16]);
    }
    Ok(())
}

/// Nobody waits for anybody.
fn one_buffer_on_many_queues_with_many_tables(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 4)?;
    let commands = record(device, |encoder| encoder.fill_ref(slot(0, 16), &[7]))?;
    let mut ends = Vec::new();
    for index in 0..40 {
        let (buffer, done) = (host_buffer(device, &[0_u8; 16])?, device.create_semaphore(0)?);
        let submission = Submission::new().execute_with(&commands, vec![BufferRange::whole(&buffer)]);
        queues[index % 4].submit(submission.signal(&done, 1))?;
        ends.push((buffer, done));
    }
    for (buffer, done) in ends {
        done.wait(1, soon())?;
        check_eq!(contents::<u8>(&buffer)?, [7; 16]);
    }
    Ok(())
}

/// Device memory, then pinned memory, and back.
fn memory_of_another_kind_is_bound(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let commands = record(device, |encoder| encoder.copy_ref(slot(0, 16), slot(1, 16)))?;
    let done = device.create_semaphore(0)?;
    let (near, far) = (gpu.upload(&[5_u8; 16])?, host_buffer(device, &[0_u8; 16])?);
    let other = gpu.zeros::<u8>(16)?;
    for (value, (from, to)) in (1..).zip([(&near, &other), (&near, &far), (&far, &other)]) {
        let table = vec![BufferRange::whole(from), BufferRange::whole(to)];
        gpu.queue.submit(Submission::new().execute_with(&commands, table).signal(&done, value))?;
        done.wait(value, soon())?;
    }
    check_eq!(contents::<u8>(&far)?, [5; 16]);
    check_eq!(gpu.download::<u8>(&other)?, [5; 16]);
    Ok(())
}

/// An update has no largest size, and its bytes were copied.
fn an_update_of_a_megabyte(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let mut data: Vec<u8> = (0..1 << 20).map(|index| (index % 251) as u8).collect();
    let buffer = gpu.zeros::<u8>(data.len())?;
    let commands = record(device, |encoder| encoder.update(&buffer, 0, &data))?;
    let expected = data.clone();
    data.fill(0);
    gpu.execute(&commands)?;
    check!(gpu.download::<u8>(&buffer)? == expected);
    Ok(())
}

/// A dispatch after a fill, and a copy after the dispatch.
fn dispatches_wait_for_transfers(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::ADD_ONE.load(device)?;
    let (x, y) = (gpu.zeros::<u32>(16)?, gpu.zeros::<u32>(16)?);
    let transfers = Scope::new(Stages::TRANSFER, Accesses::WRITE);
    let dispatches = Scope::new(Stages::DISPATCH, Accesses::ALL);
    gpu.run(|encoder| {
        encoder.fill(&x, 0, 64, &[3, 0, 0, 0])?;
        encoder.barrier_between(transfers, dispatches);
        encoder.launch(Dispatch::new(&executable, "add_one")?.block(16).arg(&x).arg(16_u32))?;
        encoder.barrier_between(dispatches, Scope::new(Stages::TRANSFER, Accesses::READ));
        encoder.copy(&x, 0, &y, 0, 64)
    })?;
    check_eq!(gpu.download::<u32>(&y)?, [4; 16]);
    Ok(())
}

/// What is only read may be read by several at once, and is still written before and after.
fn readers_stand_side_by_side(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::ADD_ONE.load(device)?;
    let x = gpu.zeros::<u32>(16)?;
    let targets = (0..4).map(|_| gpu.zeros::<u32>(16)).collect::<Result<Vec<_>>>()?;
    gpu.run(|encoder| {
        encoder.fill(&x, 0, 64, &[3, 0, 0, 0])?;
        for target in &targets {
            encoder.barrier();
            let copy = Dispatch::new(&executable, "copy_u32")?.block(16);
            encoder.launch(copy.arg(Argument::read_only(&x)).arg(target).arg(16_u32))?;
        }
        encoder.barrier();
        encoder.fill(&x, 0, 64, &[0])
    })?;
    for target in &targets {
        check_eq!(gpu.download::<u32>(target)?, [3; 16]);
    }
    check_eq!(gpu.download::<u32>(&x)?, [0; 16]);
    Ok(())
}

/// An address as a plain number, and the memory named beside it.
fn what_is_reached_otherwise_is_ordered(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::ADD_ONE.load(device)?;
    let (x, y) = (gpu.zeros::<u32>(16)?, gpu.zeros::<u32>(16)?);
    gpu.run(|encoder| {
        encoder.fill(&x, 0, 64, &[3, 0, 0, 0])?;
        encoder.barrier();
        let by_address = Dispatch::new(&executable, "add_one")?.block(16).arg(x.device_address()).arg(16_u32);
        encoder.launch(by_address.reaches(&x))?;
        encoder.barrier();
        encoder.copy(&x, 0, &y, 0, 64)
    })?;
    check_eq!(gpu.download::<u32>(&y)?, [4; 16]);
    Ok(())
}
