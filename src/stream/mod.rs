//! Slices of arrays larger than the memory of the host or of the device.
//!
//! A slice is cut into consecutive pieces of the result. For each piece the caller fetches the bytes that it
//! needs, the device works on them, and the caller receives the result. The device works on one piece while
//! the next one is packed and the previous one is handed out. The memory held at once is bounded for arrays
//! of any size.

mod piece;
#[cfg(feature = "gpu")]
mod split;

#[cfg(feature = "gpu")]
use crate::gpu::Ring;
use crate::{
    Backend, DType, Error, Plan, SliceSpec, backend::Device, element::zeroed, shape::check_length,
};
#[cfg(feature = "gpu")]
use std::collections::VecDeque;
use std::{
    ops::Range,
    time::{Duration, Instant},
};

pub(crate) use piece::Piece;
use piece::pieces;

/// Bytes held at once, at most, unless [`Stream::with_memory`] sets another bound.
const MEMORY: usize = 1 << 30;

/// Bytes of a result that the CPU makes at once. More would leave the cache before the caller reads them.
const CPU_PIECE: usize = 16 << 20;

/// Bytes of a piece for a device, packed or as a result: enough to keep the device busy. Larger pieces would
/// touch more pages of memory for the first time.
#[cfg(feature = "gpu")]
const GPU_PIECE: usize = 8 << 20;

/// Bytes of a page, the unit in which a memory-mapped file is read from disk.
const PAGE: usize = 4096;

impl Piece {
    /// Bytes of the pages that the piece reads, at most.
    fn touched(&self) -> usize {
        let rows = self.rows;
        // A row may touch one page more than its length, because it need not begin at a page.
        let row = (rows.run - 1) * rows.step.unsigned_abs() * rows.unit + PAGE;
        let row = row.min(rows.run.saturating_mul(PAGE));
        self.span().len().min(rows.count.saturating_mul(row)) + PAGE
    }
}

/// A slice that runs piece by piece. Made by [`Backend::stream`].
///
/// ```
/// use wgslice::{slice, Backend, DType, Error};
///
/// // The bytes may come from a file; here they are in memory.
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

/// The number of pieces, and the time of each stage on the host. The stages overlap with work of the device.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Streamed {
    /// The number of pieces.
    pub pieces: usize,
    /// Time to pack the bytes that the device needs into upload memory.
    pub upload: Duration,
    /// Time of the work itself on the CPU; time to record and submit it for a device.
    pub dispatch: Duration,
    /// Time waiting for the device.
    pub readback: Duration,
    /// The error of the device after which the CPU did the rest, if any.
    pub fallback: Option<Error>,
}

impl Backend {
    /// Plans a slice of an array of this shape. Its bytes are fetched and handed out piece by piece.
    ///
    /// # Errors
    ///
    /// [`SpecError`](crate::SpecError), [`Error::ShapeTooLarge`].
    pub fn stream(
        &self,
        shape: &[usize],
        spec: &SliceSpec,
        dtype: DType,
    ) -> Result<Stream<'_>, Error> {
        Ok(self.stream_plan(Plan::strided_slice(shape, spec, dtype)?))
    }

    pub(crate) fn stream_plan(&self, plan: Plan) -> Stream<'_> {
        let memory = match self.device_for(&plan) {
            Device::Cpu => MEMORY,
            // No API reports the memory of a device. Its longest buffer is the best hint.
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => {
                let quarter = gpu.device().limits().max_buffer_size / 4;
                usize::try_from(quarter).unwrap_or(MEMORY).min(MEMORY)
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
    /// The shape of the result.
    pub fn shape(&self) -> &[usize] {
        self.plan.shape()
    }

    /// The size of the result in bytes.
    pub fn result_bytes(&self) -> usize {
        self.plan.result_bytes()
    }

    /// The bytes that may be held at once, on the host and on the device together: pages of the source that a
    /// piece reads, staged bytes, and results not yet handed out. The default is a quarter of the device's
    /// `max_buffer_size`, at most 1 GiB.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// The same stream with another bound. A piece has at least one element, even if that exceeds the bound.
    #[must_use]
    pub fn with_memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// Runs the slice. `fetch` returns the bytes of a range of the source, and `sink` receives the result in
    /// order.
    ///
    /// If the device fails and the backend was made [with a fallback](Backend::with_fallback), the CPU does
    /// the remaining pieces.
    ///
    /// # Errors
    ///
    /// The errors of `fetch` and `sink`; [`Error::Length`] if `fetch` returns fewer or more bytes than the
    /// range has; an error of the device.
    pub fn run<B: AsRef<[u8]>, E: From<Error>>(
        &self,
        fetch: impl FnMut(Range<usize>) -> Result<B, E>,
        sink: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<Streamed, E> {
        let mut run = Run {
            fetch,
            sink,
            buffer: Vec::new(),
            streamed: Streamed::default(),
        };
        match self.backend.device_for(&self.plan) {
            Device::Cpu => run.on_cpu(self.cpu_pieces())?,
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => {
                let mut pieces = self.gpu_pieces(gpu);
                let mut under_way = VecDeque::new();
                match run.on_gpu(&mut gpu.ring(), &mut pieces, &mut under_way) {
                    Ok(()) => {}
                    Err(Stop::Device(error)) if self.backend.may_fall_back(&error) => {
                        run.streamed.fallback = Some(error);
                        run.on_cpu(under_way.into_iter().chain(pieces))?;
                    }
                    Err(Stop::Device(error)) => return Err(error.into()),
                    Err(Stop::Caller(error)) => return Err(error),
                }
            }
        }
        Ok(run.streamed)
    }

    fn cpu_pieces(&self) -> impl Iterator<Item = Piece> {
        let memory = self.memory;
        let most = CPU_PIECE.min(memory);
        pieces(&self.plan, move |piece| {
            piece.result_bytes() <= most && piece.touched() <= memory
        })
    }

    #[cfg(feature = "gpu")]
    fn gpu_pieces(&self, gpu: &crate::Gpu) -> impl Iterator<Item = Piece> {
        let memory = self.memory;
        let longest = gpu.device().limits().max_buffer_size;
        pieces(&self.plan, move |piece| {
            let result = piece.result_bytes();
            let packed = piece.split().host.result_bytes();
            let held = Ring::bytes_held(packed, result).saturating_add(piece.touched());
            let most = packed.max(result);
            most <= GPU_PIECE && Ring::buffer_bytes(most) <= longest && held <= memory
        })
    }
}

/// The side that stopped work on a device.
#[cfg(feature = "gpu")]
enum Stop<E> {
    Device(Error),
    Caller(E),
}

#[cfg(feature = "gpu")]
impl<E> From<Error> for Stop<E> {
    fn from(error: Error) -> Self {
        Self::Device(error)
    }
}

struct Run<F, S> {
    fetch: F,
    sink: S,
    /// Memory for results of the CPU.
    buffer: Vec<u8>,
    streamed: Streamed,
}

impl<F, S, B, E> Run<F, S>
where
    F: FnMut(Range<usize>) -> Result<B, E>,
    S: FnMut(&[u8]) -> Result<(), E>,
    B: AsRef<[u8]>,
    E: From<Error>,
{
    fn fetch(&mut self, piece: &Piece) -> Result<B, E> {
        let range = piece.span();
        let needed = range.len();
        let bytes = (self.fetch)(range)?;
        check_length("source", &[needed], "bytes", needed, bytes.as_ref().len())?;
        Ok(bytes)
    }

    fn on_cpu(&mut self, pieces: impl Iterator<Item = Piece>) -> Result<(), E> {
        for piece in pieces {
            let source = self.fetch(&piece)?;
            let bytes = piece.result_bytes();
            if self.buffer.len() < bytes {
                self.buffer = zeroed(bytes)?;
            }
            let begin = Instant::now();
            let dest = &mut self.buffer[..bytes];
            piece.plan().run(source.as_ref(), dest)?;
            self.streamed.dispatch += begin.elapsed();
            self.streamed.pieces += 1;
            (self.sink)(dest)?;
        }
        Ok(())
    }

    /// `under_way` holds the pieces whose results have not been handed out, also after an error.
    #[cfg(feature = "gpu")]
    fn on_gpu(
        &mut self,
        ring: &mut Ring,
        pieces: &mut impl Iterator<Item = Piece>,
        under_way: &mut VecDeque<Piece>,
    ) -> Result<(), Stop<E>> {
        loop {
            let next = pieces.next();
            under_way.extend(next.clone());
            if ring.is_full() || next.is_none() {
                if ring.is_idle() {
                    return Ok(());
                }
                let begin = Instant::now();
                ring.wait()?;
                self.streamed.readback += begin.elapsed();
                ring.take(&mut self.sink)?.map_err(Stop::Caller)?;
                self.streamed.pieces += 1;
                under_way.pop_front();
            }
            if let Some(piece) = next {
                let source = self.fetch(&piece).map_err(Stop::Caller)?;
                let split = piece.split();
                let begin = Instant::now();
                ring.pack(&split.host, &split.device, source.as_ref())?;
                self.streamed.upload += begin.elapsed();
                let begin = Instant::now();
                ring.submit(&split.host, &split.device)?;
                self.streamed.dispatch += begin.elapsed();
            }
        }
    }
}
