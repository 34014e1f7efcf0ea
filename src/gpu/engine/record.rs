//! Records the commands of plans.

use super::{
    Engine,
    argument::Argument,
    caps::Parts,
    copy::{clear, copy, copyable},
    cut::{Bound, Places},
    program::{BUFFERS_GROUP, REPORT_GROUP, UNIFORMS_GROUP},
    report::{self, Counts},
    route::{Route, route},
    rule::rule_of,
    slots::hold,
    steps::SCRATCH,
    work::{Pass, Ready, Work},
};
use crate::{Error, Pending, Plan, Report, plan::Effect, walk::Walk};
use std::{borrow::BorrowMut, sync::Arc};
use wgpu::{CommandEncoder, ComputePass};

/// The commands of a plan without indices: see `route`.
#[derive(Debug)]
pub(in crate::gpu) enum Commands {
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

impl Engine {
    /// Records a plan without indices.
    pub(in crate::gpu) fn record(
        &self,
        encoder: &mut CommandEncoder,
        plan: &Plan,
        source: Argument<'_>,
        dest: Argument<'_>,
    ) -> Result<(), Error> {
        let commands = self.commands(plan, &source, &dest)?;
        self.put(encoder, plan, &commands, source, dest);
        Ok(())
    }

    /// Decides on the commands that record a plan without indices. All errors of recording occur here, so a failed call
    /// leaves the encoder as it was.
    pub(in crate::gpu) fn commands(
        &self,
        plan: &Plan,
        source: &Argument<'_>,
        dest: &Argument<'_>,
    ) -> Result<Commands, Error> {
        check_without_indices(plan)?;
        let route = route(plan, &self.reach.tuning, copyable(source, dest));
        if let Route::Nothing = route {
            return Ok(Commands::Nothing);
        }
        source.check(dest)?;
        Ok(match route {
            Route::Copies(walk) => Commands::Copies(walk.clone()),
            Route::Clear => Commands::Clear,
            Route::Nothing | Route::Dispatches => {
                Commands::Dispatches(self.dispatches(plan, source, dest)?)
            }
        })
    }

    /// Records what [`Engine::commands`] decided on for these arguments.
    pub(in crate::gpu) fn put(
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

    /// Records a plan without indices into an open pass.
    pub(in crate::gpu) fn record_in_pass(
        &self,
        pass: &mut ComputePass<'_>,
        plan: &Plan,
        source: Argument<'_>,
        dest: Argument<'_>,
    ) -> Result<(), Error> {
        check_without_indices(plan)?;
        if let Route::Nothing = route(plan, &self.reach.tuning, false) {
            return Ok(());
        }
        source.check(&dest)?;
        let work = self.dispatches(plan, &source, &dest)?;
        self.launch(pass, &work, &[source, dest], &mut Counts::default());
        Ok(())
    }

    /// The work of a plan that has rows but no indices.
    fn dispatches(
        &self,
        plan: &Plan,
        source: &Argument<'_>,
        dest: &Argument<'_>,
    ) -> Result<Arc<Work>, Error> {
        source.check_storage()?;
        dest.check_storage()?;
        self.work_of(plan, &[*source, *dest])
    }

    /// Records a gather or a crop into the pass that `pass` returns. All errors occur before `pass` is called.
    pub(in crate::gpu) fn record_gather<'p, P: BorrowMut<ComputePass<'p>>>(
        &self,
        pass: impl FnOnce() -> P,
        plan: &Plan,
        params: Argument<'_>,
        indices: Argument<'_>,
        dest: Argument<'_>,
    ) -> Result<Pending<Report>, Error> {
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
            return Ok(report::pending(&self.device, &plan, counts, &indices));
        }
        indices.check_tuples(&params, &dest)?;
        let arguments = [params, dest, indices];
        let work = self.work_of(plan, &arguments)?;
        self.launch(pass().borrow_mut(), &work, &arguments, &mut counts);
        Ok(report::pending(&self.device, &work.plan, counts, &indices))
    }

    /// Records a scatter. Each row of `updates` goes to the slice of `dest` that the row's index tuple selects. This
    /// takes several steps, on which `steps` decides. A step leaves in scratch memory what later steps read. The memory
    /// belongs to the engine and serves every recording, since wgpu runs submissions in order.
    ///
    /// In the last step, no two invocations write the same bytes, unless by atomics whose order makes no difference. So
    /// results depend on scheduling only if the options let rows be combined in any order.
    pub(in crate::gpu) fn record_scatter(
        &self,
        encoder: &mut CommandEncoder,
        plan: &Plan,
        updates: Argument<'_>,
        indices: Argument<'_>,
        dest: Argument<'_>,
    ) -> Result<Pending<Report>, Error> {
        let Effect::Scatter(scatter) = plan.effect() else {
            let problem = "is not used by this plan: record it with encode or encode_gather";
            return Err(indices.problem(problem.into()));
        };
        indices.check_tuples(&updates, &dest)?;
        let mut counts = Counts::default();
        if plan.walk().is_none() {
            if scatter.fresh && plan.result_bytes() > 0 {
                let zeros = Plan::zeros(plan.result_bytes());
                self.record(encoder, &zeros, updates, dest)?;
            }
            let plan = Arc::new(plan.clone());
            return Ok(report::pending(&self.device, &plan, counts, &indices));
        }
        if let Some((_, number)) = rule_of(plan, &scatter)? {
            for argument in [&updates, &dest] {
                let offset = argument.parts.offset;
                if !offset.is_multiple_of(number as u64) {
                    let problem = format!(
                        "begins at byte {offset}: where elements are combined it must be a multiple of \
                         {number}"
                    );
                    return Err(argument.problem(problem));
                }
            }
        }
        let work = self.work_of(plan, &[updates, dest, indices])?;
        // The memory is allocated before anything is recorded, so that a failed allocation leaves the encoder
        // untouched.
        let scratch = self.scratch(work.scratch)?;
        let memory = Argument {
            callers: work.scratch == 0,
            ..Argument::of("scratch", scratch.slice(..), 0)
        };
        let arguments = [updates, dest, indices, memory];
        debug_assert_eq!(arguments.len(), SCRATCH + 1);
        let groups = self.groups(&work, &arguments);
        let mut groups = groups.iter();
        for Pass {
            cleared,
            dispatches,
        } in &work.passes
        {
            if !cleared.is_empty() {
                let bytes = cleared.end - cleared.start;
                encoder.clear_buffer(&scratch, cleared.start, Some(bytes));
            }
            let mut pass = begin_pass(encoder, plan);
            for (ready, group) in dispatches.iter().zip(&mut groups) {
                self.dispatch(&mut pass, ready, group, &mut counts);
            }
        }
        Ok(report::pending(&self.device, &work.plan, counts, &indices))
    }

    /// Returns the work of a plan whose result is not empty. `arguments` are the source, the result and, for a gather
    /// or a scatter, the index tuples.
    fn work_of(&self, plan: &Plan, arguments: &[Argument<'_>]) -> Result<Arc<Work>, Error> {
        let parts = |number: usize| {
            arguments
                .get(number)
                .map_or(Parts::ONE, |found| found.parts)
        };
        let places = self.aligned(Places {
            source: parts(0),
            dest: parts(1),
            indices: parts(2),
            whole: arguments.iter().take(2).all(Argument::is_whole),
        });
        self.work(plan, places)
    }

    /// Records all dispatches of a work into `pass`. Not for scatters, which clear scratch memory between passes.
    /// `arguments` are those of [`Engine::work_of`]. The slots of reports are added to `counts`.
    fn launch(
        &self,
        pass: &mut ComputePass<'_>,
        work: &Arc<Work>,
        arguments: &[Argument<'_>],
        counts: &mut Counts,
    ) {
        let groups = self.groups(work, arguments);
        for (ready, group) in work.dispatches().zip(groups.iter()) {
            self.dispatch(pass, ready, group, counts);
        }
    }

    /// The bind groups of a work's dispatches, in their order, for these arguments.
    fn groups(&self, work: &Arc<Work>, arguments: &[Argument<'_>]) -> Arc<[wgpu::BindGroup]> {
        let group = |Ready {
                         dispatch, pipeline, ..
                     }: &Ready| {
            let bind = |(binding, bound): (u32, &Bound)| {
                let argument = &arguments[bound.argument];
                wgpu::BindGroupEntry {
                    binding,
                    resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                        buffer: &argument.buffers[bound.span.part],
                        offset: bound.span.offset + self.reach.aligned(argument.parts.offset),
                        size: wgpu::BufferSize::new(bound.span.bytes),
                    }),
                }
            };
            let entries: Vec<_> = (0..).zip(&dispatch.bound).map(bind).collect();
            self.device
                .wgpu
                .create_bind_group(&wgpu::BindGroupDescriptor {
                    label: Some(&format!("wgslice {}", dispatch.program.kernel.name())),
                    layout: &pipeline.get_bind_group_layout(BUFFERS_GROUP),
                    entries: &entries,
                })
        };
        let make = || work.dispatches().map(group).collect();
        self.cache.groups(work, arguments, make)
    }

    /// Records a dispatch. If the dispatch writes a report, the report's slot is added to `counts`.
    fn dispatch(
        &self,
        pass: &mut ComputePass<'_>,
        Ready {
            dispatch,
            pipeline,
            uniforms,
        }: &Ready,
        group: &wgpu::BindGroup,
        counts: &mut Counts,
    ) {
        pass.set_pipeline(pipeline);
        pass.set_bind_group(BUFFERS_GROUP, group, &[]);
        uniforms.bind(pass, UNIFORMS_GROUP);
        let layout = || pipeline.get_bind_group_layout(REPORT_GROUP);
        let report = match dispatch.counts || dispatch.is_strict() {
            true => counts.slot(dispatch, || self.pipelines.reports.lend(layout)),
            false => self.pipelines.unread(&self.device.queue, layout),
        };
        report.bind(pass, REPORT_GROUP);
        hold(pass, [uniforms.clone(), report]);
        pass.dispatch_workgroups(dispatch.uniforms.groups_x, dispatch.height, 1);
    }
}

/// Opens a pass that is labelled with the operation's name.
pub(in crate::gpu) fn begin_pass<'a>(
    encoder: &'a mut CommandEncoder,
    plan: &Plan,
) -> ComputePass<'a> {
    encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
        label: Some(&format!("wgslice {}", plan.name())),
        timestamp_writes: None,
    })
}
