//! What a child process tells its parent: one marked line of JSON on standard output, since drivers print there too.

use crate::report::{DeviceReport, DriverReport};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::Write as _;

const MARK: &str = "hal-cts-answer ";

/// What stands behind a target, or why nothing does.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Probe {
    /// The driver loads and has the device.
    Found(Found),
    /// Why not.
    Missing(String),
}

/// A device, and what it can be asked.
#[derive(Debug, Serialize, Deserialize)]
pub struct Found {
    /// The driver that was loaded.
    pub driver: DriverReport,
    /// The device that was found.
    pub device: DeviceReport,
    /// Every case there is, in the registry's order.
    pub cases: Vec<Planned>,
}

/// A case, and whether this device can run it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// The suite it belongs to.
    pub suite: String,
    /// Unique within the suite.
    pub name: String,
    /// Why the device cannot run it, if it cannot.
    pub skip: Option<String>,
}

impl Planned {
    /// `suite/name`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.suite, self.name)
    }
}

/// How a case ended, if it came to its end.
#[derive(Debug, Serialize, Deserialize)]
pub struct Answer {
    /// Why it failed; nothing if it passed.
    pub failure: Option<String>,
}

/// Child: tells the parent. Whether anybody listens is not the child's concern.
pub fn send<T: Serialize>(message: &T) {
    if let Ok(text) = serde_json::to_string(message) {
        let mut out = std::io::stdout().lock();
        // A driver may have left a line unfinished.
        let _ = write!(out, "\n{MARK}{text}\n");
        let _ = out.flush();
    }
}

/// Parent: the last message in what a child printed.
pub fn receive<T: DeserializeOwned>(stdout: &str) -> Option<T> {
    stdout.lines().rev().find_map(|line| serde_json::from_str(line.strip_prefix(MARK)?).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_found_between_other_lines() {
        let text = format!("driver says hello\n{MARK}{{\"failure\":\"no\"}}\nbye\n");
        assert_eq!(receive::<Answer>(&text).unwrap().failure.unwrap(), "no");
        assert!(receive::<Answer>("driver says hello").is_none());
        assert!(receive::<Answer>(&format!("{MARK}{{\"failure\":")).is_none());
    }
}
