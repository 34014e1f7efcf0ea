//! Tests the naive reference (`wgslice_vectors::reference`) on single cases. Where TensorFlow has the operation and the
//! policy of a case, the results are TensorFlow 2.21's, unless a comment says otherwise.
//!
//! Tables give the arguments of each case, and its result as text: `(shape) [values]` or `kind: message`. The values of
//! an input are 0, 1, 2 and so on. The value of a scalar input is 7.

mod broadcast_to;
mod crop;
mod gather;
mod gather_nd;
mod scatter_nd;
mod slice;
mod spec_text;
mod strided_slice;
mod strided_slice_grad;
mod strided_slice_update;
mod transpose;

use wgslice_vectors::reference::{Gathered, Indexing, ReferenceError};

const NUMPY: Indexing = Indexing {
    wrap: true,
    clamp: false,
};
const CLAMP: Indexing = Indexing {
    wrap: false,
    clamp: true,
};

fn arange(shape: &[usize]) -> Vec<i64> {
    match shape {
        [] => vec![7],
        _ => (0..).take(shape.iter().product()).collect(),
    }
}

fn format_outcome(result: Result<(Vec<usize>, Vec<i64>), ReferenceError>) -> String {
    match result {
        Ok((shape, values)) => format_array(&shape, &values),
        Err(error) => format!("{}: {error}", error.kind),
    }
}

/// Formats the result of a gather. The positions of out-of-range rows follow the values, as in `(2,) [1,0] bad [1]`.
fn format_gathered(result: Result<Gathered<i64>, ReferenceError>) -> String {
    match result {
        Ok(gathered) => {
            let text = format_array(&gathered.shape, &gathered.values);
            match gathered.bad_rows[..] {
                [] => text,
                _ => format!("{text} bad [{}]", format_list(&gathered.bad_rows)),
            }
        }
        Err(error) => format!("{}: {error}", error.kind),
    }
}

/// Formats a shape and values as `(2,3) [0,1,2,3,4,5]`.
fn format_array(shape: &[usize], values: &[impl ToString]) -> String {
    let comma = if shape.len() == 1 { "," } else { "" };
    format!("({}{comma}) [{}]", format_list(shape), format_list(values))
}

fn format_list(values: &[impl ToString]) -> String {
    values
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(",")
}

/// Parses integers from a text such as `[1,2]`.
fn parse_integers(text: &str) -> Vec<i64> {
    let list_text = text.trim_start_matches('[').trim_end_matches(']');
    list_text
        .split(',')
        .filter(|item| !item.is_empty())
        .map(|item| item.parse().unwrap())
        .collect()
}
