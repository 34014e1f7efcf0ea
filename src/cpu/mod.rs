//! Runs plans on the CPU.
//!
//! A backend without a GPU runs all plans on the CPU. A backend with a GPU can run a plan on host values on the CPU: if
//! the CPU is estimated to be faster, or if the GPU reports an error. Slices, gathers, crops and gradients write every
//! byte of the result, so the memory of their result can have any content.
//!
//! These words are used in the whole folder:
//!
//! | word | meaning |
//! |---|---|
//! | unit | the bytes that a walk (`src/walk.rs`) takes at a time: 1, 2, 4, 8 or 16 |
//! | piece | bytes that are contiguous both in the source and in the result; often several units |
//! | row | pieces at a constant distance in the source |
//! | block | rows at a constant distance in the source |
//! | group | blocks at a constant distance or, with index tuples, all units that share a tuple |
//! | place | the offset in bytes of a group's start, in the array that its index tuple points into |
//! | kernel | a Rust loop that moves rows of pieces |
//! | part | the bytes of a large result that a thread writes before it takes the next part |
//! | dense | a dense walk writes a contiguous range of bytes |
//!
//! A number named `unit` or `piece` is the size of one unit or piece in bytes.
//!
//! | file | topic |
//! |---|---|
//! | `slice` | the loops of a slice |
//! | `transpose` | the tiles of a transposed slice, and which tiles a thread writes |
//! | `lanes` | lanes of transposed slices, written in blocks of whole cache lines |
//! | `short_axes` | the tiles of a slice of many short axes |
//! | `square` | how pieces of 1, 2, 4, 8 or 16 bytes are transposed in registers |
//! | `locate` | the places that index tuples point at |
//! | `make` | how the groups of a gather or a crop are copied |
//! | `weave` | how arrays are interleaved, as in a stack of planes |
//! | `outer` | outer index expressions (`numpy.ix_`), and gathers of short groups by the same tuples in each row |
//! | `paste` | which thread writes which boxes of a paste |
//! | `place` | writes with gaps, as in updates, gradients and crops, and the zeros in the gaps |
//! | `keep` | which pieces a mask keeps |
//! | `mask` | where a mask is true, and how elements are written there |
//! | `scatter` | which thread combines which rows of a scatter |
//! | `combine` | how elements are added, subtracted, multiplied and compared |
//! | `convert` | how elements are converted to another type |
//! | `dest` | when the bytes of new memory are set to zero |
//! | `odometer` | sums of strides over nested dimensions |
//! | `kernel`, `rows` | which loop moves rows of pieces, depending on the size of the pieces and their distance |
//! | `fixed_copy` | how one piece is copied, depending on its size |
//! | `shuffle`, `no_shuffle` | how the processor's byte shuffles move rows and planes of small pieces |
//! | `strided_store` | vectorized loops that write units at a small distance |
//! | `memory` | prefetches, large pages, new memory, and stores that bypass the caches; it has all unsafe code |
//! | `processor` | how the order of reads and writes depends on the processor |
//! | `threads` | how many threads write a result, and which part each writes |
//! | `indices` | index tuples in the caller's memory, and their integer types |

mod combine;
mod convert;
mod dest;
mod fixed_copy;
mod indices;
pub(crate) mod keep;
mod kernel;
mod lanes;
mod locate;
mod make;
pub(crate) mod mask;
mod memory;
mod odometer;
pub(crate) mod outer;
mod paste;
mod place;
mod processor;
mod rows;
mod scatter;
mod short_axes;
#[cfg_attr(not(feature = "std"), path = "no_shuffle.rs")]
mod shuffle;
mod slice;
mod square;
mod strided_store;
mod threads;
mod transpose;
mod weave;

#[cfg(any(test, feature = "test-seams"))]
pub(crate) use dest::ALWAYS_UNINITIALIZED;
pub(crate) use dest::{Dest, Pieces, fill_values};
pub use indices::IndexElement;
pub(crate) use indices::Indices;
pub(crate) use memory::map_in_large_pages;
#[cfg(any(test, feature = "test-seams"))]
pub(crate) use processor::IS_OTHER_KIND;
pub(crate) use threads::Threads;
pub(crate) use weave::Weave;

use crate::prelude::*;
use crate::{
    DType, Error, View,
    moves::{Effect, Move, Scatter},
    ops::{
        convert::PlanConversion,
        index::{Index, IndexType},
    },
    report::{Missing, Report},
    shape::check_length,
    text::counted,
    walk::{Dim, Walk},
};

/// The loops that run a move.
enum MoveLoops<'a> {
    /// No loops, because no element has a source. A new result is filled with zeros.
    None,
    /// Loops that find where a mask is true.
    Find,
    /// Loops that write where a mask is true.
    Mask(&'a Walk),
    Convert(&'a Walk, &'a PlanConversion),
    Slice(&'a Walk),
    /// Writes pieces with gaps between them and keeps the bytes in the gaps.
    StridedWrites(&'a Walk),
    Fill(&'a Walk),
    Gather(&'a Walk),
    /// [`MoveLoops::Gather`] into a temporary buffer, then [`MoveLoops::StridedWrites`] from the buffer.
    Staged(&'a Walk),
    Paste(&'a Walk),
    Scatter(&'a Walk, Scatter),
}

impl View {
    /// Copies the elements that the view selects from `source` to `dest`, which has the size of the result. `dtype` is
    /// the type of the elements. For a result of a few hundred bytes, making a plan and a report would take as long as
    /// the copy, so this function makes neither.
    pub(crate) fn copy(&self, dtype: DType, source: &[u8], dest: Dest<'_>, threads: Threads) {
        copy(
            (Dim::from_view(self), self.offset),
            dtype,
            source,
            dest,
            threads,
        );
    }

    /// Returns the pieces that [`Self::copy`] copies.
    pub(crate) fn pieces(&self, dtype: DType) -> Pieces {
        Pieces::of_result(self.len(), dtype, || {
            pieces_along(Dim::from_view(self), dtype)
        })
    }
}

/// Copies as [`View::copy`] does: the elements at all positions of `dims`, starting at element `first`.
pub(crate) fn copy(
    (dims, first): (Vec<Dim>, usize),
    dtype: DType,
    source: &[u8],
    dest: Dest<'_>,
    threads: Threads,
) {
    if dest.len() > 0 {
        let walk = copying_walk(dims, first, dtype);
        slice::LoopNest::from_walk(&walk).run(source, 0, dest, threads);
    }
}

/// Returns the pieces that [`copy`] copies.
pub(crate) fn pieces(dims: &[Dim], dtype: DType) -> Pieces {
    let len = dims.iter().map(|dim| dim.size).product();
    Pieces::of_result(len, dtype, || pieces_along(dims.to_vec(), dtype))
}

fn pieces_along(dims: Vec<Dim>, dtype: DType) -> Pieces {
    slice::LoopNest::from_walk(&copying_walk(dims, 0, dtype)).pieces()
}

/// Returns the walk that reads the elements at all positions of `dims`. It is for a [`slice::LoopNest`], which writes a
/// result in order and does not read `Dim::to`, which is 0 in `dims`.
fn copying_walk(dims: Vec<Dim>, first: usize, dtype: DType) -> Walk {
    let mut walk = Walk::strided(dtype.size(), first.cast_signed(), 0, dims);
    walk.merge();
    walk
}

impl Move {
    /// Returns the pieces that are copied to a new result.
    pub(crate) fn pieces(&self) -> Pieces {
        let len = self.shape.iter().product();
        Pieces::of_result(len, self.dtype, || match self.choose_loops() {
            MoveLoops::Slice(walk) if !self.is_in_place() => {
                slice::LoopNest::from_walk(walk).pieces()
            }
            MoveLoops::Gather(walk) if !self.is_in_place() => make::pieces(walk),
            _ => Pieces::WithZeros,
        })
    }

    /// Writes `dest`, the part of a slice's result that begins at byte `first`, on the CPU.
    ///
    /// `first` and the length of `dest` in bytes are multiples of the move's unit. The part must be within the result.
    #[cfg(any(feature = "gpu", test))]
    pub(crate) fn run_part(
        &self,
        source: &[u8],
        first: usize,
        dest: &mut [u8],
    ) -> Result<(), Error> {
        debug_assert!(self.is_slice(), "only slices run in parts");
        debug_assert!(first + dest.len() <= self.result_bytes());
        self.check_source(source)?;
        if let Some(walk) = self.walk() {
            debug_assert!((first | dest.len()).is_multiple_of(walk.unit));
            slice::LoopNest::from_walk(walk).run(source, first, dest.into(), Threads::default());
        }
        Ok(())
    }

    /// Runs the move on the CPU. The number of threads depends on the size of the result.
    #[cfg(any(feature = "gpu", test))]
    pub(crate) fn run_cpu(
        &self,
        source: &[u8],
        indices: Option<Indices<'_>>,
        dest: &mut [u8],
    ) -> Result<Report, Error> {
        let indices = indices.unwrap_or(Indices::I32(&[]));
        self.run_on_threads(source, indices, dest.into(), Threads::default())
    }

    /// Runs the move on the CPU, on a bounded number of threads. For a move without indices, `indices` is empty.
    pub(crate) fn run_on_threads(
        &self,
        source: &[u8],
        indices: Indices<'_>,
        dest: Dest<'_>,
        threads: Threads,
    ) -> Result<Report, Error> {
        self.check_source(source)?;
        check_length(
            "dest",
            &self.shape,
            "bytes",
            self.result_bytes(),
            dest.len(),
        )?;
        if let Some(tuples) = self.tuples() {
            let (shape, integer_count) = (tuples.indices, tuples.integer_count());
            self.index_type_of(indices.dtype(), "indices")?;
            check_length("indices", shape, "elements", integer_count, indices.len())?;
        }
        let missing = match indices {
            Indices::Mask(mask) => {
                if let MoveLoops::Mask(walk) = self.choose_loops() {
                    mask::update(walk, source, mask, dest.all(), threads);
                }
                Missing::default()
            }
            Indices::I32(indices) => self.execute_indexed(source, indices, dest, threads),
            Indices::I64(indices) => self.execute_indexed(source, indices, dest, threads),
            Indices::U32(indices) => self.execute_indexed(source, indices, dest, threads),
        };
        self.report(missing, |tuple| indices.tuple(tuple, self.depth()))
    }

    fn execute_indexed<I: Index>(
        &self,
        source: &[u8],
        indices: &[I],
        dest: Dest<'_>,
        threads: Threads,
    ) -> Missing {
        let gather = |walk: &Walk, dest: Dest<'_>| {
            make::run(walk, self.policy(), source, indices, dest, threads)
        };
        match self.choose_loops() {
            // Not reached: `index_type_of` rejects integers as a mask, and `Plan::run_steps` runs searches in masks.
            MoveLoops::Mask(_) | MoveLoops::Find => {}
            MoveLoops::None => {
                let dest = dest.all();
                if !self.is_in_place() {
                    dest.fill(0);
                }
            }
            MoveLoops::Convert(walk, conversion) => {
                return convert::run(self, walk, conversion, source, indices, dest, threads);
            }
            MoveLoops::Slice(walk) => {
                slice::LoopNest::from_walk(walk).run(
                    source,
                    0,
                    self.dense_part(walk, dest),
                    threads,
                );
            }
            MoveLoops::StridedWrites(walk) => {
                place::run::<false>(walk, source, dest.all(), threads);
            }
            MoveLoops::Fill(walk) => place::run::<true>(walk, source, dest.all(), threads),
            MoveLoops::Gather(walk) => return gather(walk, self.dense_part(walk, dest)),
            MoveLoops::Staged(walk) => {
                let dest = dest.all();
                let [filling_walk, placing_walk] = walk.split_stages();
                let mut stage = vec![0; walk.bytes()];
                let missing = gather(&filling_walk, Dest::Old(&mut stage));
                place::run::<false>(&placing_walk, &stage, dest, threads);
                return missing;
            }
            MoveLoops::Paste(walk) => {
                return paste::run(walk, self.policy(), source, indices, dest.all(), threads);
            }
            MoveLoops::Scatter(walk, effect) => {
                return scatter::run(walk, effect, source, indices, dest.all(), threads);
            }
        }
        Missing::default()
    }

    /// Returns the bytes that a walk with a contiguous destination writes: all of a new result, or a part of the
    /// updated array.
    fn dense_part<'d>(&self, walk: &Walk, dest: Dest<'d>) -> Dest<'d> {
        match self.effect {
            Effect::Update => walk.part_of(dest.all()).unwrap_or_default().into(),
            _ => dest,
        }
    }

    /// Chooses the loops that run the move.
    fn choose_loops(&self) -> MoveLoops<'_> {
        let Some(walk) = &self.walk else {
            return match self.effect {
                Effect::Find(_) => MoveLoops::Find,
                _ => MoveLoops::None,
            };
        };
        if let Some(conversion) = &self.conversion {
            return MoveLoops::Convert(walk, conversion);
        }
        let tuples = self.indices.as_ref();
        if tuples.is_some_and(|tuples| tuples.index_type == IndexType::Mask) {
            return MoveLoops::Mask(walk);
        }
        let has_coordinates = !walk.coordinates.is_empty();
        match self.effect {
            Effect::Find(_) => MoveLoops::Find,
            Effect::Make if has_coordinates => MoveLoops::Gather(walk),
            Effect::Make => MoveLoops::Slice(walk),
            Effect::Update if has_coordinates && walk.is_dense() => MoveLoops::Gather(walk),
            Effect::Update if has_coordinates => MoveLoops::Staged(walk),
            Effect::Update if walk.is_dense() => MoveLoops::Slice(walk),
            Effect::Update => MoveLoops::StridedWrites(walk),
            Effect::Fill => MoveLoops::Fill(walk),
            Effect::Scatter(Scatter { slices: 0, .. }) => MoveLoops::Paste(walk),
            Effect::Scatter(effect) => MoveLoops::Scatter(walk, effect),
        }
    }

    /// For a transposed slice, returns the number of pieces that the CPU moves in tiles of many short axes, or 0 if it
    /// uses the tiles of `transpose.rs`. Returns `None` for other moves, and for pieces so close together that moving
    /// them takes no longer than a copy.
    #[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
    pub(crate) fn transposed_pieces(&self) -> Option<usize> {
        match self.choose_loops() {
            MoveLoops::Slice(walk) => {
                slice::LoopNest::from_walk(walk).transposed_pieces(walk.bytes())
            }
            _ => None,
        }
    }

    /// Describes in one line how [`Move::run_on_threads`] moves the bytes.
    pub(crate) fn explain_on_threads(&self, threads: Threads) -> String {
        let zero_bytes = match self.effect {
            Effect::Fill => self.result_bytes(),
            _ => 0,
        };
        let bytes = self.walk().map_or(0, Walk::bytes).max(zero_bytes);
        let description = match self.choose_loops() {
            MoveLoops::Find => {
                return format!(
                    "{} of a mask on 1 thread",
                    counted(self.source_bytes(), "byte", "bytes")
                );
            }
            MoveLoops::None if zero_bytes > 0 => " of zeros".into(),
            MoveLoops::None => return "nothing to move".into(),
            MoveLoops::Convert(..) => convert::explain(self, threads),
            MoveLoops::Mask(_) => " where the mask is true".into(),
            MoveLoops::Gather(walk) => make::explain(walk, bytes, threads),
            MoveLoops::Staged(walk) => {
                make::explain(walk, bytes, threads) + ", then copied to the view"
            }
            MoveLoops::Slice(walk) => slice::LoopNest::from_walk(walk).explain(bytes, threads),
            MoveLoops::StridedWrites(walk) | MoveLoops::Fill(walk) => {
                place::explain(walk, bytes, threads)
            }
            MoveLoops::Paste(walk) => paste::explain(walk, threads),
            MoveLoops::Scatter(walk, effect) => scatter::explain(walk, effect, threads),
        };
        format!("{}{description}", counted(bytes, "byte", "bytes"))
    }

    fn check_source(&self, source: &[u8]) -> Result<(), Error> {
        let needed_bytes = self.source_bytes();
        check_length("source", &self.source, "bytes", needed_bytes, source.len())
    }
}

#[cfg(test)]
mod tests {
    use super::{Dest, Indices, Pieces, Threads, fill_values};
    use crate::{DType, Plan, View, moves::Move, options::GatherOptions};

    /// Gathers all or some columns of a matrix. The columns are adjacent or far apart, and some are outside the matrix.
    #[test]
    fn columns_are_gathered_in_the_order_of_their_indices() {
        for (rows, columns, step) in [(5, 70, 1), (40, 70, 3), (130, 9000, 7), (3, 9000, 2087)] {
            let matrix: Vec<u32> = (0..rows * columns).collect();
            let indices: Vec<i32> = (0..600 + rows.cast_signed())
                .map(|n| n * step % (columns.cast_signed() + 20))
                .collect();
            let view = View::new(&[rows as usize, columns as usize]).unwrap();
            let view = view.transpose(&[1, 0]).unwrap();
            let options = GatherOptions::default();
            let gather = Plan::gather(&view, &[indices.len()], options, DType::U32).unwrap();
            let gather = gather.only_move();
            let column = |&index: &i32| {
                let index = index.cast_unsigned();
                let element = move |row| {
                    if index < columns {
                        row * columns + index
                    } else {
                        0
                    }
                };
                (0..rows).map(element)
            };
            let expected: Vec<u32> = indices.iter().flat_map(column).collect();
            let source = bytemuck::cast_slice(&matrix);
            let outside_indices = indices
                .iter()
                .filter(|&&index| index.cast_unsigned() >= columns);
            let outside_count = outside_indices.count();
            for thread_count in 1..=3 {
                let mut threads = Threads::at_most(thread_count);
                threads.for_any_work = true;
                let (values, report) = fill_values(
                    Vec::<u32>::new(),
                    expected.len(),
                    Pieces::WithZeros,
                    |dest| gather.run_on_threads(source, Indices::I32(&indices), dest, threads),
                )
                .unwrap();
                assert!(values == expected, "{rows} {columns} {step} {thread_count}");
                assert_eq!(report.out_of_range, outside_count);
            }
        }
    }

    /// Transposes write to new memory without zeros, on one to three threads.
    #[cfg(feature = "std")]
    #[test]
    fn transposes_need_no_zeros() {
        use super::{memory::tests::ZEROED_BYTES, shuffle::SHUFFLES};
        use crate::Values;
        let source: Vec<u8> = (0..=250).cycle().take(1 << 20).collect();
        for (shape, axes, dtype) in [
            (&[70, 90][..], &[1, 0][..], DType::F32),
            (&[64, 64], &[1, 0], DType::F64),
            (&[3, 130, 77], &[0, 2, 1], DType::U8),
            (&[2, 33, 5, 61], &[3, 1, 2, 0], DType::I16),
            (&[40, 50], &[1, 0], DType::Complex128),
            (
                &[2; 13],
                &[12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
                DType::F64,
            ),
            (&[3; 8], &[7, 6, 5, 4, 3, 2, 1, 0], DType::F32),
        ] {
            let view = View::new(shape).unwrap().transpose(axes).unwrap();
            let plan = Plan::contiguous(view, dtype).unwrap();
            let input = [Values::from_bytes(dtype, &source[..plan.result_bytes()])];
            let run = |dest: Dest<'_>, thread_count| {
                let mut threads = Threads::at_most(thread_count);
                threads.for_any_work = thread_count > 1;
                plan.run_steps(&input, &mut [dest], threads)
            };
            let mut expected = vec![0; plan.result_bytes()];
            run(Dest::Old(&mut expected), 1).unwrap();
            for thread_count in 1..=3 {
                let zeroed_before = ZEROED_BYTES.get();
                let fill = |dest: Dest<'_>| run(dest, thread_count);
                let (values, _) =
                    fill_values(Vec::<u8>::new(), expected.len(), Pieces::WithoutZeros, fill)
                        .unwrap();
                assert!(values == expected, "{plan:?} on {thread_count} threads");
                if thread_count == 1 && SHUFFLES.is_some() {
                    assert_eq!(ZEROED_BYTES.get(), zeroed_before, "{plan:?}");
                }
            }
        }
    }

    /// A plan of long pieces, of reversed rows or of a transpose sets no byte of a new result to zero. Any other plan sets
    /// all of them.
    #[cfg(feature = "std")]
    #[test]
    fn only_short_pieces_need_zeros() {
        use super::{Dest, memory::tests::ZEROED_BYTES, shuffle::SHUFFLES};
        use crate::Values;
        let for_reversed_rows = match *SHUFFLES {
            Some(_) => Pieces::WithoutZeros,
            None => Pieces::WithZeros,
        };
        let shape = [5, 1000, 8192];
        let view = View::new(&shape).unwrap();
        let slice = |spec: &str| Plan::slice(&view, &spec.parse().unwrap(), DType::U8).unwrap();
        let transposed =
            |axes: &[usize]| Plan::contiguous(view.transpose(axes).unwrap(), DType::U8).unwrap();
        let gather = |axis, count| {
            let options = GatherOptions {
                axis: Some(axis),
                ..GatherOptions::default()
            };
            Plan::gather(&view, &[count], options, DType::U8).unwrap()
        };
        let source = vec![7u8; shape.iter().product()];
        for (plan, pieces) in [
            (slice("..."), Pieces::WithoutZeros),
            (slice(":, 5:, 8:8000"), Pieces::WithoutZeros),
            (slice("::-1, ::-1"), Pieces::WithoutZeros),
            (slice("..., ::-1"), for_reversed_rows),
            (slice("..., ::-2"), Pieces::WithZeros),
            (transposed(&[1, 0, 2]), Pieces::WithoutZeros),
            (transposed(&[0, 2, 1]), Pieces::WithoutZeros),
            (transposed(&[2, 1, 0]), Pieces::WithZeros),
            (gather(0, 5), Pieces::WithoutZeros),
            (gather(1, 900), Pieces::WithoutZeros),
            (gather(2, 7000), Pieces::WithZeros),
        ] {
            let ids: Vec<i32> = (0..7000).map(|n| n * 3 % 5).collect();
            let mut inputs = vec![Values::from(&source[..])];
            if let Some(indices) = plan.inputs().get(1) {
                inputs.push(Values::from(&ids[..indices.shape[0]]));
            }
            let zeroed_before = ZEROED_BYTES.get();
            let fill = |dest: Dest<'_>| plan.run_steps(&inputs, &mut [dest], Threads::at_most(1));
            let bytes = plan.result_bytes();
            let (values, _) =
                fill_values(Vec::<u8>::new(), bytes, Pieces::WithoutZeros, fill).unwrap();
            assert!(values.iter().all(|&value| value == 7), "{plan:?}");
            let expected_zeros = if pieces == Pieces::WithoutZeros {
                0
            } else {
                bytes
            };
            assert_eq!(
                ZEROED_BYTES.get() - zeroed_before,
                expected_zeros,
                "{plan:?}"
            );
            assert_eq!(plan.pieces(), pieces, "{plan:?}");
        }
    }

    /// Long rows are copied to new memory, even if a thread's part begins within a row. Rows without a source are zero.
    #[test]
    fn long_rows_go_to_new_memory() {
        let source: Vec<u8> = (0..=250).cycle().take(3 * 5 * 9000).collect();
        for (spec, indices) in [
            ("...", [0, 2, 1, 0]),
            ("1:, :3, 7:", [1, 1, 9, 0]),
            (":, ::2, 11:150", [-4, 2, 2, 9]),
            ("1, 2:4, 100:", [-1, -1, -1, -1]),
            ("::2, ::-1, 5:", [2, 1, 0, 7]),
            ("::-1, ::-2, 5:8000", [0, 1, 2, 0]),
        ] {
            let view = View::new(&[3, 5, 9000]).unwrap();
            let view = view.slice(&spec.parse().unwrap()).unwrap();
            let mut expected = vec![0; view.len()];
            Move::from_view(view.clone(), DType::U8)
                .run_cpu(&source, None, &mut expected)
                .unwrap();
            let shape = view.shape();
            let options = GatherOptions::default();
            let gather = Plan::gather(shape, &[4], options, DType::U8).unwrap();
            let gather = gather.only_move();
            let row_bytes = expected.len() / shape[0];
            let rows = indices
                .iter()
                .flat_map(|&index| match usize::try_from(index) {
                    Ok(n) if n < shape[0] => expected[n * row_bytes..][..row_bytes].to_vec(),
                    _ => vec![0; row_bytes],
                });
            let gathered: Vec<u8> = rows.collect();
            for thread_count in 1..=3 {
                let mut threads = Threads::at_most(thread_count);
                threads.for_any_work = true;
                let (values, ()) =
                    fill_values(Vec::<u8>::new(), view.len(), Pieces::WithZeros, |dest| {
                        view.copy(DType::U8, &source, dest, threads);
                        Ok(())
                    })
                    .unwrap();
                assert!(values == expected, "{spec} on {thread_count} threads");
                let (values, report) = fill_values(
                    Vec::<u8>::new(),
                    gathered.len(),
                    Pieces::WithZeros,
                    |dest| gather.run_on_threads(&expected, Indices::I32(&indices), dest, threads),
                )
                .unwrap();
                assert!(
                    values == gathered,
                    "{indices:?} of {shape:?} on {thread_count} threads"
                );
                let is_inside = |&index: &i32| usize::try_from(index).is_ok_and(|n| n < shape[0]);
                assert_eq!(
                    4 - report.out_of_range,
                    indices.into_iter().filter(is_inside).count()
                );
            }
        }
    }

    /// Reversed rows are written to new memory, even if a thread's part begins within a row.
    #[test]
    fn reversed_rows_go_to_new_memory() {
        let whole = View::new(&[3, 5, 2001]).unwrap();
        let slice = |spec: &str| whole.slice(&spec.parse().unwrap()).unwrap();
        let views = [
            slice("..., ::-1"),
            slice("::-1, ::-1, ::-1"),
            slice("1:, ::2, 1900:3:-1"),
            View::new(&[30_015])
                .unwrap()
                .slice(&"::-1".parse().unwrap())
                .unwrap(),
            // Pieces of two units: the pairs begin at odd positions, so a pair is not a unit. Two threads write 8 parts of
            // 3,747 units or less, so parts begin within a pair.
            View::from_strides(&[14_986, 2], &[-2, 1], 29_971, 30_015).unwrap(),
        ];
        for dtype in [DType::U8, DType::F16, DType::F32, DType::F64] {
            let source: Vec<u8> = (0..=250).cycle().take(30_015 * dtype.size()).collect();
            for view in &views {
                let mut expected = vec![0; view.len() * dtype.size()];
                Move::from_view(view.clone(), dtype)
                    .run_cpu(&source, None, &mut expected)
                    .unwrap();
                for thread_count in 1..=2 {
                    let mut threads = Threads::at_most(thread_count);
                    threads.for_any_work = true;
                    let fill = |dest: Dest<'_>| {
                        view.copy(dtype, &source, dest, threads);
                        Ok(())
                    };
                    let (values, ()) =
                        fill_values(Vec::<u8>::new(), expected.len(), Pieces::WithoutZeros, fill)
                            .unwrap();
                    assert!(
                        values == expected,
                        "{dtype} {view:?} on {thread_count} threads"
                    );
                }
            }
        }
    }

    /// A slice that runs in parts, of many lengths, has the same result as a single run, even if it is transposed.
    #[test]
    fn parts_have_the_same_bytes_as_the_whole_result() {
        for (shape, spec, order, dtypes) in [
            (
                &[5, 7, 3][..],
                "1:, ::-1, :",
                &[0, 1, 2][..],
                &[DType::U8][..],
            ),
            (&[5, 7, 3], "::-1, ::2, 1:3", &[0, 1, 2], &[DType::F32]),
            (&[5, 7, 3], "..., ::-1", &[0, 1, 2], &[DType::F32]),
            (&[5, 7, 3], "...", &[0, 1, 2], &[DType::U8]),
            (&[5, 7, 3], "1:, 2:, 1:", &[0, 1, 2], &[DType::Complex128]),
            (&[5, 19, 3], "...", &[0, 2, 1], &DTYPES),
            (&[4, 9, 3, 20], "...", &[3, 1, 2, 0], &DTYPES),
            // In the next two cases, a tile has several short rows of pixels.
            (&[9, 40, 3], ":, 3:37, :", &[2, 0, 1], &DTYPES),
            (&[3, 70, 30, 4], ":, 1:, ::-1, :3", &[3, 0, 1, 2], &DTYPES),
            // 3 lanes are few and 17 are many: `transpose.rs` moves pieces differently above `FEW_LANES`, 16.
            (&[2, 7, 3, 20], ":, :, ::-1", &[0, 2, 1, 3], &DTYPES),
            (&[2, 7, 17, 20], "...", &[0, 2, 1, 3], &DTYPES),
            (&[21, 3, 18], "...", &[2, 1, 0], &DTYPES),
            (&[40, 33], "...", &[1, 0], &DTYPES),
        ] {
            let view = View::new(shape).unwrap().slice(&spec.parse().unwrap());
            let view = view.unwrap().transpose(order).unwrap();
            for &dtype in dtypes {
                let slice_move = Move::from_view(view.clone(), dtype);
                check_parts(&slice_move, (1..40).chain([63, 100, 181, 500]));
            }
        }
    }

    const DTYPES: [DType; 4] = [DType::U8, DType::F16, DType::F32, DType::Complex128];

    fn check_parts(slice_move: &Move, part_units: impl IntoIterator<Item = usize>) {
        let source: Vec<u8> = (0..=255).cycle().take(slice_move.source_bytes()).collect();
        let mut whole = vec![0; slice_move.result_bytes()];
        slice_move.run_cpu(&source, None, &mut whole).unwrap();
        let unit = slice_move.walk().unwrap().unit;
        for part_bytes in part_units.into_iter().map(|units| units * unit) {
            let mut joined_parts = vec![0; whole.len()];
            for (i, dest) in joined_parts.chunks_mut(part_bytes).enumerate() {
                slice_move.run_part(&source, i * part_bytes, dest).unwrap();
            }
            assert_eq!(
                joined_parts, whole,
                "{slice_move} in parts of {part_bytes} bytes"
            );
        }
    }
}
