//! The backends of this build, and the drivers loaded so far.

use crate::{Driver, DriverChoice, Error, ErrorKind, Result, SymbolReport};
use hal_utils::loader::Resolver;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

struct Backend {
    name: &'static str,
    load: fn(&DriverChoice) -> Result<Arc<dyn Driver>>,
    symbols: fn(&DriverChoice) -> Result<SymbolReport>,
}

/// In the order in which [`open_default`](crate::open_default) tries them.
const BACKENDS: &[Backend] = &[
    #[cfg(feature = "cuda")]
    Backend {
        name: "cuda",
        load: |choice| Ok(hal_utils::SharedDriver::new(hal_cuda::load(choice, soft::CUDA)?)),
        symbols: |choice| hal_cuda::symbols(choice, soft::CUDA),
    },
    #[cfg(feature = "hip")]
    Backend {
        name: "hip",
        load: |choice| Ok(hal_utils::SharedDriver::new(hal_hip::load(choice, soft::HIP)?)),
        symbols: |choice| hal_hip::symbols(choice, soft::HIP),
    },
];

#[cfg(feature = "soft")]
#[allow(dead_code, reason = "each is used by its backend's feature")]
mod soft {
    use super::Resolver;

    // SAFETY: the software GPU's functions have the ABI of the CUDA driver, and stay.
    pub(super) const CUDA: Option<Resolver> =
        Some(unsafe { Resolver::new("softgpu", softgpu::cuda::resolve) });
    // SAFETY: the software GPU's functions have the ABI of the HIP runtime, and stay.
    pub(super) const HIP: Option<Resolver> = Some(unsafe { Resolver::new("softgpu", softgpu::hip::resolve) });
}

#[cfg(not(feature = "soft"))]
#[allow(dead_code, reason = "each is used by its backend's feature")]
mod soft {
    use super::Resolver;

    pub(super) const CUDA: Option<Resolver> = None;
    pub(super) const HIP: Option<Resolver> = None;
}

/// The names of the backends in this build, the preferred one first.
pub fn backends() -> &'static [&'static str] {
    const NAMES: &[&str] = &[
        #[cfg(feature = "cuda")]
        "cuda",
        #[cfg(feature = "hip")]
        "hip",
    ];
    NAMES
}

type Loaded = HashMap<(&'static str, DriverChoice), Arc<dyn Driver>>;

/// Loads a backend's driver, or returns the one loaded before for the same choice.
///
/// # Errors
/// `InvalidArgument` if this build has no such backend, naming those it has; `Unavailable` if there is no such driver,
/// saying what was tried.
pub fn load(backend: &str, choice: &DriverChoice) -> Result<Arc<dyn Driver>> {
    static LOADED: Mutex<Option<Loaded>> = Mutex::new(None);
    let backend = find(backend)?;
    // Held while loading, so that two threads do not start one driver twice.
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let loaded = loaded.get_or_insert_default();
    let key = (backend.name, choice.clone());
    if let Some(driver) = loaded.get(&key) {
        return Ok(driver.clone());
    }
    let driver = (backend.load)(choice)?;
    loaded.insert(key, driver.clone());
    Ok(driver)
}

/// Which functions of a backend's symbol table a driver has. Does not start the driver.
///
/// # Errors
/// As for [`load`].
pub fn symbols(backend: &str, choice: &DriverChoice) -> Result<SymbolReport> {
    (find(backend)?.symbols)(choice)
}

/// The name of a backend of this build as it is kept here.
pub(crate) fn name(backend: &str) -> Result<&'static str> {
    find(backend).map(|backend| backend.name)
}

fn find(name: &str) -> Result<&'static Backend> {
    BACKENDS.iter().find(|backend| backend.name == name).ok_or_else(|| {
        Error::new(
            ErrorKind::InvalidArgument,
            format!("no backend `{name}` in this build; it has {}", backends().join(", ")),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_of_the_table() {
        assert!(BACKENDS.iter().map(|backend| &backend.name).eq(backends()));
    }
}
