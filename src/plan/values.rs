//! Values of any element type in the caller's memory: the inputs and outputs of plans.

use crate::prelude::*;
use crate::{DType, Element, Error, cpu::Indices, element::Writable, ops::index::IndexType};
use alloc::borrow::Cow;

/// Values in host memory, of any element type, for calls that take several arrays. `(&values).into()` makes `Values`
/// from a slice, a vector or an array of elements.
///
/// ```
/// use wgslice::{DType, Values};
///
/// let values: Values = (&[1.0f32, 2.0]).into();
/// let same = Values::from_bytes(DType::F32, &[0, 0, 128, 63, 0, 0, 0, 64]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Values<'a> {
    pub(crate) dtype: DType,
    pub(crate) bytes: &'a [u8],
}

impl<'a> Values<'a> {
    pub(super) const NONE: Self = Self {
        dtype: DType::U8,
        bytes: &[],
    };

    /// Makes values from bytes in native byte order, such as a memory map. The bytes can begin at any address.
    pub fn from_bytes(dtype: DType, bytes: &'a [u8]) -> Self {
        Self { dtype, bytes }
    }

    /// Returns the element type.
    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the number of elements. A part of an element counts as one.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len().div_ceil(self.dtype.size())
    }

    /// Calls `run` with the values as index tuples. Misaligned values are copied first.
    pub(crate) fn with_indices<R>(
        &self,
        index_type: IndexType,
        run: impl FnOnce(Indices<'_>) -> R,
    ) -> R {
        fn integers<T: bytemuck::AnyBitPattern + bytemuck::NoUninit>(bytes: &[u8]) -> Cow<'_, [T]> {
            match bytemuck::try_cast_slice(bytes) {
                Ok(integers) => Cow::Borrowed(integers),
                Err(_) => Cow::Owned(bytemuck::pod_collect_to_vec(bytes)),
            }
        }
        match index_type {
            IndexType::I32 => run(Indices::I32(&integers(self.bytes))),
            IndexType::U32 => run(Indices::U32(&integers(self.bytes))),
            IndexType::I64 => run(Indices::I64(&integers(self.bytes))),
            IndexType::Mask => run(Indices::Mask(self.bytes)),
        }
    }
}

/// Types that hold elements: slices, vectors and arrays.
pub trait Elements {
    type Element: Element;
    fn elements(&self) -> &[Self::Element];
    fn elements_mut(&mut self) -> &mut [Self::Element];
}

macro_rules! elements {
    ($($type:ty $(, const $count:ident)?;)*) => {$(
        impl<T: Element $(, const $count: usize)?> Elements for $type {
            type Element = T;

            fn elements(&self) -> &[T] {
                self
            }

            fn elements_mut(&mut self) -> &mut [T] {
                self
            }
        }
    )*};
}

elements! { [T]; Vec<T>; [T; N], const N; }

impl<'a, E: Elements + ?Sized> From<&'a E> for Values<'a> {
    fn from(values: &'a E) -> Self {
        Self {
            dtype: E::Element::DTYPE,
            bytes: E::Element::as_bytes(values.elements()),
        }
    }
}

/// Memory for values of any element type. `(&mut values).into()` makes it from a slice, a vector or an array of
/// elements.
#[derive(Debug)]
pub struct ValuesMut<'a> {
    pub(crate) dtype: DType,
    memory: Writable<'a>,
}

impl<'a> ValuesMut<'a> {
    /// Makes memory for values from bytes, which are in native byte order and can begin at any address.
    pub fn from_bytes(dtype: DType, bytes: &'a mut [u8]) -> Self {
        let memory = Writable::Bytes(bytes);
        Self { dtype, memory }
    }

    /// Returns the number of elements. A part of an element counts as one.
    pub(super) fn len(&self) -> usize {
        match &self.memory {
            Writable::Bytes(bytes) => bytes.len().div_ceil(self.dtype.size()),
            Writable::Bools(values) => values.len(),
        }
    }

    /// Calls `run` with the bytes of the elements.
    pub(crate) fn with_bytes<R>(
        &mut self,
        run: impl FnOnce(&mut [u8]) -> Result<R, Error>,
    ) -> Result<R, Error> {
        match &mut self.memory {
            Writable::Bytes(bytes) => run(bytes),
            Writable::Bools(values) => {
                let mut bytes = bool::as_bytes(values).to_vec();
                let outcome = run(&mut bytes);
                self.memory.set_bools(&bytes);
                outcome
            }
        }
    }
}

/// Calls `run` once with the bytes of all `values`. Bools are copied before the call and written back after it.
pub(super) fn with_all_bytes<R>(
    values: &mut [ValuesMut<'_>],
    run: impl FnOnce(Vec<&mut [u8]>) -> Result<R, Error>,
) -> Result<R, Error> {
    let copy_bools = |array: &ValuesMut<'_>| match &array.memory {
        Writable::Bytes(_) => Vec::new(),
        Writable::Bools(bools) => bool::as_bytes(bools).to_vec(),
    };
    let mut copies: Vec<Vec<u8>> = values.iter().map(copy_bools).collect();
    let memory = values.iter_mut().zip(&mut copies);
    let memory = memory.map(|(array, copy)| match &mut array.memory {
        Writable::Bytes(bytes) => &mut **bytes,
        Writable::Bools(_) => &mut copy[..],
    });
    let outcome = run(memory.collect());
    for (array, copy) in values.iter_mut().zip(copies) {
        array.memory.set_bools(&copy);
    }
    outcome
}

impl<'a, E: Elements + ?Sized> From<&'a mut E> for ValuesMut<'a> {
    fn from(values: &'a mut E) -> Self {
        Self {
            dtype: E::Element::DTYPE,
            memory: E::Element::writable(values.elements_mut()),
        }
    }
}
