//! Where a result goes: to a file, or to standard output as values.

use crate::{
    args::To,
    failure::Failure,
    files::{self, Element, Format, Manner, Origin, Writer},
    print,
    values::Shown,
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

/// The outputs of this process in folders, by which no result replaces another.
static TAKEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Takes a path for one output of this process.
pub(crate) fn take(path: &Path) -> Result<(), Failure> {
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    match taken.insert(path.to_owned()) {
        true => Ok(()),
        false => Err(Failure::usage(format_args!(
            "two inputs would both become {}: give them different names, or process them separately",
            path.display()
        ))),
    }
}

/// Takes a path that is not named as the input, because a file of that format cannot hold the result.
fn renamed(path: &Path, element: Element) -> Result<(), Failure> {
    static SAID: AtomicBool = AtomicBool::new(false);
    take(path)?;
    if !SAID.swap(true, Relaxed) {
        let (path, name) = (path.display(), element.name());
        print::aside(format_args!(
            "note: the format of the input does not hold this {name} array, so it becomes {path}"
        ));
    }
    Ok(())
}

/// The order of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    RowMajor,
    Fortran,
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
        Self::in_order(Order::RowMajor, to, json, origin, element, shape)
    }

    /// Returns whether the output can have elements in Fortran order.
    pub(crate) fn holds_fortran_order(to: &To, origin: &Origin) -> bool {
        let format = Self::format(to, origin).or_else(|| Format::of_path(to.output.as_deref()?));
        to.output.is_some() && format.is_some_and(Format::holds_fortran_order)
    }

    /// The format of the output, if not its name says it.
    fn format(to: &To, origin: &Origin) -> Option<Format> {
        let piped = || {
            to.is_stdout()
                .then(|| origin.format.map_or(Format::Npy, Format::for_results))
        };
        to.format().or_else(piped)
    }

    /// As [`Target::create`], of elements that arrive in this order.
    pub(crate) fn in_order(
        order: Order,
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
        let manner = Manner {
            format: Self::format(to, origin),
            keep: to.no_clobber,
            origin: Some(origin),
            column_major: order == Order::Fortran,
        };
        let place = match to.path_for(element, shape) {
            Some(path) => {
                if to.output.as_deref() != Some(&path) {
                    renamed(&path, element)?;
                }
                Place::File(Box::new(Writer::create(&path, manner, element, shape)?))
            }
            None => Place::Values(Shown::new(element, shape, to.all || json)),
        };
        Ok(Self { place, element })
    }

    /// Appends a result of the library: elements in row-major order and native byte order, or their handles.
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
