//! Reads and writes arrays in files.

mod bytes;
mod error;
mod indices;
mod npy;
mod order;
mod output;
mod png;
mod safetensors;
mod signals;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use wgslice::DType;

use bytes::{Bytes, Window};
use error::Problem;
use output::Output;

pub(crate) use error::FileError;
pub(crate) use indices::{Indices, to_indices};
pub(crate) use output::watch_for_signals;

/// An array: elements in row-major order and native byte order.
#[derive(Debug)]
pub(crate) struct Array {
    dtype: DType,
    shape: Vec<usize>,
    bytes: Bytes,
}

impl Array {
    /// Makes an array. `None` unless `bytes` is exactly as long as `dtype` and `shape` say.
    #[cfg(test)]
    pub(crate) fn new(dtype: DType, shape: Vec<usize>, bytes: Vec<u8>) -> Option<Self> {
        (byte_len(dtype, &shape)? == bytes.len()).then_some(Self {
            dtype,
            shape,
            bytes: Bytes::Owned(bytes),
        })
    }

    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns a range of the bytes. For a large range of a mapped file, the window has a map of its own. Its pages are
    /// freed with the window, so that they do not accumulate.
    pub(crate) fn window(&self, range: Range<usize>) -> io::Result<Window<'_>> {
        self.bytes.window(range)
    }
}

/// Lets `Tensor::from_bytes` take an array as it is. On the CPU, the tensor then keeps the array's memory map and
/// copies nothing.
impl AsRef<[u8]> for Array {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

/// Reads `x.npy`, `x.png` or `x.safetensors#tensor-name`. The name of the tensor is optional if the file holds one
/// tensor.
pub(crate) fn read(source: &str) -> Result<Array, FileError> {
    let (path, tensor) = split_tensor_name(source);
    let path = Path::new(path);
    read_path(path, tensor).map_err(|problem| FileError::reading(path, problem))
}

/// What a file says about itself, and about the arrays that it holds.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) format: &'static str,
    /// The size of the file.
    pub(crate) bytes: u64,
    pub(crate) arrays: Vec<Entry>,
}

/// What a file says about an array.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The name of a tensor. `None` if the file is the array.
    pub(crate) name: Option<String>,
    /// The element type: this command's name of it, or the file's if it is unknown here.
    pub(crate) dtype: String,
    pub(crate) shape: Vec<usize>,
    /// The size of the elements.
    pub(crate) bytes: u64,
    /// Whether the first dimension is contiguous in the file.
    pub(crate) column_major: bool,
    /// Whether the highest byte of a number stands first in the file. False if the elements are single bytes.
    pub(crate) big_endian: bool,
}

/// Lists the arrays of a file, or the one that `source` names, without reading their elements.
pub(crate) fn list(source: &str) -> Result<Listing, FileError> {
    let (path, tensor) = split_tensor_name(source);
    let path = Path::new(path);
    let list = || {
        let format = format_of(path)?;
        let mut file = open(path)?;
        let bytes = bytes::file_len(&file);
        let mut arrays = match format {
            "npy" => vec![npy::entry(&mut file)?],
            "png" => vec![png::entry(file)?],
            _ => safetensors::list(&mut file)?,
        };
        if let Some(tensor) = tensor {
            arrays.retain(|entry| entry.name.as_deref() == Some(tensor));
            if arrays.is_empty() {
                return Err(Problem::invalid(format!(
                    "it holds no tensor named {tensor:?}"
                )));
            }
        }
        Ok(Listing {
            format,
            bytes,
            arrays,
        })
    };
    list().map_err(|problem| FileError::reading(path, problem))
}

/// Writes an array as `.npy` or `.png`, by the extension of `path`.
#[cfg(test)]
fn write(path: &Path, dtype: DType, shape: &[usize], bytes: &[u8]) -> Result<(), FileError> {
    let mut writer = Writer::create(path, dtype, shape)?;
    writer.write(bytes)?;
    writer.finish()
}

/// A text file that appears whole, or not at all: see [`output`].
#[derive(Debug)]
pub(crate) struct Document {
    path: PathBuf,
    output: Output,
}

impl Document {
    /// Creates the temporary file. Refuses a folder that cannot be written to.
    pub(crate) fn create(path: &Path) -> Result<Self, FileError> {
        let output = Output::create(path).map_err(|problem| FileError::writing(path, problem))?;
        Ok(Self {
            path: path.to_owned(),
            output,
        })
    }

    /// Writes the text, and renames the file to its final name.
    pub(crate) fn finish(self, text: &str) -> Result<(), FileError> {
        let Self { path, mut output } = self;
        let written = output.file().write_all(text.as_bytes());
        let finished = written
            .map_err(Problem::from)
            .and_then(|()| output.finish());
        finished.map_err(|problem| FileError::writing(&path, problem))
    }
}

/// An array file that is written piece by piece, as `.npy` or `.png`, by the extension of its path.
///
/// The file appears whole, or not at all: see [`output`].
#[derive(Debug)]
pub(crate) struct Writer {
    path: PathBuf,
    format: Format,
    /// The number of bytes of elements still to be written.
    left: usize,
}

#[derive(Debug)]
enum Format {
    Npy(Output),
    Png(png::Image),
}

impl Writer {
    /// Creates the temporary file. Refuses a format that cannot hold the array, or a folder that cannot be written to.
    pub(crate) fn create(path: &Path, dtype: DType, shape: &[usize]) -> Result<Self, FileError> {
        let create = || {
            let format = match extension(path).as_str() {
                "npy" => Format::Npy(npy::create(path, dtype, shape)?),
                "png" => Format::Png(png::Image::create(path, dtype, shape)?),
                other => return Err(unknown_extension(other, ".npy and .png can be written")),
            };
            Ok((format, claimed_len(dtype, shape)?))
        };
        let (format, left) = create().map_err(|problem| FileError::writing(path, problem))?;
        Ok(Self {
            path: path.to_owned(),
            format,
            left,
        })
    }

    /// Appends bytes: elements in row-major order and native byte order.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        let outcome = match (self.left.checked_sub(bytes.len()), &mut self.format) {
            (None, _) => Err(Problem::invalid("more bytes than the shape says")),
            (Some(left), format) => {
                self.left = left;
                match format {
                    Format::Npy(output) => output.file().write_all(bytes).map_err(Problem::from),
                    Format::Png(image) => image.write(bytes),
                }
            }
        };
        outcome.map_err(|problem| FileError::writing(&self.path, problem))
    }

    /// Completes the file and renames it to its final name. Fails if bytes are missing.
    pub(crate) fn finish(self) -> Result<(), FileError> {
        let outcome = match (self.left, self.format) {
            (0, Format::Npy(output)) => output.finish(),
            (0, Format::Png(image)) => image.finish(),
            (left, _) => Err(Problem::invalid(format!("{left} bytes are missing"))),
        };
        outcome.map_err(|problem| FileError::writing(&self.path, problem))
    }
}

fn read_path(path: &Path, tensor: Option<&str>) -> Result<Array, Problem> {
    match format_of(path)? {
        "npy" => npy::read(&mut open(path)?),
        "png" => png::read(open(path)?),
        _ => safetensors::read(&mut open(path)?, tensor),
    }
}

/// Returns the format of a file that is read, by its extension.
fn format_of(path: &Path) -> Result<&'static str, Problem> {
    match extension(path).as_str() {
        "npy" => Ok("npy"),
        "png" => Ok("png"),
        "safetensors" => Ok("safetensors"),
        other => Err(unknown_extension(
            other,
            ".npy, .png and .safetensors can be read",
        )),
    }
}

fn open(path: &Path) -> Result<File, Problem> {
    // The file is checked before it is opened, because opening a named pipe would wait for its other end.
    if !fs::metadata(path)?.is_file() {
        return Err(Problem::invalid(
            "not a regular file; pipes and folders cannot be read, save to a file first",
        ));
    }
    Ok(File::open(path)?)
}

/// Splits a source into the path of a file and the name of a tensor. The name may contain any character, even `#`, so
/// the first `.safetensors#` separates the two.
fn split_tensor_name(source: &str) -> (&str, Option<&str>) {
    const EXTENSION: &str = ".safetensors";
    let mark = source.to_ascii_lowercase().find(".safetensors#");
    match mark.and_then(|at| source.split_at_checked(at + EXTENSION.len())) {
        Some((path, name)) => (path, name.strip_prefix('#')),
        None => (source, None),
    }
}

fn extension(path: &Path) -> String {
    let extension = path.extension().unwrap_or_default();
    extension.to_string_lossy().to_ascii_lowercase()
}

fn unknown_extension(extension: &str, rule: &str) -> Problem {
    Problem::invalid(match extension {
        "" => format!("the name has no extension to tell the format; {rule}"),
        _ => format!("unknown extension .{extension}; {rule}"),
    })
}

/// Returns the number of bytes of an array, or `None` if they cannot be addressed. As in NumPy, an array with axes of
/// length zero must be addressable without those axes, because strides are products of the other lengths.
fn byte_len(dtype: DType, shape: &[usize]) -> Option<usize> {
    let spanned = shape
        .iter()
        .filter(|&&n| n != 0)
        .try_fold(dtype.size(), |product, &n| product.checked_mul(n))?;
    isize::try_from(spanned).ok()?;
    Some(if shape.contains(&0) { 0 } else { spanned })
}

/// Returns [`byte_len`], or an error if the shape is too large.
fn claimed_len(dtype: DType, shape: &[usize]) -> Result<usize, Problem> {
    byte_len(dtype, shape).ok_or_else(|| {
        Problem::invalid(format!(
            "shape {shape:?} of {} is larger than any memory; the file is damaged",
            dtype.name()
        ))
    })
}
