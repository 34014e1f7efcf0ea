//! Counts the reads and writes of a job before it runs.

use super::{Prepared, prepared::OpenedOperation, slice::Slice};
use crate::zarr::{Error, Source, Target, coordinates, product};
use serde::Serialize;
use std::{collections::HashMap, fmt, ops::Range};

/// The reads and writes of a job. The sizes of chunks are the sizes after decoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Explanation {
    /// The number of tasks: one for each shard of the result.
    pub tasks: u64,
    /// The number of chunks of the source that contain elements of the result. 0 for a conversion.
    pub chunks: u64,
    /// The total number of chunk reads by all tasks, if the cache of decoded chunks saves no reads. 0 for a conversion.
    pub reads: u64,
    /// The mean number of times that a chunk is read, counted as in `reads`. 0 if no chunk is read.
    pub mean_reads: f64,
    /// The number of reads of the most frequently read chunk, counted as in `reads`. 0 if no chunk is read.
    pub max_reads: u64,
    /// The number of bytes of the chunks in `chunks`. For a conversion, the number of bytes of the result's elements.
    pub bytes_demanded: u64,
    /// The number of bytes of the chunks in `chunks`, each counted once per read in `reads`. For a conversion, the
    /// number of bytes of the result's elements.
    pub bytes_planned: u64,
    /// The number of bytes of the result's elements, before compression.
    pub bytes_written: u64,
    /// The number of bytes of memory that are reserved for each task, as [`Prepared::task_bytes`] counts them.
    pub task_bytes: u64,
}

impl Explanation {
    pub(super) fn of(prepared: &Prepared) -> Result<Self, Error> {
        let target = prepared.target();
        let written_bytes = (product(target.shape()) * target.dtype().size()) as u64;
        // For each source, the counts of its reads, and the size of a chunk in bytes.
        let counts = match &prepared.operation {
            OpenedOperation::Slices(slices) => {
                let counts = slices.iter().map(|(source, slice)| {
                    (slice_reads(slice, source, target), source.chunk_bytes())
                });
                counts.collect()
            }
            OpenedOperation::Gather(source, gather) => {
                let counts = shard_reads(prepared, |result_box, each| {
                    gather.for_each_chunk(source, result_box, target.shard(), each)
                });
                vec![(counts?, source.chunk_bytes())]
            }
            OpenedOperation::Crop(source, crop) => {
                let counts = shard_reads(prepared, |result_box, each| {
                    crop.for_each_chunk(source, result_box, each)
                });
                vec![(counts?, source.chunk_bytes())]
            }
            OpenedOperation::Convert(_) => Vec::new(),
        };
        let is_conversion = matches!(prepared.operation, OpenedOperation::Convert(_));
        let sum =
            |count: fn(&ReadCounts) -> u64| counts.iter().map(|(counts, _)| count(counts)).sum();
        let bytes = |count: fn(&ReadCounts) -> u64| {
            if is_conversion {
                return written_bytes;
            }
            let bytes = counts
                .iter()
                .map(|(counts, chunk_bytes)| count(counts).saturating_mul(*chunk_bytes as u64));
            bytes.fold(0, u64::saturating_add)
        };
        let (chunks, reads): (u64, u64) = (
            sum(|counts| counts.distinct_chunks),
            sum(|counts| counts.reads),
        );
        Ok(Self {
            tasks: prepared.shards(),
            chunks,
            reads,
            mean_reads: if chunks == 0 {
                0.0
            } else {
                reads as f64 / chunks as f64
            },
            max_reads: counts
                .iter()
                .map(|(counts, _)| counts.max_reads)
                .max()
                .unwrap_or(0),
            bytes_demanded: bytes(|counts| counts.distinct_chunks),
            bytes_planned: bytes(|counts| counts.reads),
            bytes_written: written_bytes,
            task_bytes: prepared.task_bytes() as u64,
        })
    }
}

#[derive(Default)]
struct ReadCounts {
    distinct_chunks: u64,
    reads: u64,
    max_reads: u64,
}

/// Counts the reads of a slice. A shard reads each chunk that it overlaps in every dimension, so the counts of the
/// dimensions multiply.
fn slice_reads(slice: &Slice, source: &Source, target: &Target) -> ReadCounts {
    let place = slice.place();
    if place.iter().any(Range::is_empty) {
        return ReadCounts::default();
    }
    let mut counts = ReadCounts {
        distinct_chunks: 1,
        reads: 1,
        max_reads: 1,
    };
    for (walk, &chunk) in slice.walks().iter().zip(source.chunk()) {
        let Some(dim) = walk.dim else { continue };
        let shard = target.shard()[dim];
        let mut chunk_reads: HashMap<usize, u64> = HashMap::new();
        for shard_number in place[dim].start / shard..place[dim].end.div_ceil(shard) {
            let first = place.iter().map(|place| place.start..place.start + 1);
            let mut result_box: Vec<_> = first.collect();
            result_box[dim] = shard_number * shard..(shard_number + 1) * shard;
            let overlap = slice.overlap(&result_box);
            let parts = overlap.map(|overlap| walk.parts(&overlap.slice_box, chunk));
            for part in parts.into_iter().flatten() {
                *chunk_reads.entry(part.segment.chunk).or_default() += 1;
            }
        }
        counts.distinct_chunks *= chunk_reads.len() as u64;
        counts.reads *= chunk_reads.values().sum::<u64>();
        counts.max_reads *= chunk_reads.values().copied().max().unwrap_or_default();
    }
    counts
}

/// Counts the reads of all shards. `for_each_chunk` takes the box of a shard, and a function that it calls with the
/// coordinates of each chunk that the shard's task reads.
fn shard_reads(
    prepared: &Prepared,
    for_each_chunk: impl Fn(&[Range<usize>], &mut dyn FnMut(&[usize])) -> Result<(), Error>,
) -> Result<ReadCounts, Error> {
    let grid = prepared.target().grid();
    let mut chunk_reads: HashMap<Vec<usize>, u64> = HashMap::new();
    for shard in 0..prepared.shards() {
        let result_box = prepared.result_box(&coordinates(shard as usize, &grid));
        for_each_chunk(&result_box, &mut |chunk| {
            *chunk_reads.entry(chunk.to_vec()).or_default() += 1;
        })?;
    }
    Ok(ReadCounts {
        distinct_chunks: chunk_reads.len() as u64,
        reads: chunk_reads.values().sum(),
        max_reads: chunk_reads.values().copied().max().unwrap_or_default(),
    })
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mega = |bytes: u64| bytes as f64 / 1e6;
        writeln!(
            f,
            "tasks           {}, one for each shard of the result",
            self.tasks
        )?;
        writeln!(
            f,
            "memory          up to {:.1} MB for each task at a time",
            mega(self.task_bytes)
        )?;
        writeln!(
            f,
            "chunks          {}, each read up to {:.2} times on average, and none more than {} times",
            self.chunks, self.mean_reads, self.max_reads
        )?;
        writeln!(
            f,
            "bytes demanded  {:.1} MB: the chunks, decoded, each once",
            mega(self.bytes_demanded)
        )?;
        writeln!(
            f,
            "bytes planned   at most {:.1} MB: as often as they are read if the cache saves no reads",
            mega(self.bytes_planned)
        )?;
        write!(
            f,
            "bytes written   {:.1} MB before compression",
            mega(self.bytes_written)
        )
    }
}
