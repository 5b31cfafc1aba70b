//! Runs models: functions that are called once for each interleaving of the threads they start.
//!
//! What `cargo xtask model` may say through the environment: `HAL_MODEL_SCHEDULES`, how many random interleavings each
//! model of shuttle gets; `HAL_MODEL_SEED`, where they begin; `HAL_MODEL_FOLDER`, where one that failed goes;
//! `HAL_MODEL_REPLAY`, the file of such a one.

/// Every interleaving with at most three preemptions, or `LOOM_MAX_PREEMPTIONS`.
#[cfg(hal_loom)]
pub(crate) fn explore(model: impl Fn() + Send + Sync + 'static) {
    use std::sync::atomic::{AtomicUsize, Ordering};

    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(3));
    builder.max_branches = 20_000;
    let explored = std::sync::Arc::new(AtomicUsize::new(0));
    let count = explored.clone();
    builder.check(move || {
        count.fetch_add(1, Ordering::Relaxed);
        model();
    });
    println!("{} interleavings", explored.load(Ordering::Relaxed));
}

/// Random interleavings, half of them with few preemptions at chosen places. Random numbers that a model takes from
/// shuttle belong to the schedule.
#[cfg(hal_shuttle)]
pub(crate) fn explore(model: impl Fn() + Clone + Send + Sync + 'static) {
    use shuttle::scheduler::{PctScheduler, RandomScheduler};
    use shuttle::{FailurePersistence, MaxSteps, Runner};

    fn number(variable: &str, default: u64) -> u64 {
        std::env::var(variable).map_or(default, |text| text.parse().unwrap())
    }

    if let Ok(file) = std::env::var("HAL_MODEL_REPLAY") {
        return shuttle::replay_from_file(model, file);
    }
    let mut config = shuttle::Config::new();
    config.stack_size = 1 << 17;
    config.silence_warnings = true;
    // A schedule has some hundred steps; one that has this many will not end.
    config.max_steps = MaxSteps::FailAfter(200_000);
    if let Some(folder) = std::env::var_os("HAL_MODEL_FOLDER") {
        config.failure_persistence = FailurePersistence::File(Some(folder.into()));
    }
    let (schedules, seed) = (number("HAL_MODEL_SCHEDULES", 1000), number("HAL_MODEL_SEED", 1));
    let _hint = ReplayHint;
    let random = (schedules / 2) as usize;
    let few = schedules as usize - random;
    Runner::new(RandomScheduler::new_from_seed(seed, random), config.clone()).run(model.clone());
    Runner::new(PctScheduler::new_from_seed(seed, 3, few), config).run(model);
}

/// Says how to replay, after shuttle has said what.
#[cfg(hal_shuttle)]
struct ReplayHint;

#[cfg(hal_shuttle)]
impl Drop for ReplayHint {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let thread = std::thread::current();
            let model = thread.name().unwrap_or("NAME");
            eprintln!(
                "replay it with: cargo xtask model --model {model} --replay FILE, the file named above"
            );
        }
    }
}
