//! Rules of the house that no compiler checks.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Lines above which a file surely holds more than one idea.
const MOST_LINES: usize = 600;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// Files with this extension, without what is built.
fn files(extension: &str) -> Vec<PathBuf> {
    fn walk(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if !name.starts_with('.') && name != "target" {
                    walk(&path, extension, found);
                }
            } else if path.extension().is_some_and(|other| other == extension) {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&root(), extension, &mut found);
    assert!(!found.is_empty());
    found
}

/// Sources that people write.
fn written() -> Vec<PathBuf> {
    let generated = |path: &PathBuf| path.file_name().is_some_and(|name| name == "bindings.rs");
    files("rs")
        .into_iter()
        .filter(|path| !generated(path) || !path.parent().unwrap().ends_with("sys"))
        .collect()
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

#[track_caller]
fn none(what: &str, found: &[String]) {
    assert!(found.is_empty(), "{what}:\n  {}", found.join("\n  "));
}

#[test]
fn files_hold_one_idea() {
    let long = written().into_iter().filter_map(|path| {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        (lines > MOST_LINES).then(|| format!("{} has {lines} lines", shown(&path)))
    });
    none("files too long", &long.collect::<Vec<_>>());
}

#[test]
fn nothing_is_left_to_do_in_code() {
    let this = Path::new(file!()).file_name().unwrap();
    let mut found = Vec::new();
    for path in written().iter().filter(|path| path.file_name().unwrap() != this) {
        for (number, line) in fs::read_to_string(path).unwrap().lines().enumerate() {
            if ["TODO", "FIXME", "XXX", "dbg!(", "#[ignore"].iter().any(|word| line.contains(word)) {
                found.push(format!("{}:{}: {}", shown(path), number + 1, line.trim()));
            }
        }
    }
    none("left to do", &found);
}

#[test]
fn the_core_has_no_unsafe_code() {
    let core = files("rs").into_iter().filter(|path| path.starts_with(root().join("hal-core")));
    let unsafe_blocks =
        core.filter(|path| fs::read_to_string(path).unwrap().contains("unsafe {")).filter(|path| {
            // Examples in documentation show dispatch.
            let text = fs::read_to_string(path).unwrap();
            text.lines().any(|line| line.contains("unsafe {") && !line.trim_start().starts_with("//"))
        });
    none("unsafe blocks in hal-core", &unsafe_blocks.map(|path| shown(&path)).collect::<Vec<_>>());
}

#[test]
fn backends_mirror_each_other() {
    let names = |package: &str| -> BTreeSet<String> {
        let source = root().join(package).join("src");
        let all = files("rs").into_iter().filter(|path| path.starts_with(&source));
        all.map(|path| path.strip_prefix(&source).unwrap().display().to_string()).collect()
    };
    assert_eq!(names("hal-cuda"), names("hal-hip"));
}

#[test]
fn dependencies_point_one_way() {
    // Who may name whom, among our own packages.
    let allowed: [(&str, &[&str]); 6] = [
        ("hal-core", &[]),
        ("hal-utils", &["hal-core"]),
        ("hal-cuda", &["hal-core", "hal-utils"]),
        ("hal-hip", &["hal-core", "hal-utils"]),
        ("softgpu", &[]),
        ("hal-cts", &["hal-core"]),
    ];
    let mut found = Vec::new();
    for (package, may) in allowed {
        let manifest = fs::read_to_string(root().join(package).join("Cargo.toml")).unwrap();
        let normal = manifest.split("[dependencies]").nth(1).unwrap_or("").split("\n[").next().unwrap_or("");
        for line in normal.lines() {
            let name = line.split(['.', ' ', '=']).next().unwrap_or("");
            let ours = name == "hal" || name == "softgpu" || name == "xtask" || name.starts_with("hal-");
            if ours && !may.contains(&name) {
                found.push(format!("{package} depends on {name}"));
            }
        }
    }
    none("dependencies against the grain", &found);
}

#[test]
fn every_dependency_has_its_reason() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let section = manifest.split("[workspace.dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
    let mut explained = false;
    let mut found = Vec::new();
    for line in section.lines() {
        if line.starts_with('#') {
            explained = true;
        } else if line.is_empty() {
            explained = false;
        } else if !explained && !line.contains("path = ") {
            found.push(line.to_owned());
        }
    }
    none("dependencies without a reason beside them", &found);
}

#[test]
fn the_map_shows_what_is_there() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let sources: Vec<_> = ["rs", "md"].into_iter().flat_map(files).collect();
    let mut found = Vec::new();
    // What stands in backquotes and looks like a file must be one, or the end of one's path.
    for name in map.split('`').skip(1).step_by(2) {
        let is_file = name.ends_with(".rs") || name.ends_with(".md");
        if is_file && !name.contains('*') && !sources.iter().any(|path| path.ends_with(name)) {
            found.push(name.to_owned());
        }
        if name.ends_with('/') && !sources.iter().any(|path| shown(path).contains(name)) {
            found.push(name.to_owned());
        }
    }
    none("ARCHITECTURE.md names what is not there", &found);
}
