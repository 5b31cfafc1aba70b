//! Finding, starting and asking a driver.

use crate::device::CudaDevice;
use crate::info;
use crate::status::call;
use crate::sys::Symbols;
use crate::sys::bindings::{
    CUdriverProcAddress_flags, CUresult, cuDriverGetVersion_t, cuGetProcAddress_t, cuGetProcAddress_v2_t,
};
use hal_core::{DeviceInfo, DriverInfo, Error, ErrorKind, NativeStatus, Result};
use hal_utils::loader::{
    DriverChoice, Library, LibraryNames, Origin, Resolver, Row, SymbolReport, c_string, load_driver,
};
use hal_utils::native::NativeDriver;
use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::ptr;
use std::sync::Arc;

/// What the library is called.
pub const NAMES: LibraryNames = LibraryNames {
    backend: "cuda",
    variable: "HAL_CUDA_LIBRARY",
    names: if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so.1", "libcuda.so"] },
};

/// The oldest driver that can be used, as CUDA numbers versions: the first with `cuGetProcAddress`.
pub const MINIMUM_VERSION: u32 = 11030;

/// A loaded CUDA driver.
#[derive(Clone, Debug)]
pub struct CudaDriver {
    symbols: Arc<Symbols>,
    info: DriverInfo,
}

/// Loads and starts a driver. `resolver` is the software GPU, if this program has one.
///
/// # Errors
/// `Unavailable`, saying what was tried and why it does not do.
pub fn load(choice: &DriverChoice, resolver: Option<Resolver>) -> Result<CudaDriver> {
    load_driver(&NAMES, choice, resolver, CudaDriver::start)
}

/// Compares the table of functions with a driver, without starting it.
///
/// # Errors
/// `Unavailable` if there is no such driver.
pub fn symbols(choice: &DriverChoice, resolver: Option<Resolver>) -> Result<SymbolReport> {
    load_driver(&NAMES, choice, resolver, |library, origin| {
        let entry = Entry::new(&library);
        Ok(SymbolReport::new(&origin.path, Symbols::rows(), |row| entry.resolve(row)))
    })
}

impl CudaDriver {
    fn start(library: Library, origin: Origin) -> Result<Self> {
        let version = version(&library)?;
        if version < MINIMUM_VERSION {
            return Err(Error::new(
                ErrorKind::Unavailable,
                format!(
                    "{} is a driver of CUDA {}; {} or later is needed; update the driver",
                    origin.path,
                    version_text(version),
                    version_text(MINIMUM_VERSION)
                ),
            ));
        }
        let entry = Entry::new(&library);
        // SAFETY: the table's types are generated from the vendor's headers for these names and versions, and the
        // library is never closed.
        let symbols = unsafe { Symbols::load(&origin.path, |row| entry.resolve(row)) }?;
        // SAFETY: has no preconditions.
        unsafe { call!(symbols, cuInit(0)) }.map_err(|error| {
            // Whatever a driver gives as the reason for not starting, it is not there; unless it makes no sense.
            let kind =
                if error.kind() == ErrorKind::Internal { error.kind() } else { ErrorKind::Unavailable };
            error.with_kind(kind).context(format!("{} does not start", origin.path))
        })?;
        let info = DriverInfo::new(NAMES.backend, origin.kind, version_text(version), origin.path);
        Ok(CudaDriver { symbols: Arc::new(symbols), info })
    }

    fn check_ordinal(&self, ordinal: u32) -> Result<c_int> {
        let count = self.device_count()?;
        match c_int::try_from(ordinal) {
            Ok(number) if ordinal < count => Ok(number),
            _ => Err(Error::new(
                ErrorKind::NotFound,
                format!("no CUDA device {ordinal}; the driver has {count}, counted from 0"),
            )),
        }
    }
}

impl NativeDriver for CudaDriver {
    type Device = CudaDevice;

    fn info(&self) -> &DriverInfo {
        &self.info
    }

    fn device_count(&self) -> Result<u32> {
        let mut count = 0;
        // SAFETY: writes one number.
        unsafe { call!(self.symbols, cuDeviceGetCount(&mut count)) }?;
        Ok(u32::try_from(count).unwrap_or(0))
    }

    fn device_info(&self, ordinal: u32) -> Result<DeviceInfo> {
        let number = self.check_ordinal(ordinal)?;
        info::device_info(&self.symbols, &self.info, ordinal, info::device(&self.symbols, number)?)
    }

    fn open(&self, ordinal: u32) -> Result<CudaDevice> {
        let info = self.device_info(ordinal)?;
        let device = info::device(&self.symbols, self.check_ordinal(ordinal)?)?;
        CudaDevice::open(self.symbols.clone(), info, device)
    }
}

/// Asked before anything else, since an old driver lacks functions of the table, which says less than its age.
fn version(library: &Library) -> Result<u32> {
    let address = library.symbol("cuDriverGetVersion").ok_or_else(|| {
        Error::new(
            ErrorKind::Unavailable,
            format!("{} lacks cuDriverGetVersion; it is no CUDA driver", library.path()),
        )
    })?;
    // SAFETY: the function has had this type since CUDA 2.2.
    let get_version = unsafe { transmute::<*const c_void, cuDriverGetVersion_t>(address) };
    let mut version = 0;
    // SAFETY: writes one number; may be called before `cuInit`.
    let status = unsafe { get_version(&mut version) };
    if status != CUresult::CUDA_SUCCESS {
        let native = NativeStatus { call: "cuDriverGetVersion", code: status.0.into(), name: None };
        let message = format!("{} does not tell its version", library.path());
        return Err(Error::new(ErrorKind::Unavailable, message).with_native(native));
    }
    Ok(u32::try_from(version).unwrap_or(0))
}

/// `12080` is `12.8`.
fn version_text(version: u32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

/// How a driver tells addresses.
enum Entry<'a> {
    /// CUDA 12.
    Current(cuGetProcAddress_v2_t),
    /// CUDA 11.3 to 11.8.
    First(cuGetProcAddress_t),
    /// No such function: exported names it is.
    Exports(&'a Library),
}

impl<'a> Entry<'a> {
    fn new(library: &'a Library) -> Self {
        if let Some(address) = library.symbol("cuGetProcAddress_v2") {
            // SAFETY: the exported name stands for this one ABI.
            return Entry::Current(unsafe { transmute::<*const c_void, cuGetProcAddress_v2_t>(address) });
        }
        match library.symbol("cuGetProcAddress") {
            // SAFETY: as above.
            Some(address) => Entry::First(unsafe { transmute::<*const c_void, cuGetProcAddress_t>(address) }),
            None => Entry::Exports(library),
        }
    }

    fn resolve(&self, row: &Row) -> Option<*const c_void> {
        let name = match self {
            Entry::Exports(library) => return library.symbol(row.exported),
            Entry::Current(_) | Entry::First(_) => c_string("name", row.name).ok()?,
        };
        let version = c_int::try_from(row.version).ok()?;
        let flags = u64::from(CUdriverProcAddress_flags::CU_GET_PROC_ADDRESS_DEFAULT.0);
        let mut address = ptr::null_mut();
        let status = match self {
            // SAFETY: reads a string, writes a pointer; may be called before `cuInit`. Accepts a null query result.
            Entry::Current(get) => unsafe {
                get(name.as_ptr(), &mut address, version, flags, ptr::null_mut())
            },
            // SAFETY: as above.
            Entry::First(get) => unsafe { get(name.as_ptr(), &mut address, version, flags) },
            Entry::Exports(_) => return None,
        };
        (status == CUresult::CUDA_SUCCESS && !address.is_null()).then_some(address.cast_const())
    }
}

#[cfg(test)]
mod tests;
