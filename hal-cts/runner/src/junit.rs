//! `junit.xml`, for the tools that show test results.

use crate::report::{CaseReport, Report, RunReport, Status};
use anyhow::Context as _;
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};
use std::time::Duration;

/// The text of `junit.xml`: one test suite for each suite of each run.
pub fn to_xml(report: &Report) -> anyhow::Result<String> {
    let mut junit = quick_junit::Report::new("hal-cts");
    junit.set_time(seconds(report.runs.iter().map(|run| run.duration_s).sum()));
    for run in &report.runs {
        // Cases of a suite stand together.
        for cases in run.cases.chunk_by(|a, b| a.suite == b.suite) {
            junit.add_test_suite(suite(run, cases));
        }
    }
    junit.to_string().context("cannot write the report as JUnit XML")
}

fn suite(run: &RunReport, cases: &[CaseReport]) -> TestSuite {
    let name = cases.first().map_or("", |case| case.suite.as_str());
    let name = format!("{}.{}.{name}", run.backend, run.driver.kind);
    let mut suite = TestSuite::new(name.as_str());
    suite.set_time(seconds(cases.iter().map(|case| case.duration_s).sum()));
    suite.add_property(("driver", format!("{} ({})", run.driver.version, run.driver.path).as_str()));
    suite.add_property(("device", format!("{} ({})", run.device.name, run.device.arch).as_str()));
    for case in cases {
        let reason = case.reason.as_deref().unwrap_or_default();
        let status = match case.status {
            Status::Passed => TestCaseStatus::success(),
            Status::Skipped => {
                let mut status = TestCaseStatus::skipped();
                status.set_message(reason);
                status
            }
            Status::Failed => {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                // Attributes lose line breaks, so the whole text stands in the element.
                status.set_message(reason.lines().next().unwrap_or_default()).set_description(reason);
                status
            }
        };
        let mut test = TestCase::new(case.name.as_str(), status);
        test.set_classname(name.as_str()).set_time(seconds(case.duration_s));
        suite.add_test_case(test);
    }
    suite
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{DeviceReport, DriverReport, SCHEMA};

    #[test]
    fn every_status_has_its_element() {
        let case = |suite: &str, name: &str, status, reason: Option<&str>| CaseReport {
            suite: suite.into(),
            name: name.into(),
            status,
            reason: reason.map(str::to_owned),
            duration_s: 0.25,
        };
        let cases = vec![
            case("buffer", "a", Status::Passed, None),
            case("buffer", "b", Status::Failed, Some("x < y & \u{1b}[31mred\nsecond line")),
            case("fence", "c", Status::Skipped, Some("no graphs")),
        ];
        let driver = DriverReport { kind: "soft".into(), version: "1".into(), path: "in-process".into() };
        let device = DeviceReport { name: "G".into(), arch: "sm_80".into(), capabilities: Vec::new() };
        let run = RunReport::new("hip".into(), driver, device, 1.0, cases);
        let xml = to_xml(&Report { schema: SCHEMA, complete: true, runs: vec![run] }).unwrap();
        let parsed = quick_junit::Report::deserialize_from_str(&xml).unwrap();
        let found: Vec<_> = parsed
            .test_suites
            .iter()
            .map(|suite| (suite.name.as_str(), suite.tests, suite.failures, suite.disabled))
            .map(|(name, tests, failures, _)| (name.to_owned(), tests, failures))
            .collect();
        assert_eq!(found, [("hip.soft.buffer".to_owned(), 2, 1), ("hip.soft.fence".to_owned(), 1, 0)]);
        assert!(xml.contains("no graphs") && xml.contains("second line") && xml.contains("x &lt; y &amp;"));
        assert!(!xml.contains('\u{1b}'));
    }
}
