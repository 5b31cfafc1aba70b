//! What a run tests: a backend, one of its drivers, one of that driver's devices.

use hal::DriverChoice;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

/// Which library serves a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverArg {
    /// The software GPU inside the process.
    Soft,
    /// What the system has.
    System,
    /// A library at this path.
    Path(PathBuf),
}

impl DriverArg {
    /// Reads `soft`, `system` or a path. A path may be any text, so this cannot fail.
    pub fn parse(text: OsString) -> Self {
        match text.to_str() {
            Some("soft") => DriverArg::Soft,
            Some("system") => DriverArg::System,
            _ => DriverArg::Path(text.into()),
        }
    }

    fn to_arg(&self) -> OsString {
        match self {
            DriverArg::Soft => "soft".into(),
            DriverArg::System => "system".into(),
            DriverArg::Path(path) => path.into(),
        }
    }

    /// The same in the facade's words.
    pub fn choice(&self) -> DriverChoice {
        match self {
            DriverArg::Soft => DriverChoice::Soft,
            DriverArg::System => DriverChoice::System,
            DriverArg::Path(path) => DriverChoice::Path(path.clone()),
        }
    }
}

impl fmt::Display for DriverArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DriverArg::Soft => f.write_str("the software GPU"),
            DriverArg::System => f.write_str("the system's driver"),
            DriverArg::Path(path) => write!(f, "{}", path.display()),
        }
    }
}

/// What a run tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// `cuda` or `hip`.
    pub backend: String,
    /// Which library.
    pub driver: DriverArg,
    /// Which of its devices.
    pub device: u32,
}

impl Target {
    /// The arguments that make a child process test the same.
    pub fn to_args(&self) -> Vec<OsString> {
        vec![
            "--backend".into(),
            self.backend.clone().into(),
            "--driver".into(),
            self.driver.to_arg(),
            "--device".into(),
            self.device.to_string().into(),
        ]
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "device {} of {} for {}", self.device, self.driver, self.backend)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn driver_arguments_survive_the_way_to_the_child() {
        for text in ["soft", "system", "/opt/libcuda.so", "./soft"] {
            assert_eq!(DriverArg::parse(text.into()).to_arg(), text);
        }
        assert_eq!(DriverArg::parse("./soft".into()), DriverArg::Path("./soft".into()));
    }
}
