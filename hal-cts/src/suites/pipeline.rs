//! Kernels in a row, side by side, and between other commands.

use super::kernel::groups;
use crate::support::{Gpu, Launch, contents, host_buffer, record, soon};
use crate::{Outcome, Requirement, kernels};
use hal_core::{BufferParams, Device, Dispatch, Submission};
use std::sync::Arc;

suite! { "pipeline", in both encodings,
    &[Requirement::Kernels] => [
        chain_of_ten_with_barriers,
        entry_points_of_one_module_in_a_row,
        fill_dispatch_copy,
        host_visible_memory_is_reached,
        dispatches_of_one_command_buffer_repeat,
        independent_dispatches_without_barriers,
    ],
}

/// Ten dispatches, each on the result of the one before.
fn chain_of_ten_with_barriers(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::ADD_ONE.load(device)?;
    let x = gpu.zeros::<u32>(1000)?;
    gpu.run(|encoder| {
        for _ in 0..10 {
            encoder.launch(
                Dispatch::new(&executable, "add_one")?.grid(groups(1000)).block(256).arg(&x).arg(1000_u32),
            )?;
            encoder.barrier();
        }
        Ok(())
    })?;
    check!(gpu.download::<u32>(&x)?.into_iter().all(|number| number == 10));
    Ok(())
}

/// Negate, then double, then the absolute value.
fn entry_points_of_one_module_in_a_row(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::MULTI_ENTRY.load(device)?;
    let x = gpu.upload(&[1_i32, -2, 3, 0])?;
    gpu.run(|encoder| {
        for name in ["negate", "double_it", "abs_i32"] {
            encoder.launch(Dispatch::new(&executable, name)?.block(4).arg(&x).arg(4_u32))?;
            encoder.barrier();
        }
        Ok(())
    })?;
    check_eq!(gpu.download::<i32>(&x)?, [2, 4, 6, 0]);
    Ok(())
}

/// A pipeline of all kinds of commands.
fn fill_dispatch_copy(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::ADD_ONE.load(device)?;
    let x = device.allocate_buffer(&BufferParams::device_local(400))?;
    let result = host_buffer(device, &[0_u32; 100])?;
    gpu.run(|encoder| {
        encoder.fill(&x, 0, 400, &[2, 0, 0, 0])?;
        encoder.barrier();
        encoder.update(&x, 200, &50_u32.to_ne_bytes())?;
        encoder.barrier();
        encoder.launch(Dispatch::new(&executable, "add_one")?.block(128).arg(&x).arg(100_u32))?;
        encoder.barrier();
        encoder.copy(&x, 0, &result, 0, 400)
    })?;
    let expected: Vec<u32> = (0..100).map(|index| if index == 50 { 51 } else { 3 }).collect();
    check_eq!(contents::<u32>(&result)?, expected);
    Ok(())
}

/// Kernels read and write pinned memory.
fn host_visible_memory_is_reached(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::ADD_ONE.load(device)?;
    let x = host_buffer(device, &[10_u32, 20, 30])?;
    gpu.run(|encoder| encoder.launch(Dispatch::new(&executable, "add_one")?.block(3).arg(&x).arg(3_u32)))?;
    check_eq!(contents::<u32>(&x)?, [11, 21, 31]);
    Ok(())
}

/// Fifty submissions of one recording add up.
fn dispatches_of_one_command_buffer_repeat(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::ADD_ONE.load(device)?;
    let x = gpu.zeros::<u32>(8)?;
    let commands = record(device, |encoder| {
        encoder.launch(Dispatch::new(&executable, "add_one")?.block(8).arg(&x).arg(8_u32))
    })?;
    let done = device.create_semaphore(0)?;
    for value in 1..=50 {
        gpu.queue.submit(Submission::new().execute(&commands).signal(&done, value))?;
    }
    done.wait(50, soon())?;
    check_eq!(gpu.download::<u32>(&x)?, [50; 8]);
    Ok(())
}

/// Parts of a buffer that no two dispatches share.
fn independent_dispatches_without_barriers(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::ADD_ONE.load(device)?;
    let x = gpu.zeros::<u32>(320)?;
    gpu.run(|encoder| {
        (0..20).try_for_each(|part| {
            let range = hal_core::BufferRange::new(&x, part * 64, 64);
            encoder.launch(Dispatch::new(&executable, "add_one")?.block(16).arg(range).arg(16_u32))
        })
    })?;
    check_eq!(gpu.download::<u32>(&x)?, [1; 320]);
    Ok(())
}
