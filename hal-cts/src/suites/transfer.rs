//! Copies and updates.

use crate::Outcome;
use crate::support::{Gpu, contents, host_buffer, record};
use hal_core::{BufferParams, BufferRange, BufferRef, Device, ErrorKind};
use std::sync::Arc;

suite! { "transfer", in both encodings,
    &[] => [
        copy_of_a_whole_buffer,
        copy_of_parts,
        copy_of_one_byte,
        copy_of_odd_lengths,
        copy_of_eight_mebibytes,
        copy_between_all_kinds,
        copy_within_a_buffer,
        copy_of_neighbouring_ranges,
        copy_of_nothing,
        copy_there_and_back,
        copies_follow_each_other_through_barriers,
        overlapping_copy_is_refused,
        copy_onto_itself_is_refused,
        copy_beyond_the_source_is_refused,
        copy_beyond_the_target_is_refused,
        copy_overflow_is_refused,
        copy_of_different_lengths_is_refused,
        update_writes_its_bytes,
        update_of_one_mebibyte,
        update_keeps_what_was_recorded,
        update_of_nothing,
        update_beyond_the_end_is_refused,
        many_small_updates,
    ],
}

fn numbered(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index * 7 + index / 256) as u8).collect()
}

/// Device to device.
fn copy_of_a_whole_buffer(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let source = gpu.upload(&numbered(4096))?;
    let target = gpu.zeros::<u8>(4096)?;
    gpu.run(|encoder| encoder.copy(&source, 0, &target, 0, 4096))?;
    check!(gpu.download::<u8>(&target)? == numbered(4096));
    check!(gpu.download::<u8>(&source)? == numbered(4096));
    Ok(())
}

/// Only the range changes.
fn copy_of_parts(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let source = gpu.upload(&numbered(1000))?;
    for (from, to, length) in [(0, 0, 10), (0, 990, 10), (990, 0, 10), (123, 457, 345), (999, 999, 1)] {
        let target = gpu.zeros::<u8>(1000)?;
        gpu.run(|encoder| encoder.copy(&source, from as u64, &target, to as u64, length as u64))?;
        let mut expected = vec![0; 1000];
        expected[to..to + length].copy_from_slice(&numbered(1000)[from..from + length]);
        check!(gpu.download::<u8>(&target)? == expected, "{length} bytes from {from} to {to}");
    }
    Ok(())
}

/// The smallest copy.
fn copy_of_one_byte(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let (source, target) = (gpu.upload(&[1_u8, 2, 3])?, gpu.upload(&[9_u8, 9, 9])?);
    gpu.run(|encoder| encoder.copy(&source, 1, &target, 2, 1))?;
    check_eq!(gpu.download::<u8>(&target)?, [9, 9, 2]);
    Ok(())
}

/// Lengths and offsets that are multiples of nothing.
fn copy_of_odd_lengths(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    for length in [3, 5, 7, 13, 129, 1021, 65_537] {
        let source = gpu.upload(&numbered(length + 1))?;
        let target = gpu.zeros::<u8>(length)?;
        gpu.run(|encoder| encoder.copy(&source, 1, &target, 0, length as u64))?;
        check!(gpu.download::<u8>(&target)? == numbered(length + 1)[1..], "{length} bytes");
    }
    Ok(())
}

/// More than fits any staging area.
fn copy_of_eight_mebibytes(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let data = numbered(8 << 20);
    let source = gpu.upload(&data)?;
    let target = gpu.zeros::<u8>(data.len())?;
    gpu.run(|encoder| encoder.copy(&source, 0, &target, 0, data.len() as u64))?;
    check!(gpu.download::<u8>(&target)? == data);
    Ok(())
}

/// Host to host, host to device, device to host.
fn copy_between_all_kinds(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let host = host_buffer(device, &numbered(256))?;
    let local = gpu.zeros::<u8>(256)?;
    let last = host_buffer(device, &[0_u8; 512])?;
    gpu.run(|encoder| {
        encoder.copy(&host, 0, &local, 0, 256)?;
        encoder.copy(&host, 0, &last, 0, 256)?;
        encoder.barrier();
        encoder.copy(&local, 0, &last, 256, 256)
    })?;
    let found = contents::<u8>(&last)?;
    check!(found[..256] == numbered(256));
    check!(found[256..] == numbered(256));
    Ok(())
}

/// Source and target may be one buffer.
fn copy_within_a_buffer(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = gpu.upload(&numbered(100))?;
    gpu.run(|encoder| encoder.copy(&buffer, 10, &buffer, 60, 20))?;
    let mut expected = numbered(100);
    expected.copy_within(10..30, 60);
    check_eq!(gpu.download::<u8>(&buffer)?, expected);
    Ok(())
}

/// Ranges that touch do not overlap.
fn copy_of_neighbouring_ranges(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = gpu.upload(&numbered(64))?;
    gpu.run(|encoder| encoder.copy(&buffer, 0, &buffer, 32, 32))?;
    check_eq!(gpu.download::<u8>(&buffer)?[32..], numbered(64)[..32]);
    gpu.run(|encoder| encoder.copy(&buffer, 48, &buffer, 32, 16))?;
    check_eq!(gpu.download::<u8>(&buffer)?[32..48], numbered(64)[16..32]);
    Ok(())
}

/// Zero bytes may be copied, up to the ends, even onto themselves.
fn copy_of_nothing(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = gpu.upload(&[1_u8, 2, 3])?;
    let empty = device.allocate_buffer(&BufferParams::device_local(0))?;
    gpu.run(|encoder| {
        encoder.copy(&buffer, 0, &buffer, 0, 0)?;
        encoder.copy(&buffer, 3, &buffer, 3, 0)?;
        encoder.copy(&empty, 0, &buffer, 1, 0)?;
        encoder.copy(&buffer, 1, &empty, 0, 0)
    })?;
    check_eq!(gpu.download::<u8>(&buffer)?, [1, 2, 3]);
    Ok(())
}

/// Ten round trips change nothing.
fn copy_there_and_back(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let (a, b) = (gpu.upload(&numbered(10_000))?, gpu.zeros::<u8>(10_000)?);
    gpu.run(|encoder| {
        for _ in 0..10 {
            encoder.copy(&a, 0, &b, 0, 10_000)?;
            encoder.barrier();
            encoder.copy(&b, 0, &a, 0, 10_000)?;
            encoder.barrier();
        }
        Ok(())
    })?;
    check!(gpu.download::<u8>(&a)? == numbered(10_000));
    Ok(())
}

/// A block wanders through a buffer, one copy after the other.
fn copies_follow_each_other_through_barriers(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let mut data = vec![0; 1600];
    data[..16].copy_from_slice(&numbered(16));
    let buffer = gpu.upload(&data)?;
    gpu.run(|encoder| {
        for step in 0..99 {
            encoder.copy(&buffer, step * 16, &buffer, (step + 1) * 16, 16)?;
            encoder.barrier();
        }
        Ok(())
    })?;
    check_eq!(gpu.download::<u8>(&buffer)?[1584..], numbered(16)[..]);
    Ok(())
}

/// Overlap is refused in both directions, down to one byte.
fn overlapping_copy_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let buffer = device.allocate_buffer(&BufferParams::device_local(64))?;
    let mut encoder = device.encoder();
    for (from, to, length) in [(0, 1, 2), (1, 0, 2), (0, 31, 32), (31, 0, 32), (10, 20, 30)] {
        check_err!(encoder.copy(&buffer, from, &buffer, to, length), ErrorKind::InvalidArgument);
    }
    Ok(())
}

/// The same range is an overlap too.
fn copy_onto_itself_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let buffer = device.allocate_buffer(&BufferParams::device_local(64))?;
    let same = buffer.clone();
    check_err!(device.encoder().copy(&buffer, 0, &same, 0, 64), ErrorKind::InvalidArgument);
    check_err!(device.encoder().copy(&buffer, 63, &same, 63, 1), ErrorKind::InvalidArgument);
    Ok(())
}

/// The source range lies within the source.
fn copy_beyond_the_source_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let small = device.allocate_buffer(&BufferParams::device_local(16))?;
    let large = device.allocate_buffer(&BufferParams::device_local(1024))?;
    let mut encoder = device.encoder();
    for (offset, length) in [(0, 17), (16, 1), (8, 9), (17, 0)] {
        check_err!(encoder.copy(&small, offset, &large, 0, length), ErrorKind::OutOfRange);
    }
    Ok(())
}

/// The target range lies within the target.
fn copy_beyond_the_target_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let small = device.allocate_buffer(&BufferParams::device_local(16))?;
    let large = device.allocate_buffer(&BufferParams::device_local(1024))?;
    let mut encoder = device.encoder();
    for (offset, length) in [(0, 17), (16, 1), (8, 9), (17, 0)] {
        check_err!(encoder.copy(&large, 0, &small, offset, length), ErrorKind::OutOfRange);
    }
    Ok(())
}

/// A sum beyond 64 bits does not come out small.
fn copy_overflow_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let a = device.allocate_buffer(&BufferParams::device_local(16))?;
    let b = device.allocate_buffer(&BufferParams::device_local(16))?;
    let mut encoder = device.encoder();
    check_err!(encoder.copy(&a, u64::MAX, &b, 0, 2), ErrorKind::OutOfRange);
    check_err!(encoder.copy(&a, 0, &b, u64::MAX, 2), ErrorKind::OutOfRange);
    check_err!(encoder.copy(&a, 1, &b, 1, u64::MAX), ErrorKind::OutOfRange);
    Ok(())
}

/// References carry a length each.
fn copy_of_different_lengths_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let a = device.allocate_buffer(&BufferParams::device_local(16))?;
    let b = device.allocate_buffer(&BufferParams::device_local(16))?;
    let range = |buffer, length| BufferRef::Direct(BufferRange::new(buffer, 0, length));
    let mut encoder = device.encoder();
    check_err!(encoder.copy_ref(range(&a, 8), range(&b, 9)), ErrorKind::InvalidArgument);
    encoder.copy_ref(range(&a, 8), range(&b, 8))?;
    Ok(())
}

/// Bytes from the command buffer itself.
fn update_writes_its_bytes(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = gpu.zeros::<u8>(16)?;
    gpu.run(|encoder| encoder.update(&buffer, 5, &[1, 2, 3]))?;
    check_eq!(gpu.download::<u8>(&buffer)?, [0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0]);
    Ok(())
}

/// There is no small limit.
fn update_of_one_mebibyte(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let data = numbered(1 << 20);
    let buffer = gpu.zeros::<u8>(data.len())?;
    gpu.run(|encoder| encoder.update(&buffer, 0, &data))?;
    check!(gpu.download::<u8>(&buffer)? == data);
    Ok(())
}

/// What happens to the source afterwards does not matter, however late the work runs.
fn update_keeps_what_was_recorded(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = gpu.zeros::<u8>(4)?;
    let mut data = vec![1, 2, 3, 4];
    let commands = record(device, |encoder| encoder.update(&buffer, 0, &data))?;
    data.fill(0xff);
    drop(data);
    gpu.execute(&commands)?;
    check_eq!(gpu.download::<u8>(&buffer)?, [1, 2, 3, 4]);
    Ok(())
}

/// No bytes, up to the end.
fn update_of_nothing(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = gpu.upload(&[5_u8; 4])?;
    gpu.run(|encoder| {
        encoder.update(&buffer, 0, &[])?;
        encoder.update(&buffer, 4, &[])
    })?;
    check_eq!(gpu.download::<u8>(&buffer)?, [5; 4]);
    Ok(())
}

/// The range lies within the buffer, without overflow.
fn update_beyond_the_end_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let buffer = device.allocate_buffer(&BufferParams::device_local(16))?;
    let mut encoder = device.encoder();
    for (offset, length) in [(0, 17), (16, 1), (15, 2), (17, 0), (u64::MAX, 1), (u64::MAX, 4)] {
        check_err!(encoder.update(&buffer, offset, &vec![0; length]), ErrorKind::OutOfRange);
    }
    Ok(())
}

/// Each has its own bytes.
fn many_small_updates(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = gpu.zeros::<u32>(500)?;
    gpu.run(|encoder| {
        (0..500_u32).try_for_each(|n| encoder.update(&buffer, u64::from(n) * 4, &n.to_ne_bytes()))
    })?;
    check!(gpu.download::<u32>(&buffer)?.into_iter().eq(0..500));
    Ok(())
}
