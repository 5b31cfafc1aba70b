//! Which runs, and which cases in each: decided before anything runs.

use crate::glob::{Glob, chosen};
use crate::isolate;
use crate::protocol::{self, Found, Planned, Probe};
use crate::report::{DeviceReport, DriverReport};
use crate::target::{DriverArg, Target};
use anyhow::bail;
use std::ffi::OsString;
use std::time::Duration;

/// How long a driver may take to load and list its devices. Real ones wake every GPU in the machine.
const PROBE_LIMIT: Duration = Duration::from_secs(120);

/// What the user asked for.
#[derive(Debug)]
pub struct Wishes {
    /// Backends; all there are if empty.
    pub backends: Vec<String>,
    /// The driver; if none, the software GPU and what the system has.
    pub driver: Option<DriverArg>,
    /// The device's ordinal.
    pub device: u32,
    /// Cases; all there are if empty.
    pub filters: Vec<Glob>,
}

/// Everything that will run.
#[derive(Debug)]
pub struct Plan {
    /// One for each backend and driver.
    pub runs: Vec<Run>,
    /// What was looked for without being asked for, and not found.
    pub notes: Vec<String>,
}

/// The suite on one device.
#[derive(Debug)]
pub struct Run {
    /// How children reach the device.
    pub target: Target,
    /// The driver found.
    pub driver: DriverReport,
    /// The device found.
    pub device: DeviceReport,
    /// The chosen cases, in the registry's order.
    pub cases: Vec<Planned>,
}

/// Looks for every target. One that was asked for and is not there is an error; one that was not is a note.
pub fn make(wishes: &Wishes) -> anyhow::Result<Plan> {
    make_with(wishes, hal::backends(), probe)
}

fn make_with(
    wishes: &Wishes,
    known: &[&str],
    probe: impl Fn(&Target) -> Result<Found, String>,
) -> anyhow::Result<Plan> {
    let mut backends: Vec<&str> = Vec::new();
    for name in &wishes.backends {
        let Some(backend) = known.iter().find(|known| *known == name) else {
            bail!("there is no backend `{name}`; there are {}", known.join(", "));
        };
        if !backends.contains(backend) {
            backends.push(backend);
        }
    }
    if backends.is_empty() {
        backends = known.to_vec();
    }

    let mut plan = Plan { runs: Vec::new(), notes: Vec::new() };
    for backend in backends {
        let drivers = match &wishes.driver {
            Some(driver) => vec![(driver.clone(), true)],
            // Real drivers are a matter of the machine: test them where they are.
            None => vec![(DriverArg::Soft, true), (DriverArg::System, false)],
        };
        for (driver, required) in drivers {
            let target = Target { backend: backend.to_owned(), driver, device: wishes.device };
            match probe(&target) {
                Ok(Found { driver, device, mut cases }) => {
                    cases.retain(|case| chosen(&wishes.filters, &case.suite, &case.name));
                    plan.runs.push(Run { target, driver, device, cases });
                }
                Err(reason) if required => bail!("there is no {target}: {reason}"),
                Err(reason) => plan.notes.push(format!("no {target}: {}", one_line(&reason))),
            }
        }
    }
    Ok(plan)
}

/// Loads the driver in a process of its own: a broken one may crash or hang.
fn probe(target: &Target) -> Result<Found, String> {
    let mut args: Vec<OsString> = vec!["probe".into()];
    args.extend(target.to_args());
    let ended =
        isolate::call(&args, &[], PROBE_LIMIT).map_err(|error| format!("cannot start a process: {error}"))?;
    match (protocol::receive(&ended.stdout), isolate::unusual_end(&ended.how)) {
        (Some(Probe::Missing(reason)), _) => Err(reason),
        (Some(Probe::Found(found)), None) => Ok(found),
        (_, Some(end)) => Err(isolate::with_stderr(format!("while loading it, {end}"), &ended.stderr)),
        (None, None) => Err(isolate::with_stderr("loading it gave no answer".to_owned(), &ended.stderr)),
    }
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wishes(backends: &[&str], driver: Option<DriverArg>, filter: &str) -> Wishes {
        Wishes {
            backends: backends.iter().map(|&name| name.to_owned()).collect(),
            driver,
            device: 0,
            filters: vec![filter.parse().unwrap()],
        }
    }

    /// A machine with the software GPU, and a system driver for `hip` alone.
    fn machine(target: &Target) -> Result<Found, String> {
        if target.driver == DriverArg::System && target.backend == "cuda" {
            return Err("libcuda.so.1: not there\n  libcuda.so: neither".to_owned());
        }
        let case = |suite: &str, name: &str| Planned { suite: suite.into(), name: name.into(), skip: None };
        Ok(Found {
            driver: DriverReport { kind: "soft".into(), version: "1".into(), path: "p".into() },
            device: DeviceReport { name: "G".into(), arch: "sm_80".into(), capabilities: Vec::new() },
            cases: vec![case("buffer", "fill"), case("fence", "join"), case("selftest", "fails")],
        })
    }

    fn make(wishes: &Wishes) -> anyhow::Result<Plan> {
        make_with(wishes, &["cuda", "hip"], machine)
    }

    #[test]
    fn without_a_driver_the_soft_one_and_what_is_there() {
        let plan = make(&wishes(&[], None, "*")).unwrap();
        let found: Vec<_> =
            plan.runs.iter().map(|run| (&*run.target.backend, run.target.driver.clone())).collect();
        let expected = [("cuda", DriverArg::Soft), ("hip", DriverArg::Soft), ("hip", DriverArg::System)];
        assert_eq!(found, expected);
        assert_eq!(plan.notes.len(), 1);
        let note = &plan.notes[0];
        assert!(note.contains("cuda") && note.contains("not there; libcuda.so: neither"), "{note}");
    }

    #[test]
    fn a_driver_that_was_asked_for_must_be_there() {
        assert_eq!(make(&wishes(&["hip"], Some(DriverArg::System), "*")).unwrap().runs.len(), 1);
        let error = make(&wishes(&["hip", "cuda"], Some(DriverArg::System), "*")).unwrap_err().to_string();
        assert!(error.contains("cuda") && error.contains("not there"), "{error}");
    }

    #[test]
    fn backends() {
        let error = make(&wishes(&["metal"], None, "*")).unwrap_err().to_string();
        assert!(error.contains("metal") && error.contains("cuda, hip"), "{error}");
        let plan = make(&wishes(&["hip", "hip"], Some(DriverArg::Soft), "*")).unwrap();
        assert_eq!(plan.runs.len(), 1);
    }

    #[test]
    fn filters_choose_cases_and_keep_their_order() {
        let ids = |filter: &str| {
            let plan = make(&wishes(&["cuda"], Some(DriverArg::Soft), filter)).unwrap();
            plan.runs[0].cases.iter().map(Planned::id).collect::<Vec<_>>()
        };
        assert_eq!(ids("*"), ["buffer/fill", "fence/join"]);
        assert_eq!(ids("fence/*"), ["fence/join"]);
        assert_eq!(ids("selftest"), ["selftest/fails"]);
        assert!(ids("nothing").is_empty());
    }
}
