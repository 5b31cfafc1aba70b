//! Stream capture, and stream memory operations, through the CUDA ABI.
//!
//! The rules are those of the vendor's description of `cuStreamBeginCapture`, `cuThreadExchangeStreamCaptureMode` and
//! `cuStreamEndCapture`, which HIP shares, and of the codes 900 to 908.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cuda_support;

use cuda_support::*;

const GLOBAL: i32 = 0;
const THREAD_LOCAL: i32 = 1;
const RELAXED: i32 = 2;

fn new_stream() -> u64 {
    stream(1)
}

fn begin(stream: u64, mode: i32) -> i32 {
    cu!(cuStreamBeginCapture_v2(stream => u64, mode => i32))
}

fn end(stream: u64) -> Result<u64, i32> {
    let mut graph = 7u64;
    match cu!(cuStreamEndCapture(stream => u64, &mut graph => *mut u64)) {
        0 => Ok(graph),
        code => {
            assert!(graph == 0 || code == 401 || code == 903 || code == 908, "no graph with {code}");
            Err(code)
        }
    }
}

/// 0 if a stream does not capture, 1 if it does, 2 if in vain.
fn status(stream: u64) -> i32 {
    let mut status = -1;
    assert_eq!(cu!(cuStreamIsCapturing(stream => u64, &mut status => *mut i32)), 0);
    status
}

fn set(address: u64, value: u32, stream: u64) -> i32 {
    cu!(cuMemsetD32Async(address => u64, value => u32, 1 => usize, stream => u64))
}

fn record(event: u64, stream: u64) -> i32 {
    cu!(cuEventRecord(event => u64, stream => u64))
}

fn wait(stream: u64, event: u64) -> i32 {
    cu!(cuStreamWaitEvent(stream => u64, event => u64, 0 => u32))
}

fn run(graph: u64) {
    let (mut exec, stream) = (0u64, new_stream());
    assert_eq!(cu!(cuGraphInstantiateWithFlags(&mut exec => *mut u64, graph => u64, 0 => u64)), 0);
    assert_eq!(cu!(cuGraphLaunch(exec => u64, stream => u64)), 0);
    assert_eq!(cu!(cuStreamSynchronize(stream => u64)), 0);
}

fn count(graph: u64) -> (usize, usize) {
    let (mut nodes, mut edges) = (0usize, 0usize);
    let null = std::ptr::null_mut::<u64>();
    assert_eq!(cu!(cuGraphGetNodes(graph => u64, null => *mut u64, &mut nodes => *mut usize)), 0);
    let code =
        cu!(cuGraphGetEdges(graph => u64, null => *mut u64, null => *mut u64, &mut edges => *mut usize));
    assert_eq!(code, 0);
    (nodes, edges)
}

#[test]
fn what_is_captured_does_not_run_until_the_graph_is_launched() {
    let _context = Context::new();
    let (stream, address) = (new_stream(), alloc(4));
    assert_eq!((set(address, 1, stream), cu!(cuStreamSynchronize(stream => u64))), (0, 0));
    assert_eq!((end(stream), status(stream)), (Err(401), 0));
    assert_eq!((begin(stream, 3), begin(stream, RELAXED), status(stream)), (1, 0, 1));
    assert_eq!(begin(stream, RELAXED), 401, "only if the stream is not already in capture mode");
    assert_eq!(set(address, 2, stream), 0);
    let (mut id, mut now) = (0u64, 0);
    let (mut graph, mut after, mut len) = (0u64, std::ptr::null::<u64>(), 0usize);
    let code = cu!(cuStreamGetCaptureInfo_v2(
        stream => u64, &mut now => *mut i32, &mut id => *mut u64, &mut graph => *mut u64,
        &mut after => *mut *const u64, &mut len => *mut usize
    ));
    assert_eq!((code, now, len), (0, 1, 1));
    // SAFETY: documented to stay until the next call on the stream.
    assert_eq!(unsafe { after.read() } == 0, id == 0);
    assert_eq!(set(address, 3, stream), 0);
    assert_eq!(end(stream), Ok(graph));
    assert_eq!((status(stream), count(graph)), (0, (2, 1)));
    assert_eq!(download::<u32>(address, 1), Ok(vec![1]));
    run(graph);
    assert_eq!(download::<u32>(address, 1), Ok(vec![3]));
}

#[test]
fn streams_join_by_events_and_must_be_joined_back() {
    let _context = Context::new();
    let (origin, other, apart, address) = (new_stream(), new_stream(), new_stream(), alloc(8));
    let (fork, join) = (event(2), event(2));
    for joined in [true, false] {
        assert_eq!(begin(origin, THREAD_LOCAL), 0);
        assert_eq!(set(address, 1, origin), 0);
        assert_eq!((record(fork, origin), wait(other, fork), status(other)), (0, 0, 1));
        assert_eq!(set(address + 4, 2, other), 0);
        assert_eq!(end(other), Err(903), "it began on another stream");
        if joined {
            // That was a violation: the capture is in vain.
            assert_eq!((end(origin), status(other)), (Err(901), 0));
            assert_eq!((begin(origin, THREAD_LOCAL), set(address, 1, origin)), (0, 0));
            assert_eq!((record(fork, origin), wait(other, fork), set(address + 4, 2, other)), (0, 0, 0));
            assert_eq!((record(join, other), wait(origin, join), set(address, 3, origin)), (0, 0, 0));
            let graph = end(origin).unwrap();
            assert_eq!((count(graph), status(other)), ((3, 3), 0));
            run(graph);
            assert_eq!(download::<u32>(address, 2), Ok(vec![3, 2]));
        } else {
            assert_eq!(end(origin), Err(901));
        }
    }
    // Not joined back.
    assert_eq!(
        (begin(origin, RELAXED), record(fork, origin), wait(other, fork), set(address, 1, other)),
        (0, 0, 0, 0)
    );
    assert_eq!(end(origin), Err(904));
    // Two captures do not merge.
    assert_eq!(
        (begin(origin, RELAXED), begin(apart, RELAXED), record(fork, apart), wait(origin, fork)),
        (0, 0, 0, 902)
    );
    assert_eq!((end(origin), end(apart)), (Err(901), Err(901)));
    // A capture does not wait for what is not captured.
    assert_eq!((record(join, other), begin(origin, RELAXED), wait(origin, join)), (0, 0, 905));
    assert_eq!((status(origin), end(origin)), (2, Err(901)));
}

#[test]
fn what_needs_results_invalidates_a_capture() {
    let _context = Context::new();
    let (stream, event) = (new_stream(), event(2));
    let broken = |code: i32, expected: i32| {
        assert_eq!((code, status(stream), end(stream)), (expected, 2, Err(901)));
    };
    assert_eq!(begin(stream, RELAXED), 0);
    broken(cu!(cuStreamSynchronize(stream => u64)), 900);
    assert_eq!(begin(stream, RELAXED), 0);
    broken(cu!(cuStreamQuery(stream => u64)), 900);
    assert_eq!((begin(stream, RELAXED), record(event, stream)), (0, 0));
    broken(cu!(cuEventQuery(event => u64)), 907);
    assert_eq!((begin(stream, RELAXED), record(event, stream)), (0, 0));
    broken(cu!(cuEventSynchronize(event => u64)), 907);
    // An event recorded outside again is as good as new.
    assert_eq!((record(event, stream), cu!(cuEventSynchronize(event => u64))), (0, 0));
}

#[test]
fn the_null_stream_and_streams_that_wait_for_it_do_not_capture_together() {
    let _context = Context::new();
    let (stream, address) = (stream(0), alloc(4));
    assert_eq!(begin(0, RELAXED), 900, "the null stream cannot capture");
    assert_eq!((begin(stream, RELAXED), set(address, 1, 0)), (0, 906));
    assert_eq!(end(stream), Err(901));
    // A stream apart does not mind.
    let apart = new_stream();
    assert_eq!((begin(apart, RELAXED), set(address, 1, 0)), (0, 0));
    assert!(end(apart).is_ok());
}

#[test]
fn unsafe_calls_are_refused_as_the_modes_say() {
    let test = "unsafe_calls_are_refused_as_the_modes_say";
    // Global captures concern every thread of the process.
    if !alone(test) {
        return;
    }
    let context = Context::new();
    let (stream, address) = (new_stream(), alloc(4));
    let allocate = || {
        let mut address = 0u64;
        cu!(cuMemAlloc_v2(&mut address => *mut u64, 4 => usize))
    };
    let elsewhere = || {
        std::thread::scope(|scope| {
            let call = || {
                assert_eq!(cu!(cuCtxSetCurrent(context.0 => u64)), 0);
                allocate()
            };
            scope.spawn(call).join().unwrap()
        })
    };
    let exchange = |mut mode: i32| {
        assert_eq!(cu!(cuThreadExchangeStreamCaptureMode(&mut mode => *mut i32)), 0);
        mode
    };
    for (mode, here, there) in [(GLOBAL, 900, 900), (THREAD_LOCAL, 900, 0), (RELAXED, 0, 0)] {
        for (call, expected) in [(&allocate as &dyn Fn() -> i32, here), (&elsewhere, there)] {
            assert_eq!((begin(stream, mode), call()), (0, expected), "mode {mode}");
            assert_eq!(end(stream).is_ok(), expected == 0);
        }
    }
    // A thread may declare itself relaxed.
    assert_eq!(exchange(RELAXED), GLOBAL);
    assert_eq!((begin(stream, GLOBAL), allocate()), (0, 0));
    assert!(end(stream).is_ok());
    assert_eq!(exchange(GLOBAL), RELAXED);
    // Freeing and waiting for everything are such calls as well.
    assert_eq!((begin(stream, GLOBAL), cu!(cuMemFree_v2(address => u64)), end(stream)), (0, 900, Err(901)));
    assert_eq!((begin(stream, GLOBAL), cu!(cuCtxSynchronize()), end(stream)), (0, 900, Err(901)));
    // The thread that began must end, unless it was relaxed about it.
    let end_elsewhere = || std::thread::scope(|scope| scope.spawn(|| end(stream)).join().unwrap());
    assert_eq!((begin(stream, GLOBAL), end_elsewhere()), (0, Err(908)));
    assert!(end(stream).is_ok());
    assert_eq!(begin(stream, RELAXED), 0);
    assert!(end_elsewhere().is_ok());
}

#[test]
fn allocations_and_launches_of_graphs_are_captured() {
    let _context = Context::new();
    let (stream, mut address) = (new_stream(), 0u64);
    assert_eq!(begin(stream, RELAXED), 0);
    assert_eq!(cu!(cuMemAllocAsync(&mut address => *mut u64, 4 => usize, stream => u64)), 0);
    assert_eq!(set(address, 5, stream), 0);
    let graph = end(stream).unwrap();
    run(graph);
    assert_eq!(download::<u32>(address, 1), Ok(vec![5]));
    assert_eq!(cu!(cuMemFreeAsync(address => u64, stream => u64)), 0);
    let (target, mut exec) = (alloc(4), 0u64);
    assert_eq!((begin(stream, RELAXED), set(target, 6, stream)), (0, 0));
    let inner = end(stream).unwrap();
    assert_eq!(cu!(cuGraphInstantiateWithFlags(&mut exec => *mut u64, inner => u64, 0 => u64)), 0);
    assert_eq!((begin(stream, RELAXED), cu!(cuGraphLaunch(exec => u64, stream => u64))), (0, 0));
    let outer = end(stream).unwrap();
    assert_eq!(cu!(cuGraphDestroy(inner => u64)), 0);
    run(outer);
    assert_eq!(download::<u32>(target, 1), Ok(vec![6]));
}

#[test]
fn streams_wait_for_values_and_write_them() {
    let _context = Context::new();
    let (waiting, writing, address) = (new_stream(), new_stream(), alloc(16));
    assert_eq!((set(address, 0, writing), cu!(cuStreamSynchronize(writing => u64))), (0, 0));
    let wait_32 =
        |flags: u32| cu!(cuStreamWaitValue32(waiting => u64, address => u64, 5 => u32, flags => u32));
    let write_32 = |value: u32| {
        let code = cu!(cuStreamWriteValue32(writing => u64, address => u64, value => u32, 0 => u32));
        assert_eq!((code, cu!(cuStreamSynchronize(writing => u64))), (0, 0));
    };
    // At least, with a signed difference; equal; a common bit; a bit clear in both.
    for (flags, too_little, enough) in [(0, 4, 5), (1, 6, 5), (2, 2, 1), (3, !5, 0)] {
        write_32(too_little);
        assert_eq!(wait_32(flags), 0);
        assert_eq!(cu!(cuStreamQuery(waiting => u64)), 600);
        write_32(enough);
        assert_eq!(cu!(cuStreamSynchronize(waiting => u64)), 0);
    }
    assert_eq!(wait_32(4), 1);
    let off = cu!(cuStreamWriteValue32(writing => u64, address + 2 => u64, 1 => u32, 0 => u32));
    assert_eq!(off, 1, "not aligned");
    let off = cu!(cuStreamWriteValue64(writing => u64, address + 16 => u64, 1 => u64, 0 => u32));
    assert_eq!(off, 1, "outside");
}
