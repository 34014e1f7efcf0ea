//! The row map of a slice: `shaders/strided_slice.wgsl`.
//!
//! Each half of a slice is a slice too, so a slice that needs several dispatches is halved, and its source and its
//! result are halved together.

use super::{Buffer, Facts, Lowered, RowMap, Units, scaled};
use crate::{
    Error,
    gpu::{
        job::Bound,
        kernels::{self, Dispatch},
        window::Cutter,
    },
    layout::Axis,
    ops::strided_slice::Map,
    plan::Rows,
};
use bytemuck::{Pod, Zeroable};

/// The most dimensions that the map of a slice can hold. The run is one more dimension, so every slice of rank 8 fits.
pub(crate) const MAX_AXES: usize = 8;

pub(super) const FACTS: Facts = Facts {
    name: "strided_slice",
    text: include_str!("../../../shaders/strided_slice.wgsl"),
    buffers: &[Buffer::SOURCE, Buffer::DEST],
    reports: false,
    unrolls: false,
    is_dense: true,
    moves: true,
    #[cfg(test)]
    layout: || super::layout!(Words: dims, even, axes, tiling),
};

/// `Map` of `strided_slice.wgsl`, which says what each field means.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Words {
    dims: u32,
    even: u32,
    pad: [u32; 2],
    /// Pairs of size and stride.
    axes: [[u32; 2]; MAX_AXES],
    /// [`Tiling`], as [`Tiling::words`] packs it.
    tiling: [u32; 4],
}

/// How a transpose is cut into tiles. `transpose.wgsl` says what lines and near positions are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tiling {
    /// The number of the near dimension, along which neighbouring positions are contiguous in the source.
    pub(crate) near_dim: usize,
    /// The base-2 logarithm of the number of words in a line of a tile.
    pub(crate) line_log2: u32,
    /// The base-2 logarithm of the number of words of a row for which a tile has lines.
    pub(crate) words_log2: u32,
    /// The number of bits by which `place` in `transpose_units.wgsl` shifts the number of a unit of the tile.
    pub(crate) swizzle: u32,
    /// Whether all lines of a tile lie within one contiguous range of the source.
    pub(crate) is_stretch: bool,
    /// Whether lines may begin at any unit of a word of the source.
    pub(crate) lines_shift: bool,
    /// Whether rows may begin at any unit of a word of the result.
    pub(crate) rows_shift: bool,
    /// The number of near positions by which the first tile begins before position 0.
    pub(crate) near_shift: usize,
    /// The number of words by which the first tile begins before the first word of a row.
    pub(crate) row_shift: usize,
    /// The number of tiles along the near dimension.
    pub(crate) near_tiles: u32,
    /// The number of tiles along a row.
    pub(crate) row_tiles: u32,
}

impl Tiling {
    /// Packs the numbers into `tiling` of `Map` in `strided_slice.wgsl`. `None` if a number does not fit in its bits.
    fn words(&self) -> Option<[u32; 4]> {
        let bits = u32::try_from(self.near_dim).ok()?
            | self.line_log2 << 4
            | self.words_log2 << 8
            | self.swizzle << 12
            | u32::from(self.is_stretch) << 16
            | u32::from(self.rows_shift) << 17
            | u32::from(self.lines_shift) << 18;
        let near_shift = u32::from(u16::try_from(self.near_shift).ok()?);
        let row_shift = u32::from(u16::try_from(self.row_shift).ok()?);
        let shifts = near_shift | row_shift << 16;
        Some([bits, shifts, self.near_tiles, self.row_tiles])
    }
}

/// The row map of a slice: rows are strided along `axes` in the source, and contiguous in the result.
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    pub(crate) axes: Vec<Axis>,
}

impl Slice {
    /// Makes each unit a row. Returns these rows, and the dimension that the former run becomes. `None` if the map has
    /// no room for one more dimension.
    pub(crate) fn split(&self, rows: &Rows) -> Option<(Rows, Axis)> {
        let split = Rows::single(rows.unit, rows.units());
        (self.axes.len() < MAX_AXES).then_some((split, rows.run_axis()))
    }

    pub(super) fn lowered(&self, units: &Units) -> Option<Lowered> {
        let axes = scaled(
            self.axes.iter().copied().chain(units.split_run),
            units.factor,
        );
        let inner = axes.last().map_or(1, |axis| axis.size);
        if axes.len() > MAX_AXES {
            return None;
        }
        let even = units.four_rows && inner.is_multiple_of(4);
        let mut words = Words {
            dims: u32::try_from(axes.len()).ok()?,
            even: even.into(),
            pad: [0; 2],
            axes: Default::default(),
            tiling: units.tiling.unwrap_or_default().words()?,
        };
        for (words, axis) in words.axes.iter_mut().zip(&axes) {
            let size = i32::try_from(axis.size).ok()?;
            // A negative stride is stored modulo 2^32.
            let stride = i32::try_from(axis.stride).ok()?;
            *words = [size, stride].map(i32::cast_unsigned);
        }
        Some(Lowered::of(words))
    }
}

impl Cutter<'_> {
    /// Pushes the dispatches that write the rows of a slice, or of a part of one, to the plan's result from unit
    /// `first` on.
    pub(crate) fn slice(
        &self,
        map: &Map,
        rows: &Rows,
        first: u64,
        out: &mut Vec<Dispatch>,
    ) -> Result<(), Error> {
        if let Some(dispatch) = self.slice_dispatch(map, rows, first)? {
            out.push(dispatch);
            return Ok(());
        }
        let halves = map.halves(rows);
        let [(head_rows, head), (tail_rows, tail)] =
            halves.ok_or_else(|| self.reach.too_small(rows.unit))?;
        self.slice(&head, &head_rows, first, out)?;
        self.slice(&tail, &tail_rows, first + head_rows.units() as u64, out)
    }

    fn slice_dispatch(
        &self,
        map: &Map,
        rows: &Rows,
        first: u64,
    ) -> Result<Option<Dispatch>, Error> {
        let read = map.span(rows);
        let source = self.bound(self.places.source, read.start as u64, read.end as u64);
        let (Some(dest), Some(source)) = (self.result(rows, first), source) else {
            return Ok(None);
        };
        let source = Bound {
            base: source.base + (map.offset - read.start) as i64,
            ..source
        };
        let axes = map.axes.clone();
        kernels::dispatch(&self.job(*rows, RowMap::Slice(Slice { axes }), source, dest))
    }
}
