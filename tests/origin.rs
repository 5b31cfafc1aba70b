//! A failure says the same to whoever hears of it, however far away.

#![cfg(all(feature = "cuda", feature = "hip", feature = "soft"))]

use hal::{
    CommandBuffer, Deadline, Device, Dispatch, ErrorKind, ExecutableParams, Queue, QueueParams, Result,
    Submission,
};
use std::sync::Arc;
use std::time::Duration;

const CODE: &str = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry doomed()\n{\n ret;\n}\n";
/// Backend, and the call that is made to fail.
const BACKENDS: [(&str, &str); 2] = [("cuda", "cuLaunchKernel"), ("hip", "hipModuleLaunchKernel")];

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(60))
}

fn open(backend: &str) -> Result<(Arc<dyn Device>, Arc<dyn Queue>)> {
    let device = hal::open(&format!("soft://{backend}/0"))?;
    let queue = device.create_queue(&QueueParams::default())?;
    Ok((device, queue))
}

fn launch(device: &Arc<dyn Device>) -> Result<Arc<dyn CommandBuffer>> {
    let executable = device.load_executable(&ExecutableParams::ptx("doomed", CODE))?;
    let mut encoder = device.encoder();
    // SAFETY: the kernel has no parameters and does nothing.
    unsafe { encoder.dispatch(Dispatch::new(&executable, "doomed")?) }?;
    encoder.finish(&**device)
}

/// Five submissions between the call that fails and the last to hear of it, on devices of both backends in turn, beginning
/// on either. The rules are the process's, so this is one test.
#[test]
fn a_failure_says_after_five_hops_what_it_said_at_first() -> Result<()> {
    for first in 0..2 {
        let ((backend, call), (other_backend, _)) = (BACKENDS[first], BACKENDS[1 - first]);
        let ((device, queue), (other_device, other_queue)) = (open(backend)?, open(other_backend)?);
        let links = (0..6).map(|_| device.create_semaphore(0)).collect::<Result<Vec<_>>>()?;
        let (gate, never) = (device.create_semaphore(0)?, other_device.create_semaphore(0)?);
        // Those that will hear of it are there before it happens; one of them waits for something else as well.
        for (hop, pair) in links.windows(2).enumerate() {
            let submission = Submission::new().label(format!("hop {hop}")).wait(&pair[0], 1);
            let submission = if hop == 2 { submission.wait(&never, 1) } else { submission };
            let on = if hop % 2 == 0 { &other_queue } else { &queue };
            on.submit(submission.signal(&pair[1], 1))?;
        }
        let work = launch(&device)?;
        let culprit = Submission::new().label("the culprit").wait(&gate, 1).execute(&work);
        let id = queue.submit(culprit.signal(&links[0], 1))?;
        softgpu::fault::set_rules(&format!("{call}:1=2")).unwrap();
        gate.signal(1)?;
        let at_first = links[0].wait(1, soon()).unwrap_err();
        let at_last = links[5].wait(1, soon()).unwrap_err();
        softgpu::fault::set_rules("").unwrap();
        let late = other_device.create_semaphore(0)?;
        other_queue.submit(Submission::new().label("late").wait(&links[5], 1).signal(&late, 1))?;
        let at_late = late.wait(1, soon()).unwrap_err();

        for (error, who) in [(&at_first, "the first"), (&at_last, "the last"), (&at_late, "a late one")] {
            let who = format!("{who}, from {backend}: {error}");
            assert_eq!(error.kind(), ErrorKind::ResourceExhausted, "{who}");
            let native = error.native().unwrap_or_else(|| panic!("no status: {who}"));
            assert_eq!((native.call, native.code), (call, 2), "{who}");
            let origin = error.origin().unwrap_or_else(|| panic!("no origin: {who}"));
            assert_eq!(origin.label.as_deref(), Some("the culprit"), "{who}");
            assert_eq!((origin.queue, origin.sequence), (id.queue, id.sequence), "{who}");
            assert_eq!(origin.device, format!("{backend}://0"), "{who}");
            assert_eq!(origin.kernels, ["doomed"], "{who}");
            assert_eq!(error.to_string(), at_first.to_string(), "{who}");
        }
        let (text, name) = (at_last.to_string(), format!("{backend}://0"));
        for part in [call, "the culprit", "doomed", &name] {
            assert!(text.contains(part), "{part} is not in: {text}");
        }
        assert!(!text.contains("hop"), "{text}");
        // Both devices are as they were.
        for (device, queue) in [(&device, &queue), (&other_device, &other_queue)] {
            assert!(device.lost().is_none());
            let fine = device.create_semaphore(0)?;
            queue.submit(Submission::new().execute(&launch(device)?).signal(&fine, 1))?;
            fine.wait(1, soon())?;
        }
    }
    Ok(())
}
