//! Runs the cases of a plan, several at a time, each in a process of its own.

use crate::instruments::Instruments;
use crate::isolate;
use crate::plan::Run;
use crate::protocol::Planned;
use crate::report::{CaseReport, RunReport, Status};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// How many cases run at a time unless the user says: one per processor on the software GPU, and one on a real driver,
/// where processes would compete for a GPU's memory.
pub fn default_jobs(run: &Run) -> usize {
    if run.driver.kind == "soft" { thread::available_parallelism().map_or(1, usize::from) } else { 1 }
}

/// Runs every case of `run`, at most `jobs` at a time and each for at most `limit`.
pub fn run(run: &Run, instruments: &Instruments, jobs: usize, limit: Duration) -> RunReport {
    let settings = instruments.settings();
    let start = Instant::now();
    let bar = progress_bar(run);
    let mut reports: Vec<Option<CaseReport>> = run.cases.iter().map(|_| None).collect();
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, run.cases.len().max(1)) {
            let (next, settings, sender) = (&next, &settings, sender.clone());
            scope.spawn(move || {
                while let Some((index, case)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    run.cases.get(index).map(|case| (index, case))
                } {
                    // The receiver lives until every sender is gone.
                    let _ = sender.send((index, run_case(run, case, settings, limit)));
                }
            });
        }
        drop(sender);
        for (index, report) in receiver {
            if report.status == Status::Failed {
                bar.suspend(|| failed_line(run, &report));
            }
            bar.set_message(format!("{}/{}", report.suite, report.name));
            bar.inc(1);
            reports[index] = Some(report);
        }
    });
    bar.finish_and_clear();
    RunReport::new(
        run.target.backend.clone(),
        run.driver.clone(),
        run.device.clone(),
        start.elapsed().as_secs_f64(),
        reports.into_iter().flatten().collect(),
    )
}

fn run_case(run: &Run, case: &Planned, settings: &[(&str, String)], limit: Duration) -> CaseReport {
    let start = Instant::now();
    let (status, reason) = match &case.skip {
        Some(reason) => (Status::Skipped, Some(reason.clone())),
        None => {
            let mut args: Vec<OsString> = vec!["exec".into()];
            args.extend(run.target.to_args());
            args.push(case.id().into());
            let failure = match isolate::call(&args, settings, limit) {
                Ok(ended) => isolate::failure(&ended),
                Err(error) => Some(format!("cannot run a process for it: {error}")),
            };
            (if failure.is_some() { Status::Failed } else { Status::Passed }, failure)
        }
    };
    CaseReport {
        suite: case.suite.clone(),
        name: case.name.clone(),
        status,
        reason,
        duration_s: if status == Status::Skipped { 0.0 } else { start.elapsed().as_secs_f64() },
    }
}

fn progress_bar(run: &Run) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(run.cases.len() as u64), target);
    if let Ok(style) = ProgressStyle::with_template("{prefix} [{bar:30}] {pos}/{len} {elapsed} {wide_msg}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_prefix(format!("{} on {}", run.target.backend, run.driver.kind));
    bar
}

/// Says at once that a case failed; why stands in the table.
fn failed_line(run: &Run, report: &CaseReport) {
    eprintln!(
        "{} on {}: {}/{} failed after {:.1} s",
        run.target.backend, run.driver.kind, report.suite, report.name, report.duration_s
    );
}
