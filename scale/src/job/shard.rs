//! Runs one task, which computes one shard of the result.

use super::{
    Prepared, crop::Boxes, device::Device, faults, gather::BoxTuples, memory,
    prepared::OpenedOperation, tiles::Tiles,
};
use crate::zarr::{Error, Need, Needs, Reader, coordinates, strides};

/// The outcome of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// True if the task computed the shard. `false` if the shard existed already.
    pub computed: bool,
    /// The number of chunks that were read.
    pub chunks_read: u64,
    /// The number of read chunks whose stored bytes were copied to the shard, without compressing them again.
    pub chunks_copied: u64,
    /// The number of bytes that were read from the source, as they are stored there.
    pub bytes_read: u64,
    /// The size of the shard in bytes, as it is stored, or 0 if the shard existed already.
    pub bytes_written: u64,
    /// The number of index tuples that are out of range, gave zeros, and have slices that begin in this shard. For a
    /// crop, the number of boxes that extend beyond the source, have zeros there, and begin in this shard.
    pub out_of_range: u64,
}

/// Computes a shard like [`Worker::compute`], without requests for another shard's chunks.
///
/// # Errors
///
/// The errors of [`Worker::compute`].
pub fn compute(prepared: &Prepared, shard: u64) -> Result<Outcome, Error> {
    Worker::new(prepared).compute(shard, None)
}

/// Computes shards in order, on its own thread.
pub struct Worker<'a> {
    prepared: &'a Prepared,
    /// A reader of each source.
    readers: Vec<Reader<'a>>,
    /// The shards whose chunks are in the queues of the readers, each with the data that was computed to find them.
    planned: Vec<(u64, ChunkData)>,
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.prepared.ahead.exit();
    }
}

/// The data that is kept to read a shard's chunks. Data that is faster to compute again is not kept.
enum ChunkData {
    Nothing,
    Tuples(BoxTuples),
    Boxes(Boxes),
}

impl<'a> Worker<'a> {
    /// Makes a worker for this thread.
    pub fn new(prepared: &'a Prepared) -> Self {
        let sources = prepared.operation.sources().into_iter();
        prepared.ahead.enter();
        Self {
            prepared,
            readers: sources
                .map(|source| source.reader_ahead(&prepared.ahead, &prepared.cache))
                .collect(),
            planned: Vec::new(),
        }
    }

    /// Computes a shard and writes it in one step, unless the job has written it already. For remote stores, also
    /// requests the chunks of `next_shard`, which will be computed after this shard.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if there is no such shard, or if this build lacks the device; [`Error::Data`] if a chunk, an
    /// index or the device cannot be used, or memory is missing; [`Error::Io`] after the number of attempts in the
    /// order.
    pub fn compute(&mut self, shard: u64, next_shard: Option<u64>) -> Result<Outcome, Error> {
        let prepared = self.prepared;
        if shard >= prepared.shards() {
            return Err(Error::usage(format_args!(
                "there is no shard {shard}: the result has {}",
                prepared.shards()
            )));
        }
        let mut attempt = 1;
        loop {
            let outcome = self.try_once(shard, next_shard);
            self.forget(shard);
            match outcome {
                Err(Error::Io(error)) if attempt < prepared.order().how.attempts => {
                    log::warn!("shard {shard}, attempt {attempt}: {error}");
                    attempt += 1;
                }
                outcome => {
                    if outcome.is_ok() {
                        prepared.count_finished_shard();
                    }
                    return outcome;
                }
            }
        }
    }

    /// Adds a shard's chunks to the queues of the readers, if these read remote stores.
    fn plan(&mut self, shard: u64) {
        let prepared = self.prepared;
        let is_planned = self
            .planned
            .iter()
            .any(|(planned_shard, _)| *planned_shard == shard);
        if !prepared.is_remote() || is_planned || shard >= prepared.shards() {
            return;
        }
        let target = prepared.target();
        let result_box = prepared.result_box(&coordinates(shard as usize, &target.grid()));
        let whole_chunk = |at| Need {
            at,
            users: 1,
            elements: None,
        };
        // If this fails, computing the shard reports the error.
        let chunk_data = match &prepared.operation {
            OpenedOperation::Slices(slices) => {
                for ((source, slice), reader) in slices.iter().zip(&mut self.readers) {
                    if let Some(overlap) = slice.overlap(&result_box) {
                        let needs: Needs<'a> = Box::new(slice.needs(source, target, overlap));
                        reader.queue_chunks(shard, needs);
                    }
                }
                ChunkData::Nothing
            }
            OpenedOperation::Gather(source, gather) => {
                let Ok(tuples) = gather.tuples(source, &result_box, target.shard()) else {
                    return;
                };
                let chunks = gather.chunks_to_read(source, &result_box, &tuples);
                self.readers[0].queue_chunks(shard, Box::new(chunks.into_iter().map(whole_chunk)));
                ChunkData::Tuples(tuples)
            }
            OpenedOperation::Crop(source, crop) => {
                let Ok(boxes) = crop.boxes(source, &result_box) else {
                    return;
                };
                let chunks = boxes.chunks(source);
                self.readers[0].queue_chunks(shard, Box::new(chunks.into_iter().map(whole_chunk)));
                ChunkData::Boxes(boxes)
            }
            OpenedOperation::Convert(_) => ChunkData::Nothing,
        };
        self.planned.push((shard, chunk_data));
    }

    fn forget(&mut self, shard: u64) {
        self.planned
            .retain(|(planned_shard, _)| *planned_shard != shard);
        for reader in &mut self.readers {
            reader.forget(shard);
        }
    }

    fn try_once(&mut self, shard: u64, next_shard: Option<u64>) -> Result<Outcome, Error> {
        let prepared = self.prepared;
        let target = prepared.target();
        let at = coordinates(shard as usize, &target.grid());
        let job_id = &prepared.order().id;
        if target.has_written(&at, job_id)? {
            return Ok(Outcome::default());
        }
        self.plan(shard);
        if let Some(next_shard) = next_shard {
            self.plan(next_shard);
        }
        let how = prepared.order().how;
        // If the result's chunks are not compressed, slices and crops write a shard from the buffer in which it is
        // made, so one buffer is enough.
        let needs_one_buffer = target.is_plain()
            && matches!(
                prepared.operation,
                OpenedOperation::Slices(_) | OpenedOperation::Crop(..)
            );
        let buffer_count = if needs_one_buffer { 1 } else { 2 };
        let buffers = (buffer_count, target.buffer_bytes());
        let mut share = memory::take(prepared.task_bytes(), how.memory, buffers);
        faults::inject_before_read(shard)
            .map_err(|error| Error::io(format_args!("shard {shard}"), &error))?;
        let result_box = prepared.result_box(&at);
        let [bytes, image] = &mut share.buffers;
        let mut tiles = Tiles::new(target, bytes, &result_box)?;
        let device = Device::new(how.device, how.threads, &prepared.auto_backend);
        let mut outcome = Outcome {
            computed: true,
            ..Outcome::default()
        };
        let mut planned = self.planned.iter();
        let planned = planned.find(|(planned_shard, _)| *planned_shard == shard);
        let chunk_data = planned.map(|(_, chunk_data)| chunk_data);
        let readers = &mut self.readers;
        let counts = |readers: &[Reader<'_>]| {
            let chunks: u64 = readers.iter().map(Reader::chunks).sum();
            let bytes: u64 = readers.iter().map(Reader::bytes).sum();
            (chunks, bytes)
        };
        let counts_before = counts(readers);
        match &prepared.operation {
            OpenedOperation::Slices(slices) => {
                for ((source, slice), reader) in slices.iter().zip(&mut *readers) {
                    let Some(overlap) = slice.overlap(&result_box) else {
                        continue;
                    };
                    let target_and_cache = (target, &prepared.cache);
                    outcome.chunks_copied += slice.fill(
                        source,
                        reader,
                        target_and_cache,
                        &device,
                        &overlap,
                        &mut tiles,
                    )?;
                }
            }
            OpenedOperation::Gather(source, gather) => {
                let reader = &mut readers[0];
                tiles.fill_row_major(&result_box, image, |rows, shape| {
                    let new_tuples;
                    let tuples = if let Some(ChunkData::Tuples(tuples)) = chunk_data {
                        tuples
                    } else {
                        new_tuples = gather.tuples(source, &result_box, shape)?;
                        &new_tuples
                    };
                    let (result_and_tuples, dest) = ((&result_box[..], tuples), (rows, shape));
                    outcome.out_of_range =
                        gather.fill(source, reader, &device, result_and_tuples, dest)?;
                    Ok(())
                })?;
            }
            OpenedOperation::Crop(source, crop) => {
                let new_boxes;
                let boxes = if let Some(ChunkData::Boxes(boxes)) = chunk_data {
                    boxes
                } else {
                    new_boxes = crop.boxes(source, &result_box)?;
                    &new_boxes
                };
                let result_and_boxes = (&result_box[..], boxes);
                outcome.out_of_range = crop.fill(
                    source,
                    &mut readers[0],
                    &device,
                    result_and_boxes,
                    &mut tiles,
                )?;
            }
            OpenedOperation::Convert(file) => {
                tiles.fill_row_major(&result_box, image, |rows, shape| {
                    outcome.bytes_read = file.read_box(&result_box, rows, &strides(shape))?;
                    Ok(())
                })?
            }
        }
        let counts_after = counts(readers);
        outcome.chunks_read += counts_after.0 - counts_before.0;
        outcome.bytes_read += counts_after.1 - counts_before.1;
        tiles.encode(image, how.threads)?;
        outcome.bytes_written = image.len() as u64;
        target.write(&at, image, job_id)?;
        faults::inject_after_write();
        Ok(outcome)
    }
}
