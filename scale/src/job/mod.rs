//! Jobs: each makes an array in a store from a source array, with one task for each shard of the result.
//!
//! | module | content |
//! |---|---|
//! | `order` | the description of a job and of its tasks, in the form that is sent with every task |
//! | `prepared` | a job with its arrays opened |
//! | `shard` | one task |
//! | `tiles` | a shard that is being made |
//! | `slice`, `gather`, `crop` | the chunks that a shard of a slice, gather or crop needs, and the copies from them |
//! | `indices` | arrays of indices |
//! | `concat` | the concatenation of several sources, as slices |
//! | `expression`, `ndsel` | index expressions, which have lists of positions; NDSel's selections in JSON |
//! | `walk`, `copy` | the positions and chunks of the source that a slice reads; copies of boxes |
//! | `conversion` | the conversion of each element |
//! | `device` | the device that runs slices and gathers |
//! | `memory` | the memory that the tasks of a process hold together |
//! | `faults` | injected faults, for tests |
//! | `layout` | the default shapes of a result's shards and chunks |
//! | `record` | the files next to an unfinished result |
//! | `explain` | the reads and writes of a job, before it runs |
//! | `run` | running a whole job on threads of this process |
//! | `cluster`, `tasks` | running a whole job on a cluster; the lists of tasks that its executors read |
//! | `to_npy` | converting an array to an `.npy` file, without tasks |

#[cfg(feature = "cluster")]
mod cluster;
mod concat;
mod conversion;
pub(crate) mod copy;
mod crop;
mod device;
mod explain;
mod expression;
pub mod faults;
mod gather;
mod indices;
mod layout;
mod memory;
mod ndsel;
mod order;
mod prepared;
mod record;
mod run;
mod shard;
mod slice;
#[cfg(feature = "cluster")]
mod tasks;
mod tiles;
mod to_npy;
mod walk;

#[cfg(feature = "cluster")]
pub use cluster::run_on;
pub use conversion::Conversion;
pub use device::DeviceChoice;
pub use explain::Explanation;
pub use indices::Fingerprint;
pub use ndsel::Ndsel;
pub use order::{How, Job, Operation, Order, OutOfRange};
pub use prepared::{Form, Prepared};
pub use record::{Record, State};
pub use run::{Summary, run};
pub use shard::{Outcome, Worker, compute};
pub use to_npy::to_npy;

/// Divides shards into `max_lists` lists, or into one list for each shard if there are fewer shards. There is at least
/// one list. Neighbouring shards are in one list, because the cache then still has the chunks that a task shares with
/// the previous task.
fn lists(shards: &[u64], max_lists: usize) -> impl Iterator<Item = &[u64]> {
    let count = max_lists.clamp(1, shards.len().max(1));
    let start = move |list: usize| list * shards.len() / count;
    (0..count).map(move |list| &shards[start(list)..start(list + 1)])
}
