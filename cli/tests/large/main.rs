//! Tests of files larger than memory, and of the device that `auto` chooses by measured times. They are slow, so `cargo
//! test` leaves them out. `bash tests/run large` runs them.

#![cfg(target_os = "linux")]

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

/// The limit on the command's memory, in bytes. The system enforces this limit on the command's own data. The test
/// checks that the peak of resident memory, which includes pages of files, is also below it.
const MEMORY_LIMIT: u64 = 2_000_000_000;

const ROWS: usize = 5000;
const COLUMNS: usize = 1_000_000;

/// A sparse file with 20 GB of f32: zeros, and a few other values far apart.
struct HugeFile {
    folder: PathBuf,
}

impl HugeFile {
    /// Returns the rows and columns of the nonzero values. In this order, the values are 1, 2, 3, …
    fn marked_positions() -> impl Iterator<Item = (usize, usize)> {
        (0..ROWS)
            .step_by(97)
            .flat_map(|row| [(row, row * 199), (row, COLUMNS - 1 - row)])
    }

    fn new() -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("large");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        let header =
            format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({ROWS}, {COLUMNS}), }}");
        let file = File::create(folder.join("in.npy")).expect("a file");
        let padded = format!("{header:<117}\n");
        let file_start = [b"\x93NUMPY\x01\x00\x76\x00", padded.as_bytes()].concat();
        file.write_all_at(&file_start, 0).expect("a header");
        let data_start = file_start.len() as u64;
        file.set_len(data_start + (ROWS * COLUMNS * 4) as u64)
            .expect("a sparse file");
        for (number, (row, column)) in (1u16..).zip(Self::marked_positions()) {
            let at = data_start + ((row * COLUMNS + column) * 4) as u64;
            file.write_all_at(&f32::from(number).to_le_bytes(), at)
                .expect("a value");
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).to_str().expect("UTF-8").to_owned()
    }

    /// Slices on a device. Returns the nonzero values of the result, each with its position, and the number of all
    /// values.
    fn slice(&self, spec: &str, device: &str) -> (Vec<(usize, f32)>, usize) {
        let (input, output) = (self.path("in.npy"), self.path("out.npy"));
        let command = env!("CARGO_BIN_EXE_wgslice");
        let mut running = Command::new("bash")
            .args(["-c", "ulimit -d \"$1\"; shift; exec \"$@\"", "-"])
            .arg((MEMORY_LIMIT / 1024).to_string())
            .args([
                command, "slice", &input, spec, "-o", &output, "--device", device,
            ])
            .stdout(Stdio::inherit())
            .spawn()
            .expect("the command starts");
        let peak = peak_memory(&mut running);
        assert!(
            running.wait().expect("it ends").success(),
            "{spec} {device}"
        );
        println!(
            "{spec} on {device}: at most {} MB in memory",
            peak / 1_000_000
        );
        assert!(
            peak > 0 && peak < MEMORY_LIMIT,
            "{spec} {device}: {peak} bytes"
        );
        nonzero_values(Path::new(&output))
    }
}

impl Drop for HugeFile {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Waits until a process ends. Returns the peak of its resident memory in bytes, which includes pages of files.
fn peak_memory(running: &mut Child) -> u64 {
    let path = format!("/proc/{}/status", running.id());
    let mut peak = 0;
    while running.try_wait().expect("its state").is_none() {
        let status = fs::read_to_string(&path).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        peak = peak.max(kilobytes.unwrap_or(0) * 1024);
        thread::sleep(Duration::from_millis(5));
    }
    peak
}

/// Returns the nonzero values of an .npy file of f32, each with its position, and the number of all values.
fn nonzero_values(path: &Path) -> (Vec<(usize, f32)>, usize) {
    let file = File::open(path).expect("the output");
    let len = file.metadata().expect("its length").len();
    let data_start = 128;
    let mut values = Vec::new();
    let mut buffer = vec![0; 1 << 24];
    let mut at = data_start;
    while at < len {
        let bytes = usize::try_from((len - at).min(1 << 24)).expect("a length");
        file.read_exact_at(&mut buffer[..bytes], at)
            .expect("values");
        let first_index = usize::try_from(at - data_start).expect("an offset") / 4;
        for (number, value) in buffer[..bytes].as_chunks().0.iter().enumerate() {
            let value = f32::from_le_bytes(*value);
            if value != 0.0 {
                values.push((first_index + number, value));
            }
        }
        at += bytes as u64;
    }
    (
        values,
        usize::try_from(len - data_start).expect("a length") / 4,
    )
}

/// For every workload of the built-in set, `auto` would choose the faster of the CPU and a hardware GPU by the costs
/// that the benchmark measures, or a device that takes at most 1.3 times as long. Other work disturbs the times.
#[test]
fn auto_is_never_much_slower_than_the_better_choice() {
    const MAX_QUOTIENT: f64 = 1.3;
    let bench = Command::new(env!("CARGO_BIN_EXE_wgslice"))
        .args(["bench", "--reps", "5", "--json"])
        .stderr(Stdio::inherit())
        .output()
        .expect("the command starts");
    assert!(bench.status.success());
    let report: serde_json::Value = serde_json::from_slice(&bench.stdout).expect("JSON");
    let devices = report["devices"].as_array().expect("devices");
    let auto = &report["auto"];
    println!("{auto}");
    if devices.iter().all(|device| device["kind"] != "gpu") {
        assert!(auto.is_null(), "no hardware is there to choose: {auto}");
        return;
    }
    // The built-in set has 16 workloads.
    assert_eq!(auto["of"], 16, "{auto}");
    let worst = auto["worst"].as_f64().expect("a number");
    assert!((1.0..=MAX_QUOTIENT).contains(&worst), "{auto}");
}

#[test]
fn twenty_gigabytes_are_sliced_in_two() {
    let devices: &[&str] = match Command::new(env!("CARGO_BIN_EXE_wgslice"))
        .args(["info", "--device", "gpu"])
        .output()
    {
        Ok(info) if info.status.success() => &["cpu", "gpu"],
        _ => {
            let is_required = std::env::var("WGSLICE_REQUIRE_GPU").is_ok_and(|value| value == "1");
            assert!(
                !is_required,
                "WGSLICE_REQUIRE_GPU=1, but there is no adapter"
            );
            &["cpu"]
        }
    };
    let huge = HugeFile::new();
    // Maps a row or a column of the input to its position in the result. `None` if the slice does not select it.
    type Positions = fn(usize) -> Option<usize>;
    let cases: [(&str, Positions, Positions, usize, usize); 3] = [
        // This slice reads every page.
        (
            "::-1, ::50",
            |row| Some(ROWS - 1 - row),
            |column| column.is_multiple_of(50).then_some(column / 50),
            ROWS,
            COLUMNS / 50,
        ),
        // This slice selects nearly all of every 97th row.
        (
            "::97, 1:",
            |row| row.is_multiple_of(97).then_some(row / 97),
            |column| column.checked_sub(1),
            ROWS.div_ceil(97),
            COLUMNS - 1,
        ),
        // This slice selects every second value of the last rows, from the end of each row.
        (
            "4000:, ::-2",
            |row| row.checked_sub(4000),
            |column| {
                let back = COLUMNS - 1 - column;
                back.is_multiple_of(2).then_some(back / 2)
            },
            1000,
            COLUMNS / 2,
        ),
    ];
    for (spec, row_of, column_of, rows, columns) in cases {
        let mut expected: Vec<(usize, f32)> = (1u16..)
            .zip(HugeFile::marked_positions())
            .filter_map(|(number, (row, column))| {
                let (row, column) = (row_of(row)?, column_of(column)?);
                Some((row * columns + column, f32::from(number)))
            })
            .collect();
        expected.sort_by_key(|&(position, _)| position);
        assert!(expected.len() > 2, "{spec}");
        for device in devices {
            let (found, count) = huge.slice(spec, device);
            assert_eq!(count, rows * columns, "{spec} {device}");
            assert!(found == expected, "{spec} {device}");
        }
    }
}
