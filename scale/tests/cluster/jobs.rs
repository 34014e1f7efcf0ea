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

/// A command on a cluster must end within this time, even if executors are lost.
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
    let header_length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let data = &bytes[10 + header_length..];
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
        let folder = Builder::new().prefix("jobs [0-9] 100% a%20b #*?").tempdir();
        let folder = Self(folder.unwrap());
        write_npy(&folder.path("a.npy"), &SHAPE, &values());
        let (from, to) = (folder.path_text("a.npy"), folder.path_text("a.zarr"));
        folder.run(&[
            "convert", &from, "-o", &to, "--shard", "20,20,10", "--chunk", "10,10,10", "--codec",
            "gzip",
        ]);
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn path_text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn run(&self, arguments: &[&str]) -> String {
        run(self.0.path(), arguments)
    }

    /// Starts a slice of `a.zarr` on a cluster.
    fn slice(&self, spec: &str, to: &str, shard_shape: &str, cluster_url: &str) -> Run {
        let (from, to) = (self.path_text("a.zarr"), self.path_text(to));
        let chunk_shape = "10,10,10";
        Run::start(
            self.0.path(),
            &[
                "slice",
                &from,
                spec,
                "-o",
                &to,
                "--shard",
                shard_shape,
                "--chunk",
                chunk_shape,
                "--cluster",
                cluster_url,
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
    fn shard_count(&self, name: &str) -> usize {
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
            &self.path_text(name),
            "-o",
            &self.path_text(&npy),
            "--overwrite",
        ]);
        read_npy(&self.path(&npy))
    }
}

/// Returns the summary that a successful run with `--json` has printed.
fn summary(outcome: &RunResult) -> Value {
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
        let shard_shape = sizes.join(",");
        let from = folder.path_text("a.zarr");
        let (local_store, cluster_store) = (
            format!("near-{agreed_count}.zarr"),
            format!("far-{agreed_count}.zarr"),
        );
        for (to, more_arguments) in [
            (&local_store, &[][..]),
            (&cluster_store, &["--cluster", &cluster.url][..]),
        ] {
            let to = folder.path_text(to);
            let arguments = [
                "slice",
                &from,
                &slice.text,
                "-o",
                &to,
                "--shard",
                &shard_shape,
                "--chunk",
                &shard_shape,
            ];
            folder.run(&[&arguments[..], more_arguments].concat());
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
    // Gathers with indices from a file.
    let rows: Vec<u16> = (0..25).map(|i| i * 7 % 40).collect();
    write_npy(&folder.path("rows.npy"), &[25], &rows);
    let (from, indices) = (folder.path_text("a.zarr"), folder.path_text("rows.npy"));
    for (to, more_arguments) in [
        ("near.zarr", &[][..]),
        ("far.zarr", &["--cluster", &cluster.url][..]),
    ] {
        let to = folder.path_text(to);
        folder.run(
            &[
                &["gather", &from, &indices, "-o", &to, "--shard", "10,30,20"][..],
                more_arguments,
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

/// Waits until an executor has begun `shard_count` shards, and returns its process id.
fn executor_with_shards(faults_folder: &Path, shard_count: usize) -> u32 {
    let mut executor_id = None;
    until(LIMIT, "an executor has begun shards", || {
        let started = fs::read_to_string(faults_folder.join("started")).unwrap();
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        for line in started.lines() {
            let id = line.split(' ').next().unwrap().parse().unwrap();
            *counts.entry(id).or_default() += 1;
        }
        executor_id = counts
            .into_iter()
            .find(|&(_, count)| count >= shard_count)
            .map(|(id, _)| id);
        executor_id.is_some()
    });
    executor_id.unwrap()
}

/// Makes a folder for faults, with these files and an empty file `started`.
fn make_faults_folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("started"), "").unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// Kills an executor while the fault in the file `fault` slows tasks down, and checks the result.
fn check_killed_executor(test: &str, fault: &str) {
    let folder = Folder::new();
    let faults_folder = make_faults_folder(&[(fault, "300")]);
    let mut cluster = Cluster::start(test, Some(faults_folder.path()), &[]);
    let job = folder.slice(FLIP, "b.zarr", "10,10,10", &cluster.url);
    // The executor has begun its third shard. It has written two, and has not delivered their outcomes yet.
    let lost_executor = executor_with_shards(faults_folder.path(), 3);
    cluster.kill(lost_executor);
    fs::remove_file(faults_folder.path().join(fault)).unwrap();
    let summary = summary(&job.end(LIMIT));
    assert_eq!(summary["shards"], 24);
    let started = fs::read_to_string(faults_folder.path().join("started")).unwrap();
    let start_count = started.lines().count();
    if fault == "sleep" {
        assert!(
            start_count > 24,
            "the task of the lost executor was not run again"
        );
    } else {
        // The tasks of the lost executor ran again and found their shards written, except the shard that was in
        // progress.
        assert!(start_count <= 25, "{start_count}");
        assert!(summary["stood"].as_u64() >= Some(1), "{summary}");
    }
    assert_eq!(folder.shard_count("b.zarr"), 24);
    assert!(folder.elements("b.zarr") == flipped());
}

#[test]
fn an_executor_killed_within_a_task_changes_nothing() {
    check_killed_executor("killed-within", "sleep");
}

#[test]
fn an_executor_killed_after_its_shards_were_written_changes_nothing() {
    check_killed_executor("killed-after", "sleep-after");
}

#[test]
fn killing_all_executors_fails_and_the_next_run_computes_the_missing_shards() {
    let folder = Folder::new();
    let slow_faults_folder = make_faults_folder(&[("sleep", "300")]);
    let mut cluster = Cluster::start("all-killed", Some(slow_faults_folder.path()), &[]);
    let job = folder.slice(FLIP, "b.zarr", "10,10,10", &cluster.url);
    executor_with_shards(slow_faults_folder.path(), 3);
    for id in cluster.executor_ids() {
        cluster.kill(id);
    }
    let outcome = job.end(LIMIT);
    assert_eq!(outcome.code, 1, "{}", outcome.errors);
    let errors = outcome.errors.to_lowercase();
    assert!(errors.contains("executor"), "{}", outcome.errors);
    drop(cluster);
    let kept_count = folder.shard_count("b.zarr");
    assert!((3..24).contains(&kept_count), "{kept_count} shards");

    let start_log_folder = make_faults_folder(&[]);
    let cluster = Cluster::start("all-killed-again", Some(start_log_folder.path()), &[]);
    let summary = summary(
        &folder
            .slice(FLIP, "b.zarr", "10,10,10", &cluster.url)
            .end(LIMIT),
    );
    assert_eq!(summary["stood"], kept_count, "{summary}");
    assert_eq!(summary["computed"], 24 - kept_count, "{summary}");
    let started = fs::read_to_string(start_log_folder.path().join("started")).unwrap();
    assert_eq!(started.lines().count(), 24 - kept_count);
    assert!(folder.elements("b.zarr") == flipped());
}

#[test]
fn a_disk_error_is_retried_and_a_corrupt_chunk_is_named() {
    let folder = Folder::new();
    let faults_folder = make_faults_folder(&[("io-error-1", "")]);
    let cluster = Cluster::start("errors", Some(faults_folder.path()), &[]);
    let summary = summary(
        &folder
            .slice(FLIP, "b.zarr", "20,20,10", &cluster.url)
            .end(LIMIT),
    );
    assert_eq!(
        (&summary["shards"], &summary["computed"]),
        (&8.into(), &8.into())
    );
    assert!(!faults_folder.path().join("io-error-1").exists());
    let started = fs::read_to_string(faults_folder.path().join("started")).unwrap();
    assert!(started.lines().count() > 8, "no task was tried again");
    assert!(folder.elements("b.zarr") == flipped());

    // There are more errors than attempts for a task.
    let error_files: Vec<_> = (0..40)
        .map(|number| faults_folder.path().join(format!("io-error-{number}")))
        .collect();
    for file in &error_files {
        fs::write(file, "").unwrap();
    }
    let outcome = folder
        .slice(FLIP, "c.zarr", "20,20,10", &cluster.url)
        .end(LIMIT);
    assert_eq!(outcome.code, 1, "{}", outcome.errors);
    assert!(outcome.errors.contains("on purpose"), "{}", outcome.errors);
    let exhausted_count = cluster.exhausted_task_count();
    assert!(exhausted_count > 0);
    for file in &error_files {
        let _ = fs::remove_file(file);
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
        cluster.exhausted_task_count(),
        exhausted_count,
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
        folder.path_text("a.npy"),
        folder.path_text("a.zarr"),
        folder.path_text("b.zarr"),
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
    let summary = summary(&job.end(Duration::from_secs(300)));
    assert_eq!(summary["computed"], summary["shards"]);
    let peaks = cluster.peaks();
    assert_eq!(peaks.len(), 3);
    println!(
        "peak resident memory of the executors: {peaks:?} bytes; size of the array: {} bytes",
        1u64 << 30
    );
    assert!(peaks.iter().all(|&peak| peak < LIMIT_BYTES), "{peaks:?}");
    // All planes of the source are equal, so this line of the result is a reversed line of a plane.
    let line = folder.path_text("line.zarr");
    folder.run(&["slice", &result, "100, 3, :", "-o", &line]);
    let expected: Vec<u16> = plane[3 * 1024..4 * 1024].iter().rev().copied().collect();
    assert!(folder.elements("line.zarr") == expected);
}
