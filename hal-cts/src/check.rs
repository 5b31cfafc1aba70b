//! Failing without panicking: what was expected, what was found, and where.

use hal_core::Error;
use std::fmt;
use std::panic::Location;

/// The result of a case.
pub type Outcome<T = ()> = Result<T, Failure>;

/// Why a case failed, and on which line.
#[derive(Clone, Debug)]
pub struct Failure {
    message: String,
    location: &'static Location<'static>,
}

impl Failure {
    /// A failure at the caller's line.
    #[track_caller]
    pub fn new(message: impl Into<String>) -> Self {
        Failure { message: message.into(), location: Location::caller() }
    }

    /// What was expected and what was found.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The file of the check that failed.
    pub fn file(&self) -> &'static str {
        self.location.file()
    }

    /// The line of the check that failed.
    pub fn line(&self) -> u32 {
        self.location.line()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file(), self.line(), self.message)
    }
}

impl std::error::Error for Failure {}

impl From<Error> for Failure {
    #[track_caller]
    fn from(error: Error) -> Self {
        Failure::new(format!("unexpected error: {error}"))
    }
}

/// Fails the case unless the condition holds. A message may follow.
macro_rules! check {
    ($condition:expr $(,)?) => {
        check!($condition, "")
    };
    ($condition:expr, $($message:tt)+) => {
        let holds: bool = $condition;
        if !holds {
            let message = format!($($message)+);
            let separator = if message.is_empty() { "" } else { ": " };
            return Err($crate::Failure::new(format!(
                "`{}` does not hold{}{}",
                stringify!($condition),
                separator,
                message
            )));
        }
    };
}

/// Fails the case unless both are equal, showing both. A message may follow.
macro_rules! check_eq {
    ($found:expr, $expected:expr $(,)?) => {
        check_eq!($found, $expected, "")
    };
    ($found:expr, $expected:expr, $($message:tt)+) => {
        match (&$found, &$expected) {
            (found, expected) => {
                if *found != *expected {
                    let message = format!($($message)+);
                    let separator = if message.is_empty() { "" } else { ": " };
                    return Err($crate::Failure::new(format!(
                        "`{}` is {:?}, expected {:?}{}{}",
                        stringify!($found), found, expected, separator, message
                    )));
                }
            }
        }
    };
}

/// Fails the case unless the expression is an error of this kind; its value is the error.
macro_rules! check_err {
    ($result:expr, $kind:expr $(,)?) => {
        match $result {
            Ok(value) => {
                return Err($crate::Failure::new(format!(
                    "`{}` succeeded with {:?}, expected the error `{}`",
                    stringify!($result),
                    value,
                    $kind
                )));
            }
            Err(error) if error.kind() != $kind => {
                return Err($crate::Failure::new(format!(
                    "`{}` failed with `{}`, expected the kind `{}`",
                    stringify!($result),
                    error,
                    $kind
                )));
            }
            Err(error) => error,
        }
    };
}
