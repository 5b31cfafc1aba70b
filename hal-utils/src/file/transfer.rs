//! One transfer.

use super::ring::{PIECE, PIECES, Ring};
use crate::command_buffer::{self, Recorded};
use crate::deferred_work_queue::QueueCore;
use crate::host_calls;
use crate::native::Native;
use crate::sync::Arc;
use crate::timeline::TimelineSemaphore;
use hal_core::{
    BufferRange, CommandBuffer, CommandEncoder, Deadline, HostFile, Result, Semaphore, Submission,
    SubmissionId, validate,
};
use std::fs::File;
use std::io::{self, ErrorKind as Io};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the file.
    Read,
    /// To the file.
    Write,
}

struct Transfer<N: Native> {
    queue: Arc<QueueCore<N>>,
    direction: Direction,
    file: Arc<HostFile>,
    offset: u64,
    buffer: BufferRange,
    /// How many pieces the device has moved.
    moved: Arc<dyn Semaphore>,
}

/// Takes a transfer into the queue.
pub(crate) fn transfer<N: Native>(
    queue: &Arc<QueueCore<N>>,
    submission: Submission,
    direction: Direction,
    file: &Arc<HostFile>,
    offset: u64,
    buffer: BufferRange,
) -> Result<SubmissionId> {
    let what = match direction {
        Direction::Read => "read",
        Direction::Write => "write",
    };
    validate::file_transfer(what, offset, &buffer, queue.core.id)?;
    command_buffer::ours::<N>(&*buffer.buffer)?;
    let transfer = Transfer {
        queue: queue.clone(),
        direction,
        file: file.clone(),
        offset,
        buffer,
        moved: Arc::new(TimelineSemaphore::new(0)),
    };
    host_calls::submit(
        queue,
        submission,
        Box::new(move |completion| {
            let outcome = transfer.run();
            // The buffer, the file and the queue go before the signals.
            drop(transfer);
            completion.complete(outcome);
        }),
    )
}

impl<N: Native> Transfer<N> {
    fn run(&self) -> Result<()> {
        let core = &self.queue.core;
        let mut ring = core.file_rings.take(core)?;
        match self.direction {
            Direction::Read => self.read(&mut ring),
            Direction::Write => self.write(&mut ring),
        }?;
        // After a failure the device may still be using it; then it is freed with the last command that does.
        core.file_rings.give(core, ring);
        Ok(())
    }

    fn pieces(&self) -> u64 {
        self.buffer.length.div_ceil(PIECE)
    }

    fn length(&self, piece: u64) -> u64 {
        (self.buffer.length - piece * PIECE).min(PIECE)
    }

    fn read(&self, ring: &mut Ring<N>) -> Result<()> {
        for piece in 0..self.pieces() {
            if piece >= PIECES {
                self.wait_moved(piece - PIECES + 1)?;
            }
            // SAFETY: the piece that was here before has been moved.
            self.read_piece(piece, unsafe { ring.bytes(piece, self.length(piece)) })?;
            self.copy(ring, piece)?;
        }
        self.wait_moved(self.pieces())
    }

    fn write(&self, ring: &mut Ring<N>) -> Result<()> {
        let mut issued = 0;
        for piece in 0..self.pieces() {
            while issued < self.pieces().min(piece + PIECES) {
                self.copy(ring, issued)?;
                issued += 1;
            }
            self.wait_moved(piece + 1)?;
            // SAFETY: it has been moved, and nothing is put there before this returns.
            self.write_piece(piece, unsafe { ring.bytes(piece, self.length(piece)) })?;
        }
        Ok(())
    }

    fn wait_moved(&self, pieces: u64) -> Result<()> {
        // Ends with the device at the latest: its loss and its closing fail what is in flight.
        self.moved.wait(pieces, Deadline::NEVER)
    }

    /// Moves a piece between ring and buffer, on the queue's stream.
    fn copy(&self, ring: &Ring<N>, piece: u64) -> Result<()> {
        let core = &self.queue.core;
        let length = self.length(piece);
        let in_ring = ring.range(piece, length);
        let in_buffer = BufferRange::new(&self.buffer.buffer, self.buffer.offset + piece * PIECE, length);
        let (source, target) = match self.direction {
            Direction::Read => (in_ring, in_buffer),
            Direction::Write => (in_buffer, in_ring),
        };
        let mut encoder = CommandEncoder::new(core.id, core.info().limits.clone());
        encoder.copy(&source.buffer, source.offset, &target.buffer, target.offset, length)?;
        let commands: Arc<dyn CommandBuffer> = Arc::new(Recorded::<N>::new(core, encoder.into_list())?);
        let submission = Submission::new().label("a piece of a file").execute(&commands);
        self.queue.submit(submission.signal(&self.moved, piece + 1))?;
        Ok(())
    }

    fn read_piece(&self, piece: u64, bytes: &mut [u8]) -> Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            let at = self.offset + piece * PIECE + done as u64;
            match read_at(self.file.file(), &mut bytes[done..], at) {
                Ok(0) => {
                    let size = self.file.file().metadata().map_or(at, |metadata| metadata.len());
                    let short = format!("the file has {size} bytes now; it was cut or is too short");
                    let end = io::Error::new(Io::UnexpectedEof, short);
                    return Err(self.failed("reading", bytes.len() - done, at, end));
                }
                Ok(count) => done += count,
                Err(error) if error.kind() == Io::Interrupted => {}
                Err(error) => return Err(self.failed("reading", bytes.len() - done, at, error)),
            }
        }
        Ok(())
    }

    fn write_piece(&self, piece: u64, bytes: &[u8]) -> Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            let at = self.offset + piece * PIECE + done as u64;
            match write_at(self.file.file(), &bytes[done..], at) {
                Ok(0) => {
                    let none = io::Error::new(Io::WriteZero, "the file takes no more");
                    return Err(self.failed("writing", bytes.len() - done, at, none));
                }
                Ok(count) => done += count,
                Err(error) if error.kind() == Io::Interrupted => {}
                Err(error) => return Err(self.failed("writing", bytes.len() - done, at, error)),
            }
        }
        Ok(())
    }

    fn failed(&self, what: &str, bytes: usize, at: u64, error: io::Error) -> hal_core::Error {
        let name = self.file.name();
        HostFile::io_error(format_args!("{what} {bytes} bytes at offset {at} of `{name}`"), error)
    }
}

#[cfg(unix)]
use std::os::unix::fs::FileExt;
#[cfg(windows)]
use std::os::windows::fs::FileExt;

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(bytes, offset)
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    file.write_at(bytes, offset)
}

#[cfg(windows)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(bytes, offset)
}

#[cfg(windows)]
fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    file.seek_write(bytes, offset)
}
