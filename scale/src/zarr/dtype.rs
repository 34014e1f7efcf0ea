//! Element types.

use super::Error;
use std::path::Path;
use wgslice::DType;

/// Returns the element type that Zarr V3 calls `name`. Zarr uses the library's names, and has second names for complex
/// types. `path` names the array in errors.
pub(super) fn of_name(name: &str, path: &Path) -> Result<DType, Error> {
    let name = match name {
        "complex_float32" => "complex64",
        "complex_float64" => "complex128",
        name => name,
    };
    let found = DType::ALL.into_iter().find(|dtype| dtype.name() == name);
    found.ok_or_else(|| {
        let known: Vec<_> = DType::ALL.iter().map(|dtype| dtype.name()).collect();
        Error::usage(format_args!(
            "{} holds elements of type {name}, which cannot be sliced: convert them to one of {}",
            path.display(),
            known.join(", ")
        ))
    })
}
