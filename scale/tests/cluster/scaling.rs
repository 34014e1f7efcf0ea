//! Measures the scheduler's overhead with tasks that do hardly any work. The measurement is an ignored test.
//! `SCALING.md` has its results, and describes how to run it.

use super::harness::Cluster;
use crate::tables::run;
use datafusion::{
    arrow::{
        array::{ArrayRef, Int64Array, RecordBatch},
        datatypes::Int64Type,
    },
    parquet::arrow::ArrowWriter,
};
use std::{fs::File, path::Path, sync::Arc, time::Instant};
use tempfile::TempDir;
use wgslice_scale::engine::Engine;

const TASK_COUNT: usize = 1_000_000;

/// Divides the tasks into this many files, in the format of a job's lists of tasks.
fn write_tasks(folder: &Path, file_count: usize) {
    let tasks_per_file = TASK_COUNT / file_count;
    for file_number in 0..file_count {
        let shards = (0..tasks_per_file).map(|task| (file_number + task * file_count) as i64);
        let shards: ArrayRef = Arc::new(Int64Array::from_iter_values(shards));
        let batch = RecordBatch::try_from_iter([("shard", shards)]).unwrap();
        let file = File::create(folder.join(format!("{file_number}.parquet"))).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }
}

/// Runs a function that does hardly any work for every task, checks the answers, and returns the time in seconds.
async fn time_query(engine: &Engine, folder: &Path) -> f64 {
    let start = Instant::now();
    let query = format!(
        "SELECT gather('[1, 1, 1]', shard % 3) AS outcome FROM '{}/'",
        folder.display()
    );
    let result = run(engine, &query).await.unwrap();
    let outcomes = crate::tables::elements::<Int64Type>(result.column(0));
    assert_eq!(outcomes.len(), TASK_COUNT);
    assert!(outcomes.iter().all(|&outcome| outcome == 1));
    start.elapsed().as_secs_f64()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes; its results are in SCALING.md"]
async fn a_million_tasks_pass_the_scheduler() {
    println!(
        "| engine | lists of tasks | time in s | lists per s | tasks per s | memory of the scheduler in MiB |"
    );
    println!("|---|---|---|---|---|---|");
    for file_count in [8, 100, 1000, 10_000] {
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        write_tasks(folder.path(), file_count);
        let local_engine = Engine::embedded(2).unwrap();
        let seconds = time_query(&local_engine, folder.path()).await;
        report("in one process", file_count, seconds, "");
        let cluster = Cluster::with_executors(&format!("scaling-{file_count}"), 3, 300, None, &[]);
        let cluster_engine = Engine::cluster(&cluster.url, file_count).await.unwrap();
        let seconds = time_query(&cluster_engine, folder.path()).await;
        let peak = cluster.scheduler_peak() >> 20;
        report(
            "cluster of 3 executors",
            file_count,
            seconds,
            &peak.to_string(),
        );
    }
}

fn report(engine: &str, file_count: usize, seconds: f64, peak: &str) {
    let (lists, tasks) = (file_count as f64 / seconds, TASK_COUNT as f64 / seconds);
    println!("| {engine} | {file_count} | {seconds:.1} | {lists:.0} | {tasks:.0} | {peak} |");
}
