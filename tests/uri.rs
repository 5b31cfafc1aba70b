//! Opening devices by name, as a program does.

use hal::ErrorKind;

#[test]
fn an_unknown_uri_lists_the_valid_ones() {
    let error = hal::open("vulkan://0").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let text = error.message();
    assert!(text.contains("`vulkan://0`"), "{text}");
    for backend in hal::backends() {
        assert!(text.contains(backend), "{text}");
    }
    for report in hal::enumerate() {
        for device in report.devices() {
            assert!(text.contains(&report.uri(device)), "{text}");
        }
    }
}

#[test]
fn a_path_that_is_no_library_says_so() {
    let error = hal::open("cuda://0?driver=/does/not/exist.so").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().contains("/does/not/exist.so"), "{error}");
}

#[test]
fn every_backend_is_reported_with_both_drivers() {
    let reports = hal::enumerate();
    assert_eq!(reports.len(), 2 * hal::backends().len());
    for report in &reports {
        if let Err(error) = &report.outcome {
            // Absence is a reason, not a riddle.
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        }
    }
}

#[cfg(all(feature = "cuda", feature = "soft"))]
mod soft_cuda {
    use super::*;
    use hal::{DriverChoice, DriverKind};

    #[test]
    fn an_ordinal_too_many_names_the_count() {
        let count = hal::load("cuda", &DriverChoice::Soft).unwrap().devices().unwrap().len();
        let error = hal::open(&format!("soft://cuda/{count}")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.message().contains(&count.to_string()), "{error}");
    }

    #[test]
    fn a_device_opens_by_number_and_by_uuid() {
        let device = hal::open("soft").unwrap();
        let info = device.info();
        assert_eq!((info.driver.backend, info.driver.kind), ("cuda", DriverKind::Soft));
        assert_eq!(info.driver.path, "in-process");
        let same = hal::open(&format!("soft://cuda/{}", info.uuid)).unwrap();
        assert_eq!(same.info().uuid, info.uuid);
        assert_ne!(same.id(), device.id());
        let error = hal::open("soft://cuda/GPU-none").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.message().contains(&info.uuid), "{error}");
    }

    #[test]
    fn a_driver_is_loaded_once() {
        let first = hal::load("cuda", &DriverChoice::Soft).unwrap();
        let second = hal::load("cuda", &DriverChoice::Soft).unwrap();
        assert!(std::sync::Arc::ptr_eq(&first, &second));
    }

    #[test]
    fn there_is_always_a_default() {
        hal::open_default().unwrap();
    }
}
