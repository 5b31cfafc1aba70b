//! All figures, one after the other. One that cannot be had does not keep the others away.

use crate::by_hand::{self, Comparison};
use crate::instructions::{self, Instructions};
use crate::rig::{Path, Target};
use crate::scaling::{self, Series};
use crate::steady::{self, Steady};
use crate::{futex, idle, memory};

/// A figure, or why there is none.
pub type Figure<T> = Result<T, String>;

pub struct PathFigures {
    pub path: Path,
    pub instructions: Figure<Instructions>,
    pub steady: Figure<Steady>,
}

pub struct DeviceFigures {
    pub target: Target,
    /// Those of [`Path::REPORTED`], in that order, and then others.
    pub paths: Vec<PathFigures>,
    pub idle_wakeups: Figure<f64>,
}

pub struct Overhead {
    pub quick: bool,
    pub valgrind: Figure<String>,
    pub devices: [DeviceFigures; 2],
    pub scaling: Figure<Vec<Series>>,
    pub bytes_per_pending: Figure<u64>,
    pub mock: Figure<Comparison>,
    pub calibrated: Figure<Comparison>,
    pub soft: Figure<Comparison>,
    pub futex: [f64; 2],
    pub wake_ratio: Figure<f64>,
}

pub fn measure(quick: bool) -> Overhead {
    let valgrind = instructions::valgrind();
    // Before anything else has made threads that could wake up.
    let idle = [Target::Mock, Target::Soft].map(|target| figure(idle::wakeups_per_second(target)));
    let [idle_mock, idle_soft] = idle;
    say("memory");
    let bytes_per_pending = figure(memory::bytes_per_pending());
    say("allocations, calls and instructions over the mock device");
    let mock_device = device(Target::Mock, idle_mock, &valgrind);
    say("allocations, calls and instructions over the software GPU");
    let soft_device = device(Target::Soft, idle_soft, &valgrind);
    say("comparison with native calls");
    let [mock, calibrated, soft] = [
        figure(by_hand::over_mock(quick)),
        figure(by_hand::over_calibrated_mock(quick)),
        figure(by_hand::over_soft(quick)),
    ];
    let futex = futex::round_trip(if quick { 1_000 } else { 5_000 });
    let wake_ratio = figure(by_hand::wake_ratio(quick));
    say("scaling");
    let scaling = figure(scaling::measure(quick));
    let devices = [mock_device, soft_device];
    Overhead {
        quick,
        valgrind,
        devices,
        scaling,
        bytes_per_pending,
        mock,
        calibrated,
        soft,
        futex,
        wake_ratio,
    }
}

fn device(target: Target, idle_wakeups: Figure<f64>, valgrind: &Figure<String>) -> DeviceFigures {
    let paths = Path::REPORTED.into_iter().chain([Path::ReadyDispatch]).map(|path| PathFigures {
        path,
        instructions: valgrind.clone().and_then(|_| figure(instructions::measure(target, path))),
        steady: figure(steady::measure(target, path)),
    });
    DeviceFigures { target, paths: paths.collect(), idle_wakeups }
}

/// What goes on, since some of it takes a minute.
fn say(what: &str) {
    eprintln!("measuring {what}");
}

fn figure<T, E: Into<anyhow::Error>>(result: Result<T, E>) -> Figure<T> {
    result.map_err(|error| format!("{:#}", error.into()))
}
