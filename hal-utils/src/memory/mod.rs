//! Accounts of what is allocated, held to budgets.

#[cfg(all(test, not(any(hal_loom, hal_shuttle))))]
mod tests;

use crate::sync::{AtomicU64, Ordering};
use hal_core::{Error, ErrorKind, MemoryBudgets, MemoryKind, MemoryStatistics, Result};

/// One account per kind.
pub(crate) struct Accounts {
    device_local: Account,
    host_visible: Account,
    managed: Account,
}

impl Accounts {
    pub(crate) fn new(budgets: &MemoryBudgets) -> Self {
        let account = |kind| Account::new(budgets.of(kind));
        Accounts {
            device_local: account(MemoryKind::DeviceLocal),
            host_visible: account(MemoryKind::HostVisible),
            managed: account(MemoryKind::Managed),
        }
    }

    pub(crate) fn of(&self, kind: MemoryKind) -> Option<&Account> {
        match kind {
            MemoryKind::DeviceLocal => Some(&self.device_local),
            MemoryKind::HostVisible => Some(&self.host_visible),
            MemoryKind::Managed => Some(&self.managed),
            _ => None,
        }
    }

    pub(crate) fn statistics(&self, kind: MemoryKind) -> MemoryStatistics {
        self.of(kind).map(Account::statistics).unwrap_or_default()
    }
}

pub(crate) struct Account {
    live: AtomicU64,
    peak: AtomicU64,
    budget: Option<u64>,
}

impl Account {
    fn new(budget: Option<u64>) -> Self {
        Account { live: AtomicU64::new(0), peak: AtomicU64::new(0), budget }
    }

    /// Takes `size` bytes before the driver is asked for them, so that threads together stay within the budget.
    pub(crate) fn take(&self, kind: MemoryKind, size: u64) -> Result<()> {
        let within = |live: u64| live.checked_add(size).filter(|&sum| sum <= self.budget.unwrap_or(u64::MAX));
        match self.live.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within) {
            Ok(_) => Ok(()),
            Err(live) => {
                let budget = self.budget.unwrap_or(u64::MAX);
                Err(Error::new(
                    ErrorKind::ResourceExhausted,
                    format!(
                        "{size} bytes of {kind:?} memory asked for, {live} of a budget of {budget} are live, {} are \
                         left; free buffers or raise `DeviceParams::memory_budgets`",
                        budget.saturating_sub(live)
                    ),
                ))
            }
        }
    }

    /// The driver gave what was taken. Only now it counts for the peak.
    pub(crate) fn given(&self) {
        self.peak.fetch_max(self.live.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Memory went back to the driver, or was not given.
    pub(crate) fn put_back(&self, size: u64) {
        self.live.fetch_sub(size, Ordering::Relaxed);
    }

    fn statistics(&self) -> MemoryStatistics {
        MemoryStatistics {
            live: self.live.load(Ordering::Relaxed),
            peak: self.peak.load(Ordering::Relaxed),
            budget: self.budget,
        }
    }
}
