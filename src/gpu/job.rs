//! The work of one dispatch: rows, the map of where each begins, and bindings, in the plan's units. A job does not name
//! a kernel: the first kernel of the table in `kernels` that accepts a job runs it.

use super::{
    caps::{Reach, Span, VECTOR},
    maps::RowMap,
};
use crate::plan::Rows;

/// The work of one dispatch.
#[derive(Clone, Debug)]
pub(crate) struct Job<'a> {
    pub(crate) reach: &'a Reach,
    /// The rows of the result, or of the source if the job is of an update or a scatter.
    pub(crate) rows: Rows,
    pub(crate) map: RowMap,
    pub(crate) source: Bound,
    pub(crate) dest: Bound,
    /// The bindings other than source and result.
    pub(crate) others: [Span; 2],
    /// Whether bindings of source and result may be extended to whole vectors.
    pub(crate) whole_vectors: bool,
}

/// A binding of the source or the result.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bound {
    pub(crate) span: Span,
    /// The position of a unit in the binding, in units: in a source, the first unit of the first row (of a gather, if
    /// this row's tuple is all zeros); in a result, the first unit that is written.
    pub(crate) base: i64,
}

impl Job<'_> {
    /// The rows in units of the job.
    pub(crate) fn units(&self) -> Vectors {
        Vectors {
            rows: self.rows,
            source_base: self.source.base,
            dest_base: self.dest.base,
            factor: 1,
            reversed: 0,
        }
    }

    /// Extends the bindings of source and result to whole vectors. `None` if they must not be extended, or would then
    /// exceed the device's limits.
    pub(crate) fn whole_spans(&self) -> Option<[Span; 2]> {
        let vector = VECTOR as u64;
        // Shaders compute signed 32-bit addresses up to a vector beyond either end.
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

    /// The rows in the widest vectors at multiples of which all rows begin and end.
    pub(crate) fn vectors(&self) -> Vectors {
        let rows = &self.rows;
        let backwards = rows.step == -1;
        // Where the first row begins: if it is read backwards, at the upper end of its first unit.
        let low = self.source.base + i64::from(backwards);
        let common = self.map.distances() | low | self.dest.base | rows.run as i64;
        let mut factor = 1 << common.trailing_zeros().min((VECTOR / rows.unit).ilog2());
        if rows.step.abs() != 1 || backwards && factor * rows.unit < VECTOR {
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
    pub(crate) source_base: i64,
    pub(crate) dest_base: i64,
    /// The number of the job's units per vector.
    pub(crate) factor: usize,
    /// The size in bytes of the elements whose order is reversed within a vector; 0 if no order is reversed.
    pub(crate) reversed: usize,
}

impl Vectors {
    /// The number of units between the last multiple of `bytes` bytes and the first unit of the result that is written.
    pub(crate) fn head(&self, bytes: usize) -> usize {
        let per = bytes.div_ceil(self.rows.unit) as i64;
        usize::try_from(self.dest_base.rem_euclid(per)).unwrap_or_default()
    }
}
