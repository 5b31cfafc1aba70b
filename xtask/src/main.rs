//! Project commands: `cargo xtask <command>`. One file per command.

// A command line program talks on the terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use clap::{Parser, Subcommand};

mod artifacts;
mod bench;
mod bindings;
mod conformance;
mod cts;
mod info;
mod kernels;
mod model;
mod softgpu;
mod symbols;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Project commands")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure what the HAL itself costs.
    Bench(bench::Args),
    /// Write docs/conformance.md from the last complete run of the suite on the software GPU, or check it.
    Conformance(conformance::Args),
    /// Build and run the conformance suite.
    Cts(cts::Args),
    /// List every driver and device, and why a driver could not be loaded.
    Info(info::Args),
    /// Compile kernels/*.cu to the committed PTX and AMD code objects.
    Kernels(kernels::Args),
    /// Check the protocols of hal-utils: every interleaving of small models, random ones of the whole queue.
    Model(model::Args),
    /// Generate the committed bindings from the vendors' headers.
    Bindings(bindings::Args),
    /// Compare a backend's symbol table with a library.
    Symbols(symbols::Args),
    /// Build the software GPU as a driver under target/softgpu.
    Softgpu(softgpu::Args),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Bench(args) => bench::run(args),
        Command::Conformance(args) => conformance::run(args),
        Command::Cts(args) => cts::run(args),
        Command::Info(args) => info::run(args),
        Command::Kernels(args) => kernels::run(args),
        Command::Model(args) => model::run(args),
        Command::Bindings(args) => bindings::run(args),
        Command::Symbols(args) => symbols::run(args),
        Command::Softgpu(args) => softgpu::run(args),
    }
}
