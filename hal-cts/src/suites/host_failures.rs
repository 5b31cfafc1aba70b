//! Functions on the host that fail, panic, are forgotten, or never run.

use super::host_calls::{deferred, doing, fine, pair};
use crate::support::{record, soon};
use crate::{Failure, Outcome};
use hal_core::{Device, Error, ErrorKind, HostCall, Submission};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

suite! { "host_failures",
    &[] => [
        its_error_fails_the_submission,
        error_names_the_submission,
        error_reaches_dependants,
        error_spares_the_queue,
        its_panic_is_a_failure,
        panic_spares_the_threads,
        a_dropped_token_is_a_failure,
        a_token_dropped_later_is_a_failure,
        a_failed_wait_keeps_it_from_running,
        what_never_runs_is_dropped,
        command_buffers_are_refused,
    ],
}

/// A call that fails like this.
fn failing(text: &'static str) -> HostCall {
    Box::new(move |completion| completion.complete(Err(Error::new(ErrorKind::Aborted, text))))
}

/// Kind and text arrive.
fn its_error_fails_the_submission(device: &Arc<dyn Device>) -> Outcome {
    let (queue, done) = pair(device)?;
    queue.host_call(Submission::new().signal(&done, 1), failing("the dog ate it"))?;
    let error = check_err!(done.wait(1, soon()), ErrorKind::Aborted);
    check!(error.message().contains("the dog ate it"), "{error}");
    Ok(())
}

/// Label, queue and number.
fn error_names_the_submission(device: &Arc<dyn Device>) -> Outcome {
    let (queue, done) = pair(device)?;
    let id = queue.host_call(Submission::new().label("tokenise").signal(&done, 1), failing("no"))?;
    let error = check_err!(done.wait(1, soon()), ErrorKind::Aborted);
    let Some(origin) = error.origin() else { return Err(Failure::new(format!("no origin in {error}"))) };
    check_eq!((origin.queue, origin.sequence), (id.queue, id.sequence));
    check_eq!(origin.label.as_deref(), Some("tokenise"));
    Ok(())
}

/// Through a submission and another call.
fn error_reaches_dependants(device: &Arc<dyn Device>) -> Outcome {
    let (queue, first) = pair(device)?;
    let (second, third) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    queue.host_call(Submission::new().wait(&second, 1).signal(&third, 1), fine())?;
    queue.submit(Submission::new().wait(&first, 1).signal(&second, 1))?;
    queue.host_call(Submission::new().label("root").signal(&first, 1), failing("no"))?;
    let error = check_err!(third.wait(1, soon()), ErrorKind::Aborted);
    check_eq!(error.origin().and_then(|origin| origin.label.as_deref()), Some("root"));
    Ok(())
}

/// The next call and the next submission know nothing of it.
fn error_spares_the_queue(device: &Arc<dyn Device>) -> Outcome {
    let (queue, bad) = pair(device)?;
    let good = device.create_semaphore(0)?;
    queue.host_call(Submission::new().signal(&bad, 1), failing("no"))?;
    check_err!(bad.wait(1, soon()), ErrorKind::Aborted);
    queue.host_call(Submission::new().signal(&good, 1), fine())?;
    good.wait(1, soon())?;
    queue.submit(Submission::new().signal(&good, 2))?;
    good.wait(2, soon())?;
    check!(device.lost().is_none());
    Ok(())
}

/// A call that panics.
#[allow(clippy::panic, reason = "what becomes of a panic is what is tested")]
fn panicking() -> HostCall {
    Box::new(|_completion| std::panic::panic_any("a panic, on purpose"))
}

/// What it said is in the error.
fn its_panic_is_a_failure(device: &Arc<dyn Device>) -> Outcome {
    let (queue, done) = pair(device)?;
    queue.host_call(Submission::new().signal(&done, 1), panicking())?;
    let error = check_err!(done.wait(1, soon()), ErrorKind::Aborted);
    check!(error.message().contains("a panic, on purpose"), "{error}");
    Ok(())
}

/// More panics than threads, then a call.
fn panic_spares_the_threads(device: &Arc<dyn Device>) -> Outcome {
    let (queue, done) = pair(device)?;
    for _ in 0..20 {
        queue.host_call(Submission::new(), panicking())?;
    }
    queue.wait_idle(soon())?;
    queue.host_call(Submission::new().signal(&done, 1), fine())?;
    Ok(done.wait(1, soon())?)
}

/// Within the call.
fn a_dropped_token_is_a_failure(device: &Arc<dyn Device>) -> Outcome {
    let (queue, done) = pair(device)?;
    queue.host_call(Submission::new().signal(&done, 1), Box::new(drop))?;
    let error = check_err!(done.wait(1, soon()), ErrorKind::Aborted);
    check!(error.message().contains("dropped"), "{error}");
    Ok(())
}

/// After the call has returned.
fn a_token_dropped_later_is_a_failure(device: &Arc<dyn Device>) -> Outcome {
    let (queue, done) = pair(device)?;
    let completion = deferred(&queue, Submission::new().signal(&done, 1))?;
    check_eq!(done.query()?, 0);
    drop(completion);
    check_err!(done.wait(1, soon()), ErrorKind::Aborted);
    queue.wait_idle(soon())?;
    Ok(())
}

/// It fails with the wait's error.
fn a_failed_wait_keeps_it_from_running(device: &Arc<dyn Device>) -> Outcome {
    let (queue, done) = pair(device)?;
    let wait = device.create_semaphore(0)?;
    let ran = Arc::new(AtomicBool::new(false));
    let flag = ran.clone();
    let call = doing(move || flag.store(true, Ordering::SeqCst));
    queue.host_call(Submission::new().wait(&wait, 1).signal(&done, 1), call)?;
    wait.fail(Error::new(ErrorKind::Aborted, "the reason"));
    let error = check_err!(done.wait(1, soon()), ErrorKind::Aborted);
    check!(error.message().contains("the reason"), "{error}");
    queue.wait_idle(soon())?;
    check!(!ran.load(Ordering::SeqCst));
    Ok(())
}

/// What the function owns goes with a failed wait.
fn what_never_runs_is_dropped(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let wait = device.create_semaphore(0)?;
    let owned = Arc::new(());
    let kept = owned.clone();
    queue.host_call(Submission::new().wait(&wait, 1), doing(move || drop(kept)))?;
    check_eq!(Arc::strong_count(&owned), 2);
    wait.fail(Error::new(ErrorKind::Aborted, "the reason"));
    queue.wait_idle(soon())?;
    check_eq!(Arc::strong_count(&owned), 1);
    Ok(())
}

/// A submission is one or the other.
fn command_buffers_are_refused(device: &Arc<dyn Device>) -> Outcome {
    let (queue, done) = pair(device)?;
    let nothing = record(device, |_| Ok(()))?;
    let submission = Submission::new().execute(&nothing).signal(&done, 1);
    let error = check_err!(queue.host_call(submission, fine()), ErrorKind::InvalidArgument);
    check!(error.message().contains("command buffers"), "{error}");
    check!(queue.is_idle());
    check_eq!(done.query()?, 0);
    Ok(())
}
