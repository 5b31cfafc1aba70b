//! The suite's kernels, in the format that a device loads.

use hal_core::{
    Device, DeviceInfo, Error, ErrorKind, Executable, ExecutableFormat, ExecutableParams, Result,
};
use std::sync::Arc;

/// One source file, compiled for every target.
pub(crate) struct Module {
    name: &'static str,
    ptx: &'static str,
    amdgpu: [(&'static str, &'static [u8]); 4],
}

macro_rules! modules {
    ($($constant:ident = $file:literal),+ $(,)?) => {
        $(pub(crate) static $constant: Module = Module {
            name: $file,
            ptx: include_str!(concat!("../../kernels/ptx/", $file, ".ptx")),
            amdgpu: [
                ("gfx90a", include_bytes!(concat!("../../kernels/amdgpu/", $file, ".gfx90a.co"))),
                ("gfx942", include_bytes!(concat!("../../kernels/amdgpu/", $file, ".gfx942.co"))),
                ("gfx1030", include_bytes!(concat!("../../kernels/amdgpu/", $file, ".gfx1030.co"))),
                ("gfx1100", include_bytes!(concat!("../../kernels/amdgpu/", $file, ".gfx1100.co"))),
            ],
        };)+
        static ALL: &[&Module] = &[$(&$constant),+];
    };
}
modules! {
    ADD_ONE = "add_one",
    ATOMICS = "atomics",
    CONSTANTS = "constants",
    DAXPY = "daxpy",
    DYNAMIC_SHARED = "dynamic_shared",
    FAULTS = "faults",
    HISTOGRAM = "histogram",
    MATMUL = "matmul",
    MULTI_ENTRY = "multi_entry",
    REDUCE = "reduce",
    SCALE = "scale",
    SOFTMAX = "softmax",
    VECTOR_ADD = "vector_add",
    WORKGROUP_IDS = "workgroup_ids",
}

/// Whether there is an image of every module for this device.
pub(crate) fn available(info: &DeviceInfo) -> bool {
    ALL.iter().all(|module| module.image(info).is_some())
}

impl Module {
    /// The image that this device loads.
    pub(crate) fn image(&self, info: &DeviceInfo) -> Option<(ExecutableFormat, &'static [u8])> {
        let formats = &info.capabilities.formats;
        // `gfx90a:sramecc+:xnack-` runs what was compiled for plain `gfx90a`.
        let arch = info.arch.split(':').next().unwrap_or_default();
        if formats.contains(&ExecutableFormat::AmdCodeObject)
            && let Some((_, image)) = self.amdgpu.iter().find(|(target, _)| *target == arch)
        {
            return Some((ExecutableFormat::AmdCodeObject, image));
        }
        formats.contains(&ExecutableFormat::Ptx).then_some((ExecutableFormat::Ptx, self.ptx.as_bytes()))
    }

    /// Loads it. A case that calls this requires [`Kernels`](crate::Requirement::Kernels).
    pub(crate) fn load(&self, device: &Arc<dyn Device>) -> Result<Arc<dyn Executable>> {
        let (format, image) = self.image(device.info()).ok_or_else(|| {
            Error::new(ErrorKind::Internal, "this case lacks the requirement `Kernels`; add it")
        })?;
        device.load_executable(&ExecutableParams { label: self.name, format, image })
    }
}
