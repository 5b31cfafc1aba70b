//! The threads that run host calls, and the list of all that are in flight.

use super::submission::{HostSubmission, drop_quietly};
use crate::core::Core;
use crate::native::Native;
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Arc, Condvar, Mutex};
use hal_core::{Deadline, Error, ErrorKind};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::ThreadId;

pub(crate) struct HostCalls<N: Native> {
    state: Mutex<State<N>>,
    /// There is something to run, or the end.
    ready: Condvar,
    /// Something has ended.
    ended: Condvar,
}

struct State<N: Native> {
    line: VecDeque<Task<N>>,
    /// All that are in flight.
    listed: Vec<Arc<HostSubmission<N>>>,
    threads: Vec<JoinHandle<()>>,
    /// Threads that exist or are being started.
    started: usize,
    idle: usize,
    /// Threads in the midst of ending a call, whose signals may not be out yet, or of work of this crate's own.
    ending: Vec<ThreadId>,
    /// Counts what whoever closes the device waits for.
    changes: u64,
    /// Set once nothing more is taken.
    end: Option<Error>,
}

/// What the pool runs.
enum Task<N: Native> {
    Call(Arc<HostSubmission<N>>),
    /// Work of this crate's own; told the error instead if the device ends first.
    Own(Own),
}

pub(crate) type Own = Box<dyn FnOnce(Option<Error>) + Send>;

impl<N: Native> Default for HostCalls<N> {
    fn default() -> Self {
        let state = State {
            line: VecDeque::new(),
            listed: Vec::new(),
            threads: Vec::new(),
            started: 0,
            idle: 0,
            ending: Vec::new(),
            changes: 0,
            end: None,
        };
        HostCalls { state: Mutex::new(state), ready: Condvar::new(), ended: Condvar::new() }
    }
}

impl<N: Native> HostCalls<N> {
    /// Takes it in, unless the device has ended.
    pub(super) fn list(&self, submission: &Arc<HostSubmission<N>>) -> Result<(), Error> {
        let mut state = self.state.lock();
        if let Some(end) = &state.end {
            return Err(end.clone());
        }
        state.listed.push(submission.clone());
        Ok(())
    }

    pub(super) fn unlist(&self, submission: &Arc<HostSubmission<N>>) {
        let mut state = self.state.lock();
        if let Some(index) = state.listed.iter().position(|listed| Arc::ptr_eq(listed, submission)) {
            let listed = state.listed.swap_remove(index);
            state.changes += 1;
            drop(state);
            drop(listed);
        }
    }

    /// Says that this thread is ending a call, while the answer lives.
    pub(super) fn ending(&self) -> Ending<'_, N> {
        let thread = std::thread::current().id();
        self.state.lock().ending.push(thread);
        Ending { calls: self, thread }
    }

    pub(super) fn changed(&self) {
        self.state.lock().changes += 1;
        self.ended.notify_all();
    }

    /// Its waits are reached: a thread of the pool runs it.
    pub(super) fn enqueue(&self, core: &Arc<Core<N>>, submission: &Arc<HostSubmission<N>>) {
        self.push(core, Task::Call(submission.clone()));
    }

    /// Runs something of this crate's own on the pool.
    pub(crate) fn spawn(&self, core: &Arc<Core<N>>, own: Own) {
        self.push(core, Task::Own(own));
    }

    fn push(&self, core: &Arc<Core<N>>, task: Task<N>) {
        let mut state = self.state.lock();
        if let Some(end) = state.end.clone() {
            drop(state);
            task.refuse(&end);
            return;
        }
        state.line.push_back(task);
        // Those that are idle may have been told of earlier ones and not have woken up yet.
        let more = state.line.len() > state.idle && state.started < core.params.host_call_threads.max(1);
        state.started += usize::from(more);
        drop(state);
        self.ready.notify_one();
        if more {
            self.grow(core);
        }
    }

    fn grow(&self, core: &Arc<Core<N>>) {
        let own = core.clone();
        let spawned = thread::spawn("hal-host", move || {
            while let Some(task) = own.host_calls.next() {
                task.run(&own);
            }
        });
        let stranded = {
            let mut state = self.state.lock();
            match spawned {
                Ok(thread) => {
                    state.threads.push(thread);
                    return;
                }
                Err(error) => {
                    state.started -= 1;
                    if state.started > 0 {
                        // Slower, but it will be run.
                        return;
                    }
                    (std::mem::take(&mut state.line), error)
                }
            }
        };
        let (line, error) = stranded;
        let error =
            Error::new(ErrorKind::ResourceExhausted, "starting a thread for host calls").with_source(error);
        line.into_iter().for_each(|task| task.refuse(&error));
    }

    fn next(&self) -> Option<Task<N>> {
        let mut state = self.state.lock();
        loop {
            if let Some(task) = state.line.pop_front() {
                return Some(task);
            }
            if state.end.is_some() {
                return None;
            }
            state.idle += 1;
            self.ready.wait(&mut state);
            state.idle -= 1;
        }
    }

    /// Takes no more, and fails what has not been started.
    pub(crate) fn cancel(&self, error: &Error) {
        let (line, listed) = {
            let mut state = self.state.lock();
            state.end.get_or_insert_with(|| error.clone());
            (std::mem::take(&mut state.line), state.listed.clone())
        };
        self.ready.notify_all();
        for submission in listed.iter().filter(|submission| submission.is_waiting()) {
            submission.end(Err(error.clone()));
        }
        line.into_iter().for_each(|task| task.refuse(error));
    }

    /// After [`cancel`](Self::cancel): waits for what has been started, except what this very thread is in the midst of.
    /// What has not ended by the deadline fails; its description is in the answer.
    pub(crate) fn close(&self, error: &Error, deadline: Deadline) -> Vec<String> {
        let here = std::thread::current().id();
        loop {
            // Outside the lock: it looks into others.
            let (listed, seen) = {
                let state = self.state.lock();
                (state.listed.clone(), state.changes)
            };
            let held_up = listed.iter().any(|submission| submission.holds_up(here));
            let mut state = self.state.lock();
            if state.changes != seen {
                continue;
            }
            if !held_up && state.ending.iter().all(|&thread| thread == here) {
                break;
            }
            match deadline.remaining() {
                None => self.ended.wait(&mut state),
                Some(remaining) if remaining.is_zero() => break,
                Some(remaining) => {
                    self.ended.wait_for(&mut state, remaining);
                }
            }
        }
        let (threads, listed, busy) = {
            let mut state = self.state.lock();
            let busy = state.ending.iter().any(|&thread| thread != here);
            (std::mem::take(&mut state.threads), state.listed.clone(), busy)
        };
        let late: Vec<_> = listed.iter().filter(|submission| submission.holds_up(here)).collect();
        let abandoned =
            late.iter().map(|submission| format!("host call of {}", submission.origin())).collect();
        for submission in &late {
            submission.end(Err(error.clone()));
        }
        if late.is_empty() && !busy {
            for thread in threads {
                if thread.thread().id() != thread::current().id() {
                    // Panics of calls are caught where they are run.
                    let _ = thread.join();
                }
            }
        }
        abandoned
    }
}

impl<N: Native> Task<N> {
    fn run(self, core: &Core<N>) {
        match self {
            Task::Call(submission) => submission.run(),
            Task::Own(own) => {
                let _ending = core.host_calls.ending();
                // At its end it calls somebody, who must not take a thread along.
                if let Err(panic) = catch_unwind(AssertUnwindSafe(move || own(None))) {
                    drop_quietly(panic);
                }
            }
        }
    }

    fn refuse(self, error: &Error) {
        match self {
            Task::Call(submission) => submission.end(Err(error.clone())),
            Task::Own(own) => own(Some(error.clone())),
        }
    }
}

pub(super) struct Ending<'a, N: Native> {
    calls: &'a HostCalls<N>,
    thread: ThreadId,
}

impl<N: Native> Drop for Ending<'_, N> {
    fn drop(&mut self) {
        let mut state = self.calls.state.lock();
        state.changes += 1;
        if let Some(index) = state.ending.iter().position(|&thread| thread == self.thread) {
            state.ending.swap_remove(index);
        }
        drop(state);
        self.calls.ended.notify_all();
    }
}
