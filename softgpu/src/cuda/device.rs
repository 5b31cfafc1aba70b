//! Devices.

use super::Cuda;
use super::attributes;
use crate::abi::{Out, Text, entries};
use crate::driver::device::{NAME, device_of, devices, limits};
use crate::driver::{Error, context};
use std::ffi::c_char;

entries! { Cuda;
    /// The device of an ordinal: the ordinal itself.
    "cuDeviceGet" 2000 => fn cuDeviceGet(device: Out<i32>, ordinal: i32) {
        device_of(ordinal)?;
        device.set(ordinal)
    }
    /// How many devices there are.
    "cuDeviceGetCount" 2000 => fn cuDeviceGetCount(count: Out<i32>) {
        count.set(devices().len() as i32)
    }
    /// A device's name.
    "cuDeviceGetName" 2000 => fn cuDeviceGetName(name: Out<c_char>, len: i32, device: i32) {
        device_of(device)?;
        name.set_text(NAME, usize::try_from(len).map_err(|_| Error::INVALID_VALUE)?)
    }
    /// A device's attribute.
    "cuDeviceGetAttribute" 2000 => fn cuDeviceGetAttribute(value: Out<i32>, attribute: i32, device: i32) {
        value.set(attributes::of_device(attribute, device_of(device)?)?)
    }
    /// A device's identity.
    "cuDeviceGetUuid" 9020 => fn cuDeviceGetUuid(uuid: Out<[u8; 16]>, device: i32) {
        uuid.set(device_of(device)?.uuid())
    }
    /// A device's identity.
    "cuDeviceGetUuid" 11040 => fn cuDeviceGetUuid_v2(uuid: Out<[u8; 16]>, device: i32) {
        uuid.set(device_of(device)?.uuid())
    }
    /// A device's compute capability.
    "cuDeviceComputeCapability" 2000 => fn cuDeviceComputeCapability(
        major: Out<i32>, minor: Out<i32>, device: i32,
    ) {
        device_of(device)?;
        major.check()?;
        minor.set(limits::CAPABILITY.1)?;
        major.set(limits::CAPABILITY.0)
    }
    /// A device's memory in bytes.
    "cuDeviceTotalMem" 3020 => fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: i32) {
        bytes.set(device_of(device)?.memory as usize)
    }
    /// A device's PCI address.
    "cuDeviceGetPCIBusId" 4010 => fn cuDeviceGetPCIBusId(text: Out<c_char>, len: i32, device: i32) {
        let len = usize::try_from(len).map_err(|_| Error::INVALID_VALUE)?;
        text.set_text(&device_of(device)?.bus_id(), len)
    }
    /// The device at a PCI address.
    "cuDeviceGetByPCIBusId" 4010 => fn cuDeviceGetByPCIBusId(device: Out<i32>, text: Text) {
        let text = text.get()?;
        let found = devices().iter().find(|device| device.bus_id().eq_ignore_ascii_case(text));
        device.set(found.ok_or(Error::INVALID_DEVICE)?.ordinal as i32)
    }
    /// Whether a device could access another's memory: always, if they are two.
    "cuDeviceCanAccessPeer" 4000 => fn cuDeviceCanAccessPeer(can: Out<i32>, device: i32, peer: i32) {
        let differ = device_of(device)?.ordinal != device_of(peer)?.ordinal;
        can.set(i32::from(differ))
    }
    /// Lets the current context access the memory of another's device.
    "cuCtxEnablePeerAccess" 4000 => fn cuCtxEnablePeerAccess(peer: u64, flags: u32) {
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        let peer = context::context_of(peer)?;
        context::current()?.device.enable_peer(peer.device)
    }
    /// Undoes `cuCtxEnablePeerAccess`.
    "cuCtxDisablePeerAccess" 4000 => fn cuCtxDisablePeerAccess(peer: u64) {
        let peer = context::context_of(peer)?;
        context::current()?.device.disable_peer(peer.device)
    }
}
