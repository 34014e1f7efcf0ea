//! Makes tables from the files that a query names.
//!
//! A table is DataFusion's listing of files, not a type of this crate, because DataFusion's tables can be sent to the
//! scheduler of a cluster.

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
    logical_expr::LogicalPlan,
    prelude::SessionContext,
    sql::{
        parser::Statement,
        sqlparser::ast::{Ident, ObjectNamePart, visit_relations_mut},
    },
};
use futures::{StreamExt, TryStreamExt, stream};
use std::{collections::HashMap, ops::ControlFlow, slice, sync::Arc};

/// The number of files whose schemas are read in parallel.
const SCHEMAS_IN_PARALLEL: usize = 32;

/// Plans a query, and registers the files that it names as tables.
///
/// Tables do not keep their files' names: a column is sent to a scheduler with its table's name, and a dot in this
/// name would separate a schema from a table.
pub(super) async fn plan(
    context: &SessionContext,
    query: &str,
) -> Result<(SessionState, LogicalPlan)> {
    let state = context.state();
    let dialect = state.config_options().sql_parser.dialect;
    let mut statement = state.sql_to_statement(query, &dialect)?;
    let mut table_names = HashMap::new();
    for table in state.resolve_table_references(&statement)? {
        if let TableReference::Bare { table: file } = &table
            && !context.table_exist(table.clone())?
        {
            let name = table_name(file, table_names.len());
            let provider = listing_table(&state, file).await?;
            context.deregister_table(name.as_str())?;
            context.register_table(name.as_str(), provider)?;
            table_names.insert(file.to_string(), name);
        }
    }
    if let Statement::Statement(statement) = &mut statement {
        let _ = visit_relations_mut(statement.as_mut(), |relation| {
            if let [ObjectNamePart::Identifier(part)] = &mut relation.0[..]
                && let Some(name) = table_names
                    .get(&part.value)
                    .or_else(|| table_names.get(&part.value.to_lowercase()))
            {
                *part = Ident::new(name);
            }
            ControlFlow::<()>::Continue(())
        });
    }
    let state = context.state();
    let plan = state.statement_to_plan(statement).await?;
    Ok((state, plan))
}

/// Makes a name for table `number` of a query from the file's name: lower case letters, digits and underscores.
fn table_name(file: &str, number: usize) -> String {
    let file_name = file
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or_default();
    let characters = file_name.chars().map(|character| {
        if character.is_ascii_alphanumeric() {
            character
        } else {
            '_'
        }
    });
    let characters: String = characters.collect();
    format!("table_{number}_{}", characters.to_ascii_lowercase())
}

async fn listing_table(state: &SessionState, location: &str) -> Result<Arc<dyn TableProvider>> {
    let parquet = state.default_table_options().parquet;
    let format = ParquetFormat::new()
        .with_options(parquet)
        .with_skip_metadata(false);
    let url = ListingTableUrl::parse(location)?;
    let store = state.runtime_env().object_store(&url)?;
    // A single file can have any extension.
    let extension = if url.is_collection() { ".parquet" } else { "" };
    let listed = url.list_all_files(state, store.as_ref(), extension).await?;
    let mut files: Vec<_> = listed.try_collect().await?;
    files.retain(|file| file.size > 0);
    if files.is_empty() {
        return plan_err!(
            "{location} is no table: tables are Parquet files, or folders of files named .parquet, and stand in quotes, \
             as in SELECT * FROM 'images.parquet'"
        );
    }
    files.sort_unstable_by(|one, other| one.location.cmp(&other.location));
    let schemas =
        stream::iter(&files).map(|file| format.infer_schema(state, &store, slice::from_ref(file)));
    let schemas: Vec<_> = schemas.buffered(SCHEMAS_IN_PARALLEL).try_collect().await?;
    // The metadata of columns is kept, because it can contain the shape of tensors. The metadata of whole files is
    // dropped, because pandas writes different metadata to each file.
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
