//! How many rows are in memory at a time.
//!
//! DataFusion moves batches of 8192 rows, whatever their size: of photographs these are gigabytes. So a query moves
//! batches of as many rows as fit a few megabytes.

use datafusion::{
    arrow::datatypes::{DataType, Fields},
    common::tree_node::TreeNodeRecursion,
    error::Result,
    logical_expr::LogicalPlan,
};

/// The memory for a batch where nothing is known of the memory, in bytes.
const USUAL: usize = 16 << 20;

/// The number of batches that a task has in memory at a time: read, computed, written, and in channels between these.
const IN_FLIGHT: usize = 8;

/// DataFusion's own number of rows.
const MOST: usize = 8192;

/// The memory for a batch of a task that has this much memory, in bytes.
pub(super) fn memory_of(task: Option<usize>) -> usize {
    task.map_or(USUAL, |task| (task / IN_FLIGHT).clamp(1, USUAL))
}

/// The number of rows of a batch, for a query none of whose steps makes a batch above this memory, in bytes, unless a
/// single row is.
pub(super) fn rows(plan: &LogicalPlan, memory: usize) -> Result<usize> {
    let mut widest = 1;
    plan.apply_with_subqueries(|step| {
        widest = widest.max(row(step.schema().fields()));
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok((memory / widest).clamp(1, MOST))
}

/// The size of a row in bytes. Texts and others of unknown size count little.
fn row(fields: &Fields) -> usize {
    let sizes = fields.iter().map(|field| size(field.data_type()));
    sizes.fold(0, usize::saturating_add)
}

fn size(data_type: &DataType) -> usize {
    const UNKNOWN: usize = 32;
    // Parquet stores elements of lists with two levels of 2 bytes, and small integers as 4 bytes. What reads and writes
    // it has all of these in memory for a batch.
    const STORED: usize = 8;
    match data_type {
        DataType::FixedSizeList(item, length) => {
            let stored = if item.data_type().is_nested() {
                0
            } else {
                STORED
            };
            let item = size(item.data_type()) + stored;
            item.saturating_mul(usize::try_from(*length).unwrap_or(0))
        }
        DataType::Struct(fields) => row(fields),
        other => other.primitive_width().unwrap_or(UNKNOWN),
    }
}
