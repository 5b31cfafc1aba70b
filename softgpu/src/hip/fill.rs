//! Fills. Without a stream they do not wait either, as documented.

use super::{Hip, stream_of};
use crate::abi::entries;
use crate::driver::Result;
use crate::driver::copy::{Fill, Return};

fn fill(dst: u64, value: u32, element: u8, count: usize, stream: u64) -> Result<()> {
    rows(dst, 0, value, element, [count, 1], stream)
}

fn rows(dst: u64, pitch: usize, value: u32, element: u8, size: [usize; 2], stream: u64) -> Result<()> {
    let stream = stream_of(stream)?;
    match Fill::new(dst, value, element, size[0] as u64, size[1] as u64, pitch as u64)? {
        Some(fill) => fill.issue(&stream, Return::Issued),
        None => Ok(()),
    }
}

/// The low byte of a value, which is all that byte-wise fills use.
fn byte(value: i32) -> u32 {
    u32::from(value as u8)
}

entries! { Hip;
    /// Fills with a byte.
    "hipMemset" 50200000 => fn hipMemset(dst: u64, value: i32, len: usize) {
        fill(dst, byte(value), 1, len, 0)
    }
    /// Fills with a byte, in stream order.
    "hipMemsetAsync" 50200000 => fn hipMemsetAsync(dst: u64, value: i32, len: usize, stream: u64) {
        fill(dst, byte(value), 1, len, stream)
    }
    /// Fills with a value of 8 bits.
    "hipMemsetD8" 50200000 => fn hipMemsetD8(dst: u64, value: u8, count: usize) {
        fill(dst, u32::from(value), 1, count, 0)
    }
    /// Fills with a value of 8 bits, in stream order.
    "hipMemsetD8Async" 50200000 => fn hipMemsetD8Async(dst: u64, value: u8, count: usize, stream: u64) {
        fill(dst, u32::from(value), 1, count, stream)
    }
    /// Fills with a value of 16 bits.
    "hipMemsetD16" 50200000 => fn hipMemsetD16(dst: u64, value: u16, count: usize) {
        fill(dst, u32::from(value), 2, count, 0)
    }
    /// Fills with a value of 16 bits, in stream order.
    "hipMemsetD16Async" 50200000 => fn hipMemsetD16Async(dst: u64, value: u16, count: usize, stream: u64) {
        fill(dst, u32::from(value), 2, count, stream)
    }
    /// Fills with a value of 32 bits.
    "hipMemsetD32" 50200000 => fn hipMemsetD32(dst: u64, value: i32, count: usize) {
        fill(dst, value as u32, 4, count, 0)
    }
    /// Fills with a value of 32 bits, in stream order.
    "hipMemsetD32Async" 50200000 => fn hipMemsetD32Async(dst: u64, value: i32, count: usize, stream: u64) {
        fill(dst, value as u32, 4, count, stream)
    }
    /// Fills rows with a byte.
    "hipMemset2D" 50200000 => fn hipMemset2D(dst: u64, pitch: usize, value: i32, width: usize, height: usize) {
        rows(dst, pitch, byte(value), 1, [width, height], 0)
    }
    /// Fills rows with a byte, in stream order.
    "hipMemset2DAsync" 50200000 => fn hipMemset2DAsync(
        dst: u64, pitch: usize, value: i32, width: usize, height: usize, stream: u64,
    ) {
        rows(dst, pitch, byte(value), 1, [width, height], stream)
    }
}
