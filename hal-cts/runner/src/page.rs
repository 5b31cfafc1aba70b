//! `index.html`: the report as a page a person reads. Failures first, then each run, suite by suite. Everything it needs
//! stands in it, so that it can be sent as one file.

use crate::report::{CaseReport, Report, RunReport, Status};
use std::fmt::Write as _;

const STYLE: &str = include_str!("page.css");

/// The text of `index.html`.
pub fn to_html(report: &Report) -> String {
    let failed: usize = report.runs.iter().map(|run| run.failed).sum();
    let verdict = match report.shortcoming() {
        None => "<span class=\"verdict passed\">all passed</span>".to_owned(),
        Some(reason) => format!("<span class=\"verdict failed\">{}</span>", escaped(&reason)),
    };
    let mut body = format!("<h1>Conformance {verdict}</h1>\n<div class=\"cards\">\n");
    for (number, run) in report.runs.iter().enumerate() {
        body += &card(number, run);
    }
    body += "</div>\n";
    if failed > 0 {
        body += &failures(report);
    }
    for (number, run) in report.runs.iter().enumerate() {
        body += &suites(number, run);
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Conformance: {}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n",
        if failed > 0 { format!("{failed} failed") } else { "no failures".to_owned() }
    )
}

/// One run at a glance.
fn card(number: usize, run: &RunReport) -> String {
    let cases = run.cases.len().max(1) as f64;
    let part = |class: &str, count: usize| {
        format!("<i class=\"{class}\" style=\"width:{:.2}%\"></i>", count as f64 / cases * 100.0)
    };
    format!(
        "<a class=\"card\" href=\"#run{number}\"><h2>{}</h2><p class=\"counts\"><b class=\"passed\">{}</b> passed \
         <b class=\"failed\">{}</b> failed <b class=\"skipped\">{}</b> skipped <span>{}</span></p>\
         <p class=\"bar\">{}{}{}</p><p class=\"quiet\">{} ({})<br>driver {} ({})</p></a>\n",
        escaped(&run.title()),
        run.passed,
        run.failed,
        run.skipped,
        duration(run.duration_s),
        part("failed", run.failed),
        part("passed", run.passed),
        part("skipped", run.skipped),
        escaped(&run.device.name),
        escaped(&run.device.arch),
        escaped(&run.driver.version),
        escaped(&run.driver.path),
    )
}

fn failures(report: &Report) -> String {
    let mut text = "<section class=\"failures\">\n<h2>Failures</h2>\n".to_owned();
    for run in &report.runs {
        for case in run.cases.iter().filter(|case| case.status == Status::Failed) {
            let _ = writeln!(
                text,
                "<article><h3>{} <span class=\"quiet\">{}, {}</span></h3><pre>{}</pre></article>",
                escaped(&format!("{}/{}", case.suite, case.name)),
                escaped(&run.title()),
                duration(case.duration_s),
                escaped(case.reason.as_deref().unwrap_or("no reason was given"))
            );
        }
    }
    text + "</section>\n"
}

/// Every suite of a run, those with failures first and open.
fn suites(number: usize, run: &RunReport) -> String {
    let mut text = format!("<section id=\"run{number}\">\n<h2>{}</h2>\n", escaped(&run.title()));
    // Cases of a suite stand together.
    let mut suites: Vec<&[CaseReport]> = run.cases.chunk_by(|a, b| a.suite == b.suite).collect();
    suites.sort_by_key(|cases| count(cases, Status::Failed) == 0);
    for cases in suites {
        let failed = count(cases, Status::Failed);
        let skipped = count(cases, Status::Skipped);
        let mut tallies = format!("{} passed", count(cases, Status::Passed));
        if failed > 0 {
            let _ = write!(tallies, ", <b class=\"failed\">{failed} failed</b>");
        }
        if skipped > 0 {
            let _ = write!(tallies, ", {skipped} skipped");
        }
        let _ = writeln!(
            text,
            "<details{}><summary><b>{}</b> <span>{tallies}</span> <span class=\"time\">{}</span></summary>\n<table>",
            if failed > 0 { " open" } else { "" },
            escaped(cases.first().map_or("", |case| &case.suite)),
            duration(cases.iter().map(|case| case.duration_s).sum()),
        );
        let mut cases: Vec<&CaseReport> = cases.iter().collect();
        cases.sort_by_key(|case| case.status != Status::Failed);
        for case in cases {
            text += &row(case);
        }
        text += "</table>\n</details>\n";
    }
    text + "</section>\n"
}

fn row(case: &CaseReport) -> String {
    let status = match case.status {
        Status::Passed => "passed",
        Status::Failed => "failed",
        Status::Skipped => "skipped",
    };
    // What failed is told in full above.
    let reason = case.reason.as_deref().and_then(|reason| reason.lines().next()).unwrap_or_default();
    format!(
        "<tr><td class=\"{status}\">{status}</td><td>{}<div class=\"quiet\">{}</div></td><td class=\"time\">{}</td></tr>\n",
        escaped(&case.name),
        escaped(reason),
        duration(case.duration_s)
    )
}

fn count(cases: &[CaseReport], status: Status) -> usize {
    cases.iter().filter(|case| case.status == status).count()
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s >= 60.0 => format!("{}:{:02} min", s as u64 / 60, s as u64 % 60),
        s if s >= 1.0 => format!("{s:.1} s"),
        s => format!("{:.0} ms", s * 1000.0),
    }
}

/// Text as HTML. Control characters, which a driver's words may have, become visible.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html += "&amp;",
            '<' => html += "&lt;",
            '>' => html += "&gt;",
            '"' => html += "&quot;",
            '\n' | '\t' => html.push(c),
            c if c.is_control() => html.push('\u{fffd}'),
            c => html.push(c),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{DeviceReport, DriverReport, SCHEMA};

    fn page(cases: Vec<CaseReport>) -> String {
        let driver = DriverReport { kind: "soft".into(), version: "1".into(), path: "in-process".into() };
        let device = DeviceReport { name: "G<1>".into(), arch: "sm_80".into(), capabilities: Vec::new() };
        let run = RunReport::new("hip".into(), driver, device, 61.0, cases);
        to_html(&Report { schema: SCHEMA, complete: true, runs: vec![run] })
    }

    fn case(suite: &str, name: &str, status: Status, reason: Option<&str>) -> CaseReport {
        let reason = reason.map(str::to_owned);
        CaseReport { suite: suite.into(), name: name.into(), status, reason, duration_s: 0.25 }
    }

    #[test]
    fn failures_come_first_and_nothing_is_taken_for_markup() {
        let html = page(vec![
            case("buffer", "fine", Status::Passed, None),
            case("fence", "other", Status::Passed, None),
            case("fence", "broken", Status::Failed, Some("x < y & \u{1b}[31m\nsecond line")),
            case("graph", "cannot", Status::Skipped, Some("no graphs")),
        ]);
        let at = |part: &str| html.find(part).unwrap_or_else(|| panic!("{part} is not in {html}"));
        assert!(at("x &lt; y &amp; \u{fffd}[31m\nsecond line") < at("id=\"run0\""));
        assert!(at("<details open><summary><b>fence") < at("<details><summary><b>buffer"));
        assert!(html.rfind("broken").unwrap() < html.rfind("other").unwrap());
        for part in ["1 case failed", "G&lt;1&gt;", "1:01 min", "250 ms", "no graphs"] {
            at(part);
        }
        assert!(!html.contains("G<1>") && !html.contains('\u{1b}'));
    }

    #[test]
    fn it_stands_alone() {
        let html = page(vec![case("buffer", "fine", Status::Passed, None)]);
        assert!(html.contains("all passed") && !html.contains("Failures"));
        for outside in ["http:", "https:", "<script", "<link", "@import", "url("] {
            assert!(!html.contains(outside), "{outside}");
        }
    }
}
