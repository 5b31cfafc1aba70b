//! `report.json`: what ran, on what, and how it ended.

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// The number of this format. Raise it when a field changes its meaning or goes away.
pub const SCHEMA: u32 = 1;

/// Everything that ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Whether every case there is was chosen.
    #[serde(default)]
    pub complete: bool,
    /// One per backend and driver, in the order they ran.
    pub runs: Vec<RunReport>,
}

/// The suite on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// `cuda` or `hip`.
    pub backend: String,
    /// The driver.
    pub driver: DriverReport,
    /// The device.
    pub device: DeviceReport,
    /// Cases that passed.
    pub passed: usize,
    /// Cases that failed.
    pub failed: usize,
    /// Cases the device cannot run.
    pub skipped: usize,
    /// From start to end; less than the sum over the cases when several run at a time.
    pub duration_s: f64,
    /// Every case, suite by suite, in the registry's order.
    pub cases: Vec<CaseReport>,
}

/// A driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriverReport {
    /// `soft`, `system` or `path`.
    pub kind: String,
    /// As the vendor writes it.
    pub version: String,
    /// The library, or `in-process`.
    pub path: String,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceReport {
    /// As the driver gives it.
    pub name: String,
    /// `sm_80`, `gfx90a`.
    pub arch: String,
    /// Each capability by name, and what the device has of it.
    #[serde(default)]
    pub capabilities: Vec<(String, String)>,
}

/// How one case ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseReport {
    /// The suite it belongs to.
    pub suite: String,
    /// Unique within the suite.
    pub name: String,
    /// How it ended.
    pub status: Status,
    /// Why it failed or was skipped.
    pub reason: Option<String>,
    /// How long its process lived.
    pub duration_s: f64,
}

/// How a case ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It held.
    Passed,
    /// It did not hold, crashed, or ran out of time.
    Failed,
    /// The device cannot run it.
    Skipped,
}

impl RunReport {
    /// Counts the cases, and puts those of a suite together.
    pub fn new(
        backend: String,
        driver: DriverReport,
        device: DeviceReport,
        duration_s: f64,
        mut cases: Vec<CaseReport>,
    ) -> Self {
        // The registry may have a suite's cases here and there; readers want them together.
        let mut suites: Vec<String> = Vec::new();
        for case in &cases {
            if !suites.contains(&case.suite) {
                suites.push(case.suite.clone());
            }
        }
        cases.sort_by_key(|case| suites.iter().position(|suite| *suite == case.suite));
        let count = |status| cases.iter().filter(|case| case.status == status).count();
        RunReport {
            backend,
            driver,
            device,
            passed: count(Status::Passed),
            failed: count(Status::Failed),
            skipped: count(Status::Skipped),
            duration_s,
            cases,
        }
    }

    /// `cuda on soft`.
    pub fn title(&self) -> String {
        format!("{} on {}", self.backend, self.driver.kind)
    }
}

impl Report {
    /// Why this is not a success: at least one case ran in every run, and none failed.
    pub fn shortcoming(&self) -> Option<String> {
        let failed: usize = self.runs.iter().map(|run| run.failed).sum();
        if failed > 0 {
            return Some(format!("{failed} case{} failed", if failed == 1 { "" } else { "s" }));
        }
        let idle: Vec<_> =
            self.runs.iter().filter(|run| run.passed + run.failed == 0).map(RunReport::title).collect();
        if self.runs.is_empty() {
            return Some("nothing ran".to_owned());
        }
        (!idle.is_empty()).then(|| {
            format!("no case ran for {}; `hal-cts list` shows which there are and why", idle.join(", "))
        })
    }

    /// The text of `report.json`.
    pub fn to_json(&self) -> anyhow::Result<String> {
        let mut text = serde_json::to_string_pretty(self).context("cannot write the report as JSON")?;
        text.push('\n');
        Ok(text)
    }
}

/// Writes a file so that readers see the old one or the new one, never half of either.
pub fn write_atomically(path: &Path, text: &str) -> anyhow::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.tmp", std::process::id()));
    let temporary = Path::new(&temporary);
    let written = fs::write(temporary, text).and_then(|()| fs::rename(temporary, path));
    if written.is_err() {
        // Best effort: the error below says what matters.
        let _ = fs::remove_file(temporary);
    }
    written.with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn case(name: &str, status: Status, reason: Option<&str>) -> CaseReport {
        CaseReport {
            suite: "semaphore".into(),
            name: name.into(),
            status,
            reason: reason.map(str::to_owned),
            duration_s: 0.5,
        }
    }

    fn report(cases: Vec<CaseReport>) -> Report {
        let driver = DriverReport { kind: "soft".into(), version: "12.8".into(), path: "in-process".into() };
        let device = DeviceReport { name: "G".into(), arch: "sm_80".into(), capabilities: Vec::new() };
        Report {
            schema: SCHEMA,
            complete: true,
            runs: vec![RunReport::new("cuda".into(), driver, device, 1.5, cases)],
        }
    }

    #[test]
    fn json_has_the_promised_shape() {
        let report = report(vec![
            case("wait_before_signal", Status::Passed, None),
            case("b", Status::Failed, Some("why")),
            case("c", Status::Skipped, Some("cannot")),
        ]);
        let found: serde_json::Value = serde_json::from_str(&report.to_json().unwrap()).unwrap();
        let expected = json!({"schema": 1, "complete": true, "runs": [{
            "backend": "cuda",
            "driver": {"kind": "soft", "version": "12.8", "path": "in-process"},
            "device": {"name": "G", "arch": "sm_80", "capabilities": []},
            "passed": 1, "failed": 1, "skipped": 1, "duration_s": 1.5,
            "cases": [
                {"suite": "semaphore", "name": "wait_before_signal", "status": "passed", "reason": null,
                 "duration_s": 0.5},
                {"suite": "semaphore", "name": "b", "status": "failed", "reason": "why", "duration_s": 0.5},
                {"suite": "semaphore", "name": "c", "status": "skipped", "reason": "cannot", "duration_s": 0.5},
            ],
        }]});
        assert_eq!(found, expected);
    }

    #[test]
    fn cases_of_a_suite_stand_together() {
        let of =
            |suite: &str, name: &str| CaseReport { suite: suite.into(), ..case(name, Status::Passed, None) };
        let report = report(vec![of("b", "1"), of("a", "2"), of("b", "3"), of("a", "4")]);
        let names: Vec<_> = report.runs[0].cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names, ["1", "3", "2", "4"]);
    }

    #[test]
    fn success_needs_one_case_in_every_run_and_no_failure() {
        let passed = || case("a", Status::Passed, None);
        let skipped = || case("b", Status::Skipped, Some("cannot"));
        assert_eq!(report(vec![passed(), skipped()]).shortcoming(), None);
        assert!(report(vec![skipped()]).shortcoming().unwrap().contains("cuda on soft"));
        assert!(report(vec![]).shortcoming().unwrap().contains("no case ran"));
        let failed = report(vec![passed(), case("c", Status::Failed, Some("x"))]);
        assert_eq!(failed.shortcoming().unwrap(), "1 case failed");
        assert!(Report { schema: SCHEMA, complete: true, runs: vec![] }.shortcoming().is_some());

        let mut two = report(vec![passed()]);
        two.runs.extend(report(vec![skipped()]).runs);
        assert!(two.shortcoming().is_some());
    }

    #[test]
    fn a_file_is_replaced_whole() {
        let folder = std::env::temp_dir().join(format!("hal-cts-report-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("report.json");
        write_atomically(&path, "old").unwrap();
        write_atomically(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        let error = write_atomically(&folder.join("none/report.json"), "x").unwrap_err();
        assert!(error.to_string().contains("none/report.json"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
