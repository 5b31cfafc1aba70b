//! Loading code and finding kernels in it.

use crate::support::{Gpu, Launch, contents, host_buffer, record};
use crate::{Outcome, Requirement, kernels};
use hal_core::{Device, Dispatch, ErrorKind, ExecutableFormat, ExecutableParams, ParameterInfo};
use std::sync::Arc;
use std::thread;

suite! { "executable",
    &[] => [empty_image_is_refused, garbage_is_refused],
    &[Requirement::Kernels] => [
        loads_and_keeps_its_label,
        torn_image_is_refused_with_a_reason,
        refused_image_leaves_the_device_usable,
        entry_point_is_found,
        lookup_is_repeatable,
        several_entry_points_are_told_apart,
        missing_entry_point_is_named,
        empty_name_is_not_found,
        name_with_nul_is_refused,
        loaded_twice_is_two,
        loaded_on_many_threads,
        command_buffer_keeps_its_executable,
    ],
    &[Requirement::Ptx] => [trailing_nul_is_optional, nul_within_is_refused, text_that_is_no_ptx_is_refused],
    &[Requirement::Kernels, Requirement::EntryPointListing] => [
        entry_points_are_listed,
        listing_agrees_with_lookup,
        missing_entry_point_lists_the_others,
    ],
    &[Requirement::Kernels, Requirement::ParameterReflection] => [
        parameter_sizes_are_known,
        struct_parameters_have_their_size,
    ],
}

/// Formats of the device.
fn formats(device: &Arc<dyn Device>) -> Vec<ExecutableFormat> {
    device.info().capabilities.formats.clone()
}

/// No bytes, no code.
fn empty_image_is_refused(device: &Arc<dyn Device>) -> Outcome {
    for format in formats(device) {
        let params = ExecutableParams { label: "empty", format, image: &[] };
        check_err!(device.load_executable(&params), ErrorKind::InvalidArgument);
    }
    Ok(())
}

/// Bytes of no format at all, valid text or not.
fn garbage_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let noise: Vec<u8> = (0..1000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for format in formats(device) {
        for image in [&noise[..], b"hello", &[0; 64], &[0xff; 3]] {
            let params = ExecutableParams { label: "garbage", format, image };
            check_err!(device.load_executable(&params), ErrorKind::InvalidArgument);
        }
    }
    Ok(())
}

/// Label and device are known.
fn loads_and_keeps_its_label(device: &Arc<dyn Device>) -> Outcome {
    let executable = kernels::SCALE.load(device)?;
    check_eq!(executable.label(), "scale");
    check_eq!(executable.device_id(), device.id());
    Ok(())
}

/// Half a file. The text names the executable and has more to say than that it failed.
fn torn_image_is_refused_with_a_reason(device: &Arc<dyn Device>) -> Outcome {
    let Some((format, image)) = kernels::MATMUL.image(device.info()) else {
        return Err(crate::Failure::new("no image, although `Kernels` is met"));
    };
    let params = ExecutableParams { label: "torn in two", format, image: &image[..image.len() / 2] };
    let error = check_err!(device.load_executable(&params), ErrorKind::InvalidArgument);
    check!(error.message().contains("torn in two"), "{error}");
    check!(error.message().len() > "torn in two".len() + 20, "{error}");
    Ok(())
}

/// A refused image is no loss of the device.
fn refused_image_leaves_the_device_usable(device: &Arc<dyn Device>) -> Outcome {
    for format in formats(device) {
        let params = ExecutableParams { label: "wrong", format, image: b"not code" };
        for _ in 0..5 {
            check_err!(device.load_executable(&params), ErrorKind::InvalidArgument);
        }
    }
    check!(device.lost().is_none());
    kernels::SCALE.load(device)?.entry_point("scale")?;
    Ok(())
}

/// By its name in the source.
fn entry_point_is_found(device: &Arc<dyn Device>) -> Outcome {
    let entry = kernels::VECTOR_ADD.load(device)?.entry_point("vadd")?;
    check_eq!(entry.name, "vadd");
    check!(entry.max_workgroup_size.is_none_or(|most| most >= 1), "{entry:?}");
    Ok(())
}

/// The answer is the same each time.
fn lookup_is_repeatable(device: &Arc<dyn Device>) -> Outcome {
    let executable = kernels::MULTI_ENTRY.load(device)?;
    let first = executable.entry_point("double_it")?;
    executable.entry_point("negate")?;
    check_eq!(executable.entry_point("double_it")?, first);
    Ok(())
}

/// Names and places differ.
fn several_entry_points_are_told_apart(device: &Arc<dyn Device>) -> Outcome {
    let executable = kernels::MULTI_ENTRY.load(device)?;
    let mut indices = Vec::new();
    for name in ["negate", "double_it", "abs_i32"] {
        let entry = executable.entry_point(name)?;
        check_eq!(entry.name, name);
        indices.push(entry.index);
    }
    indices.sort_unstable();
    indices.dedup();
    check_eq!(indices.len(), 3);
    Ok(())
}

/// The error says what was looked for and where.
fn missing_entry_point_is_named(device: &Arc<dyn Device>) -> Outcome {
    let executable = kernels::SCALE.load(device)?;
    let error = check_err!(executable.entry_point("no_such_kernel"), ErrorKind::NotFound);
    check!(error.message().contains("no_such_kernel"), "{error}");
    check!(error.message().contains("scale"), "{error}");
    check_err!(Dispatch::new(&executable, "no_such_kernel"), ErrorKind::NotFound);
    Ok(())
}

/// A name like any other.
fn empty_name_is_not_found(device: &Arc<dyn Device>) -> Outcome {
    check_err!(kernels::SCALE.load(device)?.entry_point(""), ErrorKind::NotFound);
    Ok(())
}

/// Must not find what comes before the NUL. Whether such a name is wrong or merely unknown is left open.
fn name_with_nul_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let executable = kernels::SCALE.load(device)?;
    for name in ["scale\0", "scale\0more", "\0"] {
        let found = executable.entry_point(name).map_err(|error| error.kind());
        check!(matches!(found, Err(ErrorKind::NotFound | ErrorKind::InvalidArgument)), "{name:?}: {found:?}");
    }
    Ok(())
}

/// One image, two executables, of which either may go first.
fn loaded_twice_is_two(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = host_buffer(device, &[0_u32])?;
    let (a, b) = (kernels::ADD_ONE.load(device)?, kernels::ADD_ONE.load(device)?);
    drop(a);
    gpu.run(|encoder| encoder.launch(Dispatch::new(&b, "add_one")?.arg(&buffer).arg(1_u32)))?;
    check_eq!(contents::<u32>(&buffer)?, [1]);
    Ok(())
}

/// Loading needs no lock of the caller.
fn loaded_on_many_threads(device: &Arc<dyn Device>) -> Outcome {
    let outcomes: Vec<_> = thread::scope(|scope| {
        let load = || kernels::MULTI_ENTRY.load(device)?.entry_point("negate");
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(load)).collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    check!(outcomes.iter().all(|outcome| matches!(outcome, Ok(Ok(_)))), "{outcomes:?}");
    Ok(())
}

/// Recorded commands hold their code.
fn command_buffer_keeps_its_executable(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = host_buffer(device, &[41_u32])?;
    let executable = kernels::ADD_ONE.load(device)?;
    let commands = record(device, |encoder| {
        encoder.launch(Dispatch::new(&executable, "add_one")?.arg(&buffer).arg(1_u32))
    })?;
    drop(executable);
    gpu.execute(&commands)?;
    check_eq!(contents::<u32>(&buffer)?, [42]);
    Ok(())
}

/// PTX with the NUL that C programs add.
fn trailing_nul_is_optional(device: &Arc<dyn Device>) -> Outcome {
    let text = ".version 6.0\n.target sm_52\n.address_size 64\n.visible .entry idle()\n{\n\tret;\n}\n";
    device.load_executable(&ExecutableParams::ptx("without", text))?.entry_point("idle")?;
    device.load_executable(&ExecutableParams::ptx("with", &format!("{text}\0")))?.entry_point("idle")?;
    Ok(())
}

/// A driver would read up to the NUL and ignore the rest in silence.
fn nul_within_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let text = ".version 6.0\n.target sm_52\n.address_size 64\n\0.visible .entry idle()\n{\n\tret;\n}\n";
    check_err!(device.load_executable(&ExecutableParams::ptx("nul", text)), ErrorKind::InvalidArgument);
    Ok(())
}

/// Text, but not this language.
fn text_that_is_no_ptx_is_refused(device: &Arc<dyn Device>) -> Outcome {
    for text in
        ["fn main() {}", ".version", ".version 6.0\n.target sm_52\n.address_size 64\n.visible .entry ("]
    {
        check_err!(
            device.load_executable(&ExecutableParams::ptx("no ptx", text)),
            ErrorKind::InvalidArgument
        );
    }
    Ok(())
}

/// All of them, and no others.
fn entry_points_are_listed(device: &Arc<dyn Device>) -> Outcome {
    let entries = kernels::MULTI_ENTRY.load(device)?.entry_points()?;
    let mut names: Vec<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
    names.sort_unstable();
    check_eq!(names, ["abs_i32", "double_it", "negate"]);
    Ok(())
}

/// A listed entry point is the one found by name.
fn listing_agrees_with_lookup(device: &Arc<dyn Device>) -> Outcome {
    let executable = kernels::MULTI_ENTRY.load(device)?;
    for entry in executable.entry_points()? {
        check_eq!(executable.entry_point(&entry.name)?, entry);
    }
    Ok(())
}

/// The error helps with a typing error.
fn missing_entry_point_lists_the_others(device: &Arc<dyn Device>) -> Outcome {
    let executable = kernels::MULTI_ENTRY.load(device)?;
    let error = check_err!(executable.entry_point("negat"), ErrorKind::NotFound);
    for name in ["negate", "double_it", "abs_i32"] {
        check!(error.message().contains(name), "{error}");
    }
    Ok(())
}

/// Offset and size of each parameter, with C's alignment.
fn parameter_sizes_are_known(device: &Arc<dyn Device>) -> Outcome {
    let entry = kernels::CONSTANTS.load(device)?.entry_point("store_constants")?;
    let expected = [(0, 8), (8, 4), (12, 4), (16, 8), (24, 4), (28, 1)]
        .map(|(offset, size)| ParameterInfo { offset, size })
        .to_vec();
    check_eq!(entry.parameters, Some(expected));
    Ok(())
}

/// A structure is one parameter.
fn struct_parameters_have_their_size(device: &Arc<dyn Device>) -> Outcome {
    let entry = kernels::CONSTANTS.load(device)?.entry_point("store_struct")?;
    let expected = vec![ParameterInfo { offset: 0, size: 8 }, ParameterInfo { offset: 8, size: 40 }];
    check_eq!(entry.parameters, Some(expected));
    Ok(())
}
