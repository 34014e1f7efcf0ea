//! Slices of arrays that are larger than the memory of the host or of the device.
//!
//! The result of a slice is cut into consecutive pieces. For each piece the caller fetches the source bytes that the
//! piece needs, the device slices them, and the caller receives the bytes of the piece. The device works on one piece
//! while the host packs the source of the next piece and delivers the previous piece. So the memory in use does not
//! grow with the size of the array.

mod piece;
#[cfg(feature = "gpu")]
mod split;

#[cfg(feature = "gpu")]
use crate::gpu::{PieceRing, padded_size};
use crate::{
    Backend, DType, Error, Plan, SliceSpec, backend::Device, element::zeroed, moves::Move,
    shape::check_length,
};
#[cfg(feature = "gpu")]
use std::collections::VecDeque;
use std::{
    ops::Range,
    time::{Duration, Instant},
};

pub(crate) use piece::Piece;
use piece::cut_into_pieces;

/// The largest default of [`Stream::memory`], in bytes.
const MAX_DEFAULT_MEMORY: usize = 1 << 30;

/// The maximum size in bytes of a piece that the CPU makes. The beginning of a larger piece would leave the cache
/// before the caller reads it.
const CPU_PIECE_BYTES: usize = 16 << 20;

/// The maximum number of bytes that a piece uploads to a device, and the maximum size of its result. This is enough to
/// keep the device busy. Larger buffers would take longer, because the system maps each page of new memory at its first
/// use.
#[cfg(feature = "gpu")]
const GPU_PIECE_BYTES: usize = 8 << 20;

/// The size in bytes of a page on most systems. A memory-mapped file is read from disk in pages.
const PAGE_BYTES: usize = 4096;

impl Piece {
    /// Returns an upper bound for the size in bytes of all pages that the piece reads, if no element is split between
    /// two pages.
    fn page_bytes(&self) -> usize {
        let Some(walk) = self.piece_move.walk() else {
            return 0;
        };
        let (unit_bytes, element_bytes, run) =
            (walk.unit, self.piece_move.dtype.size(), walk.run());
        // Returns the largest possible size of all pages that contiguous bytes touch. It is largest if only the first
        // element is in the first page.
        let max_page_bytes = |bytes: usize| {
            (bytes.saturating_sub(element_bytes).div_ceil(PAGE_BYTES) + 1) * PAGE_BYTES
        };
        let row_bytes = (run.size - 1) * run.from.unsigned_abs() * unit_bytes + unit_bytes;
        // If the units of a row are more than a page apart, the pages between them do not count.
        let row_page_bytes =
            max_page_bytes(row_bytes).min(run.size.saturating_mul(max_page_bytes(unit_bytes)));
        max_page_bytes(self.span().len()).min(walk.rows().saturating_mul(row_page_bytes))
    }
}

/// A slice that runs piece by piece, in bounded memory. [`Backend::stream`] makes it.
///
/// ```
/// use wgslice::{slice, Backend, DType, Error};
///
/// // The bytes can come from a file. In this example they are in memory.
/// let array: Vec<u8> = (0..=255).collect();
///
/// let backend = Backend::cpu(); // or Backend::auto()
/// let mut result = Vec::new();
/// backend
///     .stream(&[16, 16], &slice![..2, ..; -5], DType::U8)?
///     .run(
///         |range| Ok::<_, Error>(&array[range]),
///         |bytes| Ok(result.extend_from_slice(bytes)),
///     )?;
/// assert_eq!(result, [15, 10, 5, 0, 31, 26, 21, 16]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stream<'a> {
    backend: &'a Backend,
    plan: Plan,
    memory: usize,
}

/// Statistics of a run of a [`Stream`]: the number of pieces, and the time that the host spent on each stage. The
/// device might have worked on another piece at the same time.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Streamed {
    /// The number of pieces.
    pub pieces: usize,
    /// The time to pack the bytes that the device needs into upload memory. Zero on the CPU.
    pub upload: Duration,
    /// On the CPU, the time to slice; on a device, the time to record and submit commands.
    pub dispatch: Duration,
    /// The time that the host waited for the device. Zero on the CPU.
    pub readback: Duration,
    /// The device error after which the CPU processed the remaining pieces. `None` if there was no such error.
    pub fallback: Option<Error>,
}

impl Backend {
    /// Plans a slice of an array of shape `shape`. [`Stream::run`] fetches the array's bytes and delivers the bytes of
    /// the result, piece by piece.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`], [`Error::ShapeTooLarge`].
    pub fn stream(
        &self,
        shape: &[usize],
        spec: &SliceSpec,
        dtype: DType,
    ) -> Result<Stream<'_>, Error> {
        Ok(self.stream_plan(Plan::slice(shape, spec, dtype)?))
    }

    pub(crate) fn stream_plan(&self, plan: Plan) -> Stream<'_> {
        let memory = match self.device_for(&plan) {
            Device::Cpu => MAX_DEFAULT_MEMORY,
            // wgpu does not report the size of a device's memory. The largest buffer that the device allows is the
            // best hint.
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => {
                let quarter = gpu.device().limits().max_buffer_size / 4;
                usize::try_from(quarter)
                    .unwrap_or(MAX_DEFAULT_MEMORY)
                    .min(MAX_DEFAULT_MEMORY)
            }
        };
        Stream {
            backend: self,
            plan,
            memory,
        }
    }
}

impl Stream<'_> {
    /// Returns the only step of the plan. Plans of streams have one step, so the result is never `None`.
    fn single_move(&self) -> Option<&Move> {
        self.plan.single_move()
    }

    /// Returns the size of the result in bytes. The shape of the result is `spec.view(shape)?.shape()`.
    pub fn result_bytes(&self) -> usize {
        self.plan.result_bytes()
    }

    /// Returns the same stream with a limit of `bytes` bytes of memory, on the host and on the device together. The
    /// limit includes the source pages that a piece reads, the buffers that pieces pass through, and results that are
    /// not yet delivered. The default is 1 GiB on the CPU; on a device it is a quarter of `max_buffer_size`, but at
    /// most 1 GiB. A piece has at least one element, even if it needs more memory.
    #[must_use]
    pub fn with_memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// Runs the slice. `fetch` returns the source bytes in a range of byte offsets. `sink` receives the bytes of the
    /// result, in order.
    ///
    /// If the device fails and the backend has a [fallback](Backend::with_fallback), the CPU processes the remaining
    /// pieces.
    ///
    /// # Errors
    ///
    /// The errors of `fetch` and `sink`; [`Error::Length`] if the number of bytes that `fetch` returns differs from the
    /// size of the range; an error of the device.
    pub fn run<B: AsRef<[u8]>, E: From<Error>>(
        &self,
        fetch: impl FnMut(Range<usize>) -> Result<B, E>,
        sink: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<Streamed, E> {
        let mut run = StreamingRun {
            fetch,
            sink,
            buffer: Vec::new(),
            streamed: Streamed::default(),
        };
        match self.backend.device_for(&self.plan) {
            Device::Cpu => run.on_cpu(self.backend, self.cpu_pieces())?,
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => {
                let mut pieces = self.gpu_pieces(gpu);
                let mut undelivered_pieces = VecDeque::new();
                match run.on_gpu(
                    &mut PieceRing::new(gpu),
                    &mut pieces,
                    &mut undelivered_pieces,
                ) {
                    Ok(()) => {}
                    Err(StopReason::Device(error)) if self.backend.may_fall_back(&error) => {
                        run.streamed.fallback = Some(error);
                        run.on_cpu(self.backend, undelivered_pieces.into_iter().chain(pieces))?;
                    }
                    Err(StopReason::Device(error)) => return Err(error.into()),
                    Err(StopReason::Caller(error)) => return Err(error),
                }
            }
        }
        Ok(run.streamed)
    }

    fn cpu_pieces(&self) -> impl Iterator<Item = Piece> {
        let memory = self.memory;
        cut_into_pieces(self.single_move(), move |piece| {
            let result_bytes = piece.result_bytes();
            result_bytes <= CPU_PIECE_BYTES
                && result_bytes.saturating_add(piece.page_bytes()) <= memory
        })
    }

    #[cfg(feature = "gpu")]
    fn gpu_pieces(&self, gpu: &crate::Gpu) -> impl Iterator<Item = Piece> {
        let memory = self.memory;
        let max_buffer_bytes = gpu.device().limits().max_buffer_size;
        cut_into_pieces(self.single_move(), move |piece| {
            let result_bytes = piece.result_bytes();
            let packed_bytes = piece.split().host.result_bytes();
            let held_bytes = PieceRing::bytes_held(packed_bytes, result_bytes)
                .saturating_add(piece.page_bytes());
            let max_bytes = packed_bytes.max(result_bytes);
            max_bytes <= GPU_PIECE_BYTES
                && padded_size(max_bytes) <= max_buffer_bytes
                && held_bytes <= memory
        })
    }
}

/// The reason why a run on a device stopped: an error of the device, or of the caller's `fetch` or `sink`.
#[cfg(feature = "gpu")]
enum StopReason<E> {
    Device(Error),
    Caller(E),
}

#[cfg(feature = "gpu")]
impl<E> From<Error> for StopReason<E> {
    fn from(error: Error) -> Self {
        Self::Device(error)
    }
}

struct StreamingRun<F, S> {
    fetch: F,
    sink: S,
    /// The memory to which the CPU writes the result of each piece. It is as large as the largest result so far.
    buffer: Vec<u8>,
    streamed: Streamed,
}

impl<F, S, B, E> StreamingRun<F, S>
where
    F: FnMut(Range<usize>) -> Result<B, E>,
    S: FnMut(&[u8]) -> Result<(), E>,
    B: AsRef<[u8]>,
    E: From<Error>,
{
    fn fetch_source(&mut self, piece: &Piece) -> Result<B, E> {
        let range = piece.span();
        let needed_bytes = range.len();
        let bytes = (self.fetch)(range)?;
        check_length(
            "source",
            &[needed_bytes],
            "bytes",
            needed_bytes,
            bytes.as_ref().len(),
        )?;
        Ok(bytes)
    }

    fn on_cpu(&mut self, backend: &Backend, pieces: impl Iterator<Item = Piece>) -> Result<(), E> {
        for piece in pieces {
            let source = self.fetch_source(&piece)?;
            let bytes = piece.result_bytes();
            if self.buffer.len() < bytes {
                self.buffer = zeroed(bytes)?;
            }
            let begin = Instant::now();
            let dest = &mut self.buffer[..bytes];
            backend.run_slice(&piece.piece_move, source.as_ref(), &mut *dest)?;
            self.streamed.dispatch += begin.elapsed();
            self.streamed.pieces += 1;
            (self.sink)(dest)?;
        }
        Ok(())
    }

    /// Runs all pieces on the device. After an error, `undelivered_pieces` contains the pieces that were taken from
    /// `pieces` and that `sink` has not received. The CPU can process these pieces and the rest of `pieces`.
    #[cfg(feature = "gpu")]
    fn on_gpu(
        &mut self,
        ring: &mut PieceRing,
        pieces: &mut impl Iterator<Item = Piece>,
        undelivered_pieces: &mut VecDeque<Piece>,
    ) -> Result<(), StopReason<E>> {
        loop {
            let next_piece = pieces.next();
            undelivered_pieces.extend(next_piece.clone());
            if ring.is_full() || next_piece.is_none() {
                let begin = Instant::now();
                let Some(slot) = ring.wait_for_oldest()? else {
                    return Ok(());
                };
                self.streamed.readback += begin.elapsed();
                ring.take_result(slot, &mut self.sink)?
                    .map_err(StopReason::Caller)?;
                self.streamed.pieces += 1;
                undelivered_pieces.pop_front();
            }
            if let Some(piece) = next_piece {
                let source = self.fetch_source(&piece).map_err(StopReason::Caller)?;
                let piece_split = piece.split();
                let begin = Instant::now();
                let slot =
                    ring.pack_piece(&piece_split.host, &piece_split.device, source.as_ref())?;
                self.streamed.upload += begin.elapsed();
                let begin = Instant::now();
                ring.submit_piece(slot, &piece_split.host, &piece_split.device)?;
                self.streamed.dispatch += begin.elapsed();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SliceSpec;
    use std::collections::BTreeSet;

    /// `page_bytes` is an upper bound for every start of the source within its first page, if no element is split
    /// between two pages.
    #[test]
    fn a_piece_touches_no_more_pages_than_it_counts() {
        for (shape, spec) in [
            (&[30_000][..], "5:29000"),
            (&[30_000], "::3"),
            (&[30_000], "::-1500"),
            (&[20, 3000], ":, 7:9"),
            (&[20, 3000], "::-2, 2900:2990:3"),
            (&[5, 40, 900], "1:, ::5, 100:101"),
        ] {
            let spec: SliceSpec = spec.parse().unwrap();
            let slice_move = Plan::slice(shape, &spec, DType::U32).unwrap().only_move();
            let numbers: Vec<u32> = (0..).take(shape.iter().product()).collect();
            let mut selected = vec![0; slice_move.result_bytes()];
            slice_move
                .run_cpu(bytemuck::cast_slice(&numbers), None, &mut selected)
                .unwrap();
            let touched_bytes = Piece::whole(&slice_move).unwrap().page_bytes();
            for begin in (0..PAGE_BYTES).step_by(12) {
                let elements = bytemuck::pod_collect_to_vec::<u8, u32>(&selected).into_iter();
                let pages: BTreeSet<_> = elements
                    .map(|element| (begin + 4 * element as usize) / PAGE_BYTES)
                    .collect();
                assert!(
                    pages.len() * PAGE_BYTES <= touched_bytes,
                    "{slice_move} at {begin}: {} pages, {touched_bytes}",
                    pages.len()
                );
            }
        }
    }
}
