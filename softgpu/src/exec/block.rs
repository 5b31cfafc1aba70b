//! A block: its warps take turns, and meet at barriers.

use super::access::{self, Failed};
use super::code::{Code, Const, LaneMask, Where};
use super::fault::{Access, AccessKind, Fault, Place};
use super::memory::{Bad, Spaces};
use super::regs::{FULL, LANES};
use super::step::{self, Raised, Shared, Stop};
use super::warp::{State, Warp};
use super::{Launch, cells};
use std::sync::atomic::Ordering;

/// The machine that runs a launch's blocks one after another.
pub(crate) struct Machine<'l> {
    launch: &'l Launch<'l>,
    shared: Shared<'l>,
    warps: Vec<Warp>,
    threads: u32,
    block: [u32; 3],
}

impl<'l> Machine<'l> {
    pub(crate) fn new(launch: &'l Launch<'l>, code: &'l Code) -> Self {
        let threads: u32 = launch.block.iter().product();
        let dynamic_start = dynamic_start(launch, code);
        let spaces = Spaces::new(
            launch.memory,
            launch.params,
            dynamic_start + u64::from(launch.dynamic_shared),
            u64::from(code.local),
            u64::from(threads),
            code.sites,
        );
        let spaces = spaces.watched(launch);
        let (load, store) = access::functions(launch.watch.is_some());
        let shared = Shared { code, spaces, clock: 0, stirred: false, load, store, arrived: [0; 16] };
        let warps = (0..threads.div_ceil(32)).map(|n| Warp::new(code, n * 32)).collect();
        let mut machine = Self { launch, shared, warps, threads, block: [0; 3] };
        machine.fill_constants(dynamic_start);
        machine
    }

    fn fill_constants(&mut self, dynamic_start: u64) {
        let (launch, code) = (self.launch, self.shared.code);
        let count = self.warps.len() as u64;
        let [width, height, _] = launch.block.map(u64::from);
        for (number, warp) in self.warps.iter_mut().enumerate() {
            // Predicate 0 is the one that is always true.
            warp.regs.preds[0] = FULL;
            let first = u64::from(warp.first_thread);
            for (slot, value, wide) in &code.consts {
                let mut row = [0u64; LANES];
                for (lane, out) in row.iter_mut().enumerate() {
                    let thread = first + lane as u64;
                    *out = match *value {
                        Const::Bits32(bits) => u64::from(bits),
                        Const::Bits64(bits) => bits,
                        Const::Global(index, offset) => {
                            let address = launch.globals.get(index as usize).copied().unwrap_or(0);
                            address.wrapping_add(offset as u64)
                        }
                        Const::DynamicShared(offset) => dynamic_start.wrapping_add(offset as u64),
                        Const::Tid(0) => thread % width,
                        Const::Tid(1) => thread / width % height,
                        Const::Tid(_) => thread / width / height,
                        Const::Ntid(axis) => u64::from(launch.block[usize::from(axis) % 3]),
                        Const::Nctaid(axis) => u64::from(launch.grid[usize::from(axis) % 3]),
                        Const::Ctaid(_) => 0,
                        Const::LaneId => lane as u64,
                        Const::WarpId => number as u64,
                        Const::WarpCount => count,
                        Const::LaneMask(mask) => lane_mask(mask, lane),
                        Const::DynamicSharedSize => u64::from(launch.dynamic_shared),
                        Const::TotalSharedSize => dynamic_start + u64::from(launch.dynamic_shared),
                    };
                }
                warp.regs.write_bits(*slot, *wide, FULL, &row);
            }
        }
    }

    /// Runs one block to its end.
    pub(crate) fn run(&mut self, block: [u32; 3]) -> Result<(), Fault> {
        self.block = block;
        self.shared.spaces.block = block;
        self.shared.arrived = [0; 16];
        for warp in &mut self.warps {
            for (slot, value, _) in &self.shared.code.consts {
                if let Const::Ctaid(axis) = value {
                    warp.regs.write(*slot, FULL, &[block[usize::from(*axis) % 3]; LANES]);
                }
            }
            warp.start(self.threads - warp.first_thread);
        }
        loop {
            let (mut alive, mut ran) = (false, false);
            for at in 0..self.warps.len() {
                if self.launch.stop.load(Ordering::Relaxed) {
                    return Err(Fault::Stopped { kernel: self.launch.kernel.name.clone() });
                }
                if self.warps[at].runnable() {
                    ran = true;
                    let result = step::turn(&mut self.shared, &mut self.warps[at]);
                    result.map_err(|raised| self.fault(at, raised))?;
                }
                alive |= !self.warps[at].fragments.is_empty();
            }
            let released = self.shared.stirred && self.release_barriers();
            self.shared.stirred = false;
            if !alive {
                return Ok(());
            }
            if !ran && !released {
                return Err(self.deadlock());
            }
        }
    }

    /// Opens the barriers that everyone has reached.
    fn release_barriers(&mut self) -> bool {
        let mut waiting = [Waiting::default(); 16];
        let mut live = 0;
        for warp in &self.warps {
            live += warp.live.count_ones();
            for fragment in &warp.fragments {
                if let State::Barrier { id, threads, pred, .. } = fragment.state {
                    let w = &mut waiting[id as usize & 15];
                    let lanes = fragment.mask.count_ones();
                    w.threads += lanes;
                    // A count given by the program is one of whole warps.
                    w.whole += if fragment.mask == warp.live { 32 } else { lanes };
                    w.wanted = w.wanted.max(threads);
                    w.count += (pred & fragment.mask).count_ones();
                }
            }
        }
        let mut any = false;
        for (id, w) in waiting.iter().enumerate() {
            let arrived = self.shared.arrived[id];
            let open =
                if w.wanted == 0 { w.threads == live } else { w.whole.saturating_add(arrived) >= w.wanted };
            if w.threads == 0 || !open {
                continue;
            }
            any = true;
            self.shared.arrived[id] = 0;
            for warp in &mut self.warps {
                for fragment in &mut warp.fragments {
                    if let State::Barrier { id: at, reduce, .. } = fragment.state
                        && at as usize == id
                    {
                        step::release(&mut warp.regs, fragment, reduce, w.count, w.count == w.threads);
                    }
                }
            }
        }
        any
    }

    fn deadlock(&self) -> Fault {
        let waiting = self.warps.iter().find_map(|warp| Some((warp, warp.fragments.first()?)));
        match waiting {
            Some((warp, fragment)) => {
                let lane = fragment.mask.trailing_zeros() & 31;
                // It will go on behind the barrier.
                Fault::Deadlock { at: self.place(warp, lane, fragment.pc.saturating_sub(1)) }
            }
            None => Fault::Stopped { kernel: self.launch.kernel.name.clone() },
        }
    }

    fn place(&self, warp: &Warp, lane: u32, pc: u32) -> Place {
        let thread = warp.first_thread + lane;
        let [width, height, _] = self.launch.block;
        Place {
            kernel: self.launch.kernel.name.clone(),
            line: self.shared.code.instrs.get(pc as usize).map_or(0, |i| i.line),
            block: self.block,
            thread: [thread % width, thread / width % height, thread / width / height],
        }
    }

    fn fault(&mut self, warp: usize, raised: Raised) -> Fault {
        let at = |me: &Self, lane| me.place(&me.warps[warp], lane, raised.pc);
        match raised.stop {
            Stop::Access(Failed { lane, address, size, kind, bad }) => {
                let at = at(self, lane);
                let access = Access { address, size, kind };
                match bad {
                    Bad::Illegal => Fault::IllegalAddress { at, access },
                    Bad::Misaligned => Fault::Misaligned { at, access },
                    Bad::Space => Fault::InvalidAddressSpace { at, access },
                    Bad::Host => Fault::IllegalInstruction {
                        at,
                        reason: format!("{access}, where host and device address are not aligned alike"),
                    },
                }
            }
            Stop::Trap { lane } => Fault::Trap { at: at(self, lane) },
            Stop::Illegal { lane, reason } => Fault::IllegalInstruction { at: at(self, lane), reason },
            Stop::Assert { lane, address } => {
                let at = at(self, lane);
                let thread = u64::from(self.warps[warp].first_thread + lane);
                Fault::Assert { at, message: self.text(thread, address) }
            }
        }
    }

    /// The zero-terminated text at a generic address, as far as it can be read.
    fn text(&mut self, thread: u64, address: u64) -> String {
        let mut bytes = Vec::new();
        while bytes.len() < 256 {
            let next = address.wrapping_add(bytes.len() as u64);
            let found =
                self.shared.spaces.resolve(Where::Generic, u32::MAX, thread, next, 1, AccessKind::Read);
            // SAFETY: `resolve` vouches for one byte.
            match found.map(|at| unsafe { cells::load(at, 1) } as u8) {
                Ok(0) | Err(_) => break,
                Ok(byte) => bytes.push(byte),
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[derive(Clone, Copy, Default)]
struct Waiting {
    threads: u32,
    whole: u32,
    wanted: u32,
    count: u32,
}

fn lane_mask(mask: LaneMask, lane: usize) -> u64 {
    let (here, below) = (1u32 << lane, (1u32 << lane) - 1);
    u64::from(match mask {
        LaneMask::Eq => here,
        LaneMask::Lt => below,
        LaneMask::Le => below | here,
        LaneMask::Gt => !(below | here),
        LaneMask::Ge => !below,
    })
}

/// Where dynamic shared memory begins: behind the static part.
pub(crate) fn dynamic_start(launch: &Launch<'_>, code: &Code) -> u64 {
    u64::from(launch.kernel.static_shared).next_multiple_of(u64::from(code.shared_align.max(1)))
}
