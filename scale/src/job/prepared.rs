//! A job with its arrays opened.

use super::{
    Conversion, Fingerprint, How, Job, Operation, Order, Record, concat,
    crop::Crop,
    expression::{self, Expression},
    gather::Gather,
    indices::IndexArray,
    layout, order,
    slice::Slice,
};
use crate::zarr::{
    Ahead, Cache, Codec, Error, Layout, Location, Source, Target, npy::NpyFile, product,
};
use serde_json::Map;
use std::{
    collections::VecDeque,
    iter,
    ops::Range,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use wgslice::{Backend, DType, Plan, SliceSpec, options, spec::IndexSpec};

/// An operation with its arrays opened.
#[derive(Debug)]
pub(super) enum OpenedOperation {
    /// Slices, each of which makes a box of the result: one, or more if arrays are joined.
    Slices(Vec<(Source, Slice)>),
    Gather(Box<Source>, Box<Gather>),
    Crop(Box<Source>, Crop),
    Convert(NpyFile),
}

impl OpenedOperation {
    /// Opens all arrays that the operation reads, and plans the operation. Also returns the shape of the result.
    fn open(operation: &Operation, source: &Path) -> Result<(Self, Vec<usize>), Error> {
        let usage_error = |error: wgslice::Error| Error::usage(error);
        if let Operation::Convert = operation {
            let file = NpyFile::open(source)?;
            let shape = file.shape().to_vec();
            return Ok((Self::Convert(file), shape));
        }
        let source = Source::open(source)?;
        let (shape, dtype) = (source.shape(), source.dtype());
        let rank = shape.len();
        let (gather, result_shape) = match operation {
            Operation::Slice {
                spec,
                axes,
                conversion,
            } => {
                let spec = IndexSpec::from(&slice_spec(spec)?);
                return Self::select(source, &spec, axes, conversion.as_ref());
            }
            Operation::Index {
                spec,
                outer,
                axes,
                conversion,
            } => {
                let (spec, order) = expression::parse(spec, *outer)?.for_shape(shape)?;
                let orders = order.iter().chain(axes);
                return Self::select(source, &spec, orders, conversion.as_ref());
            }
            Operation::Gather {
                indices,
                axis,
                batch_dims,
                out_of_range,
                wrap,
                ..
            } => {
                let indices = IndexArray::open(indices)?;
                let options = options::GatherOptions {
                    axis: *axis,
                    batch_dims: *batch_dims,
                    out_of_range: (*out_of_range).into(),
                    negative: order::negative(*wrap),
                };
                let plan =
                    Plan::gather(shape, indices.shape(), options, dtype).map_err(usage_error)?;
                let from_start = |dim: isize, rank: usize| {
                    if dim < 0 {
                        rank.wrapping_add_signed(dim)
                    } else {
                        dim.unsigned_abs()
                    }
                };
                let batch_rank = from_start(*batch_dims, indices.shape().len());
                // Without an axis, `batch_dims` is the axis too. As in the library, a negative `batch_dims` counts from
                // the end of `params` if it is the axis, and from the end of the indices if it is the number of batch
                // dimensions.
                let axis = from_start(axis.unwrap_or(*batch_dims), rank);
                let result_shape = plan.shape().to_vec();
                let gather = Gather::along(plan, indices, axis, batch_rank, rank);
                (gather, result_shape)
            }
            Operation::GatherNd {
                indices,
                batch_dims,
                out_of_range,
                wrap,
                ..
            } => {
                let indices = IndexArray::open(indices)?;
                let options = options::GatherNdOptions {
                    batch_dims: isize::try_from(*batch_dims).unwrap_or(isize::MAX),
                    out_of_range: (*out_of_range).into(),
                    negative: order::negative(*wrap),
                };
                let plan =
                    Plan::gather_nd(shape, indices.shape(), options, dtype).map_err(usage_error)?;
                let result_shape = plan.shape().to_vec();
                (Gather::nd(plan, indices, *batch_dims, rank), result_shape)
            }
            Operation::Crop {
                begins,
                sizes,
                out_of_range,
                conversion,
                ..
            } => {
                let conversion = conversion
                    .as_ref()
                    .map(|conversion| conversion.for_source(&source));
                let crop = Crop::new(IndexArray::open(begins)?, sizes, *out_of_range, &source)?;
                let crop = crop.converted(conversion.transpose()?);
                let result_shape = crop.shape();
                return Ok((Self::Crop(Box::new(source), crop), result_shape));
            }
            Operation::Concat {
                others,
                axis,
                is_new,
            } => {
                let others = others.iter().map(|(other, _)| Source::open(other));
                let sources: Result<_, _> = iter::once(Ok(source)).chain(others).collect();
                return concat::slices(sources?, *axis, *is_new);
            }
            Operation::Convert => return Err(Error::usage("a conversion has no indices")),
        };
        Ok((
            Self::Gather(Box::new(source), Box::new(gather)),
            result_shape,
        ))
    }

    fn select<'a>(
        source: Source,
        spec: &IndexSpec,
        orders: impl IntoIterator<Item = &'a Vec<usize>>,
        conversion: Option<&Conversion>,
    ) -> Result<(Self, Vec<usize>), Error> {
        let mut selected = Expression::new(spec, source.shape())?;
        for axes in orders {
            selected.transpose(axes)?;
        }
        let result_shape = selected.shape();
        let conversion = conversion.map(|conversion| conversion.for_source(&source));
        let place = result_shape.iter().map(|&size| 0..size).collect();
        let slice = Slice::new(selected, conversion.transpose()?, place)?;
        Ok((Self::Slices(vec![(source, slice)]), result_shape))
    }

    /// Returns the job's source, or the first of several sources. Returns `None` for an `.npy` file.
    fn source(&self) -> Option<&Source> {
        match self {
            Self::Slices(slices) => slices.first().map(|(source, _)| source),
            Self::Gather(source, _) | Self::Crop(source, _) => Some(source),
            Self::Convert(_) => None,
        }
    }

    /// Returns all sources.
    pub(super) fn sources(&self) -> Vec<&Source> {
        match self {
            Self::Slices(slices) => slices.iter().map(|(source, _)| source).collect(),
            _ => self.source().into_iter().collect(),
        }
    }

    /// Returns the fingerprints of the source and of the arrays of [`Operation::inputs`].
    fn fingerprints(&self) -> Result<Vec<Fingerprint>, Error> {
        let store = |source: &Source| Ok(Fingerprint::of_store(source));
        match self {
            Self::Slices(slices) => slices.iter().map(|(source, _)| store(source)).collect(),
            Self::Gather(source, gather) => [store(source), gather.indices().fingerprint()]
                .into_iter()
                .collect(),
            Self::Crop(source, crop) => [store(source), crop.begins().fingerprint()]
                .into_iter()
                .collect(),
            Self::Convert(file) => Ok(vec![Fingerprint::of_file(file)?]),
        }
    }

    fn dtype(&self) -> DType {
        match self {
            Self::Slices(slices) => slices[0].1.dtype(&slices[0].0),
            Self::Gather(source, _) => source.dtype(),
            Self::Crop(source, crop) => crop.dtype(source),
            Self::Convert(file) => file.dtype(),
        }
    }

    /// Returns the name of each dimension of the result, taken from the dimension of the source that became it. A
    /// dimension that comes from indices gets the name of the indexed dimension if, apart from batch dimensions, there
    /// is only one dimension of each of these two kinds.
    fn dimension_names(&self, rank: usize) -> Vec<Option<String>> {
        let mut names = vec![None; rank];
        match self {
            Self::Slices(slices) => {
                for (source, slice) in slices {
                    let walks = slice.walks().iter().zip(source.dimension_names());
                    for (walk, name) in walks {
                        if let Some(dim) = walk.dim {
                            names[dim] = names[dim].take().or(name);
                        }
                    }
                }
            }
            Self::Gather(source, gather) => {
                let source_names = source.dimension_names();
                let located_dims: Vec<usize> = gather.located_dims().collect();
                let tuple_dims = gather.tuple_dims();
                let index_pairs = tuple_dims.iter().zip(&located_dims);
                let has_one_index_dim =
                    gather.indexed_dims().len() == 1 && tuple_dims.len() == located_dims.len();
                let index_pairs = index_pairs.filter(|_| has_one_index_dim);
                let pairs = gather.slice_dims().iter().map(|&(from, dim)| (dim, from));
                for (dim, from) in pairs.chain(index_pairs.map(|(&dim, &from)| (dim, from))) {
                    names[dim].clone_from(&source_names[from]);
                }
            }
            Self::Crop(source, crop) => {
                names[crop.tuple_rank()..].clone_from_slice(&source.dimension_names());
            }
            Self::Convert(_) => {}
        }
        names
    }

    /// Returns, for each dimension of the result, a chunk size that suits the source's chunks. All are `None` for an
    /// `.npy` file, which has no chunks.
    fn chunk_sizes(&self, rank: usize) -> Vec<Option<usize>> {
        let mut chunk_sizes = vec![None; rank];
        match self {
            Self::Slices(slices) => {
                for (source, slice) in slices {
                    for (walk, &chunk) in slice.walks().iter().zip(source.chunk()) {
                        if let Some(dim) = walk.dim {
                            chunk_sizes[dim] = chunk_sizes[dim].max(Some(chunk));
                        }
                    }
                }
                // A dimension of the result that comes from no dimension of the source has size 1, or the result has no
                // elements. Its chunks get size 1.
                chunk_sizes
                    .iter_mut()
                    .for_each(|chunk| *chunk = chunk.or(Some(1)));
            }
            Self::Gather(source, gather) => {
                for &(from, dim) in gather.slice_dims() {
                    chunk_sizes[dim] = Some(source.chunk()[from]);
                }
                // A chunk of the result has at most as many elements as a chunk of the source. The dimensions of a
                // slice have the source's chunk sizes. The number of tuples in a chunk is the number of positions of a
                // source chunk in the indexed dimensions, at most 65,536. The last tuple dimension gets all of these
                // tuples and the other tuple dimensions get size 1, because tuples are neighbours along the last
                // dimension.
                if let Some((&last, others)) = gather.tuple_dims().split_last() {
                    let indexed_sizes = &source.chunk()[gather.indexed_dims()];
                    chunk_sizes[last] = Some(product(indexed_sizes).clamp(1, 1 << 16));
                    others.iter().for_each(|&dim| chunk_sizes[dim] = Some(1));
                }
            }
            Self::Crop(source, crop) => {
                chunk_sizes = crop.chunk_sizes(source).into_iter().map(Some).collect()
            }
            Self::Convert(_) => {}
        }
        chunk_sizes
    }
}

/// The requested form of a result. A field that is `None` gets a value that suits the source.
#[derive(Clone, Debug, Default)]
pub struct Form {
    /// The shape of a shard.
    pub shard: Option<Vec<usize>>,
    /// The shape of a chunk.
    pub chunk: Option<Vec<usize>>,
    /// How chunks are compressed.
    pub codec: Option<Codec>,
}

impl Job {
    /// Makes the job that applies an operation to `source` and writes the result to `result`, in this form. Opens the
    /// source and any indices, and writes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if an array cannot be opened, or the arrays, the operation and the form do not fit each other;
    /// [`Error::Io`].
    pub fn new(
        operation: Operation,
        source: &Path,
        result: &Path,
        form: &Form,
    ) -> Result<Self, Error> {
        Ok(Self::with_arrays(operation, source, result, form)?.0)
    }

    /// Does the same as [`Job::new`], and also returns the opened arrays and the shape of the result.
    fn with_arrays(
        mut operation: Operation,
        source: &Path,
        result: &Path,
        form: &Form,
    ) -> Result<(Self, OpenedOperation, Vec<usize>), Error> {
        let location = Location::new(result)?;
        location.check_writable()?;
        let source = absolute_name(source, &location)?;
        for (input, _) in operation.inputs() {
            *input = absolute_name(input, &location)?;
        }
        let result = location.into_name();
        // Slices that differ only in notation, such as spaces, get the same text, because their jobs must be equal.
        match &mut operation {
            Operation::Slice { spec, .. } => *spec = slice_spec(spec)?.to_string(),
            Operation::Index { spec, outer, .. } => {
                *spec = expression::parse(spec, *outer)?.to_string();
            }
            _ => {}
        }
        let (opened, shape) = OpenedOperation::open(&operation, &source)?;
        let mut fingerprint = Fingerprint::Metadata(0);
        let input_fingerprints = operation.inputs().into_iter().map(|(_, known)| known);
        for (known_fingerprint, found_fingerprint) in iter::once(&mut fingerprint)
            .chain(input_fingerprints)
            .zip(opened.fingerprints()?)
        {
            *known_fingerprint = found_fingerprint;
        }
        let (shard, chunk) = layout::choose(
            &shape,
            opened.dtype().size(),
            &opened.chunk_sizes(shape.len()),
            form,
        )?;
        let codec = form.codec.or(opened.source().map(Source::codec));
        let fill = match opened.source() {
            Some(source) if source.dtype() == opened.dtype() => source.fill_metadata()?,
            // If elements are converted, the result stores even the chunks that are missing in the source.
            _ => layout::zero(opened.dtype()),
        };
        let data_type = match opened.source() {
            Some(source) if source.dtype() == opened.dtype() => source.data_type().to_owned(),
            _ => opened.dtype().name().to_owned(),
        };
        let layout = Layout {
            dtype: opened.dtype(),
            data_type,
            names: opened.dimension_names(shape.len()),
            shape: shape.clone(),
            shard,
            chunk,
            codec: codec.unwrap_or(Codec::Zstd),
            fill,
        };
        let mut attributes = opened.source().map_or_else(Map::new, Source::attributes);
        attributes.extend(order::attributes(&operation, &source, &fingerprint));
        let metadata = layout.metadata(&attributes);
        let job = Self {
            operation,
            source,
            source_fingerprint: fingerprint,
            result,
            metadata,
        };
        Ok((job, opened, shape))
    }
}

fn slice_spec(text: &str) -> Result<SliceSpec, Error> {
    text.parse()
        .map_err(|error: wgslice::Error| Error::usage(format_args!("SPEC: {error}")))
}

/// Returns the name of an array that a job reads, as an absolute path or a URL. Rejects an array inside the result or
/// around it, because `--overwrite` removes everything at the result's path.
fn absolute_name(name: &Path, result: &Location) -> Result<PathBuf, Error> {
    let location = Location::new(name)?;
    let overlaps_result = location.overlaps(result);
    let name = location.into_name();
    if overlaps_result {
        return Err(Error::usage(format_args!(
            "the result {} overlaps its source {}: name another place for the result",
            result.clone().into_name().display(),
            name.display()
        )));
    }
    Ok(name)
}

/// The jobs that this process opened last, each with the text of its order, most recent first.
static RECENT_JOBS: Mutex<RecentJobs> = Mutex::new(RecentJobs::new());
type RecentJobs = VecDeque<(String, Arc<Prepared>)>;

fn keep_recent(recent: &mut RecentJobs, text: String, prepared: Arc<Prepared>) {
    const MAX_KEPT_JOBS: usize = 4;
    recent.truncate(MAX_KEPT_JOBS - 1);
    recent.push_front((text, prepared));
}

/// A job with its arrays opened, ready to compute shards.
#[derive(Debug)]
pub struct Prepared {
    pub(super) order: Order,
    pub(super) operation: OpenedOperation,
    pub(super) target: Target,
    pub(super) cache: Cache,
    pub(super) ahead: Ahead,
    /// The device that this job has chosen for [`DeviceChoice::Auto`](super::DeviceChoice::Auto).
    pub(super) auto_backend: OnceLock<Backend>,
    finished_shards: AtomicU64,
}

impl Prepared {
    /// Opens the arrays of a job.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the source or the indices have changed or cannot be opened, or if the result does not fit
    /// the operation; [`Error::Io`].
    pub fn new(order: Order) -> Result<Self, Error> {
        let job = &order.job;
        let (opened, shape) = OpenedOperation::open(&job.operation, &job.source)?;
        let Job {
            mut operation,
            mut source,
            mut source_fingerprint,
            ..
        } = job.clone();
        let inputs = iter::once((&mut source, &mut source_fingerprint)).chain(operation.inputs());
        for ((name, known_fingerprint), fingerprint) in inputs.zip(opened.fingerprints()?) {
            if fingerprint != *known_fingerprint {
                return Err(Error::usage(format_args!(
                    "{} has changed since the job began: begin anew with --overwrite",
                    name.display()
                )));
            }
        }
        Self::from_arrays(order, opened, &shape)
    }

    /// Makes a job like [`Job::new`], and opens its arrays. Its tasks cannot write until the job has begun.
    ///
    /// # Errors
    ///
    /// The errors of [`Job::new`].
    pub fn create(
        operation: Operation,
        source: &Path,
        result: &Path,
        form: &Form,
        how: How,
    ) -> Result<Self, Error> {
        let (job, opened, shape) = Job::with_arrays(operation, source, result, form)?;
        Self::from_arrays(Record::unwritten(job, how), opened, &shape)
    }

    fn from_arrays(
        order: Order,
        operation: OpenedOperation,
        shape: &[usize],
    ) -> Result<Self, Error> {
        let target = Target::new(&order.job.result, &order.job.metadata)?;
        if shape != target.shape() || operation.dtype() != target.dtype() {
            return Err(Error::usage(
                "the job's result has not the form of its operation",
            ));
        }
        Ok(Self {
            cache: Cache::new(order.how.cache),
            ahead: Ahead::new(order.how.ahead),
            order,
            operation,
            target,
            auto_backend: OnceLock::new(),
            finished_shards: AtomicU64::new(0),
        })
    }

    /// Returns the opened job of an [`Order`], which `text` has as JSON. All tasks of this process share the job. The
    /// process keeps the four jobs that it opened last.
    ///
    /// # Errors
    ///
    /// The errors of [`Prepared::new`], or [`Error::Usage`] if the text is not an [`Order`].
    pub fn of(text: &str) -> Result<Arc<Self>, Error> {
        let mut recent = RECENT_JOBS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, prepared)) = recent.iter().find(|(known_text, _)| known_text == text) {
            return Ok(prepared.clone());
        }
        let order = serde_json::from_str(text)
            .map_err(|error| Error::usage(format_args!("the first argument is no job: {error}")))?;
        let prepared = Arc::new(Self::new(order)?);
        keep_recent(&mut recent, text.to_owned(), prepared.clone());
        Ok(prepared)
    }

    /// Turns this job, which was opened before it began, into the job that `record` has begun, without opening it
    /// again. All tasks of this process that have the new job's order share it.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] if the order cannot be written as JSON. No case is known.
    pub fn begun(self, record: &Record, how: How) -> Result<Arc<Self>, Error> {
        let prepared = Arc::new(Self {
            cache: Cache::new(how.cache),
            ahead: Ahead::new(how.ahead),
            order: record.order(self.order.job, how),
            ..self
        });
        let text = serde_json::to_string(&prepared.order).map_err(Error::data)?;
        let mut recent = RECENT_JOBS.lock().unwrap_or_else(PoisonError::into_inner);
        keep_recent(&mut recent, text, prepared.clone());
        Ok(prepared)
    }

    /// Returns whether the job reads a remote store.
    pub fn is_remote(&self) -> bool {
        self.operation
            .sources()
            .iter()
            .any(|source| source.is_remote())
    }

    /// Returns the data that every task receives.
    pub fn order(&self) -> &Order {
        &self.order
    }

    /// Returns the result that is being written.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Returns the number of shards of the result.
    pub fn shards(&self) -> u64 {
        product(&self.target.grid()) as u64
    }

    /// Returns the number of shards that tasks in this process have finished, including shards that existed already.
    pub fn done(&self) -> u64 {
        self.finished_shards.load(Ordering::Relaxed)
    }

    pub(super) fn count_finished_shard(&self) {
        self.finished_shards.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the box of the result that is in the shard at these coordinates of the grid of shards.
    pub(super) fn result_box(&self, at: &[usize]) -> Vec<Range<usize>> {
        let sizes = self.target.shape().iter().zip(self.target.shard());
        let sizes = at.iter().zip(sizes);
        sizes
            .map(|(at, (&size, &shard))| at * shard..((at + 1) * shard).min(size))
            .collect()
    }

    /// Returns the bytes to reserve for a task: a shard three times (decoded, encoded, and as chunks being encoded), a
    /// chunk of the source three times (encoded, decoded and sliced), and the tuples of a gather or the boxes of a
    /// crop. A source that is an `.npy` file has no chunks. Instead, the maximum number of bytes of one read counts
    /// three times.
    pub fn task_bytes(&self) -> usize {
        let shard_bytes = self.target.buffer_bytes().saturating_mul(3);
        // Converted elements can be larger than the source's elements.
        let converted_bytes = |source: &Source| {
            let growth = self
                .operation
                .dtype()
                .size()
                .div_ceil(source.dtype().size());
            source.chunk_bytes().saturating_mul(growth)
        };
        let (chunk_bytes, list_bytes) = match &self.operation {
            OpenedOperation::Slices(slices) => {
                let chunks = slices.iter().map(|(source, _)| converted_bytes(source));
                (chunks.max().unwrap_or(0), 0)
            }
            OpenedOperation::Gather(source, gather) => (
                source.chunk_bytes(),
                gather.tuple_bytes(self.target.shard()),
            ),
            OpenedOperation::Crop(source, crop) => (
                converted_bytes(source),
                crop.list_bytes(source, self.target.shard()),
            ),
            OpenedOperation::Convert(_) => (crate::zarr::npy::MAX_SPAN_BYTES, 0),
        };
        // If the store is remote, the next task's chunks are requested in advance, so its tuples count too.
        let list_bytes = list_bytes.saturating_mul(if self.is_remote() { 2 } else { 1 });
        shard_bytes
            .saturating_add(chunk_bytes.saturating_mul(3))
            .saturating_add(list_bytes)
    }
}
