//! Defines the cases: the benchmark's workloads, further shapes, and the workloads again in kernels modelled on the
//! kernels of other projects, the peers.

mod peers;
mod shapes;
mod workloads;

pub(crate) use peers::Peer;

use peers::Launch;
use wgpu::BufferUsages;
use wgslice::{Error, Gpu, Plan};

/// An operation on a shape.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) work: CaseWork,
}

/// The work that a case records.
#[derive(Clone, Debug)]
pub(crate) enum CaseWork {
    Move(Plan),
    Gather(Plan, HashedIndices),
    Scatter(Plan, HashedIndices),
    /// A kernel modelled on a peer's kernel.
    Peer(Peer, Box<Launch>),
}

/// Index tuples. Coordinate `i`, counted over all tuples, is a hash of `i` modulo the size of its dimension. Unless
/// tuples are unique, the hash is the benchmark's.
#[derive(Clone, Debug)]
pub(crate) struct HashedIndices {
    /// The number of tuples.
    pub(crate) rows: usize,
    /// The size of the dimension that each coordinate of a tuple indexes.
    pub(crate) sizes: Vec<usize>,
    pub(crate) is_64_bit: bool,
    /// True if no two tuples are equal. Each tuple then has one coordinate, and the size of its dimension is a power of
    /// two.
    pub(crate) is_unique: bool,
}

/// Returns all cases that the library runs.
pub(crate) fn library_cases() -> Vec<Case> {
    let mut cases = workloads::workload_cases();
    cases.extend(shapes::shape_cases());
    cases
}

/// Returns the cases of peers: the kernels of each peer for the workloads that it can run.
pub(crate) fn peer_cases() -> Vec<Case> {
    workloads::peer_cases()
}

impl Case {
    fn new(name: &str, description: &str, work: CaseWork) -> Self {
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            work,
        }
    }

    /// Records the case with new buffers.
    pub(crate) fn record(
        &self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<(), Error> {
        let mut encode = |plan: &Plan, indices: Option<&HashedIndices>| {
            let source = buffer(gpu, plan.inputs()[0].bytes());
            let dest = buffer(gpu, plan.outputs()[0].bytes());
            let tuples = indices.map(|indices| indices.upload(gpu));
            let inputs = [Some(&source), tuples.as_ref()].into_iter().flatten();
            let inputs: Vec<_> = inputs.map(|buffer| buffer.slice(..)).collect();
            let outputs = [dest.slice(..)];
            gpu.encode(encoder, plan, &inputs, &outputs).map(drop)
        };
        match &self.work {
            CaseWork::Move(plan) => encode(plan, None)?,
            CaseWork::Gather(plan, indices) | CaseWork::Scatter(plan, indices) => {
                encode(plan, Some(indices))?;
            }
            CaseWork::Peer(peer, launch) => launch.record(&peer.to_string(), gpu, encoder),
        }
        Ok(())
    }
}

fn buffer(gpu: &Gpu, bytes: usize) -> wgpu::Buffer {
    gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: (bytes as u64).max(4).next_multiple_of(4),
        usage: BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

impl HashedIndices {
    /// Returns all coordinates, tuple by tuple.
    fn coordinates(&self) -> impl Iterator<Item = u64> {
        let coordinate_count = self.rows * self.sizes.len();
        let sizes = self.sizes.iter().cycle();
        let hashed_number = |i| match self.is_unique {
            // The factor is odd, so different numbers below a power of two stay different modulo this power.
            true => i as u64 * 0x9e37_79b1,
            false => u64::from(hash_number(i)),
        };
        let numbers = (0..coordinate_count).zip(sizes);
        numbers.map(move |(i, &size)| hashed_number(i) % size as u64)
    }

    fn upload(&self, gpu: &Gpu) -> wgpu::Buffer {
        let width = if self.is_64_bit { 8 } else { 4 };
        let mut bytes = Vec::new();
        for number in self.coordinates() {
            bytes.extend_from_slice(&number.to_le_bytes()[..width]);
        }
        let buffer = buffer(gpu, bytes.len());
        gpu.queue().write_buffer(&buffer, 0, &bytes);
        buffer
    }
}

/// Returns the benchmark's hash of `i` modulo 2^32.
fn hash_number(i: usize) -> u32 {
    let mut hash = u32::try_from(i & u32::MAX as usize).unwrap_or(u32::MAX);
    hash ^= hash >> 16;
    hash = hash.wrapping_mul(0x7feb_352d);
    hash ^= hash >> 15;
    hash = hash.wrapping_mul(0x846c_a68b);
    hash ^ (hash >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_plans_are_not_empty() {
        let cases: Vec<Case> = library_cases().into_iter().chain(peer_cases()).collect();
        let names: BTreeSet<&str> = cases.iter().map(|case| &*case.name).collect();
        assert_eq!(names.len(), cases.len());
        for case in &cases {
            match &case.work {
                CaseWork::Move(plan) | CaseWork::Gather(plan, _) | CaseWork::Scatter(plan, _) => {
                    assert!(plan.outputs()[0].bytes() > 0, "{}", case.name);
                }
                CaseWork::Peer(..) => {}
            }
        }
    }
}
