//! The log on standard error. It contains errors and warnings and, with `--verbose`, also progress messages of this
//! crate and of the engines.

use log::{LevelFilter, Log, Metadata, Record};
use std::{
    io::{Write, stderr},
    time::SystemTime,
};

struct Stderr;

/// The Ballista module that logs the errors of queries. The command prints these errors itself, so the module's
/// messages are only logged with `--verbose`.
const QUERY_ERROR_MODULE: &str = "ballista_core::execution_plans::distributed_query";

impl Log for Stderr {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() != QUERY_ERROR_MODULE || log::max_level() > LevelFilter::Warn
    }

    /// Writes one line: milliseconds since 1970, level, module and message.
    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let milliseconds = since_1970.map_or(0, |elapsed| elapsed.as_millis());
        let (level, module, message) = (record.level(), record.target(), record.args());
        // If standard error cannot be written to, this cannot be reported anywhere.
        let _ = writeln!(stderr(), "{milliseconds} {level} {module}: {message}");
    }

    fn flush(&self) {}
}

/// Starts the log. `verbose` is 0 for warnings and errors only, 1 for informational messages too, and 2 or more for
/// debug messages too.
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
