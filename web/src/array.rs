//! Slices and gathers of the picture or the table that the page shows.

use crate::{
    device::Device,
    numbers::{integers, tuples},
    shown::{Shown, Values},
};
use wasm_bindgen::prelude::*;
use wgslice::{
    DType, Report, SliceSpec, Tensor, TensorView,
    options::{GatherOptions, NegativeIndex, OutOfRange},
    slice,
};

/// A picture of `uint8` or a table of `int32` on a device.
#[wasm_bindgen]
pub struct PageArray {
    tensor: Tensor,
}

#[wasm_bindgen]
impl PageArray {
    /// Uploads the pixels of a canvas as a picture of height × width × channels. If all pixels are opaque, the picture
    /// has no alpha channel.
    pub fn picture(
        device: &Device,
        rgba: &[u8],
        width: usize,
        height: usize,
    ) -> Result<Self, JsError> {
        let pixels = device.backend.upload((rgba, &[height, width, 4]))?;
        let opaque = rgba
            .iter()
            .skip(3)
            .step_by(4)
            .all(|&alpha| alpha == u8::MAX);
        let tensor = match opaque {
            true => pixels.slice(&slice![.., .., ..3])?,
            false => pixels,
        };
        Ok(Self { tensor })
    }

    /// Makes a table in which the value at row r and column c is 10 r + c.
    pub fn table(device: &Device, rows: usize, columns: usize) -> Result<Self, JsError> {
        let value =
            |row: usize, column: usize| i32::try_from(10 * row + column).unwrap_or(i32::MAX);
        let values: Vec<i32> = (0..rows)
            .flat_map(|row| (0..columns).map(move |column| value(row, column)))
            .collect();
        let tensor = device.backend.upload((&values, &[rows, columns]))?;
        Ok(Self { tensor })
    }

    /// Returns the array's shape.
    #[wasm_bindgen(getter)]
    pub fn shape(&self) -> Vec<usize> {
        self.tensor.shape().to_vec()
    }

    /// Reads the whole array back.
    pub async fn read(&self) -> Result<Shown, JsError> {
        read(&self.tensor).await
    }

    /// Slices the array and reads the result back. `spec` is written as in Python. Unless `order` is empty, the
    /// dimensions of the slice are transposed to this order. Slice and transpose together take one pass over the data.
    pub async fn slice(&self, spec: String, order: String) -> Result<Shown, JsError> {
        let view = self.view(&spec, &order)?;
        read(&view.to_tensor()?).await
    }

    /// Describes what the device does for such a slice.
    pub fn explain(&self, spec: &str, order: &str) -> Result<String, JsError> {
        let view = self.view(spec, order)?;
        let plan = view.view().plan(self.tensor.dtype());
        Ok(self.tensor.backend().explain(&plan))
    }

    /// Gathers the slices at the positions of index tuples, given as typed text. `policy` says what happens to a tuple
    /// out of range: `zero`, `clamp` or `error`. With `wrap`, negative indices count from the end.
    pub async fn gather(
        &self,
        indices: String,
        policy: String,
        wrap: bool,
    ) -> Result<Gathered, JsError> {
        let indices = tuples(&indices)?;
        let options = GatherOptions {
            out_of_range: match policy.as_str() {
                "error" => OutOfRange::Error,
                "clamp" => OutOfRange::Clamp,
                _ => OutOfRange::Zero,
            },
            negative: match wrap {
                true => NegativeIndex::Wrap,
                false => NegativeIndex::OutOfRange,
            },
            ..GatherOptions::default()
        };
        let backend = self.tensor.backend();
        let indices = backend.upload((&indices.indices, &indices.shape))?;
        let (gathered, report) = self.tensor.gather_nd(&indices, options)?;
        let report = report.await?;
        let shown = read(&gathered).await?;
        Ok(Gathered { shown, report })
    }
}

impl PageArray {
    fn view(&self, spec: &str, order: &str) -> Result<TensorView, JsError> {
        let spec: SliceSpec = spec.parse()?;
        let view = self.tensor.view().slice(&spec)?;
        if order.trim().is_empty() {
            return Ok(view);
        }
        let order = integers(order)?;
        // A negative number, or one that does not fit `usize`, becomes `usize::MAX`. No dimension has this number, so
        // the transpose returns an error.
        let order: Vec<usize> = order
            .into_iter()
            .map(|dimension| usize::try_from(dimension).unwrap_or(usize::MAX))
            .collect();
        Ok(view.transpose(&order)?)
    }
}

/// Reads a tensor back.
async fn read(tensor: &Tensor) -> Result<Shown, JsError> {
    let values = match tensor.dtype() {
        DType::I32 => Values::Table(tensor.to_array_async().await?.data),
        _ => Values::Picture(tensor.to_array_async().await?.data),
    };
    Ok(Shown::new(tensor.shape(), values))
}

/// The result of a gather, with its report.
#[wasm_bindgen]
pub struct Gathered {
    shown: Shown,
    report: Report,
}

#[wasm_bindgen]
impl Gathered {
    /// Returns the result. A second call returns an empty result.
    pub fn take_result(&mut self) -> Shown {
        std::mem::take(&mut self.shown)
    }

    /// Returns the number of tuples.
    #[wasm_bindgen(getter)]
    pub fn tuples(&self) -> usize {
        self.report.tuples
    }

    /// Returns the number of tuples out of range.
    #[wasm_bindgen(getter)]
    pub fn out_of_range(&self) -> usize {
        self.report.out_of_range
    }

    /// Returns the number of the first tuple out of range, from 0. `undefined` if all are in range.
    #[wasm_bindgen(getter)]
    pub fn first(&self) -> Option<usize> {
        self.report.first.as_ref().map(|first| first.tuple)
    }

    /// Returns the indices of the first tuple out of range, as text. `undefined` if all are in range.
    #[wasm_bindgen(getter)]
    pub fn first_indices(&self) -> Option<String> {
        self.report
            .first
            .as_ref()
            .map(|first| format!("{:?}", first.index))
    }
}
