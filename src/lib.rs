//! A hardware abstraction layer for GPU compute: one set of traits over CUDA and HIP, and a software GPU to run on
//! where there is neither.
//!
//! ```
//! # fn main() -> hal::Result<()> {
//! # #[cfg(all(feature = "cuda", feature = "soft"))] {
//! let device = hal::open("soft")?;
//! let buffer = device.allocate_buffer(&hal::BufferParams::host_visible(1024))?;
//!
//! let mut encoder = device.encoder();
//! encoder.fill(&buffer, 0, 1024, &[7])?;
//! let commands = encoder.finish(&*device)?;
//!
//! let done = device.create_semaphore(0)?;
//! let queue = device.create_queue(&hal::QueueParams::default())?;
//! queue.submit(hal::Submission::new().execute(&commands).signal(&done, 1))?;
//! done.wait(1, hal::Deadline::NEVER)?;
//!
//! let mut bytes = [0; 1024];
//! buffer.read(0, &mut bytes)?;
//! assert_eq!(bytes, [7; 1024]);
//! # }
//! # Ok(()) }
//! ```
//!
//! # Devices have names
//!
//! ```text
//! <backend>[://<number or GPU-uuid>][?driver=system|soft|/path/to/library]
//! soft[://<backend>[/<number or GPU-uuid>]]
//! ```
//!
//! | URI | Device |
//! |---|---|
//! | `cuda` | the first of the system's CUDA driver; without one, of the software GPU |
//! | `hip://1` | the second one of HIP |
//! | `cuda://GPU-4a7a…` | the one with this UUID |
//! | `cuda://0?driver=/opt/libcuda.so.1` | the first one of that library |
//! | `soft` | the software GPU, through the first backend |
//! | `soft://hip/0` | the software GPU, through HIP |
//!
//! [`enumerate`] lists what there is, and why a driver could not be loaded. Libraries are found at run time, under
//! their usual names or where `HAL_CUDA_LIBRARY` and `HAL_HIP_LIBRARY` say.
//!
//! # Features
//!
//! `cuda` and `hip` are the backends, `soft` the software GPU for each of them. All are on by default, and none needs
//! anything of the vendors to build.
//!
//! # Faults on AMD GPUs
//!
//! The HIP runtime ends the process when a kernel faults, unless `HIP_SKIP_ABORT_ON_GPU_ERROR=1` stands in the
//! environment as the process starts. Only then can a fault become an [`Error`].

mod backends;
mod report;
mod uri;

pub use backends::{backends, load, symbols};
pub use hal_core::*;
pub use hal_utils::loader::{DriverChoice, Row, SymbolReport, SymbolState};
pub use report::{DriverReport, enumerate};

use std::sync::Arc;

/// Opens the device that `uri` names. See [the crate](crate#devices-have-names).
///
/// # Errors
/// `InvalidArgument` for what is no URI, listing those of the devices here; `NotFound` if the driver has no such
/// device; `Unavailable` if there is no such driver, saying what was tried.
pub fn open(uri: &str) -> Result<Arc<dyn Device>> {
    open_with(uri, &DeviceParams::default())
}

/// [`open`], with the device run as `params` say.
///
/// # Errors
/// As for [`open`].
pub fn open_with(uri: &str, params: &DeviceParams) -> Result<Arc<dyn Device>> {
    uri::parse(uri)?.open(params)
}

/// Opens the first real device: CUDA's, else HIP's, else the software GPU.
///
/// # Errors
/// `Unavailable` if there is none at all, saying what was tried.
pub fn open_default() -> Result<Arc<dyn Device>> {
    let mut reasons = Vec::new();
    for choice in [DriverChoice::System, DriverChoice::Soft] {
        for backend in backends() {
            match load(backend, &choice).and_then(|driver| driver.open(0, &DeviceParams::default())) {
                Ok(device) => return Ok(device),
                Err(error) => reasons.push(format!("{backend}: {error}")),
            }
        }
    }
    Err(Error::new(ErrorKind::Unavailable, format!("no device can be opened; {}", reasons.join("; "))))
}

/// The example of the README is a test.
#[cfg(all(doctest, feature = "cuda", feature = "soft"))]
#[doc = include_str!("../README.md")]
struct Readme;
