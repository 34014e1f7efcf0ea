//! Cuts a walk into dispatches that fit the device's limits.
//!
//! A dispatch binds one range of each buffer. Several limits apply. Bindings have a maximum size and an alignment. A
//! tensor can consist of several buffers. Shaders compute offsets in 32 bits. The number of workgroups is limited, and
//! drivers abort a dispatch that takes several seconds. One rule handles all limits: a walk that exceeds a limit is
//! halved until it fits. It is halved along a dimension or, because any index can select any position, in the middle of
//! the positions of an indexed dimension. The positions that a dispatch binds are its window. If there are several
//! windows, several dispatches process the same rows, and each dispatch writes the rows with tuples that select
//! positions in its window.

use super::{
    caps::{DispatchLimits, VECTOR_BYTES, check_limit},
    dispatch::{ArgumentPlaces, BoundRange, DEST, SOURCE, WalkDispatch},
    launch::LaunchSite,
    tuples::{TupleArgument, set_tuples},
    uniforms::{MAX_COORDINATES, MAX_POSITIONS, MAX_SIGNED, check_positions},
};
use crate::{
    DType, Error,
    layout::split_position,
    ops::convert::PlanConversion,
    walk::{Coordinate, Side, StartIndex, Walk},
};
use std::ops::Range;

/// Cuts walks with arguments at `places` for a device with these limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cutter<'a> {
    pub(crate) limits: &'a DispatchLimits,
    pub(crate) places: &'a ArgumentPlaces,
    pub(crate) tuples: Option<TupleArgument>,
    /// The size of the source in bytes. A walk that reads nothing still binds up to [`VECTOR_BYTES`] bytes of the
    /// source.
    pub(crate) source_bytes: usize,
    /// The conversion of elements and the type of the result. `None` if elements are not converted.
    pub(crate) conversion: Option<(&'a PlanConversion, DType)>,
}

/// The limit that a walk exceeds. `Source`, `Dest` and `Tuples` mean that a binding of this argument would exceed a
/// limit.
#[derive(Clone, Copy, Debug)]
enum ExceededLimit {
    /// There are too many bytes to write, too many rows or too many dimensions.
    Size,
    Source,
    Dest,
    Tuples,
}

impl Cutter<'_> {
    /// Adds the dispatches of a walk to `out`.
    pub(crate) fn cut_walk(&self, walk: &Walk, out: &mut Vec<WalkDispatch>) -> Result<(), Error> {
        check_coordinates(
            walk,
            self.tuples.is_some_and(|tuples| tuples.policy.circular),
        )?;
        if let Some((conversion, result_dtype)) = self.conversion {
            conversion.check_on_gpu(result_dtype)?;
        }
        self.check_tables()?;
        match self.conversion {
            Some(_) => self.cut_part(walk, walk.unit, out),
            None => self.cut_part(&walk.in_bytes(), walk.unit, out),
        }
    }

    /// Fails if the device cannot bind the tables of a conversion, or if shaders cannot count the elements after which
    /// the tables repeat.
    fn check_tables(&self) -> Result<(), Error> {
        let conversion = self.conversion.map(|(conversion, _)| conversion);
        let Some(table) = conversion.and_then(|conversion| conversion.table.as_ref()) else {
            return Ok(());
        };
        check_positions(table.repeat_period(), MAX_SIGNED)?;
        check_limit(
            "the tables of a conversion",
            "max_storage_buffer_binding_size",
            size_of_val(&table.entries[..]) as u64,
            self.limits.max_binding_bytes,
        )
    }

    /// Adds the dispatches of a walk to `out`. The walk counts bytes, or elements if they are converted. `unit` is the
    /// number of bytes in a unit of the move.
    fn cut_part(&self, walk: &Walk, unit: usize, out: &mut Vec<WalkDispatch>) -> Result<(), Error> {
        let limit = match self.make_dispatch(walk, unit) {
            Ok(dispatch) => {
                out.push(dispatch);
                return Ok(());
            }
            Err(limit) => limit,
        };
        let Some(halves) = split_walk(walk, limit) else {
            self.check_tuple(walk)?;
            return Err(self.limits.too_small(unit));
        };
        halves
            .iter()
            .try_for_each(|half| self.cut_part(half, unit, out))
    }

    /// Returns the number of bytes in a distance of 1, in the source and in the destination.
    fn distance_bytes(&self) -> [usize; 2] {
        match self.conversion {
            Some((conversion, result_dtype)) => [conversion.from.size(), result_dtype.size()],
            None => [1, 1],
        }
    }

    /// Returns the dispatch of a walk, or the limit that the walk exceeds.
    fn make_dispatch(&self, walk: &Walk, move_unit: usize) -> Result<WalkDispatch, ExceededLimit> {
        let [source_element_bytes, dest_element_bytes] = self.distance_bytes();
        if (walk.units() * dest_element_bytes) as u64 > self.limits.max_result_bytes {
            return Err(ExceededLimit::Size);
        }
        let mut walk = walk.clone();
        let mut read_range = walk.span(Side::Source);
        let reads_nothing = read_range.is_empty();
        if reads_nothing {
            // A walk that reads nothing still binds a part of the source: a binding must not be empty, and shaders load
            // its first unit instead of units outside the source.
            read_range =
                0..(self.source_bytes.min(VECTOR_BYTES) / source_element_bytes).cast_signed();
        }
        let source = self.bind_range(SOURCE, &read_range, source_element_bytes, move_unit);
        let (source, shift) = source.ok_or(ExceededLimit::Source)?;
        walk.from += shift;
        let dest = self.bind_range(DEST, &walk.span(Side::Dest), dest_element_bytes, move_unit);
        let (dest, dest_shift) = dest.ok_or(ExceededLimit::Dest)?;
        walk.to += dest_shift;
        let walk_tuples = self.tuples.filter(|_| walk.columns > 0);
        let site = LaunchSite {
            limits: self.limits,
            source,
            dest,
            widest_unit: if read_range.len() < VECTOR_BYTES && reads_nothing {
                4
            } else {
                VECTOR_BYTES
            },
            tuples: walk_tuples,
        };
        let dispatch = match self.conversion {
            Some((conversion, result_dtype)) => {
                site.launch_convert(&walk, conversion, result_dtype, shift)
            }
            None => site.launch_walk(&walk),
        };
        let mut dispatch = dispatch.ok_or(ExceededLimit::Size)?;
        if let Some(tuples) = walk_tuples {
            let (bound, begin) = self
                .bind_tuples(&walk, tuples)
                .ok_or(ExceededLimit::Tuples)?;
            dispatch.bound[0] = bound;
            set_tuples(&mut dispatch.uniforms, &walk, tuples, begin);
        }
        dispatch.first_tuple = walk.tuple;
        Ok(dispatch)
    }

    /// Returns the binding of a range of an argument, and the number to add to a position in the argument to get the
    /// position in the binding. The range and this number count elements of `element_bytes` bytes. Returns `None` if no
    /// single binding can contain the range, or if it has too many units of `unit` bytes.
    fn bind_range(
        &self,
        argument: usize,
        range: &Range<isize>,
        element_bytes: usize,
        unit: usize,
    ) -> Option<(BoundRange, isize)> {
        let bytes = |number: isize| (number.cast_unsigned() * element_bytes) as u64;
        let (low, high) = (bytes(range.start), bytes(range.end));
        let (bound, residue) = self.places.bind_range(self.limits, argument, low, high)?;
        let units = (high - low) / unit as u64;
        let shift = (residue / element_bytes).cast_signed() - range.start;
        (units <= self.limits.max_units).then_some((bound, shift))
    }

    /// Fails if the index tuple of a walk with a single unit is split between two buffers.
    fn check_tuple(&self, walk: &Walk) -> Result<(), Error> {
        let Some(tuples) = self.tuples.filter(|_| walk.columns > 0) else {
            return Ok(());
        };
        let tuple_bytes = (walk.columns * tuples.index_type.bytes()) as u64;
        let tuple_start = walk.tuple as u64 * tuple_bytes;
        self.places
            .parts_of(tuples.argument)
            .check_whole(tuple_start, tuple_start + tuple_bytes)
    }

    /// Returns the binding of a walk's tuples and their offset in it, in words or, for a mask, in bytes. Returns `None`
    /// if no single binding can contain them.
    pub(super) fn bind_tuples(
        &self,
        walk: &Walk,
        tuples: TupleArgument,
    ) -> Option<(BoundRange, usize)> {
        let tuple_bytes = (walk.columns * tuples.index_type.bytes()) as u64;
        let first_tuple = walk.tuple as u64;
        let tuples_end = first_tuple + walk.tuples() as u64;
        let (limits, unit) = (self.limits, tuples.index_type.bytes().min(4));
        let bound_range = self.places.bind_range(
            limits,
            tuples.argument,
            first_tuple * tuple_bytes,
            tuples_end * tuple_bytes,
        );
        let (bound, begin) = bound_range?;
        (bound.span.bytes / unit as u64 <= limits.max_units).then_some((bound, begin / unit))
    }
}

/// Fails if shaders cannot look up the coordinates of a walk.
pub(super) fn check_coordinates(walk: &Walk, circular: bool) -> Result<(), Error> {
    check_limit(
        "the number of coordinates in an index tuple",
        "a shader's limit",
        walk.coordinates.len() as u64,
        MAX_COORDINATES as u64,
    )?;
    for coordinate in &walk.coordinates {
        let Coordinate { begin, along, .. } = *coordinate;
        // The extent of a box is a signed 32-bit number, and circular boxes take remainders of such numbers. If all
        // positions of a coordinate select the same unit, as in a broadcast, they cannot be divided among dispatches,
        // so their number must fit in 32 bits.
        let box_reach = along.map_or(0, |along| along.box_reach().unsigned_abs());
        let max_positions = match (begin, along) {
            (StartIndex::At(_), _) => MAX_SIGNED,
            (_, Some(_)) if circular => MAX_SIGNED,
            _ if coordinate.stride == 0 => u32::MAX.into(),
            _ => MAX_POSITIONS,
        };
        check_positions(coordinate.size, max_positions)?;
        check_positions(box_reach, MAX_SIGNED)?;
    }
    Ok(())
}

/// Halves the walk such that both halves are smaller with regard to the exceeded limit. Returns `None` if the walk is a
/// single byte or element.
fn split_walk(walk: &Walk, limit: ExceededLimit) -> Option<[Walk; 2]> {
    let reach_of = |d: usize| {
        let dim = &walk.dims[d];
        match limit {
            ExceededLimit::Source => (dim.size - 1) * dim.from.unsigned_abs(),
            ExceededLimit::Dest => (dim.size - 1) * dim.to.unsigned_abs(),
            ExceededLimit::Tuples => (dim.size - 1) * dim.tuple,
            // The outermost dimension with several positions is cut.
            ExceededLimit::Size => usize::from(dim.size > 1) * (walk.dims.len() - d),
        }
    };
    // `max_by_key` returns the last maximum, so the reversed order prefers the outermost of dimensions with equal
    // reach.
    let farthest_dim = (0..walk.dims.len()).rev().max_by_key(|&d| reach_of(d))?;
    let is_windowed = match limit {
        ExceededLimit::Source => walk.points == Side::Source,
        ExceededLimit::Dest => walk.points == Side::Dest,
        ExceededLimit::Tuples | ExceededLimit::Size => false,
    };
    let window_reach = |c: usize| {
        let coordinate = &walk.coordinates[c];
        coordinate.window.count.saturating_sub(1) * coordinate.stride.unsigned_abs()
    };
    let coordinate_count = if is_windowed {
        walk.coordinates.len()
    } else {
        0
    };
    let widest_window = (0..coordinate_count).max_by_key(|&c| window_reach(c));
    if let Some(c) = widest_window.filter(|&c| window_reach(c) > reach_of(farthest_dim)) {
        let middle = split_position(walk.coordinates[c].window.count)?;
        return Some(walk.split_window(c, middle));
    }
    let d = match reach_of(farthest_dim) {
        0 => (0..walk.dims.len()).find(|&d| walk.dims[d].size > 1)?,
        _ => farthest_dim,
    };
    Some(walk.split(d, split_position(walk.dims[d].size)?))
}
