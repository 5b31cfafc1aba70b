//! Random programs on real queues, against a sequential model of what they must come to.
//!
//! | Idea | Where |
//! |---|---|
//! | what a program is | `program` |
//! | what it must come to | `model` |
//! | running one, and comparing | `run` |
//! | making a failing one small | `shrink` |
//!
//! A failing program is printed with the command that runs it again. `HAL_PROGRAMS` sets how many are run, `HAL_SEED`
//! where they start.

mod model;
mod program;
pub(crate) mod random;
mod run;
mod shrink;

use model::Model;
use program::Program;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// By default.
const PROGRAMS: u64 = 2000;
/// Timing differs from run to run, so a program is run this often before it is said not to fail.
const TRIES: u32 = 30;
/// Longer than anything takes that ends at all.
const PATIENCE: Duration = Duration::from_secs(20);
/// While a failing program is made smaller, and may hang each time.
const LITTLE_PATIENCE: Duration = Duration::from_secs(2);

fn setting(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .map(|value| value.parse().unwrap_or_else(|_| panic!("{name}={value}: not a number")))
}

/// `None` if the model gives the program up.
fn outcome(program: &Program) -> Option<Result<(), String>> {
    let model = Model::of(program)?;
    Some(run::run(program, &model, LITTLE_PATIENCE))
}

fn fails(program: &Program) -> bool {
    (0..TRIES).any(|_| matches!(outcome(program), Some(Err(_))))
}

fn report(program: Program, what: &str) -> String {
    let seed = program.seed;
    let whole = program.to_string();
    let small = shrink::shrink(program, fails);
    let why = (0..TRIES).find_map(|_| outcome(&small)?.err());
    format!(
        "{what}\n{whole}\nsmallest that fails, with {}:\n{small}\nagain: HAL_SEED={seed} HAL_PROGRAMS=1 cargo test -p \
         hal-utils --lib random_programs -- --nocapture",
        why.unwrap_or_else(|| "a failure that did not come again".into())
    )
}

#[test]
fn random_programs_come_to_what_the_model_says() {
    let first = setting("HAL_SEED").unwrap_or(1);
    let count = setting("HAL_PROGRAMS").unwrap_or(PROGRAMS);
    let (next, given_up, certain, outcomes) =
        (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            let program = Program::generate(first + index);
            let Some(model) = Model::of(&program) else {
                given_up.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            outcomes.fetch_add(model.outcomes.len() as u64, Ordering::Relaxed);
            let sure = model.outcomes.values().filter(|outcomes| outcomes.is_certain()).count();
            certain.fetch_add(sure as u64, Ordering::Relaxed);
            // A single one is being looked into.
            for _ in 0..if count == 1 { TRIES } else { 1 } {
                if let Err(what) = run::run(&program, &model, PATIENCE) {
                    panic!("{}", report(program, &what));
                }
            }
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
    let [given_up, certain, outcomes] = [given_up, certain, outcomes].map(AtomicU64::into_inner);
    #[allow(clippy::print_stdout, reason = "shown with --nocapture")]
    {
        println!("{count} programs, {given_up} given up; {certain} of {outcomes} fates are certain");
    }
    assert!(given_up * 4 <= count.max(40), "the model gives up too often: {given_up} of {count}");
    assert!(certain * 10 >= outcomes * 9, "the model knows too little: {certain} of {outcomes}");
}
