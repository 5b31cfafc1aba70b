//! What the interpreter costs: kernels on one core, each as a ratio to the same loop in plain Rust in the same run.
//!
//! `cargo xtask bench softgpu` runs it. It ends with status 1 if a ratio is above its limit or a result is wrong.
// A program for developers, whose output is its result; it may end at the first surprise.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::panic)]

use softgpu::exec::{self, Extent, Launch, Memory};
use softgpu::ptx::{self, Kernel};
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

/// Each side is run this often, in turns; the fastest run of each counts.
const ROUNDS: usize = 5;
const SIDE: usize = 256;
const LENGTH: usize = 1 << 20;

/// Device memory at the addresses it has in this process. Vectors of `u64` keep it aligned.
struct Buffers(Vec<Vec<u64>>);

impl Buffers {
    fn new(contents: &[&[f32]]) -> Self {
        let words = |values: &&[f32]| {
            let word = |pair: &[f32]| u64::from(pair[0].to_bits()) | u64::from(pair[1].to_bits()) << 32;
            values.chunks(2).map(word).collect()
        };
        Self(contents.iter().map(words).collect())
    }

    fn address(&self, n: usize) -> u64 {
        self.0[n].as_ptr() as u64
    }

    fn read(&self, n: usize) -> Vec<f32> {
        let halves = |word: &u64| [f32::from_bits(*word as u32), f32::from_bits((*word >> 32) as u32)];
        self.0[n].iter().flat_map(halves).collect()
    }
}

impl Memory for Buffers {
    fn find(&self, address: u64) -> Option<Extent> {
        self.0.iter().find_map(|words| {
            let (start, len) = (words.as_ptr() as u64, words.len() as u64 * 8);
            let extent = Extent { start, len, host: words.as_ptr().cast_mut().cast(), writable: true };
            (address.wrapping_sub(start) < len).then_some(extent)
        })
    }
}

/// A kernel of three arrays, the last of which it writes.
struct Case {
    name: &'static str,
    limit: f64,
    text: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    numbers: &'static [u32],
    plain: fn(&[f32], &[f32], &mut [f32]),
    length: usize,
}

/// Written with indices as a C programmer would; what the compiler makes of it is what it makes of scalar code.
fn plain_matmul(a: &[f32], b: &[f32], c: &mut [f32]) {
    for row in 0..SIDE {
        for col in 0..SIDE {
            let mut sum = 0.0f32;
            for i in 0..SIDE {
                sum += a[row * SIDE + i] * b[i * SIDE + col];
            }
            c[row * SIDE + col] = sum;
        }
    }
}

/// The compiler may make vector instructions of it, which only makes the ratio larger.
fn plain_vadd(a: &[f32], b: &[f32], c: &mut [f32]) {
    for ((a, b), c) in a.iter().zip(b).zip(c) {
        *c = *a + *b;
    }
}

/// Seconds of CPU time that this thread has used: other programs on the machine do not count.
fn cpu_time() -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live `timespec`.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
    assert_eq!(status, 0, "this system does not tell a thread's CPU time");
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

fn seconds(work: impl FnOnce()) -> f64 {
    let start = cpu_time();
    work();
    cpu_time() - start
}

fn launch(kernel: &Kernel, case: &Case, buffers: &Buffers) {
    let mut params: Vec<u8> = (0..3).flat_map(|n| buffers.address(n).to_le_bytes()).collect();
    params.extend(case.numbers.iter().flat_map(|n| n.to_le_bytes()));
    exec::run(&Launch {
        kernel,
        grid: case.grid,
        block: case.block,
        dynamic_shared: 0,
        params: &params,
        globals: &[],
        memory: buffers,
        watch: None,
        stop: &AtomicBool::new(false),
    })
    .unwrap_or_else(|e| panic!("{}: {e}", case.name));
}

/// Runs both sides and says whether the ratio is within its limit.
fn measure(case: &Case) -> bool {
    let module = ptx::parse(case.text).unwrap_or_else(|e| panic!("{}: {e}", case.name));
    // Small whole numbers: sums of their products are exact however they are rounded.
    let a: Vec<f32> = (0..case.length).map(|i| (i * 7 % 13) as f32 - 6.0).collect();
    let b: Vec<f32> = (0..case.length).map(|i| (i * 5 % 11) as f32 - 5.0).collect();
    let mut c = vec![0.0; case.length];
    let buffers = Buffers::new(&[&a, &b, &c]);
    let (mut kernel, mut plain) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        kernel = kernel.min(seconds(|| launch(&module.kernels[0], case, &buffers)));
        plain = plain.min(seconds(|| (case.plain)(black_box(&a), black_box(&b), black_box(&mut c))));
    }
    assert_eq!(buffers.read(2), c, "{}: the kernel computed something else", case.name);
    let (ratio, limit) = (kernel / plain, case.limit);
    let (kernel, plain) = (kernel * 1e3, plain * 1e3);
    println!("{:<24} {kernel:8.2} ms {plain:8.2} ms   ratio {ratio:6.1}, at most {limit}", case.name);
    ratio <= limit
}

fn main() -> ExitCode {
    let cases = [
        Case {
            name: "matmul 256^3, f32",
            limit: 12.0,
            text: include_str!("../../kernels/ptx/matmul.ptx"),
            grid: [SIDE as u32 / 16, SIDE as u32 / 16, 1],
            block: [16, 16, 1],
            numbers: &[SIDE as u32; 3],
            plain: plain_matmul,
            length: SIDE * SIDE,
        },
        Case {
            name: "vector add 2^20, f32",
            limit: 60.0,
            text: include_str!("../../kernels/ptx/vector_add.ptx"),
            grid: [LENGTH as u32 / 256, 1, 1],
            block: [256, 1, 1],
            numbers: &[LENGTH as u32],
            plain: plain_vadd,
            length: LENGTH,
        },
    ];
    println!("{:<24} {:>11} {:>11}", "", "kernel", "plain Rust");
    let mut good = true;
    for case in &cases {
        good &= measure(case);
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
