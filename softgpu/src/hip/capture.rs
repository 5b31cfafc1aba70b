//! Stream capture, and operations of streams on values in memory.

use super::{Hip, stream_of};
use crate::abi::{In, Out, entries};
use crate::both::capture::{self as both, Info};
use crate::both::graph::EdgeData;
use crate::driver::Result;
use crate::driver::capture::{self, Mode};
use crate::driver::value::{Until, Value};

fn wait(stream: u64, address: u64, value: u64, flags: u32, mask: u64, is_64: bool) -> Result<()> {
    let stream = stream_of(stream)?;
    Value::new(address, value, mask, is_64, Some(Until::of(flags)?))?.issue(&stream)
}

fn write(stream: u64, address: u64, value: u64, is_64: bool) -> Result<()> {
    let stream = stream_of(stream)?;
    Value::new(address, value, u64::MAX, is_64, None)?.issue(&stream)
}

entries! { Hip;
    /// Begins a capture.
    "hipStreamBeginCapture" 50200000 => fn hipStreamBeginCapture(stream: u64, mode: i32) {
        capture::begin(&stream_of(stream)?, Mode::of(mode)?, None)
    }
    /// Begins a capture into a graph that exists.
    "hipStreamBeginCaptureToGraph" 60200000 => fn hipStreamBeginCaptureToGraph(
        stream: u64, graph: u64, after: In<u64>, data: In<EdgeData>, count: usize, mode: i32,
    ) {
        both::begin_to_graph(&stream_of(stream)?, graph, after, data, count, mode)
    }
    /// Ends a capture: its graph.
    "hipStreamEndCapture" 50200000 => fn hipStreamEndCapture(stream: u64, graph: Out<u64>) {
        both::end(&*stream_of(stream)?, graph)
    }
    /// Whether a stream captures.
    "hipStreamIsCapturing" 50200000 => fn hipStreamIsCapturing(stream: u64, status: Out<i32>) {
        both::status(&*stream_of(stream)?, status)
    }
    /// Whether a stream captures, and which capture it is.
    "hipStreamGetCaptureInfo" 50200000 => fn hipStreamGetCaptureInfo(
        stream: u64, status: Out<i32>, id: Out<u64>,
    ) {
        let info = Info { status, id, graph: Out::at(0), after: Out::at(0), count: Out::at(0) };
        info.write(&*stream_of(stream)?)
    }
    /// What a stream captures, and what its next node comes after.
    "hipStreamGetCaptureInfo_v2" 50200000 => fn hipStreamGetCaptureInfo_v2(
        stream: u64, status: Out<i32>, id: Out<u64>, graph: Out<u64>, after: Out<*const u64>, count: Out<usize>,
    ) {
        Info { status, id, graph, after, count }.write(&*stream_of(stream)?)
    }
    /// Changes what the next node comes after.
    "hipStreamUpdateCaptureDependencies" 50200000 => fn hipStreamUpdateCaptureDependencies(
        stream: u64, nodes: In<u64>, count: usize, flags: u32,
    ) {
        both::update(&*stream_of(stream)?, nodes, count, flags)
    }
    /// Swaps how the thread treats calls that a capture cannot see.
    "hipThreadExchangeStreamCaptureMode" 50200000 => fn hipThreadExchangeStreamCaptureMode(mode: Out<i32>) {
        both::exchange(mode)
    }
    /// Waits for a value of 32 bits.
    "hipStreamWaitValue32" 50200000 => fn hipStreamWaitValue32(
        stream: u64, address: u64, value: u32, flags: u32, mask: u32,
    ) {
        wait(stream, address, u64::from(value), flags, u64::from(mask), false)
    }
    /// Writes a value of 32 bits.
    "hipStreamWriteValue32" 50200000 => fn hipStreamWriteValue32(
        stream: u64, address: u64, value: u32, flags: u32,
    ) {
        let _ = flags;
        write(stream, address, u64::from(value), false)
    }
    /// Waits for a value of 64 bits.
    "hipStreamWaitValue64" 50200000 => fn hipStreamWaitValue64(
        stream: u64, address: u64, value: u64, flags: u32, mask: u64,
    ) {
        wait(stream, address, value, flags, mask, true)
    }
    /// Writes a value of 64 bits.
    "hipStreamWriteValue64" 50200000 => fn hipStreamWriteValue64(
        stream: u64, address: u64, value: u64, flags: u32,
    ) {
        let _ = flags;
        write(stream, address, value, true)
    }
}
