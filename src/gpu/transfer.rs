//! Tensors on the device, in the fewest buffers that its limits allow, and their download.

use super::{
    Gpu,
    argument::Argument,
    caps::Parts,
    caps::VECTOR,
    pool::Lent,
    readback::{Piece, Readback},
};
use crate::Error;
use std::{collections::VecDeque, ops::Range, sync::Arc};
use wgpu::BufferUsages;

/// Buffers are padded to multiples of this many bytes, so that whole vectors can be bound.
pub(super) const PADDING: u64 = VECTOR as u64;

/// If a tensor has several buffers, their sizes are multiples of this many bytes, the largest alignment of bindings
/// that a device may require.
const PART_ALIGNMENT: u64 = 256;

/// The most bytes that are read back at once. Two staging buffers alternate, so staging memory does not grow with the
/// tensor, and its pages are mapped only once.
const STAGING_BYTES: u64 = 8 << 20;

/// A tensor's bytes on the device. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct DeviceBytes {
    lent: Arc<Lent>,
    parts: Parts,
    bytes: usize,
}

impl DeviceBytes {
    /// The buffers: one, unless the tensor exceeds the device's limit.
    pub(super) fn buffers(&self) -> &[wgpu::Buffer] {
        self.lent.buffers()
    }

    /// The buffers, for the caller, who may keep clones.
    pub(crate) fn show(&self) -> &[wgpu::Buffer] {
        self.lent.show()
    }

    /// Whether no other tensor and no pending report holds the buffers.
    pub(crate) fn is_unshared(&mut self) -> bool {
        Arc::get_mut(&mut self.lent).is_some()
    }

    pub(super) fn argument(&self, name: &'static str) -> Argument<'_> {
        Argument {
            name,
            buffers: self.buffers(),
            parts: self.parts,
            passed: self.bytes as u64,
            needed: self.bytes as u64,
            callers: false,
        }
    }

    /// The locations of `bytes` bytes from `at` on: for each part, its number, the offset in it, and the range of the
    /// bytes.
    pub(super) fn places(
        &self,
        at: usize,
        bytes: usize,
    ) -> impl Iterator<Item = (usize, usize, Range<usize>)> + use<> {
        let part_bytes = usize::try_from(self.parts.bytes).unwrap_or(usize::MAX);
        let mut done = 0;
        std::iter::from_fn(move || {
            let (part, within) = ((at + done) / part_bytes, (at + done) % part_bytes);
            let begin = done;
            done += (bytes - done).min(part_bytes - within);
            (done > begin).then_some((part, within, begin..done))
        })
    }

    /// All bytes, padded to words, in pieces of at most `most` bytes.
    fn pieces(&self, most: u64) -> impl Iterator<Item = Piece<'_>> {
        let total = self.bytes as u64;
        self.buffers()
            .iter()
            .zip(0u64..)
            .flat_map(move |(buffer, part)| {
                let left = total - part * self.parts.bytes.min(total);
                let length = left.min(self.parts.bytes).next_multiple_of(4);
                let step = usize::try_from(most).unwrap_or(usize::MAX);
                (0..length).step_by(step).map(move |offset| Piece {
                    buffer,
                    offset,
                    bytes: most.min(length - offset),
                })
            })
    }
}

/// Bytes of a row along the last dimension.
pub(super) fn row_bytes(shape: &[usize], element: usize) -> u64 {
    (shape.last().map_or(1, |&size| size.max(1)) * element) as u64
}

/// Bytes of a part, at most `most`: whole rows if possible, because an index tuple must not lie in two buffers. A
/// longer row is no index tuple.
fn part_bytes(most: u64, row_bytes: u64) -> u64 {
    let common = 1 << (row_bytes | PART_ALIGNMENT).trailing_zeros();
    let whole = row_bytes.saturating_mul(PART_ALIGNMENT / common);
    let step = if whole <= most { whole } else { PART_ALIGNMENT };
    (most / step * step).max(PART_ALIGNMENT)
}

impl Gpu {
    /// Buffers on the device for an array, with unspecified contents.
    pub(crate) fn allocate(&self, shape: &[usize], element: usize) -> Result<DeviceBytes, Error> {
        let bytes = shape.iter().product::<usize>() * element;
        self.create(bytes, row_bytes(shape, element), false)
    }

    /// Records a copy of a tensor's bytes into new buffers like its own.
    pub(super) fn duplicate(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        source: &DeviceBytes,
    ) -> Result<DeviceBytes, Error> {
        let buffers = source.buffers().iter().map(|buffer| {
            let copy = self.tensor_buffer(buffer.size(), false)?;
            encoder.copy_buffer_to_buffer(buffer, 0, &copy, 0, buffer.size());
            Ok(copy)
        });
        let buffers = buffers.collect::<Result<_, Error>>()?;
        Ok(DeviceBytes {
            lent: Arc::new(self.inner.pool.lend(buffers)),
            ..source.clone()
        })
    }

    /// A buffer from the pool, or a new one. Only a new one can be mapped at creation.
    fn tensor_buffer(&self, size: u64, mapped_at_creation: bool) -> Result<wgpu::Buffer, Error> {
        let pool = &self.inner.pool;
        if !mapped_at_creation && let Some(buffer) = pool.take(size) {
            return Ok(buffer);
        }
        let create = || {
            self.guarded("allocating a buffer", || {
                self.inner.device.create_buffer(&wgpu::BufferDescriptor {
                    label: Some("wgslice tensor"),
                    size,
                    usage: BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST,
                    mapped_at_creation,
                })
            })
        };
        // wgpu frees dropped buffers when the device is polled.
        pool.make_room(create, || self.poll())
    }

    /// Buffers for `bytes` bytes, with unspecified contents.
    pub(super) fn create(
        &self,
        bytes: usize,
        row_bytes: u64,
        mapped_at_creation: bool,
    ) -> Result<DeviceBytes, Error> {
        let most = self.inner.limits.max_buffer_size;
        let padded = (bytes as u64).max(1).next_multiple_of(PADDING);
        let parts = if padded <= most {
            Parts::ONE
        } else {
            let offset = 0;
            let bytes = part_bytes(most, row_bytes);
            Parts { offset, bytes }
        };
        let mut buffers = Vec::new();
        let mut first = 0;
        while first < padded {
            let size = parts.bytes.min(padded - first);
            buffers.push(self.tensor_buffer(size, mapped_at_creation)?);
            first += size;
        }
        Ok(DeviceBytes {
            lent: Arc::new(self.inner.pool.lend(buffers)),
            parts,
            bytes,
        })
    }

    /// Reads all bytes of a tensor, blocking until all earlier submissions are done. One piece is copied to the host
    /// while the device copies the next.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn download(&self, source: &DeviceBytes, into: &mut [u8]) -> Result<(), Error> {
        pollster::block_on(self.download_with(source, into, |readback| {
            let waited = if readback.has_arrived() {
                Ok(())
            } else {
                self.wait()
            };
            std::future::ready(waited)
        }))
    }

    /// Browsers do not allow blocking.
    #[cfg(target_arch = "wasm32")]
    pub(crate) fn download(&self, _source: &DeviceBytes, _into: &mut [u8]) -> Result<(), Error> {
        self.wait()
    }

    /// [`Gpu::download`] without blocking.
    pub(crate) async fn download_async(
        &self,
        source: &DeviceBytes,
        into: &mut [u8],
    ) -> Result<(), Error> {
        self.download_with(source, into, |readback| {
            let arrival = readback.arrival();
            async move {
                arrival.await;
                Ok(())
            }
        })
        .await
    }

    async fn download_with<W: Future<Output = Result<(), Error>>>(
        &self,
        source: &DeviceBytes,
        mut into: &mut [u8],
        arrived: impl Fn(&Readback) -> W,
    ) -> Result<(), Error> {
        if into.is_empty() {
            return Ok(());
        }
        let most = STAGING_BYTES.min(self.inner.limits.max_buffer_size / 4 * 4);
        let mut under_way: VecDeque<(Readback, u64)> = VecDeque::new();
        let mut pieces = source.pieces(most).peekable();
        let longest = pieces.peek().map_or(0, |piece| piece.bytes);
        let mut idle = None;
        loop {
            let next = pieces.next();
            if let Some(piece) = next {
                let staging = match idle.take() {
                    Some(staging) => staging,
                    None => self.staging(longest)?,
                };
                let readback = self.read_back_through(staging, [piece].into_iter())?;
                under_way.push_back((readback, piece.bytes));
            }
            if under_way.len() == 2 || next.is_none() {
                let Some((readback, bytes)) = under_way.pop_front() else {
                    return Ok(());
                };
                arrived(&readback).await?;
                let length = usize::try_from(bytes).unwrap_or(usize::MAX).min(into.len());
                let (now, rest) = into.split_at_mut(length);
                readback.copy_to(now)?;
                idle = Some(readback.into_staging());
                into = rest;
            }
        }
    }

    /// Records commands with `record`, and submits them.
    pub(crate) fn submit<R>(
        &self,
        doing: &'static str,
        record: impl FnOnce(&mut wgpu::CommandEncoder) -> Result<R, Error>,
    ) -> Result<(R, wgpu::SubmissionIndex), Error> {
        self.guarded(doing, || {
            let mut encoder = self
                .inner
                .device
                .create_command_encoder(&Default::default());
            let recorded = record(&mut encoder)?;
            let submission = self.inner.queue.submit([encoder.finish()]);
            Ok((recorded, submission))
        })?
    }
}
