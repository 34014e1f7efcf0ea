//! Plans whose pipelines are compiled and whose dispatches are worked out before they are recorded.

use super::{
    DeviceIndices, Gpu,
    device::caps::Tuning,
    engine::{
        cut::Places,
        route::{Route, route},
        work::Work,
    },
};
use crate::{Error, Pending, Plan, Report};
use std::sync::Arc;
use wgpu::{BufferSlice, CommandEncoder, ComputePass};

/// A plan, ready to be recorded on one device: its pipelines are compiled and its dispatches are worked out, so that
/// recording it neither compiles nor cuts anything. Made by [`Gpu::prepare`].
///
/// It holds no buffer: its methods take the same buffers as those of [`Gpu`], record the same commands and have the
/// same errors. It is prepared for buffer slices whose offsets are multiples of the device's
/// `min_storage_buffer_offset_alignment` (or of 16, if that is more), and for indices of the plan's type
/// ([`Plan::for_indices`]). For others it does what [`Gpu::encode`] does: the first recording works out the dispatches, and
/// may compile a pipeline. While it lives, plans equal to its own are prepared, too.
///
/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct Prepared {
    gpu: Gpu,
    plan: Arc<Plan>,
    /// Held so that the engine keeps them.
    _works: Arc<[Arc<Work>]>,
}

impl Gpu {
    /// Compiles the pipelines that a plan needs, and works out its dispatches. Call this when a program loads, so that
    /// no frame waits for the compiler. [`Gpu::prepare_async`] does the same without waiting.
    ///
    /// ```no_run
    /// # fn example(gpu: &wgslice::Gpu, input: &wgpu::Buffer, output: &wgpu::Buffer)
    /// # -> Result<(), wgslice::Error> {
    /// use wgslice::{slice, DType, Plan};
    ///
    /// let flip = gpu.prepare(&Plan::slice(&[480, 640, 4], &slice![.., ..; -1], DType::U8)?)?;
    /// // … later, in each frame:
    /// let mut encoder = gpu.device().create_command_encoder(&Default::default());
    /// flip.encode(&mut encoder, input.slice(..), output.slice(..))?;
    /// gpu.queue().submit([encoder.finish()]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Gpu::supports`]; [`Error::Pipeline`] if the device rejects a shader.
    pub fn prepare(&self, plan: &Plan) -> Result<Prepared, Error> {
        let works = usual_places(plan, &self.engine.reach.tuning)
            .into_iter()
            .map(|places| self.engine.prepare(plan, places));
        Ok(Prepared {
            gpu: self.clone(),
            plan: Arc::new(plan.clone()),
            _works: works.collect::<Result<_, Error>>()?,
        })
    }

    /// Runs [`Gpu::prepare`] on a thread of its own. Returns at once, with a result that can be polled in each frame,
    /// waited for or awaited. In a browser, which compiles in the background anyway, the result is there at once.
    ///
    /// ```no_run
    /// # fn example(gpu: &wgslice::Gpu, input: &wgpu::Buffer, output: &wgpu::Buffer)
    /// # -> Result<(), wgslice::Error> {
    /// use wgslice::{slice, DType, Plan};
    ///
    /// let flip = gpu.prepare_async(&Plan::slice(&[480, 640, 4], &slice![.., ..; -1], DType::U8)?);
    /// // … in each frame:
    /// if let Some(flip) = flip.poll()? {
    ///     let mut encoder = gpu.device().create_command_encoder(&Default::default());
    ///     flip.encode(&mut encoder, input.slice(..), output.slice(..))?;
    ///     gpu.queue().submit([encoder.finish()]);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Gpu::prepare`], from [`Pending::poll`].
    pub fn prepare_async(&self, plan: &Plan) -> Pending<Prepared> {
        let (gpu, plan) = (self.clone(), plan.clone());
        Pending::running(move || gpu.prepare(&plan))
    }

    /// Checks that this device can run a plan. The check compiles nothing and allocates nothing on the device, so it
    /// does not tell whether there is memory for the result.
    ///
    /// ```no_run
    /// use wgslice::{options::{Combine, ScatterOptions}, DType, Plan};
    ///
    /// # fn example(gpu: &wgslice::Gpu) -> Result<(), wgslice::Error> {
    /// let add = ScatterOptions { combine: Some(Combine::Add), ..ScatterOptions::default() };
    /// let sums = Plan::tensor_scatter_nd(&[10], &[3, 1], &[3], add, DType::F64)?;
    /// if let Err(why) = gpu.supports(&sums) {
    ///     println!("on the CPU, since {why}"); // no shader adds f64
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::DTypeOnDevice`] if the shaders cannot combine elements of this type in this way; [`Error::DeviceLimit`]
    /// if the plan has more dimensions than a shader takes, if not even a single unit, of 1 to 16 bytes, fits the
    /// device's limits, or if the device's limits are too low for a shader.
    pub fn supports(&self, plan: &Plan) -> Result<(), Error> {
        let mut places = usual_places(plan, &self.engine.reach.tuning).into_iter();
        places.try_for_each(|places| self.engine.supports(plan, &places))
    }
}

/// The places of arguments for which a plan is prepared: at the beginning of buffers whose sizes are multiples of 16
/// bytes, and at the beginning of other buffers. Empty for a plan without rows or without a result.
fn usual_places(plan: &Plan, tuning: &Tuning) -> Vec<Places> {
    if matches!(route(plan, tuning, false), Route::Nothing) || plan.result_bytes() == 0 {
        return Vec::new();
    }
    [true, false].map(Places::at_begin).into()
}

impl Prepared {
    /// The plan that was prepared.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Records the prepared plan like [`Gpu::encode`], with the same errors.
    pub fn encode(
        &self,
        encoder: &mut CommandEncoder,
        source: BufferSlice<'_>,
        dest: BufferSlice<'_>,
    ) -> Result<(), Error> {
        self.gpu.encode(encoder, &self.plan, source, dest)
    }

    /// Records the prepared plan like [`Gpu::encode_in_pass`], with the same errors.
    pub fn encode_in_pass(
        &self,
        pass: &mut ComputePass<'_>,
        source: BufferSlice<'_>,
        dest: BufferSlice<'_>,
    ) -> Result<(), Error> {
        self.gpu.encode_in_pass(pass, &self.plan, source, dest)
    }

    /// Records the prepared plan like [`Gpu::encode_gather`], with the same errors.
    pub fn encode_gather(
        &self,
        encoder: &mut CommandEncoder,
        params: BufferSlice<'_>,
        indices: DeviceIndices<'_>,
        dest: BufferSlice<'_>,
    ) -> Result<Pending<Report>, Error> {
        self.gpu
            .encode_gather(encoder, &self.plan, params, indices, dest)
    }

    /// Records the prepared plan like [`Gpu::encode_gather_in_pass`], with the same errors.
    pub fn encode_gather_in_pass(
        &self,
        pass: &mut ComputePass<'_>,
        params: BufferSlice<'_>,
        indices: DeviceIndices<'_>,
        dest: BufferSlice<'_>,
    ) -> Result<Pending<Report>, Error> {
        self.gpu
            .encode_gather_in_pass(pass, &self.plan, params, indices, dest)
    }

    /// Records the prepared plan like [`Gpu::encode_scatter`], with the same errors.
    pub fn encode_scatter(
        &self,
        encoder: &mut CommandEncoder,
        updates: BufferSlice<'_>,
        indices: DeviceIndices<'_>,
        dest: BufferSlice<'_>,
    ) -> Result<Pending<Report>, Error> {
        self.gpu
            .encode_scatter(encoder, &self.plan, updates, indices, dest)
    }
}
