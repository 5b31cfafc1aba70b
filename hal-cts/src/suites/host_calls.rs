//! Functions that queues run on the host.

use crate::support::{
    Gate, Gpu, Launch, contents, eventually, host_buffer, on_threads, queues, record, soon, timelines,
    to_bytes,
};
use crate::{Failure, Outcome, Requirement, kernels};
use hal_core::{
    Device, Dispatch, Error, ErrorKind, HostCall, HostCompletion, Queue, Semaphore, Submission, SubmissionId,
};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

suite! { "host_calls",
    &[] => [
        runs_and_signals,
        runs_without_waits_or_signals,
        runs_on_another_thread,
        waits_for_a_host_signal,
        waits_for_every_semaphore,
        a_wait_that_is_reached_already_is_none,
        signals_every_semaphore,
        a_signal_beyond_the_payload_is_kept,
        sees_what_the_device_wrote,
        the_device_waits_for_it,
        chain_of_calls_runs_in_order,
        waits_on_another_queue,
        may_allocate_and_submit,
        may_wait_for_the_device,
        many_calls_take_few_threads,
        waiting_calls_take_no_thread,
        may_complete_after_it_returned,
        may_complete_on_another_thread,
        deferred_calls_take_no_thread,
        numbers_are_the_queues,
        a_pending_one_delays_nothing,
        keeps_its_queue_busy,
        counts_as_a_submission,
        may_be_submitted_by_a_call,
        from_many_threads,
        a_dropped_queue_still_runs_it,
        may_hold_the_last_queue,
    ],
    &[Requirement::Kernels] => [between_two_dispatches],
}

/// A call that ends well.
pub(super) fn fine() -> HostCall {
    Box::new(|completion: HostCompletion| completion.complete(Ok(())))
}

/// A call of something that cannot fail.
pub(super) fn doing(what: impl FnOnce() + Send + 'static) -> HostCall {
    Box::new(move |completion| {
        what();
        completion.complete(Ok(()));
    })
}

/// A queue and a semaphore at 0.
pub(super) fn pair(device: &Arc<dyn Device>) -> Outcome<(Arc<dyn Queue>, Arc<dyn Semaphore>)> {
    Ok((device.create_queue(&Default::default())?, device.create_semaphore(0)?))
}

/// It runs, then its signal follows.
fn runs_and_signals(device: &Arc<dyn Device>) -> Outcome {
    let (queue, done) = pair(device)?;
    let ran = Arc::new(AtomicBool::new(false));
    let flag = ran.clone();
    let call = doing(move || flag.store(true, Ordering::SeqCst));
    queue.host_call(Submission::new().signal(&done, 1), call)?;
    done.wait(1, soon())?;
    check!(ran.load(Ordering::SeqCst));
    Ok(())
}

/// Nothing but the call.
fn runs_without_waits_or_signals(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let (sender, receiver) = mpsc::channel();
    queue.host_call(Submission::new(), doing(move || sender.send(7).unwrap_or_default()))?;
    check_eq!(receiver.recv_timeout(Duration::from_secs(20)).ok(), Some(7));
    queue.wait_idle(soon())?;
    Ok(())
}

/// Submitting returns at once, whatever the call does.
fn runs_on_another_thread(device: &Arc<dyn Device>) -> Outcome {
    let (queue, done) = pair(device)?;
    let (sender, receiver) = mpsc::channel();
    let call = doing(move || sender.send(thread::current().id()).unwrap_or_default());
    queue.host_call(Submission::new().signal(&done, 1), call)?;
    done.wait(1, soon())?;
    check!(receiver.try_recv().is_ok_and(|id| id != thread::current().id()));
    Ok(())
}

/// Not before the signal.
fn waits_for_a_host_signal(device: &Arc<dyn Device>) -> Outcome {
    let (queue, done) = pair(device)?;
    let gate = Gate::new(device)?;
    let early = Arc::new(AtomicBool::new(false));
    let (flag, semaphore) = (early.clone(), gate.semaphore().clone());
    let call = doing(move || flag.store(semaphore.query().ok() != Some(1), Ordering::SeqCst));
    queue.host_call(Submission::new().wait(gate.semaphore(), 1).signal(&done, 1), call)?;
    check_eq!(done.query()?, 0);
    gate.open()?;
    done.wait(1, soon())?;
    check!(!early.load(Ordering::SeqCst));
    Ok(())
}

/// Three semaphores, signalled one by one; it runs after the last.
fn waits_for_every_semaphore(device: &Arc<dyn Device>) -> Outcome {
    let (queue, done) = pair(device)?;
    let waits = timelines(device, 3)?;
    let mut submission = Submission::new().signal(&done, 1);
    for (index, wait) in waits.iter().enumerate() {
        submission = submission.wait(wait, index as u64 + 1);
    }
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (sink, looked_at) = (seen.clone(), waits.clone());
    let call = doing(move || {
        let payloads = looked_at.iter().map(|wait| wait.query().unwrap_or(0)).collect();
        *sink.lock().unwrap_or_else(PoisonError::into_inner) = payloads;
    });
    queue.host_call(submission, call)?;
    for (index, wait) in waits.iter().enumerate().rev() {
        check_eq!(done.query()?, 0);
        wait.signal(index as u64 + 1)?;
    }
    done.wait(1, soon())?;
    check_eq!(*seen.lock().unwrap_or_else(PoisonError::into_inner), [1, 2, 3]);
    Ok(())
}

/// Waits for the past do not wait.
fn a_wait_that_is_reached_already_is_none(device: &Arc<dyn Device>) -> Outcome {
    let (queue, done) = pair(device)?;
    let past = device.create_semaphore(9)?;
    queue.host_call(Submission::new().wait(&past, 3).wait(&past, 9).signal(&done, 4), fine())?;
    Ok(done.wait(4, soon())?)
}

/// Ten of them.
fn signals_every_semaphore(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let signals = timelines(device, 10)?;
    let submission =
        signals.iter().enumerate().fold(Submission::new(), |s, (n, done)| s.signal(done, n as u64 + 1));
    queue.host_call(submission, fine())?;
    for (index, done) in signals.iter().enumerate() {
        done.wait(index as u64 + 1, soon())?;
    }
    Ok(())
}

/// As for other submissions: the payload stays, and the submission ends well.
fn a_signal_beyond_the_payload_is_kept(device: &Arc<dyn Device>) -> Outcome {
    let (queue, done) = pair(device)?;
    done.signal(10)?;
    queue.host_call(Submission::new().signal(&done, 5), fine())?;
    queue.wait_idle(soon())?;
    check_eq!(done.query()?, 10);
    Ok(())
}

/// A fill, then a look at its result.
fn sees_what_the_device_wrote(device: &Arc<dyn Device>) -> Outcome {
    let (queue, done) = pair(device)?;
    let filled = device.create_semaphore(0)?;
    let buffer = host_buffer(device, &[0_u32; 1000])?;
    let fill = record(device, |encoder| encoder.fill(&buffer, 0, buffer.size(), &[7, 0, 0, 0]))?;
    let looked_at = buffer.clone();
    let call: HostCall = Box::new(move |completion| {
        let right = contents::<u32>(&looked_at).map(|numbers| numbers == vec![7; 1000]);
        let wrong = || Error::new(ErrorKind::Internal, "it saw something else");
        completion.complete(right.and_then(|right| right.then_some(()).ok_or_else(wrong)));
    });
    queue.host_call(Submission::new().wait(&filled, 1).signal(&done, 1), call)?;
    queue.submit(Submission::new().execute(&fill).signal(&filled, 1))?;
    Ok(done.wait(1, soon())?)
}

/// A copy that waits for a call that writes its source.
fn the_device_waits_for_it(device: &Arc<dyn Device>) -> Outcome {
    let (queue, done) = pair(device)?;
    let written = device.create_semaphore(0)?;
    let (source, target) = (host_buffer(device, &[0_u32; 100])?, host_buffer(device, &[0_u32; 100])?);
    let copy = record(device, |encoder| encoder.copy(&source, 0, &target, 0, 400))?;
    queue.submit(Submission::new().wait(&written, 1).execute(&copy).signal(&done, 1))?;
    let call: HostCall = Box::new(move |completion| {
        let bytes: Vec<u8> = (0..100_u32).flat_map(u32::to_ne_bytes).collect();
        completion.complete(source.write(0, &bytes));
    });
    queue.host_call(Submission::new().signal(&written, 1), call)?;
    done.wait(1, soon())?;
    check_eq!(contents::<u32>(&target)?, (0..100).collect::<Vec<_>>());
    Ok(())
}

/// A hundred calls, each waiting for the one before, submitted last first.
fn chain_of_calls_runs_in_order(device: &Arc<dyn Device>) -> Outcome {
    let (queue, step) = pair(device)?;
    let order = Arc::new(Mutex::new(Vec::new()));
    for number in (0..100_u64).rev() {
        let order = order.clone();
        let call = doing(move || order.lock().unwrap_or_else(PoisonError::into_inner).push(number));
        queue.host_call(Submission::new().wait(&step, number).signal(&step, number + 1), call)?;
    }
    step.wait(100, soon())?;
    check_eq!(*order.lock().unwrap_or_else(PoisonError::into_inner), (0..100).collect::<Vec<_>>());
    Ok(())
}

/// Work of another queue.
fn waits_on_another_queue(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let (middle, done) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    queues[0].host_call(Submission::new().wait(&middle, 1).signal(&done, 1), fine())?;
    queues[1].submit(Submission::new().signal(&middle, 1))?;
    Ok(done.wait(1, soon())?)
}

/// The HAL from within.
fn may_allocate_and_submit(device: &Arc<dyn Device>) -> Outcome {
    let (queue, done) = pair(device)?;
    let (own_device, own_queue, inner) = (device.clone(), queue.clone(), done.clone());
    let call: HostCall = Box::new(move |completion| {
        let outcome = host_buffer(&own_device, &[1_u32; 10]).and_then(|buffer| {
            let fill = record(&own_device, |encoder| encoder.fill(&buffer, 0, 40, &[3]))?;
            own_queue.submit(Submission::new().execute(&fill).signal(&inner, 2)).map(|_: SubmissionId| ())
        });
        completion.complete(outcome);
    });
    queue.host_call(Submission::new().signal(&done, 1), call)?;
    Ok(done.wait(2, soon())?)
}

/// A wait for the device from within does not stop the device.
fn may_wait_for_the_device(device: &Arc<dyn Device>) -> Outcome {
    let (queue, done) = pair(device)?;
    let (own_queue, inner) = (queue.clone(), device.create_semaphore(0)?);
    let call: HostCall = Box::new(move |completion| {
        let submitted = own_queue.submit(Submission::new().signal(&inner, 1));
        completion.complete(submitted.and_then(|_| inner.wait(1, soon())));
    });
    queue.host_call(Submission::new().signal(&done, 1), call)?;
    Ok(done.wait(1, soon())?)
}

/// Three hundred calls, and how many threads they saw.
fn many_calls_take_few_threads(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let threads = Arc::new(Mutex::new(HashSet::new()));
    for _ in 0..300 {
        let threads = threads.clone();
        let call = doing(move || {
            threads.lock().unwrap_or_else(PoisonError::into_inner).insert(thread::current().id());
        });
        queue.host_call(Submission::new(), call)?;
    }
    queue.wait_idle(soon())?;
    let seen = threads.lock().unwrap_or_else(PoisonError::into_inner).len();
    check!((1..=4).contains(&seen), "{seen} threads");
    Ok(())
}

/// A thousand that wait, and one that does not.
fn waiting_calls_take_no_thread(device: &Arc<dyn Device>) -> Outcome {
    let (queue, done) = pair(device)?;
    let gate = Gate::new(device)?;
    let ran = Arc::new(AtomicUsize::new(0));
    for _ in 0..1000 {
        let ran = ran.clone();
        let call = doing(move || {
            ran.fetch_add(1, Ordering::SeqCst);
        });
        queue.host_call(Submission::new().wait(gate.semaphore(), 1), call)?;
    }
    queue.host_call(Submission::new().signal(&done, 1), fine())?;
    done.wait(1, soon())?;
    check_eq!(ran.load(Ordering::SeqCst), 0);
    gate.open()?;
    queue.wait_idle(soon())?;
    check_eq!(ran.load(Ordering::SeqCst), 1000);
    Ok(())
}

/// The token that a call of this submission gave away.
pub(super) fn deferred(queue: &Arc<dyn Queue>, submission: Submission) -> Outcome<HostCompletion> {
    let (sender, receiver) = mpsc::channel();
    // A receiver that is gone drops the token, which fails the submission.
    queue.host_call(submission, Box::new(move |completion| drop(sender.send(completion))))?;
    let received = receiver.recv_timeout(Duration::from_secs(20));
    received.map_err(|_| Failure::new("the call did not run within 20 s"))
}

/// The signal comes with the completion, not with the return.
fn may_complete_after_it_returned(device: &Arc<dyn Device>) -> Outcome {
    let (queue, done) = pair(device)?;
    let completion = deferred(&queue, Submission::new().signal(&done, 1))?;
    check_eq!(done.query()?, 0);
    check!(!queue.is_idle());
    completion.complete(Ok(()));
    check_eq!(done.query()?, 1);
    queue.wait_idle(soon())?;
    Ok(())
}

/// A thread of the case's own.
fn may_complete_on_another_thread(device: &Arc<dyn Device>) -> Outcome {
    let (queue, done) = pair(device)?;
    let call: HostCall = Box::new(|completion| drop(thread::spawn(move || completion.complete(Ok(())))));
    queue.host_call(Submission::new().signal(&done, 1), call)?;
    Ok(done.wait(1, soon())?)
}

/// A hundred open tokens leave room for a call.
fn deferred_calls_take_no_thread(device: &Arc<dyn Device>) -> Outcome {
    let (queue, done) = pair(device)?;
    let tokens =
        (0..100).map(|_| deferred(&queue, Submission::new())).collect::<Outcome<Vec<HostCompletion>>>()?;
    queue.host_call(Submission::new().signal(&done, 1), fine())?;
    done.wait(1, soon())?;
    tokens.into_iter().for_each(|token| token.complete(Ok(())));
    queue.wait_idle(soon())?;
    Ok(())
}

/// Calls and submissions are counted together.
fn numbers_are_the_queues(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(queue.host_call(Submission::new(), fine())?.sequence);
        ids.push(queue.submit(Submission::new())?.sequence);
    }
    check_eq!(ids, (0..10).collect::<Vec<u64>>());
    Ok(())
}

/// Neither submissions nor calls behind it.
fn a_pending_one_delays_nothing(device: &Arc<dyn Device>) -> Outcome {
    let (queue, done) = pair(device)?;
    let gate = Gate::new(device)?;
    queue.host_call(Submission::new().wait(gate.semaphore(), 1), fine())?;
    queue.submit(Submission::new().signal(&done, 1))?;
    done.wait(1, soon())?;
    queue.host_call(Submission::new().signal(&done, 2), fine())?;
    Ok(done.wait(2, soon())?)
}

/// Until it has ended, neither queue nor device is idle.
fn keeps_its_queue_busy(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let gate = Gate::new(device)?;
    queue.host_call(Submission::new().wait(gate.semaphore(), 1), fine())?;
    check!(!queue.is_idle());
    check_err!(device.wait_idle(crate::support::shortly()), ErrorKind::DeadlineExceeded);
    gate.open()?;
    queue.wait_idle(soon())?;
    device.wait_idle(soon())?;
    Ok(())
}

/// Submitted, retired and failed.
fn counts_as_a_submission(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let before = device.counters();
    queue.host_call(Submission::new(), fine())?;
    let no = || Error::new(ErrorKind::Aborted, "no");
    queue.host_call(Submission::new(), Box::new(move |completion| completion.complete(Err(no()))))?;
    device.wait_idle(soon())?;
    let after = device.counters();
    check_eq!(after.submitted - before.submitted, 2);
    check_eq!(after.retired - before.retired, 2);
    check_eq!(after.failed - before.failed, 1);
    Ok(())
}

/// Calls that submit calls, fifty deep.
fn may_be_submitted_by_a_call(device: &Arc<dyn Device>) -> Outcome {
    fn next(queue: Arc<dyn Queue>, done: Arc<dyn Semaphore>, left: u64) -> hal_core::Result<SubmissionId> {
        let submission = Submission::new().signal(&done, 51 - left);
        let inner = queue.clone();
        let call: HostCall = Box::new(move |completion| {
            let submitted = if left == 0 { Ok(()) } else { next(inner, done, left - 1).map(|_| ()) };
            completion.complete(submitted);
        });
        queue.host_call(submission, call)
    }
    let (queue, done) = pair(device)?;
    next(queue, done.clone(), 50)?;
    Ok(done.wait(51, soon())?)
}

/// Eight threads, fifty calls each.
fn from_many_threads(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let ran = Arc::new(AtomicUsize::new(0));
    on_threads(8, |_| {
        for _ in 0..50 {
            let ran = ran.clone();
            let call = doing(move || {
                ran.fetch_add(1, Ordering::SeqCst);
            });
            queue.host_call(Submission::new(), call)?;
        }
        Ok(())
    })?;
    queue.wait_idle(soon())?;
    check_eq!(ran.load(Ordering::SeqCst), 400);
    Ok(())
}

/// The handle is gone before its wait is reached.
fn a_dropped_queue_still_runs_it(device: &Arc<dyn Device>) -> Outcome {
    let (queue, done) = pair(device)?;
    let gate = Gate::new(device)?;
    queue.host_call(Submission::new().wait(gate.semaphore(), 1).signal(&done, 1), fine())?;
    drop(queue);
    gate.open()?;
    Ok(done.wait(1, soon())?)
}

/// The last handle goes on a thread of the pool.
fn may_hold_the_last_queue(device: &Arc<dyn Device>) -> Outcome {
    let (queue, done) = pair(device)?;
    let gate = Gate::new(device)?;
    let held = queue.clone();
    let submission = Submission::new().wait(gate.semaphore(), 1).signal(&done, 1);
    queue.host_call(submission, doing(move || drop(held)))?;
    drop(queue);
    gate.open()?;
    done.wait(1, soon())?;
    eventually("the queue is gone", || device.counters().queues.live == 0)
}

/// A kernel, a call that changes what it wrote, and a kernel.
fn between_two_dispatches(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = kernels::ADD_ONE.load(device)?;
    let buffer = host_buffer(device, &[1_u32; 64])?;
    let step = device.create_semaphore(0)?;
    let add = record(device, |encoder| {
        encoder.launch(Dispatch::new(&executable, "add_one")?.block(64).arg(&buffer).arg(64_u32))
    })?;
    gpu.queue.submit(Submission::new().execute(&add).signal(&step, 1))?;
    let touched = buffer.clone();
    let call: HostCall = Box::new(move |completion| {
        let changed = contents::<u32>(&touched).and_then(|numbers| {
            let numbers: Vec<u32> = numbers.iter().map(|number| number * 10).collect();
            touched.write(0, &to_bytes(&numbers))
        });
        completion.complete(changed);
    });
    gpu.queue.host_call(Submission::new().wait(&step, 1).signal(&step, 2), call)?;
    gpu.queue.submit(Submission::new().wait(&step, 2).execute(&add).signal(&step, 3))?;
    step.wait(3, soon())?;
    check_eq!(contents::<u32>(&buffer)?, vec![21; 64]);
    Ok(())
}
