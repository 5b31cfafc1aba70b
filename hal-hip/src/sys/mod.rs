//! The driver as it is: types, numbers, function types, and which functions are used.

/// Generated from the vendor's headers.
#[allow(
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    missing_docs,
    clippy::all,
    reason = "generated: the vendor's names and no comments"
)]
pub mod bindings;
mod table;

pub use table::Symbols;
