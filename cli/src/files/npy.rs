//! NumPy's `.npy`: versions 1.0 to 3.0, plain fixed-size numbers, both byte orders, both layouts.
//!
//! Bytes after the data are ignored, as NumPy ignores them.

use std::fs::File;
use std::io::{Seek, Write};

use wgslice::DType;
use wgslice_npy::{ByteOrder, Described, Header};

use super::bytes::{Bytes, file_len};
use super::error::Problem;
use super::order::{to_native, to_row_major};
use super::{Array, Element, Entry, Origin, claimed_len, output::Output};

pub(super) fn read(file: &mut File) -> Result<Array, Problem> {
    let Header {
        dtype,
        byte_order,
        column_major,
        shape,
    } = Header::read(file)?;
    let len = claimed_len(dtype.name(), dtype.size(), &shape)?;
    let start = file.stream_position()?;
    let there = file_len(file).saturating_sub(start);
    if u64::try_from(len).is_ok_and(|len| len > there) {
        return Err(Problem::invalid(format!(
            "shape {shape:?} of {} takes {len} bytes, but the file ends after {there}; it is cut \
             short, copy or save it again",
            dtype.name()
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
        origin: Origin::default(),
    })
}

/// Describes the array of a file of `len` bytes, by its header.
pub(super) fn entry(file: &mut File, len: u64) -> Result<Entry, Problem> {
    let Described {
        element,
        column_major,
        shape,
    } = Described::read(file)?;
    let start = file.stream_position()?;
    Ok(Entry {
        name: None,
        dtype: Some(element.to_string()),
        bytes: match element.is_fixed() {
            true => claimed_len(&element, element.size, &shape)? as u64,
            false => len.saturating_sub(start),
        },
        column_major: column_major && shape.len() > 1,
        shape: Some(shape),
        big_endian: element.is_ordered() && element.byte_order == ByteOrder::Big,
        damaged: None,
        unsupported: element.number().is_none().then(|| element.remark().into()),
    })
}

/// Creates a file and writes everything that comes before the data.
pub(super) fn create(
    output: impl FnOnce() -> Result<Output, Problem>,
    element: Element,
    shape: &[usize],
) -> Result<Output, Problem> {
    let header = header(element, shape)?;
    let mut output = output()?;
    output.write_all(&header)?;
    Ok(output)
}

/// Returns everything that comes before the data.
pub(super) fn header(element: Element, shape: &[usize]) -> Result<Vec<u8>, Problem> {
    if element.bits_of.is_some() || element.dtype == DType::BF16 {
        let name = element.name();
        let converted = match element.bits_of {
            None => ", or make it float32 by `wgslice convert --as float32`",
            Some(_) => "",
        };
        return Err(Problem::invalid(format!(
            "{name} has no name in .npy; write to .safetensors, which holds it{converted}"
        )));
    }
    Ok(Header::bytes(element.dtype, shape)?)
}
