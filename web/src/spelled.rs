//! Writes a slice in the syntax of Python, Rust and TensorFlow.

use std::fmt::Write;
use wasm_bindgen::prelude::*;
use wgslice::{SliceSpec, spec::SliceItem, spec::TfStridedSlice};

/// A slice in Python's syntax, in the syntax of `slice!`, and as TensorFlow's three vectors and five masks. Vectors are
/// text, because JavaScript's numbers cannot hold all 64-bit integers.
#[wasm_bindgen(getter_with_clone)]
pub struct Spelled {
    #[wasm_bindgen(readonly)]
    pub python: String,
    #[wasm_bindgen(readonly)]
    pub rust: String,
    #[wasm_bindgen(readonly)]
    pub entries: usize,
    #[wasm_bindgen(readonly)]
    pub begin: String,
    #[wasm_bindgen(readonly)]
    pub end: String,
    #[wasm_bindgen(readonly)]
    pub strides: String,
    #[wasm_bindgen(readonly)]
    pub begin_mask: i32,
    #[wasm_bindgen(readonly)]
    pub end_mask: i32,
    #[wasm_bindgen(readonly)]
    pub ellipsis_mask: i32,
    #[wasm_bindgen(readonly)]
    pub new_axis_mask: i32,
    #[wasm_bindgen(readonly)]
    pub shrink_axis_mask: i32,
}

/// Returns all spellings of a slice in Python's syntax. Fails if the text is not a slice.
#[wasm_bindgen]
pub fn spelled(spec: &str) -> Result<Spelled, JsError> {
    let spec: SliceSpec = spec.parse()?;
    let encoded = TfStridedSlice::try_from(&spec)?;
    Ok(Spelled {
        python: spec.to_string(),
        rust: rust(&spec),
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

/// Returns the text in the brackets of `slice![…]`.
fn rust(spec: &SliceSpec) -> String {
    let items: Vec<String> = spec.items().iter().map(rust_item).collect();
    items.join(", ")
}

fn rust_item(item: &SliceItem) -> String {
    // A literal without a suffix is an i32, so a larger value needs the suffix i64.
    let number = |value: i64| match i32::try_from(value) {
        Ok(value) => value.to_string(),
        Err(_) => format!("{value}i64"),
    };
    match *item {
        SliceItem::Index { index, .. } => number(index),
        SliceItem::Range { begin, end, stride } => {
            let [begin, end] = [begin, end].map(|bound| bound.map(number).unwrap_or_default());
            let mut text = format!("{begin}..{end}");
            if stride != 1 {
                let _ = write!(text, "; {stride}");
            }
            text
        }
        SliceItem::Ellipsis => "Ellipsis".into(),
        SliceItem::NewAxis => "NewAxis".into(),
    }
}
