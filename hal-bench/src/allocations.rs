//! An allocator that counts: how often the HAL allocates, and how many bytes are in use.
//!
//! What a driver allocates is counted apart. A thread belongs to the HAL once it has entered a [gauged](crate::gauge)
//! device, and to the driver while it is in one of its calls; a driver's own threads never enter.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static BY_HAL: AtomicU64 = AtomicU64::new(0);
static BY_OTHERS: AtomicU64 = AtomicU64::new(0);
/// Wraps, so that a difference is right whatever the order of the changes.
static IN_USE: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static ENTERED: Cell<bool> = const { Cell::new(false) };
    static IN_DRIVER: Cell<bool> = const { Cell::new(false) };
}

/// Allocations so far: by the HAL, and by everybody else.
#[derive(Clone, Copy)]
pub struct Count {
    pub hal: u64,
    pub others: u64,
}

pub fn count() -> Count {
    Count { hal: BY_HAL.load(Ordering::SeqCst), others: BY_OTHERS.load(Ordering::SeqCst) }
}

/// Bytes in use.
pub fn bytes_in_use() -> u64 {
    IN_USE.load(Ordering::SeqCst)
}

/// From now on this thread allocates for the HAL.
pub fn enter() {
    ENTERED.set(true);
}

/// Runs a driver's call.
pub fn in_driver<R>(call: impl FnOnce() -> R) -> R {
    IN_DRIVER.set(true);
    let result = call();
    IN_DRIVER.set(false);
    result
}

fn allocated(bytes: usize) {
    let counter = if for_the_hal() { &BY_HAL } else { &BY_OTHERS };
    counter.fetch_add(1, Ordering::Relaxed);
    IN_USE.fetch_add(bytes as u64, Ordering::Relaxed);
}

/// Whether this thread now allocates for the HAL.
fn for_the_hal() -> bool {
    // A thread that is ending has no locals any more.
    ENTERED.try_with(Cell::get).unwrap_or(false) && !IN_DRIVER.try_with(Cell::get).unwrap_or(true)
}

fn freed(bytes: usize) {
    IN_USE.fetch_sub(bytes as u64, Ordering::Relaxed);
}

struct Counting;

// SAFETY: the system's allocator does the work; what is counted needs no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        allocated(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        allocated(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        freed(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        freed(layout.size());
        allocated(size);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_counts_for_the_hal_once_it_has_entered() {
        std::thread::spawn(|| {
            assert!(!for_the_hal());
            enter();
            assert!(for_the_hal());
            assert!(!in_driver(for_the_hal));
            assert!(for_the_hal());
        })
        .join()
        .unwrap();
    }

    #[test]
    fn what_is_allocated_is_counted_and_in_use() {
        std::thread::spawn(|| {
            enter();
            let before = count().hal;
            let kept = std::hint::black_box(vec![1u8; 1 << 20]);
            // Other tests allocate too, so that there may be more.
            assert!(count().hal > before);
            assert!(bytes_in_use() >= kept.len() as u64);
        })
        .join()
        .unwrap();
    }
}
