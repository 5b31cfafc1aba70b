//! The conformance suite as a program.

fn main() {}
