//! Selections by NDSel's messages match a naive loop over the coordinates in a message's box.

use crate::{
    random::Random,
    zarr::{HOW, Known, StoreKind, coordinates, form, read, run},
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use wgslice_scale::{
    job::{Job, Ndsel, Operation},
    zarr::Error,
};

fn index(message: &str) -> Operation {
    Operation::Index {
        spec: message.to_owned(),
        outer: false,
        axes: None,
        conversion: None,
    }
}

/// A message's rule for one dimension of the array: positions along a dimension of the box, or a single position.
enum Rule {
    At(i64),
    Along(usize, Vec<i64>),
}

/// Makes a message of the kind `transform` for an array of this shape. The box's dimensions are in any order, and one
/// of them can belong to no dimension of the array.
fn message(random: &mut Random, shape: &[usize]) -> Value {
    let extra_count = usize::from(random.within(0, 3) == 0);
    let mut dims = random.order(shape.len() + extra_count);
    let extra_dims = dims.split_off(shape.len());
    let rules = shape.iter().zip(&dims).map(|(&size, &dim)| {
        let max_position = size as i64 - 1;
        let first = random.within(0, max_position);
        match random.within(0, 5) {
            0 => Rule::At(first),
            1 | 2 => {
                let count = random.within(0, 5);
                Rule::Along(
                    dim,
                    (0..count).map(|_| random.within(0, max_position)).collect(),
                )
            }
            choice => {
                let stride = random.within(1, 3) * if choice == 3 { -1 } else { 1 };
                let positions = (0..8).map(|number| first + stride * number);
                let valid_positions = positions.take_while(|&at| (0..=max_position).contains(&at));
                Rule::Along(dim, valid_positions.collect())
            }
        }
    });
    let rules: Vec<Rule> = rules.collect();
    // The remaining dimensions of the box get new numbers.
    let mut remaining_dims: Vec<usize> = extra_dims.clone();
    remaining_dims.extend(rules.iter().filter_map(|rule| match rule {
        Rule::At(_) => None,
        Rule::Along(dim, _) => Some(*dim),
    }));
    remaining_dims.sort_unstable();
    let renumber = |dim: usize| {
        remaining_dims
            .iter()
            .position(|&other| other == dim)
            .unwrap()
    };
    let begins: Vec<i64> = remaining_dims
        .iter()
        .map(|_| random.within(-5, 5))
        .collect();
    let mut counts = vec![1; remaining_dims.len()];
    let mut output = Vec::new();
    for rule in rules {
        output.push(match rule {
            Rule::At(position) => json!({"offset": position}),
            Rule::Along(dim, positions) => {
                let dim = renumber(dim);
                counts[dim] = positions.len() as i64;
                let step = positions.windows(2).map(|pair| pair[1] - pair[0]);
                let step: Vec<i64> = step.collect();
                match step[..] {
                    [step, ..]
                        if step != 0 && positions.windows(2).all(|p| p[1] - p[0] == step) =>
                    {
                        let offset = positions[0] - step * begins[dim];
                        json!({"offset": offset, "stride": step, "input_dimension": dim})
                    }
                    _ => {
                        // Positions are 7 - 2 · number, or the numbers themselves.
                        let are_odd = positions.iter().all(|at| at % 2 != 0);
                        let (offset, stride) = if are_odd { (7, -2) } else { (0, 1) };
                        let mut list: Value = positions
                            .iter()
                            .map(|at| json!((at - offset) / stride))
                            .collect();
                        for _ in dim + 1..remaining_dims.len() {
                            let each = list.as_array().unwrap().iter();
                            list = each.map(|item| json!([item])).collect();
                        }
                        // The innermost lists belong to the last dimension, so nesting starts with single numbers.
                        for _ in 0..dim {
                            list = json!([list]);
                        }
                        json!({"offset": offset, "stride": stride, "index_array": list})
                    }
                }
            }
        });
    }
    let ends = begins.iter().zip(&counts);
    let (field, ends): (_, Vec<i64>) = match random.within(0, 2) {
        0 => (
            "input_exclusive_max",
            ends.map(|(begin, count)| begin + count).collect(),
        ),
        1 => (
            "input_inclusive_max",
            ends.map(|(begin, count)| begin + count - 1).collect(),
        ),
        _ => ("input_shape", counts.clone()),
    };
    json!({"kind": "transform", "input_inclusive_min": begins, field: ends, "output": output})
}

/// Returns the shape of the box of an NDSel message and, for each position in the box, the index of the selected
/// element, by the definition in NDSel's draft.
fn naive_selection(message: &Value, shape: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let list = |name: &str| -> Option<Vec<i64>> {
        let list = message.get(name)?.as_array()?.iter();
        list.map(Value::as_i64).collect()
    };
    let begin = list("input_inclusive_min").unwrap();
    let size = |dim: usize| -> i64 {
        if let Some(end) = list("input_exclusive_max") {
            end[dim] - begin[dim]
        } else if let Some(last) = list("input_inclusive_max") {
            last[dim] + 1 - begin[dim]
        } else {
            list("input_shape").unwrap()[dim]
        }
    };
    let sizes: Vec<usize> = (0..begin.len()).map(|dim| size(dim) as usize).collect();
    let indices = (0..sizes.iter().product()).map(|box_index| {
        let at = coordinates(box_index, &sizes);
        let rules = message["output"].as_array().unwrap();
        let positions = rules.iter().map(|rule| {
            let offset = rule["offset"].as_i64().unwrap();
            let factor = if let Some(dim) = rule["input_dimension"].as_u64() {
                begin[dim as usize] + at[dim as usize] as i64
            } else if let Value::Array(_) = &rule["index_array"] {
                // A list of one number has the same value at all positions.
                let pick = |list: &Value, &at: &usize| {
                    let list = list.as_array().unwrap();
                    list[if list.len() == 1 { 0 } else { at }].clone()
                };
                let value = at
                    .iter()
                    .fold(rule["index_array"].clone(), |list, at| pick(&list, at));
                value.as_i64().unwrap()
            } else {
                0
            };
            offset + rule["stride"].as_i64().unwrap_or(0) * factor
        });
        let index = positions
            .zip(shape)
            .fold(0, |index, (at, size)| index * *size as i64 + at);
        index as usize
    });
    let indices = indices.collect();
    (sizes, indices)
}

#[test]
fn random_messages_match_a_naive_loop() {
    let mut random = Random::new(31);
    let kinds = [StoreKind::Chunks, StoreKind::Shards];
    let (mut nonempty_count, mut empty_count) = (0, 0);
    for case in 0..80 {
        let folder = tempfile::tempdir().unwrap();
        let source = Known::random(&mut random, &folder.path().join("a.zarr"), kinds[case % 2]);
        let message = message(&mut random, &source.shape);
        let (shape, indices) = naive_selection(&message, &source.shape);
        let description = format!("case {case}: {message} of {:?}", source.shape);
        let result = folder.path().join("b.zarr");
        let form = form(&mut random, &shape);
        let job = Job::new(index(&message.to_string()), &source.path, &result, &form)
            .expect(&description);
        run(&job, HOW).expect(&description);
        let elements: Vec<_> = indices
            .iter()
            .map(|&index| &source.elements[index][..])
            .collect();
        assert_eq!(read(&result), (shape, elements.concat()), "{description}");
        nonempty_count += usize::from(!indices.is_empty());
        empty_count += usize::from(indices.is_empty());
    }
    assert!(
        nonempty_count > 40 && empty_count > 5,
        "{nonempty_count} {empty_count}"
    );
}

/// Runs a job on an array. Returns the shape and the bytes of its result, or the error.
fn result(folder: &Path, source: &Path, message: &str) -> Result<(Vec<usize>, Vec<u8>), String> {
    let result = folder.join("b.zarr");
    let _ = std::fs::remove_dir_all(&result);
    let job = match Job::new(index(message), source, &result, &Default::default()) {
        Ok(job) => job,
        Err(Error::Usage(problem)) => return Err(problem),
        Err(other) => panic!("{message}: {other}"),
    };
    run(&job, HOW).unwrap();
    Ok(read(&result))
}

#[test]
fn implicit_bounds_end_where_the_array_ends() {
    let folder = tempfile::tempdir().unwrap();
    let source = Known::numbers(&folder.path().join("a.zarr"), &[4, 6], &[2, 3]);
    for (message, shape) in [
        (r#"{"kind": "box", "inclusive_min": [1, 2]}"#, [3, 4]),
        (
            r#"{"kind": "box", "inclusive_min": ["-inf", [-3]], "exclusive_max": ["+inf", [90]]}"#,
            [4, 6],
        ),
        (
            r#"{"kind": "box", "inclusive_min": [0, [7]], "exclusive_max": [4, [9]]}"#,
            [4, 0],
        ),
        (
            r#"{"kind": "transform", "input_inclusive_min": ["-inf", "-inf"], "output": [
                {"offset": 3, "stride": -2, "input_dimension": 1}, {"offset": 1, "stride": 2, "input_dimension": 0}]}"#,
            [3, 2],
        ),
        (
            r#"{"kind": "transform", "input_rank": 2, "output": [
                {"index_array": [[0], [3]]}, {"stride": 5, "input_dimension": 1}]}"#,
            [2, 2],
        ),
    ] {
        let (result_shape, _) = result(folder.path(), &source.path, message).expect(message);
        assert_eq!(result_shape, shape, "{message}");
    }
}

#[test]
fn invalid_and_unsupported_messages_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let source = Known::numbers(&folder.path().join("a.zarr"), &[4, 6], &[2, 3]);
    for (message, expected) in [
        ("{", "invalid_json"),
        (
            r#"{"kind": "point", "coords": [1]}"#,
            "rank_mismatch: the shape of the array has 2",
        ),
        (
            r#"{"kind": "point", "coords": [1, -1]}"#,
            "position -1 of dimension 1, which has 6",
        ),
        (
            r#"{"kind": "box", "shape": [4, 7]}"#,
            "position 6 of dimension 1",
        ),
        (
            r#"{"kind": "box", "inclusive_min": [9, 0]}"#,
            "position 9 of dimension 0",
        ),
        (
            r#"{"kind": "box", "exclusive_max": [9223372036854775807, 1]}"#,
            "position 9223372036854775806",
        ),
        (
            r#"{"kind": "slice", "start": [3, 0], "stop": [-2, 1], "step": [-1, 1]}"#,
            "position -1 of dimension 0",
        ),
        (
            r#"{"kind": "points", "coords": [[0, 1], [2, 3]]}"#,
            "gather-nd",
        ),
        (
            r#"{"kind": "transform", "input_shape": [2], "output": [{"input_dimension": 0}, {"input_dimension": 0}]}"#,
            "gather-nd",
        ),
        (
            r#"{"kind": "transform", "input_shape": [2], "output": [{}, {"offset": 1}]}"#,
            "repeat",
        ),
        (
            r#"{"kind": "transform", "input_shape": [2], "output": [{}, {"stride": 0, "input_dimension": 0}]}"#,
            "repeat",
        ),
        (
            r#"{"kind": "transform", "input_rank": 1, "output": [{}, {"stride": 0, "input_dimension": 0}]}"#,
            "give finite bounds",
        ),
        (
            r#"{"kind": "transform", "input_shape": [3], "output": [{}, {"index_array": [0, 1]}]}"#,
            "2 numbers along dimension 0, which has 3",
        ),
        (
            r#"{"kind": "transform", "input_shape": [2, 2], "output": [{}, {"index_array": [[0, 1], [2]]}]}"#,
            "no array of 64-bit integers",
        ),
        (
            r#"{"kind": "transform", "input_shape": [2], "output": [{}, {"index_array": [0, 5], "index_array_bounds": [0, 4]}]}"#,
            "index 5 is not from 0 to 4",
        ),
        (
            r#"{"kind": "transform", "input_shape": [2], "output": [{}, {"index_array": [0, 6]}]}"#,
            "position 6 of dimension 1",
        ),
    ] {
        let error = result(folder.path(), &source.path, message).expect_err(message);
        assert!(error.contains(expected), "{message}: {error}");
    }
}

/// A message of the kind `slice` and a `transform` with the same meaning have the same canonical form, so their jobs
/// are equal.
#[test]
fn shorter_forms_become_transforms() {
    let canonical = |message: Value| message.to_string().parse::<Ndsel>().unwrap().to_string();
    let slice = json!({"kind": "slice", "start": [-7, 2], "stop": [0, 2], "step": [3, -1], "labels": ["t", ""]});
    let transform = json!({
        "kind": "transform",
        "input_inclusive_min": [-2, -2],
        "input_shape": [3, 0],
        "input_labels": ["t", ""],
        "output": [
            {"offset": -1, "stride": 3, "input_dimension": 0},
            {"stride": -1, "input_dimension": 1},
        ],
    });
    assert_eq!(canonical(slice.clone()), canonical(transform));
    let again: Value = serde_json::from_str(&canonical(slice.clone())).unwrap();
    assert_eq!(canonical(again), canonical(slice));
}

/// Runs the conformance cases of the draft. They are not in the repository: `WGSLICE_SUITES` names the directory with
/// their files, `ndsel/*.json`.
#[test]
#[ignore = "needs the cases of zarr-python's packages/zarr-indexing/tests/conformance"]
fn the_conformance_cases_of_the_draft() {
    let folder = std::env::var_os("WGSLICE_SUITES").expect("WGSLICE_SUITES names a directory");
    let mut case_count = 0;
    for file in PathBuf::from(folder).join("ndsel").read_dir().unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let cases: Vec<Value> = serde_json::from_str(&text).unwrap();
        for case in cases {
            let message = case["input"].to_string().parse::<Ndsel>();
            match (message, case["error"].as_str()) {
                (Ok(message), None) => {
                    let mut normalized: Value = serde_json::from_str(&message.to_string()).unwrap();
                    normalized.as_object_mut().unwrap().remove("kind");
                    assert_eq!(normalized, case["normalized"], "{case}");
                }
                (Err(Error::Usage(problem)), Some(code)) => {
                    assert!(
                        problem.starts_with(&format!("NDSel: {code}: ")),
                        "{case}: {problem}"
                    );
                }
                (outcome, _) => panic!("{case}: {outcome:?}"),
            }
            case_count += 1;
        }
    }
    assert!(case_count > 0, "there are cases");
    println!("{case_count} cases");
}
