//! The conformance suite as a program: needs no toolchain where it runs, and brings its kernels along.

// A command line program talks on the terminal.
#![allow(clippy::print_stderr)]

mod exec;
mod glob;
mod instruments;
mod isolate;
mod junit;
mod page;
mod plan;
mod protocol;
mod report;
mod run;
mod table;
mod target;

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use glob::Glob;
use instruments::Instruments;
use plan::{Plan, Wishes};
use report::{Report, SCHEMA};
use std::ffi::OsString;
use std::io::Write as _;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use target::{DriverArg, Target};

/// Something is missing or was asked for wrongly, so that nothing can be said of the cases.
const CANNOT: u8 = 2;

#[derive(Parser)]
#[command(name = "hal-cts", version, about = "The conformance suite of the HAL")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run cases, each in a process of its own. Exits with 0 only if in every run a case ran and none failed.
    Run(RunArgs),
    /// List the cases, and why a device cannot run some.
    List(Selection),
    #[command(hide = true)]
    Probe(ChildArgs),
    #[command(hide = true)]
    Exec(ExecArgs),
}

#[derive(clap::Args)]
struct Selection {
    /// Test this backend: cuda or hip. May be repeated [default: every backend]
    #[arg(long, value_name = "BACKEND")]
    backend: Vec<String>,
    /// soft, system, or the path of a driver library [default: soft, and system where there is one]
    #[arg(long, value_name = "DRIVER")]
    driver: Option<OsString>,
    /// The device's number in the driver's list
    #[arg(long, value_name = "N", default_value_t = 0)]
    device: u32,
    /// Cases whose suite/name (or suite) fits, with * and ?. May be repeated [default: every case]
    #[arg(long, value_name = "GLOB")]
    filter: Vec<Glob>,
}

#[derive(clap::Args)]
struct RunArgs {
    #[command(flatten)]
    selection: Selection,
    /// Write index.html, report.json and junit.xml to this folder
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Kill a case after this time
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    timeout: Duration,
    /// Cases at a time [default: the number of processors; 1 on a real driver]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// On the software GPU, let a seed decide the order of device work
    #[arg(long, value_name = "N", conflicts_with = "order_seeds", value_parser = instruments::seeds)]
    order_seed: Option<RangeInclusive<u64>>,
    /// Run every case once for each of these seeds
    #[arg(long, value_name = "A..=B", value_parser = instruments::seeds)]
    order_seeds: Option<RangeInclusive<u64>>,
    /// On the software GPU, turn every checker on; a case fails if one reports something
    #[arg(long)]
    checkers: bool,
}

#[derive(clap::Args)]
struct ChildArgs {
    #[arg(long)]
    backend: String,
    #[arg(long)]
    driver: OsString,
    #[arg(long)]
    device: u32,
}

#[derive(clap::Args)]
struct ExecArgs {
    #[command(flatten)]
    target: ChildArgs,
    case: String,
}

impl Selection {
    fn wishes(self) -> Wishes {
        Wishes {
            backends: self.backend,
            driver: self.driver.map(DriverArg::parse),
            device: self.device,
            filters: self.filter,
        }
    }
}

impl ChildArgs {
    fn target(self) -> Target {
        Target { backend: self.backend, driver: DriverArg::parse(self.driver), device: self.device }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|error| format!("{error}"))?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        Ok(_) => Err("must be more than 0".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Run(args) => run_cases(args),
        Command::List(selection) => list_cases(selection),
        Command::Probe(args) => {
            exec::end_with_parent();
            exec::probe(&args.target());
            Ok(ExitCode::SUCCESS)
        }
        Command::Exec(args) => {
            exec::end_with_parent();
            Ok(exec::case(&args.target.target(), &args.case))
        }
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(CANNOT)
    })
}

fn run_cases(args: RunArgs) -> anyhow::Result<ExitCode> {
    if let Some(folder) = &args.report {
        // Before the work, so that it is not lost for a folder that cannot be.
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let complete = args.selection.filter.is_empty();
    let plan = make_plan(args.selection)?;
    let seeds: Vec<Option<u64>> = match args.order_seed.or(args.order_seeds) {
        Some(seeds) => seeds.map(Some).collect(),
        None => vec![None],
    };
    let mut report = Report { schema: SCHEMA, complete, runs: Vec::new() };
    for run in &plan.runs {
        let jobs = args.jobs.unwrap_or_else(|| run::default_jobs(run));
        let once = |with: &Instruments| run::run(run, with, jobs, args.timeout);
        report.runs.extend(instruments::over_seeds(&seeds, args.checkers, once));
    }
    print(&table::render(&report))?;
    if let Some(folder) = &args.report {
        report::write_atomically(&folder.join("report.json"), &report.to_json()?)?;
        report::write_atomically(&folder.join("junit.xml"), &junit::to_xml(&report)?)?;
        report::write_atomically(&folder.join("index.html"), &page::to_html(&report))?;
        print(&format!("\nindex.html, report.json and junit.xml are in {}\n", folder.display()))?;
    }
    match report.shortcoming() {
        None => Ok(ExitCode::SUCCESS),
        Some(reason) => {
            eprintln!("error: {reason}");
            Ok(ExitCode::FAILURE)
        }
    }
}

fn list_cases(selection: Selection) -> anyhow::Result<ExitCode> {
    let mut text = String::new();
    for run in make_plan(selection)?.runs {
        for case in &run.cases {
            let skip = case.skip.as_ref().map(|reason| format!("  skipped: {reason}")).unwrap_or_default();
            text += &format!("{:4} {:6} {}{skip}\n", run.target.backend, run.driver.kind, case.id());
        }
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn make_plan(selection: Selection) -> anyhow::Result<Plan> {
    let plan = plan::make(&selection.wishes())?;
    for note in &plan.notes {
        eprintln!("note: {note}");
    }
    Ok(plan)
}

/// Prints, unless nobody reads any more.
fn print(text: &str) -> anyhow::Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output")
        }
        _ => Ok(()),
    }
}
