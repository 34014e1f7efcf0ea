//! The files that a query names, as tables.
//!
//! A table is a listing of files, and nothing of this crate: that is what reaches the scheduler of a cluster.

use datafusion::{
    arrow::datatypes::Schema,
    catalog::TableProvider,
    common::{TableReference, plan_err},
    datasource::{
        file_format::{FileFormat, parquet::ParquetFormat},
        listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl},
    },
    error::Result,
    execution::SessionState,
    prelude::SessionContext,
};
use futures::{StreamExt, TryStreamExt, stream};
use std::{slice, sync::Arc};

/// The number of files whose schemas are read at a time.
const SCHEMAS: usize = 32;

/// Registers the files that the query names.
pub(super) async fn register(context: &SessionContext, query: &str) -> Result<()> {
    let state = context.state();
    let dialect = state.config_options().sql_parser.dialect;
    let statement = state.sql_to_statement(query, &dialect)?;
    for table in state.resolve_table_references(&statement)? {
        if let TableReference::Bare { table: name } = &table
            && !context.table_exist(table.clone())?
        {
            let files = files(&state, name).await?;
            context.register_table(table, files)?;
        }
    }
    Ok(())
}

async fn files(state: &SessionState, name: &str) -> Result<Arc<dyn TableProvider>> {
    let parquet = state.default_table_options().parquet;
    let format = ParquetFormat::new()
        .with_options(parquet)
        .with_skip_metadata(false);
    let url = ListingTableUrl::parse(name)?;
    let store = state.runtime_env().object_store(&url)?;
    // A single file may have any name.
    let extension = if url.is_collection() { ".parquet" } else { "" };
    let listed = url.list_all_files(state, store.as_ref(), extension).await?;
    let mut files: Vec<_> = listed.try_collect().await?;
    files.retain(|file| file.size > 0);
    if files.is_empty() {
        return plan_err!(
            "{name} is no table: tables are Parquet files, or folders of files named .parquet, and stand in quotes, as \
             in SELECT * FROM 'images.parquet'"
        );
    }
    files.sort_unstable_by(|one, other| one.location.cmp(&other.location));
    let schemas =
        stream::iter(&files).map(|file| format.infer_schema(state, &store, slice::from_ref(file)));
    let schemas: Vec<_> = schemas.buffered(SCHEMAS).try_collect().await?;
    // The metadata of a column may be the shape of its tensors. That of a whole file differs between files that pandas
    // wrote.
    let schemas = schemas
        .iter()
        .map(|schema| Schema::new(schema.fields().clone()));
    let schema = Arc::new(Schema::try_merge(schemas)?);
    let options = ListingOptions::new(Arc::new(format)).with_file_extension(extension);
    let config = ListingTableConfig::new(url).with_listing_options(options);
    let config = config
        .infer_partitions_from_path(state)
        .await?
        .with_schema(schema);
    Ok(Arc::new(ListingTable::try_new(config)?))
}
