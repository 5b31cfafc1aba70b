//! The figures on the terminal, with what they should be.

use crate::by_hand::Comparison;
use crate::overhead::{DeviceFigures, Figure, Overhead};
use crate::rig::{Path, Target};
use std::fmt::Display;

/// What a submission over the mock device may cost.
const CALLER: f64 = 400.0;
const TOTAL: f64 = 1_500.0;
const EXPONENT: f64 = 1.15;
const BYTES: u64 = 512;

pub fn print(all: &Overhead) {
    for device in &all.devices {
        paths(device);
    }
    times(all);
    scaling(all);
    println!("\ntargets, mock device");
    targets(all).iter().for_each(|line| println!("  {line}"));
    for reason in reasons(all) {
        println!("  not measured: {reason}");
    }
}

fn paths(device: &DeviceFigures) {
    println!("\nper submission, {}", device.target.name());
    println!(
        "  {:<16}{:>8}{:>8}{:>12}{:>8}{:>8}{:>8}{:>8}{:>9}",
        "", "caller", "worker", "completion", "driver", "total", "allocs", "calls", "records"
    );
    for figures in &device.paths {
        let instructions: [String; 5] = match &figures.instructions {
            Ok(all) => {
                [all.caller, all.worker, all.completion, all.driver, all.total()].map(|n| format!("{n:.0}"))
            }
            Err(_) => [const { String::new() }; 5].map(|_| "-".into()),
        };
        let steady: [String; 3] = match &figures.steady {
            Ok(all) => [all.allocations, all.native_calls, all.event_records].map(|n| format!("{n:.2}")),
            Err(_) => [const { String::new() }; 3].map(|_| "-".into()),
        };
        let [caller, worker, completion, driver, total] = instructions;
        let [allocations, calls, records] = steady;
        println!(
            "  {:<16}{caller:>8}{worker:>8}{completion:>12}{driver:>8}{total:>8}{allocations:>8}{calls:>8}{records:>9}",
            figures.path.name(),
        );
    }
}

fn times(all: &Overhead) {
    println!(
        "\nns, with a dispatch        submission            batch, each       round trip p50       round trip p99"
    );
    println!(
        "{:<22}{:>21}{:>21}{:>21}{:>21}",
        "", "hal / native", "hal / native", "hal / native", "hal / native"
    );
    let rows = [("mock", &all.mock), ("mock, published costs", &all.calibrated), ("soft", &all.soft)];
    for (name, figure) in rows {
        if let Ok(comparison) = figure {
            println!("  {name:<22}{}", pairs(comparison));
        }
    }
    let [median, high] = all.futex;
    println!("  {:<22}{:>20}{:>21}{median:>21.0}{high:>21.0}", "futex ping-pong", "", "");
    if let Ok(calibrated) = &all.calibrated {
        println!("  a dispatch to native calls, published costs: {:.2}", calibrated.caller_ratio());
    }
    if let Ok(ratio) = &all.wake_ratio {
        println!("  an empty round trip to a futex ping-pong:    {ratio:.2}");
    }
}

fn pairs(comparison: &Comparison) -> String {
    let pair = |hal: f64, native: f64| format!("{:>21}", format!("{hal:.0} / {native:.0}"));
    [
        pair(comparison.hal_caller, comparison.native_caller),
        pair(comparison.hal_batch, comparison.native_batch),
        pair(comparison.hal_round_trip[0], comparison.native_round_trip[0]),
        pair(comparison.hal_round_trip[1], comparison.native_round_trip[1]),
    ]
    .concat()
}

fn scaling(all: &Overhead) {
    let Ok(series) = &all.scaling else { return };
    println!("\nscaling      exponent  ns per unit");
    for series in series {
        let points: Vec<_> =
            series.points.iter().map(|(x, y)| format!("{x}: {:.0}", y / *x as f64)).collect();
        println!("  {:<11}{:>8.2}  {}", series.name, series.exponent(), points.join("  "));
    }
}

fn targets(all: &Overhead) -> Vec<String> {
    let [mock, _] = &all.devices;
    let mut lines = Vec::new();
    let ready = mock.paths.iter().find(|figures| figures.path == Path::Ready);
    if let Some(Ok(instructions)) = ready.map(|figures| &figures.instructions) {
        lines.push(at_most("instructions of the caller, ready", instructions.caller.round(), CALLER));
        lines.push(at_most("instructions of all threads, ready", instructions.total().round(), TOTAL));
    }
    for figures in &mock.paths {
        if let Ok(steady) = &figures.steady {
            lines.push(at_most(&format!("allocations, {}", figures.path.name()), steady.allocations, 0.0));
            lines.push(at_most(
                &format!("event records, {}", figures.path.name()),
                steady.event_records,
                1.0,
            ));
        }
    }
    let pending =
        all.scaling.as_ref().ok().and_then(|all| all.iter().find(|series| series.name == "pending"));
    if let Some(pending) = pending {
        let exponent = (pending.exponent() * 100.0).round() / 100.0;
        lines.push(at_most("exponent in pending depth", exponent, EXPONENT));
    }
    if let Ok(bytes) = &all.bytes_per_pending {
        lines.push(at_most("bytes of a pending submission", *bytes, BYTES));
    }
    if let Ok(wakeups) = &mock.idle_wakeups {
        lines.push(at_most("wake-ups per second when idle", wakeups.round(), 0.0));
    }
    lines
}

fn at_most<T: Display + PartialOrd>(what: &str, found: T, most: T) -> String {
    let verdict = if found <= most { "met" } else { "MISSED" };
    format!("{what:<40}{found:>8}  at most {most:<6}{verdict}")
}

/// Why figures are missing, each reason once.
fn reasons(all: &Overhead) -> Vec<String> {
    let mut reasons = Vec::new();
    let mut add = |what: &str, reason: Option<&String>| {
        let line = reason.map(|reason| format!("{what}: {reason}"));
        reasons.extend(line.filter(|line| !reasons.contains(line)));
    };
    for device in &all.devices {
        for figures in &device.paths {
            add("instructions", error(&figures.instructions));
            add("allocations and calls", error(&figures.steady));
        }
        let what = if device.target == Target::Mock { "idle wake-ups, mock" } else { "idle wake-ups, soft" };
        add(what, error(&device.idle_wakeups));
    }
    add("comparison, mock", error(&all.mock));
    add("comparison, published costs", error(&all.calibrated));
    add("comparison, soft", error(&all.soft));
    add("round trips", error(&all.wake_ratio));
    add("scaling", error(&all.scaling));
    add("bytes", error(&all.bytes_per_pending));
    reasons
}

fn error<T>(figure: &Figure<T>) -> Option<&String> {
    figure.as_ref().err()
}
