//! Where addresses lead: checks every access to the byte and turns it into a host pointer.

use super::code::{Access, Instr, Op, Where};
use super::fault::{AccessKind, Place};
use super::regs::LANES;
use super::{Accesses, Launch, Memory, Watch, space};

/// Bytes with the alignment of the widest element.
#[derive(Debug)]
pub(crate) struct Bytes {
    words: Vec<u64>,
    len: u64,
}

impl Bytes {
    pub(crate) fn new(len: u64) -> Self {
        Self { words: vec![0; len.div_ceil(8) as usize], len }
    }

    pub(crate) fn view(&mut self) -> View {
        View { start: 0, len: self.len, host: self.words.as_mut_ptr().cast(), writable: true }
    }
}

/// A range of addresses and the host memory behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub start: u64,
    pub len: u64,
    pub host: *mut u8,
    pub writable: bool,
}

impl View {
    pub(crate) const EMPTY: Self = Self { start: 0, len: 0, host: std::ptr::null_mut(), writable: false };

    /// The host address of `bytes` bytes at `address` if all of them are inside.
    #[inline(always)]
    pub(crate) fn at(&self, address: u64, bytes: u64) -> Option<*mut u8> {
        let rel = address.wrapping_sub(self.start);
        if bytes > self.len || rel > self.len - bytes {
            return None;
        }
        Some(self.host.wrapping_add(rel as usize))
    }
}

/// What is wrong with an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bad {
    Illegal,
    Misaligned,
    Space,
    /// The driver lends memory at a host address that is not aligned as its device address is.
    Host,
}

/// All memory that the threads of a block see.
pub(crate) struct Spaces<'l> {
    device: &'l dyn Memory,
    params: &'l [u8],
    shared: Bytes,
    local: Bytes,
    /// Bytes of local memory per thread.
    local_size: u64,
    /// The extent that each memory instruction met last: nearly always the one it will meet again.
    sites: Vec<View>,
    /// Who is told of accesses, and the launch they belong to.
    watch: Option<(&'l dyn Watch, &'l Launch<'l>)>,
    /// The block that runs.
    pub block: [u32; 3],
}

impl<'l> Spaces<'l> {
    pub(crate) fn new(
        device: &'l dyn Memory,
        params: &'l [u8],
        shared: u64,
        local_size: u64,
        threads: u64,
        sites: u32,
    ) -> Self {
        let local_size = local_size.next_multiple_of(16);
        Self {
            device,
            params,
            shared: Bytes::new(shared),
            local: Bytes::new(local_size * threads),
            local_size,
            sites: vec![View::EMPTY; sites as usize],
            watch: None,
            block: [0; 3],
        }
    }

    pub(crate) fn watched(mut self, launch: &'l Launch<'l>) -> Self {
        self.watch = launch.watch.map(|watch| (watch, launch));
        self
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    /// Tells of an access that went well, if it was one to the device's memory.
    pub(crate) fn tell(
        &self,
        first_thread: u32,
        access: &Access,
        addresses: &[u64; LANES],
        mask: u32,
        kind: AccessKind,
    ) {
        let Some((watch, launch)) = self.watch else { return };
        if !matches!(access.space, Where::Global | Where::Generic) {
            return;
        }
        let is_window =
            |address: u64| matches!(address & space::WINDOW, space::SHARED | space::LOCAL | space::PARAM);
        let mask = (0..LANES).filter(|lane| mask >> lane & 1 == 1 && !is_window(addresses[*lane]));
        let mask = mask.fold(0, |mask, lane| mask | 1 << lane);
        let place = |lane: u32| {
            let thread = first_thread + lane;
            let [width, height, _] = launch.block;
            let is_it = |instr: &&Instr| match &instr.op {
                Op::Load(other) | Op::Store(other) => other.site == access.site,
                Op::Atom(atom) => atom.access.site == access.site,
                _ => false,
            };
            Place {
                kernel: launch.kernel.name.clone(),
                line: launch.kernel.code.instrs.iter().find(is_it).map_or(0, |instr| instr.line),
                block: self.block,
                thread: [thread % width, thread / width % height, thread / width / height],
            }
        };
        let bytes = u32::from(access.size) * u32::from(access.lanes);
        watch.touched(Accesses { addresses, mask, bytes, kind }, &place);
    }

    pub(crate) fn params(&self) -> &'l [u8] {
        self.params
    }

    /// One view that probably holds all lanes' addresses of an access.
    #[inline(always)]
    pub(crate) fn guess(&mut self, space: Where, site: u32) -> View {
        match space {
            Where::Shared => self.shared.view(),
            Where::Global | Where::Generic => self.sites[site as usize],
            Where::Local | Where::Param => View::EMPTY,
        }
    }

    /// Finds the host address of one thread's access.
    pub(crate) fn resolve(
        &mut self,
        space: Where,
        site: u32,
        thread: u64,
        address: u64,
        bytes: u32,
        kind: AccessKind,
    ) -> Result<*mut u8, Bad> {
        if address & u64::from(bytes.max(1) - 1) != 0 {
            return Err(Bad::Misaligned);
        }
        let bytes = u64::from(bytes);
        let windowed = match address & space::WINDOW {
            space::SHARED => Some(Where::Shared),
            space::LOCAL => Some(Where::Local),
            space::PARAM => Some(Where::Param),
            _ => None,
        };
        match (space, windowed) {
            (Where::Generic, Some(Where::Shared)) => {
                self.shared.view().at(address - space::SHARED, bytes).ok_or(Bad::Illegal)
            }
            (Where::Generic, Some(Where::Local)) => self.local(thread, address - space::LOCAL, bytes, kind),
            (Where::Generic, Some(_)) => self.param(thread, address - space::PARAM, bytes, kind),
            (Where::Global, Some(_)) => Err(Bad::Space),
            (Where::Generic | Where::Global, None) => self.device(site, address, bytes, kind),
            (Where::Shared, None) => self.shared.view().at(address, bytes).ok_or(Bad::Illegal),
            (Where::Local, None) => self.local(thread, address, bytes, kind),
            (Where::Param, None) => self.param(thread, address, bytes, kind),
            // A generic address where the instruction wants one of its own space.
            (Where::Shared | Where::Local | Where::Param, Some(_)) => Err(Bad::Space),
        }
    }

    fn device(&mut self, site: u32, address: u64, bytes: u64, kind: AccessKind) -> Result<*mut u8, Bad> {
        let extent = self.device.find(address).ok_or(Bad::Illegal)?;
        let view =
            View { start: extent.start, len: extent.len, host: extent.host, writable: extent.writable };
        let host = view.at(address, bytes).ok_or(Bad::Illegal)?;
        if kind != AccessKind::Read && !view.writable {
            return Err(Bad::Illegal);
        }
        // Elements are at most 8 bytes; both addresses must agree on what is aligned.
        if (extent.host as u64).wrapping_sub(extent.start) & 7 != 0 {
            return Err(Bad::Host);
        }
        if let Some(slot) = self.sites.get_mut(site as usize) {
            *slot = view;
        }
        Ok(host)
    }

    fn local(&mut self, thread: u64, offset: u64, bytes: u64, kind: AccessKind) -> Result<*mut u8, Bad> {
        if kind == AccessKind::Atomic {
            return Err(Bad::Space);
        }
        if offset > self.local_size || bytes > self.local_size - offset {
            return Err(Bad::Illegal);
        }
        self.local.view().at(thread * self.local_size + offset, bytes).ok_or(Bad::Illegal)
    }

    fn param(&mut self, thread: u64, offset: u64, bytes: u64, kind: AccessKind) -> Result<*mut u8, Bad> {
        if offset & space::FUNCTION_PARAM != 0 {
            return self.local(thread, offset - space::FUNCTION_PARAM, bytes, kind);
        }
        if kind != AccessKind::Read {
            return Err(Bad::Space);
        }
        let view = View {
            start: 0,
            len: self.params.len() as u64,
            host: self.params.as_ptr().cast_mut(),
            writable: false,
        };
        view.at(offset, bytes).ok_or(Bad::Illegal)
    }
}
