//! Order: a seed decides which operation of the devices runs next.
//!
//! Without a seed, every stream runs as soon as it can. With one ([`set_seed`], or `SOFTGPU_ORDER`), operations run one
//! at a time, and the seed picks each from those that are at the head of their stream and wait for nothing. So every
//! order that streams and events permit has a seed, and no other order is possible.
//!
//! **Same seed, same order.** Devices move only at points that the program's calls define: the seed decides after each
//! call how many operations run before it returns, and a call that waits lets them run until what it waits for is done.
//! A program whose calls come in the same sequence therefore sees the same order. If calls come from several threads,
//! their interleaving is the program's own and the order can only be the same if that is.
//!
//! **Nothing gets stuck.** A program may wait for the device without a call, by looking at memory: when no call was made
//! for [`IDLE`], devices move by themselves. A host function may wait for the program: when it has run for
//! [`HOST_PATIENCE`], others run beside it; so do others beside a kernel after [`DEVICE_PATIENCE`]. These are the only
//! places where time plays a part.

use super::context::CONTEXTS;
use super::error::{Error, Result};
use super::handle::Handle;
use super::stream::{Point, Stream};
use super::trace;
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// How long no call must have been made for devices to move by themselves.
pub const IDLE: Duration = Duration::from_millis(10);
/// How long a host function runs alone.
pub const HOST_PATIENCE: Duration = Duration::from_millis(10);
/// How long a kernel, a copy or a fill runs alone.
pub const DEVICE_PATIENCE: Duration = Duration::from_millis(100);

const UNREAD: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

static MODE: AtomicU8 = AtomicU8::new(UNREAD);
static STATE: Mutex<State> = Mutex::new(State::new());
/// Something happened that the dispatcher must look at.
static STIRRED: Condvar = Condvar::new();
/// A step is over, or there is none to make.
static STEPPED: Condvar = Condvar::new();

struct Running {
    stream: Handle,
    until: Instant,
}

struct State {
    random: u64,
    /// How eager devices are with this seed: 0 to 2.
    eagerness: u64,
    /// Streams that have work, and those that run some.
    streams: BTreeMap<Handle, Arc<Stream>>,
    running: Option<Running>,
    /// Steps that calls which are about to return want to be made.
    wanted: u64,
    /// What calls are waiting for.
    waits: Vec<(u64, Point)>,
    next_wait: u64,
    /// Calls so far.
    calls: u64,
    /// The program makes no calls: move by yourself.
    idle: bool,
    dispatcher: bool,
}

impl State {
    const fn new() -> Self {
        Self {
            random: 0,
            eagerness: 0,
            streams: BTreeMap::new(),
            running: None,
            wanted: 0,
            waits: Vec::new(),
            next_wait: 0,
            calls: 0,
            idle: false,
            dispatcher: false,
        }
    }

    fn draw(&mut self) -> u64 {
        crate::random::next(&mut self.random)
    }

    fn start_dispatcher(&mut self) -> Result<()> {
        if !self.dispatcher {
            // Never joined: it holds nothing that outlives the process.
            let spawned = std::thread::Builder::new().name("softgpu-order".into()).spawn(dispatch);
            spawned.map_err(|_| Error::OPERATING_SYSTEM)?;
            self.dispatcher = true;
        }
        Ok(())
    }

    /// Streams whose next operation can run now. Waits that are over are passed.
    fn ready(&mut self) -> Vec<Arc<Stream>> {
        loop {
            let mut passed = false;
            let mut ready = Vec::new();
            self.streams.retain(|_, stream| {
                let head = stream.head();
                passed |= head.passed;
                if head.ready {
                    ready.push(stream.clone());
                }
                !head.empty
            });
            if !passed {
                return ready;
            }
        }
    }
}

/// Whether a seed decides.
pub fn is_active() -> bool {
    match MODE.load(Ordering::Acquire) {
        OFF => false,
        ON => true,
        _ => {
            let seed = std::env::var("SOFTGPU_ORDER").ok().and_then(|text| text.trim().parse().ok());
            let mut state = STATE.lock();
            if MODE.load(Ordering::Acquire) == UNREAD {
                set(&mut state, seed);
            }
            MODE.load(Ordering::Acquire) == ON
        }
    }
}

/// From here on lets a seed decide, or nobody.
pub fn set_seed(seed: Option<u64>) {
    let queued: Vec<_> =
        CONTEXTS.all().into_iter().flat_map(|context| context.streams.lock().clone()).collect();
    let released = {
        let mut state = STATE.lock();
        set(&mut state, seed);
        state.streams.extend(queued.into_iter().map(|stream| (stream.handle, stream)));
        state.streams.values().cloned().collect::<Vec<_>>()
    };
    STIRRED.notify_all();
    STEPPED.notify_all();
    released.iter().for_each(|stream| stream.call_worker());
}

fn set(state: &mut State, seed: Option<u64>) {
    state.random = seed.unwrap_or_default();
    state.eagerness = state.draw() % 3;
    // A seed that nobody can carry out is none.
    let on = seed.is_some() && state.start_dispatcher().is_ok();
    MODE.store(if on { ON } else { OFF }, Ordering::Release);
}

/// A number below `count` from the seed, for choices that are made when a call is: which order of a graph's nodes.
pub(super) fn choose(count: usize) -> usize {
    if count < 2 || !is_active() {
        return 0;
    }
    (STATE.lock().draw() % count as u64) as usize
}

/// A stream was given work.
pub(super) fn enqueued(stream: &Arc<Stream>) {
    if is_active() {
        STATE.lock().streams.insert(stream.handle, stream.clone());
        STIRRED.notify_all();
    }
}

/// A context failed, so that waits may be over.
pub(super) fn stir() {
    if MODE.load(Ordering::Acquire) == ON {
        // Taking the lock closes the gap between the dispatcher's last look and its sleep.
        drop(STATE.lock());
        STIRRED.notify_all();
    }
}

/// A stream is done with the operation it was told to run.
pub(super) fn finished(stream: Handle) {
    if MODE.load(Ordering::Acquire) != ON {
        return;
    }
    let mut state = STATE.lock();
    if state.running.as_ref().is_some_and(|running| running.stream == stream) {
        state.running = None;
    }
    drop(state);
    STIRRED.notify_all();
    STEPPED.notify_all();
}

/// A call is about to return: lets the seed make some steps before.
pub(crate) fn after_call() {
    if MODE.load(Ordering::Acquire) == OFF || !is_active() {
        return;
    }
    let mut state = STATE.lock();
    state.calls += 1;
    state.idle = false;
    let drawn = u64::from(state.draw().trailing_zeros());
    let steps = match state.eagerness {
        // Hardly ever before a call waits.
        0 => drawn / 3,
        // Half of all calls make none; else one, two and so on, each half as often.
        1 => drawn,
        // As many as there are, mostly.
        _ => 1 << drawn,
    };
    if steps == 0 || state.streams.is_empty() {
        return;
    }
    state.wanted += steps;
    STIRRED.notify_all();
    while (state.wanted > 0 || state.running.is_some()) && MODE.load(Ordering::Acquire) == ON {
        STEPPED.wait(&mut state);
    }
}

/// While it lives, devices move until a point is reached.
#[derive(Debug)]
pub(super) struct Waiting(Option<u64>);

impl Waiting {
    /// Begins to wait.
    pub(super) fn on(point: &Point) -> Self {
        if !is_active() {
            return Self(None);
        }
        let mut state = STATE.lock();
        let number = state.next_wait;
        state.next_wait += 1;
        state.waits.push((number, point.clone()));
        STIRRED.notify_all();
        Self(Some(number))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(number) = self.0 {
            let mut state = STATE.lock();
            state.waits.retain(|(other, _)| *other != number);
            state.calls += 1;
        }
    }
}

fn dispatch() {
    let mut state = STATE.lock();
    loop {
        if MODE.load(Ordering::Acquire) == OFF {
            state.wanted = 0;
            state.running = None;
            STEPPED.notify_all();
            STIRRED.wait(&mut state);
            continue;
        }
        if let Some(running) = &state.running {
            let until = running.until;
            if STIRRED.wait_until(&mut state, until).timed_out() && Instant::now() >= until {
                // It goes on beside the others.
                state.running = None;
                STEPPED.notify_all();
            }
            continue;
        }
        let waited_for = state.waits.iter().any(|(_, point)| !point.reached());
        if state.wanted == 0 && !waited_for && !state.idle {
            let calls = state.calls;
            let quiet = STIRRED.wait_for(&mut state, IDLE).timed_out() && calls == state.calls;
            state.idle |= quiet && !state.streams.is_empty();
            continue;
        }
        let ready = state.ready();
        if ready.is_empty() {
            // What is left waits for the program, or for what runs beside.
            state.wanted = 0;
            state.idle = false;
            STEPPED.notify_all();
            STIRRED.wait_for(&mut state, IDLE);
            continue;
        }
        if waited_for && state.waits.iter().all(|(_, point)| point.reached()) && state.wanted == 0 {
            // Passing a wait was all that was missing.
            continue;
        }
        let choice = (state.draw() % ready.len() as u64) as usize;
        let stream = &ready[choice];
        state.wanted = state.wanted.saturating_sub(1);
        if let Some((what, patience)) = stream.grant() {
            trace::line(|| format!("stream {:#x}: {what} (one of {})", stream.handle, ready.len()));
            state.running = Some(Running { stream: stream.handle, until: Instant::now() + patience });
        }
    }
}
