//! Shows progress bars. A bar appears after half a second, and only if standard error is a terminal. At the end it is
//! erased.

use crate::{print, times::Stage};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    io::{self, IsTerminal},
    sync::{
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

/// True if new bars are suppressed, because one bar covers all work.
static BARS_ARE_SUPPRESSED: AtomicBool = AtomicBool::new(false);

/// Suppresses new bars. Bars that are already shown stay.
pub(crate) fn suppress_bars() {
    BARS_ARE_SUPPRESSED.store(true, Relaxed);
}

const BAR_DELAY: Duration = Duration::from_millis(500);

const BAR_INTERVAL: Duration = Duration::from_millis(100);

/// Runs a stage while a bar shows the stage's name.
pub(crate) fn run_stage<R>(stage: Stage, work: impl FnOnce() -> R) -> R {
    let bar =
        ProgressBar::with_draw_target(Some(Stage::ALL.len() as u64), ProgressDrawTarget::hidden())
            .with_position(stage as u64)
            .with_message(stage.name());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {bar:20} {msg} {elapsed}") {
        bar.set_style(style);
    }
    let outcome = run_with_delayed_bar(work, || {
        bar.set_draw_target(ProgressDrawTarget::stderr());
        bar.enable_steady_tick(BAR_INTERVAL);
    });
    bar.finish_and_clear();
    outcome
}

/// Runs `work`, and calls `show` if the work takes longer than `BAR_DELAY`. Never calls `show` with `--quiet`, if bars
/// are suppressed, or if standard error is not a terminal.
fn run_with_delayed_bar<R>(work: impl FnOnce() -> R, show: impl FnOnce() + Send) -> R {
    if !io::stderr().is_terminal() || print::is_quiet() || BARS_ARE_SUPPRESSED.load(Relaxed) {
        return work();
    }
    let (sender, receiver) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            // The channel never gets a message: the wait ends when the work is done or the time is up.
            if receiver.recv_timeout(BAR_DELAY) == Err(RecvTimeoutError::Timeout) {
                show();
            }
        });
        let outcome = work();
        drop(sender);
        outcome
    })
}

/// A counter with a known total.
#[derive(Clone, Debug)]
pub(crate) struct ProgressCounter(ProgressBar);

impl ProgressCounter {
    pub(crate) fn advance_by(&self, count: usize) {
        self.0.inc(count as u64);
    }
}

/// Runs work that counts its steps, while a bar shows the count.
pub(crate) fn run_counted<R>(total: usize, work: impl FnOnce(&ProgressCounter) -> R) -> R {
    run_under_bar(total, "{wide_bar} {pos}/{len} {eta}", work)
}

/// Runs work that counts bytes, while a bar shows the count.
pub(crate) fn with_byte_bar<R>(total: usize, work: impl FnOnce(&ProgressCounter) -> R) -> R {
    let template = "{wide_bar} {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec} {eta}";
    run_under_bar(total, template, work)
}

fn run_under_bar<R>(total: usize, template: &str, work: impl FnOnce(&ProgressCounter) -> R) -> R {
    let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::hidden());
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    let counter = ProgressCounter(bar.clone());
    let outcome = run_with_delayed_bar(
        || work(&counter),
        || {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            bar.enable_steady_tick(BAR_INTERVAL);
        },
    );
    bar.finish_and_clear();
    outcome
}
