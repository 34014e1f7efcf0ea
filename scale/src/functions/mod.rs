//! Functions for SQL: [`register_all`] makes them known to a session, a scheduler or an executor.

pub mod zarr_shard;

use datafusion::{error::Result, execution::FunctionRegistry, logical_expr::ScalarUDF};
use std::sync::Arc;

/// Registers all functions of this crate. A function with the same name is replaced.
pub fn register_all(registry: &mut dyn FunctionRegistry) -> Result<()> {
    registry.register_udf(Arc::new(ScalarUDF::from(zarr_shard::ZarrShard::default())))?;
    Ok(())
}
