//! Random programs. Any part of one can be left out, and the rest is still a program.

use super::random::Random;
use std::fmt;

/// Statuses of commands that the driver refuses.
const REFUSED: [i64; 3] = [999, 2, 1];
/// Statuses of commands that the driver takes and that fail as they run.
pub(super) const FAILING_LATER: [i64; 2] = [998, 720];

/// The status of every call once the device is lost.
pub(super) const LOST: i64 = 719;

#[derive(Clone)]
pub(super) struct Program {
    pub(super) seed: u64,
    pub(super) devices: usize,
    /// Initial payloads. Number *n* is made by device *n* modulo the number of devices; queues likewise.
    pub(super) semaphores: Vec<u64>,
    pub(super) ops: Vec<Op>,
    /// Devices are closed at the end without waiting for what must end.
    pub(super) hasty: bool,
}

#[derive(Clone)]
pub(super) enum Op {
    Submit(Submit),
    /// The next use of this queue creates another.
    DropQueue(usize),
    /// From the host.
    Signal(Point),
    /// From the host.
    Fail {
        id: u32,
        semaphore: usize,
    },
    /// A callback.
    Watch {
        id: u32,
        wait: Point,
    },
    /// A callback that signals, or fails with what it is told.
    Relay {
        id: u32,
        wait: Point,
        then: Point,
    },
    /// Once what must end has ended.
    Close(usize),
    /// The driver loses the device, once what must end has ended; then it is closed.
    Lose(usize),
}

#[derive(Clone)]
pub(super) struct Submit {
    pub(super) id: u32,
    pub(super) queue: usize,
    pub(super) waits: Vec<Point>,
    pub(super) signals: Vec<Point>,
    /// Fills, and the status of the one that fails.
    pub(super) fills: u32,
    pub(super) fails: Option<(u32, i64)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) semaphore: usize,
    pub(super) value: u64,
}

/// Who signals a semaphore. This decides how much can be said in advance of whoever waits for it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Host,
    /// One submission.
    Single,
    /// Submissions that each wait for the one before.
    Chain,
    /// Anybody.
    Mixed,
}

struct Generator {
    random: Random,
    roles: Vec<Role>,
    /// The largest value that somebody signals.
    promised: Vec<u64>,
    next_id: u32,
    queues: usize,
}

impl Program {
    pub(super) fn generate(seed: u64) -> Program {
        let mut random = Random::new(seed);
        let devices = 1 + usize::from(random.one_in(3));
        let count = 2 + random.below(8) as usize;
        let initial: Vec<u64> =
            (0..count).map(|_| if random.one_in(8) { random.below(3) } else { 0 }).collect();
        let roles = (0..count)
            .map(|_| match random.below(16) {
                0..4 => Role::Host,
                4..11 => Role::Single,
                11..15 => Role::Chain,
                _ => Role::Mixed,
            })
            .collect();
        let queues = devices * (1 + random.below(3) as usize);
        let length = 3 + random.below(28);
        let mut generator = Generator { random, roles, promised: initial.clone(), next_id: 0, queues };
        let mut ops: Vec<Op> = (0..length).map(|_| generator.op(devices)).collect();
        generator.fulfil(&mut ops);
        let hasty = generator.random.one_in(8);
        Program { seed, devices, semaphores: initial, ops, hasty }
    }

    pub(super) fn device_of(&self, queue: usize) -> usize {
        queue % self.devices
    }

    /// With the closing of all devices at the end.
    pub(super) fn all_ops(&self) -> impl Iterator<Item = Op> {
        self.ops.iter().cloned().chain((0..self.devices).map(Op::Close))
    }
}

impl Generator {
    fn id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id
    }

    fn semaphore(&mut self) -> usize {
        self.random.below(self.roles.len() as u64) as usize
    }

    /// A value that was signalled, or is going to be, or perhaps never will.
    fn wait(&mut self) -> Point {
        let semaphore = self.semaphore();
        let promised = self.promised[semaphore];
        Point { semaphore, value: 1 + self.random.below(promised + 1) }
    }

    fn op(&mut self, devices: usize) -> Op {
        match self.random.below(24) {
            0..14 => Op::Submit(self.submit()),
            14 => Op::DropQueue(self.random.below(self.queues as u64) as usize),
            15..18 => self.by_host(),
            18..20 => Op::Watch { id: self.id(), wait: self.wait() },
            20 => self.relay(),
            21 if devices > 1 && self.random.one_in(4) => Op::Close(1),
            22 if self.random.one_in(6) => Op::Lose(self.random.below(devices as u64) as usize),
            _ => Op::Submit(self.submit()),
        }
    }

    fn by_host(&mut self) -> Op {
        let semaphore = self.semaphore();
        if !matches!(self.roles[semaphore], Role::Host | Role::Mixed) {
            return Op::Submit(self.submit());
        }
        if self.random.one_in(6) {
            return Op::Fail { id: self.id(), semaphore };
        }
        self.promised[semaphore] += 1 + self.random.below(2);
        Op::Signal(Point { semaphore, value: self.promised[semaphore] })
    }

    fn relay(&mut self) -> Op {
        let (id, wait) = (self.id(), self.wait());
        let semaphore = self.semaphore();
        if self.roles[semaphore] != Role::Single || self.promised[semaphore] > 0 {
            return Op::Watch { id, wait };
        }
        self.promised[semaphore] = 1;
        Op::Relay { id, wait, then: Point { semaphore, value: 1 } }
    }

    fn submit(&mut self) -> Submit {
        let id = self.id();
        let queue = self.random.below(self.queues as u64) as usize;
        let mut waits: Vec<Point> = (0..self.random.below(4)).map(|_| self.wait()).collect();
        let mut signals = Vec::new();
        for _ in 0..self.random.below(4) {
            let semaphore = self.semaphore();
            let promised = self.promised[semaphore];
            let value = promised + 1 + self.random.below(2);
            if signals.iter().any(|point: &Point| point.semaphore == semaphore) {
                continue;
            }
            match self.roles[semaphore] {
                Role::Host => continue,
                Role::Single if promised > 0 => continue,
                Role::Single => {}
                Role::Chain if promised > 0 => waits.push(Point { semaphore, value: promised }),
                Role::Chain => {}
                Role::Mixed => {
                    let value = 1 + self.random.below(promised + 2);
                    self.promised[semaphore] = promised.max(value);
                    signals.push(Point { semaphore, value });
                    continue;
                }
            }
            self.promised[semaphore] = value;
            signals.push(Point { semaphore, value });
        }
        let fills = self.random.below(4) as u32;
        let fails = (fills > 0 && self.random.one_in(16)).then(|| {
            let code = match self.random.below(5) {
                later @ 0..2 => FAILING_LATER[later as usize],
                refused => REFUSED[refused as usize - 2],
            };
            (self.random.below(u64::from(fills)) as u32, code)
        });
        Submit { id, queue, waits, signals, fills, fails }
    }

    /// Signals most of what nobody has signalled yet.
    fn fulfil(&mut self, ops: &mut Vec<Op>) {
        for semaphore in 0..self.roles.len() {
            if self.promised[semaphore] > 0 || self.random.one_in(4) {
                continue;
            }
            let point = Point { semaphore, value: 1 };
            ops.push(match self.roles[semaphore] {
                Role::Host => Op::Signal(point),
                _ => {
                    let mut submit = self.submit();
                    submit.signals = vec![point];
                    Op::Submit(submit)
                }
            });
        }
    }
}

impl fmt::Debug for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{} to {}", self.semaphore, self.value)
    }
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Submit(Submit { id, queue, waits, signals, fills, fails }) => {
                write!(f, "x{id}: submit to q{queue}, wait for {waits:?}, {fills} fills")?;
                if let Some((index, code)) = fails {
                    write!(f, " (number {index} fails with {code})")?;
                }
                write!(f, ", signal {signals:?}")
            }
            Op::DropQueue(queue) => write!(f, "drop q{queue}"),
            Op::Signal(point) => write!(f, "signal {point:?}"),
            Op::Fail { id, semaphore } => write!(f, "x{id}: fail s{semaphore}"),
            Op::Watch { id, wait } => write!(f, "x{id}: watch {wait:?}"),
            Op::Relay { id, wait, then } => write!(f, "x{id}: when {wait:?}, signal {then:?}"),
            Op::Close(device) => write!(f, "settle, close d{device}"),
            Op::Lose(device) => write!(f, "settle, lose d{device}, close it"),
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Program { seed, devices, semaphores, ops, hasty } = self;
        let hasty = if *hasty { ", closed in haste" } else { "" };
        writeln!(f, "seed {seed}: {devices} devices, semaphores at {semaphores:?}{hasty}")?;
        ops.iter().try_for_each(|op| writeln!(f, "  {op:?}"))
    }
}
