//! Entry points of the software GPU's own: faults on demand and the text of the last fault.

use crate::abi::Address;
use crate::{driver, fault};
use std::ffi::{CStr, c_char, c_void};

pub(crate) static SYMBOLS: &[(&str, Address)] = &[
    ("softgpu_ctl", Address(softgpu_ctl as *const c_void)),
    ("softgpu_last_fault", Address(softgpu_last_fault as *const c_void)),
];

/// Replaces the fault rules (see [`fault`]); an empty text removes them. 0 if the rules were understood, else 1, and the
/// rules stay as they were.
///
/// # Safety
/// `rules` must be null or a text ended by a zero byte.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn softgpu_ctl(rules: *const c_char) -> i32 {
    if rules.is_null() {
        return 1;
    }
    // SAFETY: not null, so a text ended by a zero byte.
    let rules = unsafe { CStr::from_ptr(rules) };
    match rules.to_str().map(fault::set_rules) {
        Ok(Ok(())) => 0,
        _ => 1,
    }
}

/// Writes the text of the last fault to a buffer, cut to fit and ended by a zero byte; returns its full length without
/// that byte, 0 if there was no fault.
///
/// # Safety
/// `buffer` must be null or valid for writes of `size` bytes.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn softgpu_last_fault(buffer: *mut c_char, size: usize) -> usize {
    let text = driver::last_fault().unwrap_or_default();
    if !buffer.is_null() && size > 0 {
        let len = text.len().min(size - 1);
        // SAFETY: `len` is less than `size`, and the buffer is valid for that many bytes.
        unsafe {
            buffer.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), len);
            buffer.add(len).write(0);
        }
    }
    text.len()
}
