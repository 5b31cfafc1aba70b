//! Linking, and cooperative launches, through the HIP ABI.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod hip_support;

use hip_support::*;
use std::ffi::c_void;
use std::ptr::{null, null_mut};

const VECTOR_ADD: &str = include_str!("../../kernels/ptx/vector_add.ptx");
const PTX: i32 = 1;

fn link(values: &mut [u64; 2]) -> u64 {
    // A buffer for the error log, and its size.
    let (options, mut state) = ([5i32, 6], 0u64);
    let code = hip!(hipLinkCreate(
        2 => u32, options.as_ptr() => *const i32, values.as_mut_ptr() => *mut u64, &mut state => *mut u64
    ));
    assert_eq!(code, 0);
    state
}

fn add(state: u64, kind: i32, text: &str) -> i32 {
    hip!(hipLinkAddData(
        state => u64, kind => i32, text.as_ptr() => *const u8, text.len() => usize, c"a.ptx".as_ptr() => *const i8,
        0 => u32, null() => *const i32, null_mut() => *mut u64
    ))
}

fn complete(state: u64) -> (i32, *const c_void, usize) {
    let (mut image, mut len) = (null(), 0usize);
    let code = hip!(hipLinkComplete(state => u64, &mut image => *mut *const c_void, &mut len => *mut usize));
    (code, image, len)
}

#[test]
fn a_text_is_linked_loaded_and_launched() {
    let _context = Context::new();
    let mut log = [1u8; 256];
    let mut values = [log.as_mut_ptr() as u64, 256];
    let state = link(&mut values);
    assert_eq!(complete(state).0, 1, "nothing was added");
    assert_eq!(add(state, 0, VECTOR_ADD), 209, "a cubin");
    assert_eq!(values[1] as u32, log.iter().position(|byte| *byte == 0).unwrap() as u32);
    values[1] = 256;
    assert_eq!(add(state, PTX, ".version 6.0 nonsense"), 218);
    assert!(String::from_utf8_lossy(&log).starts_with("ptx error"));
    values[1] = 256;
    assert_eq!(add(state, PTX, VECTOR_ADD), 0);
    assert_eq!(add(state, PTX, VECTOR_ADD), 801, "nothing is resolved between texts");
    values[1] = 256;
    let (code, image, len) = complete(state);
    assert_eq!((code, len, values[1] as u32), (0, VECTOR_ADD.len() + 1, 0), "and an empty log");
    let mut module = 0u64;
    assert_eq!(hip!(hipModuleLoadData(&mut module => *mut u64, image => *const c_void)), 0);
    assert_eq!((hip!(hipLinkDestroy(state => u64)), hip!(hipLinkDestroy(state => u64))), (0, 400));

    // Blocks that fit at once are launched cooperatively, more are not.
    let vadd = function(module, "vadd").unwrap();
    let (a, b, c, count) = (alloc(1024), alloc(1024), alloc(1024), 256u32);
    assert_eq!((upload(a, &[1f32; 256]), upload(b, &[2f32; 256])), (0, 0));
    let params = [param(&a), param(&b), param(&c), param(&count)];
    let launch = |blocks: u32| {
        hip!(hipModuleLaunchCooperativeKernel(
            vadd => u64, blocks => u32, 1 => u32, 1 => u32, 128 => u32, 1 => u32, 1 => u32, 0 => u32, 0 => u64,
            params.as_ptr() => *const *const c_void
        ))
    };
    assert_eq!((launch(2), launch(8 * 16 + 1)), (0, 720));
    assert_eq!(download::<f32>(c, 256), Ok(vec![3f32; 256]));
}
