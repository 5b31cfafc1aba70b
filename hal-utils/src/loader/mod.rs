//! Finding and opening driver libraries.
