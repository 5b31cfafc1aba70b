//! `cargo xtask kernels`: compile kernels/*.cu to the committed PTX and AMD code objects.
//!
//! Building and testing the workspace needs no device compiler: the results are committed, with a manifest of what they
//! were made from. `--check` shows that a rebuild gives the same bytes or, without compilers, that nothing was changed
//! by hand.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

mod manifest;
mod recipe;

use manifest::Manifest;

/// The exit status of a check that could only be made in part, as automake has it.
const SKIPPED: i32 = 77;
/// What `--ptxas` assembles for. The oldest is the oldest that CUDA 13 still knows.
const PTXAS_TARGETS: [&str; 3] = ["sm_75", "sm_90", "sm_120"];

#[derive(clap::Args)]
pub struct Args {
    /// Rebuild elsewhere and compare with the committed files. Without the compilers, verifies the committed files
    /// against the manifest and exits with 77.
    #[arg(long)]
    check: bool,
    /// Also assemble every PTX file with this ptxas (any of CUDA 12 or 13).
    #[arg(long, value_name = "PATH")]
    ptxas: Option<PathBuf>,
}

pub fn run(args: Args) -> anyhow::Result<()> {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels");
    let kernels = kernels.canonicalize().with_context(|| format!("cannot find {}", kernels.display()))?;
    let missing = recipe::missing_tools();
    if args.check {
        check(&kernels, missing.is_none())?;
    } else {
        if let Some(missing) = &missing {
            anyhow::bail!("{missing}");
        }
        compile(&kernels)?;
    }
    if let Some(ptxas) = &args.ptxas {
        assemble(&kernels, ptxas)?;
    }
    if let Some(missing) = missing {
        eprintln!("kernels: rebuilding skipped: {missing}");
        std::process::exit(SKIPPED);
    }
    Ok(())
}

fn compile(kernels: &Path) -> anyhow::Result<()> {
    let steps = recipe::steps(kernels)?;
    let built = Scratch::build(kernels, &steps)?;
    let manifest = Manifest::describe(kernels, &built.0, &steps)?;
    for stale in manifest::output_names(kernels)? {
        std::fs::remove_file(kernels.join(&stale)).with_context(|| format!("cannot remove {stale}"))?;
    }
    for step in &steps {
        let target = kernels.join(&step.output);
        if let Some(folder) = target.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::copy(built.0.join(&step.output), &target)
            .with_context(|| format!("cannot write {}", step.output))?;
    }
    manifest.write(&kernels.join("manifest.json"))?;
    println!("compiled {} sources to {} files", manifest.sources.len(), steps.len());
    Ok(())
}

fn check(kernels: &Path, rebuild: bool) -> anyhow::Result<()> {
    let committed = Manifest::read(&kernels.join("manifest.json"))?;
    let mut found = committed.deviations(kernels)?;
    if found.is_empty() {
        println!("{} committed files are as the manifest says", committed.outputs.len());
    }
    if rebuild {
        let steps = recipe::steps(kernels)?;
        let built = Scratch::build(kernels, &steps)?;
        let differences = committed.differences(&Manifest::describe(kernels, &built.0, &steps)?);
        if differences.is_empty() {
            println!("a rebuild gives the same bytes");
        }
        found.extend(differences);
    }
    anyhow::ensure!(
        found.is_empty(),
        "{}\nrun `cargo xtask kernels` and commit the result",
        found.join("\n")
    );
    Ok(())
}

/// Lets the vendor's assembler judge the committed PTX.
fn assemble(kernels: &Path, ptxas: &Path) -> anyhow::Result<()> {
    let mut assembled = 0;
    for name in manifest::output_names(kernels)?.iter().filter(|name| name.ends_with(".ptx")) {
        for target in PTXAS_TARGETS {
            let output = Command::new(ptxas)
                .args(["-arch", target, "-o", "/dev/null"])
                .arg(kernels.join(name))
                .output()
                .with_context(|| format!("cannot start {}", ptxas.display()))?;
            let complaint = String::from_utf8_lossy(&output.stderr);
            anyhow::ensure!(output.status.success(), "{name} for {target}: {complaint}");
            assembled += 1;
        }
    }
    println!("ptxas accepts all: {assembled} runs");
    Ok(())
}

/// A folder of fresh outputs, removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn build(kernels: &Path, steps: &[recipe::Step]) -> anyhow::Result<Scratch> {
        let path = std::env::temp_dir().join(format!("hal-kernels-{}", std::process::id()));
        let scratch = Scratch(path);
        for step in steps {
            step.run(kernels, &scratch.0)?;
        }
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("kernels: cannot remove {}: {error}", self.0.display());
        }
    }
}
