//! Copies and fills.

use super::{Cuda, stream_of};
use crate::abi::{In, entries};
use crate::driver::copy::{Copy, Fill, Pitch, Return, Shape, Space};
use crate::driver::{Error, Result};
use std::ffi::c_void;

/// Copies bytes in one piece.
fn linear(dst: (u64, Space), src: (u64, Space), len: usize, stream: u64, when: Return) -> Result<()> {
    let stream = stream_of(stream)?;
    // SAFETY: the caller of the entry point promises host memory, for the whole call, or until the stream is done.
    match unsafe { Copy::new(dst, src, Shape::linear(len as u64)) }? {
        Some(copy) => copy.issue(&stream, when),
        None => Ok(()),
    }
}

/// Fills `count` elements in one piece.
fn fill(dst: u64, value: u32, element: u8, count: usize, stream: u64) -> Result<()> {
    rows(dst, 0, value, element, count, 1, stream)
}

fn rows(
    dst: u64,
    pitch: usize,
    value: u32,
    element: u8,
    width: usize,
    height: usize,
    stream: u64,
) -> Result<()> {
    let stream = stream_of(stream)?;
    match Fill::new(dst, value, element, width as u64, height as u64, pitch as u64)? {
        Some(fill) => fill.issue(&stream, Return::Issued),
        None => Ok(()),
    }
}

/// `CUDA_MEMCPY2D`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Memcpy2D {
    src_x: usize,
    src_y: usize,
    src_type: u32,
    src_host: u64,
    src_device: u64,
    src_array: u64,
    src_pitch: usize,
    dst_x: usize,
    dst_y: usize,
    dst_type: u32,
    dst_host: u64,
    dst_device: u64,
    dst_array: u64,
    dst_pitch: usize,
    width: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Memcpy3D {
    src_x: usize,
    src_y: usize,
    src_z: usize,
    src_lod: usize,
    src_type: u32,
    src_host: u64,
    src_device: u64,
    src_array: u64,
    reserved0: u64,
    src_pitch: usize,
    src_height: usize,
    dst_x: usize,
    dst_y: usize,
    dst_z: usize,
    dst_lod: usize,
    dst_type: u32,
    dst_host: u64,
    dst_device: u64,
    dst_array: u64,
    reserved1: u64,
    dst_pitch: usize,
    dst_height: usize,
    width: usize,
    height: usize,
    depth: usize,
}

/// `CU_MEMORYTYPE_UNIFIED`
const UNIFIED: u32 = 4;

struct End {
    kind: u32,
    host: u64,
    device: u64,
    at: [usize; 3],
    pitch: Pitch,
}

impl End {
    fn place(&self) -> Result<(u64, Space)> {
        let (base, space) = match self.kind {
            1 => (self.host, Space::Host),
            2 => (self.device, Space::Device),
            UNIFIED => (self.device, Space::Any),
            // No arrays: there are no textures.
            3 => return Err(Error::NOT_SUPPORTED),
            _ => return Err(Error::INVALID_VALUE),
        };
        let [x, y, z] = self.at.map(|n| n as u64);
        let offset = z.checked_mul(self.pitch.slice).zip(y.checked_mul(self.pitch.row));
        offset
            .and_then(|(slices, rows)| base.checked_add(slices)?.checked_add(rows)?.checked_add(x))
            .map(|address| (address, space))
            .ok_or(Error::INVALID_VALUE)
    }
}

impl Memcpy2D {
    fn prepare(&self) -> Result<Option<Copy>> {
        let pitch = |row: usize| Pitch { row: if row == 0 { self.width } else { row } as u64, slice: 0 };
        let src = End {
            kind: self.src_type,
            host: self.src_host,
            device: self.src_device,
            at: [self.src_x, self.src_y, 0],
            pitch: pitch(self.src_pitch),
        };
        let dst = End {
            kind: self.dst_type,
            host: self.dst_host,
            device: self.dst_device,
            at: [self.dst_x, self.dst_y, 0],
            pitch: pitch(self.dst_pitch),
        };
        prepare(src, dst, [self.width, self.height, 1])
    }
}

impl Memcpy3D {
    /// Describes a copy. Offsets are part of the addresses.
    pub(super) fn of(copy: Option<&Copy>) -> Self {
        // SAFETY: plain numbers, for which zeros are values.
        let nothing: Self = unsafe { std::mem::zeroed() };
        let Some((src, dst, shape)) = copy.map(Copy::parts) else {
            return Self { src_type: UNIFIED, dst_type: UNIFIED, ..nothing };
        };
        let rows = |pitch: Pitch| (pitch.slice / pitch.row.max(1)) as usize;
        Self {
            src_type: UNIFIED,
            src_device: src,
            src_pitch: shape.src.row as usize,
            src_height: rows(shape.src),
            dst_type: UNIFIED,
            dst_device: dst,
            dst_pitch: shape.dst.row as usize,
            dst_height: rows(shape.dst),
            width: shape.width as usize,
            height: shape.height as usize,
            depth: shape.depth as usize,
            ..nothing
        }
    }

    /// Checks the copy that this describes.
    pub(super) fn prepare(&self) -> Result<Option<Copy>> {
        let pitch = |row: usize, height: usize| {
            let row = if row == 0 { self.width } else { row } as u64;
            let height = if height == 0 { self.height } else { height } as u64;
            row.checked_mul(height).map(|slice| Pitch { row, slice }).ok_or(Error::INVALID_VALUE)
        };
        let src = End {
            kind: self.src_type,
            host: self.src_host,
            device: self.src_device,
            at: [self.src_x, self.src_y, self.src_z],
            pitch: pitch(self.src_pitch, self.src_height)?,
        };
        let dst = End {
            kind: self.dst_type,
            host: self.dst_host,
            device: self.dst_device,
            at: [self.dst_x, self.dst_y, self.dst_z],
            pitch: pitch(self.dst_pitch, self.dst_height)?,
        };
        prepare(src, dst, [self.width, self.height, self.depth])
    }
}

fn prepare(src: End, dst: End, size: [usize; 3]) -> Result<Option<Copy>> {
    let [width, height, depth] = size.map(|n| n as u64);
    let shape = Shape { width, height, depth, src: src.pitch, dst: dst.pitch };
    // SAFETY: the caller of the entry point promises host memory as for one-dimensional copies.
    unsafe { Copy::new(dst.place()?, src.place()?, shape) }
}

fn planar(copy: In<Memcpy2D>, stream: u64, when: Return) -> Result<()> {
    let stream = stream_of(stream)?;
    copy.get()?.prepare()?.map_or(Ok(()), |copy| copy.issue(&stream, when))
}

fn solid(copy: In<Memcpy3D>, stream: u64, when: Return) -> Result<()> {
    let stream = stream_of(stream)?;
    copy.get()?.prepare()?.map_or(Ok(()), |copy| copy.issue(&stream, when))
}

entries! { Cuda;
    /// Copies from host to device.
    "cuMemcpyHtoD" 3020 => fn cuMemcpyHtoD_v2(dst: u64, src: *const c_void, len: usize) {
        linear((dst, Space::Device), (src as u64, Space::Host), len, 0, Return::Done)
    }
    /// Copies from host to device, in stream order.
    "cuMemcpyHtoDAsync" 3020 => fn cuMemcpyHtoDAsync_v2(dst: u64, src: *const c_void, len: usize, stream: u64) {
        linear((dst, Space::Device), (src as u64, Space::Host), len, stream, Return::Issued)
    }
    /// Copies from device to host.
    "cuMemcpyDtoH" 3020 => fn cuMemcpyDtoH_v2(dst: *mut c_void, src: u64, len: usize) {
        linear((dst as u64, Space::Host), (src, Space::Device), len, 0, Return::Done)
    }
    /// Copies from device to host, in stream order.
    "cuMemcpyDtoHAsync" 3020 => fn cuMemcpyDtoHAsync_v2(dst: *mut c_void, src: u64, len: usize, stream: u64) {
        linear((dst as u64, Space::Host), (src, Space::Device), len, stream, Return::Issued)
    }
    /// Copies on the device; does not wait, as documented.
    "cuMemcpyDtoD" 3020 => fn cuMemcpyDtoD_v2(dst: u64, src: u64, len: usize) {
        linear((dst, Space::Device), (src, Space::Device), len, 0, Return::Issued)
    }
    /// Copies on the device, in stream order.
    "cuMemcpyDtoDAsync" 3020 => fn cuMemcpyDtoDAsync_v2(dst: u64, src: u64, len: usize, stream: u64) {
        linear((dst, Space::Device), (src, Space::Device), len, stream, Return::Issued)
    }
    /// Copies between any two addresses.
    "cuMemcpy" 4000 => fn cuMemcpy(dst: u64, src: u64, len: usize) {
        linear((dst, Space::Any), (src, Space::Any), len, 0, Return::Done)
    }
    /// Copies between any two addresses, in stream order.
    "cuMemcpyAsync" 4000 => fn cuMemcpyAsync(dst: u64, src: u64, len: usize, stream: u64) {
        linear((dst, Space::Any), (src, Space::Any), len, stream, Return::Issued)
    }
    /// Copies between devices.
    "cuMemcpyPeer" 4000 => fn cuMemcpyPeer(dst: u64, dst_context: u64, src: u64, src_context: u64, len: usize) {
        let _ = (dst_context, src_context);
        linear((dst, Space::Device), (src, Space::Device), len, 0, Return::Issued)
    }
    /// Copies between devices, in stream order.
    "cuMemcpyPeerAsync" 4000 => fn cuMemcpyPeerAsync(dst: u64, dst_context: u64, src: u64, src_context: u64, len: usize, stream: u64) {
        let _ = (dst_context, src_context);
        linear((dst, Space::Device), (src, Space::Device), len, stream, Return::Issued)
    }
    /// Copies rows.
    "cuMemcpy2D" 3020 => fn cuMemcpy2D_v2(copy: In<Memcpy2D>) {
        planar(copy, 0, Return::Done)
    }
    /// Copies rows, in stream order.
    "cuMemcpy2DAsync" 3020 => fn cuMemcpy2DAsync_v2(copy: In<Memcpy2D>, stream: u64) {
        planar(copy, stream, Return::Issued)
    }
    /// Copies rows.
    "cuMemcpy2DUnaligned" 3020 => fn cuMemcpy2DUnaligned_v2(copy: In<Memcpy2D>) {
        planar(copy, 0, Return::Done)
    }
    /// Copies slices of rows.
    "cuMemcpy3D" 3020 => fn cuMemcpy3D_v2(copy: In<Memcpy3D>) {
        solid(copy, 0, Return::Done)
    }
    /// Copies slices of rows, in stream order.
    "cuMemcpy3DAsync" 3020 => fn cuMemcpy3DAsync_v2(copy: In<Memcpy3D>, stream: u64) {
        solid(copy, stream, Return::Issued)
    }
    /// Fills with a value of 8 bits; does not wait, as documented.
    "cuMemsetD8" 3020 => fn cuMemsetD8_v2(dst: u64, value: u8, count: usize) {
        fill(dst, u32::from(value), 1, count, 0)
    }
    /// Fills with a value of 8 bits, in stream order.
    "cuMemsetD8Async" 3020 => fn cuMemsetD8Async(dst: u64, value: u8, count: usize, stream: u64) {
        fill(dst, u32::from(value), 1, count, stream)
    }
    /// Fills rows with a value of 8 bits.
    "cuMemsetD2D8" 3020 => fn cuMemsetD2D8_v2(dst: u64, pitch: usize, value: u8, width: usize, height: usize) {
        rows(dst, pitch, u32::from(value), 1, width, height, 0)
    }
    /// Fills rows with a value of 8 bits, in stream order.
    "cuMemsetD2D8Async" 3020 => fn cuMemsetD2D8Async(dst: u64, pitch: usize, value: u8, width: usize, height: usize, stream: u64) {
        rows(dst, pitch, u32::from(value), 1, width, height, stream)
    }
    /// Fills with a value of 16 bits; does not wait, as documented.
    "cuMemsetD16" 3020 => fn cuMemsetD16_v2(dst: u64, value: u16, count: usize) {
        fill(dst, u32::from(value), 2, count, 0)
    }
    /// Fills with a value of 16 bits, in stream order.
    "cuMemsetD16Async" 3020 => fn cuMemsetD16Async(dst: u64, value: u16, count: usize, stream: u64) {
        fill(dst, u32::from(value), 2, count, stream)
    }
    /// Fills rows with a value of 16 bits.
    "cuMemsetD2D16" 3020 => fn cuMemsetD2D16_v2(dst: u64, pitch: usize, value: u16, width: usize, height: usize) {
        rows(dst, pitch, u32::from(value), 2, width, height, 0)
    }
    /// Fills rows with a value of 16 bits, in stream order.
    "cuMemsetD2D16Async" 3020 => fn cuMemsetD2D16Async(dst: u64, pitch: usize, value: u16, width: usize, height: usize, stream: u64) {
        rows(dst, pitch, u32::from(value), 2, width, height, stream)
    }
    /// Fills with a value of 32 bits; does not wait, as documented.
    "cuMemsetD32" 3020 => fn cuMemsetD32_v2(dst: u64, value: u32, count: usize) {
        fill(dst, value, 4, count, 0)
    }
    /// Fills with a value of 32 bits, in stream order.
    "cuMemsetD32Async" 3020 => fn cuMemsetD32Async(dst: u64, value: u32, count: usize, stream: u64) {
        fill(dst, value, 4, count, stream)
    }
    /// Fills rows with a value of 32 bits.
    "cuMemsetD2D32" 3020 => fn cuMemsetD2D32_v2(dst: u64, pitch: usize, value: u32, width: usize, height: usize) {
        rows(dst, pitch, value, 4, width, height, 0)
    }
    /// Fills rows with a value of 32 bits, in stream order.
    "cuMemsetD2D32Async" 3020 => fn cuMemsetD2D32Async(dst: u64, pitch: usize, value: u32, width: usize, height: usize, stream: u64) {
        rows(dst, pitch, value, 4, width, height, stream)
    }
}
