//! One task: a shard of the result.

use super::{Prepared, device::Device, faults, memory, prepared::Kind};
use crate::zarr::{Error, coordinates, strides};
use std::iter;

/// What a task has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Whether the shard has been computed. `false` if it stood there already.
    pub computed: bool,
    /// The number of chunks that were read.
    pub chunks_read: u64,
    /// The bytes that the source has delivered.
    pub bytes_read: u64,
    /// The bytes of the shard as it is stored.
    pub bytes_written: u64,
    /// The CRC-32C of the shard as it is stored.
    pub checksum: Option<u32>,
    /// The number of index tuples that were out of range.
    pub out_of_range: u64,
}

/// Computes a shard and writes it whole, unless it is there.
///
/// # Errors
///
/// [`Error::Usage`] if there is no such shard; [`Error::Data`]; [`Error::Io`] after as many attempts as the order says.
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
    let _share = memory::take(prepared.task_bytes(), how.memory);
    faults::before(number).map_err(|error| Error::io(format_args!("shard {number}"), &error))?;
    let result = prepared.result_box(&at);
    let mut shard = blank(prepared, &result);
    let device = Device::new(how.device, how.threads);
    let mut outcome = Outcome {
        computed: true,
        ..Outcome::default()
    };
    let dest = (&mut shard[..], target.shard());
    match &prepared.kind {
        Kind::Slice(source, slice) => {
            let mut reader = source.reader();
            let to = (target, &prepared.cache);
            slice.fill(source, &mut reader, to, &device, &result, dest.0)?;
            (outcome.chunks_read, outcome.bytes_read) = (reader.chunks(), reader.bytes());
        }
        Kind::Gather(source, gather) => {
            let mut reader = source.reader();
            outcome.out_of_range = gather.fill(source, &mut reader, &device, &result, dest)?;
            (outcome.chunks_read, outcome.bytes_read) = (reader.chunks(), reader.bytes());
        }
        Kind::Convert(source) => {
            outcome.bytes_read = source.read_box(&result, dest.0, &strides(dest.1))?;
        }
    }
    let encoded = target.encode(shard, how.threads)?;
    outcome.bytes_written = encoded.len() as u64;
    outcome.checksum = Some(crc32c::crc32c(&encoded));
    target.write(&at, &encoded, job)?;
    faults::after();
    Ok(outcome)
}

/// The memory of a shard. Elements beyond the array's end have the fill value.
fn blank(prepared: &Prepared, result: &[std::ops::Range<usize>]) -> Vec<u8> {
    let target = prepared.target();
    let (fill, length) = (target.fill(), target.shard_bytes());
    let is_whole = result
        .iter()
        .zip(target.shard())
        .all(|(range, &size)| range.len() == size);
    if is_whole || fill.iter().all(|&byte| byte == 0) {
        return vec![0; length];
    }
    iter::repeat_n(fill, length / fill.len())
        .flatten()
        .copied()
        .collect()
}
