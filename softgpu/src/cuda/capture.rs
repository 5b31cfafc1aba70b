//! Stream capture, and operations of streams on values in memory.

use super::{Cuda, stream_of};
use crate::abi::{In, Out, entries};
use crate::both::capture::{self as both, Info};
use crate::both::graph::{EdgeData, plain_edges};
use crate::driver::capture::{self, Mode};
use crate::driver::value::{Until, Value};
use crate::driver::{Error, Result};

/// `CUstreamBatchMemOpParams`: an operation, an address, a value, flags, and what is not used.
type BatchOp = [u64; 6];

const FLUSH: u32 = 1 << 30;

fn wait(stream: u64, address: u64, value: u64, flags: u32, is_64: bool) -> Result<()> {
    let stream = stream_of(stream)?;
    Value::new(address, value, u64::MAX, is_64, Some(Until::of(flags & !FLUSH)?))?.issue(&stream)
}

fn write(stream: u64, address: u64, value: u64, flags: u32, is_64: bool) -> Result<()> {
    let stream = stream_of(stream)?;
    if flags > 1 {
        return Err(Error::INVALID_VALUE);
    }
    Value::new(address, value, u64::MAX, is_64, None)?.issue(&stream)
}

/// All of them or, if one is wrong, none.
fn batch(stream: u64, count: u32, ops: In<BatchOp>, flags: u32) -> Result<()> {
    const WAIT_32: u32 = 1;
    const WRITE_32: u32 = 2;
    const FLUSH_REMOTE: u32 = 3;
    const WAIT_64: u32 = 4;
    const WRITE_64: u32 = 5;
    const BARRIER: u32 = 6;
    let stream = stream_of(stream)?;
    if flags != 0 || count > 256 {
        return Err(Error::INVALID_VALUE);
    }
    let mut values = Vec::new();
    for [kind, address, value, flags, ..] in ops.list(count as usize)? {
        let (kind, flags) = (kind as u32, flags as u32);
        let is_64 = matches!(kind, WAIT_64 | WRITE_64);
        let value = if is_64 { value } else { u64::from(value as u32) };
        let until = match kind {
            WAIT_32 | WAIT_64 => Some(Until::of(flags & !FLUSH)?),
            WRITE_32 | WRITE_64 => None,
            // Every operation sees what came before it.
            FLUSH_REMOTE | BARRIER => continue,
            _ => return Err(Error::INVALID_VALUE),
        };
        values.push(Value::new(address, value, u64::MAX, is_64, until)?);
    }
    values.into_iter().try_for_each(|value| value.issue(&stream))
}

entries! { Cuda;
    /// Begins a capture, in global mode.
    "cuStreamBeginCapture" 10000 => fn cuStreamBeginCapture(stream: u64) {
        capture::begin(&stream_of(stream)?, Mode::Global, None)
    }
    /// Begins a capture.
    "cuStreamBeginCapture" 10010 => fn cuStreamBeginCapture_v2(stream: u64, mode: i32) {
        capture::begin(&stream_of(stream)?, Mode::of(mode)?, None)
    }
    /// Begins a capture into a graph that exists.
    "cuStreamBeginCaptureToGraph" 12030 => fn cuStreamBeginCaptureToGraph(
        stream: u64, graph: u64, after: In<u64>, data: In<EdgeData>, count: usize, mode: i32,
    ) {
        both::begin_to_graph(&stream_of(stream)?, graph, after, data, count, mode)
    }
    /// Ends a capture: its graph.
    "cuStreamEndCapture" 10000 => fn cuStreamEndCapture(stream: u64, graph: Out<u64>) {
        both::end(&*stream_of(stream)?, graph)
    }
    /// Whether a stream captures.
    "cuStreamIsCapturing" 10000 => fn cuStreamIsCapturing(stream: u64, status: Out<i32>) {
        both::status(&*stream_of(stream)?, status)
    }
    /// Whether a stream captures, and which capture it is.
    "cuStreamGetCaptureInfo" 10010 => fn cuStreamGetCaptureInfo(
        stream: u64, status: Out<i32>, id: Out<u64>,
    ) {
        let info = Info { status, id, graph: Out::at(0), after: Out::at(0), count: Out::at(0) };
        info.write(&*stream_of(stream)?)
    }
    /// What a stream captures, and what its next node comes after.
    "cuStreamGetCaptureInfo" 11030 => fn cuStreamGetCaptureInfo_v2(
        stream: u64, status: Out<i32>, id: Out<u64>, graph: Out<u64>, after: Out<*const u64>, count: Out<usize>,
    ) {
        Info { status, id, graph, after, count }.write(&*stream_of(stream)?)
    }
    /// What a stream captures, and what its next node comes after; edges are plain, without data.
    "cuStreamGetCaptureInfo" 12030 => fn cuStreamGetCaptureInfo_v3(
        stream: u64, status: Out<i32>, id: Out<u64>, graph: Out<u64>, after: Out<*const u64>,
        data: Out<*const EdgeData>, count: Out<usize>,
    ) {
        data.set_if(std::ptr::null());
        Info { status, id, graph, after, count }.write(&*stream_of(stream)?)
    }
    /// Changes what the next node comes after.
    "cuStreamUpdateCaptureDependencies" 12030 => fn cuStreamUpdateCaptureDependencies_v2(
        stream: u64, nodes: In<u64>, data: In<EdgeData>, count: usize, flags: u32,
    ) {
        plain_edges(data, count)?;
        both::update(&*stream_of(stream)?, nodes, count, flags)
    }
    /// Changes what the next node comes after.
    "cuStreamUpdateCaptureDependencies" 11030 => fn cuStreamUpdateCaptureDependencies(
        stream: u64, nodes: In<u64>, count: usize, flags: u32,
    ) {
        both::update(&*stream_of(stream)?, nodes, count, flags)
    }
    /// Swaps how the thread treats calls that a capture cannot see.
    "cuThreadExchangeStreamCaptureMode" 10010 => fn cuThreadExchangeStreamCaptureMode(mode: Out<i32>) {
        both::exchange(mode)
    }
    /// Waits for a value of 32 bits.
    "cuStreamWaitValue32" 8000 => fn cuStreamWaitValue32(
        stream: u64, address: u64, value: u32, flags: u32,
    ) {
        wait(stream, address, u64::from(value), flags, false)
    }
    /// Writes a value of 32 bits.
    "cuStreamWriteValue32" 8000 => fn cuStreamWriteValue32(
        stream: u64, address: u64, value: u32, flags: u32,
    ) {
        write(stream, address, u64::from(value), flags, false)
    }
    /// Waits for a value of 64 bits.
    "cuStreamWaitValue64" 9000 => fn cuStreamWaitValue64(
        stream: u64, address: u64, value: u64, flags: u32,
    ) {
        wait(stream, address, value, flags, true)
    }
    /// Writes a value of 64 bits.
    "cuStreamWriteValue64" 9000 => fn cuStreamWriteValue64(
        stream: u64, address: u64, value: u64, flags: u32,
    ) {
        write(stream, address, value, flags, true)
    }
    /// Waits for and writes values, in order.
    "cuStreamBatchMemOp" 8000 => fn cuStreamBatchMemOp(
        stream: u64, count: u32, ops: In<BatchOp>, flags: u32,
    ) {
        batch(stream, count, ops, flags)
    }
    /// Waits for a value of 32 bits.
    "cuStreamWaitValue32" 11070 => fn cuStreamWaitValue32_v2(
        stream: u64, address: u64, value: u32, flags: u32,
    ) {
        wait(stream, address, u64::from(value), flags, false)
    }
    /// Writes a value of 32 bits.
    "cuStreamWriteValue32" 11070 => fn cuStreamWriteValue32_v2(
        stream: u64, address: u64, value: u32, flags: u32,
    ) {
        write(stream, address, u64::from(value), flags, false)
    }
    /// Waits for a value of 64 bits.
    "cuStreamWaitValue64" 11070 => fn cuStreamWaitValue64_v2(
        stream: u64, address: u64, value: u64, flags: u32,
    ) {
        wait(stream, address, value, flags, true)
    }
    /// Writes a value of 64 bits.
    "cuStreamWriteValue64" 11070 => fn cuStreamWriteValue64_v2(
        stream: u64, address: u64, value: u64, flags: u32,
    ) {
        write(stream, address, value, flags, true)
    }
    /// Waits for and writes values, in order.
    "cuStreamBatchMemOp" 11070 => fn cuStreamBatchMemOp_v2(
        stream: u64, count: u32, ops: In<BatchOp>, flags: u32,
    ) {
        batch(stream, count, ops, flags)
    }
}
