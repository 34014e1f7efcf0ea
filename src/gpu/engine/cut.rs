//! Cuts a walk into dispatches that fit the device's limits.
//!
//! A dispatch binds one range of each buffer. Bindings have a largest size and an alignment, a tensor may be split
//! over several buffers, shaders compute offsets in 32 bits, the number of workgroups is limited, and drivers mistake
//! a dispatch of several seconds for a hang. One rule serves all of these limits: what reaches too far is halved, until
//! it fits. That is a dimension of the walk or, since any index may point anywhere, the window of positions that a
//! dispatch takes of an indexed dimension. Then several dispatches process the same rows, and each writes those whose
//! source it binds.

use super::{
    caps::{Reach, VECTOR, within},
    dispatch::{Bound, DEST, Places, SOURCE, WalkDispatch},
    launch::Site,
    tuples::{Tuples, set_tuples},
    uniforms::{MOST_COORDINATES, MOST_POSITIONS, MOST_SIGNED, check_positions},
};
use crate::{
    DType, Error,
    layout::middle,
    ops::convert::Converted,
    walk::{Begin, Coordinate, Side, Walk},
};
use std::ops::Range;

/// Cuts walks for the device of `reach`, whose arguments are at `places`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cutter<'a> {
    pub(crate) reach: &'a Reach,
    pub(crate) places: &'a Places,
    pub(crate) tuples: Option<Tuples>,
    /// The size of the source. A walk that reads nothing binds at most one vector of it.
    pub(crate) source_bytes: usize,
    /// How elements are converted, if they are, and the type of the result.
    pub(crate) conversion: Option<(&'a Converted, DType)>,
}

/// The limit that a walk exceeds for one dispatch.
#[derive(Clone, Copy, Debug)]
enum TooMuch {
    /// The bytes to write, the rows, or the dimensions.
    Work,
    Source,
    Dest,
    Tuples,
}

impl Cutter<'_> {
    /// Pushes the dispatches of a walk.
    pub(crate) fn cut(&self, walk: &Walk, out: &mut Vec<WalkDispatch>) -> Result<(), Error> {
        check_coordinates(walk, self.tuples.is_some_and(|of| of.policy.circular))?;
        if let Some((conversion, to)) = self.conversion {
            conversion.check_on_gpu(to)?;
        }
        self.check_tables()?;
        match self.conversion {
            Some(_) => self.part(walk, walk.unit, out),
            None => self.part(&walk.in_bytes(), walk.unit, out),
        }
    }

    /// Fails if the device cannot bind the tables of a conversion, or count the elements that share them.
    fn check_tables(&self) -> Result<(), Error> {
        let conversion = self.conversion.map(|(conversion, _)| conversion);
        let Some(table) = conversion.and_then(|conversion| conversion.table.as_ref()) else {
            return Ok(());
        };
        check_positions(table.period(), MOST_SIGNED)?;
        within(
            "the tables of a conversion",
            "max_storage_buffer_binding_size",
            size_of_val(&table.entries[..]) as u64,
            self.reach.binding,
        )
    }

    /// Pushes the dispatches of a walk in bytes, or in elements if they are converted, which a move counts in units of `unit`
    /// bytes.
    fn part(&self, walk: &Walk, unit: usize, out: &mut Vec<WalkDispatch>) -> Result<(), Error> {
        let too_much = match self.dispatch(walk, unit) {
            Ok(dispatch) => {
                out.push(dispatch);
                return Ok(());
            }
            Err(too_much) => too_much,
        };
        let halves = halves(walk, too_much).ok_or_else(|| self.reach.too_small(unit))?;
        halves
            .iter()
            .try_for_each(|half| self.part(half, unit, out))
    }

    /// The bytes of a distance of 1 in a walk on each side.
    fn sizes(&self) -> [usize; 2] {
        match self.conversion {
            Some((conversion, to)) => [conversion.from.size(), to.size()],
            None => [1, 1],
        }
    }

    /// The dispatch of such a walk, or the limit that it exceeds.
    fn dispatch(&self, walk: &Walk, of_move: usize) -> Result<WalkDispatch, TooMuch> {
        let [of_source, of_dest] = self.sizes();
        if (walk.units() * of_dest) as u64 > self.reach.dispatch {
            return Err(TooMuch::Work);
        }
        let mut walk = walk.clone();
        let mut read = walk.span(Side::Source);
        let reads_nothing = read.is_empty();
        if reads_nothing {
            // Shaders load the first unit in place of one that is elsewhere, and a binding must not be empty.
            read = 0..(self.source_bytes.min(VECTOR) / of_source).cast_signed();
        }
        let source = self.bind(SOURCE, &read, of_source, of_move);
        let (source, shift) = source.ok_or(TooMuch::Source)?;
        walk.from += shift;
        let dest = self.bind(DEST, &walk.span(Side::Dest), of_dest, of_move);
        let (dest, begin) = dest.ok_or(TooMuch::Dest)?;
        walk.to += begin;
        let of_walk = self.tuples.filter(|_| walk.columns > 0);
        let site = Site {
            reach: self.reach,
            source,
            dest,
            widest: if read.len() < VECTOR && reads_nothing {
                4
            } else {
                VECTOR
            },
            tuples: of_walk,
        };
        let dispatch = match self.conversion {
            Some((conversion, to)) => site.convert(&walk, conversion, to, shift),
            None => site.launch(&walk),
        };
        let mut dispatch = dispatch.ok_or(TooMuch::Work)?;
        if let Some(of) = of_walk {
            let (tuples, begin) = self.bind_tuples(&walk, of).ok_or(TooMuch::Tuples)?;
            dispatch.bound[0] = tuples;
            set_tuples(&mut dispatch.uniforms, &walk, of, begin);
        }
        dispatch.first_tuple = walk.tuple;
        Ok(dispatch)
    }

    /// The binding of a range of an argument, and what must be added to the number of a byte of the argument to get its
    /// number in the binding. Both count pieces of `size` bytes. `None` if no single binding holds the bytes, or if they
    /// are too many units of `unit` bytes.
    fn bind(
        &self,
        argument: usize,
        range: &Range<isize>,
        size: usize,
        unit: usize,
    ) -> Option<(Bound, isize)> {
        let bytes = |number: isize| (number.cast_unsigned() * size) as u64;
        let (low, high) = (bytes(range.start), bytes(range.end));
        let (bound, residue) = self.places.bind(self.reach, argument, low, high)?;
        let units = (high - low) / unit as u64;
        let begin = (residue / size).cast_signed() - range.start;
        (units <= self.reach.units).then_some((bound, begin))
    }

    /// The binding of a walk's tuples, and the word of the binding at which they begin, or the byte of a mask.
    pub(super) fn bind_tuples(&self, walk: &Walk, of: Tuples) -> Option<(Bound, usize)> {
        let bytes = (walk.columns * of.index.bytes()) as u64;
        let first = walk.tuple as u64;
        let end = first + walk.tuples() as u64;
        let (reach, counted) = (self.reach, of.index.bytes().min(4));
        let tuples = self
            .places
            .bind(reach, of.argument, first * bytes, end * bytes);
        let (bound, begin) = tuples?;
        (bound.span.bytes / counted as u64 <= reach.units).then_some((bound, begin / counted))
    }
}

/// Fails if shaders cannot look up the coordinates of a walk.
pub(super) fn check_coordinates(walk: &Walk, circular: bool) -> Result<(), Error> {
    within(
        "the number of coordinates in an index tuple",
        "a shader's limit",
        walk.coordinates.len() as u64,
        MOST_COORDINATES as u64,
    )?;
    for coordinate in &walk.coordinates {
        let Coordinate { begin, along, .. } = *coordinate;
        // Boxes extend by signed numbers of 32 bits, and circular ones take remainders of them. Positions that are all the
        // same place, as in a broadcast, are not taken by several dispatches.
        let reach = along.map_or(0, |along| along.reach().unsigned_abs());
        let most = match (begin, along) {
            (Begin::At(_), _) => MOST_SIGNED,
            (_, Some(_)) if circular => MOST_SIGNED,
            _ if coordinate.stride == 0 => u32::MAX.into(),
            _ => MOST_POSITIONS,
        };
        check_positions(coordinate.size, most)?;
        check_positions(reach, MOST_SIGNED)?;
    }
    Ok(())
}

/// The walk in two halves, each with less of the quantity that exceeded its limit. `None` if it is a single byte.
fn halves(walk: &Walk, too_much: TooMuch) -> Option<[Walk; 2]> {
    let reach = |d: usize| {
        let dim = &walk.dims[d];
        match too_much {
            TooMuch::Source => (dim.size - 1) * dim.from.unsigned_abs(),
            TooMuch::Dest => (dim.size - 1) * dim.to.unsigned_abs(),
            TooMuch::Tuples => (dim.size - 1) * dim.tuple,
            // The outermost dimension.
            TooMuch::Work => usize::from(dim.size > 1) * (walk.dims.len() - d),
        }
    };
    // The last of several that reach equally far would be an inner one.
    let farthest = (0..walk.dims.len()).rev().max_by_key(|&d| reach(d))?;
    let windowed = match too_much {
        TooMuch::Source => walk.points == Side::Source,
        TooMuch::Dest => walk.points == Side::Dest,
        TooMuch::Tuples | TooMuch::Work => false,
    };
    let window = |c: usize| {
        let coordinate = &walk.coordinates[c];
        coordinate.window.count.saturating_sub(1) * coordinate.stride.unsigned_abs()
    };
    let coordinates = if windowed { walk.coordinates.len() } else { 0 };
    let widest = (0..coordinates).max_by_key(|&c| window(c));
    if let Some(c) = widest.filter(|&c| window(c) > reach(farthest)) {
        let middle = middle(walk.coordinates[c].window.count)?;
        return Some(walk.split_window(c, middle));
    }
    let d = match reach(farthest) {
        0 => (0..walk.dims.len()).find(|&d| walk.dims[d].size > 1)?,
        _ => farthest,
    };
    Some(walk.split(d, middle(walk.dims[d].size)?))
}
