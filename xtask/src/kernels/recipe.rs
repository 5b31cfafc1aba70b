//! How the kernels are compiled: which compilers, for which targets, with which flags.
//!
//! The compilers are those of Debian 12, because their releases shift the code they emit and a pinned package is the
//! same for everybody. The flags leave out every vendor's headers and device libraries, keep a * b + c from being
//! contracted (so that results can be compared exactly), and keep machine paths out of the output.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

/// The language that becomes PTX text, for every NVIDIA GPU from Maxwell up.
pub const PTX_COMPILER: &str = "clang++-16";
/// gfx942 needs clang 17 or later.
pub const AMDGPU_COMPILER: &str = "clang++-19";
/// Links code objects; `AMDGPU_COMPILER` starts it.
const AMDGPU_LINKER: &str = "ld.lld-19";

/// The AMD GPUs that get a code object: MI200, MI300, RDNA 2 and RDNA 3.
pub const AMDGPU_TARGETS: [&str; 4] = ["gfx90a", "gfx942", "gfx1030", "gfx1100"];

const COMMON_FLAGS: &[&str] = &[
    "--cuda-device-only",
    "-std=c++17",
    "-fuse-cuid=none",
    "-O3",
    "-ffp-contract=off",
    "-Wall",
    "-Wextra",
    "-Werror",
];
const PTX_FLAGS: &[&str] = &["-x", "cuda", "-nocudainc", "-nocudalib", "--cuda-gpu-arch=sm_52", "-S"];
const AMDGPU_FLAGS: &[&str] = &[
    "-x",
    "hip",
    "-nogpuinc",
    "-nogpulib",
    "-mcode-object-version=4",
    "--no-gpu-bundle-output",
    "-Xoffload-linker",
    "-s",
];

/// PTX 5.0 (CUDA 8) unless a source asks for a later one.
const DEFAULT_PTX_ISA: &str = "50";
const PTX_ISA_DIRECTIVE: &str = "// PTX ISA: ";

/// One compilation: a source and what it becomes, both relative to `kernels/`.
pub struct Step {
    pub source: String,
    pub output: String,
    compiler: &'static str,
    flags: Vec<String>,
}

/// Every step for the sources in `kernels`, in a fixed order.
pub fn steps(kernels: &Path) -> anyhow::Result<Vec<Step>> {
    let mut steps = Vec::new();
    for source in sources(kernels)?.iter().filter(|name| name.ends_with(".cu")) {
        let stem = source.trim_end_matches(".cu");
        let text =
            std::fs::read_to_string(kernels.join(source)).with_context(|| format!("reading {source}"))?;
        let mut flags = strings(COMMON_FLAGS);
        flags.extend(strings(PTX_FLAGS));
        let isa = format!("+ptx{}", ptx_isa(&text));
        flags.extend(strings(&["-Xclang", "-target-feature", "-Xclang", &isa]));
        steps.push(Step {
            source: source.clone(),
            output: format!("ptx/{stem}.ptx"),
            compiler: PTX_COMPILER,
            flags,
        });
        for target in AMDGPU_TARGETS {
            let mut flags = strings(COMMON_FLAGS);
            flags.extend(strings(AMDGPU_FLAGS));
            flags.push(format!("--offload-arch={target}"));
            let output = format!("amdgpu/{stem}.{target}.co");
            steps.push(Step { source: source.clone(), output, compiler: AMDGPU_COMPILER, flags });
        }
    }
    Ok(steps)
}

/// The names of the sources and headers in `kernels`, sorted.
pub fn sources(kernels: &Path) -> anyhow::Result<Vec<String>> {
    let entries = std::fs::read_dir(kernels).with_context(|| format!("cannot read {}", kernels.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".cu") || name.ends_with(".h") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

impl Step {
    /// Compiles into `out`, which mirrors the layout of `kernels`.
    pub fn run(&self, kernels: &Path, out: &Path) -> anyhow::Result<()> {
        let output = out.join(&self.output);
        if let Some(folder) = output.parent() {
            std::fs::create_dir_all(folder)?;
        }
        // From within the folder and by a relative name, so that no path of this machine can reach the output.
        let result = Command::new(self.compiler)
            .current_dir(kernels)
            .args(&self.flags)
            .arg(&self.source)
            .arg("-o")
            .arg(&output)
            .output()
            .with_context(|| format!("cannot start {}", self.compiler))?;
        anyhow::ensure!(
            result.status.success(),
            "{} -> {}: {} failed\n{}",
            self.source,
            self.output,
            self.compiler,
            String::from_utf8_lossy(&result.stderr)
        );
        make_plain(&output)
    }

    /// The command line as the manifest records it.
    pub fn command(&self) -> String {
        format!("{} {}", self.compiler, self.flags.join(" "))
    }
}

/// The linker marks code objects executable, which they are not for anybody here.
fn make_plain(path: &PathBuf) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644))
        .with_context(|| format!("{}: the compiler wrote nothing", path.display()))
}

/// What of the toolchain is not installed, and how to install it; `None` when all is there.
pub fn missing_tools() -> Option<String> {
    let tools = [PTX_COMPILER, AMDGPU_COMPILER, AMDGPU_LINKER];
    let missing: Vec<_> = tools.into_iter().filter(|tool| tool_version(tool).is_err()).collect();
    (!missing.is_empty()).then(|| {
        format!(
            "{} not installed; on Debian 12: apt-get install clang-16 clang-19 lld-19",
            missing.join(", ")
        )
    })
}

/// The first line of `tool --version`.
pub fn tool_version(tool: &str) -> anyhow::Result<String> {
    let output =
        Command::new(tool).arg("--version").output().with_context(|| format!("cannot start {tool}"))?;
    anyhow::ensure!(output.status.success(), "{tool} --version failed");
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

/// The PTX version a source asks for by a line `// PTX ISA: 60 (why)`.
fn ptx_isa(text: &str) -> &str {
    text.lines()
        .find_map(|line| line.strip_prefix(PTX_ISA_DIRECTIVE))
        .and_then(|rest| rest.split_whitespace().next())
        .unwrap_or(DEFAULT_PTX_ISA)
}

fn strings(flags: &[&str]) -> Vec<String> {
    flags.iter().map(|flag| (*flag).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::ptx_isa;

    #[test]
    fn a_source_may_ask_for_a_later_ptx() {
        assert_eq!(ptx_isa("#include \"dev.h\"\n"), "50");
        assert_eq!(ptx_isa("// PTX ISA: 60 (shfl.sync)\n#include \"dev.h\"\n"), "60");
    }
}
