//! Memory as the host sees it.

use crate::Outcome;
use crate::support::{Gate, contents, host_buffer, record, soon};
use hal_core::{Buffer, BufferParams, Device, ErrorKind, MemoryKind, Result, Submission};
use std::collections::HashSet;
use std::sync::Arc;

suite! { "buffer",
    &[] => [
        device_local_is_as_asked,
        host_visible_is_as_asked,
        empty_buffer_takes_no_memory,
        odd_sizes_are_kept,
        addresses_are_aligned,
        allocations_do_not_overlap,
        largest_size_is_refused,
        absurd_sizes_are_refused,
        more_than_the_device_has_is_refused,
        refused_allocation_leaves_the_device_usable,
        memory_comes_back,
        host_reads_what_it_wrote,
        parts_are_read_and_written,
        empty_reads_and_writes_are_allowed,
        read_beyond_the_end_is_refused,
        write_beyond_the_end_is_refused,
        overflowing_ranges_are_refused,
        device_local_is_not_reached_by_the_host,
        mapping_reads_and_writes,
        mapping_is_relative_to_its_offset,
        mapping_beyond_the_end_is_refused,
        access_beyond_a_mapping_is_refused,
        empty_mapping_is_allowed,
        mapping_of_device_local_is_refused,
        mapping_keeps_the_buffer,
        mapping_shows_the_devices_writes,
        dropped_while_in_flight,
    ],
    &[crate::Requirement::ManagedMemory] => [managed_is_mappable, managed_is_copied],
}

fn host(device: &Arc<dyn Device>, size: u64) -> Result<Arc<dyn Buffer>> {
    device.allocate_buffer(&BufferParams::host_visible(size))
}

fn local(device: &Arc<dyn Device>, size: u64) -> Result<Arc<dyn Buffer>> {
    device.allocate_buffer(&BufferParams::device_local(size))
}

/// Size, kind, no host address.
fn device_local_is_as_asked(device: &Arc<dyn Device>) -> Outcome {
    let buffer = local(device, 4096)?;
    check_eq!(buffer.size(), 4096);
    check_eq!(buffer.kind(), MemoryKind::DeviceLocal);
    check!(buffer.device_address() != 0);
    check!(buffer.host_address().is_none());
    Ok(())
}

/// Size, kind, both addresses.
fn host_visible_is_as_asked(device: &Arc<dyn Device>) -> Outcome {
    let buffer = host(device, 4096)?;
    check_eq!(buffer.size(), 4096);
    check_eq!(buffer.kind(), MemoryKind::HostVisible);
    check!(buffer.device_address() != 0);
    check!(buffer.host_address().is_some());
    Ok(())
}

/// Size zero is allowed and has no address.
fn empty_buffer_takes_no_memory(device: &Arc<dyn Device>) -> Outcome {
    for kind in [MemoryKind::DeviceLocal, MemoryKind::HostVisible] {
        let buffer = device.allocate_buffer(&BufferParams { size: 0, kind })?;
        check_eq!(buffer.size(), 0);
        check_eq!(buffer.kind(), kind);
        check_eq!(buffer.device_address(), 0);
        check!(buffer.host_address().is_none());
    }
    Ok(())
}

/// Sizes are not rounded as far as the caller sees.
fn odd_sizes_are_kept(device: &Arc<dyn Device>) -> Outcome {
    for size in [1, 3, 255, 257, 4097, 1_000_003] {
        check_eq!(local(device, size)?.size(), size);
        check_eq!(host(device, size)?.size(), size);
    }
    Ok(())
}

/// 256 bytes, whatever the size.
fn addresses_are_aligned(device: &Arc<dyn Device>) -> Outcome {
    let mut held = Vec::new();
    for size in [1, 2, 100, 256, 300, 65_537] {
        for buffer in [local(device, size)?, host(device, size)?] {
            check_eq!(buffer.device_address() % 256, 0, "{:?} of {size} bytes", buffer.kind());
            held.push(buffer);
        }
    }
    Ok(())
}

/// No byte belongs to two buffers.
fn allocations_do_not_overlap(device: &Arc<dyn Device>) -> Outcome {
    let mut held = Vec::new();
    for number in 0..100 {
        held.push(local(device, 1 + number * 37)?);
        held.push(host(device, 1 + number * 53)?);
    }
    let mut ranges: Vec<_> = held.iter().map(|buffer| (buffer.device_address(), buffer.size())).collect();
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        check!(pair[0].0 + pair[0].1 <= pair[1].0, "{pair:x?}");
    }
    let unique: HashSet<_> = ranges.iter().map(|(address, _)| address).collect();
    check_eq!(unique.len(), held.len());
    Ok(())
}

/// The largest number is a size like any other: too large.
fn largest_size_is_refused(device: &Arc<dyn Device>) -> Outcome {
    check_err!(local(device, u64::MAX), ErrorKind::OutOfRange);
    check_err!(host(device, u64::MAX), ErrorKind::OutOfRange);
    Ok(())
}

/// Sizes at which rounding would overflow, or that no device has.
fn absurd_sizes_are_refused(device: &Arc<dyn Device>) -> Outcome {
    for size in [1 << 60, 1 << 63, u64::MAX - 255, i64::MAX as u64] {
        check_err!(local(device, size), ErrorKind::OutOfRange);
        check_err!(host(device, size), ErrorKind::OutOfRange);
    }
    Ok(())
}

/// A size that the driver must judge.
fn more_than_the_device_has_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let size = device.info().total_memory.saturating_mul(2).min(1 << 47);
    check_err!(local(device, size), ErrorKind::ResourceExhausted);
    Ok(())
}

/// Running out is no loss of the device.
fn refused_allocation_leaves_the_device_usable(device: &Arc<dyn Device>) -> Outcome {
    let size = device.info().total_memory.saturating_mul(2).min(1 << 47);
    for _ in 0..10 {
        check_err!(local(device, size), ErrorKind::ResourceExhausted);
    }
    check!(device.lost().is_none());
    check_eq!(local(device, 1024)?.size(), 1024);
    Ok(())
}

/// A quarter of the device's memory (at most 64 MiB) can be had again and again.
fn memory_comes_back(device: &Arc<dyn Device>) -> Outcome {
    let size = (device.info().total_memory / 4).min(64 << 20);
    for round in 0..50 {
        let buffer = local(device, size);
        check!(buffer.is_ok(), "round {round}: {buffer:?}");
    }
    Ok(())
}

/// What goes in comes out.
fn host_reads_what_it_wrote(device: &Arc<dyn Device>) -> Outcome {
    let numbers: Vec<u32> = (0..10_000).map(|n: u32| n.wrapping_mul(2_654_435_761)).collect();
    let buffer = host_buffer(device, &numbers)?;
    check!(contents::<u32>(&buffer)? == numbers);
    Ok(())
}

/// A write touches its range and no more.
fn parts_are_read_and_written(device: &Arc<dyn Device>) -> Outcome {
    let buffer = host_buffer(device, &[0xaa_u8; 64])?;
    buffer.write(10, &[1, 2, 3])?;
    let mut part = [0; 5];
    buffer.read(9, &mut part)?;
    check_eq!(part, [0xaa, 1, 2, 3, 0xaa]);
    buffer.write(63, &[9])?;
    check_eq!(contents::<u8>(&buffer)?[63], 9);
    Ok(())
}

/// Nothing is read or written, up to the end.
fn empty_reads_and_writes_are_allowed(device: &Arc<dyn Device>) -> Outcome {
    let buffer = host(device, 16)?;
    for offset in [0, 7, 16] {
        buffer.read(offset, &mut [])?;
        buffer.write(offset, &[])?;
    }
    let empty = host(device, 0)?;
    empty.read(0, &mut [])?;
    empty.write(0, &[])?;
    check_err!(empty.read(1, &mut []), ErrorKind::OutOfRange);
    Ok(())
}

/// The end is checked, for any offset.
fn read_beyond_the_end_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let buffer = host(device, 16)?;
    for (offset, length) in [(0, 17), (16, 1), (15, 2), (17, 0), (1 << 40, 1)] {
        check_err!(buffer.read(offset, &mut vec![0; length]), ErrorKind::OutOfRange);
    }
    Ok(())
}

/// A refused write writes nothing.
fn write_beyond_the_end_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let buffer = host_buffer(device, &[7_u8; 16])?;
    for (offset, length) in [(0, 17), (16, 1), (15, 2), (17, 0), (1 << 40, 1)] {
        check_err!(buffer.write(offset, &vec![0; length]), ErrorKind::OutOfRange);
    }
    check_eq!(contents::<u8>(&buffer)?, [7; 16]);
    Ok(())
}

/// Offset plus length beyond 64 bits.
fn overflowing_ranges_are_refused(device: &Arc<dyn Device>) -> Outcome {
    let buffer = host(device, 16)?;
    check_err!(buffer.read(u64::MAX, &mut [0]), ErrorKind::OutOfRange);
    check_err!(buffer.write(u64::MAX - 1, &[0; 4]), ErrorKind::OutOfRange);
    check_err!(buffer.map(u64::MAX, 2), ErrorKind::OutOfRange);
    check_err!(buffer.map(2, u64::MAX), ErrorKind::OutOfRange);
    Ok(())
}

/// The error says so, instead of a crash.
fn device_local_is_not_reached_by_the_host(device: &Arc<dyn Device>) -> Outcome {
    let buffer = local(device, 16)?;
    check_err!(buffer.read(0, &mut [0; 4]), ErrorKind::InvalidArgument);
    check_err!(buffer.write(0, &[0; 4]), ErrorKind::InvalidArgument);
    Ok(())
}

/// A mapping is a view of the buffer.
fn mapping_reads_and_writes(device: &Arc<dyn Device>) -> Outcome {
    let buffer = host_buffer(device, &[1_u8, 2, 3, 4])?;
    let mapping = buffer.map(0, 4)?;
    check_eq!(mapping.len(), 4);
    check!(!mapping.is_empty());
    let mut bytes = [0; 4];
    mapping.read(0, &mut bytes)?;
    check_eq!(bytes, [1, 2, 3, 4]);
    mapping.write(1, &[20, 30])?;
    check_eq!(contents::<u8>(&buffer)?, [1, 20, 30, 4]);
    Ok(())
}

/// Offsets count from the start of the mapping.
fn mapping_is_relative_to_its_offset(device: &Arc<dyn Device>) -> Outcome {
    let buffer = host_buffer(device, &[0_u8, 1, 2, 3, 4, 5, 6, 7])?;
    let mapping = buffer.map(4, 2)?;
    let mut bytes = [0; 2];
    mapping.read(0, &mut bytes)?;
    check_eq!(bytes, [4, 5]);
    mapping.write(1, &[50])?;
    check_eq!(contents::<u8>(&buffer)?[5], 50);
    let base = buffer.host_address().map(|base| base.as_ptr() as usize);
    check_eq!(base.map(|base| base + 4), Some(mapping.as_ptr() as usize));
    Ok(())
}

/// A mapping lies within its buffer.
fn mapping_beyond_the_end_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let buffer = host(device, 16)?;
    for (offset, length) in [(0, 17), (16, 1), (17, 0), (15, 2)] {
        check_err!(buffer.map(offset, length), ErrorKind::OutOfRange);
    }
    Ok(())
}

/// The buffer goes on, the mapping does not.
fn access_beyond_a_mapping_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let buffer = host(device, 16)?;
    let mapping = buffer.map(4, 4)?;
    check_err!(mapping.read(0, &mut [0; 5]), ErrorKind::OutOfRange);
    check_err!(mapping.write(4, &[0]), ErrorKind::OutOfRange);
    check_err!(mapping.write(u64::MAX, &[0]), ErrorKind::OutOfRange);
    Ok(())
}

/// Empty, but a mapping.
fn empty_mapping_is_allowed(device: &Arc<dyn Device>) -> Outcome {
    let buffer = host(device, 16)?;
    for offset in [0, 16] {
        let mapping = buffer.map(offset, 0)?;
        check!(mapping.is_empty());
        mapping.read(0, &mut [])?;
    }
    check!(host(device, 0)?.map(0, 0)?.is_empty());
    Ok(())
}

/// The error says so.
fn mapping_of_device_local_is_refused(device: &Arc<dyn Device>) -> Outcome {
    check_err!(local(device, 16)?.map(0, 16), ErrorKind::InvalidArgument);
    Ok(())
}

/// A mapping holds the memory that it shows.
fn mapping_keeps_the_buffer(device: &Arc<dyn Device>) -> Outcome {
    let buffer = host_buffer(device, &[1_u8, 2, 3])?;
    let mapping = buffer.map(0, 3)?;
    drop(buffer);
    let mut bytes = [0; 3];
    mapping.read(0, &mut bytes)?;
    check_eq!(bytes, [1, 2, 3]);
    mapping.write(0, &[4])?;
    Ok(())
}

/// Once the work has ended, no more calls are needed to see what it wrote.
fn mapping_shows_the_devices_writes(device: &Arc<dyn Device>) -> Outcome {
    let buffer = host_buffer(device, &[0_u8; 64])?;
    let mapping = buffer.map(0, 64)?;
    let commands = record(device, |encoder| encoder.fill(&buffer, 16, 16, &[0x5a]))?;
    let queue = device.create_queue(&Default::default())?;
    let done = device.create_semaphore(0)?;
    queue.submit(Submission::new().execute(&commands).signal(&done, 1))?;
    done.wait(1, soon())?;
    let mut bytes = [0; 64];
    mapping.read(0, &mut bytes)?;
    let expected: Vec<u8> = (0..64).map(|i| if (16..32).contains(&i) { 0x5a } else { 0 }).collect();
    check_eq!(bytes[..], expected[..]);
    Ok(())
}

/// The submission holds what its commands use.
fn dropped_while_in_flight(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let gate = Gate::new(device)?;
    let done = device.create_semaphore(0)?;
    let target = host(device, 4096)?;
    let source = local(device, 4096)?;
    let commands = record(device, |encoder| {
        encoder.fill(&source, 0, 4096, &[0x77])?;
        encoder.barrier();
        encoder.copy(&source, 0, &target, 0, 4096)
    })?;
    queue.submit(Submission::new().wait(gate.semaphore(), 1).execute(&commands).signal(&done, 1))?;
    drop((source, commands));
    gate.open()?;
    done.wait(1, soon())?;
    check!(contents::<u8>(&target)?.iter().all(|&byte| byte == 0x77));
    Ok(())
}

/// Managed memory is written and read by the host.
fn managed_is_mappable(device: &Arc<dyn Device>) -> Outcome {
    let buffer = device.allocate_buffer(&BufferParams { size: 64, kind: MemoryKind::Managed })?;
    check_eq!(buffer.kind(), MemoryKind::Managed);
    check_eq!(buffer.device_address() % 256, 0);
    let mapping = buffer.map(0, 64)?;
    mapping.write(0, &[3; 64])?;
    check_eq!(contents::<u8>(&buffer)?, [3; 64]);
    Ok(())
}

/// Managed memory takes part in copies and fills.
fn managed_is_copied(device: &Arc<dyn Device>) -> Outcome {
    let managed = device.allocate_buffer(&BufferParams { size: 64, kind: MemoryKind::Managed })?;
    let target = host_buffer(device, &[0_u8; 64])?;
    let gpu = crate::support::Gpu::new(device)?;
    gpu.run(|encoder| {
        encoder.fill(&managed, 0, 64, &[0x21])?;
        encoder.barrier();
        encoder.copy(&managed, 0, &target, 0, 64)
    })?;
    check_eq!(contents::<u8>(&target)?, [0x21; 64]);
    check_eq!(contents::<u8>(&managed)?, [0x21; 64]);
    Ok(())
}
