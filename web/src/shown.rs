//! Shows a result as pixels, as numbers, or as a file.

use std::fmt::Write;
use wasm_bindgen::{Clamped, prelude::*};
use wgslice::DType;
use wgslice_npy::Header;

/// A result in host memory.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Shown {
    shape: Vec<usize>,
    dtype: DType,
    bytes: Vec<u8>,
    layout: Layout,
}

/// The layout of an array on a canvas.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) channels: usize,
}

/// The maximum length of a picture's side, in pixels. Browsers limit the sides of a canvas, but support this length.
pub(crate) const MAX_SIDE: usize = 8192;

#[wasm_bindgen]
impl Shown {
    /// Returns the shape of the result.
    #[wasm_bindgen(getter)]
    pub fn shape(&self) -> Vec<usize> {
        self.shape.clone()
    }

    /// Returns the name of the element type.
    #[wasm_bindgen(getter)]
    pub fn dtype(&self) -> String {
        self.dtype.name().into()
    }

    /// Returns the number of rows of pixels.
    #[wasm_bindgen(getter)]
    pub fn height(&self) -> usize {
        self.layout.height
    }

    /// Returns the number of pixels of a row.
    #[wasm_bindgen(getter)]
    pub fn width(&self) -> usize {
        self.layout.width
    }

    /// Returns the number of values in a pixel.
    #[wasm_bindgen(getter)]
    pub fn channels(&self) -> usize {
        self.layout.channels
    }

    /// Returns whether a canvas can show all pixels: there is at least one, and neither side is too long.
    #[wasm_bindgen(getter)]
    pub fn fits(&self) -> bool {
        let side_fits = |size: usize| (1..=MAX_SIDE).contains(&size);
        side_fits(self.layout.height) && side_fits(self.layout.width)
    }

    /// Returns the pixels for a canvas, four bytes each. Values other than `uint8` are shown in shades from `low` to
    /// `high`.
    pub fn rgba(&self, low: f64, high: f64) -> Clamped<Vec<u8>> {
        if self.dtype != DType::U8 {
            let span = if high > low { high - low } else { 1.0 };
            let shades = self
                .converted_elements(float)
                .map(|value| shade((value - low) / span));
            return Clamped(shades.flatten().collect());
        }
        let channels = self.layout.channels;
        if channels == 4 {
            return Clamped(self.bytes.clone());
        }
        let mut pixels = Vec::with_capacity(self.bytes.len() / channels * 4);
        for pixel in self.bytes.chunks_exact(channels) {
            let [red, green, blue] = match *pixel {
                [red, green, blue] => [red, green, blue],
                _ => [pixel[0]; 3],
            };
            pixels.extend([red, green, blue, u8::MAX]);
        }
        Clamped(pixels)
    }

    /// Returns the smallest and the largest finite value, or two zeros if no value is finite.
    pub fn range(&self) -> Vec<f64> {
        let finite = self
            .converted_elements(float)
            .filter(|value| value.is_finite());
        let range = finite.fold(None, |range: Option<[f64; 2]>, value| match range {
            None => Some([value, value]),
            Some([low, high]) => Some([value.min(low), value.max(high)]),
        });
        range.unwrap_or_default().to_vec()
    }

    /// Returns the first `max_count` values, each as text.
    pub fn texts(&self, max_count: usize) -> Vec<String> {
        self.converted_elements(text).take(max_count).collect()
    }

    /// Returns the first `max_count` values, in nested brackets as NumPy writes them. A last line gives the number of
    /// the remaining values.
    pub fn numbers(&self, max_count: usize) -> String {
        let mut lines = String::new();
        write_nested(
            &mut lines,
            &mut self.texts(max_count).iter(),
            &self.shape,
            0,
        );
        let left_out_count = (self.bytes.len() / self.dtype.size()).saturating_sub(max_count);
        if left_out_count > 0 {
            let _ = write!(lines, "\n… and {left_out_count} more");
        }
        lines
    }

    /// Returns an `.npy` file of the result.
    pub fn npy(&self) -> Result<Vec<u8>, JsError> {
        let mut file = Header::bytes(self.dtype, &self.shape)?;
        file.extend_from_slice(&self.bytes);
        Ok(file)
    }

    /// Returns whether both results have the same shape, element type and bytes.
    pub fn equals(&self, other: &Self) -> bool {
        self.shape == other.shape && self.dtype == other.dtype && self.bytes == other.bytes
    }
}

impl Default for Shown {
    fn default() -> Self {
        Self::new(&[0], DType::U8, Vec::new())
    }
}

impl Shown {
    pub(crate) fn new(shape: &[usize], dtype: DType, bytes: Vec<u8>) -> Self {
        Self {
            shape: shape.to_vec(),
            dtype,
            bytes,
            layout: Layout::of(shape, dtype),
        }
    }

    fn converted_elements<T>(
        &self,
        convert: impl Fn(DType, &[u8]) -> T,
    ) -> impl Iterator<Item = T> {
        let elements = self.bytes.chunks_exact(self.dtype.size());
        elements.map(move |element| convert(self.dtype, element))
    }
}

impl Layout {
    /// Returns the layout of an array of this shape on a canvas. A last dimension of size 3 or 4 holds the channels if
    /// the elements are bytes and at least one dimension precedes it; one of size 1 holds the only channel if at least
    /// two dimensions precede it. Otherwise the picture has one channel, and the last dimension is its width.
    /// Dimensions before the height stack pictures vertically.
    pub(crate) fn of(shape: &[usize], dtype: DType) -> Self {
        let (outer, width, channels) = match *shape {
            [] => (&[][..], 1, 1),
            [ref outer @ .., width, channels @ (3 | 4)] if dtype == DType::U8 => {
                (outer, width, channels)
            }
            [ref outer @ .., width, 1] if !outer.is_empty() => (outer, width, 1),
            [ref outer @ .., width] => (outer, width, 1),
        };
        let height = outer.iter().product();
        Self {
            height,
            width,
            channels,
        }
    }
}

/// Returns the colour of a value between 0 and 1, from dark to bright. NaN is transparent.
fn shade(value: f64) -> [u8; 4] {
    const END_COLOURS: [[f64; 3]; 2] = [[8.0, 38.0, 50.0], [222.0, 246.0, 250.0]];
    if value.is_nan() {
        return [0; 4];
    }
    let value = value.clamp(0.0, 1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is between the ends"
    )]
    let colour = |channel: usize| {
        let [dark, bright] = END_COLOURS.map(|colour| colour[channel]);
        (dark + (bright - dark) * value).round() as u8
    };
    [colour(0), colour(1), colour(2), u8::MAX]
}

/// A number of any element type.
enum Number {
    Bool(bool),
    Integer(i128),
    Single(f32),
    Double(f64),
    Complex(f64, f64),
}

/// Reads one element from its bytes.
fn number(dtype: DType, bytes: &[u8]) -> Number {
    fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
        std::array::from_fn(|at| bytes[at])
    }
    let single = |bytes: &[u8]| f32::from_le_bytes(array(bytes));
    let double = |bytes: &[u8]| f64::from_le_bytes(array(bytes));
    match dtype {
        DType::Bool => Number::Bool(bytes[0] != 0),
        DType::I8 => Number::Integer(i8::from_le_bytes(array(bytes)).into()),
        DType::U8 => Number::Integer(bytes[0].into()),
        DType::I16 => Number::Integer(i16::from_le_bytes(array(bytes)).into()),
        DType::U16 => Number::Integer(u16::from_le_bytes(array(bytes)).into()),
        DType::I32 => Number::Integer(i32::from_le_bytes(array(bytes)).into()),
        DType::U32 => Number::Integer(u32::from_le_bytes(array(bytes)).into()),
        DType::I64 => Number::Integer(i64::from_le_bytes(array(bytes)).into()),
        DType::U64 => Number::Integer(u64::from_le_bytes(array(bytes)).into()),
        DType::F16 => Number::Single(half::f16::from_le_bytes(array(bytes)).into()),
        DType::BF16 => Number::Single(half::bf16::from_le_bytes(array(bytes)).into()),
        DType::F32 => Number::Single(single(bytes)),
        DType::F64 => Number::Double(double(bytes)),
        DType::Complex64 => Number::Complex(single(bytes).into(), single(&bytes[4..]).into()),
        _ => Number::Complex(double(bytes), double(&bytes[8..])),
    }
}

fn text(dtype: DType, bytes: &[u8]) -> String {
    match number(dtype, bytes) {
        Number::Bool(value) => if value { "True" } else { "False" }.into(),
        Number::Integer(value) => value.to_string(),
        Number::Single(value) => format!("{value:?}"),
        Number::Double(value) => format!("{value:?}"),
        Number::Complex(real, imaginary) => format!("{real:?}{imaginary:+?}j"),
    }
}

/// Returns the value that determines a shade. For a complex number, this is the absolute value.
fn float(dtype: DType, bytes: &[u8]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a shade needs a few digits")]
    match number(dtype, bytes) {
        Number::Bool(value) => value.into(),
        Number::Integer(value) => value as f64,
        Number::Single(value) => value.into(),
        Number::Double(value) => value,
        Number::Complex(real, imaginary) => real.hypot(imaginary),
    }
}

fn write_nested<'a>(
    text: &mut String,
    values: &mut impl ExactSizeIterator<Item = &'a String>,
    shape: &[usize],
    depth: usize,
) {
    let Some((&size, inner)) = shape.split_first() else {
        if let Some(value) = values.next() {
            text.push_str(value);
        }
        return;
    };
    text.push('[');
    for at in 0..size {
        if values.len() == 0 {
            break;
        }
        if at > 0 && inner.is_empty() {
            text.push_str(", ");
        } else if at > 0 {
            text.push('\n');
            text.extend(std::iter::repeat_n(' ', depth + 1));
        }
        write_nested(text, values, inner, depth + 1);
    }
    text.push(']');
}
