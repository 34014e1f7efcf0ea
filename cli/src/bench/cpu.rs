//! Measures workloads on the CPU.

use super::{
    data::{Loaded, garbage},
    measured::{Problem, Quantity, Sheet},
    plain,
    times::{Effort, Times, timed},
    workload::Operation,
};
use std::{convert::Infallible, hint::black_box, num::NonZero, thread, time::Instant};
use wgslice::{Backend, Error, Indices};

/// Returns the number of threads that the library may use: the parallelism that the system reports, or 1.
pub(crate) fn threads() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Takes all measurements of a workload on the CPU.
pub(crate) fn measure(loaded: &Loaded<'_>, effort: Effort) -> Result<Sheet, Problem> {
    let mut sheet = Sheet::new();
    let mut dest = loaded.dest()?;
    let begin = Instant::now();
    run(loaded, &mut dest)?;
    sheet.insert(Quantity::First, begin.elapsed().into());
    loaded.verify(&dest)?;

    let mut copied = garbage(loaded.work.bytes() / 2)?;
    sheet.insert(Quantity::CopyOne, copy(loaded, &mut copied, 1, effort));
    if threads() > 1 {
        let times = copy(loaded, &mut copied, threads(), effort);
        sheet.insert(Quantity::CopyAll, times);
    }
    drop(copied);
    dest = loaded.dest()?;
    let resident = timed(effort, || run(loaded, &mut dest))?;
    loaded.verify(&dest)?;
    sheet.insert(Quantity::Resident, resident);
    dest = loaded.dest()?;
    let looped = timed(effort, || plain::run(loaded, &mut dest))?;
    loaded.verify(&dest)?;
    sheet.insert(Quantity::Loop, looped);
    drop(dest);
    sheet.insert(Quantity::Fresh, fresh(loaded, effort)?);
    sheet.insert(
        Quantity::HostToHost,
        host_to_host(loaded, &Backend::cpu(), effort)?,
    );
    Ok(sheet)
}

/// Times runs of the workload on tensors, each into a new output.
fn fresh(loaded: &Loaded<'_>, effort: Effort) -> Result<Times, Problem> {
    let tensors = loaded.upload(&Backend::cpu())?;
    loaded.verify(&tensors.run()?.bytes()?)?;
    Ok(timed(effort, || tensors.run())?)
}

/// Times the workload from host values to host values in new memory.
pub(crate) fn host_to_host(
    loaded: &Loaded<'_>,
    backend: &Backend,
    effort: Effort,
) -> Result<Times, Problem> {
    loaded.verify(loaded.host_to_host(backend)?.as_ref())?;
    Ok(timed(effort, || loaded.host_to_host(backend))?)
}

fn run(loaded: &Loaded<'_>, dest: &mut [u8]) -> Result<(), Error> {
    let source = match loaded.work.operation {
        Operation::Update { .. } => loaded.value.as_ref(),
        _ => loaded.input.as_ref(),
    };
    let indices = Some(Indices::I32(&loaded.indices));
    loaded
        .work
        .plan
        .run_cpu_bytes(source, indices, dest)
        .map(drop)
}

/// Times memcpy from the input to `dest` on `threads` threads. If the input is shorter than `dest`, it is repeated.
fn copy(loaded: &Loaded<'_>, dest: &mut [u8], threads: usize, effort: Effort) -> Times {
    let source = loaded.input.as_ref();
    // If there is anything to copy, `copy_from` needs a source that is not empty. A workload whose result is not empty
    // has an input that is not empty.
    let part = dest.len().div_ceil(threads).max(1);
    let outcome = timed(effort, || {
        let mut parts = (0..).step_by(part).zip(dest.chunks_mut(part));
        let own = parts.next();
        thread::scope(|scope| {
            for (at, dest) in parts {
                scope.spawn(move || copy_from(source, at, dest));
            }
            if let Some((at, dest)) = own {
                copy_from(source, at, dest);
            }
        });
        Ok::<_, Infallible>(())
    });
    match outcome {
        Ok(times) => times,
    }
}

/// Fills `dest` with the bytes of `source` from byte `at` on. After its end, `source` begins again.
fn copy_from(source: &[u8], at: usize, dest: &mut [u8]) {
    let source = black_box(source);
    let begin = &source[at % source.len()..];
    let (head, tail) = dest.split_at_mut(dest.len().min(begin.len()));
    head.copy_from_slice(&begin[..head.len()]);
    for dest in tail.chunks_mut(source.len()) {
        dest.copy_from_slice(&source[..dest.len()]);
    }
}
