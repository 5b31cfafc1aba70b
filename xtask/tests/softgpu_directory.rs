//! `cargo xtask softgpu` makes a driver that a program can load by the usual names.

use libloading::{Library, Symbol};
use std::error::Error;
use std::ffi::{CString, c_char, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr::{from_mut, null_mut};

const PTX: &str = include_str!("../../kernels/ptx/vector_add.ptx");
const COUNT: u32 = 1000;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn softgpu_directory() -> Outcome<PathBuf> {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).arg("softgpu").output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim()))
}

/// Calls a function of the driver API, by its exported name. Anything but success is an error.
macro_rules! cu {
    ($library:expr, $name:ident($($value:expr => $type:ty),*)) => {{
        let name = stringify!($name);
        type Function = unsafe extern "C" fn($($type),*) -> i32;
        // SAFETY: the type is that of the function in the vendor's header.
        let function: Symbol<Function> = unsafe { $library.get(name) }?;
        // SAFETY: every pointer that is passed points to what the function reads or writes.
        let status = unsafe { function($($value),*) };
        if status != 0 {
            return Err(format!("{name} returned {status}").into());
        }
    }};
}

/// What a small program in another language would do, without anything of this workspace but the library.
fn add_vectors(library: &Library) -> Outcome<Vec<f32>> {
    let mut context: *mut c_void = null_mut();
    let mut module: *mut c_void = null_mut();
    let mut kernel: *mut c_void = null_mut();
    cu!(library, cuInit(0 => u32));
    cu!(library, cuCtxCreate_v2(&raw mut context => *mut *mut c_void, 0 => u32, 0 => i32));
    let ptx = CString::new(PTX)?;
    cu!(library, cuModuleLoadData(&raw mut module => *mut *mut c_void, ptx.as_ptr() => *const c_char));
    cu!(library, cuModuleGetFunction(
        &raw mut kernel => *mut *mut c_void, module => *mut c_void, c"vadd".as_ptr() => *const c_char));

    let bytes = COUNT as usize * size_of::<f32>();
    let [mut a, mut b, mut c] = [0u64; 3];
    for pointer in [&mut a, &mut b, &mut c] {
        cu!(library, cuMemAlloc_v2(from_mut(pointer) => *mut u64, bytes => usize));
    }
    let numbers = |scale: f32| (0..COUNT).map(|i| i as f32 * scale).collect::<Vec<_>>();
    for (pointer, source) in [(a, numbers(1.0)), (b, numbers(0.5))] {
        cu!(library, cuMemcpyHtoD_v2(
            pointer => u64, source.as_ptr().cast() => *const c_void, bytes => usize));
    }
    let mut count = COUNT;
    let mut arguments: [*mut c_void; 4] = [
        from_mut(&mut a).cast(),
        from_mut(&mut b).cast(),
        from_mut(&mut c).cast(),
        from_mut(&mut count).cast(),
    ];
    cu!(library, cuLaunchKernel(
        kernel => *mut c_void, COUNT.div_ceil(128) => u32, 1 => u32, 1 => u32, 128 => u32, 1 => u32, 1 => u32,
        0 => u32, null_mut() => *mut c_void, arguments.as_mut_ptr() => *mut *mut c_void,
        null_mut() => *mut *mut c_void));
    let mut sums = vec![0f32; COUNT as usize];
    cu!(library, cuMemcpyDtoH_v2(sums.as_mut_ptr().cast() => *mut c_void, c => u64, bytes => usize));
    for pointer in [a, b, c] {
        cu!(library, cuMemFree_v2(pointer => u64));
    }
    cu!(library, cuModuleUnload(module => *mut c_void));
    cu!(library, cuCtxDestroy_v2(context => *mut c_void));
    Ok(sums)
}

fn count_devices(library: &Library) -> Outcome<i32> {
    let mut count = 0;
    cu!(library, hipInit(0 => u32));
    cu!(library, hipGetDeviceCount(&raw mut count => *mut i32));
    Ok(count)
}

fn open(folder: &Path, name: &str) -> Outcome<Library> {
    // SAFETY: the library is our own, and loading it runs nothing that has demands on its caller.
    Ok(unsafe { Library::new(folder.join(name)) }?)
}

#[test]
fn a_program_runs_on_the_directory() -> Outcome<()> {
    let folder = softgpu_directory()?;
    for name in ["libcuda.so", "libcuda.so.1"] {
        let sums = add_vectors(&open(&folder, name)?)?;
        assert!(sums.iter().enumerate().all(|(i, &sum)| sum == i as f32 * 1.5), "{name}: {sums:?}");
    }
    for name in ["libamdhip64.so", "libamdhip64.so.6", "libamdhip64.so.7"] {
        assert!(count_devices(&open(&folder, name)?)? > 0, "{name}");
    }
    Ok(())
}
