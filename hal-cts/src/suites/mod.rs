//! One file per suite.

use crate::Case;

/// Declares the cases of a suite, grouped by what they require. The list is checked by the compiler: a case that is
/// left out is dead code. With `in both encodings`, each case is there twice: as it is, and with command buffers that
/// are graphs.
macro_rules! suite {
    ($suite:literal, in both encodings, $($requires:expr => [$($name:ident),+ $(,)?]),+ $(,)?) => {
        pub(crate) const CASES: &[$crate::Case] = &[$($(
            $crate::Case {
                suite: $suite,
                name: stringify!($name),
                requires: $requires,
                encoding: hal_core::Encoding::Stream,
                run: $name,
            },
            $crate::Case {
                suite: concat!($suite, "_as_graph"),
                name: stringify!($name),
                requires: $requires,
                encoding: hal_core::Encoding::Graph,
                run: $name,
            },
        )+)+];
    };
    ($suite:literal, $($requires:expr => [$($name:ident),+ $(,)?]),+ $(,)?) => {
        pub(crate) const CASES: &[$crate::Case] = &[$($(
            $crate::Case {
                suite: $suite,
                name: stringify!($name),
                requires: $requires,
                encoding: hal_core::Encoding::Auto,
                run: $name,
            },
        )+)+];
    };
}

mod atomics;
mod awaiting;
mod binding;
mod blocking;
mod buffer;
mod callback;
mod code;
mod counters;
mod deadlines;
#[cfg(unix)]
mod descriptor;
mod dispatch;
mod encoding;
mod executable;
mod failure;
mod fences;
mod files;
mod fill;
mod future;
mod graph;
mod handles;
mod host_calls;
mod host_failures;
mod idle;
mod interop;
mod kernel;
mod lifetime;
mod loss;
mod order;
mod origin;
mod pipeline;
mod properties;
mod queue;
mod races;
mod reached;
mod recording;
mod selftest;
mod semaphore;
mod sequence;
mod several;
mod shapes;
mod spared;
mod spread;
mod streams;
mod timepoint;
mod transfer;
mod values;
mod waiting;
mod width;

/// Every case, in a stable order.
pub fn cases() -> Vec<Case> {
    [
        properties::CASES,
        semaphore::CASES,
        values::CASES,
        deadlines::CASES,
        waiting::CASES,
        several::CASES,
        fences::CASES,
        callback::CASES,
        timepoint::CASES,
        races::CASES,
        reached::CASES,
        future::CASES,
        awaiting::CASES,
        buffer::CASES,
        fill::CASES,
        transfer::CASES,
        recording::CASES,
        binding::CASES,
        encoding::CASES,
        executable::CASES,
        code::CASES,
        dispatch::CASES,
        kernel::CASES,
        atomics::CASES,
        pipeline::CASES,
        queue::CASES,
        idle::CASES,
        sequence::CASES,
        order::CASES,
        shapes::CASES,
        blocking::CASES,
        width::CASES,
        graph::CASES,
        counters::CASES,
        streams::CASES,
        lifetime::CASES,
        handles::CASES,
        host_calls::CASES,
        host_failures::CASES,
        files::CASES,
        interop::CASES,
        #[cfg(unix)]
        descriptor::CASES,
        failure::CASES,
        spread::CASES,
        spared::CASES,
        origin::CASES,
        loss::CASES,
    ]
    .concat()
}

/// Cases for testing the program that runs cases: they pass, fail, panic, abort and hang. Never part of a normal run.
pub fn selftest() -> Vec<Case> {
    selftest::CASES.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_are_unique_and_plain() {
        let mut seen = HashSet::new();
        for case in cases().into_iter().chain(selftest()) {
            let id = case.id();
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '/';
            assert!(id.chars().all(plain), "{id}");
            assert!(seen.insert(id.clone()), "{id} twice");
        }
    }

    #[test]
    fn order_is_stable() {
        let ids = || cases().iter().map(Case::id).collect::<Vec<_>>();
        assert_eq!(ids(), ids());
    }
}
