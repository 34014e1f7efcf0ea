//! The work of one dispatch: rows, the map of where each row begins, and bindings, all in the plan's units. A job does
//! not name a kernel: the first kernel of the table in `kernels` that accepts a job runs it.

use super::{
    caps::{Reach, Span, VECTOR},
    maps::{RowMap, Scatter},
};
use crate::plan::Rows;

/// The work of one dispatch.
#[derive(Clone, Debug)]
pub(crate) struct Job<'a> {
    pub(crate) reach: &'a Reach,
    /// The rows of the result or, for an update or a scatter, of the source. In the steps that read index tuples or
    /// sort lists, a row is a single unit.
    pub(crate) rows: Rows,
    pub(crate) map: RowMap,
    /// Binding 0 of the shader: the source, or in the steps that prepare a scatter the array `head`.
    pub(crate) source: Bound,
    /// Binding 1 of the shader: the result, or in the steps that prepare a scatter the array `rows`.
    pub(crate) dest: Bound,
    /// Bindings 2 and 3 of the shader, if it has them. In `scatter_nd.wgsl` they are the arrays `head` and `rows`. In
    /// every other shader with a binding 2, this holds the index tuples, and there is no binding 3.
    pub(crate) others: [Span; 2],
    /// Whether the buffers of source and result consist of whole vectors, so that bindings may be extended to whole
    /// vectors.
    pub(crate) whole_vectors: bool,
}

/// A binding of the source or the result, and where the job begins in it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bound {
    pub(crate) span: Span,
    /// Where the job begins in the binding, in units. In a result, this is the first unit that is written or, for a
    /// scatter, the first unit of the first bound slice. In a source, it is the first unit of the first row. In the
    /// source of a gather, it is where the first row would begin if its first index were the first that the dispatch
    /// accepts and all others were zero; negative if that lies before the binding. In the step of a scatter that finds
    /// slices, it is instead the number that `head` gives to the first row.
    pub(crate) base: i64,
}

impl Job<'_> {
    /// The rows in vectors of one unit each, for kernels that do not join the job's units into larger vectors.
    pub(crate) fn units(&self) -> Vectors {
        Vectors {
            rows: self.rows,
            source_base: self.source.base,
            dest_base: self.dest.base,
            factor: 1,
            reversed: 0,
        }
    }

    /// Returns the bindings of source and result, in this order, extended to whole vectors. `None` if the bindings must
    /// not be extended, if the extended ones would exceed the device's limits, or if bindings may begin within vectors.
    pub(crate) fn whole_spans(&self) -> Option<[Span; 2]> {
        let vector = VECTOR as u64;
        // Shaders compute signed 32-bit byte addresses up to a vector beyond either end of a binding, so bindings must
        // be a vector shorter than the largest address.
        let most = self
            .reach
            .binding
            .min(self.reach.units.saturating_sub(vector));
        let spans = [self.source.span, self.dest.span].map(|span| Span {
            bytes: span.bytes.next_multiple_of(vector),
            ..span
        });
        let fits = self.whole_vectors
            && self.reach.alignment.is_multiple_of(vector)
            && spans.iter().all(|span| span.bytes <= most);
        fits.then_some(spans)
    }

    /// The rows in the widest vectors, of up to 16 bytes, such that every row begins and ends with a whole vector.
    /// Units are joined only if those of a row are contiguous. Units that are read backwards are joined only in a
    /// slice, and only to 16-byte vectors, since kernels reverse the units of no other vectors.
    pub(crate) fn vectors(&self) -> Vectors {
        let rows = &self.rows;
        let backwards = rows.step == -1;
        // The boundary between units at which the first row begins: the upper end of its first unit if the row is read
        // backwards, otherwise the lower end.
        let low = self.source.base + i64::from(backwards);
        let common = self.map.distances() | low | self.dest.base | rows.run as i64;
        let mut factor = 1 << common.trailing_zeros().min((VECTOR / rows.unit).ilog2());
        let reverses = factor * rows.unit == VECTOR && matches!(self.map, RowMap::Slice(_));
        if rows.step.abs() != 1 || backwards && !reverses {
            factor = 1;
        }
        // Kernels that replace slices have no vectors of 8 bytes, so smaller units stay as they are.
        if matches!(
            self.map,
            RowMap::Scatter(Scatter {
                combines: false,
                ..
            })
        ) && factor * rows.unit == 8
        {
            factor = 1;
        }
        Vectors {
            rows: Rows {
                unit: rows.unit * factor,
                run: rows.run / factor,
                ..*rows
            },
            source_base: low.div_euclid(factor as i64) - i64::from(backwards),
            dest_base: self.dest.base / factor as i64,
            factor,
            reversed: if backwards && factor > 1 {
                rows.unit
            } else {
                0
            },
        }
    }
}

/// The rows of a job in vectors of `factor` units each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Vectors {
    pub(crate) rows: Rows,
    /// [`Bound::base`] of the source, in vectors.
    pub(crate) source_base: i64,
    /// [`Bound::base`] of the result, in vectors.
    pub(crate) dest_base: i64,
    /// The number of the job's units per vector.
    pub(crate) factor: usize,
    /// The size in bytes of the elements whose order is reversed within a vector; 0 if no order is reversed.
    pub(crate) reversed: usize,
}

impl Vectors {
    /// The number of vectors that precede the first written vector in its block. Blocks of `bytes` bytes, no smaller
    /// than a vector, are counted from the beginning of the result's binding.
    pub(crate) fn head(&self, bytes: usize) -> usize {
        let per = bytes.div_ceil(self.rows.unit) as i64;
        usize::try_from(self.dest_base.rem_euclid(per)).unwrap_or_default()
    }
}
