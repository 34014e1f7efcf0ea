//! What stands in the result's folder while the job is not done.
//!
//! ```text
//! OUT.zarr/
//!   .wgslice/job.json     the job
//!   .wgslice/new-ID/      files that are being written, and get their names when they are complete
//!   .wgslice/tasks-…/     the lists of tasks of a run
//!   c/0/0 …               the shards that are done
//!   zarr.json             written last: before, no reader can take the array for a finished one
//! ```
//!
//! When the array is done, `.wgslice` is removed. A task of a job that is over finds no place to write a file, and so
//! cannot write into a later job's result.

use super::{How, Job, Order, Prepared, order::ATTRIBUTE};
use crate::zarr::{Error, coordinates, replace};
use serde_json::Value;
use std::{
    fs, io,
    path::{Path, PathBuf},
    process,
    time::{SystemTime, UNIX_EPOCH},
};

/// The record of a job that is not done.
#[derive(Debug)]
pub struct Record {
    result: PathBuf,
    id: String,
}

/// What stands where a job's result goes.
#[derive(Debug)]
pub enum State {
    /// The result of this very job, complete.
    Complete,
    /// Nothing yet, or some shards: the job can be run.
    Open(Record),
}

const FOLDER: &str = ".wgslice";

/// The folder in which files of a job are written until they are complete.
pub(super) fn staging(result: &Path, id: &str) -> PathBuf {
    result.join(FOLDER).join(format!("new-{id}"))
}

impl Record {
    /// Begins a job, or finds it begun or done. With `overwrite` an array or an unfinished job that stands there is
    /// removed first, unless it is this job.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if something else stands there; [`Error::Io`].
    pub fn begin(job: &Job, overwrite: bool) -> Result<State, Error> {
        let result = &job.result;
        let failed =
            |error: io::Error| Error::io(format_args!("cannot make {}", result.display()), &error);
        match Self::found(job)? {
            Found::Complete => {
                // A process may have died before it removed them.
                remove(&result.join(FOLDER))?;
                return Ok(State::Complete);
            }
            Found::Begun(id) => {
                let record = Self {
                    result: result.clone(),
                    id,
                };
                fs::create_dir_all(record.staging()).map_err(failed)?;
                return Ok(State::Open(record));
            }
            Found::Nothing => {}
            Found::Other(what) if overwrite => {
                log::info!("removing {}, {what}", result.display());
                // The description first: what is half removed is no array.
                for name in ["zarr.json", ".zarray"] {
                    remove(&result.join(name))?;
                }
                remove(result)?;
            }
            Found::Other(what) => {
                return Err(Error::usage(format_args!(
                    "{} is {what}: name another folder, or replace it with --overwrite",
                    result.display()
                )));
            }
            Found::Foreign => {
                return Err(Error::usage(format_args!(
                    "{} exists and is no Zarr array: name another folder, or remove it first",
                    result.display()
                )));
            }
        }
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let record = Self {
            result: result.clone(),
            id: format!("{:x}-{:x}", now.as_nanos(), process::id()),
        };
        fs::create_dir_all(record.staging()).map_err(failed)?;
        let text = serde_json::json!({"id": record.id, "job": job});
        let text = serde_json::to_vec_pretty(&text).map_err(Error::data)?;
        replace(&record.file(), &text, &record.staging())?;
        Ok(State::Open(record))
    }

    /// What stands where a job's result goes. Writes nothing.
    fn found(job: &Job) -> Result<Found, Error> {
        let result = &job.result;
        if let Some(metadata) = json(&result.join("zarr.json"))? {
            if metadata == job.metadata {
                return Ok(Found::Complete);
            }
            let made = &metadata["attributes"][ATTRIBUTE];
            return Ok(Found::Other(match made {
                Value::Null => "an array that wgslice has not made".to_owned(),
                made => format!("the result of another job, {made} with {}", form(&metadata)),
            }));
        }
        let path = result.join(FOLDER).join("job.json");
        if let Some(record) = json(&path)? {
            let same = record["job"] == serde_json::to_value(job).map_err(Error::data)?;
            return Ok(match record["id"].as_str() {
                Some(id) if same => Found::Begun(id.to_owned()),
                _ => Found::Other(format!(
                    "the unfinished result of another job, {} with {}",
                    record["job"]["metadata"]["attributes"][ATTRIBUTE],
                    form(&record["job"]["metadata"])
                )),
            });
        }
        if result.join(".zarray").exists() {
            return Ok(Found::Other("an array of Zarr V2".to_owned()));
        }
        match fs::read_dir(result) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Found::Nothing),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(Found::Foreign),
            Err(error) => Err(Error::io(
                format_args!("cannot read {}", result.display()),
                &error,
            )),
            Ok(mut entries) => Ok(match entries.next() {
                None => Found::Nothing,
                // Begun by a process that died before it wrote the job down.
                Some(Ok(entry)) if entry.file_name() == FOLDER && entries.next().is_none() => {
                    Found::Nothing
                }
                Some(_) => Found::Foreign,
            }),
        }
    }

    fn file(&self) -> PathBuf {
        self.result.join(FOLDER).join("job.json")
    }

    fn staging(&self) -> PathBuf {
        staging(&self.result, &self.id)
    }

    /// A new folder for the lists of tasks of this process.
    pub(super) fn task_folder(&self) -> Result<PathBuf, Error> {
        let folder = self
            .result
            .join(FOLDER)
            .join(format!("tasks-{}-{}", self.id, process::id()));
        remove(&folder)?;
        fs::create_dir(&folder)
            .map_err(|error| Error::io(format_args!("cannot make {}", folder.display()), &error))?;
        Ok(folder)
    }

    /// What the tasks of this job receive.
    pub fn order(&self, job: Job, how: How) -> Order {
        Order {
            id: self.id.clone(),
            job,
            how,
        }
    }

    /// What the tasks of a job would receive. Nothing is written, and they could write nothing.
    pub fn unwritten(job: Job, how: How) -> Order {
        Order {
            id: String::new(),
            job,
            how,
        }
    }

    /// The shards that are not there yet.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn missing(prepared: &Prepared) -> Result<Vec<u64>, Error> {
        let grid = prepared.target().grid();
        let mut missing = Vec::new();
        for shard in 0..prepared.shards() {
            let file = prepared.target().file(&coordinates(shard as usize, &grid));
            let exists = file.try_exists();
            let exists = exists.map_err(|error| {
                Error::io(format_args!("cannot read {}", file.display()), &error)
            })?;
            if !exists {
                missing.push(shard);
            }
        }
        Ok(missing)
    }

    /// Writes the result's `zarr.json`, and removes the record.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn finish(self, job: &Job) -> Result<(), Error> {
        let text = serde_json::to_vec_pretty(&job.metadata).map_err(Error::data)?;
        replace(&self.result.join("zarr.json"), &text, &self.staging())?;
        remove(&self.result.join(FOLDER))
    }
}

enum Found {
    Nothing,
    Complete,
    /// This job, with its name.
    Begun(String),
    /// An array, or an unfinished one.
    Other(String),
    /// Something that is not ours to remove.
    Foreign,
}

/// The shards, the chunks and the codecs of an array, for messages.
fn form(metadata: &Value) -> String {
    let shard = &metadata["chunk_grid"]["configuration"]["chunk_shape"];
    let codecs = metadata["codecs"].as_array().into_iter().flatten();
    let codecs: Vec<_> = codecs
        .map(|codec| {
            let name = codec["name"].as_str().unwrap_or_default();
            let inner = codec["configuration"]["codecs"]
                .as_array()
                .into_iter()
                .flatten();
            let inner: Vec<_> = inner.filter_map(|codec| codec["name"].as_str()).collect();
            match &codec["configuration"]["chunk_shape"] {
                Value::Null => name.to_owned(),
                chunk => format!("chunks {chunk} of {}", inner.join(", ")),
            }
        })
        .collect();
    format!("shards {shard}, {}", codecs.join(", "))
}

fn json(path: &Path) -> Result<Option<Value>, Error> {
    let failed =
        |error: io::Error| Error::io(format_args!("cannot read {}", path.display()), &error);
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(failed(error)),
    };
    let value = serde_json::from_slice(&text);
    value.map(Some).map_err(|error| {
        Error::usage(format_args!(
            "{} is not readable as JSON: {error}; remove its folder, or name another",
            path.display()
        ))
    })
}

/// Removes a file or a folder, if it is there.
fn remove(path: &Path) -> Result<(), Error> {
    let outcome = if path.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    };
    match outcome {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io(
            format_args!("cannot remove {}", path.display()),
            &error,
        )),
        _ => Ok(()),
    }
}
