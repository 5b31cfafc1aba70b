//! Takes every function away from the software GPU, one at a time: a required one must be missed by name, an optional
//! one must turn a capability off, and nothing may crash.

#![cfg(all(feature = "cuda", feature = "hip", feature = "soft"))]

use hal::{Capabilities, DriverChoice, ErrorKind, Result};
use hal_utils::loader::{Resolver, Row};
use hal_utils::native::NativeDriver;
use std::cell::Cell;
use std::ffi::c_void;

thread_local! {
    static HIDDEN: Cell<&'static str> = const { Cell::new("") };
}

fn lookup(name: &str) -> Option<*const c_void> {
    // Without `cuGetProcAddress`, functions are looked up here.
    let hidden = HIDDEN.get() == name || name.starts_with("cuGetProcAddress");
    if hidden { None } else { softgpu::resolver::symbol(name) }
}

fn resolver() -> Option<Resolver> {
    // SAFETY: the software GPU's functions have the ABI of the drivers, and stay.
    Some(unsafe { Resolver::new("softgpu", lookup) })
}

#[test]
fn cuda_misses_each_function_by_name() {
    let all = cuda().unwrap();
    assert!(all.entry_point_listing && all.parameter_reflection);
    sweep(hal_cuda::sys::Symbols::rows(), cuda, &all);
}

#[test]
fn hip_misses_each_function_by_name() {
    sweep(hal_hip::sys::Symbols::rows(), hip, &hip().unwrap());
}

fn cuda() -> Result<Capabilities> {
    Ok(hal_cuda::load(&DriverChoice::Soft, resolver())?.device_info(0)?.capabilities)
}

fn hip() -> Result<Capabilities> {
    Ok(hal_hip::load(&DriverChoice::Soft, resolver())?.device_info(0)?.capabilities)
}

fn sweep(rows: &[Row], load: fn() -> Result<Capabilities>, all: &Capabilities) {
    for row in rows {
        HIDDEN.set(row.exported);
        match load() {
            Ok(less) => {
                assert!(!row.required, "{}", row.name);
                assert_ne!(less, *all, "{}", row.name);
            }
            Err(error) => {
                assert!(row.required, "{}", row.name);
                assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
                assert!(error.message().contains(row.name), "{error}");
            }
        }
    }
}
