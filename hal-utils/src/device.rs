//! The device a user holds, and its end.

use crate::buffer::DeviceBuffer;
use crate::command_buffer::{self, Recorded};
use crate::core::Core;
use crate::deferred_work_queue::{self, QueueCore, cancel_unissued, run_completion, run_worker};
use crate::executable::Module;
use crate::interop::{self, Watcher};
use crate::native::Native;
use crate::queue::SharedQueue;
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Arc, AtomicU64, Mutex, Ordering};
use crate::timeline::TimelineSemaphore;
use hal_core::{
    Buffer, BufferParams, BufferRef, Command, CommandBuffer, CommandList, Deadline, Device, DeviceCounters,
    DeviceId, DeviceInfo, DeviceParams, Error, ErrorKind, EventFd, Executable, ExecutableParams,
    ExportedEvent, ExportedEventFd, ImportedEventFd, MemoryKind, MemoryStatistics, NativeContext,
    NativeEvent, OnLoaded, Queue, QueueParams, Result, Semaphore, SemaphorePoint, validate,
};
use std::any::Any;
use std::fmt;

/// Std's even in models, which do not look at it.
static NEXT_DEVICE: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

pub(crate) struct SharedDevice<N: Native> {
    lifeline: Arc<Lifeline<N>>,
}

/// Held by the handles that can submit: devices and queues. The device closes with the last of them.
pub(crate) struct Lifeline<N: Native> {
    core: Arc<Core<N>>,
    threads: Mutex<Threads>,
    watcher: Watcher,
}

#[derive(Default)]
struct Threads {
    worker: Option<JoinHandle<()>>,
    completion: Option<JoinHandle<()>>,
}

impl<N: Native> SharedDevice<N> {
    pub(crate) fn open(native: N, params: &DeviceParams) -> Result<Self> {
        let id = DeviceId(NEXT_DEVICE.fetch_add(1, Ordering::Relaxed));
        let core = Core::new(native, id, params.clone());
        // From here on, dropping the lifeline ends whatever has been started.
        let lifeline =
            Arc::new(Lifeline { core: core.clone(), threads: Mutex::default(), watcher: Watcher::default() });
        let worker = core.clone();
        let worker = spawn("hal-worker", move || run_worker(&worker))?;
        lifeline.threads.lock().worker = Some(worker);
        let completion = core.clone();
        let completion = spawn("hal-completion", move || finish(&completion))?;
        lifeline.threads.lock().completion = Some(completion);
        Ok(SharedDevice { lifeline })
    }

    pub(crate) fn of(lifeline: Arc<Lifeline<N>>) -> Self {
        SharedDevice { lifeline }
    }

    fn core(&self) -> &Arc<Core<N>> {
        &self.lifeline.core
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    thread::spawn(name, run).map_err(|error| {
        Error::new(ErrorKind::ResourceExhausted, format!("starting the thread {name}")).with_source(error)
    })
}

/// The completion thread, and what is left to do at its end.
fn finish<N: Native>(core: &Arc<Core<N>>) {
    let abandoned = run_completion(core);
    core.set_closed();
    let current = core.inspect(core.enter());
    // In any case: an event that a kept node owns holds the core.
    core.spares.close();
    core.file_rings.clear();
    match current {
        Ok(_current) => {
            // SAFETY: the device is current.
            unsafe {
                core.streams.drain(core);
                core.events.drain(core);
            }
        }
        Err(error) => core.note(Err(error)),
    }
    core.report_teardown(abandoned);
}

impl<N: Native> Drop for Lifeline<N> {
    fn drop(&mut self) {
        let cancelled = Error::new(
            ErrorKind::Cancelled,
            format!(
                "{} was closed before the work could start; keep the device or a queue",
                self.core.info().uri()
            ),
        );
        let deadline = Deadline::after(self.core.params.teardown_limit);
        cancel_unissued(&self.core, &cancelled);
        // While both threads still serve them.
        for abandoned in self.core.host_calls.close(&cancelled, deadline) {
            self.core.note(Err(Error::new(
                ErrorKind::Cancelled,
                format!("{abandoned} still ran after the teardown limit"),
            )));
        }
        self.watcher.end(&cancelled);
        let Threads { worker, completion } = std::mem::take(&mut *self.threads.lock());
        // The worker first: what it is issuing now is the last that the completion thread gets.
        self.core.worker.exit();
        join(worker);
        self.core.completion.exit(deadline);
        join(completion);
    }
}

/// Joins a thread, unless this is it: then it ends by itself, once the callback that brought us here returns.
fn join(thread: Option<JoinHandle<()>>) {
    if let Some(thread) = thread
        && thread.thread().id() != thread::current().id()
    {
        // A panic there was a user's callback; it has been printed, and the work is over either way.
        let _ = thread.join();
    }
}

impl<N: Native> Device for SharedDevice<N> {
    fn id(&self) -> DeviceId {
        self.core().id
    }

    fn info(&self) -> &DeviceInfo {
        self.core().info()
    }

    fn create_queue(&self, params: &QueueParams) -> Result<Arc<dyn Queue>> {
        let core = self.core();
        core.alive()?;
        validate::queue_params(params)?;
        let queue = core.inspect(QueueCore::create(core, params.priority))?;
        let handle = SharedQueue::new(queue.clone(), self.lifeline.clone());
        core.members.lock().add_queue(&queue)?;
        Ok(Arc::new(handle))
    }

    fn create_semaphore(&self, initial: u64) -> Result<Arc<dyn Semaphore>> {
        let core = self.core();
        core.alive()?;
        let semaphore = Arc::new(TimelineSemaphore::new(initial));
        core.members.lock().add_semaphore(&semaphore)?;
        Ok(semaphore)
    }

    fn allocate_buffer(&self, params: &BufferParams) -> Result<Arc<dyn Buffer>> {
        Ok(Arc::new(DeviceBuffer::allocate(self.core(), params)?))
    }

    fn memory_statistics(&self, kind: MemoryKind) -> MemoryStatistics {
        self.core().memory.statistics(kind)
    }

    fn load_executable(&self, params: &ExecutableParams<'_>) -> Result<Arc<dyn Executable>> {
        Ok(Arc::new(Module::load(self.core(), params)?))
    }

    fn load_executable_then(&self, params: &ExecutableParams<'_>, then: OnLoaded) {
        let core = self.core().clone();
        let (label, format, image) = (params.label.to_owned(), params.format, params.image.to_vec());
        self.core().host_calls.spawn(
            self.core(),
            Box::new(move |end| {
                let loaded = match end {
                    Some(end) => Err(end.context(format_args!("loading `{label}`"))),
                    None => Module::load(&core, &ExecutableParams { label: &label, format, image: &image })
                        .map(|module| Arc::new(module) as Arc<dyn Executable>),
                };
                drop(core);
                then(loaded);
            }),
        );
    }

    fn create_command_buffer(&self, list: CommandList) -> Result<Arc<dyn CommandBuffer>> {
        validate::device("command list", list.device_id(), self.id())?;
        for buffer in list.commands().iter().flat_map(buffers) {
            if let BufferRef::Direct(range) = buffer {
                command_buffer::ours::<N>(&*range.buffer)?;
            }
        }
        Ok(Arc::new(Recorded::<N>::new(self.core(), list)?))
    }

    fn native_context(&self) -> Option<NativeContext> {
        self.core().native().context().map(NativeContext::from_raw)
    }

    fn export_event(&self, point: &SemaphorePoint) -> Result<ExportedEvent> {
        deferred_work_queue::export_event(self.core(), point)
    }

    unsafe fn import_event(&self, event: NativeEvent, point: &SemaphorePoint) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { deferred_work_queue::import_event(self.core(), event, point) }
    }

    fn export_eventfd(&self, point: &SemaphorePoint) -> Result<ExportedEventFd> {
        interop::export_eventfd(point)
    }

    fn import_eventfd(&self, descriptor: EventFd, point: &SemaphorePoint) -> Result<ImportedEventFd> {
        self.lifeline.watcher.import(descriptor, point)
    }

    fn lost(&self) -> Option<Error> {
        self.core().lost().cloned()
    }

    fn wait_idle(&self, deadline: Deadline) -> Result<()> {
        self.core().wait_idle(deadline)
    }

    fn counters(&self) -> DeviceCounters {
        let core = self.core();
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        DeviceCounters {
            queues: core.streams.counters(),
            submitted: get(&core.counters.submitted),
            issued: get(&core.counters.issued),
            retired: get(&core.counters.retired),
            failed: get(&core.counters.failed),
            issued_inline: get(&core.counters.issued_inline),
            device_waits: get(&core.counters.device_waits),
            elided_waits: get(&core.counters.elided_waits),
            events: core.events.existing(),
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The memory a command uses.
fn buffers(command: &Command) -> Vec<&BufferRef> {
    match command {
        Command::Fill { target, .. } | Command::Update { target, .. } => vec![target],
        Command::Copy { source, target } => vec![source, target],
        Command::Dispatch(dispatch) => dispatch.memory().collect(),
        _ => Vec::new(),
    }
}

impl<N: Native> fmt::Debug for SharedDevice<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("id", &self.id())
            .field("uri", &self.info().uri())
            .finish_non_exhaustive()
    }
}
