//! The one place where calls are validated. Backends and drivers see only what has passed here.

use crate::{
    Argument, Buffer, BufferParams, BufferRange, BufferRef, Command, DeviceId, Dispatch, Error, ErrorKind,
    Execute, Limits, QueueParams, Result, Submission,
};
use std::fmt::Display;

/// Largest allocation that is passed on to a driver. Beyond it some drivers overflow in their own rounding.
pub const MAX_BUFFER_SIZE: u64 = 1 << 47;

/// Most slots a binding table can have.
pub const MAX_SLOTS: u32 = 1024;

/// Most bytes of arguments; the smallest limit among drivers (CUDA before compute capability 7.0).
pub const MAX_ARGUMENT_BYTES: usize = 4096;

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}

fn beyond(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::OutOfRange, message)
}

/// `offset..offset + length` lies within `size` bytes, without overflow.
///
/// # Errors
/// `OutOfRange`.
pub fn range(what: impl Display, offset: u64, length: u64, size: u64) -> Result<()> {
    match offset.checked_add(length) {
        Some(end) if end <= size => Ok(()),
        Some(_) => Err(beyond(format!("{what} of {length} bytes at offset {offset} of {size} bytes"))),
        None => {
            Err(beyond(format!("{what} of {length} bytes at offset {offset}: the sum overflows 64 bits")))
        }
    }
}

/// Two objects belong to one device.
///
/// # Errors
/// `InvalidArgument`.
pub fn device(what: impl Display, found: DeviceId, expected: DeviceId) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(invalid(format!("{what} belongs to {found}, but is used with {expected}; create it on that device")))
}

/// `value` is a multiple of `unit`.
///
/// # Errors
/// `InvalidArgument`.
pub fn multiple(what: &str, value: u64, unit: u64) -> Result<()> {
    if value.is_multiple_of(unit) {
        return Ok(());
    }
    Err(invalid(format!("{what} {value} is not a multiple of the pattern's {unit} bytes")))
}

/// A pattern has 1, 2 or 4 bytes; returns how many.
///
/// # Errors
/// `InvalidArgument`.
pub fn fill_pattern(pattern: &[u8]) -> Result<u32> {
    match pattern.len() {
        1 => Ok(1),
        2 => Ok(2),
        4 => Ok(4),
        other => Err(invalid(format!("a fill pattern of {other} bytes; it must have 1, 2 or 4"))),
    }
}

/// Two ranges of one length share no byte.
///
/// # Errors
/// `InvalidArgument`.
pub fn no_overlap(source: &BufferRange, target: &BufferRange) -> Result<()> {
    let same = std::ptr::addr_eq(&raw const *source.buffer, &raw const *target.buffer);
    let apart = source.offset.saturating_add(source.length) <= target.offset
        || target.offset.saturating_add(target.length) <= source.offset;
    if !same || apart || source.length == 0 {
        return Ok(());
    }
    Err(invalid(format!(
        "copy of {} bytes within one buffer from offset {} to offset {} overlaps; copy through a second buffer",
        source.length, source.offset, target.offset
    )))
}

/// A slot is one a binding table can have.
///
/// # Errors
/// `OutOfRange`.
pub fn slot(slot: u32) -> Result<()> {
    if slot < MAX_SLOTS {
        return Ok(());
    }
    Err(beyond(format!("slot {slot}; a binding table has at most {MAX_SLOTS}")))
}

/// The host can reach a buffer.
///
/// # Errors
/// `InvalidArgument`.
pub fn mappable(buffer: &dyn Buffer) -> Result<()> {
    if buffer.kind().is_mappable() {
        return Ok(());
    }
    Err(invalid(format!(
        "the host cannot reach a {:?} buffer; allocate it host-visible, or copy through one that is",
        buffer.kind()
    )))
}

/// An allocation is one a driver may be asked for.
///
/// # Errors
/// `OutOfRange`.
pub fn buffer_params(params: &BufferParams) -> Result<()> {
    if params.size <= MAX_BUFFER_SIZE && usize::try_from(params.size).is_ok() {
        return Ok(());
    }
    Err(beyond(format!("a buffer of {} bytes; no device has more than {MAX_BUFFER_SIZE}", params.size)))
}

/// Nothing can be wrong with these yet; here so that there is a place when there is.
///
/// # Errors
/// None.
pub fn queue_params(_params: &QueueParams) -> Result<()> {
    Ok(())
}

/// A dispatch keeps to the device's limits and, where they are known, to the kernel's parameters.
///
/// # Errors
/// `OutOfRange` or `InvalidArgument`.
pub fn dispatch(dispatch: &Dispatch, limits: &Limits) -> Result<()> {
    let name = &dispatch.entry_point.name;
    let size = dispatch.workgroup_size;
    if size.contains(&0) {
        return Err(invalid(format!(
            "dispatch of `{name}` with workgroups of {size:?} threads; each must be 1 or more"
        )));
    }
    for axis in 0..3 {
        if size[axis] > limits.max_workgroup_dims[axis] {
            return Err(beyond(format!(
                "dispatch of `{name}` with workgroups of {size:?} threads; at most {:?} per dimension",
                limits.max_workgroup_dims
            )));
        }
        if dispatch.workgroups[axis] > limits.max_grid_dims[axis] {
            return Err(beyond(format!(
                "dispatch of `{name}` with {:?} workgroups; at most {:?} per dimension",
                dispatch.workgroups, limits.max_grid_dims
            )));
        }
    }
    let threads: u64 = size.iter().map(|&n| u64::from(n)).product();
    let most = dispatch
        .entry_point
        .max_workgroup_size
        .map_or(limits.max_workgroup_size, |own| own.min(limits.max_workgroup_size));
    if threads > u64::from(most) {
        return Err(beyond(format!(
            "dispatch of `{name}` with workgroups of {threads} threads; at most {most}"
        )));
    }
    let shared = u64::from(dispatch.dynamic_shared_memory)
        + u64::from(dispatch.entry_point.static_shared_memory.unwrap_or(0));
    if shared > u64::from(limits.max_shared_memory) {
        return Err(beyond(format!(
            "dispatch of `{name}` with {shared} bytes of shared memory; at most {}",
            limits.max_shared_memory
        )));
    }
    arguments(name, &dispatch.arguments, dispatch)
}

fn arguments(name: &str, arguments: &[Argument], dispatch: &Dispatch) -> Result<()> {
    let bytes: usize = arguments.iter().map(Argument::size).sum();
    if bytes > MAX_ARGUMENT_BYTES {
        return Err(beyond(format!(
            "dispatch of `{name}` with {bytes} bytes of arguments; at most {MAX_ARGUMENT_BYTES}"
        )));
    }
    let Some(parameters) = &dispatch.entry_point.parameters else { return Ok(()) };
    if parameters.len() != arguments.len() {
        return Err(invalid(format!(
            "dispatch of `{name}` with {} arguments; it has {} parameters",
            arguments.len(),
            parameters.len()
        )));
    }
    for (index, (parameter, argument)) in parameters.iter().zip(arguments).enumerate() {
        if parameter.size != argument.size() {
            return Err(invalid(format!(
                "argument {index} of `{name}` has {} bytes; the parameter has {}",
                argument.size(),
                parameter.size
            )));
        }
    }
    Ok(())
}

/// A submission's work belongs to the queue's device, and its binding tables fit.
///
/// # Errors
/// `InvalidArgument` or `OutOfRange`.
#[inline]
pub fn submission(submission: &Submission, queue_device: DeviceId) -> Result<()> {
    submission.work.iter().try_for_each(|execute| work(execute, queue_device))
}

/// A host call's submission has no work for the device.
///
/// # Errors
/// `InvalidArgument`.
pub fn host_submission(submission: &Submission) -> Result<()> {
    match submission.work.len() {
        0 => Ok(()),
        count => Err(invalid(format!(
            "a host call or file transfer with {count} command buffers; submit them on their own, and let the call wait \
             for what they signal"
        ))),
    }
}

/// A transfer between a file and a buffer. Files end where a signed 64-bit offset does.
///
/// # Errors
/// `InvalidArgument` or `OutOfRange`.
pub fn file_transfer(what: &str, offset: u64, buffer: &BufferRange, queue_device: DeviceId) -> Result<()> {
    device("buffer", buffer.buffer.device_id(), queue_device)?;
    range(format_args!("{what}'s buffer range"), buffer.offset, buffer.length, buffer.buffer.size())?;
    range(format_args!("{what}'s file range"), offset, buffer.length, i64::MAX as u64)
}

fn work(execute: &Execute, queue_device: DeviceId) -> Result<()> {
    device("command buffer", execute.commands.device_id(), queue_device)?;
    let needed = execute.commands.list().slots();
    if execute.bindings.len() < needed.len() {
        return Err(invalid(format!(
            "a binding table of {} entries for a command buffer that uses {} slots",
            execute.bindings.len(),
            needed.len()
        )));
    }
    for (slot, binding) in execute.bindings.iter().enumerate() {
        device(format_args!("binding {slot}"), binding.buffer.device_id(), queue_device)?;
        range(format_args!("binding {slot}"), binding.offset, binding.length, binding.buffer.size())?;
        if needed.get(slot).is_some_and(|&needed| binding.length < needed) {
            return Err(beyond(format!(
                "binding {slot} has {} bytes; the command buffer uses {}",
                binding.length, needed[slot]
            )));
        }
    }
    if !needed.is_empty() {
        bound_copies(execute)?;
    }
    Ok(())
}

/// Copies through slots do not overlap, now that it is known what the slots are.
fn bound_copies(execute: &Execute) -> Result<()> {
    for command in execute.commands.list().commands() {
        if let Command::Copy { source, target } = command
            && let (Some(source), Some(target)) = (bound(source, execute), bound(target, execute))
        {
            no_overlap(&source, &target)?;
        }
    }
    Ok(())
}

fn bound(buffer: &BufferRef, execute: &Execute) -> Option<BufferRange> {
    match buffer {
        BufferRef::Direct(range) => Some(range.clone()),
        BufferRef::Slot { slot, offset, length } => {
            let binding = execute.bindings.get(*slot as usize)?;
            Some(BufferRange {
                buffer: binding.buffer.clone(),
                offset: binding.offset + offset,
                length: *length,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        range("r", 0, 0, 0).unwrap();
        range("r", 4, 4, 8).unwrap();
        assert_eq!(range("r", 5, 4, 8).unwrap_err().kind(), ErrorKind::OutOfRange);
        assert!(range("r", u64::MAX, 1, 8).unwrap_err().message().contains("overflow"));
    }

    #[test]
    fn patterns() {
        assert_eq!(fill_pattern(&[1, 2]).unwrap(), 2);
        for wrong in [0, 3, 5, 8] {
            assert_eq!(fill_pattern(&vec![0; wrong]).unwrap_err().kind(), ErrorKind::InvalidArgument);
        }
    }
}
