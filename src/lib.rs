//! A hardware abstraction layer for GPU compute.
