//! The tags of errors in vector files.

use wgslice::Error;

/// Returns the tag of an error. Vector files do not use the tags `device_limit`, `device` and `other`.
pub fn kind(error: &Error) -> &'static str {
    match error {
        Error::Argument(error) => error.kind().name(),
        Error::InvalidIndices(_) => "out_of_range",
        Error::DeviceLimit { .. } => "device_limit",
        Error::Device { .. } => "device",
        _ => "other",
    }
}
