//! What is shown while something takes long: nothing for half a second, nothing ever where standard
//! error is no terminal, and nothing of it stays.

use crate::times::Stage;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    io::{self, IsTerminal},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

const PATIENCE: Duration = Duration::from_millis(500);

/// Does the work of a stage under a bar that says which one it is.
pub(crate) fn shown<R>(stage: Stage, work: impl FnOnce() -> R) -> R {
    if !io::stderr().is_terminal() {
        return work();
    }
    let (done, waiting) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if waiting.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                let bar = ProgressBar::new(Stage::ALL.len() as u64)
                    .with_position(stage as u64)
                    .with_message(stage.name())
                    .with_elapsed(PATIENCE);
                if let Ok(style) =
                    ProgressStyle::with_template("{spinner} {bar:20} {msg} {elapsed}")
                {
                    bar.set_style(style);
                }
                bar.enable_steady_tick(Duration::from_millis(100));
                // Nothing is ever sent: the wait ends when the work does.
                let _ = waiting.recv();
                bar.finish_and_clear();
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
