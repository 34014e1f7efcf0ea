//! Results in a bucket, including when processes are killed and when several jobs write to the same place.

use super::{LIMIT, Place, said, url};
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

const FORM: [&str; 4] = ["--shard", "5,10", "--threads", "2"];

/// Returns the arguments of a slice into shards of [5, 10].
fn slice<'a>(spec: &'a str, from: &'a str, to: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["slice", from, spec, "-o", to][..], &FORM, more].concat()
}

/// Returns the number of shards in a result.
fn shards(result: &Path) -> usize {
    let names = files(result).into_keys();
    names.filter(|name| name.starts_with("c")).count()
}

/// Begins a job whose tasks sleep for this many milliseconds before they read.
fn begin_slow_job(place: &Place, arguments: &[&str], milliseconds: u32) -> Child {
    let folder = place.path("faults");
    let _ = fs::create_dir(&folder);
    fs::write(folder.join("sleep"), milliseconds.to_string()).unwrap();
    fs::write(folder.join("started"), "").unwrap();
    let mut command = place.command(arguments);
    command.env(faults::VARIABLE, folder);
    let errors = fs::File::create(place.path("slow.err")).unwrap();
    command
        .stdout(Stdio::null())
        .stderr(errors)
        .spawn()
        .unwrap()
}

#[test]
fn a_job_that_was_killed_goes_on_and_others_do_not_touch_its_result() {
    let place = Place::new();
    let source = Known::numbers(&place.key("a.zarr"), &[30, 20], &[5, 5]);
    let (from, to) = (url("a.zarr"), url("b.zarr"));
    let result = place.key("b.zarr");
    let mut running = begin_slow_job(&place, &slice("::-1", &from, &to, &[]), 300);
    until(LIMIT, "shards stand", || {
        result.exists() && shards(&result) >= 4
    });
    running.kill().unwrap();
    running.wait().unwrap();
    let stood = shards(&result);
    assert!(stood < 12 && !result.join("zarr.json").exists());

    // The unfinished result cannot be opened as an array, and no other job continues it.
    let outcome = place.run(&slice(":", &to, &place.text("c.zarr"), &[]));
    assert!(
        outcome.code == 2 && outcome.errors.contains("unfinished"),
        "{outcome:?}"
    );
    let outcome = place.run(&slice("::-2", &from, &to, &[]));
    let is_named = outcome.errors.contains(&to) && outcome.errors.contains("--overwrite");
    assert!(outcome.code == 2 && is_named, "{outcome:?}");

    // Makes a shard look as if a late task of an earlier job had put it before this job did.
    let mut names = files(&result).into_keys();
    let stale = names.find(|name| name.starts_with("c")).unwrap();
    fs::write(result.join(&stale), "stale").unwrap();
    place
        .server
        .mark(&format!("b.zarr/{}", stale.display()), "another job");
    let outcome = place.run(&slice("::-1", &from, &to, &["--json"]));
    let figures = outcome.figures();
    assert_eq!(figures["stood"], stood - 1, "{figures}");
    assert_eq!(figures["computed"], 12 - stood + 1, "{figures}");
    assert_eq!(read(&result), (vec![30, 20], source.rows_reversed(20)));
    let before = files(&result);
    let keys: Vec<_> = before.keys().filter(|key| !key.starts_with("c")).collect();
    assert_eq!(keys, [Path::new("zarr.json")], "the record is gone");

    let outcome = place.run(&slice("::-1", &from, &to, &[]));
    assert!(
        outcome.code == 0 && outcome.output.contains("complete"),
        "{outcome:?}"
    );
    let outcome = place.run(&slice("::-2", &from, &to, &[]));
    let is_named = outcome.errors.contains("::-1") && outcome.errors.contains("--overwrite");
    assert!(outcome.code == 2 && is_named, "{outcome:?}");
    assert_eq!(files(&result), before);
    // An array whose name begins with the result's name stays when the result is replaced.
    Known::numbers(&place.key("b.zarr2"), &[4], &[2]);
    let beside = files(&place.key("b.zarr2"));
    let outcome = place.run(&slice("::-2", &from, &to, &["--overwrite"]));
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert_eq!(files(&place.key("b.zarr2")), beside);
    let near = place.text("near.zarr");
    assert_eq!(place.run(&slice("::-2", &from, &near, &[])).code, 0);
    assert!(files(&result) == files(near.as_ref()));

    // A folder that is not an array is never removed, even with --overwrite.
    fs::create_dir(place.key("foreign")).unwrap();
    fs::write(place.key("foreign/thesis.txt"), "years of work").unwrap();
    let foreign = url("foreign");
    let outcome = place.run(&slice("::-2", &from, &foreign, &["--overwrite"]));
    let is_named = outcome.errors.contains(&foreign) && outcome.errors.contains("no Zarr array");
    assert!(outcome.code == 2 && is_named, "{outcome:?}");
    assert_eq!(files(&place.key("foreign")).len(), 1);
}

#[test]
fn a_task_of_an_old_job_writes_nothing_into_a_new_one() {
    let place = Place::new();
    Known::numbers(&place.key("a.zarr"), &[30, 20], &[5, 5]);
    let (from, to) = (url("a.zarr"), url("b.zarr"));
    let mut old = begin_slow_job(&place, &slice("::-1", &from, &to, &[]), 6000);
    let started = place.path("faults/started");
    until(LIMIT, "tasks sleep", || {
        fs::read(&started).unwrap().len() > 2
    });
    let new = place.run(&slice("::-2", &from, &to, &["--overwrite"]));
    assert_eq!(new.code, 0, "{new:?}");
    assert_eq!(
        old.try_wait().unwrap(),
        None,
        "the old tasks slept for a shorter time than the new job took"
    );
    let before = files(&place.key("b.zarr"));
    // When the tasks of the old job are tried again, they do not sleep.
    fs::write(place.path("faults/sleep"), "0").unwrap();
    assert_eq!(old.wait().unwrap().code(), Some(1));
    let errors = fs::read_to_string(place.path("slow.err")).unwrap();
    assert!(
        errors.contains("over") && errors.contains("s3://bucket/b.zarr/c/"),
        "{errors}"
    );
    assert!(files(&place.key("b.zarr")) == before);
}

#[test]
fn a_shard_is_put_again_when_the_server_fails() {
    use super::server::Fault;
    let place = Place::new();
    let source = Known::numbers(&place.key("a.zarr"), &[30, 20], &[5, 5]);
    let (from, to) = (url("a.zarr"), url("b.zarr"));
    for key in ["c/0/0", ".wgslice/job.json", "zarr.json"] {
        let put = format!("PUT bucket/b.zarr/{key}");
        place.server.fail(&put, &[Fault::Status500, Fault::Cut]);
    }
    let outcome = said(&mut place.command(&slice(":", &from, &to, &["--json"])));
    assert_eq!(outcome.figures()["computed"], 12);
    assert_eq!(place.server.forgive(), 0);
    let expected = (vec![30, 20], source.elements.concat());
    assert_eq!(read(&place.key("b.zarr")), expected);

    place
        .server
        .fail("PUT bucket/c.zarr/c/5/1", &[Fault::Status500; 100]);
    let to = url("c.zarr");
    let outcome = place.run(&slice(":", &from, &to, &[]));
    let fault_count = 100 - place.server.forgive();
    assert!((16..=32).contains(&fault_count), "{fault_count}");
    let is_named =
        outcome.errors.contains("s3://bucket/c.zarr/c/5/1") && outcome.errors.contains("500");
    assert!(outcome.code == 1 && is_named, "{outcome:?}");
    assert!(!place.key("c.zarr/zarr.json").exists());
    let stood = shards(&place.key("c.zarr"));
    let outcome = place.run(&slice(":", &from, &to, &["--json"]));
    assert_eq!(outcome.figures()["stood"], stood);
    assert_eq!(read(&place.key("c.zarr")), expected);
}
