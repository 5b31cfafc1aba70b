//! Loads, stores and atomics of a warp.

use super::cells::{self, Cell};
use super::code::{Access, Atom, NONE, Where};
use super::fault::AccessKind;
use super::memory::{Bad, Spaces, View};
use super::regs::{FULL, LANES, Raw, Regs, wide_cpu};

/// The access of one lane that failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failed {
    pub lane: u32,
    pub address: u64,
    pub size: u32,
    pub kind: AccessKind,
    pub bad: Bad,
}

/// A load by all lanes of a mask.
///
/// # Safety
/// The CPU has the features that the function was compiled for.
pub(crate) type LoadFn = unsafe fn(&mut Spaces<'_>, &mut Regs, u32, &Access, u32) -> Result<(), Failed>;
/// A store by all lanes of a mask.
///
/// # Safety
/// As for [`LoadFn`].
pub(crate) type StoreFn = unsafe fn(&mut Spaces<'_>, &Regs, u32, &Access, u32) -> Result<(), Failed>;

/// Loads and stores compiled for this CPU.
pub(crate) fn functions(watched: bool) -> (LoadFn, StoreFn) {
    if watched {
        return (watched_load, watched_store);
    }
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,bmi2,lzcnt,popcnt"))]
    fn wide_load(s: &mut Spaces<'_>, r: &mut Regs, first: u32, a: &Access, m: u32) -> Result<(), Failed> {
        load_lanes(s, r, first, a, m)
    }
    fn base_load(s: &mut Spaces<'_>, r: &mut Regs, first: u32, a: &Access, m: u32) -> Result<(), Failed> {
        load_lanes(s, r, first, a, m)
    }
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,bmi2,lzcnt,popcnt"))]
    fn wide_store(s: &mut Spaces<'_>, r: &Regs, first: u32, a: &Access, m: u32) -> Result<(), Failed> {
        store_lanes(s, r, first, a, m)
    }
    fn base_store(s: &mut Spaces<'_>, r: &Regs, first: u32, a: &Access, m: u32) -> Result<(), Failed> {
        store_lanes(s, r, first, a, m)
    }
    if wide_cpu() { (wide_load, wide_store) } else { (base_load, base_store) }
}

fn watched_load(s: &mut Spaces<'_>, r: &mut Regs, first: u32, a: &Access, m: u32) -> Result<(), Failed> {
    let addresses = addresses(r, a);
    load_lanes(s, r, first, a, m)?;
    s.tell(first, a, &addresses, m, AccessKind::Read);
    Ok(())
}

fn watched_store(s: &mut Spaces<'_>, r: &Regs, first: u32, a: &Access, m: u32) -> Result<(), Failed> {
    store_lanes(s, r, first, a, m)?;
    s.tell(first, a, &addresses(r, a), m, AccessKind::Write);
    Ok(())
}

/// Calls `f` for each lane of a mask; whole warps get a plain loop.
#[inline(always)]
pub(crate) fn each(mask: u32, mut f: impl FnMut(usize)) {
    if mask == FULL {
        for lane in 0..LANES {
            f(lane);
        }
    } else {
        let mut rest = mask;
        while rest != 0 {
            f(rest.trailing_zeros() as usize);
            rest &= rest - 1;
        }
    }
}

#[inline(always)]
fn addresses(regs: &Regs, access: &Access) -> [u64; LANES] {
    let mut out = [0u64; LANES];
    if access.wide {
        let base = regs.row::<u64>(access.base);
        for lane in 0..LANES {
            out[lane] = base[lane].wrapping_add(access.offset as u64);
        }
    } else {
        let base = regs.row::<u32>(access.base);
        for lane in 0..LANES {
            out[lane] = u64::from(base[lane].wrapping_add(access.offset as u32));
        }
    }
    out
}

/// Whether every lane of the mask is inside the view and aligned.
#[inline(always)]
fn all_inside(view: &View, addresses: &[u64; LANES], mask: u32, bytes: u64) -> bool {
    if bytes > view.len {
        return false;
    }
    let (limit, low) = (view.len - bytes, bytes - 1);
    let mut bad = false;
    if mask == FULL {
        for address in addresses {
            bad |= (address.wrapping_sub(view.start) > limit) | (address & low != 0);
        }
    } else {
        each(mask, |lane| {
            bad |= (addresses[lane].wrapping_sub(view.start) > limit) | (addresses[lane] & low != 0);
        });
    }
    !bad
}

/// Host addresses of all lanes of an access; those of other lanes mean nothing.
type Hosts = [*mut u8; LANES];

/// Finds every lane's host address: at once if all are where this instruction was last time, else one by one.
#[inline(always)]
fn find(
    spaces: &mut Spaces<'_>,
    first_thread: u32,
    access: &Access,
    addresses: &[u64; LANES],
    mask: u32,
    kind: AccessKind,
) -> Result<Hosts, Failed> {
    let bytes = u64::from(access.size) * u64::from(access.lanes);
    let view = spaces.guess(access.space, access.site);
    if (kind == AccessKind::Read || view.writable) && all_inside(&view, addresses, mask, bytes) {
        let shift = (view.host as u64).wrapping_sub(view.start);
        let mut at = [std::ptr::null_mut(); LANES];
        for lane in 0..LANES {
            // Same as offsetting `host`, written so that it becomes one vector addition.
            at[lane] = view.host.with_addr(addresses[lane].wrapping_add(shift) as usize);
        }
        return Ok(at);
    }
    find_slowly(spaces, first_thread, access, addresses, mask, kind)
}

#[inline(never)]
fn find_slowly(
    spaces: &mut Spaces<'_>,
    first_thread: u32,
    access: &Access,
    addresses: &[u64; LANES],
    mask: u32,
    kind: AccessKind,
) -> Result<Hosts, Failed> {
    let bytes = u32::from(access.size) * u32::from(access.lanes);
    let mut at = [std::ptr::null_mut(); LANES];
    let mut rest = mask;
    while rest != 0 {
        let lane = rest.trailing_zeros();
        rest &= rest - 1;
        let address = addresses[lane as usize];
        let thread = u64::from(first_thread + lane);
        // The extent that another lane was in just now.
        let view = spaces.guess(access.space, access.site);
        let known = match view.at(address, u64::from(bytes)) {
            Some(host)
                if address & u64::from(bytes - 1) == 0 && (kind == AccessKind::Read || view.writable) =>
            {
                Some(host)
            }
            _ => None,
        };
        at[lane as usize] = match known {
            Some(host) => host,
            None => spaces
                .resolve(access.space, access.site, thread, address, bytes, kind)
                .map_err(|bad| Failed { lane, address, size: bytes, kind, bad })?,
        };
    }
    Ok(at)
}

#[inline(always)]
fn gather<C: Cell + Raw>(regs: &mut Regs, slot: u32, mask: u32, at: &Hosts, skip: usize) {
    let mut out = [C::default(); LANES];
    each(mask, |lane| {
        // SAFETY: `find` checked the lanes of the mask for the whole access.
        out[lane] = unsafe { C::load(at[lane].add(skip)) };
    });
    regs.write(slot, mask, &out);
}

#[inline(always)]
fn scatter<C: Cell + Raw>(regs: &Regs, slot: u32, mask: u32, at: &Hosts, skip: usize) {
    let values = regs.row::<C>(slot);
    each(mask, |lane| {
        // SAFETY: `find` checked the lanes of the mask for the whole access.
        unsafe { values[lane].store(at[lane].add(skip)) };
    });
}

/// Extends `size` bytes by sign to 64 bits.
#[inline(always)]
fn sign_extend(value: u64, size: u8) -> u64 {
    let shift = 64 - 8 * u32::from(size);
    (((value << shift) as i64) >> shift) as u64
}

/// Cuts a value to a register's width.
#[inline(always)]
fn fit(value: u64, reg: u8) -> u64 {
    match reg {
        0..=2 => value & 0xffff,
        4 => value & 0xffff_ffff,
        _ => value,
    }
}

#[inline(always)]
fn load_lanes(
    spaces: &mut Spaces<'_>,
    regs: &mut Regs,
    first_thread: u32,
    access: &Access,
    mask: u32,
) -> Result<(), Failed> {
    let addresses = addresses(regs, access);
    let at = find(spaces, first_thread, access, &addresses, mask, AccessKind::Read)?;
    for n in 0..usize::from(access.lanes) {
        let (slot, skip) = (access.regs[n], n * usize::from(access.size));
        match (access.size, access.reg) {
            _ if slot == NONE => {}
            (4, 4) => gather::<u32>(regs, slot, mask, &at, skip),
            (8, 8) => gather::<u64>(regs, slot, mask, &at, skip),
            (size, reg) => {
                let mut out = [0u64; LANES];
                each(mask, |lane| {
                    // SAFETY: `find` checked the lanes of the mask for the whole access.
                    let value = unsafe { cells::load(at[lane].add(skip), size) };
                    out[lane] = fit(if access.signed { sign_extend(value, size) } else { value }, reg);
                });
                regs.write_bits(slot, reg == 8, mask, &out);
            }
        }
    }
    Ok(())
}

#[inline(always)]
fn store_lanes(
    spaces: &mut Spaces<'_>,
    regs: &Regs,
    first_thread: u32,
    access: &Access,
    mask: u32,
) -> Result<(), Failed> {
    let addresses = addresses(regs, access);
    let at = find(spaces, first_thread, access, &addresses, mask, AccessKind::Write)?;
    for n in 0..usize::from(access.lanes) {
        let (slot, skip) = (access.regs[n], n * usize::from(access.size));
        match (access.size, access.reg) {
            (4, 4) => scatter::<u32>(regs, slot, mask, &at, skip),
            (8, 8) => scatter::<u64>(regs, slot, mask, &at, skip),
            (size, reg) => {
                let values = regs.read_bits(slot, reg == 8);
                each(mask, |lane| {
                    // SAFETY: `find` checked the lanes of the mask for the whole access.
                    unsafe { cells::store(at[lane].add(skip), size, values[lane]) };
                });
            }
        }
    }
    Ok(())
}

pub(crate) fn atom(
    spaces: &mut Spaces<'_>,
    regs: &mut Regs,
    first_thread: u32,
    atom: &Atom,
    mask: u32,
) -> Result<(), Failed> {
    let access = &atom.access;
    let wide = access.size == 8;
    let addresses = addresses(regs, access);
    let at = find(spaces, first_thread, access, &addresses, mask, AccessKind::Atomic)?;
    let [d, b, c, _] = access.regs;
    let b = regs.read_bits(b, wide);
    let c = if c == NONE { [0; LANES] } else { regs.read_bits(c, wide) };
    let mut old = [0u64; LANES];
    each(mask, |lane| {
        // SAFETY: `find` checked the lanes of the mask for the whole access.
        old[lane] = unsafe { cells::atom(at[lane], atom.op, atom.ty, b[lane], c[lane]) };
    });
    if spaces.is_watched() {
        spaces.tell(first_thread, access, &addresses, mask, AccessKind::Atomic);
    }
    if d != NONE {
        regs.write_bits(d, wide, mask, &old);
    }
    Ok(())
}

/// Reads a kernel parameter: the same bytes for all lanes. Translation checked the bounds against the parameter, the
/// launch checked the parameters against the kernel.
pub(crate) fn load_param(params: &[u8], regs: &mut Regs, offset: u32, access: &Access, mask: u32) {
    for n in 0..usize::from(access.lanes) {
        let slot = access.regs[n];
        if slot == NONE {
            continue;
        }
        let size = usize::from(access.size);
        let from = offset as usize + n * size;
        let mut bytes = [0; 8];
        if let Some(found) = params.get(from..from + size) {
            bytes[..size].copy_from_slice(found);
        }
        let value = u64::from_le_bytes(bytes);
        let value = fit(if access.signed { sign_extend(value, access.size) } else { value }, access.reg);
        regs.write_bits(slot, access.reg == 8, mask, &[value; LANES]);
    }
}

/// Copies inside each lane's local memory.
pub(crate) fn copy_local(
    spaces: &mut Spaces<'_>,
    first_thread: u32,
    to: u32,
    from: u32,
    size: u32,
    mask: u32,
) -> Result<(), Failed> {
    let mut rest = mask;
    while rest != 0 {
        let lane = rest.trailing_zeros();
        rest &= rest - 1;
        let thread = u64::from(first_thread + lane);
        for byte in 0..size {
            let mut place = |offset: u32, kind| {
                let address = u64::from(offset + byte);
                spaces.resolve(Where::Local, 0, thread, address, 1, kind).map_err(|bad| Failed {
                    lane,
                    address,
                    size: 1,
                    kind,
                    bad,
                })
            };
            let (from, to) = (place(from, AccessKind::Read)?, place(to, AccessKind::Write)?);
            // SAFETY: both were just resolved for one byte.
            unsafe { cells::store(to, 1, cells::load(from, 1)) };
        }
    }
    Ok(())
}
