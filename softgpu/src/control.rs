//! Entry points of the software GPU's own: faults on demand and the text of the last fault.

use crate::abi::Address;
use crate::{check, driver, fault};
use std::ffi::{CStr, c_char, c_void};

pub(crate) static SYMBOLS: &[(&str, Address)] = &[
    ("softgpu_ctl", Address(softgpu_ctl as *const c_void)),
    ("softgpu_set", Address(softgpu_set as *const c_void)),
    ("softgpu_report", Address(softgpu_report as *const c_void)),
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

/// Sets an instrument as its environment variable would: `faults` (`SOFTGPU_FAULTS`), `order` (`SOFTGPU_ORDER`),
/// `check` (`SOFTGPU_CHECK`), `trace` (`SOFTGPU_TRACE`). An empty value turns it off. 0 if that was understood, else 1.
///
/// # Safety
/// Both must be null or a text ended by a zero byte.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn softgpu_set(instrument: *const c_char, value: *const c_char) -> i32 {
    if instrument.is_null() || value.is_null() {
        return 1;
    }
    // SAFETY: not null, so texts ended by a zero byte.
    let texts = unsafe { (CStr::from_ptr(instrument).to_str(), CStr::from_ptr(value).to_str()) };
    let (Ok(instrument), Ok(value)) = texts else { return 1 };
    let understood = match instrument {
        "faults" => fault::set_rules(value).is_ok(),
        "check" => check::set(value).is_ok(),
        "trace" => driver::trace::set(value),
        "order" if value.trim().is_empty() => {
            driver::order::set_seed(None);
            true
        }
        "order" => value.trim().parse().map(|seed| driver::order::set_seed(Some(seed))).is_ok(),
        _ => false,
    };
    i32::from(!understood)
}

/// Writes a report to a buffer, cut to fit and ended by a zero byte; returns its full length without that byte. One
/// line for each item: `findings` (of the checkers, so far), `leaks` (what is alive now).
///
/// # Safety
/// `report` must be null or a text ended by a zero byte; `buffer` null or valid for writes of `size` bytes.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn softgpu_report(report: *const c_char, buffer: *mut c_char, size: usize) -> usize {
    if report.is_null() {
        return 0;
    }
    // SAFETY: not null, so a text ended by a zero byte.
    let report = unsafe { CStr::from_ptr(report) };
    let lines: Vec<String> = match report.to_bytes() {
        b"findings" => check::findings().iter().map(|f| format!("{}: {}", f.checker, f.text)).collect(),
        b"leaks" => driver::leaks::list().iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    };
    // SAFETY: as the caller promises.
    unsafe { write_text(&lines.join("\n"), buffer, size) }
}

/// Writes the text of the last fault to a buffer, cut to fit and ended by a zero byte; returns its full length without
/// that byte, 0 if there was no fault.
///
/// # Safety
/// `buffer` must be null or valid for writes of `size` bytes.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn softgpu_last_fault(buffer: *mut c_char, size: usize) -> usize {
    let text = driver::last_fault().unwrap_or_default();
    // SAFETY: as the caller promises.
    unsafe { write_text(&text, buffer, size) }
}

/// # Safety
/// `buffer` must be null or valid for writes of `size` bytes.
unsafe fn write_text(text: &str, buffer: *mut c_char, size: usize) -> usize {
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
