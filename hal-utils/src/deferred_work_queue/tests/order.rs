//! What is issued, when, and in which order.

use super::*;

#[test]
fn ready_work_is_issued_by_its_caller() {
    let bench = Bench::new();
    bench.control.hold();
    let (queue, done) = (bench.queue(), bench.semaphore());
    queue.submit(Submission::new().execute(&bench.fills([7])).signal(&done, 1)).unwrap();
    // No other thread has to run for this to be true.
    assert_eq!(bench.filled(), [7]);
    assert_eq!(bench.device.counters().issued_inline, 1);
    assert_eq!(done.query().unwrap(), 0);
    bench.control.release();
    done.wait(1, soon()).unwrap();
}

#[test]
fn unmet_waits_delay_nobody_else() {
    let bench = Bench::new();
    let (queue, gate, first, second) =
        (bench.queue(), bench.semaphore(), bench.semaphore(), bench.semaphore());
    queue.submit(Submission::new().wait(&gate, 1).execute(&bench.fills([1])).signal(&first, 1)).unwrap();
    queue.submit(Submission::new().execute(&bench.fills([2])).signal(&second, 1)).unwrap();
    second.wait(1, soon()).unwrap();
    assert_eq!(bench.filled(), [2]);
    gate.signal(1).unwrap();
    first.wait(1, soon()).unwrap();
    assert_eq!(bench.filled(), [2, 1]);
}

#[test]
fn a_chain_is_issued_without_one_completion() {
    let bench = Bench::new();
    bench.control.hold();
    let queues = [bench.queue(), bench.queue()];
    let timeline = bench.semaphore();
    for step in 0..100u64 {
        let queue = &queues[step as usize % 2];
        let work = bench.fills([step as u8]);
        queue
            .submit(Submission::new().wait(&timeline, step).execute(&work).signal(&timeline, step + 1))
            .unwrap();
    }
    assert_eq!(bench.filled(), (0..100).collect::<Vec<u64>>());
    assert_eq!(timeline.query().unwrap(), 0);
    // The first waits for a value already reached; each other one for the other queue.
    assert_eq!(bench.device.counters().device_waits, 99);
    assert_eq!(bench.control.count("record"), 100);
    bench.control.release();
    timeline.wait(100, soon()).unwrap();
}

#[test]
fn a_chain_behind_a_gate_is_issued_without_one_completion() {
    let bench = Bench::new();
    bench.control.hold();
    let queues = [bench.queue(), bench.queue(), bench.queue()];
    let (gate, timeline) = (bench.semaphore(), bench.semaphore());
    for step in (0..60u64).rev() {
        let mut submission = Submission::new().wait(&timeline, step).execute(&bench.fills([step as u8]));
        if step == 0 {
            submission = submission.wait(&gate, 1);
        }
        queues[step as usize % 3].submit(submission.signal(&timeline, step + 1)).unwrap();
    }
    assert!(bench.filled().is_empty());
    gate.signal(1).unwrap();
    while bench.device.counters().issued < 60 {
        std::thread::yield_now();
    }
    assert_eq!(bench.filled(), (0..60).collect::<Vec<u64>>());
    assert_eq!(timeline.query().unwrap(), 0);
    bench.control.release();
    timeline.wait(60, soon()).unwrap();
}

#[test]
fn waits_on_the_same_stream_become_nothing() {
    let bench = Bench::new();
    bench.control.hold();
    let (queue, timeline) = (bench.queue(), bench.semaphore());
    for step in 0..10 {
        queue.submit(Submission::new().wait(&timeline, step).signal(&timeline, step + 1)).unwrap();
    }
    assert_eq!(bench.control.count("wait"), 0);
    assert_eq!(bench.device.counters().elided_waits, 9);
    bench.control.release();
    timeline.wait(10, soon()).unwrap();
}

#[test]
fn one_record_for_any_number_of_signals() {
    let bench = Bench::new();
    let semaphores: Vec<_> = (0..40).map(|_| bench.semaphore()).collect();
    let submission =
        semaphores.iter().fold(Submission::new(), |submission, semaphore| submission.signal(semaphore, 3));
    bench.queue().submit(submission).unwrap();
    for semaphore in &semaphores {
        semaphore.wait(3, soon()).unwrap();
    }
    assert_eq!(bench.control.count("record"), 1);
}

#[test]
fn completion_of_one_queue_does_not_wait_for_another() {
    let bench = Bench::new();
    bench.control.hold();
    let (slow, fast) = (bench.queue(), bench.queue());
    let (late, early) = (bench.semaphore(), bench.semaphore());
    slow.submit(Submission::new().execute(&bench.fills([1])).signal(&late, 1)).unwrap();
    fast.submit(Submission::new().execute(&bench.fills([2])).signal(&early, 1)).unwrap();
    // Streams are numbered as they are created.
    bench.control.finish(2);
    early.wait(1, soon()).unwrap();
    assert_eq!(late.query().unwrap(), 0);
    bench.control.release();
    late.wait(1, soon()).unwrap();
}

#[test]
fn issue_order_is_sequence_order_from_many_threads() {
    let bench = Bench::new();
    let (queue, gate) = (bench.queue(), bench.semaphore());
    let buffer = bench.buffer();
    let sequences = parking_lot::Mutex::new(HashMap::new());
    std::thread::scope(|scope| {
        for thread in 0..16u32 {
            let (bench, queue, buffer, gate, sequences) = (&bench, &queue, &buffer, &gate, &sequences);
            scope.spawn(move || {
                for step in 0..100u32 {
                    let tag = thread << 16 | step;
                    let mut encoder = bench.device.encoder();
                    encoder.fill(buffer, 0, 64, &tag.to_le_bytes()).unwrap();
                    let mut submission = Submission::new().execute(&encoder.finish(&*bench.device).unwrap());
                    // Every tenth becomes ready later, and all of those at once.
                    if step % 10 == 0 {
                        submission = submission.wait(gate, 1);
                    }
                    let id = queue.submit(submission).unwrap();
                    sequences.lock().insert(u64::from(tag), (id.sequence, step % 10 == 0));
                }
            });
        }
    });
    gate.signal(1).unwrap();
    queue.wait_idle(soon()).unwrap();
    let order: Vec<_> = bench.filled().iter().map(|tag| sequences.lock()[tag]).collect();
    assert_eq!(order.len(), 1600);
    for gated in [false, true] {
        let group: Vec<_> =
            order.iter().filter(|(_, waited)| *waited == gated).map(|(sequence, _)| *sequence).collect();
        // The ungated were ready as they were taken; the gated all at once.
        let inversions = group.windows(2).filter(|pair| pair[0] > pair[1]).count();
        assert_eq!(inversions, 0, "gated: {gated}");
    }
}

#[test]
fn many_waits_of_one_submission() {
    let bench = Bench::new();
    let gates: Vec<_> = (0..100).map(|_| bench.semaphore()).collect();
    let done = bench.semaphore();
    let submission = gates.iter().fold(Submission::new(), |submission, gate| submission.wait(gate, 1));
    bench.queue().submit(submission.signal(&done, 1)).unwrap();
    for gate in &gates {
        assert_eq!(done.query().unwrap(), 0);
        gate.signal(1).unwrap();
    }
    done.wait(1, soon()).unwrap();
}

#[test]
fn devices_meet_at_semaphores() {
    let (one, two) = (Bench::new(), Bench::new());
    let (first, second) = (one.semaphore(), two.semaphore());
    two.queue().submit(Submission::new().wait(&first, 1).signal(&second, 1)).unwrap();
    one.queue().submit(Submission::new().signal(&first, 1)).unwrap();
    second.wait(1, soon()).unwrap();
    let error = one.queue().submit(Submission::new().execute(&two.fills([1]))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}
