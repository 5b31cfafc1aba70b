//! Whether an idle device sleeps.

use crate::rig::{Path, Rig, Target};
use anyhow::Context as _;
use std::fs;
use std::time::{Duration, Instant};

const TIME: Duration = Duration::from_secs(1);

/// How often threads of this process went to sleep again, per second, with a device that has worked and has nothing to
/// do. The measuring thread does not count.
pub fn wakeups_per_second(target: Target) -> anyhow::Result<f64> {
    let mut rig = Rig::new(target.open()?, None)?;
    rig.batch(Path::ReadyDispatch)?;
    rig.wait_idle()?;
    // Threads that have just been busy have yet to go to sleep.
    std::thread::sleep(TIME / 4);
    let (before, start) = (sleeps()?, Instant::now());
    std::thread::sleep(TIME);
    let (after, took) = (sleeps()?, start.elapsed());
    Ok(after.saturating_sub(before) as f64 / took.as_secs_f64())
}

fn sleeps() -> anyhow::Result<u64> {
    let own = fs::read_link("/proc/thread-self")?;
    let own = own.file_name().context("/proc/thread-self names no thread")?;
    let mut sum = 0;
    for entry in fs::read_dir("/proc/self/task")? {
        let entry = entry?;
        if entry.file_name() != own {
            sum += voluntary(&fs::read_to_string(entry.path().join("status"))?)?;
        }
    }
    Ok(sum)
}

fn voluntary(status: &str) -> anyhow::Result<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    Ok(line.context("no voluntary_ctxt_switches")?.trim().parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_found() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(voluntary(status).unwrap(), 7);
        assert!(voluntary("Name:\tx\n").is_err());
    }
}
