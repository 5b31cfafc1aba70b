//! What is known of a device, without a context.

use crate::graph;
use crate::status::call;
use crate::sys::Symbols;
use crate::sys::bindings::{CUdevice, CUdevice_attribute as Attribute, CUuuid};
use hal_core::{Capabilities, DeviceInfo, DriverInfo, ExecutableFormat, Limits, Result};
use hal_utils::loader::{text_of_array, uuid};
use std::ffi::c_int;

/// The handle of a device.
pub(crate) fn device(symbols: &Symbols, number: c_int) -> Result<CUdevice> {
    let mut device = 0;
    // SAFETY: writes one handle.
    unsafe { call!(symbols, cuDeviceGet(&mut device, number)) }?;
    Ok(device)
}

/// Everything but the stream priorities, which a driver tells within a context only.
pub(crate) fn device_info(
    symbols: &Symbols,
    driver: &DriverInfo,
    ordinal: u32,
    device: CUdevice,
) -> Result<DeviceInfo> {
    let mut name = [0; 256];
    let mut id = CUuuid { bytes: [0; 16] };
    let mut total = 0;
    // SAFETY: writes at most as many bytes as it is told there are.
    unsafe { call!(symbols, cuDeviceGetName(name.as_mut_ptr(), name.len() as c_int, device)) }?;
    // SAFETY: writes one value.
    unsafe { call!(symbols, cuDeviceGetUuid(&mut id, device)) }?;
    // SAFETY: writes one value.
    unsafe { call!(symbols, cuDeviceTotalMem(&mut total, device)) }?;
    let get = |attribute| self::attribute(symbols, device, attribute);
    Ok(DeviceInfo {
        driver: driver.clone(),
        ordinal,
        name: text_of_array(&name),
        uuid: uuid(&id.bytes),
        arch: format!(
            "sm_{}{}",
            get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?
        ),
        total_memory: total as u64,
        capabilities: capabilities(symbols, get),
        limits: limits(get)?,
    })
}

fn capabilities(symbols: &Symbols, get: impl Fn(Attribute) -> Result<u32>) -> Capabilities {
    // Old drivers refuse attributes they do not know.
    let has = |attribute| get(attribute).is_ok_and(|value| value != 0);
    Capabilities {
        formats: vec![ExecutableFormat::Ptx, ExecutableFormat::Cubin, ExecutableFormat::FatBinary],
        // Without concurrent access the host must not touch such memory while anything runs on the device, and
        // nobody could promise that.
        managed_memory: has(Attribute::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY)
            && has(Attribute::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS),
        memory_pools: has(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED),
        graphs: graph::available(symbols),
        parameter_reflection: symbols.cuFuncGetParamInfo.is_some(),
        entry_point_listing: symbols.cuModuleGetFunctionCount.is_some()
            && symbols.cuModuleEnumerateFunctions.is_some()
            && symbols.cuFuncGetName.is_some(),
    }
}

fn limits(get: impl Fn(Attribute) -> Result<u32>) -> Result<Limits> {
    let shared = get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?;
    let opted_in = get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN).unwrap_or(0);
    Ok(Limits {
        max_workgroup_size: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        max_workgroup_dims: [
            get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)?,
            get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)?,
            get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)?,
        ],
        max_grid_dims: [
            get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
            get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
            get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
        ],
        max_shared_memory: shared.max(opted_in),
        subgroup_size: get(Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE)?,
        multiprocessors: get(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        stream_priorities: [0, 0],
    })
}

fn attribute(symbols: &Symbols, device: CUdevice, attribute: Attribute) -> Result<u32> {
    let mut value = 0;
    // SAFETY: writes one number.
    unsafe { call!(symbols, cuDeviceGetAttribute(&mut value, attribute, device)) }?;
    Ok(u32::try_from(value).unwrap_or(0))
}
