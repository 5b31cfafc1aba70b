//! The queue over a mock device: what is issued, when, in which order, and who owns what when a call fails.

use crate::mock::{self, Control};
use hal_core::{
    Buffer, BufferParams, CommandBuffer, Deadline, Device, DeviceParams, Error, ErrorKind, Queue,
    QueueParams, Semaphore, Submission,
};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

mod failure;
mod lifecycle;
mod loss;
mod order;
mod trace;
mod watchdog;

struct Bench {
    device: Arc<dyn Device>,
    control: Control,
}

impl Bench {
    fn new() -> Self {
        Self::with(DeviceParams::default())
    }

    fn with(params: DeviceParams) -> Self {
        let (device, control) = mock::device(&params);
        Bench { device, control }
    }

    fn queue(&self) -> Arc<dyn Queue> {
        self.device.create_queue(&QueueParams::default()).unwrap()
    }

    fn semaphore(&self) -> Arc<dyn Semaphore> {
        self.device.create_semaphore(0).unwrap()
    }

    fn buffer(&self) -> Arc<dyn Buffer> {
        self.device.allocate_buffer(&BufferParams::device_local(64)).unwrap()
    }

    /// Fills with these patterns, which the log shows.
    fn fills(&self, patterns: impl IntoIterator<Item = u8>) -> Arc<dyn CommandBuffer> {
        let buffer = self.buffer();
        let mut encoder = self.device.encoder();
        for pattern in patterns {
            encoder.fill(&buffer, 0, 64, &[pattern]).unwrap();
        }
        encoder.finish(&*self.device).unwrap()
    }

    /// The patterns filled so far, in order.
    fn filled(&self) -> Vec<u64> {
        let log = self.control.log();
        let fills = log.iter().filter(|line| line.starts_with("fill"));
        fills.map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect()
    }
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(20))
}
