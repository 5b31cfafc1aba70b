//! `cargo xtask bench`: what the HAL itself costs, and what softgpu's interpreter costs.
//!
//! The programs are `hal-bench`, which also runs where there is no toolchain, and a bench target of softgpu; this
//! builds them optimised and calls them.

use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use crate::artifacts;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Instructions, allocations, native calls, time and memory; written to target/bench/overhead.json
    Overhead {
        /// Fewer repetitions, and at most 10^5 pending submissions
        #[arg(long)]
        quick: bool,
    },
    /// Kernels on softgpu's interpreter, as ratios to plain Rust; fails if one is above its limit
    Softgpu,
}

pub fn run(args: Args) -> anyhow::Result<()> {
    // The cargo that runs this command, if one does.
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    match args.what {
        What::Overhead { quick } => {
            let report = artifacts::target_directory()?.join("bench").join("overhead.json");
            command.args(["run", "--release", "--package", "hal-bench", "--", "overhead", "--report"]);
            command.arg(report);
            if quick {
                command.arg("--quick");
            }
        }
        What::Softgpu => {
            command.args(["bench", "--package", "softgpu", "--bench", "interpreter"]);
        }
    }
    let status = command.status().context("cannot start cargo")?;
    if !status.success() {
        // It has said why.
        std::process::exit(status.code().unwrap_or(1));
    }
    Ok(())
}
