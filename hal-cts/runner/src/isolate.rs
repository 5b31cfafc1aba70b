//! One child process: what it said, and how it ended.
//!
//! A driver may crash, abort or hang, and take its process along. Nothing it does may take the run along.

use crate::protocol::{self, Answer};
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// How long a killed process may take to go. A driver can hold it in the kernel for ever.
const KILL_LIMIT: Duration = Duration::from_secs(10);
/// How long the pipes of a process that is gone may stay open, which only a process of its own making can cause.
const PIPE_LIMIT: Duration = Duration::from_secs(2);
/// Most bytes kept of an output stream.
const KEPT: usize = 1 << 20;
/// Lines of standard error quoted in a reason.
const QUOTED_LINES: usize = 12;

/// What is left of a child process.
#[derive(Debug)]
pub struct Ended {
    /// How it ended.
    pub how: How,
    /// The end of what it printed.
    pub stdout: String,
    /// The end of what it complained.
    pub stderr: String,
}

/// How a child process ended.
#[derive(Debug, PartialEq, Eq)]
pub enum How {
    /// By itself.
    Exited(ExitStatus),
    /// Killed at its time limit.
    TimedOut(Duration),
    /// Killed at its time limit, and still there.
    Unkillable(Duration),
}

/// Runs this program with other arguments and some more environment variables, for at most `limit`.
pub fn call(args: &[OsString], settings: &[(&str, String)], limit: Duration) -> io::Result<Ended> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(args)
        .envs(settings.iter().map(|(name, value)| (name, value)))
        // Never written to: it closes when this process ends however it ends, and the child ends with it.
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let stdout = child.stdout.take().map(read_aside);
    let stderr = child.stderr.take().map(read_aside);
    let exit = wait_aside(&child);

    let how = match exit.recv_timeout(limit) {
        Ok(()) => How::Exited(child.wait()?),
        Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("cannot wait for the process")),
        Err(RecvTimeoutError::Timeout) => {
            child.kill()?;
            match exit.recv_timeout(KILL_LIMIT) {
                Ok(()) => {
                    child.wait()?;
                    How::TimedOut(limit)
                }
                Err(_) => How::Unkillable(limit),
            }
        }
    };
    let collect = |output: Option<Receiver<String>>| {
        output.and_then(|output| output.recv_timeout(PIPE_LIMIT).ok()).unwrap_or_default()
    };
    Ok(Ended { how, stdout: collect(stdout), stderr: collect(stderr) })
}

/// Reports on the channel that the child has ended, and leaves it to be reaped. So its id stays its own, and killing
/// it stays safe, until `Child::wait`.
fn wait_aside(child: &Child) -> Receiver<()> {
    let (sender, receiver) = mpsc::channel();
    let id = child.id();
    thread::spawn(move || {
        loop {
            // SAFETY: siginfo_t is plain data, for which zero is valid, and outlives the call that fills it.
            let status = unsafe {
                let mut info: libc::siginfo_t = std::mem::zeroed();
                libc::waitid(libc::P_PID, id, &mut info, libc::WEXITED | libc::WNOWAIT)
            };
            if status == 0 {
                // The other side may have given up.
                let _ = sender.send(());
                return;
            }
            if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return;
            }
        }
    });
    receiver
}

/// Reads to the end on a thread of its own, so that the child never waits for a reader.
fn read_aside(mut pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut kept = Vec::new();
        let mut chunk = vec![0; 1 << 16];
        loop {
            match pipe.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => {
                    kept.extend_from_slice(&chunk[..count]);
                    if kept.len() > 2 * KEPT {
                        kept.drain(..kept.len() - KEPT);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        let _ = sender.send(String::from_utf8_lossy(&kept).into_owned());
    });
    receiver
}

/// Why a case that ended like this failed; nothing if it passed.
pub fn failure(ended: &Ended) -> Option<String> {
    let answer = protocol::receive::<Answer>(&ended.stdout);
    let end = unusual_end(&ended.how);
    let first = match (answer, end) {
        (Some(Answer { failure: None }), None) => return None,
        // The case's own words are enough.
        (Some(Answer { failure: Some(failure) }), _) if exit_code(&ended.how) == Some(1) => {
            return Some(failure);
        }
        (Some(Answer { failure: Some(failure) }), Some(end)) => format!("{failure}; then {end}"),
        (Some(Answer { failure: Some(failure) }), None) => failure,
        (Some(Answer { failure: None }), Some(end)) => format!("the case passed; then {end}"),
        (None, Some(end)) => end,
        (None, None) => "the process ended without a result".to_owned(),
    };
    Some(with_stderr(first, &ended.stderr))
}

fn exit_code(how: &How) -> Option<i32> {
    match how {
        How::Exited(status) => status.code(),
        How::TimedOut(_) | How::Unkillable(_) => None,
    }
}

/// What is unusual about an end, if anything is.
pub fn unusual_end(how: &How) -> Option<String> {
    match how {
        How::Exited(status) => match (status.signal(), status.code()) {
            (Some(signal), _) => Some(format!("the process died of {}", signal_name(signal))),
            (None, Some(0)) => None,
            (None, Some(code)) => Some(format!("the process ended with exit code {code}")),
            (None, None) => Some(format!("the process ended: {status}")),
        },
        How::TimedOut(limit) => {
            Some(format!("the process was killed at its time limit of {} s", limit.as_secs_f64()))
        }
        How::Unkillable(limit) => Some(format!(
            "the process was killed at its time limit of {} s, and still does not end: the driver holds it",
            limit.as_secs_f64()
        )),
    }
}

/// Adds the last lines of standard error to a reason.
pub fn with_stderr(reason: String, stderr: &str) -> String {
    let lines: Vec<_> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.is_empty() {
        return reason;
    }
    let last = &lines[lines.len().saturating_sub(QUOTED_LINES)..];
    let quoted = last.iter().map(|line| format!("\n  | {}", shortened(line)));
    format!("{reason}; last on its standard error:{}", quoted.collect::<String>())
}

fn shortened(line: &str) -> String {
    const MOST: usize = 400;
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        libc::SIGABRT => "SIGABRT (it aborted)",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGILL => "SIGILL",
        libc::SIGINT => "SIGINT",
        libc::SIGKILL => "SIGKILL (perhaps the system ran out of memory)",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGSEGV => "SIGSEGV (it accessed memory it does not have)",
        libc::SIGSYS => "SIGSYS",
        libc::SIGTERM => "SIGTERM",
        libc::SIGTRAP => "SIGTRAP",
        other => return format!("signal {other}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSED: &str = "\nhal-cts-answer {\"failure\":null}\n";
    const FAILED: &str = "\nhal-cts-answer {\"failure\":\"1 is not 2\"}\n";

    fn ended(how: How, stdout: &str) -> Ended {
        Ended { how, stdout: stdout.to_owned(), stderr: "first\n\nlast words\n".to_owned() }
    }

    /// As `wait` encodes them: a signal in the low byte, an exit code above it.
    fn exited(raw: i32) -> How {
        How::Exited(ExitStatus::from_raw(raw))
    }

    #[test]
    fn passing_needs_an_answer_and_a_clean_end() {
        assert_eq!(failure(&ended(exited(0), PASSED)), None);
        assert!(failure(&ended(exited(0), "")).unwrap().contains("without a result"));
        assert!(failure(&ended(exited(11), PASSED)).unwrap().starts_with("the case passed; then"));
        assert!(failure(&ended(exited(3 << 8), PASSED)).unwrap().contains("exit code 3"));
    }

    #[test]
    fn the_case_speaks_for_itself() {
        assert_eq!(failure(&ended(exited(1 << 8), FAILED)).unwrap(), "1 is not 2");
        assert!(failure(&ended(exited(11), FAILED)).unwrap().starts_with("1 is not 2; then"));
    }

    #[test]
    fn crashes_and_hangs_say_so() {
        let text = failure(&ended(exited(libc::SIGABRT), "")).unwrap();
        assert!(text.contains("SIGABRT") && text.contains("| last words"), "{text}");
        let text = failure(&ended(exited(64), "")).unwrap();
        assert!(text.contains("signal 64"), "{text}");
        let text = failure(&ended(How::TimedOut(Duration::from_millis(1500)), FAILED)).unwrap();
        assert!(text.contains("1 is not 2") && text.contains("time limit of 1.5 s"), "{text}");
        let text = failure(&ended(How::Unkillable(Duration::from_secs(1)), "")).unwrap();
        assert!(text.contains("driver holds it"), "{text}");
    }

    #[test]
    fn long_complaints_are_cut() {
        let text = with_stderr("x".into(), &format!("{}\n{}", "line\n".repeat(100), "ä".repeat(1000)));
        assert_eq!(text.lines().count(), 1 + QUOTED_LINES);
        assert!(text.ends_with("ä…"));
    }
}
