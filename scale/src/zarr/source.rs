//! An array that is read chunk by chunk.

use super::{
    Ahead, Cache, Chunk, Codec, Error, Excerpt, Need, Needs, Piece, Store,
    ahead::{ReadQueue, WantedValue},
    allocate::{self, Purpose},
    codec::{self, Sharding},
    dtype, grid,
    index::{self, Index},
    is_url,
    open::{Opened, open},
    product,
    store::{Parts, wrong_length},
    strides,
};
use serde_json::{Map, Value};
use std::{
    borrow::Cow,
    collections::HashMap,
    fmt::Display,
    iter,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};
use wgslice::DType;
use zarrs::{
    array::{
        Array, ArrayShardedExt, ArrayToBytesCodecTraits, ChunkShape, CodecOptions,
        codec::{blosc_decompress_bytes_partial, blosc_typesize, blosc_validate},
    },
    storage::{Bytes, StoreKey, byte_range::ByteRange},
};

/// The attribute in which an array of Zarr V2 stores the names of its dimensions.
const DIMENSIONS_V2: &str = "_ARRAY_DIMENSIONS";

/// The prefix of the attributes in which NetCDF records how it has stored an array.
const NETCDF_PREFIX: &str = "_nczarr_";

/// An array in a store, which is read chunk by chunk.
///
/// A chunk is the smallest part that can be decoded on its own: a chunk of the grid, or a chunk within a shard.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    dtype: DType,
    data_type: String,
    shape: Vec<usize>,
    chunk: Vec<usize>,
    /// The shape of a chunk of the grid. In a sharded array, this is the shape of a shard.
    grid_chunk: Vec<usize>,
    array: Array<Store>,
    /// The division of shards into chunks. `None` if the chunks of the grid can only be decoded as a whole.
    sharding: Option<(Sharding, index::Layout)>,
    codec: Codec,
    /// A description of how the codecs encode a chunk. `None` if it cannot be compared with another array's
    /// description.
    codec_description: Option<Vec<Value>>,
    /// How a part of a chunk can be read.
    part_access: PartAccess,
    fill: Vec<u8>,
    fill_metadata: Value,
    fingerprint: u32,
    /// Distinguishes the array from the other sources of a job.
    number: usize,
}

/// How a part of a chunk can be read. The elements of a part are consecutive in row-major order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartAccess {
    /// The elements are stored as in memory, so only their bytes are read.
    Plain,
    /// The chunk is read as a whole, but only the blocks that contain the elements are decoded.
    Blosc,
    /// The whole chunk is decoded.
    Whole,
}

impl Source {
    /// Opens the array in the folder `path`, or at this URL.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if there is no array, or if its elements or its grid are not supported; [`Error::Io`].
    pub fn open(path: &Path) -> Result<Self, Error> {
        let Opened {
            array,
            dtype,
            data_type,
            fill: fill_metadata,
            checksum: fingerprint,
        } = open(path)?;
        let unfit = |problem: &dyn Display| {
            Error::usage(format_args!("cannot slice {}: {problem}", path.display()))
        };
        let grid_metadata = array.chunk_grid().metadata();
        if grid_metadata.name() != "regular" {
            return Err(unfit(&format_args!(
                "its chunk grid is {}, but must be regular: write it anew with chunks of one shape",
                grid_metadata.name()
            )));
        }
        let too_large = || unfit(&"its shape or its chunks are larger than this machine can count");
        let sizes = |sizes: &mut dyn Iterator<Item = u64>| {
            let sizes: Option<Vec<usize>> = sizes.map(|size| size.try_into().ok()).collect();
            sizes.ok_or_else(too_large)
        };
        let shape = sizes(&mut array.shape().iter().copied())?;
        // All chunks of a regular grid have the same shape.
        let origin = vec![0; shape.len()];
        let grid_chunk = array.chunk_shape(&origin).map_err(|error| unfit(&error))?;
        let sharding = codec::sharding(&array).zip(array.effective_subchunk_shape());
        let chunk = sharding.as_ref().map_or(&grid_chunk, |(_, chunk)| chunk);
        let chunk = sizes(&mut chunk.iter().map(|size| size.get()))?;
        let grid_chunk = sizes(&mut grid_chunk.iter().map(|size| size.get()))?;
        let bytes = |shape: &[usize]| {
            let bytes = shape
                .iter()
                .try_fold(16_usize, |n, &size| n.checked_mul(size.max(1)));
            bytes.filter(|&bytes| bytes <= isize::MAX.unsigned_abs())
        };
        bytes(&shape)
            .and(bytes(&grid_chunk))
            .ok_or_else(too_large)?;
        let sharding = match sharding {
            Some((sharding, _)) => {
                let mut sizes = grid_chunk.iter().zip(&chunk);
                let is_multiple = sizes.all(|(grid_chunk, chunk)| grid_chunk % chunk == 0);
                let layout = index::Layout::new(&sharding, &grid(&grid_chunk, &chunk));
                let layout = layout.filter(|_| is_multiple).ok_or_else(|| {
                    unfit(&"its shards must be multiples of its chunks, with an index of fixed length: write it anew")
                })?;
                Some((sharding, layout))
            }
            None => None,
        };
        let fill = array.fill_value().as_ne_bytes().to_vec();
        if fill.len() != dtype.size() {
            return Err(unfit(&"its fill value is no element"));
        }
        let array_codecs = array.codecs();
        let codecs = sharding
            .as_ref()
            .map_or(&*array_codecs, |(sharding, _)| &sharding.chunk_codecs);
        let codec = Codec::closest_to(codecs);
        let codec_description = codec::description(codecs, dtype);
        Ok(Self {
            path: path.to_owned(),
            dtype,
            data_type,
            shape,
            chunk,
            grid_chunk,
            sharding,
            codec,
            part_access: match &codec_description {
                Some(description) if codec::is_plain(description) => PartAccess::Plain,
                Some(description) if codec::is_blosc(description) => PartAccess::Blosc,
                _ => PartAccess::Whole,
            },
            codec_description,
            fill,
            fill_metadata,
            fingerprint,
            number: 0,
            array,
        })
    }

    /// Returns the coordinates of the shard that contains a chunk, and the index of the chunk in it.
    fn shard_of(&self, at: &[usize]) -> (Vec<u64>, usize) {
        let counts = grid(&self.grid_chunk, &self.chunk);
        let shard = at.iter().zip(&counts);
        let shard = shard.map(|(at, count)| (at / count) as u64).collect();
        let number = at.iter().zip(&counts).zip(strides(&counts));
        let number = number
            .map(|((at, count), stride)| at % count * stride)
            .sum();
        (shard, number)
    }

    /// Sets a number that distinguishes the array from the other sources of a job, because their chunks share a cache.
    pub(crate) fn numbered(self, number: usize) -> Self {
        Self { number, ..self }
    }

    /// Returns whether requests to the store take so long that they should begin before the values are needed.
    pub(crate) fn is_remote(&self) -> bool {
        is_url(&self.path)
    }

    /// Returns whether another thread is reading a chunk that will be in the cache. Always `false` if chunks are
    /// requested in advance, because these requests are in the order in which chunks are needed.
    pub(crate) fn is_being_read(&self, cache: &Cache, at: &[usize]) -> bool {
        !self.is_remote() && cache.is_reading(&[&[self.number], at].concat())
    }

    /// Returns the folder or the URL of the array.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the attributes of the array, except for its dimension names and NetCDF's records of how it has stored
    /// the array.
    pub fn attributes(&self) -> Map<String, Value> {
        let mut attributes = self.array.attributes().clone();
        attributes.remove(DIMENSIONS_V2);
        attributes.retain(|name, _| !name.to_ascii_lowercase().starts_with(NETCDF_PREFIX));
        attributes
    }

    /// Returns the name of each dimension, or `None` for a dimension without a name. In Zarr V2 the names are in an
    /// attribute, as xarray writes it.
    pub fn dimension_names(&self) -> Vec<Option<String>> {
        let rank = self.shape.len();
        let attribute = || {
            let names = self.array.attributes().get(DIMENSIONS_V2)?;
            serde_json::from_value(names.clone()).ok()
        };
        let names = self.array.dimension_names().clone().or_else(attribute);
        let names = names.filter(|names: &Vec<_>| names.len() == rank);
        names.unwrap_or_else(|| vec![None; rank])
    }

    /// Returns the type of the elements or, if they can only be moved, a type of the same size.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the name of the element type in Zarr V3.
    pub fn data_type(&self) -> &str {
        &self.data_type
    }

    /// Returns the type of the elements, for computations with them.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if they can only be moved.
    pub fn numeric_dtype(&self) -> Result<DType, Error> {
        if dtype::is_float8(&self.data_type) {
            return Err(Error::usage(format_args!(
                "{} holds elements of type {}, which are only moved: convert them to float16 or float32 before",
                self.path.display(),
                self.data_type
            )));
        }
        Ok(self.dtype)
    }

    /// Returns the shape of the array.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the shape of a chunk. Chunks at the array's end also have this shape, although they extend beyond the
    /// end.
    pub fn chunk(&self) -> &[usize] {
        &self.chunk
    }

    /// Returns the shape of a shard, or of a chunk in an array without shards.
    pub fn shard(&self) -> &[usize] {
        &self.grid_chunk
    }

    /// Returns the compression for a new store that is closest to the compression of this array's chunks.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// Returns a description of how the codecs encode a chunk, or `None` if it cannot be compared with another array's.
    pub(super) fn codec_description(&self) -> Option<&[serde_json::Value]> {
        self.codec_description.as_deref()
    }

    /// Returns the size of a decoded chunk in bytes.
    pub fn chunk_bytes(&self) -> usize {
        product(&self.chunk) * self.dtype.size()
    }

    /// Returns the fill value, as in Zarr's JSON.
    pub(crate) fn fill_metadata(&self) -> Result<Value, Error> {
        if dtype::is_float8(&self.data_type) {
            return Ok(self.fill_metadata.clone());
        }
        let fill = self
            .array
            .data_type()
            .metadata_fill_value(self.array.fill_value());
        let fill = fill.map_err(Error::data)?;
        serde_json::to_value(fill).map_err(Error::data)
    }

    /// Returns a checksum of the array's metadata. Comparing it with an earlier one shows whether the metadata has
    /// changed, but not whether elements have.
    pub(crate) fn fingerprint(&self) -> u32 {
        self.fingerprint
    }

    /// Returns a reader of chunks. Its counts begin at 0.
    pub fn reader(&self) -> Reader<'_> {
        self.new_reader(None)
    }

    /// Returns a reader that requests the chunks of a remote store in advance.
    pub(crate) fn reader_ahead<'a>(&'a self, ahead: &'a Ahead, cache: &'a Cache) -> Reader<'a> {
        self.new_reader(self.is_remote().then(|| ReadQueue::new(ahead, cache)))
    }

    fn new_reader<'a>(&'a self, queue: Option<ReadQueue<'a>>) -> Reader<'a> {
        let store = Arc::new(Store::new(self.array.storage().place().clone()));
        let array = self.array.with_storage(store.clone());
        Reader {
            source: self,
            store,
            array,
            indexes: HashMap::new(),
            chunk_count: 0,
            queue,
        }
    }
}

/// The maximum number of bytes of shard indexes that a reader keeps.
const MAX_INDEX_BYTES: usize = 16 << 20;

/// Reads chunks, and counts them. Keeps the indexes of shards from which it has read.
pub struct Reader<'a> {
    source: &'a Source,
    store: Arc<Store>,
    array: Array<Store>,
    indexes: HashMap<Vec<u64>, Index>,
    chunk_count: u64,
    /// The reads from a remote store, in order. `None` if nothing is requested in advance.
    queue: Option<ReadQueue<'a>>,
}

impl<'a> Reader<'a> {
    /// Adds a task's chunks to the queue, after the chunks of earlier tasks, and requests the indexes of their shards.
    /// Does nothing if the reader has no queue.
    pub(crate) fn queue_chunks(&mut self, task: u64, needs: Needs<'a>) {
        if let Some(queue) = &mut self.queue {
            queue.add(task, needs);
            self.request_indexes();
        }
    }

    /// Cancels the reads for a task.
    pub(crate) fn forget(&mut self, task: u64) {
        if let Some(queue) = &mut self.queue {
            queue.forget(task);
        }
    }

    /// Looks at the next chunks to read, and requests the indexes of their shards.
    fn request_indexes(&mut self) {
        let mut wanted: Vec<WantedValue> = Vec::new();
        while let Some(queue) = &mut self.queue
            && let Some((task, need)) = queue.take_unqueued()
        {
            if let Some((key, layout, None)) =
                index_of(self.source, &self.array, &self.indexes, queue, &need.at)
                && wanted.iter().all(|wanted| wanted.key != key)
            {
                wanted.push(WantedValue {
                    task,
                    users: 0,
                    key,
                    piece: layout.place,
                    bytes: layout.bytes,
                });
            }
            queue.next.push_back((task, need));
        }
        if let Some(queue) = &mut self.queue {
            let source_and_place = (self.source.number, &**self.store.place());
            // An index that exceeds the limits is read when it is needed.
            queue.begin(source_and_place, &wanted);
        }
    }

    /// Requests the next chunks to read, as many as this thread's limits allow. The chunk `at` is being read now.
    fn advance(&mut self, at: &[usize]) {
        if self.queue.as_ref().is_some_and(ReadQueue::is_low) {
            self.request_indexes();
            if !self.request_next() && self.queue.as_ref().is_some_and(ReadQueue::has_no_answer) {
                self.wait_for_indexes();
                self.request_next();
            }
        }
        if let Some(queue) = &mut self.queue {
            queue.pass(at);
        }
    }

    /// Waits for the indexes of the next chunks' shards. They arrive at about the same time, so all are available soon
    /// after the first one.
    fn wait_for_indexes(&mut self) {
        let next = self.queue.iter().flat_map(|queue| &queue.next);
        let next: Vec<Vec<usize>> = next.map(|(_, need)| need.at.clone()).collect();
        for at in next {
            let Some(queue) = &self.queue else {
                return;
            };
            let index = index_of(self.source, &self.array, &self.indexes, queue, &at);
            // Reading the chunk reports the error.
            if matches!(index, Some((.., Some(false)))) && self.place(&at).is_err() {
                return;
            }
        }
    }

    /// Requests the next chunks to read. Returns `false` if it stopped at a chunk because the index of its shard has
    /// not arrived.
    fn request_next(&mut self) -> bool {
        let mut has_indexes = true;
        let source_number = self.source.number;
        let mut needs = Vec::new();
        let mut wanted = Vec::new();
        let mut wanted_bytes = 0;
        while let Some(queue) = &mut self.queue
            && let Some((task, need)) = queue.next.pop_front()
        {
            if need.users > 1 && queue.cache.has(&[&[source_number], &need.at[..]].concat()) {
                continue;
            }
            let index = index_of(self.source, &self.array, &self.indexes, queue, &need.at);
            let is_awaited = matches!(index, Some((.., Some(false))));
            if is_awaited || !queue.has_room(wanted.len() + 1, wanted_bytes) {
                has_indexes = !is_awaited;
                queue.next.push_front((task, need));
                break;
            }
            match self.request(&need) {
                Ok(Some((key, piece))) => {
                    let length = match piece.range {
                        ByteRange::FromStart(_, Some(length)) => usize::try_from(length),
                        _ => Ok(self.source.chunk_bytes()),
                    };
                    let value = WantedValue {
                        task,
                        users: need.users,
                        key: key.as_str().to_owned(),
                        piece,
                        bytes: length.unwrap_or(usize::MAX),
                    };
                    wanted_bytes = wanted_bytes.saturating_add(value.bytes);
                    wanted.push(value);
                    needs.push((task, need));
                }
                Ok(None) => {}
                // Reading the chunk reports the error.
                Err(_) => {
                    needs.retain(|(owner, _)| *owner != task);
                    wanted.retain(|wanted| wanted.task != task);
                    self.forget(task);
                }
            }
        }
        if let Some(queue) = &mut self.queue {
            let source_and_place = (source_number, &**self.store.place());
            let begun_count = queue.begin(source_and_place, &wanted);
            for (task, need) in needs.drain(begun_count..).rev() {
                queue.next.push_front((task, need));
            }
        }
        has_indexes
    }

    /// Returns the read of a chunk: the key of a value, and a piece of the value. Returns `None` if the chunk is not
    /// stored.
    fn request(&mut self, need: &Need) -> Result<Option<(StoreKey, Piece)>, Error> {
        let (key, place) = self.place(&need.at)?;
        let Some(place) = place else {
            return Ok(None);
        };
        let element_bytes = self.source.dtype.size();
        let place = match &need.elements {
            Some(elements)
                if self.source.part_access == PartAccess::Plain
                    && self.is_part(need.users, elements) =>
            {
                place.part(&(elements.start * element_bytes..elements.end * element_bytes))
            }
            _ => place,
        };
        Ok(Some((key, place)))
    }

    /// Returns the number of chunks that have been read, including missing chunks, which have no bytes.
    pub fn chunks(&self) -> u64 {
        self.chunk_count
    }

    /// Returns the number of bytes that the store has delivered: encoded chunks, and indexes of shards.
    pub fn bytes(&self) -> u64 {
        self.store.delivered_bytes()
    }

    /// Reads the elements of the chunk at these coordinates of the grid of chunks, in row-major order. Elements beyond
    /// the array's end are unspecified.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the store cannot be read, or [`Error::Data`] if the chunk is corrupt; both name the file or
    /// object that contains the chunk. [`Error::Data`] if a chunk that is not stored does not fit into memory.
    pub fn chunk(&mut self, at: &[usize]) -> Result<Chunk, Error> {
        self.read(at).map(Chunk::new)
    }

    /// Reads a chunk that `users` shards need, like [`Reader::chunk`]. The first of these shards reads it from the
    /// store and caches the part that `part_to_keep` returns. The other shards wait for this read, and use the cached
    /// part if it is still in the cache and `is_enough`.
    pub(crate) fn shared(
        &mut self,
        cache: &Cache,
        (at, users): (&[usize], usize),
        is_enough: impl FnOnce(&Excerpt) -> bool,
        part_to_keep: impl FnOnce(&Chunk) -> Excerpt,
    ) -> Result<Excerpt, Error> {
        if users == 1 || !cache.fits(self.source.chunk_bytes()) {
            return self.chunk(at).map(Excerpt::whole);
        }
        let key = [&[self.source.number], at].concat();
        let reading = match cache.take(&key) {
            Err(reading) => reading,
            Ok(kept) if is_enough(&kept) => return self.pass_over(at).map(|()| kept),
            // The task of this shard read the chunk before and failed. The kept part lacks the elements of this shard.
            Ok(_) => return self.chunk(at).map(Excerpt::whole),
        };
        let chunk = self.chunk(at)?;
        reading.keep(part_to_keep(&chunk), users - 1);
        Ok(Excerpt::whole(chunk))
    }

    /// Passes over a chunk that was found in the cache: cancels its request, and begins further requests.
    fn pass_over(&mut self, at: &[usize]) -> Result<(), Error> {
        if self.queue.is_some() {
            let (key, place) = self.place(at)?;
            if let Some(queue) = &mut self.queue {
                queue.pass(at);
                if let Some(place) = place {
                    queue.drop_request(self.source.number, key.as_str(), place);
                }
            }
            self.advance(at);
        }
        Ok(())
    }

    /// Reads the elements of a chunk. Also returns its stored bytes, or `None` if it is missing.
    ///
    /// # Errors
    ///
    /// The errors of [`Reader::chunk`]. The chunk is also decoded, so a corrupt chunk is detected.
    pub(crate) fn read_stored(&mut self, at: &[usize]) -> Result<(Chunk, Option<Bytes>), Error> {
        let (key, encoded) = self.read_encoded(at)?;
        let elements = match &encoded {
            Some(encoded) => self.decode(&key, at, Cow::Borrowed(encoded))?,
            None => self.fill_elements(product(&self.source.chunk))?,
        };
        Ok((Chunk::new(elements), encoded))
    }

    /// Reads these elements of a chunk that only one shard needs, in row-major order, like [`Reader::chunk`]. Reads the
    /// whole chunk if that is cheaper or if a part cannot be decoded alone. Also returns the index of the first
    /// returned element in the chunk. Bytes that are not decoded are not checked.
    pub(crate) fn part(
        &mut self,
        at: &[usize],
        elements: &Range<usize>,
    ) -> Result<(Chunk, usize), Error> {
        let element_bytes = self.source.dtype.size();
        let bytes = elements.start * element_bytes..elements.end * element_bytes;
        if !self.is_part(1, elements) {
            return Ok((self.chunk(at)?, 0));
        }
        let (key, place) = self.place(at)?;
        self.advance(at);
        let read = match place {
            Some(place) if self.source.part_access == PartAccess::Plain => {
                self.get(&key, at, place.part(&bytes))?.map(Vec::from)
            }
            Some(place) => match self.get(&key, at, place)? {
                Some(encoded) => match decoded_part(&encoded, self.source.chunk_bytes(), &bytes) {
                    Some(read) => Some(read),
                    None => {
                        self.chunk_count += 1;
                        let whole = self.decode(&key, at, Cow::Owned(encoded.into()))?;
                        return Ok((Chunk::new(whole), 0));
                    }
                },
                None => None,
            },
            None => None,
        };
        self.chunk_count += 1;
        let read = match read {
            Some(read) => read,
            None => self.fill_elements(elements.len())?,
        };
        Ok((Chunk::new(read), elements.start))
    }

    /// Reads parts of these elements of a chunk: `length` elements at the start of every `distance` elements. Returns
    /// `None` if no file stores the elements as in memory, or if reading all elements is as fast. The latter is assumed
    /// if less than `min_gap` bytes are between two parts, or if all `users` of the chunk together would read more than
    /// the chunk.
    pub(crate) fn planes(
        &mut self,
        (at, users): (&[usize], usize),
        elements: &Range<usize>,
        (length, distance): (usize, usize),
        min_gap: usize,
    ) -> Result<Option<Chunk>, Error> {
        let source = self.source;
        let element_bytes = source.dtype.size();
        let count = (elements.len() - length) / distance + 1;
        let is_dense = (distance - length) * element_bytes < min_gap
            || length * count * users > product(&source.chunk);
        if source.part_access != PartAccess::Plain || source.is_remote() || is_dense {
            return Ok(None);
        }
        let (key, Some(place)) = self.place(at)? else {
            return Ok(None);
        };
        let bytes = elements.start * element_bytes..elements.end * element_bytes;
        let parts = Parts {
            length: length * element_bytes,
            distance: distance * element_bytes,
        };
        let mut planes = vec![0; parts.length * count];
        let read = self
            .store
            .read_to(&key, place.part(&bytes), parts, &mut planes);
        if !read.map_err(|error| self.failed(&key, at, &error))? {
            return Ok(None);
        }
        self.chunk_count += 1;
        Ok(Some(Chunk::new(planes)))
    }

    /// Returns whether only these elements of a chunk are read or decoded for one of `users` shards.
    fn is_part(&self, users: usize, elements: &Range<usize>) -> bool {
        let chunk_elements = product(&self.source.chunk);
        // Decoding a block of Blosc needs one more copy than decoding the chunk, and a block is a large part of a
        // chunk.
        let is_small = match self.source.part_access {
            PartAccess::Plain => elements.len() < chunk_elements,
            PartAccess::Blosc => elements.len() <= chunk_elements / 4,
            PartAccess::Whole => false,
        };
        users == 1 && is_small
    }

    /// Reads all elements of a chunk to `dest`, if they are stored as in memory. Returns whether they are.
    pub(crate) fn read_plain(&mut self, at: &[usize], dest: &mut [u8]) -> Result<bool, Error> {
        if self.source.part_access != PartAccess::Plain {
            return Ok(false);
        }
        let (key, place) = self.place(at)?;
        self.advance(at);
        let is_stored = match place {
            Some(place) => match self.wait_for_requested(&key, at, place)? {
                Some(None) => false,
                Some(Some(bytes)) => {
                    dest.copy_from_slice(&bytes);
                    true
                }
                None => {
                    let whole = Parts {
                        length: dest.len(),
                        distance: 0,
                    };
                    let read = self.store.read_to(&key, place, whole, dest);
                    read.map_err(|error| self.failed(&key, at, &error))?
                }
            },
            None => false,
        };
        self.chunk_count += 1;
        if !is_stored {
            dest.copy_from_slice(&self.fill_elements(product(&self.source.chunk))?);
        }
        Ok(true)
    }

    fn read(&mut self, at: &[usize]) -> Result<Vec<u8>, Error> {
        match self.read_encoded(at)? {
            // Stored elements become the chunk without a copy if nothing else refers to them.
            (key, Some(encoded)) if self.source.part_access == PartAccess::Plain => {
                self.decode(&key, at, Cow::Owned(encoded.into()))
            }
            (key, Some(encoded)) => self.decode(&key, at, Cow::Borrowed(&encoded)),
            (_, None) => self.fill_elements(product(&self.source.chunk)),
        }
    }

    /// Reads the stored bytes of a chunk, or `None` if it is missing. Also returns the key of the value that contains
    /// it.
    fn read_encoded(&mut self, at: &[usize]) -> Result<(StoreKey, Option<Bytes>), Error> {
        let (key, place) = self.place(at)?;
        self.advance(at);
        let encoded = match place {
            Some(place) => self.get(&key, at, place)?,
            None => None,
        };
        self.chunk_count += 1;
        Ok((key, encoded))
    }

    /// Waits for a value that was requested in advance. Returns `None` if the value was not requested.
    fn wait_for_requested(
        &mut self,
        key: &StoreKey,
        at: &[usize],
        place: Piece,
    ) -> Result<Option<Option<Bytes>>, Error> {
        let Some(queue) = &mut self.queue else {
            return Ok(None);
        };
        let Some(answer) = queue.take(self.source.number, key.as_str(), place) else {
            return Ok(None);
        };
        let value = self.store.received(answer);
        Ok(Some(value.map_err(|error| self.failed(key, at, &error))?))
    }

    fn get(&mut self, key: &StoreKey, at: &[usize], place: Piece) -> Result<Option<Bytes>, Error> {
        if let Some(value) = self.wait_for_requested(key, at, place)? {
            return Ok(value);
        }
        let encoded = self.store.read(key, place);
        encoded.map_err(|error| self.failed(key, at, &error))
    }

    /// Finds where a chunk is stored: the key of the value that contains it, and its place in that value. The place is
    /// `None` if the index of its shard marks the chunk as missing.
    ///
    /// All reads of chunks call this function, so that the length of each chunk that is stored exactly as in memory is
    /// checked. In a shard, the index gives the length. Otherwise [`Piece::required_length`] has the expected length,
    /// and the store returns the value's length with the bytes.
    fn place(&mut self, at: &[usize]) -> Result<(StoreKey, Option<Piece>), Error> {
        let source = self.source;
        let expected_bytes =
            (source.part_access == PartAccess::Plain).then_some(source.chunk_bytes() as u64);
        let Some((sharding, layout)) = &source.sharding else {
            let chunk: Vec<u64> = at.iter().map(|&at| at as u64).collect();
            let key = self.array.chunk_key(&chunk);
            let piece = Piece {
                required_length: expected_bytes,
                ..Piece::ALL
            };
            return Ok((key, Some(piece)));
        };
        let (shard, number) = source.shard_of(at);
        let key = self.array.chunk_key(&shard);
        if !self.indexes.contains_key(&shard) {
            let encoded = self.get(&key, at, layout.place)?;
            let index = Index::decode(encoded, sharding, layout);
            let index = index.map_err(|error| self.failed(&key, at, &error))?;
            if (self.indexes.len() + 1).saturating_mul(layout.bytes) > MAX_INDEX_BYTES {
                self.indexes.clear();
            }
            self.indexes.insert(shard.clone(), index);
        }
        let index = self.indexes.get(&shard);
        let Some((begin, length)) = index.and_then(|index| index.place(number)) else {
            return Ok((key, None));
        };
        if let Some(expected) = expected_bytes.filter(|&expected| expected != length) {
            return Err(self.failed(&key, at, &wrong_length(length, expected)));
        }
        let place = ByteRange::FromStart(begin, Some(length));
        Ok((key, Some(Piece::of_any(place))))
    }

    /// Returns `count` elements of a chunk that is not stored. All have the fill value.
    fn fill_elements(&self, count: usize) -> Result<Vec<u8>, Error> {
        let fill = &self.source.fill;
        let bytes = count * fill.len();
        let path = self.source.path.display();
        let purpose = Purpose {
            content: format_args!("a chunk of {path}"),
            way_out: "write the array anew with smaller chunks",
        };
        if fill.iter().all(|&byte| byte == 0) {
            return allocate::zeros(bytes, purpose);
        }
        let mut elements = Vec::new();
        allocate::reserve(&mut elements, bytes, purpose)?;
        elements.extend(iter::repeat_n(&fill[..], count).flatten());
        Ok(elements)
    }

    fn decode(
        &self,
        key: &StoreKey,
        at: &[usize],
        encoded: Cow<'_, [u8]>,
    ) -> Result<Vec<u8>, Error> {
        let shape = chunk_shape(&self.source.chunk)?;
        let codecs = self.array.codecs();
        let sharding = self.source.sharding.as_ref();
        let codecs = sharding.map_or(&*codecs, |(sharding, _)| &sharding.chunk_codecs);
        let decoded = codecs.decode(
            encoded,
            &shape,
            self.array.data_type(),
            self.array.fill_value(),
            &CodecOptions::default().with_concurrent_target(1),
        );
        let decoded = decoded.map_err(|error| self.failed(key, at, &error))?;
        let decoded = decoded
            .into_fixed()
            .map_err(|error| self.failed(key, at, &error))?;
        if decoded.len() != self.source.chunk_bytes() {
            return Err(self.failed(key, at, &"it has another length than its shape"));
        }
        Ok(decoded.into_owned())
    }

    fn failed(&self, key: &StoreKey, at: &[usize], error: &dyn Display) -> Error {
        let path = self.store.place().name(key.as_str());
        match self.store.take_failure() {
            Some(failure) => Error::io(format_args!("cannot read {path}"), &failure),
            None => Error::data(format_args!(
                "chunk {at:?} in {path} is corrupt: {error}; write it anew, or remove what is \
                 there to take the fill value for it"
            )),
        }
    }
}

/// Returns the index that must be read before a chunk: its key, its layout, and whether the answer to its request has
/// arrived. The last of these is `None` if the index was not requested. Returns `None` if no index must be read.
fn index_of<'a>(
    source: &'a Source,
    array: &Array<Store>,
    known_indexes: &HashMap<Vec<u64>, Index>,
    queue: &ReadQueue<'_>,
    at: &[usize],
) -> Option<(String, &'a index::Layout, Option<bool>)> {
    let (_, layout) = source.sharding.as_ref()?;
    let (shard, _) = source.shard_of(at);
    if known_indexes.contains_key(&shard) {
        return None;
    }
    let key = array.chunk_key(&shard).as_str().to_owned();
    let has_arrived = queue.has_arrived(source.number, &key, layout.place);
    Some((key, layout, has_arrived))
}

/// Decodes these bytes of a chunk that has `chunk_bytes` decoded bytes and was encoded by Blosc. Returns `None` if the
/// chunk must be decoded as a whole, for example to find out whether it is valid.
fn decoded_part(encoded: &[u8], chunk_bytes: usize, bytes: &Range<usize>) -> Option<Vec<u8>> {
    if blosc_validate(encoded) != Some(chunk_bytes) {
        return None;
    }
    // Blosc uses the element size that its caller gave it.
    let element_bytes = blosc_typesize(encoded)?;
    if [bytes.start, bytes.end]
        .iter()
        .any(|at| at % element_bytes != 0)
    {
        return None;
    }
    let decoded =
        blosc_decompress_bytes_partial(encoded, bytes.start, bytes.len(), element_bytes).ok()?;
    (decoded.len() == bytes.len()).then_some(decoded)
}

pub(super) fn chunk_shape(shape: &[usize]) -> Result<ChunkShape, Error> {
    let sizes = shape
        .iter()
        .map(|&size| std::num::NonZero::new(size as u64));
    let sizes: Option<ChunkShape> = sizes.collect();
    sizes.ok_or_else(|| Error::data(format_args!("{shape:?} is no shape of chunks")))
}
