//! Gathers from stores match the naive reference, and read each chunk once for a shard.

use crate::{
    random::Random,
    zarr::{HOW, Known, StoreKind, chunks_of, devices, files, form, open, read, run, shards},
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use wgslice_scale::{
    job::{Fingerprint, Form, How, Job, Operation, OutOfRange, to_npy},
    zarr::{Error, Target},
};
use wgslice_vectors::reference::{self, Indexing};

const NO_FINGERPRINT: Fingerprint = Fingerprint::Metadata(0);

/// Writes indices to an array in a store and, if `writes_npy` is true, also to an `.npy` file. Returns the path of the
/// `.npy` file if there is one, otherwise the path of the array.
pub(crate) fn save(folder: &Path, shape: &[usize], indices: &[i64], writes_npy: bool) -> PathBuf {
    let path = folder.join("indices.zarr");
    let chunk_shape: Vec<usize> = shape.iter().map(|&size| size.clamp(1, 3)).collect();
    let metadata = serde_json::json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "int64",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk_shape}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "attributes": {}
    });
    let elements: Vec<_> = indices
        .iter()
        .map(|index| index.to_ne_bytes().to_vec())
        .collect();
    crate::zarr::write(&path, metadata, &elements);
    if writes_npy {
        let file = folder.join("indices.npy");
        to_npy(&path, &file, 1, None, false).unwrap();
        return file;
    }
    path
}

/// A function that computes the naive reference's result of an operation on the elements of params: the shape, and the
/// elements.
type NaiveResult<'a> = dyn Fn(&[Vec<u8>]) -> (Vec<usize>, Vec<Vec<u8>>) + 'a;

/// Makes a random operation on params of shape `params_shape`, and passes the reference for it to `use_reference`.
fn operation(
    random: &mut Random,
    folder: &Path,
    params_shape: &[usize],
    use_reference: &mut dyn FnMut(&NaiveResult<'_>),
) -> Operation {
    let batch_rank = random.within(0, params_shape.len() as i64 - 1) as usize;
    let batch_rank = batch_rank.min(random.within(0, 2) as usize);
    let mut indices_shape = params_shape[..batch_rank].to_vec();
    let indexing = Indexing {
        wrap: random.within(0, 1) == 0,
        clamp: random.within(0, 1) == 0,
    };
    let out_of_range = if indexing.clamp {
        OutOfRange::Clamp
    } else {
        OutOfRange::Zero
    };
    let inner_rank = random.within(0, 2);
    indices_shape.extend((0..inner_rank).map(|_| random.within(1, 5) as usize));
    let is_nd = random.within(0, 1) == 0;
    let random_index = |random: &mut Random, size: usize| {
        let beyond = random.within(0, 3) / 3;
        random.within(-beyond * (size as i64 + 1), size as i64 - 1 + beyond)
    };
    if is_nd {
        let depth = random.within(0, (params_shape.len() - batch_rank) as i64) as usize;
        indices_shape.push(depth);
        let tuple_count = indices_shape
            .iter()
            .take(indices_shape.len() - 1)
            .product::<usize>();
        let indices: Vec<i64> = (0..tuple_count * depth)
            .map(|number| random_index(random, params_shape[batch_rank + number % depth]))
            .collect();
        use_reference(&|elements| {
            let gathered = reference::gather_nd(
                elements,
                params_shape,
                &indices,
                &indices_shape,
                batch_rank,
                indexing,
            )
            .unwrap();
            (gathered.shape, gathered.values)
        });
        Operation::GatherNd {
            indices: save(folder, &indices_shape, &indices, random.within(0, 1) == 0),
            indices_fingerprint: NO_FINGERPRINT,
            batch_dims: batch_rank,
            out_of_range,
            wrap: indexing.wrap,
        }
    } else {
        let axis = random.within(batch_rank as i64, params_shape.len() as i64 - 1);
        let indices: Vec<i64> = (0..indices_shape.iter().product::<usize>())
            .map(|_| random_index(random, params_shape[axis as usize]))
            .collect();
        let from_end = random.within(0, 1) * params_shape.len() as i64;
        let axis = axis - from_end;
        let indices_from_end = random.within(0, 1) * indices_shape.len() as i64;
        // If all dimensions of the indices are batch dimensions, subtracting the rank from their number gives 0, which
        // does not count from the end.
        let batch_dims = if indices_from_end > batch_rank as i64 {
            batch_rank as i64 - indices_from_end
        } else {
            batch_rank as i64
        };
        use_reference(&|elements| {
            let gathered = reference::gather(
                elements,
                params_shape,
                &indices,
                &indices_shape,
                axis,
                batch_dims,
                indexing,
            )
            .unwrap();
            (gathered.shape, gathered.values)
        });
        Operation::Gather {
            indices: save(folder, &indices_shape, &indices, random.within(0, 1) == 0),
            indices_fingerprint: NO_FINGERPRINT,
            axis: Some(axis as isize),
            batch_dims: batch_dims as isize,
            out_of_range,
            wrap: indexing.wrap,
        }
    }
}

#[test]
fn random_gathers_match_the_reference() {
    let mut random = Random::new(23);
    let devices = devices();
    let kinds = [
        StoreKind::Chunks,
        StoreKind::Shards,
        StoreKind::V2,
        StoreKind::Transposed,
    ];
    let mut total_zero_count = 0;
    for case in 0..80 {
        let folder = tempfile::tempdir().unwrap();
        let params = Known::random(&mut random, &folder.path().join("a.zarr"), kinds[case % 4]);
        let numbers: Vec<Vec<u8>> = (1..=params.elements.len())
            .map(|number| number.to_ne_bytes().to_vec())
            .collect();
        let mut expected = (Vec::new(), Vec::new());
        let mut sources = Vec::new();
        let operation = operation(&mut random, folder.path(), &params.shape, &mut |gather| {
            expected = gather(&params.elements);
            sources = gather(&numbers).1;
        });
        // For index tuples out of range, the reference returns empty elements, and a job writes zeros.
        let element_width = params.elements[0].len();
        let zero_count = sources.iter().filter(|number| number.is_empty()).count();
        total_zero_count += zero_count;
        let bytes = expected
            .1
            .iter()
            .zip(&sources)
            .flat_map(|(element, source)| {
                if source.is_empty() {
                    vec![0; element_width]
                } else {
                    element.clone()
                }
            });
        let (shape, bytes): (_, Vec<u8>) = (expected.0, bytes.collect());
        let form = form(&mut random, &shape);
        let description = format!("case {case}: {operation:?} of {:?} {form:?}", params.shape);
        let result = folder.path().join("b.zarr");
        let job = Job::new(operation.clone(), &params.path, &result, &form).expect(&description);
        let explained = open(&job, HOW).1.explain().unwrap();
        let summary = run(&job, HOW).expect(&description);
        assert_eq!(read(&result), (shape.clone(), bytes), "{description}");
        for &device in &devices[1..] {
            let device_result = folder.path().join("c.zarr");
            let job = Job::new(operation.clone(), &params.path, &device_result, &form)
                .expect(&description);
            run(&job, How { device, ..HOW }).expect(&description);
            assert!(
                files(&device_result) == files(&result),
                "{device:?}: {description}"
            );
        }
        assert_eq!(summary.out_of_range > 0, zero_count > 0, "{description}");

        let target = Target::new(&result, &job.metadata).unwrap();
        let chunk_counts = shards(&shape, target.shard()).into_values().map(|shard| {
            let sources = shard.iter().map(|&number| &sources[number]);
            let sources = sources.filter(|number| !number.is_empty());
            let sources =
                sources.map(|number| usize::from_ne_bytes(number[..].try_into().unwrap()) - 1);
            chunks_of(sources, &params.shape, &params.chunk_shape).len()
        });
        assert_eq!(
            summary.chunks_read,
            chunk_counts.sum::<usize>() as u64,
            "{description}"
        );
        assert_eq!(explained.reads, summary.chunks_read, "{description}");
    }
    assert!(
        total_zero_count > 100,
        "{total_zero_count} elements were out of range"
    );
}

/// Compares gathers of elements with results of Zarr's `vindex`, and gathers of rows with a naive loop.
#[test]
fn points_match_vindex() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    let shape = [20, 30, 7];
    Known::numbers(&path, &shape, &[6, 7, 4]);
    let gather_points = |indices_shape: &[usize], points: &[i64]| {
        let indices = save(folder.path(), indices_shape, points, true);
        let result = folder.path().join("b.zarr");
        let output = Command::new(env!("CARGO_BIN_EXE_wgslice-scale"))
            .arg("gather-nd")
            .args([&path, &indices])
            .arg("-o")
            .args([&result])
            .args([
                "--negative",
                "wrap",
                "--out-of-range",
                "error",
                "--overwrite",
            ])
            .output()
            .unwrap();
        for name in ["indices.zarr", "indices.npy"] {
            let path = folder.path().join(name);
            fs::remove_dir_all(&path)
                .or_else(|_| fs::remove_file(&path))
                .unwrap();
        }
        (output.status.code(), result)
    };
    // zarr-python 3.1.6 has computed `expected` as a.vindex[[[3], [19], [-1]], [0, -30, 29, 5], -2].
    let (i, j, k) = ([3, 19, -1], [0, -30, 29, 5], -2);
    let points = i
        .iter()
        .flat_map(|&i| j.iter().flat_map(move |&j| [i, j, k]));
    let points: Vec<i64> = points.collect();
    let (code, result) = gather_points(&[3, 4, 3], &points);
    assert_eq!(code, Some(0));
    let expected = [
        [635, 635, 838, 670],
        [3995, 3995, 4198, 4030],
        [3995, 3995, 4198, 4030],
    ];
    let bytes: Vec<u8> = expected
        .as_flattened()
        .iter()
        .flat_map(|n: &u32| n.to_ne_bytes())
        .collect();
    assert_eq!(read(&result), (vec![3, 4], bytes));

    // Gathers the rows a[i, j] for random coordinates.
    let mut random = Random::new(5);
    let mut expected = Vec::new();
    let mut points = Vec::new();
    for _ in 0..25 {
        let [i, j] = [20, 30].map(|size| random.within(-size, size - 1));
        points.extend([i, j]);
        let row = (i.rem_euclid(20) * 30 + j.rem_euclid(30)) * 7;
        expected.extend((row..row + 7).flat_map(|number| (number as u32).to_ne_bytes()));
    }
    let (code, result) = gather_points(&[25, 2], &points);
    assert_eq!(code, Some(0));
    assert_eq!(read(&result), (vec![25, 7], expected));

    for outside in [20, -21] {
        let (code, _) = gather_points(&[1, 3], &[outside, 0, 0]);
        assert_eq!(code, Some(1), "{outside}");
    }
}

#[test]
fn an_index_out_of_range_fails_the_job_with_its_position() {
    let folder = tempfile::tempdir().unwrap();
    let (path, result) = (folder.path().join("a.zarr"), folder.path().join("b.zarr"));
    Known::numbers(&path, &[20, 4], &[5, 4]);
    let mut indices: Vec<i64> = (0..12).collect();
    indices[7] = 99;
    let operation = Operation::Gather {
        indices: save(folder.path(), &[3, 4], &indices, false),
        indices_fingerprint: NO_FINGERPRINT,
        axis: None,
        batch_dims: 0,
        out_of_range: OutOfRange::Error,
        wrap: false,
    };
    let form = Form {
        shard: Some(vec![1, 2, 4]),
        ..Form::default()
    };
    let job = Job::new(operation, &path, &result, &form).unwrap();
    let error = run(&job, HOW).unwrap_err();
    let Error::Data(error) = error else {
        panic!("{error:?}")
    };
    assert!(error.contains("[1,3]") && error.contains("99"), "{error}");
    assert!(!result.join("c/1/1/0").exists() && !result.join("zarr.json").exists());
}

/// If this were not rejected, `--overwrite` would remove the indices before they are read.
#[test]
fn a_result_in_its_indices_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    Known::numbers(&path, &[20, 4], &[5, 4]);
    let zarr = save(folder.path(), &[2, 1], &[3, 4], false);
    let npy = save(folder.path(), &[2, 1], &[3, 4], true);
    let before = files(folder.path());
    let results = [
        (&zarr, zarr.clone()),
        (&zarr, zarr.join("c")),
        (&npy, npy.clone()),
    ];
    for (indices, result) in results {
        for command in ["gather", "gather-nd"] {
            let output = Command::new(env!("CARGO_BIN_EXE_wgslice-scale"))
                .arg(command)
                .args([&path, indices])
                .arg("-o")
                .args([&result])
                .arg("--overwrite")
                .output()
                .unwrap();
            let errors = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{command}: {errors}");
            assert!(
                errors.contains("overlaps its source"),
                "{command}: {errors}"
            );
            assert_eq!(files(folder.path()), before, "{command}");
        }
    }
}

#[test]
fn indices_must_be_integers_and_stay_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    Known::numbers(&path, &[20, 4], &[5, 4]);
    let operation = |indices: &Path| Operation::GatherNd {
        indices: indices.to_owned(),
        indices_fingerprint: NO_FINGERPRINT,
        batch_dims: 0,
        out_of_range: OutOfRange::Zero,
        wrap: false,
    };
    let result = folder.path().join("b.zarr");
    let npy = save(folder.path(), &[2, 1], &[3, 4], true);
    let floats = folder.path().join("floats.npy");
    let bytes = fs::read(&npy).unwrap();
    let at = bytes.windows(2).position(|pair| pair == b"i8").unwrap();
    fs::write(&floats, [&bytes[..at], b"f8", &bytes[at + 2..]].concat()).unwrap();
    let error = Job::new(operation(&floats), &path, &result, &Form::default()).unwrap_err();
    assert!(error.to_string().contains("float64") && error.to_string().contains("integers"));
    let job = Job::new(operation(&npy), &path, &result, &Form::default()).unwrap();
    let (record, _) = open(&job, HOW);
    fs::write(&npy, [&bytes[..], b"more"].concat()).unwrap();
    let error = wgslice_scale::job::Prepared::new(record.order(job, HOW)).unwrap_err();
    assert!(error.to_string().contains("has changed"), "{error}");
}
