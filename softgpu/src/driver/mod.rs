//! The driver without an ABI: what `cuda` and `hip` are both thin layers over.
//!
//! | Module | What an ABI layer takes from it |
//! |---|---|
//! | [`error`] | [`Error`] (numbered as `CUresult`), [`Result`], [`last_fault`] |
//! | [`config`] | [`config()`](config::config): device count, memory, reported versions |
//! | [`device`] | [`devices`](device::devices), [`device_of`](device::device_of), primary contexts, peers, [`limits`](device::limits) |
//! | [`context`] | [`current()`](context::current) and the thread's stack, [`Context`](context::Context): `synchronize`, `null_stream`, `check` |
//! | [`stream`] | [`Stream`](stream::Stream): create, destroy, `enqueue`, `query`, `synchronize`; [`STREAMS`](stream::STREAMS) |
//! | [`event`] | [`Event`](event::Event): record, `wait_on`, query, synchronize, elapsed; [`EVENTS`](event::EVENTS) |
//! | [`memory`] | [`allocate`](memory::allocate), [`register`](memory::register), [`find`](memory::find) for pointer attributes |
//! | [`copy`] | [`Copy`](copy::Copy), [`Fill`](copy::Fill): check at the call, `issue` on a stream |
//! | [`pool`] | [`Pool`](pool::Pool), [`free`](pool::free), [`free_host`](pool::free_host), [`unregister`](pool::unregister), [`free_async`](pool::free_async) |
//! | [`module`] | [`Module::load`](module::Module::load), [`image_text`](module::image_text), [`Function`](module::Function); [`MODULES`](module::MODULES), [`FUNCTIONS`](module::FUNCTIONS) |
//! | [`launch`] | [`Launch::new`](launch::Launch::new), then `stream.enqueue([Op::Launch(..)])` |
//! | [`op`] | [`Op`](op::Op): also host functions and callbacks |
//! | [`order`], [`trace`] | a seed that decides what runs next, and what ran |
//! | [`graph`] | [`Graph`](graph::Graph), [`GraphExec`](graph::GraphExec), [`Work`](graph::Work) |
//! | [`capture`] | stream capture: [`begin`](capture::begin), [`end`](capture::end), and what it refuses |
//! | [`value`] | [`Value`](value::Value): waits for and writes of values in memory |
//! | [`virtual_memory`] | reserved addresses, [`Physical`](virtual_memory::Physical) memory, mappings |
//! | [`handle`] | [`Handle`](handle::Handle) and [`Registry`](handle::Registry): every object a program holds is looked up, never dereferenced |
//!
//! An ABI layer converts arguments, calls one function here, and converts the answer. Everything here may be called
//! from any thread; nothing holds a lock while a kernel or a host function runs.
//!
//! **Order.** Each stream is a queue with a thread of its own. A position in a queue is a [`Point`](stream::Point);
//! events, stream waits, graph launches and synchronisation are all waits for points.
//!
//! **Failure.** A fault marks the context with its code ([`Context::fail`](context::Context::fail)): every later call
//! in the context returns it, kernels that run are stopped, operations that wait are dropped, and their points are
//! reached at once, so that nothing waits for ever.

pub mod arena;
pub mod capture;
pub mod config;
pub mod context;
pub mod copy;
pub mod device;
pub mod error;
pub mod event;
pub mod graph;
pub mod handle;
mod hardware;
pub mod launch;
pub mod leaks;
pub mod memory;
pub mod module;
pub mod op;
pub mod order;
pub mod pool;
pub mod stream;
mod tasks;
pub mod trace;
pub mod value;
pub mod virtual_memory;
mod watcher;

pub use error::{Error, Result, last_fault};

/// Handles that a program holds now, by kind, where there are any. The default pools of devices do not count.
pub fn live_handles() -> Vec<(&'static str, usize)> {
    let defaults = device::devices().iter().filter(|device| device.has_default_pool()).count();
    let (pools, made) = pool::POOLS.census();
    let counts = [
        context::CONTEXTS.census(),
        stream::STREAMS.census(),
        event::EVENTS.census(),
        module::MODULES.census(),
        graph::GRAPHS.census(),
        graph::EXECS.census(),
        virtual_memory::PHYSICAL.census(),
        (pools, made.saturating_sub(defaults)),
        ("allocations", memory::live().iter().filter(|a| a.kind != memory::Kind::Global).count()),
    ];
    counts.into_iter().filter(|(_, count)| *count > 0).collect()
}
