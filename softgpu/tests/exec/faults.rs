//! What a kernel does wrong is found, and told with its place.

use super::device::Device;
use crate::params;
use softgpu::exec::{AccessKind, Fault};
use std::sync::atomic::Ordering;

const TEXT: &str = include_str!("../ptx/nvrtc12_sm70.ptx");

#[test]
fn an_access_out_of_bounds_names_thread_and_address() {
    let mut device = Device::new(TEXT);
    let (a, b, out) = (device.alloc(&[1.0f32; 35]), device.alloc(&[1.0f32; 64]), device.alloc(&[0.0f32; 64]));
    let fault = device.run("vadd", [1, 1, 1], [64, 1, 1], 0, &params![a, b, out, 64u32]).unwrap_err();
    let Fault::IllegalAddress { at, access } = &fault else { panic!("{fault}") };
    assert_eq!((at.thread, at.block), ([35, 0, 0], [0, 0, 0]));
    assert_eq!((access.address, access.size, access.kind), (a + 140, 4, AccessKind::Read));
    let line = TEXT.lines().nth(at.line as usize - 1).unwrap();
    assert!(line.contains("ld.global.f32"), "{line}");
    assert_eq!(
        fault.to_string(),
        format!(
            "kernel `vadd`: illegal read of 4 bytes at {:#x} by thread (35,0,0) of block (0,0,0), PTX line {}",
            a + 140,
            at.line
        )
    );
}

#[test]
fn a_null_pointer_is_no_address() {
    let mut device = Device::new(TEXT);
    let a = device.alloc(&[1.0f32; 64]);
    let fault = device.run("vadd", [1, 1, 1], [1, 1, 1], 0, &params![a, a, 0u64, 1u32]).unwrap_err();
    let Fault::IllegalAddress { access, .. } = fault else { panic!("{fault}") };
    assert_eq!((access.address, access.kind), (0, AccessKind::Write));
}

#[test]
fn addresses_are_multiples_of_the_size() {
    let mut device = Device::new(TEXT);
    let x = device.alloc(&[0u8; 64]);
    let fault = device.run("misaligned", [1, 1, 1], [8, 1, 1], 0, &params![x]).unwrap_err();
    let Fault::Misaligned { at, access } = fault else { panic!("{fault}") };
    assert_eq!((at.thread[0], access.address), (3, x + 13));
}

#[test]
fn a_trap_ends_the_kernel() {
    for text in [TEXT, include_str!("../ptx/clang16_sm52.ptx")] {
        let mut device = Device::new(text);
        let x = device.alloc(&[0i32; 64]);
        device.go("die", 1, 5, &params![x]);
        let fault = device.run("die", [2, 1, 1], [8, 1, 1], 0, &params![x]).unwrap_err();
        let Fault::Trap { at } = fault else { panic!("{fault}") };
        assert_eq!((at.thread, at.kernel.as_str()), ([5, 0, 0], "die"));
    }
}

#[test]
fn shared_memory_has_its_size() {
    let mut device = Device::new(TEXT);
    let out = device.alloc(&[0i32]);
    let fault = device.run("dynamic", [1, 1, 1], [64, 1, 1], 396, &params![out, 100i32]).unwrap_err();
    assert!(matches!(fault, Fault::IllegalAddress { .. }), "{fault}");
}

#[test]
fn constants_cannot_be_written() {
    let text = ".version 7.0\n.target sm_70\n.address_size 64\n.const .align 4 .u32 c = 5;\n\
        .entry k() { .reg .b64 %a; cvta.const.u64 %a, c; st.u32 [%a], 1; ret; }";
    let fault = Device::new(text).run("k", [1, 1, 1], [1, 1, 1], 0, &[]).unwrap_err();
    let Fault::IllegalAddress { access, .. } = fault else { panic!("{fault}") };
    assert_eq!(access.kind, AccessKind::Write);
}

#[test]
fn an_endless_loop_can_be_stopped_from_outside() {
    for kernel in ["spin", "locked_naive"] {
        let mut device = Device::new(TEXT);
        // A lock that nobody will open, or a flag that nobody will set.
        let x = device.alloc(&[u64::from(kernel == "locked_naive")]);
        let params = if kernel == "spin" { params![x].to_vec() } else { params![x, x].to_vec() };
        std::thread::scope(|scope| {
            let run = scope.spawn(|| device.run(kernel, [1, 1, 1], [64, 1, 1], 0, &params));
            device.stop.store(true, Ordering::Relaxed);
            assert_eq!(run.join().unwrap(), Err(Fault::Stopped { kernel: kernel.into() }));
        });
    }
}

#[test]
fn the_memory_of_others_is_seen() {
    let mut device = Device::new(TEXT);
    let flag = device.alloc(&[0u64]);
    std::thread::scope(|scope| {
        let run = scope.spawn(|| device.run("spin", [1, 1, 1], [64, 1, 1], 0, &params![flag]));
        let extent = softgpu::exec::Memory::find(&device, flag).unwrap();
        // SAFETY: the allocation lives as long as the device, and both sides use atomics.
        let flag = unsafe { std::sync::atomic::AtomicU32::from_ptr(extent.host.cast()) };
        flag.store(1, Ordering::Relaxed);
        assert_eq!(run.join().unwrap(), Ok(()));
    });
}

#[test]
fn a_barrier_that_cannot_open_is_a_fault() {
    let text = ".version 7.0\n.target sm_70\n.address_size 64\n.entry k() {\n.reg .pred %p; .reg .b32 %t;\n\
        mov.u32 %t, %tid.x; setp.lt.u32 %p, %t, 32;\n@%p bar.sync 1, 64;\n@!%p bar.sync 2, 64;\nret; }";
    let fault = Device::new(text).run("k", [1, 1, 1], [64, 1, 1], 0, &[]).unwrap_err();
    let Fault::Deadlock { at } = fault else { panic!("{fault}") };
    assert_eq!(at.line, 7);
}

#[test]
fn launches_are_checked() {
    let mut device = Device::new(TEXT);
    let x = device.alloc(&[0u64]);
    assert_eq!(device.run("spin", [0, 1, 1], [1, 1, 1], 0, &params![x]), Ok(()));
    for block in [[0, 1, 1], [1025, 1, 1], [u32::MAX; 3]] {
        let fault = device.run("spin", [1, 1, 1], block, 0, &params![x]).unwrap_err();
        assert!(matches!(fault, Fault::InvalidLaunch { .. }), "{fault}");
    }
    let text = ".version 7.0\n.target sm_70\n.entry k(.param .u64 p) .maxntid 8, 2, 1 { ret; }";
    let device = Device::new(text);
    assert_eq!(device.module.kernels[0].max_threads, Some(16));
    assert!(device.run("k", [1, 1, 1], [17, 1, 1], 0, &params![x]).is_err());
}
