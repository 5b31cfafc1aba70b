//! The graph encoding over the mock device; edges alone.

mod edges;
mod pool;
