//! Index tuples in the caller's memory.

use crate::prelude::*;
use crate::{DType, Element};

/// Index tuples in host memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Indices<'a> {
    /// Signed 32-bit indices.
    I32(&'a [i32]),
    /// Signed 64-bit indices.
    I64(&'a [i64]),
    /// Unsigned 32-bit indices.
    U32(&'a [u32]),
    /// The mask of a [masked update](crate::Plan::masked_update): a byte for each element, 0 for false.
    Mask(&'a [u8]),
}

impl Indices<'_> {
    /// Returns the number of integers: the number of tuples times the number of integers in a tuple.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::I32(indices) => indices.len(),
            Self::I64(indices) => indices.len(),
            Self::U32(indices) => indices.len(),
            Self::Mask(mask) => mask.len(),
        }
    }

    /// Returns the tuple with this number, if each tuple has `depth` integers.
    pub(crate) fn tuple(&self, number: usize, depth: usize) -> Vec<i64> {
        let range = number * depth..(number + 1) * depth;
        match self {
            Self::I32(indices) => indices[range].iter().map(|&i| i.into()).collect(),
            Self::I64(indices) => indices[range].to_vec(),
            Self::U32(indices) => indices[range].iter().map(|&i| i.into()).collect(),
            Self::Mask(mask) => mask[range].iter().map(|&i| i.into()).collect(),
        }
    }

    /// Returns the element type. It is `u8` for a mask.
    pub(crate) fn dtype(&self) -> DType {
        match self {
            Self::I32(_) => DType::I32,
            Self::I64(_) => DType::I64,
            Self::U32(_) => DType::U32,
            Self::Mask(_) => DType::U8,
        }
    }
}

/// An element type of index tuples: `i32`, `i64` or `u32`.
pub trait IndexElement: Element {}

impl IndexElement for i32 {}
impl IndexElement for i64 {}
impl IndexElement for u32 {}
