//! Executables over native modules.

use crate::buffer::DeviceBuffer;
use crate::core::Core;
use crate::native::Native;
use crate::sync::{Arc, Mutex, Rank};
use hal_core::{
    Buffer, BufferRange, DeviceId, EntryPoint, Error, ErrorKind, Executable, ExecutableParams, Result,
};
use std::any::Any;
use std::fmt;

/// Dynamic shared memory that every driver allows without being asked, in bytes.
const SHARED_MEMORY_BY_DEFAULT: u32 = 48 << 10;

pub(crate) struct Module<N: Native> {
    core: Arc<Core<N>>,
    label: String,
    loaded: Arc<Loaded<N>>,
    /// Found so far, by index. Few per module, so that a list is searched as fast as a map.
    functions: Mutex<Vec<Function<N>>>,
    /// Names of all of them, if the driver can list them.
    names: Option<Vec<String>>,
}

/// The driver's module, for as long as anybody uses code or variables of it.
struct Loaded<N: Native> {
    core: Arc<Core<N>>,
    module: N::Module,
}

struct Function<N: Native> {
    handle: N::Function,
    entry_point: EntryPoint,
    shared_memory_allowed: u32,
}

impl<N: Native> Module<N> {
    pub(crate) fn load(core: &Arc<Core<N>>, params: &ExecutableParams<'_>) -> Result<Self> {
        core.alive()?;
        let formats = &core.info().capabilities.formats;
        if !formats.contains(&params.format) {
            let known: Vec<_> = formats.iter().map(|format| format.name()).collect();
            return Err(Error::new(
                ErrorKind::Unimplemented,
                format!(
                    "loading `{}`: {} does not take {}; it takes {}",
                    params.label,
                    core.info().name,
                    params.format,
                    known.join(", ")
                ),
            ));
        }
        if params.image.is_empty() {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("loading `{}`: the image is empty", params.label),
            ));
        }
        // SAFETY: the closure runs with the device current.
        let loaded = core.with_current(|native| unsafe { native.module_load(params.format, params.image) });
        let module = core
            .inspect(loaded)
            .map_err(|error| error.context(format_args!("loading `{}`", params.label)))?;
        let mut loaded = Module {
            core: core.clone(),
            label: params.label.to_owned(),
            loaded: Arc::new(Loaded { core: core.clone(), module }),
            functions: Mutex::ranked(Rank::Module, Vec::new()),
            names: None,
        };
        // SAFETY: the closure runs with the device current; the module is loaded.
        loaded.names =
            core.inspect(core.with_current(|native| unsafe { native.module_functions(module) }))?;
        Ok(loaded)
    }

    /// The module behind a trait object.
    pub(crate) fn of(executable: &dyn Executable) -> Result<&Module<N>> {
        executable.as_any().downcast_ref().ok_or_else(|| {
            Error::new(
                ErrorKind::InvalidArgument,
                "an executable of a foreign implementation; load it with the device",
            )
        })
    }

    /// The handle of an entry point of this module, ready for launches with that much dynamic shared memory.
    pub(crate) fn function(&self, entry_point: &EntryPoint, shared_memory: u32) -> Result<N::Function> {
        let mut functions = self.functions.lock();
        let function = functions
            .get_mut(entry_point.index as usize)
            .filter(|function| function.entry_point.name == entry_point.name)
            .ok_or_else(|| {
                Error::new(
                    ErrorKind::InvalidArgument,
                    format!(
                        "`{}` is an entry point of another executable than `{}`",
                        entry_point.name, self.label
                    ),
                )
            })?;
        // The default holds for static and dynamic memory together (CUDA C++ programming guide, compute capabilities).
        let together = shared_memory.saturating_add(entry_point.static_shared_memory.unwrap_or(0));
        if together > SHARED_MEMORY_BY_DEFAULT && shared_memory > function.shared_memory_allowed {
            let handle = function.handle;
            // SAFETY: the closure runs with the device current; the module is loaded.
            let allowed = self
                .core
                .with_current(|native| unsafe { native.function_allow_shared_memory(handle, shared_memory) });
            if allowed.is_ok() {
                function.shared_memory_allowed = shared_memory;
            }
            drop(functions);
            return self.core.inspect(allowed).map(|()| handle);
        }
        Ok(function.handle)
    }

    fn not_found(&self, name: &str, error: Error) -> Error {
        let there = match self.names.as_deref() {
            None => String::new(),
            Some([]) => "; it has none".to_owned(),
            Some(names) => format!("; it has `{}`", names.join("`, `")),
        };
        error.context(format_args!("`{}` has no entry point {name:?}{there}", self.label))
    }
}

impl<N: Native> Executable for Module<N> {
    fn device_id(&self) -> DeviceId {
        self.core.id
    }

    fn label(&self) -> &str {
        &self.label
    }

    fn entry_point(&self, name: &str) -> Result<EntryPoint> {
        let mut functions = self.functions.lock();
        if let Some(function) = functions.iter().find(|function| function.entry_point.name == name) {
            return Ok(function.entry_point.clone());
        }
        let found = self.core.with_current(|native| {
            // SAFETY: the closure runs with the device current; the module is loaded.
            unsafe {
                let handle = native.module_function(self.loaded.module, name)?;
                Ok((handle, native.function_info(handle)?))
            }
        });
        let (handle, info) = match found {
            Ok(found) => found,
            Err(error) => {
                drop(functions);
                return self.core.inspect(Err(error)).map_err(|error| match error.kind() {
                    ErrorKind::NotFound => self.not_found(name, error),
                    _ => error.context(format_args!("looking up {name:?} in `{}`", self.label)),
                });
            }
        };
        let entry_point = EntryPoint {
            index: functions.len() as u32,
            name: name.to_owned(),
            parameters: info.parameters,
            max_workgroup_size: info.max_workgroup_size,
            static_shared_memory: info.static_shared_memory,
            registers: info.registers,
            local_memory: info.local_memory,
        };
        functions.push(Function { handle, entry_point: entry_point.clone(), shared_memory_allowed: 0 });
        Ok(entry_point)
    }

    fn entry_points(&self) -> Result<Vec<EntryPoint>> {
        let names = self.names.as_ref().ok_or_else(|| {
            Error::new(
                ErrorKind::Unimplemented,
                format!("{} cannot list entry points; look them up by name", self.core.info().driver.backend),
            )
        })?;
        names.iter().map(|name| self.entry_point(name)).collect()
    }

    fn global(&self, name: &str) -> Result<BufferRange> {
        let module = self.loaded.module;
        // SAFETY: the closure runs with the device current; the module is loaded.
        let found = self.core.with_current(|native| unsafe { native.module_global(module, name) });
        let (address, size) = self
            .core
            .inspect(found)
            .map_err(|error| error.context(format_args!("the variable {name:?} of `{}`", self.label)))?;
        // SAFETY: the driver says so, and the memory lives as long as the module.
        let buffer = unsafe { DeviceBuffer::of(&self.core, address, size as u64, self.loaded.clone()) };
        let buffer: Arc<dyn Buffer> = Arc::new(buffer);
        Ok(BufferRange::whole(&buffer))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl<N: Native> Drop for Loaded<N> {
    fn drop(&mut self) {
        let module = self.module;
        // SAFETY: the closure runs with the device current; every command buffer that uses it holds this.
        self.core.note(self.core.with_current(|native| unsafe { native.module_unload(module) }));
    }
}

impl<N: Native> fmt::Debug for Module<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executable")
            .field("label", &self.label)
            .field("device", &self.core.id)
            .finish_non_exhaustive()
    }
}
