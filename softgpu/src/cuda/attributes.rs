//! What a device says of itself, attribute by attribute.

use crate::driver::device::{Device, limits};
use crate::driver::{Error, Result};

/// The value of a `CUdevice_attribute`.
pub(super) fn of_device(attribute: i32, device: &Device) -> Result<i32> {
    let value = match attribute {
        1 => limits::THREADS_PER_BLOCK as i32,
        2..=4 => limits::BLOCK[attribute as usize - 2] as i32,
        5..=7 => limits::GRID[attribute as usize - 5] as i32,
        8 => limits::SHARED as i32,
        9 => limits::CONSTANT as i32,
        10 => limits::WARP as i32,
        // Largest pitch.
        11 => i32::MAX,
        12 | 82 => limits::REGISTERS as i32,
        // Clocks in kHz, of a machine that never was.
        13 => 1_000_000,
        36 => 1_000_000,
        // Texture and surface alignments and pitch alignment.
        14 | 30 => 512,
        51 => 32,
        // Copies overlap kernels; kernels overlap; copy engines.
        15 | 31 => 1,
        40 => 2,
        16 => limits::MULTIPROCESSORS as i32,
        // No run time limit, not integrated, no ECC, default compute mode, no TCC.
        17 | 18 | 20 | 32 | 35 => 0,
        // Host memory can be mapped, addresses are unified, priorities exist.
        19 | 41 | 78 => 1,
        // No textures and no surfaces.
        21..=29 | 42..=49 | 52..=74 | 77 => 0,
        33 => device.ordinal as i32 + 1,
        34 | 50 => 0,
        37 => 256,
        38 => 4 << 20,
        39 => limits::THREADS_PER_MULTIPROCESSOR as i32,
        75 => limits::CAPABILITY.0,
        76 => limits::CAPABILITY.1,
        79 | 80 => 1,
        81 => limits::SHARED_OPTIN as i32 + 1024,
        // Managed memory, also while kernels run; not on a board with others.
        83 | 89 => 1,
        84 => 0,
        85 => device.ordinal as i32,
        86 => 1,
        87 => 2,
        // Pageable memory is refused, as on a discrete GPU.
        88 | 100 | 101 => 0,
        90 => 0,
        // Registered memory has the host's address.
        91 => 1,
        // Stream memory operations, virtual memory management with file descriptors.
        92..=94 | 102 | 103 | 122 | 123 => 1,
        // No cooperative launch.
        95 | 96 | 98 | 104 | 105 => 0,
        97 => limits::SHARED_OPTIN as i32,
        99 => 1,
        106 => limits::BLOCKS_PER_MULTIPROCESSOR as i32,
        107..=110 | 112..=114 | 116..=121 | 124..=143 => 0,
        111 => 1024,
        // Memory pools.
        115 => 1,
        _ => return Err(Error::INVALID_VALUE),
    };
    Ok(value)
}
