//! The Rust types of array elements.

use crate::prelude::*;
use crate::{
    DType, Error,
    cpu::{Dest, Pieces, fill_values, map_in_large_pages},
};

/// A Rust type that an array can hold.
///
/// These types are `bool`, the integers of 8 to 64 bits, `f32`, `f64`, and, for complex numbers, `[f32; 2]` and `[f64;
/// 2]`. The feature `half` adds `half::f16` and `half::bf16`.
pub trait Element: Copy + Send + Sync + sealed::Sealed + 'static {
    /// The element type of arrays of this Rust type.
    const DTYPE: DType;

    /// Returns the bytes of `values`, in memory order.
    #[doc(hidden)]
    fn as_bytes(values: &[Self]) -> &[u8] {
        bytemuck::cast_slice(values)
    }

    /// Returns the bytes of `values` for writing, in memory order. Returns `None` for `bool`, because most bytes are
    /// not a valid `bool`.
    #[doc(hidden)]
    fn as_bytes_mut(values: &mut [Self]) -> Option<&mut [u8]>;

    /// Returns the elements in a form to which any bytes can be written.
    #[doc(hidden)]
    fn writable(values: &mut [Self]) -> Writable<'_>;

    /// Makes `len` elements from the pieces that `fill` copies. Returns the elements and the result of `fill`.
    #[doc(hidden)]
    fn collect<R>(
        len: usize,
        pieces: Pieces,
        fill: impl FnOnce(Dest<'_>) -> Result<R, Error>,
    ) -> Result<(Vec<Self>, R), Error>;

    /// Sets `values` to the bytes that `fill` writes.
    #[doc(hidden)]
    fn fill(
        values: &mut [Self],
        fill: impl FnOnce(&mut [u8]) -> Result<(), Error>,
    ) -> Result<(), Error>;
}

mod sealed {
    pub trait Sealed: bytemuck::NoUninit {}
}

/// Elements of any type, in a form that can be overwritten.
#[doc(hidden)]
#[derive(Debug)]
pub enum Writable<'a> {
    /// The bytes of the elements.
    Bytes(&'a mut [u8]),
    /// The elements themselves if they are booleans, because most bytes are not a valid `bool`.
    Bools(&'a mut [bool]),
}

impl Writable<'_> {
    /// Sets the elements from `bytes` if they are booleans: every byte except 0 counts as true. Changes no other
    /// elements.
    pub(crate) fn set_bools(&mut self, bytes: &[u8]) {
        if let Self::Bools(values) = self {
            for (value, &byte) in values.iter_mut().zip(bytes) {
                *value = byte != 0;
            }
        }
    }
}

/// Makes a zeroed vector. Fails if the memory cannot be allocated.
///
/// A large vector comes from `calloc`, which does not write to new pages: the operating system has already zeroed them.
/// A small vector comes from `malloc` and is then zeroed: glibc caches freed small blocks for `malloc`, but older
/// versions of glibc do not use this cache for `calloc`.
pub(crate) fn zeroed<T: bytemuck::Pod>(len: usize) -> Result<Vec<T>, Error> {
    /// The largest size in bytes of a small vector. The cache of glibc holds blocks of up to about 1 KiB.
    const SMALL_BYTES: usize = 1 << 10;
    let bytes = len.saturating_mul(size_of::<T>());
    let outcome = if bytes > SMALL_BYTES {
        bytemuck::try_zeroed_vec(len).map(|mut values| {
            map_in_large_pages(&mut values);
            values
        })
    } else {
        // A program that lacks even this little memory fails at any small allocation.
        let mut values = Vec::with_capacity(len);
        values.resize(len, T::zeroed());
        Ok(values)
    };
    outcome.map_err(|()| Error::OutOfHostMemory { bytes })
}

macro_rules! elements {
    ($($type:ty => $dtype:ident),* $(,)?) => {$(
        impl sealed::Sealed for $type {}
        impl Element for $type {
            const DTYPE: DType = DType::$dtype;

            fn as_bytes_mut(values: &mut [Self]) -> Option<&mut [u8]> {
                Some(bytemuck::cast_slice_mut(values))
            }

            fn writable(values: &mut [Self]) -> Writable<'_> {
                Writable::Bytes(bytemuck::cast_slice_mut(values))
            }

            fn collect<R>(
                len: usize,
                pieces: Pieces,
                fill: impl FnOnce(Dest<'_>) -> Result<R, Error>,
            ) -> Result<(Vec<Self>, R), Error> {
                fill_values(Vec::new(), len, pieces, fill)
            }

            fn fill(
                values: &mut [Self],
                fill: impl FnOnce(&mut [u8]) -> Result<(), Error>,
            ) -> Result<(), Error> {
                fill(bytemuck::cast_slice_mut(values))
            }
        }
    )*};
}

elements! {
    i8 => I8, u8 => U8, i16 => I16, u16 => U16, i32 => I32, u32 => U32, i64 => I64, u64 => U64,
    f32 => F32, f64 => F64, [f32; 2] => Complex64, [f64; 2] => Complex128,
}
#[cfg(feature = "half")]
elements! { half::f16 => F16, half::bf16 => BF16 }

impl sealed::Sealed for bool {}
impl Element for bool {
    const DTYPE: DType = DType::Bool;

    fn as_bytes_mut(_: &mut [Self]) -> Option<&mut [u8]> {
        None
    }

    fn writable(values: &mut [Self]) -> Writable<'_> {
        Writable::Bools(values)
    }

    // A Rust bool must be 0 or 1, but the bytes of a tensor can have any value. Every value except 0 counts as true.
    fn collect<R>(
        len: usize,
        pieces: Pieces,
        fill: impl FnOnce(Dest<'_>) -> Result<R, Error>,
    ) -> Result<(Vec<Self>, R), Error> {
        let (bytes, outcome) = u8::collect(len, pieces, fill)?;
        Ok((bytes.into_iter().map(|byte| byte != 0).collect(), outcome))
    }
    fn fill(
        values: &mut [Self],
        fill: impl FnOnce(&mut [u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (filled, ()) = Self::collect(values.len(), Pieces::WithZeros, |dest| fill(dest.all()))?;
        values.copy_from_slice(&filled);
        Ok(())
    }
}
