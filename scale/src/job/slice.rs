//! Slices the elements of one shard.

use super::{
    device::Device,
    expression::Expression,
    tiles::{BoxDim, Tiles},
    walk::{self, AxisWalk, Part, Run, Segment},
};
use crate::zarr::{
    Cache, Chunk, Error, Excerpt, Need, Positions, Reader, Source, Target, Tile, coordinates,
    product, strides,
};
use std::{collections::HashMap, ops::Range};
use wgslice::{
    Conversion, DType, SliceSpec,
    spec::{IndexItem, IndexSpec, SliceItem},
};

/// A slice that is made chunk by chunk: a chunk of the source is read, and its elements are copied to their places in
/// the result. A task reads only chunks that have elements of its shard, and decodes one at a time.
#[derive(Debug)]
pub(super) struct Slice {
    walks: Vec<AxisWalk>,
    /// The box of the result that the slice fills.
    place: Vec<Range<usize>>,
    /// The dimensions of the source in the result's order. Dimensions that the result lacks come first.
    order: Vec<usize>,
    /// The conversion of each element, and the type of the result.
    conversion: Option<(Conversion, DType)>,
}

/// The parts of the source that are read for a box of the result.
struct ReadParts {
    /// For each dimension of the source, a part for each chunk with elements of the box.
    parts: Vec<Vec<Part>>,
    /// For each dimension, the number of shards that need each chunk, from [`AxisWalk::reader_counts_of_list`].
    reader_counts: Vec<HashMap<usize, usize>>,
}

/// The part of a slice that fills a box of the result.
pub(super) struct Overlap {
    /// The part, as a box of the slice.
    pub(super) slice_box: Vec<Range<usize>>,
    /// The start of the part in the box of the result.
    origin: Vec<usize>,
}

impl Slice {
    /// Makes the slice that `expression` selects. It fills the box `place` of the result.
    pub(super) fn new(
        expression: Expression,
        conversion: Option<(Conversion, DType)>,
        place: Vec<Range<usize>>,
    ) -> Result<Self, Error> {
        let walks = walk::of(expression)?;
        let mut order: Vec<usize> = (0..walks.len()).collect();
        order.sort_by_key(|&from| walks[from].dim);
        Ok(Self {
            walks,
            place,
            order,
            conversion,
        })
    }

    /// Returns the type of the result's elements.
    pub(super) fn dtype(&self, source: &Source) -> DType {
        let converted = self.conversion.as_ref().map(|(_, to)| *to);
        converted.unwrap_or_else(|| source.dtype())
    }

    pub(super) fn walks(&self) -> &[AxisWalk] {
        &self.walks
    }

    /// Returns the box of the result that the slice fills.
    pub(super) fn place(&self) -> &[Range<usize>] {
        &self.place
    }

    /// Returns the part of the slice that is in a box of the result, or `None` if they do not overlap.
    pub(super) fn overlap(&self, result_box: &[Range<usize>]) -> Option<Overlap> {
        let mut overlap = Overlap {
            slice_box: Vec::with_capacity(result_box.len()),
            origin: Vec::with_capacity(result_box.len()),
        };
        for (result, place) in result_box.iter().zip(&self.place) {
            let (begin, end) = (result.start.max(place.start), result.end.min(place.end));
            if begin >= end {
                return None;
            }
            overlap
                .slice_box
                .push(begin - place.start..end - place.start);
            overlap.origin.push(begin - result.start);
        }
        Some(overlap)
    }

    /// Returns whether the result has the source's dimensions in another order, apart from dimensions with one
    /// position.
    fn is_transposed(&self) -> bool {
        let dims = self.walks.iter().filter_map(|walk| walk.dim);
        !dims.filter(|&dim| self.place[dim].len() > 1).is_sorted()
    }

    /// Returns the number of shards that need the chunk with these `parts`. `slice_box` is one of these shards, as a
    /// box of the slice. `reader_counts` has the numbers of [`AxisWalk::reader_counts_of_list`] in each dimension.
    fn reader_count(
        &self,
        parts: &[&Part],
        (source, target): (&Source, &Target),
        slice_box: &[Range<usize>],
        reader_counts: &[HashMap<usize, usize>],
    ) -> usize {
        let dims = self
            .walks
            .iter()
            .zip(parts)
            .zip(source.chunk())
            .zip(reader_counts);
        let counts = dims.filter_map(|(((walk, part), &chunk), reader_counts)| {
            let (dim, segment) = (walk.dim?, &part.segment);
            if part.listed.is_some() {
                return reader_counts.get(&segment.chunk).copied();
            }
            let shard = target.shard()[dim];
            Some(walk.reader_count(
                segment,
                slice_box[dim].start,
                chunk,
                (&self.place[dim], shard),
            ))
        });
        counts.product()
    }

    /// Returns the box of a chunk with all elements that other shards need from it. `segments` has the positions in the
    /// chunk that the shard `slice_box` reads. For the other arguments, see [`Slice::reader_count`].
    fn needed_by_others(
        &self,
        segments: &[Segment],
        (source, target): (&Source, &Target),
        slice_box: &[Range<usize>],
    ) -> Vec<Positions> {
        let dims = || self.walks.iter().zip(segments).zip(source.chunk());
        let is_divided = dims().map(|((walk, segment), &chunk)| {
            walk.dim.is_some_and(|dim| {
                let place_and_shard = (&self.place[dim], target.shard()[dim]);
                walk.reader_count(segment, slice_box[dim].start, chunk, place_and_shard) > 1
            })
        });
        let is_divided: Vec<bool> = is_divided.collect();
        // If shards divide the chunk along several dimensions, the other shards together need all positions in each
        // dimension.
        let has_one_divided_dim = is_divided.iter().filter(|&&is| is).count() == 1;
        let positions = dims()
            .zip(is_divided)
            .map(|(((walk, segment), &chunk), is_divided)| {
                let Some(dim) = walk.dim else {
                    return segment.positions();
                };
                let length_and_omission =
                    (self.place[dim].len(), is_divided && has_one_divided_dim);
                walk.positions(segment, slice_box[dim].start, chunk, length_and_omission)
            });
        positions.collect()
    }

    fn read_parts(
        &self,
        source: &Source,
        target: &Target,
        slice_box: &[Range<usize>],
    ) -> ReadParts {
        let walks = || self.walks.iter().zip(source.chunk());
        ReadParts {
            parts: walks()
                .map(|(walk, &chunk)| walk.parts(slice_box, chunk))
                .collect(),
            reader_counts: walks()
                .map(|(walk, &chunk)| {
                    let shard = walk.dim.map_or(1, |dim| target.shard()[dim]);
                    walk.reader_counts_of_list(chunk, shard)
                })
                .collect(),
        }
    }

    /// Returns the reads of [`Slice::fill`] for a box of the result, in the same order.
    pub(super) fn needs<'a>(
        &'a self,
        source: &'a Source,
        target: &'a Target,
        overlap: Overlap,
    ) -> impl Iterator<Item = Need> + 'a {
        let Overlap { slice_box, .. } = overlap;
        let ReadParts {
            parts,
            reader_counts,
        } = self.read_parts(source, target, &slice_box);
        let counts: Vec<usize> = parts.iter().map(Vec::len).collect();
        let chunk_strides = strides(source.chunk());
        (0..product(&counts)).map(move |number| {
            let at = coordinates(number, &counts);
            let parts = parts.iter().zip(at).map(|(parts, at)| &parts[at]);
            let parts: Vec<&Part> = parts.collect();
            let segments: Vec<Segment> = parts.iter().map(|part| part.segment).collect();
            let is_listed = parts.iter().any(|part| part.listed.is_some());
            Need {
                at: segments.iter().map(|segment| segment.chunk).collect(),
                users: self.reader_count(&parts, (source, target), &slice_box, &reader_counts),
                elements: (!is_listed)
                    .then(|| contiguous_box(&segments, source.chunk(), &chunk_strides).elements),
            }
        })
    }

    /// Writes the part of a shard that the slice fills. Returns the number of source chunks whose stored bytes become
    /// chunks of the result unchanged.
    pub(super) fn fill(
        &self,
        source: &Source,
        reader: &mut Reader<'_>,
        (target, cache): (&Target, &Cache),
        device: &Device<'_>,
        overlap: &Overlap,
        tiles: &mut Tiles<'_>,
    ) -> Result<u64, Error> {
        let Overlap { slice_box, origin } = overlap;
        let ReadParts {
            parts,
            reader_counts,
        } = self.read_parts(source, target, slice_box);
        let is_transposed = self.is_transposed();
        let has_same_codecs = target.stores_like(source);
        let mut copied_chunks = 0;
        let lists: Vec<Vec<&Part>> = parts.iter().map(|parts| parts.iter().collect()).collect();
        let chunk_at = |parts: &[&Part]| -> Vec<usize> {
            parts.iter().map(|part| part.segment.chunk).collect()
        };
        let each = |parts: &[&Part]| {
            let at = chunk_at(parts);
            let users = self.reader_count(parts, (source, target), slice_box, &reader_counts);
            let is_listed = parts.iter().any(|part| part.listed.is_some());
            let segments: Vec<Segment> = parts.iter().map(|part| part.segment).collect();
            let mut sizes = segments.iter().zip(source.chunk());
            let is_whole = sizes
                .all(|(segment, &size)| segment.count == size && (size == 1 || segment.step == 1));
            let is_copied = !is_transposed && !is_listed && self.conversion.is_none();
            // Returns the offset of the first element in an array of this shape, and the dimensions of the copy to the
            // shard.
            let sides = |segments: &[Segment], shape: &[usize]| {
                let strides = strides(shape);
                let distances = segments.iter().zip(&strides);
                let distances =
                    distances.map(|(segment, stride)| segment.step * stride.cast_signed());
                let distances: Vec<isize> = distances.collect();
                let runs: Vec<Run> = parts.iter().flat_map(|part| part.runs()).collect();
                let from = segments.iter().zip(&strides);
                let from: usize = from.map(|(segment, stride)| segment.begin * stride).sum();
                (from, self.sides(&runs, &distances, origin))
            };
            if is_copied && is_whole && (has_same_codecs || users == 1) {
                let (from, sides) = sides(&segments, source.chunk());
                if let Some(tile) = tiles.whole_chunk(&sides) {
                    if !has_same_codecs {
                        if reader.read_plain(&at, tiles.tile_mut(tile))? {
                            return Ok(());
                        }
                        let chunk = reader.chunk(&at)?;
                        return tiles.copy((chunk.as_ref(), from), &sides);
                    }
                    let (chunk, stored) = reader.read_stored(&at)?;
                    // A sharded result omits chunks in which all elements have the fill value, even if the source
                    // stores them.
                    let Some(stored) = stored.filter(|_| !target.is_missing(chunk.as_ref())) else {
                        return tiles.copy((chunk.as_ref(), from), &sides);
                    };
                    tiles.tiles[tile] = Tile::Stored(stored);
                    copied_chunks += 1;
                    return Ok(());
                }
            }
            let arrays = (source, target, &slice_box[..]);
            let ReadElements {
                chunk,
                segments,
                shape,
            } = self.read_elements(arrays, (reader, cache), (&at, users), segments, is_listed)?;
            if is_copied && (is_whole || has_rows(&segments)) {
                let (from, sides) = sides(&segments, &shape);
                return tiles.copy((chunk.as_ref(), from), &sides);
            }
            let (dtype, shape) = (source.dtype(), &shape);
            let conversion = self.conversion.as_ref().map(|(conversion, _)| conversion);
            let selected = if is_listed {
                let items: Vec<IndexItem> = parts.iter().map(|part| index_item(part)).collect();
                let spec = IndexSpec::new(items).outer();
                device.index(chunk, dtype, shape, (&spec, &self.order), conversion)?
            } else {
                let spec: SliceSpec = segments.iter().map(slice_item).collect();
                device.slice(chunk, dtype, shape, (&spec, &self.order), conversion)?
            };
            let counts = self.order.iter().map(|&from| segments[from].count);
            let counts: Vec<usize> = counts.collect();
            let mut distances = vec![0; counts.len()];
            for (&from, stride) in self.order.iter().zip(strides(&counts)) {
                distances[from] = stride.cast_signed();
            }
            let bytes = selected.bytes()?;
            let runs: Vec<Vec<Run>> = parts.iter().map(|part| part.runs()).collect();
            walk::product(&runs, |runs| {
                let from = runs.iter().zip(&distances);
                let from = from.map(|(run, stride)| run.read_index * stride.unsigned_abs());
                let from = from.sum();
                tiles.copy((&bytes, from), &self.sides(runs, &distances, origin))
            })
        };
        // If another thread is reading a chunk, this thread first processes the next chunk, so that it need not wait.
        let is_being_read = |parts: &[&Part]| source.is_being_read(cache, &chunk_at(parts));
        walk::product_of_free(&lists, is_being_read, each)?;
        Ok(copied_chunks)
    }

    /// Reads a chunk, or a part of it that contains the elements at `segments`. If the positions are listed, reads the
    /// whole chunk.
    fn read_elements(
        &self,
        (source, target, slice_box): (&Source, &Target, &[Range<usize>]),
        (reader, cache): (&mut Reader<'_>, &Cache),
        (at, users): (&[usize], usize),
        segments: Vec<Segment>,
        is_listed: bool,
    ) -> Result<ReadElements, Error> {
        let shape = source.chunk();
        let whole = |chunk, segments| ReadElements {
            chunk,
            segments,
            shape: shape.to_vec(),
        };
        if is_listed {
            let keep = |chunk: &Chunk| Excerpt::whole(chunk.clone());
            let excerpt = reader.shared(cache, (at, users), |_| true, keep)?;
            return Ok(whole(excerpt.elements, segments));
        }
        let slab = contiguous_box(&segments, shape, &strides(shape));
        if let Some(planes) = read_planes(reader, (at, users), &segments, &slab)? {
            return Ok(planes);
        }
        let element_bytes = source.dtype().size();
        if users == 1 {
            let (chunk, _) = reader.part(at, &slab.elements)?;
            if chunk.as_ref().len() != slab.elements.len() * element_bytes {
                return Ok(whole(chunk, segments));
            }
            let segments = slab.within(&segments).collect();
            let shape = slab.shape;
            return Ok(ReadElements {
                chunk,
                segments,
                shape,
            });
        }
        let own_positions: Vec<Positions> = segments.iter().map(Segment::positions).collect();
        let part_for_others = |chunk: &Chunk| {
            let others = self.needed_by_others(&segments, (source, target), slice_box);
            Excerpt::cut(chunk, shape, others, element_bytes)
        };
        let is_enough = |kept: &Excerpt| kept.has(&own_positions);
        let excerpt = reader.shared(cache, (at, users), is_enough, part_for_others)?;
        let Some(positions) = excerpt.positions else {
            return Ok(whole(excerpt.elements, segments));
        };
        let moved_segments = segments
            .iter()
            .zip(&positions)
            .map(|(segment, side)| Segment {
                begin: (segment.begin - side.begin) / side.step,
                step: segment.step / side.step.cast_signed(),
                ..*segment
            });
        Ok(ReadElements {
            chunk: excerpt.elements,
            segments: moved_segments.collect(),
            shape: positions.iter().map(|side| side.count).collect(),
        })
    }

    /// Returns the dimensions of a copy to a shard. The destination starts at `origin`. For each dimension of the
    /// source, `runs` has the positions that are copied, and `distances` has the distance between neighbouring
    /// positions in the array that is read.
    fn sides(&self, runs: &[Run], distances: &[isize], origin: &[usize]) -> Vec<BoxDim> {
        let one_position = |&first: &usize| BoxDim {
            from: 0,
            first,
            size: 1,
        };
        let mut sides: Vec<BoxDim> = origin.iter().map(one_position).collect();
        for ((walk, run), &from) in self.walks.iter().zip(runs).zip(distances) {
            if let Some(dim) = walk.dim {
                let side = &mut sides[dim];
                side.first += run.result_index;
                (side.from, side.size) = (from, run.count);
            }
        }
        sides
    }
}

/// Returns whether the elements are read as rows. A row has several elements that are neighbours in the chunk, in
/// ascending order.
fn has_rows(segments: &[Segment]) -> bool {
    let last = segments.last();
    last.is_none_or(|segment| segment.count > 1 && segment.step == 1)
}

/// The smallest box of a chunk that is contiguous in row-major order and has all elements of another box of the chunk.
struct ContiguousBox {
    /// The indices of this box's elements in the chunk, in row-major order.
    elements: Range<usize>,
    /// The start of this box in each dimension of the chunk.
    origin: Vec<usize>,
    shape: Vec<usize>,
}

impl ContiguousBox {
    /// Returns the segments of a box of the chunk, relative to `origin`.
    fn within(&self, segments: &[Segment]) -> impl Iterator<Item = Segment> {
        segments
            .iter()
            .zip(&self.origin)
            .map(|(segment, origin)| Segment {
                begin: segment.begin - origin,
                ..*segment
            })
    }
}

fn contiguous_box(segments: &[Segment], chunk: &[usize], strides: &[usize]) -> ContiguousBox {
    let mut slab = ContiguousBox {
        elements: 0..chunk.iter().product(),
        origin: vec![0; chunk.len()],
        shape: chunk.to_vec(),
    };
    for (dim, (segment, stride)) in segments.iter().zip(strides).enumerate() {
        let last = (segment.count.cast_signed() - 1) * segment.step;
        let last = segment.begin.wrapping_add_signed(last);
        let (begin, end) = (segment.begin.min(last), segment.begin.max(last) + 1);
        let first = slab.elements.start + begin * stride;
        slab.elements = first..first + (end - begin) * stride;
        slab.origin[dim] = begin;
        slab.shape[dim] = end - begin;
        // The dimensions after the first one with several positions are read as a whole.
        if end - begin > 1 {
            break;
        }
    }
    slab
}

/// Elements that were read from a chunk, and the positions of a box's elements among them.
struct ReadElements {
    chunk: Chunk,
    segments: Vec<Segment>,
    shape: Vec<usize>,
}

/// Reads only the planes of `slab` that contain elements of the box with these `segments`. A plane has the elements at
/// one position of the first dimension in which the box has several positions. Returns `None` if planes cannot be read
/// separately, or if reading the whole slab is as fast.
fn read_planes(
    reader: &mut Reader<'_>,
    (at, users): (&[usize], usize),
    segments: &[Segment],
    slab: &ContiguousBox,
) -> Result<Option<ReadElements>, Error> {
    /// The minimum gap between two planes that is skipped, in bytes.
    const MIN_GAP: usize = 16 << 10;
    let Some(dim) = segments.iter().position(|segment| segment.count > 1) else {
        return Ok(None);
    };
    let Segment { step, count, .. } = segments[dim];
    let length: usize = slab.shape[dim + 1..].iter().product();
    let length_and_distance = (length, step.unsigned_abs() * length);
    let planes = reader.planes((at, users), &slab.elements, length_and_distance, MIN_GAP)?;
    let Some(chunk) = planes else {
        return Ok(None);
    };
    let mut segments: Vec<Segment> = slab.within(segments).collect();
    segments[dim].begin = if step > 0 { 0 } else { count - 1 };
    segments[dim].step = step.signum();
    let mut shape = slab.shape.clone();
    shape[dim] = count;
    Ok(Some(ReadElements {
        chunk,
        segments,
        shape,
    }))
}

/// Returns the positions of a segment as the slice `begin:end:step`.
fn slice_item(segment: &Segment) -> SliceItem {
    let begin = segment.begin.cast_signed();
    let last = begin + (segment.count.cast_signed() - 1) * segment.step;
    let end = last + segment.step.signum();
    SliceItem::Range {
        begin: Some(begin as i64),
        // An end of -1 is omitted, because it would count from the chunk's end.
        end: (end >= 0).then_some(end as i64),
        stride: segment.step as i64,
    }
}

/// Returns the positions that are read in one dimension of a chunk, as an entry of an index expression.
fn index_item(part: &Part) -> IndexItem {
    match &part.listed {
        Some(listed) => {
            let positions = listed.positions.iter().map(|&at| at as i64);
            positions.collect::<Vec<i64>>().into()
        }
        None => slice_item(&part.segment).into(),
    }
}
