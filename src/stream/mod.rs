//! Slices of arrays that need not fit into memory, on the host or on the device.
//!
//! A slice is cut into pieces that follow one another in the result. Of each, the bytes that it
//! needs are fetched, the device works on them, and the result is handed out. A piece is on the
//! device while the next one is packed and the last one is handed out. What is held at once is
//! bounded, whatever the array's size.

mod piece;
#[cfg(feature = "gpu")]
mod split;

#[cfg(feature = "gpu")]
use crate::gpu::Ring;
use crate::{
    Backend, DType, Error, Plan, SliceSpec, backend::Device, element::zeroed, plan::Rows,
    shape::check_length,
};
#[cfg(feature = "gpu")]
use std::collections::VecDeque;
use std::{
    ops::Range,
    time::{Duration, Instant},
};

pub(crate) use piece::Piece;
use piece::Pieces;
#[cfg(feature = "gpu")]

/// The most that is held at once where nothing else is asked for, in bytes.
const MEMORY: usize = 1 << 30;

/// Bytes of a result that the CPU makes at once. More would leave the cache before it is handed out.
const CPU_PIECE: usize = 16 << 20;

/// Bytes of a piece for a device, packed or as a result. Enough to keep it busy; more would be more
/// memory whose pages are touched for the first time.
#[cfg(feature = "gpu")]
const GPU_PIECE: usize = 8 << 20;

/// What a file is read in from disk by: bytes of a page.
const PAGE: usize = 4096;

impl Piece {
    /// Bytes of the pages that reading the piece brings in, at most.
    fn touched(&self) -> usize {
        let Rows {
            unit,
            count,
            run,
            step,
        } = self.rows;
        // Wherever it begins and ends, a stretch lies in one page more.
        let stretch = (run - 1) * step.unsigned_abs() * unit + PAGE;
        let row = stretch.min(run.saturating_mul(PAGE));
        self.span().len().min(count.saturating_mul(row)) + PAGE
    }
}

/// A slice that is worked through piece by piece. Made by [`Backend::stream`].
///
/// ```
/// use wgslice::{slice, Backend, DType, Error};
///
/// // Bytes from anywhere, a file for example: here from memory.
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

/// What was done, and how long the stages took on the host: they overlap with what the device does.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Streamed {
    /// How many pieces there were.
    pub pieces: usize,
    /// Packing what the device needs into upload memory.
    pub upload: Duration,
    /// On the CPU the work itself; for a device recording and submitting it.
    pub dispatch: Duration,
    /// Waiting for the device.
    pub readback: Duration,
    /// Why the CPU did part of the work, where it stood in for a device that failed.
    pub fallback: Option<Error>,
}

impl Backend {
    /// Plans a slice of an array of this shape that is fetched and handed out piece by piece.
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

    /// A plan of a slice, to be worked through piece by piece.
    pub(crate) fn stream_plan(&self, plan: Plan) -> Stream<'_> {
        let memory = match self.device_for(&plan) {
            Device::Cpu => MEMORY,
            // No API tells how much memory a device has; the longest buffer is the best hint.
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

    /// The bytes that may be held at once, on the host and on the device together: the pages of the
    /// source that a piece reads, what is staged, and results that were not yet handed out. By
    /// default a quarter of what the device says a buffer may have, or 1 GiB, whichever is less.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// The same with another bound. A piece is at least one element, however little is allowed.
    #[must_use]
    pub fn with_memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// Works through the slice. `fetch` is asked for bytes of the source by their range, and `sink`
    /// is given the result, from its beginning to its end.
    ///
    /// Where the device fails and the backend was made [with a fallback](Backend::with_fallback),
    /// the CPU does what is left.
    ///
    /// # Errors
    ///
    /// What `fetch` and `sink` return; [`Error::Length`] where `fetch` gives fewer or more bytes than
    /// it was asked for; an error of the device.
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
        Pieces::new(&self.plan, move |piece| {
            piece.result_bytes() <= most && piece.touched() <= memory
        })
    }

    #[cfg(feature = "gpu")]
    fn gpu_pieces(&self, gpu: &crate::Gpu) -> impl Iterator<Item = Piece> {
        let memory = self.memory;
        let longest = gpu.device().limits().max_buffer_size;
        Pieces::new(&self.plan, move |piece| {
            let result = piece.result_bytes();
            let packed = piece.split().host.result_bytes();
            let held = Ring::bytes_held(packed, result).saturating_add(piece.touched());
            let most = packed.max(result);
            most <= GPU_PIECE && Ring::buffer_bytes(most) <= longest && held <= memory
        })
    }
}

/// Why work on a device ended early.
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
    /// What the CPU writes to.
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

    /// Leaves in `under_way` the pieces whose results have not been handed out.
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
