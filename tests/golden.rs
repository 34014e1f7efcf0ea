//! Checks that the reference agrees with TensorFlow, NumPy and XLA on every golden vector, except ONNX's node tests,
//! which `onnx_nodes` checks.
//!
//! The environment variable `WGSLICE_VECTORS` lists more vector files to check, separated as in `PATH`. A directory
//! stands for the `.jsonl` files in it.

use std::{collections::BTreeMap, env, fs, path::Path};

use wgslice_vectors::{Answer, Case, Expectation, Operation, Tensor, answer, parse};

const SEED1: &str = include_str!("vectors/seed1.jsonl");
const ASSEMBLY: &str = include_str!("vectors/assembly.jsonl");
const ARRAY_INDEX: &str = include_str!("vectors/array_index.jsonl");
const JAX_INDEX: &str = include_str!("vectors/jax_index.jsonl");
const INDEX_UPDATE: &str = include_str!("vectors/index_update.jsonl");
const MASK: &str = include_str!("vectors/mask.jsonl");
const CONVERT: &str = include_str!("vectors/convert.jsonl");
const NUMBERS: &str = include_str!("vectors/numbers.jsonl");
const PASTE: &str = include_str!("vectors/paste.jsonl");
const XLA: &str = include_str!("vectors/xla.jsonl");
const FLOATS: &str = include_str!("vectors/scatter_floats.jsonl");

fn run_case(case: &Case) -> Answer {
    answer(case).unwrap_or_else(|bad| panic!("{bad}"))
}

/// The kinds of errors for which TensorFlow has several texts, so the texts are not compared.
const KINDS_WITH_SEVERAL_TEXTS: [&str; 3] = ["batch_shape", "empty_output", "updates_shape"];

/// Describes the difference between outcome and expectation. Returns `None` if they agree.
fn describe_difference(expected: &Expectation, outcome: &Answer) -> Option<String> {
    match (expected, outcome) {
        (
            Expectation::Success(want),
            Answer::Tensor {
                tensor,
                bad_rows: 0,
            },
        ) => first_difference(want, tensor),
        (
            Expectation::Error {
                kind,
                zero_fill,
                ignore,
                ..
            },
            Answer::Tensor { tensor, bad_rows },
        ) => {
            let want = zero_fill.as_ref().or(ignore.as_ref());
            match (kind.as_str(), want, bad_rows) {
                // TensorFlow's kernels reject tuples of more than 7 indices before they check the rows. The reference
                // gives a result, but TensorFlow has no result to compare with.
                ("index_depth_unsupported", None, _) => None,
                // TensorFlow rejects the reflection of a dimension without positions, even with paddings of 0.
                ("empty_unsupported", None, 0) if tensor.data.is_empty() => None,
                ("out_of_range", Some(want), 1..) => first_difference(want, tensor),
                // The file has no result for a gather along an axis of size 0. Every element of the result must be 0.
                ("out_of_range", None, 1..) => {
                    let position = tensor.data.iter().position(|&got| got != 0);
                    position.map(|position| format!("element {position} is not 0"))
                }
                _ => Some(format!("expected the error {kind}, got a result")),
            }
        }
        (Expectation::Error { kind, .. }, Answer::Error(error)) if kind != error.kind => Some(
            format!("expected the error {kind}, got {}: {error}", error.kind),
        ),
        (Expectation::Error { kind, message, .. }, Answer::Error(error)) => {
            let agrees = message.is_empty()
                || *message == error.message
                || KINDS_WITH_SEVERAL_TEXTS.contains(&kind.as_str());
            (!agrees).then(|| format!("expected the text \"{message}\", got \"{error}\""))
        }
        (Expectation::Success(_), Answer::Tensor { bad_rows, .. }) => {
            Some(format!("{bad_rows} good rows were called bad"))
        }
        (Expectation::Success(_), Answer::Error(error)) => Some(format!("unexpected: {error}")),
    }
}

fn first_difference(want: &Tensor, got: &Tensor) -> Option<String> {
    if want.shape != got.shape {
        return Some(format!(
            "expected shape {:?}, got {:?}",
            want.shape, got.shape
        ));
    }
    if want.data.len() != got.data.len() {
        return Some(format!(
            "expected {} values, got {}",
            want.data.len(),
            got.data.len()
        ));
    }
    let position = want
        .data
        .iter()
        .zip(&got.data)
        .position(|(want, got)| want != got)?;
    let (want, got) = (want.data[position], got.data[position]);
    Some(format!("element {position} is {got}, expected {want}"))
}

/// Checks a file and counts the cases by operation and, for errors, by kind.
fn check_file(file: &str, text: &str) -> BTreeMap<(&'static str, String), usize> {
    let mut counts = BTreeMap::new();
    let mut failures = Vec::new();
    for case in parse(text) {
        let case = case.unwrap_or_else(|bad| panic!("{file}: {bad}"));
        let outcome = run_case(&case);
        if let Some(difference) = describe_difference(&case.expected, &outcome) {
            failures.push(format!("{file}:{} ({}): {difference}", case.line, case.op));
        }
        let kind = match case.expected {
            Expectation::Success(_) => "success".to_owned(),
            Expectation::Error { kind, .. } => kind,
        };
        *counts.entry((case.op.name(), kind)).or_default() += 1;
    }
    assert!(
        failures.is_empty(),
        "{} cases differ:\n{}",
        failures.len(),
        failures.join("\n")
    );
    counts
}

#[test]
fn the_reference_agrees_with_tensorflow() {
    let counts = check_file("seed1.jsonl", SEED1);
    let counts: Vec<(&str, &str, usize)> = counts
        .iter()
        .map(|((op, kind), &count)| (*op, kind.as_str(), count))
        .collect();
    let expected = [
        ("gather", "axis", 6),
        ("gather", "batch_dims", 3),
        ("gather", "batch_shape", 3),
        ("gather", "out_of_range", 27),
        ("gather", "params_rank", 1),
        ("gather", "success", 156),
        ("gather_nd", "batch_shape", 4),
        ("gather_nd", "empty_params", 15),
        ("gather_nd", "index_depth", 11),
        ("gather_nd", "index_depth_unsupported", 4),
        ("gather_nd", "indices_rank", 4),
        ("gather_nd", "out_of_range", 31),
        ("gather_nd", "params_rank", 4),
        ("gather_nd", "success", 194),
        ("scatter_nd", "empty_output", 6),
        ("scatter_nd", "out_of_range", 10),
        ("scatter_nd", "success", 69),
        ("scatter_nd", "updates_rank", 5),
        ("scatter_nd", "updates_shape", 7),
        ("slice", "slice_begin", 14),
        ("slice", "slice_size", 12),
        ("slice", "slice_vectors", 12),
        ("slice", "success", 119),
        ("strided_slice", "multiple_ellipses", 13),
        ("strided_slice", "scalar_input", 11),
        ("strided_slice", "shrink_out_of_range", 37),
        ("strided_slice", "shrink_stride", 14),
        ("strided_slice", "spec_vectors", 21),
        ("strided_slice", "stride_zero", 17),
        ("strided_slice", "success", 650),
        ("strided_slice", "too_many_specs", 22),
        ("strided_slice_grad", "dy_shape", 11),
        ("strided_slice_grad", "multiple_ellipses", 1),
        ("strided_slice_grad", "scalar_input", 4),
        ("strided_slice_grad", "shrink_out_of_range", 6),
        ("strided_slice_grad", "shrink_stride", 2),
        ("strided_slice_grad", "spec_vectors", 1),
        ("strided_slice_grad", "stride_zero", 1),
        ("strided_slice_grad", "success", 135),
        ("strided_slice_grad", "too_many_specs", 6),
        ("tensor_scatter_nd_update", "empty_output", 3),
        ("tensor_scatter_nd_update", "out_of_range", 13),
        ("tensor_scatter_nd_update", "success", 78),
        ("tensor_scatter_nd_update", "updates_rank", 3),
        ("tensor_scatter_nd_update", "updates_shape", 4),
        ("tensor_strided_slice_update", "broadcast", 15),
        ("tensor_strided_slice_update", "multiple_ellipses", 5),
        ("tensor_strided_slice_update", "scalar_input", 6),
        ("tensor_strided_slice_update", "shrink_out_of_range", 8),
        ("tensor_strided_slice_update", "shrink_stride", 1),
        ("tensor_strided_slice_update", "spec_vectors", 3),
        ("tensor_strided_slice_update", "stride_zero", 5),
        ("tensor_strided_slice_update", "success", 178),
        ("tensor_strided_slice_update", "too_many_specs", 9),
    ];
    assert_eq!(counts, expected);
}

#[test]
fn the_reference_assembles_arrays_as_tensorflow_and_numpy_do() {
    let counts = check_file("assembly.jsonl", ASSEMBLY);
    let counts: Vec<_> = counts
        .iter()
        .map(|((op, kind), &count)| (*op, &kind[..], count))
        .collect();
    let expected = [
        ("concat", "array_shape", 6),
        ("concat", "axis", 9),
        ("concat", "success", 85),
        ("pad", "empty_unsupported", 3),
        ("pad", "entries", 3),
        ("pad", "padding", 1),
        ("pad", "success", 93),
        ("repeat", "axis", 6),
        ("repeat", "success", 94),
        ("roll", "axis", 32),
        ("roll", "shifts", 2),
        ("roll", "success", 66),
        ("stack", "array_shape", 9),
        ("stack", "axis", 6),
        ("stack", "success", 85),
        ("tile", "entries", 6),
        ("tile", "success", 94),
    ];
    assert_eq!(counts, expected);
}

#[test]
fn the_reference_indexes_by_arrays_as_numpy_does() {
    let counts = check_file("array_index.jsonl", ARRAY_INDEX);
    let counts: Vec<_> = counts
        .iter()
        .map(|((_, kind), &n)| (&kind[..], n))
        .collect();
    let expected = [
        ("array_shapes", 17),
        ("multiple_ellipses", 1),
        ("position", 21),
        ("shrink_out_of_range", 24),
        ("stride_zero", 1),
        ("success", 526),
        ("too_many_specs", 10),
    ];
    assert_eq!(counts, expected);
}

#[test]
fn the_reference_writes_by_arrays_as_numpy_does() {
    let counts = check_file("index_update.jsonl", INDEX_UPDATE);
    let counts: Vec<_> = counts
        .iter()
        .map(|((_, kind), &n)| (&kind[..], n))
        .collect();
    let expected = [
        ("array_shapes", 13),
        ("broadcast", 20),
        ("mask_shape", 5),
        ("position", 33),
        ("shrink_out_of_range", 18),
        ("stride_zero", 4),
        ("success", 500),
        ("too_many_specs", 7),
    ];
    assert_eq!(counts, expected);
}

/// The expressions are from JAX's tests of set, add, sub, min and max.
#[test]
fn the_reference_writes_by_the_expressions_of_jax_as_numpy_does() {
    let counts = check_file("jax_index.jsonl", JAX_INDEX);
    let counts: Vec<_> = counts
        .iter()
        .map(|((_, kind), &n)| (&kind[..], n))
        .collect();
    assert_eq!(counts, [("success", 655)]);
}

#[test]
fn the_reference_selects_by_masks_as_tensorflow_and_numpy_do() {
    let counts = check_file("mask.jsonl", MASK);
    let counts: Vec<_> = counts
        .iter()
        .map(|((op, kind), &count)| (*op, &kind[..], count))
        .collect();
    let expected = [
        ("boolean_mask", "mask_scalar", 1),
        ("boolean_mask", "mask_shape", 6),
        ("boolean_mask", "success", 93),
        ("compress", "axis", 2),
        ("compress", "condition", 5),
        ("compress", "success", 93),
        ("masked_scatter", "success", 100),
        ("masked_update", "success", 100),
        ("nonzero", "success", 100),
        ("select", "broadcast", 5),
        ("select", "success", 95),
    ];
    assert_eq!(counts, expected);
}

#[test]
fn the_reference_writes_boxes_as_tensorflow_writes_their_elements() {
    let counts = check_file("paste.jsonl", PASTE);
    let counts: Vec<_> = counts
        .iter()
        .map(|((_, kind), &count)| (&kind[..], count))
        .collect();
    assert_eq!(counts, [("out_of_range", 131), ("success", 269)]);
}

#[test]
fn the_reference_gathers_and_scatters_as_xla_does() {
    let counts = check_file("xla.jsonl", XLA);
    let counts: Vec<_> = counts
        .iter()
        .map(|((op, kind), &count)| (*op, &kind[..], count))
        .collect();
    let expected = [
        ("xla_gather", "out_of_range", 39),
        ("xla_gather", "success", 211),
        ("xla_scatter", "out_of_range", 41),
        ("xla_scatter", "success", 209),
    ];
    assert_eq!(counts, expected);
}

#[test]
fn the_reference_converts_as_numpy_and_ml_dtypes_do() {
    let counts = check_file("convert.jsonl", CONVERT);
    let counts: Vec<_> = counts.into_iter().collect();
    assert_eq!(counts, [(("convert", "success".to_owned()), 449)]);
    let counts = check_file("numbers.jsonl", NUMBERS);
    let counts: Vec<_> = counts.into_iter().collect();
    assert_eq!(counts, [(("convert", "success".to_owned()), 338)]);
}

#[test]
fn the_reference_adds_floats_as_tensorflow_does() {
    let counts = check_file("scatter_floats.jsonl", FLOATS);
    let mut operations = BTreeMap::new();
    for ((op, _), count) in counts {
        *operations.entry(op).or_insert(0) += count;
    }
    let expected = [
        ("scatter_nd", 121),
        ("tensor_scatter_nd_add", 85),
        ("tensor_scatter_nd_max", 28),
        ("tensor_scatter_nd_min", 34),
        ("tensor_scatter_nd_sub", 53),
        ("tensor_scatter_nd_update", 39),
    ];
    assert!(operations.into_iter().eq(expected));
}

/// Most sums of floats depend on the order of the rows. Otherwise the test above could not notice a wrong order.
#[test]
fn the_order_of_the_rows_makes_a_difference() {
    let (mut sum_count, mut differing_count) = (0, 0);
    for case in parse(FLOATS) {
        let mut case = case.unwrap();
        let is_sum = matches!(
            case.op,
            Operation::ScatterNd | Operation::TensorScatterNdAdd | Operation::TensorScatterNdSub
        );
        let Expectation::Success(expected) = &case.expected else {
            continue;
        };
        let depth = *case.tensors["indices"].shape.last().unwrap();
        let tuple_count = case.tensors["indices"].data.len().checked_div(depth);
        let (true, Some(tuple_count @ 2..)) = (is_sum, tuple_count) else {
            continue;
        };
        let expected = expected.clone();
        for name in ["indices", "updates"] {
            let data = &mut case.tensors.get_mut(name).unwrap().data;
            let rows = data.rchunks(data.len() / tuple_count);
            *data = rows.flatten().copied().collect();
        }
        sum_count += 1;
        match run_case(&case) {
            Answer::Tensor { tensor, .. } => differing_count += usize::from(tensor != expected),
            Answer::Error(error) => panic!("{error}"),
        }
    }
    assert!(
        sum_count > 150 && differing_count * 3 > sum_count * 2,
        "{differing_count} of {sum_count}"
    );
}

#[test]
fn further_vector_files_agree() {
    let Some(paths) = env::var_os("WGSLICE_VECTORS") else {
        return;
    };
    for path in env::split_paths(&paths) {
        for file in vector_files(&path) {
            let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{file}: {e}"));
            let counts = check_file(&file, &text);
            let total: usize = counts.values().sum();
            assert!(total > 0, "{file} has no case");
            println!("{file}: {total} cases agree");
        }
    }
}

fn vector_files(path: &Path) -> Vec<String> {
    if !path.is_dir() {
        return vec![path.display().to_string()];
    }
    let entries = fs::read_dir(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let files: Vec<String> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|file| {
            file.extension()
                .is_some_and(|extension| extension == "jsonl")
        })
        .map(|file| file.display().to_string())
        .collect();
    assert!(!files.is_empty(), "{} holds no .jsonl file", path.display());
    files
}

/// Checks that the comparison notices differences. Otherwise the tests above would be worthless.
#[test]
fn altered_expectations_are_noticed() {
    let reshaped = |tensor: &mut Tensor| {
        let shape = tensor.shape.clone();
        tensor.shape.push(1);
        format!("expected shape {:?}, got {shape:?}", tensor.shape)
    };
    let mut altered_count = 0;
    for case in parse(SEED1) {
        let mut case = case.unwrap();
        let outcome = run_case(&case);
        let expected_text = match &mut case.expected {
            Expectation::Success(tensor) => match tensor.data.last_mut() {
                Some(last_element) => {
                    let (got, want) = (*last_element, !*last_element);
                    *last_element = want;
                    let position = tensor.data.len() - 1;
                    format!("element {position} is {got}, expected {want}")
                }
                None => reshaped(tensor),
            },
            Expectation::Error {
                zero_fill: Some(tensor),
                ..
            }
            | Expectation::Error {
                ignore: Some(tensor),
                ..
            } => reshaped(tensor),
            Expectation::Error { kind, .. } => {
                kind.push('?');
                format!("expected the error {kind}, got ")
            }
        };
        let difference = describe_difference(&case.expected, &outcome).unwrap();
        assert!(
            difference.starts_with(&expected_text),
            "line {}: {difference}",
            case.line
        );
        altered_count += 1;
    }
    assert_eq!(altered_count, 2000);
}

#[test]
fn an_unexpected_result_is_noticed() {
    let tensor = || Tensor {
        shape: vec![2],
        data: vec![1, 2],
    };
    let error = |kind: &str, zero_fill| Expectation::Error {
        kind: kind.to_owned(),
        message: "another text".to_owned(),
        zero_fill,
        ignore: None,
    };
    let outcome = |bad_rows| Answer::Tensor {
        tensor: tensor(),
        bad_rows,
    };
    assert!(describe_difference(&Expectation::Success(tensor()), &outcome(0)).is_none());
    assert!(describe_difference(&Expectation::Success(tensor()), &outcome(1)).is_some());
    assert!(describe_difference(&error("out_of_range", Some(tensor())), &outcome(1)).is_none());
    assert!(describe_difference(&error("out_of_range", Some(tensor())), &outcome(0)).is_some());
    assert!(describe_difference(&error("index_depth_unsupported", None), &outcome(0)).is_none());
    assert!(describe_difference(&error("index_depth", None), &outcome(0)).is_some());
    // An `out_of_range` error without `zero_fill` stands for an axis of size 0, where only zeros are right.
    assert!(describe_difference(&error("out_of_range", None), &outcome(1)).is_some());

    let slice_error = wgslice_vectors::reference::slice(&[0], &[1], &[], &[]).unwrap_err();
    let mut expected = error(slice_error.kind, None);
    assert!(describe_difference(&expected, &Answer::Error(slice_error.clone())).is_some());
    if let Expectation::Error { message, .. } = &mut expected {
        message.clone_from(&slice_error.message);
    }
    assert!(describe_difference(&expected, &Answer::Error(slice_error)).is_none());
}

/// The reference checks wgslice, so it must use no code of wgslice, and none of `crates/vectors` outside its own
/// folder.
#[test]
fn the_reference_uses_only_its_own_code() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/vectors/src/reference");
    let files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(files.len() > 10, "{files:?}");
    for file in files {
        let name = file.file_name().unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let code = text.lines().filter(|line| {
            let line = line.trim_start();
            !line.starts_with("///") && !line.starts_with("//!")
        });
        for line in code {
            assert!(
                !line.contains("crate::") && !line.contains("wgslice::"),
                "{name:?}: {line}"
            );
            assert!(!line.contains("super::super"), "{name:?}: {line}");
            assert!(
                name != "mod.rs" || !line.contains("super::"),
                "{name:?}: {line}"
            );
        }
    }
}
