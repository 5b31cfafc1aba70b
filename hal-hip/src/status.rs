//! Statuses to errors.

use crate::sys::Symbols;
use crate::sys::bindings::hipError_t;
use hal_core::{Error, Result};
use hal_utils::loader::{status_error, text_of};
use hal_utils::native::Progress;

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
pub(crate) fn check(symbols: &Symbols, call: &'static str, status: hipError_t) -> Result<()> {
    if status == hipError_t::hipSuccess { Ok(()) } else { Err(error(symbols, call, status)) }
}

/// What the query of a stream or an event says.
pub(crate) fn progress(symbols: &Symbols, call: &'static str, status: hipError_t) -> Result<Progress> {
    match status {
        hipError_t::hipSuccess => Ok(Progress::Done),
        hipError_t::hipErrorNotReady => Ok(Progress::Running),
        status => Err(error(symbols, call, status)),
    }
}

#[cold]
fn error(symbols: &Symbols, call: &'static str, status: hipError_t) -> Error {
    // SAFETY: takes any number, and returns a string that lives for ever, or null.
    let name = unsafe { text_of((symbols.hipGetErrorName)(status)) };
    // HIP calls every number it does not know by the name of one that it does.
    let known = status == hipError_t::hipErrorUnknown;
    let name = name.filter(|name| known || !matches!(&**name, "hipErrorUnknown" | "hipErrorUnknownSymbol"));
    status_error(call, i64::from(status.0), name)
}
