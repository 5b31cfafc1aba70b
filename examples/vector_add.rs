//! Adds two vectors on a GPU, or on the software GPU: `cargo run --example vector_add -- --device soft`.

#![allow(clippy::print_stdout, reason = "a program that talks on the terminal")]

use hal::{BufferParams, Deadline, Dispatch, ExecutableParams, QueueParams, Submission};
use std::time::Duration;

const COUNT: u32 = 1 << 20;
const PTX: &str = include_str!("../kernels/ptx/vector_add.ptx");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = match std::env::args().skip_while(|arg| arg != "--device").nth(1) {
        Some(uri) => hal::open(&uri)?,
        None => hal::open_default()?,
    };
    let info = device.info();
    println!(
        "{} on the {} {} driver {}",
        info.name, info.driver.kind, info.driver.backend, info.driver.version
    );

    // Memory that both sides reach.
    let size = u64::from(COUNT) * size_of::<f32>() as u64;
    let a = device.allocate_buffer(&BufferParams::host_visible(size))?;
    let b = device.allocate_buffer(&BufferParams::host_visible(size))?;
    let c = device.allocate_buffer(&BufferParams::device_local(size))?;
    let result = device.allocate_buffer(&BufferParams::host_visible(size))?;
    a.write(0, &bytes((0..COUNT).map(|i| i as f32)))?;
    b.write(0, &bytes((0..COUNT).map(|i| 0.5 * i as f32)))?;

    // Record once: the kernel, and then the copy back.
    let code = device.load_executable(&ExecutableParams::ptx("vector_add", PTX))?;
    let add = Dispatch::new(&code, "vadd")?.grid(COUNT.div_ceil(256)).block(256);
    let mut encoder = device.encoder();
    // SAFETY: `vadd(const float* a, const float* b, float* c, unsigned n)` touches `n` elements of each.
    unsafe { encoder.dispatch(add.arg(&a).arg(&b).arg(&c).arg(COUNT)) }?;
    encoder.barrier();
    encoder.copy(&c, 0, &result, 0, size)?;
    let commands = encoder.finish(&*device)?;

    // Submit, and wait for the point on the timeline that says it is done.
    let queue = device.create_queue(&QueueParams::default())?;
    let done = device.create_semaphore(0)?;
    queue.submit(Submission::new().label("vector add").execute(&commands).signal(&done, 1))?;
    done.wait(1, Deadline::after(Duration::from_secs(60)))?;

    let mut sums = vec![0; size as usize];
    result.read(0, &mut sums)?;
    if sums != bytes((0..COUNT).map(|i| i as f32 + 0.5 * i as f32)) {
        return Err("the GPU and the CPU disagree".into());
    }
    println!("{COUNT} sums, all as the CPU has them");
    Ok(())
}

fn bytes(numbers: impl Iterator<Item = f32>) -> Vec<u8> {
    numbers.flat_map(f32::to_ne_bytes).collect()
}
