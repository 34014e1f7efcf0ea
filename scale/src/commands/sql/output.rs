//! Writes the result of a query to a Parquet file. The file appears as a whole or not at all.
//!
//! The partitions of a result are computed and encoded in parallel: each makes its own row groups in memory, and adds
//! them to the one file when they are complete. An ordered result has a single partition, and its row groups are added
//! in the result's order.

use super::failed;
use crate::failure::Failure;
use datafusion::{
    arrow::{
        array::RecordBatch,
        datatypes::{Schema, SchemaRef},
    },
    dataframe::DataFrame,
    execution::SendableRecordBatchStream,
    parquet::{
        arrow::{
            ArrowWriter,
            arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves},
        },
        basic::{Compression, ZstdLevel},
        errors::ParquetError,
        file::{properties::WriterProperties, writer::SerializedFileWriter},
    },
};
use futures::StreamExt;
use std::{
    fmt::Display,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};
use tokio::task::JoinSet;
use wgslice_scale::partial;

/// The estimated size in bytes at which a row group is complete. A partition keeps the row group in memory until then.
/// A reader can need as much memory, for all columns together.
const ROW_GROUP_BYTES: usize = 64 << 20;

/// The number of bytes of the row groups that all partitions together keep in memory, unless `--memory` allows less.
/// With many partitions, row groups are smaller.
const ALL_ROW_GROUPS_BYTES: usize = 256 << 20;

/// The minimum size of a row group in bytes, because readers skip and read whole row groups.
const MIN_ROW_GROUP_BYTES: usize = 1 << 20;

/// The row groups of all partitions together get at most `--memory` divided by this number.
const MEMORY_DIVISOR: usize = 4;

/// The maximum number of rows in a row group, whatever their size. This is Parquet's usual number.
const MAX_GROUP_ROWS: usize = 1 << 20;

pub(super) struct Output {
    unfinished_file: UnfinishedFile,
    writer: SerializedFileWriter<File>,
    encoder_factory: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
}

impl Output {
    pub(super) fn create(path: &Path, schema: &Schema) -> Result<Self, Failure> {
        let unwritten = |error: &dyn Display| Failure::usage(cannot_write(path, error));
        if path.file_name().is_none() || path.is_dir() {
            return Err(unwritten(&"it is a folder, but must be a file"));
        }
        let (unfinished_file, file) =
            UnfinishedFile::create(path).map_err(|error| unwritten(&error))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        let schema = Arc::new(schema.clone());
        // `ArrowWriter` only converts the schema and sets up the file. It is then split, because the partitions encode
        // row groups in parallel.
        let parts = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties))
            .and_then(ArrowWriter::into_serialized_writer);
        let (writer, encoder_factory) = parts.map_err(|error| unwritten(&error))?;
        Ok(Self {
            unfinished_file,
            writer,
            encoder_factory,
            schema,
        })
    }

    /// Writes the result of the query and gives the file its name. Returns the number of rows, and the size of the
    /// file in bytes. `memory` is the process's memory limit in bytes, if it has one.
    pub(super) async fn write_all(
        self,
        result: DataFrame,
        memory: Option<usize>,
    ) -> Result<(usize, u64), Failure> {
        let partitions = result.execute_stream_partitioned().await.map_err(failed)?;
        let total_bytes = memory.map_or(ALL_ROW_GROUPS_BYTES, |memory| {
            ALL_ROW_GROUPS_BYTES.min(memory / MEMORY_DIVISOR)
        });
        let group_bytes = total_bytes / partitions.len().max(1);
        let Self {
            unfinished_file,
            writer,
            encoder_factory,
            schema,
        } = self;
        let shared = Arc::new(SharedOutput {
            path: unfinished_file.path.clone(),
            writer: Mutex::new(writer),
            encoder_factory,
            schema,
            group_bytes: group_bytes.clamp(MIN_ROW_GROUP_BYTES, ROW_GROUP_BYTES),
        });
        let mut rows = 0;
        let mut tasks = JoinSet::new();
        for batches in partitions {
            tasks.spawn(write_partition(Arc::clone(&shared), batches));
        }
        // The first error drops `tasks`, which ends the other tasks.
        while let Some(written) = tasks.join_next().await {
            rows += written.map_err(Failure::work)??;
        }
        let unwritten = |error: &dyn Display| shared.unwritten(error);
        let mut writer = shared.writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.finish().map_err(|error| unwritten(&error))?;
        let file = writer.inner();
        file.sync_all().map_err(|error| unwritten(&error))?;
        let bytes = file.metadata().map_err(|error| unwritten(&error))?.len();
        unfinished_file
            .finish(file)
            .map_err(|error| unwritten(&error))?;
        Ok((rows, bytes))
    }
}

/// The state that all partitions share.
struct SharedOutput {
    path: PathBuf,
    writer: Mutex<SerializedFileWriter<File>>,
    encoder_factory: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    /// The estimated size in bytes at which a row group is complete.
    group_bytes: usize,
}

impl SharedOutput {
    fn unwritten(&self, error: &dyn Display) -> Failure {
        Failure::work(cannot_write(&self.path, error))
    }

    /// Encodes a batch as part of a row group.
    fn encode(
        &self,
        group: &mut [ArrowColumnWriter],
        batch: &RecordBatch,
    ) -> Result<(), ParquetError> {
        let mut encoders = group.iter_mut();
        for (field, column) in self.schema.fields().iter().zip(batch.columns()) {
            for (leaf, encoder) in compute_leaves(field, column)?.iter().zip(&mut encoders) {
                encoder.write(leaf)?;
            }
        }
        Ok(())
    }

    /// Adds a complete row group to the file.
    fn add(&self, group: Vec<ArrowColumnWriter>) -> Result<(), ParquetError> {
        // The remaining encoding and compression is done before the file is locked.
        let chunks = group.into_iter().map(ArrowColumnWriter::close);
        let chunks: Vec<_> = chunks.collect::<Result<_, _>>()?;
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut row_group = writer.next_row_group()?;
        for chunk in chunks {
            chunk.append_to_row_group(&mut row_group)?;
        }
        row_group.close()?;
        Ok(())
    }
}

/// Encodes and writes the rows of a partition. Returns their number.
async fn write_partition(
    shared: Arc<SharedOutput>,
    mut batches: SendableRecordBatchStream,
) -> Result<usize, Failure> {
    let unwritten = |error: &dyn Display| shared.unwritten(error);
    let (mut total_rows, mut group_rows) = (0, 0);
    let mut group = Vec::new();
    while let Some(batch) = batches.next().await {
        let batch = batch.map_err(failed)?;
        if batch.num_rows() == 0 {
            continue;
        }
        // Some steps of a plan drop the metadata of columns, such as the shape of tensors, so it is restored here.
        let batch = RecordBatch::try_new(Arc::clone(&shared.schema), batch.columns().to_vec());
        let batch = batch.map_err(|error| unwritten(&error))?;
        if group_rows == 0 {
            let encoders = shared.encoder_factory.create_column_writers(0);
            group = encoders.map_err(|error| unwritten(&error))?;
        }
        shared
            .encode(&mut group, &batch)
            .map_err(|error| unwritten(&error))?;
        group_rows += batch.num_rows();
        total_rows += batch.num_rows();
        let bytes = group
            .iter()
            .map(ArrowColumnWriter::get_estimated_total_bytes);
        if group_rows >= MAX_GROUP_ROWS || bytes.sum::<usize>() >= shared.group_bytes {
            let complete = std::mem::take(&mut group);
            shared.add(complete).map_err(|error| unwritten(&error))?;
            group_rows = 0;
        }
    }
    if group_rows > 0 {
        shared.add(group).map_err(|error| unwritten(&error))?;
    }
    Ok(total_rows)
}

/// A file that gets its name when it is complete. Until then it has no name, so it disappears if this process ends. If
/// the system has no unnamed files, the file has a temporary name in the folder of its final path. Dropping this value
/// then removes the file, but a killed process leaves it.
struct UnfinishedFile {
    path: PathBuf,
    temporary_file: Option<RemovedOnDrop>,
}

/// A file that is removed when this value is dropped, unless it has been renamed.
struct RemovedOnDrop(PathBuf);

impl Drop for RemovedOnDrop {
    fn drop(&mut self) {
        // If the file has its final name, there is nothing to remove.
        let _ = fs::remove_file(&self.0);
    }
}

impl UnfinishedFile {
    fn create(path: &Path) -> io::Result<(Self, File)> {
        let path = path.to_owned();
        if let Some(file) = unnamed::create(&path) {
            return Ok((
                Self {
                    path,
                    temporary_file: None,
                },
                file,
            ));
        }
        let temporary_file = partial::beside(&path);
        let file = File::create_new(&temporary_file)?;
        let temporary_file = Some(RemovedOnDrop(temporary_file));
        Ok((
            Self {
                path,
                temporary_file,
            },
            file,
        ))
    }

    /// Gives the file its name. An existing file of this name is replaced.
    fn finish(&self, file: &File) -> io::Result<()> {
        match &self.temporary_file {
            Some(RemovedOnDrop(temporary_file)) => fs::rename(temporary_file, &self.path),
            None => match unnamed::link_as(file, &self.path) {
                // Linking does not replace a file, but renaming does.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let temporary_file = RemovedOnDrop(partial::beside(&self.path));
                    unnamed::link_as(file, &temporary_file.0)?;
                    fs::rename(&temporary_file.0, &self.path)
                }
                named => named,
            },
        }
    }
}

/// Files without a name, which the system removes when no process has them open.
#[cfg(target_os = "linux")]
mod unnamed {
    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};
    use std::{fs::File, io, os::fd::AsRawFd, path::Path};

    /// The folder in which the system shows this process's open files, so that they can be linked.
    const OPEN_FILES: &str = "/proc/self/fd";

    /// Opens a file that can be given the name `path`. `None` if the folder's file system does not support this, for
    /// example NFS.
    pub(super) fn create(path: &Path) -> Option<File> {
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let folder = folder.unwrap_or(Path::new("."));
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = Path::new(OPEN_FILES).exists().then(|| {
            // The system clears the bits of the process's umask in this mode, as for other new files.
            open(folder, flags, Mode::from_raw_mode(0o666))
        });
        file?.ok().map(File::from)
    }

    pub(super) fn link_as(file: &File, path: &Path) -> io::Result<()> {
        let open_path = format!("{OPEN_FILES}/{}", file.as_raw_fd());
        Ok(linkat(CWD, open_path, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }
}

#[cfg(not(target_os = "linux"))]
mod unnamed {
    use std::{fs::File, io, path::Path};

    pub(super) fn create(_: &Path) -> Option<File> {
        None
    }

    pub(super) fn link_as(_: &File, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

fn cannot_write(path: &Path, error: &dyn Display) -> String {
    format!("cannot write {}: {error}", path.display())
}
