//! The result of an operation: an array, and the report on its index tuples.

use crate::shown::Shown;
use wasm_bindgen::prelude::*;
use wgslice::Report;

/// A result in host memory, with the operation's report if it has one.
#[wasm_bindgen]
pub struct Outcome {
    shown: Shown,
    report: Option<Report>,
}

#[wasm_bindgen]
impl Outcome {
    /// Returns the result. A second call returns an empty result.
    pub fn take_result(&mut self) -> Shown {
        std::mem::take(&mut self.shown)
    }

    /// Returns the number of tuples. `undefined` without a report.
    #[wasm_bindgen(getter)]
    pub fn tuples(&self) -> Option<usize> {
        self.report.as_ref().map(|report| report.tuples)
    }

    /// Returns the number of tuples out of range. `undefined` without a report.
    #[wasm_bindgen(getter)]
    pub fn out_of_range(&self) -> Option<usize> {
        self.report.as_ref().map(|report| report.out_of_range)
    }

    /// Returns the number of the first tuple out of range, from 0. `undefined` without such a tuple or a report.
    #[wasm_bindgen(getter)]
    pub fn first_tuple(&self) -> Option<usize> {
        let first = self.report.as_ref()?.first.as_ref();
        first.map(|first| first.tuple)
    }

    /// Returns the indices of the first tuple out of range, as text. `undefined` without such a tuple or a report.
    #[wasm_bindgen(getter)]
    pub fn first_indices(&self) -> Option<String> {
        let first = self.report.as_ref()?.first.as_ref();
        first.map(|first| format!("{:?}", first.index))
    }
}

impl Outcome {
    pub(crate) fn reported(shown: Shown, report: Report) -> Self {
        let report = Some(report);
        Self { shown, report }
    }
}

impl From<Shown> for Outcome {
    fn from(shown: Shown) -> Self {
        let report = None;
        Self { shown, report }
    }
}
