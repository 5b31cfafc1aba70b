//! Finding entry points: by exported name, by base name and version, and from the shared library.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cuda_support;

use std::ffi::{CString, c_char, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;

fn v1(name: &str, version: i32) -> (i32, usize) {
    let name = CString::new(name).unwrap();
    let mut address = 1usize;
    let code = cu!(cuGetProcAddress(
        name.as_ptr() => *const c_char, &mut address => *mut usize, version => i32, 0 => u64
    ));
    (code, address)
}

fn v2(name: &str, version: i32) -> (i32, usize, i32) {
    let name = CString::new(name).unwrap();
    let (mut address, mut status) = (1usize, -1);
    let code = cu!(cuGetProcAddress_v2(
        name.as_ptr() => *const c_char, &mut address => *mut usize, version => i32, 0 => u64,
        &mut status => *mut i32
    ));
    (code, address, status)
}

fn exported(name: &str) -> usize {
    softgpu::cuda::resolve(name).expect(name) as usize
}

#[test]
fn base_names_are_resolved_by_version() {
    assert_eq!(v2("cuMemAlloc", 11030), (0, exported("cuMemAlloc_v2"), 0));
    assert_eq!(v2("cuCtxCreate", 11030), (0, exported("cuCtxCreate_v2"), 0));
    assert_eq!(v2("cuCtxCreate", 12000), (0, exported("cuCtxCreate_v3"), 0));
    assert_eq!(v2("cuGetProcAddress", 12080), (0, exported("cuGetProcAddress_v2"), 0));
    assert_eq!(v2("cuGraphInstantiate", 11000), (0, exported("cuGraphInstantiate_v2"), 0));
    assert_eq!(v2("cuGraphInstantiate", 12000), (0, exported("cuGraphInstantiateWithFlags"), 0));
    assert_eq!(v2("cuMemAllocAsync", 11010), (0, 0, 2));
    assert_eq!(v2("cuNoSuchThing", 12000), (0, 0, 1));
    assert_eq!(v1("cuMemAlloc", 3020), (0, exported("cuMemAlloc_v2")));
    assert_eq!(v1("cuNoSuchThing", 12000), (500, 1), "the first ABI leaves the pointer as it was");
}

#[test]
fn every_row_of_the_table_is_found_and_versions_do_not_repeat() {
    let rows: Vec<_> = softgpu::cuda::tables().iter().copied().flatten().collect();
    assert!(rows.len() > 170, "{}", rows.len());
    for row in &rows {
        assert_eq!(softgpu::cuda::resolve(row.symbol), Some(row.address.0), "{}", row.symbol);
        assert!(row.symbol.starts_with(row.base), "{}", row.symbol);
        let same = rows.iter().filter(|other| other.base == row.base && other.since == row.since);
        assert_eq!(same.count(), 1, "{} {}", row.base, row.since);
    }
    assert_eq!(softgpu::cuda::resolve("cuMemAlloc"), None, "the unsuffixed name is another, obsolete ABI");
    assert_eq!(softgpu::cuda::resolve("hipInit"), None);
}

#[test]
fn names_and_meanings_of_codes() {
    let name = |code: i32| {
        let mut text: *const c_char = std::ptr::null();
        let answer = cu!(cuGetErrorName(code => i32, &mut text => *mut *const c_char));
        // SAFETY: the entry point gives null or a static text.
        (answer, (!text.is_null()).then(|| unsafe { std::ffi::CStr::from_ptr(text) }.to_str().unwrap()))
    };
    assert_eq!(name(0), (0, Some("CUDA_SUCCESS")));
    assert_eq!(name(700), (0, Some("CUDA_ERROR_ILLEGAL_ADDRESS")));
    assert_eq!(name(12345), (1, None));
}

#[test]
fn attributes_agree_with_one_another() {
    assert_eq!(cu!(cuInit(0 => u32)), 0);
    let attribute = |which: i32| {
        let mut value = -1;
        let code = cu!(cuDeviceGetAttribute(&mut value => *mut i32, which => i32, 0 => i32));
        (code, value)
    };
    assert_eq!(attribute(10), (0, 32));
    assert_eq!((attribute(75), attribute(76)), ((0, 8), (0, 0)));
    assert_eq!(attribute(115), (0, 1));
    assert_eq!((attribute(0).0, attribute(9999).0), (1, 1));
    let mut name = [1u8; 4];
    let code = cu!(cuDeviceGetName(name.as_mut_ptr() => *mut u8, 4 => i32, 0 => i32));
    assert_eq!((code, &name), (0, b"sof\0"));
    assert_eq!(cu!(cuDeviceGetName(name.as_mut_ptr() => *mut u8, 4 => i32, 1 => i32)), 101);
}

/// Builds the shared library in a folder of its own under the folder for test scratch.
fn library() -> PathBuf {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("softgpu-driver");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", "softgpu-driver", "--target-dir"])
        .arg(&scratch)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .unwrap();
    assert!(built.success());
    scratch.join("debug/libsoftgpu.so")
}

#[test]
fn a_c_program_runs_on_the_shared_library() {
    if Command::new("cc").arg("--version").output().is_err() {
        eprintln!("SKIPPED: there is no C compiler `cc`, so no C client was run");
        return;
    }
    let library = library();
    let folder = library.parent().unwrap().join("as-drivers");
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["libcuda.so", "libcuda.so.1", "libamdhip64.so"] {
        let link = folder.join(name);
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(&library, &link).unwrap();
    }
    let program = folder.join("client");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/client.c");
    let compiled =
        Command::new("cc").args(["-Wall", "-Werror", "-o"]).arg(&program).arg(source).arg("-ldl").status();
    assert!(compiled.unwrap().success());
    let output = Command::new(&program).env("LD_LIBRARY_PATH", &folder).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{:?}: {text}", output.status);

    // SAFETY: the library is a plain shared object whose loading runs no code of ours.
    let handle = unsafe {
        let path = CString::new(library.to_str().unwrap()).unwrap();
        libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL)
    };
    assert!(!handle.is_null());
    for row in softgpu::cuda::tables().iter().copied().flatten() {
        let name = CString::new(row.symbol).unwrap();
        // SAFETY: a valid handle and a valid name.
        let address: *mut c_void = unsafe { libc::dlsym(handle, name.as_ptr()) };
        assert!(!address.is_null(), "{} is not exported", row.symbol);
    }
}
