//! Shows a slice in TensorFlow's encoding.

use wasm_bindgen::prelude::*;
use wgslice::{SliceSpec, spec::TfStridedSlice};

/// The three vectors and five masks of a slice. Vectors are text, since JavaScript's numbers do not hold all integers
/// of 64 bits.
#[wasm_bindgen(getter_with_clone)]
pub struct Masks {
    pub entries: usize,
    pub begin: String,
    pub end: String,
    pub strides: String,
    pub begin_mask: i32,
    pub end_mask: i32,
    pub ellipsis_mask: i32,
    pub new_axis_mask: i32,
    pub shrink_axis_mask: i32,
}

/// Returns the vectors and masks of a slice that is written as in Python.
#[wasm_bindgen]
pub fn masks(spec: &str) -> Result<Masks, JsError> {
    let spec: SliceSpec = spec.parse()?;
    let encoded = TfStridedSlice::try_from(&spec)?;
    Ok(Masks {
        entries: encoded.begin.len(),
        begin: format!("{:?}", encoded.begin),
        end: format!("{:?}", encoded.end),
        strides: format!("{:?}", encoded.strides),
        begin_mask: encoded.begin_mask,
        end_mask: encoded.end_mask,
        ellipsis_mask: encoded.ellipsis_mask,
        new_axis_mask: encoded.new_axis_mask,
        shrink_axis_mask: encoded.shrink_axis_mask,
    })
}
