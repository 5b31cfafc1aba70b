//! What ordinary kernels use less often: halves, the maths library, votes, assertions, 128-bit integers.

use super::device::{Device, Random};
use crate::params;
use softgpu::exec::Fault;

const TEXT: &str = include_str!("../ptx/features_sm80.ptx");

fn half(bits: u16) -> f32 {
    let value = f32::from(bits & 0x3ff) / 1024.0;
    let magnitude = match (bits >> 10) & 31 {
        0 => value * 2f32.powi(-14),
        exponent => (1.0 + value) * 2f32.powi(i32::from(exponent) - 15),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

#[test]
fn halves() {
    let mut device = Device::new(TEXT);
    // 1.0, -2.0, 0.5, 3.0, and pairs of (2, -1).
    let a: Vec<u8> = [0x3c00u16, 0xc000, 0x3800, 0x4200].iter().flat_map(|v| v.to_le_bytes()).collect();
    let b = [0xbc00_4000u32; 4];
    let (pa, pb, pf) = (device.alloc(&a), device.alloc(&b), device.alloc(&[0.0f32; 4]));
    device.go("h", 1, 4, &params![pa, pb, pf, 5i32]);
    let sums = [2.5f32, -0.5, 2.0, 4.5];
    let want: Vec<f32> = sums.iter().map(|s| s + 6.0 + if *s > 0.0 { 1.0 } else { 0.0 }).collect();
    assert_eq!(device.read::<f32>(pf), want);
    assert_eq!(device.read::<u32>(pb), [0x4200_4600; 4], "2 * 2 + 2 and -1 * -1 + 2");
    for bits in device.read::<u8>(pa).chunks(2) {
        assert_eq!(half(u16::from_le_bytes([bits[0], bits[1]])), 5.0);
    }
}

#[test]
fn the_maths_library_is_near_the_cpu() {
    let mut device = Device::new(TEXT);
    let mut random = Random(71);
    let x: Vec<f32> = (0..64).map(|_| random.float() / 3.0).collect();
    let y: Vec<f64> = (0..64).map(|_| f64::from(random.float()) / 3.0).collect();
    let (px, py) = (device.alloc(&x), device.alloc(&y));
    device.go("math", 1, 64, &params![px, py]);
    let (got_x, got_y) = (device.read::<f32>(px), device.read::<f64>(py));
    for i in 0..64 {
        let v = f64::from(x[i]);
        let want = v.sin()
            + v.cos() * v.exp()
            + v.abs().ln()
            + v.abs().powf(1.3)
            + v.tanh()
            + 1.0 / v.abs().sqrt()
            + v.cbrt()
            + v % f64::from(0.7f32)
            + v.round()
            + v.atan2(2.0)
            + v.abs().ln_1p()
            + v.exp2()
            + v.hypot(1.0);
        assert!((f64::from(got_x[i]) - want).abs() < 2e-5 * (1.0 + want.abs()), "{v}: {} {want}", got_x[i]);
        let w = y[i];
        let want = w.sin()
            + w.exp()
            + w.abs().ln()
            + w.abs().powf(1.3)
            + w % 0.7
            + w.round_ties_even()
            + w.tanh()
            + w.cbrt()
            + w.atan();
        assert!((got_y[i] - want).abs() < 1e-13 * (1.0 + want.abs()), "{w}: {} {want}", got_y[i]);
    }
}

#[test]
fn votes_and_atomics() {
    let mut device = Device::new(TEXT);
    let (out, m) = (device.alloc(&[0i32; 64]), device.alloc(&[0u32; 64]));
    device.go("votes", 1, 64, &params![out, m]);
    let (got, masks) = (device.read::<i32>(out), device.read::<u32>(m));
    assert!(got[2..].iter().all(|v| *v == 22 * 1000 + 100), "{got:?}");
    assert_eq!(f32::from_bits(got[0] as u32), 1.0);
    for i in 2..64u32 {
        let lane = i % 32;
        let group = lane / 4 * 4;
        let mut v = 0xaaaa_aaaau32 ^ (0xf << group) ^ u32::MAX;
        let old = v;
        let up = if lane >= 2 { i - 2 } else { i };
        let ffs = if i == 0 { 0 } else { i.trailing_zeros() + 1 };
        let perm = (i & 0xff) | (i >> 8 & 0xff) << 8 | (i >> 16 & 0xff) << 16 | (old & 0xff) << 24;
        let any = u32::from(i < 32);
        v = v
            .wrapping_add(any + 1)
            .wrapping_add(up)
            .wrapping_add(old.count_ones())
            .wrapping_add(ffs)
            .wrapping_add(perm)
            .wrapping_add(i.rotate_left(3))
            .wrapping_add(u64::from(i).leading_zeros());
        v = (v as i32).max(3) as u32;
        v = v.min(3_000_000_000);
        v = if v >= 5 { 0 } else { v + 1 };
        assert_eq!(masks[i as usize], v, "{i}");
    }
}

#[test]
fn assertions_bring_their_text() {
    let mut device = Device::new(TEXT);
    let x = device.alloc(&[1i32, 2, 9, 3]);
    let fault = device.run("asserts", [1, 1, 1], [4, 1, 1], 0, &params![x]).unwrap_err();
    let Fault::Assert { at, message } = fault else { panic!("{fault}") };
    assert_eq!((at.thread, message.as_str()), ([2, 0, 0], "x[threadIdx.x] < 5"));
}

#[test]
fn integers_of_128_bits_carry() {
    let mut device = Device::new(TEXT);
    let x = [0xffff_ffff_ffff_fff1u64, 0x1234_5678_9abc_def0, 0xffff_ffff_ffff_ffff, 0, 0, 0, 0];
    let p = device.alloc(&x);
    device.go("wide", 1, 1, &params![p]);
    let got = device.read::<u64>(p);
    let mut want = u128::from(x[0]) * u128::from(x[1]) + u128::from(x[2]);
    assert_eq!([got[3], got[4]], [want as u64, (want >> 64) as u64]);
    want = want.wrapping_mul(want);
    assert_eq!(got[5], (want >> 64) as u64);
    assert_eq!(got[6], (want / (u128::from(x[1]) + 1)) as u64);
}
