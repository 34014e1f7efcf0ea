//! Slices of stores match the naive reference, read each chunk once for a shard, and compute only missing shards.

use crate::{
    random::{Random, Slice},
    zarr::{
        HOW, Known, StoreKind, chunks_of, devices, files, form, open, read, run, shards, slice,
        write,
    },
};
use serde_json::json;
use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use wgslice::DType;
use wgslice_scale::{
    job::{Form, How, Job, Operation, Record, State, compute, faults, to_npy},
    zarr::{Codec, Error, Source, Target},
};
use wgslice_vectors::reference;

/// Compares 100 slices of stores of all kinds with the reference, on all devices. A fifth of the slices begin where
/// chunks begin, and their results have the source's chunks; the other results have random forms. A third of the slices
/// permute the dimensions.
#[test]
fn random_slices_match_the_reference() {
    let mut random = Random::new(17);
    let devices = devices();
    let kinds = [
        StoreKind::Chunks,
        StoreKind::Shards,
        StoreKind::V2,
        StoreKind::Transposed,
    ];
    let mut copied_chunk_count = 0;
    for case in 0..100 {
        let folder = tempfile::tempdir().unwrap();
        let kind = kinds[case % 4];
        let source = Known::random(&mut random, &folder.path().join("a.zarr"), kind);
        let is_aligned = case % 5 == 0;
        let spec = if is_aligned {
            Slice::aligned(&mut random, &source.shape, &source.chunk_shape)
        } else {
            Slice::of(&mut random, &source.shape)
        };
        let indices: Vec<usize> = (0..source.elements.len()).collect();
        let (mut shape, mut sources) = spec.naive(&indices, &source.shape);
        let axes = (case % 3 == 0).then(|| random.order(shape.len()));
        let description = format!(
            "case {case}: {kind:?} {:?}[{}], axes {axes:?}",
            source.shape, spec.text
        );
        if let Some(axes) = &axes {
            (shape, sources) = reference::transpose(&sources, &shape, axes).unwrap();
        }
        let elements: Vec<_> = sources
            .iter()
            .map(|&index| &source.elements[index][..])
            .collect();
        let operation = || Operation::Slice {
            spec: spec.text.clone(),
            axes: axes.clone(),
            conversion: None,
        };
        let mut form = form(&mut random, &shape);
        if is_aligned {
            form = Form {
                chunk: Some(source.chunk_shape.clone()),
                ..Form::default()
            };
        }
        let result = folder.path().join("b.zarr");
        let job = Job::new(operation(), &source.path, &result, &form).expect(&description);
        let threads = 1 + case % 2;
        let explained = open(&job, HOW).1.explain().unwrap();
        let summary = run(&job, How { threads, ..HOW }).expect(&description);
        assert_eq!(
            read(&result),
            (shape.clone(), elements.concat()),
            "{description}"
        );

        for &device in &devices[1..] {
            let device_result = folder.path().join("c.zarr");
            let job =
                Job::new(operation(), &source.path, &device_result, &form).expect(&description);
            run(&job, How { device, ..HOW }).expect(&description);
            assert!(
                files(&device_result) == files(&result),
                "{device:?}: {description}"
            );
        }

        // The tasks have read only the chunks that have elements of their shards.
        let target = Target::new(&result, &job.metadata).unwrap();
        let shards = shards(&shape, target.shard());
        let chunk_counts = shards.values().map(|shard| {
            let sources = shard.iter().map(|&index| sources[index]);
            chunks_of(sources, &source.shape, &source.chunk_shape).len()
        });
        assert_eq!(
            summary.chunks_read,
            chunk_counts.sum::<usize>() as u64,
            "{description}"
        );
        assert_eq!(summary.computed, shards.len() as u64, "{description}");
        let distinct = chunks_of(sources.iter().copied(), &source.shape, &source.chunk_shape);
        assert_eq!(explained.chunks, distinct.len() as u64, "{description}");
        assert_eq!(
            (explained.reads, explained.tasks),
            (summary.chunks_read, summary.shards),
            "{description}"
        );
        assert!(!result.join(".wgslice").exists());
        copied_chunk_count += summary.chunks_copied;
    }
    assert!(
        copied_chunk_count > 15,
        "{copied_chunk_count} chunks were copied as they are stored"
    );
}

/// `zarrs` writes the chunks with its own transpose codec, and this crate decodes them. Chunks are larger than the
/// library's tiles.
#[test]
fn chunks_in_every_order_of_dimensions_are_transposed() {
    let folder = tempfile::tempdir().unwrap();
    let shape = [30, 40, 80];
    let mut random = Random::new(59);
    let types = [
        ("uint8", 1),
        ("int16", 2),
        ("float32", 4),
        ("uint64", 8),
        ("complex128", 16),
    ];
    let orders = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    for (order_number, order) in orders.into_iter().enumerate() {
        for (dtype, size) in types {
            let is_sharded = (order_number + size) % 2 == 0;
            let path = folder.path().join(format!("{order_number}-{dtype}.zarr"));
            let elements: Vec<_> = (0..shape.iter().product::<usize>())
                .map(|_| random.next().to_ne_bytes().repeat(2)[..size].to_vec())
                .collect();
            let endian = ["little", "big"][order_number % 2];
            let bytes = json!({"name": "bytes", "configuration": {"endian": endian}});
            let transpose = json!({"name": "transpose", "configuration": {"order": order}});
            let inner_codecs = json!([transpose, bytes]);
            let codecs = match is_sharded {
                false => inner_codecs,
                true => json!([{"name": "sharding_indexed", "configuration": {
                    "chunk_shape": [10, 33, 70], "codecs": inner_codecs, "index_codecs": [bytes]
                }}]),
            };
            let stored_shape = if is_sharded {
                [20, 33, 70]
            } else {
                [20, 33, 67]
            };
            let metadata = json!({
                "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": dtype,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": stored_shape}},
                "chunk_key_encoding": {"name": "default"}, "codecs": codecs, "attributes": {},
                "fill_value": (if size == 16 { json!([0.0, 0.0]) } else { json!(0) })
            });
            write(&path, metadata, &elements);
            let spec = Slice::of(&mut random, &shape);
            for spec in [spec, Slice::aligned(&mut random, &shape, &shape)] {
                let result = folder.path().join("result.zarr");
                let job = Job::new(slice(&spec.text), &path, &result, &Form::default()).unwrap();
                run(&job, HOW).unwrap();
                let (shape, expected) = spec.naive(&elements, &shape);
                let is_right = read(&result) == (shape, expected.concat());
                assert!(is_right, "{order:?} {dtype}[{}]", spec.text);
                fs::remove_dir_all(&result).unwrap();
            }
        }
    }
}

/// Chunks of the result have the shape and the codecs of the source's chunks, but another order of elements.
#[test]
fn square_chunks_are_transposed_and_not_copied_as_they_are_stored() {
    let folder = tempfile::tempdir().unwrap();
    let known = Known::numbers(&folder.path().join("a.zarr"), &[8, 8], &[4, 4]);
    let form = Form {
        chunk: Some(vec![4, 4]),
        codec: Some(Codec::Gzip),
        ..Form::default()
    };
    let [compressed, same, transposed] =
        ["b.zarr", "c.zarr", "d.zarr"].map(|name| folder.path().join(name));
    let run_and_count_copied_chunks = |source: &Path, result: &Path, axes: Option<Vec<usize>>| {
        let spec = ":".to_owned();
        let job = Job::new(
            Operation::Slice {
                spec,
                axes,
                conversion: None,
            },
            source,
            result,
            &form,
        )
        .unwrap();
        run(&job, HOW).unwrap().chunks_copied
    };
    run_and_count_copied_chunks(&known.path, &compressed, None);
    assert_eq!(
        run_and_count_copied_chunks(&compressed, &same, Some(vec![0, 1])),
        4
    );
    assert_eq!(
        run_and_count_copied_chunks(&compressed, &transposed, Some(vec![1, 0])),
        0
    );
    let (shape, elements) = reference::transpose(&known.elements, &[8, 8], &[1, 0]).unwrap();
    assert_eq!(read(&transposed), (shape, elements.concat()));
}

/// A shard has the same bytes whether its chunks are copied as the source stores them or compressed again.
#[test]
fn whole_chunks_are_copied_as_they_are_stored() {
    let folder = tempfile::tempdir().unwrap();
    let (shape, chunk_shape) = ([13, 20], [5, 4]);
    // The source stores chunks in which all elements have the fill value, but a sharded result omits them. One such
    // chunk is not stored.
    let elements: Vec<_> = (0..13 * 20_u32)
        .map(|n| if n % 20 < 4 { 0 } else { n })
        .map(|n| n.to_ne_bytes().to_vec())
        .collect();
    let write_source = |name: &str, codec: serde_json::Value| {
        let path = folder.path().join(name);
        let bytes = serde_json::json!({"name": "bytes", "configuration": {"endian": "little"}});
        let metadata = serde_json::json!({
            "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "uint32",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk_shape}},
            "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
            "codecs": [bytes, codec], "attributes": {}
        });
        crate::zarr::write(&path, metadata, &elements);
        fs::remove_file(path.join("c/1/0")).unwrap();
        path
    };
    let zstd = |level: i32| serde_json::json!({"name": "zstd", "configuration": {"level": level, "checksum": false}});
    let gzip = |level: i32| serde_json::json!({"name": "gzip", "configuration": {"level": level}});
    let sources = [
        (
            write_source("3", zstd(3)),
            write_source("1", zstd(1)),
            Codec::Zstd,
        ),
        (
            write_source("5", gzip(5)),
            write_source("2", gzip(2)),
            Codec::Gzip,
        ),
    ];
    for (same_level, other_level, codec) in sources {
        for (spec, shard_shape, copied_count) in [
            // The result has 3 × 5 chunks: the last 5 extend beyond the end, and 2 of the others have only the fill
            // value.
            (":, :", [10, 8], 8),
            // Without shards, the stored one of these 2 chunks is also copied.
            (":, :", [5, 4], 9),
            ("5:, 4:16", [15, 12], 3),
            ("None, 5:10, 8:", [5, 12], 3),
            (":, 1:", [10, 8], 0),
            ("::-1, :", [10, 8], 0),
            (":10:2, :", [5, 8], 0),
        ] {
            let has_new_dim = spec.starts_with("None");
            let with_new_dim = |sizes: [usize; 2]| -> Vec<usize> {
                let new_size = has_new_dim.then_some(1);
                new_size.into_iter().chain(sizes).collect()
            };
            let form = Form {
                shard: Some(with_new_dim(shard_shape)),
                chunk: Some(with_new_dim(chunk_shape)),
                codec: Some(codec),
            };
            let results = [&same_level, &other_level].map(|source| {
                let result = tempfile::tempdir_in(folder.path()).unwrap();
                let path = result.path().join("b.zarr");
                let job = Job::new(slice(spec), source, &path, &form).unwrap();
                let summary = run(&job, HOW).unwrap();
                let mut files = files(&path);
                assert!(files.remove(Path::new("zarr.json")).is_some());
                (files, summary.chunks_copied)
            });
            assert!(results[0].0 == results[1].0, "{spec} {codec:?}");
            let counts = results.map(|(_, count)| count);
            assert_eq!(counts, [copied_count, 0], "{spec} {codec:?}");
        }
        // Copied chunks are nevertheless decoded, so that a corrupt chunk is detected.
        let chunk = fs::read(same_level.join("c/1/2")).unwrap();
        fs::write(same_level.join("c/1/2"), &chunk[..chunk.len() - 5]).unwrap();
        let result = tempfile::tempdir_in(folder.path()).unwrap();
        let path = result.path().join("b.zarr");
        let form = Form {
            shard: Some(vec![5, 4]),
            chunk: Some(vec![5, 4]),
            codec: Some(codec),
        };
        let job = Job::new(slice(":"), &same_level, &path, &form).unwrap();
        let error = run(&job, HOW).unwrap_err();
        assert!(
            matches!(&error, Error::Data(text) if text.contains("c/1/2") && text.contains("corrupt")),
            "{error:?}"
        );
        assert!(!path.join("c/1/2").exists() && !path.join("zarr.json").exists());
    }
}

/// From each uncompressed chunk, a job reads the planes from the first to the last one with elements of the result. It
/// reads few bytes in addition.
#[test]
fn no_more_is_read_than_the_chunks_demand() {
    let folder = tempfile::tempdir().unwrap();
    let shape = [60, 50, 40];
    for (number, shard) in [None, Some(&[30, 50, 40][..])].into_iter().enumerate() {
        let path = folder.path().join(format!("{number}.zarr"));
        let source = Known::numbers_in(&path, &shape, &[10, 25, 40], shard);
        // The cases have steps larger than a chunk, flips, and a box within a chunk.
        for (case, (spec, plane_count)) in [
            ("::13, ::-1, 30:2:-9", 10),
            ("1:4, 2:3, 5:6", 3),
            ("::2, 7:33, ...", 12 * 9),
        ]
        .into_iter()
        .enumerate()
        {
            let result = folder.path().join(format!("{number}-{case}.zarr"));
            let form = Form {
                shard: Some(vec![30, 50, 40]),
                chunk: Some(vec![5, 5, 5]),
                codec: None,
            };
            let job = Job::new(slice(spec), &path, &result, &form).unwrap();
            let summary = run(&job, HOW).unwrap();
            let plane_bytes =
                plane_count * 4 * source.chunk_shape[1..].iter().product::<usize>() as u64;
            let max_bytes = plane_bytes + 1000;
            assert!(
                (plane_bytes..max_bytes).contains(&summary.bytes_read),
                "{spec}: {summary:?}"
            );
        }
    }
}

/// In files of uncompressed chunks, only the planes with elements of the result are read, if they are far apart.
#[test]
fn planes_between_the_read_planes_are_skipped() {
    let folder = tempfile::tempdir().unwrap();
    // A plane of a chunk has 16 KiB.
    let (shape, chunk_shape) = ([40, 64, 70], [32, 64, 64]);
    for (number, shard) in [None, Some(&[64, 64, 128][..])].into_iter().enumerate() {
        let path = folder.path().join(format!("{number}.zarr"));
        let source = Known::numbers_in(&path, &shape, &chunk_shape, shard);
        let steps = |first: usize, end: usize, step| (first..end).step_by(step).collect();
        let down = |first: usize, step| (0..=first).rev().step_by(step).collect();
        // Each case has the positions of the result, the shape of its shards, and the number of planes that all shards
        // read together.
        let cases = [
            (
                "1::3, ::2, 7:60",
                [steps(1, 40, 3), steps(0, 64, 2), steps(7, 60, 1)],
                [13, 32, 53],
                13,
            ),
            (
                "::-2, ::-7, ::-9",
                [down(39, 2), down(63, 7), down(69, 9)],
                [20, 10, 8],
                20 * 2,
            ),
            // Each chunk is read by two shards, so its planes count twice.
            (
                "::4, :, ::-1",
                [steps(0, 40, 4), steps(0, 64, 1), down(69, 1)],
                [10, 32, 70],
                10 * 2 * 2,
            ),
            // Four shards would together read twice as many planes as the first chunk has, so each shard reads the
            // whole chunk.
            (
                "::2, :, 9",
                [steps(0, 40, 2), steps(0, 64, 1), vec![9]],
                [20, 16, 1],
                (32 + 4) * 4,
            ),
            (
                "3::2, 5, :64",
                [steps(3, 40, 2), vec![5], steps(0, 64, 1)],
                [19, 1, 64],
                19,
            ),
        ];
        for (case, (text, positions, shard_shape, plane_count)) in cases.into_iter().enumerate() {
            let [z, y, x] = &positions;
            let mut elements = Vec::new();
            for z in z {
                for y in y {
                    let indices = x.iter().map(|x| (z * shape[1] + y) * shape[2] + x);
                    indices.for_each(|index| elements.extend(&source.elements[index]));
                }
            }
            let kept_sizes = |sizes: &[usize]| {
                let sizes = sizes.iter().zip(&positions);
                let sizes = sizes.filter(|(_, positions)| positions.len() > 1);
                sizes.map(|(size, _)| *size).collect::<Vec<_>>()
            };
            let result = folder.path().join(format!("{number}-{case}.zarr"));
            let form = Form {
                shard: Some(kept_sizes(&shard_shape)),
                chunk: Some(kept_sizes(&shard_shape)),
                codec: None,
            };
            let job = Job::new(slice(text), &path, &result, &form).unwrap();
            let summary = run(&job, HOW).unwrap();
            let sizes: Vec<usize> = positions.iter().map(Vec::len).collect();
            assert_eq!(read(&result), (kept_sizes(&sizes), elements), "{text}");
            let plane_bytes = plane_count * (16 << 10);
            assert!(
                (plane_bytes..plane_bytes + 1000).contains(&summary.bytes_read),
                "{text}: {summary:?}"
            );
        }
    }
    // A chunk with a missing end is detected, although only planes of it are read.
    let file = folder.path().join("0.zarr/c/0/0/0");
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() - 1]).unwrap();
    let result = folder.path().join("torn.zarr");
    let source = folder.path().join("0.zarr");
    let job = Job::new(slice("1::2"), &source, &result, &Form::default()).unwrap();
    let error = run(&job, HOW).unwrap_err();
    assert!(
        matches!(&error, Error::Data(text) if text.contains("c/0/0/0") && text.contains("corrupt")),
        "{error:?}"
    );
}

/// A job decodes only the blocks of a Blosc chunk that contain elements of the result.
#[test]
fn parts_of_blosc_chunks_are_decoded() {
    let folder = tempfile::tempdir().unwrap();
    // A chunk has 1 MiB, more than one block.
    let (shape, chunk_shape) = ([70, 64, 100], [64, 64, 64]);
    let known = Known::numbers(&folder.path().join("a.zarr"), &shape, &[35, 64, 100]);
    let form = |chunk_shape: &[usize]| Form {
        chunk: Some(chunk_shape.to_vec()),
        codec: Some(Codec::Blosc),
        ..Form::default()
    };
    let source = folder.path().join("blosc.zarr");
    let job = Job::new(slice("..."), &known.path, &source, &form(&chunk_shape)).unwrap();
    run(&job, HOW).unwrap();
    let steps = |first: usize, end: usize, step| (first..end).step_by(step).collect();
    let down = |first: usize, step| (0..=first).rev().step_by(step).collect();
    let cases: [(&str, [Vec<usize>; 3]); 5] = [
        (
            "::67, ::3, :",
            [steps(0, 70, 67), steps(0, 64, 3), steps(0, 100, 1)],
        ),
        ("63:64, 9::-2, ::-7", [vec![63], down(9, 2), down(99, 7)]),
        ("3:5, 1:2, 60:70", [vec![3, 4], vec![1], steps(60, 70, 1)]),
        (
            "64:, ::40, 99:",
            [steps(64, 70, 1), steps(0, 64, 40), vec![99]],
        ),
        ("::-1, :, 50:51", [down(69, 1), steps(0, 64, 1), vec![50]]),
    ];
    for (case, (text, positions)) in cases.into_iter().enumerate() {
        let [z, y, x] = &positions;
        let mut elements = Vec::new();
        for z in z {
            for y in y {
                let indices = x.iter().map(|x| (z * shape[1] + y) * shape[2] + x);
                indices.for_each(|index| elements.extend(&known.elements[index]));
            }
        }
        let result = folder.path().join(format!("{case}.zarr"));
        let job = Job::new(slice(text), &source, &result, &form(&[5, 5, 5])).unwrap();
        run(&job, HOW).unwrap();
        let sizes = positions.iter().map(Vec::len).collect();
        assert_eq!(read(&result), (sizes, elements), "{text}");
    }
    // A chunk with a missing end is detected, although only its beginning is needed.
    let file = source.join("c/0/0/0");
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() - 1]).unwrap();
    let result = folder.path().join("torn.zarr");
    let job = Job::new(slice("0"), &source, &result, &form(&[5, 5])).unwrap();
    let error = run(&job, HOW).unwrap_err();
    assert!(
        matches!(&error, Error::Data(text) if text.contains("c/0/0/0") && text.contains("corrupt")),
        "{error:?}"
    );
}

/// With a cache, a chunk is read once for all shards that need it.
#[test]
fn shards_share_cached_chunks() {
    let mut random = Random::new(99);
    for case in 0..40 {
        let folder = tempfile::tempdir().unwrap();
        let source = Known::random(
            &mut random,
            &folder.path().join("a.zarr"),
            StoreKind::Chunks,
        );
        let spec = Slice::of(&mut random, &source.shape);
        let (shape, elements) = spec.naive(&source.elements, &source.shape);
        let form = form(&mut random, &shape);
        let result = folder.path().join("b.zarr");
        let job = Job::new(slice(&spec.text), &source.path, &result, &form).unwrap();
        let cache = 1 << 20;
        let (_, prepared) = open(&job, How { cache, ..HOW });
        let explained = prepared.explain().unwrap();
        let mut read_chunk_count = 0;
        let mut shards: Vec<u64> = (0..prepared.shards()).collect();
        if case % 2 == 1 {
            shards.reverse();
        }
        for shard in shards {
            read_chunk_count += compute(&prepared, shard).unwrap().chunks_read;
        }
        assert_eq!(
            read_chunk_count, explained.chunks,
            "case {case}: {}",
            spec.text
        );
        run(&job, HOW).unwrap();
        assert_eq!(read(&result), (shape, elements.concat()), "case {case}");
    }
}

#[test]
fn a_job_that_is_run_again_computes_the_missing_shards() {
    let folder = tempfile::tempdir().unwrap();
    let (path, result) = (folder.path().join("a.zarr"), folder.path().join("b.zarr"));
    let source = Known::numbers(&path, &[20, 20], &[5, 5]);
    let form = Form {
        shard: Some(vec![10, 10]),
        chunk: Some(vec![5, 5]),
        codec: Some(Codec::Zstd),
    };
    let job = Job::new(slice("::-1"), &path, &result, &form).unwrap();
    let (_, prepared) = open(&job, HOW);
    for shard in [3, 1] {
        let outcome = compute(&prepared, shard).unwrap();
        assert!(outcome.computed && outcome.chunks_read == 4, "{outcome:?}");
        let second_outcome = compute(&prepared, shard).unwrap();
        assert!(
            !second_outcome.computed && second_outcome.bytes_read == 0,
            "{second_outcome:?}"
        );
    }
    assert!(compute(&prepared, 4).is_err());
    // The unfinished result cannot be opened yet.
    assert!(!result.join("zarr.json").exists());
    let summary = run(&job, HOW).unwrap();
    assert_eq!((summary.shards, summary.computed, summary.stood), (4, 2, 2));
    assert_eq!(summary.chunks_read, 8);
    assert_eq!(read(&result), (vec![20, 20], source.rows_reversed(20)));

    let before = files(&result);
    assert!(matches!(
        Record::begin(&job, false).unwrap(),
        State::Complete
    ));
    // Another job does not replace the result without --overwrite.
    let other_job = Job::new(slice("::-2"), &path, &result, &form).unwrap();
    let error = Record::begin(&other_job, false).unwrap_err().to_string();
    assert!(
        error.contains("::-1") && error.contains("--overwrite"),
        "{error}"
    );
    assert_eq!(files(&result), before);
    assert!(matches!(
        Record::begin(&other_job, true).unwrap(),
        State::Open(_)
    ));
    // An unfinished job is not replaced either.
    let error = Record::begin(&job, false).unwrap_err().to_string();
    assert!(
        error.contains("unfinished") && error.contains("::-2"),
        "{error}"
    );
    run(&other_job, HOW).unwrap();
    let expected: Vec<_> = source
        .elements
        .chunks(20)
        .rev()
        .step_by(2)
        .flatten()
        .flatten()
        .copied()
        .collect();
    assert_eq!(read(&result), (vec![10, 20], expected));

    // A folder that is not an array is never removed, even with --overwrite. Groups of Zarr V3 and V2 are not arrays.
    for (name, text) in [
        ("thesis.txt", "years of work"),
        ("zarr.json", r#"{"zarr_format": 3, "node_type": "group"}"#),
        (".zgroup", r#"{"zarr_format": 2}"#),
    ] {
        let foreign = folder.path().join(format!("with-{name}"));
        Known::numbers(&foreign.join("array"), &[4], &[2]);
        fs::write(foreign.join(name), text).unwrap();
        let before = files(&foreign);
        let job = Job::new(slice("::-1"), &path, &foreign, &form).unwrap();
        let error = Record::begin(&job, true).unwrap_err().to_string();
        assert!(error.contains("no Zarr array"), "{name}: {error}");
        assert_eq!(files(&foreign), before, "{name}");
    }
}

/// A job fails with an error, and does not try to allocate sizes beyond any machine's memory. A failed allocation would
/// end the process.
#[test]
fn shards_and_chunks_that_do_not_fit_into_the_memory_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    Known::numbers(&path, &[8], &[4]);
    let result = folder.path().join("b.zarr");
    for shard in ["100000000000000", "2000000000000000000"] {
        for chunk_options in [&[][..], &["--chunk", "1"], &["--chunk", shard]] {
            let mut command = command();
            command
                .arg("slice")
                .arg(&path)
                .args(["::-1", "--overwrite", "-o"]);
            command
                .arg(&result)
                .args(["--shard", shard])
                .args(chunk_options);
            let (code, _, problem) = run_to_end(&mut command);
            assert_eq!(code, 1, "{shard} {chunk_options:?}: {problem}");
            assert!(problem.contains("does not fit"), "{problem}");
        }
    }
    // A missing chunk also needs memory, for its fill values. If it does not fit, the job must fail too.
    for fill in [0, 1] {
        let chunk_size = 1_usize << 50;
        let metadata = serde_json::json!({
            "zarr_format": 3, "node_type": "array", "shape": [8], "data_type": "uint32",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [chunk_size]}},
            "chunk_key_encoding": {"name": "default"}, "fill_value": fill,
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "attributes": {}
        });
        fs::write(path.join("zarr.json"), metadata.to_string()).unwrap();
        fs::remove_dir_all(path.join("c")).ok();
        let form = Form {
            shard: Some(vec![4]),
            ..Form::default()
        };
        let result = folder.path().join(format!("{fill}.zarr"));
        let job = Job::new(slice(":"), &path, &result, &form).unwrap();
        let error = run(&job, HOW).unwrap_err().to_string();
        assert!(error.contains("smaller chunks"), "{error}");
        let file = folder.path().join(format!("{fill}.npy"));
        let error = to_npy(&path, &file, 1, None, false).unwrap_err();
        assert!(error.to_string().contains("smaller chunks"), "{error}");
    }
}

#[test]
fn a_result_can_have_any_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    let source = Known::numbers(&path, &[8, 2], &[4, 2]);
    for name in [
        "a[0-9]",
        "*",
        "what?",
        "100%",
        "a%20b #c",
        "it's",
        "schöne Bilder",
    ] {
        let result = folder.path().join(name).join("b.zarr");
        let job = Job::new(slice("::-1"), &path, &result, &Form::default()).unwrap();
        run(&job, HOW).expect(name);
        let expected = (source.shape.clone(), source.rows_reversed(2));
        assert_eq!(read(&result), expected, "{name}");
    }
}

#[cfg(unix)]
#[test]
fn a_path_that_is_not_utf8_is_wrong_usage() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    Known::numbers(&path, &[4], &[2]);
    let invalid_path = folder.path().join(OsStr::from_bytes(b"\xff.zarr"));
    for (from, to) in [(&path, &invalid_path), (&invalid_path, &path)] {
        let mut command = command();
        command.arg("slice").arg(from).args([":", "-o"]).arg(to);
        let (code, _, problem) = run_to_end(&mut command);
        assert!(code == 2 && problem.contains("UTF-8"), "{problem}");
    }
    assert!(!invalid_path.exists());
}

#[test]
fn a_task_of_an_old_job_writes_nothing_into_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let (path, result) = (folder.path().join("a.zarr"), folder.path().join("b.zarr"));
    Known::numbers(&path, &[8], &[4]);
    let job = |spec| Job::new(slice(spec), &path, &result, &Form::default()).unwrap();
    let (_, old_prepared) = open(&job("1:5"), HOW);
    Record::begin(&job("2:6"), true).unwrap();
    assert!(matches!(compute(&old_prepared, 0), Err(Error::Io(_))));
    let names: Vec<_> = files(&result).into_keys().collect();
    assert_eq!(names, [Path::new(".wgslice/job.json")]);
}

#[test]
fn a_source_that_has_changed_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let (path, result) = (folder.path().join("a.zarr"), folder.path().join("b.zarr"));
    Known::numbers(&path, &[8], &[4]);
    let job = Job::new(slice(":"), &path, &result, &Form::default()).unwrap();
    let (record, _) = open(&job, HOW);
    Known::numbers(&path, &[8], &[2]);
    let error = wgslice_scale::job::Prepared::new(record.order(job, HOW)).unwrap_err();
    assert!(error.to_string().contains("has changed"), "{error}");
}

/// The files of a result do not depend on the number of threads.
#[test]
fn a_shard_has_the_same_bytes_with_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let source = Known::numbers(&folder.path().join("a.zarr"), &[40, 50], &[7, 9]);
    let form = Form {
        shard: Some(vec![20, 24]),
        chunk: Some(vec![5, 6]),
        codec: Some(Codec::Blosc),
    };
    let results = [1, 3].map(|threads| {
        let result = folder.path().join(format!("{threads}.zarr"));
        let job = Job::new(slice("::-1"), &source.path, &result, &form).unwrap();
        run(&job, How { threads, ..HOW }).unwrap();
        files(&result)
    });
    assert!(results[0].len() > 2);
    assert_eq!(results[0], results[1]);
}

#[test]
fn a_corrupt_chunk_is_named_and_its_shards_are_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let (path, result) = (folder.path().join("a.zarr"), folder.path().join("b.zarr"));
    Known::numbers(&path, &[20, 20], &[5, 5]);
    // Without a codec, a chunk of the wrong length is corrupt.
    fs::write(path.join("c/1/2"), "torn").unwrap();
    let form = Form {
        shard: Some(vec![10, 10]),
        chunk: Some(vec![10, 10]),
        codec: None,
    };
    let job = Job::new(slice(":"), &path, &result, &form).unwrap();
    let attempts = 4;
    let error = run(&job, How { attempts, ..HOW }).unwrap_err();
    let Error::Data(error) = error else {
        panic!("{error:?}")
    };
    assert!(
        error.contains("c/1/2") && error.contains("corrupt"),
        "{error}"
    );
    assert!(!result.join("c/0/1").exists() && !result.join("zarr.json").exists());
    // A chunk that cannot be read counts neither as corrupt nor as missing.
    fs::remove_file(path.join("c/1/2")).unwrap();
    fs::create_dir(path.join("c/1/2")).unwrap();
    let error = run(&job, HOW).unwrap_err();
    assert!(
        matches!(&error, Error::Io(error) if error.to_string().contains("c/1/2")),
        "{error:?}"
    );
    fs::remove_dir(path.join("c/1/2")).unwrap();
    let summary = run(&job, HOW).unwrap();
    assert!(summary.computed >= 1 && result.join("c/0/1").exists());
}

#[test]
fn a_corrupt_index_of_a_shard_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (path, result) = (folder.path().join("a.zarr"), folder.path().join("b.zarr"));
    Known::numbers_in(&path, &[20], &[5], Some(&[20]));
    let mut shard = fs::read(path.join("c/0")).unwrap();
    let job = Job::new(slice(":"), &path, &result, &Form::default()).unwrap();
    // The index has 4 pairs of an offset and a length, with 16 bytes each, and a checksum of 4 bytes.
    let index_start = shard.len() - 4 * 16 - 4;
    shard[index_start + 7] ^= 0x80;
    for length in [shard.len(), 3] {
        fs::write(path.join("c/0"), &shard[..length]).unwrap();
        let error = run(&job, HOW).unwrap_err();
        assert!(
            matches!(&error, Error::Data(text) if text.contains("c/0")),
            "{error:?}"
        );
    }
    // This index has the correct checksum, but an offset beyond the end of the shard.
    let checksum = crc32c::crc32c(&shard[index_start..shard.len() - 4]).to_le_bytes();
    let end = shard.len();
    shard[end - 4..].copy_from_slice(&checksum);
    fs::write(path.join("c/0"), &shard).unwrap();
    let error = run(&job, HOW).unwrap_err();
    assert!(
        matches!(&error, Error::Data(text) if text.contains("c/0")),
        "{error:?}"
    );
}

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wgslice-scale"));
    command.env_remove(faults::VARIABLE);
    command
}

/// Runs a command, and returns its exit code, its standard output and its standard error.
fn run_to_end(command: &mut Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn the_command_slices_resumes_and_prints_a_summary() {
    let folder = tempfile::tempdir().unwrap();
    let (path, result) = (folder.path().join("a.zarr"), folder.path().join("b.zarr"));
    let source = Known::numbers(&path, &[30, 20], &[5, 5]);
    let slice = |faults_folder: Option<&Path>, options: &[&str]| {
        let mut command = command();
        command.arg("slice").args([&path]).args([
            "::-1",
            "--shard",
            "5,10",
            "--threads",
            "2",
            "-o",
        ]);
        command.args([&result]).args(options);
        if let Some(folder) = faults_folder {
            command.env(faults::VARIABLE, folder);
        }
        command
    };
    let (code, text, _) = run_to_end(&mut slice(None, &["--explain", "--json"]));
    assert!(
        code == 0 && text.contains("\"tasks\":12") && !result.exists(),
        "{text}"
    );
    let (_, text, _) = run_to_end(&mut slice(None, &["--explain"]));
    assert!(
        text.contains("24, each read up to 1.00 times on average"),
        "{text}"
    );
    let (code, _, problem) = run_to_end(&mut slice(None, &["--memory", "500"]));
    assert!(
        code == 2 && problem.contains("--memory") && problem.contains("--shard"),
        "{problem}"
    );
    // K, M and G are powers of 1000; KiB, MiB and GiB are powers of 1024.
    for (memory, bytes) in [("0.5K", "500"), ("0.5 KiB", "512")] {
        let (_, _, problem) = run_to_end(&mut slice(None, &["--memory", memory]));
        assert!(problem.contains(&format!("is {bytes} bytes")), "{problem}");
    }
    assert!(!result.exists());

    // The command is killed while tasks sleep, after some tasks are done.
    let faults_folder = folder.path().join("faults");
    fs::create_dir(&faults_folder).unwrap();
    fs::write(faults_folder.join("sleep"), "300").unwrap();
    let mut running = slice(Some(&faults_folder), &[])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let shard_count = || {
        files(&result)
            .keys()
            .filter(|name| name.starts_with("c"))
            .count()
    };
    while !result.exists() || shard_count() < 3 {
        assert!(Instant::now() < deadline);
        thread::sleep(Duration::from_millis(20));
    }
    running.kill().unwrap();
    running.wait().unwrap();
    let kept_count = shard_count();
    assert!(!result.join("zarr.json").exists());

    // One task fails with an I/O error and is retried.
    fs::write(faults_folder.join("sleep"), "0").unwrap();
    fs::write(faults_folder.join("io-error-1"), "").unwrap();
    fs::write(faults_folder.join("started"), "").unwrap();
    let (code, text, problem) = run_to_end(&mut slice(
        Some(&faults_folder),
        &["--json", "--memory", "1M"],
    ));
    assert_eq!(code, 0, "{problem}");
    assert!(
        problem.contains("on purpose") && !faults_folder.join("io-error-1").exists(),
        "{problem}"
    );
    assert!(text.contains(&format!("\"stood\":{kept_count},")), "{text}");
    let started = fs::read_to_string(faults_folder.join("started")).unwrap();
    assert_eq!(started.lines().count(), 12 - kept_count + 1, "{started}");
    assert_eq!(read(&result), (vec![30, 20], source.rows_reversed(20)));
    assert!(!result.join(".wgslice").exists());
    let counts_and_keys = |text: &str| {
        let summary: serde_json::Value = serde_json::from_str(text).unwrap();
        let counts =
            ["shards", "computed", "stood", "chunks_read"].map(|key| summary[key].as_u64());
        let keys: Vec<String> = summary.as_object().unwrap().keys().cloned().collect();
        (counts.map(Option::unwrap), keys)
    };
    let (_, expected_keys) = counts_and_keys(&text);
    let (code, text, _) = run_to_end(&mut slice(None, &[]));
    assert!(code == 0 && text.contains("complete"), "{text}");
    let (code, text, _) = run_to_end(&mut slice(None, &["--json"]));
    assert_eq!(
        (code, counts_and_keys(&text)),
        (0, ([12, 0, 12, 0], expected_keys.clone()))
    );
    // The elements of the source have changed, but not its metadata.
    let mut chunk = fs::read(path.join("c/0/0")).unwrap();
    chunk[0] = 99;
    fs::write(path.join("c/0/0"), chunk).unwrap();
    let (code, text, problem) = run_to_end(&mut slice(None, &["--json", "--overwrite"]));
    assert_eq!(code, 0, "{problem}");
    assert_eq!(counts_and_keys(&text), ([12, 12, 0, 24], expected_keys));
    assert_eq!(read(&result).1[29 * 20 * 4], 99);
    let (code, _, problem) = run_to_end(&mut slice(None, &["--codec", "gzip"]));
    assert!(code == 2 && problem.contains("--overwrite"), "{problem}");
    let (code, _, problem) = run_to_end(&mut slice(None, &["--codec", "gzip", "--shard", "5"]));
    assert!(code == 2 && problem.contains("--shard"), "{problem}");

    // There are more I/O errors than attempts for a task.
    for number in 0..5 {
        fs::write(faults_folder.join(format!("io-error-{number}")), "").unwrap();
    }
    let one_shard_options = ["--shard", "30,20", "--overwrite"];
    let mut one_shard_command = command();
    one_shard_command
        .arg("slice")
        .args([&path])
        .args(["::-1", "-o"])
        .args([&result])
        .args(one_shard_options);
    let (code, _, problem) = run_to_end(one_shard_command.env(faults::VARIABLE, &faults_folder));
    assert!(code == 1 && problem.contains("on purpose"), "{problem}");
    let unused_errors = files(&faults_folder)
        .into_keys()
        .filter(|name| name.to_string_lossy().contains("error"));
    assert_eq!(unused_errors.count(), 1);
    assert!(!result.join("zarr.json").exists());
}

#[test]
fn arrays_become_npy_files_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(8);
    let mut converted_count = 0;
    for case in 0..16 {
        let kind = [
            StoreKind::Chunks,
            StoreKind::Shards,
            StoreKind::V2,
            StoreKind::Transposed,
        ][case % 4];
        let source = Known::random(
            &mut random,
            &folder.path().join(format!("{case}.zarr")),
            kind,
        );
        let file = folder.path().join(format!("{case}.npy"));
        let memory = [None, Some(1 << 15)][case % 2];
        let conversion = to_npy(&source.path, &file, 2, memory, false);
        // `.npy` files have no name for bfloat16.
        if Source::open(&source.path).unwrap().dtype() == DType::BF16 {
            let error = conversion.unwrap_err().to_string();
            assert!(error.contains("bfloat16"), "{error}");
            continue;
        }
        let summary = conversion.unwrap();
        converted_count += 1;
        assert!(summary.chunks_read > 0);
        let bytes = fs::read(&file).unwrap();
        assert!(bytes.ends_with(&source.elements.concat()), "case {case}");
        assert_eq!((bytes.len() - source.elements.concat().len()) % 64, 0);
        assert!(to_npy(&source.path, &file, 2, None, false).is_err());

        let result = folder.path().join(format!("{case}-back.zarr"));
        let form = form(&mut random, &source.shape);
        let job = Job::new(
            wgslice_scale::job::Operation::Convert,
            &file,
            &result,
            &form,
        )
        .unwrap();
        run(&job, HOW).unwrap();
        assert_eq!(
            read(&result),
            (source.shape, source.elements.concat()),
            "case {case}"
        );
    }
    assert!(
        converted_count > 8,
        "{converted_count} arrays were converted"
    );
    assert_eq!(partial_file_count(folder.path()), 0);
}

/// The index of a shard is not read again for each chunk of the shard, even if the array has one dimension.
#[test]
fn a_conversion_reads_few_indexes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    let source = Known::numbers_in(&path, &[4096], &[8], Some(&[4096]));
    let file = folder.path().join("a.npy");
    let summary = to_npy(&path, &file, 2, None, false).unwrap();
    assert!(
        fs::read(&file)
            .unwrap()
            .ends_with(&source.elements.concat())
    );
    let (element_bytes, index_bytes) = (4096 * 4, 4096 / 8 * 16 + 4);
    // There are four tiles for each of two threads.
    assert_eq!(summary.bytes_read, element_bytes + 8 * index_bytes);
}

#[test]
fn an_npy_file_is_not_written_in_place_of_an_array() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    Known::numbers(&path, &[8], &[4]);
    let before = files(folder.path());
    for (output, expected) in [
        ("b.zarr", "b.npy"),
        ("a.zarr", "a.npy"),
        ("a.zarr/c/0", "lies in the array"),
    ] {
        let output = folder.path().join(output);
        let error = to_npy(&path, &output, 1, None, true).unwrap_err();
        assert!(
            matches!(&error, Error::Usage(text) if text.contains(expected)),
            "{error:?}"
        );
    }
    assert_eq!(files(folder.path()), before);
}

fn partial_file_count(folder: &Path) -> usize {
    let names = fs::read_dir(folder).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".partial")).count()
}

#[cfg(unix)]
#[test]
fn a_conversion_that_a_signal_ends_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let (path, file) = (folder.path().join("a.zarr"), folder.path().join("a.npy"));
    // All chunks are missing. The file would have 16 GiB.
    let metadata = serde_json::json!({
        "zarr_format": 3, "node_type": "array", "shape": [1_u64 << 34], "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1 << 20]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
        "codecs": [{"name": "bytes"}], "attributes": {}
    });
    fs::create_dir(&path).unwrap();
    fs::write(path.join("zarr.json"), metadata.to_string()).unwrap();
    let mut command = command();
    command.arg("convert").arg(&path).arg("-o").arg(&file);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let running = command.spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while partial_file_count(folder.path()) == 0 {
        assert!(Instant::now() < deadline);
        thread::sleep(Duration::from_millis(1));
    }
    let kill = Command::new("kill").arg(running.id().to_string()).status();
    assert!(kill.unwrap().success());
    let output = running.wait_with_output().unwrap();
    let problem = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{problem}");
    assert!(problem.contains("ended by SIGTERM"), "{problem}");
    assert!(!file.exists() && partial_file_count(folder.path()) == 0);
}
