//! The bytes and rows of a plan that take time, as the executors process them.
//!
//! Unneeded bytes that are read because they lie between needed ones count as read. A row of a slice counts
//! in proportion to the cache lines that it begins after the previous one. A device receives the bytes of a
//! slice that the host packs, and all params and indices of a gather. Allocating host memory for the result is
//! counted for neither, although it can take longer than the work.

use crate::{Plan, plan::Map, stream::Piece};

/// Bytes of a cache line, the unit in which memory is read.
const LINE: usize = 64;

impl Plan {
    /// Bytes read and written.
    pub(super) fn moved(&self) -> f64 {
        let rows = self.rows;
        // A step reads the bytes that it skips, up to a line for each unit.
        let apart = rows.step.unsigned_abs().saturating_mul(rows.unit);
        let read = rows.run as f64 * apart.min(LINE.max(rows.unit)) as f64;
        let written = rows.run * rows.unit;
        rows.count as f64 * (read + written as f64) + self.indices()
    }

    /// Rows that begin in another cache line than the previous row.
    pub(super) fn starts(&self) -> f64 {
        let apart = match &self.map {
            Map::StridedSlice(map) => map.axes.last().map_or(LINE, |axis| {
                axis.stride.unsigned_abs().saturating_mul(self.rows.unit)
            }),
            _ => LINE,
        };
        self.rows.count as f64 * apart.min(LINE) as f64 / LINE as f64
    }

    /// Bytes of 64-bit indices.
    fn indices(&self) -> f64 {
        self.tuples()
            .map_or(0.0, |tuples| tuples.integers() as f64 * 8.0)
    }

    /// Bytes of all arguments.
    pub(super) fn held(&self) -> f64 {
        let changed = match self.is_in_place() {
            true => self.result_bytes(),
            false => 0,
        };
        (self.source_bytes() + changed) as f64 + self.indices()
    }

    /// Bytes uploaded to a device.
    pub(super) fn sent(&self) -> f64 {
        match &self.map {
            Map::StridedSlice(_) => {
                let whole = Piece::whole(self);
                whole.map_or(0.0, |piece| piece.split().host.result_bytes() as f64)
            }
            _ => self.held(),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{DType, GatherNd, SliceSpec};

    pub(in crate::cost) fn plan(shape: &[usize], spec: &str) -> Plan {
        let spec: SliceSpec = spec.parse().unwrap();
        Plan::strided_slice(shape, &spec, DType::U8).unwrap()
    }

    #[test]
    fn skipped_bytes_are_read_up_to_a_line() {
        for (spec, read) in [
            ("::1", 1.0),
            ("100::-1", 1.0),
            ("::2", 2.0),
            ("100::-3", 3.0),
            ("::64", 64.0),
            ("::500", 64.0),
        ] {
            let plan = plan(&[100 * 500], spec);
            let units = plan.rows.units() as f64 * plan.rows.unit as f64;
            assert_eq!(plan.moved(), units * (1.0 + read), "{spec}");
        }
    }

    #[test]
    fn rows_that_begin_within_a_line_share_it() {
        assert_eq!(plan(&[100, 128], ":, :3").starts(), 100.0);
        assert_eq!(plan(&[100, 16], ":, :3").starts(), 25.0);
        assert_eq!(plan(&[100, 16], "::-1, :3").starts(), 25.0);
        assert_eq!(plan(&[100], "::2").starts(), 1.0);
    }

    #[test]
    fn unneeded_bytes_are_not_uploaded() {
        assert_eq!(plan(&[1000, 2000], ":, 500:1500").sent(), 1e6);
        // The gap is uploaded at step 2, but not at step 100.
        assert_eq!(plan(&[1000, 2000], ":, ::2").sent(), 1_999_999.0);
        assert_eq!(plan(&[100, 2000], ":, ::100").sent(), 2000.0);
        assert_eq!(plan(&[1000], "5:5").sent(), 0.0);
        let gather = Plan::gather_nd(&[100, 30], &[7, 1], GatherNd::default(), DType::F32).unwrap();
        assert_eq!(gather.sent(), 100.0 * 30.0 * 4.0 + 7.0 * 8.0);
    }
}
