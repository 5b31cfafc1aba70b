//! Devices, and which one a thread uses.

use super::{Hip, attributes, current, unsigned};
use crate::abi::{Out, Text, entries};
use crate::driver::Error;
use crate::driver::device::{NAME, device_of, devices, limits};
use std::ffi::c_char;

/// `hipDeviceSchedule*`, `hipDeviceMapHost` and `hipDeviceLmemResizeToMax`
const DEVICE_FLAGS: u32 = 0x1f;

entries! { Hip;
    /// The device of an ordinal: the ordinal itself.
    "hipDeviceGet" 50200000 => fn hipDeviceGet(device: Out<i32>, ordinal: i32) {
        device_of(ordinal)?;
        device.set(ordinal)
    }
    /// How many devices there are; an error if there are none.
    early "hipGetDeviceCount" 50200000 => fn hipGetDeviceCount(count: Out<i32>) {
        let devices = devices().len();
        count.set(devices as i32)?;
        if devices == 0 { Err(Error::NO_DEVICE) } else { Ok(()) }
    }
    /// Chooses the thread's device.
    "hipSetDevice" 50200000 => fn hipSetDevice(device: i32) {
        current::set_device(device_of(device)?)
    }
    /// The thread's device.
    "hipGetDevice" 50200000 => fn hipGetDevice(device: Out<i32>) {
        device.check()?;
        device.set(current::device()?.ordinal as i32)
    }
    /// Waits for everything issued to the thread's device.
    "hipDeviceSynchronize" 50200000 => fn hipDeviceSynchronize() {
        current::context()?.synchronize()
    }
    /// Takes down all that was made on the thread's device, a failure included.
    "hipDeviceReset" 50200000 => fn hipDeviceReset() {
        current::device()?.reset_primary();
        Ok(())
    }
    /// Sets how the host waits; advice.
    "hipSetDeviceFlags" 50200000 => fn hipSetDeviceFlags(flags: u32) {
        if flags & !DEVICE_FLAGS != 0 {
            return Err(Error::INVALID_VALUE);
        }
        current::device()?.set_primary_flags(flags);
        Ok(())
    }
    /// How the host waits.
    "hipGetDeviceFlags" 50200000 => fn hipGetDeviceFlags(flags: Out<u32>) {
        flags.check()?;
        flags.set(current::device()?.primary_state().0)
    }
    /// A device's name.
    "hipDeviceGetName" 50200000 => fn hipDeviceGetName(name: Out<c_char>, len: i32, device: i32) {
        device_of(device)?;
        name.set_text(NAME, unsigned(len)?)
    }
    /// A device's attribute.
    "hipDeviceGetAttribute" 50200000 => fn hipDeviceGetAttribute(value: Out<i32>, attribute: i32, device: i32) {
        value.set(attributes::of_device(attribute, device_of(device)?)?)
    }
    /// A device's identity.
    "hipDeviceGetUuid" 50200000 => fn hipDeviceGetUuid(uuid: Out<[u8; 16]>, device: i32) {
        uuid.set(device_of(device)?.uuid())
    }
    /// A device's compute capability.
    "hipDeviceComputeCapability" 50200000 => fn hipDeviceComputeCapability(
        major: Out<i32>, minor: Out<i32>, device: i32,
    ) {
        device_of(device)?;
        major.check()?;
        minor.set(limits::CAPABILITY.1)?;
        major.set(limits::CAPABILITY.0)
    }
    /// A device's memory in bytes.
    "hipDeviceTotalMem" 50200000 => fn hipDeviceTotalMem(bytes: Out<usize>, device: i32) {
        bytes.set(device_of(device)?.memory as usize)
    }
    /// A device's PCI address.
    "hipDeviceGetPCIBusId" 50200000 => fn hipDeviceGetPCIBusId(text: Out<c_char>, len: i32, device: i32) {
        text.set_text(&device_of(device)?.bus_id(), unsigned(len)?)
    }
    /// The device at a PCI address.
    "hipDeviceGetByPCIBusId" 50200000 => fn hipDeviceGetByPCIBusId(device: Out<i32>, text: Text) {
        let text = text.get()?;
        let found = devices().iter().find(|device| device.bus_id().eq_ignore_ascii_case(text));
        device.set(found.ok_or(Error::INVALID_VALUE)?.ordinal as i32)
    }
    /// The least and the greatest stream priority.
    "hipDeviceGetStreamPriorityRange" 50200000 => fn hipDeviceGetStreamPriorityRange(
        least: Out<i32>, greatest: Out<i32>,
    ) {
        least.set_if(limits::PRIORITIES.0);
        greatest.set_if(limits::PRIORITIES.1);
        Ok(())
    }
    /// A limit of the thread's device.
    "hipDeviceGetLimit" 50200000 => fn hipDeviceGetLimit(value: Out<usize>, limit: i32) {
        current::context()?;
        value.set(match limit {
            0 => 1024,
            1 => 1 << 20,
            2 => 8 << 20,
            _ => return Err(Error::UNSUPPORTED_LIMIT),
        })
    }
    /// Asks for a limit; requests are advice and change nothing here.
    "hipDeviceSetLimit" 50300000 => fn hipDeviceSetLimit(limit: i32, value: usize) {
        let _ = value;
        current::context()?;
        if (0..=2).contains(&limit) { Ok(()) } else { Err(Error::UNSUPPORTED_LIMIT) }
    }
    /// Whether a device could access another's memory: always, if they are two.
    "hipDeviceCanAccessPeer" 50200000 => fn hipDeviceCanAccessPeer(can: Out<i32>, device: i32, peer: i32) {
        let differ = device_of(device)?.ordinal != device_of(peer)?.ordinal;
        can.set(i32::from(differ))
    }
    /// Lets the thread's device access another's memory.
    "hipDeviceEnablePeerAccess" 50200000 => fn hipDeviceEnablePeerAccess(peer: i32, flags: u32) {
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        current::context()?.device.enable_peer(device_of(peer)?)
    }
    /// Undoes `hipDeviceEnablePeerAccess`.
    "hipDeviceDisablePeerAccess" 50200000 => fn hipDeviceDisablePeerAccess(peer: i32) {
        current::context()?.device.disable_peer(device_of(peer)?)
    }
}
