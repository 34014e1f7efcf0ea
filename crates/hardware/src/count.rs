//! Counts the memory accesses and operations of each kernel of a case. The interpreter runs the kernels, but only some
//! workgroups of a large dispatch, except in a scatter.

use crate::{
    cases::{Case, CaseWork},
    device::Device,
};
use strict_gpu::{Access, BindingCounts, Counting, DispatchCounts, SECTOR};
use wgslice::Error;

/// A dispatch with more workgroups than this runs only about this many, except in a scatter.
const MAX_WORKGROUPS: u64 = 128;

/// The counts of a kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct KernelCounts {
    /// The pipeline's label.
    pub(crate) label: String,
    /// Reads of the source.
    pub(crate) read: BufferTraffic,
    /// Writes to the result, including atomics.
    pub(crate) written: BufferTraffic,
    /// All other accesses, such as those to indices and to the scratch memory of a scatter. Accesses to the report are
    /// left out.
    pub(crate) other: BufferTraffic,
    /// The number of invocations of all dispatches of the kernel, including those that were not run.
    pub(crate) invocations: f64,
    /// The average number of operations of a subgroup. Only operations whose results differ within a workgroup count.
    pub(crate) operations: f64,
    /// The average number of divisions among these operations.
    pub(crate) divisions: f64,
}

/// The accesses to some buffers. Each number is the sum over a dispatch, divided by its invocations.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct BufferTraffic {
    pub(crate) accesses: f64,
    /// The bytes that all accesses together read or write.
    pub(crate) bytes: f64,
    /// The number of different bytes that the dispatch accesses.
    pub(crate) useful_bytes: f64,
    /// The number of sectors that an instruction requests, summed over instructions.
    pub(crate) sectors: f64,
    /// The number of different sectors that a workgroup requests, summed over workgroups.
    pub(crate) workgroup_sectors: f64,
    /// The number of different sectors that the dispatch requests. If only some workgroups were run, the number is
    /// extrapolated. It is at most the number of sectors of the bindings, because workgroups can share sectors.
    pub(crate) distinct_sectors: f64,
    /// The number of cache lines that an instruction requests, summed over instructions.
    pub(crate) lines: f64,
}

impl KernelCounts {
    /// Counts the accesses and operations of the kernels of a case, in the order of the kernels' first dispatches. A
    /// kernel that runs several times is counted in its first dispatch, but its number of invocations includes all
    /// dispatches.
    pub(crate) fn count_kernels(case: &Case, subgroup: u32) -> Result<Vec<Self>, Error> {
        // All workgroups of a scatter are run, because each of its steps depends on the steps before.
        let most_workgroups = match case.work {
            CaseWork::Scatter(..) => u64::MAX,
            _ => MAX_WORKGROUPS,
        };
        let device = Device::new(Some(Counting {
            subgroup,
            most_workgroups,
        }));
        let mut encoder = device
            .gpu
            .device()
            .create_command_encoder(&Default::default());
        case.record(&device.gpu, &mut encoder)?;
        device.gpu.queue().submit([encoder.finish()]);
        let mut kernels: Vec<Self> = Vec::new();
        for dispatch in device.strict.take_counts() {
            let counted_kernel = kernels
                .iter_mut()
                .find(|kernel| kernel.label == dispatch.pipeline);
            match counted_kernel {
                Some(kernel) => kernel.invocations += invocation_count(&dispatch),
                None => kernels.push(Self::from_dispatch(&dispatch)),
            }
        }
        Ok(kernels)
    }

    fn from_dispatch(dispatch: &DispatchCounts) -> Self {
        let mut counts = Self {
            label: dispatch.pipeline.clone(),
            invocations: invocation_count(dispatch),
            operations: dispatch.operations as f64 / dispatch.subgroups as f64,
            divisions: dispatch.divisions as f64 / dispatch.subgroups as f64,
            ..Self::default()
        };
        for binding in &dispatch.bindings {
            let traffic = match (binding.name.as_str(), binding.access) {
                // The report is written only for invalid indices and has a few bytes.
                ("report", _) => continue,
                ("source", _) => &mut counts.read,
                ("dest", Access::Write | Access::Atomic) => &mut counts.written,
                _ => &mut counts.other,
            };
            traffic.add(binding, dispatch.invocations as f64, counts.invocations);
        }
        counts
    }

    /// Returns the accesses to the source, the writes to the result, and all other accesses.
    pub(crate) fn buffer_traffic(&self) -> [BufferTraffic; 3] {
        [self.read, self.written, self.other]
    }
}

fn invocation_count(dispatch: &DispatchCounts) -> f64 {
    let numbers = dispatch.workgroups.iter().chain(&dispatch.workgroup_size);
    numbers.map(|&number| f64::from(number)).product()
}

impl BufferTraffic {
    /// Adds the counts of a binding, divided by the number of `invocations` that were run. The whole dispatch has
    /// `all_invocations` invocations.
    fn add(&mut self, counts: &BindingCounts, invocations: f64, all_invocations: f64) {
        for (sum, count) in [
            (&mut self.accesses, counts.accesses),
            (&mut self.bytes, counts.bytes),
            (&mut self.useful_bytes, counts.useful_bytes),
            (&mut self.sectors, counts.sectors),
            (&mut self.workgroup_sectors, counts.by_workgroup),
            (&mut self.lines, counts.lines),
        ] {
            *sum += count as f64 / invocations;
        }
        // A binding might not start at a sector boundary.
        let buffer_sectors = counts.size.div_ceil(SECTOR) + 1;
        let sectors_each = counts.distinct_sectors as f64 / invocations;
        self.distinct_sectors += sectors_each.min(buffer_sectors as f64 / all_invocations);
    }

    /// Returns the number of different sectors, divided by the number of sectors that instructions request. The optimum
    /// is 1. `None` if there are no accesses.
    pub(crate) fn sector_efficiency(&self) -> Option<f64> {
        (self.sectors > 0.0).then(|| self.distinct_sectors / self.sectors)
    }

    /// Returns the average number of bytes of an access, or `None` if there are no accesses.
    pub(crate) fn mean_access_bytes(&self) -> Option<f64> {
        (self.accesses > 0.0).then(|| self.bytes / self.accesses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of 10 workgroups is sampled and touches 64 sectors. Extrapolated, these are 640 sectors, but a smaller
    /// binding limits the count to its own sectors (plus one, if it is not aligned).
    #[test]
    fn different_sectors_are_at_most_those_of_the_binding() {
        let binding = |size| BindingCounts {
            name: "source".into(),
            access: Access::Read,
            size,
            accesses: 64,
            bytes: 256,
            instructions: 2,
            sectors: 64,
            lines: 64,
            by_workgroup: 64,
            distinct_sectors: 64,
            useful_bytes: 256,
        };
        let sectors = |size| {
            let counts = KernelCounts::from_dispatch(&DispatchCounts {
                workgroups: [10, 1, 1],
                workgroup_size: [64, 1, 1],
                invocations: 64,
                subgroups: 2,
                bindings: vec![binding(size)],
                ..DispatchCounts::default()
            });
            assert_eq!(counts.invocations, 640.0);
            counts.read.distinct_sectors * counts.invocations
        };
        assert_eq!(sectors(32 * 640), 640.0);
        assert_eq!(sectors(32 * 99), 100.0);
    }
}
