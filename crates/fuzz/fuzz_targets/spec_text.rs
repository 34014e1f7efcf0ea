//! Any text is parsed as a slice and as an index expression with arrays, or rejected. A parsed slice prints as text
//! that parses as the same slice. The position of an error is inside the text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wgslice::{
    DType, Error, Plan, SliceSpec,
    spec::{IndexSpec, TfStridedSlice},
};

fuzz_target!(|text: &str| {
    match text.parse::<SliceSpec>() {
        Ok(spec) => check_slice(&spec),
        Err(error) => check_error(text, error),
    }
    match text.parse::<IndexSpec>() {
        Ok(spec) => check_index(spec),
        Err(error) => check_error(text, error),
    }
});

fn check_slice(spec: &SliceSpec) {
    let printed = spec.to_string();
    assert_eq!(
        printed.parse::<SliceSpec>().as_ref(),
        Ok(spec),
        "{printed:?}"
    );
    if let Ok(encoded) = TfStridedSlice::try_from(spec) {
        assert_eq!(
            SliceSpec::try_from(&encoded).as_ref(),
            Ok(spec),
            "{printed:?}"
        );
    }
    for shape in [&[][..], &[5], &[3, 1, 0, 4], &[usize::MAX >> 1], &[2; 9]] {
        if let Ok(view) = spec.view(shape) {
            let elements: usize = view.shape().iter().product();
            assert_eq!(view.len(), elements, "{printed:?} of {shape:?}");
        }
    }
}

fn check_index(spec: IndexSpec) {
    let printed = spec.to_string();
    let reparsed = printed.parse::<IndexSpec>();
    // The text of a list without entries omits its inner dimensions, so the parsed expression can differ.
    assert!(
        reparsed.as_ref() == Ok(&spec) || printed.contains("[]"),
        "{printed:?}"
    );
    let outer = spec.clone().outer();
    for shape in [&[][..], &[5], &[3, 1, 0, 4], &[2; 9]] {
        for spec in [&spec, &outer] {
            if let Ok(plan) = Plan::index(shape, spec, DType::U8) {
                assert!(!plan.explain().is_empty());
                assert_eq!(plan.inputs().len(), 1);
            }
        }
    }
}

fn check_error(text: &str, error: Error) {
    let Error::Parse(error) = error else {
        panic!("{error}")
    };
    assert!(error.position() <= text.len(), "{error}");
    let message = error.to_string();
    assert!(message.len() < 2000, "{} bytes of error", message.len());
}
