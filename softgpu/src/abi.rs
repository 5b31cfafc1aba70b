//! What the two ABIs share: how an entry point is declared, and the table all of them stand in.
//!
//! [`entries!`](crate::abi) declares each function once. From that come the exported symbol, the guards around its body
//! and its row in the table that `cuGetProcAddress`, `hipGetProcAddress` and the in-process resolver read.
//!
//! Arguments that are pointers are declared as [`Out`], [`In`] or [`Text`]: the promise the C caller makes for them is
//! stated once, here, and the bodies need no `unsafe` of their own.

use crate::check::calls;
use crate::driver::stream::in_callback;
use crate::driver::{Error, Result, order};
use crate::fault::{self, Hook};
use crate::fork;
use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The address of a function.
#[derive(Clone, Copy, Debug)]
pub struct Address(pub *const c_void);

// SAFETY: the address of code, which every thread may know.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}

/// One entry point.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name without ABI version, which `cuGetProcAddress` takes.
    pub base: &'static str,
    /// The exported symbol, which `dlsym` takes.
    pub symbol: &'static str,
    /// The first version of the vendor's API that has it.
    pub since: i32,
    /// Whether it works before the ABI's init function was called, and in host functions.
    pub early: bool,
    /// Where it is.
    pub address: Address,
}

/// What differs between the ABIs around a call.
pub trait Abi {
    /// Whether calls other than early ones may be made.
    fn is_ready() -> bool;
    /// The ABI's number for an answer of the driver core.
    fn code(result: Result<()>) -> i32;
    /// Sees every code before it is returned.
    fn note(code: i32) -> i32 {
        code
    }
}

/// Runs the body of an entry point: fault rules first, then the guards.
pub fn enter<A: Abi>(entry: &Entry, body: impl FnOnce() -> Result<()>) -> i32 {
    // Before anything that takes a lock: in a child, whoever held it is gone.
    if fork::happened() {
        return fork::ANSWER;
    }
    calls::begin(entry.symbol);
    let hook = fault::hook(entry);
    if let Some(Hook::Return(code)) = hook {
        return A::note(code);
    }
    let result = if entry.early {
        guarded(body)
    } else if in_callback() {
        Err(Error::NOT_PERMITTED)
    } else if A::is_ready() {
        fork::watch();
        guarded(body)
    } else {
        Err(Error::NOT_INITIALIZED)
    };
    if let Some(Hook::After(what)) = hook {
        fault::after(entry, what);
    }
    if !in_callback() {
        order::after_call();
    }
    A::note(A::code(result))
}

fn guarded(body: impl FnOnce() -> Result<()>) -> Result<()> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(Error::UNKNOWN))
}

/// Where a call puts an answer: null, or valid for writes of `T`, as every entry point requires of its caller.
#[repr(transparent)]
pub struct Out<T>(*mut T);

/// Where a call finds an argument: null, or valid for reads of `T`, as every entry point requires of its caller.
#[repr(transparent)]
pub struct In<T>(*const T);

/// A text argument: null, or ended by a zero byte, as every entry point requires of its caller.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Text(*const c_char);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Out<T> {}
impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for In<T> {}
impl<T> fmt::Debug for Out<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Out({:p})", self.0)
    }
}
impl<T> fmt::Debug for In<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "In({:p})", self.0)
    }
}
impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Text({:p})", self.0)
    }
}

impl<T: Copy> Out<T> {
    /// Whether the caller passed null.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Writes an answer that the caller must have room for.
    pub fn set(self, value: T) -> Result<()> {
        self.check()?.set_if(value);
        Ok(())
    }

    /// Writes an answer that the caller may not want.
    pub fn set_if(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: not null, so valid for writes, as the type says.
            unsafe { self.0.write_unaligned(value) };
        }
    }

    /// Refuses null before anything is done that would have to be undone.
    pub fn check(self) -> Result<Self> {
        if self.0.is_null() { Err(Error::INVALID_VALUE) } else { Ok(self) }
    }

    /// Reads what is there: for arguments that go both ways.
    pub fn get(self) -> Result<T> {
        self.check()?;
        // SAFETY: not null, so valid, and initialised since the argument goes both ways.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// Reads the element at `index` of an array that the caller said is longer and has filled.
    pub fn list_at(self, index: usize) -> T {
        // SAFETY: the caller said that the array is longer than `index`.
        unsafe { self.0.add(index).read_unaligned() }
    }

    /// Writes to the element at `index` of an array that the caller said is longer.
    pub fn set_at(self, index: usize, value: T) {
        // SAFETY: the caller said that the array is longer than `index`.
        unsafe { self.0.add(index).write_unaligned(value) };
    }
}

impl<T> Out<T> {
    /// The same place, holding something else: for arguments whose type another argument names.
    pub fn cast<U>(self) -> Out<U> {
        Out(self.0.cast())
    }

    /// A place whose address the caller passed as a number.
    pub(crate) fn at(address: u64) -> Self {
        Self(address as *mut T)
    }
}

impl<T> In<T> {
    /// Whether the caller passed null.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The address itself.
    pub fn as_ptr(self) -> *const T {
        self.0
    }

    /// A place whose address the caller passed as a number.
    pub(crate) fn at(address: u64) -> Self {
        Self(address as *const T)
    }
}

impl Out<c_char> {
    /// Writes a text into a buffer of `size` bytes, cut to fit, always ended by a zero byte.
    pub fn set_text(self, text: &str, size: usize) -> Result<()> {
        self.check()?;
        let room = size.checked_sub(1).ok_or(Error::INVALID_VALUE)?;
        for (index, byte) in text.bytes().take(room).chain([0]).enumerate() {
            self.set_at(index, byte as c_char);
        }
        Ok(())
    }
}

/// No call has a use for longer lists; a longer one is a wrong length, and memory for it may not exist.
const MOST_LISTED: usize = 1 << 24;

impl<T: Copy> In<T> {
    /// Reads the argument.
    pub fn get(self) -> Result<T> {
        if self.0.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: not null, so valid for reads, as the type says.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// Reads an array of `len` elements; null is an empty one only.
    pub fn list(self, len: usize) -> Result<Vec<T>> {
        if len == 0 {
            return Ok(Vec::new());
        }
        if self.0.is_null() || len > MOST_LISTED {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: not null, so valid for as many elements as the caller says in the argument beside it.
        Ok((0..len).map(|index| unsafe { self.0.add(index).read_unaligned() }).collect())
    }
}

impl Text {
    /// The text.
    pub fn get<'a>(self) -> Result<&'a str> {
        if self.0.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: not null, so ended by a zero byte, as the type says; used during the call only.
        unsafe { CStr::from_ptr(self.0) }.to_str().map_err(|_| Error::INVALID_VALUE)
    }
}

/// Declares entry points of an ABI and their table, `ENTRIES`.
///
/// ```text
/// entries! { crate::cuda::Cuda;
///     /// What it does.
///     "cuMemAlloc" 3020 => fn cuMemAlloc_v2(dptr: Out<u64>, bytes: usize) { …; Ok(()) }
///     early "cuDriverGetVersion" 2020 => fn cuDriverGetVersion(version: Out<i32>) { … }
/// }
/// ```
///
/// The body is an expression of type `driver::Result<()>`; `early` marks what works before init and in host functions.
macro_rules! entries {
    ($abi:ty; $($(#[$doc:meta])* $($early:ident)? $base:literal $since:literal => fn $name:ident
        ($($arg:ident: $type:ty),* $(,)?) $body:block)*) => {
        /// The entry points of this file.
        pub(crate) static ENTRIES: &[$crate::abi::Entry] = &[$($crate::abi::Entry {
            base: $base,
            symbol: stringify!($name),
            since: $since,
            early: $crate::abi::is_early!($($early)?),
            address: $crate::abi::Address($name as *const std::ffi::c_void),
        }),*];

        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// As the vendor documents: pointers are null or valid for what they point to.
            #[allow(non_snake_case, clippy::too_many_arguments)]
            #[cfg_attr(feature = "export", unsafe(no_mangle))]
            pub unsafe extern "C" fn $name($($arg: $type),*) -> i32 {
                static ENTRY: $crate::abi::Entry = $crate::abi::Entry {
                    base: $base,
                    symbol: stringify!($name),
                    since: $since,
                    early: $crate::abi::is_early!($($early)?),
                    address: $crate::abi::Address($name as *const std::ffi::c_void),
                };
                $crate::abi::enter::<$abi>(&ENTRY, move || -> $crate::driver::Result<()> { $body })
            }
        )*
    };
}

macro_rules! is_early {
    () => {
        false
    };
    (early) => {
        true
    };
}

pub(crate) use {entries, is_early};
