//! The fault sweep of `hal-utils`, in small, through the software GPU's own rules and both backends: whichever call of the
//! driver fails, every wait ends, every failure says which call it was, and the next device works.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]
#![cfg(all(feature = "cuda", feature = "hip", feature = "soft"))]

use hal::{
    BufferParams, CommandBuffer, Deadline, Device, DeviceParams, Dispatch, Error, ErrorKind,
    ExecutableParams, QueueParams, Result, Semaphore, Submission, TeardownReport,
};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What to do with the nth call.
const WHAT: [&str; 7] = ["=2", "=999", "=700", "=4", "+=2", "+=719", "=later:719"];
/// By default, every so manieth of them at each call, others at the next.
const STRIDE: usize = 3;
const CODE: &str = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry nothing()\n{\n ret;\n}\n";

type Scenario = fn(&Arc<dyn Device>, &Seen) -> Result<()>;

const SCENARIOS: [(&str, Scenario); 5] = [
    ("one submission", one_submission),
    ("a chain over two queues", a_chain),
    ("waits before signals", waits_before_signals),
    ("queues and buffers dropped in flight", dropped_in_flight),
    ("a kernel", a_kernel),
];

/// What waits came to.
#[derive(Default)]
struct Seen(Mutex<Vec<Error>>);

impl Seen {
    fn wait(&self, semaphore: &Arc<dyn Semaphore>, value: u64) {
        self.0.lock().unwrap().extend(semaphore.wait(value, soon()).err());
    }
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(30))
}

fn fill(device: &Arc<dyn Device>) -> Result<Arc<dyn CommandBuffer>> {
    let buffer = device.allocate_buffer(&BufferParams::device_local(256))?;
    let mut encoder = device.encoder();
    encoder.fill(&buffer, 0, 256, &[1])?;
    encoder.fill(&buffer, 0, 128, &[2])?;
    encoder.finish(&**device)
}

fn one_submission(device: &Arc<dyn Device>, seen: &Seen) -> Result<()> {
    let (queue, done) = (device.create_queue(&QueueParams::default())?, device.create_semaphore(0)?);
    queue.submit(Submission::new().execute(&fill(device)?).signal(&done, 1))?;
    seen.wait(&done, 1);
    Ok(())
}

fn a_chain(device: &Arc<dyn Device>, seen: &Seen) -> Result<()> {
    let queues =
        [device.create_queue(&QueueParams::default())?, device.create_queue(&QueueParams::default())?];
    let (work, done) = (fill(device)?, device.create_semaphore(0)?);
    for step in 0..4 {
        let submission = Submission::new().wait(&done, step).execute(&work).signal(&done, step + 1);
        queues[step as usize % 2].submit(submission)?;
    }
    seen.wait(&done, 4);
    Ok(())
}

fn waits_before_signals(device: &Arc<dyn Device>, seen: &Seen) -> Result<()> {
    let queues =
        [device.create_queue(&QueueParams::default())?, device.create_queue(&QueueParams::default())?];
    let (work, gate) = (fill(device)?, device.create_semaphore(0)?);
    let (middle, done) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    queues[0].submit(Submission::new().wait(&middle, 1).execute(&work).signal(&done, 1))?;
    queues[1].submit(Submission::new().wait(&gate, 1).execute(&work).signal(&middle, 1))?;
    gate.signal(1)?;
    seen.wait(&done, 1);
    Ok(())
}

fn dropped_in_flight(device: &Arc<dyn Device>, seen: &Seen) -> Result<()> {
    let mut ends = Vec::new();
    for _ in 0..3 {
        let (queue, done) = (device.create_queue(&QueueParams::default())?, device.create_semaphore(0)?);
        queue.submit(Submission::new().execute(&fill(device)?).signal(&done, 1))?;
        ends.push(done);
    }
    ends.iter().for_each(|end| seen.wait(end, 1));
    Ok(())
}

fn a_kernel(device: &Arc<dyn Device>, seen: &Seen) -> Result<()> {
    let (queue, done) = (device.create_queue(&QueueParams::default())?, device.create_semaphore(0)?);
    let executable = device.load_executable(&ExecutableParams::ptx("nothing", CODE))?;
    let mut encoder = device.encoder();
    // SAFETY: the kernel has no parameters and does nothing.
    unsafe { encoder.dispatch(Dispatch::new(&executable, "nothing")?) }?;
    queue.submit(Submission::new().execute(&encoder.finish(&**device)?).signal(&done, 1))?;
    seen.wait(&done, 1);
    Ok(())
}

/// Takes down what a refused release has left behind: the context, and that it has failed.
fn reset() {
    let symbol = softgpu::resolver::symbol("cuDevicePrimaryCtxReset_v2").unwrap();
    // SAFETY: the type of `cuDevicePrimaryCtxReset`.
    let reset: extern "C" fn(i32) -> i32 = unsafe { std::mem::transmute(symbol) };
    assert_eq!(reset(0), 0);
}

struct Run {
    calls: u64,
    /// Of the call that lets go of the device.
    releases: u64,
    seen: Vec<Error>,
    reports: Vec<TeardownReport>,
}

/// One run with a rule.
fn once(uri: &str, scenario: Scenario, rule: &str) -> Run {
    let (seen, reports) = (Seen::default(), Arc::new(Mutex::new(Vec::new())));
    let params = DeviceParams {
        // Where the driver refuses for ever to say how work ended, it has to be given up.
        teardown_limit: Duration::from_millis(if rule.contains('+') { 20 } else { 30_000 }),
        on_teardown: {
            let reports = reports.clone();
            Some(Arc::new(move |report: &TeardownReport| reports.lock().unwrap().push(report.clone())))
        },
        ..DeviceParams::default()
    };
    // The second rule only counts.
    softgpu::fault::set_rules(&format!("{rule};*PrimaryCtxRelease*:1000000=1")).unwrap();
    let ended = hal::open_with(uri, &params).and_then(|device| scenario(&device, &seen));
    let counted = softgpu::fault::calls();
    softgpu::fault::set_rules("").unwrap();
    reset();
    let mut seen = seen.0.into_inner().unwrap();
    seen.extend(ended.err());
    let reports = std::mem::take(&mut *reports.lock().unwrap());
    Run { calls: counted[0], releases: counted[1], seen, reports }
}

/// The rules are the process's, so this is one test.
#[test]
fn whatever_call_of_the_driver_fails_waits_end_and_the_next_device_works() {
    let full = std::env::var("HAL_SWEEP").is_ok_and(|value| value == "full");
    for (uri, all) in [("soft://cuda/0", "cu*"), ("soft://hip/0", "hip*")] {
        // Loads the driver, which is not what is swept.
        drop(hal::open(uri).unwrap());
        let nothing = format!("{all}:1000000=1");
        for (name, scenario) in SCENARIOS {
            let Run { calls, releases, seen, reports } = once(uri, scenario, &nothing);
            assert!(seen.is_empty() && reports.is_empty(), "{name} on {uri}: {seen:?} {reports:?}");
            assert!(calls > 0 && releases == 1, "{name} on {uri}: {calls} calls, {releases} releases");
            let (mut runs, mut told) = (0, 0);
            for nth in 1..=calls {
                for (index, what) in WHAT.iter().enumerate() {
                    if !full && !(index + nth as usize).is_multiple_of(STRIDE) {
                        continue;
                    }
                    let rule = format!("{all}:{nth}{what}");
                    let Run { releases, seen, reports, .. } = once(uri, scenario, &rule);
                    runs += 1;
                    told += usize::from(!seen.is_empty());
                    for error in &seen {
                        assert_ne!(
                            error.kind(),
                            ErrorKind::DeadlineExceeded,
                            "{name} on {uri}, {rule}: {error}"
                        );
                        let code = error.native().map(|native| native.code);
                        let given: i64 =
                            what.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap();
                        assert_eq!(code, Some(given), "{name} on {uri}, {rule}: {error}");
                    }
                    // 4 is the driver's own end: it is not called again, not even to let go of the device.
                    assert!(
                        *what != "=4" || seen.is_empty() || releases == 0,
                        "{name} on {uri}, {rule}: {seen:?}"
                    );
                    let abandoned = reports.iter().any(|report| !report.abandoned.is_empty());
                    assert!(!abandoned || what.starts_with('+'), "{name} on {uri}, {rule}: {reports:?}");
                }
                let Run { seen, reports, .. } = once(uri, scenario, &nothing);
                assert!(seen.is_empty() && reports.is_empty(), "after call {nth}: {seen:?} {reports:?}");
            }
            println!("{name} on {uri}: {calls} calls, {runs} runs, {told} of them told");
            assert!(told > 0, "{name} on {uri}");
        }
    }
}
