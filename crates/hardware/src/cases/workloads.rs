//! The benchmark's workloads, and the subset for which peers have a kernel.

use super::{
    Case, CaseWork, HashedIndices, Peer,
    peers::{Bounds, gather_launch, slice_launch},
};
use serde::Deserialize;
use wgslice::{
    DType, Plan, SliceSpec, View,
    options::{Boxes, CropOptions, GatherNdOptions},
};

const WORKLOADS: &str = include_str!("../../../../cli/src/bench/workloads.json");

#[derive(Debug, Deserialize)]
struct File {
    workloads: Vec<Workload>,
}

#[derive(Debug, Deserialize)]
struct Workload {
    id: String,
    what: String,
    dtype: String,
    shape: Vec<usize>,
    #[serde(flatten)]
    operation: Operation,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Operation {
    /// Python's start, stop and step of each dimension.
    Slice {
        slices: Vec<Bounds>,
    },
    GatherNd {
        indices: [usize; 2],
    },
    Transpose {
        axes: Vec<usize>,
    },
    Crop {
        size: Vec<usize>,
    },
    Update {
        slices: Vec<Bounds>,
    },
}

fn parse_workloads() -> Vec<Workload> {
    let file: File = serde_json::from_str(WORKLOADS).expect("the benchmark's own file");
    file.workloads
}

/// Returns each workload as the library runs it.
pub(super) fn workload_cases() -> Vec<Case> {
    let case = |workload: Workload| Case::new(&workload.id, &workload.what, workload.case_work());
    parse_workloads().into_iter().map(case).collect()
}

/// Returns the workloads of f32, except W11, as run by each peer that has a kernel for them.
pub(super) fn peer_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for workload in parse_workloads() {
        // Peers' kernels are modelled for f32 only, and W11 measures the time of a dispatch.
        if workload.dtype != "f32" || workload.id == "W11" {
            continue;
        }
        for peer in Peer::ALL {
            let launch = match &workload.operation {
                Operation::Slice { slices } => slice_launch(peer, &workload.shape, slices),
                &Operation::GatherNd { indices } => gather_launch(peer, &workload.shape, indices),
                Operation::Transpose { .. } | Operation::Crop { .. } | Operation::Update { .. } => {
                    None
                }
            };
            if let Some(launch) = launch {
                let name = format!("{} {peer}", workload.id);
                let work = CaseWork::Peer(peer, Box::new(launch));
                cases.push(Case::new(&name, &workload.what, work));
            }
        }
    }
    cases
}

fn make_spec(slices: &[Bounds]) -> SliceSpec {
    let bound_text =
        |bound: &Option<i64>| bound.map_or_else(String::new, |position| position.to_string());
    let dim_text = |dim: &Bounds| dim.each_ref().map(bound_text).join(":");
    let spec = slices.iter().map(dim_text).collect::<Vec<_>>().join(", ");
    spec.parse().expect("a slice")
}

impl Workload {
    fn case_work(&self) -> CaseWork {
        let dtype = match self.dtype.as_str() {
            "u8" => DType::U8,
            "f16" => DType::F16,
            "f32" => DType::F32,
            "f64" => DType::F64,
            other => panic!("{}: no type {other}", self.id),
        };
        let plan = match &self.operation {
            Operation::Slice { slices } => Plan::slice(&self.shape, &make_spec(slices), dtype),
            Operation::Update { slices } => {
                let spec = make_spec(slices);
                let updated_view = spec.view(&self.shape).expect("a slice");
                Plan::slice_update(&self.shape, &spec, updated_view.shape(), dtype)
            }
            Operation::Crop { size } => {
                let options = CropOptions {
                    sizes: size.clone(),
                    ..CropOptions::default()
                };
                let count = self.shape[0];
                let boxes = Boxes::of_tuples(&[count, 2 * size.len()], false, true);
                let begin_counts = size.iter().zip(&self.shape[1..]);
                let begin_counts = begin_counts.map(|(size, dim)| dim - size + 1);
                let indices = HashedIndices {
                    rows: count,
                    sizes: begin_counts.chain(size.iter().map(|_| 2)).collect(),
                    is_64_bit: false,
                    is_unique: false,
                };
                let plan = Plan::crop(&self.shape, boxes, &options, dtype);
                return CaseWork::Gather(plan.expect("a crop"), indices);
            }
            Operation::GatherNd { indices } => {
                let plan = Plan::gather_nd(&self.shape, indices, GatherNdOptions::default(), dtype);
                let indices = HashedIndices {
                    rows: indices[0],
                    sizes: self.shape[..indices[1]].to_vec(),
                    is_64_bit: false,
                    is_unique: false,
                };
                return CaseWork::Gather(plan.expect("a gather"), indices);
            }
            Operation::Transpose { axes } => {
                let view = View::new(&self.shape).and_then(|view| view.transpose(axes));
                view.and_then(|view| Plan::contiguous(view, dtype))
            }
        };
        CaseWork::Move(plan.expect("a plan"))
    }
}
