//! `cargo xtask info`: every driver and device, and why a driver could not be loaded.

use hal::{DeviceInfo, DriverReport};
use serde_json::{Value, json};

/// Options of `cargo xtask info`.
#[derive(clap::Args)]
pub struct Args {
    /// For programs
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> anyhow::Result<()> {
    let reports = hal::enumerate();
    if args.json {
        let reports: Vec<Value> = reports.iter().map(report_json).collect();
        println!("{}", serde_json::to_string_pretty(&reports)?);
    } else {
        reports.iter().for_each(|report| print!("{}", report_text(report)));
    }
    Ok(())
}

fn report_text(report: &DriverReport) -> String {
    let looked_for = format!("{} {}", report.backend, choice(report));
    let (driver, devices) = match &report.outcome {
        Ok(found) => found,
        Err(error) => return format!("{looked_for}: {error}\n"),
    };
    let mut text = format!("{looked_for}: version {}, {}\n", driver.version, driver.path);
    if devices.is_empty() {
        text += "    no devices\n";
    }
    for device in devices {
        text += &format!("    {}: {}\n", report.uri(device), device_text(device));
    }
    text
}

fn device_text(device: &DeviceInfo) -> String {
    let DeviceInfo { name, arch, uuid, capabilities, limits, .. } = device;
    let gibibytes = device.total_memory as f64 / (1u64 << 30) as f64;
    let formats: Vec<&str> = capabilities.formats.iter().map(|format| format.name()).collect();
    format!(
        "{name}, {arch}, {uuid}, {gibibytes:.1} GiB, {} multiprocessors, loads {}",
        limits.multiprocessors,
        formats.join(" and ")
    )
}

fn report_json(report: &DriverReport) -> Value {
    let mut value = json!({ "backend": report.backend, "driver": choice(report) });
    match &report.outcome {
        Ok((driver, devices)) => {
            value["kind"] = driver.kind.name().into();
            value["version"] = driver.version.clone().into();
            value["path"] = driver.path.clone().into();
            value["devices"] = devices.iter().map(|device| device_json(report.uri(device), device)).collect();
        }
        Err(error) => value["error"] = error.to_string().into(),
    }
    value
}

fn device_json(uri: String, device: &DeviceInfo) -> Value {
    let DeviceInfo { capabilities, limits, .. } = device;
    let formats: Vec<&str> = capabilities.formats.iter().map(|format| format.name()).collect();
    json!({
        "uri": uri,
        "name": device.name,
        "uuid": device.uuid,
        "arch": device.arch,
        "total_memory": device.total_memory,
        "capabilities": {
            "formats": formats,
            "managed_memory": capabilities.managed_memory,
            "memory_pools": capabilities.memory_pools,
            "graphs": capabilities.graphs,
            "parameter_reflection": capabilities.parameter_reflection,
            "entry_point_listing": capabilities.entry_point_listing,
        },
        "limits": {
            "max_workgroup_size": limits.max_workgroup_size,
            "max_workgroup_dims": limits.max_workgroup_dims,
            "max_grid_dims": limits.max_grid_dims,
            "max_shared_memory": limits.max_shared_memory,
            "subgroup_size": limits.subgroup_size,
            "multiprocessors": limits.multiprocessors,
        },
    })
}

fn choice(report: &DriverReport) -> &'static str {
    match report.choice {
        hal::DriverChoice::Soft => "soft",
        _ => "system",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hal::{DriverChoice, Error, ErrorKind};

    #[test]
    fn what_cannot_be_loaded_says_why() {
        let report = DriverReport {
            backend: "cuda",
            choice: DriverChoice::System,
            outcome: Err(Error::new(ErrorKind::Unavailable, "because")),
        };
        assert_eq!(report_text(&report), "cuda system: unavailable: because\n");
        assert_eq!(report_json(&report)["error"], "unavailable: because");
    }

    #[test]
    fn a_device_is_listed_with_what_opens_it() {
        let reports = hal::enumerate();
        let soft =
            reports.iter().find(|report| report.backend == "cuda" && choice(report) == "soft").unwrap();
        assert!(report_text(soft).contains("    soft://cuda/0: "), "{}", report_text(soft));
        assert_eq!(report_json(soft)["devices"][0]["uri"], "soft://cuda/0");
    }
}
