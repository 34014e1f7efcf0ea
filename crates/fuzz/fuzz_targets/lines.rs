//! Any text that is read as a vector file, as `wgslice verify` does, results in cases or errors. Writing a case and
//! reading it again returns the same case. A small case runs without a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wgslice::Backend;
use wgslice_vectors::{Call, Case, check_all, parse};

/// Returns whether a case is small enough to run for every input of the fuzzer.
fn is_small(case: &Case) -> bool {
    let elements = case.tensors.values().map(|tensor| tensor.data.len());
    // Numbers in the arguments determine the sizes of results.
    elements.sum::<usize>() < 1000 && product_of_numbers(&serde_json::json!(case.args)) < 20_000
}

/// Returns the product of the magnitudes of all numbers in an argument. Zero counts as 1, and a number that is not an
/// i64 as `u64::MAX`.
fn product_of_numbers(argument: &serde_json::Value) -> u64 {
    use serde_json::Value::{Array, Number, Object};
    let saturating_product = |values: &mut dyn Iterator<Item = &serde_json::Value>| {
        values.fold(1_u64, |product, value| {
            product.saturating_mul(product_of_numbers(value))
        })
    };
    match argument {
        Array(values) => saturating_product(&mut values.iter()),
        Object(values) => saturating_product(&mut values.values()),
        Number(number) => number.as_i64().map_or(u64::MAX, i64::unsigned_abs).max(1),
        _ => 1,
    }
}

fuzz_target!(|text: &str| {
    for (case_index, case) in parse(text).enumerate() {
        let Ok(case) = case else { continue };
        let line = case.to_line();
        let reparsed_case = parse(&line).next().expect("a line").expect("the same case");
        assert_eq!(reparsed_case.to_line(), line);
        if let Ok(call) = Call::of(&case)
            && is_small(&case)
            && case_index < 4
        {
            // The expected result can be wrong, but the call must not panic.
            let _ = check_all(&case, &call, &Backend::cpu());
        }
    }
});
