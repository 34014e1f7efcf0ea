//! The operations of vector files. Each operation, or group of similar operations, has one file, which reads its
//! arguments, runs it, and draws its random cases. Its naive version is in `reference`.
//!
//! In addition to TensorFlow's arguments, which `tests/vectors/README.md` lists, a case can have these:
//!
//! | operation | argument | meaning |
//! |---|---|---|
//! | gathers and scatters | `negative: "wrap"` | negative indices count from the end |
//! | gathers, scatters, `crop` and `paste` | `out_of_range: "clamp"` | out-of-range indices move to the nearest end |
//! | operations with a tensor `params`; `concat` and `stack` | `view` | the steps of a view of `params` or `x0` |
//! | `nonzero`, `boolean_mask`, `compress` | `capacity` | the number of rows of the result; unused rows are -1 or 0 |
//! | `crop`, `paste` | `box_indices: "yes"`, `flips: "yes"` | each tuple in `indices` has a box index, or has flips |
//! | `paste` | `circular: "yes"` | positions are taken modulo the sizes of dimensions |
//! | `convert` | `of: "crop"`, `from`, `to`, maybe `astype` or `axis_of_scale`, `scale`, `bias` | the conversion |
//! | `scatter_elements`, `xla_scatter`, `index_update` | `combine: "add"` or `sub`, `mul`, `min`, `max` | updates are combined |
//!
//! The golden vectors do not have the operations `view` (steps alone), `batch_gather`, `gather_elements`, `crop` and
//! `scatter_elements`. Only `convert`, `xla_scatter` and TensorFlow's scatters (`scatter_nd` and `tensor_scatter_nd_…`)
//! can have floating-point elements.

mod array_index;
mod concat;
mod convert;
mod crop;
mod gather;
mod mask;
mod pad;
mod params;
mod roll;
mod scatter;
mod slice;
mod strided_slice;
mod strided_slice_grad;
mod strided_slice_update;
mod tile;
mod view;
mod xla;

pub use array_index::{ArrayIndex, IndexUpdate};
pub use concat::Concat;
pub use convert::Convert;
pub use crop::{BoxTuples, Crop, Paste};
pub use gather::{BatchGather, Gather, GatherElements, GatherNd, Gathering};
pub use mask::Masked;
pub use pad::Pad;
pub use params::Params;
pub use roll::Roll;
pub use scatter::{Rows, ScatterElements, ScatterNd, TensorScatterNd};
pub use slice::Slice;
pub use strided_slice::StridedSlice;
pub use strided_slice_grad::StridedSliceGrad;
pub use strided_slice_update::StridedSliceUpdate;
pub use tile::Tile;
pub use view::View;
pub use xla::{XlaGather, XlaScatter};

use crate::{
    case::{BadLine, Case, Tensor},
    combine::{combine_values, float_type},
    oracle::{Answer, answer_in_range, apply_view_steps, gather_answer, scatter_answer},
    random::{
        Rng,
        draw::{
            MAX_ELEMENTS, disturb_shape, draw_few_dims, draw_integer, draw_policy, draw_rarely,
            draw_shape, draw_spec, draw_tensor, draw_tuples, draw_view_steps, make_tuples_differ,
            shape_of_slice, sometimes_floats, sometimes_unsigned, viewed_shape,
        },
    },
    reference::{self, Gathered, Indexing, ReferenceError, Scattered},
    step::{Step, spec_of},
    variant::{DeviceRun, Started},
};
use gather::random_params;
use params::random_view;
use serde_json::{Map, Value, json};
use std::fmt;
use wgslice::{
    DType, Error, Pending, Report, SliceSpec,
    options::{Combine, GatherElementsOptions, GatherNdOptions, GatherOptions, OutOfRange},
};

/// Converts a number of a case to the library's type. A number that does not fit becomes `isize::MAX`.
fn narrow(number: i64) -> isize {
    isize::try_from(number).unwrap_or(isize::MAX)
}

/// An operation with its arguments.
pub(crate) trait Op<'a>: Sized {
    /// True if the row of an out-of-range index tuple is dropped, as in a scatter, rather than filled with zeros, as in
    /// a gather.
    const DROPS_INVALID_ROWS: bool = false;

    /// The operation's relative frequency among random cases. Operations with more ways to fail are more frequent.
    const RANDOM_WEIGHT: usize = 1;

    /// Reads the arguments from a case of this operation.
    fn from_case(case: &'a Case) -> Result<Self, BadLine>;

    /// Returns the answer of the naive reference.
    fn reference_answer(&self) -> Result<Answer, ReferenceError>;

    /// Starts the operation on a device. The report of a gather or a scatter may still be pending.
    fn run(&self, run: &DeviceRun<'_>) -> Result<Started, Error>;

    /// Draws a random case. Its arguments are usually valid and sometimes invalid.
    fn random_case(operation: Operation, rng: &mut Rng) -> Case;

    /// Returns the index tuples of a gather, a crop or a scatter, and their policies. Returns `None` for other
    /// operations.
    fn tuples_and_indexing(&self) -> Option<(&'a Tensor, Indexing)> {
        None
    }

    /// Returns whether all rows of a scatter go to different slices, so that the caller can promise it.
    fn is_unique(&self) -> bool {
        false
    }

    /// Returns how the operation combines values. The element type must support the computation.
    fn combination(&self) -> Combine {
        Combine::Update
    }

    /// Returns the floating-point type of the values, whose bits the case holds, or `None` if they are integers.
    fn float_type(&self) -> Option<DType> {
        None
    }
}

macro_rules! operations {
    ($($operation:ident($op:ident) = $name:literal,)*) => {
        /// An operation. Most operations are TensorFlow's.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs, reason = "`name` returns the names in vector files")]
        pub enum Operation {
            $($operation),*
        }

        impl Operation {
            /// All operations.
            pub const ALL: &[Self] = &[$(Self::$operation),*];

            /// Returns the operation's name in vector files.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$operation => $name),*
                }
            }

            /// Returns whether the row of an out-of-range index tuple is dropped, as in a scatter, rather than filled
            /// with zeros, as in a gather.
            pub(crate) fn drops_invalid_rows(self) -> bool {
                match self {
                    $(Self::$operation => $op::DROPS_INVALID_ROWS),*
                }
            }

            /// Returns the operation's relative frequency among random cases.
            pub(crate) fn random_weight(self) -> usize {
                match self {
                    $(Self::$operation => $op::RANDOM_WEIGHT),*
                }
            }

            /// Draws a random case. Its arguments are usually valid and sometimes invalid.
            pub(crate) fn random_case(self, rng: &mut Rng) -> Case {
                match self {
                    $(Self::$operation => $op::random_case(self, rng)),*
                }
            }
        }

        /// An operation with its arguments.
        #[allow(missing_docs, reason = "most names are TensorFlow's")]
        #[derive(Clone, Debug)]
        pub enum Call<'a> {
            $($operation($op<'a>)),*
        }

        impl<'a> Call<'a> {
            /// Reads the call from a case.
            ///
            /// # Errors
            ///
            /// Fails if the case lacks an argument or a tensor, or has an invalid one. The error has the line number.
            pub fn of(case: &'a Case) -> Result<Self, BadLine> {
                Ok(match case.op {
                    $(Operation::$operation => Self::$operation($op::from_case(case)?)),*
                })
            }

            pub(crate) fn reference_answer(&self) -> Result<Answer, ReferenceError> {
                match self {
                    $(Self::$operation(op) => op.reference_answer()),*
                }
            }

            pub(crate) fn run(&self, run: &DeviceRun<'_>) -> Result<Started, Error> {
                match self {
                    $(Self::$operation(op) => op.run(run)),*
                }
            }

            /// Returns the index tuples of a gather, a crop or a scatter, and their policies. Returns `None` for other
            /// operations.
            pub fn tuples_and_indexing(&self) -> Option<(&'a Tensor, Indexing)> {
                match self {
                    $(Self::$operation(op) => op.tuples_and_indexing()),*
                }
            }

            /// Returns whether all rows of a scatter go to different slices.
            pub fn is_unique(&self) -> bool {
                match self {
                    $(Self::$operation(op) => op.is_unique()),*
                }
            }

            /// Returns how the operation combines values. The element type must support the computation.
            pub(crate) fn combination(&self) -> Combine {
                match self {
                    $(Self::$operation(op) => op.combination()),*
                }
            }

            /// Returns the floating-point type of the values, or `None` if they are integers.
            pub(crate) fn float_type(&self) -> Option<DType> {
                match self {
                    $(Self::$operation(op) => op.float_type()),*
                }
            }
        }
    };
}

operations! {
    StridedSlice(StridedSlice) = "strided_slice",
    View(View) = "view",
    Slice(Slice) = "slice",
    StridedSliceGrad(StridedSliceGrad) = "strided_slice_grad",
    StridedSliceUpdate(StridedSliceUpdate) = "tensor_strided_slice_update",
    GatherNd(GatherNd) = "gather_nd",
    Gather(Gather) = "gather",
    BatchGather(BatchGather) = "batch_gather",
    GatherElements(GatherElements) = "gather_elements",
    Crop(Crop) = "crop",
    Paste(Paste) = "paste",
    ScatterNd(ScatterNd) = "scatter_nd",
    ScatterElements(ScatterElements) = "scatter_elements",
    XlaGather(XlaGather) = "xla_gather",
    XlaScatter(XlaScatter) = "xla_scatter",
    TensorScatterNdUpdate(TensorScatterNd) = "tensor_scatter_nd_update",
    TensorScatterNdAdd(TensorScatterNd) = "tensor_scatter_nd_add",
    TensorScatterNdSub(TensorScatterNd) = "tensor_scatter_nd_sub",
    TensorScatterNdMin(TensorScatterNd) = "tensor_scatter_nd_min",
    TensorScatterNdMax(TensorScatterNd) = "tensor_scatter_nd_max",
    Concat(Concat) = "concat",
    Stack(Concat) = "stack",
    Pad(Pad) = "pad",
    Roll(Roll) = "roll",
    Tile(Tile) = "tile",
    Repeat(Tile) = "repeat",
    ArrayIndex(ArrayIndex) = "array_index",
    IndexUpdate(IndexUpdate) = "index_update",
    Nonzero(Masked) = "nonzero",
    BooleanMask(Masked) = "boolean_mask",
    Compress(Masked) = "compress",
    Select(Masked) = "select",
    MaskedUpdate(Masked) = "masked_update",
    MaskedScatter(Masked) = "masked_scatter",
    Convert(Convert) = "convert",
}

impl Operation {
    /// Returns the operation with this name in vector files, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|op| op.name() == name)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
