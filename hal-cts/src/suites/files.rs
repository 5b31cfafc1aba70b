//! Transfers between files and buffers.

use crate::support::{Gate, Random, contents, host_buffer, queues, record, soon, to_bytes};
use crate::{Failure, Outcome};
use hal_core::{
    Buffer, BufferParams, BufferRange, Device, Error, ErrorKind, HostFile, Queue, Semaphore, Submission,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

suite! { "files",
    &[] => [
        reads_into_host_memory,
        reads_into_device_memory,
        writes_from_host_memory,
        writes_from_device_memory,
        there_and_back_over_many_pieces,
        piece_boundaries,
        parts_of_file_and_buffer,
        surroundings_of_a_read_are_kept,
        surroundings_of_a_write_are_kept,
        nothing_is_transferred,
        write_beyond_the_end_grows_the_file,
        waits_for_its_semaphores,
        device_work_follows_a_read,
        write_follows_device_work,
        read_after_write_by_semaphore,
        several_at_a_time,
        from_two_queues,
        short_file_fails,
        offset_beyond_the_file_fails,
        file_that_shrinks_meanwhile_fails,
        missing_file_is_told_at_once,
        folder_fails,
        file_not_open_for_writing_fails,
        file_not_open_for_reading_fails,
        failure_names_file_and_offset,
        failure_reaches_dependants,
        failure_spares_the_queue,
        failed_wait_leaves_the_file,
        offset_that_overflows_is_refused,
        range_beyond_the_buffer_is_refused,
        command_buffers_are_refused,
        buffer_may_be_dropped_meanwhile,
        full_disk_fails,
        full_disk_is_told_with_its_number,
    ],
}

/// Bytes of a piece, as this implementation has it; the cases hold for any.
const PIECE: usize = 1 << 20;

/// A folder of this case's own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Outcome<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("hal-cts-files-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
        Ok(Folder(path))
    }

    /// A file with these contents.
    fn file(&self, name: &str, bytes: &[u8]) -> Outcome<PathBuf> {
        let path = self.0.join(name);
        fs::write(&path, bytes).map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder left behind in the temporary one harms nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn bytes_of(path: &Path) -> Outcome<Vec<u8>> {
    fs::read(path).map_err(|error| Failure::new(format!("{}: {error}", path.display())))
}

/// Bytes without a pattern.
fn noise(count: usize) -> Vec<u8> {
    let mut random = Random::new(count as u64);
    (0..count).map(|_| random.below(256) as u8).collect()
}

fn device_memory(device: &Arc<dyn Device>, size: usize) -> Outcome<Arc<dyn Buffer>> {
    Ok(device.allocate_buffer(&BufferParams::device_local(size as u64))?)
}

fn host_memory(device: &Arc<dyn Device>, size: usize) -> Outcome<Arc<dyn Buffer>> {
    Ok(host_buffer(device, &vec![0_u8; size])?)
}

/// A queue, and transfers that are waited for.
struct Files {
    queue: Arc<dyn Queue>,
    device: Arc<dyn Device>,
}

impl Files {
    fn new(device: &Arc<dyn Device>) -> Outcome<Self> {
        Ok(Files { queue: device.create_queue(&Default::default())?, device: device.clone() })
    }

    fn read(
        &self,
        file: &Arc<HostFile>,
        offset: u64,
        target: impl Into<BufferRange>,
    ) -> hal_core::Result<()> {
        let done = self.device.create_semaphore(0)?;
        self.queue.read(Submission::new().signal(&done, 1), file, offset, target.into())?;
        done.wait(1, soon())
    }

    fn write(
        &self,
        source: impl Into<BufferRange>,
        file: &Arc<HostFile>,
        offset: u64,
    ) -> hal_core::Result<()> {
        let done = self.device.create_semaphore(0)?;
        self.queue.write(Submission::new().signal(&done, 1), source.into(), file, offset)?;
        done.wait(1, soon())
    }

    /// Contents of any buffer.
    fn contents(&self, buffer: &Arc<dyn Buffer>) -> Outcome<Vec<u8>> {
        let staging = host_memory(&self.device, buffer.size() as usize)?;
        self.copy(buffer, &staging)?;
        Ok(contents(&staging)?)
    }

    fn copy(&self, source: &Arc<dyn Buffer>, target: &Arc<dyn Buffer>) -> Outcome {
        let copy = record(&self.device, |encoder| encoder.copy(source, 0, target, 0, source.size()))?;
        let done = self.device.create_semaphore(0)?;
        self.queue.submit(Submission::new().execute(&copy).signal(&done, 1))?;
        Ok(done.wait(1, soon())?)
    }
}

/// A small file.
fn reads_into_host_memory(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder, bytes) = (Files::new(device)?, Folder::new()?, noise(1000));
    let target = host_memory(device, 1000)?;
    files.read(&HostFile::open(folder.file("a", &bytes)?)?, 0, &target)?;
    check!(contents::<u8>(&target)? == bytes);
    Ok(())
}

/// A small file.
fn reads_into_device_memory(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder, bytes) = (Files::new(device)?, Folder::new()?, noise(1000));
    let target = device_memory(device, 1000)?;
    files.read(&HostFile::open(folder.file("a", &bytes)?)?, 0, &target)?;
    check!(files.contents(&target)? == bytes);
    Ok(())
}

/// To a file that is created.
fn writes_from_host_memory(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder, bytes) = (Files::new(device)?, Folder::new()?, noise(1000));
    let path = folder.0.join("new");
    files.write(&host_buffer(device, &bytes)?, &HostFile::create(&path)?, 0)?;
    check!(bytes_of(&path)? == bytes);
    Ok(())
}

/// To a file that is created.
fn writes_from_device_memory(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder, bytes) = (Files::new(device)?, Folder::new()?, noise(1000));
    let (path, source) = (folder.0.join("new"), device_memory(device, 1000)?);
    files.copy(&host_buffer(device, &bytes)?, &source)?;
    files.write(&source, &HostFile::create(&path)?, 0)?;
    check!(bytes_of(&path)? == bytes);
    Ok(())
}

/// More than the ring holds, in sizes that nothing divides.
fn there_and_back_over_many_pieces(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder, bytes) = (Files::new(device)?, Folder::new()?, noise(9 * PIECE + 12_345));
    let buffer = device_memory(device, bytes.len())?;
    files.read(&HostFile::open(folder.file("a", &bytes)?)?, 0, &buffer)?;
    let path = folder.0.join("b");
    files.write(&buffer, &HostFile::create(&path)?, 0)?;
    check!(bytes_of(&path)? == bytes);
    Ok(())
}

/// One byte around the size of a piece, and of the ring.
fn piece_boundaries(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder) = (Files::new(device)?, Folder::new()?);
    for size in [1, PIECE - 1, PIECE, PIECE + 1, 4 * PIECE, 4 * PIECE + 1] {
        let bytes = noise(size);
        let (source, path) = (folder.file("a", &bytes)?, folder.0.join(format!("{size}")));
        let buffer = device_memory(device, size)?;
        files.read(&HostFile::open(source)?, 0, &buffer)?;
        files.write(&buffer, &HostFile::create(&path)?, 0)?;
        check!(bytes_of(&path)? == bytes, "{size} bytes");
    }
    Ok(())
}

/// Odd offsets on both sides.
fn parts_of_file_and_buffer(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder, bytes) = (Files::new(device)?, Folder::new()?, noise(1000));
    let file = HostFile::open(folder.file("a", &bytes)?)?;
    let target = host_memory(device, 500)?;
    for (offset, start, length) in [(0, 499, 1), (999, 0, 1), (333, 17, 401), (7, 3, 5)] {
        files.read(&file, offset, BufferRange::new(&target, start, length))?;
        let found = contents::<u8>(&target)?;
        let (start, offset, length) = (start as usize, offset as usize, length as usize);
        check!(found[start..start + length] == bytes[offset..offset + length], "{offset} to {start}");
    }
    Ok(())
}

/// Bytes before and behind stay.
fn surroundings_of_a_read_are_kept(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder) = (Files::new(device)?, Folder::new()?);
    let target = host_buffer(device, &[9_u8; 100])?;
    files.read(&HostFile::open(folder.file("a", &[1; 50])?)?, 10, BufferRange::new(&target, 30, 40))?;
    let found = contents::<u8>(&target)?;
    check!(found[..30].iter().chain(&found[70..]).all(|&byte| byte == 9));
    check!(found[30..70].iter().all(|&byte| byte == 1));
    Ok(())
}

/// Bytes before and behind stay.
fn surroundings_of_a_write_are_kept(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder) = (Files::new(device)?, Folder::new()?);
    let path = folder.file("a", &[9; 100])?;
    files.write(&host_buffer(device, &[1_u8; 40])?, &HostFile::create(&path)?, 30)?;
    let found = bytes_of(&path)?;
    check_eq!(found.len(), 100);
    check!(found[..30].iter().chain(&found[70..]).all(|&byte| byte == 9));
    check!(found[30..70].iter().all(|&byte| byte == 1));
    Ok(())
}

/// No bytes, wherever.
fn nothing_is_transferred(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder) = (Files::new(device)?, Folder::new()?);
    let path = folder.file("a", b"abc")?;
    let (file, buffer) = (HostFile::create(&path)?, host_buffer(device, &[1_u8; 8])?);
    files.read(&file, 1000, BufferRange::new(&buffer, 8, 0))?;
    files.write(BufferRange::new(&buffer, 0, 0), &file, 1000)?;
    check_eq!(bytes_of(&path)?, b"abc");
    Ok(())
}

/// The gap reads as zeros.
fn write_beyond_the_end_grows_the_file(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder) = (Files::new(device)?, Folder::new()?);
    let path = folder.file("a", b"abc")?;
    files.write(&host_buffer(device, b"xyz")?, &HostFile::create(&path)?, 6)?;
    check_eq!(bytes_of(&path)?, b"abc\0\0\0xyz");
    Ok(())
}

/// What the file has when the wait is reached counts.
fn waits_for_its_semaphores(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder) = (Files::new(device)?, Folder::new()?);
    let (gate, done) = (Gate::new(device)?, device.create_semaphore(0)?);
    let path = folder.file("a", &[1; 64])?;
    let target = host_memory(device, 64)?;
    let submission = Submission::new().wait(gate.semaphore(), 1).signal(&done, 1);
    files.queue.read(submission, &HostFile::open(&path)?, 0, BufferRange::whole(&target))?;
    folder.file("a", &[2; 64])?;
    gate.open()?;
    done.wait(1, soon())?;
    check_eq!(contents::<u8>(&target)?, vec![2; 64]);
    Ok(())
}

/// A copy of what was read.
fn device_work_follows_a_read(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder, bytes) = (Files::new(device)?, Folder::new()?, noise(2 * PIECE + 5));
    let (middle, target) = (device_memory(device, bytes.len())?, host_memory(device, bytes.len())?);
    let step = device.create_semaphore(0)?;
    let copy = record(device, |encoder| encoder.copy(&middle, 0, &target, 0, middle.size()))?;
    files.queue.submit(Submission::new().wait(&step, 1).execute(&copy).signal(&step, 2))?;
    let file = HostFile::open(folder.file("a", &bytes)?)?;
    files.queue.read(Submission::new().signal(&step, 1), &file, 0, BufferRange::whole(&middle))?;
    step.wait(2, soon())?;
    check!(contents::<u8>(&target)? == bytes);
    Ok(())
}

/// Of what a fill wrote.
fn write_follows_device_work(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder) = (Files::new(device)?, Folder::new()?);
    let buffer = device_memory(device, PIECE + 8)?;
    let step = device.create_semaphore(0)?;
    let fill = record(device, |encoder| encoder.fill(&buffer, 0, buffer.size(), &[5]))?;
    let path = folder.0.join("a");
    let submission = Submission::new().wait(&step, 1).signal(&step, 2);
    files.queue.write(submission, BufferRange::whole(&buffer), &HostFile::create(&path)?, 0)?;
    files.queue.submit(Submission::new().execute(&fill).signal(&step, 1))?;
    step.wait(2, soon())?;
    check!(bytes_of(&path)? == vec![5; PIECE + 8]);
    Ok(())
}

/// Both submitted at once, the read first.
fn read_after_write_by_semaphore(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder, bytes) = (Files::new(device)?, Folder::new()?, noise(3 * PIECE));
    let (source, target) = (host_buffer(device, &bytes)?, host_memory(device, bytes.len())?);
    let step = device.create_semaphore(0)?;
    let file = HostFile::create(folder.0.join("a"))?;
    let read = Submission::new().wait(&step, 1).signal(&step, 2);
    files.queue.read(read, &file, 0, BufferRange::whole(&target))?;
    files.queue.write(Submission::new().signal(&step, 1), BufferRange::whole(&source), &file, 0)?;
    step.wait(2, soon())?;
    check!(contents::<u8>(&target)? == bytes);
    Ok(())
}

/// Sixteen parts of one file, all at once, more than there are threads.
fn several_at_a_time(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder, bytes) = (Files::new(device)?, Folder::new()?, noise(16 * 100_000));
    let file = HostFile::open(folder.file("a", &bytes)?)?;
    let target = host_memory(device, bytes.len())?;
    let done = device.create_semaphore(0)?;
    for part in 0..16 {
        let range = BufferRange::new(&target, part * 100_000, 100_000);
        files.queue.read(Submission::new().signal(&done, part + 1), &file, part * 100_000, range)?;
    }
    files.queue.wait_idle(soon())?;
    check_eq!(done.query()?, 16);
    check!(contents::<u8>(&target)? == bytes);
    Ok(())
}

/// Halves of one buffer.
fn from_two_queues(device: &Arc<dyn Device>) -> Outcome {
    let (folder, bytes) = (Folder::new()?, noise(2 * PIECE));
    let file = HostFile::open(folder.file("a", &bytes)?)?;
    let target = host_memory(device, bytes.len())?;
    let half = PIECE as u64;
    for (queue, start) in queues(device, 2)?.iter().zip([0, half]) {
        queue.read(Submission::new(), &file, start, BufferRange::new(&target, start, half))?;
    }
    device.wait_idle(soon())?;
    check!(contents::<u8>(&target)? == bytes);
    Ok(())
}

/// One byte too few.
fn short_file_fails(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder) = (Files::new(device)?, Folder::new()?);
    let file = HostFile::open(folder.file("a", &noise(PIECE + 99))?)?;
    let target = device_memory(device, PIECE + 100)?;
    let error = check_err!(files.read(&file, 0, &target), ErrorKind::OutOfRange);
    check!(error.message().contains(&format!("{} bytes now", PIECE + 99)), "{error}");
    Ok(())
}

/// Nothing there.
fn offset_beyond_the_file_fails(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder) = (Files::new(device)?, Folder::new()?);
    let file = HostFile::open(folder.file("a", b"abc")?)?;
    check_err!(files.read(&file, 3, &host_memory(device, 1)?), ErrorKind::OutOfRange);
    check_err!(files.read(&file, 1 << 40, &host_memory(device, 1)?), ErrorKind::OutOfRange);
    Ok(())
}

/// Cut between submission and transfer.
fn file_that_shrinks_meanwhile_fails(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder) = (Files::new(device)?, Folder::new()?);
    let (gate, done) = (Gate::new(device)?, device.create_semaphore(0)?);
    let file = HostFile::create(folder.file("a", &noise(6 * PIECE))?)?;
    let target = device_memory(device, 6 * PIECE)?;
    let submission = Submission::new().wait(gate.semaphore(), 1).signal(&done, 1);
    files.queue.read(submission, &file, 0, BufferRange::whole(&target))?;
    let cut = file.file().set_len(5 * PIECE as u64 + 7);
    check!(cut.is_ok());
    gate.open()?;
    let error = check_err!(done.wait(1, soon()), ErrorKind::OutOfRange);
    check!(error.message().contains(&format!("offset {}", 5 * PIECE + 7)), "{error}");
    Ok(())
}

/// Before any queue has to do with it.
fn missing_file_is_told_at_once(_device: &Arc<dyn Device>) -> Outcome {
    let folder = Folder::new()?;
    let error = check_err!(HostFile::open(folder.0.join("no such file")), ErrorKind::NotFound);
    check!(error.message().contains("no such file"), "{error}");
    check_err!(HostFile::create(folder.0.join("no/such/folder")), ErrorKind::NotFound);
    Ok(())
}

/// A folder can be opened, but not read.
fn folder_fails(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder) = (Files::new(device)?, Folder::new()?);
    // Some systems refuse at once.
    if let Ok(file) = HostFile::open(&folder.0) {
        check_err!(files.read(&file, 0, &host_memory(device, 8)?), ErrorKind::InvalidArgument);
    }
    Ok(())
}

/// Opened for reading.
fn file_not_open_for_writing_fails(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder) = (Files::new(device)?, Folder::new()?);
    let path = folder.file("a", b"abc")?;
    let file = HostFile::open(&path)?;
    check_err!(files.write(&host_memory(device, 2)?, &file, 0), ErrorKind::InvalidArgument);
    check_eq!(bytes_of(&path)?, b"abc");
    Ok(())
}

/// Opened for writing.
fn file_not_open_for_reading_fails(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder) = (Files::new(device)?, Folder::new()?);
    let opened = fs::OpenOptions::new().write(true).open(folder.file("a", b"abc")?);
    let Ok(file) = opened else { return Err(Failure::new("cannot open a file that was just written")) };
    let error = files.read(&HostFile::new(file, "one way"), 0, &host_memory(device, 2)?);
    let error = check_err!(error, ErrorKind::InvalidArgument);
    check!(error.message().contains("one way"), "{error}");
    Ok(())
}

/// And the submission.
fn failure_names_file_and_offset(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder) = (Files::new(device)?, Folder::new()?);
    let done = device.create_semaphore(0)?;
    let file = HostFile::open(folder.file("weights", &[0; 100])?)?;
    let target = host_memory(device, 50)?;
    let submission = Submission::new().label("load").signal(&done, 1);
    let id = files.queue.read(submission, &file, 77, BufferRange::whole(&target))?;
    let error = check_err!(done.wait(1, soon()), ErrorKind::OutOfRange);
    check!(error.message().contains("weights") && error.message().contains("offset 100"), "{error}");
    let origin = error.origin().map(|origin| (origin.sequence, origin.label.clone()));
    check_eq!(origin, Some((id.sequence, Some("load".to_owned()))));
    Ok(())
}

/// A submission that waits for it.
fn failure_reaches_dependants(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder) = (Files::new(device)?, Folder::new()?);
    let (read, done) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    files.queue.submit(Submission::new().wait(&read, 1).signal(&done, 1))?;
    let file = HostFile::open(folder.file("a", b"")?)?;
    let target = host_memory(device, 1)?;
    files.queue.read(Submission::new().signal(&read, 1), &file, 0, BufferRange::whole(&target))?;
    check_err!(done.wait(1, soon()), ErrorKind::OutOfRange);
    Ok(())
}

/// The next transfer works.
fn failure_spares_the_queue(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder) = (Files::new(device)?, Folder::new()?);
    let file = HostFile::open(folder.file("a", &noise(3 * PIECE))?)?;
    for _ in 0..5 {
        check_err!(files.read(&file, 1, &device_memory(device, 3 * PIECE)?), ErrorKind::OutOfRange);
    }
    let target = host_memory(device, 3 * PIECE)?;
    files.read(&file, 0, &target)?;
    check!(contents::<u8>(&target)? == noise(3 * PIECE));
    Ok(())
}

/// Nothing is written.
fn failed_wait_leaves_the_file(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder) = (Files::new(device)?, Folder::new()?);
    let wait: Arc<dyn Semaphore> = device.create_semaphore(0)?;
    let path = folder.file("a", b"abc")?;
    let (file, source) = (HostFile::create(&path)?, host_buffer(device, b"xyz")?);
    files.queue.write(Submission::new().wait(&wait, 1), BufferRange::whole(&source), &file, 0)?;
    wait.fail(Error::new(ErrorKind::Aborted, "no"));
    files.queue.wait_idle(soon())?;
    check_eq!(bytes_of(&path)?, b"abc");
    Ok(())
}

/// Beyond 64 bits, and beyond what a file can have.
fn offset_that_overflows_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder) = (Files::new(device)?, Folder::new()?);
    let file = HostFile::create(folder.0.join("a"))?;
    let buffer = host_memory(device, 8)?;
    for offset in [u64::MAX, u64::MAX - 7, i64::MAX as u64 - 7, 1 << 63] {
        check_err!(files.read(&file, offset, &buffer), ErrorKind::OutOfRange);
        check_err!(files.write(&buffer, &file, offset), ErrorKind::OutOfRange);
    }
    check!(files.queue.is_idle());
    Ok(())
}

/// With overflow in mind.
fn range_beyond_the_buffer_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder) = (Files::new(device)?, Folder::new()?);
    let file = HostFile::create(folder.file("a", &[0; 100])?)?;
    let buffer = host_memory(device, 8)?;
    for (offset, length) in [(0, 9), (8, 1), (9, 0), (u64::MAX, 2), (1, u64::MAX)] {
        let range = BufferRange::new(&buffer, offset, length);
        check_err!(files.read(&file, 0, range.clone()), ErrorKind::OutOfRange);
        check_err!(files.write(range, &file, 0), ErrorKind::OutOfRange);
    }
    Ok(())
}

/// A submission is one or the other.
fn command_buffers_are_refused(device: &Arc<dyn Device>) -> Outcome {
    let (files, folder) = (Files::new(device)?, Folder::new()?);
    let file = HostFile::open(folder.file("a", &to_bytes(&[1_u32]))?)?;
    let target = host_memory(device, 4)?;
    let submission = Submission::new().execute(&record(device, |_| Ok(()))?);
    check_err!(
        files.queue.read(submission, &file, 0, BufferRange::whole(&target)),
        ErrorKind::InvalidArgument
    );
    Ok(())
}

/// Buffer, file and queue, while they wait.
fn buffer_may_be_dropped_meanwhile(device: &Arc<dyn Device>) -> Outcome {
    let folder = Folder::new()?;
    let (gate, done) = (Gate::new(device)?, device.create_semaphore(0)?);
    let path = folder.0.join("a");
    {
        let source = host_buffer(device, &[4_u8; 1000])?;
        let submission = Submission::new().wait(gate.semaphore(), 1).signal(&done, 1);
        let queue = device.create_queue(&Default::default())?;
        queue.write(submission, BufferRange::whole(&source), &HostFile::create(&path)?, 0)?;
    }
    gate.open()?;
    done.wait(1, soon())?;
    check_eq!(bytes_of(&path)?, vec![4; 1000]);
    Ok(())
}

/// The device file that is always full.
fn full(device: &Arc<dyn Device>, size: usize) -> Outcome<Error> {
    let files = Files::new(device)?;
    let file = HostFile::create("/dev/full")?;
    Ok(check_err!(files.write(&host_memory(device, size)?, &file, 0), ErrorKind::ResourceExhausted))
}

/// Small and large.
fn full_disk_fails(device: &Arc<dyn Device>) -> Outcome {
    full(device, 1)?;
    full(device, 5 * PIECE)?;
    Ok(())
}

/// The number of the system's error, and the file's name.
fn full_disk_is_told_with_its_number(device: &Arc<dyn Device>) -> Outcome {
    let error = full(device, 10)?;
    check!(error.message().contains("/dev/full") && error.message().contains("os error 28"), "{error}");
    Ok(())
}
