//! Errors of conversions.

use super::axes::Axes;
use crate::{DType, text::Shape};

/// A conversion that is not offered, or that does not fit the plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ConvertError {
    /// An element type that is not converted.
    #[error(
        "{argument} is {found}, which is not converted: u8, i8, u16, i16, f16, bf16 and f32 are, each to each; make it \
         one of these"
    )]
    DType {
        /// `"the source"` or `"the result"`.
        argument: &'static str,
        /// The element type.
        found: DType,
    },
    /// A plan that changes an array, or that converts already.
    #[error(
        "{operation} does not convert: slices, views, gathers and crops do, once; convert its source by a plan of its \
         own, such as that of a view"
    )]
    Operation {
        /// The name of the operation.
        operation: &'static str,
    },
    /// A table for another type than the source's.
    #[error("the table converts {needed}, and the source is {found}: make a table for {found}")]
    Source {
        /// The type of the source.
        found: DType,
        /// The type that the table is for.
        needed: DType,
    },
    /// A scale of a source whose elements have more than 8 bits.
    #[error(
        "scale and bias are for u8 and i8, of which a table says what each becomes, and the source is {found}: convert \
         {found} alone, and scale the result"
    )]
    Scale {
        /// The type of the source.
        found: DType,
    },
    /// An axis that the source does not have.
    #[error("axis {axis} of the conversion is out of range: the source {}", Axes(*.rank))]
    Axis {
        /// The axis.
        axis: isize,
        /// The number of dimensions of the source.
        rank: usize,
    },
    /// More or fewer entries than the axis has positions.
    #[error(
        "{argument} is for {found} positions, but axis {axis} of the source {} has {needed}: give one for each, or one \
         for all",
        Shape(shape)
    )]
    Positions {
        /// `"the table"`, `"scale"` or `"bias"`.
        argument: &'static str,
        /// The number of positions that it is for.
        found: usize,
        /// The axis.
        axis: isize,
        /// The shape of the source.
        shape: Vec<usize>,
        /// The size of the axis.
        needed: usize,
    },
}
