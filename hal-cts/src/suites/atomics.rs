//! What threads of many workgroups do to one word.

use crate::support::{Gpu, Launch};
use crate::{Outcome, Requirement, kernels};
use hal_core::{Device, Dispatch};
use std::sync::Arc;

suite! { "atomics", in both encodings,
    &[Requirement::Kernels] => [atomic_sum, atomic_max, lock_counts_every_thread],
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
