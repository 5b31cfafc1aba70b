//! Fault rules. They hold for the whole process, so this is one test in a process of its own.

mod cuda_support;

use cuda_support::*;
use softgpu::fault;
use std::ffi::{CString, c_char};

fn rules(text: &str) {
    assert_eq!(fault::set_rules(text), Ok(()));
}

#[test]
fn rules_make_calls_fail() {
    assert_eq!(cu!(cuCtxSynchronize()), 3, "nothing works before init");
    assert_eq!(cu!(cuDeviceGetCount(std::ptr::null_mut() => *mut i32)), 3);
    let mut version = 0;
    assert_eq!(cu!(cuDriverGetVersion(&mut version => *mut i32)), 0);
    assert_eq!(version, 12080);
    assert_eq!(cu!(cuInit(1 => u32)), 1);

    let context = Context::new();
    let (event, stream) = (event(0), stream(0));
    let record = || cu!(cuEventRecord(event => u64, stream => u64));

    rules("cuEventRecord:3=700;cuMemAlloc:2+=2");
    assert_eq!([record(), record(), record(), record()], [0, 0, 700, 0], "once, and not sticky");
    let mut address = 0;
    let mut try_alloc = || cu!(cuMemAlloc_v2(&mut address => *mut u64, 1 => usize));
    assert_eq!([try_alloc(), try_alloc(), try_alloc()], [0, 2, 2]);
    assert_eq!(fault::calls(), [4, 3]);

    rules("missing:cuStreamCreate");
    assert_eq!(softgpu::cuda::resolve("cuStreamCreate"), None);
    let name = CString::new("cuStreamCreate").unwrap();
    let (mut address, mut status) = (1usize, -1);
    let code = cu!(cuGetProcAddress_v2(
        name.as_ptr() => *const c_char, &mut address => *mut usize, 12000 => i32, 0 => u64,
        &mut status => *mut i32
    ));
    assert_eq!((code, address, status), (0, 0, 1));
    assert!(softgpu::cuda::resolve("cuStreamCreateWithPriority").is_some());

    rules("cuEventRecord:1=later:719");
    assert_eq!(record(), 0);
    rules("");
    assert_eq!(record(), 719);
    assert_eq!(cu!(cuEventQuery(event => u64)), 719);
    assert_eq!(cu!(cuEventDestroy_v2(event => u64)), 719);
    assert!(softgpu::last_fault().unwrap().contains("cuEventRecord"));
    drop(context);

    let _context = Context::new();
    rules("cuCtxSynchronize:1=fail:214");
    assert_eq!(cu!(cuCtxSynchronize()), 214);
    assert_eq!(cu!(cuCtxSynchronize()), 214);

    let hanging = Context::new();
    let stuck = cuda_support::stream(1);
    rules("cuEventCreate:1=hang");
    let event = cuda_support::event(2);
    assert_eq!(cu!(cuEventRecord(event => u64, stuck => u64)), 0);
    assert_eq!(cu!(cuEventQuery(event => u64)), 600);
    drop(hanging);

    let ctl = softgpu::resolver::symbol("softgpu_ctl").unwrap();
    // SAFETY: the type of `softgpu_ctl`.
    let ctl: unsafe extern "C" fn(*const c_char) -> i32 = unsafe { std::mem::transmute(ctl) };
    for (text, expected) in [("cuInit:1=3", 0), ("nonsense", 1), ("", 0)] {
        let text = CString::new(text).unwrap();
        // SAFETY: a text ended by a zero byte.
        assert_eq!(unsafe { ctl(text.as_ptr()) }, expected);
    }
    assert_eq!(cu!(cuInit(0 => u32)), 0);
}
