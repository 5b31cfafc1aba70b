//! Building packages of this workspace from a command, and finding what was built.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;
use serde_json::Value;

/// Builds packages in the development profile, all in one call so that features and artefacts are shared, and returns
/// every file that came out. The compiler's messages go to the terminal.
pub fn build(packages: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let mut command = cargo();
    command.args(["build", "--message-format=json-render-diagnostics"]);
    for package in packages {
        command.args(["--package", package]);
    }
    let output = command.stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    let names = packages.join(" and ");
    anyhow::ensure!(output.status.success(), "building {names} failed ({})", output.status);
    let messages = String::from_utf8(output.stdout).context("cargo's messages are not UTF-8")?;
    files(&messages)
}

/// The folder that holds what cargo builds, wherever the user has put it.
pub fn target_directory() -> anyhow::Result<PathBuf> {
    let mut command = cargo();
    command.args(["metadata", "--no-deps", "--format-version=1"]);
    let output = command.stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    anyhow::ensure!(output.status.success(), "cargo metadata failed ({})", output.status);
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata is not JSON")?;
    let folder = metadata["target_directory"].as_str().context("cargo metadata names no target_directory")?;
    Ok(folder.into())
}

/// The one built file with this name.
pub fn find(files: &[PathBuf], name: &str) -> anyhow::Result<PathBuf> {
    let found = files.iter().find(|file| file.file_name().is_some_and(|found| found == name));
    found.cloned().with_context(|| format!("the build did not produce {name}"))
}

/// Files named by the messages of a build.
fn files(messages: &str) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: Value = serde_json::from_str(line).context("cargo's message is not JSON")?;
        if message["reason"] == "compiler-artifact" {
            let names = message["filenames"].as_array().map(Vec::as_slice).unwrap_or_default();
            files.extend(names.iter().filter_map(Value::as_str).map(PathBuf::from));
        }
    }
    Ok(files)
}

pub fn cargo() -> Command {
    // The cargo that runs this command, if one does.
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_in_cargos_messages() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","filenames":["/t/debug/libsoftgpu.so","/t/debug/x.rlib"]}"#,
            "\nnot a message\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        let files = files(messages).unwrap();
        assert_eq!(find(&files, "libsoftgpu.so").unwrap(), Path::new("/t/debug/libsoftgpu.so"));
        assert!(find(&files, "softgpu.so").unwrap_err().to_string().contains("softgpu.so"));
    }
}
