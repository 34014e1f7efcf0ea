//! Where a result goes: to a file, or to standard output as values.

use crate::{args::To, failure::Failure, files::Writer, values::Shown};
use wgslice::DType;

/// A result that arrives piece by piece.
#[derive(Debug)]
pub(crate) enum Target {
    File(Box<Writer>),
    Values(Shown),
}

impl Target {
    /// Refuses an output that cannot be written.
    pub(crate) fn create(
        to: &To,
        json: bool,
        dtype: DType,
        shape: &[usize],
    ) -> Result<Self, Failure> {
        Ok(match &to.output {
            Some(path) => Self::File(Box::new(Writer::create(path, dtype, shape)?)),
            None => Self::Values(Shown::new(dtype, shape, to.all || json)),
        })
    }

    /// Appends bytes: elements in row-major order and native byte order.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Self::File(writer) => Ok(writer.write(bytes)?),
            Self::Values(shown) => shown.write(bytes),
        }
    }

    /// Completes the file, or returns the values.
    pub(crate) fn finish(self) -> Result<Option<Shown>, Failure> {
        match self {
            Self::File(writer) => {
                writer.finish()?;
                Ok(None)
            }
            Self::Values(shown) => Ok(Some(shown)),
        }
    }
}
