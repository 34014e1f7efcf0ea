//! Allocates and downloads tensors on the device. A tensor is in one buffer, unless it exceeds the device's
//! `max_buffer_size`.

use super::{
    OpenDevice,
    adapter::is_software,
    caps::{BufferParts, VECTOR_BYTES},
    pool::{BufferPool, LentBuffers},
    readback::Readback,
};
use crate::Error;
use std::sync::Arc;
use wgpu::{BufferSlice, BufferUsages};

/// If a tensor has several buffers, the sizes of all except the last are multiples of this many bytes. This is the
/// largest alignment of bindings that a device can require.
const PART_ALIGNMENT: u64 = 256;

/// The largest size in bytes of a staging buffer for reading back. Two such buffers alternate, so staging memory does
/// not grow with the tensor, and the operating system maps their pages only once.
const STAGING_BYTES: u64 = 8 << 20;

/// Returns the size of a buffer for `bytes` bytes: a positive number of whole vectors, because shaders bind vectors.
pub(crate) fn padded_size(bytes: usize) -> u64 {
    bytes.max(1).next_multiple_of(VECTOR_BYTES) as u64
}

/// A tensor's bytes on the device. Clones share the bytes.
#[derive(Clone, Debug)]
pub(crate) struct DeviceBytes {
    lent_buffers: Arc<LentBuffers>,
    /// The location of the tensor in its buffers.
    pub(in crate::gpu) parts: BufferParts,
    /// The size of the tensor in bytes.
    pub(in crate::gpu) bytes: usize,
}

impl DeviceBytes {
    /// Uses the first `bytes` bytes of the caller's buffer. The buffer is never pooled.
    pub(crate) fn from_caller(buffer: wgpu::Buffer, bytes: usize) -> Self {
        let lent_buffers = Arc::<BufferPool>::default().lend_buffers(vec![buffer]);
        lent_buffers.expose_buffers();
        Self {
            lent_buffers,
            parts: BufferParts::ONE_PART,
            bytes,
        }
    }

    /// Returns the buffers: one, unless the tensor exceeds the device's `max_buffer_size`.
    pub(in crate::gpu) fn buffers(&self) -> &[wgpu::Buffer] {
        &self.lent_buffers.buffers
    }

    /// Exposes the buffers to the caller, who can keep clones. From then on no other tensor reuses them.
    pub(crate) fn expose_buffers(&self) -> &[wgpu::Buffer] {
        self.lent_buffers.expose_buffers()
    }

    /// Returns whether no other tensor and no pending report holds the buffers.
    pub(crate) fn is_unshared(&mut self) -> bool {
        Arc::get_mut(&mut self.lent_buffers).is_some()
    }

    /// Fails if the caller's buffer lacks the usage that copying its bytes needs.
    fn check_copied(&self) -> Result<(), Error> {
        let can_copy = |buffer: &wgpu::Buffer| buffer.usage().contains(BufferUsages::COPY_SRC);
        match self.buffers().iter().all(can_copy) {
            true => Ok(()),
            false => Err(Error::Buffer {
                argument: "tensor's",
                problem: format!(
                    "of {} bytes lacks the usage COPY_SRC, without which a tensor is not read back, and not copied \
                     before it is changed in place: create it with BufferUsages::COPY_SRC",
                    self.bytes
                ),
            }),
        }
    }

    /// Returns the ranges of the buffers that contain bytes `at..at + bytes` of the tensor, with `bytes` rounded up to
    /// whole words.
    pub(in crate::gpu) fn buffer_slices(
        &self,
        at: usize,
        bytes: usize,
    ) -> impl Iterator<Item = BufferSlice<'_>> + Clone {
        let bytes = bytes.next_multiple_of(4) as u64;
        self.parts.buffer_slices(self.buffers(), at as u64, bytes)
    }
}

/// On a software adapter, tensors of at least this many bytes are allocated only if the machine has enough memory.
const MIN_CHECKED_BYTES: u64 = 1 << 20;

/// The least common multiple of [`PART_ALIGNMENT`] and the sizes in bytes of all index tuples of up to 10 integers.
const TUPLES_MULTIPLE: u64 = 80_640;

/// Returns the size in bytes of each part of a tensor except the last: at most `max_bytes`, unless `max_bytes`
/// is below 256. A part is in its own buffer. `row_bytes` is the size of a row of the innermost dimension.
///
/// An index tuple must not be split between two buffers, and a tensor can be reshaped before it is used as indices. If
/// `max_bytes` allows it, as on all real devices, parts therefore have whole tuples of up to 10 integers. They also
/// have whole rows, which can be longer tuples, unless this would make parts much smaller. If `max_bytes` does not
/// allow whole tuples, parts have whole rows if possible.
pub(in crate::gpu) fn part_bytes(max_bytes: u64, row_bytes: u64) -> u64 {
    let rows_multiple = multiple_of_both(row_bytes, PART_ALIGNMENT);
    let common_multiple = multiple_of_both(TUPLES_MULTIPLE, rows_multiple);
    let multiple = [
        (common_multiple, max_bytes / 8),
        (TUPLES_MULTIPLE, max_bytes),
        (rows_multiple, max_bytes),
    ]
    .into_iter()
    .find_map(|(multiple, limit)| (multiple <= limit).then_some(multiple));
    let multiple = multiple.unwrap_or(PART_ALIGNMENT);
    (max_bytes / multiple * multiple).max(PART_ALIGNMENT)
}

/// Returns the least common multiple of two numbers, or `u64::MAX` if the multiple exceeds 64 bits.
fn multiple_of_both(one: u64, other: u64) -> u64 {
    let (mut divisor, mut remainder) = (one, other);
    while remainder > 0 {
        (divisor, remainder) = (remainder, divisor % remainder);
    }
    one.saturating_mul(other / divisor.max(1))
}

impl OpenDevice {
    /// Allocates the buffers of an array, from the pool if possible. Their contents are unspecified.
    pub(crate) fn allocate_array(
        &self,
        shape: &[usize],
        element_bytes: usize,
    ) -> Result<DeviceBytes, Error> {
        let bytes = shape.iter().product::<usize>() * element_bytes;
        let max_bytes = self.shared.limits.max_buffer_size;
        let row_bytes = shape.last().map_or(1, |&size| size.max(1)) * element_bytes;
        let parts = match padded_size(bytes) <= max_bytes {
            true => BufferParts::ONE_PART,
            false => BufferParts {
                offset: 0,
                bytes: part_bytes(max_bytes, row_bytes as u64),
            },
        };
        self.allocate_parts(parts, bytes)
    }

    fn allocate_parts(&self, parts: BufferParts, bytes: usize) -> Result<DeviceBytes, Error> {
        let (mut buffers, mut bytes_left) = (Vec::new(), padded_size(bytes));
        self.check_host_memory("allocating a tensor", bytes_left)?;
        while bytes_left > 0 {
            let buffer_bytes = parts.bytes.min(bytes_left);
            buffers.push(self.tensor_buffer(buffer_bytes)?);
            bytes_left -= buffer_bytes;
        }
        Ok(DeviceBytes {
            lent_buffers: self.shared.pool.lend_buffers(buffers),
            parts,
            bytes,
        })
    }

    /// On a software adapter, fails if the machine does not have `more_bytes` bytes of memory in addition to the
    /// adapter's tensors. Drivers do not check this: the operating system would kill the process when it writes to the
    /// memory.
    fn check_host_memory(&self, doing: &'static str, more_bytes: u64) -> Result<(), Error> {
        if more_bytes < MIN_CHECKED_BYTES || !is_software(&self.shared.info) {
            return Ok(());
        }
        let needed_bytes = self.shared.pool.lent_bytes().saturating_add(more_bytes);
        let needed_bytes = usize::try_from(needed_bytes).unwrap_or(usize::MAX);
        // The system rejects a mapping that exceeds its memory. Mapped pages use no memory until they are written.
        let reservation = Vec::<u8>::new().try_reserve_exact(needed_bytes);
        reservation.map_err(|_| Error::OutOfDeviceMemory { doing })
    }

    /// Returns the tensor to change. If `in_place`, this is `source` itself. Otherwise it is a new tensor, and this
    /// call records a copy of `source` to it.
    pub(in crate::gpu) fn tensor_to_change(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        source: &DeviceBytes,
        in_place: bool,
    ) -> Result<DeviceBytes, Error> {
        if in_place {
            return Ok(source.clone());
        }
        source.check_copied()?;
        let copy = self.allocate_parts(source.parts, source.bytes)?;
        for (from, to) in source.buffers().iter().zip(copy.buffers()) {
            // wgpu copies only whole words, and the caller's buffer can have any size.
            let copied_bytes = to.size().min(from.size() / 4 * 4);
            encoder.copy_buffer_to_buffer(from, 0, to, 0, copied_bytes);
        }
        Ok(copy)
    }

    /// Returns a buffer of `size` bytes from the pool, or a new one.
    fn tensor_buffer(&self, size: u64) -> Result<wgpu::Buffer, Error> {
        let pool = &self.shared.pool;
        if let Some(buffer) = pool.take_buffer(size) {
            return Ok(buffer);
        }
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        let create = || self.create_buffer("allocating a buffer", "wgslice tensor", size, usage);
        // wgpu frees dropped buffers when the device is polled.
        pool.make_room(create, || self.poll_callbacks())
    }

    /// Reads all bytes of a tensor, blocking until all earlier submissions are done.
    pub(crate) fn download_bytes(
        &self,
        source: &DeviceBytes,
        dest: &mut [u8],
    ) -> Result<(), Error> {
        self.check_may_block(
            "the values of a tensor",
            "Tensor::to_array_async, read_into_async or bytes_async",
        )?;
        let mut downloading = std::pin::pin!(self.download_async(source, dest));
        self.wait_until(|context| downloading.as_mut().poll(context))
    }

    /// Reads all bytes of a tensor without blocking, in pieces of up to 8 MiB. While the host copies one piece out of a
    /// staging buffer, the device copies the next piece into another.
    pub(crate) async fn download_async(
        &self,
        source: &DeviceBytes,
        dest: &mut [u8],
    ) -> Result<(), Error> {
        source.check_copied()?;
        self.check_host_memory("reading a tensor back", dest.len() as u64)?;
        let max_bytes = STAGING_BYTES.min(self.shared.limits.max_buffer_size / 4 * 4);
        let max_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        let staging_bytes = dest.len().min(max_bytes).next_multiple_of(4) as u64;
        let mut pending_readback: Option<(Readback, &mut [u8])> = None;
        let mut idle_buffer = None;
        for (number, piece) in dest.chunks_mut(max_bytes).enumerate() {
            let staging = match idle_buffer.take() {
                Some(staging) => staging,
                None => self.create_staging_buffer(staging_bytes)?,
            };
            let ranges = source.buffer_slices(number * max_bytes, piece.len());
            let readback = self.read_back(staging, ranges)?;
            if let Some((previous_readback, piece)) = pending_readback.replace((readback, piece)) {
                previous_readback.copy_to(piece).await?;
                idle_buffer = Some(previous_readback.into_staging());
            }
        }
        match pending_readback {
            Some((last_readback, piece)) => last_readback.copy_to(piece).await,
            None => Ok(()),
        }
    }

    /// Records commands with `record` and submits them. Error messages call the work `doing`.
    pub(crate) fn record_and_submit<R>(
        &self,
        doing: &'static str,
        record: impl FnOnce(&mut wgpu::CommandEncoder) -> Result<R, Error>,
    ) -> Result<(R, wgpu::SubmissionIndex), Error> {
        self.run_guarded(doing, || {
            let mut encoder = self
                .wgpu
                .create_command_encoder(&wgpu::CommandEncoderDescriptor {
                    label: Some(&format!("wgslice {doing}")),
                });
            let output = record(&mut encoder)?;
            let submission = self.queue.submit([encoder.finish()]);
            #[cfg(test)]
            crate::gpu::pass_tests::count_submission();
            Ok((output, submission))
        })?
    }
}

#[cfg(test)]
mod tests {
    use super::{PART_ALIGNMENT, part_bytes};

    /// No index tuple is split between two buffers, whatever shape the tensor had when it was allocated.
    #[test]
    fn parts_have_whole_tuples() {
        for max_bytes in [80_640, 100_000, 1 << 20, 256 << 20, u64::MAX] {
            for row_bytes in [1, 4, 12, 1000, 1 << 24, u64::MAX] {
                let bytes = part_bytes(max_bytes, row_bytes);
                assert!(bytes <= max_bytes && bytes.is_multiple_of(PART_ALIGNMENT));
                for integer_bytes in [4, 8] {
                    assert!((1..=10).all(|depth| bytes.is_multiple_of(integer_bytes * depth)));
                }
            }
        }
        // Rows of indices into an array of 29 dimensions are also whole.
        for max_bytes in [64 << 20, 256 << 20, 1 << 40] {
            assert!(part_bytes(max_bytes, 29 * 8).is_multiple_of(29 * 8 * 10));
        }
        // If the device's buffers are too small for whole tuples, parts still have whole rows.
        assert_eq!(part_bytes(1024, 12), 768);
        assert_eq!(part_bytes(100, 12), PART_ALIGNMENT);
    }
}
