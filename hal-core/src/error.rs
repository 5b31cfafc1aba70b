//! One error type for everything: what kind, what was attempted, what the driver said, where it came from.

use std::fmt;
use std::sync::Arc;

/// The result of everything here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, and so whose move it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The caller passed something that can never work. Mend the call.
    InvalidArgument,
    /// An offset, size or index lies outside what it refers to. Mend the call.
    OutOfRange,
    /// A name, entry point or device does not exist.
    NotFound,
    /// Memory, handles or another resource ran out. Free something, or ask for less.
    ResourceExhausted,
    /// A deadline passed. Nothing else changed; waiting again is allowed.
    DeadlineExceeded,
    /// The work will not happen: its device was closed, or somebody cancelled it.
    Cancelled,
    /// The driver, library or device is not there or cannot be used now.
    Unavailable,
    /// The device or driver lacks the feature.
    Unimplemented,
    /// The device is gone for good. Close it and open another one.
    DeviceLost,
    /// A submission this one depends on failed, for a reason given by the host through `Semaphore::fail`.
    Aborted,
    /// The driver or this library broke a promise. Please report it.
    Internal,
}

impl ErrorKind {
    /// The name as written in messages and reports.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::InvalidArgument => "invalid argument",
            ErrorKind::OutOfRange => "out of range",
            ErrorKind::NotFound => "not found",
            ErrorKind::ResourceExhausted => "resource exhausted",
            ErrorKind::DeadlineExceeded => "deadline exceeded",
            ErrorKind::Cancelled => "cancelled",
            ErrorKind::Unavailable => "unavailable",
            ErrorKind::Unimplemented => "unimplemented",
            ErrorKind::DeviceLost => "device lost",
            ErrorKind::Aborted => "aborted",
            ErrorKind::Internal => "internal error",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a driver call returned, verbatim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeStatus {
    /// The function that returned it, `cuLaunchKernel`.
    pub call: &'static str,
    /// The number.
    pub code: i64,
    /// The driver's name for it, or `None` if the driver does not know the number either.
    pub name: Option<String>,
}

impl fmt::Display for NativeStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{} returned {} ({name})", self.call, self.code),
            None => write!(f, "{} returned {}, a status the driver has no name for", self.call, self.code),
        }
    }
}

/// The submission in which a failure began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The device, as in its info.
    pub device: String,
    /// The queue's number on that device.
    pub queue: u64,
    /// The submission's sequence number on that queue.
    pub sequence: u64,
    /// The label given to `Submission::label`.
    pub label: Option<String>,
    /// Entry points it dispatches, the first few.
    pub kernels: Vec<String>,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "submission {} on queue {} of {}", self.sequence, self.queue, self.device)?;
        if let Some(label) = &self.label {
            write!(f, " labelled `{label}`")?;
        }
        if !self.kernels.is_empty() {
            write!(f, ", which dispatches `{}`", self.kernels.join("`, `"))?;
        }
        Ok(())
    }
}

/// Why something did not work.
///
/// Cheap to clone, since one failure is handed to every dependant. Compare by [`kind`](Error::kind); the text is for
/// people and says what to do next.
///
/// ```
/// use hal_core::{Error, ErrorKind};
///
/// let error = Error::new(ErrorKind::OutOfRange, "fill of 16 bytes at offset 8 of a buffer of 16 bytes");
/// assert_eq!(error.kind(), ErrorKind::OutOfRange);
/// assert_eq!(error.to_string(), "out of range: fill of 16 bytes at offset 8 of a buffer of 16 bytes");
/// ```
#[derive(Clone)]
pub struct Error(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    native: Option<NativeStatus>,
    origin: Option<Origin>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error of this kind. The message says what was attempted and, where it can, what to do.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error(Arc::new(Inner { kind, message: message.into(), native: None, origin: None, source: None }))
    }

    /// Adds what the driver said.
    #[must_use]
    pub fn with_native(mut self, native: NativeStatus) -> Self {
        Arc::make_mut(&mut self.0).native = Some(native);
        self
    }

    /// Adds where it began, unless that is known already: the first origin wins, however far an error travels.
    #[must_use]
    pub fn with_origin(mut self, origin: impl FnOnce() -> Origin) -> Self {
        if self.0.origin.is_none() {
            Arc::make_mut(&mut self.0).origin = Some(origin());
        }
        self
    }

    /// Adds the error that caused it.
    #[must_use]
    pub fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Arc::make_mut(&mut self.0).source = Some(Arc::new(source));
        self
    }

    /// Puts what was being attempted in front of the message.
    #[must_use]
    pub fn context(mut self, attempted: impl fmt::Display) -> Self {
        let inner = Arc::make_mut(&mut self.0);
        inner.message = format!("{attempted}: {}", inner.message);
        self
    }

    /// The same error seen as another kind.
    #[must_use]
    pub fn with_kind(mut self, kind: ErrorKind) -> Self {
        Arc::make_mut(&mut self.0).kind = kind;
        self
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What was attempted and what to do, without the driver's words.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What the driver said, if a driver call failed.
    pub fn native(&self) -> Option<&NativeStatus> {
        self.0.native.as_ref()
    }

    /// The submission in which it began, if it began in one.
    pub fn origin(&self) -> Option<&Origin> {
        self.0.origin.as_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.kind, self.0.message)?;
        if let Some(native) = &self.0.native {
            write!(f, "; {native}")?;
        }
        if let Some(origin) = &self.0.origin {
            write!(f, "; in {origin}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({self})")
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| &**source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(sequence: u64) -> Origin {
        Origin { device: "d".into(), queue: 1, sequence, label: Some("l".into()), kernels: vec!["k".into()] }
    }

    #[test]
    fn text_has_everything() {
        let native = NativeStatus { call: "cuLaunchKernel", code: 9999, name: None };
        let error = Error::new(ErrorKind::Internal, "launch").with_native(native).with_origin(|| origin(7));
        let text = error.to_string();
        for part in ["internal error: launch", "cuLaunchKernel returned 9999", "submission 7", "`l`", "`k`"] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }

    #[test]
    fn first_origin_wins() {
        let error = Error::new(ErrorKind::Aborted, "x").with_origin(|| origin(1)).with_origin(|| origin(2));
        assert_eq!(error.origin().unwrap().sequence, 1);
    }
}
