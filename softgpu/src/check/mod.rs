//! Checkers: what no hardware tells.
//!
//! `SOFTGPU_CHECK` or [`set`] turns them on: `memory` (reads of memory that nobody wrote), `race` (conflicting accesses
//! that nothing orders), `leaks` (objects that nobody destroyed, at exit), or `all`. What they find is printed on
//! standard error and kept for [`findings`]. With `SOFTGPU_CHECK_EXIT=N` a process that ends by itself ends with code
//! N if there was anything. Turn them on before the first call: what happened before is not known to them.

pub mod calls;
mod clock;
mod init;
pub mod race;
mod touched;

pub(crate) use clock::Clock;
pub(crate) use init::Init;
pub(crate) use touched::Touched;

use parking_lot::Mutex;
use std::fmt;
use std::io::Write as _;
use std::sync::Once;
use std::sync::atomic::{AtomicU8, Ordering};

/// A checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Checker {
    /// Reads of memory that nobody wrote.
    Memory = 1,
    /// Conflicting accesses that nothing orders.
    Race = 2,
    /// Objects that nobody destroyed.
    Leaks = 4,
}

impl fmt::Display for Checker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "memory",
            Self::Race => "race",
            Self::Leaks => "leak",
        })
    }
}

/// Something a checker found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which checker.
    pub checker: Checker,
    /// What it found.
    pub text: String,
}

/// A name that is no checker.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is none of `memory`, `race`, `leaks`, `all`")]
pub struct UnknownChecker(String);

const UNREAD: u8 = 128;
static ON: AtomicU8 = AtomicU8::new(UNREAD);
static FINDINGS: Mutex<Vec<Finding>> = Mutex::new(Vec::new());
/// So many findings are kept; the first ones tell most.
const KEPT: usize = 1000;

fn on() -> u8 {
    match ON.load(Ordering::Relaxed) {
        UNREAD => {
            // A driver has nobody to refuse an environment to: what is not understood is nothing.
            if set(&std::env::var("SOFTGPU_CHECK").unwrap_or_default()).is_err() {
                ON.store(0, Ordering::Relaxed);
            }
            ON.load(Ordering::Relaxed)
        }
        on => on,
    }
}

/// Whether a checker is on.
pub fn is_on(checker: Checker) -> bool {
    on() & checker as u8 != 0
}

/// Whether any is.
pub fn any_on() -> bool {
    on() != 0
}

/// Turns on the checkers of a list separated by commas, and all others off.
pub fn set(list: &str) -> Result<(), UnknownChecker> {
    let mut wanted = 0;
    for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        wanted |= match name {
            "memory" => Checker::Memory as u8,
            "race" => Checker::Race as u8,
            "leaks" => Checker::Leaks as u8,
            "all" => Checker::Memory as u8 | Checker::Race as u8 | Checker::Leaks as u8,
            _ => return Err(UnknownChecker(name.to_owned())),
        };
    }
    static AT_EXIT: Once = Once::new();
    if wanted != 0 {
        AT_EXIT.call_once(|| {
            // SAFETY: a function without arguments that lives as long as the process. Without room for it, nothing is
            // reported at exit.
            let _ = unsafe { libc::atexit(at_exit) };
        });
    }
    ON.store(wanted, Ordering::Relaxed);
    Ok(())
}

/// Adds a finding, unless the same was found before.
pub(crate) fn found(checker: Checker, text: String) {
    let finding = Finding { checker, text };
    let mut findings = FINDINGS.lock();
    if findings.len() < KEPT && !findings.contains(&finding) {
        // Standard error may be closed; the finding is kept all the same.
        let _ = writeln!(std::io::stderr(), "softgpu: {checker}: {}", finding.text);
        findings.push(finding);
    }
}

/// What was found so far.
pub fn findings() -> Vec<Finding> {
    FINDINGS.lock().clone()
}

/// What was found so far; forgets it.
pub fn take_findings() -> Vec<Finding> {
    std::mem::take(&mut *FINDINGS.lock())
}

extern "C" fn at_exit() {
    if is_on(Checker::Leaks) {
        for leak in crate::driver::leaks::list() {
            found(Checker::Leaks, leak.to_string());
        }
    }
    let code = std::env::var("SOFTGPU_CHECK_EXIT").ok().and_then(|text| text.trim().parse().ok());
    if let Some(code) = code
        && !FINDINGS.lock().is_empty()
    {
        // SAFETY: null stands for every stream; nothing is passed to the other.
        unsafe {
            libc::fflush(std::ptr::null_mut());
            libc::_exit(code);
        }
    }
}
