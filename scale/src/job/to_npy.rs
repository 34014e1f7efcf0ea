//! Converts an array in a store to an `.npy` file.

use super::{
    Summary,
    copy::{Dim, for_each_run},
    indices::read_box,
};
use crate::{
    partial,
    zarr::{Error, Location, Source, coordinates, grid, is_url, product, strides},
};
use std::{
    fs::{self, File},
    io::{self, Seek, SeekFrom, Write},
    ops::Range,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Instant,
};
use wgslice_npy::Header;

/// The maximum size of a tile in bytes, unless a chunk is larger. A tile is a box of whole chunks that is joined in
/// memory before it is written.
const MAX_TILE_BYTES: usize = 64 << 20;

/// Writes an array to an `.npy` file, which appears as a whole or not at all. Until it is complete, its name is the
/// result of [`partial::beside`]. Each chunk is read once. All threads together hold at most `memory` bytes; `None`
/// sets no limit.
///
/// # Errors
///
/// [`Error::Usage`] if `output` is a URL, is not a file, ends with `.zarr`, is in the source, or exists and is not to
/// be overwritten, if the source cannot be opened, if an `.npy` file cannot store the array, or if `memory` cannot hold
/// a chunk three times; the errors of reading chunks; [`Error::Io`].
pub fn to_npy(
    source: &Path,
    output: &Path,
    threads: usize,
    memory: Option<usize>,
    overwrite: bool,
) -> Result<Summary, Error> {
    let start = Instant::now();
    if is_url(output) {
        return Err(Error::usage(format_args!(
            "an .npy file cannot be written to {}: name a file of this machine",
            output.display()
        )));
    }
    if output
        .extension()
        .is_some_and(|extension| extension == "zarr")
    {
        return Err(Error::usage(format_args!(
            "{} would be an .npy file, since {} is a Zarr array: name it as in {}, or copy the array by the slice '...'",
            output.display(),
            source.display(),
            output.with_extension("npy").display()
        )));
    }
    if Location::new(source)?.overlaps(&Location::new(output)?) {
        return Err(Error::usage(format_args!(
            "{} lies in the array {}: name a file in another place",
            output.display(),
            source.display()
        )));
    }
    let source = Source::open(source)?;
    if !overwrite && output.exists() {
        return Err(Error::usage(format_args!(
            "{} exists: name another file, or replace it with --overwrite",
            output.display()
        )));
    }
    if output.exists() && !output.is_file() {
        return Err(Error::usage(format_args!(
            "{} is no file: name another",
            output.display()
        )));
    }
    let header = Header::bytes(source.numeric_dtype()?, source.shape()).map_err(|error| {
        Error::usage(format_args!("cannot write {}: {error}", output.display()))
    })?;
    // The minimum memory of a thread: an encoded chunk, a decoded chunk, and a tile of one chunk.
    let chunk_bytes = source.chunk_bytes();
    let min_memory = chunk_bytes.saturating_mul(3);
    let memory = memory.unwrap_or(usize::MAX);
    if memory < min_memory {
        return Err(Error::usage(format_args!(
            "--memory is {memory} bytes, but a chunk of {chunk_bytes} bytes needs {}M",
            min_memory.div_ceil(1_000_000)
        )));
    }
    let threads = threads.min(memory / min_memory.max(1)).max(1);
    let max_tile_bytes = (memory / threads - 2 * chunk_bytes)
        .min(MAX_TILE_BYTES)
        .max(chunk_bytes);
    let tile_shape = tile_shape(
        (source.shape(), source.chunk()),
        source.dtype().size(),
        max_tile_bytes,
        threads,
    );
    let partial_path = partial::beside(output);
    let failed =
        |error: io::Error| Error::io(format_args!("cannot write {}", output.display()), &error);
    let write = || -> Result<Summary, Error> {
        let mut file = File::create(&partial_path).map_err(failed)?;
        file.write_all(&header).map_err(failed)?;
        let file_bytes = header.len() + product(source.shape()) * source.dtype().size();
        file.set_len(file_bytes as u64).map_err(failed)?;
        let tile_grid = grid(source.shape(), &tile_shape);
        let next_tile = AtomicUsize::new(0);
        let work = || -> Result<Summary, Error> {
            let mut file = File::options()
                .write(true)
                .open(&partial_path)
                .map_err(failed)?;
            let mut counts = Summary::default();
            loop {
                let tile_number = next_tile.fetch_add(1, Ordering::Relaxed);
                if tile_number >= product(&tile_grid) {
                    return Ok(counts);
                }
                let ranges = tile_box(&source, &tile_shape, &coordinates(tile_number, &tile_grid));
                let mut reader = source.reader();
                let bytes = read_box(&source, &mut reader, &ranges)?;
                let written = write_tile(&source, &ranges, &bytes, &mut file, header.len());
                written.map_err(failed)?;
                counts.chunks_read += reader.chunks();
                counts.bytes_read += reader.bytes();
                counts.bytes_written += bytes.len() as u64;
            }
        };
        let outcomes: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            threads
                .into_iter()
                .map(thread::ScopedJoinHandle::join)
                .collect()
        });
        let mut summary = Summary {
            shards: 1,
            computed: 1,
            ..Summary::default()
        };
        for outcome in outcomes {
            let counts =
                outcome.map_err(|_| Error::data("a thread of the conversion has failed"))??;
            summary.chunks_read += counts.chunks_read;
            summary.bytes_read += counts.bytes_read;
            summary.bytes_written += counts.bytes_written;
        }
        file.sync_data().map_err(failed)?;
        fs::rename(&partial_path, output).map_err(failed)?;
        Ok(summary)
    };
    let mut summary = write().inspect_err(|_| {
        // The error of writing is returned, so an error of removing the file is ignored.
        let _ = fs::remove_file(&partial_path);
    })?;
    summary.seconds = start.elapsed().as_secs_f64();
    Ok(summary)
}

/// Returns the shape of a tile of at most `max_tile_bytes` bytes, or of one chunk. The tile is as wide as possible in
/// the last dimension. It is wider than a chunk in another dimension only if it spans the array in all later
/// dimensions. The first dimension is divided so that each thread gets about four tiles.
///
/// Wide tiles are written in long runs. In addition, a tile reads the index of a shard once, however many of the
/// shard's chunks it needs.
fn tile_shape(
    (shape, chunk): (&[usize], &[usize]),
    element_bytes: usize,
    max_tile_bytes: usize,
    threads: usize,
) -> Vec<usize> {
    let mut tile_shape: Vec<usize> = chunk
        .iter()
        .zip(shape)
        .map(|(&chunk, &size)| chunk.min(size).max(1))
        .collect();
    for dim in (0..tile_shape.len()).rev() {
        let bytes_per_position = product(&tile_shape) / tile_shape[dim] * element_bytes;
        let mut chunks = max_tile_bytes / bytes_per_position.max(1) / chunk[dim];
        if dim == 0 {
            let max_chunks = shape[0]
                .div_ceil(chunk[0])
                .div_ceil(threads.saturating_mul(4));
            chunks = chunks.min(max_chunks);
        }
        tile_shape[dim] = chunks
            .max(1)
            .saturating_mul(chunk[dim])
            .min(shape[dim])
            .max(1);
        if tile_shape[dim] < shape[dim] {
            break;
        }
    }
    tile_shape
}

fn tile_box(source: &Source, tile_shape: &[usize], at: &[usize]) -> Vec<Range<usize>> {
    let sizes = tile_shape.iter().zip(source.shape());
    at.iter()
        .zip(sizes)
        .map(|(at, (&tile, &size))| at * tile..((at + 1) * tile).min(size))
        .collect()
}

/// Writes a box to its places in the file. The elements in the file begin at byte `start`.
fn write_tile(
    source: &Source,
    ranges: &[Range<usize>],
    bytes: &[u8],
    file: &mut File,
    start: usize,
) -> io::Result<()> {
    let shape: Vec<usize> = ranges.iter().map(Range::len).collect();
    let element_bytes = source.dtype().size();
    let to = strides(source.shape());
    let origin: usize = ranges
        .iter()
        .zip(&to)
        .map(|(range, stride)| range.start * stride)
        .sum();
    let dims = shape.iter().zip(strides(&shape)).zip(to);
    let dims = dims.map(|((&size, from), to)| Dim {
        size,
        from: from.cast_signed(),
        to,
    });
    let mut outcome = Ok(());
    for_each_run((0, 0), dims, element_bytes, |from, to, length| {
        if outcome.is_ok() {
            let at = SeekFrom::Start((start + origin * element_bytes + to) as u64);
            outcome = file
                .seek(at)
                .and_then(|_| file.write_all(&bytes[from..][..length]));
        }
    });
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_fill_the_memory_and_leave_work_for_all_threads() {
        for (shape, chunk, max_tile_bytes, threads, expected) in [
            (&[1000][..], &[10][..], 1000, 2, &[130][..]),
            (&[1000], &[10], 200, 2, &[50]),
            (&[1000], &[10], 1, 2, &[10]),
            (&[1000], &[10], usize::MAX, 4096, &[10]),
            (&[5], &[10], 1000, 1, &[5]),
            (&[100, 100], &[10, 10], 399, 1, &[10, 10]),
            (&[100, 100], &[10, 10], 2000, 1, &[10, 50]),
            (&[100, 100], &[10, 10], 12_000, 1, &[30, 100]),
            (&[100, 100, 100], &[10, 10, 10], 1 << 14, 1, &[10, 10, 40]),
            (&[100, 10, 100], &[10, 10, 10], 1 << 17, 1, &[30, 10, 100]),
            (&[0, 3], &[10, 10], 1000, 2, &[1, 3]),
            (&[], &[], 1000, 2, &[]),
        ] {
            let found = tile_shape((shape, chunk), 4, max_tile_bytes, threads);
            assert_eq!(
                found, expected,
                "{shape:?} {chunk:?} {max_tile_bytes} {threads}"
            );
        }
    }
}
