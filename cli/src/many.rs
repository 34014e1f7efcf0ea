//! Runs one operation on many files and writes the results to a folder: `IN… --to DIR`.

use crate::{
    args::{Global, Invocation},
    failure::Failure,
    print, progress,
    report::file_line,
    target, units,
};
use std::{
    num::NonZero,
    path::Path,
    process::ExitCode,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::Instant,
};

/// Runs these commands in parallel. If a command fails, the other commands still run, and the last failure decides the
/// exit code.
pub(crate) fn run_all(runs: &[Invocation]) -> Result<ExitCode, Failure> {
    let begin = Instant::now();
    for run in runs {
        target::reserve_path(
            run.output_options
                .output
                .as_deref()
                .unwrap_or(Path::new("")),
        )?;
    }
    let global = &runs[0].global;
    let core_count = thread::available_parallelism().map_or(1, NonZero::get);
    let worker_count = global.threads.map_or(core_count, NonZero::get);
    let worker_count = worker_count.min(runs.len());
    // With `--threads`, each command uses one thread. Otherwise it uses several if there are more cores than files.
    let threads_per_run = NonZero::new(core_count / worker_count);
    let (next_run, bytes) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let last_exit_code = Mutex::new(None);
    progress::run_counted(runs.len(), |progress| {
        progress::suppress_bars();
        let work = || {
            while let Some(Invocation {
                command,
                global,
                output_options,
            }) = runs.get(next_run.fetch_add(1, Relaxed))
            {
                let global = Global {
                    threads: global.threads.and(NonZero::new(1)).or(threads_per_run),
                    ..global.clone()
                };
                let outcome = command
                    .make_array(&global, output_options)
                    .and_then(|outcome| {
                        bytes.fetch_add(outcome.bytes(), Relaxed);
                        match global.json || output_options.explain || print::is_verbose() {
                            true => outcome.print(&global, output_options),
                            false => Ok(()),
                        }
                    });
                progress.advance_by(1);
                if let Err(failure) = outcome {
                    print::print_error(&failure);
                    let mut last_exit_code = last_exit_code
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner);
                    *last_exit_code = Some(failure.exit_code());
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..worker_count {
                scope.spawn(work);
            }
        });
    });
    if let Some(code) = last_exit_code
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
    {
        return Ok(code);
    }
    if !global.json && !runs[0].output_options.explain && !print::is_quiet() {
        let files = units::format_count(runs.len(), "file");
        let bytes = units::format_bytes(bytes.into_inner());
        let time = units::format_seconds(begin.elapsed().as_secs_f64());
        let folder = runs[0]
            .output_options
            .to
            .as_deref()
            .unwrap_or(Path::new(""));
        let summary = format!("{files}, {bytes}, {time}");
        print::print_line(file_line(&folder.display().to_string(), &summary));
    }
    Ok(ExitCode::SUCCESS)
}
