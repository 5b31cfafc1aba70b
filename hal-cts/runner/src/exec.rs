//! The child's side: one probe or one case in this process, and an answer to the parent.

use crate::protocol::{self, Answer, Found, Planned, Probe};
use crate::report::{DeviceReport, DriverReport};
use crate::target::Target;
use hal_core::{DeviceInfo, DeviceParams, Driver, TeardownReport};
use hal_cts::Case;
use std::io::Read as _;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

/// How long the last holder of a device may take to let go. A case that keeps it for good is reported by other means.
const LAST_HOLDER: Duration = Duration::from_secs(5);

/// Finds the target and tells what it can run.
pub fn probe(target: &Target) {
    protocol::send(&match find(target) {
        Ok((_, info)) => Probe::Found(Found {
            driver: DriverReport {
                kind: info.driver.kind.name().to_owned(),
                version: info.driver.version.clone(),
                path: info.driver.path.clone(),
            },
            device: DeviceReport {
                name: info.name.clone(),
                arch: info.arch.clone(),
                capabilities: capabilities(&info),
            },
            cases: registry().iter().map(|case| planned(case, &info)).collect(),
        }),
        Err(reason) => Probe::Missing(reason),
    });
}

/// Runs one case on the target. The exit code is 0 if it passed and 1 if not.
pub fn case(target: &Target, id: &str) -> ExitCode {
    let failure = run(target, id).err();
    let code = if failure.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    protocol::send(&Answer { failure });
    code
}

/// Ends this process when its standard input does, that is, with its parent. A case that hangs must not outlive a run
/// that was killed.
pub fn end_with_parent() {
    std::thread::spawn(|| {
        let mut byte = [0];
        while matches!(std::io::stdin().read(&mut byte), Ok(1..)) {}
        // Nothing milder ends a process whose driver hangs.
        std::process::abort();
    });
}

fn registry() -> Vec<Case> {
    hal_cts::cases().into_iter().chain(hal_cts::selftest()).collect()
}

fn capabilities(info: &DeviceInfo) -> Vec<(String, String)> {
    info.capabilities.rows().into_iter().map(|(name, has)| (name.to_owned(), has)).collect()
}

fn planned(case: &Case, info: &DeviceInfo) -> Planned {
    Planned { suite: case.suite.to_owned(), name: case.name.to_owned(), skip: case.unsupported(info) }
}

fn find(target: &Target) -> Result<(Arc<dyn Driver>, DeviceInfo), String> {
    let driver = hal::load(&target.backend, &target.driver.choice()).map_err(|error| with_sources(&error))?;
    let devices = driver.devices().map_err(|error| with_sources(&error))?;
    let count = devices.len();
    match devices.into_iter().find(|info| info.ordinal == target.device) {
        Some(info) => Ok((driver, info)),
        None if count == 0 => Err(format!("{} has no device", driver.info().path)),
        None => {
            Err(format!("{} has no device {}; it has {count}, from 0", driver.info().path, target.device))
        }
    }
}

fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let more = source.to_string();
        // Some errors repeat their source in their own text.
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        next = source.source();
    }
    text
}

fn run(target: &Target, id: &str) -> Result<(), String> {
    let case = registry().into_iter().find(|case| case.id() == id);
    let case = case.ok_or_else(|| format!("there is no case `{id}`; `hal-cts list` shows them all"))?;
    let (driver, info) = find(target)?;
    if let Some(reason) = case.unsupported(&info) {
        return Err(format!("the device cannot run it: {reason}"));
    }
    let teardown = Arc::new(Mutex::new(None));
    // Closes when the device is gone with all that knows its parameters.
    let (held, gone) = mpsc::channel::<()>();
    let params = DeviceParams {
        encoding: case.encoding,
        on_teardown: Some({
            let teardown = teardown.clone();
            Arc::new(move |report: &TeardownReport| {
                let _ = &held;
                *teardown.lock().unwrap_or_else(PoisonError::into_inner) = Some(report.clone());
            })
        }),
        ..DeviceParams::default()
    };
    let device = driver.open(target.device, &params).map_err(|error| with_sources(&error))?;

    let last_panic = Arc::new(Mutex::new(None));
    remember_panics(&last_panic);
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| (case.run)(&device)));
    let lost = device.lost();
    drop((device, params));
    // A callback that is still running may hold the device for a moment longer than the case.
    let _ = gone.recv_timeout(LAST_HOLDER);
    match outcome {
        Ok(outcome) => outcome.map_err(|failure| failure.to_string())?,
        Err(_) => {
            let text = last_panic.lock().unwrap_or_else(PoisonError::into_inner).take();
            return Err(text.unwrap_or_else(|| "the case panicked".to_owned()));
        }
    }
    // A lost device cannot free what it holds; any other one must.
    match teardown.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(report) if lost.is_none() => {
            Err(format!("the case passed, but its device did not close cleanly: {report:?}"))
        }
        _ => Ok(()),
    }
}

/// Keeps the text of a panic of this thread, which says where it happened; the caught payload does not.
fn remember_panics(last: &Arc<Mutex<Option<String>>>) {
    let last = last.clone();
    let this = std::thread::current().id();
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() == this {
            *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(info.to_string());
        }
        usual(info);
    }));
}
