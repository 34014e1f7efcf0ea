//! The device that runs slices and gathers. A process opens a GPU at most once for each [`DeviceChoice`].

use crate::zarr::{Chunk, Error};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;
use wgslice::{
    Backend, DType, Plan, SliceSpec, Tensor, gpu::AdapterOptions, options::GatherNdOptions,
};

/// Where chunks are sliced and gathered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceChoice {
    /// A hardware GPU if there is one and it is estimated to be faster than the CPU for the first chunk that this
    /// process slices or gathers, else the CPU. The process keeps this choice for all later chunks.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// A GPU, which may be a software adapter.
    Gpu,
}

/// Where a task slices and gathers its chunks.
#[derive(Debug)]
pub(super) struct Device {
    choice: DeviceChoice,
    cpu: Backend,
}

impl Device {
    /// Makes a device whose operations on the CPU take up to `threads` threads each, and at least one.
    pub(super) fn new(choice: DeviceChoice, threads: usize) -> Self {
        Self {
            choice,
            cpu: Backend::cpu().with_threads(threads.max(1)),
        }
    }

    fn backend(&self, plan: &Plan) -> Result<&Backend, Error> {
        static GPU: OnceLock<Result<Backend, wgslice::Error>> = OnceLock::new();
        static AUTO: OnceLock<Backend> = OnceLock::new();
        match self.choice {
            DeviceChoice::Cpu => Ok(&self.cpu),
            DeviceChoice::Gpu => {
                let gpu = GPU.get_or_init(|| Backend::open_gpu(&AdapterOptions::default()));
                gpu.as_ref().map_err(|error| error.clone().into())
            }
            DeviceChoice::Auto => {
                let options = AdapterOptions::default();
                let auto = AUTO.get_or_init(|| Backend::auto_for_plan(plan, &options));
                Ok(if auto.is_cpu() { &self.cpu } else { auto })
            }
        }
    }

    pub(super) fn slice(
        &self,
        chunk: Chunk,
        dtype: DType,
        shape: &[usize],
        spec: &SliceSpec,
    ) -> Result<Tensor, Error> {
        let backend = self.backend(&Plan::slice(shape, spec, dtype)?)?;
        let chunk = Tensor::from_bytes(backend, chunk, dtype, shape)?;
        Ok(chunk.slice(spec)?)
    }

    /// Gathers the rows that tuples select from a box of a chunk. `spec` selects the box. `leading` lists the chunk's
    /// dimensions, beginning with those that the tuples index. `tuples` has the shape `indices`.
    pub(super) fn gather(
        &self,
        chunk: Chunk,
        dtype: DType,
        shape: &[usize],
        (spec, leading): (&SliceSpec, &[usize]),
        (tuples, indices): (&[i64], [usize; 2]),
    ) -> Result<Tensor, Error> {
        let options = GatherNdOptions::default();
        let view = wgslice::View::new(shape)?.slice(spec)?.transpose(leading)?;
        let backend = self.backend(&view.gather_nd(&indices, options, dtype)?)?;
        let chunk = Tensor::from_bytes(backend, chunk, dtype, shape)?;
        let tuples = backend.upload((tuples, &indices))?;
        let view = chunk.view().slice(spec)?.transpose(leading)?;
        let (rows, _) = view.gather_nd(&tuples, options)?;
        Ok(rows)
    }
}
