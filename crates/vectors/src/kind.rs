//! The tags of errors in vector files.

use wgslice::Error;

/// Returns the tag that vector files use for an error, or `other` if they have no tag for it.
pub fn kind(error: &Error) -> &'static str {
    match error {
        Error::Argument(error) => error.kind().name(),
        Error::InvalidIndices(_) => "out_of_range",
        Error::DeviceLimit { .. } => "device_limit",
        Error::Device { .. } => "device",
        _ => "other",
    }
}
