//! The program on the software GPU: whatever a case does to its process, the run and its report survive.

use serde_json::Value;
use std::fs;
use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn hal_cts(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hal-cts"));
    command.args(args);
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder of this test's own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        Folder(std::env::temp_dir().join(format!("hal-cts-{test}-{}", std::process::id())))
    }

    fn report(&self) -> std::io::Result<Value> {
        Ok(serde_json::from_str(&fs::read_to_string(self.0.join("report.json"))?)?)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_case_can_take_nothing_but_itself_along() {
    let folder = Folder::new("selftest");
    let output = hal_cts(&["run", "--backend", "cuda", "--driver", "soft", "--filter", "selftest"])
        // Long enough for the others on a busy machine, since one is meant to run into it.
        .args(["--timeout", "10", "--jobs", "4", "--report"])
        .arg(&folder.0)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));

    let report = folder.report().unwrap();
    let run = &report["runs"][0];
    let cases = run["cases"].as_array().unwrap();
    let counts = ["passed", "failed", "skipped"].map(|status| run[status].as_u64().unwrap());
    assert_eq!(counts, [1, cases.len() as u64 - 1, 0], "{run}");
    let reason = |name: &str| {
        let case = cases.iter().find(|case| case["name"] == name).unwrap();
        assert_eq!(case["status"], "failed", "{case}");
        case["reason"].as_str().unwrap().to_owned()
    };
    for (name, part) in [
        ("fails", "this case always fails"),
        ("panics", "this case always panics"),
        ("panics", "selftest.rs:"),
        ("aborts", "SIGABRT"),
        ("hangs_on_the_device", "time limit of 10 s"),
    ] {
        assert!(reason(name).contains(part), "{name}: {}", reason(name));
    }
    assert!(cases.iter().any(|case| case["name"] == "passes" && case["status"] == "passed"));

    let table = String::from_utf8_lossy(&output.stdout);
    assert!(table.contains("FAILED selftest/aborts"), "{table}");
    assert!(fs::read_to_string(folder.0.join("junit.xml")).unwrap().contains("cuda.soft.selftest"));
}

#[test]
fn a_case_ends_with_its_parent() {
    let mut child = hal_cts(&["exec", "--backend", "cuda", "--driver", "soft", "--device", "0"])
        .arg("selftest/hangs_on_the_device")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdin.take());
    let mut answer = String::new();
    child.stdout.take().unwrap().read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "");
    assert!(child.wait().unwrap().signal().is_some());
}

#[test]
fn nothing_chosen_is_no_success() {
    let folder = Folder::new("nothing");
    let output = hal_cts(&["run", "--backend", "hip", "--driver", "soft", "--filter", "no/such", "--report"])
        .arg(&folder.0)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("no case ran for hip on soft"), "{}", stderr(&output));
    assert_eq!(folder.report().unwrap()["runs"][0]["passed"], 0);
}

#[test]
fn what_was_asked_for_must_be_there() {
    for (args, part) in [
        (["--backend", "metal", "--driver", "soft"], "cuda, hip"),
        (["--backend", "cuda", "--driver", "/no/such/libcuda.so"], "/no/such/libcuda.so"),
    ] {
        let output = hal_cts(&["run"]).args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
    let output =
        hal_cts(&["run", "--driver", "soft", "--backend", "cuda", "--device", "99"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("device 99"), "{}", stderr(&output));
}

#[test]
fn the_list_has_every_case_but_the_selftest() {
    let output = hal_cts(&["list", "--driver", "soft"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let list = String::from_utf8(output.stdout).unwrap();
    for backend in hal::backends() {
        let cases = list.lines().filter(|line| line.starts_with(backend)).count();
        assert_eq!(cases, hal_cts::cases().len(), "{list}");
    }
    assert!(!list.contains("selftest"));
}
