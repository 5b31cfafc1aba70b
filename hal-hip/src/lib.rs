//! HIP: symbol table and native primitives.
