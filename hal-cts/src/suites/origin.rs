//! Where a failure began is known however far it has gone: submission, label, kernels, driver status, cause.

use crate::support::{Gate, Launch, host_buffer, queues, record, soon, timelines};
use crate::{Failure, Outcome, Requirement, kernels};
use hal_core::{
    BufferParams, Device, Dispatch, Error, ErrorKind, NativeStatus, Origin, Result, Semaphore, Submission,
    SubmissionId,
};
use std::error::Error as _;
use std::sync::Arc;

suite! { "origin", in both encodings,
    &[] => [
        first_dependant_is_the_origin_after_any_number_of_hops,
        origin_names_device_queue_and_sequence,
        origin_without_a_label_has_none,
        origin_of_an_empty_submission_names_no_kernel,
        siblings_are_origins_of_their_own,
        first_failure_of_two_branches_is_kept,
        native_status_survives_five_hops,
        cause_survives_five_hops,
        every_kind_survives_five_hops,
        text_does_not_grow_on_the_way,
        text_names_label_and_sequence,
        late_waiters_hear_the_same,
    ],
    &[Requirement::Kernels] => [
        origin_names_its_kernels,
        origin_names_each_kernel_once,
    ],
    &[Requirement::Kernels, Requirement::FaultReporting] => [fault_is_quoted_after_five_hops],
}

/// A failure that has gone this far, the first submission on its way, and the timeline at its end.
struct Path {
    first: SubmissionId,
    start: Arc<dyn Semaphore>,
    ends: Vec<Arc<dyn Semaphore>>,
}

impl Path {
    /// A chain over three queues; the first submission is given, the others have labels of their own.
    fn new(device: &Arc<dyn Device>, hops: usize, first: Submission) -> Result<Self> {
        let queues = queues(device, 3)?;
        let links = timelines(device, hops + 1)?;
        // So that numbers tell something.
        queues[0].submit(Submission::new().label("before"))?;
        let id = queues[0].submit(first.wait(&links[0], 1).signal(&links[1], 1))?;
        for hop in 1..hops {
            let submission = Submission::new().label(format!("hop {hop}"));
            queues[hop % 3].submit(submission.wait(&links[hop], 1).signal(&links[hop + 1], 1))?;
        }
        Ok(Path { first: id, start: links[0].clone(), ends: links[1..].to_vec() })
    }

    /// The error at the end, which is that of every link.
    fn fail(&self, error: Error) -> Outcome<Error> {
        let kind = error.kind();
        self.start.fail(error);
        let mut last = None;
        for end in &self.ends {
            last = Some(check_err!(end.wait(1, soon()), kind));
        }
        last.ok_or_else(|| Failure::new("a path has at least one hop"))
    }
}

fn aborted() -> Error {
    Error::new(ErrorKind::Aborted, "the reason")
}

fn origin(error: &Error) -> Outcome<&Origin> {
    error.origin().ok_or_else(|| Failure::new(format!("no origin: {error}")))
}

/// One to five, and fifty.
fn first_dependant_is_the_origin_after_any_number_of_hops(device: &Arc<dyn Device>) -> Outcome {
    for hops in [1, 2, 3, 4, 5, 50] {
        let path = Path::new(device, hops, Submission::new().label("the first"))?;
        let error = path.fail(aborted())?;
        let origin = origin(&error)?;
        check_eq!(origin.label.as_deref(), Some("the first"), "{hops} hops");
        check_eq!(origin.sequence, path.first.sequence, "{hops} hops");
        check_eq!(origin.queue, path.first.queue, "{hops} hops");
    }
    Ok(())
}

/// As the ids of accepted submissions do.
fn origin_names_device_queue_and_sequence(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    for sequence in 0..5 {
        let (start, end) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
        let id = queue.submit(Submission::new().wait(&start, 1).signal(&end, 1))?;
        start.fail(aborted());
        let error = check_err!(end.wait(1, soon()), ErrorKind::Aborted);
        let origin = origin(&error)?;
        check_eq!((origin.queue, origin.sequence), (queue.id(), sequence));
        check_eq!((id.queue, id.sequence), (queue.id(), sequence));
        check_eq!(origin.device, device.info().uri());
    }
    Ok(())
}

/// Not that of another.
fn origin_without_a_label_has_none(device: &Arc<dyn Device>) -> Outcome {
    let error = Path::new(device, 3, Submission::new())?.fail(aborted())?;
    check_eq!(origin(&error)?.label, None);
    Ok(())
}

/// Nor does one that only copies.
fn origin_of_an_empty_submission_names_no_kernel(device: &Arc<dyn Device>) -> Outcome {
    let buffer = host_buffer(device, &[0_u8; 16])?;
    let fill = record(device, |encoder| encoder.fill(&buffer, 0, 16, &[1]))?;
    for submission in [Submission::new(), Submission::new().execute(&fill)] {
        let error = Path::new(device, 2, submission)?.fail(aborted())?;
        check!(origin(&error)?.kernels.is_empty(), "{error}");
    }
    Ok(())
}

/// The host failed what both wait for: each begins a failure of its own.
fn siblings_are_origins_of_their_own(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let start = device.create_semaphore(0)?;
    let ends = timelines(device, 10)?;
    let mut ids = Vec::new();
    for (number, end) in ends.iter().enumerate() {
        let submission = Submission::new().label(format!("sibling {number}"));
        ids.push(queues[number % 2].submit(submission.wait(&start, 1).signal(end, 1))?);
    }
    start.fail(aborted());
    for (number, (end, id)) in ends.iter().zip(&ids).enumerate() {
        let error = check_err!(end.wait(1, soon()), ErrorKind::Aborted);
        let origin = origin(&error)?;
        check_eq!(origin.label.as_deref(), Some(&*format!("sibling {number}")));
        check_eq!((origin.queue, origin.sequence), (id.queue, id.sequence));
    }
    Ok(())
}

/// Two submissions fail one after the other; what depends on both has the origin of the first.
fn first_failure_of_two_branches_is_kept(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 3)?;
    for first in [0, 1] {
        let starts = timelines(device, 2)?;
        let middle = timelines(device, 2)?;
        let end = device.create_semaphore(0)?;
        for (branch, label) in ["branch 0", "branch 1"].into_iter().enumerate() {
            let submission = Submission::new().label(label).wait(&starts[branch], 1);
            queues[branch].submit(submission.signal(&middle[branch], 1))?;
        }
        let both = Submission::new().label("both").wait(&middle[0], 1).wait(&middle[1], 1);
        queues[2].submit(both.signal(&end, 1))?;
        for branch in [first, 1 - first] {
            starts[branch].fail(aborted());
            check_err!(middle[branch].wait(1, soon()), ErrorKind::Aborted);
            check_err!(end.wait(1, soon()), ErrorKind::Aborted);
        }
        let error = check_err!(end.query(), ErrorKind::Aborted);
        check_eq!(origin(&error)?.label.as_deref(), Some(&*format!("branch {first}")));
    }
    Ok(())
}

/// Call, number and name.
fn native_status_survives_five_hops(device: &Arc<dyn Device>) -> Outcome {
    for name in [None, Some("SOME_NAME".to_owned())] {
        let native = NativeStatus { call: "someCall", code: 4321, name };
        let given = aborted().with_native(native.clone());
        let error = Path::new(device, 5, Submission::new())?.fail(given)?;
        check_eq!(error.native(), Some(&native));
    }
    Ok(())
}

/// An error of somebody else's.
fn cause_survives_five_hops(device: &Arc<dyn Device>) -> Outcome {
    let given = aborted().with_source(std::io::Error::other("a disk on fire"));
    let error = Path::new(device, 5, Submission::new())?.fail(given)?;
    let cause = error.source().map(ToString::to_string);
    check!(cause.as_deref().is_some_and(|cause| cause.contains("a disk on fire")), "{cause:?}");
    Ok(())
}

/// Also the loss of some device, which is not the loss of this one.
fn every_kind_survives_five_hops(device: &Arc<dyn Device>) -> Outcome {
    for kind in [
        ErrorKind::InvalidArgument,
        ErrorKind::OutOfRange,
        ErrorKind::NotFound,
        ErrorKind::ResourceExhausted,
        ErrorKind::DeadlineExceeded,
        ErrorKind::Cancelled,
        ErrorKind::Unavailable,
        ErrorKind::Unimplemented,
        ErrorKind::DeviceLost,
        ErrorKind::Aborted,
        ErrorKind::Internal,
    ] {
        Path::new(device, 5, Submission::new())?.fail(Error::new(kind, "given by the host"))?;
        check!(device.lost().is_none(), "{kind}");
    }
    let end = device.create_semaphore(0)?;
    device.create_queue(&Default::default())?.submit(Submission::new().signal(&end, 1))?;
    end.wait(1, soon())?;
    Ok(())
}

/// Every link tells it in the same words.
fn text_does_not_grow_on_the_way(device: &Arc<dyn Device>) -> Outcome {
    let path = Path::new(device, 20, Submission::new().label("once"))?;
    let last = path.fail(aborted())?.to_string();
    for end in &path.ends {
        check_eq!(check_err!(end.query(), ErrorKind::Aborted).to_string(), last);
    }
    check_eq!(last.matches("once").count(), 1);
    Ok(())
}

/// And the reason that was given.
fn text_names_label_and_sequence(device: &Arc<dyn Device>) -> Outcome {
    let path = Path::new(device, 5, Submission::new().label("step 12 of training"))?;
    let text = path.fail(aborted())?.to_string();
    let sequence = format!("submission {}", path.first.sequence);
    for part in ["the reason", "step 12 of training", &sequence] {
        check!(text.contains(part), "no `{part}` in: {text}");
    }
    Ok(())
}

/// Those who come when all is over, by way of new submissions.
fn late_waiters_hear_the_same(device: &Arc<dyn Device>) -> Outcome {
    let path = Path::new(device, 5, Submission::new().label("long ago"))?;
    path.fail(aborted())?;
    device.wait_idle(soon())?;
    let queue = device.create_queue(&Default::default())?;
    for end in &path.ends {
        let late = device.create_semaphore(0)?;
        queue.submit(Submission::new().label("late").wait(end, 1).signal(&late, 1))?;
        let error = check_err!(late.wait(1, soon()), ErrorKind::Aborted);
        check_eq!(origin(&error)?.label.as_deref(), Some("long ago"));
    }
    Ok(())
}

/// In the order in which they would have run.
fn origin_names_its_kernels(device: &Arc<dyn Device>) -> Outcome {
    let executable = kernels::ADD_ONE.load(device)?;
    let x = device.allocate_buffer(&BufferParams::device_local(64))?;
    let commands = record(device, |encoder| {
        encoder.launch(Dispatch::new(&executable, "copy_u32")?.arg(&x).arg(&x).arg(0_u32))?;
        encoder.launch(Dispatch::new(&executable, "add_one")?.arg(&x).arg(0_u32))
    })?;
    for hops in [1, 5] {
        let error = Path::new(device, hops, Submission::new().execute(&commands))?.fail(aborted())?;
        check_eq!(origin(&error)?.kernels, ["copy_u32", "add_one"]);
        check!(error.to_string().contains("copy_u32"), "{error}");
    }
    Ok(())
}

/// However often it would have run, in however many command buffers.
fn origin_names_each_kernel_once(device: &Arc<dyn Device>) -> Outcome {
    let executable = kernels::ADD_ONE.load(device)?;
    let x = device.allocate_buffer(&BufferParams::device_local(64))?;
    let commands = record(device, |encoder| {
        (0..10).try_for_each(|_| encoder.launch(Dispatch::new(&executable, "add_one")?.arg(&x).arg(0_u32)))
    })?;
    let thrice = Submission::new().execute(&commands).execute(&commands).execute(&commands);
    let error = Path::new(device, 2, thrice)?.fail(aborted())?;
    check_eq!(origin(&error)?.kernels, ["add_one"]);
    Ok(())
}

/// A kernel that faults, and five submissions behind it on three queues.
fn fault_is_quoted_after_five_hops(device: &Arc<dyn Device>) -> Outcome {
    let executable = kernels::FAULTS.load(device)?;
    let gate = Gate::new(device)?;
    let trap = record(device, |encoder| encoder.launch(Dispatch::new(&executable, "trap_now")?))?;
    let first = Submission::new().label("the culprit").wait(gate.semaphore(), 1).execute(&trap);
    let path = Path::new(device, 6, first)?;
    path.start.signal(1)?;
    gate.open()?;
    for end in &path.ends {
        let error = check_err!(end.wait(1, soon()), ErrorKind::DeviceLost);
        check!(error.native().is_some_and(|native| native.code != 0 && native.name.is_some()), "{error}");
        let origin = origin(&error)?;
        check_eq!(origin.label.as_deref(), Some("the culprit"));
        check_eq!(origin.sequence, path.first.sequence);
        check_eq!(origin.kernels, ["trap_now"]);
    }
    Ok(())
}
