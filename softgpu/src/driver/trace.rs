//! A trace of what devices run, in the order in which it begins.
//!
//! `SOFTGPU_TRACE=1` prints it on standard error, `SOFTGPU_TRACE=PATH` appends it to a file. A program in the same
//! process can also keep it: [`keep`] and [`take`].

use parking_lot::Mutex;
use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicU8, Ordering};

const UNREAD: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;
static MODE: AtomicU8 = AtomicU8::new(UNREAD);

enum Sink {
    None,
    Stderr,
    File(File),
}

struct State {
    sink: Sink,
    kept: Option<Vec<String>>,
    lines: u64,
}

static STATE: Mutex<State> = Mutex::new(State { sink: Sink::None, kept: None, lines: 0 });

fn is_on() -> bool {
    match MODE.load(Ordering::Acquire) {
        OFF => false,
        ON => true,
        _ => {
            let mut state = STATE.lock();
            if MODE.load(Ordering::Acquire) == UNREAD {
                let wish = std::env::var("SOFTGPU_TRACE").unwrap_or_default();
                set_sink(&mut state, &wish);
            }
            MODE.load(Ordering::Acquire) == ON
        }
    }
}

fn set_sink(state: &mut State, wish: &str) -> bool {
    state.sink = match wish.trim() {
        "" | "0" => Sink::None,
        "1" => Sink::Stderr,
        path => match File::options().create(true).append(true).open(path) {
            Ok(file) => Sink::File(file),
            Err(_) => return false,
        },
    };
    remember(state);
    true
}

fn remember(state: &State) {
    let on = !matches!(state.sink, Sink::None) || state.kept.is_some();
    MODE.store(if on { ON } else { OFF }, Ordering::Release);
}

/// Where lines go from here on: as `SOFTGPU_TRACE`. False if the file cannot be opened.
pub fn set(wish: &str) -> bool {
    set_sink(&mut STATE.lock(), wish)
}

/// Begins to keep lines for [`take`], or stops.
pub fn keep(on: bool) {
    is_on();
    let mut state = STATE.lock();
    state.kept = on.then(Vec::new);
    state.lines = 0;
    remember(&state);
}

/// The lines that were kept since [`keep`] or the last call.
pub fn take() -> Vec<String> {
    STATE.lock().kept.as_mut().map(std::mem::take).unwrap_or_default()
}

/// Adds a line.
pub(super) fn line(text: impl FnOnce() -> String) {
    if !is_on() {
        return;
    }
    let mut state = STATE.lock();
    state.lines += 1;
    let line = format!("softgpu: {}: {}", state.lines, text());
    // A trace that cannot be written is not worth a failure of the program.
    let _ = match &mut state.sink {
        Sink::None => Ok(()),
        Sink::Stderr => writeln!(std::io::stderr(), "{line}"),
        Sink::File(file) => writeln!(file, "{line}"),
    };
    if let Some(kept) = &mut state.kept {
        kept.push(line);
    }
}
