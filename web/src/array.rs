//! The operations on the array that the page shows.

use crate::{
    device::Device,
    numbers::{integers, tuples},
    outcome::Outcome,
    shown::Shown,
    typed::Boxes,
};
use std::io::Cursor;
use wasm_bindgen::prelude::*;
use wgslice::{
    DType, Pending, Plan, Report, SliceSpec, Tensor,
    options::{self, CropOptions, GatherNdOptions, NegativeIndex, OutOfRange},
    slice,
};
use wgslice_npy::{ByteOrder, Header};

/// An array on a device. Most operations of the page only move elements, so a file's elements of up to 8 bytes become
/// unsigned integers of the same size. Only `int32` keeps its type, because updates also combine such elements.
#[wasm_bindgen]
pub struct PageArray {
    /// A contiguous tensor, so that the offset and the strides of its slices count elements of the array.
    tensor: Tensor,
    dtype: DType,
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
        let is_opaque = rgba
            .iter()
            .skip(3)
            .step_by(4)
            .all(|&alpha| alpha == u8::MAX);
        let tensor = match is_opaque {
            true => pixels.slice(&slice![.., .., ..3])?,
            false => pixels,
        };
        Self::of(&tensor, DType::U8)
    }

    /// Uploads the array of an `.npy` file.
    pub fn npy(device: &Device, file: &[u8]) -> Result<Self, JsError> {
        let mut file = Cursor::new(file);
        let Header {
            dtype,
            byte_order,
            column_major,
            mut shape,
        } = Header::read(&mut file)?;
        let start = usize::try_from(file.position())?;
        let mut elements = file.into_inner()[start..].to_vec();
        let needed_bytes = shape
            .iter()
            .try_fold(dtype.size(), |product, &size| product.checked_mul(size))
            .ok_or_else(|| JsError::new("the shape is too large"))?;
        if elements.len() < needed_bytes {
            let file_bytes = elements.len();
            return Err(JsError::new(&format!(
                "the file ends too early: it has {file_bytes} bytes of elements, and its shape needs {needed_bytes}; save it again"
            )));
        }
        elements.truncate(needed_bytes);
        if byte_order != ByteOrder::NATIVE {
            let number_size = match dtype {
                DType::Complex64 | DType::Complex128 => dtype.size() / 2,
                _ => dtype.size(),
            };
            elements
                .chunks_exact_mut(number_size)
                .for_each(<[u8]>::reverse);
        }
        let device_dtype = match (dtype, dtype.size()) {
            (DType::I32, _) => DType::I32,
            (_, 1) => DType::U8,
            (_, 2) => DType::U16,
            (_, 4) => DType::U32,
            (_, 8) => DType::U64,
            _ => DType::Complex128,
        };
        if column_major {
            shape.reverse();
        }
        let mut tensor = Tensor::from_bytes(&device.backend, elements, device_dtype, &shape)?;
        if column_major {
            let reversed: Vec<usize> = (0..shape.len()).rev().collect();
            tensor = tensor.transpose(&reversed)?;
        }
        Self::of(&tensor, dtype)
    }

    /// Makes a table in which the value at row r and column c is 10 r + c.
    pub fn table(device: &Device, rows: usize, columns: usize) -> Result<Self, JsError> {
        let value =
            |row: usize, column: usize| i32::try_from(10 * row + column).unwrap_or(i32::MAX);
        let values: Vec<i32> = (0..rows)
            .flat_map(|row| (0..columns).map(move |column| value(row, column)))
            .collect();
        let tensor = device.backend.upload((&values, &[rows, columns]))?;
        Self::of(&tensor, DType::I32)
    }

    /// Returns the array's shape.
    #[wasm_bindgen(getter)]
    pub fn shape(&self) -> Vec<usize> {
        self.tensor.shape().to_vec()
    }

    /// Returns the name of the element type.
    #[wasm_bindgen(getter)]
    pub fn dtype(&self) -> String {
        self.dtype.name().into()
    }

    /// Reads the whole array back.
    pub async fn read(&self) -> Result<Shown, JsError> {
        self.shown(&self.tensor).await
    }

    /// Slices the array and reads the result back. `spec` is written as in Python. Unless `order` is empty, the
    /// dimensions of the slice are transposed to this order. Slice and transpose together take one pass over the data.
    pub async fn slice(&self, spec: String, order: String) -> Result<Outcome, JsError> {
        let view = self.view(&spec, &order)?;
        self.shown(&view.contiguous()?).await.map(Outcome::from)
    }

    /// Returns which elements the slice selects.
    pub fn selection(&self, spec: &str, order: &str) -> Result<Selection, JsError> {
        let view = self.view(spec, order)?;
        let view = view.layout();
        Ok(Selection {
            offset: view.offset(),
            shape: view.shape().to_vec(),
            strides: view.strides().to_vec(),
        })
    }

    /// Describes the device's work for the slice.
    pub fn explain(&self, spec: &str, order: &str) -> Result<String, JsError> {
        let view = self.view(spec, order)?;
        let plan = Plan::contiguous(view.layout(), self.tensor.dtype())?;
        Ok(self.tensor.backend().explain(&plan))
    }

    /// Gathers the slices at the positions of index tuples, given as typed text. `policy` is the treatment of a tuple
    /// out of range: `ignore`, `clamp` or `error`. With `wrap`, negative indices count from the end.
    pub async fn gather(
        &self,
        indices: String,
        policy: String,
        wrap: bool,
    ) -> Result<Outcome, JsError> {
        let indices = tuples(&indices)?;
        let options = GatherNdOptions {
            out_of_range: match policy.as_str() {
                "error" => OutOfRange::Error,
                "clamp" => OutOfRange::Clamp,
                _ => OutOfRange::Ignore,
            },
            negative: match wrap {
                true => NegativeIndex::Wrap,
                false => NegativeIndex::Invalid,
            },
            ..GatherNdOptions::default()
        };
        let backend = self.tensor.backend();
        let indices = backend.upload((&indices.indices, &indices.shape))?;
        let (gathered, report) = self.tensor.gather_nd(&indices, options)?;
        let report = report.await?;
        let shown = self.shown(&gathered).await?;
        Ok(Outcome::reported(shown, report))
    }

    /// Cuts boxes of `height` by `width` out of the array's first two dimensions. Elements outside the array become
    /// zeros.
    pub async fn crop(
        &self,
        boxes: &Boxes,
        height: usize,
        width: usize,
    ) -> Result<Outcome, JsError> {
        let (crops, report) = cropped(self, boxes, height, width)?;
        let report = report.await?;
        let shown = self.shown(&crops).await?;
        Ok(Outcome::reported(shown, report))
    }

    /// Applies a mask of the first two dimensions. `how` is the use of the selected elements: `keep` keeps them and
    /// puts zeros elsewhere, `flip` takes them from the horizontally mirrored array, and `list` lists them.
    pub async fn masked(&self, mask: &[u8], how: String) -> Result<Outcome, JsError> {
        let shape = self.tensor.shape();
        let &[height, width, ..] = shape else {
            return Err(JsError::new(
                "a mask is painted on rows and columns, but x has one dimension",
            ));
        };
        let backend = self.tensor.backend();
        let x = &self.tensor;
        if how == "list" {
            let mask = backend.upload((mask, &[height, width]))?;
            let (listed, report) = self.tensor.boolean_mask(&mask, 0, None)?;
            let count = report.await?.found.unwrap_or(0);
            let listed = listed.slice(&slice![..count])?;
            return self.shown(&listed).await.map(Outcome::from);
        }
        let ones = shape.iter().skip(2).map(|_| 1);
        let mask_shape: Vec<usize> = [height, width].into_iter().chain(ones).collect();
        let mask = backend.upload((mask, &mask_shape))?;
        let chosen = if how == "flip" {
            let mirrored = x.slice(&slice![.., ..; -1])?;
            Tensor::select(&mask, &mirrored, x)?
        } else {
            let dtype = self.tensor.dtype();
            let zero = Tensor::from_bytes(backend, vec![0; dtype.size()], dtype, &[])?;
            Tensor::select(&mask, x, &zero)?
        };
        self.shown(&chosen).await.map(Outcome::from)
    }
}

/// Crops boxes from the array. The report counts the boxes that extend beyond it.
pub(crate) fn cropped(
    x: &PageArray,
    boxes: &Boxes,
    height: usize,
    width: usize,
) -> Result<(Tensor, Pending<Report>), JsError> {
    let backend = x.tensor.backend();
    let box_count = boxes.count;
    let begins = backend.upload((&boxes.begins, &[box_count, 2]))?;
    let flips = backend.upload((&boxes.flips, &[box_count, 2]))?;
    let item_indices = backend.upload((&vec![0i32; box_count], &[box_count]))?;
    let options = CropOptions {
        sizes: vec![height, width],
        ..CropOptions::default()
    };
    let item = x.view("None", "")?;
    let boxes = options::Boxes::new(&begins)
        .of_items(&item_indices)
        .flipped(&flips);
    Ok(item.crop(boxes, &options)?)
}

impl PageArray {
    pub(crate) fn of(tensor: &Tensor, dtype: DType) -> Result<Self, JsError> {
        let tensor = tensor.contiguous()?;
        Ok(Self { tensor, dtype })
    }

    pub(crate) fn view(&self, spec: &str, order: &str) -> Result<Tensor, JsError> {
        let spec: SliceSpec = spec.parse()?;
        let view = self.tensor.slice(&spec)?;
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

    pub(crate) fn tensor(&self) -> &Tensor {
        &self.tensor
    }

    pub(crate) async fn shown(&self, tensor: &Tensor) -> Result<Shown, JsError> {
        Ok(Shown::new(
            tensor.shape(),
            self.dtype,
            tensor.bytes_async().await?.into_owned(),
        ))
    }
}

/// The elements of an array that a slice selects: element (i, j, …) of the slice is element `offset + i · strides[0] +
/// j · strides[1] + …` of the array.
#[wasm_bindgen(getter_with_clone)]
pub struct Selection {
    #[wasm_bindgen(readonly)]
    pub offset: usize,
    #[wasm_bindgen(readonly)]
    pub shape: Vec<usize>,
    #[wasm_bindgen(readonly)]
    pub strides: Vec<isize>,
}
