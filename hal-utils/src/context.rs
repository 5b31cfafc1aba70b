//! Which device is current on this thread.

use crate::native::Native;
use crate::sync;
use hal_core::Result;

/// While this lives, the device is current on the thread; then what was current before is so again.
#[must_use = "the device is current only while this lives"]
pub(crate) struct Current<'a, N: Native> {
    native: &'a N,
    previous: Option<N::Previous>,
}

impl<'a, N: Native> Current<'a, N> {
    pub(crate) fn enter(native: &'a N) -> Result<Self> {
        sync::assert_unlocked();
        let previous = Some(native.enter()?);
        Ok(Current { native, previous })
    }
}

impl<N: Native> Drop for Current<'_, N> {
    fn drop(&mut self) {
        if let Some(previous) = self.previous.take() {
            self.native.leave(previous);
        }
    }
}
