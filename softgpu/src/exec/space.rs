//! Generic addresses: shared, local and parameter memory appear in windows that no device address reaches.

/// First generic address of shared memory.
pub(crate) const SHARED: u64 = 0x4000_0000_0000_0000;
/// First generic address of a thread's local memory.
pub(crate) const LOCAL: u64 = 0x5000_0000_0000_0000;
/// First generic address of kernel parameters.
pub(crate) const PARAM: u64 = 0x6000_0000_0000_0000;
/// The bit of a parameter-space address that means: a function's parameter, in local memory.
pub(crate) const FUNCTION_PARAM: u64 = 1 << 24;
/// The bits that tell the windows apart.
pub(crate) const WINDOW: u64 = 0xf000_0000_0000_0000;
