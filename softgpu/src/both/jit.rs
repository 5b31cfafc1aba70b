//! Compilation as the ABIs ask for it: options with log buffers, loading, and linking.

use crate::abi::{In, Out};
use crate::driver::context::Context;
use crate::driver::handle::{Handle, Registry};
use crate::driver::module::{LoadError, Module, image_text};
use crate::driver::{Error, Result};
use crate::ptx;
use parking_lot::Mutex;
use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;

const WALL_TIME: i32 = 2;
const INFO_LOG: i32 = 3;
const INFO_LOG_SIZE: i32 = 4;
const ERROR_LOG: i32 = 5;
const ERROR_LOG_SIZE: i32 = 6;

/// A log buffer among options: where it is, and where its size stands and how much was written is to stand.
#[derive(Clone, Copy, Debug, Default)]
struct Log {
    buffer: u64,
    size_at: Option<usize>,
}

impl Log {
    fn write(self, values: Out<u64>, text: &str) -> Result<()> {
        let Some(at) = self.size_at else { return Ok(()) };
        // The value itself is the size, as 32 bits.
        let size = values.list_at(at) as u32 as usize;
        let mut written = 0;
        if self.buffer != 0 && size > 0 {
            written = text.len().min(size - 1);
            Out::<c_char>::at(self.buffer).set_text(text, size)?;
        }
        values.set_at(at, written as u64);
        Ok(())
    }
}

/// The log buffers among options; the other options are advice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Logs {
    values: Out<u64>,
    info: Log,
    error: Log,
}

impl Logs {
    /// Reads options; `known` says which exist.
    pub(crate) fn read(
        count: u32,
        options: In<i32>,
        values: Out<u64>,
        known: impl Fn(i32) -> bool,
    ) -> Result<Self> {
        let options = options.list(count as usize)?;
        if !options.is_empty() {
            values.check()?;
        }
        let mut logs = Self { values, info: Log::default(), error: Log::default() };
        for (at, option) in options.into_iter().enumerate() {
            match option {
                WALL_TIME => values.set_at(at, 0),
                INFO_LOG => logs.info.buffer = values.list_at(at),
                INFO_LOG_SIZE => logs.info.size_at = Some(at),
                ERROR_LOG => logs.error.buffer = values.list_at(at),
                ERROR_LOG_SIZE => logs.error.size_at = Some(at),
                other if known(other) => {}
                _ => return Err(Error::INVALID_VALUE),
            }
        }
        Ok(logs)
    }

    /// Writes what there is to say: nothing, or why it failed.
    pub(crate) fn write(&self, error: &str) -> Result<()> {
        self.info.write(self.values, "")?;
        self.error.write(self.values, error)
    }
}

/// Loads an image of a kind that says where it ends.
pub(crate) fn load(context: &Arc<Context>, image: In<u8>) -> std::result::Result<Arc<Module>, LoadError> {
    // SAFETY: the caller of the entry point promises such an image.
    let text = unsafe { image_text(image.as_ptr()) }?;
    Module::load(context, text)
}

/// Loads a file, whose end is known though its kind is not.
pub(crate) fn load_file(context: &Arc<Context>, path: &str) -> std::result::Result<Arc<Module>, LoadError> {
    // `CUDA_ERROR_FILE_NOT_FOUND`, `hipErrorFileNotFound`
    let bytes = std::fs::read(path).map_err(|_| Error(301))?;
    let bytes = until_zero(bytes)?;
    // SAFETY: ended by a zero byte.
    let text = unsafe { image_text(bytes.as_ptr().cast()) }?;
    Module::load(context, text)
}

/// What follows a zero byte would be no text; binary kinds are told by their beginning.
fn until_zero(mut bytes: Vec<u8>) -> Result<CString> {
    bytes.truncate(bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()));
    CString::new(bytes).map_err(|_| Error::INVALID_IMAGE)
}

/// Every link in progress.
pub(crate) static LINKS: Registry<Link> = Registry::new("links");

/// A link in progress: one PTX text, since nothing is resolved between several.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) handle: Handle,
    logs: Logs,
    input: Mutex<Option<CString>>,
}

// SAFETY: the addresses of log buffers, which the program promises to keep until it destroys the link.
unsafe impl Send for Link {}
// SAFETY: as above; calls on one link come one at a time, as documented.
unsafe impl Sync for Link {}

/// `CU_JIT_INPUT_PTX`
const PTX: i32 = 1;

impl Link {
    /// Begins a link.
    pub(crate) fn create(logs: Logs) -> Arc<Self> {
        LINKS.insert_with(|handle| Self { handle, logs, input: Mutex::new(None) })
    }

    fn fail(&self, error: Error, text: &str) -> Result<()> {
        self.logs.write(text)?;
        Err(error)
    }

    /// Adds PTX text.
    pub(crate) fn add(&self, kind: i32, data: In<u8>, len: usize) -> Result<()> {
        self.add_bytes(kind, data.list(len)?)
    }

    /// Adds PTX text from a file.
    pub(crate) fn add_file(&self, kind: i32, path: &str) -> Result<()> {
        self.add_bytes(kind, std::fs::read(path).map_err(|_| Error(301))?)
    }

    fn add_bytes(&self, kind: i32, bytes: Vec<u8>) -> Result<()> {
        if kind != PTX {
            return self.fail(Error::NO_BINARY_FOR_GPU, "the software GPU links PTX text only");
        }
        let text = until_zero(bytes)?;
        if let Err(error) = ptx::parse(text.to_str().map_err(|_| Error::INVALID_IMAGE)?) {
            return self.fail(Error::INVALID_PTX, &format!("ptx error: {error}"));
        }
        let mut input = self.input.lock();
        if input.is_some() {
            return self.fail(
                Error::NOT_SUPPORTED,
                "the software GPU links one text: it resolves no names between texts",
            );
        }
        *input = Some(text);
        Ok(())
    }

    /// The image, which is the link's, and its length.
    pub(crate) fn complete(&self, image: Out<*const c_void>, len: Out<usize>) -> Result<()> {
        image.check()?;
        let input = self.input.lock();
        let text = input.as_ref().ok_or(Error::INVALID_VALUE)?;
        len.set_if(text.as_bytes_with_nul().len());
        self.logs.write("")?;
        image.set(text.as_ptr().cast())
    }
}
