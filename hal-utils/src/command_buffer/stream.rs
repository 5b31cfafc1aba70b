//! The stream encoding: replayed into a stream for each submission. A stream runs its commands in order, so barriers
//! cost nothing here.

use super::step::Step;
use crate::native::{Native, NodeWork};
use hal_core::{BufferRange, Result};

/// Puts the commands into a stream. Sets `touched` once the device may be using what they use.
///
/// # Safety
/// The device is current; what the steps use, and the buffers of `bindings`, live until the stream has done it.
pub(super) unsafe fn replay<N: Native>(
    steps: &[Step<N>],
    native: &N,
    stream: N::Stream,
    bindings: &[BufferRange],
    touched: &mut bool,
) -> Result<()> {
    for step in steps {
        // Ranges and alignment were validated when recorded, bindings when submitted.
        // SAFETY: as for this function; `CommandEncoder::dispatch` is unsafe and leaves the arguments to its caller.
        step.with(bindings, |work| unsafe {
            match work {
                NodeWork::Empty => Ok(()),
                NodeWork::Fill { target, pattern, pattern_size, count } => {
                    native.fill(stream, target, pattern, pattern_size, count)
                }
                NodeWork::Copy { target, source, size } => native.copy(stream, target, source, size),
                NodeWork::Upload { target, source } => native.upload(stream, target, source),
                NodeWork::Launch { function, shape, arguments } => {
                    native.launch(stream, function, shape, arguments)
                }
            }
        })?;
        *touched = true;
    }
    Ok(())
}
