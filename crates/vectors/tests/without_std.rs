//! Runs every golden vector and random cases on the CPU path without the library's feature `std`, which no dependency
//! of this package enables. Run it with `cargo test -p wgslice-vectors --test without_std`: a build with other packages
//! enables the feature, and the test then fails.

use std::{fs, path::Path};
use wgslice::{Backend, DType, Plan, View};
use wgslice_vectors::{Call, Case, check_all, parse, random};

/// The number of random cases.
const CASE_COUNT: usize = 2000;
const SEED: u64 = 1;

fn check_case(case: &Case) -> usize {
    let call = Call::of(case).unwrap_or_else(|bad| panic!("{bad}"));
    let outcome = check_all(case, &call, &Backend::cpu());
    outcome.unwrap_or_else(|difference| panic!("{difference:?}: {}", case.to_line()));
    1
}

#[test]
fn vectors_and_random_cases() {
    let large_view = View::new(&[4096, 4096]).unwrap();
    let large_plan = Plan::contiguous(large_view.transpose(&[1, 0]).unwrap(), DType::F32).unwrap();
    let explanation = Backend::cpu().with_threads(8).explain(&large_plan);
    assert!(
        explanation.contains(" on 1 thread"),
        "the library has `std`: {explanation}"
    );

    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    // The cases of `onnx.jsonl` have another form.
    files.retain(|file| {
        let name = file.file_name().into_string().unwrap();
        name.ends_with(".jsonl") && name != "onnx.jsonl"
    });
    let mut vector_count = 0;
    for file in files {
        let text = fs::read_to_string(file.path()).unwrap();
        for case in parse(&text) {
            vector_count +=
                check_case(&case.unwrap_or_else(|bad| panic!("{}: {bad}", file.path().display())));
        }
    }
    assert!(vector_count > 1000, "{vector_count}");
    for number in 0..CASE_COUNT {
        check_case(&random::answered(random::case(SEED, number)).unwrap());
    }
    println!("{vector_count} vectors and {CASE_COUNT} random cases");
}
