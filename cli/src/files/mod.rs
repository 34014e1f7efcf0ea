//! Arrays in files: which formats there are, and what an array read from one looks like.

mod bytes;
mod error;
mod indices;
mod npy;
mod order;
mod output;
mod png;
mod safetensors;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::path::Path;

use wgslice::DType;

use bytes::Bytes;
use error::Problem;

pub(crate) use error::FileError;
pub(crate) use indices::{Indices, to_indices};

/// An array: elements in row-major order and native byte order.
#[derive(Debug)]
pub(crate) struct Array {
    dtype: DType,
    shape: Vec<usize>,
    bytes: Bytes,
}

impl Array {
    /// `None` unless `bytes` is exactly as long as `dtype` and `shape` say.
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
}

/// What a backend asks of the owner of a tensor's bytes, so that a map is handed over as it is.
impl AsRef<[u8]> for Array {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

/// Reads `x.npy`, `x.png`, `x.safetensors#tensor-name` or, if it holds one tensor, `x.safetensors`.
pub(crate) fn read(source: &str) -> Result<Array, FileError> {
    let (path, tensor) = split_tensor_name(source);
    let path = Path::new(path);
    read_path(path, tensor).map_err(|problem| FileError::reading(path, problem))
}

/// Writes an array as `.npy` or `.png`, by the extension of `path`.
///
/// The file appears whole or not at all: see [`output::whole`].
pub(crate) fn write(
    path: &Path,
    dtype: DType,
    shape: &[usize],
    bytes: &[u8],
) -> Result<(), FileError> {
    write_path(path, dtype, shape, bytes).map_err(|problem| FileError::writing(path, problem))
}

fn read_path(path: &Path, tensor: Option<&str>) -> Result<Array, Problem> {
    match extension(path).as_str() {
        "npy" => npy::read(&mut open(path)?),
        "png" => png::read(open(path)?),
        "safetensors" => safetensors::read(&mut open(path)?, tensor),
        other => Err(unknown_extension(
            other,
            ".npy, .png and .safetensors can be read",
        )),
    }
}

fn write_path(path: &Path, dtype: DType, shape: &[usize], bytes: &[u8]) -> Result<(), Problem> {
    if byte_len(dtype, shape) != Some(bytes.len()) {
        return Err(Problem::invalid(format!(
            "{} bytes do not make {dtype} elements of shape {shape:?}",
            bytes.len()
        )));
    }
    match extension(path).as_str() {
        "npy" => npy::write(path, dtype, shape, bytes),
        "png" => png::write(path, dtype, shape, bytes),
        other => Err(unknown_extension(other, ".npy and .png can be written")),
    }
}

fn open(path: &Path) -> Result<File, Problem> {
    // Asked before opening, which would wait for the other end of a named pipe.
    if !fs::metadata(path)?.is_file() {
        return Err(Problem::invalid(
            "not a regular file; pipes and folders cannot be read, save to a file first",
        ));
    }
    Ok(File::open(path)?)
}

/// A tensor's name may hold any character, a `#` too, so the first `.safetensors#` parts the two.
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

/// Bytes of an array, or `None` where they could not be addressed. As in NumPy, axes of length zero
/// do not excuse the others: strides are products of some of the lengths, and must fit too.
fn byte_len(dtype: DType, shape: &[usize]) -> Option<usize> {
    let spanned = shape
        .iter()
        .filter(|&&n| n != 0)
        .try_fold(dtype.size(), |product, &n| product.checked_mul(n))?;
    isize::try_from(spanned).ok()?;
    Some(if shape.contains(&0) { 0 } else { spanned })
}

/// As [`byte_len`], for a shape that a file claims.
fn claimed_len(dtype: DType, shape: &[usize]) -> Result<usize, Problem> {
    byte_len(dtype, shape).ok_or_else(|| {
        Problem::invalid(format!(
            "shape {shape:?} of {dtype} is larger than any memory; the file is damaged"
        ))
    })
}
