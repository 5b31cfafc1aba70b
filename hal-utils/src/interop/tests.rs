//! File descriptors over a mock device.

use super::platform::new_eventfd;
use crate::mock;
use hal_core::{Deadline, Device, DeviceParams, Error, ErrorKind, EventFd, Semaphore, SemaphorePoint};
use std::collections::HashSet;
use std::fs::File;
use std::io::{ErrorKind as IoErrorKind, PipeWriter, Read, Write, pipe};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

/// Few enough for the usual limit of descriptors.
const WATCHES: usize = 200;

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(20))
}

fn open() -> Arc<dyn Device> {
    mock::device(&DeviceParams::default()).0
}

fn semaphore(device: &Arc<dyn Device>) -> (Arc<dyn Semaphore>, SemaphorePoint) {
    let semaphore = device.create_semaphore(0).unwrap();
    let point = SemaphorePoint::new(&semaphore, 1);
    (semaphore, point)
}

/// A descriptor to import, and what makes it readable or shows that it was closed.
fn watched() -> (EventFd, PipeWriter) {
    let (reader, writer) = pipe().unwrap();
    (EventFd::from(OwnedFd::from(reader)), writer)
}

fn is_closed(writer: &mut PipeWriter) -> bool {
    writer.write(&[1]).is_err_and(|error| error.kind() == IoErrorKind::BrokenPipe)
}

/// What a reader of an eventfd gets, if anything.
fn read(descriptor: &impl AsFd) -> Option<u64> {
    let mut bytes = [0; 8];
    match File::from(descriptor.as_fd().try_clone_to_owned().unwrap()).read(&mut bytes) {
        Ok(8) => Some(u64::from_ne_bytes(bytes)),
        Ok(other) => panic!("{other} bytes of an eventfd"),
        Err(error) => {
            assert_eq!(error.kind(), IoErrorKind::WouldBlock);
            None
        }
    }
}

#[test]
fn readable_signals_and_nothing_is_read() {
    let device = open();
    let (done, point) = semaphore(&device);
    let descriptor = new_eventfd("test").unwrap();
    let kept = EventFd::from(descriptor.as_fd().try_clone_to_owned().unwrap());
    let _watch = device.import_eventfd(descriptor, &point).unwrap();
    assert_eq!(done.query().unwrap(), 0);
    rustix::io::write(&kept, &7_u64.to_ne_bytes()).unwrap();
    done.wait(1, soon()).unwrap();
    assert_eq!(read(&kept), Some(7));
}

#[test]
fn signalled_means_closed() {
    let device = open();
    let (done, point) = semaphore(&device);
    let (descriptor, mut writer) = watched();
    device.import_eventfd(descriptor, &point).unwrap().detach();
    writer.write_all(&[1]).unwrap();
    done.wait(1, soon()).unwrap();
    assert!(is_closed(&mut writer));
}

#[test]
fn dropping_the_guard_cancels_and_closes() {
    let device = open();
    let (done, point) = semaphore(&device);
    let (other, other_point) = semaphore(&device);
    let (descriptor, mut writer) = watched();
    let duplicate = EventFd::from(descriptor.as_fd().try_clone_to_owned().unwrap());
    drop(device.import_eventfd(descriptor, &point).unwrap());
    // A duplicate is a watch of its own: what happens to it is not taken for the first.
    let _watch = device.import_eventfd(duplicate, &other_point).unwrap();
    writer.write_all(&[1]).unwrap();
    other.wait(1, soon()).unwrap();
    assert_eq!(done.query().unwrap(), 0);
    assert!(is_closed(&mut writer));
}

#[test]
fn hanging_up_is_a_failure_unless_there_is_something_to_read() {
    let device = open();
    let (done, point) = semaphore(&device);
    let (descriptor, writer) = watched();
    let _watch = device.import_eventfd(descriptor, &point).unwrap();
    drop(writer);
    let error = done.wait(1, soon()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Aborted);
    assert!(error.message().contains("hung up"), "{error}");

    let (done, point) = semaphore(&device);
    let (descriptor, mut writer) = watched();
    writer.write_all(&[1]).unwrap();
    drop(writer);
    let _watch = device.import_eventfd(descriptor, &point).unwrap();
    done.wait(1, soon()).unwrap();
}

#[test]
fn closing_the_device_cancels_and_closes() {
    let (device, other) = (open(), open());
    let (done, point) = semaphore(&other);
    let (descriptor, mut writer) = watched();
    let watch = device.import_eventfd(descriptor, &point).unwrap();
    drop(device);
    assert_eq!(done.query().unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(is_closed(&mut writer));
    // The guard may outlive it.
    drop(watch);
}

#[test]
fn a_regular_file_is_refused_and_nothing_happens() {
    let device = open();
    let (done, point) = semaphore(&device);
    let file = File::open(std::env::current_exe().unwrap()).unwrap();
    let error = device.import_eventfd(EventFd::from(OwnedFd::from(file)), &point).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("regular file"), "{error}");
    assert_eq!(done.query().unwrap(), 0);
}

#[test]
fn what_is_settled_is_not_watched() {
    let device = open();
    let (done, point) = semaphore(&device);
    done.signal(1).unwrap();
    let (descriptor, mut writer) = watched();
    let _watch = device.import_eventfd(descriptor, &point).unwrap();
    assert!(is_closed(&mut writer));

    let (done, point) = semaphore(&device);
    done.fail(Error::new(ErrorKind::Aborted, "earlier"));
    let (descriptor, mut writer) = watched();
    let error = device.import_eventfd(descriptor, &point).unwrap_err();
    assert!(error.message().contains("earlier"), "{error}");
    assert!(is_closed(&mut writer));
}

#[test]
fn a_larger_payload_stays() {
    let device = open();
    let (done, point) = semaphore(&device);
    let (descriptor, mut writer) = watched();
    let _watch = device.import_eventfd(descriptor, &point).unwrap();
    done.signal(9).unwrap();
    writer.write_all(&[1]).unwrap();
    while !is_closed(&mut writer) {
        thread::yield_now();
    }
    assert_eq!(done.query().unwrap(), 9);
}

#[test]
fn one_thread_watches_all() {
    let device = open();
    let done = device.create_semaphore(0).unwrap();
    let threads = Arc::new(Mutex::new(HashSet::new()));
    let descriptor = new_eventfd("test").unwrap();
    let mut watches = Vec::new();
    let left = Arc::new(AtomicUsize::new(WATCHES));
    // Duplicates of one descriptor: all become readable at once.
    for _ in 0..WATCHES {
        let semaphore = device.create_semaphore(0).unwrap();
        let (threads, done, left) = (threads.clone(), done.clone(), left.clone());
        let callback = move |outcome: hal_core::Result<()>| {
            outcome.unwrap();
            threads.lock().unwrap().insert(thread::current().id());
            if left.fetch_sub(1, Ordering::SeqCst) == 1 {
                done.signal(1).unwrap();
            }
        };
        semaphore.on_reached(1, Box::new(callback));
        let duplicate = EventFd::from(descriptor.as_fd().try_clone_to_owned().unwrap());
        watches.push(device.import_eventfd(duplicate, &SemaphorePoint::new(&semaphore, 1)).unwrap());
    }
    rustix::io::write(&descriptor, &1_u64.to_ne_bytes()).unwrap();
    done.wait(1, soon()).unwrap();
    assert_eq!(threads.lock().unwrap().len(), 1);
}

#[test]
fn a_guard_may_be_dropped_while_its_descriptor_becomes_readable() {
    let device = open();
    for _ in 0..200 {
        let (done, point) = semaphore(&device);
        let (descriptor, mut writer) = watched();
        let watch = device.import_eventfd(descriptor, &point).unwrap();
        let together = Arc::new(Barrier::new(2));
        let other = together.clone();
        let dropper = thread::spawn(move || {
            other.wait();
            drop(watch);
        });
        together.wait();
        // Broken if the guard was faster.
        let _ = writer.write(&[1]);
        dropper.join().unwrap();
        while !is_closed(&mut writer) {
            thread::yield_now();
        }
        assert!(done.query().unwrap() <= 1);
    }
}

#[test]
fn the_last_handle_may_go_on_the_thread_that_watches() {
    let (device, other) = (open(), open());
    let (done, point) = semaphore(&other);
    let (send, receive) = mpsc::channel();
    let (descriptor, mut writer) = watched();
    let watch = device.import_eventfd(descriptor, &point).unwrap();
    let callback = move |outcome| {
        drop(device);
        send.send(outcome).unwrap();
    };
    done.on_reached(1, Box::new(callback));
    writer.write_all(&[1]).unwrap();
    receive.recv_timeout(Duration::from_secs(20)).unwrap().unwrap();
    drop(watch);
}

#[test]
fn exports_are_readable_once_reached_or_failed() {
    let device = open();
    let (done, point) = semaphore(&device);
    let ready = device.export_eventfd(&point).unwrap();
    assert_eq!(read(&ready), None);
    done.signal(1).unwrap();
    assert_eq!(read(&ready), Some(1));
    assert!(ready.point().is_reached().unwrap());
    assert_eq!(read(&device.export_eventfd(&point).unwrap()), Some(1), "reached before");

    let later = device.export_eventfd(&SemaphorePoint::new(&done, 2)).unwrap();
    done.fail(Error::new(ErrorKind::Aborted, "test"));
    assert_eq!(read(&later), Some(2));
    assert_eq!(later.point().is_reached().unwrap_err().kind(), ErrorKind::Aborted);
    assert_eq!(read(&device.export_eventfd(&point).unwrap()), Some(2), "failed before");
}

#[test]
fn a_dropped_export_is_cancelled() {
    let device = open();
    let (done, point) = semaphore(&device);
    let ready = device.export_eventfd(&point).unwrap();
    let duplicate = ready.as_fd().try_clone_to_owned().unwrap();
    drop(ready);
    done.signal(1).unwrap();
    assert_eq!(read(&duplicate), None);
}

#[test]
fn exports_and_imports_chain() {
    let devices = [open(), open()];
    let semaphores: Vec<_> = (0..20).map(|index| devices[index % 2].create_semaphore(0).unwrap()).collect();
    let mut kept = Vec::new();
    for (index, pair) in semaphores.windows(2).enumerate() {
        let ready = devices[index % 2].export_eventfd(&SemaphorePoint::new(&pair[0], 1)).unwrap();
        let duplicate = EventFd::from(ready.as_fd().try_clone_to_owned().unwrap());
        let next = SemaphorePoint::new(&pair[1], 1);
        kept.push((ready, devices[(index + 1) % 2].import_eventfd(duplicate, &next).unwrap()));
    }
    semaphores[0].signal(1).unwrap();
    semaphores[19].wait(1, soon()).unwrap();
}
