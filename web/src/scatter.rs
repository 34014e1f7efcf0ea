//! Scatters that accumulate, either typed updates or a picture's colours.

use crate::{device::Device, outcome::Outcome, shown::Shown, typed::Updates};
use wasm_bindgen::prelude::*;
use wgslice::{
    DType, Tensor,
    options::{Combine, ScatterOptions},
};

/// Index tuples and an update for each, on a device, and the board: the array of `int32` into which the updates are
/// scattered.
#[wasm_bindgen]
pub struct PageScatter {
    board: Tensor,
    indices: Tensor,
    updates: Tensor,
}

#[wasm_bindgen]
impl PageScatter {
    /// Uploads typed updates and a board. The board has zeros or, if `is_numbered`, 10 r + c at row r and column c.
    pub fn board(
        device: &Device,
        updates: &Updates,
        rows: usize,
        columns: usize,
        is_numbered: bool,
    ) -> Result<Self, JsError> {
        let value = |at: usize| match is_numbered {
            true => i32::try_from(10 * (at / columns) + at % columns).unwrap_or(i32::MAX),
            false => 0,
        };
        let board: Vec<i32> = (0..rows * columns).map(value).collect();
        let backend = &device.backend;
        let count = updates.values.len();
        Ok(Self {
            board: backend.upload((&board, &[rows, columns]))?,
            indices: backend.upload((&updates.indices, &[count, 2]))?,
            updates: backend.upload((&updates.values, &[count]))?,
        })
    }

    /// Uploads a scatter that counts the pairs of values in two channels of a picture: each pixel adds 1 to a board
    /// of 256 × 256, at its value in channel `down` and its value in channel `right`.
    pub fn colours(
        device: &Device,
        rgba: &[u8],
        down: usize,
        right: usize,
    ) -> Result<Self, JsError> {
        let pairs = rgba
            .chunks_exact(4)
            .flat_map(|pixel| [pixel[down], pixel[right]]);
        let indices: Vec<i32> = pairs.map(i32::from).collect();
        let count = indices.len() / 2;
        let backend = &device.backend;
        Ok(Self {
            board: backend.upload((&vec![0i32; 1 << 16], &[256, 256]))?,
            indices: backend.upload((&indices, &[count, 2]))?,
            updates: backend.upload((&vec![1i32; count], &[count]))?,
        })
    }

    /// Reads back the array as it is before the scatter.
    pub async fn before(&self) -> Result<Shown, JsError> {
        shown(&self.board).await
    }

    /// Scatters. `combine` is `add`, `sub`, `min`, `max` or `update`. Tuples out of range are dropped.
    pub async fn run(&self, combine: String) -> Result<Outcome, JsError> {
        let combine = match combine.as_str() {
            "sub" => Combine::Sub,
            "min" => Combine::Min,
            "max" => Combine::Max,
            "update" => Combine::Update,
            _ => Combine::Add,
        };
        let options = ScatterOptions {
            combine: Some(combine),
            ..ScatterOptions::default()
        };
        let mut board = self.board.clone();
        let report = board.tensor_scatter_nd(&self.indices, &self.updates, options)?;
        let report = report.await?;
        Ok(Outcome::reported(shown(&board).await?, report))
    }
}

async fn shown(board: &Tensor) -> Result<Shown, JsError> {
    Ok(Shown::new(
        board.shape(),
        DType::I32,
        board.bytes_async().await?.into_owned(),
    ))
}
