//! Handles are dropped as soon as they have been used: a submission keeps what it needs, and for as long as it needs it.

use crate::support::{
    Gate, Gpu, Launch, Random, Spinner, contents, eventually, host_buffer, queues, record, soon, timelines,
};
use crate::{Outcome, Requirement, kernels};
use hal_core::{BufferParams, BufferRef, Device, Dispatch, Result, Submission};
use std::sync::{Arc, Weak};

suite! { "lifetime",
    &[] => [
        buffers_dropped_after_submit,
        memory_of_a_dropped_buffer_is_not_given_away,
        command_buffer_dropped_after_submit,
        bindings_dropped_after_submit,
        timeline_between_two_submissions_dropped,
        signalled_timeline_dropped,
        queues_of_a_chain_dropped,
        held_until_it_ends_and_no_longer,
        released_although_nobody_waits,
    ],
    &[Requirement::Kernels] => [
        executable_dropped_after_submit,
        held_while_it_runs,
        everything_dropped_right_after_submit,
    ],
}

/// Those that are read as well as those that are written on the way.
fn buffers_dropped_after_submit(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let gate = Gate::new(device)?;
    let result = host_buffer(device, &[0_u8; 64])?;
    let end = device.create_semaphore(0)?;
    let commands = {
        let source = host_buffer(device, &[6_u8; 64])?;
        let between = device.allocate_buffer(&BufferParams::device_local(64))?;
        record(device, |encoder| {
            encoder.copy(&source, 0, &between, 0, 64)?;
            encoder.barrier();
            encoder.copy(&between, 0, &result, 0, 64)
        })?
    };
    queue.submit(Submission::new().wait(gate.semaphore(), 1).execute(&commands).signal(&end, 1))?;
    drop(commands);
    gate.open()?;
    end.wait(1, soon())?;
    check_eq!(contents::<u8>(&result)?, [6; 64]);
    Ok(())
}

/// Others of the same size are allocated and written meanwhile.
fn memory_of_a_dropped_buffer_is_not_given_away(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let gate = Gate::new(device)?;
    let result = host_buffer(device, &[0_u8; 4096])?;
    let end = device.create_semaphore(0)?;
    {
        let source = host_buffer(device, &[1_u8; 4096])?;
        let commands = record(device, |encoder| encoder.copy(&source, 0, &result, 0, 4096))?;
        queue.submit(Submission::new().wait(gate.semaphore(), 1).execute(&commands).signal(&end, 1))?;
    }
    let others = (0..50).map(|_| host_buffer(device, &[2_u8; 4096])).collect::<Result<Vec<_>>>()?;
    drop(others);
    let _more = (0..50).map(|_| host_buffer(device, &[3_u8; 4096])).collect::<Result<Vec<_>>>()?;
    gate.open()?;
    end.wait(1, soon())?;
    check!(contents::<u8>(&result)?.iter().all(|&byte| byte == 1));
    Ok(())
}

/// A hundred, each gone before it can run.
fn command_buffer_dropped_after_submit(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let gate = Gate::new(device)?;
    let result = host_buffer(device, &[0_u8; 100])?;
    for number in 0..100 {
        let commands = record(device, |encoder| encoder.fill(&result, number, 1, &[number as u8]))?;
        queue.submit(Submission::new().wait(gate.semaphore(), 1).execute(&commands))?;
    }
    gate.open()?;
    queue.wait_idle(soon())?;
    check!(contents::<u8>(&result)?.into_iter().eq(0..100));
    Ok(())
}

/// What a table names is kept as well as what is recorded.
fn bindings_dropped_after_submit(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let gate = Gate::new(device)?;
    let result = host_buffer(device, &[0_u8; 50])?;
    let slot = |slot| BufferRef::Slot { slot, offset: 0, length: 1 };
    let commands = record(device, |encoder| encoder.copy_ref(slot(0), slot(1)))?;
    for number in 0..50 {
        let source = host_buffer(device, &[number as u8 + 1])?;
        let table = vec![(&source).into(), hal_core::BufferRange::new(&result, number, 1)];
        queue.submit(Submission::new().wait(gate.semaphore(), 1).execute_with(&commands, table))?;
    }
    gate.open()?;
    queue.wait_idle(soon())?;
    check!(contents::<u8>(&result)?.into_iter().eq(1..=50));
    Ok(())
}

/// The two submissions have it.
fn timeline_between_two_submissions_dropped(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let gate = Gate::new(device)?;
    let end = device.create_semaphore(0)?;
    for value in 1..=50 {
        let between = device.create_semaphore(0)?;
        queues[1].submit(Submission::new().wait(&between, 1).signal(&end, value))?;
        queues[0].submit(Submission::new().wait(gate.semaphore(), 1).signal(&between, 1))?;
    }
    gate.open()?;
    end.wait(50, soon())?;
    Ok(())
}

/// A promise that nobody is left to see does not keep the others from being kept.
fn signalled_timeline_dropped(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let gate = Gate::new(device)?;
    let end = device.create_semaphore(0)?;
    let unseen = timelines(device, 50)?;
    let waiting = Submission::new().wait(gate.semaphore(), 1);
    queue.submit(unseen.iter().fold(waiting, |all, one| all.signal(one, 1)).signal(&end, 1))?;
    drop(unseen);
    gate.open()?;
    end.wait(1, soon())?;
    Ok(())
}

/// A queue for each link, gone before the link can run.
fn queues_of_a_chain_dropped(device: &Arc<dyn Device>) -> Outcome {
    let result = host_buffer(device, &[0_u8; 301])?;
    result.write(0, &[9])?;
    let timeline = device.create_semaphore(0)?;
    for link in Random::new(1).shuffled(0..300) {
        let commands = record(device, |encoder| encoder.copy(&result, link, &result, link + 1, 1))?;
        let submission = Submission::new().wait(&timeline, link + 1).execute(&commands);
        device.create_queue(&Default::default())?.submit(submission.signal(&timeline, link + 2))?;
    }
    timeline.signal(1)?;
    timeline.wait(301, soon())?;
    check!(contents::<u8>(&result)?.into_iter().all(|byte| byte == 9));
    Ok(())
}

/// Whether nobody but the case has a handle any more.
fn let_go(holders: &[&dyn Fn() -> usize]) -> Outcome {
    eventually("every handle is released", || holders.iter().all(|count| count() == 1))
}

/// Buffer, command buffer and timelines, counted.
fn held_until_it_ends_and_no_longer(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let gate = Gate::new(device)?;
    let buffer = host_buffer(device, &[0_u8; 16])?;
    let end = device.create_semaphore(0)?;
    let target = BufferRef::Slot { slot: 0, offset: 0, length: 16 };
    let commands = record(device, |encoder| encoder.fill_ref(target, &[1]))?;
    let submission = Submission::new().wait(gate.semaphore(), 1).signal(&end, 1);
    queue.submit(submission.execute_with(&commands, vec![(&buffer).into()]))?;
    for held in [Arc::strong_count(&buffer), Arc::strong_count(&commands), Arc::strong_count(&end)] {
        check!(held > 1, "{held} handles");
    }
    gate.open()?;
    end.wait(1, soon())?;
    let_go(&[
        &|| Arc::strong_count(&buffer),
        &|| Arc::strong_count(&commands),
        &|| Arc::strong_count(&end),
        &|| Arc::strong_count(gate.semaphore()),
    ])
}

/// No signal, no wait, no later submission: finished work is noticed all the same.
fn released_although_nobody_waits(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let buffer = host_buffer(device, &[0_u8; 16])?;
    let commands = record(device, |encoder| encoder.fill(&buffer, 0, 16, &[1]))?;
    for _ in 0..20 {
        queue.submit(Submission::new().execute(&commands))?;
    }
    let_go(&[&|| Arc::strong_count(&commands)])?;
    drop(commands);
    let_go(&[&|| Arc::strong_count(&buffer)])
}

/// A kernel's code is kept.
fn executable_dropped_after_submit(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let gate = Gate::new(device)?;
    let x = gpu.zeros::<u32>(8)?;
    let end = device.create_semaphore(0)?;
    for value in 1..=10 {
        let commands = record(device, |encoder| {
            let executable = kernels::ADD_ONE.load(device)?;
            encoder.launch(Dispatch::new(&executable, "add_one")?.block(8).arg(&x).arg(8_u32))
        })?;
        let submission = Submission::new().wait(gate.semaphore(), 1).execute(&commands);
        gpu.queue.submit(submission.signal(&end, value))?;
    }
    gate.open()?;
    end.wait(10, soon())?;
    check_eq!(gpu.download::<u32>(&x)?, [10; 8]);
    Ok(())
}

/// On the device rather than before it.
fn held_while_it_runs(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let spinner = Spinner::new(device)?;
    let end = device.create_semaphore(0)?;
    let buffer = host_buffer(device, &[0_u8; 16])?;
    let fill = record(device, |encoder| encoder.fill(&buffer, 0, 16, &[1]))?;
    let kept: Weak<_> = Arc::downgrade(&fill);
    queue.submit(Submission::new().execute(spinner.commands()).execute(&fill).signal(&end, 1))?;
    drop(fill);
    check!(kept.strong_count() > 0);
    check_eq!(contents::<u8>(&buffer)?, [0; 16]);
    spinner.stop()?;
    end.wait(1, soon())?;
    check_eq!(contents::<u8>(&buffer)?, [1; 16]);
    eventually("the command buffer is released", || kept.strong_count() == 0)
}

/// Queue, command buffer, executable and buffers: the submission holds them all.
fn everything_dropped_right_after_submit(device: &Arc<dyn Device>) -> Outcome {
    let result = host_buffer(device, &[0_u32; 1000])?;
    let done = device.create_semaphore(0)?;
    {
        let gpu = Gpu::new(device)?;
        let x = gpu.zeros::<u32>(1000)?;
        let executable = kernels::ADD_ONE.load(device)?;
        let commands = record(device, |encoder| {
            for _ in 0..5 {
                let dispatch = Dispatch::new(&executable, "add_one")?.grid(4).block(256);
                encoder.launch(dispatch.arg(&x).arg(1000_u32))?;
                encoder.barrier();
            }
            encoder.copy(&x, 0, &result, 0, 4000)
        })?;
        gpu.queue.submit(Submission::new().execute(&commands).signal(&done, 1))?;
    }
    done.wait(1, soon())?;
    check!(contents::<u32>(&result)?.into_iter().all(|number| number == 5));
    Ok(())
}
