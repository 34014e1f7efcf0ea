//! Decides how a walk runs on a GPU: which kernel runs it, in which units, and which units each invocation moves. A run
//! is the units of a row; a row extends along the innermost dimension.
//!
//! | walk | kernel | units |
//! |---|---|---|
//! | all distances are multiples of 4 bytes | `copy` | 4, 8, 12 (pixels of three words) or 16 bytes |
//! | dense destination | `copy_words` | elements of 1, 2 or 3 bytes, or words of bytes that are adjacent in the source |
//! | destination with gaps | `update_words` | elements of 1, 2 or 3 bytes |
//! | dense destination of another type | `convert` | words of elements of the result |
//!
//! The choice of the kernel does not depend on the adapter. Some numbers do: see [`Tuning`].
//!
//! # Lanes and tiles
//!
//! The numbers for GPUs are estimates, not measurements. To use the whole bandwidth, each multiprocessor must have 15
//! to 30 KiB in flight at all times: bandwidth times latency, with 4.8 TB/s and 0.7 µs on a GPU of 132 multiprocessors.
//! An invocation loads nothing while it computes. So each invocation loads four units or four groups of elements before
//! it stores the first:
//!
//! - Usually all four are in one row, which is then looked up once: `lanes` neighbouring invocations take a tile of
//!   four units for each lane. Memory transfers sectors of 32 bytes, and a cache line has 128 bytes.
//! - They are in four rows (`ROWS`) if the lanes of a tile would load less than a sector of one row at a time. They are
//!   also in four rows in a transpose, where neighbours in a row are far apart in the source, but neighbours in a
//!   column are adjacent. Then `lanes` units fill a sector of the result, and the lanes of a workgroup together use
//!   every byte of each sector.
//!
//! On a software adapter, starting an invocation takes longer than a loop. So one lane moves a whole tile of up to 512
//! units in a loop, even in transposes.

use super::{
    caps::{DispatchLimits, Tuning, VECTOR_BYTES},
    dispatch::{BoundRange, TABLES, WalkDispatch},
    program::{Constant, Kernel, Prelude, Program},
    tuples::{TupleArgument, is_plain},
    uniforms::{
        CoordinateWords, DimWords, MAX_COORDINATES, MAX_CROPPED_DIMS, MAX_DIMS, NO_NUMBER,
        RUN_DIMENSION, WalkWords, count_word, high_bits, wrapped_word,
    },
};
use crate::{
    DType,
    number::ON_GPU,
    ops::{
        convert::{PlanConversion, PositionTables},
        index::IndexType,
    },
    walk::{BoxExtent, Coordinate, Dim, Side, StartIndex, Walk},
};

/// The smallest amount of memory that a GPU transfers, in bytes.
const SECTOR_BYTES: usize = 32;

/// The largest number of invocations that share a tile.
const MAX_LANES: usize = 64;

/// The approximate number of invocations that a large GPU runs at the same time: 132 multiprocessors with 2,048 each.
const INVOCATIONS_OF_LARGE_GPU: usize = 1 << 18;

/// The values of `BYTES` in `copy_words.wgsl`.
const BYTES_FORWARD: u32 = 1;
const BYTES_BACKWARD: u32 = 2;
const BYTES_BY_TUPLE: u32 = 3;
const BYTES_SQUARE: u32 = 4;

/// The value of `EDGES` in `convert.wgsl` for rows with fewer elements than a word.
const EDGES_SHORT: u32 = 2;

/// The maximum distance in bytes between neighbouring elements of a run in the destination, for `update_words`. If the
/// elements are farther apart and the run is not cropped, each element becomes a row.
const MAX_RUN_TO: isize = 16;

/// If the run is cropped, the size of the cropped dimension and the reach of its boxes are below this number, because
/// the shaders compare positions along it in 32 bits.
const MAX_CROPPED: usize = 1 << 30;

/// Returns whether the environment variable `WGSLICE_REFUSE`, a list of names separated by commas, contains the
/// kernel's name. If so, a more general kernel runs its walks. `bash tests/run hardware --leave-one-out` uses this to
/// measure the benefit of each kernel.
#[cfg(feature = "test-seams")]
fn is_refused(kernel: Kernel) -> bool {
    static REFUSED_KERNELS: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    let refused =
        REFUSED_KERNELS.get_or_init(|| std::env::var("WGSLICE_REFUSE").unwrap_or_default());
    refused.split(',').any(|name| name == kernel.name())
}

#[cfg(not(feature = "test-seams"))]
fn is_refused(_: Kernel) -> bool {
    false
}

/// The division of a walk's rows among the invocations of a kernel.
#[derive(Clone, Copy, Debug)]
struct LaunchGrid {
    /// The number of rows from which an invocation moves units together: 1 or 4.
    rows_per_invocation: u32,
    lanes: usize,
    segment: usize,
    segments: usize,
    groups: usize,
}

/// The bindings and the tuples of a walk. A launch needs them in addition to the walk.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaunchSite<'a> {
    pub(super) limits: &'a DispatchLimits,
    pub(super) source: BoundRange,
    pub(super) dest: BoundRange,
    /// The widest unit that can be loaded from the source: 4 bytes if the walk reads nothing and fewer than 16 bytes of
    /// the source are bound, otherwise 16.
    pub(super) widest_unit: usize,
    /// `None` if the walk has no tuples.
    pub(super) tuples: Option<TupleArgument>,
}

impl LaunchSite<'_> {
    /// Makes the dispatch of a walk. The walk is in units of one byte, and its bases count from the beginning of the
    /// bindings. Returns `None` if the walk has too many dimensions or rows and must be cut.
    pub(super) fn launch_walk(&self, walk: &Walk) -> Option<WalkDispatch> {
        let mut walk = walk.clone();
        if walk.coordinates.iter().any(|c| c.window.count == 0) {
            // The walk reads nothing, so the distances in the source can be the same as in the destination.
            for dim in &mut walk.dims {
                dim.from = dim.to;
            }
        }
        walk.merge();
        let contiguous = walk.contiguous();
        let unit = [16, 8, 4]
            .into_iter()
            .find(|&unit| unit <= self.widest_unit && walk.can_join(unit));
        let unit = match unit {
            Some(4)
                if contiguous == 12 && self.widest_unit == VECTOR_BYTES && walk.can_join(12) =>
            {
                Some(12)
            }
            unit => unit,
        };
        if let Some(unit) = unit {
            return self.launch_copy(walk, unit);
        }
        match walk.is_dense() && !is_refused(Kernel::CopyWords) {
            true => self.copy_words(walk),
            false => self.update_words(walk),
        }
    }

    fn launch_copy(&self, mut walk: Walk, unit: usize) -> Option<WalkDispatch> {
        walk.join(unit);
        let mut rows = RunWalk::from_walk(walk);
        let (run, loops) = (rows.run.size, self.limits.tuning.loops);
        // The number of lanes for a row if each lane moves four units.
        let tile_lanes = run.div_ceil(4).next_power_of_two();
        let near_dim = rows.near_dimension(1, SECTOR_BYTES.div_ceil(unit).cast_signed());
        if let Some(near_dim) = near_dim {
            rows.bring_last(near_dim);
        }
        let row_count = rows.walk.units();
        let grid = match near_dim {
            Some(_) if !loops => self.four_row_grid(row_count, run, (SECTOR_BYTES / unit).max(2)),
            None if tile_lanes * unit < SECTOR_BYTES && !(loops && run >= 4) => {
                self.four_row_grid(row_count, run, MAX_LANES)
            }
            _ => self.tile_grid(row_count, run),
        };
        let constants = [(Constant::Rows, grid.rows_per_invocation)];
        self.finish_dispatch(Kernel::Copy, Prelude::Unit(unit), &constants, &rows, grid)
    }

    fn copy_words(&self, walk: Walk) -> Option<WalkDispatch> {
        let contiguous = walk.contiguous();
        // Pixels of up to three bytes are moved as elements. Elements of two bytes require that the result begins at an
        // even byte.
        let element = match contiguous {
            3 => 3,
            2 if walk.to % 2 == 0 => 2,
            _ if contiguous > 3 && walk.can_join(2) => 2,
            _ => 1,
        };
        let straddles = element == 3 || element == 2 && !walk.can_join(2);
        let mut rows = RunWalk::from_elements(walk, element);
        rows.begin_groups(element)?;
        let (walk, run, head) = (&rows.walk, &rows.run, rows.head);
        let row_count = walk.units();
        let element_bytes = element.cast_signed();
        let is_short = run.size < 4;
        let groups = (run.size + head).div_ceil(4);
        let innermost = walk.dims.last();
        let has_few_units = shares_pipelines(row_count * run.size, &self.limits.tuning);
        let is_square = element == 1
            && !has_few_units
            && !is_short
            && head == 0
            && run.size.is_multiple_of(4)
            && rows.cropped_coordinate.is_none()
            && innermost.is_some_and(|dim| dim.from == 1 && dim.size >= 3 && dim.tuple == 0)
            && !walk.is_cropped(walk.dims.len() - 1);
        // The number of a row determines its position in the result, so the dimensions cannot be reordered.
        let near_dim = rows.near_dimension(element_bytes, SECTOR_BYTES.cast_signed());
        let grid = match is_short {
            true => self.lane_grid((row_count * run.size + head).div_ceil(4), 1, 1, 1),
            false if is_square || near_dim.is_some_and(|d| d + 1 == walk.dims.len()) => {
                let quads =
                    innermost.map_or(row_count, |dim| row_count / dim.size * dim.size.div_ceil(4));
                let lanes = match run.from.unsigned_abs() < SECTOR_BYTES {
                    true => MAX_LANES,
                    false if is_square => SECTOR_BYTES / 4,
                    false => 4,
                };
                self.four_row_grid(quads * 4, groups, lanes)
            }
            false => self.tile_grid(row_count, groups),
        };
        let byte_order = match rows.source_step() {
            _ if is_short || has_few_units => 0,
            _ if is_square => BYTES_SQUARE,
            Some(step) if step == element_bytes && element < 3 => BYTES_FORWARD,
            Some(-1) if element == 1 => BYTES_BACKWARD,
            None if element == 1 => BYTES_BY_TUPLE,
            _ => 0,
        };
        // If all distances are whole words, four bytes that are loaded together are in one word.
        let is_aligned = byte_order == BYTES_SQUARE && {
            let last_dim = walk.dims.len() - 1;
            let dim_strides = walk.dims[..last_dim].iter().map(|dim| dim.from);
            let strides = dim_strides.chain(walk.coordinates.iter().map(|c| c.stride));
            let mut distances = strides.chain([walk.from, run.from]);
            distances.all(|distance| distance % 4 == 0)
        };
        let straddles = straddles || byte_order != 0 && !is_aligned;
        let constants = [
            (Constant::Rows, grid.rows_per_invocation),
            (Constant::Element, count_word(element)),
            (Constant::Short, u32::from(is_short)),
            (Constant::Straddles, u32::from(straddles)),
            (Constant::Bytes, byte_order),
        ];
        self.finish_dispatch(Kernel::CopyWords, Prelude::None, &constants, &rows, grid)
    }

    fn update_words(&self, walk: Walk) -> Option<WalkDispatch> {
        let element = match walk.contiguous() {
            element @ (2 | 3) => element,
            _ => 1,
        };
        let mut rows = RunWalk::from_elements(walk, element);
        if rows.cropped_coordinate.is_none() && rows.run.to > MAX_RUN_TO {
            // An invocation would also write the words between the row's elements, which belong to other rows. So each
            // element becomes a row.
            rows.walk.dims.push(rows.run);
            rows.run = Dim::ONE_POSITION;
        }
        if rows.run.size == 1 {
            rows.run.to = element.cast_signed();
        }
        let to = rows.run.to.unsigned_abs();
        // A row can begin anywhere in its first word.
        let words = ((rows.run.size - 1) * to + element + 3).div_ceil(4);
        let grid = self.tile_grid(rows.walk.units(), words);
        let has_few_units =
            shares_pipelines(rows.walk.units() * rows.run.size, &self.limits.tuning);
        let known_run_to = if to <= 4 { to } else { 0 };
        let is_forward =
            !has_few_units && element == 1 && rows.run.to == 1 && rows.source_step() == Some(1);
        let constants = [
            (Constant::Element, count_word(element)),
            (Constant::RunTo, count_word(known_run_to)),
            (
                Constant::Forward,
                u32::from(is_forward && rows.cropped_coordinate.is_none()),
            ),
        ];
        self.finish_dispatch(Kernel::UpdateWords, Prelude::None, &constants, &rows, grid)
    }

    /// Makes the dispatch of a walk in elements, which converts them to the type `result_dtype`. The number of an
    /// element in the source plus `shift` is its number in the binding. Returns `None` if the walk must be cut.
    pub(super) fn launch_convert(
        &self,
        walk: &Walk,
        PlanConversion { from, table, .. }: &PlanConversion,
        result_dtype: DType,
        shift: isize,
    ) -> Option<WalkDispatch> {
        let mut walk = walk.clone();
        walk.merge();
        // A word can contain elements of several rows only if the rows are adjacent.
        if result_dtype.size() < 4 && !walk.is_dense() {
            return None;
        }
        let mut rows = RunWalk::from_walk(walk);
        if rows.run.to > 1 {
            rows.walk.dims.push(rows.run);
            (rows.run, rows.cropped_coordinate) = (Dim::ONE_POSITION, None);
        }
        let word_elements = 4 / result_dtype.size();
        let head = rows
            .walk
            .to
            .rem_euclid(word_elements.cast_signed())
            .cast_unsigned();
        let (row_count, run) = (rows.walk.units(), rows.run.size);
        let words = (run + head).div_ceil(word_elements);
        let is_short = run < word_elements;
        let is_whole = head == 0 && run.is_multiple_of(word_elements);
        if is_whole {
            rows.bring_near_dimension_last();
        }
        let grid = match is_short {
            true => self.lane_grid((row_count * run + head).div_ceil(word_elements), 1, 1, 1),
            false if self.limits.tuning.loops => self.tile_grid(row_count, words),
            // Looking up a row takes about as long as converting ten words.
            false => {
                let lane_words =
                    4 * (row_count * words / (4 * INVOCATIONS_OF_LARGE_GPU)).clamp(1, 8);
                let lanes = words.div_ceil(lane_words).next_power_of_two();
                let lanes = lanes.min(MAX_LANES);
                self.lane_grid(row_count, words, lanes, lanes * lane_words)
            }
        };
        let table_shift_of =
            |table: &PositionTables| (-shift).rem_euclid(table.repeat_period().cast_signed());
        let is_steady = table
            .as_ref()
            .is_none_or(|table| rows.is_steady(table, table_shift_of(table)));
        let edges = if is_short {
            EDGES_SHORT
        } else {
            u32::from(!is_whole)
        };
        // With tables, only the sizes of the types matter, so one type represents all types of the same size.
        let type_of_size = |dtype: DType| match (table, dtype.size()) {
            (None, _) => dtype,
            (_, 1) => DType::U8,
            (_, 2) => DType::F16,
            _ => DType::F32,
        };
        let type_number = |dtype: DType| {
            ON_GPU
                .iter()
                .position(|&known| known == type_of_size(dtype))
        };
        let constants = [
            (Constant::From, count_word(type_number(*from)?)),
            (Constant::To, count_word(type_number(result_dtype)?)),
            (Constant::FromBytes, count_word(from.size())),
            (Constant::ToBytes, count_word(result_dtype.size())),
            (Constant::Tables, u32::from(table.is_some())),
            (Constant::Steady, u32::from(is_steady)),
            (Constant::Edges, edges),
        ];
        let mut dispatch =
            self.finish_dispatch(Kernel::Convert, Prelude::None, &constants, &rows, grid)?;
        // Without tables, the source is bound in their place, because a binding cannot be empty.
        dispatch.bound.push(match table {
            Some(table) => BoundRange::first(TABLES, 4 * table.entries.len() as u64),
            None => self.source,
        });
        if let Some(table) = table {
            dispatch.uniforms.table_inner = u32::try_from(table.inner).ok()?;
            dispatch.uniforms.tables = u32::try_from(table.positions).ok()?;
            dispatch.uniforms.table_shift = u32::try_from(table_shift_of(table)).ok()?;
        }
        Some(dispatch)
    }

    /// Divides rows of `run` units or groups into tiles. An invocation moves four units of a row together.
    fn tile_grid(&self, rows: usize, run: usize) -> LaunchGrid {
        let workgroup = self.limits.tuning.workgroup as usize;
        if self.limits.tuning.loops {
            // All segments of a row have about the same length, so that all lanes have work.
            let max_segment = (rows * run / (workgroup * 32)).clamp(16, 512);
            let segment = run.div_ceil(run.div_ceil(max_segment));
            return self.lane_grid(rows, run, 1, segment.next_multiple_of(4));
        }
        let lanes = run.div_ceil(4).next_power_of_two().min(MAX_LANES);
        self.lane_grid(rows, run, lanes, lanes * 4)
    }

    /// Makes tiles of `segment` units or groups in rows of `run`. `lanes` invocations move each tile.
    fn lane_grid(&self, rows: usize, run: usize, lanes: usize, segment: usize) -> LaunchGrid {
        let segments = run.div_ceil(segment);
        LaunchGrid {
            rows_per_invocation: 1,
            lanes,
            segment,
            segments,
            groups: (rows * segments).div_ceil(self.limits.tuning.workgroup as usize / lanes),
        }
    }

    /// Divides rows into tiles that have `lanes` units or groups of each of many rows. An invocation moves units of
    /// four rows together.
    fn four_row_grid(&self, rows: usize, units: usize, lanes: usize) -> LaunchGrid {
        let workgroup = self.limits.tuning.workgroup as usize;
        let lanes = units.next_power_of_two().min(lanes);
        let segments = units.div_ceil(lanes);
        LaunchGrid {
            rows_per_invocation: 4,
            lanes,
            segment: lanes,
            segments,
            groups: rows.div_ceil(workgroup / lanes * 4) * segments,
        }
    }

    fn finish_dispatch(
        &self,
        kernel: Kernel,
        prelude: Prelude,
        constants: &[(Constant, u32)],
        rows: &RunWalk,
        grid: LaunchGrid,
    ) -> Option<WalkDispatch> {
        let tuning = &self.limits.tuning;
        let units = rows.walk.units() * rows.run.size;
        let program = Program::new(kernel, prelude, tuning.workgroup)
            .with_constants(constants)
            .with_constants(&[(Constant::Loops, u32::from(tuning.loops))])
            .with_constants(&walk_constants(&rows.walk, units, tuning, self.tuples));
        let words = WalkWords {
            lanes_log2: grid.lanes.trailing_zeros(),
            segments: u32::try_from(grid.segments).ok()?,
            segment: u32::try_from(grid.segment).ok()?,
            ..rows.walk_words()?
        };
        // A walk without tuples binds its source in place of the tuples and does not read this binding.
        let bound_arguments = vec![self.source, self.source, self.dest];
        WalkDispatch::from_walk(self.limits, program, words, grid.groups, bound_arguments)
    }
}

/// Returns whether a dispatch of `units` units shares its pipelines: see [`Tuning::few_units`].
fn shares_pipelines(units: usize, tuning: &Tuning) -> bool {
    units < tuning.few_units
}

/// Returns the constants for the dimensions and coordinates of a walk, in a dispatch of `units` units. If there are
/// many units, the constants are the exact numbers of up to 4 dimensions and up to 3 coordinates, so that the compiler
/// can unroll the loops over them.
pub(super) fn walk_constants(
    walk: &Walk,
    units: usize,
    tuning: &Tuning,
    tuples: Option<TupleArgument>,
) -> [(Constant, u32); 8] {
    let has_few_units = shares_pipelines(units, tuning);
    let is_fixed = |coordinate: &Coordinate| {
        let Coordinate { size, window, .. } = *coordinate;
        let extent = coordinate.along.as_ref();
        matches!(coordinate.begin, StartIndex::At(begin) if begin.unsigned_abs() < MAX_CROPPED)
            && extent.is_some_and(|along| along.box_reach().unsigned_abs() < MAX_CROPPED)
            && extent.is_some_and(|along| along.flip.is_none())
            && size < MAX_CROPPED
            && window.count == size
    };
    let is_long = |coordinate: &Coordinate| u32::try_from(coordinate.size).is_err();
    let has_constant_coordinates = !has_few_units && !walk.coordinates.is_empty();
    let is_fixed_walk = has_constant_coordinates && walk.coordinates.iter().all(is_fixed);
    let known_number =
        |number: usize, max_unrolled: usize, many: usize| match number <= max_unrolled {
            true if !has_few_units => count_word(number),
            _ => count_word(many),
        };
    let has_plain_tuples = tuples.is_some_and(|tuples| is_plain(walk, tuples));
    let has_mask = tuples.is_some_and(|tuples| tuples.index_type == IndexType::Mask);
    let coordinates = match walk.coordinates.len() {
        0 => 0,
        count => known_number(count, 3, MAX_COORDINATES),
    };
    [
        (Constant::Dims, known_number(walk.dims.len(), 4, MAX_DIMS)),
        (Constant::Coordinates, coordinates),
        (
            Constant::Crops,
            u32::from(walk.coordinates.iter().any(Coordinate::is_crop)),
        ),
        (Constant::Scatters, u32::from(walk.points == Side::Dest)),
        (Constant::Fixed, u32::from(is_fixed_walk)),
        (
            Constant::Plain,
            u32::from(has_constant_coordinates && has_plain_tuples),
        ),
        (
            Constant::Long,
            u32::from(walk.coordinates.iter().any(is_long)),
        ),
        (Constant::Masked, u32::from(has_mask)),
    ]
}

/// A walk without its run: `walk` has the dimensions that number rows, and `run` is the dimension within a row.
#[derive(Clone, Debug)]
pub(super) struct RunWalk {
    pub(super) walk: Walk,
    pub(super) run: Dim,
    /// The number of the coordinate with boxes that extend along the run, if there is one.
    cropped_coordinate: Option<usize>,
    /// The number of elements that precede the result in its first group.
    head: usize,
}

impl RunWalk {
    /// Removes the innermost dimension from a walk and makes it the run. This requires that all units of the run share
    /// a tuple, that their positions in the destination do not decrease, and that a cropped run meets the conditions
    /// below. Otherwise each row has a single unit.
    pub(super) fn from_walk(walk: Walk) -> Self {
        let last_dim = walk.dims.len() - 1;
        let cropped_coordinate = walk.coordinate_along(last_dim);
        // Shaders compare the positions of a cropped run in 32 bits, and with the whole dimension instead of a window.
        let is_near = cropped_coordinate.is_none_or(|c| {
            let Coordinate { size, window, .. } = walk.coordinates[c];
            let reach = walk.coordinates[c]
                .along
                .as_ref()
                .map_or(0, BoxExtent::box_reach);
            size < MAX_CROPPED && reach.unsigned_abs() < MAX_CROPPED && window.count == size
        });
        let single_unit = Dim {
            from: 0,
            to: 0,
            ..Dim::ONE_POSITION
        };
        // If tuples determine the position of each unit in the destination, each unit is a row.
        let is_placed_by_tuples = cropped_coordinate.is_some() && walk.points == Side::Dest;
        let is_run = walk.dims[last_dim].tuple == 0 && walk.dims[last_dim].to >= 0;
        let mut rows = Self {
            walk,
            run: single_unit,
            cropped_coordinate: None,
            head: 0,
        };
        if is_run && is_near && !is_placed_by_tuples {
            rows.run = rows.walk.dims.remove(last_dim);
            rows.cropped_coordinate = cropped_coordinate;
        }
        rows
    }

    /// Like [`RunWalk::from_walk`], but for a walk in bytes and elements of `element` bytes. If more bytes than one
    /// element are contiguous, these bytes are the run. Otherwise the run is the innermost dimension outside of an
    /// element. Distances stay in bytes.
    fn from_elements(mut walk: Walk, element: usize) -> Self {
        let contiguous = walk.contiguous();
        let byte_dim = walk.dims.len() - 1;
        if contiguous > element {
            let mut rows = Self::from_walk(walk);
            rows.run = Dim {
                size: contiguous / element,
                from: element.cast_signed(),
                to: element.cast_signed(),
                tuple: 0,
            };
            return rows;
        }
        if contiguous > 1 {
            walk.remove(byte_dim);
            if walk.dims.is_empty() {
                walk.dims.push(Dim::ONE_POSITION);
            }
        }
        Self::from_walk(walk)
    }

    /// Sets `head` to the number of elements of the first group that precede the walk. Moves the walk's start in the
    /// destination to the start of this group, in words. A group has four elements of `element` bytes each and begins
    /// at a whole word. Returns `None` if the walk cannot begin in such a group.
    fn begin_groups(&mut self, element: usize) -> Option<()> {
        let begin = |head: usize| self.walk.to - (head * element).cast_signed();
        self.head = (0..4).find(|&head| begin(head).rem_euclid(4) == 0)?;
        self.walk.to = begin(self.head).div_euclid(4);
        Some(())
    }

    /// Returns the distance in the source between neighbours along dimension `d`.
    fn source_distance(&self, d: usize) -> isize {
        let step = |c: usize| self.walk.coordinates[c].step();
        self.walk.dims[d].from + self.walk.coordinate_along(d).map_or(0, step)
    }

    /// Returns the absolute distance in the source between neighbours of the run.
    fn run_distance(&self) -> usize {
        let step = |c: usize| self.walk.coordinates[c].step();
        self.cropped_coordinate
            .map_or(self.run.from, step)
            .unsigned_abs()
    }

    /// Makes another dimension the innermost dimension that numbers rows, if neighbours along it are nearer to each
    /// other in the source than the units of a row. The channels of a picture are an example.
    fn bring_near_dimension_last(&mut self) {
        let run_distance = self.run_distance();
        let is_near = |&d: &usize| {
            self.walk.dims[d].tuple == 0
                && (1..run_distance).contains(&self.source_distance(d).unsigned_abs())
        };
        if let Some(d) = (0..self.walk.dims.len()).rev().find(is_near) {
            self.bring_last(d);
        }
    }

    /// Makes dimension `d` the innermost of the dimensions that number rows. This changes the numbers of the rows.
    fn bring_last(&mut self, d: usize) {
        let cropped_coordinate = self.walk.coordinate_along(d);
        let dim = self.walk.remove(d);
        self.walk.dims.push(dim);
        let extent_of_box =
            cropped_coordinate.and_then(|c| self.walk.coordinates[c].along.as_mut());
        if let Some(extent) = extent_of_box {
            extent.dim = self.walk.dims.len() - 1;
        }
    }

    /// Returns whether all elements of each row use the same table. `shift` is added to the number of an element
    /// before the number of its table is computed.
    fn is_steady(&self, table: &PositionTables, shift: isize) -> bool {
        let distance = self.run_distance();
        if distance.is_multiple_of(table.repeat_period()) {
            return true;
        }
        // Modulo the greatest common divisor of all distances between rows and of the table's inner size, all rows
        // start at the same element. Each row uses one table if no row extends beyond the next multiple of this
        // divisor.
        let walk = &self.walk;
        let coordinate_strides = walk.coordinates.iter().enumerate();
        let coordinate_strides =
            coordinate_strides.filter(|&(c, _)| self.cropped_coordinate != Some(c));
        let coordinate_strides = coordinate_strides.map(|(_, coordinate)| coordinate.stride);
        let distances = walk
            .dims
            .iter()
            .map(|dim| dim.from)
            .chain(coordinate_strides);
        let divisor = distances.fold(table.inner, |divisor, distance| {
            common_divisor(divisor, distance.unsigned_abs())
        });
        let first_offset = (walk.from + shift).rem_euclid(divisor.cast_signed());
        let (count, step) = match self.cropped_coordinate.map(|c| &walk.coordinates[c]) {
            Some(coordinate) => (coordinate.size, coordinate.stride),
            None => (self.run.size, self.run.from),
        };
        let last_offset = first_offset + (count.cast_signed() - 1) * step;
        (0..divisor.cast_signed()).contains(&last_offset)
    }

    /// Returns the dimension of a transpose: neighbouring rows along it are `distance` units apart in the source, and
    /// the units of a row are at least `sector` units apart. Returns `None` if the walk is not a transpose.
    fn near_dimension(&self, distance: isize, sector: isize) -> Option<usize> {
        let walk = &self.walk;
        let is_near = |&d: &usize| {
            let dim = &walk.dims[d];
            dim.from.abs() == distance && dim.size >= 4 && dim.tuple == 0 && !walk.is_cropped(d)
        };
        let is_spread = self.cropped_coordinate.is_none() && self.run.from.abs() >= sector;
        (0..walk.dims.len())
            .rev()
            .find(is_near)
            .filter(|_| is_spread)
    }

    /// Returns the distance in bytes between neighbours of a run in the source. If tuples determine its direction,
    /// returns `None` for a distance of one byte and 0 for all other distances.
    fn source_step(&self) -> Option<isize> {
        let Some(coordinate) = self.cropped_coordinate.map(|c| &self.walk.coordinates[c]) else {
            return Some(self.run.from);
        };
        let step = coordinate.step();
        match coordinate.along?.flip {
            Some(_) if step.abs() == 1 => None,
            Some(_) => Some(0),
            None => Some(step),
        }
    }

    /// Returns the uniforms of the walk, or `None` if it has too many dimensions or rows.
    pub(super) fn walk_words(&self) -> Option<WalkWords> {
        let (walk, run) = (&self.walk, &self.run);
        let max_dims = match walk.coordinates.iter().any(Coordinate::is_crop) {
            true => MAX_CROPPED_DIMS,
            false => MAX_DIMS,
        };
        if walk.dims.len() > max_dims || walk.coordinates.len() > MAX_COORDINATES {
            return None;
        }
        let mut words = WalkWords {
            from_base: wrapped_word(walk.from),
            to_base: wrapped_word(walk.to),
            run: u32::try_from(run.size).ok()?,
            run_from: wrapped_word(run.from),
            run_to: wrapped_word(run.to),
            rows: u32::try_from(walk.units()).ok()?,
            head: u32::try_from(self.head).ok()?,
            dims_used: u32::try_from(walk.dims.len()).ok()?,
            coordinates_used: u32::try_from(walk.coordinates.len()).ok()?,
            ..WalkWords::default()
        };
        for (words, dim) in words.dims.iter_mut().zip(&walk.dims) {
            *words = DimWords {
                size: u32::try_from(dim.size).ok()?,
                from_stride: wrapped_word(dim.from),
                to_stride: wrapped_word(dim.to),
                tuple_stride: count_word(dim.tuple),
            };
        }
        let coordinates = walk.coordinates.iter().enumerate();
        for (words, (c, coordinate)) in words.coordinates.iter_mut().zip(coordinates) {
            let (column, begin) = match coordinate.begin {
                StartIndex::Column(column) => (u32::try_from(column).ok()?, 0),
                StartIndex::At(begin) => (NO_NUMBER, wrapped_word(begin)),
            };
            let (size, first) = (coordinate.size, coordinate.window.first);
            *words = CoordinateWords {
                size: count_word(size),
                high: high_bits(size)? | high_bits(first)? << 16,
                stride: wrapped_word(coordinate.stride),
                first: count_word(first),
                count: u32::try_from(coordinate.window.count).ok()?,
                column,
                begin,
                ..CoordinateWords::default()
            };
            let Some(along) = coordinate.along else {
                continue;
            };
            words.along = match self.cropped_coordinate == Some(c) {
                true => RUN_DIMENSION,
                false => u32::try_from(along.dim).ok()?,
            };
            words.step = wrapped_word(along.step);
            words.extent = u32::try_from(along.extent).ok()?;
            words.digit = u32::try_from(along.first).ok()?;
            words.flip = along
                .flip
                .map_or(Some(NO_NUMBER), |flip| u32::try_from(flip).ok())?;
        }
        Some(words)
    }
}

/// Returns the greatest common divisor of two numbers.
pub(super) fn common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common_divisor(b, a % b) }
}
