//! Runs models: functions that are called once for each interleaving of the threads they start.
//!
//! What `cargo xtask model` may say through the environment: `HAL_MODEL_SCHEDULES`, how many random interleavings each
//! model of shuttle gets; `HAL_MODEL_SEED`, where they begin; `HAL_MODEL_REPLAY`, the file of one that failed.

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
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/model");
    std::fs::create_dir_all(&folder).unwrap();
    config.failure_persistence = FailurePersistence::File(Some(folder));
    let (schedules, seed) = (number("HAL_MODEL_SCHEDULES", 1000), number("HAL_MODEL_SEED", 1));
    let random = (schedules / 2) as usize;
    let few = schedules as usize - random;
    Runner::new(RandomScheduler::new_from_seed(seed, random), config.clone()).run(model.clone());
    Runner::new(PctScheduler::new_from_seed(seed, 3, few), config).run(model);
}
