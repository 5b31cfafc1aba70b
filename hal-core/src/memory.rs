//! How much memory a device has allocated, and how much it may.

use crate::MemoryKind;

/// Most bytes a device may have allocated, per kind of memory. What goes beyond is refused before the driver is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryBudgets {
    /// Device-local memory. `None`: what the driver gives.
    pub device_local: Option<u64>,
    /// Pinned host memory, rings of file transfers included. `None`: what the driver gives.
    pub host_visible: Option<u64>,
    /// Managed memory. `None`: what the driver gives.
    pub managed: Option<u64>,
}

impl MemoryBudgets {
    /// That of one kind.
    pub fn of(&self, kind: MemoryKind) -> Option<u64> {
        match kind {
            MemoryKind::DeviceLocal => self.device_local,
            MemoryKind::HostVisible => self.host_visible,
            MemoryKind::Managed => self.managed,
        }
    }
}

/// What a device has allocated of one kind of memory, in bytes as asked for; a driver rounds up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryStatistics {
    /// Now. Memory that the driver refused to free still counts.
    pub live: u64,
    /// The most there has been at once.
    pub peak: u64,
    /// The most there may be.
    pub budget: Option<u64>,
}
