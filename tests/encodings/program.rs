//! What a random program is, and what it comes to.

use std::fmt;

/// Buffers that are named directly.
pub(crate) const BUFFERS: usize = 3;
/// Slots of the binding table; memory from [`BUFFERS`] on. They stand for memory of their own.
pub(crate) const SLOTS: usize = 2;
/// Bytes of each.
pub(crate) const SIZE: usize = 64;

/// Part of a buffer or of what a slot stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) memory: usize,
    pub(crate) offset: usize,
    pub(crate) length: usize,
}

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Fill { target: Part, pattern: Vec<u8> },
    Update { memory: usize, offset: usize, data: Vec<u8> },
    Copy { source: Part, target: Part },
    AddOne { target: Part },
    CopyByKernel { source: Part, target: Part },
    Barrier,
}

pub(crate) struct Program {
    seed: u64,
    pub(crate) ops: Vec<Op>,
}

impl Part {
    fn overlaps(self, other: Part) -> bool {
        self.memory == other.memory
            && self.offset < other.offset + other.length
            && other.offset < self.offset + self.length
    }
}

impl Op {
    /// What it reads and what it writes.
    fn uses(&self) -> (Option<Part>, Option<Part>) {
        match self {
            Op::Fill { target, .. } => (None, Some(*target)),
            Op::Update { memory, offset, data } => {
                (None, Some(Part { memory: *memory, offset: *offset, length: data.len() }))
            }
            Op::Copy { source, target } | Op::CopyByKernel { source, target } => {
                (Some(*source), Some(*target))
            }
            Op::AddOne { target } => (Some(*target), Some(*target)),
            Op::Barrier => (None, None),
        }
    }

    fn conflicts(&self, other: &Op) -> bool {
        let meet = |a: Option<Part>, b: Option<Part>| a.zip(b).is_some_and(|(a, b)| a.overlaps(b));
        let ((read, written), (reads, writes)) = (self.uses(), other.uses());
        meet(written, writes) || meet(written, reads) || meet(read, writes)
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (x ^ (x >> 31)) as usize % limit
    }

    /// Offset and length are multiples of `unit`.
    fn part(&mut self, unit: usize) -> Part {
        let units = SIZE / unit;
        let first = self.below(units);
        let count = 1 + self.below((units - first).min(32 / unit));
        Part { memory: self.below(BUFFERS + SLOTS), offset: first * unit, length: count * unit }
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.below(256) as u8).collect()
    }

    fn op(&mut self) -> Op {
        match self.below(6) {
            0 => {
                let unit = [1, 2, 4][self.below(3)];
                Op::Fill { target: self.part(unit), pattern: self.bytes(unit) }
            }
            1 => {
                let part = self.part(1);
                let data = self.bytes(part.length);
                Op::Update { memory: part.memory % BUFFERS, offset: part.offset, data }
            }
            2 => {
                let (source, target) = self.pair(1);
                Op::Copy { source, target }
            }
            3 => {
                let (source, target) = self.pair(4);
                Op::CopyByKernel { source, target }
            }
            _ => Op::AddOne { target: self.part(4) },
        }
    }

    /// Of one length, apart.
    fn pair(&mut self, unit: usize) -> (Part, Part) {
        let source = self.part(unit);
        let first = self.below((SIZE - source.length) / unit + 1) * unit;
        let mut target = Part { memory: self.below(BUFFERS + SLOTS), offset: first, ..source };
        if target.overlaps(source) {
            target.memory = (target.memory + 1) % (BUFFERS + SLOTS);
        }
        (source, target)
    }
}

impl Program {
    /// Barriers stand where they must, and some elsewhere.
    pub(crate) fn generate(seed: u64) -> Self {
        let mut random = Random(seed);
        let mut ops: Vec<Op> = Vec::new();
        for _ in 0..random.below(12) {
            let op = random.op();
            let since = ops.iter().rposition(|op| matches!(op, Op::Barrier)).map_or(0, |last| last + 1);
            if random.below(8) == 0 || ops[since..].iter().any(|earlier| earlier.conflicts(&op)) {
                ops.push(Op::Barrier);
            }
            ops.push(op);
        }
        Program { seed, ops }
    }

    /// What is in a memory before.
    pub(crate) fn initial(&self, memory: usize) -> Vec<u8> {
        Random(!self.seed ^ memory as u64).bytes(SIZE)
    }

    /// What is in all of them after.
    pub(crate) fn model(&self) -> Vec<Vec<u8>> {
        let mut all: Vec<_> = (0..BUFFERS + SLOTS).map(|memory| self.initial(memory)).collect();
        for op in &self.ops {
            match op {
                Op::Fill { target, pattern } => {
                    let bytes = &mut all[target.memory][target.offset..][..target.length];
                    bytes.chunks_mut(pattern.len()).for_each(|chunk| chunk.copy_from_slice(pattern));
                }
                Op::Update { memory, offset, data } => {
                    all[*memory][*offset..][..data.len()].copy_from_slice(data);
                }
                Op::Copy { source, target } | Op::CopyByKernel { source, target } => {
                    let bytes = all[source.memory][source.offset..][..source.length].to_vec();
                    all[target.memory][target.offset..][..bytes.len()].copy_from_slice(&bytes);
                }
                Op::AddOne { target } => {
                    for word in all[target.memory][target.offset..][..target.length].chunks_mut(4) {
                        let number = u32::from_ne_bytes(word.try_into().unwrap()).wrapping_add(1);
                        word.copy_from_slice(&number.to_ne_bytes());
                    }
                }
                Op::Barrier => {}
            }
        }
        all
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "HAL_SEED={} HAL_PROGRAMS=1", self.seed)?;
        self.ops.iter().try_for_each(|op| writeln!(f, "    {op:?}"))
    }
}
