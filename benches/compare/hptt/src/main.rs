//! Times HPTT, a C++ library that transposes tensors, on workloads that transpose `f32`, for `compare.py --program`:
//!
//! ```text
//! hptt-peer WORKLOADS REPS ONLY OUT
//! ```
//!
//! It reads those workloads of a JSON file that `ONLY` names (all if `ONLY` is empty), and appends a line of JSON to
//! `OUT` for each workload and mode. The data, the checksum and the form of a line are the same as in `common.py`.
//! HPTT uses all cores.

use hptt::{MemoryOrder, transpose_f32};
use serde_json::{Value, json};
use std::{error::Error, fs, fs::File, hint::black_box, io::Write, thread, time::Instant};

const WARM_UP: usize = 2;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [workloads, reps, only, out] = &arguments[..] else {
        return Err("usage: hptt-peer WORKLOADS REPS ONLY OUT".into());
    };
    let reps: usize = reps.parse()?;
    let cores = thread::available_parallelism()?.get();
    let file: Value = serde_json::from_str(&fs::read_to_string(workloads)?)?;
    let mut out = File::options().create(true).append(true).open(out)?;
    let version = format!("HPTT, crate hptt 0.4, {cores} threads");
    writeln!(
        out,
        "{}",
        json!({"peer": "hptt", "workload": "version", "version": version})
    )?;
    for workload in file["workloads"].as_array().into_iter().flatten() {
        let name = workload["id"].as_str().unwrap_or_default();
        let is_selected = only.is_empty() || only.split(',').any(|other| other == name);
        if !is_selected || workload["op"] != "transpose" || workload["dtype"] != "f32" {
            continue;
        }
        let shape = numbers(&workload["shape"]);
        let axes = numbers(&workload["axes"]);
        let element_count: usize = shape.iter().product();
        let x: Vec<f32> = (0..element_count)
            .map(|n| (n as u32 % 8191) as f32)
            .collect();
        let mut previous_result = vec![0f32; element_count];
        for mode in ["fresh", "resident"] {
            let mut times = Vec::new();
            let mut sum = 0.0;
            for n in 0..=WARM_UP + reps {
                let start = Instant::now();
                // In the mode `fresh` each result gets new memory, and otherwise the previous result's memory.
                let mut result = match mode {
                    "fresh" => vec![0f32; element_count],
                    _ => std::mem::take(&mut previous_result),
                };
                let order = MemoryOrder::RowMajor;
                transpose_f32(&axes, 1.0, &x, &shape, 0.0, &mut result, cores, order)?;
                let result = black_box(result);
                let time = start.elapsed().as_secs_f64();
                match n {
                    0 => sum = checksum(&result),
                    n if n > WARM_UP => times.push(time),
                    _ => {}
                }
                previous_result = result;
            }
            let mut line = json!({"peer": "hptt", "workload": name, "mode": mode, "checksum": sum});
            match workload["checksum"].as_f64() {
                Some(expected_sum) if expected_sum != sum => line["error"] = "wrong result".into(),
                _ => line["times"] = times.into(),
            }
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

fn numbers(list: &Value) -> Vec<usize> {
    let numbers = list.as_array().into_iter().flatten();
    numbers.filter_map(|n| Some(n.as_u64()? as usize)).collect()
}

/// Returns the sum of `result[i] * (i % 97 + 1)`, which is exact.
fn checksum(result: &[f32]) -> f64 {
    let weighted = |(i, &value): (usize, &f32)| f64::from(value) * (i % 97 + 1) as f64;
    result.iter().enumerate().map(weighted).sum()
}
