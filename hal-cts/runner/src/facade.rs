//! What this program uses of the facade.

use hal_core::{Driver, Error, ErrorKind, Result};
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub enum DriverChoice {
    System,
    Soft,
    Path(PathBuf),
}

pub fn load(backend: &str, choice: &DriverChoice) -> Result<Arc<dyn Driver>> {
    Err(Error::new(ErrorKind::Unavailable, format!("no {choice:?} driver for {backend}")))
}

pub fn backends() -> &'static [&'static str] {
    &["cuda", "hip"]
}
