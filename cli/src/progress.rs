//! What is shown while something takes long: nothing for half a second, nothing ever where standard
//! error is no terminal, and nothing of it stays.

use crate::failure::Failure;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    io::{self, IsTerminal},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

const PATIENCE: Duration = Duration::from_millis(500);

/// Does `work` and says how long it took; what it is doing is shown meanwhile.
pub(crate) fn stage<R>(
    doing: &str,
    work: impl FnOnce() -> Result<R, Failure>,
) -> Result<(R, Duration), Failure> {
    let begin = Instant::now();
    let outcome = if io::stderr().is_terminal() {
        with_spinner(doing, work)
    } else {
        work()
    };
    Ok((outcome?, begin.elapsed()))
}

fn with_spinner<R>(doing: &str, work: impl FnOnce() -> R) -> R {
    let (done, waiting) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if waiting.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                let spinner = ProgressBar::new_spinner()
                    .with_message(doing.to_owned())
                    .with_elapsed(PATIENCE);
                if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
                    spinner.set_style(style);
                }
                spinner.enable_steady_tick(Duration::from_millis(100));
                // Nothing is ever sent: the wait ends when the work does.
                let _ = waiting.recv();
                spinner.finish_and_clear();
            }
        });
        let outcome = work();
        drop(done);
        outcome
    })
}

/// Counts up to a known total.
#[derive(Debug)]
pub(crate) struct Counter {
    bar: ProgressBar,
    begin: Instant,
}

impl Counter {
    pub(crate) fn new(total: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len} {eta}") {
            bar.set_style(style);
        }
        Self {
            bar,
            begin: Instant::now(),
        }
    }

    pub(crate) fn step(&self) {
        if self.bar.is_hidden() && self.begin.elapsed() > PATIENCE && io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.inc(1);
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
