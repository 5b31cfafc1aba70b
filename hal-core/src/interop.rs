//! Handles that cross into other libraries: the driver's own, as opaque numbers, and file descriptors that wake event
//! loops.
//!
//! | What | Out | In |
//! |---|---|---|
//! | a context | [`Device::native_context`](crate::Device::native_context) | |
//! | a stream | [`Queue::native_stream`](crate::Queue::native_stream) | |
//! | an event | [`Device::export_event`](crate::Device::export_event) | [`Device::import_event`](crate::Device::import_event) |
//! | an eventfd (Linux) | [`Device::export_eventfd`](crate::Device::export_eventfd) | [`Device::import_eventfd`](crate::Device::import_eventfd) |

use crate::{SemaphorePoint, TimepointId};
use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

macro_rules! native {
    ($($(#[$attribute:meta])* $name:ident;)*) => {$(
        $(#[$attribute])*
        ///
        /// A number that means something to the driver only. It says nothing of how long the handle lives; that stands
        /// where the number comes from.
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name(usize);

        impl $name {
            /// The handle with this number.
            pub const fn from_raw(raw: usize) -> Self {
                $name(raw)
            }

            /// The handle behind this pointer.
            pub fn from_ptr(pointer: *mut c_void) -> Self {
                $name(pointer.expose_provenance())
            }

            /// As a number.
            pub const fn raw(self) -> usize {
                self.0
            }

            /// As the pointer that drivers' headers say it is.
            pub fn as_ptr(self) -> *mut c_void {
                std::ptr::with_exposed_provenance_mut(self.0)
            }

            /// Whether it is null, which is no handle.
            pub const fn is_null(self) -> bool {
                self.0 == 0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:#x})"), self.0)
            }
        }
    )*};
}

native! {
    /// A driver's context: `CUcontext`, `hipCtx_t`.
    NativeContext;
    /// A driver's stream: `CUstream`, `hipStream_t`.
    NativeStream;
    /// A driver's event: `CUevent`, `hipEvent_t`.
    NativeEvent;
}

/// A native event that stands for a point on a timeline; see [`Device::export_event`](crate::Device::export_event).
///
/// While this or a clone of it lives, the event exists and is not recorded again. A wait that has been handed to a
/// driver needs it no longer.
#[derive(Clone)]
#[must_use = "the event may be recorded again once this is dropped"]
pub struct ExportedEvent {
    event: NativeEvent,
    _keep: Arc<dyn Any + Send + Sync>,
}

impl ExportedEvent {
    /// For backends: an event, and what keeps it.
    pub fn new(event: NativeEvent, keep: Arc<dyn Any + Send + Sync>) -> Self {
        ExportedEvent { event, _keep: keep }
    }

    /// The handle. It is the HAL's: neither record nor destroy it.
    pub fn handle(&self) -> NativeEvent {
        self.event
    }
}

impl fmt::Debug for ExportedEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ExportedEvent").field(&self.event).finish()
    }
}

/// A file descriptor that becomes readable once: an eventfd, but also a pipe, a pidfd, a timerfd or a sync file.
///
/// Where there are no file descriptors, there is no value of this type.
#[derive(Debug)]
pub struct EventFd {
    #[cfg(unix)]
    descriptor: std::os::fd::OwnedFd,
    #[cfg(not(unix))]
    #[allow(dead_code, reason = "its being impossible is its use")]
    never: std::convert::Infallible,
}

#[cfg(unix)]
mod descriptor {
    use super::{EventFd, ExportedEventFd};
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

    impl From<OwnedFd> for EventFd {
        fn from(descriptor: OwnedFd) -> Self {
            EventFd { descriptor }
        }
    }

    impl From<EventFd> for OwnedFd {
        fn from(descriptor: EventFd) -> Self {
            descriptor.descriptor
        }
    }

    impl AsFd for EventFd {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.descriptor.as_fd()
        }
    }

    impl AsRawFd for EventFd {
        fn as_raw_fd(&self) -> RawFd {
            self.descriptor.as_raw_fd()
        }
    }

    impl AsFd for ExportedEventFd {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.descriptor.as_fd()
        }
    }

    impl AsRawFd for ExportedEventFd {
        fn as_raw_fd(&self) -> RawFd {
            self.descriptor.as_raw_fd()
        }
    }
}

/// An eventfd that a point on a timeline makes readable; see
/// [`Device::export_eventfd`](crate::Device::export_eventfd).
///
/// Dropping it cancels: duplicates of the descriptor that are not readable by then never will be.
#[derive(Debug)]
#[must_use = "dropping it cancels the export"]
pub struct ExportedEventFd {
    #[cfg_attr(not(unix), allow(dead_code, reason = "there is no way to look at it"))]
    descriptor: Arc<EventFd>,
    point: SemaphorePoint,
    registration: Option<TimepointId>,
}

impl ExportedEventFd {
    /// For backends: a descriptor, the point that makes it readable, and the registration with it, if it still waits.
    pub fn new(descriptor: Arc<EventFd>, point: SemaphorePoint, registration: Option<TimepointId>) -> Self {
        ExportedEventFd { descriptor, point, registration }
    }

    /// The point. Once the descriptor is readable, [`SemaphorePoint::is_reached`] tells how it ended.
    pub fn point(&self) -> &SemaphorePoint {
        &self.point
    }
}

impl Drop for ExportedEventFd {
    fn drop(&mut self) {
        if let Some(registration) = self.registration.take() {
            self.point.semaphore.cancel(registration);
        }
    }
}

/// A descriptor that is watched; see [`Device::import_eventfd`](crate::Device::import_eventfd).
///
/// Dropping it cancels: the semaphore stays as it is.
#[must_use = "dropping it cancels the import"]
pub struct ImportedEventFd {
    cancel: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl ImportedEventFd {
    /// For backends: what ends the watch, or nothing if there is none. Called at most once, and perhaps after the watch
    /// has ended by itself.
    pub fn new(cancel: Option<Box<dyn FnOnce() + Send + Sync>>) -> Self {
        ImportedEventFd { cancel }
    }

    /// Leaves the descriptor watched until it is readable or the device closes.
    pub fn detach(mut self) {
        self.cancel = None;
    }
}

impl Drop for ImportedEventFd {
    fn drop(&mut self) {
        if let Some(cancel) = self.cancel.take() {
            cancel();
        }
    }
}

impl fmt::Debug for ImportedEventFd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ImportedEventFd").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn handles_are_numbers_and_pointers() {
        let mut target = 0_u32;
        let pointer = (&raw mut target).cast();
        let event = NativeEvent::from_ptr(pointer);
        assert_eq!(event.as_ptr(), pointer);
        assert_eq!(NativeEvent::from_raw(event.raw()), event);
        assert!(!event.is_null() && NativeStream::from_raw(0).is_null());
        assert_eq!(format!("{:?}", NativeContext::from_raw(0x1f)), "NativeContext(0x1f)");
    }

    #[test]
    fn a_watch_is_cancelled_once_unless_detached() {
        let cancelled = Arc::new(AtomicUsize::new(0));
        let guard = || {
            let cancelled = cancelled.clone();
            let cancel = move || {
                cancelled.fetch_add(1, Ordering::SeqCst);
            };
            ImportedEventFd::new(Some(Box::new(cancel)))
        };
        guard().detach();
        assert_eq!(cancelled.load(Ordering::SeqCst), 0);
        drop(guard());
        assert_eq!(cancelled.load(Ordering::SeqCst), 1);
    }
}
