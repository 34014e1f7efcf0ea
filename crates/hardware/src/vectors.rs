//! Lists the pipelines that the golden vectors in `tests/vectors/seed1.jsonl` need if each vector is run in all its
//! [`variants`]: element types, index types and policies for out-of-range indices.

use crate::device::Device;
use std::collections::HashSet;
use strict_gpu::PipelineRequest;
use wgslice::Backend;
use wgslice_vectors::{Call, parse, run, variants};

const VECTORS: &str = include_str!("../../../tests/vectors/seed1.jsonl");

/// Returns the properties that identify a pipeline: requests with equal properties share one pipeline in the library.
pub(crate) fn pipeline_key(pipeline: &PipelineRequest) -> (String, Vec<(String, u64)>) {
    let constants = pipeline.constants.iter();
    let constants = constants.map(|(name, value)| (name.clone(), value.to_bits()));
    (pipeline.source.clone(), constants.collect())
}

/// Returns the different pipelines that the vectors need on a device, each with the line of the vector file that
/// first needs it.
///
/// # Errors
///
/// The error names the line of the vector file that cannot be read.
pub(crate) fn vector_pipelines(device: &Device) -> Result<Vec<(String, PipelineRequest)>, String> {
    let backend = Backend::from(device.gpu.clone());
    let mut seen_keys = HashSet::new();
    let mut pipelines = Vec::new();
    for case in parse(VECTORS) {
        let case = case.map_err(|error| error.to_string())?;
        let call = Call::of(&case).map_err(|error| error.to_string())?;
        for variant in variants(&case, &call) {
            // Other tests check the outcome.
            let _ = run(&call, &backend, &variant);
            for pipeline in device.strict.take_pipelines() {
                if seen_keys.insert(pipeline_key(&pipeline)) {
                    pipelines.push((format!("line {}", case.line), pipeline));
                }
            }
        }
    }
    Ok(pipelines)
}
