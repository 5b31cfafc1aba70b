//! Linking: of one PTX text.

use super::Hip;
use super::module::is_option;
use crate::abi::{In, Out, Text, entries};
use crate::both::jit::{LINKS, Link, Logs};
use std::ffi::c_void;

entries! { Hip;
    /// Begins a link; the log buffers among the options are written to as it goes on.
    "hipLinkCreate" 50200000 => fn hipLinkCreate(count: u32, options: In<i32>, values: Out<u64>, state: Out<u64>) {
        state.check()?;
        state.set(Link::create(Logs::read(count, options, values, is_option)?).handle)
    }
    /// Adds PTX text.
    "hipLinkAddData" 50200000 => fn hipLinkAddData(
        state: u64, kind: i32, data: In<u8>, len: usize, name: Text, count: u32, options: In<i32>, values: Out<u64>,
    ) {
        let _ = name;
        Logs::read(count, options, values, is_option)?;
        LINKS.get(state)?.add(kind, data, len)
    }
    /// Adds PTX text from a file.
    "hipLinkAddFile" 50200000 => fn hipLinkAddFile(
        state: u64, kind: i32, path: Text, count: u32, options: In<i32>, values: Out<u64>,
    ) {
        Logs::read(count, options, values, is_option)?;
        LINKS.get(state)?.add_file(kind, path.get()?)
    }
    /// Ends a link: an image to load, which is the link's.
    "hipLinkComplete" 50200000 => fn hipLinkComplete(state: u64, image: Out<*const c_void>, len: Out<usize>) {
        LINKS.get(state)?.complete(image, len)
    }
    /// Destroys a link and its image.
    "hipLinkDestroy" 50200000 => fn hipLinkDestroy(state: u64) {
        LINKS.remove(state).map(drop)
    }
}
