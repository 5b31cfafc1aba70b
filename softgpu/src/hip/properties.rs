//! The properties of a device in one struct: the layout since HIP 6, and the one before.

use super::Hip;
use super::attributes::{
    BUS_WIDTH, CLOCK, L2_CACHE, RESERVED_SHARED, SHARED_OF_MULTIPROCESSOR, TEXTURE_ALIGNMENT,
    TEXTURE_PITCH_ALIGNMENT,
};
use crate::abi::{Out, entries};
use crate::driver::device::{Device, NAME, device_of, limits};

/// Names no AMD machine: what is built for those does not run here.
const ARCH: &str = "softgpu-ptx";

/// `hipDeviceArch_t`: integer and float atomics, doubles, warp functions, system fences, three-dimensional grids.
const ARCH_FLAGS: u32 = 0x97ff;

/// `hipDeviceProp_tR0600`. Textures and surfaces, of which there are none, are one block of zeros.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Properties {
    name: [u8; 256],
    uuid: [u8; 16],
    luid: [u8; 8],
    luid_mask: u32,
    memory: usize,
    shared_per_block: usize,
    registers_per_block: i32,
    warp: i32,
    largest_pitch: usize,
    threads_per_block: i32,
    block: [i32; 3],
    grid: [i32; 3],
    clock: i32,
    constant: usize,
    major: i32,
    minor: i32,
    texture_alignment: usize,
    texture_pitch_alignment: usize,
    overlap: i32,
    multiprocessors: i32,
    time_limit: i32,
    integrated: i32,
    can_map_host: i32,
    compute_mode: i32,
    textures_and_surfaces: [i32; 40],
    surface_alignment: usize,
    concurrent_kernels: i32,
    ecc: i32,
    pci: [i32; 3],
    tcc: i32,
    copy_engines: i32,
    unified_addressing: i32,
    memory_clock: i32,
    bus_width: i32,
    l2_cache: i32,
    persisting_l2_cache: i32,
    threads_per_multiprocessor: i32,
    priorities: i32,
    global_l1_cache: i32,
    local_l1_cache: i32,
    shared_per_multiprocessor: usize,
    registers_per_multiprocessor: i32,
    managed: i32,
    on_shared_board: i32,
    board: i32,
    host_atomics: i32,
    double_ratio: i32,
    pageable: i32,
    concurrent_managed: i32,
    preemption: i32,
    host_pointer_for_registered: i32,
    cooperative: [i32; 2],
    shared_optin: usize,
    pageable_by_host_tables: i32,
    direct_managed: i32,
    blocks_per_multiprocessor: i32,
    access_window: i32,
    reserved_shared: usize,
    host_register: i32,
    sparse_arrays: i32,
    host_register_read_only: i32,
    timeline_interop: i32,
    pools: i32,
    rdma: [i32; 3],
    pool_handles: u32,
    deferred_arrays: i32,
    ipc_events: i32,
    clusters: i32,
    unified_functions: i32,
    reserved: [i32; 63],
    hip_reserved: [i32; 32],
    arch_name: [u8; 256],
    most_shared_per_multiprocessor: usize,
    timer_clock: i32,
    arch: u32,
    flush_registers: [usize; 2],
    cooperative_unmatched: [i32; 4],
    large_bar: i32,
    revision: i32,
}

/// `hipDeviceProp_tR0000`, which HIP 5 had and later versions keep under the unversioned name.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OldProperties {
    name: [u8; 256],
    memory: usize,
    shared_per_block: usize,
    registers_per_block: i32,
    warp: i32,
    threads_per_block: i32,
    block: [i32; 3],
    grid: [i32; 3],
    clock: i32,
    memory_clock: i32,
    bus_width: i32,
    constant: usize,
    major: i32,
    minor: i32,
    multiprocessors: i32,
    l2_cache: i32,
    threads_per_multiprocessor: i32,
    compute_mode: i32,
    timer_clock: i32,
    arch: u32,
    concurrent_kernels: i32,
    /// Domain, bus, device.
    pci: [i32; 3],
    most_shared_per_multiprocessor: usize,
    on_shared_board: i32,
    can_map_host: i32,
    gcn_arch: i32,
    arch_name: [u8; 256],
    integrated: i32,
    cooperative: [i32; 2],
    textures: [i32; 7],
    flush_registers: [usize; 2],
    largest_pitch: usize,
    texture_alignment: usize,
    texture_pitch_alignment: usize,
    time_limit: i32,
    ecc: i32,
    tcc: i32,
    cooperative_unmatched: [i32; 4],
    large_bar: i32,
    revision: i32,
    managed: i32,
    direct_managed: i32,
    concurrent_managed: i32,
    pageable: i32,
    pageable_by_host_tables: i32,
}

impl Properties {
    fn of(device: &Device) -> Self {
        let ordinal = device.ordinal as i32;
        // SAFETY: plain numbers and arrays of them, for which zeros are values.
        let zeros: Self = unsafe { std::mem::zeroed() };
        Self {
            name: text(NAME),
            uuid: device.uuid(),
            memory: device.memory as usize,
            shared_per_block: limits::SHARED as usize,
            registers_per_block: limits::REGISTERS as i32,
            warp: limits::WARP as i32,
            largest_pitch: i32::MAX as usize,
            threads_per_block: limits::THREADS_PER_BLOCK as i32,
            block: limits::BLOCK.map(|n| n as i32),
            grid: limits::GRID.map(|n| n as i32),
            clock: CLOCK,
            constant: limits::CONSTANT as usize,
            major: limits::CAPABILITY.0,
            minor: limits::CAPABILITY.1,
            texture_alignment: TEXTURE_ALIGNMENT as usize,
            texture_pitch_alignment: TEXTURE_PITCH_ALIGNMENT as usize,
            overlap: 1,
            multiprocessors: limits::MULTIPROCESSORS as i32,
            can_map_host: 1,
            surface_alignment: TEXTURE_ALIGNMENT as usize,
            concurrent_kernels: 1,
            pci: [ordinal + 1, 0, 0],
            copy_engines: 2,
            unified_addressing: 1,
            memory_clock: CLOCK,
            bus_width: BUS_WIDTH,
            l2_cache: L2_CACHE,
            threads_per_multiprocessor: limits::THREADS_PER_MULTIPROCESSOR as i32,
            priorities: 1,
            shared_per_multiprocessor: SHARED_OF_MULTIPROCESSOR as usize,
            registers_per_multiprocessor: limits::REGISTERS as i32,
            managed: 1,
            board: ordinal,
            double_ratio: 2,
            concurrent_managed: 1,
            host_pointer_for_registered: 1,
            shared_optin: limits::SHARED_OPTIN as usize,
            blocks_per_multiprocessor: limits::BLOCKS_PER_MULTIPROCESSOR as i32,
            reserved_shared: RESERVED_SHARED as usize,
            host_register: 1,
            pools: 1,
            arch_name: text(ARCH),
            most_shared_per_multiprocessor: SHARED_OF_MULTIPROCESSOR as usize,
            timer_clock: CLOCK,
            arch: ARCH_FLAGS,
            ..zeros
        }
    }
}

impl OldProperties {
    fn of(device: &Device) -> Self {
        let now = Properties::of(device);
        // SAFETY: plain numbers and arrays of them, for which zeros are values.
        let zeros: Self = unsafe { std::mem::zeroed() };
        Self {
            name: now.name,
            memory: now.memory,
            shared_per_block: now.shared_per_block,
            registers_per_block: now.registers_per_block,
            warp: now.warp,
            threads_per_block: now.threads_per_block,
            block: now.block,
            grid: now.grid,
            clock: now.clock,
            memory_clock: now.memory_clock,
            bus_width: now.bus_width,
            constant: now.constant,
            major: now.major,
            minor: now.minor,
            multiprocessors: now.multiprocessors,
            l2_cache: now.l2_cache,
            threads_per_multiprocessor: now.threads_per_multiprocessor,
            timer_clock: now.timer_clock,
            arch: now.arch,
            concurrent_kernels: now.concurrent_kernels,
            pci: [now.pci[2], now.pci[0], now.pci[1]],
            most_shared_per_multiprocessor: now.most_shared_per_multiprocessor,
            can_map_host: now.can_map_host,
            arch_name: now.arch_name,
            largest_pitch: now.largest_pitch,
            texture_alignment: now.texture_alignment,
            texture_pitch_alignment: now.texture_pitch_alignment,
            managed: now.managed,
            concurrent_managed: now.concurrent_managed,
            ..zeros
        }
    }
}

fn text(text: &str) -> [u8; 256] {
    let mut bytes = [0; 256];
    // The last byte stays zero.
    bytes[..255].iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from);
    bytes
}

entries! { Hip;
    /// A device's properties in the layout before HIP 6, which the unversioned name keeps.
    "hipGetDeviceProperties" 50200000 => fn hipGetDeviceProperties(out: Out<OldProperties>, device: i32) {
        out.set(OldProperties::of(device_of(device)?))
    }
    /// A device's properties in the layout before HIP 6.
    "hipGetDevicePropertiesR0000" 60000000 => fn hipGetDevicePropertiesR0000(
        out: Out<OldProperties>, device: i32,
    ) {
        out.set(OldProperties::of(device_of(device)?))
    }
    /// A device's properties in the layout since HIP 6.
    "hipGetDeviceProperties" 60000000 => fn hipGetDevicePropertiesR0600(out: Out<Properties>, device: i32) {
        out.set(Properties::of(device_of(device)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn the_layout_is_that_of_hip_6() {
        assert_eq!(size_of::<Properties>(), 1472);
        assert_eq!(offset_of!(Properties, memory), 288);
        assert_eq!(offset_of!(Properties, warp), 308);
        assert_eq!(offset_of!(Properties, clock), 348);
        assert_eq!(offset_of!(Properties, multiprocessors), 388);
        assert_eq!(offset_of!(Properties, textures_and_surfaces), 408);
        assert_eq!(offset_of!(Properties, surface_alignment), 568);
        assert_eq!(offset_of!(Properties, pci), 584);
        assert_eq!(offset_of!(Properties, memory_clock), 608);
        assert_eq!(offset_of!(Properties, shared_per_multiprocessor), 640);
        assert_eq!(offset_of!(Properties, managed), 652);
        assert_eq!(offset_of!(Properties, shared_optin), 696);
        assert_eq!(offset_of!(Properties, reserved_shared), 720);
        assert_eq!(offset_of!(Properties, pools), 744);
        assert_eq!(offset_of!(Properties, reserved), 780);
        assert_eq!(offset_of!(Properties, arch_name), 1160);
        assert_eq!(offset_of!(Properties, arch), 1428);
        assert_eq!(offset_of!(Properties, revision), 1468);
    }

    #[test]
    fn the_old_layout_is_that_of_hip_5() {
        assert_eq!(size_of::<OldProperties>(), 792);
        assert_eq!(offset_of!(OldProperties, warp), 276);
        assert_eq!(offset_of!(OldProperties, multiprocessors), 336);
        assert_eq!(offset_of!(OldProperties, arch), 356);
        assert_eq!(offset_of!(OldProperties, arch_name), 396);
        assert_eq!(offset_of!(OldProperties, integrated), 652);
        assert_eq!(offset_of!(OldProperties, flush_registers), 696);
        assert_eq!(offset_of!(OldProperties, largest_pitch), 712);
        assert_eq!(offset_of!(OldProperties, large_bar), 764);
        assert_eq!(offset_of!(OldProperties, managed), 772);
    }
}
