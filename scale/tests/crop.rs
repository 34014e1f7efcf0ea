//! Crops from stores match the naive reference, and each chunk is read once for a shard.

use crate::{
    gather::save,
    metadata::{result_metadata, sources},
    random::Random,
    zarr::{HOW, Known, StoreKind, chunks_of, form, open, read, run, shards},
};
use serde_json::json;
use std::{path::Path, process::Command};
use wgslice_scale::{
    job::{Fingerprint, Form, Job, Operation, OutOfRange},
    zarr::{Error, Target},
};
use wgslice_vectors::reference::{self, Boxes};

fn crop(begins: &Path, sizes: &[usize], out_of_range: OutOfRange) -> Operation {
    Operation::Crop {
        begins: begins.to_owned(),
        begins_fingerprint: Fingerprint::Metadata(0),
        sizes: sizes.to_vec(),
        out_of_range,
        conversion: None,
    }
}

#[test]
fn random_crops_match_the_reference() {
    let mut random = Random::new(29);
    let kinds = [
        StoreKind::Chunks,
        StoreKind::Shards,
        StoreKind::V2,
        StoreKind::Transposed,
    ];
    let (mut outside_box_count, mut divided_result_count) = (0, 0);
    for case in 0..120 {
        let folder = tempfile::tempdir().unwrap();
        let source = Known::random(&mut random, &folder.path().join("a.zarr"), kinds[case % 4]);
        let clamp = case % 3 == 0;
        let cropped_dims = random.within(1, source.shape.len() as i64) as usize;
        let box_size = |random: &mut Random, &size: &usize| {
            let beyond = if clamp { 0 } else { 2 };
            random.within(1, (size as i64 + beyond).min(12)) as usize
        };
        let sizes = source.shape[..cropped_dims].iter();
        let sizes: Vec<usize> = sizes.map(|whole| box_size(&mut random, whole)).collect();
        let box_counts = (0..random.within(0, 2)).map(|_| random.within(1, 5) as usize);
        let box_counts: Vec<usize> = box_counts.collect();
        let count: usize = box_counts.iter().product();
        let begins: Vec<i64> = (0..count * cropped_dims)
            .map(|index| {
                let whole = source.shape[index % cropped_dims] as i64;
                match random.within(0, 9) {
                    0 => [i64::MIN, i64::MAX, -1][random.within(0, 2) as usize],
                    1 => random.within(-whole, 2 * whole),
                    _ => random.within(0, (whole - sizes[index % cropped_dims] as i64).max(0)),
                }
            })
            .collect();
        let batch_shape = [&[1], &source.shape[..]].concat();
        let boxes = Boxes {
            begins: &begins,
            box_indices: Some(&vec![0; count]),
            count,
            sizes: &sizes,
            strides: &vec![1; cropped_dims],
            clamp,
            ..Boxes::default()
        };
        let indices: Vec<Option<usize>> = (0..source.elements.len()).map(Some).collect();
        let cropped = reference::crop(&indices, &batch_shape, boxes).unwrap();
        let zero = vec![0; source.elements[0].len()];
        let bytes = cropped.values.iter();
        let bytes = bytes.map(|index| index.map_or(&zero, |index| &source.elements[index]));
        let bytes: Vec<u8> = bytes.flatten().copied().collect();
        let shape = [&box_counts, &cropped.shape[1..]].concat();

        let begins_shape = [&box_counts[..], &[cropped_dims]].concat();
        let begins_path = save(
            folder.path(),
            &begins_shape,
            &begins,
            random.within(0, 1) == 0,
        );
        let policy = if clamp {
            OutOfRange::Clamp
        } else {
            OutOfRange::Zero
        };
        let form = form(&mut random, &shape);
        let description = format!(
            "case {case}: {sizes:?} at {begins:?} of {:?} {form:?}",
            source.shape
        );
        let result = folder.path().join("b.zarr");
        let job = Job::new(
            crop(&begins_path, &sizes, policy),
            &source.path,
            &result,
            &form,
        )
        .expect(&description);
        let explained = open(&job, HOW).1.explain().unwrap();
        let summary = run(&job, HOW).expect(&description);
        assert_eq!(read(&result), (shape.clone(), bytes), "{description}");
        assert_eq!(
            summary.out_of_range,
            cropped.bad_rows.len() as u64,
            "{description}"
        );
        outside_box_count += cropped.bad_rows.len();

        let target = Target::new(&result, &job.metadata).unwrap();
        let shards = shards(&shape, target.shard());
        let chunk_counts = shards.values().map(|shard| {
            let sources = shard.iter().filter_map(|&index| cropped.values[index]);
            chunks_of(sources, &source.shape, &source.chunk_shape).len()
        });
        assert_eq!(
            summary.chunks_read,
            chunk_counts.sum::<usize>() as u64,
            "{description}"
        );
        assert_eq!(explained.reads, summary.chunks_read, "{description}");
        divided_result_count += usize::from(shards.len() > 1 && count > 1);
    }
    assert!(
        outside_box_count > 100,
        "{outside_box_count} boxes were outside"
    );
    assert!(
        divided_result_count > 20,
        "{divided_result_count} results had several shards"
    );
}

#[test]
fn boxes_that_do_not_fit_are_rejected_or_named_in_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let (path, result) = (folder.path().join("a.zarr"), folder.path().join("b.zarr"));
    Known::numbers(&path, &[20, 4], &[5, 4]);
    let begins = save(
        folder.path(),
        &[2, 2, 2],
        &[0, 0, 16, 0, 17, 1, 18, 0],
        true,
    );
    let crop_job = |sizes: &[usize], policy| {
        Job::new(
            crop(&begins, sizes, policy),
            &path,
            &result,
            &Form::default(),
        )
    };
    for (sizes, policy, expected) in [
        (
            &[4, 4, 4][..],
            OutOfRange::Zero,
            "at most one for each dimension",
        ),
        (&[4], OutOfRange::Zero, "must have the size 1"),
        (&[4, 5], OutOfRange::Clamp, "cannot shift them inside"),
        (&[1 << 62, 4], OutOfRange::Zero, "larger than a machine"),
        (&[usize::MAX, 0], OutOfRange::Zero, "larger than a machine"),
    ] {
        match crop_job(sizes, policy) {
            Err(Error::Usage(problem)) => assert!(problem.contains(expected), "{problem}"),
            other => panic!("{sizes:?}: {other:?}"),
        }
    }
    let Error::Data(error) = run(&crop_job(&[3, 3], OutOfRange::Error).unwrap(), HOW).unwrap_err()
    else {
        panic!("another kind of error");
    };
    assert!(
        error.contains("box [1, 1]") && error.contains("[18, 0]"),
        "{error}"
    );
}

#[test]
fn the_command_crops_and_warns_of_boxes_outside() {
    let folder = tempfile::tempdir().unwrap();
    let (path, result) = (folder.path().join("a.zarr"), folder.path().join("b.zarr"));
    Known::numbers(&path, &[6, 2], &[4, 2]);
    let begins = save(folder.path(), &[2, 1], &[3, 5], true);
    let output = Command::new(env!("CARGO_BIN_EXE_wgslice-scale"))
        .arg("crop")
        .args([&path, &begins])
        .args(["--size", "2", "-o"])
        .arg(&result)
        .output()
        .unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(
        errors.contains("1 boxes extend beyond the array"),
        "{errors}"
    );
    let bytes = [6_u32, 7, 8, 9, 10, 11, 0, 0]
        .map(u32::to_ne_bytes)
        .concat();
    assert_eq!(read(&result), (vec![2, 2, 2], bytes));
}

#[test]
fn cropped_dimensions_keep_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let [source, _] = sources(folder.path());
    let begins = save(folder.path(), &[5, 2], &[0; 10], true);
    let metadata = result_metadata(
        crop(&begins, &[1, 2], OutOfRange::Zero),
        &source,
        &folder.path().join("b.zarr"),
    );
    assert_eq!(
        metadata["dimension_names"],
        json!([null, "time", null, "x"])
    );
    assert_eq!(metadata["attributes"]["units"], "K");
}
