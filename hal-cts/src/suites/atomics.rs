//! What threads of many workgroups do to one word.

use crate::support::{Gate, Gpu, Launch, record, soon};
use crate::{Outcome, Requirement, kernels};
use hal_core::{Device, Dispatch, Submission};
use std::sync::Arc;
use std::thread;

suite! { "atomics", in both encodings,
    &[Requirement::Kernels] => [atomic_sum, atomic_max, lock_counts_every_thread, submitted_from_many_threads],
}

fn atomic(device: &Arc<dyn Device>, name: &str, expected: u32) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::ATOMICS.load(device)?;
    let out = gpu.zeros::<u32>(1)?;
    gpu.run(|encoder| {
        let dispatch = Dispatch::new(&executable, name)?.grid(20).block(64);
        encoder.launch(dispatch.arg(&out).arg(1234_u32))
    })?;
    check_eq!(gpu.download::<u32>(&out)?, [expected]);
    Ok(())
}

/// No addition is lost between workgroups.
fn atomic_sum(device: &Arc<dyn Device>) -> Outcome {
    atomic(device, "atomic_sum", (0..1234).sum())
}

/// The largest wins.
fn atomic_max(device: &Arc<dyn Device>) -> Outcome {
    atomic(device, "atomic_max", 1233)
}

/// Plain memory under a lock that threads fight for.
fn lock_counts_every_thread(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::ATOMICS.load(device)?;
    let (lock, count) = (gpu.zeros::<u32>(1)?, gpu.zeros::<u32>(1)?);
    gpu.run(|encoder| {
        let dispatch = Dispatch::new(&executable, "cas_lock_count")?.grid(4).block(32);
        encoder.launch(dispatch.arg(&lock).arg(&count).arg(120_u32))
    })?;
    check_eq!(gpu.download::<u32>(&count)?, [120]);
    check_eq!(gpu.download::<u32>(&lock)?, [0]);
    Ok(())
}

/// One command buffer, eight threads and queues, all at once. It is what only atomics may be: nothing orders them.
fn submitted_from_many_threads(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::ATOMICS.load(device)?;
    let sum = gpu.zeros::<u32>(1)?;
    let commands = record(device, |encoder| {
        let dispatch = Dispatch::new(&executable, "atomic_sum")?.grid(1).block(64);
        encoder.launch(dispatch.arg(&sum).arg(64_u32))
    })?;
    let gate = Gate::new(device)?;
    let done = (0..8).map(|_| device.create_semaphore(0)).collect::<hal_core::Result<Vec<_>>>()?;
    let outcomes: Vec<_> = thread::scope(|scope| {
        let submit = |done| {
            let queue = device.create_queue(&Default::default())?;
            for value in 1..=10 {
                let submission = Submission::new().wait(gate.semaphore(), 1).execute(&commands);
                queue.submit(submission.signal(done, value))?;
            }
            Ok::<_, hal_core::Error>(())
        };
        let threads: Vec<_> = done.iter().map(|done| scope.spawn(move || submit(done))).collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    check!(outcomes.iter().all(|outcome| matches!(outcome, Ok(Ok(())))), "{outcomes:?}");
    gate.open()?;
    for done in &done {
        done.wait(10, soon())?;
    }
    check_eq!(gpu.download::<u32>(&sum)?, [80 * (0..64).sum::<u32>()]);
    Ok(())
}
