//! The HIP runtime ABI.

use crate::abi::Entry;

/// Every entry point of the ABI.
pub fn tables() -> &'static [&'static [Entry]] {
    &[]
}
