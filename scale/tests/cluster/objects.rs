//! Arrays in a bucket. The executors read from it and write to it.

use super::harness::Cluster;
use crate::{
    objects::server::Server,
    zarr::{Known, files, read},
};
use std::{
    path::Path,
    process::{Command, Stdio},
};

#[test]
fn executors_read_from_a_bucket_and_write_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let bucket = tempfile::tempdir().unwrap();
    let path = bucket.path().join("a.zarr");
    let source = Known::numbers_in(&path, &[40, 30], &[5, 10], Some(&[10, 30]));
    let server = Server::start(bucket.path());
    let environment = server.environment();
    let cluster = Cluster::with_environment("objects", 2, 5, &environment, &[]);
    let slice = |from: &str, to: &str, more: &[&str]| {
        let form = ["--shard", "10,10", "--chunk", "5,10"];
        let output = Command::new(env!("CARGO_BIN_EXE_wgslice-scale"))
            .args([&["slice", from, "::-1", "-o", to][..], &form, more].concat())
            .envs(environment.clone())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let folder_result = folder.path().join("far.zarr").display().to_string();
    let on_cluster = ["--cluster", &cluster.url];
    slice("s3://bucket/a.zarr", &folder_result, &on_cluster);
    let expected = (vec![40, 30], source.rows_reversed(30));
    assert_eq!(read(Path::new(&folder_result)), expected);

    let summary_text = slice("s3://bucket/a.zarr", "s3://bucket/b.zarr", &on_cluster);
    assert!(
        summary_text.starts_with("12 of 12 shards"),
        "{summary_text}"
    );
    let result = bucket.path().join("b.zarr");
    assert!(files(&result) == files(Path::new(&folder_result)));
    let summary_text = slice("s3://bucket/a.zarr", "s3://bucket/b.zarr", &on_cluster);
    assert!(summary_text.contains("complete"), "{summary_text}");
    // The source is a folder, and the result is in the bucket.
    let (from, to) = (path.display().to_string(), "s3://bucket/c.zarr");
    slice(&from, to, &on_cluster);
    assert_eq!(read(&bucket.path().join("c.zarr")), expected);
    drop(cluster);
}
