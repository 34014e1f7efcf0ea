//! What is moved by whole units whose bytes are shifted on the way, and how it is cut for that: results must
//! consist of such units, so a few rows may have to go by themselves.

use super::{Cutter, Span};
use crate::{
    gpu::{
        grid::Kind,
        width::{Widened, Width, is_better_shifted},
    },
    plan::Rows,
};

/// Bytes of a result of which a few rows are worth a dispatch of their own, so that the others make whole units:
/// moved in small pieces they take some 100 µs longer, and a dispatch takes lavapipe 30.
const WORTH_ANOTHER: u64 = 1 << 20;

impl Cutter<'_> {
    /// Whether the device moves bytes that lie anywhere by whole units.
    fn shifts(&self) -> bool {
        let reach = self.reach;
        reach.kind == Kind::Software
            && reach.widest == Width::MAX
            && reach.alignment.is_multiple_of(Width::MAX as u64)
    }

    /// How many of `size` equal parts of the result, which begin at unit `first`, are left over if the others make
    /// whole units of the largest size; if rows are moved by those, and one more dispatch for the rest takes
    /// less time than is gained.
    pub(super) fn left_over(&self, rows: &Rows, first: u64, size: usize) -> Option<usize> {
        if !self.shifts() || !self.places.whole {
            return None;
        }
        let unit = Width::MAX as u64;
        let first = self.places.dest.offset + self.bytes(first);
        let bytes = self.bytes(rows.units() as u64);
        let part = bytes / size as u64;
        let period = unit >> (part | unit).trailing_zeros();
        let left = size % usize::try_from(period).ok()?;
        let worth = bytes >= WORTH_ANOTHER && is_better_shifted(rows, rows.unit);
        let cut = first.is_multiple_of(unit) && left > 0 && left < size;
        (worth && cut).then_some(left)
    }

    /// The same rows in whole units whose bytes are shifted, where that is better than `wide`, and the binding of
    /// the source that they need.
    pub(super) fn shifted(
        &self,
        rows: &Rows,
        wide: &Widened,
        (source, source_base): (Span, i64),
        dest_base: i64,
        strides: impl Iterator<Item = i64>,
    ) -> Option<(Widened, Span)> {
        if !self.shifts() {
            return None;
        }
        let unit = Width::MAX as u64;
        let bytes = source.bytes.next_multiple_of(unit);
        // Addresses are 32 bits with a sign, and go a unit beyond either end.
        let most = self.reach.units.saturating_sub(unit);
        let bound = bytes <= self.reach.binding.min(most)
            && self.bytes(rows.units() as u64) <= most
            && (bytes == source.bytes || self.places.whole);
        let shifted = wide
            .shifted(rows, source_base, dest_base, strides)
            .filter(|_| bound)?;
        Some((shifted, Span { bytes, ..source }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        DType, GatherNd, Plan,
        gpu::{
            width::Way,
            window::{Parts, Places, Reach, dispatches},
        },
        ops::index::IndexType,
    };

    const LAVAPIPE: Reach = Reach {
        binding: 128 << 20,
        alignment: 256,
        groups: 65535,
        dispatch: 512 << 20,
        units: i32::MAX as u64,
        kind: Kind::Software,
        workgroup: 64,
        widest: Width::MAX,
    };

    /// Of each dispatch, bytes of the result and whether they are shifted.
    fn moved(reach: &Reach, plan: &Plan, dest_offset: u64, whole: bool) -> Vec<(u64, bool)> {
        let places = Places {
            source: Parts::ONE,
            dest: Parts {
                offset: dest_offset,
                ..Parts::ONE
            },
            indices: Parts::ONE,
            index: IndexType::I32,
            whole,
        };
        let (rows, map) = plan.in_units_of(places.unit());
        let dispatches = dispatches(reach, &rows, &map, &places).unwrap();
        let moved = dispatches.iter().map(|dispatch| {
            let width = dispatch.kernel.width;
            let shifted = matches!(width.way, Way::Shifted(_));
            let base = u64::from(dispatch.params.dest_base) * width.unit as u64;
            (dispatch.spans[1].bytes - base, shifted)
        });
        moved.collect()
    }

    /// Rows of no whole units together are cut, if they are many and neither source nor result forbids it.
    #[test]
    fn what_is_left_over_goes_by_itself() {
        let spec = "1:, 3:1040".parse().unwrap();
        let slice = |rows, dtype| Plan::strided_slice(&[rows, 1050], &spec, dtype).unwrap();
        let many = slice(1031, DType::U8);
        let (head, tail) = (1024 * 1037, 6 * 1037 + 2);
        assert_eq!(
            moved(&LAVAPIPE, &many, 0, true),
            [(head, true), (tail, false)]
        );
        assert_eq!(
            moved(&LAVAPIPE, &many, 64, true),
            [(head, true), (tail, false)]
        );
        for (plan, offset, whole) in [
            (slice(900, DType::U8), 0, true),
            (many.clone(), 4, true),
            (many.clone(), 0, false),
            (slice(1031, DType::F64), 0, true),
        ] {
            let all = plan.result_bytes().next_multiple_of(4) as u64;
            assert_eq!(moved(&LAVAPIPE, &plan, offset, whole), [(all, false)]);
        }
        let run = Plan::strided_slice(&[(2 << 20) + 9], &"3:".parse().unwrap(), DType::U8);
        let (head, tail) = (2 << 20, 6 + 2);
        assert_eq!(
            moved(&LAVAPIPE, &run.unwrap(), 0, true),
            [(head, true), (tail, false)]
        );
        // Also of parts that are cut because a binding holds no more.
        let small = Reach {
            binding: 4 << 20,
            ..LAVAPIPE
        };
        let parts = moved(&small, &slice(20_001, DType::U8), 0, true);
        let of = |shifted| {
            parts
                .iter()
                .filter(move |part| part.1 == shifted)
                .map(|part| part.0)
        };
        assert!(
            of(true).count() > 5 && of(false).sum::<u64>() < 32 * 1040,
            "{parts:?}"
        );
        let (head, tail) = (1024 * 1037, 6 * 1037 + 2);
        let words = Reach {
            widest: 16,
            ..LAVAPIPE
        };
        assert!(moved(&words, &many, 0, true).iter().all(|moved| !moved.1));
        let gather = Plan::gather_nd(&[9, 1037], &[1030, 1], GatherNd::default(), DType::U8);
        assert_eq!(
            moved(&LAVAPIPE, &gather.unwrap(), 0, true),
            [(head, true), (tail, false)]
        );
    }
}
