//! How many rows are in memory at a time.
//!
//! DataFusion moves batches of 8192 rows by default, whatever the size of a row: for photographs that is gigabytes. So
//! a query here moves batches of as many rows as fit a few megabytes.

use datafusion::{
    arrow::datatypes::{DataType, Fields},
    common::tree_node::TreeNodeRecursion,
    error::Result,
    logical_expr::LogicalPlan,
};

/// The memory for a batch in bytes, if the memory of a task is not known.
const USUAL: usize = 16 << 20;

/// The number of batches that a task has in memory at a time: those that are read, computed and written, and those in
/// channels between these steps.
const IN_FLIGHT: usize = 8;

/// DataFusion's own number of rows.
const MOST: usize = 8192;

/// The memory for a batch in bytes, for a task with `task` bytes.
pub(super) fn memory_of(task: Option<usize>) -> usize {
    task.map_or(USUAL, |task| (task / IN_FLIGHT).clamp(1, USUAL))
}

/// The number of rows of a batch with which no step of the query makes a batch of more than `memory` bytes, unless a
/// single row is larger.
pub(super) fn rows(plan: &LogicalPlan, memory: usize) -> Result<usize> {
    let mut widest = 1;
    plan.apply_with_subqueries(|step| {
        widest = widest.max(row(step.schema().fields()));
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok((memory / widest).clamp(1, MOST))
}

/// The size of a row in bytes. Values of unknown size, such as texts, count as 32 bytes.
fn row(fields: &Fields) -> usize {
    let sizes = fields.iter().map(|field| size(field.data_type()));
    sizes.fold(0, usize::saturating_add)
}

fn size(data_type: &DataType) -> usize {
    const UNKNOWN: usize = 32;
    // Parquet stores elements of lists with two levels of 2 bytes each, and small integers as 4 bytes. Its readers and
    // writers have all of these in memory for a batch.
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
