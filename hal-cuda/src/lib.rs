//! CUDA: symbol table and native primitives.
