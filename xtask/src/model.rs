//! `cargo xtask model`: the protocols of hal-utils under model checkers.
//!
//! Loom goes through every interleaving of small models, shuttle through random ones of the whole queue over a mock
//! device. Both are compiled into hal-utils in place of its primitives by a flag of our own, so the builds have a folder
//! of their own, `target/model`.
//!
//! `cargo xtask model --shuttle --schedules 10000000 --seed N` is the long run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::Context as _;

use crate::artifacts;

/// What marks a test as a model.
const MODELS: &str = "models::";

#[derive(clap::Args)]
pub struct Args {
    /// Only the exhaustive models.
    #[arg(long, conflicts_with = "shuttle")]
    loom: bool,
    /// Only the random ones.
    #[arg(long)]
    shuttle: bool,
    /// Random schedules, over all models together.
    #[arg(long, value_name = "N", default_value_t = 120_000)]
    schedules: u64,
    /// Where the random schedules begin.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Only models whose name contains this.
    #[arg(long, value_name = "NAME", default_value = MODELS, hide_default_value = true)]
    model: String,
    /// Repeat one schedule of one model, from the file that its failure names.
    #[arg(long, value_name = "FILE", requires = "model", conflicts_with = "loom")]
    replay: Option<PathBuf>,
}

pub fn run(args: Args) -> anyhow::Result<()> {
    let folder = artifacts::target_directory()?.join("model");
    if !args.shuttle && args.replay.is_none() {
        // Unoptimised: they take seconds, and so does the build.
        let began = Instant::now();
        let mut checker = Checker { name: "loom", folder: &folder, variables: Vec::new() };
        checker.set("CARGO_PROFILE_DEV_DEBUG", "0");
        checker.test(&[], &args.model)?;
        println!("loom: {} s", began.elapsed().as_secs());
    }
    if !args.loom {
        let began = Instant::now();
        shuttle(&args, &folder)?;
        println!("shuttle: {} s", began.elapsed().as_secs());
    }
    Ok(())
}

fn shuttle(args: &Args, folder: &Path) -> anyhow::Result<()> {
    let mut checker = Checker { name: "shuttle", folder, variables: Vec::new() };
    // With the checks of lock order.
    checker.set("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true");
    let models = checker.count(&args.model)?;
    anyhow::ensure!(models > 0, "no model has `{}` in its name", args.model);
    let each = args.schedules.div_ceil(models);
    checker.set("HAL_MODEL_SCHEDULES", &each.to_string());
    checker.set("HAL_MODEL_SEED", &args.seed.to_string());
    if let Some(replay) = &args.replay {
        anyhow::ensure!(
            models == 1,
            "{models} models have `{}` in their name; name the one to replay",
            args.model
        );
        let replay = replay.canonicalize().with_context(|| format!("cannot find {}", replay.display()))?;
        checker.set("HAL_MODEL_REPLAY", &replay.to_string_lossy());
    } else {
        println!("shuttle: {models} models, {each} schedules each, from seed {}", args.seed);
    }
    checker.test(&["--release"], &args.model)
}

/// hal-utils' tests, compiled for one model checker.
struct Checker<'a> {
    name: &'static str,
    folder: &'a Path,
    variables: Vec<(&'static str, String)>,
}

impl Checker<'_> {
    fn set(&mut self, variable: &'static str, value: &str) {
        self.variables.push((variable, value.to_owned()));
    }

    fn cargo(&self, options: &[&str], filter: &str) -> Command {
        let mut command = artifacts::cargo();
        command.args(["test", "--locked", "--package", "hal-utils", "--lib", "--target-dir"]);
        command.arg(self.folder.join(self.name)).args(options).arg(filter);
        let others = std::env::var("RUSTFLAGS").unwrap_or_default();
        command.env("RUSTFLAGS", format!("{others} --cfg hal_{}", self.name));
        // Failed schedules go here.
        command.env("HAL_MODEL_FOLDER", self.folder);
        command.envs(self.variables.iter().map(|(variable, value)| (variable, value)));
        command
    }

    /// How many models have this in their name.
    fn count(&self, filter: &str) -> anyhow::Result<u64> {
        let mut command = self.cargo(&["--release"], filter);
        let output = command.args(["--", "--list"]).stderr(std::process::Stdio::inherit()).output();
        let output = output.context("cannot start cargo")?;
        anyhow::ensure!(output.status.success(), "building the models for {} failed", self.name);
        let listed = String::from_utf8_lossy(&output.stdout);
        Ok(listed.lines().filter(|line| line.contains(MODELS) && line.ends_with(": test")).count() as u64)
    }

    fn test(&self, options: &[&str], filter: &str) -> anyhow::Result<()> {
        let status = self.cargo(options, filter).status().context("cannot start cargo")?;
        anyhow::ensure!(status.success(), "a model failed under {}; its output is above", self.name);
        Ok(())
    }
}
