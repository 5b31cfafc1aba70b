//! The software GPU's instruments: seeds for the order of device work, and checkers.

use crate::report::{CaseReport, RunReport, Status};
use std::ops::RangeInclusive;

/// What a process ends with when a checker had something to report.
const FOUND: &str = "86";

/// Which instruments a run uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Instruments {
    /// The seed that decides the order of device work; without one, time does.
    pub seed: Option<u64>,
    /// Whether every checker is on; a case fails if one reports something.
    pub checkers: bool,
}

impl Instruments {
    /// The environment of a process that uses them.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let mut settings = Vec::new();
        if let Some(seed) = self.seed {
            settings.push(("SOFTGPU_ORDER", seed.to_string()));
        }
        if self.checkers {
            settings.push(("SOFTGPU_CHECK", "all".to_owned()));
            settings.push(("SOFTGPU_CHECK_EXIT", FOUND.to_owned()));
        }
        settings
    }

    /// Says with which seed a case failed.
    fn name(&self, report: &mut CaseReport) {
        if let (Some(seed), Some(reason), Status::Failed) = (self.seed, &mut report.reason, report.status) {
            *reason = format!("with order seed {seed}: {reason}");
        }
    }
}

/// Runs the same cases once for each seed. A case failed if it failed once; the reason is that of the first time.
pub fn over_seeds(
    seeds: &[Option<u64>],
    checkers: bool,
    mut run: impl FnMut(&Instruments) -> RunReport,
) -> Option<RunReport> {
    let mut all: Option<RunReport> = None;
    for seed in seeds {
        let instruments = Instruments { seed: *seed, checkers };
        let mut report = run(&instruments);
        report.cases.iter_mut().for_each(|case| instruments.name(case));
        all = Some(match all {
            None => report,
            Some(before) => merged(before, report),
        });
    }
    all
}

fn merged(before: RunReport, after: RunReport) -> RunReport {
    let cases = before.cases.into_iter().zip(after.cases).map(|(before, after)| {
        let duration_s = before.duration_s + after.duration_s;
        let kept = if before.status == Status::Failed { before } else { after };
        CaseReport { duration_s, ..kept }
    });
    let duration_s = before.duration_s + after.duration_s;
    RunReport::new(before.backend, before.driver, before.device, duration_s, cases.collect())
}

/// Reads `17` or `1..=200`.
pub fn seeds(text: &str) -> Result<RangeInclusive<u64>, String> {
    let number = |text: &str| text.trim().parse::<u64>().map_err(|error| format!("`{text}`: {error}"));
    let (first, last) = match text.split_once("..=") {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(text)?, number(text)?),
    };
    if first > last { Err(format!("{first} is more than {last}")) } else { Ok(first..=last) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{DeviceReport, DriverReport};

    #[test]
    fn ranges_of_seeds() {
        assert_eq!(seeds("7"), Ok(7..=7));
        assert_eq!(seeds("1..=200"), Ok(1..=200));
        for bad in ["", "x", "2..=1", "1..2", "-1"] {
            assert!(seeds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_case_fails_if_it_fails_with_one_seed() {
        let run = |instruments: &Instruments| {
            let failed = instruments.seed == Some(2);
            let case = CaseReport {
                suite: "s".into(),
                name: "n".into(),
                status: if failed { Status::Failed } else { Status::Passed },
                reason: failed.then(|| "why".to_owned()),
                duration_s: 1.0,
            };
            let driver = DriverReport { kind: "soft".into(), version: "1".into(), path: "p".into() };
            let device = DeviceReport { name: "G".into(), arch: "sm_80".into(), capabilities: Vec::new() };
            RunReport::new("cuda".into(), driver, device, 1.0, vec![case])
        };
        let all = over_seeds(&[Some(1), Some(2), Some(3)], false, run).unwrap();
        assert_eq!((all.passed, all.failed, all.duration_s), (0, 1, 3.0));
        assert_eq!(all.cases[0].reason.as_deref(), Some("with order seed 2: why"));
        assert!(over_seeds(&[], false, run).is_none());
    }

    #[test]
    fn instruments_are_set_by_the_environment() {
        assert_eq!(Instruments::default().settings(), []);
        let all = Instruments { seed: Some(3), checkers: true }.settings();
        assert_eq!(all[0], ("SOFTGPU_ORDER", "3".to_owned()));
        assert_eq!(all.len(), 3);
    }
}
