//! The reference gives what TensorFlow gave, on every vector of the two operations.
//!
//! `WGSLICE_VECTORS` names further vector files, separated as in `PATH`; a directory stands for the
//! `.jsonl` files in it. They are checked as well, by the same rules.

use std::{collections::BTreeMap, env, fs, path::Path};

use wgslice::reference::{Indexing, ReferenceError, Spec, gather_nd, strided_slice};

use case::{BadLine, Case, Expectation, Tensor, parse};

#[allow(dead_code, reason = "the command uses all of it, the tests a part")]
#[path = "../cli/src/verify/case.rs"]
pub(crate) mod case;

const SEED1: &str = include_str!("vectors/seed1.jsonl");

/// What an operation came to. A tensor with bad rows is a device's answer to an index error.
enum Outcome {
    Tensor { tensor: Tensor, bad_rows: usize },
    Error(ReferenceError),
}

fn run(case: &Case) -> Option<Result<Outcome, BadLine>> {
    match case.op.as_str() {
        "strided_slice" => Some(run_strided_slice(case)),
        "gather_nd" => Some(run_gather_nd(case)),
        _ => None,
    }
}

fn run_strided_slice(case: &Case) -> Result<Outcome, BadLine> {
    let mask = |name| {
        let bits = case.integer(name)?;
        i32::try_from(bits).map_err(|_| case.bad(format!("{name} {bits} is not a 32-bit integer")))
    };
    let input = case.tensor("input")?;
    let spec = Spec {
        begin: &case.integers("begin")?,
        end: &case.integers("end")?,
        strides: &case.integers("strides")?,
        begin_mask: mask("begin_mask")?,
        end_mask: mask("end_mask")?,
        ellipsis_mask: mask("ellipsis_mask")?,
        new_axis_mask: mask("new_axis_mask")?,
        shrink_axis_mask: mask("shrink_axis_mask")?,
    };
    Ok(match strided_slice(&input.data, &input.shape, &spec) {
        Ok((shape, data)) => Outcome::Tensor {
            tensor: Tensor { shape, data },
            bad_rows: 0,
        },
        Err(error) => Outcome::Error(error),
    })
}

fn run_gather_nd(case: &Case) -> Result<Outcome, BadLine> {
    let params = case.tensor("params")?;
    let indices = case.tensor("indices")?;
    let batch_dims = case.integer("batch_dims")?;
    let batch_dims = usize::try_from(batch_dims)
        .map_err(|_| case.bad(format!("batch_dims {batch_dims} is negative")))?;
    let gathered = gather_nd(
        &params.data,
        &params.shape,
        &indices.data,
        &indices.shape,
        batch_dims,
        Indexing::default(),
    );
    Ok(match gathered {
        Ok(gathered) => Outcome::Tensor {
            tensor: Tensor {
                shape: gathered.shape,
                data: gathered.values,
            },
            bad_rows: gathered.bad_rows.len(),
        },
        Err(error) => Outcome::Error(error),
    })
}

/// Nothing, or how the outcome differs from the expectation.
fn difference(expected: &Expectation, outcome: &Outcome) -> Option<String> {
    match (expected, outcome) {
        (
            Expectation::Success(want),
            Outcome::Tensor {
                tensor,
                bad_rows: 0,
            },
        ) => first_difference(want, tensor),
        (
            Expectation::Error {
                kind, zero_fill, ..
            },
            Outcome::Tensor { tensor, bad_rows },
        ) => {
            match (kind.as_str(), zero_fill, bad_rows) {
                // TensorFlow's kernels stop at depth 7, before they look at the rows. The reference
                // goes on, and no result of TensorFlow's exists to compare with.
                ("index_depth_unsupported", None, _) => None,
                ("out_of_range", Some(want), 1..) => first_difference(want, tensor),
                _ => Some(format!("expected the error {kind}, got a result")),
            }
        }
        (Expectation::Error { kind, .. }, Outcome::Error(error)) => (kind != error.kind)
            .then(|| format!("expected the error {kind}, got {}: {error}", error.kind)),
        (Expectation::Success(_), Outcome::Tensor { bad_rows, .. }) => {
            Some(format!("{bad_rows} good rows were called bad"))
        }
        (Expectation::Success(_), Outcome::Error(error)) => Some(format!("unexpected: {error}")),
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

/// Checks a file; counts the cases by operation and, for errors, by kind.
fn check(file: &str, text: &str) -> BTreeMap<(String, String), usize> {
    let mut counts = BTreeMap::new();
    let mut failures = Vec::new();
    for case in parse(text) {
        let case = case.unwrap_or_else(|bad| panic!("{file}: {bad}"));
        let Some(outcome) = run(&case) else { continue };
        let outcome = outcome.unwrap_or_else(|bad| panic!("{file}: {bad}"));
        if let Some(difference) = difference(&case.expected, &outcome) {
            failures.push(format!("{file}:{} ({}): {difference}", case.line, case.op));
        }
        let kind = match case.expected {
            Expectation::Success(_) => "success".to_owned(),
            Expectation::Error { kind, .. } => kind,
        };
        *counts.entry((case.op, kind)).or_default() += 1;
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
    let counts = check("seed1.jsonl", SEED1);
    let counts: Vec<(&str, &str, usize)> = counts
        .iter()
        .map(|((op, kind), &count)| (op.as_str(), kind.as_str(), count))
        .collect();
    let expected = [
        ("gather_nd", "batch_shape", 4),
        ("gather_nd", "empty_params", 15),
        ("gather_nd", "index_depth", 11),
        ("gather_nd", "index_depth_unsupported", 4),
        ("gather_nd", "indices_rank", 4),
        ("gather_nd", "out_of_range", 31),
        ("gather_nd", "params_rank", 4),
        ("gather_nd", "success", 194),
        ("strided_slice", "multiple_ellipses", 13),
        ("strided_slice", "scalar_input", 11),
        ("strided_slice", "shrink_out_of_range", 37),
        ("strided_slice", "shrink_stride", 14),
        ("strided_slice", "spec_vectors", 21),
        ("strided_slice", "stride_zero", 17),
        ("strided_slice", "success", 650),
        ("strided_slice", "too_many_specs", 22),
    ];
    assert_eq!(counts, expected);
}

#[test]
fn further_vector_files_agree() {
    let Some(paths) = env::var_os("WGSLICE_VECTORS") else {
        return;
    };
    for path in env::split_paths(&paths) {
        for file in vector_files(&path) {
            let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{file}: {e}"));
            let counts = check(&file, &text);
            let total: usize = counts.values().sum();
            assert!(total > 0, "{file} has no case of either operation");
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

/// A comparison that lets everything pass would make the test above worthless.
#[test]
fn altered_expectations_are_noticed() {
    let mut altered = 0;
    for case in parse(SEED1) {
        let mut case = case.unwrap();
        let Some(outcome) = run(&case) else { continue };
        let outcome = outcome.unwrap();
        let wanted = match &mut case.expected {
            Expectation::Success(tensor) => {
                let Some(last) = tensor.data.last_mut() else {
                    continue;
                };
                let (got, want) = (*last, !*last);
                *last = want;
                format!(
                    "element {} is {got}, expected {want}",
                    tensor.data.len() - 1
                )
            }
            Expectation::Error {
                zero_fill: Some(tensor),
                ..
            } if !tensor.shape.is_empty() => {
                let shape = tensor.shape.clone();
                tensor.shape.push(1);
                format!("expected shape {:?}, got {shape:?}", tensor.shape)
            }
            Expectation::Error { kind, .. } => {
                kind.push('?');
                format!("expected the error {kind}, got ")
            }
        };
        let found = difference(&case.expected, &outcome).unwrap();
        assert!(found.starts_with(&wanted), "line {}: {found}", case.line);
        altered += 1;
    }
    assert!(altered > 700, "{altered}");
}

#[test]
fn an_unexpected_result_is_noticed() {
    let tensor = || Tensor {
        shape: vec![2],
        data: vec![1, 2],
    };
    let error = |kind: &str, zero_fill| Expectation::Error {
        kind: kind.to_owned(),
        message: String::new(),
        zero_fill,
        ignore: None,
    };
    let outcome = |bad_rows| Outcome::Tensor {
        tensor: tensor(),
        bad_rows,
    };
    assert!(difference(&Expectation::Success(tensor()), &outcome(0)).is_none());
    assert!(difference(&Expectation::Success(tensor()), &outcome(1)).is_some());
    assert!(difference(&error("out_of_range", Some(tensor())), &outcome(1)).is_none());
    assert!(difference(&error("out_of_range", Some(tensor())), &outcome(0)).is_some());
    assert!(difference(&error("index_depth_unsupported", None), &outcome(0)).is_none());
    assert!(difference(&error("index_depth", None), &outcome(0)).is_some());
}

/// The reference judges the rest of the crate, so it must not be made of it.
#[test]
fn the_reference_uses_nothing_else_of_the_crate() {
    let files = [
        ("mod.rs", include_str!("../src/reference/mod.rs")),
        (
            "strided_slice.rs",
            include_str!("../src/reference/strided_slice.rs"),
        ),
        (
            "gather_nd.rs",
            include_str!("../src/reference/gather_nd.rs"),
        ),
    ];
    for (name, text) in files {
        let code = text.lines().filter(|line| {
            let line = line.trim_start();
            !line.starts_with("///") && !line.starts_with("//!")
        });
        for line in code {
            assert!(!line.contains("crate::"), "{name}: {line}");
            assert!(!line.contains("super::super"), "{name}: {line}");
            assert!(
                name != "mod.rs" || !line.contains("super::"),
                "{name}: {line}"
            );
        }
    }
}
