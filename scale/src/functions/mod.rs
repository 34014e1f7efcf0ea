//! Functions for SQL: [`register_all`] makes them known to a session, a scheduler or an executor.

use datafusion::{error::Result, execution::FunctionRegistry};

/// Registers all functions of this crate. A function with the same name is replaced.
pub fn register_all(registry: &mut dyn FunctionRegistry) -> Result<()> {
    let _ = registry;
    Ok(())
}
