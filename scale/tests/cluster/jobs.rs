//! Jobs on Zarr arrays, including when processes are killed and disks fail.

use super::harness::{Cluster, Run, RunResult, run};
use crate::{
    random::{Random, Slice},
    wait::until,
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};
use tempfile::{Builder, TempDir};
use wgslice::{Backend, options::GatherOptions};

const SHAPE: [usize; 3] = [40, 30, 20];

/// The time within which a command on a cluster must end, even if executors are lost.
const LIMIT: Duration = Duration::from_secs(90);

/// Makes elements that differ from all their neighbours.
fn values() -> Vec<u16> {
    (0..SHAPE.iter().product())
        .map(|i| (i * 31 + i / 600) as u16)
        .collect()
}

/// Writes an array of u16 to an `.npy` file.
fn write_npy(path: &Path, shape: &[usize], values: &[u16]) {
    let sizes: String = shape.iter().map(|size| format!("{size},")).collect();
    let mut header = format!("{{'descr': '<u2', 'fortran_order': False, 'shape': ({sizes}), }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut file = fs::File::create(path).unwrap();
    file.write_all(b"\x93NUMPY\x01\x00").unwrap();
    file.write_all(&u16::try_from(header.len()).unwrap().to_le_bytes())
        .unwrap();
    file.write_all(header.as_bytes()).unwrap();
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    file.write_all(&bytes).unwrap();
}

/// Reads the elements of an `.npy` file of u16.
fn read_npy(path: &Path) -> Vec<u16> {
    let bytes = fs::read(path).unwrap();
    let header = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let data = &bytes[10 + header..];
    data.chunks_exact(2)
        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
        .collect()
}

struct Folder(TempDir);

impl Folder {
    /// Makes a folder with the array `a.zarr`, which has 24 chunks, in shards of up to 4 chunks.
    fn new() -> Self {
        // DataFusion reads the lists of tasks next to a result. Some of these characters make a name look like a
        // pattern, and others like an encoded name.
        let name = Builder::new().prefix("jobs [0-9] 100% a%20b #*?").tempdir();
        let folder = Self(name.unwrap());
        write_npy(&folder.path("a.npy"), &SHAPE, &values());
        let (from, to) = (folder.text("a.npy"), folder.text("a.zarr"));
        folder.run(&[
            "convert", &from, "-o", &to, "--shard", "20,20,10", "--chunk", "10,10,10", "--codec",
            "gzip",
        ]);
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn run(&self, arguments: &[&str]) -> String {
        run(self.0.path(), arguments)
    }

    /// Starts a slice of `a.zarr` on a cluster.
    fn slice(&self, spec: &str, to: &str, shard: &str, cluster: &str) -> Run {
        let (from, to) = (self.text("a.zarr"), self.text(to));
        let chunk = "10,10,10";
        Run::start(
            self.0.path(),
            &[
                "slice",
                &from,
                spec,
                "-o",
                &to,
                "--shard",
                shard,
                "--chunk",
                chunk,
                "--cluster",
                cluster,
                "--json",
            ],
        )
    }

    /// Returns the contents of all files of a store, by their keys.
    fn files(&self, name: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.path(name)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let key = path.strip_prefix(self.path(name)).unwrap().to_owned();
                    files.insert(key, fs::read(path).unwrap());
                }
            }
        }
        files
    }

    /// Returns the number of shards in a store.
    fn shards(&self, name: &str) -> usize {
        self.files(name)
            .keys()
            .filter(|key| key.starts_with("c"))
            .count()
    }

    /// Returns the elements of a store, which is converted to an `.npy` file.
    fn elements(&self, name: &str) -> Vec<u16> {
        let npy = format!("{name}.npy");
        self.run(&[
            "convert",
            &self.text(name),
            "-o",
            &self.text(&npy),
            "--overwrite",
        ]);
        read_npy(&self.path(&npy))
    }
}

fn figures(outcome: &RunResult) -> Value {
    assert_eq!(outcome.code, 0, "{}{}", outcome.output, outcome.errors);
    serde_json::from_str(outcome.output.lines().last().unwrap()).unwrap()
}

/// Returns the elements of the array with all dimensions flipped.
fn flipped() -> Vec<u16> {
    values().into_iter().rev().collect()
}

const FLIP: &str = "::-1, ::-1, ::-1";

#[test]
fn stores_of_a_cluster_and_of_one_process_have_the_same_bytes() {
    let folder = Folder::new();
    let cluster = Cluster::start("stores", None, &[]);
    let values = values();
    let mut random = Random::new(7);
    let mut agreed_count = 0;
    while agreed_count < 50 {
        let slice = Slice::of(&mut random, &SHAPE);
        let (shape, expected) = slice.naive(&values, &SHAPE);
        if expected.is_empty() {
            continue;
        }
        agreed_count += 1;
        let sizes: Vec<_> = shape
            .iter()
            .map(|&size| (size.div_ceil(2)).to_string())
            .collect();
        let shard = sizes.join(",");
        let from = folder.text("a.zarr");
        let (local_store, cluster_store) = (
            format!("near-{agreed_count}.zarr"),
            format!("far-{agreed_count}.zarr"),
        );
        for (to, more) in [
            (&local_store, &[][..]),
            (&cluster_store, &["--cluster", &cluster.url][..]),
        ] {
            let to = folder.text(to);
            let arguments = [
                "slice",
                &from,
                &slice.text,
                "-o",
                &to,
                "--shard",
                &shard,
                "--chunk",
                &shard,
            ];
            folder.run(&[&arguments[..], more].concat());
        }
        assert!(
            folder.files(&local_store) == folder.files(&cluster_store),
            "{slice:?}"
        );
        let whole = Backend::cpu().slice((&values, &SHAPE), &slice.text.parse().unwrap());
        assert!(
            folder.elements(&cluster_store) == whole.unwrap().data,
            "{slice:?}"
        );
        assert!(folder.elements(&cluster_store) == expected, "{slice:?}");
    }
    // A gather with indices from a file.
    let rows: Vec<u16> = (0..25).map(|i| i * 7 % 40).collect();
    write_npy(&folder.path("rows.npy"), &[25], &rows);
    let (from, indices) = (folder.text("a.zarr"), folder.text("rows.npy"));
    for (to, more) in [
        ("near.zarr", &[][..]),
        ("far.zarr", &["--cluster", &cluster.url][..]),
    ] {
        let to = folder.text(to);
        folder.run(
            &[
                &["gather", &from, &indices, "-o", &to, "--shard", "10,30,20"][..],
                more,
            ]
            .concat(),
        );
    }
    assert!(folder.files("near.zarr") == folder.files("far.zarr"));
    let expected: Vec<u16> = rows
        .iter()
        .flat_map(|&row| &values[usize::from(row) * 600..][..600])
        .copied()
        .collect();
    assert!(folder.elements("far.zarr") == expected);
    let rows: Vec<i32> = rows.into_iter().map(i32::from).collect();
    let whole = Backend::cpu().gather((&values, &SHAPE), (&rows, &[25]), GatherOptions::default());
    assert!(folder.elements("far.zarr") == whole.unwrap().0.data);
}

/// Waits until an executor has begun this many shards, and returns its process id.
fn executor_with_shards(faults: &Path, shards: usize) -> u32 {
    let mut found = None;
    until(LIMIT, "an executor has begun shards", || {
        let started = fs::read_to_string(faults.join("started")).unwrap();
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        for line in started.lines() {
            let id = line.split(' ').next().unwrap().parse().unwrap();
            *counts.entry(id).or_default() += 1;
        }
        found = counts
            .into_iter()
            .find(|&(_, count)| count >= shards)
            .map(|(id, _)| id);
        found.is_some()
    });
    found.unwrap()
}

/// Makes a folder for faults, with these files and an empty file `started`.
fn faults(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("started"), "").unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn an_executor_is_killed(test: &str, fault: &str) {
    let folder = Folder::new();
    let faults = faults(&[(fault, "300")]);
    let mut cluster = Cluster::start(test, Some(faults.path()), &[]);
    let job = folder.slice(FLIP, "b.zarr", "10,10,10", &cluster.url);
    // The executor has begun its third shard. It has written two, and has not delivered their outcomes yet.
    let lost_executor = executor_with_shards(faults.path(), 3);
    cluster.kill(lost_executor);
    fs::remove_file(faults.path().join(fault)).unwrap();
    let figures = figures(&job.end(LIMIT));
    assert_eq!(figures["shards"], 24);
    let started = fs::read_to_string(faults.path().join("started")).unwrap();
    let started = started.lines().count();
    if fault == "sleep" {
        assert!(
            started > 24,
            "the task of the lost executor was not run again"
        );
    } else {
        // The tasks of the lost executor ran again and found their shards written, except the shard that was in
        // progress.
        assert!(started <= 25, "{started}");
        assert!(figures["stood"].as_u64() >= Some(1), "{figures}");
    }
    assert_eq!(folder.shards("b.zarr"), 24);
    assert!(folder.elements("b.zarr") == flipped());
}

#[test]
fn an_executor_killed_within_a_task_changes_nothing() {
    an_executor_is_killed("killed-within", "sleep");
}

#[test]
fn an_executor_killed_after_its_shards_were_written_changes_nothing() {
    an_executor_is_killed("killed-after", "sleep-after");
}

#[test]
fn all_executors_killed_is_an_error_and_the_next_run_computes_what_is_missing() {
    let folder = Folder::new();
    let slow_faults = faults(&[("sleep", "300")]);
    let mut cluster = Cluster::start("all-killed", Some(slow_faults.path()), &[]);
    let job = folder.slice(FLIP, "b.zarr", "10,10,10", &cluster.url);
    executor_with_shards(slow_faults.path(), 3);
    for id in cluster.executors() {
        cluster.kill(id);
    }
    let outcome = job.end(LIMIT);
    assert_eq!(outcome.code, 1, "{}", outcome.errors);
    let errors = outcome.errors.to_lowercase();
    assert!(errors.contains("executor"), "{}", outcome.errors);
    drop(cluster);
    let stood = folder.shards("b.zarr");
    assert!((3..24).contains(&stood), "{stood} shards");

    let start_log_folder = faults(&[]);
    let cluster = Cluster::start("all-killed-again", Some(start_log_folder.path()), &[]);
    let figures = figures(
        &folder
            .slice(FLIP, "b.zarr", "10,10,10", &cluster.url)
            .end(LIMIT),
    );
    assert_eq!(figures["stood"], stood, "{figures}");
    assert_eq!(figures["computed"], 24 - stood, "{figures}");
    let started = fs::read_to_string(start_log_folder.path().join("started")).unwrap();
    assert_eq!(started.lines().count(), 24 - stood);
    assert!(folder.elements("b.zarr") == flipped());
}

#[test]
fn an_error_of_the_disk_is_tried_again_and_a_corrupt_chunk_is_named() {
    let folder = Folder::new();
    let faults = faults(&[("io-error-1", "")]);
    let cluster = Cluster::start("errors", Some(faults.path()), &[]);
    let figures = figures(
        &folder
            .slice(FLIP, "b.zarr", "20,20,10", &cluster.url)
            .end(LIMIT),
    );
    assert_eq!(
        (&figures["shards"], &figures["computed"]),
        (&8.into(), &8.into())
    );
    assert!(!faults.path().join("io-error-1").exists());
    let started = fs::read_to_string(faults.path().join("started")).unwrap();
    assert!(started.lines().count() > 8, "no task was tried again");
    assert!(folder.elements("b.zarr") == flipped());

    // There are more errors than attempts for a task.
    let errors: Vec<_> = (0..40)
        .map(|number| faults.path().join(format!("io-error-{number}")))
        .collect();
    for error in &errors {
        fs::write(error, "").unwrap();
    }
    let outcome = folder
        .slice(FLIP, "c.zarr", "20,20,10", &cluster.url)
        .end(LIMIT);
    assert_eq!(outcome.code, 1, "{}", outcome.errors);
    assert!(outcome.errors.contains("on purpose"), "{}", outcome.errors);
    let exhausted = cluster.exhausted();
    assert!(exhausted > 0);
    for error in &errors {
        let _ = fs::remove_file(error);
    }

    // Corrupts some bytes of a shard. The checksum of gzip reveals this, and another try would find the same bytes.
    let key = Path::new("c/1/0/1");
    let path = folder.path("a.zarr").join(key);
    let mut bytes = fs::read(&path).unwrap();
    for byte in &mut bytes[20..60] {
        *byte ^= 0x5a;
    }
    fs::write(&path, bytes).unwrap();
    let outcome = folder
        .slice(":, :, :", "d.zarr", "20,20,10", &cluster.url)
        .end(LIMIT);
    assert_eq!(outcome.code, 1, "{}", outcome.errors);
    assert!(outcome.errors.contains("c/1/0/1"), "{}", outcome.errors);
    assert!(!folder.path("d.zarr").join(key).exists());
    assert_eq!(
        cluster.exhausted(),
        exhausted,
        "a corrupt chunk was tried again"
    );
}

/// Slices an array of 1 GiB on executors, each of which stays below 256 MiB.
#[test]
fn executors_stay_below_a_quarter_of_the_array() {
    const LIMIT_BYTES: u64 = 256 << 20;
    const SHAPE: [usize; 3] = [512, 1024, 1024];
    let folder = Folder(TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap());
    let plane: Vec<u16> = (0..1024 * 1024u32)
        .map(|i| (i / 7 + i % 1024) as u16)
        .collect();
    write_npy(&folder.path("a.npy"), &SHAPE, &plane);
    let mut file = fs::File::options()
        .append(true)
        .open(folder.path("a.npy"))
        .unwrap();
    let bytes: Vec<u8> = plane.iter().flat_map(|value| value.to_le_bytes()).collect();
    for _ in 1..SHAPE[0] {
        file.write_all(&bytes).unwrap();
    }
    let (from, to, result) = (
        folder.text("a.npy"),
        folder.text("a.zarr"),
        folder.text("b.zarr"),
    );
    folder.run(&[
        "convert",
        &from,
        "-o",
        &to,
        "--shard",
        "128,256,256",
        "--chunk",
        "64,128,128",
        "--codec",
        "zstd",
    ]);
    fs::remove_file(folder.path("a.npy")).unwrap();
    let cluster = Cluster::start("memory", None, &["--memory", "256M"]);
    let job = Run::start(
        folder.0.path(),
        &[
            "slice",
            &to,
            "::-1, :, ::-1",
            "-o",
            &result,
            "--cluster",
            &cluster.url,
            "--memory",
            "128M",
            "--json",
        ],
    );
    let figures = figures(&job.end(Duration::from_secs(300)));
    assert_eq!(figures["computed"], figures["shards"]);
    let peaks = cluster.peaks();
    assert_eq!(peaks.len(), 3);
    println!(
        "resident memory of the executors at most {peaks:?} bytes, of an array of {} bytes",
        1u64 << 30
    );
    assert!(peaks.iter().all(|&peak| peak < LIMIT_BYTES), "{peaks:?}");
    // All planes of the source are equal, so this line of the result is a reversed line of a plane.
    let line = folder.text("line.zarr");
    folder.run(&["slice", &result, "100, 3, :", "-o", &line]);
    let expected: Vec<u16> = plane[3 * 1024..4 * 1024].iter().rev().copied().collect();
    assert!(folder.elements("line.zarr") == expected);
}
