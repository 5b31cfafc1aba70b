//! Runs a program on real queues over the mock, and compares with the model.

use super::model::{Cause, Model, Outcomes, What};
use super::program::{FAILING_LATER, LOST, Op, Point, Program, Submit};
use crate::mock::{self, Control, Pace, Timing};
use crate::native::status_kind;
use hal_core::{
    BufferParams, Deadline, Device, DeviceParams, Error, ErrorKind, Queue, QueueParams, Result, Semaphore,
    Submission,
};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// What callbacks were told, and what had run by then.
type Told = Arc<Mutex<Vec<(u32, Result<()>, bool)>>>;

struct Run<'a> {
    program: &'a Program,
    model: &'a Model,
    controls: Vec<Control>,
    devices: Vec<Option<Arc<dyn Device>>>,
    queues: BTreeMap<usize, Arc<dyn Queue>>,
    semaphores: Vec<Arc<dyn Semaphore>>,
    told: Told,
    closings: usize,
    lost: BTreeSet<usize>,
    patience: Duration,
}

/// `Err` says what is not as it must be, or has not come to pass after that long.
pub(super) fn run(program: &Program, model: &Model, patience: Duration) -> Result<(), String> {
    let mut run = Run::new(program, model, patience);
    for (index, op) in program.all_ops().enumerate() {
        let hasty = program.hasty && index >= program.ops.len();
        run.step(&op, hasty)?;
    }
    run.check()
}

impl<'a> Run<'a> {
    fn new(program: &'a Program, model: &'a Model, patience: Duration) -> Self {
        let params = DeviceParams {
            completion_interval: Duration::from_micros(20),
            teardown_limit: patience,
            event_pool_capacity: 4,
            inline_issue_limit: 1 + (program.seed % 5) as usize,
            ..DeviceParams::default()
        };
        let opened: Vec<_> = (0..program.devices).map(|_| mock::device(&params)).collect();
        let (devices, controls): (Vec<_>, Vec<_>) = opened.into_iter().unzip();
        let initial = program.semaphores.iter().enumerate();
        let semaphores = initial
            .map(|(index, initial)| devices[index % program.devices].create_semaphore(*initial).unwrap())
            .collect();
        for (index, control) in controls.iter().enumerate() {
            control.pace(Pace::Lagging(program.seed.wrapping_mul(2).wrapping_add(index as u64)));
        }
        let devices = devices.into_iter().map(Some).collect();
        let queues = BTreeMap::new();
        Run {
            program,
            model,
            controls,
            devices,
            queues,
            semaphores,
            told: Told::default(),
            closings: 0,
            lost: BTreeSet::new(),
            patience,
        }
    }

    fn step(&mut self, op: &Op, hasty: bool) -> Result<(), String> {
        match op {
            Op::Submit(submit) => self.submit(submit)?,
            Op::DropQueue(queue) => drop(self.queues.remove(queue)),
            // Where a queue signals too, it may be too late; the model knows.
            Op::Signal(point) => drop(self.semaphores[point.semaphore].signal(point.value)),
            Op::Fail { id, semaphore } => {
                self.semaphores[*semaphore].fail(Error::new(ErrorKind::Aborted, format!("by x{id}")));
            }
            Op::Watch { id, wait } => self.on_reached(*id, *wait, None),
            Op::Relay { id, wait, then } => self.on_reached(*id, *wait, Some(*then)),
            Op::Close(device) => self.close(*device, hasty, None)?,
            Op::Lose(device) => self.close(*device, false, Some(LOST))?,
        }
        Ok(())
    }

    fn submit(&mut self, submit: &Submit) -> Result<(), String> {
        let index = self.program.device_of(submit.queue);
        let Some(device) = self.devices[index].clone() else { return Ok(()) };
        let queue = self.queues.entry(submit.queue);
        let queue = queue.or_insert_with(|| device.create_queue(&QueueParams::default()).unwrap());
        let mut submission = Submission::new().label(format!("x{}", submit.id));
        for wait in &submit.waits {
            submission = submission.wait(&self.semaphores[wait.semaphore], wait.value);
        }
        for signal in &submit.signals {
            submission = submission.signal(&self.semaphores[signal.semaphore], signal.value);
        }
        if submit.fills > 0 {
            let buffer = device.allocate_buffer(&BufferParams::device_local(64)).unwrap();
            let mut encoder = device.encoder();
            for fill in 0..submit.fills {
                encoder.fill(&buffer, 0, 64, &pattern(submit.id, fill).to_le_bytes()).unwrap();
            }
            submission = submission.execute(&encoder.finish(&*device).unwrap());
        }
        if let Some((fill, code)) = submit.fails {
            let later = FAILING_LATER.contains(&code);
            let timing = if later { Timing::Deferred } else { Timing::Immediate };
            self.controls[index].fail_pattern(pattern(submit.id, fill), code, timing);
        }
        let taken = queue.submit(submission);
        taken.map(drop).map_err(|error| format!("x{} was not taken: {error}", submit.id))
    }

    fn on_reached(&self, id: u32, wait: Point, then: Option<Point>) {
        let told = self.told.clone();
        let must_have_run = self.model.producer(wait).map_or(Vec::new(), |producer| self.patterns(producer));
        let controls = self.controls.clone();
        let then = then.map(|point| (self.semaphores[point.semaphore].clone(), point.value));
        let callback = move |outcome: Result<()>| {
            let ran = must_have_run.iter().all(|pattern| controls.iter().any(|c| c.ran(*pattern).is_some()));
            match (&outcome, then) {
                (Ok(()), Some((semaphore, value))) => drop(semaphore.signal(value)),
                (Err(error), Some((semaphore, _))) => drop(semaphore.fail(error.clone())),
                (_, None) => {}
            }
            told.lock().push((id, outcome, ran));
        };
        self.semaphores[wait.semaphore].on_reached(wait.value, Box::new(callback));
    }

    /// With a status, the driver loses the device first.
    fn close(&mut self, index: usize, hasty: bool, lost: Option<i64>) -> Result<(), String> {
        if self.devices[index].is_none() {
            return Ok(());
        }
        if !hasty {
            self.settle()?;
        }
        self.closings += 1;
        self.queues.retain(|queue, _| self.program.device_of(*queue) != index);
        let device = self.devices[index].take();
        if let (Some(code), Some(device)) = (lost, &device) {
            self.controls[index].lose(code);
            self.lost.insert(index);
            // Whoever calls the driver next finds out.
            if device.allocate_buffer(&BufferParams::device_local(64)).is_ok() {
                return Err(format!("d{index} is lost, and has allocated a buffer"));
            }
            device
                .wait_idle(Deadline::after(self.patience))
                .map_err(|error| format!("lost d{index}: {error}"))?;
        }
        drop(device);
        Ok(())
    }

    /// Waits until everything has ended that must.
    fn settle(&self) -> Result<(), String> {
        let deadline = Deadline::after(self.patience);
        let expected = &self.model.ended[self.closings];
        loop {
            let open = self.devices.iter().zip(expected).filter_map(|(device, expected)| {
                let retired = device.as_ref()?.counters().retired;
                (retired != *expected).then(|| format!("{retired} submissions have ended, not {expected}"))
            });
            let open: Vec<_> = open.collect();
            if open.is_empty() {
                return Ok(());
            }
            if deadline.has_passed() {
                return Err(format!("closing number {}: {}", self.closings, open.join("; ")));
            }
            std::thread::yield_now();
        }
    }

    fn check(&self) -> Result<(), String> {
        for (index, control) in self.controls.iter().enumerate() {
            let (violations, left) = (control.violations(), control.census());
            // A lost device takes nothing back.
            if !violations.is_empty() || left.total() > 0 && !self.lost.contains(&index) {
                return Err(format!("{violations:?}, left behind: {left:?}"));
            }
        }
        for (index, semaphore) in self.semaphores.iter().enumerate() {
            let (payload, failures) = self.model.semaphore(index);
            let is = semaphore.query();
            if !self.allowed(&is, |is| Some(*is) == payload, &failures) {
                return Err(format!("s{index} is {is:?}, not {payload:?} or {failures:?}"));
            }
        }
        for op in &self.program.ops {
            match op {
                Op::Submit(submit) => self.check_submission(submit)?,
                Op::Watch { id, wait } | Op::Relay { id, wait, .. } => self.check_callback(*id, *wait)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn allowed<T>(&self, is: &Result<T>, ok: impl Fn(&T) -> bool, failures: &BTreeSet<Cause>) -> bool {
        match is {
            Ok(value) => ok(value),
            Err(error) => match cause(error) {
                Some(Cause { what: What::Cancelled, .. }) if self.program.hasty => true,
                Some(cause) => failures.contains(&cause),
                None => false,
            },
        }
    }

    fn check_callback(&self, id: u32, wait: Point) -> Result<(), String> {
        let model = &self.model.outcomes[&id];
        let told = self.told.lock();
        let told: Vec<_> = told.iter().filter(|(to, ..)| *to == id).collect();
        match told[..] {
            [] if model.open => Ok(()),
            [(_, outcome, ran)] => match outcome {
                Ok(()) if !ran => {
                    Err(format!("x{id} was told that {wait:?} is reached, before its work had run"))
                }
                outcome if self.allowed(outcome, |()| model.ok, &model.errors) => Ok(()),
                outcome => Err(format!("x{id} was told {outcome:?}, not {model:?}")),
            },
            _ => Err(format!("x{id} was told {told:?}, not once {model:?}")),
        }
    }

    fn check_submission(&self, submit: &Submit) -> Result<(), String> {
        let id = submit.id;
        let Some(model) = self.model.outcomes.get(&id) else {
            return if self.times(id).is_empty() {
                Ok(())
            } else {
                Err(format!("x{id} ran on a closed device"))
            };
        };
        let (times, all) = (self.times(id), submit.fills as usize);
        let refused_at = match submit.fails {
            Some((fill, code)) if !FAILING_LATER.contains(&code) => fill as usize,
            _ => all,
        };
        let full = times.len() == refused_at;
        let own = Cause { what: What::Native(submit.fails.map_or(0, |(_, code)| code)), origin: Some(id) };
        let may_run = model.may_have_run() || model.errors.contains(&own);
        let must_run = !self.program.hasty && self.must_run(model, own);
        if !(full && (may_run || all == 0) || times.is_empty() && !must_run) {
            return Err(format!("{} fills of x{id} have run, which may come to {model:?}", times.len()));
        }
        for wait in &submit.waits {
            let Some(producer) = self.model.producer(*wait).filter(|_| !times.is_empty()) else { continue };
            let (before, count) = (self.times(producer), self.patterns(producer).len());
            if producer != id && (before.len() < count || before.iter().max() > times.iter().min()) {
                return Err(format!("x{id} ran before x{producer}, which signals {wait:?}"));
            }
        }
        Ok(())
    }

    /// Whether every way it may end includes its work.
    fn must_run(&self, model: &Outcomes, own: Cause) -> bool {
        !model.open && model.errors.iter().all(|cause| *cause == own)
    }

    /// When its fills ran.
    fn times(&self, id: u32) -> Vec<u64> {
        let patterns = self.patterns(id);
        let ran = patterns.iter().filter_map(|pattern| self.controls.iter().find_map(|c| c.ran(*pattern)));
        let times: Vec<u64> = ran.collect();
        debug_assert!(times.is_sorted(), "a stream ran its work out of order");
        times
    }

    fn patterns(&self, id: u32) -> Vec<u32> {
        let submits = self.program.ops.iter().filter_map(|op| match op {
            Op::Submit(submit) if submit.id == id => Some(submit.fills),
            _ => None,
        });
        submits.flat_map(|fills| (0..fills).map(move |fill| pattern(id, fill))).collect()
    }
}

fn pattern(id: u32, fill: u32) -> u32 {
    id << 8 | fill
}

/// What an error says of its cause; `None` if its parts do not fit together.
fn cause(error: &Error) -> Option<Cause> {
    let origin = match error.origin() {
        Some(origin) => Some(number(origin.label.as_deref()?)?),
        None => None,
    };
    let what = match (error.kind(), error.native()) {
        (kind, Some(native)) if kind == status_kind(native.code) => What::Native(native.code),
        (ErrorKind::Aborted, None) => What::Host(number(error.message().strip_prefix("by ")?)?),
        (ErrorKind::Cancelled, None) => What::Cancelled,
        _ => return None,
    };
    Some(Cause { what, origin })
}

fn number(label: &str) -> Option<u32> {
    label.strip_prefix('x')?.parse().ok()
}
