//! The interpreter's loop.

use super::access::{self, Failed, LoadFn, StoreFn};
use super::across;
use super::code::{AtomOp, BarReduce, Clock, Code, Logic, NONE, Op};
use super::memory::Spaces;
use super::regs::{FULL, LANES, Regs};
use super::warp::{Fragment, State, Warp, key};

/// Instructions that a warp runs before the next one gets its turn.
pub(crate) const TURN: u32 = 16384;
/// Backward branches after which a fragment lets another one run: few if it looks like a spin lock.
const PATIENCE: u32 = 1 << 16;
const SPIN_PATIENCE: u32 = 128;

/// What a block's warps share.
pub(crate) struct Shared<'l> {
    pub code: &'l Code,
    pub spaces: Spaces<'l>,
    /// Instructions executed, the clock that kernels read.
    pub clock: u64,
    /// Threads exited or came to a barrier: barriers must be looked at.
    pub stirred: bool,
    pub load: LoadFn,
    pub store: StoreFn,
    /// `bar.arrive` counts.
    pub arrived: [u32; 16],
}

/// Why an instruction could not be executed.
pub(crate) enum Stop {
    Access(Failed),
    Trap { lane: u32 },
    Assert { lane: u32, address: u64 },
    Illegal { lane: u32, reason: String },
}

/// A fault before it is given its place: the instruction and what happened.
pub(crate) struct Raised {
    pub pc: u32,
    pub stop: Stop,
}

/// Where control goes after an instruction.
enum Flow {
    /// Away from the fragment: its lanes were put back into the warp, or are gone.
    Leave,
    /// On in the fragment, whose place in the order may have changed.
    Jumped,
}

/// Runs a warp until its turn is over or none of its fragments can go on.
pub(crate) fn turn(shared: &mut Shared<'_>, warp: &mut Warp) -> Result<(), Raised> {
    let mut budget = TURN;
    let mut rotated = warp.rotate;
    while budget > 0 {
        let Some((fragment, force)) = warp.take_next() else { break };
        run(shared, warp, fragment, force, rotated, &mut budget)?;
        rotated = warp.rotate;
    }
    shared.clock += u64::from(TURN - budget);
    Ok(())
}

fn first(mask: u32) -> u32 {
    mask.trailing_zeros() & 31
}

#[inline(never)]
fn run(
    shared: &mut Shared<'_>,
    warp: &mut Warp,
    mut frag: Fragment,
    mut force: bool,
    rotated: bool,
    budget: &mut u32,
) -> Result<(), Raised> {
    let code = shared.code;
    let mut limit = if force { u64::MAX } else { warp.limit(frag.key(), rotated) };
    let mut base = key(frag.stack.len(), 0);
    let (mut loops, mut patience) = (0u32, PATIENCE);
    loop {
        let pc = frag.pc;
        if *budget == 0 || base | u64::from(pc) >= limit {
            warp.fragments.push(frag);
            return Ok(());
        }
        *budget -= 1;
        let instr = &code.instrs[pc as usize];
        let mask = frag.mask & warp.regs.pred(instr.guard);
        if mask == 0 {
            frag.pc += 1;
            continue;
        }
        let raised = |stop| Raised { pc, stop };
        let failed = |f| Raised { pc, stop: Stop::Access(f) };
        let flow = match &instr.op {
            Op::Alu(f, args) => {
                // SAFETY: translation allots every slot inside the register file and picks functions that this
                // CPU can run.
                unsafe { f(&mut warp.regs, args, mask) };
                frag.pc += 1;
                continue;
            }
            Op::Compare { f, args, negate, logic, p, q } => {
                // SAFETY: as above.
                let bits = unsafe { f(&mut warp.regs, args) } ^ if *negate { FULL } else { 0 };
                let (mut yes, mut no) = (bits, !bits);
                if let Some((logic, with)) = logic {
                    let with = warp.regs.pred(*with);
                    (yes, no) = (combine(*logic, yes, with), combine(*logic, no, with));
                }
                warp.regs.set_pred(*p, mask, yes);
                if *q != NONE {
                    warp.regs.set_pred(*q, mask, no);
                }
                frag.pc += 1;
                continue;
            }
            Op::Load(access) => {
                // SAFETY: `access::functions` chose it for this CPU.
                unsafe { (shared.load)(&mut shared.spaces, &mut warp.regs, warp.first_thread, access, mask) }
                    .map_err(failed)?;
                frag.pc += 1;
                continue;
            }
            Op::Store(access) => {
                // SAFETY: as above.
                unsafe { (shared.store)(&mut shared.spaces, &warp.regs, warp.first_thread, access, mask) }
                    .map_err(failed)?;
                frag.pc += 1;
                continue;
            }
            Op::Branch { target } => {
                let target = *target;
                loops += u32::from(target <= pc);
                if mask == frag.mask {
                    frag.pc = target;
                    // Alone, or still between the same neighbours: nothing else to decide.
                    if target > pc || (warp.fragments.is_empty() && loops < patience) {
                        continue;
                    }
                } else {
                    let rest = Fragment { pc: pc + 1, mask: frag.mask & !mask, ..frag.clone() };
                    warp.fragments.push(rest);
                    frag.mask = mask;
                    frag.pc = target;
                }
                Flow::Jumped
            }
            Op::Atom(atom) => {
                if matches!(atom.op, AtomOp::Cas | AtomOp::Exch) {
                    patience = SPIN_PATIENCE;
                }
                access::atom(&mut shared.spaces, &mut warp.regs, warp.first_thread, atom, mask)
                    .map_err(failed)?;
                frag.pc += 1;
                continue;
            }
            Op::Barrier(bar) => {
                let id = warp.regs.row::<u32>(bar.id)[first(mask) as usize];
                let threads = match bar.threads {
                    NONE => 0,
                    slot => warp.regs.row::<u32>(slot)[first(mask) as usize],
                };
                if id >= 16 {
                    let reason = format!("barrier {id}; there are 16");
                    return Err(raised(Stop::Illegal { lane: first(mask), reason }));
                }
                shared.stirred = true;
                if bar.arrive_only {
                    let lanes = if mask == warp.live { 32 } else { mask.count_ones() };
                    let arrived = &mut shared.arrived[id as usize];
                    *arrived = arrived.saturating_add(lanes);
                    frag.pc += 1;
                    continue;
                }
                let pred = warp.regs.pred(bar.pred);
                let state = State::Barrier { id, threads, reduce: bar.reduce, pred };
                leave_behind(warp, &mut frag, mask);
                warp.fragments.push(Fragment { pc: pc + 1, state, ..frag });
                return Ok(());
            }
            Op::Return if !frag.stack.is_empty() => {
                leave_behind(warp, &mut frag, mask);
                frag.pc = frag.stack.pop().unwrap_or_default();
                Flow::Jumped
            }
            Op::Return | Op::Exit => {
                warp.live &= !mask;
                shared.stirred = true;
                frag.mask &= !mask;
                frag.pc += 1;
                if frag.mask == 0 { Flow::Leave } else { continue }
            }
            Op::Call { target } => {
                leave_behind(warp, &mut frag, mask);
                frag.stack.push(pc + 1);
                frag.pc = *target;
                Flow::Jumped
            }
            Op::BranchTable { index, targets } => {
                leave_behind(warp, &mut frag, mask);
                branch_table(warp, &frag, *index, targets)
                    .map_err(|(lane, reason)| raised(Stop::Illegal { lane, reason }))?;
                Flow::Leave
            }
            Op::Shfl { members, .. }
            | Op::Vote { members, .. }
            | Op::Match { members, .. }
            | Op::Redux { members, .. }
            | Op::WarpSync { members } => {
                if *members != NONE && !force {
                    let wanted = warp.regs.row::<u32>(*members)[first(mask) as usize] & warp.live;
                    // Those who are missing may still come here.
                    if wanted & !frag.mask != 0 && !warp.fragments.is_empty() {
                        frag.state = State::Sync;
                        warp.fragments.push(frag);
                        return Ok(());
                    }
                }
                cross(&mut warp.regs, &instr.op, mask);
                frag.pc += 1;
                if !force {
                    continue;
                }
                force = false;
                Flow::Jumped
            }
            Op::Yield => {
                frag.pc += 1;
                warp.rotate = true;
                *budget = (*budget).min(1);
                warp.fragments.push(frag);
                return Ok(());
            }
            Op::Trap => return Err(raised(Stop::Trap { lane: first(mask) })),
            Op::Assert { message } => {
                let lane = first(mask);
                let address = warp.regs.row::<u64>(*message)[lane as usize];
                return Err(raised(Stop::Assert { lane, address }));
            }
            other => {
                rare(shared, warp, other, mask, frag.mask, *budget).map_err(failed)?;
                frag.pc += 1;
                continue;
            }
        };
        if matches!(flow, Flow::Leave) {
            return Ok(());
        }
        if loops >= patience {
            // Others may have to move before this loop can end.
            warp.rotate = true;
            *budget = if patience == SPIN_PATIENCE { 0 } else { *budget };
            warp.fragments.push(frag);
            return Ok(());
        }
        base = key(frag.stack.len(), 0);
        limit = warp.limit(base | u64::from(frag.pc), rotated);
    }
}

/// Splits off the lanes that an instruction's guard left out; they go on behind it.
fn leave_behind(warp: &mut Warp, frag: &mut Fragment, mask: u32) {
    if frag.mask != mask {
        warp.fragments.push(Fragment { pc: frag.pc + 1, mask: frag.mask & !mask, ..frag.clone() });
        frag.mask = mask;
    }
}

fn branch_table(warp: &mut Warp, frag: &Fragment, index: u32, targets: &[u32]) -> Result<(), (u32, String)> {
    let row = *warp.regs.row::<u32>(index);
    let mut rest = frag.mask;
    while rest != 0 {
        let lane = first(rest);
        let wanted = row[lane as usize];
        let Some(target) = targets.get(wanted as usize) else {
            return Err((lane, format!("branch to entry {wanted} of a table of {}", targets.len())));
        };
        let mut same = 0u32;
        access::each(rest, |l| same |= u32::from(row[l] == wanted) << l);
        warp.fragments.push(Fragment { pc: *target, mask: same, ..frag.clone() });
        rest &= !same;
    }
    Ok(())
}

#[inline(always)]
fn combine(logic: Logic, a: u32, b: u32) -> u32 {
    match logic {
        Logic::And => a & b,
        Logic::Or => a | b,
        Logic::Xor => a ^ b,
    }
}

fn cross(regs: &mut Regs, op: &Op, mask: u32) {
    match op {
        Op::Shfl { mode, args, p, .. } => across::shfl(regs, *mode, args, *p, mask),
        Op::Vote { mode, d, p, .. } => across::vote(regs, *mode, *d, *p, mask),
        Op::Match { all, wide, d, p, a, .. } => across::matching(regs, *all, *wide, *d, *p, *a, mask),
        Op::Redux { op, signed, d, a, .. } => across::redux(regs, *op, *signed, *d, *a, mask),
        _ => {}
    }
}

/// Instructions that always fall through and are not worth a place in the main loop.
fn rare(
    shared: &mut Shared<'_>,
    warp: &mut Warp,
    op: &Op,
    mask: u32,
    active: u32,
    budget: u32,
) -> Result<(), Failed> {
    let regs = &mut warp.regs;
    match op {
        Op::Select { wide: false, d, a, b, p } => select::<u32>(regs, *d, *a, *b, regs.pred(*p), mask),
        Op::Select { d, a, b, p, .. } => select::<u64>(regs, *d, *a, *b, regs.pred(*p), mask),
        Op::Predicate { logic, d, a, b } => {
            let bits = combine(*logic, regs.pred(*a), regs.pred(*b));
            regs.set_pred(*d, mask, bits);
        }
        Op::LoadParam { offset, access } => {
            access::load_param(shared.spaces.params(), regs, *offset, access, mask);
        }
        Op::CopyLocal { to, from, size } => {
            access::copy_local(&mut shared.spaces, warp.first_thread, *to, *from, *size, mask)?;
        }
        Op::Carry { kind, wide, args, carry_in, carry_out } => {
            across::carry(regs, *kind, *wide, args, *carry_in, *carry_out, mask);
        }
        Op::IsSpace { space, a, d } => {
            use super::{code::Where, space as windows};
            let mut bits = 0;
            for (lane, address) in regs.row::<u64>(*a).iter().enumerate() {
                let here = match address & windows::WINDOW {
                    windows::SHARED => Where::Shared,
                    windows::LOCAL => Where::Local,
                    windows::PARAM => Where::Param,
                    _ => Where::Global,
                };
                bits |= u32::from(here == *space) << lane;
            }
            regs.set_pred(*d, mask, bits);
        }
        Op::ActiveMask { d } => regs.write(*d, mask, &[active; LANES]),
        Op::ReadClock { clock, d } => {
            let ticks = shared.clock + u64::from(TURN - budget);
            let nanos = || {
                let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
                now.map_or(0, |d| d.as_nanos() as u64)
            };
            let (value, wide) = match clock {
                Clock::Low => (ticks, false),
                Clock::High => (ticks >> 32, false),
                Clock::Full => (ticks, true),
                Clock::TimerLow => (nanos(), false),
                Clock::TimerHigh => (nanos() >> 32, false),
                Clock::Timer => (nanos(), true),
            };
            regs.write_bits(*d, wide, mask, &[value; LANES]);
        }
        _ => {}
    }
    Ok(())
}

#[inline(always)]
fn select<R: super::regs::Raw>(regs: &mut Regs, d: u32, a: u32, b: u32, p: u32, mask: u32) {
    let (a, b) = (*regs.row::<R>(a), *regs.row::<R>(b));
    regs.write(d, mask & p, &a);
    regs.write(d, mask & !p, &b);
}

/// Gives a waiting fragment its result of `bar.red` and lets it go on.
pub(crate) fn release(regs: &mut Regs, fragment: &mut Fragment, reduce: BarReduce, count: u32, all: bool) {
    match reduce {
        BarReduce::None => {}
        BarReduce::Count { d } => regs.write(d, fragment.mask, &[count; LANES]),
        BarReduce::And { d } => regs.set_pred(d, fragment.mask, if all { FULL } else { 0 }),
        BarReduce::Or { d } => regs.set_pred(d, fragment.mask, if count > 0 { FULL } else { 0 }),
    }
    fragment.state = State::Ready;
}
