//! Which library becomes the driver.

use super::library::{Library, Resolver};
use super::privilege::is_privileged;
use hal_core::{DriverKind, Error, ErrorKind, Result};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Which driver to use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum DriverChoice {
    /// [`System`](DriverChoice::System), and if that one is unavailable, [`Soft`](DriverChoice::Soft). If the
    /// environment names a library, that one or none.
    #[default]
    Auto,
    /// The library that the environment names, else the one the system has under the platform's names.
    System,
    /// The software GPU inside this process.
    Soft,
    /// This library.
    Path(PathBuf),
}

/// What a backend's library is called.
#[derive(Clone, Copy, Debug)]
pub struct LibraryNames {
    /// The backend, `cuda`.
    pub backend: &'static str,
    /// The environment variable that overrides the names. Ignored in a privileged process.
    pub variable: &'static str,
    /// The platform's names, best first.
    pub names: &'static [&'static str],
}

/// Where a driver comes from; goes into its [`DriverInfo`](hal_core::DriverInfo).
#[derive(Clone, Debug)]
pub struct Origin {
    /// What kind of place.
    pub kind: DriverKind,
    /// The library, or `in-process`.
    pub path: String,
}

/// Opens the library that the choice leads to, and starts a driver on it.
///
/// # Errors
/// `Unavailable`, with every name tried and why each failed; what `start` returns.
pub fn load_driver<D>(
    names: &LibraryNames,
    choice: &DriverChoice,
    resolver: Option<Resolver>,
    start: impl Fn(Library, Origin) -> Result<D>,
) -> Result<D> {
    let variable = std::env::var_os(names.variable).filter(|value| !value.is_empty() && !is_privileged());
    load_from(names, choice, variable, resolver, start)
}

fn load_from<D>(
    names: &LibraryNames,
    choice: &DriverChoice,
    variable: Option<OsString>,
    resolver: Option<Resolver>,
    start: impl Fn(Library, Origin) -> Result<D>,
) -> Result<D> {
    let run = |library: Library, kind| {
        let origin = Origin { kind, path: library.path().to_owned() };
        start(library, origin)
    };
    let system = || match &variable {
        Some(path) => run(open_path(names, path, Some(names.variable))?, DriverKind::Path),
        None => run(open_names(names)?, DriverKind::System),
    };
    let soft = || run(Library::Resolver(resolver.ok_or_else(|| no_soft(names))?), DriverKind::Soft);
    match choice {
        DriverChoice::Path(path) => run(open_path(names, path.as_os_str(), None)?, DriverKind::Path),
        DriverChoice::Soft => soft(),
        DriverChoice::System => system(),
        DriverChoice::Auto => match system() {
            Err(error)
                if error.kind() == ErrorKind::Unavailable && variable.is_none() && resolver.is_some() =>
            {
                soft()
            }
            answer => answer,
        },
    }
}

fn open_path(names: &LibraryNames, path: &OsStr, variable: Option<&str>) -> Result<Library> {
    Library::open(path).map_err(|reason| {
        let from = variable.map(|name| format!(", which {name} names")).unwrap_or_default();
        Error::new(
            ErrorKind::Unavailable,
            format!("cannot open the {} driver {}{from}: {reason}", names.backend, path.to_string_lossy()),
        )
    })
}

fn open_names(names: &LibraryNames) -> Result<Library> {
    let mut tried = Vec::new();
    for name in names.names {
        match Library::open(OsStr::new(name)) {
            Ok(library) => return Ok(library),
            Err(reason) => tried.push(format!("{name} ({reason})")),
        }
    }
    Err(Error::new(
        ErrorKind::Unavailable,
        format!(
            "no {} driver on this system; tried {}; install the driver, or set {} to its library",
            names.backend,
            tried.join(", "),
            names.variable
        ),
    ))
}

fn no_soft(names: &LibraryNames) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!("no software GPU for {} in this program; build it with the feature `soft`", names.backend),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: LibraryNames = LibraryNames {
        backend: "test",
        variable: "HAL_TEST_LIBRARY",
        names: &["libdoes-not-exist.so.1", "libdoes-not-exist.so"],
    };

    fn load(choice: DriverChoice, variable: Option<&str>, resolver: bool) -> Result<Origin> {
        // SAFETY: resolves nothing.
        let resolver = resolver.then_some(unsafe { Resolver::new("empty", |_| None) });
        load_from(&NAMES, &choice, variable.map(OsString::from), resolver, |_, origin| Ok(origin))
    }

    #[test]
    fn a_missing_library_lists_every_name_and_why() {
        let error = load(DriverChoice::System, None, true).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        let text = error.to_string();
        for part in ["libdoes-not-exist.so.1 (", "libdoes-not-exist.so (", "HAL_TEST_LIBRARY"] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        // The dynamic linker's own words, once per name.
        assert_eq!(text.matches("No such file").count(), 2, "{text}");
    }

    #[test]
    fn a_missing_path_is_named() {
        let path = PathBuf::from("/does/not/exist.so");
        let text = load(DriverChoice::Path(path), None, true).unwrap_err().to_string();
        assert!(text.contains("/does/not/exist.so") && text.contains("No such file"), "{text}");
    }

    #[test]
    fn the_environment_decides_and_nothing_replaces_it() {
        for choice in [DriverChoice::Auto, DriverChoice::System] {
            let text = load(choice, Some("/from/the/environment.so"), true).unwrap_err().to_string();
            assert!(text.contains("/from/the/environment.so, which HAL_TEST_LIBRARY names"), "{text}");
        }
        let origin = load(DriverChoice::Auto, Some("libc.so.6"), true).unwrap();
        assert_eq!((origin.kind, &*origin.path), (DriverKind::Path, "libc.so.6"));
    }

    #[test]
    fn auto_ends_at_the_software_gpu_if_there_is_one() {
        let origin = load(DriverChoice::Auto, None, true).unwrap();
        assert_eq!((origin.kind, &*origin.path), (DriverKind::Soft, "in-process"));
        assert_eq!(load(DriverChoice::Auto, None, false).unwrap_err().kind(), ErrorKind::Unavailable);
        let text = load(DriverChoice::Soft, None, false).unwrap_err().to_string();
        assert!(text.contains("feature `soft`"), "{text}");
    }

    #[test]
    fn auto_keeps_an_error_that_is_not_absence() {
        let names = LibraryNames { names: &["libc.so.6"], ..NAMES };
        // SAFETY: resolves nothing.
        let resolver = unsafe { Resolver::new("empty", |_| None) };
        let outcome: Result<()> =
            load_from(&names, &DriverChoice::Auto, None, Some(resolver), |_, origin| {
                assert_eq!(origin.kind, DriverKind::System);
                Err(Error::new(ErrorKind::Internal, "broken"))
            });
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Internal);
    }
}
