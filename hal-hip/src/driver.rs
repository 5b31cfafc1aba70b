//! Finding, starting and asking a runtime.

use crate::device::HipDevice;
use crate::info;
use crate::status::call;
use crate::sys::Symbols;
use crate::sys::bindings::{hipError_t, hipRuntimeGetVersion_t};
use hal_core::{DeviceInfo, DriverInfo, Error, ErrorKind, NativeStatus, Result};
use hal_utils::loader::{DriverChoice, Library, LibraryNames, Origin, Resolver, SymbolReport, load_driver};
use hal_utils::native::NativeDriver;
use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::sync::Arc;

/// What the library is called.
pub const NAMES: LibraryNames = LibraryNames {
    backend: "hip",
    variable: "HAL_HIP_LIBRARY",
    names: if cfg!(windows) {
        &["amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll"]
    } else {
        &["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so"]
    },
};

/// The oldest runtime that can be used, as HIP numbers versions: the first with the structures of the bindings.
pub const MINIMUM_VERSION: u32 = 60_000_000;

/// A loaded HIP runtime.
#[derive(Clone, Debug)]
pub struct HipDriver {
    symbols: Arc<Symbols>,
    info: DriverInfo,
}

/// Loads and starts a runtime. `resolver` is the software GPU, if this program has one.
///
/// # Errors
/// `Unavailable`, saying what was tried and why it does not do.
pub fn load(choice: &DriverChoice, resolver: Option<Resolver>) -> Result<HipDriver> {
    load_driver(&NAMES, choice, resolver, HipDriver::start)
}

/// Compares the table of functions with a runtime, without starting it.
///
/// # Errors
/// `Unavailable` if there is no such runtime.
pub fn symbols(choice: &DriverChoice, resolver: Option<Resolver>) -> Result<SymbolReport> {
    load_driver(&NAMES, choice, resolver, |library, origin| {
        Ok(SymbolReport::new(&origin.path, Symbols::rows(), |row| library.symbol(row.exported)))
    })
}

impl HipDriver {
    fn start(library: Library, origin: Origin) -> Result<Self> {
        let version = version(&library)?;
        if version < MINIMUM_VERSION {
            return Err(Error::new(
                ErrorKind::Unavailable,
                format!(
                    "{} is a runtime of HIP {}; {} or later is needed; update ROCm",
                    origin.path,
                    version_text(version),
                    version_text(MINIMUM_VERSION)
                ),
            ));
        }
        // SAFETY: the table's types are generated from the vendor's headers for these names, and the library is never
        // closed.
        let symbols = unsafe { Symbols::load(&origin.path, |row| library.symbol(row.exported)) }?;
        // SAFETY: has no preconditions.
        unsafe { call!(symbols, hipInit(0)) }.map_err(|error| {
            // Whatever a runtime gives as the reason for not starting, it is not there; unless it makes no sense.
            let kind =
                if error.kind() == ErrorKind::Internal { error.kind() } else { ErrorKind::Unavailable };
            error.with_kind(kind).context(format!("{} does not start", origin.path))
        })?;
        let info = DriverInfo::new(NAMES.backend, origin.kind, version_text(version), origin.path);
        Ok(HipDriver { symbols: Arc::new(symbols), info })
    }

    fn check_ordinal(&self, ordinal: u32) -> Result<c_int> {
        let count = self.device_count()?;
        match c_int::try_from(ordinal) {
            Ok(number) if ordinal < count => Ok(number),
            _ => Err(Error::new(
                ErrorKind::NotFound,
                format!("no HIP device {ordinal}; the runtime has {count}, counted from 0"),
            )),
        }
    }
}

impl NativeDriver for HipDriver {
    type Device = HipDevice;

    fn info(&self) -> &DriverInfo {
        &self.info
    }

    fn device_count(&self) -> Result<u32> {
        let mut count = 0;
        // SAFETY: writes one number.
        unsafe { call!(self.symbols, hipGetDeviceCount(&mut count)) }?;
        Ok(u32::try_from(count).unwrap_or(0))
    }

    fn device_info(&self, ordinal: u32) -> Result<DeviceInfo> {
        let number = self.check_ordinal(ordinal)?;
        info::device_info(&self.symbols, &self.info, ordinal, info::device(&self.symbols, number)?)
    }

    fn open(&self, ordinal: u32) -> Result<HipDevice> {
        let info = self.device_info(ordinal)?;
        let device = info::device(&self.symbols, self.check_ordinal(ordinal)?)?;
        HipDevice::open(self.symbols.clone(), info, device)
    }
}

/// Asked before anything else, since an old runtime lacks functions of the table, which says less than its age.
fn version(library: &Library) -> Result<u32> {
    let address = library.symbol("hipRuntimeGetVersion").ok_or_else(|| {
        Error::new(
            ErrorKind::Unavailable,
            format!("{} lacks hipRuntimeGetVersion; it is no HIP runtime", library.path()),
        )
    })?;
    // SAFETY: the function has had this type since HIP 1.0.
    let get_version = unsafe { transmute::<*const c_void, hipRuntimeGetVersion_t>(address) };
    let mut version = 0;
    // SAFETY: writes one number; may be called before `hipInit`.
    let status = unsafe { get_version(&mut version) };
    if status != hipError_t::hipSuccess {
        // Runtimes without a device answer nothing else, so this is how most absent GPUs are found out.
        let native = NativeStatus { call: "hipRuntimeGetVersion", code: status.0.into(), name: None };
        let message = format!("{} does not start; check that it sees a GPU", library.path());
        return Err(Error::new(ErrorKind::Unavailable, message).with_native(native));
    }
    Ok(u32::try_from(version).unwrap_or(0))
}

/// `60342134` is `6.3.42134`.
fn version_text(version: u32) -> String {
    let (major, minor, patch) = (version / 10_000_000, version / 100_000 % 100, version % 100_000);
    if patch == 0 { format!("{major}.{minor}") } else { format!("{major}.{minor}.{patch}") }
}

#[cfg(test)]
mod tests;
