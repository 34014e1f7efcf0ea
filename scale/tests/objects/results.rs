//! Results in a bucket, including when processes are killed and when several jobs write to the same place.

use super::{Fixture, LIMIT, run_to_end, url};
use crate::{
    wait::until,
    zarr::{Known, files, read},
};
use std::{
    fs,
    path::Path,
    process::{Child, Stdio},
};
use wgslice_scale::job::faults;

const FORM_OPTIONS: [&str; 4] = ["--shard", "5,10", "--threads", "2"];

/// Returns the arguments of a slice into shards of [5, 10].
fn slice<'a>(spec: &'a str, from: &'a str, to: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    [&["slice", from, spec, "-o", to][..], &FORM_OPTIONS, options].concat()
}

/// Returns the number of shards in a result.
fn shard_count(result: &Path) -> usize {
    let names = files(result).into_keys();
    names.filter(|name| name.starts_with("c")).count()
}

/// Begins a job whose tasks sleep for this many milliseconds before they read.
fn begin_slow_job(fixture: &Fixture, arguments: &[&str], milliseconds: u32) -> Child {
    let folder = fixture.path("faults");
    let _ = fs::create_dir(&folder);
    fs::write(folder.join("sleep"), milliseconds.to_string()).unwrap();
    fs::write(folder.join("started"), "").unwrap();
    let mut command = fixture.command(arguments);
    command.env(faults::VARIABLE, folder);
    let errors = fs::File::create(fixture.path("slow.err")).unwrap();
    command
        .stdout(Stdio::null())
        .stderr(errors)
        .spawn()
        .unwrap()
}

#[test]
fn a_job_that_was_killed_goes_on_and_others_do_not_touch_its_result() {
    let fixture = Fixture::new();
    let source = Known::numbers(&fixture.key_path("a.zarr"), &[30, 20], &[5, 5]);
    let (from, to) = (url("a.zarr"), url("b.zarr"));
    let result = fixture.key_path("b.zarr");
    let mut running = begin_slow_job(&fixture, &slice("::-1", &from, &to, &[]), 300);
    until(LIMIT, "shards are written", || {
        result.exists() && shard_count(&result) >= 4
    });
    running.kill().unwrap();
    running.wait().unwrap();
    let kept_count = shard_count(&result);
    assert!(kept_count < 12 && !result.join("zarr.json").exists());

    // The unfinished result cannot be opened as an array, and no other job continues it.
    let outcome = fixture.run(&slice(":", &to, &fixture.path_text("c.zarr"), &[]));
    assert!(
        outcome.code == 2 && outcome.errors.contains("unfinished"),
        "{outcome:?}"
    );
    let outcome = fixture.run(&slice("::-2", &from, &to, &[]));
    let is_named = outcome.errors.contains(&to) && outcome.errors.contains("--overwrite");
    assert!(outcome.code == 2 && is_named, "{outcome:?}");

    // Makes a shard look as if a late task of an earlier job had put it before this job did.
    let mut names = files(&result).into_keys();
    let stale = names.find(|name| name.starts_with("c")).unwrap();
    fs::write(result.join(&stale), "stale").unwrap();
    fixture
        .server
        .mark(&format!("b.zarr/{}", stale.display()), "another job");
    let outcome = fixture.run(&slice("::-1", &from, &to, &["--json"]));
    let summary = outcome.summary();
    assert_eq!(summary["stood"], kept_count - 1, "{summary}");
    assert_eq!(summary["computed"], 12 - kept_count + 1, "{summary}");
    assert_eq!(read(&result), (vec![30, 20], source.rows_reversed(20)));
    let before = files(&result);
    let keys: Vec<_> = before.keys().filter(|key| !key.starts_with("c")).collect();
    assert_eq!(keys, [Path::new("zarr.json")], "the record is gone");

    let outcome = fixture.run(&slice("::-1", &from, &to, &[]));
    assert!(
        outcome.code == 0 && outcome.output.contains("complete"),
        "{outcome:?}"
    );
    let outcome = fixture.run(&slice("::-2", &from, &to, &[]));
    let is_named = outcome.errors.contains("::-1") && outcome.errors.contains("--overwrite");
    assert!(outcome.code == 2 && is_named, "{outcome:?}");
    assert_eq!(files(&result), before);
    // An array whose name begins with the result's name stays when the result is replaced.
    Known::numbers(&fixture.key_path("b.zarr2"), &[4], &[2]);
    let neighbour_files = files(&fixture.key_path("b.zarr2"));
    let outcome = fixture.run(&slice("::-2", &from, &to, &["--overwrite"]));
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert_eq!(files(&fixture.key_path("b.zarr2")), neighbour_files);
    let local_result = fixture.path_text("near.zarr");
    assert_eq!(
        fixture.run(&slice("::-2", &from, &local_result, &[])).code,
        0
    );
    assert!(files(&result) == files(local_result.as_ref()));

    // A folder that is not an array is never removed, even with --overwrite.
    fs::create_dir(fixture.key_path("foreign")).unwrap();
    fs::write(fixture.key_path("foreign/thesis.txt"), "years of work").unwrap();
    let foreign = url("foreign");
    let outcome = fixture.run(&slice("::-2", &from, &foreign, &["--overwrite"]));
    let is_named = outcome.errors.contains(&foreign) && outcome.errors.contains("no Zarr array");
    assert!(outcome.code == 2 && is_named, "{outcome:?}");
    assert_eq!(files(&fixture.key_path("foreign")).len(), 1);
}

#[test]
fn a_task_of_an_old_job_writes_nothing_into_a_new_one() {
    let fixture = Fixture::new();
    Known::numbers(&fixture.key_path("a.zarr"), &[30, 20], &[5, 5]);
    let (from, to) = (url("a.zarr"), url("b.zarr"));
    let mut old_process = begin_slow_job(&fixture, &slice("::-1", &from, &to, &[]), 6000);
    let started = fixture.path("faults/started");
    until(LIMIT, "tasks sleep", || {
        fs::read(&started).unwrap().len() > 2
    });
    let new_outcome = fixture.run(&slice("::-2", &from, &to, &["--overwrite"]));
    assert_eq!(new_outcome.code, 0, "{new_outcome:?}");
    assert_eq!(
        old_process.try_wait().unwrap(),
        None,
        "the old tasks slept for a shorter time than the new job took"
    );
    let before = files(&fixture.key_path("b.zarr"));
    // When the tasks of the old job are retried, they do not sleep.
    fs::write(fixture.path("faults/sleep"), "0").unwrap();
    assert_eq!(old_process.wait().unwrap().code(), Some(1));
    let errors = fs::read_to_string(fixture.path("slow.err")).unwrap();
    assert!(
        errors.contains("over") && errors.contains("s3://bucket/b.zarr/c/"),
        "{errors}"
    );
    assert!(files(&fixture.key_path("b.zarr")) == before);
}

#[test]
fn a_shard_is_put_again_when_the_server_fails() {
    use super::server::Fault;
    let fixture = Fixture::new();
    let source = Known::numbers(&fixture.key_path("a.zarr"), &[30, 20], &[5, 5]);
    let (from, to) = (url("a.zarr"), url("b.zarr"));
    for key in ["c/0/0", ".wgslice/job.json", "zarr.json"] {
        let request = format!("PUT bucket/b.zarr/{key}");
        fixture
            .server
            .fail(&request, &[Fault::Status500, Fault::Cut]);
    }
    let outcome = run_to_end(&mut fixture.command(&slice(":", &from, &to, &["--json"])));
    assert_eq!(outcome.summary()["computed"], 12);
    assert_eq!(fixture.server.forgive(), 0);
    let expected = (vec![30, 20], source.elements.concat());
    assert_eq!(read(&fixture.key_path("b.zarr")), expected);

    fixture
        .server
        .fail("PUT bucket/c.zarr/c/5/1", &[Fault::Status500; 100]);
    let to = url("c.zarr");
    let outcome = fixture.run(&slice(":", &from, &to, &[]));
    let fault_count = 100 - fixture.server.forgive();
    assert!((16..=32).contains(&fault_count), "{fault_count}");
    let is_named =
        outcome.errors.contains("s3://bucket/c.zarr/c/5/1") && outcome.errors.contains("500");
    assert!(outcome.code == 1 && is_named, "{outcome:?}");
    assert!(!fixture.key_path("c.zarr/zarr.json").exists());
    let kept_count = shard_count(&fixture.key_path("c.zarr"));
    let outcome = fixture.run(&slice(":", &from, &to, &["--json"]));
    assert_eq!(outcome.summary()["stood"], kept_count);
    assert_eq!(read(&fixture.key_path("c.zarr")), expected);
}
