//! Whether the environment may be trusted.

/// Whether this process runs with more rights than whoever started it: then the environment is not to choose code.
#[cfg(target_os = "linux")]
pub(super) fn is_privileged() -> bool {
    // SAFETY: `getauxval` reads a table the kernel filled in before `main`; an unknown key gives 0.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Whether this process runs with more rights than whoever started it: then the environment is not to choose code.
#[cfg(all(unix, not(target_os = "linux")))]
pub(super) fn is_privileged() -> bool {
    // SAFETY: these calls only read, and cannot fail.
    unsafe { libc::getuid() != libc::geteuid() || libc::getgid() != libc::getegid() }
}

/// Windows has no such processes.
#[cfg(not(unix))]
pub(super) fn is_privileged() -> bool {
    false
}
