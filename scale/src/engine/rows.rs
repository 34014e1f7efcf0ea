//! Names rows in errors by their file and their row number in it.
//!
//! A function receives batches of rows, but not the names of the files that they come from. Its last argument can
//! therefore name the rows.

use crate::functions;
use datafusion::{
    common::tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    datasource::{listing::ListingTable, source_as_provider},
    error::Result,
    functions::{
        core::expr_fn::{file_row_index, input_file_name},
        string::expr_fn::concat,
    },
    logical_expr::{Expr, LogicalPlan, expr::ScalarFunction, expr_rewriter::NamePreserver, lit},
};

/// Adds a name for the row to every call without one, if the function accepts such a name. The name is the row's number
/// in its file, counted from 0, and the file, as in `17 of /data/images.parquet`.
pub(super) fn with_names(plan: LogicalPlan) -> Result<LogicalPlan> {
    let named = plan.transform_up_with_subqueries(|step| {
        let preserver = NamePreserver::new(&step);
        let path_prefix = path_prefix(&step)?;
        let step = step.map_expressions(|expression| {
            let column_name = preserver.save(&expression);
            let named =
                expression.transform_up(|expression| Ok(with_name(expression, &path_prefix)))?;
            Ok(named.update_data(|expression| column_name.restore(expression)))
        })?;
        step.map_data(LogicalPlan::recompute_schema)
    })?;
    Ok(named.data)
}

/// Returns the prefix of the paths of the files that a step reads: a slash, or the URL of an object store. Empty if the
/// step reads no files. If a step reads several tables, returns the prefix of one of them. It does not matter which
/// one, because the rows of such a step do not come from a single file.
fn path_prefix(step: &LogicalPlan) -> Result<String> {
    let mut prefix = String::new();
    step.apply(|step| {
        if let LogicalPlan::TableScan(scan) = step
            && let Some(table) = source_as_provider(&scan.source)?.downcast_ref::<ListingTable>()
            && let Some(path) = table.table_paths().first()
        {
            prefix = path.object_store().as_str().replace("file://", "");
            return Ok(TreeNodeRecursion::Stop);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(prefix)
}

fn with_name(expression: Expr, path_prefix: &str) -> Transformed<Expr> {
    match expression {
        Expr::ScalarFunction(call) => match functions::name_position(call.func.name()) {
            Some(name_position) if call.args.len() <= name_position => {
                let ScalarFunction { func, mut args } = call;
                // Optional arguments that the call leaves out become empty texts.
                args.resize(name_position, lit(""));
                args.push(concat(vec![
                    file_row_index(),
                    lit(format!(" of {path_prefix}")),
                    input_file_name(),
                ]));
                Transformed::yes(Expr::ScalarFunction(ScalarFunction::new_udf(func, args)))
            }
            _ => Transformed::no(Expr::ScalarFunction(call)),
        },
        other => Transformed::no(other),
    }
}
