//! A plan: an operation on known shapes, independent of any device.
//!
//! The CPU and the GPU run the same plan. Every operation moves `count` rows of `run` units. In the source,
//! neighbouring units of a row are `step` units apart. The rows of a slice or a gather fill the result in order, and a
//! [`Map`] says where each row begins in the source. The rows of a scatter fill `updates` in order, and the map says
//! where each row goes. The map of an update says where each row begins and where it goes. A gradient has a single row,
//! the whole result, and its map says which units come from `dy`. `ops/` makes the maps. Each kind of map is walked by
//! one file in Rust (`cpu/`) and one in WGSL (`shaders/`).

use crate::{
    DType,
    layout::Axis,
    ops::{
        crop,
        index::Policy,
        indexed,
        scatter_nd::{self, ScatterOptions},
        strided_slice,
    },
    pairs::Pairs,
    text::{Shape, counted},
    walk::{Along, Begin, Coordinate, Dim, Side, Walk},
};
use std::fmt;
#[cfg(feature = "gpu")]
use {crate::ops::index::IndexType, std::borrow::Cow};

/// The number and the form of the rows that a plan moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Rows {
    /// The size of a unit in bytes: 1, 2, 4, 8 or 16.
    pub(crate) unit: usize,
    /// The number of rows. 0 if the plan has nothing to move.
    pub(crate) count: usize,
    /// The number of units of a row; at least 1.
    pub(crate) run: usize,
    /// The distance between neighbouring units of a row in the source, in units. Negative if the row is read backwards,
    /// 0 if one unit repeats.
    pub(crate) step: isize,
}

impl Rows {
    /// No rows, for a plan that has nothing to move.
    pub(crate) const NONE: Self = Self::single(1, 0);

    /// Rows of a single unit, which has `unit` bytes.
    pub(crate) const fn single(unit: usize, count: usize) -> Self {
        Self {
            unit,
            count,
            run: 1,
            step: 1,
        }
    }

    /// The rows that copy the units of [`Pairs`]: the positions of the innermost dimension of the pairs make up a row.
    pub(crate) fn of_pairs(pairs: &Pairs) -> Self {
        let (run, outer) = pairs.run();
        Self {
            unit: pairs.unit,
            count: outer.iter().map(|axis| axis.size).product(),
            run: run.size,
            step: run.from,
        }
    }

    /// A row's units as an axis of the source, with its stride in units.
    pub(crate) fn run_axis(&self) -> Axis {
        Axis {
            size: self.run,
            stride: self.step,
        }
    }

    /// Splits each unit into `factor` smaller ones. Rows whose units are contiguous in the source keep their length in
    /// bytes, and the result is `None`. Otherwise each old unit becomes a row, and the caller must add the returned
    /// axis to its map. This axis numbers the new rows within an old row, and its stride counts old units.
    #[cfg(feature = "gpu")]
    pub(crate) fn split_units(&mut self, factor: usize) -> Option<Axis> {
        let apart = (self.step != 1).then(|| self.run_axis());
        if let Some(apart) = apart {
            self.count *= apart.size;
            (self.run, self.step) = (1, 1);
        }
        self.unit /= factor;
        self.run *= factor;
        apart
    }

    pub(crate) fn units(&self) -> usize {
        self.count * self.run
    }

    /// A row's units as the innermost dimension of a walk, contiguous in the destination.
    fn run_dim(&self) -> Dim {
        Dim {
            size: self.run,
            from: self.step,
            to: 1,
            tuple: 0,
        }
    }
}

/// Where rows begin in the source, where they are written, or both. Operations that locate rows in the same way share a
/// variant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Map {
    StridedSlice(strided_slice::Map),
    /// Which unit of the value goes to which unit of the destination. `None` if the slice is empty.
    StridedSliceUpdate(Option<Pairs>),
    /// Which unit of `dy` goes to which unit of the result. `None` if the slice is empty: then the result is all zeros.
    StridedSliceGrad(Option<Pairs>),
    Indexed(indexed::Map),
    Crop(crop::Map),
    ScatterNd(scatter_nd::Map),
}

impl Map {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::StridedSlice(_) => "strided_slice",
            Self::StridedSliceUpdate(_) => "strided_slice_update",
            Self::StridedSliceGrad(_) => "strided_slice_grad",
            Self::Indexed(map) => map.name,
            Self::Crop(map) => map.gather.name,
            Self::ScatterNd(map) => map.name,
        }
    }

    /// Describes the merged dimensions with their sizes and strides, for the line `form` of [`Plan::explain`]. For a
    /// scatter, also describes its rows and slices.
    pub(crate) fn form(&self, rows: &Rows) -> String {
        match self {
            Self::StridedSliceUpdate(Some(pairs)) | Self::StridedSliceGrad(Some(pairs)) => {
                pairs.form()
            }
            Self::ScatterNd(map) => map.form(rows),
            Self::StridedSliceUpdate(None) | Self::StridedSliceGrad(None) => NOTHING.into(),
            _ if rows.count == 0 => NOTHING.into(),
            Self::StridedSlice(map) => map.form(rows),
            Self::Indexed(map) => map.form(rows, ""),
            Self::Crop(map) => map.form(rows),
        }
    }
}

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
}

/// How a scatter changes its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Scatter {
    /// The number of slices of the destination.
    pub(crate) slices: usize,
    /// Whether rows are combined with zeros rather than with the destination's old content.
    pub(crate) fresh: bool,
    pub(crate) dtype: DType,
    pub(crate) options: ScatterOptions,
}

/// [`Map::form`] of a plan that selects no element.
const NOTHING: &str = "nothing is selected";

/// An operation on arrays of known shapes, ready to run on the CPU or a GPU.
///
/// A plan holds no data and belongs to no device. Constructors:
///
/// | operation | constructor |
/// |---|---|
/// | slices | [`Plan::slice`], [`Plan::slice_block`], [`View::plan`](crate::View::plan) |
/// | gathers | [`Plan::gather_nd`], [`Plan::gather`], [`View::gather_nd`](crate::View::gather_nd), [`View::gather`](crate::View::gather) |
/// | boxes of one size, each at its own position | [`Plan::crop`], [`View::crop`](crate::View::crop) |
/// | update and gradient of a slice | [`Plan::slice_update`], [`Plan::slice_grad`] |
/// | single elements by their indices | [`Plan::gather_elements`], [`Plan::scatter_elements`] |
/// | scatters | [`Plan::scatter_nd`], [`Plan::tensor_scatter_nd`] |
///
/// [`Plan::run_cpu`] and [`Plan::run_cpu_with`] run a plan on the CPU. [`Gpu::encode`](crate::Gpu::encode),
/// [`Gpu::encode_gather`](crate::Gpu::encode_gather) and [`Gpu::encode_scatter`](crate::Gpu::encode_scatter) record a
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
    /// The shape of the result, or of the array that is changed in place.
    pub(crate) shape: Vec<usize>,
    /// The size of an element in bytes.
    pub(crate) element: usize,
    /// The shape of the source: of `input`, `value`, `dy`, `params`, the `x` of a crop, or `updates`.
    pub(crate) source: Vec<usize>,
    pub(crate) rows: Rows,
    pub(crate) map: Map,
}

impl Plan {
    #[cfg(feature = "gpu")]
    pub(crate) fn copy(bytes: usize) -> Self {
        Self::of_view(crate::View::flat(bytes), 1)
    }

    #[cfg(feature = "gpu")]
    pub(crate) fn zeros(bytes: usize) -> Self {
        Self::of_grad(&[bytes], 1, &[0], None)
    }

    /// The shape of the result, or of the array that a plan changes in place.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The size of the result, or of the array that a plan changes in place, in bytes.
    pub fn result_bytes(&self) -> usize {
        self.shape.iter().product::<usize>() * self.element
    }

    /// Whether the plan changes its destination in place and keeps the bytes that it does not write.
    pub fn is_in_place(&self) -> bool {
        match &self.map {
            Map::StridedSliceUpdate(_) => true,
            Map::ScatterNd(map) => !map.fresh,
            Map::StridedSlice(_) | Map::StridedSliceGrad(_) => false,
            Map::Indexed(_) | Map::Crop(_) => false,
        }
    }

    /// The size of the source in bytes: `input` of a slice, `value` of an update, `dy` of a gradient, `params` of a
    /// gather, `x` of a crop, `updates` of a scatter.
    pub fn source_bytes(&self) -> usize {
        self.source.iter().product::<usize>() * self.element
    }

    /// The number of bytes that the plan reads and the number that it writes, without the bytes of indices.
    pub(crate) fn moved_bytes(&self) -> (usize, usize) {
        let moved = self.rows.units() * self.rows.unit;
        match &self.map {
            Map::StridedSliceGrad(_) => (self.source_bytes(), self.result_bytes()),
            Map::ScatterNd(map) if map.fresh => (moved, self.result_bytes()),
            _ => (moved, moved),
        }
    }

    /// Whether the plan is a slice or a view whose result is the source, byte for byte. Always false for other
    /// operations.
    pub fn is_identity(&self) -> bool {
        self.contiguous() == Some(0) && self.result_bytes() == self.source_bytes()
    }

    /// If the result of a slice is one contiguous part of the source, the byte of the source where this part begins.
    /// Otherwise, and for all other operations, `None`.
    pub(crate) fn contiguous(&self) -> Option<usize> {
        match &self.map {
            Map::StridedSlice(map) if map.axes.is_empty() && self.rows.step == 1 => {
                Some(map.offset * self.rows.unit)
            }
            _ => None,
        }
    }

    /// The plan's rows and map in units of at most `unit` bytes, for buffers whose alignment is smaller than the plan's
    /// own unit.
    #[cfg(feature = "gpu")]
    pub(crate) fn in_units_of(&self, unit: usize) -> (Rows, Cow<'_, Map>) {
        let mut rows = self.rows;
        let factor = rows.unit / unit.min(rows.unit);
        if factor == 1 {
            return (rows, Cow::Borrowed(&self.map));
        }
        let mut map = self.map.clone();
        match &mut map {
            Map::StridedSliceUpdate(Some(pairs)) => {
                *pairs = pairs.narrowed(factor);
                rows = Rows::of_pairs(pairs);
            }
            Map::StridedSliceUpdate(None) => {}
            Map::StridedSliceGrad(pairs) => {
                *pairs = pairs.as_ref().map(|pairs| pairs.narrowed(factor));
                rows.split_units(factor);
            }
            Map::StridedSlice(map) => map.split_units(&mut rows, factor),
            Map::Indexed(map) => map.split_units(&mut rows, factor),
            Map::Crop(map) => map.gather.split_units(&mut rows, factor),
            // The strides of a scatter count slices of the destination, not units, and stay as they are.
            Map::ScatterNd(_) => drop(rows.split_units(factor)),
        }
        (rows, Cow::Owned(map))
    }

    /// The name of the operation.
    pub(crate) fn name(&self) -> &'static str {
        self.map.name()
    }

    pub(crate) fn effect(&self) -> Effect {
        match &self.map {
            Map::StridedSlice(_) | Map::Indexed(_) | Map::Crop(_) => Effect::Make,
            Map::StridedSliceUpdate(_) => Effect::Update,
            Map::StridedSliceGrad(_) => Effect::Fill,
            Map::ScatterNd(map) => Effect::Scatter(Scatter {
                slices: map.slices,
                fresh: map.fresh,
                dtype: map.dtype,
                options: map.options,
            }),
        }
    }

    /// Which unit goes to which unit. `None` if there is nothing to move. A gradient's walk leaves out the elements that
    /// become zeros.
    pub(crate) fn walk(&self) -> Option<Walk> {
        let rows = &self.rows;
        if rows.count == 0 {
            return None;
        }
        let mut walk = match &self.map {
            Map::StridedSlice(map) => {
                let dims = map.axes.iter().map(|axis| Dim {
                    size: axis.size,
                    from: axis.stride,
                    to: 0,
                    tuple: 0,
                });
                let dims = dims.chain([rows.run_dim()]).collect();
                Walk::strided(rows.unit, map.offset.cast_signed(), 0, dense(dims))
            }
            Map::StridedSliceUpdate(pairs) | Map::StridedSliceGrad(pairs) => {
                let pairs = pairs.as_ref()?;
                let dims = pairs.axes.iter().map(|axis| Dim {
                    size: axis.size,
                    from: axis.from,
                    to: axis.to.cast_signed(),
                    tuple: 0,
                });
                let mut dims: Vec<_> = dims.collect();
                if dims.is_empty() {
                    dims.push(Dim::ONE);
                }
                Walk::strided(
                    pairs.unit,
                    pairs.from.cast_signed(),
                    pairs.to.cast_signed(),
                    dims,
                )
            }
            Map::Indexed(map) => indexed_walk(map, rows),
            Map::Crop(map) => {
                let mut walk = indexed_walk(&map.gather, rows);
                let dims = map.extents.len();
                if !map.boxes.box_indices {
                    walk.coordinates.remove(0);
                }
                let first = map.first_begin();
                let of_crop = walk.coordinates.iter_mut().rev().take(dims).rev();
                for (d, (coordinate, extent)) in of_crop.zip(&map.extents).enumerate() {
                    coordinate.begin = Begin::Column(first + d);
                    coordinate.along = Some(Along {
                        dim: 1 + d,
                        step: extent.step,
                        extent: extent.size,
                        first: 0,
                        flip: map.boxes.flips.then_some(first + dims + d),
                    });
                }
                walk.columns = map.gather.indices[1];
                walk
            }
            Map::ScatterNd(map) => {
                let run = rows.run.cast_signed();
                let mut dims = Vec::new();
                let (mut from, mut tuple) = (run, 1);
                let alone = [Axis {
                    size: rows.count,
                    stride: 0,
                }];
                let walked = if map.walk.is_empty() {
                    &alone[..]
                } else {
                    &map.walk
                };
                for axis in walked.iter().rev() {
                    dims.push(Dim {
                        size: axis.size,
                        from,
                        to: axis.stride * run,
                        tuple,
                    });
                    from *= axis.size.cast_signed();
                    tuple *= axis.size;
                }
                dims.reverse();
                dims.push(rows.run_dim());
                let mut walk = Walk::strided(rows.unit, 0, 0, dims);
                let axes = map.axes.iter().enumerate();
                walk.coordinates = axes
                    .map(|(column, axis)| Coordinate::indexed(axis.size, axis.stride * run, column))
                    .collect();
                walk.points = Side::Dest;
                walk.columns = map.axes.len();
                walk.counts = true;
                walk
            }
        };
        walk.merge();
        Some(walk)
    }

    /// Whether no element of the source can be read: the source is empty, or an indexed dimension of a gather or a crop
    /// has size 0.
    #[cfg(feature = "gpu")]
    pub(crate) fn reads_nothing(&self) -> bool {
        let nowhere = match &self.map {
            Map::Indexed(map) | Map::Crop(crop::Map { gather: map, .. }) => {
                map.coordinates.iter().any(|axis| axis.size == 0)
            }
            _ => false,
        };
        nowhere || self.source_bytes() == 0
    }

    /// The shapes and the policy of the index tuples of a gather, a crop or a scatter. `None` for plans without
    /// indices.
    pub(crate) fn tuples(&self) -> Option<Tuples<'_>> {
        match &self.map {
            Map::StridedSlice(_) | Map::StridedSliceUpdate(_) | Map::StridedSliceGrad(_) => None,
            Map::Indexed(map) => Some(Tuples {
                indices: &map.indices,
                shape: &map.indices[..map.tuple_dims],
                depth: map.coordinates.len(),
                target: &map.params,
                policy: map.policy,
            }),
            Map::Crop(map) => Some(Tuples {
                indices: &map.gather.indices,
                shape: &map.gather.indices[..1],
                depth: map.gather.indices[1],
                target: &map.gather.params,
                policy: map.gather.policy,
            }),
            Map::ScatterNd(map) => Some(Tuples {
                indices: &map.indices,
                shape: &map.indices[..map.tuple_dims],
                depth: map.axes.len(),
                target: &self.shape,
                policy: map.policy(),
            }),
        }
    }

    /// The size in bytes of all indices in this integer type. 0 for plans without indices.
    #[cfg(feature = "gpu")]
    pub(crate) fn index_bytes(&self, index: IndexType) -> usize {
        self.tuples()
            .map_or(0, |tuples| tuples.integers() * index.bytes())
    }

    /// How the plan treats negative and out-of-range indices. [`Policy::default`] for plans without indices.
    #[cfg(feature = "gpu")]
    pub(crate) fn policy(&self) -> Policy {
        self.tuples()
            .map(|tuples| tuples.policy)
            .unwrap_or_default()
    }

    /// The number of integers in an index tuple. 0 for plans without indices.
    pub(crate) fn depth(&self) -> usize {
        self.tuples().map_or(0, |tuples| tuples.depth)
    }
}

/// The dimensions with the distances in the destination that fill it in row-major order.
fn dense(mut dims: Vec<Dim>) -> Vec<Dim> {
    let mut to = 1;
    for dim in dims.iter_mut().rev() {
        dim.to = to;
        to *= dim.size.cast_signed();
    }
    dims
}

/// The walk of a gather whose rows fill the result.
fn indexed_walk(map: &indexed::Map, rows: &Rows) -> Walk {
    let mut tuple = 1;
    let mut dims = vec![rows.run_dim()];
    for dimension in map.walk.iter().rev() {
        dims.push(Dim {
            size: dimension.size,
            from: dimension.stride,
            to: 0,
            tuple: if dimension.repeats { 0 } else { tuple },
        });
        if !dimension.repeats {
            tuple *= dimension.size;
        }
    }
    dims.reverse();
    let mut walk = Walk::strided(rows.unit, map.offset.cast_signed(), 0, dense(dims));
    let axes = map.coordinates.iter().enumerate();
    walk.coordinates = axes
        .map(|(column, axis)| Coordinate::indexed(axis.size, axis.stride, column))
        .collect();
    walk.columns = map.coordinates.len();
    walk.counts = true;
    walk
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
}

impl Tuples<'_> {
    pub(crate) fn integers(&self) -> usize {
        self.indices.iter().product()
    }
}

/// Prints one line: the operation, its shapes, and its rows and units.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rows {
            unit,
            count,
            run,
            step,
        } = self.rows;
        let name = self.map.name();
        let (source, shape) = (Shape(&self.source), Shape(&self.shape));
        let bytes = counted(unit, "byte", "bytes");
        write!(f, "{name} {source} -> {shape}: ")?;
        if count == 0 {
            return match self.result_bytes() {
                zeros if zeros > 0 && !self.is_in_place() => {
                    write!(f, "no rows, {} of zeros", counted(zeros, "byte", "bytes"))
                }
                _ => f.write_str("empty"),
            };
        }
        if let Map::StridedSliceGrad(pairs) = &self.map {
            let kept = pairs.as_ref().map_or(0, Pairs::units);
            let zeros = run - kept;
            let kept = counted(kept, "unit", "units");
            return write!(f, "{kept} of {bytes} and {zeros} of zeros");
        }
        let (rows, units) = (counted(count, "row", "rows"), counted(run, "unit", "units"));
        write!(f, "{rows} of {units} of {bytes}, step {step}")
    }
}
