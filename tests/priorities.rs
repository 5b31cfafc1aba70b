//! A queue's priority is its native stream's, as the driver itself answers.

#![cfg(all(feature = "cuda", feature = "hip", feature = "soft"))]
#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use hal::{Queue, QueueParams, QueuePriority, Result};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// `cuStreamGetPriority` and `hipStreamGetPriority`.
type GetPriority = unsafe extern "C" fn(*mut c_void, *mut c_int) -> c_int;

fn native(call: &str, queue: &Arc<dyn Queue>) -> i32 {
    // SAFETY: the type of both functions.
    let get: GetPriority = unsafe { std::mem::transmute(softgpu::resolver::symbol(call).unwrap()) };
    let mut priority = i32::MAX;
    // SAFETY: the stream lives while its queue does; writes one number.
    assert_eq!(unsafe { get(queue.native_stream().as_ptr(), &mut priority) }, 0);
    priority
}

#[test]
fn queues_have_the_streams_of_their_priorities() -> Result<()> {
    for (backend, call) in [("cuda", "cuStreamGetPriority"), ("hip", "hipStreamGetPriority")] {
        let device = hal::open(&format!("soft://{backend}/0"))?;
        let [least, greatest] = device.info().limits.stream_priorities;
        assert!(greatest < least, "{backend}: {least} {greatest}");
        let all = [QueuePriority::Low, QueuePriority::Normal, QueuePriority::High];
        let create = || all.map(|priority| device.create_queue(&QueueParams { priority }));
        // In the driver's numbering less is more urgent. The second round takes over the idle streams of the first.
        for round in 0..2 {
            let [low, normal, high] = create();
            let (low, normal, high) = (low?, normal?, high?);
            let priorities = [native(call, &low), native(call, &normal), native(call, &high)];
            assert_eq!((priorities[0], priorities[2]), (least, greatest), "{backend}, round {round}");
            assert!(least >= priorities[1] && priorities[1] > greatest, "{backend}: {priorities:?}");
        }
        let counters = device.counters().queues;
        assert_eq!((counters.created, counters.reused), (3, 3), "{backend}");
    }
    Ok(())
}
