//! Futures of semaphores and fences under executors that know nothing of each other, on every backend of the software
//! GPU.

#![cfg(feature = "soft")]
#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "futures/executor.rs"]
mod executor;

use executor::Executor;
use hal::{Device, Error, ErrorKind, Fence, Result, Semaphore, SemaphoreExt, SemaphorePoint, Submission};
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

const MANY: u64 = 10_000;

fn devices() -> Vec<Arc<dyn Device>> {
    hal::backends().iter().map(|backend| hal::open(&format!("soft://{backend}/0")).unwrap()).collect()
}

/// The first of them, where the backend does not matter.
fn device() -> Arc<dyn Device> {
    devices().swap_remove(0)
}

fn semaphore(device: &Arc<dyn Device>) -> Arc<dyn Semaphore> {
    device.create_semaphore(0).unwrap()
}

/// A submission per step, awaited; then a fence over every step and another device's timeline.
async fn work(device: Arc<dyn Device>) -> Result<u64> {
    let queue = device.create_queue(&Default::default())?;
    let timeline = device.create_semaphore(0)?;
    let mut fence = Fence::new();
    for step in 1..=20 {
        queue.submit(Submission::new().wait(&timeline, step - 1).signal(&timeline, step))?;
        timeline.reached(step).await?;
        fence.insert(SemaphorePoint::new(&timeline, step));
    }
    let last = device.create_semaphore(0)?;
    fence.insert(SemaphorePoint::new(&last, 1));
    queue.submit(Submission::new().wait(&timeline, 20).signal(&last, 1))?;
    fence.await?;
    timeline.query()
}

async fn fails(device: Arc<dyn Device>) -> Result<()> {
    let semaphores = [device.create_semaphore(0)?, device.create_semaphore(0)?];
    let fence: Fence = semaphores.iter().map(|semaphore| SemaphorePoint::new(semaphore, 1)).collect();
    let failing = semaphores[1].clone();
    thread::spawn(move || failing.fail(Error::new(ErrorKind::Aborted, "from elsewhere")));
    fence.await
}

#[test]
fn under_pollster() {
    for device in devices() {
        assert_eq!(pollster::block_on(work(device.clone())).unwrap(), 20);
        assert_eq!(pollster::block_on(fails(device)).unwrap_err().kind(), ErrorKind::Aborted);
    }
}

#[test]
fn under_tokio_on_one_thread() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for device in devices() {
        assert_eq!(runtime.block_on(work(device.clone())).unwrap(), 20);
        assert_eq!(runtime.block_on(fails(device)).unwrap_err().kind(), ErrorKind::Aborted);
    }
}

#[test]
fn under_tokio_on_many_threads() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build().unwrap();
    for device in devices() {
        let tasks: Vec<_> = (0..50).map(|_| runtime.spawn(work(device.clone()))).collect();
        for task in tasks {
            assert_eq!(runtime.block_on(task).unwrap().unwrap(), 20);
        }
        assert_eq!(
            runtime.block_on(runtime.spawn(fails(device))).unwrap().unwrap_err().kind(),
            ErrorKind::Aborted
        );
    }
}

#[test]
fn with_a_deadline_under_tokio() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let device = device();
    let (never, soon) = (semaphore(&device), semaphore(&device));
    let queue = device.create_queue(&Default::default()).unwrap();
    runtime.block_on(async {
        let limit = Duration::from_millis(1);
        assert!(tokio::time::timeout(limit, never.reached(1)).await.is_err());
        // It has left nothing behind, and may be waited for again.
        assert_eq!(never.query().unwrap(), 0);
        assert!(tokio::time::timeout(limit, never.reached(1)).await.is_err());
        queue.submit(Submission::new().signal(&soon, 1)).unwrap();
        let limit = Duration::from_secs(20);
        tokio::time::timeout(limit, soon.reached(1)).await.unwrap().unwrap();
    });
}

#[test]
fn ten_thousand_on_one_semaphore_on_one_thread() {
    for device in devices() {
        let (executor, semaphore) = (Executor::new(), semaphore(&device));
        let done = Arc::new(AtomicUsize::new(0));
        for value in 1..=MANY {
            let (reached, done) = (semaphore.reached(value), done.clone());
            executor.spawn(async move {
                reached.await.unwrap();
                // As many as were asked for before: in order of value.
                assert_eq!(done.fetch_add(1, Ordering::Relaxed) as u64, value - 1);
            });
        }
        // Polled after all the others: a signal before that would let later ones find their value reached at once.
        let (registered, begin) = std::sync::mpsc::channel();
        executor.spawn(async move { registered.send(()).unwrap() });
        let signaller = {
            let semaphore = semaphore.clone();
            thread::spawn(move || {
                begin.recv().unwrap();
                (1..=MANY).for_each(|value| semaphore.signal(value).unwrap());
            })
        };
        executor.run();
        signaller.join().unwrap();
        assert_eq!(done.load(Ordering::Relaxed) as u64, MANY);
    }
}

#[test]
fn ten_thousand_on_a_hundred_semaphores_on_one_thread() {
    for device in devices() {
        let executor = Executor::new();
        let queue = device.create_queue(&Default::default()).unwrap();
        let semaphores: Vec<_> = (0..100).map(|_| semaphore(&device)).collect();
        let done = Arc::new(AtomicUsize::new(0));
        for index in 0..MANY as usize {
            let reached = semaphores[index % 100].reached(index as u64 / 100 + 1);
            let done = done.clone();
            executor.spawn(async move {
                reached.await.unwrap();
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
        // And fences over all of them, which are polled again for every entry.
        for value in [1, 50, 100] {
            let fence: Fence =
                semaphores.iter().map(|semaphore| SemaphorePoint::new(semaphore, value)).collect();
            let done = done.clone();
            executor.spawn(async move {
                fence.await.unwrap();
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
        let signaller = thread::spawn(move || {
            for value in 1..=100 {
                let all = Submission::new();
                let all =
                    semaphores.iter().fold(all, |submission, semaphore| submission.signal(semaphore, value));
                queue.submit(all).unwrap();
            }
        });
        executor.run();
        signaller.join().unwrap();
        assert_eq!(done.load(Ordering::Relaxed) as u64, MANY + 3);
    }
}

/// Does something when woken.
struct OnWake<F: Fn() + Send + Sync>(F);

impl<F: Fn() + Send + Sync> Wake for OnWake<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

fn on_wake(run: impl Fn() + Send + Sync + 'static) -> Waker {
    Waker::from(Arc::new(OnWake(run)))
}

fn counting(woken: &Arc<AtomicUsize>) -> Waker {
    let woken = woken.clone();
    on_wake(move || {
        woken.fetch_add(1, Ordering::SeqCst);
    })
}

fn poll(future: &mut (impl Future<Output = Result<()>> + Unpin), waker: &Waker) -> Poll<Result<()>> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

#[test]
fn dropped_while_another_thread_signals() {
    let device = device();
    for round in 0..300 {
        let semaphore = semaphore(&device);
        let woken = Arc::new(AtomicUsize::new(0));
        let mut futures: Vec<_> = (0..32).map(|_| semaphore.reached(1)).collect();
        let mut fences: Vec<_> =
            (0..4).map(|_| Fence::from_iter([SemaphorePoint::new(&semaphore, 1)]).into_future()).collect();
        let waker = counting(&woken);
        futures.iter_mut().for_each(|future| assert!(poll(future, &waker).is_pending()));
        fences.iter_mut().for_each(|future| assert!(poll(future, &waker).is_pending()));
        let together = Arc::new(Barrier::new(2));
        let dropper = {
            let together = together.clone();
            thread::spawn(move || {
                together.wait();
                drop((futures, fences));
            })
        };
        together.wait();
        if round % 2 == 0 {
            semaphore.signal(1).unwrap();
        } else {
            semaphore.fail(Error::new(ErrorKind::Aborted, "test"));
        }
        dropper.join().unwrap();
        // Each woke or was taken back; either way its waker is gone.
        assert!(woken.load(Ordering::SeqCst) <= 36);
        drop(waker);
        assert_eq!(Arc::strong_count(&woken), 1);
    }
}

#[test]
fn dropped_inside_wake() {
    let device = device();
    let semaphore = semaphore(&device);
    // The first that is woken drops all of them, itself among them.
    let futures = Arc::new(Mutex::new(Vec::new()));
    let waker = {
        let futures = futures.clone();
        on_wake(move || {
            let taken: Vec<hal::Reached> = std::mem::take(&mut *futures.lock().unwrap());
            drop(taken);
        })
    };
    for _ in 0..100 {
        let mut future = semaphore.reached(1);
        assert!(poll(&mut future, &waker).is_pending());
        futures.lock().unwrap().push(future);
    }
    semaphore.signal(1).unwrap();
    assert!(futures.lock().unwrap().is_empty());
    assert_eq!(Arc::strong_count(&futures), 2, "only the waker that is held here is left");
}

#[test]
fn made_polled_and_signalled_inside_wake() {
    const DEPTH: u64 = 20;

    struct Chain {
        semaphore: Arc<dyn Semaphore>,
        futures: Mutex<Vec<hal::Reached>>,
        woken: AtomicUsize,
    }

    /// Waits for `value`; when woken, waits for the next and signals that.
    fn link(chain: &Arc<Chain>, value: u64) {
        let mut future = chain.semaphore.reached(value);
        let waker = {
            let chain = chain.clone();
            on_wake(move || {
                chain.woken.fetch_add(1, Ordering::SeqCst);
                if value < DEPTH {
                    link(&chain, value + 1);
                    chain.semaphore.signal(value + 1).unwrap();
                }
            })
        };
        assert!(poll(&mut future, &waker).is_pending());
        chain.futures.lock().unwrap().push(future);
    }

    let semaphore = semaphore(&device());
    let chain = Arc::new(Chain { semaphore, futures: Mutex::default(), woken: AtomicUsize::new(0) });
    link(&chain, 1);
    chain.semaphore.signal(1).unwrap();
    assert_eq!(chain.woken.load(Ordering::SeqCst) as u64, DEPTH);
}

#[test]
fn wakers_replaced_while_another_thread_signals() {
    let device = device();
    for _ in 0..300 {
        let semaphore = semaphore(&device);
        let signaller = {
            let semaphore = semaphore.clone();
            thread::spawn(move || semaphore.signal(1).unwrap())
        };
        let mut future = semaphore.reached(1);
        let mut ready = false;
        let mut last = Arc::new(AtomicUsize::new(0));
        for _ in 0..50 {
            let woken = Arc::new(AtomicUsize::new(0));
            ready = poll(&mut future, &counting(&woken)).is_ready();
            if ready {
                break;
            }
            last = woken;
        }
        signaller.join().unwrap();
        if !ready {
            assert_eq!(last.load(Ordering::SeqCst), 1, "the waker of the last poll was not woken");
            assert!(poll(&mut future, &counting(&last)).is_ready());
        }
    }
}

#[test]
fn polled_on_one_thread_and_then_on_another() {
    for device in devices() {
        let (semaphore, queue) = (semaphore(&device), device.create_queue(&Default::default()).unwrap());
        let (here, there) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut future = semaphore.reached(1);
        assert!(poll(&mut future, &counting(&here)).is_pending());
        let waker = counting(&there);
        let moved = thread::spawn(move || {
            assert!(poll(&mut future, &waker).is_pending());
            future
        });
        let future = moved.join().unwrap();
        queue.submit(Submission::new().signal(&semaphore, 1)).unwrap();
        pollster::block_on(future).unwrap();
        assert_eq!(here.load(Ordering::SeqCst), 0, "the waker was replaced");
    }
}
