//! Selections by lists of positions match a naive loop over all combinations.

use crate::{
    random::Random,
    zarr::{HOW, Known, StoreKind, devices, files, form, open, read, run},
};
use wgslice_scale::{
    job::{How, Job, Operation},
    zarr::Error,
};
use wgslice_vectors::reference;

/// An entry of an expression, and the positions that it selects. `keeps_dimension` is false for an index, which
/// removes its dimension.
struct Entry {
    text: String,
    positions: Vec<usize>,
    keeps_dimension: bool,
}

fn entry(random: &mut Random, size: usize) -> Entry {
    let max_position = size as i64 - 1;
    let entry_kind = random.within(0, 9);
    if entry_kind == 0 {
        let at = random.within(0, max_position) as usize;
        return Entry {
            text: at.to_string(),
            positions: vec![at],
            keeps_dimension: false,
        };
    }
    let (text, positions) = match entry_kind {
        1 | 2 => (":".to_owned(), (0..size).collect()),
        3 => ("::-2".to_owned(), (0..size).rev().step_by(2).collect()),
        4 => {
            let chosen: Vec<bool> = (0..size).map(|_| random.within(0, 1) == 0).collect();
            let text: Vec<_> = chosen
                .iter()
                .map(|&chosen| if chosen { "True" } else { "False" })
                .collect();
            let positions = (0..size).filter(|&at| chosen[at]).collect();
            (format!("[{}]", text.join(", ")), positions)
        }
        _ => {
            let position_count = random.within(0, 8) as usize;
            let positions: Vec<_> = (0..position_count)
                .map(|_| random.within(0, max_position) as usize)
                .collect();
            let indices = positions.iter().map(|&at| {
                let at = at as i64;
                // Half of the positions are counted from the end.
                if random.within(0, 1) == 0 {
                    at
                } else {
                    at - size as i64
                }
            });
            let text: Vec<_> = indices.map(|at| at.to_string()).collect();
            (format!("[{}]", text.join(", ")), positions)
        }
    };
    Entry {
        text,
        positions,
        keeps_dimension: true,
    }
}

/// Returns the indices of the selected elements.
fn naive_indices(shape: &[usize], entries: &[Entry]) -> Vec<usize> {
    let mut indices = vec![0];
    for (&size, entry) in shape.iter().zip(entries) {
        let next = indices.iter().flat_map(|index| {
            let positions = entry.positions.iter();
            positions.map(move |position| index * size + position)
        });
        indices = next.collect();
    }
    indices
}

#[test]
fn random_expressions_select_all_combinations() {
    let mut random = Random::new(23);
    let devices = devices();
    let kinds = [
        StoreKind::Chunks,
        StoreKind::Shards,
        StoreKind::V2,
        StoreKind::Transposed,
    ];
    for case in 0..80 {
        let folder = tempfile::tempdir().unwrap();
        let kind = kinds[case % 4];
        let source = Known::random(&mut random, &folder.path().join("a.zarr"), kind);
        if source.shape.contains(&0) {
            continue;
        }
        let entries: Vec<_> = source
            .shape
            .iter()
            .map(|&size| entry(&mut random, size))
            .collect();
        let mut indices = naive_indices(&source.shape, &entries);
        let kept_entries = entries.iter().filter(|entry| entry.keeps_dimension);
        let mut shape: Vec<usize> = kept_entries.map(|entry| entry.positions.len()).collect();
        let axes = (case % 3 == 0).then(|| random.order(shape.len()));
        if let Some(axes) = &axes {
            (shape, indices) = reference::transpose(&indices, &shape, axes).unwrap();
        }
        let text: Vec<_> = entries.iter().map(|entry| &entry.text[..]).collect();
        let text = text.join(", ");
        let description = format!("case {case}: {kind:?} {:?}[{text}], {axes:?}", source.shape);
        let operation = || Operation::Index {
            spec: text.clone(),
            outer: true,
            axes: axes.clone(),
            conversion: None,
        };
        let form = form(&mut random, &shape);
        let result = folder.path().join("b.zarr");
        let job = Job::new(operation(), &source.path, &result, &form).expect(&description);
        let explained = open(&job, HOW).1.explain().unwrap();
        let how = How {
            cache: if case % 2 == 0 { 0 } else { 1 << 20 },
            ..HOW
        };
        let summary = run(&job, how).expect(&description);
        let elements = indices.iter().map(|&index| &source.elements[index][..]);
        let elements: Vec<_> = elements.collect();
        assert_eq!(read(&result), (shape, elements.concat()), "{description}");
        if how.cache == 0 {
            assert_eq!(explained.reads, summary.chunks_read, "{description}");
        }
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
    }
}

#[test]
fn expressions_that_numpy_reads_differently_or_rejects_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let source = Known::numbers(&folder.path().join("a.zarr"), &[4, 6], &[2, 3]);
    // Returns the error of a job, or an empty text if there is none.
    let planning_error = |spec: &str, outer, axes: Option<Vec<usize>>| {
        let operation = Operation::Index {
            spec: spec.to_owned(),
            outer,
            axes,
            conversion: None,
        };
        let result = folder.path().join("b.zarr");
        match Job::new(operation, &source.path, &result, &Default::default()) {
            Ok(_) => String::new(),
            Err(Error::Usage(problem)) => problem,
            Err(other) => panic!("{spec}: {other}"),
        }
    };
    for spec in [
        "[0, 2], ...",
        "[3, 0], :",
        "..., [1]",
        "None, [True, False, True, False]",
    ] {
        assert_eq!(planning_error(spec, false, None), "", "{spec}");
    }
    for spec in ["[0, 1], [2, 3]", "0, [2, 3]"] {
        let problem = planning_error(spec, false, None);
        assert!(problem.contains("--outer"), "{spec}: {problem}");
        assert_eq!(planning_error(spec, true, None), "", "{spec}");
    }
    for (spec, axes, expected) in [
        (
            "[4], :",
            None,
            "4 in entry 0 is no position of a dimension of 4",
        ),
        (":, [-7]", None, "-7 in entry 1"),
        ("[[0, 1]], :", None, "shape [1, 2]"),
        (
            "[True, False], :",
            None,
            "2 values, but its dimension has 4",
        ),
        ("[0], :, :", None, "3"),
        ("[0, :", None, "EXPR"),
        ("[0], :", Some(vec![0, 0]), "--transpose"),
    ] {
        let problem = planning_error(spec, true, axes);
        assert!(problem.contains(expected), "{spec}: {problem}");
    }
}
