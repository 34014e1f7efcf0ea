//! Handles the signals that end the command.

/// Calls `end` once, on its own thread, when a signal is about to end the command. `end` gets the exit code and, after
/// a failure, a message. The code is 128 plus the signal's number, as in shells. After a failure it is the code for bad
/// input.
///
/// If an output file exceeds the system's limit (`ulimit -f`), the write fails instead of ending the command. If a
/// mapped file becomes shorter, the command ends with a failure: the thread that accessed the missing part repeats the
/// access until `end` exits.
///
/// SIGHUP, SIGINT, SIGQUIT and SIGTERM stay ignored if the caller ignored them, as `nohup` does.
///
/// If signals cannot be watched, they end the command immediately, as by default.
#[cfg(unix)]
pub(super) fn watch(end: impl FnOnce(i32, Option<&str>) + Send + 'static) {
    use signal_hook::{
        consts::{SIGBUS, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ},
        iterator::Signals,
    };
    const BAD_INPUT: i32 = 2;
    // SAFETY: the call passes no memory. The only other handler of this signal in the program is the standard
    // library's, which reports a stack overflow. If that handler were called before the handler below, it would restore
    // the default and so end the program.
    unsafe { libc::signal(SIGBUS, libc::SIG_DFL) };
    let ending_signals = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];
    let watched_signals = ending_signals
        .into_iter()
        .filter(|&signal| !is_ignored(signal));
    if let Ok(mut signals) = Signals::new(watched_signals.chain([SIGBUS, SIGXFSZ])) {
        std::thread::spawn(
            move || match signals.forever().find(|&signal| signal != SIGXFSZ) {
                Some(SIGBUS) => end(
                    BAD_INPUT,
                    Some("an input file became shorter while it was read, or its disk failed"),
                ),
                Some(signal) => end(128 + signal, None),
                None => {}
            },
        );
    }
}

/// Returns whether this signal is ignored. A command inherits this setting from its caller.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    // SAFETY: a `sigaction` has integers and pointers only, for which zeros are valid. Because the new action is null,
    // the call changes nothing and writes the current action to `action`, which lives until after the call.
    let (outcome, action) = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let outcome = libc::sigaction(signal, std::ptr::null(), &raw mut action);
        (outcome, action)
    };
    outcome == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Calls `end` once, on its own thread, at Ctrl-C, with the exit code that shells use for it.
#[cfg(not(unix))]
pub(super) fn watch(end: impl FnOnce(i32, Option<&str>) + Send + 'static) {
    const EXIT_INTERRUPTED: i32 = 130;
    let mut end = Some(end);
    // Without a handler, the command ends immediately, as by default.
    let _ = ctrlc::set_handler(move || {
        if let Some(end) = end.take() {
            end(EXIT_INTERRUPTED, None);
        }
    });
}
