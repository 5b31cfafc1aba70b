//! Transfers between files and buffers: a host call that moves piece after piece through a ring of pinned memory, so that
//! the file and the device work at the same time and memory does not grow with the file.

mod ring;
mod transfer;

pub(crate) use ring::Rings;
pub(crate) use transfer::{Direction, transfer};
