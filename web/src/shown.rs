//! How a result is shown: as pixels if it is a picture, otherwise as numbers.

use std::fmt::{Display, Write};
use wasm_bindgen::{Clamped, prelude::*};

/// Elements of a type that the page shows.
#[derive(Debug)]
pub(crate) enum Values {
    Picture(Vec<u8>),
    Table(Vec<i32>),
}

/// A result in host memory.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Shown {
    shape: Vec<usize>,
    values: Values,
    /// The height and width in pixels and the number of channels. `None` if the result is not a picture.
    picture: Option<[usize; 3]>,
}

/// The longest side of a picture, in pixels. Browsers limit the sides of a canvas, but support this length.
const LONGEST: usize = 8192;

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
        match self.values {
            Values::Picture(_) => "uint8".into(),
            Values::Table(_) => "int32".into(),
        }
    }

    /// Returns the height of the picture in pixels. `undefined` if the result is not a picture.
    #[wasm_bindgen(getter)]
    pub fn height(&self) -> Option<usize> {
        self.picture.map(|[height, ..]| height)
    }

    /// Returns the width of the picture in pixels. `undefined` if the result is not a picture.
    #[wasm_bindgen(getter)]
    pub fn width(&self) -> Option<usize> {
        self.picture.map(|[_, width, _]| width)
    }

    /// Returns the pixels of the picture, for a canvas: four bytes each. Empty if the result is not a picture.
    pub fn rgba(&self) -> Clamped<Vec<u8>> {
        let (Values::Picture(bytes), Some([_, _, channels])) = (&self.values, self.picture) else {
            return Clamped(Vec::new());
        };
        if channels == 4 {
            return Clamped(bytes.clone());
        }
        let mut pixels = Vec::with_capacity(bytes.len() / channels * 4);
        for pixel in bytes.chunks_exact(channels) {
            let [red, green, blue] = match *pixel {
                [red, green, blue] => [red, green, blue],
                _ => [pixel[0]; 3],
            };
            pixels.extend([red, green, blue, u8::MAX]);
        }
        Clamped(pixels)
    }

    /// Returns the first `most` values, in nested brackets as NumPy writes them. A last line says how many more there
    /// are.
    pub fn numbers(&self, most: usize) -> String {
        match &self.values {
            Values::Picture(values) => nested(values, &self.shape, most),
            Values::Table(values) => nested(values, &self.shape, most),
        }
    }

    /// Returns the values of a table. Empty if the elements are `uint8`.
    pub fn integers(&self) -> Vec<i32> {
        match &self.values {
            Values::Picture(_) => Vec::new(),
            Values::Table(values) => values.clone(),
        }
    }
}

impl Default for Shown {
    fn default() -> Self {
        Self::new(&[0], Values::Table(Vec::new()))
    }
}

impl Shown {
    pub(crate) fn new(shape: &[usize], values: Values) -> Self {
        let picture = match values {
            Values::Picture(_) => picture(shape),
            Values::Table(_) => None,
        };
        Self {
            shape: shape.to_vec(),
            values,
            picture,
        }
    }
}

/// Returns the height, width and number of channels of the picture that shows an array of bytes of this shape. A last
/// dimension of size 3 or 4 holds the channels if another dimension precedes it. A last dimension of size 1 holds the
/// only channel if two dimensions precede it. Otherwise the last dimension is the width of a picture with one channel.
/// Dimensions before the height stack pictures below one another. `None` if a side is empty or too long.
fn picture(shape: &[usize]) -> Option<[usize; 3]> {
    let (outer, width, channels) = match *shape {
        [] => (&[][..], 1, 1),
        [ref outer @ .., width, channels @ (3 | 4)] => (outer, width, channels),
        [ref outer @ .., width, 1] if !outer.is_empty() => (outer, width, 1),
        [ref outer @ .., width] => (outer, width, 1),
    };
    let height = outer.iter().product();
    let fits = |size: usize| (1..=LONGEST).contains(&size);
    (fits(height) && fits(width)).then_some([height, width, channels])
}

/// Formats up to `most` values in nested brackets. If values are left out, a last line gives their number.
fn nested<T: Display>(values: &[T], shape: &[usize], most: usize) -> String {
    let mut text = String::new();
    write_nested(&mut text, &mut values.iter().take(most), shape, 0);
    if values.len() > most {
        let left_out = values.len() - most;
        let _ = write!(text, "\n… and {left_out} more");
    }
    text
}

fn write_nested<'a, T: Display + 'a>(
    text: &mut String,
    values: &mut impl ExactSizeIterator<Item = &'a T>,
    shape: &[usize],
    depth: usize,
) {
    let Some((&size, inner)) = shape.split_first() else {
        if let Some(value) = values.next() {
            let _ = write!(text, "{value}");
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
