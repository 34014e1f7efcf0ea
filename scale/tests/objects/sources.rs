//! Jobs on sources in a bucket.

use super::{
    Place, content, said,
    server::{Fault, environment},
    sizes, url,
};
use crate::{
    gather::save,
    lengths::{raws, refused, uses},
    random::{Random, Slice},
    zarr::{Kind, Known, read},
};
use std::{fs, net::TcpListener, time::Duration};

const KINDS: [Kind; 4] = [Kind::Chunks, Kind::Shards, Kind::V2, Kind::Transposed];

/// Returns the number of bytes of an array's chunks and shard indexes that the server has sent since the last call.
fn sent(place: &Place, array: &str) -> u64 {
    let log = place.server.take_log();
    let sent = log.iter().filter(|(method, key, _)| {
        let name = key.rsplit('/').next().unwrap();
        method == "GET" && key.contains(array) && !name.starts_with(['z', '.'])
    });
    sent.map(|(_, _, bytes)| bytes).sum()
}

#[test]
fn slices_of_a_bucket_are_those_of_the_folder() {
    let place = Place::new();
    let mut random = Random::new(41);
    for case in 0..20 {
        let name = format!("deep/a-{case}.zarr");
        let kind = KINDS[case % 4];
        let source = Known::random(&mut random, &place.key(&name), kind);
        let spec = Slice::of(&mut random, &source.shape);
        let what = format!("case {case}: {kind:?} {:?}[{}]", source.shape, spec.text);
        let (shape, elements) = spec.naive(&source.elements, &source.shape);
        let shard = sizes(shape.iter().map(|&size| size.div_ceil(2).max(1)));
        let local_result = place.text(&format!("near-{case}.zarr"));
        let remote_result = place.text(&format!("far-{case}.zarr"));
        let result = format!("r-{case}.zarr");
        let path = source.path.display().to_string();
        let slice = |from: &str, to: &str| {
            let form = ["--shard", &shard, "--chunk", &shard, "--json"];
            // The job uses one thread, because two threads can both read a chunk that their shards share.
            let arguments = ["slice", from, &spec.text, "-o", to, "--threads", "1"];
            place.run(&[&arguments[..], &form].concat()).figures()
        };
        let expected = slice(&path, &local_result);
        place.server.take_log();
        let found = slice(&url(&name), &remote_result);
        // The job counts each byte that the server sends, and reads as many bytes as from a folder.
        assert_eq!(found["bytes_read"], sent(&place, &name), "{what}");
        for figure in ["shards", "computed", "chunks_read", "bytes_read"] {
            assert_eq!(found[figure], expected[figure], "{figure}: {what}");
        }
        assert!(
            content(remote_result.as_ref()) == content(local_result.as_ref()),
            "{what}"
        );
        assert_eq!(
            read(remote_result.as_ref()),
            (shape, elements.concat()),
            "{what}"
        );

        slice(&url(&name), &url(&result));
        let log = place.server.take_log();
        let last = log.iter().rfind(|(method, _, _)| method == "PUT").unwrap();
        assert_eq!(last.1, format!("bucket/{result}/zarr.json"));
        let result = place.key(&result);
        assert!(
            crate::zarr::files(&result) == crate::zarr::files(remote_result.as_ref()),
            "{what}"
        );
    }
}

/// Chunks that several shards need are requested only once, whichever threads need them, and each shard of the result
/// is complete.
#[test]
fn chunks_of_a_bucket_are_requested_ahead_and_once() {
    let place = Place::new();
    place.server.delay(Duration::from_millis(5));
    let mut random = Random::new(47);
    let mut max_in_flight = 0;
    for case in 0..24 {
        let name = format!("a-{case}.zarr");
        let kind = KINDS[case % 4];
        let source = Known::random(&mut random, &place.key(&name), kind);
        let spec = Slice::of(&mut random, &source.shape);
        let (shape, elements) = spec.naive(&source.elements, &source.shape);
        let shard = sizes(shape.iter().map(|&size| size.div_ceil(3).max(1)));
        let to = place.text(&format!("b-{case}.zarr"));
        let threads = ["1", "3"][case % 2];
        let from = url(&name);
        let arguments = ["slice", &from, &spec.text, "-o", &to, "--json"];
        let options = ["--shard", &shard, "--chunk", &shard, "--threads", threads];
        place.server.take_log();
        let found = place.run(&[&arguments[..], &options].concat()).figures();
        let what = format!("case {case}: {kind:?} {:?}[{}]", source.shape, spec.text);
        assert_eq!(read(to.as_ref()), (shape, elements.concat()), "{what}");
        if threads == "1" {
            assert_eq!(found["bytes_read"], sent(&place, &name), "{what}");
        }
        max_in_flight = max_in_flight.max(place.server.take_most());
    }
    assert!(
        max_in_flight >= 8,
        "at most {max_in_flight} requests were on their way"
    );
}

/// One thread waits for many answers at the same time, and requests neighbouring chunks of a shard together, unless it
/// lacks the memory for them.
#[test]
fn one_thread_has_many_requests_on_their_way() {
    let place = Place::new();
    place.server.delay(Duration::from_millis(20));
    for (name, shard) in [("a.zarr", None), ("b.zarr", Some(&[64, 8][..]))] {
        let source = Known::numbers_in(&place.key(name), &[64, 8], &[2, 4], shard);
        let from = url(name);
        let options = ["--threads", "1", "--shard", "64,8", "--json"];
        let command = |to: &str, more: &[&str]| {
            let arguments = ["slice", &from, "::-1", "-o", to];
            place
                .run(&[&arguments[..], &options, more].concat())
                .figures()
        };
        // Returns the number of requests for chunks and indexes, and the maximum number in flight.
        let slice = |to: &str, more: &[&str]| {
            let to = place.text(to);
            place.server.take_log();
            place.server.take_most();
            let found = command(&to, more);
            let log = place.server.take_log();
            let read_of = || log.iter().filter(|(_, key, _)| key.contains("/c/"));
            assert_eq!(found["chunks_read"], 64, "{name}");
            let bytes: u64 = read_of().map(|(_, _, bytes)| bytes).sum();
            assert_eq!(found["bytes_read"], bytes, "{name}");
            let expected = (vec![64, 8], source.rows_reversed(8));
            assert_eq!(read(to.as_ref()), expected, "{name}");
            (read_of().count(), place.server.take_most())
        };
        let (requests, max_in_flight) = slice(&format!("far-{name}"), &[]);
        if shard.is_none() {
            assert!(
                requests == 64 && max_in_flight > 32,
                "{requests}, {max_in_flight} at a time"
            );
        } else {
            assert_eq!(requests, 2, "an index, and all chunks");
        }
        // If the memory only suffices for a task, nothing is requested in advance.
        let explained = command(&place.text("explained.zarr"), &["--explain"]);
        let needed = explained["task_bytes"].to_string();
        let (requests, max_in_flight) = slice(&format!("little-{name}"), &["--memory", &needed]);
        let indexes = usize::from(shard.is_some());
        assert_eq!(
            (requests, max_in_flight),
            (64 + indexes, 2),
            "metadata at once, then one chunk at a time"
        );
    }
}

#[test]
fn gathers_of_a_bucket_are_those_of_the_folder() {
    let place = Place::new();
    let mut random = Random::new(43);
    for case in 0..8 {
        let name = format!("a-{case}.zarr");
        let source = Known::random(&mut random, &place.key(&name), KINDS[case % 4]);
        let is_nd = case % 2 == 1;
        let size = source.shape[0] as i64;
        let shape = [5, 1];
        let indices: Vec<i64> = (0..5).map(|_| random.within(-1, size)).collect();
        let folder = place.key(&format!("i-{case}"));
        fs::create_dir(&folder).unwrap();
        let indices = save(&folder, &shape, &indices, false);
        let operation = if is_nd { "gather-nd" } else { "gather" };
        let gather = |from: &str, indices: &str, to: &str| {
            place
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
                .figures()
        };
        let local_result = place.text(&format!("near-{case}.zarr"));
        let remote_result = place.text(&format!("far-{case}.zarr"));
        let path = source.path.display().to_string();
        let expected = gather(&path, &indices.display().to_string(), &local_result);
        place.server.take_log();
        let found = gather(
            &url(&name),
            &url(&format!("i-{case}/indices.zarr")),
            &remote_result,
        );
        assert_eq!(found["bytes_read"], sent(&place, &name), "case {case}");
        for figure in ["chunks_read", "bytes_read", "out_of_range"] {
            assert_eq!(found[figure], expected[figure], "{figure}: case {case}");
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
    let place = Place::new();
    let source = Known::numbers_in(&place.key("a b.zarr"), &[20, 12], &[5, 4], Some(&[10, 12]));
    let http = format!("http://127.0.0.1:{}/bucket/a%20b.zarr", place.server.port);
    let to = place.text("b.zarr");
    let figures = place.run(&["slice", &http, ":", "-o", &to, "--json"]);
    assert_eq!(figures.figures()["chunks_read"], 12);
    assert_eq!(read(to.as_ref()), (vec![20, 12], source.elements.concat()));
    let npy = place.text("a.npy");
    let outcome = place.run(&["convert", "s3://bucket/a b.zarr", "-o", &npy]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(fs::read(npy).unwrap().ends_with(&source.elements.concat()));

    let outcome = place.run(&["convert", &url("a b.zarr"), "-o", &url("a.npy")]);
    assert!(
        outcome.code == 2 && outcome.errors.contains("s3://bucket/a.npy"),
        "{outcome:?}"
    );
    let outcome = place.run(&["slice", &url("a b.zarr"), ":", "-o", &http]);
    assert!(
        outcome.code == 2 && outcome.errors.contains("by HTTP"),
        "{outcome:?}"
    );
    assert!(outcome.errors.contains(&http), "{outcome:?}");
}

#[test]
fn what_fails_once_is_asked_for_again_and_what_is_corrupt_is_not() {
    let place = Place::new();
    let path = place.key("a.zarr");
    let source = Known::numbers_in(&path, &[40, 10], &[5, 10], Some(&[20, 10]));
    let slice = |to: &str| place.run(&["slice", &url("a.zarr"), "::-1", "-o", &place.text(to)]);
    place
        .server
        .fail("zarr.json", &[Fault::Status500, Fault::Cut]);
    place
        .server
        .fail("a.zarr/c/", &[Fault::Status500, Fault::Cut, Fault::Cut]);
    let outcome = slice("b.zarr");
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert_eq!(place.server.forgive(), 0);
    let expected = (vec![40, 10], source.rows_reversed(10));
    assert_eq!(read(&place.path("b.zarr")), expected);

    // The client sends a request up to four times, and each task is tried four times.
    for (key, max_faults) in [("a.zarr/c/1/0", 80), ("a.zarr/zarr.json", 4)] {
        place.server.fail(key, &[Fault::Status500; 100]);
        let outcome = slice("c.zarr");
        let fault_count = 100 - place.server.forgive();
        assert!(
            (max_faults / 5..=max_faults).contains(&fault_count),
            "{fault_count}: {outcome:?}"
        );
        let is_named =
            outcome.errors.contains("s3://bucket/a.zarr") && outcome.errors.contains("500");
        assert!(outcome.code == 1 && is_named, "{outcome:?}");
        assert!(!place.path("c.zarr/zarr.json").exists());
    }

    // The index is at the end of a shard, so a shorter shard has no valid index.
    let shard = fs::read(path.join("c/0/0")).unwrap();
    for length in [shard.len() - 1, 3, 0] {
        fs::write(path.join("c/0/0"), &shard[..length]).unwrap();
        place.server.take_log();
        let outcome = slice("c.zarr");
        let is_named = outcome.errors.contains("s3://bucket/a.zarr/c/0/0");
        assert!(
            outcome.code == 1 && is_named && outcome.errors.contains("corrupt"),
            "{outcome:?}"
        );
        let log = place.server.take_log();
        let asked = log.iter().filter(|(_, key, _)| key.ends_with("c/0/0"));
        assert!(asked.count() <= 2 * 8, "{log:?}");
    }
}

/// A partial read also returns the length of the object, so no further request is needed.
#[test]
fn a_chunk_of_another_length_is_refused_in_a_bucket_too() {
    let place = Place::new();
    for raw in raws(place.bucket.path()) {
        let array = url(raw.path.file_name().unwrap().to_str().unwrap());
        place.server.take_log();
        let to = place.text(&format!("{}.zarr", raw.name));
        let outcome = place.run(&["slice", &array, "5:6, :", "-o", &to, "--json"]);
        assert_eq!(outcome.figures()["chunks_read"], 1, "{}", raw.name);
        let log = place.server.take_log();
        let asked = log.iter().filter(|(_, key, _)| key.ends_with(&raw.key));
        // In a shard, the index is read first.
        let requests = 1 + usize::from(raw.name.starts_with("shards"));
        assert_eq!(asked.count(), requests, "{}: {log:?}", raw.name);
        if !raw.is_read_in_parts() {
            continue;
        }
        for (damage, value) in raw.damages().into_iter().step_by(2) {
            raw.store(&value);
            let uses = uses(place.folder.path(), &array);
            let what = format!("{}, {damage}", raw.name);
            let command = || place.command(&[]);
            refused(command, &uses, place.folder.path(), &raw.key, &what);
        }
    }
}

#[test]
fn what_is_not_there_is_an_error_in_time() {
    let place = Place::new();
    Known::numbers(&place.key("a.zarr"), &[4], &[2]);
    fs::create_dir(place.key("group.zarr")).unwrap();
    let group = r#"{"zarr_format": 3, "node_type": "group"}"#;
    fs::write(place.key("group.zarr/zarr.json"), group).unwrap();
    let to = place.text("b.zarr");
    for (from, code, problem) in [
        ("s3://bucket/b.zarr", 2, "neither zarr.json nor .zarray"),
        ("s3://other/a.zarr", 2, "neither zarr.json nor .zarray"),
        ("s3://bucket/group.zarr", 2, "group"),
        ("ftp://bucket/a.zarr", 2, "s3, gs, az"),
        ("az://box/a.zarr", 2, "AZURE_"),
    ] {
        let outcome = place.run(&["slice", from, ":", "-o", &to]);
        let is_named = outcome.errors.contains(from) && outcome.errors.contains(problem);
        assert!(outcome.code == code && is_named, "{from}: {outcome:?}");
    }
    // No process accepts the connections to one port, and none listens on the other.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = (silent.local_addr().unwrap().port(), silent);
    for (port, problem) in [(silent.0, "timed out"), (closed_port(), "refused")] {
        let from = url("a.zarr");
        for to in [to.clone(), url("b.zarr")] {
            let mut command = place.command(&["slice", &from, ":", "-o", &to]);
            command.envs(environment(port)).env("AWS_TIMEOUT", "1s");
            let outcome = said(&mut command);
            let is_named = outcome.errors.contains(&from) && outcome.errors.contains(problem);
            assert!(outcome.code == 1 && is_named, "{outcome:?}");
        }
    }
    assert!(!place.path("b.zarr").exists());
}

/// Returns a port on which no process listens.
fn closed_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
