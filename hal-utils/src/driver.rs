//! Any backend's driver as a [`hal_core::Driver`].

use crate::device::SharedDevice;
use crate::native::NativeDriver;
use crate::sync::Arc;
use hal_core::{Device, DeviceInfo, DeviceParams, Driver, DriverInfo, Error, ErrorKind, Result};

/// A backend's driver, and what this crate makes of its devices.
#[derive(Debug)]
pub struct SharedDriver<D: NativeDriver> {
    native: D,
}

impl<D: NativeDriver> SharedDriver<D> {
    /// Wraps a loaded driver.
    #[allow(clippy::new_ret_no_self, reason = "users hold trait objects")]
    pub fn new(native: D) -> Arc<dyn Driver> {
        Arc::new(SharedDriver { native })
    }
}

impl<D: NativeDriver> Driver for SharedDriver<D> {
    fn info(&self) -> &DriverInfo {
        self.native.info()
    }

    fn devices(&self) -> Result<Vec<DeviceInfo>> {
        (0..self.native.device_count()?).map(|ordinal| self.native.device_info(ordinal)).collect()
    }

    fn open(&self, ordinal: u32, params: &DeviceParams) -> Result<Arc<dyn Device>> {
        let count = self.native.device_count()?;
        if ordinal >= count {
            return Err(Error::new(
                ErrorKind::NotFound,
                format!(
                    "{}://{ordinal}: the driver has {count} devices, numbered from 0",
                    self.info().backend
                ),
            ));
        }
        Ok(Arc::new(SharedDevice::open(self.native.open(ordinal)?, params)?))
    }
}
