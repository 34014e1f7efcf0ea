//! NDSel: selections as JSON messages, by the draft 1.0-draft.2 that zarr-python's `zarr-indexing` has.
//!
//! A message is a box of numbers, and for each dimension of the array a rule by which these numbers become positions:
//!
//! | the rule has | position |
//! |---|---|
//! | no number of the box | `offset` |
//! | `input_dimension` | `offset + stride · number[input_dimension]` |
//! | `index_array` | `offset + stride · index_array[numbers]` |
//!
//! The dimensions of the box are those of the result. So `{"kind": "slice", "start": [5], "stop": [10], "step": [2]}` is
//! the box from 2 to before 5, and the rule `1 + 2 · number`. Positions are counted from 0: -1 is not the last one.
//!
//! `message` reads and prints messages; `select` tells what one selects from an array.

mod message;
mod select;

use crate::zarr::Error;
use serde_json::Value;
use std::fmt::Display;

/// A message in its canonical form, that of the kind `transform`, which it prints.
///
/// ```
/// use wgslice_scale::job::Ndsel;
///
/// let box_of_two: Ndsel = r#"{"kind": "box", "inclusive_min": [3], "shape": [2]}"#.parse()?;
/// let message: serde_json::Value = serde_json::from_str(&box_of_two.to_string()).unwrap();
/// assert_eq!(message["input_exclusive_max"], serde_json::json!([5]));
/// # Ok::<(), wgslice_scale::zarr::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Ndsel {
    begin: Vec<Bound>,
    end: Vec<Bound>,
    labels: Vec<String>,
    rules: Vec<Rule>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Bound {
    number: Number,
    /// Whether the array may narrow it.
    implicit: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum Number {
    /// `"-inf"` of a message.
    Below,
    At(i64),
    /// `"+inf"` of a message.
    Above,
}

/// How positions along a dimension of the array follow from the numbers of the box.
#[derive(Clone, Debug, PartialEq)]
enum Rule {
    /// Always this position.
    At(i64),
    /// By the number along dimension `dim` of the box.
    Along {
        offset: i64,
        stride: i64,
        dim: usize,
    },
    /// By the number that nested lists have there, from the first to the second of `bounds`.
    Listed {
        offset: i64,
        stride: i64,
        list: Value,
        bounds: [Number; 2],
    },
}

fn refused<T>(reason: &str, detail: impl Display) -> Result<T, Error> {
    Err(Error::usage(format_args!("NDSel: {reason}: {detail}")))
}

fn check_rank(name: &str, found: usize, rank: usize) -> Result<(), Error> {
    match found == rank {
        true => Ok(()),
        false => refused(
            "rank_mismatch",
            format_args!("{name} has {found} entries, but others have {rank}"),
        ),
    }
}
