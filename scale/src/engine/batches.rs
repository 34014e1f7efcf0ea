//! Decides how many rows are in memory at a time.
//!
//! By default, DataFusion moves batches of 8192 rows, whatever the size of a row: a batch of photographs takes
//! gigabytes. A query of this crate moves batches with as many rows, up to 8192, as fit in 1 MiB, or in less if a task
//! has little memory. Larger batches are slower: the allocator returns the memory of each batch to the system and
//! requests it again, and the system clears each page (`benches/results.md`).

use datafusion::{
    arrow::datatypes::{DataType, Fields},
    common::tree_node::TreeNodeRecursion,
    error::Result,
    logical_expr::LogicalPlan,
};

/// The memory for a batch in bytes, unless the memory of a task allows less.
const USUAL_BATCH_BYTES: usize = 1 << 20;

/// The number of batches that a task has in memory at a time: those that are read, computed and written, and those in
/// channels between these steps.
const BATCHES_IN_FLIGHT: usize = 8;

/// The maximum number of rows in a batch: DataFusion's default.
const MAX_ROWS: usize = 8192;

/// Returns the memory for a batch in bytes. `task_memory` is the memory of a task in bytes, or `None` if it is not
/// known.
pub(super) fn bytes_per_batch(task_memory: Option<usize>) -> usize {
    task_memory.map_or(USUAL_BATCH_BYTES, |task_memory| {
        (task_memory / BATCHES_IN_FLIGHT).clamp(1, USUAL_BATCH_BYTES)
    })
}

/// Returns the number of rows of a batch: the largest number up to [`MAX_ROWS`] for which the estimated size of every
/// step's batches is at most `memory` bytes. It is at least 1.
pub(super) fn rows_per_batch(plan: &LogicalPlan, memory: usize) -> Result<usize> {
    let mut max_row_bytes = 1;
    plan.apply_with_subqueries(|step| {
        max_row_bytes = max_row_bytes.max(row_bytes(step.schema().fields()));
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok((memory / max_row_bytes).clamp(1, MAX_ROWS))
}

/// Estimates the size of a row in bytes. Values of unknown size, such as texts, count as 32 bytes.
fn row_bytes(fields: &Fields) -> usize {
    let sizes = fields.iter().map(|field| bytes_of_type(field.data_type()));
    sizes.fold(0, usize::saturating_add)
}

fn bytes_of_type(data_type: &DataType) -> usize {
    const UNKNOWN_BYTES: usize = 32;
    // The bytes that Parquet's readers and writers hold for an element of a list in addition to its value: two levels
    // of 2 bytes each, and 4 bytes because Parquet stores small integers as 4 bytes. They hold these bytes for all
    // elements of a batch.
    const PARQUET_BYTES: usize = 8;
    match data_type {
        DataType::FixedSizeList(item, length) => {
            let parquet_bytes = if item.data_type().is_nested() {
                0
            } else {
                PARQUET_BYTES
            };
            let item_bytes = bytes_of_type(item.data_type()) + parquet_bytes;
            item_bytes.saturating_mul(usize::try_from(*length).unwrap_or(0))
        }
        DataType::Struct(fields) => row_bytes(fields),
        DataType::Boolean => 1,
        other => other.primitive_width().unwrap_or(UNKNOWN_BYTES),
    }
}
