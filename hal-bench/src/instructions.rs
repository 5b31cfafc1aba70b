//! Instructions per submission, by thread, counted by callgrind.
//!
//! This program is run under valgrind twice, with different numbers of batches; the difference belongs to the batches
//! alone, since everything else is the same in both.

use crate::gauge::Gauge;
use crate::rig::{Path, Rig, Target};
use anyhow::Context as _;
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Batches that bring a device into its steady state.
const WARM_UP: u64 = 20;
const FEW: u64 = 40;
const MANY: u64 = 140;

/// Instructions of one submission.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Instructions {
    pub caller: f64,
    pub worker: f64,
    pub completion: f64,
    /// The driver's own threads.
    pub driver: f64,
}

impl Instructions {
    pub fn total(&self) -> f64 {
        self.caller + self.worker + self.completion + self.driver
    }
}

/// What a run under valgrind does. Prints the threads' names in the order in which they were started.
pub fn subject(target: Target, path: Path, batches: u64) -> anyhow::Result<()> {
    let gauge = Gauge::new(false);
    let mut rig = Rig::new(target.open_gauged(&gauge)?, Some(gauge))?;
    for _ in 0..WARM_UP + batches {
        rig.batch(path)?;
    }
    rig.wait_idle()?;
    for name in thread_names()? {
        println!("{name}");
    }
    Ok(())
}

fn thread_names() -> anyhow::Result<Vec<String>> {
    // Numbers begin again at some point, but never between a process and its threads twice.
    let most: u64 = fs::read_to_string("/proc/sys/kernel/pid_max")?.trim().parse().context("pid_max")?;
    let process = u64::from(std::process::id());
    let mut threads = Vec::new();
    for entry in fs::read_dir("/proc/self/task")? {
        let entry = entry?;
        let id: u64 = entry.file_name().to_string_lossy().parse().context("a thread's number")?;
        threads.push((
            (id + most - process) % most,
            fs::read_to_string(entry.path().join("comm"))?.trim().to_owned(),
        ));
    }
    threads.sort();
    Ok(threads.into_iter().map(|(_, name)| name).collect())
}

/// Valgrind's version, or why there are no figures.
pub fn valgrind() -> Result<String, String> {
    match Command::new("valgrind").arg("--version").output() {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        Ok(output) => Err(format!("valgrind --version ended with {}", output.status)),
        Err(error) => Err(format!("valgrind cannot be started ({error}); install it to count instructions")),
    }
}

pub fn measure(target: Target, path: Path) -> anyhow::Result<Instructions> {
    let few = run(target, path, FEW)?;
    let many = run(target, path, MANY)?;
    let submissions = ((MANY - FEW) * path.submissions()) as f64;
    let per = |part: fn(&Instructions) -> f64| (part(&many) - part(&few)) / submissions;
    Ok(Instructions {
        caller: per(|all| all.caller),
        worker: per(|all| all.worker),
        completion: per(|all| all.completion),
        driver: per(|all| all.driver),
    })
}

/// Instructions of a whole run.
fn run(target: Target, path: Path, batches: u64) -> anyhow::Result<Instructions> {
    let folder = Folder::new()?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--separate-threads=yes"])
        .arg(format!("--callgrind-out-file={}", folder.0.join("out").display()))
        .arg(std::env::current_exe()?)
        .args(["subject", target.name(), &path.name().replace('_', "-"), &batches.to_string()])
        .output()
        .context("cannot start valgrind")?;
    anyhow::ensure!(
        output.status.success(),
        "valgrind ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    let names = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut totals = HashMap::new();
    for entry in fs::read_dir(&folder.0)? {
        if let Some((thread, total)) = thread_total(&fs::read_to_string(entry?.path())?) {
            *totals.entry(thread).or_insert(0) += total;
        }
    }
    attribute(&names.lines().collect::<Vec<_>>(), &totals)
}

/// The thread that an output file of callgrind is about, and its instructions.
fn thread_total(file: &str) -> Option<(usize, u64)> {
    let value = |name: &str| {
        let line = file.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    Some((value("thread:")? as usize, value("totals:").or_else(|| value("summary:"))?))
}

/// Valgrind numbers threads from 1 in the order in which they start.
fn attribute(names: &[&str], totals: &HashMap<usize, u64>) -> anyhow::Result<Instructions> {
    let mut sum = Instructions::default();
    for (&thread, &total) in totals {
        let name = thread.checked_sub(1).and_then(|index| names.get(index)).copied();
        let part = match name {
            _ if thread == 1 => &mut sum.caller,
            Some("hal-worker") => &mut sum.worker,
            Some("hal-completion") => &mut sum.completion,
            _ => &mut sum.driver,
        };
        *part += total as f64;
    }
    let missing = sum.caller == 0.0 || sum.worker == 0.0 || sum.completion == 0.0;
    anyhow::ensure!(!missing, "callgrind wrote no figures for some of the threads {names:?}: {totals:?}");
    Ok(sum)
}

/// A folder that goes when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> anyhow::Result<Self> {
        let folder = std::env::temp_dir().join(format!("hal-bench-{}", std::process::id()));
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(Folder(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Somebody else's temporary folder is cleaned by somebody else.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_names_its_thread_and_total() {
        assert_eq!(thread_total("thread: 3\nevents: Ir\nfn=a\n1 2\ntotals: 77\n"), Some((3, 77)));
        assert_eq!(thread_total("events: Ir\n"), None);
    }

    #[test]
    fn threads_are_told_apart_by_the_order_of_their_start() {
        let totals = HashMap::from([(1, 10), (2, 3), (3, 4), (4, 5), (9, 6)]);
        let names = ["hal-bench", "softgpu", "hal-worker", "hal-completion"];
        let sum = attribute(&names, &totals).unwrap();
        assert_eq!(sum, Instructions { caller: 10.0, worker: 4.0, completion: 5.0, driver: 9.0 });
        assert!(attribute(&names[..3], &totals).is_err());
    }
}
