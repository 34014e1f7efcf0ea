//! The type of elements, including types that only file formats have.
//!
//! Operations that only move elements need only the elements' size. The library moves elements of 1, 2, 4, 8 or 16
//! bytes as numbers. In place of elements of other sizes, it moves their [`handles`](super::handles).

use std::fmt;
use std::sync::{Mutex, PoisonError};

use wgslice::DType;
use wgslice_npy::Type;

/// The type of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    /// The type that the library uses to move an element, or its handle.
    pub(crate) dtype: DType,
    /// The type in the file, if the library has no equivalent.
    pub(crate) foreign_type: Option<ForeignType>,
}

/// A type that the library does not have. The library can move its elements, but not compute with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ForeignType {
    /// The name of an 8-bit type in `.safetensors` files.
    Safetensors(&'static str),
    /// A type that only NumPy has.
    Numpy(&'static Numpy),
}

/// A NumPy type of a fixed size.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Numpy {
    pub(crate) element: Type,
    name: String,
}

impl From<DType> for Element {
    fn from(dtype: DType) -> Self {
        let foreign_type = None;
        Self {
            dtype,
            foreign_type,
        }
    }
}

impl Element {
    /// Returns the [`Element`] for a type that `.safetensors` files have.
    pub(super) fn safetensors(name: &'static str) -> Self {
        Self {
            dtype: DType::I8,
            foreign_type: Some(ForeignType::Safetensors(name)),
        }
    }

    /// Returns the [`Element`] for a NumPy type.
    pub(super) fn numpy(element: Type) -> Self {
        if let Some(dtype) = element.number() {
            return dtype.into();
        }
        Self {
            dtype: moving_type(element.size).unwrap_or(HANDLE_TYPE),
            foreign_type: Some(ForeignType::Numpy(intern_type(element))),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self.foreign_type {
            Some(ForeignType::Safetensors(name)) => name,
            Some(ForeignType::Numpy(numpy)) => &numpy.name,
            None => self.dtype.name(),
        }
    }

    /// Returns the size in bytes of an element in a file.
    pub(crate) fn size(self) -> usize {
        match self.foreign_type {
            Some(ForeignType::Numpy(numpy)) => numpy.element.size,
            _ => self.dtype.size(),
        }
    }

    /// Returns whether the library moves handles instead of these elements, because it has no type with their size.
    pub(crate) fn has_handles(self) -> bool {
        self.size() != self.dtype.size()
    }
}

impl fmt::Display for ForeignType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Safetensors(name) => name,
            Self::Numpy(numpy) => &numpy.name,
        })
    }
}

/// The type of handles. Elements with handles never have this size, so [`Element::has_handles`] only compares sizes.
const HANDLE_TYPE: DType = DType::F64;

/// Returns the type that moves elements of this size, or `None` if there is none. Except `I8`, no operation accepts
/// these types as indices or a mask.
fn moving_type(size: usize) -> Option<DType> {
    match size {
        1 => Some(DType::I8),
        2 => Some(DType::F16),
        4 => Some(DType::F32),
        8 => Some(DType::F64),
        16 => Some(DType::Complex128),
        _ => None,
    }
}

/// Stores each type only once, for the rest of the run. References to the stored types keep [`Element`] small and
/// `Copy`.
fn intern_type(element: Type) -> &'static Numpy {
    static INTERNED_TYPES: Mutex<Vec<&'static Numpy>> = Mutex::new(Vec::new());
    let mut types = INTERNED_TYPES
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = types.iter().find(|known| known.element == element) {
        return known;
    }
    let name = element.to_string();
    let new_type: &'static Numpy = Box::leak(Box::new(Numpy { element, name }));
    types.push(new_type);
    new_type
}
