//! Runs one task, which computes one shard of the result.

use super::{Prepared, device::Device, faults, memory, prepared::Kind, tiles::Tiles};
use crate::zarr::{Error, coordinates, strides};

/// The outcome of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Whether the task computed the shard. `false` if the shard existed already.
    pub computed: bool,
    /// The number of chunks that were read.
    pub chunks_read: u64,
    /// The number of read chunks whose stored bytes were copied to the shard, without compressing them anew.
    pub chunks_copied: u64,
    /// The number of bytes that were read from the source, as they are stored there.
    pub bytes_read: u64,
    /// The bytes of the shard as it is stored. 0 if the shard existed already.
    pub bytes_written: u64,
    /// The number of index tuples that are out of range, gave zeros, and have slices that begin in this shard; or of
    /// boxes that reach outside, have zeros there, and begin in this shard.
    pub out_of_range: u64,
}

/// Computes a shard, and writes it in one step, unless the job has written it already.
///
/// # Errors
///
/// [`Error::Usage`] if there is no such shard; [`Error::Data`] if a chunk or an index cannot be used; [`Error::Io`]
/// after as many attempts as the order says.
pub fn compute(prepared: &Prepared, shard: u64) -> Result<Outcome, Error> {
    if shard >= prepared.shards() {
        return Err(Error::usage(format_args!(
            "there is no shard {shard}: the result has {}",
            prepared.shards()
        )));
    }
    let mut attempt = 1;
    loop {
        match once(prepared, shard) {
            Err(Error::Io(error)) if attempt < prepared.order().how.attempts => {
                log::warn!("shard {shard}, attempt {attempt}: {error}");
                attempt += 1;
            }
            outcome => {
                if outcome.is_ok() {
                    prepared.count();
                }
                return outcome;
            }
        }
    }
}

fn once(prepared: &Prepared, number: u64) -> Result<Outcome, Error> {
    let target = prepared.target();
    let at = coordinates(number as usize, &target.grid());
    let job = &prepared.order().id;
    if target.stands(&at, job)? {
        return Ok(Outcome::default());
    }
    let how = prepared.order().how;
    // If the chunks of the result are not compressed, slices and crops write a shard from the buffer that it is made in,
    // so that one buffer is enough.
    let is_one = target.is_plain() && matches!(prepared.kind, Kind::Slices(_) | Kind::Crop(..));
    let buffers = (if is_one { 1 } else { 2 }, target.buffer_bytes());
    let mut share = memory::take(prepared.task_bytes(), how.memory, buffers);
    faults::before(number).map_err(|error| Error::io(format_args!("shard {number}"), &error))?;
    let result = prepared.result_box(&at);
    let [bytes, image] = &mut share.buffers;
    let mut tiles = Tiles::new(target, bytes, &result)?;
    let device = Device::new(how.device, how.threads, &prepared.auto);
    let mut outcome = Outcome {
        computed: true,
        ..Outcome::default()
    };
    match &prepared.kind {
        Kind::Slices(slices) => {
            for (source, slice) in slices {
                let Some(overlap) = slice.overlap(&result) else {
                    continue;
                };
                let mut reader = source.reader();
                let to = (target, &prepared.cache);
                let copied = slice.fill(source, &mut reader, to, &device, &overlap, &mut tiles)?;
                outcome.chunks_copied += copied;
                outcome.chunks_read += reader.chunks();
                outcome.bytes_read += reader.bytes();
            }
        }
        Kind::Gather(source, gather) => {
            let mut reader = source.reader();
            tiles.by_rows(&result, image, |rows, shape| {
                let dest = (rows, shape);
                outcome.out_of_range = gather.fill(source, &mut reader, &device, &result, dest)?;
                Ok(())
            })?;
            (outcome.chunks_read, outcome.bytes_read) = (reader.chunks(), reader.bytes());
        }
        Kind::Crop(source, crop) => {
            let mut reader = source.reader();
            outcome.out_of_range = crop.fill(source, &mut reader, &result, &mut tiles)?;
            (outcome.chunks_read, outcome.bytes_read) = (reader.chunks(), reader.bytes());
        }
        Kind::Convert(file) => tiles.by_rows(&result, image, |rows, shape| {
            outcome.bytes_read = file.read_box(&result, rows, &strides(shape))?;
            Ok(())
        })?,
    }
    tiles.encode(image, how.threads)?;
    outcome.bytes_written = image.len() as u64;
    target.write(&at, image, job)?;
    faults::after();
    Ok(outcome)
}
