//! A device without a driver: allocations at made-up addresses, and launches of kernels by name.

use softgpu::exec::{self, Extent, Fault, Launch, Memory};
use softgpu::ptx::{self, Module};
use std::sync::atomic::AtomicBool;

struct Allocation {
    start: u64,
    len: usize,
    words: Vec<u64>,
    writable: bool,
}

/// Memory and a module.
pub struct Device {
    allocations: Vec<Allocation>,
    pub module: Module,
    globals: Vec<u64>,
    pub stop: AtomicBool,
}

impl Memory for Device {
    fn find(&self, address: u64) -> Option<Extent> {
        let found = self.allocations.iter().find(|a| (a.start..a.start + a.len as u64).contains(&address))?;
        Some(Extent {
            start: found.start,
            len: found.len as u64,
            host: found.words.as_ptr().cast_mut().cast(),
            writable: found.writable,
        })
    }
}

/// Bytes of a kernel parameter.
pub trait Bytes: Copy {
    fn bytes(self) -> Vec<u8>;
    fn from_bytes(bytes: &[u8]) -> Self;
}

macro_rules! bytes {
    ($($ty:ty)*) => {$(
        impl Bytes for $ty {
            fn bytes(self) -> Vec<u8> { self.to_le_bytes().to_vec() }
            fn from_bytes(bytes: &[u8]) -> Self { Self::from_le_bytes(bytes.try_into().unwrap()) }
        }
    )*};
}
bytes!(u8 i32 u32 i64 u64 f32 f64);

/// Parameters, laid out as the kernel says.
#[macro_export]
macro_rules! params {
    ($($value:expr),*) => { [$($crate::device::Bytes::bytes($value)),*] };
}

impl Device {
    pub fn new(text: &str) -> Self {
        let module = ptx::parse(text).unwrap_or_else(|e| panic!("{e}"));
        let mut device =
            Self { allocations: Vec::new(), module, globals: Vec::new(), stop: AtomicBool::new(false) };
        for n in 0..device.module.globals.len() {
            let (init, constant) = (device.module.globals[n].init.clone(), device.module.globals[n].constant);
            let address = device.alloc(&init);
            device.allocations.last_mut().unwrap().writable = !constant;
            device.globals.push(address);
        }
        device
    }

    pub fn alloc<T: Bytes>(&mut self, values: &[T]) -> u64 {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.bytes()).collect();
        let start = 0x7000_0000_0000 + ((self.allocations.len() as u64) << 24);
        let mut words: Vec<u64> = Vec::new();
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            words.push(u64::from_le_bytes(word));
        }
        self.allocations.push(Allocation { start, len: bytes.len(), words, writable: true });
        start
    }

    pub fn read<T: Bytes>(&self, address: u64) -> Vec<T> {
        let found = self.allocations.iter().find(|a| a.start == address).unwrap();
        let bytes: Vec<u8> = found.words.iter().flat_map(|w| w.to_le_bytes()).take(found.len).collect();
        bytes.chunks(size_of::<T>()).map(T::from_bytes).collect()
    }

    pub fn run(
        &self,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared: u32,
        params: &[Vec<u8>],
    ) -> Result<(), Fault> {
        let kernel = self.module.kernels.iter().find(|k| k.name == kernel).expect(kernel);
        assert_eq!(kernel.params.len(), params.len());
        let mut bytes = vec![0; kernel.params.last().map_or(0, |p| p.offset + p.size)];
        for (place, value) in kernel.params.iter().zip(params) {
            assert_eq!(place.size, value.len());
            bytes[place.offset..][..place.size].copy_from_slice(value);
        }
        exec::run(&Launch {
            kernel,
            grid,
            block,
            dynamic_shared,
            params: &bytes,
            globals: &self.globals,
            memory: self,
            watch: None,
            stop: &self.stop,
        })
    }

    /// Runs blocks of one dimension and expects success.
    pub fn go(&self, kernel: &str, blocks: u32, threads: u32, params: &[Vec<u8>]) {
        self.run(kernel, [blocks, 1, 1], [threads, 1, 1], 0, params).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// Reproducible numbers.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn float(&mut self) -> f32 {
        (self.next() % 20001) as f32 / 1000.0 - 10.0
    }
}
