//! Measures workloads on the CPU.

use super::{
    data::{WorkloadData, garbage_bytes},
    loops,
    times::{Measured, Quantity, TimedRun, TimesByQuantity, measure_alternately, no_output},
};
use std::{cell::RefCell, hint::black_box, num::NonZero, thread};
use wgslice::{Backend, Values, ValuesMut};

/// Returns the number of threads that the library may use: the parallelism that the operating system reports, or 1.
pub(crate) fn thread_count() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Takes all measurements of a workload on the CPU.
pub(crate) fn measure_on_cpu(data: &WorkloadData<'_>, reps: usize) -> Measured {
    let backend = Backend::cpu();
    let plan = &data.work.plan;
    let source = match plan.is_in_place() {
        true => data.value.as_ref(),
        false => data.input.as_ref(),
    };
    let dest = &RefCell::new(data.result_memory()?);
    let spare_memory = &RefCell::new(garbage_bytes(data.work.bytes() / 2)?);
    let copy = |threads: usize| -> TimedRun<'_> {
        Box::new(move || {
            let (mut spare_memory, mut dest) = (spare_memory.borrow_mut(), dest.borrow_mut());
            match plan.is_in_place() {
                // An update keeps elements of `dest`, which garbage must not overwrite, so its value is copied to
                // other memory.
                true => copy_on_threads(source, &mut spare_memory, threads),
                false => copy_on_threads(&spare_memory, &mut dest, threads),
            }
            Ok(no_output())
        })
    };
    // The copy of garbage runs between the loops and the operation, so that the operation cannot find a correct result
    // in `dest`. For an update, the check after the copy restores the elements that the loops have written.
    let run_loops = || {
        loops::run_workload(data, &mut dest.borrow_mut());
        Ok(no_output())
    };
    let run_resident = || {
        let inputs = [
            Values::from_bytes(plan.inputs()[0].dtype, source),
            (&data.indices).into(),
        ];
        let mut dest = dest.borrow_mut();
        let outputs = &mut [ValuesMut::from_bytes(plan.dtype(), &mut dest)];
        plan.run_cpu(&inputs[..plan.inputs().len()], outputs)?;
        Ok(no_output())
    };
    let run_host_to_host = || data.host_to_host(&backend);
    let mut runs: Vec<(Quantity, TimedRun<'_>)> = vec![
        (Quantity::Loop, Box::new(run_loops)),
        (Quantity::Copy, copy(thread_count())),
        (Quantity::Resident, Box::new(run_resident)),
        (Quantity::HostToHost, Box::new(run_host_to_host)),
    ];
    if !plan.is_in_place() {
        runs.push((Quantity::Tensors, data.on_tensors(&backend)?));
    }
    let mut times = measure_alternately(reps, runs, |quantity, bytes| match quantity {
        Quantity::Copy if plan.is_in_place() => {
            dest.borrow_mut().copy_from_slice(&data.result_memory()?);
            Ok(())
        }
        Quantity::Copy => Ok(()),
        Quantity::HostToHost | Quantity::Tensors => data.check_result(bytes),
        _ => data.check_result(&dest.borrow()),
    })?;
    if thread_count() > 1 {
        let single_thread_times =
            measure_alternately(reps, vec![(Quantity::Copy, copy(1))], |_, _| Ok(()))?;
        let copy_median = |times: &TimesByQuantity| times[&Quantity::Copy].median;
        if copy_median(&single_thread_times) < copy_median(&times) {
            times.extend(single_thread_times);
        }
    }
    Ok(times)
}

/// Copies `to.len()` bytes on `threads` threads.
fn copy_on_threads(from: &[u8], to: &mut [u8], threads: usize) {
    let part_len = to.len().div_ceil(threads).max(1);
    let mut part_pairs = black_box(from)
        .chunks(part_len)
        .zip(to.chunks_mut(part_len));
    let own_part = part_pairs.next();
    thread::scope(|scope| {
        for (from, to) in part_pairs {
            scope.spawn(move || to.copy_from_slice(from));
        }
        if let Some((from, to)) = own_part {
            to.copy_from_slice(from);
        }
    });
}
