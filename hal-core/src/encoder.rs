//! Recording commands: every call is validated here, once, whatever the backend.

use crate::{
    Barrier, Buffer, BufferRange, BufferRef, Command, CommandBuffer, CommandList, Device, DeviceId, Dispatch,
    Encoding, Error, ErrorKind, Limits, Result, Scope, validate,
};
use std::sync::Arc;

/// Records commands for one device. A call that fails records nothing and leaves the encoder usable.
///
/// Commands between two barriers may run in any order or at once; the commands after a barrier see every effect of those
/// before it. What a dispatch uses is known from its arguments, and from [`Dispatch::reaches`]. An empty or doubled barrier
/// is harmless.
#[derive(Debug)]
pub struct CommandEncoder {
    limits: Limits,
    list: CommandList,
    open_groups: usize,
}

impl CommandEncoder {
    /// For backends; everybody else has [`encoder`](trait.Device.html#method.encoder).
    pub fn new(device: DeviceId, limits: Limits) -> Self {
        let list =
            CommandList { device, commands: Vec::new(), slots: Vec::new(), encoding: Encoding::default() };
        CommandEncoder { limits, list, open_groups: 0 }
    }

    /// Fills `length` bytes with a pattern of 1, 2 or 4 bytes. Offset and length are multiples of the pattern's size.
    ///
    /// # Errors
    /// `InvalidArgument` for the pattern, the alignment or a buffer of another device; `OutOfRange`.
    pub fn fill(&mut self, buffer: &Arc<dyn Buffer>, offset: u64, length: u64, pattern: &[u8]) -> Result<()> {
        self.fill_ref(BufferRef::Direct(BufferRange::new(buffer, offset, length)), pattern)
    }

    /// [`fill`](CommandEncoder::fill) of memory known or yet to be bound.
    ///
    /// # Errors
    /// As for [`fill`](CommandEncoder::fill).
    pub fn fill_ref(&mut self, target: BufferRef, pattern: &[u8]) -> Result<()> {
        let pattern_size = validate::fill_pattern(pattern)?;
        let (offset, length) = self.check("fill", &target)?;
        validate::multiple("fill offset", offset, pattern_size.into())?;
        validate::multiple("fill length", length, pattern_size.into())?;
        let mut bytes = [0; 4];
        bytes[..pattern.len()].copy_from_slice(pattern);
        self.push(length, [Some(&target), None], || Command::Fill {
            target: target.clone(),
            pattern: u32::from_le_bytes(bytes),
            pattern_size,
        });
        Ok(())
    }

    /// Writes `data`, which is copied now.
    ///
    /// # Errors
    /// `InvalidArgument` for a buffer of another device; `OutOfRange`.
    pub fn update(&mut self, buffer: &Arc<dyn Buffer>, offset: u64, data: &[u8]) -> Result<()> {
        let target = BufferRef::Direct(BufferRange::new(buffer, offset, data.len() as u64));
        let (_, length) = self.check("update", &target)?;
        self.push(length, [Some(&target), None], || Command::Update {
            target: target.clone(),
            data: data.into(),
        });
        Ok(())
    }

    /// Copies `length` bytes between buffers, or within one if the ranges do not overlap.
    ///
    /// # Errors
    /// `InvalidArgument` for overlap or a buffer of another device; `OutOfRange`.
    pub fn copy(
        &mut self,
        source: &Arc<dyn Buffer>,
        source_offset: u64,
        target: &Arc<dyn Buffer>,
        target_offset: u64,
        length: u64,
    ) -> Result<()> {
        self.copy_ref(
            BufferRef::Direct(BufferRange::new(source, source_offset, length)),
            BufferRef::Direct(BufferRange::new(target, target_offset, length)),
        )
    }

    /// [`copy`](CommandEncoder::copy) of memory known or yet to be bound. Overlap of bound memory is found at
    /// submission.
    ///
    /// # Errors
    /// As for [`copy`](CommandEncoder::copy), and `InvalidArgument` if the lengths differ.
    pub fn copy_ref(&mut self, source: BufferRef, target: BufferRef) -> Result<()> {
        let (_, length) = self.check("copy source", &source)?;
        let (_, target_length) = self.check("copy target", &target)?;
        if length != target_length {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("copy from {length} bytes to {target_length} bytes; both must have the same length"),
            ));
        }
        if let (BufferRef::Direct(source), BufferRef::Direct(target)) = (&source, &target) {
            validate::no_overlap(source, target)?;
        }
        self.push(length, [Some(&source), Some(&target)], || Command::Copy {
            source: source.clone(),
            target: target.clone(),
        });
        Ok(())
    }

    /// Runs a kernel. A grid with a zero in it does nothing.
    ///
    /// # Safety
    /// What the kernel does with its arguments is beyond checking. They must be what it expects, in number, order and
    /// type, as far as the driver cannot tell ([`EntryPoint::parameters`](crate::EntryPoint::parameters)); and the
    /// kernel must stay within the memory it is given, and not write what it is given as [`read
    /// only`](crate::Argument::ReadOnly).
    ///
    /// # Errors
    /// `InvalidArgument` for an executable or buffer of another device, an empty workgroup, and arguments that do not
    /// match the parameters where the driver knows them; `OutOfRange` for sizes beyond [`Limits`] and ranges beyond
    /// their buffer.
    #[allow(unsafe_code, reason = "declares what its caller owes; does nothing unsafe itself")]
    pub unsafe fn dispatch(&mut self, dispatch: Dispatch) -> Result<()> {
        validate::device("executable", dispatch.executable.device_id(), self.list.device)?;
        validate::dispatch(&dispatch, &self.limits)?;
        for buffer in dispatch.memory() {
            self.check("argument", buffer)?;
        }
        if dispatch.workgroups.contains(&0) {
            return Ok(());
        }
        dispatch.memory().for_each(|buffer| self.need_slot(buffer));
        self.list.commands.push(Command::Dispatch(dispatch));
        Ok(())
    }

    /// Makes what comes after wait for what came before, where both use the same memory.
    pub fn barrier(&mut self) {
        self.list.commands.push(Command::Barrier(Barrier::FULL));
    }

    /// As [`barrier`](CommandEncoder::barrier), for these commands and accesses alone; see [`Barrier`].
    pub fn barrier_between(&mut self, before: Scope, after: Scope) {
        self.list.commands.push(Command::Barrier(Barrier { before, after }));
    }

    /// Opens a named group, for tools.
    pub fn begin_group(&mut self, name: impl Into<String>) {
        self.open_groups += 1;
        self.list.commands.push(Command::BeginGroup(name.into()));
    }

    /// Closes the group opened last.
    ///
    /// # Errors
    /// `InvalidArgument` if none is open.
    pub fn end_group(&mut self) -> Result<()> {
        self.open_groups = self.open_groups.checked_sub(1).ok_or_else(|| {
            Error::new(
                ErrorKind::InvalidArgument,
                "end_group without begin_group; remove one or add the other",
            )
        })?;
        self.list.commands.push(Command::EndGroup);
        Ok(())
    }

    /// Ends recording, in the encoding that the device is set to: [`Encoding::Stream`] by default.
    ///
    /// # Errors
    /// As for [`finish_as`](CommandEncoder::finish_as).
    pub fn finish(self, device: &dyn Device) -> Result<Arc<dyn CommandBuffer>> {
        self.finish_as(device, Encoding::Auto)
    }

    /// Ends recording, in this encoding. A graph without slots is made now, one with slots when it is first submitted.
    ///
    /// # Errors
    /// `InvalidArgument` if a group is open or the device is not the one recorded for; `Unimplemented` for a graph on
    /// a device that has none; what the device answers.
    pub fn finish_as(mut self, device: &dyn Device, encoding: Encoding) -> Result<Arc<dyn CommandBuffer>> {
        self.list.encoding = encoding;
        if self.open_groups > 0 {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("finish with {} open groups; call end_group for each", self.open_groups),
            ));
        }
        validate::device("encoder", self.list.device, device.id())?;
        device.create_command_buffer(self.list)
    }

    /// For backends: what was recorded.
    pub fn into_list(self) -> CommandList {
        self.list
    }

    /// Validates a reference; returns its offset and length.
    fn check(&self, what: &str, buffer: &BufferRef) -> Result<(u64, u64)> {
        match buffer {
            BufferRef::Direct(range) => {
                validate::device(what, range.buffer.device_id(), self.list.device)?;
                validate::range(what, range.offset, range.length, range.buffer.size())?;
                Ok((range.offset, range.length))
            }
            BufferRef::Slot { slot, offset, length } => {
                validate::slot(*slot)?;
                validate::range(what, *offset, *length, u64::MAX)?;
                Ok((*offset, *length))
            }
        }
    }

    /// Records a command that touches `length` bytes; nothing, if that is none.
    fn push(&mut self, length: u64, uses: [Option<&BufferRef>; 2], command: impl FnOnce() -> Command) {
        if length == 0 {
            return;
        }
        uses.into_iter().flatten().for_each(|buffer| self.need_slot(buffer));
        self.list.commands.push(command());
    }

    fn need_slot(&mut self, buffer: &BufferRef) {
        if let BufferRef::Slot { slot, offset, length } = buffer {
            let index = *slot as usize;
            if self.list.slots.len() <= index {
                self.list.slots.resize(index + 1, 0);
            }
            let needed = &mut self.list.slots[index];
            // In range: `check` has added the two.
            *needed = (*needed).max(offset + length);
        }
    }
}
