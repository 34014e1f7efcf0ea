//! Jobs on sources in a bucket.

use super::{
    Fixture, content, run_to_end,
    server::{Fault, environment},
    shape_text, url,
};
use crate::{
    gather::save,
    lengths::{check_failures, uses, write_raw_stores},
    random::{Random, Slice},
    zarr::{Known, StoreKind, read},
};
use std::{fs, net::TcpListener, time::Duration};

const STORE_KINDS: [StoreKind; 4] = [
    StoreKind::Chunks,
    StoreKind::Shards,
    StoreKind::V2,
    StoreKind::Transposed,
];

/// Returns the number of bytes of an array's chunks and shard indexes that the server has sent since the last call.
fn sent_bytes(fixture: &Fixture, array: &str) -> u64 {
    let log = fixture.server.take_log();
    let requests = log.iter().filter(|(method, key, _)| {
        let name = key.rsplit('/').next().unwrap();
        method == "GET" && key.contains(array) && !name.starts_with(['z', '.'])
    });
    requests.map(|(_, _, bytes)| bytes).sum()
}

#[test]
fn slices_of_a_bucket_and_of_a_folder_are_equal() {
    let fixture = Fixture::new();
    let mut random = Random::new(41);
    for case in 0..20 {
        let name = format!("deep/a-{case}.zarr");
        let kind = STORE_KINDS[case % 4];
        let source = Known::random(&mut random, &fixture.key_path(&name), kind);
        let spec = Slice::of(&mut random, &source.shape);
        let description = format!("case {case}: {kind:?} {:?}[{}]", source.shape, spec.text);
        let (shape, elements) = spec.naive(&source.elements, &source.shape);
        let shard_shape = shape_text(shape.iter().map(|&size| size.div_ceil(2).max(1)));
        let local_result = fixture.path_text(&format!("near-{case}.zarr"));
        let remote_result = fixture.path_text(&format!("far-{case}.zarr"));
        let result = format!("r-{case}.zarr");
        let path = source.path.display().to_string();
        let slice = |from: &str, to: &str| {
            let form = ["--shard", &shard_shape, "--chunk", &shard_shape, "--json"];
            // The job uses one thread, because two threads can both read a chunk that their shards share.
            let arguments = ["slice", from, &spec.text, "-o", to, "--threads", "1"];
            fixture.run(&[&arguments[..], &form].concat()).summary()
        };
        let expected = slice(&path, &local_result);
        fixture.server.take_log();
        let summary = slice(&url(&name), &remote_result);
        // The job counts each byte of chunks and indexes that the server sends. It reads as many bytes from a folder.
        assert_eq!(
            summary["bytes_read"],
            sent_bytes(&fixture, &name),
            "{description}"
        );
        for figure in ["shards", "computed", "chunks_read", "bytes_read"] {
            assert_eq!(summary[figure], expected[figure], "{figure}: {description}");
        }
        assert!(
            content(remote_result.as_ref()) == content(local_result.as_ref()),
            "{description}"
        );
        assert_eq!(
            read(remote_result.as_ref()),
            (shape, elements.concat()),
            "{description}"
        );

        slice(&url(&name), &url(&result));
        let log = fixture.server.take_log();
        let last = log.iter().rfind(|(method, _, _)| method == "PUT").unwrap();
        assert_eq!(last.1, format!("bucket/{result}/zarr.json"));
        let result = fixture.key_path(&result);
        assert!(
            crate::zarr::files(&result) == crate::zarr::files(remote_result.as_ref()),
            "{description}"
        );
    }
}

/// Many requests are in flight at the same time, even if shards and threads share chunks, and each shard of the result
/// is complete.
#[test]
fn chunks_of_a_bucket_are_requested_in_advance() {
    let fixture = Fixture::new();
    fixture.server.delay(Duration::from_millis(5));
    let mut random = Random::new(47);
    let mut max_in_flight = 0;
    for case in 0..24 {
        let name = format!("a-{case}.zarr");
        let kind = STORE_KINDS[case % 4];
        let source = Known::random(&mut random, &fixture.key_path(&name), kind);
        let spec = Slice::of(&mut random, &source.shape);
        let (shape, elements) = spec.naive(&source.elements, &source.shape);
        let shard_shape = shape_text(shape.iter().map(|&size| size.div_ceil(3).max(1)));
        let to = fixture.path_text(&format!("b-{case}.zarr"));
        let threads = ["1", "3"][case % 2];
        let from = url(&name);
        let arguments = ["slice", &from, &spec.text, "-o", &to, "--json"];
        let options = [
            "--shard",
            &shard_shape,
            "--chunk",
            &shard_shape,
            "--threads",
            threads,
        ];
        fixture.server.take_log();
        let summary = fixture.run(&[&arguments[..], &options].concat()).summary();
        let description = format!("case {case}: {kind:?} {:?}[{}]", source.shape, spec.text);
        assert_eq!(
            read(to.as_ref()),
            (shape, elements.concat()),
            "{description}"
        );
        if threads == "1" {
            assert_eq!(
                summary["bytes_read"],
                sent_bytes(&fixture, &name),
                "{description}"
            );
        }
        max_in_flight = max_in_flight.max(fixture.server.take_max_held());
    }
    assert!(
        max_in_flight >= 8,
        "at most {max_in_flight} requests were in flight"
    );
}

/// One thread waits for many answers at the same time, and one of its requests covers neighbouring chunks of a shard,
/// unless it lacks the memory for them.
#[test]
fn one_thread_has_many_requests_in_flight() {
    let fixture = Fixture::new();
    fixture.server.delay(Duration::from_millis(20));
    for (name, shard) in [("a.zarr", None), ("b.zarr", Some(&[64, 8][..]))] {
        let source = Known::numbers_in(&fixture.key_path(name), &[64, 8], &[2, 4], shard);
        let from = url(name);
        let options = ["--threads", "1", "--shard", "64,8", "--json"];
        let command = |to: &str, more_options: &[&str]| {
            let arguments = ["slice", &from, "::-1", "-o", to];
            fixture
                .run(&[&arguments[..], &options, more_options].concat())
                .summary()
        };
        // Returns the number of requests for chunks and indexes, and the maximum number in flight.
        let slice = |to: &str, more_options: &[&str]| {
            let to = fixture.path_text(to);
            fixture.server.take_log();
            fixture.server.take_max_held();
            let summary = command(&to, more_options);
            let log = fixture.server.take_log();
            let data_requests = || log.iter().filter(|(_, key, _)| key.contains("/c/"));
            assert_eq!(summary["chunks_read"], 64, "{name}");
            let bytes: u64 = data_requests().map(|(_, _, bytes)| bytes).sum();
            assert_eq!(summary["bytes_read"], bytes, "{name}");
            let expected = (vec![64, 8], source.rows_reversed(8));
            assert_eq!(read(to.as_ref()), expected, "{name}");
            (data_requests().count(), fixture.server.take_max_held())
        };
        let (request_count, max_in_flight) = slice(&format!("far-{name}"), &[]);
        if shard.is_none() {
            assert!(
                request_count == 64 && max_in_flight > 32,
                "{request_count} requests, {max_in_flight} at a time"
            );
        } else {
            assert_eq!(request_count, 2, "one for the index and one for all chunks");
        }
        // If the memory only suffices for a task, nothing is requested in advance.
        let explained = command(&fixture.path_text("explained.zarr"), &["--explain"]);
        let task_bytes = explained["task_bytes"].to_string();
        let (request_count, max_in_flight) =
            slice(&format!("little-{name}"), &["--memory", &task_bytes]);
        let index_count = usize::from(shard.is_some());
        assert_eq!(
            (request_count, max_in_flight),
            (64 + index_count, 2),
            "two requests for metadata at a time, then one for a chunk"
        );
    }
}

#[test]
fn gathers_of_a_bucket_and_of_a_folder_are_equal() {
    let fixture = Fixture::new();
    let mut random = Random::new(43);
    for case in 0..8 {
        let name = format!("a-{case}.zarr");
        let source = Known::random(&mut random, &fixture.key_path(&name), STORE_KINDS[case % 4]);
        let is_nd = case % 2 == 1;
        let size = source.shape[0] as i64;
        let shape = [5, 1];
        let indices: Vec<i64> = (0..5).map(|_| random.within(-1, size)).collect();
        let folder = fixture.key_path(&format!("i-{case}"));
        fs::create_dir(&folder).unwrap();
        let indices = save(&folder, &shape, &indices, false);
        let operation = if is_nd { "gather-nd" } else { "gather" };
        let gather = |from: &str, indices: &str, to: &str| {
            fixture
                .run(&[
                    operation,
                    from,
                    indices,
                    "-o",
                    to,
                    "--json",
                    "--threads",
                    "1",
                ])
                .summary()
        };
        let local_result = fixture.path_text(&format!("near-{case}.zarr"));
        let remote_result = fixture.path_text(&format!("far-{case}.zarr"));
        let path = source.path.display().to_string();
        let expected = gather(&path, &indices.display().to_string(), &local_result);
        fixture.server.take_log();
        let summary = gather(
            &url(&name),
            &url(&format!("i-{case}/indices.zarr")),
            &remote_result,
        );
        assert_eq!(
            summary["bytes_read"],
            sent_bytes(&fixture, &name),
            "case {case}"
        );
        for figure in ["chunks_read", "bytes_read", "out_of_range"] {
            assert_eq!(summary[figure], expected[figure], "{figure}: case {case}");
        }
        assert!(
            content(remote_result.as_ref()) == content(local_result.as_ref()),
            "case {case}"
        );
        assert_eq!(
            read(remote_result.as_ref()),
            read(local_result.as_ref()),
            "case {case}"
        );
    }
}

#[test]
fn arrays_come_by_http_and_go_to_npy_files_too() {
    let fixture = Fixture::new();
    let source = Known::numbers_in(
        &fixture.key_path("a b.zarr"),
        &[20, 12],
        &[5, 4],
        Some(&[10, 12]),
    );
    let http = format!("http://127.0.0.1:{}/bucket/a%20b.zarr", fixture.server.port);
    let to = fixture.path_text("b.zarr");
    let outcome = fixture.run(&["slice", &http, ":", "-o", &to, "--json"]);
    assert_eq!(outcome.summary()["chunks_read"], 12);
    assert_eq!(read(to.as_ref()), (vec![20, 12], source.elements.concat()));
    let npy = fixture.path_text("a.npy");
    let outcome = fixture.run(&["convert", "s3://bucket/a b.zarr", "-o", &npy]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(fs::read(npy).unwrap().ends_with(&source.elements.concat()));

    let outcome = fixture.run(&["convert", &url("a b.zarr"), "-o", &url("a.npy")]);
    assert!(
        outcome.code == 2 && outcome.errors.contains("s3://bucket/a.npy"),
        "{outcome:?}"
    );
    let outcome = fixture.run(&["slice", &url("a b.zarr"), ":", "-o", &http]);
    assert!(
        outcome.code == 2 && outcome.errors.contains("by HTTP"),
        "{outcome:?}"
    );
    assert!(outcome.errors.contains(&http), "{outcome:?}");
}

#[test]
fn failed_requests_are_retried_and_corrupt_values_are_not() {
    let fixture = Fixture::new();
    let path = fixture.key_path("a.zarr");
    let source = Known::numbers_in(&path, &[40, 10], &[5, 10], Some(&[20, 10]));
    let slice = |to: &str| {
        fixture.run(&[
            "slice",
            &url("a.zarr"),
            "::-1",
            "-o",
            &fixture.path_text(to),
        ])
    };
    fixture
        .server
        .fail("zarr.json", &[Fault::Status500, Fault::Cut]);
    fixture
        .server
        .fail("a.zarr/c/", &[Fault::Status500, Fault::Cut, Fault::Cut]);
    let outcome = slice("b.zarr");
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert_eq!(fixture.server.forgive(), 0);
    let expected = (vec![40, 10], source.rows_reversed(10));
    assert_eq!(read(&fixture.path("b.zarr")), expected);

    // The client sends a request up to four times, and each task is tried up to four times.
    for (key, max_faults) in [("a.zarr/c/1/0", 80), ("a.zarr/zarr.json", 4)] {
        fixture.server.fail(key, &[Fault::Status500; 100]);
        let outcome = slice("c.zarr");
        let fault_count = 100 - fixture.server.forgive();
        assert!(
            (max_faults / 5..=max_faults).contains(&fault_count),
            "{fault_count}: {outcome:?}"
        );
        let is_named =
            outcome.errors.contains("s3://bucket/a.zarr") && outcome.errors.contains("500");
        assert!(outcome.code == 1 && is_named, "{outcome:?}");
        assert!(!fixture.path("c.zarr/zarr.json").exists());
    }

    // The index is at the end of a shard, so a shorter shard has no valid index.
    let shard = fs::read(path.join("c/0/0")).unwrap();
    for length in [shard.len() - 1, 3, 0] {
        fs::write(path.join("c/0/0"), &shard[..length]).unwrap();
        fixture.server.take_log();
        let outcome = slice("c.zarr");
        let is_named = outcome.errors.contains("s3://bucket/a.zarr/c/0/0");
        assert!(
            outcome.code == 1 && is_named && outcome.errors.contains("corrupt"),
            "{outcome:?}"
        );
        let log = fixture.server.take_log();
        let requests = log.iter().filter(|(_, key, _)| key.ends_with("c/0/0"));
        assert!(requests.count() <= 2 * 8, "{log:?}");
    }
}

/// The answer to a partial read also has the length of the object, so no further request is needed.
#[test]
fn a_chunk_of_another_length_is_rejected_in_a_bucket() {
    let fixture = Fixture::new();
    for raw in write_raw_stores(fixture.bucket.path()) {
        let array = url(raw.path.file_name().unwrap().to_str().unwrap());
        fixture.server.take_log();
        let to = fixture.path_text(&format!("{}.zarr", raw.name));
        let outcome = fixture.run(&["slice", &array, "5:6, :", "-o", &to, "--json"]);
        assert_eq!(outcome.summary()["chunks_read"], 1, "{}", raw.name);
        let log = fixture.server.take_log();
        let requests = log.iter().filter(|(_, key, _)| key.ends_with(&raw.key));
        // In a shard, the index is read first.
        let request_count = 1 + usize::from(raw.name.starts_with("shards"));
        assert_eq!(requests.count(), request_count, "{}: {log:?}", raw.name);
        if !raw.is_read_in_parts() {
            continue;
        }
        for (damage, value) in raw.damages().into_iter().step_by(2) {
            raw.store(&value);
            let uses = uses(fixture.folder.path(), &array);
            let description = format!("{}, {damage}", raw.name);
            let command = || fixture.command(&[]);
            check_failures(
                command,
                &uses,
                fixture.folder.path(),
                &raw.key,
                &description,
            );
        }
    }
}

#[test]
fn unreachable_sources_fail_in_time() {
    let fixture = Fixture::new();
    Known::numbers(&fixture.key_path("a.zarr"), &[4], &[2]);
    fs::create_dir(fixture.key_path("group.zarr")).unwrap();
    let group = r#"{"zarr_format": 3, "node_type": "group"}"#;
    fs::write(fixture.key_path("group.zarr/zarr.json"), group).unwrap();
    let to = fixture.path_text("b.zarr");
    for (from, code, problem) in [
        ("s3://bucket/b.zarr", 2, "neither zarr.json nor .zarray"),
        ("s3://other/a.zarr", 2, "neither zarr.json nor .zarray"),
        ("s3://bucket/group.zarr", 2, "group"),
        ("ftp://bucket/a.zarr", 2, "s3, gs, az"),
        ("az://box/a.zarr", 2, "AZURE_"),
    ] {
        let outcome = fixture.run(&["slice", from, ":", "-o", &to]);
        let is_named = outcome.errors.contains(from) && outcome.errors.contains(problem);
        assert!(outcome.code == code && is_named, "{from}: {outcome:?}");
    }
    // No process accepts the connections to one port, and none listens on the other.
    let silent_listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_port = silent_listener.local_addr().unwrap().port();
    for (port, problem) in [(silent_port, "timed out"), (closed_port(), "refused")] {
        let from = url("a.zarr");
        for to in [to.clone(), url("b.zarr")] {
            let mut command = fixture.command(&["slice", &from, ":", "-o", &to]);
            command.envs(environment(port)).env("AWS_TIMEOUT", "1s");
            let outcome = run_to_end(&mut command);
            let is_named = outcome.errors.contains(&from) && outcome.errors.contains(problem);
            assert!(outcome.code == 1 && is_named, "{outcome:?}");
        }
    }
    assert!(!fixture.path("b.zarr").exists());
}

/// Returns a port on which no process listens.
fn closed_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
