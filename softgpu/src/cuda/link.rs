//! Linking: of one PTX text.

use super::Cuda;
use super::module::is_option;
use crate::abi::{In, Out, Text, entries};
use crate::both::jit::{LINKS, Link, Logs};
use std::ffi::c_void;

entries! { Cuda;
    /// Begins a link; the log buffers among the options are written to as it goes on.
    "cuLinkCreate" 5050 => fn cuLinkCreate(count: u32, options: In<i32>, values: Out<u64>, state: Out<u64>) {
        state.check()?;
        state.set(Link::create(Logs::read(count, options, values, is_option)?).handle)
    }
    /// Adds PTX text.
    "cuLinkAddData" 5050 => fn cuLinkAddData(
        state: u64, kind: i32, data: In<u8>, len: usize, name: Text, count: u32, options: In<i32>, values: Out<u64>,
    ) {
        let _ = name;
        Logs::read(count, options, values, is_option)?;
        LINKS.get(state)?.add(kind, data, len)
    }
    /// Adds PTX text from a file.
    "cuLinkAddFile" 5050 => fn cuLinkAddFile(
        state: u64, kind: i32, path: Text, count: u32, options: In<i32>, values: Out<u64>,
    ) {
        Logs::read(count, options, values, is_option)?;
        LINKS.get(state)?.add_file(kind, path.get()?)
    }
    /// Begins a link; the log buffers among the options are written to as it goes on.
    "cuLinkCreate" 6050 => fn cuLinkCreate_v2(count: u32, options: In<i32>, values: Out<u64>, state: Out<u64>) {
        state.check()?;
        state.set(Link::create(Logs::read(count, options, values, is_option)?).handle)
    }
    /// Adds PTX text.
    "cuLinkAddData" 6050 => fn cuLinkAddData_v2(
        state: u64, kind: i32, data: In<u8>, len: usize, name: Text, count: u32, options: In<i32>, values: Out<u64>,
    ) {
        let _ = name;
        Logs::read(count, options, values, is_option)?;
        LINKS.get(state)?.add(kind, data, len)
    }
    /// Adds PTX text from a file.
    "cuLinkAddFile" 6050 => fn cuLinkAddFile_v2(
        state: u64, kind: i32, path: Text, count: u32, options: In<i32>, values: Out<u64>,
    ) {
        Logs::read(count, options, values, is_option)?;
        LINKS.get(state)?.add_file(kind, path.get()?)
    }
    /// Ends a link: an image to load, which is the link's.
    "cuLinkComplete" 5050 => fn cuLinkComplete(state: u64, image: Out<*const c_void>, len: Out<usize>) {
        LINKS.get(state)?.complete(image, len)
    }
    /// Destroys a link and its image.
    "cuLinkDestroy" 5050 => fn cuLinkDestroy(state: u64) {
        LINKS.remove(state).map(drop)
    }
}
