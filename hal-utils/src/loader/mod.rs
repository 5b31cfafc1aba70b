//! Finding a driver's library and its functions: what both backends do in the same way.
//!
//! | Question | Answered by |
//! |---|---|
//! | which library: a path, the environment, the system's names, or the software GPU | [`DriverChoice`], [`load_driver`] |
//! | what a name in it points to | [`Library::symbol`] |
//! | which functions a backend needs, and whether they are there | [`symbol_table!`](crate::symbol_table) |
//! | what a status means | [`status_error`] |
//! | whether an image may be handed to a driver | [`ptx`], [`elf`], [`fat_binary`], [`code_object`] |
//!
//! A library is never closed: drivers start threads and register exit handlers that do not survive it.

mod choice;
mod handle;
mod image;
mod library;
mod privilege;
mod status;
mod symbols;
mod text;

pub use choice::{DriverChoice, LibraryNames, Origin, load_driver};
#[doc(hidden)]
pub use hal_core::Result as TableResult;
pub use image::{code_object, elf, fat_binary, ptx};
pub use library::{Library, Resolver};
pub use status::{lacking, status_error};
#[doc(hidden)]
pub use symbols::missing;
pub use symbols::{Row, SymbolReport, SymbolState};
pub use text::{c_string, text_of, text_of_array, uuid};
