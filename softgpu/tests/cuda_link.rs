//! Linking, and cooperative launches, through the CUDA ABI.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cuda_support;

use cuda_support::*;
use std::ffi::c_void;
use std::ptr::{null, null_mut};

const VECTOR_ADD: &str = include_str!("../../kernels/ptx/vector_add.ptx");
const PTX: i32 = 1;

fn link(values: &mut [u64; 2]) -> u64 {
    // A buffer for the error log, and its size.
    let (options, mut state) = ([5i32, 6], 0u64);
    let code = cu!(cuLinkCreate_v2(
        2 => u32, options.as_ptr() => *const i32, values.as_mut_ptr() => *mut u64, &mut state => *mut u64
    ));
    assert_eq!(code, 0);
    state
}

fn add(state: u64, kind: i32, text: &str) -> i32 {
    cu!(cuLinkAddData_v2(
        state => u64, kind => i32, text.as_ptr() => *const u8, text.len() => usize, c"a.ptx".as_ptr() => *const i8,
        0 => u32, null() => *const i32, null_mut() => *mut u64
    ))
}

fn complete(state: u64) -> (i32, *const c_void, usize) {
    let (mut image, mut len) = (null(), 0usize);
    let code = cu!(cuLinkComplete(state => u64, &mut image => *mut *const c_void, &mut len => *mut usize));
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
    assert_eq!(cu!(cuModuleLoadData(&mut module => *mut u64, image => *const c_void)), 0);
    assert_eq!((cu!(cuLinkDestroy(state => u64)), cu!(cuLinkDestroy(state => u64))), (0, 400));

    // Blocks that fit at once are launched cooperatively, more are not.
    let vadd = function(module, "vadd").unwrap();
    let (a, b, c, count) = (alloc(1024), alloc(1024), alloc(1024), 256u32);
    assert_eq!((upload(a, &[1f32; 256]), upload(b, &[2f32; 256])), (0, 0));
    let params = [param(&a), param(&b), param(&c), param(&count)];
    let launch = |blocks: u32| {
        cu!(cuLaunchCooperativeKernel(
            vadd => u64, blocks => u32, 1 => u32, 1 => u32, 128 => u32, 1 => u32, 1 => u32, 0 => u32, 0 => u64,
            params.as_ptr() => *const *const c_void
        ))
    };
    assert_eq!((launch(2), launch(8 * 16 + 1)), (0, 720));
    assert_eq!(download::<f32>(c, 256), Ok(vec![3f32; 256]));
}

#[test]
fn a_library_has_kernels_and_globals() {
    let _context = Context::new();
    let text = std::ffi::CString::new(VECTOR_ADD).unwrap();
    let (mut library, mut kernel, mut function, mut owner) = (0u64, 0u64, 0u64, 0u64);
    let none = null_mut::<c_void>();
    let code = cu!(cuLibraryLoadData(
        &mut library => *mut u64, text.as_ptr() => *const i8, none => *mut c_void, none => *mut c_void, 0 => u32,
        none => *mut c_void, none => *mut c_void, 0 => u32
    ));
    assert_eq!(code, 0);
    let get = |name: &std::ffi::CStr, kernel: &mut u64| cu!(cuLibraryGetKernel(kernel => *mut u64, library => u64, name.as_ptr() => *const i8));
    assert_eq!((get(c"vadd", &mut kernel), get(c"nothing", &mut 0)), (0, 500));
    assert_eq!(cu!(cuKernelGetFunction(&mut function => *mut u64, kernel => u64)), 0);
    assert_eq!(cu!(cuKernelGetLibrary(&mut owner => *mut u64, kernel => u64)), 0);
    assert_eq!(owner, library);
    let count = 0u32;
    let address = alloc(4);
    assert_eq!(
        launch(function, 1, 1, 0, &[param(&address), param(&address), param(&address), param(&count)]),
        0
    );
    assert_eq!(cu!(cuCtxSynchronize()), 0);
    assert_eq!((cu!(cuLibraryUnload(library => u64)), cu!(cuLibraryUnload(library => u64))), (0, 400));
}
