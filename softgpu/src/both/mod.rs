//! What the two ABIs have in common beyond how an entry point is declared: structs that are laid out alike, and the
//! rules of calls that differ in their names only.

pub(crate) mod capture;
pub(crate) mod graph;
pub(crate) mod jit;
pub(crate) mod pool;
pub(crate) mod virtual_memory;
