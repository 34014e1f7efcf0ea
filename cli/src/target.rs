//! Where a result goes: to a file, or to standard output as values.

use crate::{
    args::To,
    failure::Failure,
    files::{Element, Format, Manner, Origin, Writer},
    values::Shown,
};
use std::fs;

/// A result that arrives piece by piece.
#[derive(Debug)]
pub(crate) enum Target {
    File(Box<Writer>),
    Values(Shown),
}

impl Target {
    /// Refuses an output that cannot be written. Standard output has the format of the input by default.
    pub(crate) fn create(
        to: &To,
        json: bool,
        origin: &Origin,
        element: Element,
        shape: &[usize],
    ) -> Result<Self, Failure> {
        if let Some(folder) = &to.to {
            if folder.is_file() {
                return Err(Failure::usage(format_args!(
                    "{} is a file, but --to names a folder",
                    folder.display()
                )));
            }
            fs::create_dir_all(folder).map_err(|error| {
                let folder = folder.display();
                Failure::usage(format_args!("cannot make the folder {folder}: {error}"))
            })?;
        }
        let piped = || {
            to.is_stdout()
                .then(|| origin.format.map_or(Format::Npy, Format::for_results))
        };
        let manner = Manner {
            format: to.format().or_else(piped),
            keep: to.no_clobber,
            origin: Some(origin),
        };
        Ok(match &to.output {
            Some(path) => Self::File(Box::new(Writer::create(path, manner, element, shape)?)),
            None => Self::Values(Shown::new(element, shape, to.all || json)),
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
