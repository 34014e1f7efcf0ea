//! `wgslice-scale sql`.

use super::{cores, memory, runtime};
use crate::failure::Failure;
use wgslice_scale::engine::Engine;

/// Run a query on tables of tensors
#[derive(Debug, clap::Args)]
pub(crate) struct Sql {
    /// The query
    #[arg(value_name = "QUERY")]
    query: String,
    /// Memory for the query, as in 500M or 2G
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    memory: Option<usize>,
}

pub(crate) fn run(args: &Sql) -> Result<(), Failure> {
    let _ = args.memory;
    let engine = Engine::embedded(cores()).map_err(Failure::work)?;
    runtime(cores())?.block_on(async {
        let table = engine
            .context()
            .sql(&args.query)
            .await
            .map_err(Failure::usage)?;
        table.show().await.map_err(Failure::work)
    })
}
