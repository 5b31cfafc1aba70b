//! The smallest executor with tasks: one thread, one list of what is to be polled.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

/// Far beyond what anything takes; so that a lost wake is a failure and not a hang.
const PATIENCE: Duration = Duration::from_secs(60);

type Task = Pin<Box<dyn Future<Output = ()>>>;

#[derive(Default)]
pub struct Executor {
    tasks: Mutex<Vec<Option<Task>>>,
    ready: Arc<Ready>,
}

#[derive(Default)]
struct Ready {
    list: Mutex<VecDeque<usize>>,
    added: Condvar,
}

struct Woken {
    task: usize,
    ready: Arc<Ready>,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.ready.add(self.task);
    }
}

impl Ready {
    fn add(&self, task: usize) {
        self.list.lock().unwrap().push_back(task);
        self.added.notify_one();
    }

    fn next(&self) -> usize {
        let mut list = self.list.lock().unwrap();
        loop {
            if let Some(task) = list.pop_front() {
                return task;
            }
            let (waited, timeout) = self.added.wait_timeout(list, PATIENCE).unwrap();
            assert!(!timeout.timed_out(), "nothing is woken any more: a wake was lost");
            list = waited;
        }
    }
}

impl Executor {
    pub fn new() -> Self {
        Executor::default()
    }

    pub fn spawn(&self, future: impl Future<Output = ()> + 'static) {
        let mut tasks = self.tasks.lock().unwrap();
        self.ready.add(tasks.len());
        tasks.push(Some(Box::pin(future)));
    }

    /// Polls until every task has ended. Polls only what was woken: a wake that is lost is missed.
    pub fn run(&self) {
        let mut left = self.tasks.lock().unwrap().len();
        while left > 0 {
            let index = self.ready.next();
            let Some(mut task) = self.tasks.lock().unwrap()[index].take() else { continue };
            let waker = Waker::from(Arc::new(Woken { task: index, ready: self.ready.clone() }));
            if task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                left -= 1;
            } else {
                self.tasks.lock().unwrap()[index] = Some(task);
            }
        }
    }
}
