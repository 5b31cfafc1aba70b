//! What is told of each submission.

use super::*;
use hal_core::SubmissionTrace;
use parking_lot::Mutex;

type Traces = Arc<Mutex<Vec<SubmissionTrace>>>;

fn traced() -> (Bench, Traces) {
    let traces = Traces::default();
    let observer = {
        let traces = traces.clone();
        move |trace: &SubmissionTrace| traces.lock().push(trace.clone())
    };
    (Bench::with(DeviceParams { trace: Some(Arc::new(observer)), ..DeviceParams::default() }), traces)
}

/// The one of that label, which has been told once.
fn of(traces: &Traces, label: &str) -> SubmissionTrace {
    let traces = traces.lock();
    let mut found = traces.iter().filter(|trace| trace.submission.label.as_deref() == Some(label));
    let trace = found.next().unwrap_or_else(|| panic!("{label} was not told: {traces:?}"));
    assert!(found.next().is_none(), "{label} was told twice");
    let issued = trace.issued.unwrap_or(trace.submitted);
    assert!(trace.submitted <= issued && issued <= trace.ended, "{trace:?}");
    trace.clone()
}

#[test]
fn every_submission_is_told_once_and_in_full() {
    let (bench, traces) = traced();
    let (queue, gate, done) = (bench.queue(), bench.semaphore(), bench.semaphore());
    let work = bench.fills([1]);
    let first = Submission::new().label("first").wait(&gate, 1).execute(&work).signal(&done, 1);
    let id = queue.submit(first).unwrap();
    queue.submit(Submission::new().label("second").execute(&work)).unwrap();
    gate.signal(1).unwrap();
    queue.wait_idle(soon()).unwrap();
    let first = of(&traces, "first");
    assert!(first.error.is_none() && first.issued.is_some());
    assert_eq!((first.submission.queue, first.submission.sequence), (id.queue, id.sequence));
    assert!(of(&traces, "second").issued.is_some());
    assert_eq!(traces.lock().len(), 2);
}

#[test]
fn failures_are_told_with_their_reason() {
    let (bench, traces) = traced();
    let (queue, gate, done) = (bench.queue(), bench.semaphore(), bench.semaphore());
    bench.control.fail("record", 1, 999, false);
    queue.submit(Submission::new().label("culprit").execute(&bench.fills([1])).signal(&done, 1)).unwrap();
    queue.submit(Submission::new().label("dependant").wait(&done, 1)).unwrap();
    queue.submit(Submission::new().label("pending").wait(&gate, 1)).unwrap();
    assert_eq!(done.wait(1, soon()).unwrap_err().native().unwrap().code, 999);
    queue.submit(Submission::new().label("late").wait(&done, 1)).unwrap();
    drop(queue);
    drop(bench);
    let culprit = of(&traces, "culprit");
    assert!(culprit.issued.is_some());
    for label in ["culprit", "dependant", "late"] {
        let error = of(&traces, label).error.unwrap();
        assert_eq!(error.origin().unwrap().label.as_deref(), Some("culprit"), "{label}");
    }
    let pending = of(&traces, "pending");
    assert_eq!(pending.error.unwrap().kind(), ErrorKind::Cancelled);
    assert!(pending.issued.is_none() && of(&traces, "late").issued.is_none());
    assert_eq!(traces.lock().len(), 4);
}

#[test]
fn what_a_lost_device_ends_is_told() {
    let (bench, traces) = traced();
    bench.control.hold();
    let (queue, gate, done) = (bench.queue(), bench.semaphore(), bench.semaphore());
    queue.submit(Submission::new().label("running").execute(&bench.fills([1])).signal(&done, 1)).unwrap();
    queue.submit(Submission::new().label("pending").wait(&gate, 1)).unwrap();
    bench.control.lose(719);
    queue.wait_idle(soon()).unwrap();
    for label in ["running", "pending"] {
        assert_eq!(of(&traces, label).error.unwrap().kind(), ErrorKind::DeviceLost, "{label}");
    }
}
