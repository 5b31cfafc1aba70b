//! Kernels as compilers emit them, checked against the CPU.

use super::device::{Device, Random};
use crate::params;

const TEXTS: [(&str, &str); 5] = [
    ("nvrtc11_sm52", include_str!("../ptx/nvrtc11_sm52.ptx")),
    ("nvrtc12_sm70", include_str!("../ptx/nvrtc12_sm70.ptx")),
    ("nvrtc12_sm80_fast", include_str!("../ptx/nvrtc12_sm80_fast.ptx")),
    ("clang16_sm52", include_str!("../ptx/clang16_sm52.ptx")),
    ("clang19_sm70", include_str!("../ptx/clang19_sm70.ptx")),
];

fn on_each(test: impl Fn(&str, &mut Device)) {
    for (name, text) in TEXTS {
        test(name, &mut Device::new(text));
    }
}

fn floats(n: usize, seed: u64) -> Vec<f32> {
    let mut random = Random(seed);
    (0..n).map(|_| random.float()).collect()
}

#[test]
fn vector_add_leaves_the_rest_alone() {
    on_each(|name, device| {
        let (a, b) = (floats(1000, 3), floats(1000, 5));
        let (pa, pb) = (device.alloc(&a), device.alloc(&b));
        let out = device.alloc(&[7.0f32; 1010]);
        device.go("vadd", 8, 128, &params![pa, pb, out, 1000u32]);
        let got = device.read::<f32>(out);
        for i in 0..1000 {
            assert_eq!(got[i], a[i] + b[i], "{name} {i}");
        }
        assert_eq!(&got[1000..], &[7.0; 10], "{name}");
    });
}

#[test]
fn scale_strides_over_the_grid() {
    on_each(|name, device| {
        let x = floats(777, 9);
        let p = device.alloc(&x);
        device.go("scale", 3, 50, &params![p, 1.5f32, 777u32]);
        let want: Vec<f32> = x.iter().map(|v| v * 1.5).collect();
        assert_eq!(device.read::<f32>(p), want, "{name}");
    });
}

#[test]
fn reduction_meets_at_barriers() {
    on_each(|name, device| {
        let x: Vec<f32> = (0..5000).map(|i| (i % 17) as f32).collect();
        let (p, out) = (device.alloc(&x), device.alloc(&[0.0f32]));
        device.go("reduce", 4, 256, &params![p, out, 5000u32]);
        assert_eq!(device.read::<f32>(out), [x.iter().sum::<f32>()], "{name}");
    });
}

#[test]
fn histogram_counts_every_byte() {
    on_each(|name, device| {
        let mut random = Random(11);
        let x: Vec<u8> = (0..4099).map(|_| (random.next() % 256) as u8).collect();
        let (p, out) = (device.alloc(&x), device.alloc(&[0u32; 256]));
        device.go("histogram", 3, 128, &params![p, out, 4099u32]);
        let mut want = vec![0u32; 256];
        x.iter().for_each(|v| want[usize::from(*v)] += 1);
        assert_eq!(device.read::<u32>(out), want, "{name}");
    });
}

#[test]
fn tiled_matmul() {
    on_each(|name, device| {
        let n = 37usize;
        let (a, b) = (floats(n * n, 21), floats(n * n, 22));
        let (pa, pb, pc) = (device.alloc(&a), device.alloc(&b), device.alloc(&vec![0.0f32; n * n]));
        device.run("matmul", [3, 3, 1], [16, 16, 1], 0, &params![pa, pb, pc, n as u32]).unwrap();
        let got = device.read::<f32>(pc);
        for row in 0..n {
            for col in 0..n {
                let want: f64 = (0..n).map(|k| f64::from(a[row * n + k]) * f64::from(b[k * n + col])).sum();
                assert!((f64::from(got[row * n + col]) - want).abs() < 1e-3, "{name} {row} {col}");
            }
        }
    });
}

#[test]
fn softmax_shuffles() {
    on_each(|name, device| {
        let x = floats(3 * 100, 31);
        let (p, out) = (device.alloc(&x), device.alloc(&[0.0f32; 300]));
        device.go("softmax", 3, 32, &params![p, out, 100u32]);
        let got = device.read::<f32>(out);
        for row in 0..3 {
            let row = row * 100..(row + 1) * 100;
            let top = x[row.clone()].iter().copied().fold(f32::MIN, f32::max);
            let sum: f64 = x[row.clone()].iter().map(|v| f64::from(v - top).exp()).sum();
            for i in row {
                let want = f64::from(x[i] - top).exp() / sum;
                assert!((f64::from(got[i]) - want).abs() < 1e-6, "{name} {i}: {} {want}", got[i]);
            }
        }
    });
}

#[test]
fn structs_come_by_value() {
    on_each(|name, device| {
        let points: Vec<f32> = (0..64).map(|i| i as f32).collect();
        let p = device.alloc(&points);
        let mut affine: Vec<u8> = Vec::new();
        for v in [2.0f32, 0.0, 0.0, -1.0, 0.5, 3.0] {
            affine.extend(v.to_le_bytes());
        }
        affine.extend(30u32.to_le_bytes());
        device.go("affine", 1, 32, &[affine, p.to_le_bytes().to_vec()]);
        let got = device.read::<f32>(p);
        for i in 0..32 {
            let (x, y) = (points[2 * i], points[2 * i + 1]);
            let want = if i < 30 { [2.0 * x + 0.5, -y + 3.0] } else { [x, y] };
            assert_eq!(got[2 * i..2 * i + 2], want, "{name} {i}");
        }
    });
}

#[test]
fn module_variables_keep_their_values() {
    on_each(|name, device| {
        let out = device.alloc(&[0u64]);
        device.go("globals", 1, 40, &params![out]);
        assert_eq!(device.read::<u64>(out), [7 + 255 * 5], "{name}");
        device.go("globals", 1, 8, &params![out]);
        assert_eq!(device.read::<u64>(out), [7 + 255 * 6], "{name}");
    });
}

#[test]
fn locks_between_threads_are_handed_on() {
    on_each(|name, device| {
        for kernel in ["locked", "locked_naive"] {
            let (lock, counter) = (device.alloc(&[0i32]), device.alloc(&[0i32]));
            device.go(kernel, 2, 96, &params![lock, counter]);
            assert_eq!(device.read::<i32>(counter), [192], "{name} {kernel}");
        }
    });
}

fn poly(x: f32, n: i32) -> f32 {
    (0..n).fold(1.0, |r, i| r * x + i as f32)
}

#[test]
fn functions_are_called_by_some_lanes_and_by_all() {
    on_each(|name, device| {
        let x = floats(48, 41);
        let p = device.alloc(&x);
        device.go("calls", 1, 48, &params![p]);
        let got = device.read::<f32>(p);
        for i in 0..48 {
            let mut r = poly(x[i] * 2.0, 3);
            if i % 2 == 1 {
                r = poly(r, 1);
            }
            let want = r + poly(x[i], 2);
            assert!((got[i] - want).abs() <= want.abs() * 1e-5 + 1e-4, "{name} {i}: {} {want}", got[i]);
        }
    });
}

#[test]
fn threads_have_stacks_of_their_own() {
    on_each(|name, device| {
        let out = device.alloc(&[0i32; 40]);
        device.go("locals", 1, 40, &params![out, 3i32]);
        let got = device.read::<i32>(out);
        for (t, got) in got.iter().enumerate() {
            let mut stack: Vec<i32> = (0..16).map(|i| i * t as i32).collect();
            let mut s = 0;
            for i in 0..16usize {
                stack[(i * 3) & 15] += i as i32;
                s ^= stack[(i + 3) & 15];
            }
            assert_eq!(*got, s, "{name} {t}");
        }
    });
}

#[test]
fn dynamic_shared_memory() {
    on_each(|name, device| {
        let out = device.alloc(&[0i32]);
        device.run("dynamic", [1, 1, 1], [64, 1, 1], 400, &params![out, 100i32]).unwrap();
        assert_eq!(device.read::<i32>(out), [4950], "{name}");
    });
}

#[test]
fn switches_take_every_branch() {
    on_each(|name, device| {
        let x: Vec<i32> = (0..32).map(|i| i % 9).collect();
        let p = device.alloc(&x);
        device.go("switched", 1, 32, &params![p]);
        let got = device.read::<i32>(p);
        for i in 0..32i32 {
            let want = match x[i as usize] {
                0 => 5,
                1 => i * 3,
                2 => i - 7,
                3 => i ^ 21,
                // Reads its neighbour, which may or may not have written yet.
                4 => continue,
                5 => -i,
                6 => i << 3,
                _ => 99,
            };
            assert_eq!(got[i as usize], want, "{name} {i}");
        }
    });
}

#[test]
fn integers_agree_with_the_cpu() {
    on_each(|name, device| {
        let mut random = Random(51);
        let mut value = || match random.next() {
            v if v % 5 == 0 => (v % 100) as i64 - 50,
            v => v as i64,
        };
        let a: Vec<i64> = (0..64).map(|_| value()).collect();
        let b: Vec<i64> = (0..64).map(|_| value() | 1).collect();
        let (pa, pb, out) = (device.alloc(&a), device.alloc(&b), device.alloc(&[0i64; 64 * 24]));
        device.go("ints", 1, 64, &params![pa, pb, out]);
        let got = device.read::<i64>(out);
        for i in 0..64 {
            let (x, y) = (a[i], b[i]);
            let (p, q, up, uq) = (x as i32, y as i32, x as u32, y as u32);
            let shift = q as u32 & 63;
            let want = [
                x.wrapping_div(y),
                x.wrapping_rem(y),
                (x as u64 / y as u64) as i64,
                i64::from(p.wrapping_div(q | 1)),
                i64::from(p.wrapping_rem(q | 1)),
                i64::from(up / (uq | 1)),
                i64::from(up % (uq | 1)),
                i64::from(((i64::from(p) * i64::from(q)) >> 32) as i32),
                i64::from(((u64::from(up) * u64::from(uq)) >> 32) as u32),
                i64::from(p) * i64::from(q),
                i64::from(up.count_ones()),
                i64::from(p.leading_zeros()),
                i64::from(up.reverse_bits()),
                x << shift,
                x >> shift,
                (x as u64 >> shift) as i64,
                i64::from(i32::from(p as i16) * i32::from(q as i16)),
                i64::from(x as i8),
                i64::from(p.min(q)),
                i64::from(up.max(uq)),
                i64::from(p.wrapping_abs()),
                i64::from(x < y),
                if up < uq { 3 } else { 4 },
                i64::from(x as u8) + i64::from(y as u16),
            ];
            assert_eq!(got[i * 24..(i + 1) * 24], want, "{name} {x} {y}");
        }
    });
}

#[test]
fn floats_agree_with_the_cpu() {
    on_each(|name, device| {
        let mut random = Random(61);
        let a: Vec<f64> = (0..64).map(|_| f64::from(random.float())).collect();
        let b: Vec<f64> = (0..64).map(|_| f64::from(random.float()) + 0.0005).collect();
        let (pa, pb, out) = (device.alloc(&a), device.alloc(&b), device.alloc(&[0.0f64; 64 * 20]));
        device.go("floats", 1, 64, &params![pa, pb, out]);
        let got = device.read::<f64>(out);
        for i in 0..64 {
            let (x, y) = (a[i], b[i]);
            let (p, q) = (x as f32, y as f32);
            let want = [
                x + y,
                x * y,
                x / y,
                x.abs().sqrt(),
                x.mul_add(y, x),
                f64::from(p + q),
                f64::from(p / q),
                f64::from(p.abs().sqrt()),
                f64::from(p.mul_add(q, p)),
                f64::from(p as i32),
                (x as i64) as f64,
                f64::from(q.abs() as u32),
                f64::from(p.floor()),
                f64::from(x as i32 as f32),
                f64::from((x * 1e6) as i64 as f32),
                f64::from(p.min(q)),
                f64::from(p.max(q)),
                if p < q { 1.0 } else { 0.0 },
                -x,
                f64::from(p.abs() as u8),
            ];
            assert_eq!(got[i * 20..(i + 1) * 20], want, "{name} {x} {y}");
        }
    });
}
