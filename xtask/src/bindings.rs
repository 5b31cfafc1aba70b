//! `cargo xtask bindings`: generate the committed bindings of both backends from the vendors' headers.
//!
//! Nobody needs this to build: the result is committed. It runs when a function is added to `names.rs` or a header
//! version is raised, and with `--check` to show that the committed files are what the headers say.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;

mod aliases;
mod headers;
mod names;

use headers::Headers;

/// The exit status of a check that could not be made, as automake has it.
const SKIPPED: i32 = 77;
/// Kept equal to the pin in xtask/Cargo.toml; stands in the generated files.
const BINDGEN_VERSION: &str = "0.73.2";

#[derive(clap::Args)]
pub struct Args {
    /// Compare with the committed files instead of writing them. Exits with 77 when libclang or the headers are absent.
    #[arg(long)]
    check: bool,
    /// Download the pinned headers into target/vendor-headers first (needs python3 with pip, about 300 MB).
    #[arg(long)]
    fetch: bool,
    /// The folder that holds cuda.h [default: below target/vendor-headers].
    #[arg(long, value_name = "DIR")]
    cuda_include: Option<PathBuf>,
    /// The folder that holds hip/hip_runtime_api.h [default: below target/vendor-headers].
    #[arg(long, value_name = "DIR")]
    hip_include: Option<PathBuf>,
}

/// One generated file.
struct Job {
    headers: &'static Headers,
    include: PathBuf,
    output: PathBuf,
    functions: &'static [&'static str],
    types: &'static str,
    constants: &'static str,
    clang_args: &'static [&'static str],
    version_macros: &'static [&'static str],
}

pub fn run(args: Args) -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let root = root.canonicalize().with_context(|| format!("cannot find {}", root.display()))?;
    let vendor = root.join("target/vendor-headers");
    if args.fetch {
        headers::CUDA.fetch(&vendor)?;
        headers::HIP.fetch(&vendor)?;
    }
    let jobs = [
        Job {
            headers: &headers::CUDA,
            include: args.cuda_include.unwrap_or_else(|| headers::CUDA.default_include(&vendor)),
            output: root.join("hal-cuda/src/sys/bindings.rs"),
            functions: names::CUDA_FUNCTIONS,
            types: names::CUDA_TYPES,
            constants: names::CUDA_CONSTANTS,
            // Shows the exported names instead of the macros that redirect them.
            clang_args: &["-D__CUDA_API_VERSION_INTERNAL"],
            version_macros: &["CUDA_VERSION"],
        },
        Job {
            headers: &headers::HIP,
            include: args.hip_include.unwrap_or_else(|| headers::HIP.default_include(&vendor)),
            output: root.join("hal-hip/src/sys/bindings.rs"),
            functions: names::HIP_FUNCTIONS,
            types: names::HIP_TYPES,
            constants: names::HIP_CONSTANTS,
            clang_args: &["-D__HIP_PLATFORM_AMD__"],
            version_macros: &["HIP_VERSION_MAJOR", "HIP_VERSION_MINOR", "HIP_VERSION_PATCH"],
        },
    ];
    if let Some(reason) = obstacle(&jobs) {
        eprintln!("bindings: {reason}");
        std::process::exit(SKIPPED);
    }
    let mut stale = Vec::new();
    for job in &jobs {
        let text = generate(job).with_context(|| format!("generating {}", job.output.display()))?;
        let shown = job.output.strip_prefix(&root).unwrap_or(&job.output).display();
        if !args.check {
            if let Some(folder) = job.output.parent() {
                std::fs::create_dir_all(folder)?;
            }
            std::fs::write(&job.output, &text).with_context(|| format!("cannot write {shown}"))?;
            println!("wrote {shown}: {} functions, {} lines", job.functions.len(), text.lines().count());
        } else {
            let committed = std::fs::read_to_string(&job.output).unwrap_or_default();
            match first_difference(&committed, &text) {
                None => println!("{shown} is what the headers say"),
                Some(difference) => stale.push(format!("{shown} differs at {difference}")),
            }
        }
    }
    anyhow::ensure!(
        stale.is_empty(),
        "{}\nrun `cargo xtask bindings` and commit the result",
        stale.join("\n")
    );
    Ok(())
}

/// Why generation is impossible on this machine, and what to do about it.
fn obstacle(jobs: &[Job]) -> Option<String> {
    for job in jobs {
        let header = job.include.join(job.headers.header);
        if !header.is_file() {
            return Some(format!(
                "{} is not there; run with --fetch, or name a folder with --cuda-include and --hip-include",
                header.display()
            ));
        }
    }
    clang_sys::load().err().map(|error| {
        format!("{error}; install libclang (Debian: apt-get install libclang-19-dev) or set LIBCLANG_PATH")
    })
}

fn generate(job: &Job) -> anyhow::Result<String> {
    let mut builder = bindgen::Builder::default()
        .header(job.include.join(job.headers.header).to_string_lossy())
        .clang_arg(format!("-I{}", job.include.display()))
        // One target, so that the output is the same wherever it is generated.
        .clang_args(["-target", "x86_64-unknown-linux-gnu"])
        .clang_args(job.clang_args)
        .allowlist_type(job.types)
        .allowlist_var(job.constants)
        // A driver newer than the headers returns codes they do not name: undefined behaviour in a Rust enum.
        .default_enum_style(bindgen::EnumVariation::NewType { is_bitfield: false, is_global: false })
        .rust_target(bindgen::RustTarget::stable(85, 0).map_err(|error| anyhow::anyhow!("{error}"))?)
        .rust_edition(bindgen::RustEdition::Edition2024)
        // Bit fields nobody reads here, whose accessors would be most of the unsafe code in the file.
        .opaque_type("hipDeviceArch_t")
        .use_core()
        .generate_comments(false)
        .layout_tests(false)
        .disable_header_comment()
        .formatter(bindgen::Formatter::None);
    for name in job.functions {
        builder = builder.allowlist_function(name);
    }
    let source = builder.generate()?.to_string();
    let body = aliases::rewrite(&source, job.functions)?;
    let version = version(&body, job.version_macros);
    let text = format!(
        "// Generated by `cargo xtask bindings`; do not edit. To add a function, edit xtask/src/bindings/names.rs.\n\
         // Source: {} ({version}) from {}; bindgen {BINDGEN_VERSION}.\n\n{body}",
        job.headers.header, job.headers.requirement
    );
    rustfmt(&text)
}

/// Formats as `cargo fmt` would, so that formatting the workspace does not make the committed file differ.
fn rustfmt(text: &str) -> anyhow::Result<String> {
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start rustfmt; `rustup component add rustfmt`")?;
    let mut stdin = child.stdin.take().context("rustfmt has no standard input")?;
    // Written beside the reading: both pipes are smaller than the text.
    let written = std::thread::scope(|scope| {
        let writer = scope.spawn(move || stdin.write_all(text.as_bytes()));
        let output = child.wait_with_output();
        (writer.join(), output)
    });
    let output = written.1.context("rustfmt")?;
    anyhow::ensure!(
        output.status.success() && matches!(written.0, Ok(Ok(()))),
        "rustfmt failed ({})",
        output.status
    );
    String::from_utf8(output.stdout).context("rustfmt's output is not UTF-8")
}

/// The version the headers give themselves, read from the constants generated from them.
fn version(body: &str, macros: &[&str]) -> String {
    let found = macros.iter().filter_map(|name| {
        let (_, rest) = body.split_once(&format!("pub const {name}: u32 = "))?;
        let (value, _) = rest.split_once(';')?;
        Some(format!("{name} {value}"))
    });
    found.collect::<Vec<_>>().join(", ")
}

/// Where two texts part, for a message; `None` when they are equal.
fn first_difference(committed: &str, generated: &str) -> Option<String> {
    if committed == generated {
        return None;
    }
    let mut old = committed.lines();
    let mut new = generated.lines();
    let mut line = 1;
    loop {
        match (old.next(), new.next()) {
            (Some(a), Some(b)) if a == b => line += 1,
            (None, None) => return Some("the line ends".to_owned()),
            (a, b) => {
                let show = |text: Option<&str>| text.unwrap_or("the end of the file").trim().to_owned();
                return Some(format!("line {line}: committed `{}`, generated `{}`", show(a), show(b)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BINDGEN_VERSION, first_difference};

    #[test]
    fn generated_files_name_the_pinned_bindgen() {
        let pin = format!("bindgen = {{ version = \"={BINDGEN_VERSION}\"");
        assert!(include_str!("../Cargo.toml").contains(&pin), "{pin} is not in xtask/Cargo.toml");
    }

    #[test]
    fn a_difference_is_placed() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        let text = first_difference("a\nb\n", "a\nc\n").unwrap();
        assert!(text.starts_with("line 2") && text.contains("`b`") && text.contains("`c`"), "{text}");
        assert!(first_difference("a\n", "a").is_some());
    }
}
