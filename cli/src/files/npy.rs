//! Reads and writes NumPy's `.npy`: versions 1.0 to 3.0, elements of any fixed size, both byte orders, row-major and
//! Fortran order.
//!
//! Ignores bytes after the data, as NumPy does.

use std::fs::File;
use std::io::{Seek, Write};

use wgslice::DType;
use wgslice_npy::{ByteOrder, Described, Field, Kind, Type};

use super::bytes::{Bytes, file_len, zeroed_bytes};
use super::error::Problem;
use super::order::{orders_differ, row_major};
use super::{
    Array, Element, Entry, ForeignType, StoredLayout, claimed_len, describe_names, output::Output,
    quote_name,
};
use crate::units;

/// Reads the array or, if `field` is given, this field of its structured elements.
pub(super) fn read_npy(file: &mut File, field: Option<&str>) -> Result<Array, Problem> {
    let Described {
        element,
        column_major,
        shape,
    } = Described::read(file)?;
    if !element.is_fixed() {
        return Err(no_fixed_size(&element));
    }
    let len = claimed_len(&element, element.size, &shape)?;
    let start_offset = file.stream_position()?;
    let bytes_left = file_len(file).saturating_sub(start_offset);
    if u64::try_from(len).is_ok_and(|len| len > bytes_left) {
        return Err(Problem::invalid(format!(
            "{} of {element} takes {len} bytes, but the file ends after {bytes_left}; it is cut short, copy or \
             save it again",
            units::format_shape(&shape)
        )));
    }
    let mut bytes = Bytes::from_file(file, start_offset, len)?;
    let (mut element, mut shape) = (element, shape);
    let mut column_major = column_major && orders_differ(&shape);
    if let Some(name) = field {
        let field = find_field(&element, name)?;
        bytes = field_values(&bytes, element.size, field)?;
        // In both orders, the values of one element's field are contiguous, so the field's dimensions come last.
        if column_major && !field.shape.is_empty() {
            let len = field.element.size * field.shape.iter().product::<usize>();
            bytes = Bytes::Owned(row_major(&bytes, len, &shape)?);
            column_major = false;
        }
        shape.extend(&field.shape);
        element = field.element.clone();
    }
    let is_native = element.byte_order == ByteOrder::NATIVE;
    let native_type = Type {
        byte_order: ByteOrder::NATIVE,
        ..element.clone()
    };
    let mut array = Array::from_elements(Element::numpy(native_type), shape, bytes);
    array.stored = (column_major || !is_native).then_some(StoredLayout {
        column_major,
        element,
    });
    Ok(array)
}

/// Returns the error for elements without a fixed size: Python objects, or elements of an unknown type.
fn no_fixed_size(element: &Type) -> Problem {
    Problem::invalid(format!(
        "dtype {element} is not supported: {}",
        element.remark()
    ))
}

/// Returns the field with this name.
fn find_field<'a>(element: &'a Type, name: &str) -> Result<&'a Field, Problem> {
    let Kind::Fields(fields) = &element.kind else {
        return Err(Problem::invalid(format!(
            "it holds {element}, which has no fields: leave out #{name}"
        )));
    };
    let named_field = fields.iter().find(|field| field.name == name);
    named_field.ok_or_else(|| {
        let names = fields.iter().map(|field| &field.name);
        Problem::invalid(format!(
            "it has no field named {}; {}",
            quote_name(name),
            describe_names(names, Some(name), "field")
        ))
    })
}

/// Extracts the values of a field from elements of `size` bytes.
fn field_values(bytes: &[u8], size: usize, field: &Field) -> Result<Bytes, Problem> {
    let len = field.element.size * field.shape.iter().product::<usize>();
    let mut values = zeroed_bytes(bytes.len().checked_div(size).unwrap_or(0) * len)?;
    if len > 0 {
        let elements = bytes.chunks_exact(size);
        for (value, element) in values.chunks_exact_mut(len).zip(elements) {
            value.copy_from_slice(&element[field.offset..][..len]);
        }
    }
    Ok(Bytes::Owned(values))
}

/// Describes the array in a file of `len` bytes, or one of its fields, from the header.
pub(super) fn describe_npy(
    file: &mut File,
    len: u64,
    field: Option<&str>,
) -> Result<Entry, Problem> {
    let Described {
        mut element,
        column_major,
        mut shape,
    } = Described::read(file)?;
    if let Some(name) = field {
        let field = find_field(&element, name)?;
        shape.extend(&field.shape);
        element = field.element.clone();
    }
    let start_offset = file.stream_position()?;
    Ok(Entry {
        name: None,
        dtype: Some(element.to_string()),
        bytes: match element.is_fixed() {
            true => claimed_len(&element, element.size, &shape)? as u64,
            false => len.saturating_sub(start_offset),
        },
        column_major: column_major && shape.len() > 1,
        shape: Some(shape),
        big_endian: element.is_ordered() && element.byte_order == ByteOrder::Big,
        damaged: None,
        unsupported: (!element.is_fixed()).then(|| element.remark().into()),
    })
}

/// Creates a `.npy` file and writes its header.
pub(super) fn create_npy(
    output: impl FnOnce() -> Result<Output, Problem>,
    element: Element,
    shape: &[usize],
    column_major: bool,
) -> Result<Output, Problem> {
    let header = header_bytes(element, shape, column_major)?;
    let mut output = output()?;
    output.write_all(&header)?;
    Ok(output)
}

/// Returns the bytes of a `.npy` file's header.
pub(super) fn header_bytes(
    element: Element,
    shape: &[usize],
    column_major: bool,
) -> Result<Vec<u8>, Problem> {
    let element = match element.foreign_type {
        Some(ForeignType::Numpy(numpy)) => numpy.element.clone(),
        None if element.dtype != DType::BF16 => Type::number_in(element.dtype, ByteOrder::NATIVE),
        _ => {
            let name = element.name();
            let conversion_hint = match element.foreign_type {
                None => ", or make it float32 by `wgslice convert --as float32`",
                Some(_) => "",
            };
            return Err(Problem::invalid(format!(
                "{name} has no name in .npy; write to .safetensors, which holds it{conversion_hint}"
            )));
        }
    };
    let array = Described {
        element,
        column_major: column_major && orders_differ(shape),
        shape: shape.to_vec(),
    };
    Ok(array.bytes()?)
}
