//! When to stop waiting.

use std::time::{Duration, Instant};

/// A point in time, fixed once taken: passing it on does not restart it.
///
/// ```
/// use hal_core::Deadline;
/// use std::time::Duration;
///
/// assert!(Deadline::NOW.has_passed());
/// assert!(!Deadline::after(Duration::from_secs(60)).has_passed());
/// assert!(!Deadline::NEVER.has_passed());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline(When);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Now,
    At(Instant),
    Never,
}

impl Deadline {
    /// Already passed: a wait until then polls once.
    pub const NOW: Deadline = Deadline(When::Now);
    /// No limit. The wait still ends: by success, by failure, or by loss of the device.
    pub const NEVER: Deadline = Deadline(When::Never);

    /// At that instant.
    pub fn at(instant: Instant) -> Self {
        Deadline(When::At(instant))
    }

    /// That long from now. A duration beyond what the clock can express is [`NEVER`](Deadline::NEVER).
    pub fn after(duration: Duration) -> Self {
        if duration.is_zero() {
            return Deadline::NOW;
        }
        Instant::now().checked_add(duration).map_or(Deadline::NEVER, Deadline::at)
    }

    /// Whether it has passed.
    pub fn has_passed(self) -> bool {
        match self.0 {
            When::Now => true,
            When::At(instant) => Instant::now() >= instant,
            When::Never => false,
        }
    }

    /// The time left: zero if it has passed, `None` if it never will.
    pub fn remaining(self) -> Option<Duration> {
        match self.0 {
            When::Now => Some(Duration::ZERO),
            When::At(instant) => Some(instant.saturating_duration_since(Instant::now())),
            When::Never => None,
        }
    }

    /// The instant, where there is one.
    pub fn instant(self) -> Option<Instant> {
        match self.0 {
            When::At(instant) => Some(instant),
            When::Now | When::Never => None,
        }
    }
}

impl From<Duration> for Deadline {
    fn from(duration: Duration) -> Self {
        Deadline::after(duration)
    }
}

impl From<Instant> for Deadline {
    fn from(instant: Instant) -> Self {
        Deadline::at(instant)
    }
}
