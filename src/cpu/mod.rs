//! The CPU executor: runs a plan on bytes in memory.
//!
//! It is the fallback where there is no GPU and the comparison where there is one. A result is made
//! of pieces: bytes that lie together in the source. Every byte of the result is written once, and
//! large results are written by all cores, each taking one part after the other.
//!
//! | file | decides |
//! |---|---|
//! | `slice.rs` | the order in which a slice is walked, and where parts of it begin and end |
//! | `transpose.rs` | the tiles in which a transposed slice is walked, and who writes which |
//! | `tile.rs` | how the pieces of a tile are moved, by their size |
//! | `interleave.rs` | how elements of 1 and 2 bytes, and pixels, are transposed in registers |
//! | `gather.rs` | where the tuples of a gather point, a block at a time, and what is copied from there |
//! | `place.rs` | what is written into places of the destination, and between them |
//! | `scatter.rs` | where the rows of a scatter go, and who combines them |
//! | `combine.rs` | how elements are added, multiplied, compared |
//! | `kernel.rs` | which loop moves a row of pieces, by the size of the pieces and their distance |
//! | `mover.rs` | how one piece is copied, by its size |
//! | `steps.rs` | the loops over small steps, which the compiler turns into vector shuffles |
//! | `gaps.rs` | the loops that lay units small steps apart, the same the other way round |
//! | `threads.rs` | how many threads a result is worth, and who writes what |
//! | `explain.rs` | the same decisions in words |

mod combine;
mod explain;
mod gaps;
mod gather;
mod indices;
mod interleave;
mod kernel;
mod mover;
mod place;
mod scatter;
mod slice;
mod steps;
mod threads;
mod tile;
mod transpose;

pub use indices::Indices;

use crate::{
    Error, Plan,
    plan::Map,
    report::{Missing, Report},
    shape::check_length,
};

impl Plan {
    /// Runs a plan without indices on the CPU. Of a slice `source` holds the input, of an update the
    /// value, of a gradient `dy`; `dest` receives the result, or is what is updated.
    ///
    /// ```
    /// use wgslice::{slice, DType, Plan};
    ///
    /// let plan = Plan::strided_slice(&[2, 3], &slice![.., ..; -1], DType::U8)?;
    /// let mut dest = [0; 6];
    /// plan.run(&[1, 2, 3, 4, 5, 6], &mut dest)?;
    /// assert_eq!(dest, [3, 2, 1, 6, 5, 4]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where a length is not what the plan says, or where the plan gathers and
    /// needs indices.
    pub fn run(&self, source: &[u8], dest: &mut [u8]) -> Result<(), Error> {
        self.check_dest(dest)?;
        match &self.map {
            Map::StridedSlice(_) | Map::Indexed(_) => self.run_part(source, 0, dest),
            // Zeros may be made even where there is no index.
            Map::ScatterNd(_) => self.run_with(source, Indices::I32(&[]), dest).map(drop),
            Map::StridedSliceUpdate(map) => {
                self.check_source(source)?;
                if let Some(pairs) = &map.pairs {
                    place::update(pairs, source, dest);
                }
                Ok(())
            }
            Map::StridedSliceGrad(map) => {
                self.check_source(source)?;
                place::grad(map.pairs.as_ref(), source, dest);
                Ok(())
            }
        }
    }

    /// Runs a part of a slice on the CPU: the bytes of the result from `first` on, as many as
    /// `dest` holds.
    ///
    /// `first` and the length of `dest` are multiples of the plan's unit, and the part lies within
    /// the result.
    pub(crate) fn run_part(
        &self,
        source: &[u8],
        first: usize,
        dest: &mut [u8],
    ) -> Result<(), Error> {
        debug_assert!((first | dest.len()).is_multiple_of(self.rows.unit));
        debug_assert!(first + dest.len() <= self.result_bytes());
        self.check_source(source)?;
        match &self.map {
            Map::StridedSlice(map) => {
                slice::Walk::of(&self.rows, map).run(source, first, dest);
                Ok(())
            }
            Map::Indexed(map) => map.check_indices(Indices::I32(&[])),
            Map::StridedSliceUpdate(_) | Map::StridedSliceGrad(_) | Map::ScatterNd(_) => {
                unreachable!("only the results of slices are streamed in parts")
            }
        }
    }

    /// Runs a plan with indices on the CPU. Of a gather `source` holds the params and `dest` receives the
    /// result; of a scatter it holds the updates, and `dest` receives the result or is what is changed.
    ///
    /// Tuples out of range are reported. Where the plan's policy is that they are an error, the result of
    /// a gather has been written all the same, with zeros for them, and a scatter has changed nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where a length is not what the plan says;
    /// [`GatherError::OutOfRange`](crate::GatherError::OutOfRange) and
    /// [`ScatterError::OutOfRange`](crate::ScatterError::OutOfRange) by the plan's policy.
    pub fn run_with(
        &self,
        source: &[u8],
        indices: Indices<'_>,
        dest: &mut [u8],
    ) -> Result<Report, Error> {
        self.check_source(source)?;
        self.check_dest(dest)?;
        let missing = match &self.map {
            Map::StridedSlice(_) | Map::StridedSliceUpdate(_) | Map::StridedSliceGrad(_) => {
                self.run(source, dest)?;
                Missing::default()
            }
            Map::Indexed(map) => {
                map.check_indices(indices)?;
                match indices {
                    Indices::I32(indices) => gather::run(&self.rows, map, source, indices, dest),
                    Indices::I64(indices) => gather::run(&self.rows, map, source, indices, dest),
                    Indices::U32(indices) => gather::run(&self.rows, map, source, indices, dest),
                }
            }
            Map::ScatterNd(map) => {
                map.check_indices(indices)?;
                match indices {
                    Indices::I32(indices) => scatter::run(&self.rows, map, source, indices, dest),
                    Indices::I64(indices) => scatter::run(&self.rows, map, source, indices, dest),
                    Indices::U32(indices) => scatter::run(&self.rows, map, source, indices, dest),
                }
            }
        };
        self.report(missing, |tuple| indices.tuple(tuple, self.depth()))
    }

    fn check_source(&self, source: &[u8]) -> Result<(), Error> {
        let needed = self.source_bytes();
        check_length("source", &self.source, "bytes", needed, source.len())
    }

    fn check_dest(&self, dest: &[u8]) -> Result<(), Error> {
        let needed = self.result_bytes();
        check_length("dest", &self.shape, "bytes", needed, dest.len())
    }
}

#[cfg(test)]
mod tests {
    use crate::{DType, Plan, SliceSpec, View};

    /// Pieces of every length that a plan allows are the result, wherever they are cut.
    #[test]
    fn parts_make_the_whole() {
        for (dtype, spec) in [
            (DType::U8, "1:, ::-1, :"),
            (DType::F32, "::-1, ::2, 1:3"),
            (DType::F32, "..., ::-1"),
            (DType::U8, "..."),
            (DType::Complex128, "1:, 2:, 1:"),
        ] {
            let spec: SliceSpec = spec.parse().unwrap();
            let plan = Plan::strided_slice(&[5, 7, 3], &spec, dtype).unwrap();
            check_parts(&plan, 1..20);
        }
    }

    #[test]
    fn parts_of_transposed_slices_make_the_whole() {
        for (shape, order) in [
            (&[5, 19, 3][..], &[0, 2, 1][..]),
            (&[4, 9, 3, 20], &[3, 1, 2, 0]),
            (&[21, 3, 18], &[2, 1, 0]),
            (&[40, 33], &[1, 0]),
        ] {
            let view = View::of(shape).unwrap().transpose(order).unwrap();
            for dtype in [DType::U8, DType::F16, DType::F32, DType::Complex128] {
                check_parts(&view.plan(dtype), (1..40).chain([63, 100, 181, 500]));
            }
        }
    }

    #[test]
    fn transposed_slices_of_nothing_write_nothing() {
        for shape in [[0, 40, 33], [40, 0, 33], [40, 33, 0]] {
            for order in [[2, 1, 0], [0, 2, 1], [1, 0, 2], [2, 0, 1]] {
                let view = View::of(&shape).unwrap().transpose(&order).unwrap();
                for dtype in [DType::U8, DType::F32] {
                    view.plan(dtype).run(&[], &mut []).unwrap();
                }
            }
        }
    }

    fn check_parts(plan: &Plan, lengths: impl IntoIterator<Item = usize>) {
        let source: Vec<u8> = (0..=255).cycle().take(plan.source_bytes()).collect();
        let mut whole = vec![0; plan.result_bytes()];
        plan.run(&source, &mut whole).unwrap();
        for piece in lengths.into_iter().map(|units| units * plan.rows.unit) {
            let mut pieces = vec![0; whole.len()];
            for (i, dest) in pieces.chunks_mut(piece).enumerate() {
                plan.run_part(&source, i * piece, dest).unwrap();
            }
            assert_eq!(pieces, whole, "{plan} in pieces of {piece} bytes");
        }
    }
}
