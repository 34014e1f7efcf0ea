//! Gathers from stores match the naive reference, and read each chunk once for a shard.

use crate::{
    random::Random,
    zarr::{HOW, Kind, Known, chunks_of, devices, files, form, open, read, run, shards},
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

/// Writes indices to an array in a store and, if `npy` is true, also to an `.npy` file. Returns the path of the `.npy`
/// file if there is one, otherwise the path of the array.
pub(crate) fn save(folder: &Path, shape: &[usize], indices: &[i64], npy: bool) -> PathBuf {
    let path = folder.join("indices.zarr");
    let chunk: Vec<usize> = shape.iter().map(|&size| size.clamp(1, 3)).collect();
    let metadata = serde_json::json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "int64",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "attributes": {}
    });
    let elements: Vec<_> = indices
        .iter()
        .map(|index| index.to_ne_bytes().to_vec())
        .collect();
    crate::zarr::write(&path, metadata, &elements);
    if npy {
        let file = folder.join("indices.npy");
        to_npy(&path, &file, 1, None, false).unwrap();
        return file;
    }
    path
}

/// A function that computes the naive reference's result of an operation on the elements of params: the shape, and the
/// elements.
type NaiveResult<'a> = dyn Fn(&[Vec<u8>]) -> (Vec<usize>, Vec<Vec<u8>>) + 'a;

/// Makes a random operation on params of this shape, and passes the reference for it to `use_reference`.
fn operation(
    random: &mut Random,
    folder: &Path,
    params: &[usize],
    use_reference: &mut dyn FnMut(&NaiveResult<'_>),
) -> Operation {
    let batch_rank = random.within(0, params.len() as i64 - 1) as usize;
    let batch_rank = batch_rank.min(random.within(0, 2) as usize);
    let mut shape = params[..batch_rank].to_vec();
    let indexing = Indexing {
        wrap: random.within(0, 1) == 0,
        clamp: random.within(0, 1) == 0,
    };
    let out_of_range = if indexing.clamp {
        OutOfRange::Clamp
    } else {
        OutOfRange::Zero
    };
    let inner = random.within(0, 2);
    shape.extend((0..inner).map(|_| random.within(1, 5) as usize));
    let is_nd = random.within(0, 1) == 0;
    let within = |random: &mut Random, size: usize| {
        let beyond = random.within(0, 3) / 3;
        random.within(-beyond * (size as i64 + 1), size as i64 - 1 + beyond)
    };
    if is_nd {
        let depth = random.within(0, (params.len() - batch_rank) as i64) as usize;
        shape.push(depth);
        let tuples = shape.iter().take(shape.len() - 1).product::<usize>();
        let indices: Vec<i64> = (0..tuples * depth)
            .map(|number| within(random, params[batch_rank + number % depth]))
            .collect();
        use_reference(&|elements| {
            let gathered =
                reference::gather_nd(elements, params, &indices, &shape, batch_rank, indexing)
                    .unwrap();
            (gathered.shape, gathered.values)
        });
        Operation::GatherNd {
            indices: save(folder, &shape, &indices, random.within(0, 1) == 0),
            indices_fingerprint: NO_FINGERPRINT,
            batch_dims: batch_rank,
            out_of_range,
            wrap: indexing.wrap,
        }
    } else {
        let axis = random.within(batch_rank as i64, params.len() as i64 - 1);
        let indices: Vec<i64> = (0..shape.iter().product::<usize>())
            .map(|_| within(random, params[axis as usize]))
            .collect();
        let from_end = random.within(0, 1) * params.len() as i64;
        let axis = axis - from_end;
        let indices_from_end = random.within(0, 1) * shape.len() as i64;
        // If all dimensions of the indices are batch dimensions, subtracting the rank from their number gives 0, which
        // does not count from the end.
        let batch_dims = if indices_from_end > batch_rank as i64 {
            batch_rank as i64 - indices_from_end
        } else {
            batch_rank as i64
        };
        use_reference(&|elements| {
            let gathered = reference::gather(
                elements, params, &indices, &shape, axis, batch_dims, indexing,
            )
            .unwrap();
            (gathered.shape, gathered.values)
        });
        Operation::Gather {
            indices: save(folder, &shape, &indices, random.within(0, 1) == 0),
            indices_fingerprint: NO_FINGERPRINT,
            axis: Some(axis as isize),
            batch_dims: batch_dims as isize,
            out_of_range,
            wrap: indexing.wrap,
        }
    }
}

#[test]
fn random_gathers_are_the_references() {
    let mut random = Random::new(23);
    let devices = devices();
    let kinds = [Kind::Chunks, Kind::Shards, Kind::V2, Kind::Transposed];
    let mut zeros = 0;
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
        // For tuples out of range, the reference gives empty elements, and a job gives zeros.
        let unit = params.elements[0].len();
        let zero_count = sources.iter().filter(|number| number.is_empty()).count();
        zeros += zero_count;
        let bytes = expected
            .1
            .iter()
            .zip(&sources)
            .flat_map(|(element, source)| {
                if source.is_empty() {
                    vec![0; unit]
                } else {
                    element.clone()
                }
            });
        let (shape, bytes): (_, Vec<u8>) = (expected.0, bytes.collect());
        let form = form(&mut random, &shape);
        let what = format!("case {case}: {operation:?} of {:?} {form:?}", params.shape);
        let result = folder.path().join("b.zarr");
        let job = Job::new(operation.clone(), &params.path, &result, &form).expect(&what);
        let explained = open(&job, HOW).1.explain().unwrap();
        let summary = run(&job, HOW).expect(&what);
        assert_eq!(read(&result), (shape.clone(), bytes), "{what}");
        for &device in &devices[1..] {
            let other = folder.path().join("c.zarr");
            let job = Job::new(operation.clone(), &params.path, &other, &form).expect(&what);
            run(&job, How { device, ..HOW }).expect(&what);
            assert!(files(&other) == files(&result), "{device:?}: {what}");
        }
        assert_eq!(summary.out_of_range > 0, zero_count > 0, "{what}");

        let target = Target::new(&result, &job.metadata).unwrap();
        let needed = shards(&shape, target.shard()).into_values().map(|shard| {
            let sources = shard.iter().map(|&number| &sources[number]);
            let sources = sources.filter(|number| !number.is_empty());
            let sources =
                sources.map(|number| usize::from_ne_bytes(number[..].try_into().unwrap()) - 1);
            chunks_of(sources, &params.shape, &params.chunk).len()
        });
        assert_eq!(summary.chunks_read, needed.sum::<usize>() as u64, "{what}");
        assert_eq!(explained.reads, summary.chunks_read, "{what}");
    }
    assert!(zeros > 100, "{zeros} elements were out of range");
}

/// Compares with Zarr's `vindex`, and with NumPy's indexing by arrays of coordinates in only the leading dimensions.
#[test]
fn points_are_those_of_vindex() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    let shape = [20, 30, 7];
    Known::numbers(&path, &shape, &[6, 7, 4]);
    let gathered = |tuples: &[usize], points: &[i64]| {
        let indices = save(folder.path(), tuples, points, true);
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
    // a.vindex[[[3], [19], [-1]], [0, -30, 29, 5], -2] of ascending numbers, computed by zarr-python 3.1.6.
    let (i, j, k) = ([3, 19, -1], [0, -30, 29, 5], -2);
    let points = i
        .iter()
        .flat_map(|&i| j.iter().flat_map(move |&j| [i, j, k]));
    let points: Vec<i64> = points.collect();
    let (code, result) = gathered(&[3, 4, 3], &points);
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

    // a[i, j] with random coordinates.
    let mut random = Random::new(5);
    let mut expected = Vec::new();
    let mut points = Vec::new();
    for _ in 0..25 {
        let [i, j] = [20, 30].map(|size| random.within(-size, size - 1));
        points.extend([i, j]);
        let row = (i.rem_euclid(20) * 30 + j.rem_euclid(30)) * 7;
        expected.extend((row..row + 7).flat_map(|number| (number as u32).to_ne_bytes()));
    }
    let (code, result) = gathered(&[25, 2], &points);
    assert_eq!(code, Some(0));
    assert_eq!(read(&result), (vec![25, 7], expected));

    for outside in [20, -21] {
        let (code, _) = gathered(&[1, 3], &[outside, 0, 0]);
        assert_eq!(code, Some(1), "{outside}");
    }
}

#[test]
fn an_index_out_of_range_fails_the_job_once_by_its_place() {
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
fn a_result_in_its_indices_is_refused() {
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
    let text = fs::read(&npy).unwrap();
    let at = text.windows(2).position(|pair| pair == b"i8").unwrap();
    fs::write(&floats, [&text[..at], b"f8", &text[at + 2..]].concat()).unwrap();
    let refused = Job::new(operation(&floats), &path, &result, &Form::default()).unwrap_err();
    assert!(refused.to_string().contains("float64") && refused.to_string().contains("integers"));
    let job = Job::new(operation(&npy), &path, &result, &Form::default()).unwrap();
    let (record, _) = open(&job, HOW);
    fs::write(&npy, [&text[..], b"more"].concat()).unwrap();
    let changed = wgslice_scale::job::Prepared::new(record.order(job, HOW)).unwrap_err();
    assert!(changed.to_string().contains("has changed"), "{changed}");
}
