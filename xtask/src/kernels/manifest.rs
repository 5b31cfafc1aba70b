//! `kernels/manifest.json`: what the committed files were made from and with.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::recipe::{self, Step};

/// Maps are sorted, so that the file changes only where its content does.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The compilers' own version lines.
    pub compilers: BTreeMap<String, String>,
    /// SHA-256 of every source and header.
    pub sources: BTreeMap<String, String>,
    pub outputs: BTreeMap<String, Output>,
}

/// One committed file.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    pub source: String,
    /// The compiler and its flags; the input and output names follow them.
    pub command: String,
    pub sha256: String,
}

impl Manifest {
    /// Describes the files that `steps` left in `out`.
    pub fn describe(kernels: &Path, out: &Path, steps: &[Step]) -> anyhow::Result<Manifest> {
        let mut compilers = BTreeMap::new();
        for tool in [recipe::PTX_COMPILER, recipe::AMDGPU_COMPILER] {
            compilers.insert(tool.to_owned(), recipe::tool_version(tool)?);
        }
        let mut outputs = BTreeMap::new();
        for step in steps {
            let sha256 = sha256(&out.join(&step.output))?;
            let output = Output { source: step.source.clone(), command: step.command(), sha256 };
            outputs.insert(step.output.clone(), output);
        }
        Ok(Manifest { compilers, sources: source_hashes(kernels)?, outputs })
    }

    pub fn read(path: &Path) -> anyhow::Result<Manifest> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is not a manifest", path.display()))
    }

    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// What in `kernels` is not as this manifest says. Needs no compiler.
    pub fn deviations(&self, kernels: &Path) -> anyhow::Result<Vec<String>> {
        let mut found = Vec::new();
        let sources = source_hashes(kernels)?;
        compare(&self.sources, &sources, "changed since the kernels were compiled", &mut found);
        let recorded =
            self.outputs.iter().map(|(name, output)| (name.clone(), output.sha256.clone())).collect();
        compare(&recorded, &output_hashes(kernels)?, "not the file that was compiled", &mut found);
        Ok(found)
    }

    /// Where a rebuild came out differently.
    pub fn differences(&self, rebuilt: &Manifest) -> Vec<String> {
        let mut found = Vec::new();
        for (tool, version) in &rebuilt.compilers {
            match self.compilers.get(tool) {
                Some(recorded) if recorded == version => {}
                recorded => found.push(format!(
                    "{tool} is `{version}` here, the committed files are by `{}`",
                    recorded.map_or("none", String::as_str)
                )),
            }
        }
        for (name, output) in &rebuilt.outputs {
            match self.outputs.get(name) {
                None => found.push(format!("{name}: not in the manifest")),
                Some(recorded) if recorded.command != output.command => {
                    found.push(format!("{name}: compiled with other flags"));
                }
                Some(recorded) if recorded != output => {
                    found.push(format!("{name}: compiles to other bytes"))
                }
                Some(_) => {}
            }
        }
        found
    }
}

fn compare(
    recorded: &BTreeMap<String, String>,
    present: &BTreeMap<String, String>,
    changed: &str,
    found: &mut Vec<String>,
) {
    for (name, hash) in recorded {
        match present.get(name) {
            None => found.push(format!("{name}: in the manifest, but not there")),
            Some(other) if other != hash => found.push(format!("{name}: {changed}")),
            Some(_) => {}
        }
    }
    let new = present.keys().filter(|name| !recorded.contains_key(*name));
    found.extend(new.map(|name| format!("{name}: not in the manifest")));
}

fn source_hashes(kernels: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    recipe::sources(kernels)?
        .into_iter()
        .map(|name| Ok((name.clone(), sha256(&kernels.join(&name))?)))
        .collect()
}

fn output_hashes(kernels: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    output_names(kernels)?.into_iter().map(|name| Ok((name.clone(), sha256(&kernels.join(&name))?))).collect()
}

/// The committed outputs, relative to `kernels`.
pub fn output_names(kernels: &Path) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for (folder, extension) in [("ptx", ".ptx"), ("amdgpu", ".co")] {
        // A folder that is not there has no files, which the comparison reports one by one.
        let Ok(entries) = std::fs::read_dir(kernels.join(folder)) else { continue };
        for entry in entries {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.ends_with(extension) {
                names.push(format!("{folder}/{name}"));
            }
        }
    }
    Ok(names)
}

fn sha256(path: &Path) -> anyhow::Result<String> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(&bytes) {
        write!(text, "{byte:02x}")?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{Manifest, Output};
    use std::collections::BTreeMap;
    use std::path::{Path, PathBuf};

    /// A folder of its own for each test, removed afterwards.
    struct Folder(PathBuf);

    impl Folder {
        fn new(test: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("xtask-manifest-{test}-{}", std::process::id()));
            std::fs::create_dir_all(path.join("ptx")).unwrap();
            std::fs::write(path.join("a.cu"), "source").unwrap();
            std::fs::write(path.join("ptx/a.ptx"), "output").unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).unwrap();
        }
    }

    fn manifest(folder: &Path) -> Manifest {
        let sha256 = super::sha256(&folder.join("ptx/a.ptx")).unwrap();
        let output = Output { source: "a.cu".into(), command: "cc".into(), sha256 };
        Manifest {
            compilers: BTreeMap::new(),
            sources: super::source_hashes(folder).unwrap(),
            outputs: BTreeMap::from([("ptx/a.ptx".to_owned(), output)]),
        }
    }

    #[test]
    fn untouched_files_do_not_deviate() {
        let folder = Folder::new("untouched");
        assert_eq!(manifest(&folder.0).deviations(&folder.0).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn every_kind_of_deviation_is_named() {
        let folder = Folder::new("deviations");
        let manifest = manifest(&folder.0);
        std::fs::write(folder.0.join("a.cu"), "another source").unwrap();
        std::fs::write(folder.0.join("b.cu"), "").unwrap();
        std::fs::remove_file(folder.0.join("ptx/a.ptx")).unwrap();
        let found = manifest.deviations(&folder.0).unwrap();
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].starts_with("a.cu: changed"), "{found:?}");
        assert!(found[1].starts_with("b.cu: not in"), "{found:?}");
        assert!(found[2].starts_with("ptx/a.ptx: in the manifest"), "{found:?}");
    }

    #[test]
    fn a_rebuild_with_other_flags_differs() {
        let folder = Folder::new("rebuild");
        let committed = manifest(&folder.0);
        let mut rebuilt = manifest(&folder.0);
        assert!(committed.differences(&rebuilt).is_empty());
        rebuilt.outputs.get_mut("ptx/a.ptx").unwrap().command = "cc -O0".into();
        assert_eq!(committed.differences(&rebuilt), ["ptx/a.ptx: compiled with other flags"]);
    }
}
