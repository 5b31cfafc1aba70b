//! A device that does nothing, and takes no time for it, or as long as a real driver's calls take: what is measured over
//! it is the HAL.

use hal_core::{
    Capabilities, DeviceInfo, DriverInfo, DriverKind, Error, ErrorKind, ExecutableFormat, Limits, MemoryKind,
    QueuePriority, Result,
};
use hal_utils::native::{Allocation, FunctionInfo, LaunchShape, Native, NativeDriver, Progress};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What calls take.
#[derive(Clone, Copy, Debug, Default)]
pub struct Costs {
    pub launch: Duration,
    pub event_record: Duration,
    pub event_query: Duration,
    pub stream_wait_event: Duration,
}

impl Costs {
    /// What has been published of CUDA: launch 2.6 µs (RTX 5070 Ti), record 244 ns, query 1 µs, wait 254 ns (V100).
    pub const PUBLISHED: Costs = Costs {
        launch: Duration::from_nanos(2600),
        event_record: Duration::from_nanos(244),
        event_query: Duration::from_nanos(1000),
        stream_wait_event: Duration::from_nanos(254),
    };
}

fn take(time: Duration) {
    if !time.is_zero() {
        let start = Instant::now();
        while start.elapsed() < time {
            std::hint::spin_loop();
        }
    }
}

#[derive(Debug)]
pub struct Mock {
    info: DriverInfo,
    costs: Costs,
}

impl Mock {
    pub fn new(costs: Costs) -> Self {
        let info = DriverInfo::new("mock", DriverKind::Soft, "1".into(), "in-process".into());
        Mock { info, costs }
    }
}

impl NativeDriver for Mock {
    type Device = MockDevice;

    fn info(&self) -> &DriverInfo {
        &self.info
    }

    fn device_count(&self) -> Result<u32> {
        Ok(1)
    }

    fn device_info(&self, ordinal: u32) -> Result<DeviceInfo> {
        Ok(DeviceInfo {
            driver: self.info.clone(),
            ordinal,
            name: "mock".into(),
            uuid: "GPU-0".into(),
            arch: "mock".into(),
            total_memory: 0,
            capabilities: Capabilities {
                formats: vec![ExecutableFormat::Ptx],
                managed_memory: false,
                memory_pools: false,
                graphs: false,
                parameter_reflection: false,
                entry_point_listing: false,
            },
            limits: Limits {
                max_workgroup_size: 1,
                max_workgroup_dims: [1; 3],
                max_grid_dims: [1; 3],
                max_shared_memory: 0,
                subgroup_size: 1,
                multiprocessors: 1,
                stream_priorities: [0, 0],
            },
        })
    }

    fn open(&self, ordinal: u32) -> Result<MockDevice> {
        Ok(MockDevice { info: self.device_info(ordinal)?, costs: self.costs, handles: AtomicU64::new(1) })
    }
}

#[derive(Debug)]
pub struct MockDevice {
    info: DeviceInfo,
    costs: Costs,
    handles: AtomicU64,
}

impl MockDevice {
    fn handle(&self) -> u64 {
        self.handles.fetch_add(1, Ordering::Relaxed)
    }
}

// SAFETY: handles are numbers, and there is no device that could touch memory or be late.
unsafe impl Native for MockDevice {
    type Stream = u64;
    type Event = u64;
    type Module = u64;
    type Function = u64;
    type Previous = ();

    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn enter(&self) -> Result<()> {
        Ok(())
    }

    fn leave(&self, _previous: ()) {}

    unsafe fn stream_create(&self, _priority: QueuePriority) -> Result<u64> {
        Ok(self.handle())
    }

    unsafe fn stream_destroy(&self, _stream: u64) -> Result<()> {
        Ok(())
    }

    unsafe fn stream_query(&self, _stream: u64) -> Result<Progress> {
        take(self.costs.event_query);
        Ok(Progress::Done)
    }

    unsafe fn stream_wait_event(&self, _stream: u64, _event: u64) -> Result<()> {
        take(self.costs.stream_wait_event);
        Ok(())
    }

    unsafe fn event_create(&self) -> Result<u64> {
        Ok(self.handle())
    }

    unsafe fn event_destroy(&self, _event: u64) -> Result<()> {
        Ok(())
    }

    unsafe fn event_record(&self, _event: u64, _stream: u64) -> Result<()> {
        take(self.costs.event_record);
        Ok(())
    }

    unsafe fn event_query(&self, _event: u64) -> Result<Progress> {
        take(self.costs.event_query);
        Ok(Progress::Done)
    }

    unsafe fn allocate(&self, _kind: MemoryKind, _size: usize) -> Result<Allocation> {
        Err(Error::new(ErrorKind::Unimplemented, "the mock device has no memory"))
    }

    unsafe fn free(&self, _allocation: Allocation) -> Result<()> {
        Ok(())
    }

    unsafe fn fill(
        &self,
        _stream: u64,
        _target: u64,
        _pattern: u32,
        _size: u32,
        _count: usize,
    ) -> Result<()> {
        Ok(())
    }

    unsafe fn copy(&self, _stream: u64, _target: u64, _source: u64, _size: usize) -> Result<()> {
        Ok(())
    }

    unsafe fn upload(&self, _stream: u64, _target: u64, _source: &[u8]) -> Result<()> {
        Ok(())
    }

    unsafe fn module_load(&self, _format: ExecutableFormat, _image: &[u8]) -> Result<u64> {
        Ok(self.handle())
    }

    unsafe fn module_unload(&self, _module: u64) -> Result<()> {
        Ok(())
    }

    unsafe fn module_function(&self, _module: u64, _name: &str) -> Result<u64> {
        Ok(self.handle())
    }

    unsafe fn module_functions(&self, _module: u64) -> Result<Option<Vec<String>>> {
        Ok(None)
    }

    unsafe fn function_info(&self, _function: u64) -> Result<FunctionInfo> {
        Ok(FunctionInfo::default())
    }

    unsafe fn function_allow_shared_memory(&self, _function: u64, _bytes: u32) -> Result<()> {
        Ok(())
    }

    unsafe fn launch(
        &self,
        _stream: u64,
        _function: u64,
        _shape: LaunchShape,
        _arguments: &mut [*mut c_void],
    ) -> Result<()> {
        take(self.costs.launch);
        Ok(())
    }
}
