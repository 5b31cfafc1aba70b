//! Device code.

use crate::{DeviceId, Result};
use std::any::Any;
use std::fmt;

/// What kind of image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExecutableFormat {
    /// PTX text. A NUL at the end is optional.
    Ptx,
    /// A CUDA binary.
    Cubin,
    /// An AMD code object (ELF), or a bundle of them.
    AmdCodeObject,
}

impl ExecutableFormat {
    /// The name as written in messages.
    pub fn name(self) -> &'static str {
        match self {
            ExecutableFormat::Ptx => "PTX",
            ExecutableFormat::Cubin => "cubin",
            ExecutableFormat::AmdCodeObject => "AMD code object",
        }
    }
}

impl fmt::Display for ExecutableFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What to load.
#[derive(Clone, Copy, Debug)]
pub struct ExecutableParams<'a> {
    /// A name for messages.
    pub label: &'a str,
    /// What kind of image.
    pub format: ExecutableFormat,
    /// The image.
    pub image: &'a [u8],
}

impl<'a> ExecutableParams<'a> {
    /// PTX text.
    pub fn ptx(label: &'a str, text: &'a str) -> Self {
        ExecutableParams { label, format: ExecutableFormat::Ptx, image: text.as_bytes() }
    }
}

/// Where a parameter lies in the parameter block, and how large it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterInfo {
    /// Byte offset.
    pub offset: usize,
    /// Bytes.
    pub size: usize,
}

/// A kernel of an executable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryPoint {
    /// Its place in the executable.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Its parameters, if the driver can tell.
    pub parameters: Option<Vec<ParameterInfo>>,
    /// Most threads one workgroup of it may have, if the driver can tell.
    pub max_workgroup_size: Option<u32>,
    /// Static shared memory in bytes, if the driver can tell.
    pub static_shared_memory: Option<u32>,
}

/// Loaded code. It stays loaded while a handle, a command buffer or a submission in flight holds it.
pub trait Executable: Send + Sync + fmt::Debug {
    /// The device it belongs to.
    fn device_id(&self) -> DeviceId;

    /// The name it was given.
    fn label(&self) -> &str;

    /// Looks up a kernel by name. The answer is the same each time.
    ///
    /// # Errors
    /// `NotFound`, naming the ones there are where the driver can list them.
    fn entry_point(&self, name: &str) -> Result<EntryPoint>;

    /// Every kernel, if the driver can list them.
    ///
    /// # Errors
    /// `Unimplemented` if it cannot.
    fn entry_points(&self) -> Result<Vec<EntryPoint>>;

    /// For backends to recognise their own.
    fn as_any(&self) -> &dyn Any;
}
