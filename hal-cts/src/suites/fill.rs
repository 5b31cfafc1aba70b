//! Filling memory with a pattern.

use crate::support::{Gpu, host_buffer, record};
use crate::{Failure, Outcome};
use hal_core::{BufferParams, BufferRange, BufferRef, Device, ErrorKind};
use std::sync::Arc;

suite! { "fill", in both encodings,
    &[] => [
        one_byte_pattern,
        two_byte_pattern,
        four_byte_pattern,
        one_byte_pattern_at_odd_offsets,
        two_byte_pattern_at_even_offsets,
        four_byte_pattern_in_the_middle,
        last_byte_only,
        large_buffer,
        host_visible_memory,
        nothing,
        later_fill_wins_after_a_barrier,
        hundred_fills_of_neighbours,
        other_pattern_sizes_are_refused,
        misaligned_offset_is_refused,
        misaligned_length_is_refused,
        beyond_the_end_is_refused,
        overflow_is_refused,
        refused_fill_records_nothing,
    ],
}

/// Fills ranges of a buffer of 0xee with a pattern and compares every byte.
fn fill_and_compare(device: &Arc<dyn Device>, pattern: &[u8], ranges: &[(u64, u64)]) -> Result<(), Failure> {
    let gpu = Gpu::new(device)?;
    for &(offset, length) in ranges {
        let buffer = gpu.upload(&[0xee_u8; 1024])?;
        gpu.run(|encoder| encoder.fill(&buffer, offset, length, pattern))?;
        let found = gpu.download::<u8>(&buffer)?;
        for (index, &byte) in found.iter().enumerate() {
            let inside = (offset..offset + length).contains(&(index as u64));
            let expected = if inside { pattern[(index - offset as usize) % pattern.len()] } else { 0xee };
            check_eq!(byte, expected, "byte {index} after a fill of {length} at {offset} with {pattern:x?}");
        }
    }
    Ok(())
}

/// All of a buffer, byte by byte.
fn one_byte_pattern(device: &Arc<dyn Device>) -> Outcome {
    fill_and_compare(device, &[0x5c], &[(0, 1024)])
}

/// All of a buffer; the two bytes differ.
fn two_byte_pattern(device: &Arc<dyn Device>) -> Outcome {
    fill_and_compare(device, &[0x12, 0x34], &[(0, 1024)])
}

/// All of a buffer; the four bytes differ.
fn four_byte_pattern(device: &Arc<dyn Device>) -> Outcome {
    fill_and_compare(device, &[1, 2, 3, 4], &[(0, 1024)])
}

/// No alignment is asked of single bytes.
fn one_byte_pattern_at_odd_offsets(device: &Arc<dyn Device>) -> Outcome {
    fill_and_compare(device, &[0x99], &[(1, 1), (3, 5), (255, 3), (511, 512), (7, 1017)])
}

/// Multiples of two, not of four.
fn two_byte_pattern_at_even_offsets(device: &Arc<dyn Device>) -> Outcome {
    fill_and_compare(device, &[0xab, 0xcd], &[(2, 2), (6, 10), (510, 6), (1022, 2)])
}

/// Multiples of four.
fn four_byte_pattern_in_the_middle(device: &Arc<dyn Device>) -> Outcome {
    fill_and_compare(device, &[0xde, 0xad, 0xbe, 0xef], &[(4, 4), (12, 100), (508, 8), (1020, 4)])
}

/// The end belongs to the buffer.
fn last_byte_only(device: &Arc<dyn Device>) -> Outcome {
    fill_and_compare(device, &[0], &[(1023, 1)])
}

/// 4 MiB and an odd remainder.
fn large_buffer(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = gpu.zeros::<u8>((4 << 20) + 3)?;
    gpu.run(|encoder| encoder.fill(&buffer, 1, (4 << 20) + 1, &[0x42]))?;
    let found = gpu.download::<u8>(&buffer)?;
    let last = found.len() - 1;
    check_eq!((found[0], found[last]), (0, 0));
    check!(found[1..last].iter().all(|&byte| byte == 0x42));
    Ok(())
}

/// Pinned memory is filled like any other.
fn host_visible_memory(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = host_buffer(device, &[0_u8; 64])?;
    gpu.run(|encoder| encoder.fill(&buffer, 8, 8, &[9, 8, 7, 6]))?;
    let found = crate::support::contents::<u8>(&buffer)?;
    check_eq!(found[8..16], [9, 8, 7, 6, 9, 8, 7, 6]);
    check!(found[..8].iter().chain(&found[16..]).all(|&byte| byte == 0));
    Ok(())
}

/// Zero bytes may be filled anywhere within the buffer, its end included.
fn nothing(device: &Arc<dyn Device>) -> Outcome {
    fill_and_compare(device, &[1], &[(0, 0), (500, 0), (1024, 0)])?;
    let empty = device.allocate_buffer(&BufferParams::device_local(0))?;
    Gpu::new(device)?.run(|encoder| encoder.fill(&empty, 0, 0, &[1]))?;
    Ok(())
}

/// A barrier orders two fills of the same bytes.
fn later_fill_wins_after_a_barrier(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = gpu.zeros::<u8>(4096)?;
    gpu.run(|encoder| {
        for value in 1..=20 {
            encoder.fill(&buffer, 0, 4096, &[value])?;
            encoder.barrier();
        }
        Ok(())
    })?;
    check!(gpu.download::<u8>(&buffer)?.iter().all(|&byte| byte == 20));
    Ok(())
}

/// Without a barrier, fills that do not overlap leave each other alone.
fn hundred_fills_of_neighbours(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = gpu.zeros::<u8>(1000)?;
    gpu.run(|encoder| (0..100_u8).try_for_each(|n| encoder.fill(&buffer, u64::from(n) * 10, 10, &[n])))?;
    let found = gpu.download::<u8>(&buffer)?;
    check!(found.iter().enumerate().all(|(index, &byte)| usize::from(byte) == index / 10));
    Ok(())
}

/// 0, 3, 5 and 8 bytes are none of 1, 2 and 4.
fn other_pattern_sizes_are_refused(device: &Arc<dyn Device>) -> Outcome {
    let buffer = device.allocate_buffer(&BufferParams::device_local(120))?;
    let mut encoder = device.encoder();
    for size in [0, 3, 5, 8] {
        check_err!(encoder.fill(&buffer, 0, 120, &vec![1; size]), ErrorKind::InvalidArgument);
    }
    Ok(())
}

/// The offset is a multiple of the pattern's size.
fn misaligned_offset_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let buffer = device.allocate_buffer(&BufferParams::device_local(64))?;
    let mut encoder = device.encoder();
    check_err!(encoder.fill(&buffer, 1, 4, &[1; 2]), ErrorKind::InvalidArgument);
    for offset in 1..4 {
        check_err!(encoder.fill(&buffer, offset, 4, &[1; 4]), ErrorKind::InvalidArgument);
    }
    Ok(())
}

/// The length is a multiple of the pattern's size.
fn misaligned_length_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let buffer = device.allocate_buffer(&BufferParams::device_local(64))?;
    let mut encoder = device.encoder();
    check_err!(encoder.fill(&buffer, 0, 3, &[1; 2]), ErrorKind::InvalidArgument);
    for length in [1, 2, 3, 5, 63] {
        check_err!(encoder.fill(&buffer, 0, length, &[1; 4]), ErrorKind::InvalidArgument);
    }
    Ok(())
}

/// The range lies within the buffer.
fn beyond_the_end_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let buffer = device.allocate_buffer(&BufferParams::device_local(64))?;
    let mut encoder = device.encoder();
    for (offset, length) in [(0, 65), (64, 1), (63, 2), (65, 0), (1 << 40, 1)] {
        check_err!(encoder.fill(&buffer, offset, length, &[1]), ErrorKind::OutOfRange);
    }
    Ok(())
}

/// A sum beyond 64 bits does not come out small.
fn overflow_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let buffer = device.allocate_buffer(&BufferParams::device_local(64))?;
    let mut encoder = device.encoder();
    for (offset, length) in [(u64::MAX, 1), (u64::MAX, u64::MAX), (2, u64::MAX - 1), (u64::MAX - 1, 4)] {
        check_err!(encoder.fill(&buffer, offset, length, &[1]), ErrorKind::OutOfRange);
    }
    Ok(())
}

/// The encoder goes on as if the refused call had not been made.
fn refused_fill_records_nothing(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = gpu.zeros::<u8>(16)?;
    let commands = record(device, |encoder| {
        let beyond = BufferRef::Direct(BufferRange::new(&buffer, 8, 100));
        // The refusals themselves are tested above.
        let _ = encoder.fill_ref(beyond, &[1]);
        let _ = encoder.fill(&buffer, 0, 16, &[1, 2, 3]);
        encoder.fill(&buffer, 4, 4, &[7])
    })?;
    check_eq!(commands.list().commands().len(), 1);
    gpu.execute(&commands)?;
    check_eq!(gpu.download::<u8>(&buffer)?, [0, 0, 0, 0, 7, 7, 7, 7, 0, 0, 0, 0, 0, 0, 0, 0]);
    Ok(())
}
