//! Over a mock device: what is counted, what is refused, what a failure leaves.

use crate::mock;
use hal_core::{BufferParams, DeviceParams, ErrorKind, MemoryBudgets, MemoryKind, MemoryStatistics};

fn budget(bytes: u64) -> DeviceParams {
    DeviceParams {
        memory_budgets: MemoryBudgets { device_local: Some(bytes), ..MemoryBudgets::default() },
        ..DeviceParams::default()
    }
}

#[test]
fn live_and_peak_per_kind() {
    let (device, _control) = mock::device(&DeviceParams::default());
    let first = device.allocate_buffer(&BufferParams::device_local(100)).unwrap();
    let second = device.allocate_buffer(&BufferParams::device_local(50)).unwrap();
    drop(first);
    let told = device.memory_statistics(MemoryKind::DeviceLocal);
    assert_eq!(told, MemoryStatistics { live: 50, peak: 150, budget: None });
    assert_eq!(device.memory_statistics(MemoryKind::HostVisible), MemoryStatistics::default());
    drop(second);
    assert_eq!(device.memory_statistics(MemoryKind::DeviceLocal).live, 0);
}

#[test]
fn beyond_the_budget_no_driver_is_asked() {
    let (device, control) = mock::device(&budget(1000));
    let kept = device.allocate_buffer(&BufferParams::device_local(600)).unwrap();
    control.fail("allocate", 1, 1, false);
    let error = device.allocate_buffer(&BufferParams::device_local(401)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ResourceExhausted);
    for number in ["401", "600", "1000", "400"] {
        assert!(error.to_string().contains(number), "{number} in: {error}");
    }
    // Were the driver asked above, the failure would be spent.
    let error = device.allocate_buffer(&BufferParams::device_local(400)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    device.allocate_buffer(&BufferParams::device_local(400)).unwrap();
    device.allocate_buffer(&BufferParams::host_visible(4000)).unwrap();
    drop(kept);
    device.allocate_buffer(&BufferParams::device_local(1000)).unwrap();
}

#[test]
fn refused_allocation_is_not_counted() {
    let (device, control) = mock::device(&budget(1000));
    control.fail("allocate", 1, 2, false);
    device.allocate_buffer(&BufferParams::device_local(1000)).unwrap_err();
    let told = device.memory_statistics(MemoryKind::DeviceLocal);
    assert_eq!(told, MemoryStatistics { live: 0, peak: 0, budget: Some(1000) });
}

#[test]
fn refused_free_stays_counted() {
    let (device, control) = mock::device(&budget(1000));
    let buffer = device.allocate_buffer(&BufferParams::device_local(700)).unwrap();
    control.fail("free", 1, 1, false);
    drop(buffer);
    assert_eq!(device.memory_statistics(MemoryKind::DeviceLocal).live, 700);
    device.allocate_buffer(&BufferParams::device_local(301)).unwrap_err();
}
