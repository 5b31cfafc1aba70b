//! What cases have in common.

use hal_core::Deadline;
use std::time::Duration;

/// Long enough for anything that works, on a slow machine under load.
pub(crate) fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(20))
}
