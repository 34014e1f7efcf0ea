//! Chooses the device for slices and gathers, and runs them on it.

use crate::zarr::{Chunk, Error};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;
use wgslice::{
    Backend, Conversion, DType, Plan, SliceSpec, Tensor, View, options::GatherNdOptions,
    spec::IndexSpec,
};

/// The device that slices and gathers chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceChoice {
    /// A hardware GPU, if there is one and its estimated time for the job's first chunk in this process, including the
    /// time to open the GPU, is shorter than the CPU's; otherwise the CPU. The job keeps this choice for all its later
    /// chunks in this process. Without the feature `gpu`, the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// A GPU, which may be a software adapter.
    Gpu,
}

/// The device on which a task slices and gathers its chunks.
#[derive(Debug)]
pub(super) struct Device<'a> {
    choice: DeviceChoice,
    cpu: Backend,
    auto_backend: &'a OnceLock<Backend>,
}

impl<'a> Device<'a> {
    /// Makes a device. On the CPU, each operation uses up to `threads` threads, and at least one. `auto_backend` holds
    /// the job's choice for [`DeviceChoice::Auto`] after it has been made.
    pub(super) fn new(
        choice: DeviceChoice,
        threads: usize,
        auto_backend: &'a OnceLock<Backend>,
    ) -> Self {
        Self {
            choice,
            cpu: Backend::cpu().with_threads(threads.max(1)),
            auto_backend,
        }
    }

    fn backend(&self, plan: &Plan) -> Result<&Backend, Error> {
        match self.choice {
            DeviceChoice::Cpu => Ok(&self.cpu),
            DeviceChoice::Gpu => gpu(),
            DeviceChoice::Auto => {
                let backend = self.auto_backend.get_or_init(|| choose_backend(plan));
                Ok(if backend.is_cpu() { &self.cpu } else { backend })
            }
        }
    }

    /// Slices a chunk by `spec`, permutes its dimensions to `order`, and converts its elements if there is a
    /// conversion.
    pub(super) fn slice(
        &self,
        chunk: Chunk,
        dtype: DType,
        shape: &[usize],
        (spec, order): (&SliceSpec, &[usize]),
        conversion: Option<&Conversion>,
    ) -> Result<Tensor, Error> {
        let view = View::new(shape)?.slice(spec)?.transpose(order)?;
        let plan = Plan::contiguous(view, dtype)?;
        let backend = self.backend(&plan)?;
        let chunk = Tensor::from_bytes(backend, chunk, dtype, shape)?;
        match conversion {
            Some(conversion) => run_with_input(&plan.converted(conversion)?, &chunk),
            None => Ok(chunk.slice(spec)?.transpose(order)?.contiguous()?),
        }
    }

    /// Does the same as [`Device::slice`], but selects all combinations of the positions in `spec`.
    pub(super) fn index(
        &self,
        chunk: Chunk,
        dtype: DType,
        shape: &[usize],
        (spec, order): (&IndexSpec, &[usize]),
        conversion: Option<&Conversion>,
    ) -> Result<Tensor, Error> {
        let backend = self.backend(&Plan::contiguous(shape, dtype)?)?;
        let chunk = Tensor::from_bytes(backend, chunk, dtype, shape)?;
        let selected = chunk.index(spec)?;
        match conversion {
            Some(conversion) => {
                let view = View::new(selected.shape())?.transpose(order)?;
                run_with_input(
                    &Plan::contiguous(view, dtype)?.converted(conversion)?,
                    &selected,
                )
            }
            None => Ok(selected.transpose(order)?.contiguous()?),
        }
    }

    /// Gathers the rows that tuples select from a box of a chunk. `spec` selects the box. `order` lists the chunk's
    /// dimensions, beginning with those that the tuples index.
    pub(super) fn gather(
        &self,
        chunk: Chunk,
        dtype: DType,
        shape: &[usize],
        (spec, order): (&SliceSpec, &[usize]),
        (tuples, tuples_shape): (&[i64], [usize; 2]),
    ) -> Result<Tensor, Error> {
        let options = GatherNdOptions::default();
        let view = View::new(shape)?.slice(spec)?.transpose(order)?;
        let backend = self.backend(&Plan::gather_nd(view, &tuples_shape, options, dtype)?)?;
        let chunk = Tensor::from_bytes(backend, chunk, dtype, shape)?;
        let tuples = backend.upload((tuples, &tuples_shape))?;
        let view = chunk.slice(spec)?.transpose(order)?;
        let (rows, _) = view.gather_nd(&tuples, options)?;
        Ok(rows)
    }
}

/// Runs a plan with one input and returns its result.
fn run_with_input(plan: &Plan, x: &Tensor) -> Result<Tensor, Error> {
    Ok(Tensor::run(plan, &[x])?.0.swap_remove(0))
}

#[cfg(feature = "gpu")]
fn choose_backend(plan: &Plan) -> Backend {
    Backend::auto_for_plan(plan, &wgslice::gpu::AdapterOptions::default())
}

#[cfg(not(feature = "gpu"))]
fn choose_backend(_: &Plan) -> Backend {
    Backend::cpu()
}

#[cfg(not(feature = "gpu"))]
fn gpu() -> Result<&'static Backend, Error> {
    Err(Error::usage(
        "chunks run on the CPU here, because the feature \"gpu\" was left out of the build",
    ))
}

/// Returns this process's GPU. If opening it fails, the next call tries again, because an executor runs for a long
/// time.
#[cfg(feature = "gpu")]
fn gpu() -> Result<&'static Backend, Error> {
    use std::sync::{Mutex, PoisonError};
    static GPU: OnceLock<Backend> = OnceLock::new();
    static OPENING_LOCK: Mutex<()> = Mutex::new(());
    if let Some(gpu) = GPU.get() {
        return Ok(gpu);
    }
    let _guard = OPENING_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(gpu) = GPU.get() {
        return Ok(gpu);
    }
    let gpu = Backend::open_gpu(&wgslice::gpu::AdapterOptions::default())?;
    Ok(GPU.get_or_init(|| gpu))
}

#[cfg(all(test, feature = "gpu"))]
mod tests {
    use super::*;

    #[test]
    fn each_job_chooses_a_device_by_its_first_chunk() {
        let spec: SliceSpec = "::-1".parse().unwrap();
        let plan = Plan::slice(&[4], &spec, DType::U8).unwrap();
        let auto_backends = [OnceLock::new(), OnceLock::new()];
        for auto_backend in &auto_backends {
            assert!(auto_backend.get().is_none());
            let device = Device::new(DeviceChoice::Auto, 1, auto_backend);
            assert!(device.backend(&plan).unwrap().is_cpu());
            let reason = auto_backend.get().unwrap().reason();
            assert!(reason.contains("opened first"), "{reason}");
        }
    }
}
