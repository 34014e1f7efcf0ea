//! NumPy's `.npy`: versions 1.0 to 3.0, plain fixed-size numbers, both byte orders, both layouts.
//!
//! Bytes after the data are ignored, as NumPy ignores them.

mod header;

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::Path;

use wgslice::DType;

use super::bytes::{Bytes, file_len};
use super::error::Problem;
use super::order::{ByteOrder, to_native, to_row_major};
use super::{Array, claimed_len, output::Output};
use header::Header;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Bytes of the longest accepted header. A plain array's header has about a hundred; NumPy itself stops at 10
/// 000 unless told to trust the file.
const MAX_HEADER: u32 = 1 << 16;

pub(super) fn read(file: &mut File) -> Result<Array, Problem> {
    let Header {
        dtype,
        byte_order,
        column_major,
        shape,
    } = header::parse(&read_header(file)?)?;
    let len = claimed_len(dtype, &shape)?;
    let start = file.stream_position()?;
    let there = file_len(file).saturating_sub(start);
    if u64::try_from(len).is_ok_and(|len| len > there) {
        return Err(Problem::invalid(format!(
            "shape {shape:?} of {dtype} takes {len} bytes, but the file ends after {there}; it is \
             cut short, copy or save it again"
        )));
    }
    let mut bytes = Bytes::of_file(file, start, len)?;
    if column_major {
        bytes = to_row_major(bytes, dtype.size(), &shape)?;
    }
    let bytes = to_native(bytes, dtype, byte_order)?;
    Ok(Array {
        dtype,
        shape,
        bytes,
    })
}

/// The header's text. Leaves `file` at the first byte of the data.
fn read_header(file: &mut File) -> Result<Vec<u8>, Problem> {
    let cut = |_| Problem::invalid("the file ends within its header; copy or save it again");
    let mut start = [0; 8];
    let is_npy = file.read_exact(&mut start).is_ok() && start.starts_with(MAGIC);
    if !is_npy {
        return Err(Problem::invalid(
            "not an .npy file (it does not begin with \\x93NUMPY); save it with numpy.save",
        ));
    }
    let len = match [start[6], start[7]] {
        [1, 0] => {
            let mut len = [0; 2];
            file.read_exact(&mut len).map_err(cut)?;
            u16::from_le_bytes(len).into()
        }
        [2 | 3, 0] => {
            let mut len = [0; 4];
            file.read_exact(&mut len).map_err(cut)?;
            u32::from_le_bytes(len)
        }
        [major, minor] => {
            return Err(Problem::invalid(format!(
                ".npy version {major}.{minor} is unknown; versions 1.0, 2.0 and 3.0 can be read"
            )));
        }
    };
    let mut text = Vec::new();
    if len <= MAX_HEADER {
        file.take(len.into()).read_to_end(&mut text)?;
    } else if u64::from(len) <= file_len(file) {
        return Err(Problem::invalid(format!(
            "a header of {len} bytes; plain arrays have short ones, at most {MAX_HEADER} are read"
        )));
    }
    if u32::try_from(text.len()) != Ok(len) {
        return Err(Problem::invalid(format!(
            "the header should take {len} bytes, but the file ends before; copy or save it again"
        )));
    }
    Ok(text)
}

/// A file with everything before the data.
pub(super) fn create(path: &Path, dtype: DType, shape: &[usize]) -> Result<Output, Problem> {
    let header = header_bytes(dtype, shape)?;
    let mut output = Output::create(path)?;
    output.file().write_all(&header)?;
    Ok(output)
}

/// The bytes before the data, padded so that the data begins at a multiple of 64.
fn header_bytes(dtype: DType, shape: &[usize]) -> Result<Vec<u8>, Problem> {
    const FIXED: usize = 10;
    let mut text = header::text(dtype, ByteOrder::NATIVE, shape)?;
    let len = (FIXED + text.len() + 1).next_multiple_of(64) - FIXED;
    let short = u16::try_from(len).map_err(|_| {
        Problem::invalid(format!(
            "rank {} is too high for an .npy header",
            shape.len()
        ))
    })?;
    text.extend(std::iter::repeat_n(' ', len - 1 - text.len()));
    text.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend(short.to_le_bytes());
    bytes.extend(text.into_bytes());
    Ok(bytes)
}
