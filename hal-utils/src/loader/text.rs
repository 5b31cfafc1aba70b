//! Text that crosses the border to C.

use hal_core::{Error, ErrorKind, Result};
use std::borrow::Cow;
use std::ffi::{CStr, CString, c_char};

/// `text` as C wants it.
///
/// # Errors
/// `InvalidArgument` if it contains a NUL.
pub fn c_string(what: &str, text: &str) -> Result<CString> {
    CString::new(text).map_err(|error| interior_nul(what, error.nul_position()))
}

/// An image that is text, with one NUL at its end: as it is if it has one, else a copy.
///
/// # Errors
/// `InvalidArgument` if there is a NUL before its end.
pub fn nul_terminated<'a>(what: &str, image: &'a [u8]) -> Result<Cow<'a, [u8]>> {
    match image.iter().position(|&byte| byte == 0) {
        None => {
            let mut copy = Vec::with_capacity(image.len() + 1);
            copy.extend_from_slice(image);
            copy.push(0);
            Ok(Cow::Owned(copy))
        }
        Some(position) if image[position..].iter().all(|&byte| byte == 0) => Ok(Cow::Borrowed(image)),
        Some(position) => Err(interior_nul(what, position)),
    }
}

fn interior_nul(what: &str, position: usize) -> Error {
    Error::new(
        ErrorKind::InvalidArgument,
        format!("{what} has a NUL at byte {position}; it is text and may have none inside"),
    )
}

/// A C string that a driver keeps for ever. `None` for null or empty.
///
/// # Safety
/// `text` is null or points to a NUL-terminated string.
pub unsafe fn text_of(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    (!text.is_empty()).then_some(text)
}

/// What a driver wrote into a buffer, up to the NUL or the end.
pub fn text_of_array(array: &[c_char]) -> String {
    let bytes: Vec<u8> = array.iter().take_while(|&&byte| byte != 0).map(|&byte| byte as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `GPU-` and the usual groups of hexadecimal digits.
pub fn uuid(bytes: &[c_char; 16]) -> String {
    let mut text = String::from("GPU");
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 0 | 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{:02x}", *byte as u8));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_end_in_one_nul_at_least() {
        assert_eq!(&*nul_terminated("PTX", b"ab").unwrap(), b"ab\0");
        assert!(matches!(nul_terminated("PTX", b"ab\0").unwrap(), Cow::Borrowed(b"ab\0")));
        assert_eq!(&*nul_terminated("PTX", b"").unwrap(), b"\0");
        let error = nul_terminated("PTX", b"a\0b").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("byte 1"), "{error}");
        assert!(c_string("name", "a\0").is_err());
    }

    #[test]
    fn uuids_are_grouped() {
        let bytes: [c_char; 16] = std::array::from_fn(|index| (index as u8 * 17) as c_char);
        assert_eq!(uuid(&bytes), "GPU-00112233-4455-6677-8899-aabbccddeeff");
    }

    #[test]
    fn arrays_end_at_the_nul_or_the_end() {
        assert_eq!(text_of_array(&[b'a' as c_char, 0, b'b' as c_char]), "a");
        assert_eq!(text_of_array(&[b'a' as c_char]), "a");
    }
}
