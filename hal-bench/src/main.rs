//! What the HAL itself costs: instructions, allocations, native calls, time, memory. `docs/benchmarks.md` says how to
//! read it.
//!
//! A program of its own, so that it runs where there is no toolchain: `hal-bench overhead --report FILE`.

// A command line program talks on the terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use std::path::PathBuf;

mod allocations;
mod by_hand;
mod fit;
mod futex;
mod gauge;
mod idle;
mod instructions;
mod memory;
mod mock;
mod overhead;
mod report;
mod rig;
mod scaling;
mod steady;
mod table;

#[derive(Parser)]
#[command(name = "hal-bench", about = "What the HAL itself costs")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure everything, over a device that does nothing and over the software GPU.
    Overhead {
        /// Fewer repetitions, and at most 10^5 pending submissions
        #[arg(long)]
        quick: bool,
        /// Write the figures to this file, as JSON
        #[arg(long, value_name = "FILE")]
        report: Option<PathBuf>,
    },
    /// Run batches of submissions: what valgrind is to look at.
    Subject {
        /// The device
        target: rig::Target,
        /// What its submissions go through
        path: rig::Path,
        /// How many batches, after those that warm it up
        batches: u64,
    },
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Overhead { quick, report } => {
            let all = overhead::measure(quick);
            table::print(&all);
            match report {
                Some(file) => write(&file, &report::json(&all)),
                None => Ok(()),
            }
        }
        Command::Subject { target, path, batches } => instructions::subject(target, path, batches),
    }
}

fn write(file: &PathBuf, report: &serde_json::Value) -> anyhow::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let text = serde_json::to_string_pretty(report)?;
    std::fs::write(file, text + "\n").with_context(|| format!("cannot write {}", file.display()))?;
    println!("\nwritten to {}", file.display());
    Ok(())
}
