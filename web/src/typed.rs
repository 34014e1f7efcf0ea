//! Parses the typed boxes of crops and updates of scatters.

use crate::numbers::{BadNumbers, integers, lines};
use wasm_bindgen::prelude::*;

/// The start indices and flips of boxes. Each box has two of each: one for the rows, then one for the columns.
#[wasm_bindgen(getter_with_clone)]
#[derive(Clone)]
pub struct Boxes {
    pub count: usize,
    pub begins: Vec<i32>,
    pub flips: Vec<u8>,
}

#[wasm_bindgen]
impl Boxes {
    /// Parses boxes, one from each line: `top, left`, then `v` for a vertical flip, and `h` for a horizontal one.
    #[wasm_bindgen(constructor)]
    pub fn new(text: &str) -> Result<Self, JsError> {
        let mut boxes = Self {
            count: 0,
            begins: Vec::new(),
            flips: Vec::new(),
        };
        for (line, number) in lines(text).zip(1..) {
            let box_error = |why: String| BadNumbers(format!("box {number}: {why}"));
            let begin_text = line.trim_end_matches(['v', 'h']);
            let begin = integers(begin_text).map_err(|BadNumbers(why)| box_error(why))?;
            let begin: Vec<i32> = begin.into_iter().flat_map(i32::try_from).collect();
            if begin.len() != 2 {
                let why = "it needs two integers of 32 bits, its top and its left";
                return Err(box_error(why.into()).into());
            }
            let flips = &line[begin_text.len()..];
            boxes.count = number;
            boxes.begins.extend(begin);
            boxes
                .flips
                .extend(['v', 'h'].map(|flip| u8::from(flips.contains(flip))));
        }
        Ok(boxes)
    }
}

/// Index tuples, and a value for each.
#[wasm_bindgen(getter_with_clone)]
pub struct Updates {
    #[wasm_bindgen(readonly)]
    pub indices: Vec<i32>,
    #[wasm_bindgen(readonly)]
    pub values: Vec<i32>,
}

#[wasm_bindgen]
impl Updates {
    /// Parses updates, one from each line: `row, column: value`. The value defaults to 1.
    #[wasm_bindgen(constructor)]
    pub fn new(text: &str) -> Result<Self, JsError> {
        let mut updates = Self {
            indices: Vec::new(),
            values: Vec::new(),
        };
        for (line, number) in lines(text).zip(1..) {
            let update_error = |why: String| BadNumbers(format!("update {number}: {why}"));
            let parse_numbers = |text: &str| -> Result<Vec<i32>, BadNumbers> {
                let numbers = integers(text).map_err(|BadNumbers(why)| update_error(why))?;
                let to_i32 = |number: i64| {
                    let why = format!("{number} does not fit 32 bits");
                    i32::try_from(number).map_err(|_| update_error(why))
                };
                numbers.into_iter().map(to_i32).collect()
            };
            let (tuple, value) = line.split_once(':').unwrap_or((line, "1"));
            let (tuple, value) = (parse_numbers(tuple)?, parse_numbers(value)?);
            if tuple.len() != 2 || value.len() != 1 {
                let why = "write it as row, column: value";
                return Err(update_error(why.into()).into());
            }
            updates.indices.extend(tuple);
            updates.values.extend(value);
        }
        Ok(updates)
    }
}
