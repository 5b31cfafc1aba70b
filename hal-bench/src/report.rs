//! The figures as a file. What could not be measured is null, with a `why` beside it.
//!
//! `detail` holds what the other fields leave out: the split by thread, the driver's share, absolute times.

use crate::by_hand::Comparison;
use crate::overhead::{DeviceFigures, Figure, Overhead, PathFigures};
use crate::rig::{BATCH, Path};
use serde_json::{Map, Value, json};

pub fn json(all: &Overhead) -> Value {
    let [mock, soft] = &all.devices;
    let mut root = Map::new();
    root.insert("schema".into(), json!(1));
    root.insert("mock".into(), device(mock));
    root.insert("soft".into(), device(soft));
    root.insert("scaling".into(), scaling(all));
    let mut why = Vec::new();
    let mut put = |name: &str, figure: Figure<Value>| {
        let value = figure.unwrap_or_else(|reason| {
            why.push(format!("{name}: {reason}"));
            Value::Null
        });
        root.insert(name.into(), value);
    };
    put("ratio_to_native", read(&all.calibrated, |comparison| json!(comparison.caller_ratio())));
    put("wake_ratio_to_futex", read(&all.wake_ratio, |ratio| json!(ratio)));
    put("bytes_per_pending", read(&all.bytes_per_pending, |bytes| json!(bytes)));
    put("idle_wakeups_per_s", read(&mock.idle_wakeups, |wakeups| json!(wakeups)));
    if !why.is_empty() {
        root.insert("why".into(), json!(why.join("; ")));
    }
    root.insert("detail".into(), detail(all));
    Value::Object(root)
}

fn read<T>(figure: &Figure<T>, value: impl FnOnce(&T) -> Value) -> Figure<Value> {
    match figure {
        Ok(figure) => Ok(value(figure)),
        Err(reason) => Err(reason.clone()),
    }
}

fn device(device: &DeviceFigures) -> Value {
    let paths = device.paths.iter().filter(|figures| Path::REPORTED.contains(&figures.path));
    Value::Object(paths.map(|figures| (figures.path.name().to_owned(), path(figures))).collect())
}

fn path(figures: &PathFigures) -> Value {
    let instructions = figures.instructions.as_ref().ok();
    let steady = figures.steady.as_ref().ok();
    let mut value = json!({
        "caller_instructions": instructions.map(|all| all.caller.round() as i64),
        "total_instructions": instructions.map(|all| all.total().round() as i64),
        "allocations": steady.map(|all| all.allocations),
        "native_calls": steady.map(|all| all.native_calls),
        "event_records": steady.map(|all| all.event_records),
    });
    let reasons = [figures.instructions.as_ref().err(), figures.steady.as_ref().err()];
    let reasons: Vec<_> = reasons.into_iter().flatten().cloned().collect();
    if !reasons.is_empty() {
        value["why"] = json!(reasons.join("; "));
    }
    value
}

fn scaling(all: &Overhead) -> Value {
    match &all.scaling {
        Ok(series) => Value::Object(
            series
                .iter()
                .map(|series| {
                    let value = json!({"points": series.points, "exponent": series.exponent()});
                    (series.name.to_owned(), value)
                })
                .collect(),
        ),
        Err(reason) => json!({
            "pending": null, "waits": null, "semaphores": null, "queues": null, "threads": null, "why": reason,
        }),
    }
}

fn detail(all: &Overhead) -> Value {
    let mut detail = json!({
        "quick": all.quick,
        "batch": BATCH,
        "valgrind": all.valgrind.as_ref().ok(),
        "times_ns": {
            "mock": all.mock.as_ref().ok().map(times),
            "mock_with_published_costs": all.calibrated.as_ref().ok().map(times),
            "soft": all.soft.as_ref().ok().map(times),
            "futex_round_trip": all.futex,
        },
    });
    for device in &all.devices {
        let mut paths = Map::new();
        for figures in &device.paths {
            let mut value = path(figures);
            if let Ok(instructions) = &figures.instructions {
                value["worker_instructions"] = json!(instructions.worker.round() as i64);
                value["completion_instructions"] = json!(instructions.completion.round() as i64);
                value["driver_thread_instructions"] = json!(instructions.driver.round() as i64);
            }
            if let Ok(steady) = &figures.steady {
                value["driver_allocations"] = json!(steady.driver_allocations);
            }
            paths.insert(figures.path.name().into(), value);
        }
        paths.insert("idle_wakeups_per_s".into(), json!(device.idle_wakeups.as_ref().ok()));
        detail[device.target.name()] = Value::Object(paths);
    }
    detail
}

fn times(comparison: &Comparison) -> Value {
    let [hal_p50, hal_p99] = comparison.hal_round_trip;
    let [native_p50, native_p99] = comparison.native_round_trip;
    json!({
        "submission": {"hal": comparison.hal_caller, "native": comparison.native_caller},
        "batch": {"hal": comparison.hal_batch, "native": comparison.native_batch},
        "round_trip_p50": {"hal": hal_p50, "native": native_p50},
        "round_trip_p99": {"hal": hal_p99, "native": native_p99},
    })
}
