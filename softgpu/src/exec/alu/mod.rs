//! Register-to-register operations. Each table maps an operation's name and type to a function over 32 lanes.

pub(crate) mod bits;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod float;
pub(crate) mod half2;
pub(crate) mod int;
pub(crate) mod rounding;
