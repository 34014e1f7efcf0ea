//! Writes a result to a file, or collects its values for standard output.

use crate::{
    args::OutputOptions,
    failure::Failure,
    files::{self, Element, Format, Origin, WriteOptions, Writer},
    print,
    values::ShownArray,
};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

/// The destination of a result that arrives piece by piece.
#[derive(Debug)]
pub(crate) struct Target {
    place: TargetPlace,
    element: Element,
}

#[derive(Debug)]
enum TargetPlace {
    File(Box<Writer>),
    Values(ShownArray),
}

/// The paths of the results that this process writes to folders. A path cannot be reserved twice, so that no result
/// replaces another.
static TAKEN_PATHS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Reserves a path for one output of this process.
pub(crate) fn reserve_path(path: &Path) -> Result<(), Failure> {
    let mut taken_paths = TAKEN_PATHS.lock().unwrap_or_else(PoisonError::into_inner);
    match taken_paths.insert(path.to_owned()) {
        true => Ok(()),
        false => Err(Failure::usage(format_args!(
            "two inputs would both become {}: give them different names, or process them separately",
            path.display()
        ))),
    }
}

/// Reserves a path with another extension than the input's, because the input's format cannot hold the result. Prints a
/// note about the first such path.
fn reserve_renamed(path: &Path, element: Element) -> Result<(), Failure> {
    static HAS_PRINTED_NOTE: AtomicBool = AtomicBool::new(false);
    reserve_path(path)?;
    if !HAS_PRINTED_NOTE.swap(true, Relaxed) {
        let (path, name) = (path.display(), element.name());
        print::print_note(format_args!(
            "note: the format of the input does not hold this {name} array, so it becomes {path}"
        ));
    }
    Ok(())
}

/// The order in which elements arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ElementOrder {
    RowMajor,
    Fortran,
}

impl Target {
    /// Creates the output. Fails if it cannot be written. By default, standard output gets the input's format, or PNG
    /// for a JPEG input.
    pub(crate) fn create(
        output_options: &OutputOptions,
        json: bool,
        origin: &Origin,
        element: Element,
        shape: &[usize],
    ) -> Result<Self, Failure> {
        Self::create_in_order(
            ElementOrder::RowMajor,
            output_options,
            json,
            origin,
            element,
            shape,
        )
    }

    /// Returns whether the output can hold elements in Fortran order.
    pub(crate) fn holds_fortran_order(output_options: &OutputOptions, origin: &Origin) -> bool {
        let format = Self::output_format(output_options, origin)
            .or_else(|| Format::from_path(output_options.output.as_deref()?));
        output_options.output.is_some() && format.is_some_and(Format::holds_fortran_order)
    }

    /// Returns the format of the output, or `None` to choose it by the output's name.
    fn output_format(output_options: &OutputOptions, origin: &Origin) -> Option<Format> {
        let piped_format = || {
            output_options
                .is_stdout()
                .then(|| origin.format.map_or(Format::Npy, Format::for_results))
        };
        output_options.chosen_format().or_else(piped_format)
    }

    /// Does the same as [`Target::create`], for elements that arrive in this order.
    pub(crate) fn create_in_order(
        order: ElementOrder,
        output_options: &OutputOptions,
        json: bool,
        origin: &Origin,
        element: Element,
        shape: &[usize],
    ) -> Result<Self, Failure> {
        if let Some(folder) = &output_options.to {
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
        let write_options = WriteOptions {
            format: Self::output_format(output_options, origin),
            keeps_file: output_options.no_clobber,
            origin: Some(origin),
            column_major: order == ElementOrder::Fortran,
        };
        let place = match output_options.path_for(element, shape) {
            Some(path) => {
                if output_options.output.as_deref() != Some(&path) {
                    reserve_renamed(&path, element)?;
                }
                TargetPlace::File(Box::new(Writer::create(
                    &path,
                    write_options,
                    element,
                    shape,
                )?))
            }
            None => {
                TargetPlace::Values(ShownArray::new(element, shape, output_options.all || json))
            }
        };
        Ok(Self { place, element })
    }

    /// Appends a result of the library: elements in row-major order and native byte order, or their handles.
    pub(crate) fn write(&mut self, result: &[u8]) -> Result<(), Failure> {
        let size = self.element.size();
        match self.element.has_handles() {
            true => files::resolve_handles(result, size, |elements| self.write_elements(elements)),
            false => self.write_elements(result),
        }
    }

    /// Appends the bytes of elements.
    pub(crate) fn write_elements(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match &mut self.place {
            TargetPlace::File(writer) => Ok(writer.write(bytes)?),
            TargetPlace::Values(shown) => shown.write(bytes),
        }
    }

    /// Completes the file or, if the result has no file, returns the values.
    pub(crate) fn finish(self) -> Result<Option<ShownArray>, Failure> {
        files::forget_elements();
        match self.place {
            TargetPlace::File(writer) => {
                writer.finish()?;
                Ok(None)
            }
            TargetPlace::Values(shown) => Ok(Some(shown)),
        }
    }
}
