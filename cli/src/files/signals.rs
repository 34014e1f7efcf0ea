//! The signals that end the command.

/// Calls `end` once, on its own thread, when the user or the system asks the command to end. It is given the exit
/// code that shells use, 128 plus the number of the signal.
///
/// A file that outgrows the limit of the system (`ulimit -f`) ends no command any more: the write fails instead.
///
/// If signals cannot be watched, they end the command at once, as by default.
#[cfg(unix)]
pub(super) fn watch(end: impl FnOnce(i32) + Send + 'static) {
    use signal_hook::{
        consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ},
        iterator::Signals,
    };
    if let Ok(mut signals) = Signals::new([SIGHUP, SIGINT, SIGTERM, SIGXFSZ]) {
        std::thread::spawn(move || {
            if let Some(signal) = signals.forever().find(|&signal| signal != SIGXFSZ) {
                end(128 + signal);
            }
        });
    }
}

/// Calls `end` once, on its own thread, at Ctrl-C, with the exit code of shells for it.
#[cfg(not(unix))]
pub(super) fn watch(end: impl FnOnce(i32) + Send + 'static) {
    const INTERRUPTED: i32 = 130;
    let mut end = Some(end);
    // Without a handler the command ends at once, as it would by default.
    let _ = ctrlc::set_handler(move || {
        if let Some(end) = end.take() {
            end(INTERRUPTED);
        }
    });
}
