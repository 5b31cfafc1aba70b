//! A program may end at any time, whatever its devices are doing: it returns from `main`, or calls `exit`, and is gone
//! within reason, with its own exit code. The scenarios are programs of their own: this one, run again.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test, which clippy knows only by its harness")]

#[cfg(all(feature = "cuda", feature = "hip", feature = "soft"))]
mod all {
    use hal::{
        BufferParams, Device, DeviceParams, ErrorKind, Queue, QueueParams, Result, Semaphore, Submission,
    };
    use std::cell::RefCell;
    use std::io::Read;
    use std::process::{Command, Stdio};
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    /// Says which scenario a program is, and on which device.
    const SCENARIO: &str = "HAL_EXIT_SCENARIO";
    /// Far longer than any of them takes.
    const LIMIT: Duration = Duration::from_secs(120);
    /// What the program that chooses its exit code chooses.
    const CHOSEN: i32 = 7;

    type Scenario = fn(&str) -> Result<()>;

    const SCENARIOS: [(&str, Scenario, i32); 9] = [
        ("kept in a static", kept_in_a_static, 0),
        ("kept in a thread's locals", kept_in_thread_locals, 0),
        ("dropped at the end of main", dropped_at_the_end, 0),
        ("dropped in the other order", dropped_in_the_other_order, 0),
        ("forgotten", forgotten, 0),
        ("a thread goes on submitting", a_thread_goes_on, 0),
        ("a thread goes on waiting", a_thread_goes_on_waiting, 0),
        ("exit in a callback", exit_in_a_callback, CHOSEN),
        ("exit with the device lost", exit_lost, CHOSEN),
    ];

    /// All that a device can be busy with.
    struct Busy {
        device: Arc<dyn Device>,
        queues: Vec<Arc<dyn Queue>>,
        running: Arc<dyn Semaphore>,
        never: Arc<dyn Semaphore>,
    }

    /// Work that runs, work behind it, work that waits for what never comes, and a dropped queue with some of each.
    fn busy(uri: &str) -> Result<Busy> {
        let device = hal::open_with(uri, &DeviceParams::default())?;
        let queues: Vec<_> =
            (0..3).map(|_| device.create_queue(&QueueParams::default())).collect::<Result<_>>()?;
        let (running, never) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
        let buffer = device.allocate_buffer(&BufferParams::device_local(1 << 20))?;
        let mut encoder = device.encoder();
        (0..4).try_for_each(|byte| encoder.fill(&buffer, 0, 1 << 20, &[byte]))?;
        let commands = encoder.finish(&*device)?;
        for step in 0..64 {
            let work = Submission::new().wait(&running, step).execute(&commands).signal(&running, step + 1);
            queues[step as usize % 3].submit(work)?;
            queues[0].submit(Submission::new().wait(&never, step + 1).execute(&commands))?;
        }
        let dropped = device.create_queue(&QueueParams::default())?;
        dropped.submit(Submission::new().execute(&commands))?;
        dropped.submit(Submission::new().wait(&never, 1).execute(&commands))?;
        Ok(Busy { device, queues, running, never })
    }

    fn kept_in_a_static(uri: &str) -> Result<()> {
        static KEPT: Mutex<Option<Busy>> = Mutex::new(None);
        *KEPT.lock().unwrap() = Some(busy(uri)?);
        Ok(())
    }

    fn kept_in_thread_locals(uri: &str) -> Result<()> {
        thread_local! {
            static KEPT: RefCell<Option<Busy>> = const { RefCell::new(None) };
        }
        let here = busy(uri)?;
        let there = busy(uri)?;
        KEPT.with_borrow_mut(|kept| *kept = Some(here));
        std::thread::spawn(move || KEPT.with_borrow_mut(|kept| *kept = Some(there))).join().unwrap();
        Ok(())
    }

    fn dropped_at_the_end(uri: &str) -> Result<()> {
        let busy = busy(uri)?;
        let cancelled = busy.never.clone();
        drop(busy);
        // The device that made it has gone; waiting for it ends.
        assert!(cancelled.query().is_ok_and(|value| value == 0) || cancelled.query().is_err());
        Ok(())
    }

    fn dropped_in_the_other_order(uri: &str) -> Result<()> {
        let Busy { device, queues, running, never } = busy(uri)?;
        drop(device);
        drop(queues);
        // What was issued has ended, and what could not be is cancelled.
        let ended = running.query();
        assert!(!matches!(&ended, Err(error) if error.kind() != ErrorKind::Cancelled), "{ended:?}");
        drop((running, never));
        Ok(())
    }

    fn forgotten(uri: &str) -> Result<()> {
        std::mem::forget(busy(uri)?);
        Ok(())
    }

    fn a_thread_goes_on(uri: &str) -> Result<()> {
        let busy = busy(uri)?;
        let (begun, begins) = channel();
        std::thread::spawn(move || {
            for step in 1.. {
                // Whatever this says once the process is on its way out.
                drop(busy.queues[1].submit(Submission::new().signal(&busy.never, step)));
                if step == 10 {
                    begun.send(()).unwrap();
                }
            }
        });
        begins.recv().unwrap();
        Ok(())
    }

    fn a_thread_goes_on_waiting(uri: &str) -> Result<()> {
        let busy = busy(uri)?;
        let (begun, begins) = channel();
        std::thread::spawn(move || {
            begun.send(()).unwrap();
            drop(busy.never.wait(u64::MAX, hal::Deadline::NEVER));
        });
        begins.recv().unwrap();
        Ok(())
    }

    fn exit_in_a_callback(uri: &str) -> Result<()> {
        let busy = busy(uri)?;
        busy.running.on_reached(8, Box::new(|_| std::process::exit(CHOSEN)));
        drop(busy.running.wait(u64::MAX, hal::Deadline::NEVER));
        Ok(())
    }

    fn exit_lost(uri: &str) -> Result<()> {
        let busy = busy(uri)?;
        let rules = if uri.contains("cuda") { "cu*:1+=719" } else { "hip*:1+=719" };
        softgpu::fault::set_rules(rules).unwrap();
        let error = busy.running.wait(u64::MAX, hal::Deadline::NEVER).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeviceLost, "{error}");
        std::process::exit(CHOSEN)
    }

    pub fn main() {
        if let Ok(which) = std::env::var(SCENARIO) {
            let (uri, name) = which.split_once(' ').unwrap();
            let (_, run, _) = SCENARIOS.iter().find(|(other, ..)| *other == name).unwrap();
            run(uri).unwrap();
            return;
        }
        for uri in ["soft://cuda/0", "soft://hip/0"] {
            for (name, _, code) in SCENARIOS {
                ends(uri, name, code);
            }
        }
    }

    /// Runs one, and waits for its end.
    fn ends(uri: &str, name: &str, code: i32) {
        let this = std::env::current_exe().unwrap();
        let mut child =
            Command::new(this).env(SCENARIO, format!("{uri} {name}")).stderr(Stdio::piped()).spawn().unwrap();
        let mut errors = child.stderr.take().unwrap();
        let (done, wait) = channel();
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            // Its end is the process's.
            errors.read_to_string(&mut text).ok();
            done.send(()).ok();
            text
        });
        if wait.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
            child.kill().ok();
            panic!("{name} on {uri} does not end; it said: {}", reader.join().unwrap());
        }
        let (status, text) = (child.wait().unwrap(), reader.join().unwrap());
        assert_eq!(status.code(), Some(code), "{name} on {uri}: {status}; it said: {text}");
        assert_eq!(text, "", "{name} on {uri} printed something");
    }
}

fn main() {
    #[cfg(all(feature = "cuda", feature = "hip", feature = "soft"))]
    all::main();
}
