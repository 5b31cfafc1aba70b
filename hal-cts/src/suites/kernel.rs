//! What kernels compute, compared with the CPU.

use crate::support::{Gpu, Launch};
use crate::{Outcome, Requirement, kernels};
use hal_core::{Device, Dispatch};
use std::sync::Arc;

suite! { "kernel", in both encodings,
    &[Requirement::Kernels] => [
        vector_add,
        vector_add_of_a_thousand_workgroups,
        scale,
        scale_and_offset,
        daxpy,
        reduce_sum,
        histogram,
        matmul,
        softmax,
        negate,
        double_it,
        abs,
        copy_u32,
        workgroup_ids_of_a_thousand,
        busy,
    ],
}

/// Element counts that are below, at and above multiples of the workgroup.
const SIZES: [usize; 7] = [1, 31, 255, 256, 257, 1000, 4099];

pub(super) fn groups(count: usize) -> u32 {
    (count as u32).div_ceil(256)
}

/// Small integers, so that sums and products are exact.
fn floats(count: usize, seed: u32) -> Vec<f32> {
    (0..count as u32)
        .map(|n| (n.wrapping_mul(2_654_435_761).wrapping_add(seed) % 201) as f32 - 100.0)
        .collect()
}

fn integers(count: usize) -> Vec<i32> {
    (0..count as u32).map(|n| (n.wrapping_mul(2_654_435_761) ^ 0x5bd1_e995) as i32).collect()
}

/// c = a + b; what lies beyond n stays.
fn vector_add(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::VECTOR_ADD.load(device)?;
    for n in SIZES {
        let (a, b) = (floats(n, 1), floats(n, 2));
        let (left, right) = (gpu.upload(&a)?, gpu.upload(&b)?);
        let sum = gpu.upload(&vec![-7.5_f32; n + 1])?;
        gpu.run(|encoder| {
            let dispatch = Dispatch::new(&executable, "vadd")?.grid(groups(n)).block(256);
            encoder.launch(dispatch.arg(&left).arg(&right).arg(&sum).arg(n as u32))
        })?;
        let mut expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
        expected.push(-7.5);
        check!(gpu.download::<f32>(&sum)? == expected, "{n} elements");
    }
    Ok(())
}

/// More workgroups than there is hardware.
fn vector_add_of_a_thousand_workgroups(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::VECTOR_ADD.load(device)?;
    let n = 32_000;
    let (a, b) = (floats(n, 3), floats(n, 4));
    let (left, right, sum) = (gpu.upload(&a)?, gpu.upload(&b)?, gpu.zeros::<f32>(n)?);
    gpu.run(|encoder| {
        let dispatch = Dispatch::new(&executable, "vadd")?.grid(1000).block(32);
        encoder.launch(dispatch.arg(&left).arg(&right).arg(&sum).arg(n as u32))
    })?;
    let expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    check!(gpu.download::<f32>(&sum)? == expected);
    Ok(())
}

/// x *= factor.
fn scale(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::SCALE.load(device)?;
    for n in SIZES {
        let numbers = floats(n, 5);
        let x = gpu.upload(&numbers)?;
        gpu.run(|encoder| {
            let dispatch = Dispatch::new(&executable, "scale")?.grid(groups(n)).block(256);
            encoder.launch(dispatch.arg(&x).arg(0.5_f32).arg(n as u32))
        })?;
        let expected: Vec<f32> = numbers.iter().map(|x| x * 0.5).collect();
        check!(gpu.download::<f32>(&x)? == expected, "{n} elements");
    }
    Ok(())
}

/// out = in * scale + offset, from one buffer to another.
fn scale_and_offset(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::SCALE.load(device)?;
    let n = 777;
    let numbers = floats(n, 6);
    let (from, to) = (gpu.upload(&numbers)?, gpu.zeros::<f32>(n)?);
    gpu.run(|encoder| {
        let dispatch = Dispatch::new(&executable, "scale_and_offset")?.grid(groups(n)).block(256);
        encoder.launch(dispatch.arg(&from).arg(&to).arg(4.0_f32).arg(-0.25_f32).arg(n as u32))
    })?;
    let expected: Vec<f32> = numbers.iter().map(|x| x * 4.0 - 0.25).collect();
    check!(gpu.download::<f32>(&to)? == expected);
    check!(gpu.download::<f32>(&from)? == numbers);
    Ok(())
}

/// y = a * x + y in double precision.
fn daxpy(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::DAXPY.load(device)?;
    let n = 500;
    let x: Vec<f64> = floats(n, 7).into_iter().map(|x| f64::from(x) / 3.0).collect();
    let y: Vec<f64> = floats(n, 8).into_iter().map(|y| f64::from(y) * 1e10).collect();
    let (left, right) = (gpu.upload(&x)?, gpu.upload(&y)?);
    gpu.run(|encoder| {
        let dispatch = Dispatch::new(&executable, "daxpy")?.grid(groups(n)).block(256);
        encoder.launch(dispatch.arg(1.0e-3_f64).arg(&left).arg(&right).arg(n as u32))
    })?;
    let expected: Vec<f64> = x.iter().zip(&y).map(|(x, y)| 1.0e-3 * x + y).collect();
    for (found, expected) in gpu.download::<f64>(&right)?.into_iter().zip(expected) {
        // A compiler may fuse the two roundings.
        check!((found - expected).abs() <= expected.abs() * 1e-15 + 1e-15, "{found} instead of {expected}");
    }
    Ok(())
}

/// One partial sum per workgroup, through shared memory.
fn reduce_sum(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::REDUCE.load(device)?;
    for n in SIZES {
        let numbers = floats(n, 9);
        let (from, to) = (gpu.upload(&numbers)?, gpu.zeros::<f32>(groups(n) as usize)?);
        gpu.run(|encoder| {
            let dispatch = Dispatch::new(&executable, "reduce_sum")?.grid(groups(n)).block(256);
            encoder.launch(dispatch.arg(&from).arg(&to).arg(n as u32))
        })?;
        // Sums of small integers are exact in any order.
        let expected: Vec<f32> = numbers.chunks(256).map(|block| block.iter().sum()).collect();
        check_eq!(gpu.download::<f32>(&to)?, expected, "{n} elements");
    }
    Ok(())
}

/// Atomics in shared and in global memory.
fn histogram(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::HISTOGRAM.load(device)?;
    let numbers: Vec<u8> = integers(5003).into_iter().map(|n| (n >> 13) as u8 & 0x3f).collect();
    let (from, bins) = (gpu.upload(&numbers)?, gpu.zeros::<u32>(256)?);
    gpu.run(|encoder| {
        let dispatch = Dispatch::new(&executable, "histogram")?.grid(4).block(128);
        encoder.launch(dispatch.arg(&from).arg(&bins).arg(numbers.len() as u32))
    })?;
    let mut expected = vec![0_u32; 256];
    numbers.iter().for_each(|&number| expected[usize::from(number)] += 1);
    check_eq!(gpu.download::<u32>(&bins)?, expected);
    Ok(())
}

/// Square, slim, and no multiple of the tile.
fn matmul(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::MATMUL.load(device)?;
    for (m, n, k) in [(1, 1, 1), (16, 16, 16), (17, 5, 33), (3, 40, 16), (32, 32, 20)] {
        let (a, b) = (floats(m * k, 10), floats(k * n, 11));
        let (left, right, product) = (gpu.upload(&a)?, gpu.upload(&b)?, gpu.zeros::<f32>(m * n)?);
        let grid = [(n as u32).div_ceil(16), (m as u32).div_ceil(16)];
        gpu.run(|encoder| {
            let dispatch = Dispatch::new(&executable, "matmul")?.grid(grid).block([16, 16]);
            let dispatch = dispatch.arg(&left).arg(&right).arg(&product);
            encoder.launch(dispatch.arg(m as u32).arg(n as u32).arg(k as u32))
        })?;
        let element = |index: usize| {
            let (row, col) = (index / n, index % n);
            (0..k).map(|i| a[row * k + i] * b[i * n + col]).sum::<f32>()
        };
        let expected: Vec<f32> = (0..m * n).map(element).collect();
        check!(gpu.download::<f32>(&product)? == expected, "{m} by {n} by {k}");
    }
    Ok(())
}

/// Shuffles and approximate exponentials: rows sum to one.
fn softmax(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::SOFTMAX.load(device)?;
    for (rows, cols) in [(1, 1), (3, 32), (5, 100), (2, 7)] {
        let numbers: Vec<f32> = floats(rows * cols, 12).into_iter().map(|x| x / 25.0).collect();
        let (from, to) = (gpu.upload(&numbers)?, gpu.zeros::<f32>(rows * cols)?);
        gpu.run(|encoder| {
            let dispatch = Dispatch::new(&executable, "softmax")?.grid(rows as u32).block(32);
            encoder.launch(dispatch.arg(&from).arg(&to).arg(cols as u32))
        })?;
        let found = gpu.download::<f32>(&to)?;
        for (numbers, found) in numbers.chunks(cols).zip(found.chunks(cols)) {
            let largest = numbers.iter().copied().fold(f32::MIN, f32::max);
            let sum: f64 = numbers.iter().map(|x| f64::from(x - largest).exp()).sum();
            for (x, found) in numbers.iter().zip(found) {
                let expected = f64::from(x - largest).exp() / sum;
                check!((f64::from(*found) - expected).abs() < 1e-5, "{found} instead of {expected}");
            }
        }
    }
    Ok(())
}

/// Runs an entry point of `multi_entry` and compares with `expected`.
fn on_integers(device: &Arc<dyn Device>, name: &str, expected: fn(i32) -> i32) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::MULTI_ENTRY.load(device)?;
    let mut numbers = integers(600);
    numbers.extend([0, 1, -1, i32::MAX, i32::MIN]);
    let n = numbers.len();
    let x = gpu.upload(&numbers)?;
    gpu.run(|encoder| {
        let dispatch = Dispatch::new(&executable, name)?.grid(groups(n)).block(256);
        encoder.launch(dispatch.arg(&x).arg(n as u32))
    })?;
    let expected: Vec<i32> = numbers.into_iter().map(expected).collect();
    check_eq!(gpu.download::<i32>(&x)?, expected);
    Ok(())
}

/// Wraps at the smallest number.
fn negate(device: &Arc<dyn Device>) -> Outcome {
    on_integers(device, "negate", i32::wrapping_neg)
}

/// Wraps on overflow.
fn double_it(device: &Arc<dyn Device>) -> Outcome {
    on_integers(device, "double_it", |x| x.wrapping_mul(2))
}

/// Wraps at the smallest number.
fn abs(device: &Arc<dyn Device>) -> Outcome {
    on_integers(device, "abs_i32", i32::wrapping_abs)
}

/// A copy by kernel.
fn copy_u32(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::ADD_ONE.load(device)?;
    let numbers: Vec<u32> = (0..1234).map(|n: u32| n.wrapping_mul(97)).collect();
    let (from, to) = (gpu.upload(&numbers)?, gpu.zeros::<u32>(1234)?);
    gpu.run(|encoder| {
        let dispatch = Dispatch::new(&executable, "copy_u32")?.grid(groups(1234)).block(256);
        encoder.launch(dispatch.arg(&from).arg(&to).arg(1234_u32))
    })?;
    check_eq!(gpu.download::<u32>(&to)?, numbers);
    Ok(())
}

/// Every workgroup runs, once.
fn workgroup_ids_of_a_thousand(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::WORKGROUP_IDS.load(device)?;
    let out = gpu.upload(&vec![u32::MAX; 1001])?;
    gpu.run(|encoder| {
        encoder.launch(Dispatch::new(&executable, "write_workgroup_ids")?.grid(1000).block(4).arg(&out))
    })?;
    let found = gpu.download::<u32>(&out)?;
    check!(found[..1000].iter().copied().eq(0..1000));
    check_eq!(found[1000], u32::MAX);
    Ok(())
}

/// Loops, shifts, exclusive or.
fn busy(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::FAULTS.load(device)?;
    let out = gpu.zeros::<u32>(64)?;
    gpu.run(|encoder| {
        encoder.launch(Dispatch::new(&executable, "busy")?.grid(2).block(32).arg(&out).arg(100_u32))
    })?;
    let state = |start: u32| {
        (0..100).fold(start, |state, _| {
            let state = state ^ (state << 13);
            let state = state ^ (state >> 17);
            state ^ (state << 5)
        })
    };
    check_eq!(gpu.download::<u32>(&out)?, (1..=64).map(state).collect::<Vec<_>>());
    Ok(())
}
