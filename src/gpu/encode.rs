//! Records a plan as the commands that `route` decides on.
//!
//! Recording submits nothing and never waits for the device. Buffers that do not fit a plan cause an [`Error::Buffer`]
//! before wgpu sees them. Once a plan's pipelines are compiled and the plan was recorded twice with the same buffers,
//! recording it with them again creates no device objects except slots for uniforms and reports (`slots`). Scatters
//! and operations on tensors still create bind groups (`groups`).

use super::{
    Gpu, Inner,
    argument::Argument,
    caps::Parts,
    copy::{clear, copy, copyable},
    cut::{Bound, Places},
    groups::Range,
    program::{BUFFERS_GROUP, REPORT_GROUP, UNIFORMS_GROUP},
    report::{self, Counts},
    route::{Route, route},
    slots::hold,
    work::{Launch, Work},
};
use crate::{Error, Pending, Plan, Report, ops::index::IndexType, plan::Effect, walk::Walk};
use std::{borrow::BorrowMut, sync::Arc};
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

/// A plan to record, and the works that were prepared for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task<'a> {
    pub(super) plan: &'a Plan,
    /// The plan's works for the usual places of its arguments. Empty if nothing was prepared.
    pub(super) prepared: &'a [Arc<Work>],
}

impl<'a> From<&'a Plan> for Task<'a> {
    fn from(plan: &'a Plan) -> Self {
        Self {
            plan,
            prepared: &[],
        }
    }
}

/// The commands of a plan without indices: see `route`.
#[derive(Debug)]
pub(super) enum Commands {
    Nothing,
    Copies(Walk),
    Clear,
    Dispatches(Arc<Work>),
}

/// Fails if a plan reads indices.
fn check_without_indices(plan: &Plan) -> Result<(), Error> {
    match plan.tuples() {
        None => Ok(()),
        Some(_) => Err(Error::Buffer {
            argument: "indices",
            problem:
                "is missing: record a gather or a crop with encode_gather, and a scatter with \
                      encode_scatter"
                    .into(),
        }),
    }
}

impl Gpu {
    /// Records a plan without indices. `source` contains the input of a slice, the value of an update, or the `dy` of a
    /// gradient; `dest` receives the result, or is updated.
    ///
    /// The buffers must belong to this device and have the usage `STORAGE`. Any offsets are allowed. If `source` also
    /// has the usage `COPY_SRC` and `dest` has `COPY_DST`, and both offsets are multiples of 4, slices and updates
    /// whose contiguous rows are few or long are recorded as buffer copies. Only the bytes of the result are written.
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
    /// [`Error::Buffer`] if a buffer does not fit the plan; [`Error::DeviceLimit`] if the plan has more dimensions than
    /// a shader takes, or if not even a single unit, of 1 to 16 bytes, fits the device's limits; [`Error::Pipeline`] if
    /// the device rejects the shader.
    pub fn encode(
        &self,
        encoder: &mut CommandEncoder,
        plan: &Plan,
        source: BufferSlice<'_>,
        dest: BufferSlice<'_>,
    ) -> Result<(), Error> {
        let [source, dest] = Argument::pair(plan, ["source", "dest"], source, dest);
        self.record(encoder, plan.into(), source, dest)
    }

    /// Records a plan into an open pass, like [`Gpu::encode`]. Recording many small slices into one pass saves time,
    /// since a pass costs wgpu more time than a dispatch. A pass cannot contain buffer copies, so every non-empty plan
    /// is dispatched.
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
        let [source, dest] = Argument::pair(plan, ["source", "dest"], source, dest);
        self.record_in_pass(pass, plan.into(), source, dest)
    }

    /// Records a gather or a crop: reads `params` and `indices`, and writes the result to `dest`.
    ///
    /// For a crop, `indices` are the tuples of its [`Boxes`](crate::options::Boxes), and `params` is its `x`.
    ///
    /// For tuples that are out of range, zeros are written. The report says later how many such tuples there were.
    /// Under [`OutOfRange::Error`](crate::options::OutOfRange::Error), the report is an error if there was any. The
    /// buffers must be as for [`Gpu::encode`], and `indices` must begin at a multiple of 4 bytes. If `indices` has the
    /// usage `COPY_SRC`, the report can name the first tuple that is out of range.
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
        let [params, dest] = Argument::pair(plan, ["params", "dest"], params, dest);
        let indices = Argument::indices(plan, indices);
        self.record_gather(
            move || begin_pass(encoder, plan),
            plan.into(),
            params,
            indices,
            dest,
        )
    }

    /// Records a gather or a crop into an open pass, like [`Gpu::encode_gather`].
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
        let [params, dest] = Argument::pair(plan, ["params", "dest"], params, dest);
        let indices = Argument::indices(plan, indices);
        self.record_gather(|| pass, plan.into(), params, indices, dest)
    }

    pub(super) fn record(
        &self,
        encoder: &mut CommandEncoder,
        task: Task<'_>,
        source: Argument<'_>,
        dest: Argument<'_>,
    ) -> Result<(), Error> {
        let commands = self.commands(task, &source, &dest)?;
        self.put(encoder, task.plan, &commands, source, dest);
        Ok(())
    }

    /// Decides on the commands that record a plan without indices. All errors of recording occur here, so a failed call
    /// leaves the encoder as it was.
    pub(super) fn commands(
        &self,
        task: Task<'_>,
        source: &Argument<'_>,
        dest: &Argument<'_>,
    ) -> Result<Commands, Error> {
        let plan = task.plan;
        check_without_indices(plan)?;
        let route = route(plan, &self.inner.reach.tuning, copyable(source, dest));
        if let Route::Nothing = route {
            return Ok(Commands::Nothing);
        }
        source.check(dest)?;
        Ok(match route {
            Route::Copies(walk) => Commands::Copies(walk.clone()),
            Route::Clear => Commands::Clear,
            Route::Nothing | Route::Dispatches => {
                Commands::Dispatches(self.dispatches(task, source, dest)?)
            }
        })
    }

    /// Records what [`Gpu::commands`] decided on for these arguments.
    pub(super) fn put(
        &self,
        encoder: &mut CommandEncoder,
        plan: &Plan,
        commands: &Commands,
        source: Argument<'_>,
        dest: Argument<'_>,
    ) {
        match commands {
            Commands::Nothing => {}
            Commands::Copies(walk) => copy(encoder, walk, &source, &dest),
            Commands::Clear => clear(encoder, &dest),
            Commands::Dispatches(work) => {
                let mut pass = begin_pass(encoder, plan);
                self.launch(&mut pass, work, &[source, dest], &mut Counts::default());
            }
        }
    }

    pub(super) fn record_in_pass(
        &self,
        pass: &mut ComputePass<'_>,
        task: Task<'_>,
        source: Argument<'_>,
        dest: Argument<'_>,
    ) -> Result<(), Error> {
        check_without_indices(task.plan)?;
        if let Route::Nothing = route(task.plan, &self.inner.reach.tuning, false) {
            return Ok(());
        }
        source.check(&dest)?;
        let work = self.dispatches(task, &source, &dest)?;
        self.launch(pass, &work, &[source, dest], &mut Counts::default());
        Ok(())
    }

    /// The work of a plan that has rows but no indices.
    fn dispatches(
        &self,
        task: Task<'_>,
        source: &Argument<'_>,
        dest: &Argument<'_>,
    ) -> Result<Arc<Work>, Error> {
        source.check_storage()?;
        dest.check_storage()?;
        self.work_of(task, &[*source, *dest], IndexType::default())
    }

    /// Records a gather or a crop into the pass that `pass` returns. All errors occur before `pass` is called.
    pub(super) fn record_gather<'p, P: BorrowMut<ComputePass<'p>>>(
        &self,
        pass: impl FnOnce() -> P,
        task: Task<'_>,
        params: Argument<'_>,
        (indices, index): (Argument<'_>, IndexType),
        dest: Argument<'_>,
    ) -> Result<Pending<Report>, Error> {
        let plan = task.plan;
        let problem = match plan.effect() {
            Effect::Scatter(_) => Some("is of a scatter: record it with encode_scatter"),
            _ if plan.tuples().is_none() => Some("is not used by a slice: record it with encode"),
            _ => None,
        };
        if let Some(problem) = problem {
            return Err(indices.problem(problem.into()));
        }
        let mut counts = Counts::default();
        if plan.result_bytes() == 0 {
            let plan = Arc::new(plan.clone());
            return Ok(report::pending(self, &plan, counts, &indices, index));
        }
        indices.check_tuples(&params, &dest)?;
        let arguments = [params, dest, indices];
        let work = self.work_of(task, &arguments, index)?;
        self.launch(pass().borrow_mut(), &work, &arguments, &mut counts);
        Ok(report::pending(self, &work.plan, counts, &indices, index))
    }

    /// Returns the work of a task whose result is not empty. `arguments` are the source, the result and, for a gather
    /// or a scatter, the index tuples, which are of type `index`.
    pub(super) fn work_of(
        &self,
        task: Task<'_>,
        arguments: &[Argument<'_>],
        index: IndexType,
    ) -> Result<Arc<Work>, Error> {
        let parts = |number: usize| {
            arguments
                .get(number)
                .map_or(Parts::ONE, |found| found.parts)
        };
        let places = self.aligned(Places {
            source: parts(0),
            dest: parts(1),
            indices: parts(2),
            index,
            whole: arguments.iter().take(2).all(Argument::is_whole),
        });
        let prepared = task.prepared.iter().find(|work| work.places == places);
        match prepared {
            Some(work) => Ok(Arc::clone(work)),
            None => self.work(task.plan, places),
        }
    }

    /// Records all dispatches of a work into `pass`. Not for scatters, which clear scratch memory between passes.
    /// `arguments` are those of [`Gpu::work_of`]. The slots of reports are added to `counts`.
    fn launch(
        &self,
        pass: &mut ComputePass<'_>,
        work: &Work,
        arguments: &[Argument<'_>],
        counts: &mut Counts,
    ) {
        let dispatches = work.passes.iter().flat_map(|pass| &pass.dispatches);
        dispatches.for_each(|launch| self.dispatch(pass, launch, arguments, counts));
    }

    /// Records a dispatch. If the dispatch writes a report, the report's slot is added to `counts`.
    pub(super) fn dispatch(
        &self,
        pass: &mut ComputePass<'_>,
        Launch { dispatch, pipeline }: &Launch,
        arguments: &[Argument<'_>],
        counts: &mut Counts,
    ) {
        let Inner {
            device,
            reach,
            pipelines,
            groups,
            ..
        } = &*self.inner;
        let kernel = dispatch.program.kernel;
        pass.set_pipeline(pipeline);
        let range = |bound: &Bound| {
            let argument = &arguments[bound.argument];
            Range {
                buffer: &argument.buffers[bound.span.part],
                offset: bound.span.offset + reach.aligned(argument.parts.offset),
                bytes: bound.span.bytes,
            }
        };
        let ranges: Vec<_> = dispatch.bound.iter().map(range).collect();
        let make = || {
            let entries: Vec<_> = (0..)
                .zip(&ranges)
                .map(|(binding, range)| wgpu::BindGroupEntry {
                    binding,
                    resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                        buffer: range.buffer,
                        offset: range.offset,
                        size: wgpu::BufferSize::new(range.bytes),
                    }),
                })
                .collect();
            device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some(&format!("wgslice {}", kernel.name())),
                layout: &pipeline.get_bind_group_layout(BUFFERS_GROUP),
                entries: &entries,
            })
        };
        let callers = |bound: &Bound| arguments[bound.argument].callers;
        let group = match dispatch.bound.iter().all(callers) {
            true => groups.get(kernel, &ranges, make),
            false => make(),
        };
        pass.set_bind_group(BUFFERS_GROUP, &group, &[]);
        let layout = || pipeline.get_bind_group_layout(UNIFORMS_GROUP);
        let walk = pipelines.uniforms.get(&dispatch.uniforms, layout);
        walk.bind(pass, UNIFORMS_GROUP);
        let layout = || pipeline.get_bind_group_layout(REPORT_GROUP);
        let report = match dispatch.counts || dispatch.is_strict() {
            true => counts.slot(dispatch, || pipelines.reports.lend(layout)),
            false => pipelines.unread(&self.inner.queue, layout),
        };
        report.bind(pass, REPORT_GROUP);
        hold(pass, [walk, report]);
        pass.dispatch_workgroups(dispatch.uniforms.groups_x, dispatch.height, 1);
    }
}

/// Opens a pass that is labelled with the operation's name.
pub(super) fn begin_pass<'a>(encoder: &'a mut CommandEncoder, plan: &Plan) -> ComputePass<'a> {
    encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
        label: Some(&format!("wgslice {}", plan.name())),
        timestamp_writes: None,
    })
}
