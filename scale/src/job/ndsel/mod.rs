//! NDSel: selections as JSON messages, following the draft 1.0-draft.2 in zarr-python's `zarr-indexing`.
//!
//! A message has a box, and for each dimension of the array a rule that maps the coordinates in the box to positions:
//!
//! | the rule has | position |
//! |---|---|
//! | no coordinate | `offset` |
//! | `input_dimension` | `offset + stride · coordinates[input_dimension]` |
//! | `index_array` | `offset + stride · index_array[coordinates]` |
//!
//! The box has the same dimensions as the result. So `{"kind": "slice", "start": [5], "stop": [10], "step": [2]}`
//! becomes a box with the coordinates 2, 3 and 4, and the rule `1 + 2 · coordinate`. Positions are counted from 0: -1
//! is not the last position.
//!
//! `message` parses and prints messages; `select` converts a message to an index expression for an array.

mod message;
mod select;

use crate::zarr::Error;
use serde_json::Value;
use std::fmt::Display;

/// A message. It prints its canonical form, the kind `transform`.
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
    /// True if the bound is clamped to the coordinates that have positions in the array.
    is_implicit: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum Number {
    /// `"-inf"` of a message.
    Below,
    At(i64),
    /// `"+inf"` of a message.
    Above,
}

/// How coordinates in the box map to positions along a dimension of the array.
#[derive(Clone, Debug, PartialEq)]
enum Rule {
    /// Always this position.
    At(i64),
    /// Computed from the coordinate along dimension `dim` of the box.
    Along {
        offset: i64,
        stride: i64,
        dim: usize,
    },
    /// Computed from the number that nested lists have at the coordinates. `bounds` are the number's minimum and
    /// maximum.
    Listed {
        offset: i64,
        stride: i64,
        list: Value,
        bounds: [Number; 2],
    },
}

/// Returns an error with the draft's code for the reason.
fn refused<T>(code: &str, detail: impl Display) -> Result<T, Error> {
    Err(Error::usage(format_args!("NDSel: {code}: {detail}")))
}

fn check_rank(name: &str, entry_count: usize, rank: usize) -> Result<(), Error> {
    match entry_count == rank {
        true => Ok(()),
        false => refused(
            "rank_mismatch",
            format_args!("{name} has {entry_count} entries, but others have {rank}"),
        ),
    }
}
