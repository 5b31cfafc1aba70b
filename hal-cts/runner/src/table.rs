//! What a person reads at the end.

use crate::report::{CaseReport, Report, RunReport, Status};
use std::fmt::Write as _;

/// For each run, the failures with their reasons, then the counts by suite.
pub fn render(report: &Report) -> String {
    let mut text = String::new();
    for run in &report.runs {
        // Writing to a String cannot fail.
        let _ = render_run(&mut text, run);
    }
    text
}

fn render_run(text: &mut String, run: &RunReport) -> std::fmt::Result {
    let RunReport { driver, device, .. } = run;
    writeln!(text, "\n{}: {} ({})", run.title(), device.name, device.arch)?;
    writeln!(text, "driver {} from {}", driver.version, driver.path)?;
    for case in run.cases.iter().filter(|case| case.status == Status::Failed) {
        let reason = case.reason.as_deref().unwrap_or("no reason given");
        writeln!(text, "  FAILED {}/{}: {}", case.suite, case.name, reason.replace('\n', "\n         "))?;
    }
    let suites: Vec<_> = run.cases.chunk_by(|a, b| a.suite == b.suite).collect();
    let width = suites.iter().map(|cases| cases[0].suite.len()).max().unwrap_or(0).max("suite".len());
    writeln!(text, "  {:width$}  passed  failed  skipped     time", "suite")?;
    for cases in suites {
        let time = cases.iter().map(|case| case.duration_s).sum::<f64>();
        row(text, &cases[0].suite, width, cases, time)?;
    }
    row(text, "total", width, &run.cases, run.duration_s)
}

fn row(text: &mut String, name: &str, width: usize, cases: &[CaseReport], time: f64) -> std::fmt::Result {
    let count = |status| cases.iter().filter(|case| case.status == status).count();
    let [passed, failed, skipped] = [Status::Passed, Status::Failed, Status::Skipped].map(count);
    writeln!(text, "  {name:width$}  {passed:6}  {failed:6}  {skipped:7}  {time:5.1} s")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{DeviceReport, DriverReport, SCHEMA};

    #[test]
    fn failures_come_first_and_suites_are_counted() {
        let case = |suite: &str, name: &str, status, reason: Option<&str>| CaseReport {
            suite: suite.into(),
            name: name.into(),
            status,
            reason: reason.map(str::to_owned),
            duration_s: 1.0,
        };
        let cases = vec![
            case("buffer", "a", Status::Passed, None),
            case("semaphore", "b", Status::Failed, Some("one\ntwo")),
            case("semaphore", "c", Status::Skipped, Some("cannot")),
        ];
        let driver = DriverReport { kind: "soft".into(), version: "1".into(), path: "in-process".into() };
        let device = DeviceReport { name: "G".into(), arch: "sm_80".into(), capabilities: Vec::new() };
        let run = RunReport::new("cuda".into(), driver, device, 2.0, cases);
        let text = render(&Report { schema: SCHEMA, complete: true, runs: vec![run] });
        let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} is not in {text}"));
        assert!(place("cuda on soft: G (sm_80)") < place("FAILED semaphore/b: one\n         two"));
        assert!(place("FAILED") < place("  buffer          1       0        0    1.0 s"));
        assert!(place("  semaphore       0       1        1    2.0 s") < place("  total "));
    }
}
