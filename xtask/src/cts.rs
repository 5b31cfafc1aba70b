//! `cargo xtask cts`: build the conformance suite and the software GPU, and run the one on the other.
//!
//! The suite is a program of its own, `hal-cts`, which also runs where there is no toolchain; this builds and calls it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;

use crate::{artifacts, conformance, softgpu};

/// Options of `hal-cts run`, passed on as they are.
#[derive(clap::Args)]
pub struct Args {
    /// Test this backend: cuda or hip. May be repeated [default: every backend]
    #[arg(long, value_name = "BACKEND")]
    backend: Vec<OsString>,
    /// soft, system, or the path of a driver library [default: soft, and system where there is one]
    #[arg(long, value_name = "DRIVER")]
    driver: Option<OsString>,
    /// The device's number in the driver's list [default: 0]
    #[arg(long, value_name = "N")]
    device: Option<OsString>,
    /// Cases whose suite/name (or suite) fits, with * and ?. May be repeated [default: every case]
    #[arg(long, value_name = "GLOB")]
    filter: Vec<OsString>,
    /// List the cases instead of running them
    #[arg(long)]
    list: bool,
    /// Write index.html, report.json and junit.xml to this folder [default: target/cts]
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Kill a case after this time [default: 60]
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<OsString>,
    /// Cases at a time [default: the number of processors; 1 on a real driver]
    #[arg(long, value_name = "N")]
    jobs: Option<OsString>,
    /// On the software GPU, let a seed decide the order of device work
    #[arg(long, value_name = "N")]
    order_seed: Option<OsString>,
    /// Run every case once for each of these seeds
    #[arg(long, value_name = "A..=B")]
    order_seeds: Option<OsString>,
    /// On the software GPU, turn every checker on; a case fails if one reports something
    #[arg(long)]
    checkers: bool,
    /// Write docs/conformance.md from the report afterwards; for complete runs on the software GPU
    #[arg(long)]
    write_conformance: bool,
}

pub fn run(args: Args) -> anyhow::Result<()> {
    // The interpreter is optimised in the development profile too, so that is the quickest way to a result.
    let files = artifacts::build(&["hal-cts-runner", softgpu::PACKAGE])?;
    softgpu::install(&files)?;
    let report = match &args.report {
        Some(folder) => folder.clone(),
        None => artifacts::target_directory()?.join("cts"),
    };
    let program = artifacts::find(&files, "hal-cts")?;
    let write_conformance = args.write_conformance && !args.list;
    let status = Command::new(&program)
        .args(arguments(args, report.clone()))
        .status()
        .with_context(|| format!("cannot start {}", program.display()))?;
    if !status.success() {
        // It has said why.
        std::process::exit(status.code().unwrap_or(1));
    }
    if write_conformance {
        conformance::write(&report)?;
    }
    Ok(())
}

fn arguments(args: Args, report: PathBuf) -> Vec<OsString> {
    let mut passed = vec![OsString::from(if args.list { "list" } else { "run" })];
    let mut pass = |name: &str, values: Vec<OsString>| {
        for value in values {
            // In one word, so that a value that begins with a dash stays a value.
            let mut option = OsString::from(format!("--{name}="));
            option.push(value);
            passed.push(option);
        }
    };
    pass("backend", args.backend);
    pass("driver", args.driver.into_iter().collect());
    pass("device", args.device.into_iter().collect());
    pass("filter", args.filter);
    if !args.list {
        pass("report", vec![report.into()]);
        pass("timeout", args.timeout.into_iter().collect());
        pass("jobs", args.jobs.into_iter().collect());
        pass("order-seed", args.order_seed.into_iter().collect());
        pass("order-seeds", args.order_seeds.into_iter().collect());
        if args.checkers {
            passed.push("--checkers".into());
        }
    }
    passed
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[derive(clap::Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    fn passed(line: &str) -> String {
        let args = Cli::parse_from(line.split(' ')).args;
        let passed = arguments(args, "target/cts".into());
        passed.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn options_are_passed_on() {
        assert_eq!(passed("cts"), "run --report=target/cts");
        assert_eq!(
            passed(
                "cts --backend cuda --backend hip --driver soft --device 1 --filter a/* --timeout 5 --jobs 3"
            ),
            "run --backend=cuda --backend=hip --driver=soft --device=1 --filter=a/* --report=target/cts --timeout=5 \
             --jobs=3"
        );
        assert_eq!(
            passed("cts --order-seeds 1..=3 --checkers"),
            "run --report=target/cts --order-seeds=1..=3 --checkers"
        );
        assert_eq!(passed("cts --list --backend hip --jobs 3"), "list --backend=hip");
    }
}
