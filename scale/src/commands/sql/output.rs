//! Writes the result of a query to a Parquet file, which appears whole or not at all.

use super::failed;
use crate::failure::Failure;
use datafusion::{
    arrow::{
        array::RecordBatch,
        datatypes::{Schema, SchemaRef},
    },
    dataframe::DataFrame,
    parquet::{
        arrow::ArrowWriter,
        basic::{Compression, ZstdLevel},
        file::properties::WriterProperties,
    },
};
use futures::StreamExt;
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    sync::Arc,
};
use wgslice_scale::partial;

/// The estimated size in bytes of an encoded row group. The writer keeps a row group in memory until it has this size,
/// and then writes it. A reader may hold as many bytes, for all columns together.
const ROW_GROUP: usize = 64 << 20;

pub(super) struct Output {
    path: PathBuf,
    /// The file that is written until the result is complete, in the folder of the final file.
    partial: Partial,
    writer: ArrowWriter<File>,
    schema: SchemaRef,
}

/// A file that is removed when this value is dropped, unless it has been renamed.
struct Partial(PathBuf);

impl Drop for Partial {
    fn drop(&mut self) {
        // If the file has its final name, there is nothing to remove.
        let _ = fs::remove_file(&self.0);
    }
}

impl Output {
    pub(super) fn create(path: &Path, schema: &Schema) -> Result<Self, Failure> {
        let unwritten = |error: &dyn std::fmt::Display| {
            Failure::usage(format_args!("cannot write {}: {error}", path.display()))
        };
        if path.file_name().is_none() || path.is_dir() {
            return Err(unwritten(&"it is a folder, but must be a file"));
        }
        let beside = partial::beside(path);
        let file = File::create_new(&beside).map_err(|error| unwritten(&error))?;
        let partial = Partial(beside);
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_bytes(Some(ROW_GROUP))
            .build();
        let schema = Arc::new(schema.clone());
        let writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties));
        Ok(Self {
            path: path.to_owned(),
            partial,
            writer: writer.map_err(|error| unwritten(&error))?,
            schema,
        })
    }

    /// Writes the result of the query, and gives the file its name. Returns the number of rows, and the size of the
    /// file in bytes.
    pub(super) async fn write_all(mut self, result: DataFrame) -> Result<(usize, u64), Failure> {
        let mut rows = 0;
        let mut batches = result.execute_stream().await.map_err(failed)?;
        let unwritten = |error: &dyn std::fmt::Display| {
            Failure::work(format_args!(
                "cannot write {}: {error}",
                self.path.display()
            ))
        };
        while let Some(batch) = batches.next().await {
            let batch = batch.map_err(failed)?;
            rows += batch.num_rows();
            // Some steps of a plan lose the metadata of columns, such as the shape of tensors, so it is restored here.
            let batch = RecordBatch::try_new(Arc::clone(&self.schema), batch.columns().to_vec());
            let batch = batch.map_err(|error| unwritten(&error))?;
            self.writer
                .write(&batch)
                .map_err(|error| unwritten(&error))?;
        }
        self.writer.finish().map_err(|error| unwritten(&error))?;
        let file = self.writer.inner();
        file.sync_all().map_err(|error| unwritten(&error))?;
        let bytes = file.metadata().map_err(|error| unwritten(&error))?.len();
        fs::rename(&self.partial.0, &self.path).map_err(|error| unwritten(&error))?;
        Ok((rows, bytes))
    }
}
