//! Work of a queue that runs on the host: calls, and the files that it reads and writes.

use crate::{Error, ErrorKind, Result};
use std::fmt;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// A function that a queue runs on the host; see [`Queue::host_call`](crate::Queue::host_call).
pub type HostCall = Box<dyn FnOnce(HostCompletion) + Send>;

/// How a host call ended.
#[derive(Debug)]
pub enum HostOutcome {
    /// It said so.
    Completed(Result<()>),
    /// Its token was dropped.
    Dropped,
}

/// Ends a host call: its submission signals or fails. May be kept, and sent to another thread, after the call returned.
///
/// Dropping it fails the submission as `Aborted`, so that nothing waits for ever for a call that was forgotten.
#[must_use = "dropping it fails the submission"]
pub struct HostCompletion {
    end: Option<Box<dyn FnOnce(HostOutcome) + Send>>,
}

impl HostCompletion {
    /// For backends: `end` is called once, on whichever thread ends the call.
    pub fn new(end: Box<dyn FnOnce(HostOutcome) + Send>) -> Self {
        HostCompletion { end: Some(end) }
    }

    /// Ends the call. With `Ok` the submission signals, with an error it fails with that error, as do its dependants.
    /// Runs callbacks of the signalled semaphores before it returns. After the submission has ended some other way (its
    /// device closed or was lost), this does nothing.
    pub fn complete(mut self, outcome: Result<()>) {
        if let Some(end) = self.end.take() {
            end(HostOutcome::Completed(outcome));
        }
    }
}

impl Drop for HostCompletion {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            end(HostOutcome::Dropped);
        }
    }
}

impl fmt::Debug for HostCompletion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostCompletion").finish_non_exhaustive()
    }
}

/// A file that queues read and write, and its name for messages.
#[derive(Debug)]
pub struct HostFile {
    file: File,
    name: String,
}

impl HostFile {
    /// A file that is open already. It is read and written at offsets; its own position is of no account.
    pub fn new(file: File, name: impl Into<String>) -> Arc<Self> {
        Arc::new(HostFile { file, name: name.into() })
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// As [`io_error`](HostFile::io_error) has it.
    pub fn open(path: impl AsRef<Path>) -> Result<Arc<Self>> {
        let path = path.as_ref();
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Ok(Self::new(file, name)),
            Err(error) => Err(Self::io_error(format!("opening `{name}` for reading"), error)),
        }
    }

    /// Opens a file for reading and writing, and creates it where there is none. What it has stays.
    ///
    /// # Errors
    /// As [`io_error`](HostFile::io_error) has it.
    pub fn create(path: impl AsRef<Path>) -> Result<Arc<Self>> {
        let path = path.as_ref();
        let name = path.display().to_string();
        match File::options().read(true).write(true).create(true).truncate(false).open(path) {
            Ok(file) => Ok(Self::new(file, name)),
            Err(error) => Err(Self::io_error(format!("opening `{name}` for writing"), error)),
        }
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// An error of the operating system, with its text and number: `NotFound`, `OutOfRange` for a file that ends too
    /// early, `ResourceExhausted` for a full disk, `InvalidArgument` for a file that is not open for this, or else
    /// `Unavailable`.
    pub fn io_error(attempted: impl fmt::Display, error: std::io::Error) -> Error {
        use std::io::ErrorKind as Io;
        let kind = match error.kind() {
            Io::NotFound => ErrorKind::NotFound,
            Io::UnexpectedEof => ErrorKind::OutOfRange,
            Io::StorageFull | Io::QuotaExceeded | Io::FileTooLarge | Io::OutOfMemory | Io::WriteZero => {
                ErrorKind::ResourceExhausted
            }
            Io::InvalidInput | Io::PermissionDenied | Io::IsADirectory | Io::NotSeekable => {
                ErrorKind::InvalidArgument
            }
            // EBADF, which std has no kind for: not open for this.
            _ if error.raw_os_error() == Some(9) => ErrorKind::InvalidArgument,
            _ => ErrorKind::Unavailable,
        };
        Error::new(kind, format!("{attempted}: {error}")).with_source(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    fn token() -> (HostCompletion, Arc<Mutex<Vec<String>>>) {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = seen.clone();
        let end = move |outcome| sink.lock().unwrap().push(format!("{outcome:?}"));
        (HostCompletion::new(Box::new(end)), seen)
    }

    #[test]
    fn a_token_ends_its_call_once() {
        let (completion, seen) = token();
        completion.complete(Ok(()));
        assert_eq!(*seen.lock().unwrap(), ["Completed(Ok(()))"]);
        let (completion, seen) = token();
        drop(completion);
        assert_eq!(*seen.lock().unwrap(), ["Dropped"]);
    }

    #[test]
    fn errors_of_files_have_name_and_number() {
        let error = HostFile::open("/no/such/file").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(
            error.message().contains("/no/such/file") && error.message().contains("os error 2"),
            "{error}"
        );
        let full = std::io::Error::from_raw_os_error(28);
        assert_eq!(HostFile::io_error("x", full).kind(), ErrorKind::ResourceExhausted);
        let not_open_for_it = std::io::Error::from_raw_os_error(9);
        assert_eq!(HostFile::io_error("x", not_open_for_it).kind(), ErrorKind::InvalidArgument);
    }
}
