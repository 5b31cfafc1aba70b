//! The table of a driver's functions: one row per function.

use hal_core::{Error, ErrorKind};
use std::ffi::c_void;

/// A function that a backend uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// As the vendor documents it, `cuMemAlloc`.
    pub name: &'static str,
    /// As the library exports the ABI that is meant, `cuMemAlloc_v2`.
    pub exported: &'static str,
    /// The driver version that introduced this ABI, as the vendor numbers versions.
    pub version: u32,
    /// Whether the backend is of no use without it.
    pub required: bool,
}

/// Whether a library has a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolState {
    /// It has.
    Found,
    /// It lacks it, and cannot be used.
    MissingRequired,
    /// It lacks it, and a capability is off.
    MissingOptional,
}

/// A symbol table compared with a library.
#[derive(Clone, Debug)]
pub struct SymbolReport {
    /// The library, or `in-process`.
    pub library: String,
    /// Each row, in the order of the table.
    pub rows: Vec<(Row, SymbolState)>,
}

impl SymbolReport {
    /// Looks every row up.
    pub fn new(library: &str, rows: &[Row], resolve: impl Fn(&Row) -> Option<*const c_void>) -> Self {
        let state = |row: &Row| match (resolve(row), row.required) {
            (Some(_), _) => SymbolState::Found,
            (None, true) => SymbolState::MissingRequired,
            (None, false) => SymbolState::MissingOptional,
        };
        SymbolReport {
            library: library.to_owned(),
            rows: rows.iter().map(|row| (*row, state(row))).collect(),
        }
    }
}

/// The error of a library without some required functions, naming all of them. For
/// [`symbol_table!`](crate::symbol_table).
pub fn missing(library: &str, rows: &[(Row, bool)]) -> Error {
    let missing: Vec<String> = rows
        .iter()
        .filter(|(row, found)| row.required && !found)
        .map(|(row, _)| format!("{} (version {})", row.name, row.version))
        .collect();
    Error::new(
        ErrorKind::Unavailable,
        format!("{library} lacks {}, which this backend needs; update the driver", missing.join(", ")),
    )
}

/// Defines a struct with one function pointer per row; a `required` one is always there, an `optional` one an `Option`.
///
/// ```
/// hal_utils::symbol_table! {
///     /// Functions of the C library.
///     pub struct LibC;
///
///     abs @ 1 = abs: unsafe extern "C" fn(i32) -> i32, required;
///     newer @ 2 = newer_v2: unsafe extern "C" fn(), optional;
/// }
/// let library = hal_utils::loader::Library::open("libc.so.6".as_ref())?;
/// // SAFETY: `abs` of the C library has this type.
/// let libc = unsafe { LibC::load(library.path(), |row| library.symbol(row.exported)) }.unwrap();
/// // SAFETY: `abs` has no preconditions but that its result can be represented.
/// assert_eq!(unsafe { (libc.abs)(-3) }, 3);
/// assert!(libc.newer.is_none());
/// # Ok::<(), String>(())
/// ```
///
/// A row is `documented name @ version = exported name: type, required|optional;`.
#[macro_export]
macro_rules! symbol_table {
    (
        $(#[$attribute:meta])*
        pub struct $table:ident;
        $($name:ident @ $version:literal = $exported:ident: $type:ty, $need:ident;)*
    ) => {
        $(#[$attribute])*
        #[allow(non_snake_case, missing_docs, reason = "functions keep the names the vendor documents")]
        #[derive(Clone, Copy, Debug)]
        pub struct $table {
            $(pub $name: $crate::symbol_table!(@type $need $type),)*
        }

        #[allow(non_snake_case, reason = "functions keep the names the vendor documents")]
        impl $table {
            /// Every function of the table.
            pub fn rows() -> &'static [$crate::loader::Row] {
                const ROWS: &[$crate::loader::Row] =
                    &[$($crate::symbol_table!(@row $name $version $exported $need),)*];
                ROWS
            }

            /// Looks every function up. `library` is for messages.
            ///
            /// # Safety
            /// What `resolve` returns for a row is a function of the row's type, valid as long as it is called.
            ///
            /// # Errors
            /// `Unavailable`, naming every required function that is missing.
            pub unsafe fn load(
                library: &str,
                resolve: impl Fn(&$crate::loader::Row) -> Option<*const ::std::ffi::c_void>,
            ) -> $crate::loader::TableResult<Self> {
                $(let $name = resolve(&$crate::symbol_table!(@row $name $version $exported $need));)*
                let missing = || $crate::loader::missing(library, &[
                    $(($crate::symbol_table!(@row $name $version $exported $need), $name.is_some()),)*
                ]);
                $(
                    // SAFETY: the caller's promise: the address is a function of this type. Function pointers and
                    // data pointers have one size on every platform that has these drivers.
                    let $name = $name.map(|address| unsafe {
                        ::std::mem::transmute_copy::<*const ::std::ffi::c_void, $type>(&address)
                    });
                )*
                Ok($table { $($name: $crate::symbol_table!(@take $need $name missing),)* })
            }
        }
    };
    (@type required $type:ty) => { $type };
    (@type optional $type:ty) => { Option<$type> };
    (@take required $found:ident $missing:ident) => {
        match $found {
            Some(function) => function,
            None => return Err($missing()),
        }
    };
    (@take optional $found:ident $missing:ident) => { $found };
    (@row $name:ident $version:literal $exported:ident $need:ident) => {
        $crate::loader::Row {
            name: stringify!($name),
            exported: stringify!($exported),
            version: $version,
            required: $crate::symbol_table!(@required $need),
        }
    };
    (@required required) => { true };
    (@required optional) => { false };
}

#[cfg(test)]
mod tests {
    use crate::loader::{Library, Resolver, SymbolReport, SymbolState};
    use hal_core::ErrorKind;
    use std::ffi::c_void;

    type Plain = unsafe extern "C" fn() -> i32;

    crate::symbol_table! {
        /// A made-up driver.
        pub struct Made;

        first @ 1000 = first: Plain, required;
        second @ 2000 = second_v2: Plain, required;
        third @ 3000 = third: Plain, required;
        extra @ 4000 = extra: Plain, optional;
    }

    extern "C" fn seven() -> i32 {
        7
    }

    fn library(lookup: fn(&str) -> Option<*const c_void>) -> Library {
        // SAFETY: the lookups of these tests return `seven` only.
        Library::Resolver(unsafe { Resolver::new("made", lookup) })
    }

    fn load(library: &Library) -> hal_core::Result<Made> {
        // SAFETY: as above; every row has the type of `seven`.
        unsafe { Made::load(library.path(), |row| library.symbol(row.exported)) }
    }

    #[test]
    fn found_functions_can_be_called_and_an_optional_one_may_lack() {
        let made = load(&library(|name| (name != "extra").then_some(seven as *const c_void))).unwrap();
        // SAFETY: all three are `seven`.
        assert_eq!(unsafe { (made.first)() + (made.second)() + (made.third)() }, 21);
        assert!(made.extra.is_none());
    }

    #[test]
    fn every_missing_required_function_is_named() {
        let lacking = library(|name| (name == "third").then_some(seven as *const c_void));
        let error = load(&lacking).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        let text = error.to_string();
        assert!(text.contains("in-process lacks first (version 1000), second (version 2000),"), "{text}");
        assert!(!text.contains("third") && !text.contains("extra"), "{text}");
    }

    #[test]
    fn a_null_address_is_a_missing_function() {
        assert!(load(&library(|_| Some(std::ptr::null()))).is_err());
    }

    #[test]
    fn a_report_tells_required_from_optional() {
        let lacking = library(|name| (name == "first").then_some(seven as *const c_void));
        let report = SymbolReport::new(lacking.path(), Made::rows(), |row| lacking.symbol(row.exported));
        let states: Vec<_> = report.rows.iter().map(|(_, state)| *state).collect();
        use SymbolState::{Found, MissingOptional, MissingRequired};
        assert_eq!(states, [Found, MissingRequired, MissingRequired, MissingOptional]);
    }
}
