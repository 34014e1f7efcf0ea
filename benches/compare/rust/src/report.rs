//! Writes the results as JSON and as tables.

use crate::{Options, cases::Case, clock::Clock};
use serde_json::{Value, json};
use std::{error::Error, fmt::Write, fs, path::Path, time::Duration};

/// The times of one crate, in seconds.
pub struct Times {
    pub name: &'static str,
    median: f64,
    minimum: f64,
    /// The number of measurements.
    count: usize,
}

impl Times {
    pub fn of(name: &'static str, mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self {
            name,
            median: times[times.len() / 2].as_secs_f64(),
            minimum: times[0].as_secs_f64(),
            count: times.len(),
        }
    }
}

/// The times of a case in one mode (new or reused results) and with one number of threads: first the times of a copy of
/// the result's bytes, then the times of each crate.
pub struct Row {
    pub case: Case,
    /// The size of the result in bytes.
    pub bytes: usize,
    pub threads: usize,
    pub mode: &'static str,
    pub times: Vec<Times>,
}

impl Row {
    fn median_of(&self, name: &str) -> Option<f64> {
        let times = self.times.iter().find(|times| times.name == name);
        times.map(|times| times.median)
    }

    /// Returns the times of the fastest of wgslice's peers.
    fn fastest_peer(&self) -> Option<&Times> {
        let others = self.times.iter();
        let others = others.filter(|times| !["copy", "wgslice"].contains(&times.name));
        others.min_by(|a, b| a.median.total_cmp(&b.median))
    }
}

const PEERS: [&str; 6] = [
    "ndarray",
    "transpose",
    "strided-perm",
    "candle",
    "burn-flex",
    "a loop",
];

pub fn write(options: &Options, rows: &[Row], total_time: Duration) -> Result<(), Box<dyn Error>> {
    let machine = machine();
    let clock = match options.clock {
        Clock::Wall => "wall-clock time",
        Clock::Thread => "processor time of one thread",
    };
    let head = format!(
        "{machine}. {}. {clock}, medians of 3 to 25 alternating calls of each crate, {:.0} s in all. {}.",
        date(),
        total_time.as_secs_f64(),
        versions()
    );
    let tables = tables(rows, &head);
    let json = json!({"machine": machine, "date": date(), "versions": versions(), "clock": clock, "rows": rows.iter().map(row_json).collect::<Vec<_>>()});
    match &options.out {
        Some(folder) => {
            fs::write(Path::new(folder).join("rust-peers.md"), tables)?;
            let json = serde_json::to_string_pretty(&json)? + "\n";
            fs::write(Path::new(folder).join("rust-peers.json"), json)?;
        }
        None => println!("{tables}"),
    }
    Ok(())
}

fn row_json(row: &Row) -> Value {
    let times = row.times.iter().map(|times| {
        let numbers = json!({"median": times.median, "least": times.minimum, "calls": times.count});
        (times.name.to_owned(), numbers)
    });
    json!({
        "case": row.case.name,
        "dtype": row.case.dtype.to_string(),
        "threads": row.threads,
        "output": row.mode,
        "bytes": row.bytes,
        "seconds": times.collect::<serde_json::Map<_, _>>(),
    })
}

fn tables(rows: &[Row], head: &str) -> String {
    let mut text = format!(
        "# wgslice and other Rust crates, on the CPU\n\n{head}\n\n```sh\ncargo run --release \
         --manifest-path benches/compare/rust/Cargo.toml -- --out benches/results\n```\n\nA ratio is a crate's \
         time ÷ wgslice's time: above 1 wgslice is faster. *Of a copy*: the time of a copy of as many bytes as the result \
         has ÷ wgslice's time. [The README](../compare/README.md#other-rust-crates) lists the input of each crate.\n"
    );
    let mut slower_rows = String::new();
    let mut modes: Vec<(usize, &str)> = rows.iter().map(|row| (row.threads, row.mode)).collect();
    modes.sort_unstable();
    modes.dedup();
    for (threads, mode) in modes {
        let table_rows = || {
            let rows = rows.iter();
            rows.filter(move |row| (row.threads, row.mode) == (threads, mode))
        };
        let columns = PEERS.iter();
        let columns: Vec<_> = columns
            .filter(|name| table_rows().any(|row| row.median_of(name).is_some()))
            .collect();
        let threads = match threads {
            1 => "one thread".to_owned(),
            count => format!("{count} threads"),
        };
        let output = match mode {
            "new" => "a new result for each call",
            _ => "a result that is used again",
        };
        write!(
            text,
            "\n## {output}, {threads}\n\n| | type | ms | of a copy |"
        )
        .unwrap();
        columns
            .iter()
            .for_each(|name| write!(text, " {name} |").unwrap());
        text += "\n|---|---|---|---|";
        columns.iter().for_each(|_| text += "---|");
        text.push('\n');
        for row in table_rows() {
            let own_time = row.median_of("wgslice").unwrap_or(f64::NAN);
            let copy = row.median_of("copy").unwrap_or(f64::NAN);
            let (name, dtype) = (row.case.name, row.case.dtype);
            write!(
                text,
                "| {name} | {dtype} | {} | {:.0} % |",
                ms(own_time),
                100.0 * copy / own_time
            )
            .unwrap();
            for column in &columns {
                match row.median_of(column).map(|time| time / own_time) {
                    Some(ratio) if ratio < 0.95 => write!(text, " **{ratio:.2}** |"),
                    Some(ratio) if ratio < 10.0 => write!(text, " {ratio:.2} |"),
                    Some(ratio) => write!(text, " {ratio:.0} |"),
                    None => write!(text, " |"),
                }
                .unwrap();
            }
            text.push('\n');
            if let Some(best) = row
                .fastest_peer()
                .filter(|best| best.median < 0.95 * own_time)
            {
                let ratio = best.median / own_time;
                writeln!(
                    slower_rows,
                    "| {name} | {dtype} | {output}, {threads} | {} | {ratio:.2} |",
                    best.name
                )
                .unwrap();
            }
        }
    }
    if !slower_rows.is_empty() {
        write!(text, "\n## Cases in which another crate is faster\n\n| | type | | crate | ratio |\n|---|---|---|---|---|\n{slower_rows}").unwrap();
    }
    text
}

fn ms(seconds: f64) -> String {
    let ms = seconds * 1e3;
    match ms {
        0.0..0.1 => format!("{ms:.4}"),
        0.1..10.0 => format!("{ms:.2}"),
        _ => format!("{ms:.1}"),
    }
}

/// Returns the processor's name, family and model, and the number of cores.
fn machine() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let value = |name: &str| {
        let mut lines = info.lines();
        let line = lines.find(|line| line.split(':').next().is_some_and(|key| key.trim() == name));
        line.and_then(|line| line.split_once(':'))
            .map_or("unknown", |(_, value)| value.trim())
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let (name, family, model) = (value("model name"), value("cpu family"), value("model"));
    format!("{name}, family {family}, model {model}, {cores} cores")
}

fn date() -> String {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let days = since_epoch.map_or(0, |since_epoch| since_epoch.as_secs() / 86_400) as i64;
    // Converts the days to a date of the civil calendar, in eras of 400 years that begin in March.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, (month + 2) % 12 + 1);
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}

/// Returns the versions of the crates, from the lock file with which this program was built.
fn versions() -> String {
    let lock = include_str!("../Cargo.lock");
    let names = [
        "ndarray",
        "transpose",
        "strided-perm",
        "candle-core",
        "burn-flex",
    ];
    let versions = names.map(|name| {
        let package = lock
            .split("[[package]]")
            .find(|package| package.contains(&format!("name = \"{name}\"\n")));
        let version = package.and_then(|package| package.split("version = \"").nth(1));
        let version = version.and_then(|version| version.split('"').next());
        format!("{name} {}", version.unwrap_or("unknown"))
    });
    versions.join(", ")
}
