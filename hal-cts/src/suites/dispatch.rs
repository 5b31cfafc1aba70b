//! Recording dispatches: shapes, arguments, limits.

use crate::support::{Gpu, Launch, contents, host_buffer, to_bytes};
use crate::{Outcome, Requirement, kernels};
use hal_core::{Argument, BufferParams, BufferRange, Device, Dispatch, ErrorKind, Value};
use std::sync::Arc;

suite! { "dispatch", in both encodings,
    &[Requirement::Kernels] => [
        plain_values_of_every_size,
        struct_by_value,
        values_are_copied_at_record_time,
        part_of_a_buffer,
        every_axis_of_the_grid,
        every_axis_of_the_workgroup,
        grid_of_one_workgroup_of_one_thread,
        largest_workgroup,
        dynamic_shared_memory,
        empty_grid_does_nothing,
        empty_workgroup_is_refused,
        too_many_threads_are_refused,
        too_large_workgroup_axis_is_refused,
        too_large_grid_axis_is_refused,
        too_much_shared_memory_is_refused,
        too_many_argument_bytes_are_refused,
        argument_beyond_its_buffer_is_refused,
        refused_dispatch_records_nothing,
    ],
    &[Requirement::Kernels, Requirement::ParameterReflection] => [
        too_few_arguments_are_refused,
        too_many_arguments_are_refused,
        argument_of_the_wrong_size_is_refused,
        buffer_for_a_number_is_refused,
        number_for_a_buffer_is_refused,
    ],
}

/// 1, 4 and 8 bytes, integers and a float, each at its place.
fn plain_values_of_every_size(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let out = gpu.zeros::<u32>(6)?;
    let executable = kernels::CONSTANTS.load(device)?;
    gpu.run(|encoder| {
        let dispatch =
            Dispatch::new(&executable, "store_constants")?.arg(&out).arg(0x0102_0304_u32).arg(u32::MAX);
        encoder.launch(dispatch.arg(0x1122_3344_5566_7788_u64).arg(-1.5_f32).arg(0xfe_u8))
    })?;
    let expected = [0x0102_0304, u32::MAX, 0x5566_7788, 0x1122_3344, (-1.5_f32).to_bits(), 0xfe];
    check_eq!(gpu.download::<u32>(&out)?, expected);
    Ok(())
}

/// Bytes as C lays them out.
fn struct_by_value(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let out = gpu.zeros::<u32>(9)?;
    let executable = kernels::CONSTANTS.load(device)?;
    let mut bytes = [0_u8; 40];
    bytes[0..4].copy_from_slice(&7_u32.to_ne_bytes());
    bytes[4] = 200;
    bytes[8..16].copy_from_slice(&0xaaaa_bbbb_cccc_dddd_u64.to_ne_bytes());
    bytes[16..20].copy_from_slice(&2.25_f32.to_ne_bytes());
    bytes[20..32].copy_from_slice(&to_bytes(&[10_u32, 20, 30]));
    bytes[32] = 99;
    gpu.run(|encoder| {
        encoder.launch(Dispatch::new(&executable, "store_struct")?.arg(&out).arg(Value::from_bytes(&bytes)))
    })?;
    let expected = [7, 200, 0xcccc_dddd, 0xaaaa_bbbb, 2.25_f32.to_bits(), 10, 20, 30, 99];
    check_eq!(gpu.download::<u32>(&out)?, expected);
    Ok(())
}

/// What is recorded does not change with its source.
fn values_are_copied_at_record_time(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let out = gpu.zeros::<u32>(3)?;
    let executable = kernels::ADD_ONE.load(device)?;
    gpu.run(|encoder| {
        let mut count = 1_u32.to_ne_bytes();
        let dispatch =
            Dispatch::new(&executable, "add_one")?.block(3).arg(&out).arg(Value::from_bytes(&count));
        encoder.launch(dispatch)?;
        count.fill(0xff);
        Ok(())
    })?;
    check_eq!(gpu.download::<u32>(&out)?, [1, 0, 0]);
    Ok(())
}

/// An argument is the address of its range.
fn part_of_a_buffer(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = gpu.zeros::<u32>(100)?;
    let executable = kernels::ADD_ONE.load(device)?;
    let part = BufferRange::new(&buffer, 4 * 37, 4 * 10);
    gpu.run(|encoder| {
        encoder.launch(Dispatch::new(&executable, "add_one")?.block(32).arg(part.clone()).arg(10_u32))
    })?;
    let expected: Vec<u32> = (0..100).map(|index| u32::from((37..47).contains(&index))).collect();
    check_eq!(gpu.download::<u32>(&buffer)?, expected);
    Ok(())
}

/// x, y and z of a 3 by 4 by 5 grid.
fn every_axis_of_the_grid(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let out = gpu.zeros::<u32>(60 * 6)?;
    let executable = kernels::WORKGROUP_IDS.load(device)?;
    gpu.run(|encoder| {
        encoder
            .launch(Dispatch::new(&executable, "write_grid_3d")?.grid([3, 4, 5]).block([2, 2, 2]).arg(&out))
    })?;
    let mut expected = Vec::new();
    for z in 0..5 {
        for y in 0..4 {
            (0..3).for_each(|x| expected.extend([x, y, z, 3, 4, 5]));
        }
    }
    check_eq!(gpu.download::<u32>(&out)?, expected);
    Ok(())
}

/// x, y and z of workgroups of 4 by 3 by 2 threads.
fn every_axis_of_the_workgroup(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let out = gpu.upload(&[u32::MAX; 24 * 6])?;
    let executable = kernels::WORKGROUP_IDS.load(device)?;
    gpu.run(|encoder| {
        encoder.launch(
            Dispatch::new(&executable, "write_thread_ids")?.grid([1, 2, 3]).block([4, 3, 2]).arg(&out),
        )
    })?;
    check!(gpu.download::<u32>(&out)?.into_iter().eq((0..24 * 6).map(|index| index % 24)));
    Ok(())
}

/// The default shape.
fn grid_of_one_workgroup_of_one_thread(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let out = gpu.upload(&[5_u32, 5])?;
    let executable = kernels::ADD_ONE.load(device)?;
    gpu.run(|encoder| encoder.launch(Dispatch::new(&executable, "add_one")?.arg(&out).arg(2_u32)))?;
    check_eq!(gpu.download::<u32>(&out)?, [6, 5]);
    Ok(())
}

/// As many threads as the device and the kernel allow.
fn largest_workgroup(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::ADD_ONE.load(device)?;
    let own = executable.entry_point("add_one")?.max_workgroup_size;
    let limits = &device.info().limits;
    let threads = own.unwrap_or(u32::MAX).min(limits.max_workgroup_size).min(limits.max_workgroup_dims[0]);
    let out = gpu.zeros::<u32>(threads as usize)?;
    gpu.run(|encoder| {
        encoder.launch(Dispatch::new(&executable, "add_one")?.block(threads).arg(&out).arg(threads))
    })?;
    check!(gpu.download::<u32>(&out)?.into_iter().all(|number| number == 1));
    Ok(())
}

/// Every thread leaves a number for another one.
fn dynamic_shared_memory(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::DYNAMIC_SHARED.load(device)?;
    for threads in [1_u32, 2, 33, 64, 256] {
        let numbers: Vec<u32> = (0..threads * 3).collect();
        let data = gpu.upload(&numbers)?;
        gpu.run(|encoder| {
            let dispatch = Dispatch::new(&executable, "reverse_block")?.grid(3).block(threads);
            encoder.launch(dispatch.shared_memory(threads * 4).arg(&data))
        })?;
        let expected: Vec<u32> =
            numbers.chunks(threads as usize).flat_map(|block| block.iter().rev().copied()).collect();
        check_eq!(gpu.download::<u32>(&data)?, expected, "{threads} threads");
    }
    Ok(())
}

/// A zero in any axis.
fn empty_grid_does_nothing(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let out = gpu.zeros::<u32>(8)?;
    let executable = kernels::ADD_ONE.load(device)?;
    gpu.run(|encoder| {
        for grid in [[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 0]] {
            encoder
                .launch(Dispatch::new(&executable, "add_one")?.grid(grid).block(8).arg(&out).arg(8_u32))?;
        }
        Ok(())
    })?;
    check_eq!(gpu.download::<u32>(&out)?, [0; 8]);
    Ok(())
}

/// A dispatch of `add_one` that is fine but for what the case changes.
fn fine(device: &Arc<dyn Device>) -> hal_core::Result<Dispatch> {
    let out = device.allocate_buffer(&BufferParams::device_local(64))?;
    Ok(Dispatch::new(&kernels::ADD_ONE.load(device)?, "add_one")?.block(16).arg(&out).arg(16_u32))
}

/// No thread, no workgroup.
fn empty_workgroup_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let mut encoder = device.encoder();
    for block in [[0, 1, 1], [1, 0, 1], [1, 1, 0]] {
        check_err!(encoder.launch(fine(device)?.block(block)), ErrorKind::InvalidArgument);
    }
    Ok(())
}

/// All axes multiplied.
fn too_many_threads_are_refused(device: &Arc<dyn Device>) -> Outcome {
    let limits = device.info().limits.clone();
    let mut encoder = device.encoder();
    let half = limits.max_workgroup_size / 2 + 1;
    if half <= limits.max_workgroup_dims[0] {
        check_err!(encoder.launch(fine(device)?.block([half, 2])), ErrorKind::OutOfRange);
    }
    check_err!(encoder.launch(fine(device)?.block(limits.max_workgroup_size + 1)), ErrorKind::OutOfRange);
    check_err!(encoder.launch(fine(device)?.block([u32::MAX; 3])), ErrorKind::OutOfRange);
    Ok(())
}

/// Each axis has its own limit.
fn too_large_workgroup_axis_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let mut encoder = device.encoder();
    for axis in 0..3 {
        let mut block = [1; 3];
        block[axis] = device.info().limits.max_workgroup_dims[axis] + 1;
        check_err!(encoder.launch(fine(device)?.block(block)), ErrorKind::OutOfRange);
    }
    Ok(())
}

/// Where there is a number above the limit.
fn too_large_grid_axis_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let mut encoder = device.encoder();
    for axis in 0..3 {
        let mut grid = [1; 3];
        if let Some(more) = device.info().limits.max_grid_dims[axis].checked_add(1) {
            grid[axis] = more;
            check_err!(encoder.launch(fine(device)?.grid(grid)), ErrorKind::OutOfRange);
        }
    }
    Ok(())
}

/// One byte more than there is, and the largest number.
fn too_much_shared_memory_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let mut encoder = device.encoder();
    for bytes in [device.info().limits.max_shared_memory + 1, u32::MAX] {
        check_err!(encoder.launch(fine(device)?.shared_memory(bytes)), ErrorKind::OutOfRange);
    }
    Ok(())
}

/// 4096 bytes are what every driver takes.
fn too_many_argument_bytes_are_refused(device: &Arc<dyn Device>) -> Outcome {
    let large = Argument::from(Value::from_bytes(&[0; 4097]));
    check_err!(device.encoder().launch(fine(device)?.arg(large)), ErrorKind::OutOfRange);
    Ok(())
}

/// The kernel would be given an address that is not its own.
fn argument_beyond_its_buffer_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let buffer = device.allocate_buffer(&BufferParams::device_local(64))?;
    let executable = kernels::ADD_ONE.load(device)?;
    let mut encoder = device.encoder();
    for (offset, length) in [(0, 65), (64, 1), (60, 8), (u64::MAX, 8)] {
        let part = BufferRange::new(&buffer, offset, length);
        let dispatch = Dispatch::new(&executable, "add_one")?.arg(part).arg(1_u32);
        check_err!(encoder.launch(dispatch), ErrorKind::OutOfRange);
    }
    Ok(())
}

/// The encoder goes on as if the refused call had not been made.
fn refused_dispatch_records_nothing(device: &Arc<dyn Device>) -> Outcome {
    let buffer = host_buffer(device, &[0_u32; 16])?;
    let executable = kernels::ADD_ONE.load(device)?;
    let dispatch = Dispatch::new(&executable, "add_one")?.block(16).arg(&buffer).arg(16_u32);
    let mut encoder = device.encoder();
    check_err!(encoder.launch(dispatch.clone().block(0)), ErrorKind::InvalidArgument);
    encoder.launch(dispatch)?;
    let commands = encoder.finish(&**device)?;
    check_eq!(commands.list().commands().len(), 1);
    Gpu::new(device)?.execute(&commands)?;
    check_eq!(contents::<u32>(&buffer)?, [1; 16]);
    Ok(())
}

/// The kernel would read what nobody wrote.
fn too_few_arguments_are_refused(device: &Arc<dyn Device>) -> Outcome {
    let buffer = device.allocate_buffer(&BufferParams::device_local(64))?;
    let executable = kernels::ADD_ONE.load(device)?;
    let mut encoder = device.encoder();
    check_err!(encoder.launch(Dispatch::new(&executable, "add_one")?), ErrorKind::InvalidArgument);
    let one = Dispatch::new(&executable, "add_one")?.arg(&buffer);
    check_err!(encoder.launch(one), ErrorKind::InvalidArgument);
    Ok(())
}

/// A sign of a mistake elsewhere.
fn too_many_arguments_are_refused(device: &Arc<dyn Device>) -> Outcome {
    let error = check_err!(device.encoder().launch(fine(device)?.arg(1_u32)), ErrorKind::InvalidArgument);
    check!(error.message().contains("add_one"), "{error}");
    Ok(())
}

/// 8 and 1 bytes for 4.
fn argument_of_the_wrong_size_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let buffer = device.allocate_buffer(&BufferParams::device_local(64))?;
    let executable = kernels::ADD_ONE.load(device)?;
    let mut encoder = device.encoder();
    for wrong in [Argument::from(1_u64), Argument::from(1_u8)] {
        let dispatch = Dispatch::new(&executable, "add_one")?.arg(&buffer).arg(wrong);
        check_err!(encoder.launch(dispatch), ErrorKind::InvalidArgument);
    }
    Ok(())
}

/// An address has 8 bytes.
fn buffer_for_a_number_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let buffer = device.allocate_buffer(&BufferParams::device_local(64))?;
    let dispatch = Dispatch::new(&kernels::ADD_ONE.load(device)?, "add_one")?.arg(&buffer).arg(&buffer);
    check_err!(device.encoder().launch(dispatch), ErrorKind::InvalidArgument);
    Ok(())
}

/// The usual slip: arguments in the wrong order.
fn number_for_a_buffer_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let buffer = device.allocate_buffer(&BufferParams::device_local(64))?;
    let dispatch = Dispatch::new(&kernels::ADD_ONE.load(device)?, "add_one")?.arg(16_u32).arg(&buffer);
    check_err!(device.encoder().launch(dispatch), ErrorKind::InvalidArgument);
    Ok(())
}
