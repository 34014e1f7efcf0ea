//! The description of a job and of its tasks.

use super::{Conversion, DeviceChoice, Fingerprint};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use wgslice::options::{self, NegativeIndex};

/// How the result is made from the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum Operation {
    /// Slices the source.
    Slice {
        /// The slice in Python's notation, as in `::2, 100:0:-3`.
        spec: String,
        /// The order of the slice's dimensions in the result, as in `numpy.transpose`. `None` keeps their order.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        axes: Option<Vec<usize>>,
        /// The conversion of each element. `None` if elements are not converted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conversion: Option<Conversion>,
    },
    /// Selects all combinations of the positions in slices and arrays.
    Index {
        /// A slice whose entries can be lists, as in `[0, 5], ::2`, or a message of [`Ndsel`](super::Ndsel).
        spec: String,
        /// True if all combinations are selected even where NumPy would pair the arrays.
        #[serde(default)]
        outer: bool,
        /// The order of the selection's dimensions in the result. `None` keeps their order.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        axes: Option<Vec<usize>>,
        /// The conversion of each element. `None` if elements are not converted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conversion: Option<Conversion>,
    },
    /// Gathers the slices of the source that indices select along one dimension.
    Gather {
        /// The path or URL of an array of indices, or the path of an `.npy` file with them.
        indices: PathBuf,
        /// The fingerprint of the indices when the job was made. Tasks reject indices with another fingerprint.
        indices_fingerprint: Fingerprint,
        /// The indexed dimension, as in [`options::GatherOptions`].
        axis: Option<isize>,
        /// The number of batch dimensions, as in [`options::GatherOptions`].
        batch_dims: isize,
        /// The treatment of indices that are out of range.
        out_of_range: OutOfRange,
        /// True if negative indices count from the end.
        wrap: bool,
    },
    /// Gathers the slices of the source that index tuples select.
    GatherNd {
        /// The path or URL of an array of index tuples, or the path of an `.npy` file with them.
        indices: PathBuf,
        /// The fingerprint of the indices when the job was made. Tasks reject indices with another fingerprint.
        indices_fingerprint: Fingerprint,
        /// The number of batch dimensions.
        batch_dims: usize,
        /// The treatment of tuples that are out of range.
        out_of_range: OutOfRange,
        /// True if negative indices count from the end.
        wrap: bool,
    },
    /// Crops boxes of one shape.
    Crop {
        /// The path or URL of an array with the start of each box, or the path of an `.npy` file with it. The array's
        /// last dimension has the positions in the leading dimensions of the source.
        begins: PathBuf,
        /// The fingerprint of `begins` when the job was made. Tasks reject an array with another fingerprint.
        begins_fingerprint: Fingerprint,
        /// The size of a box in each of the leading dimensions. In the other dimensions, a box has all positions.
        sizes: Vec<usize>,
        /// The treatment of boxes that extend beyond the source. [`OutOfRange::Zero`] sets only the elements outside
        /// the source to zero, and [`OutOfRange::Clamp`] shifts the boxes into the source.
        out_of_range: OutOfRange,
        /// The conversion of each element. Zeros for elements outside the source are not converted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conversion: Option<Conversion>,
    },
    /// Concatenates the source and other arrays.
    Concat {
        /// The paths or URLs of the arrays after the source, each with its fingerprint when the job was made.
        others: Vec<(PathBuf, Fingerprint)>,
        /// The dimension of the result along which the arrays are joined. A negative number counts from the end.
        axis: isize,
        /// True if this dimension is new and has a position for each array.
        is_new: bool,
    },
    /// Converts a whole `.npy` file.
    Convert,
}

impl Operation {
    /// Returns the name and the fingerprint of each array that the operation reads in addition to the source. Callers
    /// compare or change them.
    pub(super) fn inputs(&mut self) -> Vec<(&mut PathBuf, &mut Fingerprint)> {
        match self {
            Self::Gather {
                indices: input,
                indices_fingerprint: fingerprint,
                ..
            }
            | Self::GatherNd {
                indices: input,
                indices_fingerprint: fingerprint,
                ..
            }
            | Self::Crop {
                begins: input,
                begins_fingerprint: fingerprint,
                ..
            } => vec![(input, fingerprint)],
            Self::Concat { others, .. } => others
                .iter_mut()
                .map(|(name, fingerprint)| (name, fingerprint))
                .collect(),
            Self::Slice { .. } | Self::Index { .. } | Self::Convert => Vec::new(),
        }
    }
}

/// The treatment of index tuples that are out of range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutOfRange {
    /// The slices of tuples that are out of range become zeros.
    #[default]
    Zero,
    /// The job fails if a tuple is out of range.
    Error,
    /// Indices that are out of range move to the nearest end of their dimension.
    Clamp,
}

impl From<OutOfRange> for options::OutOfRange {
    fn from(policy: OutOfRange) -> Self {
        match policy {
            OutOfRange::Zero => Self::Ignore,
            OutOfRange::Error => Self::Error,
            OutOfRange::Clamp => Self::Clamp,
        }
    }
}

pub(super) fn negative(wrap: bool) -> NegativeIndex {
    if wrap {
        NegativeIndex::Wrap
    } else {
        NegativeIndex::Invalid
    }
}

/// An operation, its source and its result. Each path is absolute or a URL, so that a job means the same in every
/// process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// How the result is made.
    pub operation: Operation,
    /// The source: the folder or the URL of an array, or an `.npy` file.
    pub source: PathBuf,
    /// The fingerprint of the source when the job was made. Tasks reject a source with another fingerprint.
    pub source_fingerprint: Fingerprint,
    /// The folder or the URL of the result.
    pub result: PathBuf,
    /// The content of the result's `zarr.json`.
    pub metadata: Value,
}

/// The name of the attribute that describes how a result was made.
pub(super) const PROVENANCE_ATTRIBUTE: &str = "wgslice";

/// Returns the attributes of a result, which record how it was made.
pub(super) fn attributes(
    operation: &Operation,
    source: &PathBuf,
    fingerprint: &Fingerprint,
) -> Map<String, Value> {
    let provenance = json!({
        "operation": operation, "source": source, "source_fingerprint": fingerprint
    });
    Map::from_iter([(PROVENANCE_ATTRIBUTE.to_owned(), provenance)])
}

/// How the tasks of a job run. The result does not depend on these settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct How {
    /// The device that slices and gathers chunks.
    pub device: DeviceChoice,
    /// The maximum number of threads that each task uses.
    pub threads: usize,
    /// The maximum number of times that a task is tried, including the first. Only failed reads and writes are tried
    /// again.
    pub attempts: usize,
    /// The maximum number of bytes reserved for the running tasks of a process together, in addition to `cache` and
    /// `ahead`. A task that needs more runs alone. `None` for no limit.
    pub memory: Option<usize>,
    /// The maximum number of bytes of decoded chunks that a process keeps for other shards of this job.
    pub cache: usize,
    /// The maximum number of bytes that a process requests from remote stores before its tasks need them.
    pub ahead: usize,
}

/// The data that a task receives in addition to the number of its shard. The first argument of the function
/// `zarr_shard` is an order as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// Distinguishes this job from all other jobs with the same result path. Empty if the job has not begun.
    pub id: String,
    /// The job.
    pub job: Job,
    /// How the tasks run.
    pub how: How,
}
