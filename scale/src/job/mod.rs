//! A job makes an array in a store from a source array, with one task for each shard of the result.
//!
//! | module | content |
//! |---|---|
//! | `order` | what a job is, and how its tasks run, in the form that is sent with every task |
//! | `prepared` | a job with its arrays opened |
//! | `shard` | one task |
//! | `tiles` | a shard that is being made |
//! | `slice`, `gather`, `indices` | what the tasks of slices and gathers read, and where the elements go; the indices of gathers |
//! | `walk`, `copy` | which chunks a box of the result meets; copies of boxes |
//! | `device` | the device that runs slices and gathers |
//! | `memory` | the memory that the tasks of a process hold together |
//! | `faults` | faults on purpose, for tests |
//! | `layout` | the shards and chunks of a result if the user does not give their shapes |
//! | `record` | the files beside an unfinished result |
//! | `tasks` | the list of tasks |
//! | `explain` | what a job will read and write |
//! | `run` | a whole job |
//! | `to_npy` | converts an array to an `.npy` file, without tasks |

pub(crate) mod copy;
mod device;
mod explain;
pub mod faults;
mod gather;
mod indices;
mod layout;
mod memory;
mod order;
mod prepared;
mod record;
mod run;
mod shard;
mod slice;
mod tasks;
mod tiles;
mod to_npy;
mod walk;

pub use device::DeviceChoice;
pub use explain::Explanation;
pub use indices::Fingerprint;
pub use order::{How, Job, Operation, Order, OutOfRange};
pub use prepared::{Form, Prepared};
pub use record::{Record, State};
pub use run::{Summary, run};
pub use shard::{Outcome, compute};
pub use to_npy::to_npy;
