//! What the software GPU says of itself is the same through every backend, but for what the backends are.

#![cfg(feature = "soft")]
#![allow(clippy::unwrap_used, reason = "a test")]

use hal::{DeviceInfo, DriverChoice, DriverKind, ExecutableParams};

/// Through every backend, without opening a device.
fn infos() -> Vec<DeviceInfo> {
    let first = |backend: &&str| {
        let driver = hal::load(backend, &DriverChoice::Soft).unwrap();
        driver.devices().unwrap().swap_remove(0)
    };
    hal::backends().iter().map(first).collect()
}

#[test]
fn it_is_there_and_whole() {
    for (info, backend) in infos().iter().zip(hal::backends()) {
        assert_eq!(info.driver.backend, *backend);
        assert_eq!((info.driver.kind, &*info.driver.path), (DriverKind::Soft, "in-process"));
        assert!(!info.driver.version.is_empty() && !info.name.is_empty() && !info.arch.is_empty());
        assert!(info.uuid.starts_with("GPU-") && info.uuid.len() == "GPU-".len() + 36, "{}", info.uuid);
        assert!(info.total_memory > 0);
        assert!(info.capabilities.formats.contains(&hal::ExecutableFormat::Ptx));
        let limits = &info.limits;
        assert!(limits.max_workgroup_size >= 1024 && limits.max_shared_memory >= 48 << 10);
        assert!(limits.max_workgroup_dims.iter().chain(&limits.max_grid_dims).all(|&most| most > 0));
        assert!(limits.subgroup_size.is_power_of_two() && limits.multiprocessors > 0);
    }
}

#[test]
fn backends_agree() {
    let infos = infos();
    for pair in infos.windows(2) {
        assert_eq!(pair[0].uuid, pair[1].uuid);
        assert_eq!(pair[0].total_memory, pair[1].total_memory);
        assert_eq!(pair[0].limits.max_grid_dims, pair[1].limits.max_grid_dims);
        assert_eq!(pair[0].limits.subgroup_size, pair[1].limits.subgroup_size);
    }
}

#[test]
fn opening_adds_the_stream_priorities() {
    for backend in hal::backends() {
        let device = hal::open(&format!("soft://{backend}/0")).unwrap();
        let [least, greatest] = device.info().limits.stream_priorities;
        // Lower numbers are more urgent.
        assert!(greatest < least, "{backend}: {least} {greatest}");
    }
}

#[test]
fn code_that_is_no_code_is_refused_with_the_reason() {
    for backend in hal::backends() {
        let device = hal::open(&format!("soft://{backend}/0")).unwrap();
        let error = device.load_executable(&ExecutableParams::ptx("poem", "Roses are red")).unwrap_err();
        assert_eq!(error.kind(), hal::ErrorKind::InvalidArgument, "{error}");
        assert!(error.message().contains("loading PTX: "), "{error}");
    }
}
