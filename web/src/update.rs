//! Writes with an index expression: NumPy's `x[rows, :, columns] += v`.

use crate::{array::PageArray, outcome::Outcome};
use wasm_bindgen::prelude::*;
use wgslice::{
    Backend, DType, Tensor,
    options::Combine,
    spec::{IndexItem, IndexSpec, SliceItem},
};

/// The value to write: an integer, or nested lists of integers, in Python's notation.
#[wasm_bindgen]
pub struct UpdateValue {
    text: String,
    values: Vec<i64>,
    shape: Vec<usize>,
}

#[wasm_bindgen]
impl UpdateValue {
    /// Parses a value.
    #[wasm_bindgen(constructor)]
    pub fn new(text: &str) -> Result<Self, JsError> {
        let parsed: Option<IndexSpec> = text.parse().ok();
        let (values, shape) = match parsed.as_ref().map(IndexSpec::items) {
            Some([IndexItem::Slice(SliceItem::Index { index, .. })]) => (vec![*index], Vec::new()),
            Some([IndexItem::Positions { values, shape }]) => (values.clone(), shape.clone()),
            _ => {
                return Err(JsError::new(&format!(
                    "v is {text:?}, but must be an integer, or a list of integers such as [1, 2]"
                )));
            }
        };
        let text = text.to_owned();
        Ok(Self {
            text,
            values,
            shape,
        })
    }

    /// Returns all integers as text, separated by commas. JavaScript's numbers cannot hold all 64-bit integers.
    #[wasm_bindgen(getter)]
    pub fn numbers(&self) -> String {
        let numbers: Vec<String> = self.values.iter().map(i64::to_string).collect();
        numbers.join(", ")
    }

    /// Returns the shape of the lists. It is empty for a single integer.
    #[wasm_bindgen(getter)]
    pub fn shape(&self) -> Vec<usize> {
        self.shape.clone()
    }
}

impl UpdateValue {
    /// Uploads the value in the type of an array.
    fn upload_for(&self, x: &PageArray) -> Result<Tensor, JsError> {
        let backend = x.tensor().backend();
        let uploaded = match (x.dtype().as_str(), x.tensor().dtype()) {
            ("uint8", DType::U8) => backend.upload((&self.numbers_of::<u8>(x)?, &self.shape)),
            ("int32", DType::I32) => backend.upload((&self.numbers_of::<i32>(x)?, &self.shape)),
            _ => {
                return Err(JsError::new(&format!(
                    "x is {}, and this tab writes to uint8 and int32: open a picture, or choose the board",
                    x.dtype()
                )));
            }
        };
        Ok(uploaded?)
    }

    fn numbers_of<T: TryFrom<i64>>(&self, x: &PageArray) -> Result<Vec<T>, JsError> {
        let values: Result<Vec<T>, _> = self.values.iter().map(|&value| value.try_into()).collect();
        values.map_err(|_| {
            JsError::new(&format!(
                "v is {:?}, which does not fit {}, the type of x",
                self.text,
                x.dtype()
            ))
        })
    }
}

#[wasm_bindgen]
impl PageArray {
    /// Combines a value with the elements that an expression selects, and reads the whole array back. `combine` is
    /// `update`, `add`, `sub`, `mul`, `min` or `max`.
    pub async fn update(
        &self,
        spec: String,
        combine: String,
        value: UpdateValue,
    ) -> Result<Outcome, JsError> {
        let combine = match combine.as_str() {
            "add" => Combine::Add,
            "sub" => Combine::Sub,
            "mul" => Combine::Mul,
            "min" => Combine::Min,
            "max" => Combine::Max,
            _ => Combine::Update,
        };
        let spec: IndexSpec = spec.parse()?;
        let value = value.upload_for(self)?;
        let mut x = self.tensor().clone();
        x.index_update(&spec, &value, combine)?;
        self.shown(&x).await.map(Outcome::from)
    }

    /// Returns 1 for each pixel in which the expression selects an element, and 0 for all other pixels. A pixel has
    /// `channels` elements.
    pub fn touched(&self, spec: &str, channels: usize) -> Result<Vec<u8>, JsError> {
        let shape = self.shape();
        let zeros = vec![0u8; shape.iter().product()];
        let one = (&[1u8][..], &[][..]);
        let spec: IndexSpec = spec.parse()?;
        let marked = Backend::cpu().index_update((&zeros, &shape), &spec, one, Combine::Update)?;
        let pixels = marked.data.chunks(channels.max(1));
        Ok(pixels.map(|pixel| u8::from(pixel.contains(&1))).collect())
    }
}
