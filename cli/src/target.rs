//! Where a result goes: to a file, or to standard output as values.

use crate::{
    args::To,
    failure::Failure,
    files::{self, Element, Format, Manner, Origin, Writer},
    values::Shown,
};
use std::fs;

/// A result that arrives piece by piece.
#[derive(Debug)]
pub(crate) struct Target {
    place: Place,
    element: Element,
}

#[derive(Debug)]
enum Place {
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
        let place = match &to.output {
            Some(path) => Place::File(Box::new(Writer::create(path, manner, element, shape)?)),
            None => Place::Values(Shown::new(element, shape, to.all || json)),
        };
        Ok(Self { place, element })
    }

    /// Appends what the library moved: elements in row-major order and native byte order, or their handles.
    pub(crate) fn write(&mut self, moved: &[u8]) -> Result<(), Failure> {
        let size = self.element.size();
        match self.element.has_handles() {
            true => files::resolve_handles(moved, size, |elements| self.write_elements(elements)),
            false => self.write_elements(moved),
        }
    }

    /// Appends bytes of elements.
    pub(crate) fn write_elements(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match &mut self.place {
            Place::File(writer) => Ok(writer.write(bytes)?),
            Place::Values(shown) => shown.write(bytes),
        }
    }

    /// Completes the file, or returns the values.
    pub(crate) fn finish(self) -> Result<Option<Shown>, Failure> {
        files::forget_elements();
        match self.place {
            Place::File(writer) => {
                writer.finish()?;
                Ok(None)
            }
            Place::Values(shown) => Ok(Some(shown)),
        }
    }
}
