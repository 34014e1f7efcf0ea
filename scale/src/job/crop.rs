//! Copies the boxes of one shard: many boxes of one shape from one source.

use super::{
    OutOfRange,
    device::Device,
    indices::IndexArray,
    tiles::{BoxDim, Tiles},
};
use crate::zarr::{
    Error, Reader, Source,
    allocate::{Purpose, reserve},
    coordinates, grid, product, strides,
};
use std::{iter, ops::Range};
use wgslice::{Conversion, DType, SliceSpec, spec::SliceItem};

/// A crop: boxes at start indices in the leading dimensions of the source. In the other dimensions, a box has all
/// positions. The result has the dimensions of `begins` without the last one, then the dimensions of the source.
#[derive(Debug)]
pub(super) struct Crop {
    begins: IndexArray,
    /// The size of a box in each dimension of the source.
    sizes: Vec<usize>,
    out_of_range: OutOfRange,
    /// The conversion of each element, and the type of the result.
    conversion: Option<(Conversion, DType)>,
}

/// The boxes that have elements in a shard.
pub(super) struct Boxes {
    /// For each box, its coordinates in the dimensions of `begins` without the last one, relative to the shard.
    box_coordinates: Vec<Vec<usize>>,
    /// For each box, the position in the source of the box's first element in the shard. It can be outside the source.
    origins: Vec<Vec<i64>>,
    /// The numbers of the boxes that extend beyond the source.
    outside_boxes: Vec<usize>,
    /// A pair for each chunk that a box overlaps, in ascending order: the number of the chunk in the source's grid, and
    /// the number of the box.
    chunk_box_pairs: Vec<(usize, usize)>,
}

/// Describes the list of a shard's boxes in errors about memory.
const BOXES_PURPOSE: Purpose<&str> = Purpose {
    content: "the list of a shard's boxes",
    way_out: "make smaller shards with --shard",
};

impl Crop {
    /// Makes a crop of boxes with these sizes in the leading dimensions of `source`.
    pub(super) fn new(
        begins: IndexArray,
        sizes: &[usize],
        out_of_range: OutOfRange,
        source: &Source,
    ) -> Result<Self, Error> {
        let shape = source.shape();
        if sizes.len() > shape.len() {
            return Err(Error::usage(format_args!(
                "--size {sizes:?} has {} sizes, but must have at most one for each dimension of {shape:?}",
                sizes.len()
            )));
        }
        if begins.shape().last() != Some(&sizes.len()) {
            return Err(Error::usage(format_args!(
                "the begins have shape {:?}, but the last of its dimensions must have the size {}, a number for each of \
                 --size {sizes:?}",
                begins.shape(),
                sizes.len()
            )));
        }
        let exceeds_source = sizes
            .iter()
            .zip(shape)
            .any(|(size, source_size)| size > source_size);
        if exceeds_source && out_of_range == OutOfRange::Clamp {
            return Err(Error::usage(format_args!(
                "boxes of --size {sizes:?} do not fit into {shape:?}, so --out-of-range clamp cannot shift them inside: \
                 make them smaller, or take zero"
            )));
        }
        let sizes = [sizes, &shape[sizes.len()..]].concat();
        Ok(Self {
            begins,
            sizes,
            out_of_range,
            conversion: None,
        })
    }

    /// Returns the same crop, with its elements converted.
    pub(super) fn converted(self, conversion: Option<(Conversion, DType)>) -> Self {
        Self { conversion, ..self }
    }

    /// Returns the type of the result's elements.
    pub(super) fn dtype(&self, source: &Source) -> DType {
        let converted = self.conversion.as_ref().map(|(_, to)| *to);
        converted.unwrap_or_else(|| source.dtype())
    }

    pub(super) fn begins(&self) -> &IndexArray {
        &self.begins
    }

    /// Returns the number of dimensions of the result that come from `begins`.
    pub(super) fn tuple_rank(&self) -> usize {
        self.begins.shape().len() - 1
    }

    /// Returns the shape of the result.
    pub(super) fn shape(&self) -> Vec<usize> {
        let box_counts = &self.begins.shape()[..self.tuple_rank()];
        [box_counts, &self.sizes].concat()
    }

    /// Returns a chunk size for each dimension of the result. A chunk has at most as many elements as a chunk of the
    /// source.
    pub(super) fn chunk_sizes(&self, source: &Source) -> Vec<usize> {
        let sizes = self.sizes.iter().zip(source.chunk());
        let inner: Vec<usize> = sizes
            .map(|(&size, &chunk)| size.min(chunk).max(1))
            .collect();
        let mut chunk_sizes = vec![1; self.tuple_rank()];
        if let Some(last) = chunk_sizes.last_mut() {
            *last = (product(source.chunk()) / product(&inner)).clamp(1, 1 << 16);
        }
        chunk_sizes.extend(inner);
        chunk_sizes
    }

    /// Returns the maximum number of bytes of memory for the list of boxes of a shard with this shape.
    pub(super) fn list_bytes(&self, source: &Source, shard: &[usize]) -> usize {
        let (box_counts, sizes) = shard.split_at(self.tuple_rank());
        let chunks = sizes.iter().zip(source.chunk());
        let chunks = chunks.map(|(&size, &chunk)| size.div_ceil(chunk) + 1);
        let pairs = chunks.fold(1, usize::saturating_mul).saturating_mul(2);
        // The number of words for each box: its pairs; its start as read, its origin and its coordinates; three for
        // each of the `Vec`s with its origin and its coordinates; and its number if it extends beyond the source.
        let words = pairs.saturating_add(2 * sizes.len() + box_counts.len() + 7);
        let boxes = product(box_counts);
        boxes
            .saturating_mul(words)
            .saturating_mul(size_of::<usize>())
    }

    pub(super) fn boxes(
        &self,
        source: &Source,
        result_box: &[Range<usize>],
    ) -> Result<Boxes, Error> {
        let (box_ranges, window) = result_box.split_at(self.tuple_rank());
        let cropped_dims = self.begins.shape()[box_ranges.len()];
        let mut begin_ranges = box_ranges.to_vec();
        begin_ranges.push(0..cropped_dims);
        let begins = self.begins.read(&begin_ranges)?;
        let box_counts: Vec<usize> = box_ranges.iter().map(Range::len).collect();
        let count = product(&box_counts);
        let mut boxes = Boxes {
            box_coordinates: Vec::new(),
            origins: Vec::new(),
            outside_boxes: Vec::new(),
            chunk_box_pairs: Vec::new(),
        };
        reserve(&mut boxes.box_coordinates, count, BOXES_PURPOSE)?;
        reserve(&mut boxes.origins, count, BOXES_PURPOSE)?;
        let chunk_strides = strides(&grid(source.shape(), source.chunk()));
        for number in 0..count {
            let at = coordinates(number, &box_counts);
            let begin = &begins[number * cropped_dims..][..cropped_dims];
            let mut begin: Vec<i64> = begin
                .iter()
                .copied()
                .chain(iter::repeat(0))
                .take(window.len())
                .collect();
            let dims = self.sizes.iter().zip(source.shape());
            let last_begins = dims.map(|(&size, &source_size)| source_size as i64 - size as i64);
            let is_outside = iter::zip(&begin, last_begins.clone())
                .any(|(&begin, last)| begin < 0 || begin > last);
            match self.out_of_range {
                OutOfRange::Clamp => {
                    for (begin, last) in begin.iter_mut().zip(last_begins) {
                        *begin = (*begin).clamp(0, last);
                    }
                }
                OutOfRange::Zero if is_outside => boxes.outside_boxes.push(number),
                OutOfRange::Error if is_outside => {
                    let box_coordinates =
                        iter::zip(&at, box_ranges).map(|(at, range)| at + range.start);
                    return Err(Error::data(format_args!(
                        "the box {:?} of {:?} begins at {:?} and extends beyond {:?}: change its begin, or give \
                         --out-of-range zero or clamp",
                        box_coordinates.collect::<Vec<_>>(),
                        self.sizes,
                        begin,
                        source.shape()
                    )));
                }
                _ => {}
            }
            // If the sum does not fit an `i64`, it becomes the largest `i64`, which is also outside the source.
            let origin = iter::zip(begin, window)
                .map(|(begin, window)| begin.saturating_add(window.start as i64));
            let origin: Vec<i64> = origin.collect();
            let chunk_ranges = covered_chunks(&origin, window, source);
            let grid: Vec<usize> = chunk_ranges.iter().map(Range::len).collect();
            reserve(&mut boxes.chunk_box_pairs, product(&grid), BOXES_PURPOSE)?;
            boxes
                .chunk_box_pairs
                .extend((0..product(&grid)).map(|chunk| {
                    let at =
                        iter::zip(coordinates(chunk, &grid), &chunk_ranges).zip(&chunk_strides);
                    let chunk = at
                        .map(|((at, range), stride)| (range.start + at) * stride)
                        .sum();
                    (chunk, number)
                }));
            boxes.box_coordinates.push(at);
            boxes.origins.push(origin);
        }
        boxes.chunk_box_pairs.sort_unstable();
        Ok(boxes)
    }

    /// Calls `each` with the coordinates of every chunk of the source that a box of the result needs, once for each
    /// chunk.
    pub(super) fn for_each_chunk(
        &self,
        source: &Source,
        result_box: &[Range<usize>],
        mut each: impl FnMut(&[usize]),
    ) -> Result<(), Error> {
        let boxes = self.boxes(source, result_box)?;
        boxes.chunks(source).iter().for_each(|at| each(at));
        Ok(())
    }

    /// Writes a box of the result to the beginning of a shard. Returns the number of boxes of the crop that begin in
    /// this box of the result and extend beyond the source.
    pub(super) fn fill(
        &self,
        source: &Source,
        reader: &mut Reader<'_>,
        device: &Device<'_>,
        (result_box, boxes): (&[Range<usize>], &Boxes),
        tiles: &mut Tiles<'_>,
    ) -> Result<u64, Error> {
        let window = &result_box[self.tuple_rank()..];
        let box_dims = |number: usize| {
            let at = boxes.box_coordinates[number].iter();
            at.map(|&first| BoxDim {
                from: 0,
                first,
                size: 1,
            })
        };
        let zero = vec![0; self.dtype(source).size()];
        for &number in &boxes.outside_boxes {
            let window_dims = window.iter().map(|window| BoxDim {
                from: 0,
                first: 0,
                size: window.len(),
            });
            tiles.copy(
                (&zero, 0),
                &box_dims(number).chain(window_dims).collect::<Vec<_>>(),
            )?;
        }
        let chunk_grid = grid(source.shape(), source.chunk());
        for group in boxes.chunk_box_pairs.chunk_by(|a, b| a.0 == b.0) {
            let at = coordinates(group[0].0, &chunk_grid);
            let chunk = reader.chunk(&at)?;
            // Returns the positions along a dimension of the source that are in a box and in the chunk.
            let overlap = |number: usize, dim: usize| {
                let (size, origin) = (source.chunk()[dim], boxes.origins[number][dim]);
                let inside = inside_range(origin, &window[dim], source.shape()[dim]);
                inside.start.max(at[dim] * size)..inside.end.min((at[dim] + 1) * size)
            };
            // The part of the chunk that is in `elements`: all of it or, if elements are converted, only the part that
            // the boxes need.
            let mut part: Vec<Range<usize>> = iter::zip(&at, source.chunk())
                .map(|(at, size)| at * size..(at + 1) * size)
                .collect();
            let converted;
            let elements = match &self.conversion {
                None => chunk.as_ref(),
                Some((conversion, _)) => {
                    for (dim, part) in part.iter_mut().enumerate() {
                        let overlaps = || group.iter().map(|&(_, number)| overlap(number, dim));
                        let begin = overlaps()
                            .map(|overlap| overlap.start)
                            .min()
                            .unwrap_or(part.start);
                        let end = overlaps()
                            .map(|overlap| overlap.end)
                            .max()
                            .unwrap_or(part.end);
                        *part = begin..end;
                    }
                    let items = part.iter().zip(source.chunk()).map(|(part, size)| {
                        let begin = part.start % size;
                        SliceItem::Range {
                            begin: Some(begin as i64),
                            end: Some((begin + part.len()) as i64),
                            stride: 1,
                        }
                    });
                    let order: Vec<usize> = (0..part.len()).collect();
                    let spec = (&items.collect::<SliceSpec>(), &order[..]);
                    let (dtype, shape) = (source.dtype(), source.chunk());
                    converted = device.slice(chunk, dtype, shape, spec, Some(conversion))?;
                    &converted.bytes()?[..]
                }
            };
            let shape: Vec<usize> = part.iter().map(Range::len).collect();
            let part_strides = strides(&shape);
            for &(_, number) in group {
                let mut box_dims_in_shard: Vec<BoxDim> = box_dims(number).collect();
                let mut from = 0;
                for (dim, stride) in part_strides.iter().enumerate() {
                    let overlap = overlap(number, dim);
                    from += (overlap.start - part[dim].start) * stride;
                    box_dims_in_shard.push(BoxDim {
                        from: stride.cast_signed(),
                        first: (overlap.start as i64 - boxes.origins[number][dim]) as usize,
                        size: overlap.len(),
                    });
                }
                tiles.copy((elements, from), &box_dims_in_shard)?;
            }
        }
        // Each box is counted once, in the shard with its first element.
        let has_first_elements = window.iter().all(|window| window.start == 0);
        Ok(if has_first_elements {
            boxes.outside_boxes.len() as u64
        } else {
            0
        })
    }
}

impl Boxes {
    /// Returns the coordinates of every chunk of the source that a box needs, in the order in which they are read.
    pub(super) fn chunks(&self, source: &Source) -> Vec<Vec<usize>> {
        let chunk_grid = grid(source.shape(), source.chunk());
        let groups = self.chunk_box_pairs.chunk_by(|a, b| a.0 == b.0);
        groups
            .map(|group| coordinates(group[0].0, &chunk_grid))
            .collect()
    }
}

/// Returns the positions of a box that are inside a dimension of `size` positions. The box has `window.len()` positions
/// from `origin` on.
fn inside_range(origin: i64, window: &Range<usize>, size: usize) -> Range<usize> {
    let limit = |at: i64| at.clamp(0, size as i64) as usize;
    limit(origin)..limit(origin.saturating_add(window.len() as i64))
}

/// Returns, for each dimension of the source, the range of the chunks that a box overlaps. The box has the shape of
/// `window` and begins at `origin`.
fn covered_chunks(origin: &[i64], window: &[Range<usize>], source: &Source) -> Vec<Range<usize>> {
    let sizes = source.shape().iter().zip(source.chunk());
    let dims = origin.iter().zip(window).zip(sizes);
    let ranges = dims.map(|((&origin, window), (&size, &chunk))| {
        let inside = inside_range(origin, window, size);
        if inside.is_empty() {
            return 0..0;
        }
        inside.start / chunk..inside.end.div_ceil(chunk)
    });
    ranges.collect()
}
