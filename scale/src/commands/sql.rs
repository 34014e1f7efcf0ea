//! `wgslice-scale sql`.

mod output;
mod table;

use super::{RunArgs, cores, engine, print, runtime, signal};
use crate::failure::Failure;
use datafusion::{dataframe::DataFrame, error::DataFusionError};
use output::Output;
use serde_json::json;
use std::{path::PathBuf, time::Instant};
use wgslice_scale::engine::message;

/// Run a query on tables of tensors
///
/// A query names Parquet files, or folders of them, in quotes as its tables. In addition to SQL's own functions there
/// are strided_slice, gather, gather_nd, crop, scatter_nd, boolean_mask, nonzero, count_nonzero, tensor_select,
/// tensor_convert, tensor_shape, tensor_reshape, tensor_from_arrow and tensor_to_arrow. Tensors are nested
/// FixedSizeLists, or arrow.fixed_shape_tensor.
///
/// Without ORDER BY, the order of rows is undefined.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice-scale sql \"SELECT id, strided_slice(image, '32:288:2, ::-1') AS face
                     FROM 'images.parquet'\" -o faces.parquet
  wgslice-scale sql \"SELECT id, gather(scores, best, 'out_of_range=zero') FROM 'words.parquet'\"
  wgslice-scale sql \"SELECT tensor_to_arrow(crop(image, '[8, 8]', '224, 224')) AS image
                     FROM 'images/'\" -o crops.parquet --cluster df://scheduler.local:50050")]
pub(crate) struct Sql {
    /// The query
    #[arg(value_name = "QUERY")]
    query: String,
    /// Write the result to this Parquet file [default: print its first rows]
    #[arg(short, long, value_name = "OUT.parquet")]
    output: Option<PathBuf>,
    /// Print JSON: a line for each row, or with -o a line of figures
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    run_args: RunArgs,
}

pub(crate) fn run(args: &Sql) -> Result<(), Failure> {
    let runtime = runtime(args.run_args.threads.unwrap_or_else(cores))?;
    let outcome = runtime.block_on(async {
        tokio::select! {
            outcome = query(args) => outcome,
            name = signal() => Err(Failure::work(format_args!("ended by {name}; nothing was written"))),
        }
    });
    runtime.shutdown_background();
    outcome
}

async fn query(args: &Sql) -> Result<(), Failure> {
    let engine = engine(&args.run_args).await?;
    let result = engine.query(&args.query).await;
    let result = result.map_err(|error| Failure::usage(message(&error)))?;
    let outcome = tokio::select! {
        outcome = run_query(args, result) => outcome,
        error = engine.lost(args.run_args.patience()) => Err(Failure::work(message(&error))),
    };
    match outcome {
        Err(Failure::Work(problem)) => {
            let located = engine.locate(&args.query, &problem).await;
            Err(Failure::Work(located.unwrap_or(problem)))
        }
        outcome => outcome,
    }
}

async fn run_query(args: &Sql, result: DataFrame) -> Result<(), Failure> {
    let start = Instant::now();
    let Some(path) = &args.output else {
        return match args.json {
            true => table::print_lines(result).await,
            false => table::print_first(result).await,
        };
    };
    let output = Output::create(path, result.schema().as_arrow())?;
    let (rows, bytes) = output.write_all(result, args.run_args.memory).await?;
    if args.json {
        let figures = json!({
            "output": path.display().to_string(),
            "rows": rows,
            "bytes": bytes,
            "seconds": start.elapsed().as_secs_f64(),
        });
        print(figures)?;
    }
    Ok(())
}

fn failed(error: DataFusionError) -> Failure {
    Failure::work(message(&error))
}
