//! What a submission allocates, and which native calls it makes, once everything has been used before.

use crate::allocations;
use crate::gauge::Gauge;
use crate::rig::{Path, Rig, Target};

/// Lists grow to what a batch that was slow to complete has needed; after so many, one was.
const WARM_UP: u64 = 400;
const BATCHES: u64 = 100;

/// Per submission.
#[derive(Clone, Copy, Debug)]
pub struct Steady {
    pub allocations: f64,
    /// By the driver: within its calls and on its threads.
    pub driver_allocations: f64,
    pub native_calls: f64,
    pub event_records: f64,
}

pub fn measure(target: Target, path: Path) -> anyhow::Result<Steady> {
    let gauge = Gauge::new(true);
    let mut rig = Rig::new(target.open_gauged(&gauge)?, Some(gauge.clone()))?;
    for _ in 0..WARM_UP {
        rig.batch(path)?;
    }
    rig.wait_idle()?;
    let (before, calls, records) = (allocations::count(), gauge.calls(), gauge.records());
    for _ in 0..BATCHES {
        rig.batch(path)?;
    }
    rig.wait_idle()?;
    let after = allocations::count();
    let per = |count: u64| count as f64 / (BATCHES * path.submissions()) as f64;
    Ok(Steady {
        allocations: per(after.hal - before.hal),
        driver_allocations: per(after.others - before.others),
        native_calls: per(gauge.calls() - calls),
        event_records: per(gauge.records() - records),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_record_for_each_submission() {
        for path in Path::REPORTED {
            assert_eq!(measure(Target::Mock, path).unwrap().event_records, 1.0, "{path:?}");
        }
    }
}
