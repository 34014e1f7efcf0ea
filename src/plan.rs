//! A plan: an operation on known shapes, independent of any device.
//!
//! The CPU and the GPU run the same plan. Its [`Walk`] says which unit of the source goes to which unit of the
//! destination, and its [`Effect`] what becomes of the elements of the destination that no unit goes to. `ops/` makes
//! plans, and everything that runs, cuts or describes them reads these two.

use crate::{
    DType, Element, Error, Indices, Report,
    cpu::Threads,
    error,
    ops::{
        convert::Converted,
        index::{IndexType, Policy},
        mask::check_mask,
        scatter_nd::Combine,
    },
    text::{Shape, counted},
    walk::{Dim, Walk},
};
#[cfg(feature = "gpu")]
use std::borrow::Cow;
use std::fmt;

/// What a plan does to the elements of its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Effect {
    /// The walk writes every element of the result: slices, gathers and crops.
    Make,
    /// The elements that the walk does not write keep their values: updates.
    Update,
    /// The elements that the walk does not write become zeros: gradients.
    Fill,
    /// Each row of the walk replaces a slice of the destination, or is combined with it.
    Scatter(Scatter),
    /// The positions of the true elements of a mask are found. There is no walk.
    Find(Find),
}

/// How the true elements of a mask are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Find {
    /// The number of positions that the result has room for.
    pub(crate) capacity: usize,
    /// The type of the numbers of a position.
    pub(crate) index: IndexType,
}

/// How a scatter changes its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Scatter {
    /// The number of slices of the destination.
    pub(crate) slices: usize,
    /// Whether rows are combined with zeros rather than with the destination's old content.
    pub(crate) fresh: bool,
    pub(crate) dtype: DType,
    pub(crate) options: Combining,
}

/// The options of a scatter, with its operation's defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Combining {
    pub(crate) combine: Combine,
    pub(crate) policy: Policy,
    pub(crate) any_order: bool,
    pub(crate) unique: bool,
}

/// The operation that a plan was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    StridedSlice,
    StridedSliceUpdate,
    StridedSliceGrad,
    GatherNd,
    Gather,
    GatherElements,
    Crop,
    Paste,
    ScatterNd,
    TensorScatterNd,
    ScatterElements,
    XlaGather,
    XlaScatter,
    Concat,
    Stack,
    Pad,
    Roll,
    Tile,
    Repeat,
    ArrayIndex,
    Nonzero,
    BooleanMask,
    MaskedUpdate,
}

impl Operation {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::StridedSlice => "strided_slice",
            Self::StridedSliceUpdate => "strided_slice_update",
            Self::StridedSliceGrad => "strided_slice_grad",
            Self::GatherNd => "gather_nd",
            Self::Gather => "gather",
            Self::GatherElements => "gather_elements",
            Self::Crop => "crop",
            Self::Paste => "paste",
            Self::ScatterNd => "scatter_nd",
            Self::TensorScatterNd => "tensor_scatter_nd",
            Self::ScatterElements => "scatter_elements",
            Self::XlaGather => "xla_gather",
            Self::XlaScatter => "xla_scatter",
            Self::Concat => "concat",
            Self::Stack => "stack",
            Self::Pad => "pad",
            Self::Roll => "roll",
            Self::Tile => "tile",
            Self::Repeat => "repeat",
            Self::ArrayIndex => "array_index",
            Self::Nonzero => "nonzero",
            Self::BooleanMask => "boolean_mask",
            Self::MaskedUpdate => "masked_update",
        }
    }
}

/// An operation on arrays of known shapes, ready to run on the CPU or a GPU.
///
/// A plan holds no data and belongs to no device. Constructors:
///
/// | operation | constructor |
/// |---|---|
/// | slices | [`Plan::slice`], [`View::plan`](crate::View::plan) |
/// | gathers | [`Plan::gather_nd`], [`Plan::gather`], [`View::gather_nd`](crate::View::gather_nd), [`View::gather`](crate::View::gather) |
/// | boxes of one size, each at its own position | [`Plan::crop`], [`Plan::paste`], [`View::crop`](crate::View::crop), [`View::paste`](crate::View::paste) |
/// | update and gradient of a slice | [`Plan::slice_update`], [`Plan::slice_grad`] |
/// | single elements by their indices | [`Plan::gather_elements`], [`Plan::scatter_elements`] |
/// | scatters | [`Plan::scatter_nd`], [`Plan::tensor_scatter_nd`] |
/// | by XLA's dimension numbers | [`Plan::xla_gather`], [`Plan::xla_scatter`], [`View::xla_gather`](crate::View::xla_gather) |
/// | elements of a view, written where a mask is true | [`View::masked_update`](crate::View::masked_update) |
///
/// [`Plan::run_cpu`] runs a plan on the CPU, and [`Plan::run_cpu_bytes`] on bytes. [`Gpu::encode`](crate::Gpu::encode) records a
/// plan for a GPU.
///
/// ```
/// use wgslice::{slice, DType, Plan};
///
/// let plan = Plan::slice(&[64, 480, 640, 3], &slice![.., 16..464, ..; -1], DType::U8)?;
/// assert_eq!(plan.shape(), [64, 448, 640, 3]);
/// println!("{plan}");
/// # Ok::<(), wgslice::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Plan {
    pub(crate) operation: Operation,
    /// The shape of the result, or of the array that is changed in place.
    pub(crate) shape: Vec<usize>,
    /// The element type of the result, and of the source unless the plan converts.
    pub(crate) dtype: DType,
    /// The shape of the source: of `input`, `value`, `dy`, `params`, the `x` of a crop, `patches`, or `updates`.
    pub(crate) source: Vec<usize>,
    /// Which unit goes to which unit. `None` if there is nothing to move. A gradient's walk leaves out the elements
    /// that become zeros.
    pub(crate) walk: Option<Walk>,
    pub(crate) effect: Effect,
    /// `None` for plans without indices.
    pub(crate) indices: Option<IndexTensor>,
    /// How elements are converted. The walk is then in elements, on each side in that side's. `None` if they are not.
    pub(crate) conversion: Option<Converted>,
}

/// The index tensor of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct IndexTensor {
    pub(crate) shape: Vec<usize>,
    /// The number of leading dimensions that number the tuples.
    pub(crate) tuple_dims: usize,
    /// The shape of the array that the tuples point into. `None` if they point into the plan's destination.
    pub(crate) target: Option<Vec<usize>>,
    pub(crate) policy: Policy,
    pub(crate) index: IndexType,
}

/// Runs plans on the CPU.
impl Plan {
    /// Runs the plan on the CPU. `source` is the input of a slice, the `params` of a gather, the `x` of a crop, the
    /// updates of a scatter, the patches of a paste, the value of an update or the `dy` of a gradient. `indices` are those
    /// of a gather, a scatter, a crop or a paste (in the order of [`Boxes`](crate::options::Boxes)); a plan that has none
    /// ignores them. `dest`
    /// receives the result, or is the array that the plan changes in place.
    ///
    /// For small arrays, keep the plan and `dest`: planning a slice of a few hundred bytes and allocating its result
    /// take several times as long as moving it.
    ///
    /// ```
    /// use wgslice::{options::GatherOptions, slice, DType, Indices, Plan};
    ///
    /// let flip = Plan::slice(&[2, 3], &slice![.., ..; -1], DType::F32)?;
    /// let mut flipped = [0.0; 6];
    /// flip.run_cpu(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], None, &mut flipped)?;
    /// assert_eq!(flipped, [3.0, 2.0, 1.0, 6.0, 5.0, 4.0]);
    ///
    /// let rows = Plan::gather(&[3, 2], &[2], GatherOptions::default(), DType::F32)?;
    /// let mut gathered = [0.0; 4];
    /// let report = rows.run_cpu(&flipped, Some(Indices::I32(&[1, 7])), &mut gathered)?;
    /// assert_eq!((gathered, report.out_of_range), ([1.0, 6.0, 0.0, 0.0], 1));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// The report counts the tuples that are out of range. If the plan's policy makes them an error, a gather or a crop
    /// has nevertheless written its result, with zeros for what is out of range, and a scatter has changed nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] if the plan is for elements of another type; [`Error::Length`] if `source`, `indices` or
    /// `dest` does not have the length that the plan needs;
    /// [`Error::OutOfRange`] if a tuple is out of range and the plan's
    /// policy makes that an error.
    pub fn run_cpu<T: Element>(
        &self,
        source: &[T],
        indices: Option<Indices<'_>>,
        dest: &mut [T],
    ) -> Result<Report, Error> {
        self.check_dtype::<T>()?;
        let source = T::as_bytes(source);
        if let Some(dest) = T::as_bytes_mut(dest) {
            return self.run_cpu_bytes(source, indices, dest);
        }
        // Booleans, of which not all bytes are one.
        let mut bytes = T::as_bytes(dest).to_vec();
        let report = self.run_cpu_bytes(source, indices, &mut bytes)?;
        T::fill(dest, |values| {
            values.copy_from_slice(&bytes);
            Ok(())
        })?;
        Ok(report)
    }

    /// [`Plan::run_cpu`] on the bytes of elements in the machine's byte order, such as those of a memory map. Their type
    /// is not checked, and they may begin at any address.
    ///
    /// # Errors
    ///
    /// As [`Plan::run_cpu`]; the lengths of `source` and `dest` are in bytes.
    pub fn run_cpu_bytes(
        &self,
        source: &[u8],
        indices: Option<Indices<'_>>,
        dest: &mut [u8],
    ) -> Result<Report, Error> {
        let indices = indices.unwrap_or(Indices::I32(&[]));
        self.run_on_threads(source, indices, dest.into(), Threads::default())
    }

    /// Fails if the plan is for elements of another type than `T`.
    pub(crate) fn check_dtype<T: Element>(&self) -> Result<(), Error> {
        match T::DTYPE == self.dtype && T::DTYPE == self.source_dtype() {
            true => Ok(()),
            false => {
                let needed = match T::DTYPE == self.dtype {
                    true => self.source_dtype(),
                    false => self.dtype,
                };
                Err(error::value::dtype_mismatch("source", T::DTYPE, needed))
            }
        }
    }
}

impl Plan {
    #[cfg(feature = "gpu")]
    pub(crate) fn copy(bytes: usize) -> Self {
        Self::of_view(crate::View::flat(bytes), DType::U8)
    }

    #[cfg(feature = "gpu")]
    pub(crate) fn zeros(bytes: usize) -> Self {
        Self::of_grad(&[bytes], DType::U8, &[0], None)
    }

    /// The shape of the result, or of the array that a plan changes in place.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The element type of the result, and of the source unless the plan [converts](Plan::converted).
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The size of the result, or of the array that a plan changes in place, in bytes.
    pub fn result_bytes(&self) -> usize {
        self.shape.iter().product::<usize>() * self.dtype.size()
    }

    /// Whether the plan changes its destination in place and keeps the bytes that it does not write.
    pub fn is_in_place(&self) -> bool {
        match self.effect {
            Effect::Update => true,
            Effect::Scatter(scatter) => !scatter.fresh,
            Effect::Make | Effect::Fill | Effect::Find(_) => false,
        }
    }

    /// The size of the source in bytes: `input` of a slice, `value` of an update, `dy` of a gradient, `params` of a
    /// gather, `x` of a crop, `updates` of a scatter.
    pub fn source_bytes(&self) -> usize {
        self.source.iter().product::<usize>() * self.source_dtype().size()
    }

    /// The number of bytes that the plan reads and the number that it writes, without the bytes of indices.
    pub(crate) fn moved_bytes(&self) -> (usize, usize) {
        let moved = self.walk.as_ref().map_or(0, Walk::bytes);
        match self.effect {
            Effect::Fill | Effect::Find(_) => (self.source_bytes(), self.result_bytes()),
            Effect::Scatter(Scatter { fresh: true, .. }) => (moved, self.result_bytes()),
            _ if self.conversion.is_some() => (moved, self.result_bytes()),
            _ => (moved, moved),
        }
    }

    /// The number of rows that the plan moves. The whole result of a gradient is one row.
    pub(crate) fn rows(&self) -> usize {
        match (self.effect(), &self.walk) {
            (Effect::Fill, _) => usize::from(self.result_bytes() > 0),
            (_, walk) => walk.as_ref().map_or(0, Walk::rows),
        }
    }

    /// The name of the operation.
    pub(crate) fn name(&self) -> &'static str {
        self.operation.name()
    }

    /// Whether the plan is a slice or a view that moves bytes as they are.
    pub(crate) fn is_slice(&self) -> bool {
        self.operation == Operation::StridedSlice && self.conversion.is_none()
    }

    /// Whether the plan is a slice or a view whose result is the source, byte for byte. Always false for other
    /// operations.
    pub(crate) fn is_identity(&self) -> bool {
        self.contiguous() == Some(0) && self.result_bytes() == self.source_bytes()
    }

    /// If the result of a slice is one contiguous part of the source, the byte of the source where this part begins.
    /// Otherwise, and for all other operations, `None`.
    pub(crate) fn contiguous(&self) -> Option<usize> {
        match &self.walk {
            _ if !self.is_slice() => None,
            // The part may be empty.
            None => Some(0),
            Some(walk) => match walk.dims[..] {
                [Dim { from: 1, .. }] => Some(walk.from.cast_unsigned() * walk.unit),
                _ => None,
            },
        }
    }

    pub(crate) fn effect(&self) -> Effect {
        self.effect
    }

    /// Which unit goes to which unit. `None` if there is nothing to move. A gradient's walk leaves out the elements
    /// that become zeros.
    pub(crate) fn walk(&self) -> Option<&Walk> {
        self.walk.as_ref()
    }

    /// The shapes and the policy of the index tuples of a gather, a crop or a scatter. `None` for plans without
    /// indices.
    pub(crate) fn tuples(&self) -> Option<Tuples<'_>> {
        self.indices.as_ref().map(|indices| {
            let (shape, tuple) = indices.shape.split_at(indices.tuple_dims);
            Tuples {
                indices: &indices.shape,
                shape,
                depth: tuple.iter().product(),
                target: indices.target.as_ref().unwrap_or(&self.shape),
                policy: indices.policy,
                #[cfg(feature = "gpu")]
                index: indices.index,
            }
        })
    }

    /// This plan for indices of type `i32`, `i64` or `u32` on a GPU; plans are made for `i32`. On the CPU, a plan takes
    /// indices of every type.
    ///
    /// Only [`Gpu::prepare`](crate::Gpu::prepare) needs to be told: it prepares a plan for this type, while recording
    /// calls know the type of the indices that they are given.
    ///
    /// ```
    /// use wgslice::{options::GatherOptions, DType, Plan};
    ///
    /// let plan = Plan::gather(&[50_000, 768], &[512], GatherOptions::default(), DType::F16)?
    ///     .for_indices(DType::I64)?;
    /// # let _ = plan;
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for another type. The mask of a masked update is bool or u8.
    pub fn for_indices(self, index: DType) -> Result<Self, Error> {
        let index = self.index_type_of(index, "indices")?;
        Ok(self.of_index_type(index))
    }

    /// The type of index tensors of this element type, or of a mask in a masked update. The error calls them `argument`.
    pub(crate) fn index_type_of(
        &self,
        found: DType,
        argument: &'static str,
    ) -> Result<IndexType, Error> {
        match self.operation {
            Operation::MaskedUpdate => check_mask(found).map(|()| IndexType::Mask),
            _ => IndexType::of(found, argument),
        }
    }

    fn of_index_type(self, index: IndexType) -> Self {
        Self {
            indices: self.indices.map(|indices| IndexTensor { index, ..indices }),
            ..self
        }
    }

    /// The same plan, or a copy if its indices are of another type.
    #[cfg(feature = "gpu")]
    pub(crate) fn with_indices_of(&self, index: IndexType) -> Cow<'_, Self> {
        match &self.indices {
            Some(indices) if indices.index != index => {
                Cow::Owned(self.clone().of_index_type(index))
            }
            _ => Cow::Borrowed(self),
        }
    }

    /// The type of the indices on a GPU. I32 for plans without indices.
    #[cfg(feature = "gpu")]
    pub(crate) fn index_type(&self) -> IndexType {
        let indices = self.indices.as_ref();
        indices.map_or(IndexType::I32, |indices| indices.index)
    }

    /// The size in bytes of all indices on a GPU. 0 for plans without indices.
    #[cfg(feature = "gpu")]
    pub(crate) fn index_bytes(&self) -> usize {
        self.tuples()
            .map_or(0, |tuples| tuples.integers() * tuples.index.bytes())
    }

    /// How the plan treats negative and out-of-range indices. [`Policy::default`] for plans without indices.
    pub(crate) fn policy(&self) -> Policy {
        let indices = self.indices.as_ref();
        indices.map(|indices| indices.policy).unwrap_or_default()
    }

    /// The number of integers in an index tuple. 0 for plans without indices.
    pub(crate) fn depth(&self) -> usize {
        self.tuples().map_or(0, |tuples| tuples.depth)
    }
}

pub(crate) struct Tuples<'a> {
    /// The shape of the index tensor.
    pub(crate) indices: &'a [usize],
    /// The leading dimensions of `indices`, which number the tuples.
    pub(crate) shape: &'a [usize],
    /// The number of integers in a tuple.
    pub(crate) depth: usize,
    /// The shape of the array that the tuples point into.
    pub(crate) target: &'a [usize],
    pub(crate) policy: Policy,
    #[cfg(feature = "gpu")]
    pub(crate) index: IndexType,
}

impl Tuples<'_> {
    pub(crate) fn integers(&self) -> usize {
        self.indices.iter().product()
    }
}

/// Prints one line: the operation, its shapes, and its rows and units.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, bytes) = (self.name(), self.result_bytes());
        let printed = self.printed_shape();
        let (source, shape) = (Shape(&self.source), Shape(&printed));
        write!(f, "{name} {source} -> {shape}: ")?;
        let Some(walk) = &self.walk else {
            return match bytes {
                _ if matches!(self.effect, Effect::Find(_)) => f.write_str("a search in a mask"),
                zeros if zeros > 0 && !self.is_in_place() => {
                    write!(f, "no rows, {} of zeros", counted(zeros, "byte", "bytes"))
                }
                _ => f.write_str("empty"),
            };
        };
        let unit = counted(walk.unit, "byte", "bytes");
        if self.effect == Effect::Fill {
            let zeros = bytes / walk.unit - walk.units();
            let kept = counted(walk.units(), "unit", "units");
            return write!(f, "{kept} of {unit} and {zeros} of zeros");
        }
        let run = walk.run();
        let rows = counted(walk.rows(), "row", "rows");
        let units = counted(run.size, "unit", "units");
        write!(f, "{rows} of {units} of {unit}, step {}", run.from)
    }
}
