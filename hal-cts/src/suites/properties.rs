//! What a device says of itself.

use crate::Outcome;
use crate::support::soon;
use hal_core::{Device, ErrorKind, ExecutableFormat, ExecutableParams, Submission};
use std::sync::Arc;

suite! { "properties",
    &[] => [
        name_can_be_shown,
        uuid_has_the_usual_form,
        arch_is_one_word,
        memory_is_not_zero,
        workgroup_limits_are_sane,
        grid_limits_are_sane,
        shared_memory_and_subgroups_are_sane,
        uri_names_backend_and_ordinal,
        driver_says_what_it_is,
        formats_are_listed_and_others_refused,
        is_not_lost_when_open,
        is_idle_without_work,
        objects_name_their_device,
        counters_count_a_submission,
        counters_count_queues,
    ],
}

/// A device has a name that can be shown.
fn name_can_be_shown(device: &Arc<dyn Device>) -> Outcome {
    let name = &device.info().name;
    check!(!name.trim().is_empty());
    check!(!name.contains(char::is_control), "{name:?}");
    Ok(())
}

/// `GPU-` and 32 hexadecimal digits, grouped as usual.
fn uuid_has_the_usual_form(device: &Arc<dyn Device>) -> Outcome {
    let uuid = &device.info().uuid;
    let groups: Vec<usize> = uuid.split('-').skip(1).map(str::len).collect();
    check!(uuid.starts_with("GPU-"), "{uuid}");
    check_eq!(groups, [8, 4, 4, 4, 12], "{uuid}");
    check!(uuid[4..].chars().all(|c| c == '-' || c.is_ascii_hexdigit()), "{uuid}");
    Ok(())
}

/// `sm_80`, `gfx90a`, `gfx90a:sramecc+:xnack-`: one word.
fn arch_is_one_word(device: &Arc<dyn Device>) -> Outcome {
    let arch = &device.info().arch;
    check!(arch.chars().all(|c| c.is_ascii_alphanumeric() || "_:+-".contains(c)), "{arch:?}");
    check!(arch.starts_with(|c: char| c.is_ascii_lowercase()), "{arch:?}");
    Ok(())
}

/// There is memory, and no more than 64-bit devices address.
fn memory_is_not_zero(device: &Arc<dyn Device>) -> Outcome {
    let memory = device.info().total_memory;
    check!(memory >= 1 << 20, "{memory} bytes");
    check!(memory <= 1 << 47, "{memory} bytes");
    Ok(())
}

/// What every GPU can: workgroups of 256 threads, and no dimension beyond the whole.
fn workgroup_limits_are_sane(device: &Arc<dyn Device>) -> Outcome {
    let limits = &device.info().limits;
    check!(limits.max_workgroup_size >= 256, "{limits:?}");
    check!(limits.max_workgroup_dims[0] >= 256, "{limits:?}");
    check!(limits.max_workgroup_dims.iter().all(|&n| n >= 1 && n <= limits.max_workgroup_size), "{limits:?}");
    Ok(())
}

/// What every GPU can: 65535 workgroups in a row.
fn grid_limits_are_sane(device: &Arc<dyn Device>) -> Outcome {
    let limits = &device.info().limits;
    check!(limits.max_grid_dims.iter().all(|&n| n >= 65535), "{limits:?}");
    Ok(())
}

/// Shared memory, lock-step width and multiprocessors exist; priorities are in order.
fn shared_memory_and_subgroups_are_sane(device: &Arc<dyn Device>) -> Outcome {
    let limits = &device.info().limits;
    check!(limits.max_shared_memory >= 16 << 10, "{limits:?}");
    check!(limits.subgroup_size.is_power_of_two() && limits.subgroup_size <= 64, "{limits:?}");
    check!(limits.multiprocessors >= 1, "{limits:?}");
    Ok(())
}

/// The URI can be opened again: backend, ordinal.
fn uri_names_backend_and_ordinal(device: &Arc<dyn Device>) -> Outcome {
    let info = device.info();
    check_eq!(info.uri(), format!("{}://{}", info.driver.backend, info.ordinal));
    Ok(())
}

/// A report can name the driver that was tested.
fn driver_says_what_it_is(device: &Arc<dyn Device>) -> Outcome {
    let driver = &device.info().driver;
    check!(
        !driver.backend.is_empty() && driver.backend.chars().all(|c| c.is_ascii_lowercase()),
        "{driver:?}"
    );
    check!(driver.version.contains(|c: char| c.is_ascii_digit()), "{driver:?}");
    check!(!driver.path.is_empty(), "{driver:?}");
    Ok(())
}

/// At least one format is listed, and each that is not is refused as such.
fn formats_are_listed_and_others_refused(device: &Arc<dyn Device>) -> Outcome {
    let listed = &device.info().capabilities.formats;
    check!(!listed.is_empty());
    for format in [ExecutableFormat::Ptx, ExecutableFormat::Cubin, ExecutableFormat::AmdCodeObject] {
        if !listed.contains(&format) {
            let params = ExecutableParams { label: "not for this device", format, image: b"\x7fELF" };
            check_err!(device.load_executable(&params), ErrorKind::Unimplemented);
        }
    }
    Ok(())
}

/// An open device is not lost.
fn is_not_lost_when_open(device: &Arc<dyn Device>) -> Outcome {
    check!(device.lost().is_none(), "{:?}", device.lost());
    Ok(())
}

/// A device without work is idle.
fn is_idle_without_work(device: &Arc<dyn Device>) -> Outcome {
    device.wait_idle(soon())?;
    Ok(())
}

/// Buffers, command buffers and queues tell which device they belong to.
fn objects_name_their_device(device: &Arc<dyn Device>) -> Outcome {
    let buffer = device.allocate_buffer(&hal_core::BufferParams::device_local(16))?;
    check_eq!(buffer.device_id(), device.id());
    let commands = device.encoder().finish(&**device)?;
    check_eq!(commands.device_id(), device.id());
    let queue = device.create_queue(&Default::default())?;
    check_eq!(queue.device().id(), device.id());
    Ok(())
}

/// A submission is counted when taken, and when it has ended.
fn counters_count_a_submission(device: &Arc<dyn Device>) -> Outcome {
    let before = device.counters();
    let queue = device.create_queue(&Default::default())?;
    let done = device.create_semaphore(0)?;
    queue.submit(Submission::new().signal(&done, 1))?;
    done.wait(1, soon())?;
    device.wait_idle(soon())?;
    let after = device.counters();
    check_eq!(after.submitted - before.submitted, 1);
    check_eq!(after.retired - before.retired, 1);
    check_eq!(after.failed, before.failed);
    Ok(())
}

/// Queues that are held are counted as live.
fn counters_count_queues(device: &Arc<dyn Device>) -> Outcome {
    let before = device.counters().queues;
    let queues = [device.create_queue(&Default::default())?, device.create_queue(&Default::default())?];
    check_eq!(device.counters().queues.live, before.live + 2);
    drop(queues);
    check_eq!(device.counters().queues.live, before.live);
    Ok(())
}
