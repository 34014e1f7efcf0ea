//! The CPU executor: runs a plan on bytes in memory.
//!
//! It is the fallback where there is no GPU and the comparison where there is one. Rows with step 1
//! are copied whole; the others element by element. Every byte of the result is written once, and
//! large results are written by all cores, each taking a contiguous part.

use crate::{
    Error, Plan,
    ops::{RowMap, gather_nd::Tuples},
    plan::{Map, Rows},
    report::{Missing, Report},
    shape::check_length,
};
use std::{num::NonZero, sync::LazyLock, thread};

/// Index tuples in host memory.
#[derive(Clone, Copy, Debug)]
pub enum Indices<'a> {
    /// 32-bit indices.
    I32(&'a [i32]),
    /// 64-bit indices.
    I64(&'a [i64]),
}

impl Indices<'_> {
    /// How many integers, tuples taken apart.
    pub fn len(&self) -> usize {
        match self {
            Self::I32(indices) => indices.len(),
            Self::I64(indices) => indices.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Tuple `row`, where tuples have `depth` integers.
    pub(crate) fn tuple(&self, row: usize, depth: usize) -> Vec<i64> {
        let range = row * depth..(row + 1) * depth;
        match self {
            Self::I32(indices) => indices[range].iter().map(|&i| i.into()).collect(),
            Self::I64(indices) => indices[range].to_vec(),
        }
    }
}

impl<'a> From<&'a [i32]> for Indices<'a> {
    fn from(indices: &'a [i32]) -> Self {
        Self::I32(indices)
    }
}

impl<'a> From<&'a [i64]> for Indices<'a> {
    fn from(indices: &'a [i64]) -> Self {
        Self::I64(indices)
    }
}

impl Plan {
    /// Runs a slice on the CPU: `source` holds the input, `dest` receives the result.
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
        self.run_part(source, 0, dest)
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
                move_units(&self.rows, map, source, first, dest);
                Ok(())
            }
            Map::GatherNd(map) => map.check_indices(Indices::I32(&[])),
        }
    }

    /// Runs a gather on the CPU: `source` holds the params, `dest` receives the result.
    ///
    /// Tuples out of range become zeros and are reported; see
    /// [`Report::require_none`] for the other policy.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where a length is not what the plan says.
    pub fn run_with(
        &self,
        source: &[u8],
        indices: Indices<'_>,
        dest: &mut [u8],
    ) -> Result<Report, Error> {
        self.check_source(source)?;
        self.check_dest(dest)?;
        let missing = match &self.map {
            Map::StridedSlice(map) => move_units(&self.rows, map, source, 0, dest),
            Map::GatherNd(map) => {
                map.check_indices(indices)?;
                match indices {
                    Indices::I32(indices) => {
                        move_units(&self.rows, &Tuples { map, indices }, source, 0, dest)
                    }
                    Indices::I64(indices) => {
                        move_units(&self.rows, &Tuples { map, indices }, source, 0, dest)
                    }
                }
            }
        };
        Ok(self.report(missing, |row| indices.tuple(row, self.depth())))
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

/// Picks the unit's type. A unit is an array of bytes: it may lie at any address.
fn move_units(
    rows: &Rows,
    map: &impl RowMap,
    source: &[u8],
    first: usize,
    dest: &mut [u8],
) -> Missing {
    let first = first / rows.unit;
    match rows.unit {
        1 => move_parts::<1>(rows, map, source, first, dest),
        2 => move_parts::<2>(rows, map, source, first, dest),
        4 => move_parts::<4>(rows, map, source, first, dest),
        8 => move_parts::<8>(rows, map, source, first, dest),
        _ => move_parts::<16>(rows, map, source, first, dest),
    }
}

/// Bytes of a result that are worth a thread.
const BYTES_PER_THREAD: usize = 512 << 10;

/// The cores that this process may use. Asked once: the answer takes tens of microseconds.
fn cores() -> usize {
    static CORES: LazyLock<usize> =
        LazyLock::new(|| thread::available_parallelism().map_or(1, NonZero::get));
    *CORES
}

fn move_parts<const N: usize>(
    rows: &Rows,
    map: &impl RowMap,
    source: &[u8],
    first: usize,
    dest: &mut [u8],
) -> Missing {
    // The source may end in bytes that no unit of the plan covers.
    let (source, _) = source.as_chunks::<N>();
    let (dest, _) = dest.as_chunks_mut::<N>();
    let threads = match dest.len() * N / BYTES_PER_THREAD {
        0 | 1 => 1,
        worth => worth.min(cores()),
    };
    if threads == 1 {
        return move_part(rows, map, source, dest, first);
    }
    let part = dest.len().div_ceil(threads);
    thread::scope(|scope| {
        let mut parts = dest.chunks_mut(part).enumerate();
        let own = parts.next();
        let others: Vec<_> = parts
            .map(|(i, dest)| {
                scope.spawn(move || move_part(rows, map, source, dest, first + i * part))
            })
            .collect();
        let own = own.map_or(Missing::default(), |(_, dest)| {
            move_part(rows, map, source, dest, first)
        });
        others.into_iter().fold(own, |missing, other| {
            // A panic in a part is a bug of ours; it is passed on rather than turned into data.
            missing.and(
                other
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            )
        })
    })
}

/// Moves the units of the result from `first` on into `dest`.
fn move_part<const N: usize>(
    rows: &Rows,
    map: &impl RowMap,
    source: &[[u8; N]],
    mut dest: &mut [[u8; N]],
    first: usize,
) -> Missing {
    let mut missing = Missing::default();
    let first_row = first / rows.run;
    let mut skip = first % rows.run;
    for (row, base) in (first_row..rows.count).zip(map.bases(first_row)) {
        if dest.is_empty() {
            break;
        }
        let length = (rows.run - skip).min(dest.len());
        let (run, rest) = dest.split_at_mut(length);
        dest = rest;
        match base {
            Some(base) => {
                let start = base.wrapping_add_signed(rows.step.wrapping_mul(skip.cast_signed()));
                move_run(source, start, rows.step, run);
            }
            None => {
                run.fill([0; N]);
                // A row that is split between threads counts where it begins.
                if skip == 0 {
                    missing.add(row);
                }
            }
        }
        skip = 0;
    }
    missing
}

/// Moves one run: `dest[j] = source[start + j · step]`.
fn move_run<const N: usize>(source: &[[u8; N]], start: usize, step: isize, dest: &mut [[u8; N]]) {
    let stride = step.unsigned_abs();
    if step == 1 {
        dest.copy_from_slice(&source[start..][..dest.len()]);
    } else if step > 0 {
        for (to, from) in dest.iter_mut().zip(source[start..].iter().step_by(stride)) {
            *to = *from;
        }
    } else {
        // A run of a single unit has whatever step; 0 is the one that cannot be walked.
        let walked = source[..=start].iter().rev().step_by(stride.max(1));
        for (to, from) in dest.iter_mut().zip(walked) {
            *to = *from;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{DType, Plan, SliceSpec};

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
            let source: Vec<u8> = (0..=255).cycle().take(plan.source_bytes()).collect();
            let mut whole = vec![0; plan.result_bytes()];
            plan.run(&source, &mut whole).unwrap();
            for piece in (1..20).map(|units| units * plan.rows.unit) {
                let mut pieces = vec![0; whole.len()];
                for (i, dest) in pieces.chunks_mut(piece).enumerate() {
                    plan.run_part(&source, i * piece, dest).unwrap();
                }
                assert_eq!(pieces, whole, "{plan} in pieces of {piece} bytes");
            }
        }
    }
}
