//! A small CUDA client: calls what the resolver finds, as a program would call `libcuda`.
#![allow(dead_code, clippy::missing_safety_doc, clippy::unwrap_used, clippy::expect_used)]

use std::ffi::{CString, c_void};
use std::process::Command;

/// Calls an entry point by its exported name, with the C type of each argument.
#[macro_export]
macro_rules! cu {
    ($name:ident($($arg:expr => $type:ty),* $(,)?)) => {{
        let address = softgpu::cuda::resolve(stringify!($name)).expect(stringify!($name));
        // A safe type, so that arguments are evaluated outside the unsafe block.
        // SAFETY: the types are those of the vendor's header, and the tests pass valid pointers or test that they are
        // refused.
        let function: extern "C" fn($($type),*) -> i32 = unsafe { std::mem::transmute(address) };
        function($($arg),*)
    }};
}

/// A context of its own per test: a sticky error stays in it.
pub struct Context(pub u64);

impl Context {
    /// Makes a context and leaves it current on this thread.
    pub fn new() -> Self {
        assert_eq!(cu!(cuInit(0 => u32)), 0);
        let mut context = 0;
        assert_eq!(cu!(cuCtxCreate_v2(&mut context => *mut u64, 0 => u32, 0 => i32)), 0);
        Self(context)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        assert_eq!(cu!(cuCtxDestroy_v2(self.0 => u64)), 0);
    }
}

pub fn alloc(len: usize) -> u64 {
    let mut address = 0;
    assert_eq!(cu!(cuMemAlloc_v2(&mut address => *mut u64, len => usize)), 0);
    address
}

pub fn stream(flags: u32) -> u64 {
    let mut stream = 0;
    assert_eq!(cu!(cuStreamCreate(&mut stream => *mut u64, flags => u32)), 0);
    stream
}

pub fn event(flags: u32) -> u64 {
    let mut event = 0;
    assert_eq!(cu!(cuEventCreate(&mut event => *mut u64, flags => u32)), 0);
    event
}

pub fn upload<T: Copy>(dst: u64, data: &[T]) -> i32 {
    let len = size_of_val(data);
    cu!(cuMemcpyHtoD_v2(dst => u64, data.as_ptr().cast() => *const c_void, len => usize))
}

pub fn download<T: Copy + Default>(src: u64, count: usize) -> Result<Vec<T>, i32> {
    let mut data = vec![T::default(); count];
    let len = size_of_val(&data[..]);
    match cu!(cuMemcpyDtoH_v2(data.as_mut_ptr().cast() => *mut c_void, src => u64, len => usize)) {
        0 => Ok(data),
        code => Err(code),
    }
}

/// Loads PTX text; the code and the error log if that fails.
pub fn load(text: &str) -> Result<u64, (i32, String)> {
    let text = CString::new(text).unwrap();
    let mut module = 0;
    let mut log = vec![0u8; 1024];
    let options = [5, 6];
    let mut values = [log.as_mut_ptr() as u64, log.len() as u64];
    let code = cu!(cuModuleLoadDataEx(
        &mut module => *mut u64, text.as_ptr().cast() => *const u8, 2 => u32,
        options.as_ptr() => *const i32, values.as_mut_ptr() => *mut u64,
    ));
    log.truncate(values[1] as usize);
    if code == 0 { Ok(module) } else { Err((code, String::from_utf8(log).unwrap())) }
}

pub fn function(module: u64, name: &str) -> Result<u64, i32> {
    let name = CString::new(name).unwrap();
    let mut function = 0;
    match cu!(cuModuleGetFunction(&mut function => *mut u64, module => u64, name.as_ptr() => *const i8)) {
        0 => Ok(function),
        code => Err(code),
    }
}

/// Launches with one grid and one block dimension.
pub fn launch(function: u64, grid: u32, block: u32, stream: u64, params: &[*const c_void]) -> i32 {
    cu!(cuLaunchKernel(
        function => u64, grid => u32, 1 => u32, 1 => u32, block => u32, 1 => u32, 1 => u32, 0 => u32,
        stream => u64, params.as_ptr() => *const *const c_void, std::ptr::null() => *const u64,
    ))
}

/// The address of a parameter's value.
pub fn param<T>(value: &T) -> *const c_void {
    std::ptr::from_ref(value).cast()
}

/// Whether this is a process for this test alone; if not, runs one.
pub fn alone(test: &str) -> bool {
    if std::env::var_os("SOFTGPU_TEST_INNER").is_some() {
        return true;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env("SOFTGPU_TEST_INNER", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    false
}

/// A host function that blocks its stream until [`Gate::open`].
#[derive(Default)]
pub struct Gate {
    open: std::sync::Mutex<bool>,
    moved: std::sync::Condvar,
}

impl Gate {
    pub fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.moved.notify_all();
    }

    fn pass(&self) {
        let guard = self.open.lock().unwrap();
        drop(self.moved.wait_while(guard, |open| !*open).unwrap());
    }

    unsafe extern "C" fn pass_at(gate: *mut c_void) {
        // SAFETY: the gate outlives the stream's work: every test opens it and waits.
        unsafe { &*gate.cast::<Gate>() }.pass();
    }

    /// The parameters of a host node that passes the gate: a function and its argument.
    pub fn host_node(&self) -> [u64; 2] {
        [Self::pass_at as *const () as u64, std::ptr::from_ref(self) as u64]
    }

    /// Puts the gate on a stream.
    pub fn block(&self, stream: u64) {
        type HostFn = unsafe extern "C" fn(*mut c_void);
        let data = std::ptr::from_ref(self).cast_mut().cast();
        assert_eq!(cu!(cuLaunchHostFunc(stream => u64, Self::pass_at => HostFn, data => *mut c_void)), 0);
    }
}
