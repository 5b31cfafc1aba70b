//! Fault sweeps: every native call that a scenario makes is made to fail in turn, with several statuses, once and for
//! ever, at once and later. Whatever fails, nothing hangs, leaks in silence, or is released while the device may use it.
//!
//! | Idea | Where |
//! |---|---|
//! | what is done | `scenarios`, `more_scenarios` |
//! | the tools of a scenario, and what it has seen | `stage` |
//! | what must hold afterwards | `verdict` |
//!
//! By default a part of the statuses is taken at each call, another part at the next. `HAL_SWEEP=full` takes all: 21
//! statuses in 5 ways at each of some 1,200 calls.

mod more_scenarios;
mod scenarios;
mod stage;
mod verdict;

use crate::mock::{Injection, Reach, Timing};
use hal_core::Result;
use stage::Stage;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// What a scenario is. `Err` is an answer it did not wait for to be handled; it ends there.
type Scenario = fn(&Stage) -> Result<()>;

/// Out of memory twice, an invalid handle, not ready, unknown: the device goes on.
const ORDINARY: [i64; 5] = [2, 701, 400, 600, 999];
/// The device is lost. CUDA's, of which HIP has 214, 700, 702, 710 and 719; the last two are the driver's own teardown,
/// on both.
const FATAL: [i64; 16] = [226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 911, 214, 220, 4, 709];

const WAYS: [(Timing, Reach); 5] = [
    (Timing::Immediate, Reach::Once),
    (Timing::Immediate, Reach::SameCall),
    (Timing::Immediate, Reach::AllCalls),
    (Timing::Deferred, Reach::Once),
    (Timing::Deferred, Reach::SameCall),
];

/// Of the ordinary statuses, every so manieth by default; and of the others.
const STRIDES: [usize; 2] = [3, 8];
/// Longer than any run takes that ends at all.
const HANG: Duration = Duration::from_secs(120);

/// Runs it once without and then with every failure. Returns how many failures there were.
fn sweep(name: &str, scenario: Scenario) -> u64 {
    let full = std::env::var("HAL_SWEEP").is_ok_and(|value| value == "full");
    let calls = once(name, scenario, None);
    let mut delivered = 0;
    for nth in 1..=calls + 2 {
        for (way, (timing, reach)) in WAYS.into_iter().enumerate() {
            for (codes, stride) in [&ORDINARY[..], &FATAL].into_iter().zip(STRIDES) {
                for (index, &code) in codes.iter().enumerate() {
                    if full || (index + way + nth as usize).is_multiple_of(stride) {
                        delivered += once(name, scenario, Some(Injection { nth, code, timing, reach }));
                    }
                }
            }
        }
    }
    #[allow(clippy::print_stdout, reason = "shown with --nocapture")]
    {
        println!("{name}: {calls} calls, {delivered} failures");
    }
    delivered
}

/// One run, watched. Returns the number of calls, or, with an injection, 1 if it took effect.
fn once(name: &str, scenario: Scenario, injection: Option<Injection>) -> u64 {
    let (done, wait) = channel::<()>();
    std::thread::scope(|scope| {
        let watch = scope.spawn(move || {
            if wait.recv_timeout(HANG) == Err(RecvTimeoutError::Timeout) {
                // A thread that hangs cannot be ended in any other way.
                std::io::Write::write_all(&mut std::io::stderr(), b"a fault sweep hangs\n").ok();
                std::process::abort();
            }
        });
        let stage = Stage::new(injection);
        let ended = scenario(&stage);
        let verdict = verdict::of(&stage, ended);
        drop(done);
        watch.join().unwrap();
        if let Err(what) = verdict {
            panic!("{name} with {injection:?}: {what}\n{}", stage.control.log().join("\n"));
        }
        match injection {
            None => stage.control.counted(),
            Some(_) => u64::from(stage.control.delivered() > 0),
        }
    })
}

macro_rules! sweeps {
    ($($module:ident: $($name:ident)*;)*) => {$($(
        #[test]
        fn $name() {
            assert!(sweep(stringify!($name), $module::$name) > 0);
        }
    )*)*};
}

sweeps! {
    scenarios:
        single_submission chain_on_one_queue chain_over_queues fan_out fan_in wait_before_signal many_signals
        many_commands update_copy_fill dispatch queues_dropped_while_busy buffers_dropped_in_flight
        bindings_dropped_in_flight;
    more_scenarios:
        executables_come_and_go device_closed_with_work_pending device_closed_with_work_issued callbacks fence_waits
        two_devices recycled_streams event_pool_growth shared_streams behind_the_inline_limit buffers_outlive_the_device
        a_callback_submits host_failure_meets_work a_chain_of_sixteen graphs;
}
