//! What a job will read and write.

use super::{Prepared, prepared::Kind, slice::Slice};
use crate::zarr::{Error, Source, Target, coordinates, product};
use serde::Serialize;
use std::{
    collections::{HashMap, HashSet},
    fmt,
    ops::Range,
};

/// What a job will read and write. The sizes of chunks are those after decoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Explanation {
    /// The number of tasks: one for each shard of the result.
    pub tasks: u64,
    /// The number of chunks of the source that contain elements of the result. 0 for a conversion.
    pub chunks: u64,
    /// The number of times that all tasks together read a chunk, if the cache of decoded chunks saves no reads. 0 for a
    /// conversion.
    pub reads: u64,
    /// The mean number of times that a chunk is read, counted as in `reads`. 0 if no chunk is read.
    pub mean_reads: f64,
    /// The number of reads of the chunk that is read most often, counted as in `reads`. 0 if no chunk is read.
    pub max_reads: u64,
    /// The bytes of these chunks, each counted once. For a conversion, the bytes of the result's elements.
    pub bytes_demanded: u64,
    /// The bytes of these chunks, each counted as often as it is read, as in `reads`. For a conversion, the bytes of the
    /// result's elements.
    pub bytes_planned: u64,
    /// The bytes of the result's elements, before compression.
    pub bytes_written: u64,
    /// The bytes of memory that are reserved for each task, as [`Prepared::task_bytes`] counts them.
    pub task_bytes: u64,
}

impl Explanation {
    pub(super) fn of(prepared: &Prepared) -> Result<Self, Error> {
        let target = prepared.target();
        let written = (product(target.shape()) * target.dtype().size()) as u64;
        let (counts, chunk) = match &prepared.kind {
            Kind::Slice(source, slice) => (of_slice(slice, source, target), source.chunk_bytes()),
            Kind::Gather(source, gather) => {
                let counts = of_shards(prepared, |result, each| {
                    gather.for_each_chunk(source, result, target.shard(), each)
                });
                (counts?, source.chunk_bytes())
            }
            Kind::Crop(source, crop) => {
                let counts = of_shards(prepared, |result, each| {
                    crop.for_each_chunk(source, result, each)
                });
                (counts?, source.chunk_bytes())
            }
            Kind::Convert(_) => (Counts::default(), 0),
        };
        let is_convert = matches!(prepared.kind, Kind::Convert(_));
        let bytes = |chunks: u64| {
            if is_convert {
                written
            } else {
                chunks.saturating_mul(chunk as u64)
            }
        };
        Ok(Self {
            tasks: prepared.shards(),
            chunks: counts.distinct,
            reads: counts.reads,
            mean_reads: if counts.distinct == 0 {
                0.0
            } else {
                counts.reads as f64 / counts.distinct as f64
            },
            max_reads: counts.most,
            bytes_demanded: bytes(counts.distinct),
            bytes_planned: bytes(counts.reads),
            bytes_written: written,
            task_bytes: prepared.task_bytes() as u64,
        })
    }
}

#[derive(Default)]
struct Counts {
    distinct: u64,
    reads: u64,
    most: u64,
}

/// Counts the reads of a slice. A shard reads a chunk if the two meet in every dimension, so the counts of the
/// dimensions multiply.
fn of_slice(slice: &Slice, source: &Source, target: &Target) -> Counts {
    if target.shape().contains(&0) {
        return Counts::default();
    }
    let walked: HashSet<_> = slice.walks().iter().filter_map(|walk| walk.dim).collect();
    // A dimension of the result that walks along no dimension of the source has size 1, so it is one shard long.
    let others = (0..target.shape().len()).filter(|dim| !walked.contains(dim));
    let repeats: u64 = others.map(|dim| target.grid()[dim] as u64).product();
    let mut counts = Counts {
        distinct: 1,
        reads: repeats,
        most: repeats,
    };
    for (walk, &chunk) in slice.walks().iter().zip(source.chunk()) {
        let Some(dim) = walk.dim else { continue };
        let (size, shard) = (target.shape()[dim], target.shard()[dim]);
        let mut readers: HashMap<usize, u64> = HashMap::new();
        for first in (0..size).step_by(shard) {
            let mut result: Vec<_> = target.shape().iter().map(|_| 0..1).collect();
            result[dim] = first..(first + shard).min(size);
            for part in walk.parts(&result, chunk) {
                *readers.entry(part.segment.chunk).or_default() += 1;
            }
        }
        counts.distinct *= readers.len() as u64;
        counts.reads *= readers.values().sum::<u64>();
        counts.most *= readers.values().copied().max().unwrap_or_default();
    }
    counts
}

/// Counts the reads of all shards. `of_shard` takes the box of a shard, and a function that it calls with the
/// coordinates of each chunk that the shard's task reads.
fn of_shards(
    prepared: &Prepared,
    of_shard: impl Fn(&[Range<usize>], &mut dyn FnMut(&[usize])) -> Result<(), Error>,
) -> Result<Counts, Error> {
    let grid = prepared.target().grid();
    let mut readers: HashMap<Vec<usize>, u64> = HashMap::new();
    for shard in 0..prepared.shards() {
        let result = prepared.result_box(&coordinates(shard as usize, &grid));
        of_shard(&result, &mut |chunk| {
            *readers.entry(chunk.to_vec()).or_default() += 1;
        })?;
    }
    Ok(Counts {
        distinct: readers.len() as u64,
        reads: readers.values().sum(),
        most: readers.values().copied().max().unwrap_or_default(),
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
