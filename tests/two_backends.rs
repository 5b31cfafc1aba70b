//! Devices of two backends in one program: they share semaphores, and nothing else.

#![cfg(all(feature = "cuda", feature = "hip", feature = "soft"))]

use hal::{
    BufferParams, Deadline, Device, ErrorKind, Fence, Queue, QueueParams, Result, Semaphore, SemaphorePoint,
    Submission, wait_all, wait_any,
};
use std::sync::Arc;
use std::time::Duration;

struct Side {
    device: Arc<dyn Device>,
    queue: Arc<dyn Queue>,
    semaphore: Arc<dyn Semaphore>,
}

fn sides() -> Result<[Side; 2]> {
    let side = |uri| -> Result<Side> {
        let device = hal::open(uri)?;
        let queue = device.create_queue(&QueueParams::default())?;
        let semaphore = device.create_semaphore(0)?;
        Ok(Side { device, queue, semaphore })
    };
    Ok([side("soft://cuda/0")?, side("soft://hip/0")?])
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(60))
}

#[test]
fn a_queue_waits_for_the_other_backend() -> Result<()> {
    let [cuda, hip] = sides()?;
    for step in 0..20 {
        // Submitted before what it waits for.
        hip.queue
            .submit(Submission::new().wait(&cuda.semaphore, step + 1).signal(&hip.semaphore, step + 1))?;
        cuda.queue.submit(Submission::new().wait(&hip.semaphore, step).signal(&cuda.semaphore, step + 1))?;
    }
    hip.semaphore.wait(20, soon())
}

#[test]
fn host_waits_span_backends() -> Result<()> {
    let [cuda, hip] = sides()?;
    let points = [SemaphorePoint::new(&cuda.semaphore, 1), SemaphorePoint::new(&hip.semaphore, 1)];
    assert_eq!(wait_all(&points, Deadline::NOW).unwrap_err().kind(), ErrorKind::DeadlineExceeded);
    hip.queue.submit(Submission::new().signal(&hip.semaphore, 1))?;
    assert_eq!(wait_any(&points, soon())?, 1);
    cuda.queue.submit(Submission::new().signal(&cuda.semaphore, 1))?;
    wait_all(&points, soon())?;
    pollster::block_on(points.into_iter().collect::<Fence>().into_future())
}

#[test]
fn a_failure_keeps_its_origin_across_backends() -> Result<()> {
    let [cuda, hip] = sides()?;
    let gate = cuda.device.create_semaphore(0)?;
    cuda.queue.submit(Submission::new().label("where it began").wait(&gate, 1).signal(&cuda.semaphore, 1))?;
    hip.queue
        .submit(Submission::new().label("elsewhere").wait(&cuda.semaphore, 1).signal(&hip.semaphore, 1))?;
    gate.fail(hal::Error::new(ErrorKind::Aborted, "the reason"));
    let error = hip.semaphore.wait(1, soon()).unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::Aborted, "the reason"));
    let origin = error.origin().expect("no origin");
    assert_eq!((origin.label.as_deref(), origin.device.as_str()), (Some("where it began"), "cuda://0"));
    Ok(())
}

#[test]
fn a_buffer_of_another_device_is_refused() -> Result<()> {
    let [cuda, hip] = sides()?;
    let foreign = hip.device.allocate_buffer(&BufferParams::device_local(64))?;
    let own = cuda.device.allocate_buffer(&BufferParams::device_local(64))?;
    let mut encoder = cuda.device.encoder();
    for error in [
        encoder.fill(&foreign, 0, 64, &[1]).unwrap_err(),
        encoder.copy(&own, 0, &foreign, 0, 64).unwrap_err(),
        encoder.update(&foreign, 0, &[1]).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("create it on that device"), "{error}");
    }
    let commands = encoder.finish(&*cuda.device)?;
    let error = hip.queue.submit(Submission::new().execute(&commands)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    Ok(())
}
