//! Records plans as `route` decides.
//!
//! Recording submits nothing and never waits. Buffers that wgpu would reject are reported before wgpu sees them. Once a
//! pipeline is compiled and its buffers have been seen, recording creates no device objects.

use super::{
    DeviceBytes, Gpu,
    argument::Argument,
    caps::{Parts, Span},
    copy::{clear, copy, copyable},
    groups::Key,
    kernels::Dispatch,
    maps::Op,
    program::{BUFFERS_GROUP, REPORT_GROUP, UNIFORMS_GROUP, UniformSpace},
    report::PendingReport,
    route::{Route, route},
    slots::Slot,
    window::{self, Places},
};
use crate::{
    Error, Plan,
    ops::index::IndexType,
    plan::{Map, Rows},
};
use wgpu::{BufferSlice, CommandEncoder, ComputePass};

/// Index tuples in a buffer on the device.
#[derive(Clone, Copy, Debug)]
pub enum DeviceIndices<'a> {
    /// 32-bit indices.
    I32(BufferSlice<'a>),
    /// 64-bit indices, little-endian.
    I64(BufferSlice<'a>),
    /// 32-bit indices that are never negative.
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
    /// let plan = Plan::strided_slice(&[64, 480, 640, 3], &slice![.., .., ..; -1], DType::U8)?;
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
    /// [`Error::Buffer`] if a buffer does not fit the plan; [`Error::DeviceLimit`] if not even a single unit fits the
    /// device's limits; [`Error::Pipeline`] if the device rejects the shader.
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

    /// [`Gpu::encode`] into an open pass: for many small slices, since wgpu takes longer for a pass than for a
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

    /// Records a gather: reads `params` and `indices`, and writes the result to `dest`.
    ///
    /// Tuples that are out of range become zeros. The report says later which they were, or is the error that the
    /// plan's policy makes of them. The buffers must be as for [`Gpu::encode`], and `indices` must begin at a multiple
    /// of 4 bytes. If `indices` has the usage `COPY_SRC`, the report can name the first invalid tuple.
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
    ) -> Result<PendingReport, Error> {
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
    ) -> Result<PendingReport, Error> {
        let (indices, index) = indices.typed();
        let params = Argument::of("params", params, plan.source_bytes());
        let indices = Argument::of("indices", indices, plan.index_bytes(index));
        let dest = Argument::of("dest", dest, plan.result_bytes());
        self.record_gather(pass, plan, params, (indices, index), dest)
    }

    /// Runs a plan that changes a tensor in place, or a copy of it. Returns the changed tensor.
    pub(crate) fn update(
        &self,
        plan: &Plan,
        source: &DeviceBytes,
        dest: &DeviceBytes,
        in_place: bool,
    ) -> Result<DeviceBytes, Error> {
        let (dest, _) = self.submit(plan.map.name(), |encoder| {
            let dest = match in_place {
                true => dest.clone(),
                false => self.duplicate(encoder, dest)?,
            };
            let (source, changed) = (source.argument("value"), dest.argument("dest"));
            self.record(encoder, plan, source, changed)?;
            Ok(dest)
        })?;
        Ok(dest)
    }

    /// Runs a plan without indices on a tensor, into a new one.
    pub(crate) fn moved(&self, plan: &Plan, source: &DeviceBytes) -> Result<DeviceBytes, Error> {
        let dest = self.allocate(plan.shape(), plan.element)?;
        self.move_into(plan, source, &dest)?;
        Ok(dest)
    }

    /// Runs a plan without indices on a tensor, into an existing tensor of the result's shape.
    pub(crate) fn move_into(
        &self,
        plan: &Plan,
        source: &DeviceBytes,
        dest: &DeviceBytes,
    ) -> Result<(), Error> {
        let (source, dest) = (source.argument("source"), dest.argument("dest"));
        self.submit(plan.map.name(), |encoder| {
            self.record(encoder, plan, source, dest)
        })?;
        Ok(())
    }

    /// Gathers from a tensor into a new one, with an index tensor of this type.
    pub(crate) fn gather(
        &self,
        plan: &Plan,
        params: &DeviceBytes,
        indices: &DeviceBytes,
        index: IndexType,
    ) -> Result<(DeviceBytes, PendingReport), Error> {
        let dest = self.allocate(plan.shape(), plan.element)?;
        let (report, _) = self.submit("gathering", |encoder| {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            let indices = (indices.argument("indices"), index);
            let (params, dest) = (params.argument("params"), dest.argument("dest"));
            self.record_gather(&mut pass, plan, params, indices, dest)
        })?;
        Ok((dest, report.holding(indices)))
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
            Route::Copies(copies) => {
                let Rows { unit, run, .. } = plan.rows;
                copies.each(&plan.rows, |from, to| {
                    let [from, to, bytes] = [from, to, run].map(|units| (units * unit) as u64);
                    copy(encoder, &source, from, &dest, to, bytes);
                });
            }
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
        if let Map::Indexed(_) | Map::ScatterNd(_) = plan.map {
            return Err(Error::Buffer {
                argument: "indices",
                problem: "is missing: record a gather with encode_gather, and a scatter with \
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
        let arguments = [Some(source), Some(dest), None, None];
        self.dispatches(pass, plan, &arguments, IndexType::default(), |_| None)
    }

    fn record_gather(
        &self,
        pass: &mut ComputePass<'_>,
        plan: &Plan,
        params: Argument<'_>,
        (indices, index): (Argument<'_>, IndexType),
        dest: Argument<'_>,
    ) -> Result<PendingReport, Error> {
        let Map::Indexed(_) = plan.map else {
            return Err(Error::Buffer {
                argument: "indices",
                problem: "is not used by a slice: record it with encode".into(),
            });
        };
        let mut reports = Vec::new();
        if plan.result_bytes() > 0 {
            params.check(&dest)?;
            indices.check(&dest)?;
            indices.check_word()?;
            for argument in [&params, &indices, &dest] {
                argument.check_storage()?;
            }
            let arguments = [Some(params), Some(dest), Some(indices), None];
            // If several dispatches process the same tuples, one counts the invalid ones, and the others count into a
            // report that nobody reads.
            let mut unread = None;
            self.dispatches(pass, plan, &arguments, index, |dispatch| {
                let lend = || self.lend_report();
                Some(if dispatch.counts {
                    let slot = lend();
                    reports.push((slot.clone(), dispatch.first_tuple));
                    slot
                } else {
                    unread.get_or_insert_with(lend).clone()
                })
            })?;
        }
        Ok(PendingReport::new(self, plan, reports, &indices, index))
    }

    pub(super) fn lend_report(&self) -> Slot {
        let inner = &*self.inner;
        inner.pipelines.reports.lend(&inner.device, &inner.queue)
    }

    /// Records a plan's dispatches. `report` returns the slot in which a dispatch counts invalid tuples.
    fn dispatches(
        &self,
        pass: &mut ComputePass<'_>,
        plan: &Plan,
        arguments: &[Option<Argument<'_>>; 4],
        index: IndexType,
        mut report: impl FnMut(&Dispatch) -> Option<Slot>,
    ) -> Result<(), Error> {
        let inner = &*self.inner;
        let parts = |argument: &Option<Argument<'_>>| {
            argument
                .as_ref()
                .map_or(Parts::ONE, |argument| argument.parts)
        };
        let places = Places {
            source: parts(&arguments[0]),
            dest: parts(&arguments[1]),
            indices: parts(&arguments[2]),
            index,
            whole: arguments[..2].iter().flatten().all(Argument::is_whole),
        };
        // If nothing is read, the source is bound as a single word of 4 bytes.
        let widest = if plan.reads_nothing() { 4 } else { 16 };
        let (rows, map) = plan.in_units_of(places.unit().min(widest));
        let dispatches = window::dispatches(&inner.reach, &rows, &map, &places)?;
        // Every pipeline is fetched before anything is recorded, so that an error leaves the pass untouched.
        let pipelines = dispatches
            .iter()
            .map(|dispatch| inner.pipelines.get(&inner.device, dispatch.program))
            .collect::<Result<Vec<_>, _>>()?;
        for (dispatch, pipeline) in dispatches.iter().zip(&pipelines) {
            self.dispatch_with(pass, pipeline, dispatch, arguments, report(dispatch));
        }
        Ok(())
    }

    pub(super) fn dispatch(
        &self,
        pass: &mut ComputePass<'_>,
        dispatch: &Dispatch,
        arguments: &[Option<Argument<'_>>; 4],
        report: Option<Slot>,
    ) -> Result<(), Error> {
        let inner = &*self.inner;
        let pipeline = inner.pipelines.get(&inner.device, dispatch.program)?;
        self.dispatch_with(pass, &pipeline, dispatch, arguments, report);
        Ok(())
    }

    fn dispatch_with(
        &self,
        pass: &mut ComputePass<'_>,
        pipeline: &wgpu::ComputePipeline,
        dispatch: &Dispatch,
        arguments: &[Option<Argument<'_>>; 4],
        report: Option<Slot>,
    ) {
        let inner = &*self.inner;
        pass.set_pipeline(pipeline);
        let group = self.group(dispatch.program.op, arguments, &dispatch.spans);
        pass.set_bind_group(BUFFERS_GROUP, &group, &[]);
        match inner.pipelines.space() {
            UniformSpace::Immediate => {
                pass.set_immediates(0, bytemuck::bytes_of(&dispatch.uniforms));
            }
            UniformSpace::Uniform | UniformSpace::Storage => {
                let shared = &inner.pipelines.uniforms;
                let slot = shared.get(&inner.device, &inner.queue, &dispatch.uniforms);
                pass.set_bind_group(UNIFORMS_GROUP, slot.group(), &[slot.offset()]);
            }
        }
        if let Some(slot) = report {
            pass.set_bind_group(REPORT_GROUP, slot.group(), &[slot.offset()]);
            pass.on_submitted_work_done(move || drop(slot));
        }
        pass.dispatch_workgroups(dispatch.uniforms.grid_width(), dispatch.height, 1);
    }

    /// The group that binds these ranges of the arguments.
    fn group(
        &self,
        op: Op,
        arguments: &[Option<Argument<'_>>; 4],
        spans: &[Span; 4],
    ) -> wgpu::BindGroup {
        let inner = &*self.inner;
        let buffer = |number: usize| {
            let argument: &Argument<'_> = arguments[number].as_ref()?;
            Some(&argument.buffers[spans[number].part])
        };
        let key = Key {
            op,
            buffers: [buffer(0), buffer(1), buffer(2), buffer(3)],
            spans: *spans,
        };
        let make = || {
            let entries: Vec<_> = (0..)
                .zip(key.buffers.iter().flatten().zip(&key.spans))
                .map(|(binding, (buffer, span))| wgpu::BindGroupEntry {
                    binding,
                    resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                        buffer,
                        offset: span.offset,
                        size: wgpu::BufferSize::new(span.bytes),
                    }),
                })
                .collect();
            inner.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some(op.facts().name),
                layout: inner.pipelines.buffers(op),
                entries: &entries,
            })
        };
        if arguments.iter().flatten().all(|argument| argument.callers) {
            inner.groups.get(&key, make)
        } else {
            make()
        }
    }
}
