//! Concatenated arrays match a naive loop, and each chunk is read once for a shard.

use crate::{
    metadata::{result_metadata, sources},
    random::Random,
    zarr::{HOW, Known, StoreKind, coordinates, form, open, read, run, shards, slice, write},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use wgslice_scale::{
    job::{Fingerprint, Form, How, Job, Operation, Prepared},
    zarr::{Error, Source, Target},
};

fn concat(others: &[PathBuf], axis: isize, is_new: bool) -> Operation {
    let others = others.iter();
    Operation::Concat {
        others: others
            .map(|other| (other.clone(), Fingerprint::Metadata(0)))
            .collect(),
        axis,
        is_new,
    }
}

/// Slices arrays into random pieces, which can overlap, with random chunks and compression, and concatenates these
/// pieces.
#[test]
fn random_pieces_are_put_where_they_belong() {
    let mut random = Random::new(31);
    let kinds = [
        StoreKind::Chunks,
        StoreKind::Shards,
        StoreKind::V2,
        StoreKind::Transposed,
    ];
    let (mut mixed_result_count, mut copied_chunk_count) = (0, 0);
    for case in 0..60 {
        let folder = tempfile::tempdir().unwrap();
        let whole = Known::random(&mut random, &folder.path().join("a.zarr"), kinds[case % 4]);
        let (rank, is_new) = (whole.shape.len(), case % 3 == 0);
        let axis = random.within(0, rank as i64 - 1) as usize;
        let size = whole.shape[axis] as i64;
        // For each position of the result along the axis, `positions` has the position in the whole array, the number
        // of the piece, and the position in the piece.
        let mut positions = Vec::new();
        let mut pieces = Vec::new();
        for piece_number in 0..random.within(1, 5) as usize {
            let begin = random.within(0, size - 1);
            let end = if is_new {
                begin + 1
            } else {
                random.within(begin, size)
            };
            positions
                .extend((begin..end).map(|at| (at as usize, piece_number, (at - begin) as usize)));
            let entry = if is_new {
                begin.to_string()
            } else {
                format!("{begin}:{end}")
            };
            let spec = [":, ".repeat(axis), entry].concat();
            let piece = folder.path().join(format!("{piece_number}.zarr"));
            let mut shape = whole.shape.clone();
            if is_new {
                shape.remove(axis);
            } else {
                shape[axis] = (end - begin) as usize;
            }
            let form = if random.within(0, 1) == 0 {
                Form::default()
            } else {
                form(&mut random, &shape)
            };
            let job = Job::new(slice(&spec), &whole.path, &piece, &form).unwrap();
            run(&job, HOW).unwrap();
            pieces.push(piece);
        }
        let mut shape = whole.shape.clone();
        shape[axis] = positions.len();
        let element_count = shape.iter().product();
        // For each element of the result, `elements` has its index in the whole array, the number of its piece, and its
        // coordinates in the piece.
        let elements = (0..element_count).map(|index| {
            let mut at = coordinates(index, &shape);
            let (position, piece_number, position_in_piece) = positions[at[axis]];
            at[axis] = position;
            let from = at.iter().zip(&whole.shape);
            let from = from.fold(0, |index, (at, size)| index * size + at);
            if is_new {
                at.remove(axis);
            } else {
                at[axis] = position_in_piece;
            }
            (from, piece_number, at)
        });
        let elements: Vec<_> = elements.collect();
        let bytes = elements
            .iter()
            .flat_map(|(from, ..)| &whole.elements[*from]);
        let bytes: Vec<u8> = bytes.copied().collect();

        let from_end = random.within(0, 1) as isize * rank as isize;
        let operation = concat(&pieces[1..], axis as isize - from_end, is_new);
        let form = if random.within(0, 1) == 0 {
            Form::default()
        } else {
            form(&mut random, &shape)
        };
        let description = format!("case {case}: {:?} {operation:?} {form:?}", whole.shape);
        let result = folder.path().join("b.zarr");
        let job = Job::new(operation, &pieces[0], &result, &form).expect(&description);
        let explained = open(&job, HOW).1.explain().unwrap();
        let summary = run(&job, HOW).expect(&description);
        assert_eq!(
            read(&result),
            (shape.clone(), bytes.clone()),
            "{description}"
        );
        copied_chunk_count += summary.chunks_copied;

        let chunk_shapes = pieces
            .iter()
            .map(|piece| Source::open(piece).unwrap().chunk().to_vec());
        let chunk_shapes: Vec<_> = chunk_shapes.collect();
        let target = Target::new(&result, &job.metadata).unwrap();
        let chunks_per_shard = shards(&shape, target.shard()).into_values().map(|shard| {
            let chunks = shard.iter().map(|&index| {
                let (_, piece, at) = &elements[index];
                let at = at.iter().zip(&chunk_shapes[*piece]);
                (*piece, at.map(|(at, size)| at / size).collect::<Vec<_>>())
            });
            chunks.collect::<BTreeSet<_>>()
        });
        let chunks_per_shard: Vec<_> = chunks_per_shard.collect();
        mixed_result_count += usize::from(chunks_per_shard.iter().any(|chunks| {
            chunks.first().map(|(piece, _)| piece) != chunks.last().map(|(piece, _)| piece)
        }));
        let read_count: usize = chunks_per_shard.iter().map(BTreeSet::len).sum();
        assert_eq!(summary.chunks_read, read_count as u64, "{description}");
        assert_eq!(explained.reads, summary.chunks_read, "{description}");
        let distinct: BTreeSet<_> = chunks_per_shard.into_iter().flatten().collect();
        assert_eq!(explained.chunks, distinct.len() as u64, "{description}");

        // If the cache has room for all chunks, each is read once, and chunks of different pieces are distinguished.
        let second_result = folder.path().join("c.zarr");
        let job = Job {
            result: second_result.clone(),
            ..job
        };
        let how = How {
            cache: 1 << 30,
            ..HOW
        };
        let (record, prepared) = open(&job, how);
        let missing = record.missing(&prepared).unwrap();
        let summary =
            wgslice_scale::job::run(record, &prepared, &missing, 1, 1).expect(&description);
        assert_eq!(read(&second_result), (shape, bytes), "{description}");
        assert_eq!(summary.chunks_read, explained.chunks, "{description}");
    }
    assert!(
        mixed_result_count > 15,
        "{mixed_result_count} results had shards of several pieces"
    );
    assert!(
        copied_chunk_count > 15,
        "{copied_chunk_count} chunks were copied as they are stored"
    );
}

/// Writes an array of the numbers from 1, in chunks of [2, 2].
fn write_numbers(path: &Path, dtype: &str, shape: &[usize], fill: u32) {
    let metadata = json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": dtype,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 2]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": fill,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "attributes": {}
    });
    let element_count = shape.iter().product::<usize>() as u32;
    let elements: Vec<_> = (1..=element_count)
        .map(|n| n.to_ne_bytes().to_vec())
        .collect();
    write(path, metadata, &elements);
}

#[test]
fn missing_chunks_have_the_fill_value_of_their_own_array() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b, result] = ["a.zarr", "b.zarr", "c.zarr"].map(|name| folder.path().join(name));
    for (path, fill) in [(&a, 70), (&b, 80)] {
        write_numbers(path, "uint32", &[2, 4], fill);
        fs::remove_file(path.join("c/0/1")).unwrap();
    }
    let form = Form {
        shard: Some(vec![4, 4]),
        ..Form::default()
    };
    let job = Job::new(
        concat(std::slice::from_ref(&b), 0, false),
        &a,
        &result,
        &form,
    )
    .unwrap();
    run(&job, HOW).unwrap();
    let expected = [1_u32, 2, 70, 70, 5, 6, 70, 70, 1, 2, 80, 80, 5, 6, 80, 80];
    let bytes = expected.map(u32::to_ne_bytes).concat();
    assert_eq!(read(&result), (vec![4, 4], bytes));
}

#[test]
fn arrays_that_do_not_fit_are_rejected_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let [a, wide, ints, result] =
        ["a.zarr", "wide.zarr", "ints.zarr", "c.zarr"].map(|name| folder.path().join(name));
    write_numbers(&a, "uint32", &[2, 4], 0);
    write_numbers(&wide, "uint32", &[2, 6], 0);
    write_numbers(&ints, "int32", &[2, 4], 0);
    let concat_job = |other: &PathBuf, axis, is_new| {
        Job::new(
            concat(std::slice::from_ref(other), axis, is_new),
            &a,
            &result,
            &Form::default(),
        )
    };
    for (other, axis, is_new) in [
        (&wide, 1, false),
        (&a, 2, true),
        (&a, -3, true),
        (&a, -1, false),
    ] {
        concat_job(other, axis, is_new).unwrap();
    }
    for (other, axis, is_new, expected) in [
        (&wide, 0, false, "wide.zarr has shape [2, 6]"),
        (&wide, 1, true, "the same shape"),
        (&ints, 0, false, "ints.zarr"),
        (&a, 2, false, "--axis is 2"),
        (&a, -3, false, "--axis is -3"),
        (&a, 3, true, "--axis is 3"),
        (&a, isize::MIN, true, "from -3 on"),
    ] {
        match concat_job(other, axis, is_new) {
            Err(Error::Usage(problem)) => assert!(problem.contains(expected), "{problem}"),
            other => panic!("{expected}: {other:?}"),
        }
    }
    let overlapping_job = Job::new(
        concat(std::slice::from_ref(&a), 0, false),
        &wide,
        &a.join("c"),
        &Form::default(),
    );
    assert!(
        overlapping_job
            .unwrap_err()
            .to_string()
            .contains("overlaps its source")
    );

    // A task rejects an array that has changed since the job was made.
    let job = concat_job(&wide, 1, false).unwrap();
    let (record, _) = open(&job, HOW);
    fs::remove_dir_all(&wide).unwrap();
    write_numbers(&wide, "uint32", &[2, 8], 0);
    let error = Prepared::new(record.order(job, HOW)).unwrap_err();
    assert!(
        error.to_string().contains("wide.zarr has changed"),
        "{error}"
    );
}

#[test]
fn the_result_keeps_the_names_of_dimensions() {
    let folder = tempfile::tempdir().unwrap();
    let [v3, v2] = sources(folder.path());
    let result = folder.path().join("b.zarr");
    for (axis, is_new, names) in [
        // If the first array has no name for a dimension, the next array's name is used.
        (0, false, json!(["time", "y", "x"])),
        (1, true, json!(["time", null, "y", "x"])),
    ] {
        let metadata = result_metadata(
            concat(std::slice::from_ref(&v2), axis, is_new),
            &v3,
            &result,
        );
        assert_eq!(metadata["dimension_names"], names);
        assert_eq!(metadata["attributes"]["units"], "K");
        fs::remove_dir_all(&result).unwrap();
    }
}

#[test]
fn the_commands_concatenate_and_stack() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b, result] = ["a.zarr", "b.zarr", "c.zarr"].map(|name| folder.path().join(name));
    write_numbers(&a, "uint32", &[1, 2], 0);
    write_numbers(&b, "uint32", &[1, 2], 0);
    for (command, shape) in [("concat", vec![1, 4]), ("stack", vec![1, 2, 2])] {
        let output = Command::new(env!("CARGO_BIN_EXE_wgslice-scale"))
            .arg(command)
            .args([&a, &b])
            .args(["--axis", "1", "--overwrite", "--json", "-o"])
            .arg(&result)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(summary["shards"], 1);
        let bytes = [1_u32, 2, 1, 2].map(u32::to_ne_bytes).concat();
        assert_eq!(read(&result), (shape, bytes), "{command}");
    }
}
