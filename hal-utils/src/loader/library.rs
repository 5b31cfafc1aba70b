//! A library, or what stands in for one.

use std::error::Error as _;
use std::ffi::c_void;
use std::fmt;
use std::mem::ManuallyDrop;

/// A driver that is part of this process: names to addresses.
///
/// Whoever makes one promises that every address it gives is a function with the ABI that the vendor documents for the
/// name, and stays one as long as the process runs.
#[derive(Clone, Copy, Debug)]
pub struct Resolver {
    /// For messages, `softgpu`.
    pub name: &'static str,
    lookup: fn(&str) -> Option<*const c_void>,
}

impl Resolver {
    /// A driver that answers to `lookup`.
    ///
    /// # Safety
    /// Every address that `lookup` returns is a function with the ABI that the vendor documents for that name, valid as
    /// long as the process runs.
    pub const unsafe fn new(name: &'static str, lookup: fn(&str) -> Option<*const c_void>) -> Self {
        Resolver { name, lookup }
    }
}

/// An open driver library.
pub enum Library {
    /// A shared library, opened under this name or path. Never closed.
    Dynamic {
        /// The handle.
        library: ManuallyDrop<libloading::Library>,
        /// What it was opened as.
        path: String,
    },
    /// Part of this process.
    Resolver(Resolver),
}

impl Library {
    /// Opens a shared library. The error is the loader's own reason.
    ///
    /// # Errors
    /// Why it could not be opened, as text.
    pub fn open(name_or_path: &std::ffi::OsStr) -> Result<Self, String> {
        // SAFETY: opening runs the library's initialisers. Callers name driver libraries only: the vendors' names, or
        // what the user chose to run.
        match unsafe { libloading::Library::new(name_or_path) } {
            Ok(library) => Ok(Library::Dynamic {
                library: ManuallyDrop::new(library),
                path: name_or_path.to_string_lossy().into_owned(),
            }),
            Err(error) => Err(reason(&error)),
        }
    }

    /// The address of a name, if the library has it.
    pub fn symbol(&self, name: &str) -> Option<*const c_void> {
        match self {
            Library::Dynamic { library, .. } => {
                // SAFETY: a `Symbol` of pointer type holds the address itself; nothing is called or read through it.
                // It stays valid, since the library is never closed.
                unsafe { library.get::<*const c_void>(name) }.ok().map(|symbol| *symbol)
            }
            Library::Resolver(resolver) => (resolver.lookup)(name),
        }
        .filter(|address| !address.is_null())
    }

    /// Where it was found: a name, a path, or `in-process`.
    pub fn path(&self) -> &str {
        match self {
            Library::Dynamic { path, .. } => path,
            Library::Resolver(_) => "in-process",
        }
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Library::Dynamic { path, .. } => write!(f, "Library({path})"),
            Library::Resolver(resolver) => write!(f, "Library({}, in-process)", resolver.name),
        }
    }
}

/// The loader says "dlopen failed" and keeps why in the source.
fn reason(error: &libloading::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
