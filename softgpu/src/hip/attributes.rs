//! What a device says of itself, attribute by attribute.

use crate::driver::device::{Device, limits};
use crate::driver::{Error, Result};

/// Clocks in kHz, of a machine that never was.
pub(super) const CLOCK: i32 = 1_000_000;
/// Width of the memory bus in bits.
pub(super) const BUS_WIDTH: i32 = 256;
/// Bytes of second-level cache.
pub(super) const L2_CACHE: i32 = 4 << 20;
/// Alignment of textures and surfaces, in bytes.
pub(super) const TEXTURE_ALIGNMENT: i32 = 512;
/// Alignment of the rows of textures, in bytes.
pub(super) const TEXTURE_PITCH_ALIGNMENT: i32 = 32;
/// Shared memory that the system keeps of each block.
pub(super) const RESERVED_SHARED: i32 = 1024;
/// Shared memory of a multiprocessor.
pub(super) const SHARED_OF_MULTIPROCESSOR: i32 = limits::SHARED_OPTIN as i32 + RESERVED_SHARED;

/// The value of a `hipDeviceAttribute_t`, numbered as from HIP 5 on.
pub(super) fn of_device(attribute: i32, device: &Device) -> Result<i32> {
    let value = match attribute {
        2 => 2,
        // Host memory can be mapped, registered memory has the host's address.
        3 | 4 => 1,
        5 | 60 | 10000 | 10017 => CLOCK,
        // Kernels overlap, managed memory is usable meanwhile, copies overlap kernels.
        8 | 9 | 12 => 1,
        19 => L2_CACHE,
        23 => limits::CAPABILITY.0,
        61 => limits::CAPABILITY.1,
        24 => 1,
        25 => limits::BLOCKS_PER_MULTIPROCESSOR as i32,
        26..=28 => limits::BLOCK[attribute as usize - 26] as i32,
        29..=31 => limits::GRID[attribute as usize - 29] as i32,
        55 => limits::BLOCK[0] as i32,
        56 => limits::THREADS_PER_BLOCK as i32,
        57 => limits::THREADS_PER_MULTIPROCESSOR as i32,
        // Largest pitch.
        58 => i32::MAX,
        59 => BUS_WIDTH,
        62 => device.ordinal as i32,
        63 | 10015 => limits::MULTIPROCESSORS as i32,
        67 => device.ordinal as i32 + 1,
        71 | 72 => limits::REGISTERS as i32,
        73 => RESERVED_SHARED,
        74 => limits::SHARED as i32,
        75 => limits::SHARED_OPTIN as i32,
        76 | 10002 => SHARED_OF_MULTIPROCESSOR,
        // Virtual memory management, waits for values.
        89 | 10013 => 1,
        // Double precision runs at half speed.
        77 => 2,
        // Priorities, unified addresses, pools, host registration.
        78 | 85 | 88 | 90 => 1,
        79 | 81 => TEXTURE_ALIGNMENT,
        82 => TEXTURE_PITCH_ALIGNMENT,
        83 => limits::CONSTANT as i32,
        84 => i32::try_from(device.memory).unwrap_or(i32::MAX),
        87 => limits::WARP as i32,
        // Everything else there is says no: textures, cooperative launch, pageable memory,
        // and the registers of boards.
        0..=91 | 10001..=10020 => 0,
        _ => return Err(Error::INVALID_VALUE),
    };
    Ok(value)
}
