//! The log on standard error: warnings, and with `--verbose` also the engines' messages.

use log::{LevelFilter, Log, Metadata, Record};
use std::{
    io::{Write, stderr},
    time::SystemTime,
};

struct Stderr;

/// The module of Ballista that logs the error of a query, which the command itself prints.
const PRINTED_BY_COMMAND: &str = "ballista_core::execution_plans::distributed_query";

impl Log for Stderr {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() != PRINTED_BY_COMMAND || log::max_level() > LevelFilter::Warn
    }

    /// One line: milliseconds since 1970, level, module and message.
    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0, |since| since.as_millis());
        let (level, module, message) = (record.level(), record.target(), record.args());
        // An error of standard error itself cannot be reported anywhere.
        let _ = writeln!(stderr(), "{now} {level} {module}: {message}");
    }

    fn flush(&self) {}
}

/// Starts the log. `verbose` is 0 for warnings, 1 for the engines' messages, 2 and more for details.
pub(crate) fn start(verbose: u8) {
    let level = match verbose {
        0 => LevelFilter::Warn,
        1 => LevelFilter::Info,
        _ => LevelFilter::Debug,
    };
    if log::set_logger(&Stderr).is_ok() {
        log::set_max_level(level);
    }
}
