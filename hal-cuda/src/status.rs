//! Statuses to errors.

use crate::sys::Symbols;
use crate::sys::bindings::CUresult;
use hal_core::{Error, Result};
use hal_utils::loader::{status_error, text_of};
use hal_utils::native::Progress;
use std::ptr;

/// Calls a function of the table and checks what it returns. Must stand in an `unsafe` block.
macro_rules! call {
    ($symbols:expr, $name:ident($($argument:expr),* $(,)?)) => {
        $crate::status::check(&$symbols, stringify!($name), ($symbols.$name)($($argument),*))
    };
}
pub(crate) use call;

/// As [`call!`], for a function that the driver may lack.
macro_rules! call_optional {
    ($symbols:expr, $name:ident($($argument:expr),* $(,)?)) => {
        match $symbols.$name {
            Some(function) => $crate::status::check(&$symbols, stringify!($name), function($($argument),*)),
            None => Err(hal_utils::loader::lacking(stringify!($name))),
        }
    };
}
pub(crate) use call_optional;

/// `Ok` for success.
pub(crate) fn check(symbols: &Symbols, call: &'static str, status: CUresult) -> Result<()> {
    if status == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(error(symbols, call, status)) }
}

/// What the query of a stream or an event says.
pub(crate) fn progress(symbols: &Symbols, call: &'static str, status: CUresult) -> Result<Progress> {
    match status {
        CUresult::CUDA_SUCCESS => Ok(Progress::Done),
        CUresult::CUDA_ERROR_NOT_READY => Ok(Progress::Running),
        status => Err(error(symbols, call, status)),
    }
}

#[cold]
fn error(symbols: &Symbols, call: &'static str, status: CUresult) -> Error {
    let mut name = ptr::null();
    // SAFETY: takes any number, and writes a pointer to a string that lives for ever, or null.
    let known = unsafe { (symbols.cuGetErrorName)(status, &mut name) } == CUresult::CUDA_SUCCESS;
    // SAFETY: as above.
    let name = if known { unsafe { text_of(name) } } else { None };
    status_error(call, i64::from(status.0), name)
}
