//! The files next to the result of an unfinished job.
//!
//! ```text
//! OUT.zarr/
//!   .wgslice/job.json     the job
//!   .wgslice/new-ID/      files until they are complete; then they move to their places (not in object stores)
//!   .wgslice/tasks-…/     the lists of tasks of a run on a cluster
//!   c/0/0 …               the shards that are done
//!   zarr.json             written last: without it, readers find no array
//! ```
//!
//! When the result is complete, `.wgslice` is removed. A late task of an earlier job cannot write into a later job's
//! result: [`Place`] describes how this is prevented.

#[cfg(feature = "cluster")]
use super::tasks;
use super::{How, Job, Order, Prepared, order::PROVENANCE_ATTRIBUTE};
use crate::zarr::{Error, JOB_FOLDER, JOB_RECORD, Piece, Place, Unread, coordinates, place};
use serde_json::Value;
use std::{
    fmt::Display,
    io, process,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

/// The record of an unfinished job.
#[derive(Debug)]
pub struct Record {
    place: Arc<dyn Place>,
    id: String,
}

/// The state of a job's result.
#[derive(Debug)]
pub enum State {
    /// The result of this very job exists, is complete, and is not to be overwritten.
    Complete,
    /// The job can be run: its `zarr.json` is not written yet. Any number of its shards may exist.
    Open(Record),
}

impl Record {
    /// Begins a job, or finds that it was begun or finished. With `overwrite`, an array or another unfinished job at
    /// the result's place is removed first. This includes a complete result of this very job, because the elements of
    /// its source may have changed since it was made.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the result's path has another array and `overwrite` is false, if it has content that is not
    /// an array, or if the metadata or the record there is not JSON; [`Error::Io`].
    pub fn begin(job: &Job, overwrite: bool) -> Result<State, Error> {
        let place = place(&job.result)?;
        let result_name = place.name("");
        let found_result = match Self::examine(job, &*place)? {
            FoundResult::Complete if overwrite => {
                FoundResult::Other("the result of this job".to_owned())
            }
            found_result => found_result,
        };
        match found_result {
            FoundResult::Complete => {
                // The process that finished the job may have ended before it removed the job's folder.
                remove(&*place, JOB_FOLDER)?;
                return Ok(State::Complete);
            }
            FoundResult::Begun(id) => {
                let record = Self { place, id };
                record.enter()?;
                return Ok(State::Open(record));
            }
            FoundResult::Nothing => {}
            FoundResult::Other(description) if overwrite => {
                log::info!("removing {result_name}, {description}");
                // The metadata is removed first, so that no reader opens an array that is half removed.
                for key in ["zarr.json", ".zarray", ""] {
                    remove(&*place, key)?;
                }
            }
            FoundResult::Other(description) => {
                return Err(Error::usage(format_args!(
                    "{result_name} is {description}: name another place, or replace it with --overwrite"
                )));
            }
            FoundResult::Foreign => {
                return Err(Error::usage(format_args!(
                    "{result_name} exists and is no Zarr array: name another place, or remove it first"
                )));
            }
        }
        let since_1970 = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let record = Self {
            place,
            id: format!("{:x}-{:x}", since_1970.as_nanos(), process::id()),
        };
        record.enter()?;
        let content = serde_json::json!({"id": record.id, "job": job});
        let text = serde_json::to_vec_pretty(&content).map_err(Error::data)?;
        record.write(JOB_RECORD, &text)?;
        Ok(State::Open(record))
    }

    /// Examines the path of a job's result. Writes nothing.
    fn examine(job: &Job, place: &dyn Place) -> Result<FoundResult, Error> {
        if let Some(metadata) = json(place, "zarr.json")? {
            if metadata == job.metadata {
                return Ok(FoundResult::Complete);
            }
            // A group can contain arrays that do not belong to this job, so a group is never removed.
            if metadata["node_type"] != "array" {
                return Ok(FoundResult::Foreign);
            }
            let provenance = &metadata["attributes"][PROVENANCE_ATTRIBUTE];
            return Ok(FoundResult::Other(match provenance {
                Value::Null => "an array that wgslice has not made".to_owned(),
                provenance => format!(
                    "the result of another job, {provenance} with {}",
                    describe_form(&metadata)
                ),
            }));
        }
        if let Some(record) = json(place, JOB_RECORD)? {
            let is_same_job = record["job"] == serde_json::to_value(job).map_err(Error::data)?;
            return Ok(match record["id"].as_str() {
                Some(id) if is_same_job => FoundResult::Begun(id.to_owned()),
                _ => FoundResult::Other(format!(
                    "the unfinished result of another job, {} with {}",
                    record["job"]["metadata"]["attributes"][PROVENANCE_ATTRIBUTE],
                    describe_form(&record["job"]["metadata"])
                )),
            });
        }
        match place.size(".zarray") {
            Ok(Some(_)) => return Ok(FoundResult::Other("an array of Zarr V2".to_owned())),
            Err(error) if error.kind() != io::ErrorKind::NotADirectory => {
                return Err(io_error("read", place, ".zarray", &error));
            }
            _ => {}
        }
        match place.is_free() {
            Ok(true) => Ok(FoundResult::Nothing),
            Ok(false) => Ok(FoundResult::Foreign),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(FoundResult::Foreign),
            Err(error) => Err(io_error("read", place, "", &error)),
        }
    }

    fn enter(&self) -> Result<(), Error> {
        let outcome = self.place.enter(&self.id);
        outcome.map_err(|error| io_error("make", &*self.place, "", &error))
    }

    fn write(&self, key: &str, value: &[u8]) -> Result<(), Error> {
        let outcome = self.place.write(key, value, &self.id);
        outcome.map_err(|error| io_error("write", &*self.place, key, &error))
    }

    /// Writes the shard numbers in `shards` to up to `max_lists` lists of tasks, in a folder of this process. Returns
    /// the folder's path or URL.
    #[cfg(feature = "cluster")]
    pub(super) fn write_tasks(&self, shards: &[u64], max_lists: usize) -> Result<String, Error> {
        let folder = format!("{JOB_FOLDER}/tasks-{}-{}", self.id, process::id());
        remove(&*self.place, &folder)?;
        for (name, list) in tasks::files(shards, max_lists)? {
            let key = format!("{folder}/{name}");
            let outcome = self.place.write_note(&key, &list);
            outcome.map_err(|error| io_error("write", &*self.place, &key, &error))?;
        }
        Ok(self.place.name(&format!("{folder}/")))
    }

    /// Returns the order that the tasks of this job receive.
    pub fn order(&self, job: Job, how: How) -> Order {
        Order {
            id: self.id.clone(),
            job,
            how,
        }
    }

    /// Returns the order for a job that is not begun. Tasks with this order cannot write, because the empty id belongs
    /// to no job.
    pub fn unwritten(job: Job, how: How) -> Order {
        Order {
            id: String::new(),
            job,
            how,
        }
    }

    /// Returns the numbers of the shards that the job has not written yet. `prepared` is the opened job; it may have
    /// been opened before the job began.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn missing(&self, prepared: &Prepared) -> Result<Vec<u64>, Error> {
        let target = prepared.target();
        let grid = target.grid();
        let keys =
            (0..prepared.shards()).map(|shard| target.key(&coordinates(shard as usize, &grid)));
        let keys: Vec<_> = keys.collect();
        let is_written = target.place().written_by(&keys, &self.id);
        let is_written =
            is_written.map_err(|error| io_error("read", &*target.place(), "", &error))?;
        let shards = (0..).zip(is_written);
        Ok(shards
            .filter(|&(_, is_written)| !is_written)
            .map(|(shard, _)| shard)
            .collect())
    }

    /// Writes the result's `zarr.json` and removes the job's folder, which contains the record.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn finish(self, job: &Job) -> Result<(), Error> {
        let text = serde_json::to_vec_pretty(&job.metadata).map_err(Error::data)?;
        self.write("zarr.json", &text)?;
        remove(&*self.place, JOB_FOLDER)
    }
}

enum FoundResult {
    Nothing,
    Complete,
    /// This job is begun but not finished, and has this id.
    Begun(String),
    /// Another array, finished or not. The text describes it in messages.
    Other(String),
    /// Files that do not belong to an array. Even `--overwrite` does not remove them.
    Foreign,
}

/// Describes the shapes of an array's shards and chunks, and its codecs, for messages.
fn describe_form(metadata: &Value) -> String {
    let shard_shape = &metadata["chunk_grid"]["configuration"]["chunk_shape"];
    let codecs = metadata["codecs"].as_array().into_iter().flatten();
    let codecs: Vec<_> = codecs
        .map(|codec| {
            let name = codec["name"].as_str().unwrap_or_default();
            let inner_codecs = codec["configuration"]["codecs"]
                .as_array()
                .into_iter()
                .flatten();
            let inner_codecs: Vec<_> = inner_codecs
                .filter_map(|codec| codec["name"].as_str())
                .collect();
            match &codec["configuration"]["chunk_shape"] {
                Value::Null => name.to_owned(),
                chunk_shape => format!("chunks {chunk_shape} of {}", inner_codecs.join(", ")),
            }
        })
        .collect();
    format!("shards {shard_shape}, {}", codecs.join(", "))
}

fn io_error(action: impl Display, place: &dyn Place, key: &str, error: &io::Error) -> Error {
    Error::io(format_args!("cannot {action} {}", place.name(key)), error)
}

/// Parses the value of a key as JSON. Returns `None` if there is no such value.
fn json(place: &dyn Place, key: &str) -> Result<Option<Value>, Error> {
    let text = match place.read(key, Piece::ALL) {
        Ok(Some(text)) => text,
        Ok(None) => return Ok(None),
        Err(Unread::System(error)) if error.kind() == io::ErrorKind::NotADirectory => {
            return Ok(None);
        }
        Err(Unread::System(error)) => return Err(io_error("read", place, key, &error)),
        Err(Unread::Value(problem)) => return Err(Error::data(problem)),
    };
    let value = serde_json::from_slice(&text);
    value.map(Some).map_err(|error| {
        Error::usage(format_args!(
            "{} is not readable as JSON: {error}; remove it and what is beside it, or name another place",
            place.name(key)
        ))
    })
}

/// Removes the value of a key, and the values of all keys in the folder with this name.
fn remove(place: &dyn Place, key: &str) -> Result<(), Error> {
    let outcome = place.remove(key);
    outcome.map_err(|error| io_error("remove", place, key, &error))
}
