//! The text of an `.npy` header: a Python dict with the element type, the layout and the shape.

use crate::{
    Described, Error,
    literal::{Malformed, Scan, Value},
    types::{self, tuple},
};

pub(super) fn parse(text: &str) -> Result<Described, Error> {
    let entries = Scan::new(text).dict().map_err(malformed)?;
    let (mut descr, mut column_major, mut shape) = (None, None, None);
    for (key, value) in entries {
        match (&key[..], value) {
            ("descr", value) => descr = Some(value),
            ("fortran_order", Value::Truth(value)) => column_major = Some(value),
            ("shape", value) => shape = Some(types::shape(value).ok_or_else(|| wrong("shape"))?),
            ("fortran_order", _) => return Err(wrong("fortran_order")),
            (key, _) => return Err(wrong(key)),
        }
    }
    let lacking = || {
        Error::invalid(
            "the header lacks descr, fortran_order or shape; save the array again with numpy.save",
        )
    };
    Ok(Described {
        element: types::read(descr.ok_or_else(lacking)?)?,
        column_major: column_major.ok_or_else(lacking)?,
        shape: shape.ok_or_else(lacking)?,
    })
}

fn malformed(Malformed(why): Malformed) -> Error {
    Error::invalid(format!(
        "the header is damaged, {why}; save the array again with numpy.save"
    ))
}

fn wrong(key: &str) -> Error {
    Error::invalid(format!(
        "the header's {key:.20?} is not one of an array; save the array again with numpy.save"
    ))
}

/// Writes the text that `parse` reads, in NumPy's form.
pub(super) fn write(array: &Described) -> String {
    let descr = array.element.descr();
    let order = if array.column_major { "True" } else { "False" };
    let shape = tuple(&array.shape);
    format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}")
}
