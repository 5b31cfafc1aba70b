//! Copies.

use super::errors::INVALID_DIRECTION;
use super::{Hip, stream_of};
use crate::abi::{In, entries};
use crate::driver::copy::{Copy, Pitch, Return, Shape, Space};
use crate::driver::{Error, Result};

/// What a `hipMemcpyKind` says of the destination and of the source.
///
/// The vendor's runtime looks at the addresses and forgives a wrong kind; here it is an error, since the documentation
/// leaves it undefined.
fn spaces(kind: i32) -> Result<(Space, Space)> {
    match kind {
        0 => Ok((Space::Host, Space::Host)),
        1 => Ok((Space::Device, Space::Host)),
        2 => Ok((Space::Host, Space::Device)),
        3 | 1024 => Ok((Space::Device, Space::Device)),
        4 => Ok((Space::Any, Space::Any)),
        _ => Err(INVALID_DIRECTION),
    }
}

/// When a call without a stream comes back: copies on the device do not wait.
fn blocking(kind: i32) -> Return {
    if matches!(kind, 3 | 1024) { Return::Issued } else { Return::Done }
}

fn issue(copy: Option<Copy>, stream: u64, when: Return) -> Result<()> {
    let stream = stream_of(stream)?;
    copy.map_or(Ok(()), |copy| copy.issue(&stream, when))
}

/// Checks a copy of bytes in one piece.
pub(super) fn linear(dst: u64, src: u64, len: usize, kind: i32) -> Result<Option<Copy>> {
    let (to, from) = spaces(kind)?;
    // SAFETY: the caller of the entry point promises host memory, for the whole call, or until the stream is done.
    unsafe { Copy::new((dst, to), (src, from), Shape::linear(len as u64)) }
}

#[derive(Clone, Copy)]
struct Rows {
    dst: u64,
    dst_pitch: usize,
    src: u64,
    src_pitch: usize,
    width: usize,
    height: usize,
}

fn planar(rows: Rows, kind: i32) -> Result<Option<Copy>> {
    if rows.width > rows.dst_pitch || rows.width > rows.src_pitch {
        // `hipErrorInvalidPitchValue`
        return Err(Error(12));
    }
    let (to, from) = spaces(kind)?;
    let pitch = |row: usize| Pitch { row: row as u64, slice: 0 };
    let shape = Shape {
        width: rows.width as u64,
        height: rows.height as u64,
        depth: 1,
        src: pitch(rows.src_pitch),
        dst: pitch(rows.dst_pitch),
    };
    // SAFETY: the caller of the entry point promises host memory as for copies in one piece.
    unsafe { Copy::new((rows.dst, to), (rows.src, from), shape) }
}

/// `hipPitchedPtr`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PitchedPtr {
    pointer: u64,
    pitch: usize,
    width: usize,
    height: usize,
}

/// `hipMemcpy3DParms`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Memcpy3DParms {
    src_array: u64,
    src_at: [usize; 3],
    src: PitchedPtr,
    dst_array: u64,
    dst_at: [usize; 3],
    dst: PitchedPtr,
    extent: [usize; 3],
    kind: i32,
}

/// `HIP_MEMCPY3D`, as from HIP 6 on.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DriverMemcpy3D {
    src_at: [usize; 3],
    src_lod: usize,
    src_type: u32,
    src_host: u64,
    src_device: u64,
    src_array: u64,
    src_pitch: usize,
    src_height: usize,
    dst_at: [usize; 3],
    dst_lod: usize,
    dst_type: u32,
    dst_host: u64,
    dst_device: u64,
    dst_array: u64,
    dst_pitch: usize,
    dst_height: usize,
    extent: [usize; 3],
}

/// One end of a copy of slices of rows.
struct End {
    base: u64,
    space: Space,
    at: [usize; 3],
    pitch: usize,
    height: usize,
}

impl End {
    /// Rows and slices without a given distance lie close together.
    fn pitch(&self, extent: [usize; 3]) -> Result<Pitch> {
        let row = if self.pitch == 0 { extent[0] } else { self.pitch } as u64;
        let rows = if self.height == 0 { extent[1] } else { self.height } as u64;
        row.checked_mul(rows).map(|slice| Pitch { row, slice }).ok_or(Error::INVALID_VALUE)
    }

    fn place(&self, pitch: Pitch) -> Result<(u64, Space)> {
        let [x, y, z] = self.at.map(|n| n as u64);
        let offset = z.checked_mul(pitch.slice).zip(y.checked_mul(pitch.row));
        offset
            .and_then(|(slices, rows)| self.base.checked_add(slices)?.checked_add(rows)?.checked_add(x))
            .map(|address| (address, self.space))
            .ok_or(Error::INVALID_VALUE)
    }
}

fn solid(dst: &End, src: &End, extent: [usize; 3]) -> Result<Option<Copy>> {
    let (to, from) = (dst.pitch(extent)?, src.pitch(extent)?);
    let [width, height, depth] = extent.map(|n| n as u64);
    let shape = Shape { width, height, depth, src: from, dst: to };
    // SAFETY: the caller of the entry point promises host memory as for copies in one piece.
    unsafe { Copy::new(dst.place(to)?, src.place(from)?, shape) }
}

impl Memcpy3DParms {
    /// Describes a copy. Offsets are part of the addresses.
    pub(super) fn of(copy: Option<&Copy>) -> Self {
        // SAFETY: plain numbers, for which zeros are values.
        let nothing: Self = unsafe { std::mem::zeroed() };
        let Some((src, dst, shape)) = copy.map(Copy::parts) else { return Self { kind: DEFAULT, ..nothing } };
        let end = |pointer, pitch: Pitch| PitchedPtr {
            pointer,
            pitch: pitch.row as usize,
            width: shape.width as usize,
            height: (pitch.slice / pitch.row.max(1)) as usize,
        };
        Self {
            src: end(src, shape.src),
            dst: end(dst, shape.dst),
            extent: [shape.width, shape.height, shape.depth].map(|n| n as usize),
            kind: DEFAULT,
            ..nothing
        }
    }

    /// Checks the copy that this describes.
    pub(super) fn prepare(&self) -> Result<Option<Copy>> {
        if self.src_array != 0 || self.dst_array != 0 {
            return Err(Error::NOT_SUPPORTED);
        }
        let (to, from) = spaces(self.kind)?;
        let end = |end: PitchedPtr, space, at| End {
            base: end.pointer,
            space,
            at,
            pitch: end.pitch,
            height: end.height,
        };
        solid(&end(self.dst, to, self.dst_at), &end(self.src, from, self.src_at), self.extent)
    }
}

impl DriverMemcpy3D {
    /// Describes a copy. Offsets are part of the addresses.
    pub(super) fn of(copy: Option<&Copy>) -> Self {
        // SAFETY: plain numbers, for which zeros are values.
        let nothing: Self = unsafe { std::mem::zeroed() };
        let plain = Memcpy3DParms::of(copy);
        Self {
            src_type: UNIFIED,
            src_device: plain.src.pointer,
            src_pitch: plain.src.pitch,
            src_height: plain.src.height,
            dst_type: UNIFIED,
            dst_device: plain.dst.pointer,
            dst_pitch: plain.dst.pitch,
            dst_height: plain.dst.height,
            extent: plain.extent,
            ..nothing
        }
    }

    /// Checks the copy that this describes.
    pub(super) fn prepare(&self) -> Result<Option<Copy>> {
        let place = |kind, host, device| match kind {
            1 => Ok((host, Space::Host)),
            2 | 3 => Ok((device, Space::Device)),
            UNIFIED => Ok((device, Space::Any)),
            // No arrays: there are no textures.
            10 => Err(Error::NOT_SUPPORTED),
            _ => Err(Error::INVALID_VALUE),
        };
        let (base, space) = place(self.src_type, self.src_host, self.src_device)?;
        let src = End { base, space, at: self.src_at, pitch: self.src_pitch, height: self.src_height };
        let (base, space) = place(self.dst_type, self.dst_host, self.dst_device)?;
        let dst = End { base, space, at: self.dst_at, pitch: self.dst_pitch, height: self.dst_height };
        solid(&dst, &src, self.extent)
    }
}

/// `hipMemcpyKind`
const HOST_TO_DEVICE: i32 = 1;
const DEVICE_TO_HOST: i32 = 2;
const DEVICE_TO_DEVICE: i32 = 3;
const DEFAULT: i32 = 4;
/// `hipMemoryTypeUnified`
const UNIFIED: u32 = 11;

entries! { Hip;
    /// Copies.
    "hipMemcpy" 50200000 => fn hipMemcpy(dst: u64, src: u64, len: usize, kind: i32) {
        issue(linear(dst, src, len, kind)?, 0, blocking(kind))
    }
    /// Copies in stream order.
    "hipMemcpyAsync" 50200000 => fn hipMemcpyAsync(dst: u64, src: u64, len: usize, kind: i32, stream: u64) {
        issue(linear(dst, src, len, kind)?, stream, Return::Issued)
    }
    /// Copies in stream order, and waits.
    "hipMemcpyWithStream" 50200000 => fn hipMemcpyWithStream(
        dst: u64, src: u64, len: usize, kind: i32, stream: u64,
    ) {
        issue(linear(dst, src, len, kind)?, stream, Return::Done)
    }
    /// Copies from host to device.
    "hipMemcpyHtoD" 50200000 => fn hipMemcpyHtoD(dst: u64, src: u64, len: usize) {
        issue(linear(dst, src, len, HOST_TO_DEVICE)?, 0, Return::Done)
    }
    /// Copies from host to device, in stream order.
    "hipMemcpyHtoDAsync" 50200000 => fn hipMemcpyHtoDAsync(dst: u64, src: u64, len: usize, stream: u64) {
        issue(linear(dst, src, len, HOST_TO_DEVICE)?, stream, Return::Issued)
    }
    /// Copies from device to host.
    "hipMemcpyDtoH" 50200000 => fn hipMemcpyDtoH(dst: u64, src: u64, len: usize) {
        issue(linear(dst, src, len, DEVICE_TO_HOST)?, 0, Return::Done)
    }
    /// Copies from device to host, in stream order.
    "hipMemcpyDtoHAsync" 50200000 => fn hipMemcpyDtoHAsync(dst: u64, src: u64, len: usize, stream: u64) {
        issue(linear(dst, src, len, DEVICE_TO_HOST)?, stream, Return::Issued)
    }
    /// Copies on the device; does not wait.
    "hipMemcpyDtoD" 50200000 => fn hipMemcpyDtoD(dst: u64, src: u64, len: usize) {
        issue(linear(dst, src, len, DEVICE_TO_DEVICE)?, 0, Return::Issued)
    }
    /// Copies on the device, in stream order.
    "hipMemcpyDtoDAsync" 50200000 => fn hipMemcpyDtoDAsync(dst: u64, src: u64, len: usize, stream: u64) {
        issue(linear(dst, src, len, DEVICE_TO_DEVICE)?, stream, Return::Issued)
    }
    /// Copies between devices.
    "hipMemcpyPeer" 50200000 => fn hipMemcpyPeer(
        dst: u64, dst_device: i32, src: u64, src_device: i32, len: usize,
    ) {
        let _ = (dst_device, src_device);
        issue(linear(dst, src, len, DEVICE_TO_DEVICE)?, 0, Return::Issued)
    }
    /// Copies between devices, in stream order.
    "hipMemcpyPeerAsync" 50200000 => fn hipMemcpyPeerAsync(
        dst: u64, dst_device: i32, src: u64, src_device: i32, len: usize, stream: u64,
    ) {
        let _ = (dst_device, src_device);
        issue(linear(dst, src, len, DEVICE_TO_DEVICE)?, stream, Return::Issued)
    }
    /// Copies rows.
    "hipMemcpy2D" 50200000 => fn hipMemcpy2D(
        dst: u64, dst_pitch: usize, src: u64, src_pitch: usize, width: usize, height: usize, kind: i32,
    ) {
        issue(planar(Rows { dst, dst_pitch, src, src_pitch, width, height }, kind)?, 0, blocking(kind))
    }
    /// Copies rows, in stream order.
    "hipMemcpy2DAsync" 50200000 => fn hipMemcpy2DAsync(
        dst: u64, dst_pitch: usize, src: u64, src_pitch: usize, width: usize, height: usize, kind: i32,
        stream: u64,
    ) {
        issue(planar(Rows { dst, dst_pitch, src, src_pitch, width, height }, kind)?, stream, Return::Issued)
    }
    /// Copies slices of rows.
    "hipMemcpy3D" 50200000 => fn hipMemcpy3D(copy: In<Memcpy3DParms>) {
        let copy = copy.get()?;
        issue(copy.prepare()?, 0, blocking(copy.kind))
    }
    /// Copies slices of rows, in stream order.
    "hipMemcpy3DAsync" 50200000 => fn hipMemcpy3DAsync(copy: In<Memcpy3DParms>, stream: u64) {
        issue(copy.get()?.prepare()?, stream, Return::Issued)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn layouts_are_those_of_the_headers() {
        assert_eq!(size_of::<DriverMemcpy3D>(), 184);
        assert_eq!(offset_of!(DriverMemcpy3D, extent), 160);
        assert_eq!(size_of::<Memcpy3DParms>(), 160);
        assert_eq!(offset_of!(Memcpy3DParms, kind), 152);
    }
}
