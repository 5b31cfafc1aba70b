//! Conformance suite for implementations of hal-core.
