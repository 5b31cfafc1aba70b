//! What a driver's status means to its reader.

use crate::native::status_kind;
use hal_core::{Error, ErrorKind, NativeStatus};

/// The error of a call that returned `code`. `name` is what the driver calls it; a status without one is `Internal`,
/// since nobody can say what it means. Loss is believed without a name: a driver that is lost may fail to name anything.
pub fn status_error(call: &'static str, code: i64, name: Option<String>) -> Error {
    let kind = match (status_kind(code), &name) {
        (kind, Some(_)) | (kind @ ErrorKind::DeviceLost, None) => kind,
        _ => ErrorKind::Internal,
    };
    let message = match kind {
        ErrorKind::InvalidArgument => "the driver did not accept an argument",
        ErrorKind::ResourceExhausted => {
            "the driver is out of memory or another resource; free something, or ask for less"
        }
        ErrorKind::Unavailable => {
            "the driver or device cannot be used now; check that the driver works at all"
        }
        ErrorKind::NotFound => "the driver does not know the name",
        ErrorKind::Unimplemented => "the driver or device does not support this",
        ErrorKind::DeviceLost => "the device is lost; close it and open it again",
        _ => "the driver failed in a way it does not explain",
    };
    Error::new(kind, message).with_native(NativeStatus { call, code, name })
}

/// The error of a call that the driver does not have. A capability tells beforehand.
pub fn lacking(call: &'static str) -> Error {
    Error::new(ErrorKind::Unimplemented, format!("the driver has no {call}; update it, or do without"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_status_is_internal_and_named_by_number() {
        let error = status_error("cuFoo", 9999, None);
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert!(error.to_string().contains("cuFoo returned 9999"), "{error}");
        // A number we know a kind for, but which this driver does not know, is not trusted either.
        assert_eq!(status_error("cuFoo", 2, None).kind(), ErrorKind::Internal);
        // But for loss: the call that names it may fail as every other does.
        assert_eq!(status_error("cuFoo", 700, None).kind(), ErrorKind::DeviceLost);
    }

    #[test]
    fn a_known_status_keeps_its_name() {
        let error = status_error("cuMemAlloc", 2, Some("CUDA_ERROR_OUT_OF_MEMORY".into()));
        assert_eq!(error.kind(), ErrorKind::ResourceExhausted);
        assert!(error.to_string().contains("2 (CUDA_ERROR_OUT_OF_MEMORY)"), "{error}");
    }
}
