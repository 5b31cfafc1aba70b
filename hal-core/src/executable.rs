//! Device code.

use crate::{BufferRange, DeviceId, Error, ErrorKind, Result};
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
    /// A CUDA fat binary: cubins and PTX for several architectures.
    FatBinary,
    /// An AMD code object (ELF), or a bundle of them.
    AmdCodeObject,
}

impl ExecutableFormat {
    /// The name as written in messages.
    pub fn name(self) -> &'static str {
        match self {
            ExecutableFormat::Ptx => "PTX",
            ExecutableFormat::Cubin => "cubin",
            ExecutableFormat::FatBinary => "CUDA fat binary",
            ExecutableFormat::AmdCodeObject => "AMD code object",
        }
    }
}

impl ExecutableFormat {
    /// What an image is, by its first bytes. Whether it is whole is found when it is loaded.
    ///
    /// Machine numbers of ELF files are `EM_CUDA` (190) and `EM_AMDGPU` (224) of the ELF registry; a fat binary begins
    /// with the magic number of `fatbinary_section.h` and its kin, a bundle with that of clang's offload bundler.
    ///
    /// # Errors
    /// `InvalidArgument`, saying what it is instead where that can be told.
    pub fn detect(image: &[u8]) -> Result<Self> {
        const FAT_BINARY: &[u8] = &0xba55_ed50_u32.to_le_bytes();
        let unknown = |what: String| {
            Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("{what}; an executable is PTX, a cubin, a CUDA fat binary or an AMD code object"),
            ))
        };
        match image {
            [] => unknown("the image is empty".to_owned()),
            [0x7f, b'E', b'L', b'F', ..] => match image.get(18..20) {
                Some(&[190, 0]) => Ok(ExecutableFormat::Cubin),
                Some(&[224, 0]) => Ok(ExecutableFormat::AmdCodeObject),
                Some(&[low, high]) => unknown(format!(
                    "the image is an ELF file for machine {}",
                    u16::from_le_bytes([low, high])
                )),
                _ => unknown(format!(
                    "the image is an ELF file of {} bytes, without a whole header",
                    image.len()
                )),
            },
            _ if image.starts_with(b"__CLANG_OFFLOAD_BUNDLE__") => Ok(ExecutableFormat::AmdCodeObject),
            _ if image.starts_with(FAT_BINARY) => Ok(ExecutableFormat::FatBinary),
            _ if image.starts_with(b"CCOB") => {
                unknown("the image is a compressed offload bundle; unpack it".to_owned())
            }
            _ if image.starts_with(b"BC\xc0\xde") => {
                unknown("the image is LLVM bitcode; compile it".to_owned())
            }
            _ => match std::str::from_utf8(image) {
                // Every PTX module has this directive (PTX ISA, 5.1), after comments perhaps.
                Ok(text) if text.contains(".version") => Ok(ExecutableFormat::Ptx),
                Ok(_) => unknown("the image is text without a `.version` directive, so no PTX".to_owned()),
                Err(_) => unknown(format!("the image begins with {:02x?}", &image[..image.len().min(8)])),
            },
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

    /// An image of whatever format it [is](ExecutableFormat::detect).
    ///
    /// # Errors
    /// `InvalidArgument` if it is of none.
    pub fn detect(label: &'a str, image: &'a [u8]) -> Result<Self> {
        match ExecutableFormat::detect(image) {
            Ok(format) => Ok(ExecutableParams { label, format, image }),
            Err(error) => Err(error.context(format_args!("`{label}`"))),
        }
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
    /// Registers of each thread, if the driver can tell.
    pub registers: Option<u32>,
    /// Local memory of each thread in bytes, if the driver can tell.
    pub local_memory: Option<u32>,
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

    /// The kernel at a place in [`entry_points`](Executable::entry_points).
    ///
    /// # Errors
    /// `OutOfRange`, telling how many there are; `Unimplemented` if the driver cannot list them.
    fn entry_point_at(&self, place: usize) -> Result<EntryPoint> {
        let mut all = self.entry_points()?;
        if place < all.len() {
            return Ok(all.swap_remove(place));
        }
        let text = format!("entry point {place} of `{}`; it has {}, from 0", self.label(), all.len());
        Err(Error::new(ErrorKind::OutOfRange, text))
    }

    /// The memory of a global or constant variable of the module. It keeps the code loaded.
    ///
    /// The range is a buffer's like any other: commands fill, update and copy it, in the order that semaphores give. A
    /// constant may be written before the first dispatch that reads it. That is how code is specialised without being
    /// compiled anew: declare the parameter as a `.const` or `.global` variable, load, write it, dispatch.
    ///
    /// # Errors
    /// `NotFound`, or what the driver answers.
    fn global(&self, name: &str) -> Result<BufferRange>;

    /// For backends to recognise their own.
    fn as_any(&self) -> &dyn Any;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(machine: u8) -> Vec<u8> {
        let mut image = vec![0; 64];
        image[..5].copy_from_slice(b"\x7fELF\x02");
        image[18] = machine;
        image
    }

    #[test]
    fn content_tells_the_format() {
        for (image, format) in [
            (&b"// made by hand\n.version 6.0\n"[..], ExecutableFormat::Ptx),
            (&elf(190), ExecutableFormat::Cubin),
            (&elf(224), ExecutableFormat::AmdCodeObject),
            (b"__CLANG_OFFLOAD_BUNDLE__\0", ExecutableFormat::AmdCodeObject),
            (&[0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0], ExecutableFormat::FatBinary),
        ] {
            assert_eq!(ExecutableFormat::detect(image).unwrap(), format);
        }
    }

    #[test]
    fn what_is_no_executable_is_told_apart() {
        for (image, part) in [
            (&b""[..], "empty"),
            (&elf(62), "machine 62"),
            (b"\x7fELF", "4 bytes"),
            (b"hello", "no PTX"),
            (b"BC\xc0\xde....", "bitcode"),
            (b"CCOB....", "compressed"),
            (&[0xff, 0xfe], "[ff, fe]"),
        ] {
            let error = ExecutableParams::detect("thing", image).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.message().contains(part) && error.message().contains("thing"), "{error}");
        }
    }
}
