//! The loss of the device.

use super::*;

#[test]
fn loss_resolves_everything_and_the_observer_hears_first() {
    let told = Arc::new(AtomicUsize::new(0));
    let params = {
        let told = told.clone();
        let on_lost = move |_: &Error| {
            told.fetch_add(1, Ordering::SeqCst);
        };
        DeviceParams { on_lost: Some(Arc::new(on_lost)), ..DeviceParams::default() }
    };
    let bench = Bench::with(params);
    bench.control.hold();
    let (queue, other) = (bench.queue(), bench.queue());
    let (running, gate, pending, untouched) =
        (bench.semaphore(), bench.semaphore(), bench.semaphore(), bench.semaphore());
    queue.submit(Submission::new().label("culprit").execute(&bench.fills([1])).signal(&running, 1)).unwrap();
    other.submit(Submission::new().wait(&gate, 1).signal(&pending, 1)).unwrap();
    bench.control.lose(700);
    for semaphore in [&running, &pending, &untouched] {
        let error = semaphore.wait(1, soon()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeviceLost);
        assert_eq!(error.origin().unwrap().label.as_deref(), Some("culprit"));
        assert_eq!(told.load(Ordering::SeqCst), 1);
    }
    assert_eq!(bench.device.lost().unwrap().native().unwrap().code, 700);
    queue.wait_idle(soon()).unwrap();
    other.wait_idle(soon()).unwrap();
    let again = queue.submit(Submission::new()).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::DeviceLost);
    assert_eq!(bench.device.create_semaphore(0).unwrap_err().kind(), ErrorKind::DeviceLost);
    assert_eq!(bench.device.create_queue(&QueueParams::default()).unwrap_err().kind(), ErrorKind::DeviceLost);
}

#[test]
fn loss_found_while_issuing_is_told_to_the_observer_first() {
    let told = Arc::new(AtomicUsize::new(0));
    let on_lost = {
        let told = told.clone();
        move |_: &Error| {
            told.fetch_add(1, Ordering::SeqCst);
        }
    };
    let bench = Bench::with(DeviceParams { on_lost: Some(Arc::new(on_lost)), ..DeviceParams::default() });
    let (queue, done) = (bench.queue(), bench.semaphore());
    let work = bench.fills([1, 2]);
    bench.control.fail("fill", 2, 719, true);
    queue.submit(Submission::new().execute(&work).signal(&done, 1)).unwrap();
    assert_eq!(done.wait(1, soon()).unwrap_err().kind(), ErrorKind::DeviceLost);
    assert_eq!(told.load(Ordering::SeqCst), 1);
}
