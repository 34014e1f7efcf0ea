//! The text of an `.npy` header: a Python dict with the element type, the layout and the shape.

use crate::{
    Described, Error,
    literal::{LiteralParser, Malformed, PythonLiteral},
    types::{self, format_tuple},
};

pub(super) fn parse_header(text: &str) -> Result<Described, Error> {
    let entries = LiteralParser::new(text)
        .parse_dict()
        .map_err(malformed_header)?;
    let (mut descr, mut column_major, mut shape) = (None, None, None);
    for (key, value) in entries {
        match (&key[..], value) {
            ("descr", value) => descr = Some(value),
            ("fortran_order", PythonLiteral::Truth(value)) => column_major = Some(value),
            ("shape", value) => {
                shape = Some(types::parse_shape(value).ok_or_else(|| wrong_entry("shape"))?);
            }
            ("fortran_order", _) => return Err(wrong_entry("fortran_order")),
            (key, _) => return Err(wrong_entry(key)),
        }
    }
    let missing_entry = || {
        Error::invalid(
            "the header lacks descr, fortran_order or shape; save the array again with numpy.save",
        )
    };
    Ok(Described {
        element: types::parse_type(descr.ok_or_else(missing_entry)?)?,
        column_major: column_major.ok_or_else(missing_entry)?,
        shape: shape.ok_or_else(missing_entry)?,
    })
}

fn malformed_header(Malformed(why): Malformed) -> Error {
    Error::invalid(format!(
        "the header is damaged, {why}; save the array again with numpy.save"
    ))
}

fn wrong_entry(key: &str) -> Error {
    Error::invalid(format!(
        "the header's {key:.20?} is not one of an array; save the array again with numpy.save"
    ))
}

/// Writes the text of a header as NumPy does. [`parse_header`] reads it.
pub(super) fn write_header(array: &Described) -> String {
    let descr = array.element.descr();
    let fortran_order = if array.column_major { "True" } else { "False" };
    let shape = format_tuple(&array.shape);
    format!("{{'descr': {descr}, 'fortran_order': {fortran_order}, 'shape': {shape}, }}")
}
