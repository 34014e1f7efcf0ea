//! Records a plan as the commands that `route` decides on.
//!
//! Recording submits nothing and never waits. Buffers that wgpu would reject are an [`Error::Buffer`] before wgpu sees
//! them. Once its pipelines are compiled and its buffers were recorded twice, recording a plan creates no device
//! objects, apart from slots for uniforms and reports (`slots`).

use super::{
    Gpu, Inner,
    argument::Argument,
    caps::Parts,
    copy::{clear, copy, copyable},
    groups::Key,
    kernels::Dispatch,
    program::{BUFFERS_GROUP, REPORT_GROUP, UNIFORMS_GROUP, UniformSpace},
    report::{self, Counts},
    route::{Route, route},
    window::{self, Places},
};
use crate::{Error, Pending, Plan, Report, ops::index::IndexType, plan::Map};
use wgpu::{BufferSlice, CommandEncoder, ComputePass};

/// Index tuples in a buffer on the device.
#[derive(Clone, Copy, Debug)]
pub enum DeviceIndices<'a> {
    /// Signed 32-bit indices.
    I32(BufferSlice<'a>),
    /// Signed 64-bit indices, little-endian.
    I64(BufferSlice<'a>),
    /// Unsigned 32-bit indices.
    U32(BufferSlice<'a>),
}

impl<'a> DeviceIndices<'a> {
    pub(super) fn typed(self) -> (BufferSlice<'a>, IndexType) {
        match self {
            Self::I32(indices) => (indices, IndexType::I32),
            Self::I64(indices) => (indices, IndexType::I64),
            Self::U32(indices) => (indices, IndexType::U32),
        }
    }
}

impl Gpu {
    /// Records a plan without indices. `source` contains the input of a slice, the value of an update, or the `dy` of a
    /// gradient; `dest` receives the result, or is updated.
    ///
    /// The buffers may be any of this device's with the usage `STORAGE`, at any offset. With `COPY_SRC` and `COPY_DST`,
    /// and offsets that are multiples of 4, slices of long contiguous rows are recorded as buffer copies. Only the
    /// bytes of the result are written.
    ///
    /// `source` and `dest` must be different buffers: wgpu does not allow a buffer to be read and written in the same
    /// dispatch, even at different offsets. To slice in place, record into a second buffer and copy the result back
    /// with `copy_buffer_to_buffer`. No further synchronization is needed, since wgpu orders recorded commands.
    ///
    /// ```no_run
    /// # fn example(gpu: &wgslice::Gpu, input: &wgpu::Buffer, output: &wgpu::Buffer)
    /// # -> Result<(), wgslice::Error> {
    /// use wgslice::{slice, DType, Plan};
    ///
    /// let plan = Plan::slice(&[64, 480, 640, 3], &slice![.., .., ..; -1], DType::U8)?;
    /// let mut encoder = gpu.device().create_command_encoder(&Default::default());
    /// gpu.encode(&mut encoder, &plan, input.slice(..), output.slice(..))?;
    /// // … record other work, then submit everything at once:
    /// gpu.queue().submit([encoder.finish()]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Buffer`] if a buffer does not fit the plan; [`Error::DeviceLimit`] if not even a single unit, of 1 to
    /// 16 bytes, fits the device's limits; [`Error::Pipeline`] if the device rejects the shader.
    pub fn encode(
        &self,
        encoder: &mut CommandEncoder,
        plan: &Plan,
        source: BufferSlice<'_>,
        dest: BufferSlice<'_>,
    ) -> Result<(), Error> {
        let source = Argument::of("source", source, plan.source_bytes());
        let dest = Argument::of("dest", dest, plan.result_bytes());
        self.record(encoder, plan, source, dest)
    }

    /// [`Gpu::encode`] into an open pass. This saves time for many small slices, since a pass takes wgpu longer than a
    /// dispatch. A pass cannot contain buffer copies, so every non-empty plan is dispatched.
    ///
    /// # Errors
    ///
    /// As [`Gpu::encode`].
    pub fn encode_in_pass(
        &self,
        pass: &mut ComputePass<'_>,
        plan: &Plan,
        source: BufferSlice<'_>,
        dest: BufferSlice<'_>,
    ) -> Result<(), Error> {
        let source = Argument::of("source", source, plan.source_bytes());
        let dest = Argument::of("dest", dest, plan.result_bytes());
        self.record_in_pass(pass, plan, source, dest)
    }

    /// Records a gather or a crop: reads `params` and `indices`, and writes the result to `dest`.
    ///
    /// The tuples of a crop are those of its [`Boxes`](crate::options::Boxes), and `params` is its `x`.
    ///
    /// For tuples that are out of range, zeros are written. The report says later which tuples were out of range; under
    /// [`OutOfRange::Error`](crate::options::OutOfRange::Error) the report is an error if any tuple was. The buffers must be as
    /// for [`Gpu::encode`], and `indices` must begin at a multiple of 4 bytes. If `indices` has the usage `COPY_SRC`,
    /// the report can name the first invalid tuple.
    ///
    /// # Errors
    ///
    /// As [`Gpu::encode`].
    pub fn encode_gather(
        &self,
        encoder: &mut CommandEncoder,
        plan: &Plan,
        params: BufferSlice<'_>,
        indices: DeviceIndices<'_>,
        dest: BufferSlice<'_>,
    ) -> Result<Pending<Report>, Error> {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        self.encode_gather_in_pass(&mut pass, plan, params, indices, dest)
    }

    /// [`Gpu::encode_gather`] into an open pass.
    ///
    /// # Errors
    ///
    /// As [`Gpu::encode`].
    pub fn encode_gather_in_pass(
        &self,
        pass: &mut ComputePass<'_>,
        plan: &Plan,
        params: BufferSlice<'_>,
        indices: DeviceIndices<'_>,
        dest: BufferSlice<'_>,
    ) -> Result<Pending<Report>, Error> {
        let (indices, index) = indices.typed();
        let params = Argument::of("params", params, plan.source_bytes());
        let indices = Argument::of("indices", indices, plan.index_bytes(index));
        let dest = Argument::of("dest", dest, plan.result_bytes());
        self.record_gather(pass, plan, params, (indices, index), dest)
    }

    pub(super) fn record(
        &self,
        encoder: &mut CommandEncoder,
        plan: &Plan,
        source: Argument<'_>,
        dest: Argument<'_>,
    ) -> Result<(), Error> {
        let route = route(plan, self.inner.reach.kind, copyable(&source, &dest));
        if let Route::Nothing = route {
            return Ok(());
        }
        source.check(&dest)?;
        match route {
            Route::Copies => copy(encoder, plan, &source, &dest),
            Route::Clear => clear(encoder, &dest),
            Route::Nothing | Route::Dispatches => {
                let mut pass = encoder.begin_compute_pass(&Default::default());
                self.record_in_pass(&mut pass, plan, source, dest)?;
            }
        }
        Ok(())
    }

    fn record_in_pass(
        &self,
        pass: &mut ComputePass<'_>,
        plan: &Plan,
        source: Argument<'_>,
        dest: Argument<'_>,
    ) -> Result<(), Error> {
        if let Map::Indexed(_) | Map::Crop(_) | Map::ScatterNd(_) = plan.map {
            return Err(Error::Buffer {
                argument: "indices",
                problem:
                    "is missing: record a gather or a crop with encode_gather, and a scatter with \
                          encode_scatter"
                        .into(),
            });
        }
        if plan.rows.count == 0 {
            return Ok(());
        }
        source.check(&dest)?;
        source.check_storage()?;
        dest.check_storage()?;
        let index = IndexType::default();
        self.dispatches(pass, plan, &[source, dest], index, &mut Counts::default())
    }

    pub(super) fn record_gather(
        &self,
        pass: &mut ComputePass<'_>,
        plan: &Plan,
        params: Argument<'_>,
        (indices, index): (Argument<'_>, IndexType),
        dest: Argument<'_>,
    ) -> Result<Pending<Report>, Error> {
        let (Map::Indexed(_) | Map::Crop(_)) = plan.map else {
            let problem = "is not used by a slice: record it with encode";
            return Err(indices.problem(problem.into()));
        };
        let mut counts = Counts::default();
        if plan.result_bytes() > 0 {
            indices.check_tuples(&params, &dest)?;
            self.dispatches(pass, plan, &[params, dest, indices], index, &mut counts)?;
        }
        Ok(report::pending(self, plan, counts, &indices, index))
    }

    /// Records a plan's dispatches. `arguments` are the source, the result and, for a gather, the index tuples, which
    /// are of type `index`. The slots of reports are added to `counts`.
    fn dispatches(
        &self,
        pass: &mut ComputePass<'_>,
        plan: &Plan,
        arguments: &[Argument<'_>],
        index: IndexType,
        counts: &mut Counts,
    ) -> Result<(), Error> {
        let parts = |number: usize| {
            arguments
                .get(number)
                .map_or(Parts::ONE, |found| found.parts)
        };
        let places = Places {
            source: parts(0),
            dest: parts(1),
            indices: parts(2),
            index,
            whole: arguments.iter().take(2).all(Argument::is_whole),
        };
        // If nothing is read, only 4 bytes of the source are bound, which are too few for wider units.
        let widest = if plan.reads_nothing() { 4 } else { 16 };
        let (rows, map) = plan.in_units_of(places.unit().min(widest));
        let dispatches = window::dispatches(&self.inner.reach, &rows, &map, &places)?;
        // The pipeline of the first dispatch is compiled by `Gpu::dispatch`, before anything is recorded.
        self.compile(dispatches.iter().skip(1))?;
        for dispatch in &dispatches {
            self.dispatch(pass, dispatch, arguments, counts)?;
        }
        Ok(())
    }

    /// Compiles the pipelines of `dispatches`. Callers do so before they record anything, so that an error leaves the
    /// pass untouched.
    pub(super) fn compile<'a>(
        &self,
        mut dispatches: impl Iterator<Item = &'a Dispatch>,
    ) -> Result<(), Error> {
        dispatches.try_for_each(|dispatch| {
            self.inner.pipelines.get(dispatch.program)?;
            Ok(())
        })
    }

    /// Records a dispatch. `arguments` are those that the dispatch binds, in the order of its bindings. If the dispatch
    /// writes a report, the report's slot is added to `counts`.
    pub(super) fn dispatch(
        &self,
        pass: &mut ComputePass<'_>,
        dispatch: &Dispatch,
        arguments: &[Argument<'_>],
        counts: &mut Counts,
    ) -> Result<(), Error> {
        let Inner {
            device,
            pipelines,
            groups,
            ..
        } = &*self.inner;
        let op = dispatch.program.op;
        let pipeline = pipelines.get(dispatch.program)?;
        pass.set_pipeline(&pipeline);
        let bound = || arguments.iter().zip(&dispatch.spans);
        let make = || {
            let entries: Vec<_> = (0..)
                .zip(bound())
                .map(|(binding, (argument, span))| wgpu::BindGroupEntry {
                    binding,
                    resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                        buffer: &argument.buffers[span.part],
                        offset: span.offset,
                        size: wgpu::BufferSize::new(span.bytes),
                    }),
                })
                .collect();
            device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some(op.facts().name),
                layout: &pipeline.get_bind_group_layout(BUFFERS_GROUP),
                entries: &entries,
            })
        };
        let group = if arguments.iter().all(|argument| argument.callers) {
            let mut buffers = bound().map(|(argument, span)| argument.buffers[span.part].clone());
            let key = Key {
                op,
                buffers: [(); 4].map(|()| buffers.next()),
                spans: dispatch.spans,
            };
            groups.get(key, make)
        } else {
            make()
        };
        pass.set_bind_group(BUFFERS_GROUP, &group, &[]);
        match pipelines.space {
            UniformSpace::Immediate => {
                pass.set_immediates(0, bytemuck::bytes_of(&dispatch.uniforms));
            }
            UniformSpace::Uniform | UniformSpace::Storage => {
                let layout = || pipeline.get_bind_group_layout(UNIFORMS_GROUP);
                let slot = pipelines.uniforms.get(&dispatch.uniforms, layout);
                slot.bind(pass, UNIFORMS_GROUP);
            }
        }
        if op.facts().reports {
            let layout = || pipeline.get_bind_group_layout(REPORT_GROUP);
            let slot = counts.slot(dispatch, || pipelines.reports.lend(layout));
            slot.bind(pass, REPORT_GROUP);
        }
        pass.dispatch_workgroups(dispatch.uniforms.grid_width(), dispatch.height, 1);
        Ok(())
    }
}
