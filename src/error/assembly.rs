//! Errors of concat, stack, pad, roll, tile and repeat.

use super::axes::Axes;
use crate::text::Shape;

/// Arrays that cannot be put together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AssemblyError {
    /// An axis that the arrays do not have.
    #[error("axis is {axis}, but each array {}", Axes(*rank))]
    Axis {
        /// The given axis.
        axis: isize,
        /// The number of dimensions: of the result, in a stack.
        rank: usize,
    },
    /// No array, so that the result has no shape.
    #[error("there are no arrays: pass at least one")]
    NoArrays,
    /// An array whose shape does not go with that of the first.
    #[error(
        "array {number} has shape {}, which must be that of the first, {}{}",
        Shape(found),
        Shape(first),
        except(*axis)
    )]
    ArrayShape {
        /// The number of the array, from 0.
        number: usize,
        /// Its shape.
        found: Vec<usize>,
        /// The shape of the first array.
        first: Vec<usize>,
        /// The dimension in which they may differ.
        axis: Option<usize>,
    },
    /// Sizes of parts that do not add up to the size of the dimension.
    #[error(
        "the sizes {} must add up to {size}, the size of dimension {axis}",
        Shape(sizes)
    )]
    SplitSizes {
        /// The given sizes.
        sizes: Vec<usize>,
        /// The dimension.
        axis: usize,
        /// Its size.
        size: usize,
    },
    /// An argument that does not have a number for each dimension.
    #[error("{argument} has {found} entries, but must have {rank}, one for each dimension of x")]
    Entries {
        /// The name of the argument.
        argument: &'static str,
        /// The number of its entries.
        found: usize,
        /// The number of dimensions.
        rank: usize,
    },
    /// A padding that is longer than what it mirrors or repeats.
    #[error(
        "dimension {dimension} of {size} positions is padded by {padding}, but at most {most} can be {mode}: pad less, \
         or pad twice"
    )]
    Padding {
        /// The dimension.
        dimension: usize,
        /// Its size.
        size: usize,
        /// The number of positions that are added at one end.
        padding: usize,
        /// The most that can be added there.
        most: usize,
        /// What the padding does: `repeated`, `reflected`, and so on.
        mode: &'static str,
    },
    /// Shifts that are not as many as axes.
    #[error("there are {shifts} shifts and {axes} axes: pass a shift for each axis")]
    Shifts {
        /// The number of shifts.
        shifts: usize,
        /// The number of axes.
        axes: usize,
    },
    /// More pieces than can be planned.
    #[error(
        "the result has {pieces} pieces, but at most {most} are put together: pad or roll fewer dimensions at once"
    )]
    Pieces {
        /// The number of pieces.
        pieces: usize,
        /// The most.
        most: usize,
    },
    /// Fewer sources than the pieces are of.
    #[error("there are {found} sources, but the assembly needs at least {needed}")]
    Sources {
        /// The number of given sources.
        found: usize,
        /// The number of needed sources.
        needed: usize,
    },
    /// A value for padding that is no scalar.
    #[error(
        "the constant of a padding has shape {}: it must be a scalar, of shape []",
        Shape(shape)
    )]
    Constant {
        /// The shape of the value.
        shape: Vec<usize>,
    },
}

fn except(axis: Option<usize>) -> String {
    axis.map_or_else(String::new, |axis| {
        format!(" but for dimension {axis}, the axis")
    })
}
