//! What an executable tells of itself, its variables, and loading it in the background.

use crate::support::{Gpu, Launch, contents, host_buffer, on_threads, record, soon};
use crate::{Failure, Outcome, Requirement, kernels};
use hal_core::{
    Deadline, Device, Dispatch, ErrorKind, Executable, ExecutableFormat, ExecutableParams, Result, Submission,
};
use std::sync::{Arc, mpsc};
use std::time::Duration;

suite! { "code",
    &[] => [
        unknown_content_is_told,
        a_format_of_others_is_refused_with_what_is_taken,
        refused_in_the_background_too,
    ],
    &[Requirement::Kernels] => [
        content_tells_the_format,
        detected_images_load,
        resources_are_told,
        missing_variable_is_not_found,
        loads_in_the_background,
        a_loading_is_a_future,
        a_loading_answers_each_time,
        many_at_a_time_in_the_background,
        a_callback_gets_the_executable,
        a_loading_may_be_dropped,
    ],
    &[Requirement::Ptx] => [
        variables_have_their_size,
        variables_have_their_first_values,
        a_variable_is_written_and_read_by_a_kernel,
        what_a_kernel_writes_to_a_variable_is_read,
        a_constant_specialises_the_code,
        two_loads_have_variables_of_their_own,
        a_variable_keeps_its_module,
        ranges_of_variables_are_checked,
        variable_name_with_nul_is_refused,
        compile_log_is_in_the_error,
        text_is_ptx_by_content,
    ],
    &[Requirement::Kernels, Requirement::EntryPointListing] => [entry_points_by_index],
}

/// `counts` begins as 1, 2, 3, 4; `factor` as 3. `read` puts each count times the factor into `out`; `bump` adds 10 to
/// each count.
const VARIABLES: &str = "
.version 6.0
.target sm_50
.address_size 64
.visible .global .align 4 .u32 counts[4] = {1, 2, 3, 4};
.visible .const .align 4 .u32 factor = 3;
.visible .entry read(.param .u64 out)
{
    .reg .u32 %r<4>;
    .reg .u64 %rd<6>;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    mov.u64 %rd3, counts;
    add.u64 %rd3, %rd3, %rd2;
    ld.global.u32 %r2, [%rd3];
    ld.const.u32 %r3, [factor];
    mul.lo.u32 %r2, %r2, %r3;
    add.u64 %rd4, %rd1, %rd2;
    st.global.u32 [%rd4], %r2;
    ret;
}
.visible .entry bump()
{
    .reg .u32 %r<3>;
    .reg .u64 %rd<4>;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    mov.u64 %rd3, counts;
    add.u64 %rd3, %rd3, %rd2;
    ld.global.u32 %r2, [%rd3];
    add.u32 %r2, %r2, 10;
    st.global.u32 [%rd3], %r2;
    ret;
}
";

fn variables(device: &Arc<dyn Device>) -> Result<Arc<dyn Executable>> {
    device.load_executable(&ExecutableParams::ptx("variables", VARIABLES))
}

/// What `read` puts out.
fn read(gpu: &Gpu, executable: &Arc<dyn Executable>) -> Outcome<Vec<u32>> {
    let out = host_buffer(gpu.device, &[0_u32; 4])?;
    gpu.run(|encoder| encoder.launch(Dispatch::new(executable, "read")?.block(4).arg(&out)))?;
    Ok(contents(&out)?)
}

/// Writes a variable.
fn set(gpu: &Gpu, executable: &Arc<dyn Executable>, name: &str, values: &[u32]) -> Outcome {
    let variable = executable.global(name)?;
    let source = host_buffer(gpu.device, values)?;
    gpu.run(|encoder| encoder.copy(&source, 0, &variable.buffer, variable.offset, source.size()))?;
    Ok(())
}

/// Bytes of nothing.
fn unknown_content_is_told(_device: &Arc<dyn Device>) -> Outcome {
    for image in [&b""[..], b"hello", b"BC\xc0\xde", &[0xff; 9], b"\x7fELF"] {
        let error = check_err!(ExecutableParams::detect("thing", image), ErrorKind::InvalidArgument);
        check!(error.message().contains("thing") && error.message().contains("PTX"), "{error}");
    }
    Ok(())
}

/// Every format that the device has not.
fn a_format_of_others_is_refused_with_what_is_taken(device: &Arc<dyn Device>) -> Outcome {
    use ExecutableFormat::{AmdCodeObject, Cubin, FatBinary, Ptx};
    let taken = &device.info().capabilities.formats;
    for format in [Ptx, Cubin, FatBinary, AmdCodeObject] {
        if !taken.contains(&format) {
            let params = ExecutableParams { label: "theirs", format, image: b"\x7fELF" };
            let error = check_err!(device.load_executable(&params), ErrorKind::Unimplemented);
            check!(taken.iter().all(|taken| error.message().contains(taken.name())), "{error}");
        }
    }
    Ok(())
}

/// The same error as in the foreground.
fn refused_in_the_background_too(device: &Arc<dyn Device>) -> Outcome {
    let Some(&format) = device.info().capabilities.formats.first() else { return Ok(()) };
    let params = ExecutableParams { label: "empty", format, image: &[] };
    check_err!(device.load_executable_in_background(&params).wait(soon()), ErrorKind::InvalidArgument);
    Ok(())
}

/// Of the suite's own images.
fn content_tells_the_format(device: &Arc<dyn Device>) -> Outcome {
    let (format, image) = image(device)?;
    check_eq!(ExecutableFormat::detect(image)?, format);
    Ok(())
}

fn image(device: &Arc<dyn Device>) -> Outcome<(ExecutableFormat, &'static [u8])> {
    kernels::SCALE.image(device.info()).ok_or_else(|| Failure::new("no image, although `Kernels` is met"))
}

/// Without naming the format.
fn detected_images_load(device: &Arc<dyn Device>) -> Outcome {
    let executable = device.load_executable(&ExecutableParams::detect("found", image(device)?.1)?)?;
    check_eq!(executable.label(), "found");
    executable.entry_point("scale")?;
    Ok(())
}

/// Registers and local memory, within what any GPU has.
fn resources_are_told(device: &Arc<dyn Device>) -> Outcome {
    let entry_point = kernels::MATMUL.load(device)?;
    let entry_point = match entry_point.entry_points() {
        Ok(all) => all.into_iter().next(),
        Err(_) => Some(kernels::SCALE.load(device)?.entry_point("scale")?),
    };
    let Some(entry_point) = entry_point else { return Err(Failure::new("no entry point")) };
    check!(entry_point.registers.is_some_and(|registers| registers <= 1024), "{entry_point:?}");
    check!(entry_point.local_memory.is_some_and(|bytes| bytes <= 512 << 10), "{entry_point:?}");
    Ok(())
}

/// The name is in the text.
fn missing_variable_is_not_found(device: &Arc<dyn Device>) -> Outcome {
    let executable = kernels::SCALE.load(device)?;
    let error = check_err!(executable.global("no_such_variable"), ErrorKind::NotFound);
    check!(error.message().contains("no_such_variable") && error.message().contains("scale"), "{error}");
    Ok(())
}

/// As in the foreground.
fn loads_in_the_background(device: &Arc<dyn Device>) -> Outcome {
    let (format, image) = image(device)?;
    let loading = device.load_executable_in_background(&ExecutableParams { label: "scale", format, image });
    loading.wait(soon())?.entry_point("scale")?;
    Ok(())
}

/// Ready at last.
fn a_loading_is_a_future(device: &Arc<dyn Device>) -> Outcome {
    let (format, image) = image(device)?;
    let loading = device.load_executable_in_background(&ExecutableParams { label: "scale", format, image });
    let executable = crate::futures::block_on(loading)?;
    executable?.entry_point("scale")?;
    Ok(())
}

/// The same executable.
fn a_loading_answers_each_time(device: &Arc<dyn Device>) -> Outcome {
    let (format, image) = image(device)?;
    let loading = device.load_executable_in_background(&ExecutableParams { label: "scale", format, image });
    let (first, second) = (loading.wait(soon())?, loading.wait(Deadline::NOW)?);
    check!(Arc::ptr_eq(&first, &second));
    Ok(())
}

/// From four threads, more than the pool has.
fn many_at_a_time_in_the_background(device: &Arc<dyn Device>) -> Outcome {
    let (format, image) = image(device)?;
    on_threads(4, |_| {
        let params = ExecutableParams { label: "scale", format, image };
        let loadings: Vec<_> = (0..8).map(|_| device.load_executable_in_background(&params)).collect();
        for loading in loadings {
            loading.wait(soon())?.entry_point("scale")?;
        }
        Ok(())
    })?;
    Ok(())
}

/// On another thread.
fn a_callback_gets_the_executable(device: &Arc<dyn Device>) -> Outcome {
    let (format, image) = image(device)?;
    let (sender, receiver) = mpsc::channel();
    let then = move |loaded| drop(sender.send((loaded, std::thread::current().id())));
    device.load_executable_then(&ExecutableParams { label: "scale", format, image }, Box::new(then));
    let received = receiver.recv_timeout(Duration::from_secs(20));
    let (loaded, thread) = received.map_err(|_| Failure::new("not called within 20 s"))?;
    check_eq!(loaded?.label(), "scale");
    check!(thread != std::thread::current().id());
    Ok(())
}

/// It goes on, and ends before its device does.
fn a_loading_may_be_dropped(device: &Arc<dyn Device>) -> Outcome {
    let (format, image) = image(device)?;
    for _ in 0..10 {
        drop(device.load_executable_in_background(&ExecutableParams { label: "scale", format, image }));
    }
    Ok(())
}

/// In bytes.
fn variables_have_their_size(device: &Arc<dyn Device>) -> Outcome {
    let executable = variables(device)?;
    check_eq!(executable.global("counts")?.length, 16);
    check_eq!(executable.global("factor")?.length, 4);
    Ok(())
}

/// As the text has them.
fn variables_have_their_first_values(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = variables(device)?;
    check_eq!(gpu.download::<u32>(&executable.global("counts")?.buffer)?, [1, 2, 3, 4]);
    check_eq!(read(&gpu, &executable)?, [3, 6, 9, 12]);
    Ok(())
}

/// A copy to the variable.
fn a_variable_is_written_and_read_by_a_kernel(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = variables(device)?;
    set(&gpu, &executable, "counts", &[9, 8, 7, 6])?;
    check_eq!(read(&gpu, &executable)?, [27, 24, 21, 18]);
    Ok(())
}

/// A copy from the variable, behind the kernel.
fn what_a_kernel_writes_to_a_variable_is_read(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let executable = variables(device)?;
    gpu.run(|encoder| encoder.launch(Dispatch::new(&executable, "bump")?.block(4)))?;
    check_eq!(gpu.download::<u32>(&executable.global("counts")?.buffer)?, [11, 12, 13, 14]);
    Ok(())
}

/// Written once, before the first dispatch.
fn a_constant_specialises_the_code(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    for factor in [0, 1, 100] {
        let executable = variables(device)?;
        set(&gpu, &executable, "factor", &[factor])?;
        check_eq!(read(&gpu, &executable)?, [factor, 2 * factor, 3 * factor, 4 * factor]);
    }
    Ok(())
}

/// One is written, the other is not.
fn two_loads_have_variables_of_their_own(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let (one, other) = (variables(device)?, variables(device)?);
    set(&gpu, &one, "factor", &[10])?;
    check_eq!(read(&gpu, &one)?, [10, 20, 30, 40]);
    check_eq!(read(&gpu, &other)?, [3, 6, 9, 12]);
    Ok(())
}

/// The executable's handle is gone.
fn a_variable_keeps_its_module(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let counts = variables(device)?.global("counts")?;
    check_eq!(gpu.download::<u32>(&counts.buffer)?, [1, 2, 3, 4]);
    let copy = host_buffer(device, &[0_u32; 4])?;
    let commands = record(device, |encoder| encoder.copy(&counts.buffer, 0, &copy, 0, 16))?;
    let done = device.create_semaphore(0)?;
    drop(counts);
    gpu.queue.submit(Submission::new().execute(&commands).signal(&done, 1))?;
    drop(commands);
    done.wait(1, soon())?;
    check_eq!(contents::<u32>(&copy)?, [1, 2, 3, 4]);
    Ok(())
}

/// As of any buffer.
fn ranges_of_variables_are_checked(device: &Arc<dyn Device>) -> Outcome {
    let counts = variables(device)?.global("counts")?;
    let mut encoder = device.encoder();
    check_err!(encoder.fill(&counts.buffer, 0, 20, &[0]), ErrorKind::OutOfRange);
    check_err!(encoder.fill(&counts.buffer, 16, 4, &[0]), ErrorKind::OutOfRange);
    check_err!(counts.buffer.read(0, &mut [0; 4]), ErrorKind::InvalidArgument);
    Ok(())
}

/// No driver sees it.
fn variable_name_with_nul_is_refused(device: &Arc<dyn Device>) -> Outcome {
    check_err!(variables(device)?.global("counts\0"), ErrorKind::InvalidArgument);
    check_err!(variables(device)?.global(""), ErrorKind::NotFound);
    Ok(())
}

/// What the compiler found, and where.
fn compile_log_is_in_the_error(device: &Arc<dyn Device>) -> Outcome {
    let broken = VARIABLES.replace("mul.lo.u32", "no_such_instruction.u32");
    let error = check_err!(
        device.load_executable(&ExecutableParams::ptx("broken", &broken)),
        ErrorKind::InvalidArgument
    );
    check!(error.message().contains("no_such_instruction"), "{error}");
    Ok(())
}

/// With a NUL at its end or without.
fn text_is_ptx_by_content(device: &Arc<dyn Device>) -> Outcome {
    for text in [VARIABLES.to_owned(), format!("{VARIABLES}\0")] {
        let params = ExecutableParams::detect("text", text.as_bytes())?;
        check_eq!(params.format, ExecutableFormat::Ptx);
        device.load_executable(&params)?;
    }
    Ok(())
}

/// In the order of the list, and none beyond.
fn entry_points_by_index(device: &Arc<dyn Device>) -> Outcome {
    let executable = kernels::MULTI_ENTRY.load(device)?;
    let all = executable.entry_points()?;
    check!(all.len() > 1);
    for (place, entry_point) in all.iter().enumerate() {
        check_eq!(executable.entry_point_at(place)?, *entry_point);
    }
    let error = check_err!(executable.entry_point_at(all.len()), ErrorKind::OutOfRange);
    check!(error.message().contains(&all.len().to_string()), "{error}");
    check_err!(executable.entry_point_at(usize::MAX), ErrorKind::OutOfRange);
    Ok(())
}
