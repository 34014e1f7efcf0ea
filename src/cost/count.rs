//! Counts the bytes that a plan moves, and the rows that begin in another cache line than the previous row, for
//! estimates of time.
//!
//! Repeated bytes are read once. Within a row, skipped bytes count as read, up to a cache line for each unit, unless
//! other rows of a slice use them. For example, a transpose reads each line once, in tiles, and so does a copy of
//! pixels to planes. If the rows of a slice begin less than a cache line apart, all of their lines are read in order: the
//! bytes between rows count as read, and the rows do not count. A slice uploads only the bytes that the host packs. Every
//! other operation uploads all of its arguments.

use crate::{
    ArraySpec, Plan,
    moves::{Effect, Move},
    stream::Piece,
    walk::Walk,
};

/// The size in bytes of a cache line, the unit in which memory is read.
const LINE_BYTES: usize = 64;

/// The size in bytes of the largest array that the last level of caches is likely to hold.
const CACHED_BYTES: usize = 32 << 20;

impl Plan {
    /// Returns the number of bytes that are uploaded if a device runs the plan on host values. For a slice this is its
    /// selection; for other plans it is all inputs and the array that is changed in place. Indices count as 64-bit
    /// integers.
    pub(super) fn uploaded_bytes(&self) -> f64 {
        if let Some(step_move) = self.single_move() {
            return step_move.uploaded_bytes();
        }
        let input_bytes: usize = self.inputs().iter().map(ArraySpec::bytes).sum();
        let changed_bytes = if self.is_in_place() {
            self.result_bytes()
        } else {
            0
        };
        (input_bytes + changed_bytes) as f64
    }
}

impl Move {
    /// Returns the number of bytes read and written, including the bytes of index tuples.
    pub(super) fn moved_byte_count(&self) -> f64 {
        let read_and_written = match (self.walk(), self.effect()) {
            (_, Effect::Fill) => 2 * self.result_bytes(),
            // One pass over the mask counts true elements, and another finds their positions.
            (_, Effect::Find(_)) => 2 * self.source_bytes() + self.result_bytes(),
            (None, _) => 0,
            (Some(walk), _) => {
                walk.units() / repeat_count(walk) * bytes_read_per_unit(walk)
                    + walk.units() * walk.unit
            }
        };
        read_and_written as f64 + self.max_index_bytes()
    }

    /// Returns the number of rows that begin at least a cache line away from the previous row. Without indices all rows
    /// count or none, because the distance between rows is constant. With indices every row counts.
    pub(super) fn line_starts(&self) -> f64 {
        let outer_distance = match self.walk().map(|walk| (walk.unit, &walk.dims[..])) {
            Some((unit, [.., outer, _])) if self.tuples().is_none() => {
                outer.from.unsigned_abs().saturating_mul(unit)
            }
            _ => LINE_BYTES,
        };
        let rows = match self.effect() {
            // Each position counts as a row, and the number of true elements is assumed to equal the capacity.
            Effect::Find(find) => find.capacity,
            _ => self.rows(),
        };
        match outer_distance {
            ..LINE_BYTES => 0.0,
            _ => rows as f64,
        }
    }

    /// Returns [`Move::line_starts`] for the CPU, which copies all elements along the last cropped dimension of a box
    /// as one row.
    pub(super) fn starts_on_cpu(&self) -> f64 {
        let last_coordinate = self.walk().and_then(|walk| walk.coordinates.last());
        let line_length = last_coordinate
            .and_then(|last_coordinate| last_coordinate.along)
            .map_or(1, |along| along.extent);
        self.line_starts() / line_length as f64
    }

    /// Returns whether index tuples determine the places of rows in an array of more than [`CACHED_BYTES`] bytes.
    pub(super) fn is_far(&self) -> bool {
        let array_bytes = match (self.effect(), self.tuples()) {
            (Effect::Scatter(_), _) => self.result_bytes(),
            (_, Some(_)) => self.source_bytes(),
            (_, None) => 0,
        };
        array_bytes > CACHED_BYTES
    }

    /// Returns the number of bytes that are uploaded if a device runs the move on host values: the selection of a
    /// slice, or all arguments of another operation. A plan does not know the type of its indices, so each index counts
    /// as a 64-bit integer, the largest type.
    pub(super) fn uploaded_bytes(&self) -> f64 {
        if self.is_slice() {
            let whole_piece = Piece::whole(self);
            return whole_piece.map_or(0.0, |piece| piece.split().host.result_bytes() as f64);
        }
        let changed_bytes = match self.is_in_place() {
            true => self.result_bytes(),
            false => 0,
        };
        (self.source_bytes() + changed_bytes) as f64 + self.max_index_bytes()
    }

    fn max_index_bytes(&self) -> f64 {
        let integer_count = self.tuples().map_or(0, |tuples| tuples.integer_count());
        integer_count as f64 * 8.0
    }
}

/// Returns the number of times that a walk writes each unit that it reads, or 1 for a walk with indices.
fn repeat_count(walk: &Walk) -> usize {
    let repeated_dims = walk.dims.iter().filter(|dim| dim.from == 0);
    match walk.coordinates[..] {
        [] => repeated_dims.map(|dim| dim.size).product(),
        _ => 1,
    }
}

/// Returns the number of bytes read for each unit that is not a repetition. If units are less than a cache line apart, all
/// bytes from the first to the last unit are read, and each unit counts an equal share. Otherwise each unit counts the
/// distance to the next unit, but at most a cache line.
fn bytes_read_per_unit(walk: &Walk) -> usize {
    let byte_distance = |distance: isize| distance.unsigned_abs().saturating_mul(walk.unit);
    let distance_in_row = byte_distance(walk.run().from).max(walk.unit);
    let mut dims_by_distance: Vec<(usize, usize)> = Vec::new();
    if walk.coordinates.is_empty() {
        let dims = walk
            .dims
            .iter()
            .map(|dim| (byte_distance(dim.from), dim.size));
        dims_by_distance.extend(dims.filter(|&(distance, size)| distance > 0 && size > 1));
    }
    dims_by_distance.sort_unstable();
    // `extent` is the number of bytes from the first to the last of `units` units that are less than a line apart.
    let (mut extent, mut units) = (walk.unit, 1_usize);
    for (distance, size) in dims_by_distance {
        if extent >= LINE_BYTES || distance >= LINE_BYTES {
            break;
        }
        extent = distance.saturating_mul(size - 1).saturating_add(extent);
        units = units.saturating_mul(size);
    }
    let bytes_per_unit = match units {
        1 => distance_in_row,
        _ => extent.div_ceil(units),
    };
    bytes_per_unit.min(LINE_BYTES.max(walk.unit))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{
        DType, SliceSpec, View,
        options::{Boxes, CropOptions, GatherNdOptions},
    };

    pub(in crate::cost) fn plan(shape: &[usize], spec: &str) -> Plan {
        let spec: SliceSpec = spec.parse().unwrap();
        Plan::slice(shape, &spec, DType::U8).unwrap()
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
            let plan = plan(&[100 * 500], spec).only_move();
            let bytes = plan.result_bytes() as f64;
            assert_eq!(plan.moved_byte_count(), bytes * (1.0 + read), "{spec}");
        }
    }

    #[test]
    fn lines_that_several_rows_use_are_read_once() {
        let moved_per_result_byte = |shape: &[usize], axes: &[usize], dtype| {
            let view = View::new(shape).unwrap().transpose(axes).unwrap();
            let plan = Plan::contiguous(view, dtype).unwrap().only_move();
            plan.moved_byte_count() / plan.result_bytes() as f64
        };
        assert_eq!(
            moved_per_result_byte(&[1000, 1000], &[1, 0], DType::F32),
            2.0
        );
        // Pixels become planes, and planes become pixels.
        assert_eq!(
            moved_per_result_byte(&[100, 100, 3], &[2, 0, 1], DType::U8),
            2.0
        );
        assert_eq!(
            moved_per_result_byte(&[3, 100, 100], &[1, 2, 0], DType::U8),
            2.0
        );
        // Contiguous rows skip no bytes.
        assert_eq!(
            moved_per_result_byte(&[1000, 2, 50], &[1, 0, 2], DType::F32),
            2.0
        );
        let columns = plan(&[1000, 100], ":, :3").only_move();
        assert_eq!(
            columns.moved_byte_count(),
            2.0 * columns.result_bytes() as f64
        );
        let channel = plan(&[100, 100, 3], "..., 1").only_move();
        assert_eq!(
            channel.moved_byte_count(),
            4.0 * channel.result_bytes() as f64
        );
    }

    #[test]
    fn repeated_bytes_are_read_once() {
        let moved_bytes = |view: View| {
            Plan::contiguous(view, DType::U8)
                .unwrap()
                .only_move()
                .moved_byte_count()
        };
        let rows = View::new(&[1, 500]).unwrap().broadcast_to(&[30, 500]);
        assert_eq!(moved_bytes(rows.unwrap()), 500.0 * (30.0 + 1.0));
        let columns = View::new(&[500, 1]).unwrap().broadcast_to(&[500, 30]);
        assert_eq!(moved_bytes(columns.unwrap()), 500.0 * (30.0 + 1.0));
        let repeat = Plan::repeat(&[500], 2, 0, DType::U8).unwrap();
        let moves: Vec<&Move> = repeat.steps().map(|(step_move, _)| step_move).collect();
        assert_eq!(moves.len(), 1);
        assert_eq!(moves[0].moved_byte_count(), 1500.0);
        assert_eq!(moves[0].line_starts(), 0.0);
    }

    #[test]
    fn bytes_between_near_rows_are_read() {
        for (shape, spec, starts, read) in [
            (&[100, 128][..], ":, :3", 100.0, 1.0),
            // 300 units share 1,587 bytes.
            (&[100, 16], ":, :3", 0.0, 6.0),
            (&[100, 16], "::-1, :3", 0.0, 6.0),
            (&[100], "::2", 1.0, 2.0),
        ] {
            let step_move = plan(shape, spec).only_move();
            assert_eq!(step_move.line_starts(), starts, "{spec}");
            let bytes = step_move.result_bytes() as f64;
            assert_eq!(step_move.moved_byte_count(), bytes * (1.0 + read), "{spec}");
        }
    }

    #[test]
    fn the_cpu_copies_lines_of_a_crop() {
        let boxes = Boxes::of_tuples(&[5, 5], true, true);
        let options = CropOptions {
            sizes: vec![20, 30],
            ..CropOptions::default()
        };
        let crop = Plan::crop(&[2, 100, 100, 3], boxes, &options, DType::U8);
        let crop = crop.unwrap().only_move();
        assert_eq!(crop.line_starts(), 5.0 * 20.0 * 30.0);
        assert_eq!(crop.starts_on_cpu(), 5.0 * 20.0);
    }

    #[test]
    fn rows_at_indices_in_an_array_larger_than_caches_are_far() {
        let are_far = |rows| {
            let scatter =
                Plan::tensor_scatter_nd(&[rows], &[7, 1], &[7], Default::default(), DType::U8);
            let gather = Plan::gather_nd(&[rows], &[7, 1], Default::default(), DType::U8);
            [scatter, gather].map(|plan| plan.unwrap().only_move().is_far())
        };
        assert_eq!(are_far(CACHED_BYTES), [false; 2]);
        assert_eq!(are_far(CACHED_BYTES + 1), [true; 2]);
        // The rows of a slice are never far, because the processor prefetches them.
        assert!(!plan(&[CACHED_BYTES + 1], "::64").only_move().is_far());
    }

    #[test]
    fn unneeded_bytes_are_not_uploaded() {
        assert_eq!(plan(&[1000, 2000], ":, 500:1500").uploaded_bytes(), 1e6);
        // The host packs the elements that a step of 2 skips, but not the elements that a step of 100 skips.
        assert_eq!(plan(&[1000, 2000], ":, ::2").uploaded_bytes(), 1_999_999.0);
        assert_eq!(plan(&[100, 2000], ":, ::100").uploaded_bytes(), 2000.0);
        assert_eq!(plan(&[1000], "5:5").uploaded_bytes(), 0.0);
        let gather =
            Plan::gather_nd(&[100, 30], &[7, 1], GatherNdOptions::default(), DType::F32).unwrap();
        assert_eq!(gather.uploaded_bytes(), 100.0 * 30.0 * 4.0 + 7.0 * 8.0);
    }
}
