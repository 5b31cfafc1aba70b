//! Bytes that a pending submission takes.

use crate::allocations;
use crate::mock::Costs;
use crate::rig;
use hal_core::{Deadline, QueueParams, Result, Submission};

/// Lists double as they grow, so the figure swings; these lie at both ends of the swing and between.
const DEPTHS: [u64; 4] = [16_384, 20_000, 26_000, 32_768];

/// Mean over several depths, with 2 waits and 1 signal for each submission. All that the process allocates meanwhile
/// counts.
pub fn bytes_per_pending() -> Result<u64> {
    let mut sum = 0;
    for depth in DEPTHS {
        sum += bytes_at(depth)? / depth;
    }
    Ok(sum / DEPTHS.len() as u64)
}

fn bytes_at(depth: u64) -> Result<u64> {
    let device = rig::mock(Costs::default())?;
    let queue = device.create_queue(&QueueParams::default())?;
    let (first, second) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    let done = device.create_semaphore(0)?;
    let before = allocations::bytes_in_use();
    for value in 1..=depth {
        queue.submit(Submission::new().wait(&first, value).wait(&second, value).signal(&done, value))?;
    }
    let bytes = allocations::bytes_in_use() - before;
    first.signal(depth)?;
    second.signal(depth)?;
    done.wait(depth, Deadline::NEVER)?;
    Ok(bytes)
}
