//! Where the vendors' headers come from.
//!
//! They are not ours to commit. Two published Python wheels carry them; `--fetch` downloads those at the pinned
//! versions and unpacks the include folders alone.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

/// One vendor's headers.
pub struct Headers {
    /// The wheel that carries them, pinned: the version decides what `--check` compares.
    pub requirement: &'static str,
    /// The include folder inside the wheel.
    pub folder: &'static str,
    /// The header bindgen reads, below the include folder.
    pub header: &'static str,
}

/// `cuda.h` of CUDA 12.9.
pub const CUDA: Headers = Headers {
    requirement: "nvidia-cuda-runtime-cu12==12.9.79",
    folder: "nvidia/cuda_runtime/include",
    header: "cuda.h",
};

/// The HIP 7.1 headers, which this wheel carries for its AMD backend.
pub const HIP: Headers = Headers {
    requirement: "triton==3.9.0",
    folder: "triton/backends/amd/include",
    header: "hip/hip_runtime_api.h",
};

impl Headers {
    /// The include folder `--fetch` fills, below `root` (target/vendor-headers).
    pub fn default_include(&self, root: &Path) -> PathBuf {
        root.join(self.folder)
    }

    /// Downloads the wheel with pip and unpacks its include folder below `root`.
    pub fn fetch(&self, root: &Path) -> anyhow::Result<()> {
        let wheels = root.join("wheels");
        std::fs::create_dir_all(&wheels).with_context(|| format!("cannot create {}", wheels.display()))?;
        // Name the interpreter, so that the wheel chosen does not depend on the one that runs pip.
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"])
            .args(["--implementation", "cp", "--python-version", "3.11"])
            .args(["--platform", "manylinux_2_28_x86_64", "--platform", "manylinux_2_27_x86_64"])
            .args(["--platform", "manylinux_2_17_x86_64", "--platform", "manylinux2014_x86_64"])
            .arg("--dest")
            .arg(&wheels)
            .arg(self.requirement);
        run(pip, "pip download")?;
        let mut unpack = Command::new("python3");
        unpack.arg("-c").arg(UNPACK).arg(&wheels).arg(self.folder).arg(root);
        run(unpack, "unpacking the wheel")
    }
}

const UNPACK: &str = "
import pathlib, sys, zipfile
wheels, folder, root = sys.argv[1:]
for wheel in pathlib.Path(wheels).glob('*.whl'):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.startswith(folder + '/'):
                archive.extract(name, root)
";

fn run(mut command: Command, what: &str) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("{what}: cannot start python3"))?;
    anyhow::ensure!(status.success(), "{what} failed ({status})");
    Ok(())
}
