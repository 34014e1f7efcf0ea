//! What is counted of a plan: what the executors do.
//!
//! Bytes that are read because they lie between others count as read, and rows of a slice as far as they
//! begin in another line of memory than the one before; to a device goes what the host packs of a slice,
//! and all of a gather's params and indices. What happens to the result on the host, wherever it was
//! made, is not counted: new memory for it can take longer than the work.

use crate::{
    Plan,
    plan::{Map, Rows},
    stream::Piece,
};

/// What memory is read by: bytes of a cache line.
const LINE: usize = 64;

impl Plan {
    /// Bytes that are read and written.
    pub(super) fn moved(&self) -> f64 {
        let Rows {
            unit,
            count,
            run,
            step,
        } = self.rows;
        // A step reads what it steps over, up to a line for each unit.
        let apart = step.unsigned_abs().saturating_mul(unit);
        let read = run as f64 * apart.min(LINE.max(unit)) as f64;
        count as f64 * (read + (run * unit) as f64) + self.indices()
    }

    /// Rows that begin somewhere else than in the line of memory where the one before does.
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
        let shape = match &self.map {
            Map::StridedSlice(_) | Map::StridedSliceUpdate(_) | Map::StridedSliceGrad(_) => {
                return 0.0;
            }
            Map::Indexed(map) => &map.indices,
            Map::ScatterNd(map) => &map.indices,
        };
        shape.iter().product::<usize>() as f64 * 8.0
    }

    /// Bytes that the operation has where it is done.
    pub(super) fn held(&self) -> f64 {
        let changed = if self.is_in_place() {
            self.result_bytes()
        } else {
            0
        };
        (self.source_bytes() + changed) as f64 + self.indices()
    }

    /// Bytes that go to a device.
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

    /// A slice of bytes.
    pub(in crate::cost) fn plan(shape: &[usize], spec: &str) -> Plan {
        let spec: SliceSpec = spec.parse().unwrap();
        Plan::strided_slice(shape, &spec, DType::U8).unwrap()
    }

    #[test]
    fn bytes_that_are_stepped_over_are_read_up_to_a_line() {
        for (step, read) in [
            (1, 1.0),
            (-1, 1.0),
            (2, 2.0),
            (-3, 3.0),
            (64, 64.0),
            (500, 64.0),
        ] {
            let plan = plan(
                &[100 * 500],
                &format!("{}::{step}", if step > 0 { "" } else { "100" }),
            );
            let units = plan.rows.units() as f64 * plan.rows.unit as f64;
            assert_eq!(plan.moved(), units * (1.0 + read), "{step}");
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
    fn what_a_device_does_not_need_is_not_sent() {
        assert_eq!(plan(&[1000, 2000], ":, 500:1500").sent(), 1e6);
        // Every second byte is taken along, and one in a hundred is not.
        assert_eq!(
            plan(&[1000, 2000], ":, ::2").sent(),
            1999.0 * 1000.0 + 999.0
        );
        assert_eq!(plan(&[100, 2000], ":, ::100").sent(), 2000.0);
        assert_eq!(plan(&[1000], "5:5").sent(), 0.0);
        let gather = Plan::gather_nd(&[100, 30], &[7, 1], GatherNd::default(), DType::F32).unwrap();
        assert_eq!(gather.sent(), 100.0 * 30.0 * 4.0 + 7.0 * 8.0);
    }
}
