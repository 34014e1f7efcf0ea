//! The reference on single cases, each with the result that TensorFlow 2.21 gave.
//!
//! The tables are text: what goes in, and what comes out as `(shape) [values]` or `kind: message`.
//! Inputs count up from 0; the value of a scalar input is 7.

mod gather_nd;
mod strided_slice;

fn arange(shape: &[usize]) -> Vec<i64> {
    match shape {
        [] => vec![7],
        _ => (0..).take(shape.iter().product()).collect(),
    }
}

/// `(2,3) [0,1,2,3,4,5]`.
fn show(shape: &[usize], values: &[impl ToString]) -> String {
    let comma = if shape.len() == 1 { "," } else { "" };
    format!("({}{comma}) [{}]", list(shape), list(values))
}

fn list(values: &[impl ToString]) -> String {
    values
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(",")
}

/// The integers of `[1,2]`.
fn integers(text: &str) -> Vec<i64> {
    let inside = text.trim_start_matches('[').trim_end_matches(']');
    inside
        .split(',')
        .filter(|item| !item.is_empty())
        .map(|item| item.parse().unwrap())
        .collect()
}
