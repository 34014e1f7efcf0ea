//! Records the commands of plans.

use super::{
    Engine,
    argument::Argument,
    aside::Copy,
    caps::Parts,
    copy::{clear, copy, copyable},
    dispatch::{self, DEST, INDICES, Places, SCRATCH, SOURCE},
    program::{BUFFERS_GROUP, REPORT_GROUP, UNIFORMS_GROUP},
    report::{self, Counts},
    route::{Route, route},
    rule::rule_of,
    scoped,
    slots::hold,
    work::{Pass, Ready, Work},
};
use crate::{
    Error, Found, Pending, Plan, Report,
    plan::{Effect, Find, Scatter},
    walk::Walk,
};
use std::{ops::Range, sync::Arc};
use wgpu::{CommandEncoder, ComputePass};

const RECORDING: &str = "recording";

/// Where commands are recorded.
#[derive(Debug)]
pub enum Target<'a, 'p> {
    /// An encoder, of which no pass is open.
    Encoder(&'a mut CommandEncoder),
    /// An open pass, which takes only dispatches.
    Pass(&'a mut ComputePass<'p>),
}

impl Target<'_, '_> {
    /// Calls `record` with the open pass, or with a new one.
    fn in_pass(&mut self, plan: &Plan, record: impl FnOnce(&mut ComputePass<'_>)) {
        match self {
            Self::Encoder(encoder) => record(&mut begin_pass(encoder, plan)),
            Self::Pass(pass) => record(pass),
        }
    }
}

/// The commands of a plan without indices: see `route`.
#[derive(Debug)]
pub(in crate::gpu) enum Commands {
    Nothing,
    Copies(Walk),
    Clear,
    Dispatches(Bound),
}

/// Dispatches with their bind groups.
#[derive(Debug)]
pub(in crate::gpu) struct Bound {
    work: Arc<Work>,
    groups: Arc<[wgpu::BindGroup]>,
}

impl Engine {
    /// Records a plan. `indices` are those of a gather, a crop or a scatter. A failed call leaves the target as it was.
    pub(in crate::gpu) fn record(
        &self,
        mut target: Target<'_, '_>,
        plan: &Plan,
        source: Argument<'_>,
        indices: Option<Argument<'_>>,
        dest: Argument<'_>,
    ) -> Result<Pending<Report>, Error> {
        let may_copy = matches!(target, Target::Encoder(_));
        let tuples = indices.as_ref().filter(|_| plan.tuples().is_some());
        check_conversion(plan, &source, &dest)?;
        let aside = self.aside(plan, &source, tuples, &dest)?;
        let mut copies = Vec::new();
        let source = self.moved(&aside.source, source, may_copy, &mut copies)?;
        let moved =
            indices.map(|indices| self.moved(&aside.indices, indices, may_copy, &mut copies));
        match (plan.effect(), moved.transpose()?.zip(indices)) {
            (Effect::Scatter(scatter), Some((moved, indices))) => {
                let arguments = [source, dest, moved];
                self.record_scatter(target, plan, &scatter, arguments, &indices, &copies)
            }
            (_, Some((moved, indices))) => {
                self.record_gather(target, plan, [source, dest, moved], &indices, &copies)
            }
            (_, None) => {
                let commands = self.commands(plan, &source, &dest, may_copy)?;
                self.put_copies(&mut target, &copies);
                self.put(&mut target, plan, &commands, source, dest);
                Ok(Pending::done(
                    plan.report(Default::default(), |_| Vec::new())?,
                ))
            }
        }
    }

    /// Decides on the commands that record a plan without indices: `copies` if they may be copies. All errors of
    /// recording occur here, so a failed call leaves the encoder as it was.
    pub(in crate::gpu) fn commands(
        &self,
        plan: &Plan,
        source: &Argument<'_>,
        dest: &Argument<'_>,
        copies: bool,
    ) -> Result<Commands, Error> {
        if plan.tuples().is_some() {
            return Err(Error::Buffer {
                argument: "indices",
                problem: "is missing: a gather, a crop or a scatter reads it".into(),
            });
        }
        let route = route(plan, &self.reach.tuning, copies && copyable(source, dest));
        if let Route::Nothing = route {
            return Ok(Commands::Nothing);
        }
        source.check(dest)?;
        Ok(match route {
            Route::Copies(walk) => Commands::Copies(walk.clone()),
            Route::Clear => Commands::Clear,
            Route::Nothing | Route::Dispatches => {
                source.check_storage()?;
                dest.check_storage()?;
                Commands::Dispatches(self.bound(plan, &[*source, *dest])?)
            }
        })
    }

    /// Records what [`Engine::commands`] decided on for these arguments.
    pub(in crate::gpu) fn put(
        &self,
        target: &mut Target<'_, '_>,
        plan: &Plan,
        commands: &Commands,
        source: Argument<'_>,
        dest: Argument<'_>,
    ) {
        match (commands, &mut *target) {
            (Commands::Copies(walk), Target::Encoder(encoder)) => {
                copy(encoder, walk, &source, &dest);
            }
            (Commands::Clear, Target::Encoder(encoder)) => clear(encoder, &dest),
            (Commands::Dispatches(bound), _) => {
                target.in_pass(plan, |pass| {
                    self.launch(pass, bound, &mut Counts::default());
                });
            }
            _ => {}
        }
    }

    /// Records a gather or a crop. `arguments` are the source, the result and the index tuples. Of `indices` the report
    /// reads a tuple later; they are the same tuples, but not in scratch memory.
    fn record_gather(
        &self,
        mut target: Target<'_, '_>,
        plan: &Plan,
        arguments: [Argument<'_>; 3],
        indices: &Argument<'_>,
        copies: &[Copy<'_>],
    ) -> Result<Pending<Report>, Error> {
        let [source, dest, tuples] = &arguments;
        if plan.tuples().is_none() {
            return Err(indices.problem("is not used by this plan: pass None".into()));
        }
        let mut counts = Counts::default();
        if plan.result_bytes() == 0 || plan.is_in_place() && plan.walk().is_none() {
            let plan = Arc::new(plan.clone());
            return Ok(report::pending(&self.device, &plan, counts, indices));
        }
        tuples.check_tuples(source, dest)?;
        let bound = self.bound(plan, &arguments)?;
        self.put_copies(&mut target, copies);
        target.in_pass(plan, |pass| self.launch(pass, &bound, &mut counts));
        Ok(report::pending(
            &self.device,
            &bound.work.plan,
            counts,
            indices,
        ))
    }

    /// Records a scatter. Each row of the updates goes to the slice of the destination that the row's index tuple
    /// selects. This takes several steps, on which `steps` decides. A step leaves in scratch memory what later steps
    /// read. The memory belongs to the engine and serves every recording, since wgpu runs submissions in order. In an
    /// open pass, dispatches clear it.
    ///
    /// In the last step, no two invocations write the same bytes, unless by atomics whose order makes no difference. So
    /// results depend on scheduling only if the options let rows be combined in any order.
    fn record_scatter(
        &self,
        mut target: Target<'_, '_>,
        plan: &Plan,
        scatter: &Scatter,
        [updates, dest, tuples]: [Argument<'_>; 3],
        indices: &Argument<'_>,
        copies: &[Copy<'_>],
    ) -> Result<Pending<Report>, Error> {
        tuples.check_tuples(&updates, &dest)?;
        let mut counts = Counts::default();
        if plan.walk().is_none() {
            if scatter.fresh && plan.result_bytes() > 0 {
                let zeros = Plan::zeros(plan.result_bytes());
                self.record(target, &zeros, updates, None, dest)?;
            }
            let plan = Arc::new(plan.clone());
            return Ok(report::pending(&self.device, &plan, counts, indices));
        }
        if let Some((_, number)) = rule_of(plan, scatter)? {
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
        let work = self.work_of(plan, &[updates, dest, tuples])?;
        // The memory is allocated before anything is recorded, so that a failed allocation leaves the encoder
        // untouched.
        let scratch = self.scratch(work.scratch)?;
        let memory = Argument {
            callers: work.scratch == 0,
            ..Argument::of("scratch", scratch.slice(..), 0)
        };
        let arguments = [updates, dest, tuples, memory];
        debug_assert_eq!(arguments.len(), SCRATCH + 1);
        let groups = self.groups(&work, &arguments)?;
        let cleared = work.passes.iter().map(|Pass { cleared, .. }| {
            let bytes = cleared.end - cleared.start;
            match (&target, usize::try_from(bytes)) {
                (Target::Pass(_), Ok(count)) if count > 0 => {
                    let part = scratch.slice(cleared.clone());
                    let part = Argument {
                        callers: false,
                        ..Argument::of("scratch", part, count)
                    };
                    self.bound(&Plan::zeros(count), &[updates, part]).map(Some)
                }
                _ => Ok(None),
            }
        });
        let cleared: Vec<Option<Bound>> = cleared.collect::<Result<_, Error>>()?;
        self.put_copies(&mut target, copies);
        let mut groups = groups.iter();
        for (pass, zeros) in work.passes.iter().zip(cleared) {
            if let (Target::Encoder(encoder), Range { start, end }) = (&mut target, &pass.cleared)
                && start < end
            {
                encoder.clear_buffer(&scratch, *start, Some(end - start));
            }
            target.in_pass(plan, |open| {
                if let Some(zeros) = &zeros {
                    self.launch(open, zeros, &mut Counts::default());
                }
                for (ready, group) in pass.dispatches.iter().zip(&mut groups) {
                    self.dispatch(open, ready, group, &mut counts);
                }
            });
        }
        Ok(report::pending(&self.device, &work.plan, counts, indices))
    }

    /// Records a search for the true elements of a mask. `arguments` are the mask, the rows of positions, and the words
    /// that hold their number. The memory of counts belongs to the engine, as that of scatters does.
    pub(in crate::gpu) fn record_find(
        &self,
        mut target: Target<'_, '_>,
        plan: &Plan,
        [mask, rows, count]: [Argument<'_>; 3],
    ) -> Result<Pending<Found>, Error> {
        let Effect::Find(Find { capacity, .. }) = plan.effect() else {
            return Err(mask.problem("is not used by this plan".into()));
        };
        rows.check_tuples(&mask, &count)?;
        mask.check(&rows)?;
        count.check_word_aligned()?;
        for (one, other) in [(&mask, &rows), (&mask, &count), (&rows, &count)] {
            one.check_apart(other)?;
        }
        let work = self.work_of(plan, &[mask, rows, count])?;
        let scratch = self.scratch(work.scratch)?;
        let memory = Argument {
            callers: false,
            ..Argument::of("scratch", scratch.slice(..), 0)
        };
        let groups = self.groups(&work, &[mask, rows, count, memory])?;
        let bound = Bound { work, groups };
        target.in_pass(plan, |pass| {
            self.launch(pass, &bound, &mut Counts::default());
        });
        Ok(report::found(&self.device, capacity, &count))
    }

    /// Decides on the commands of a gather whose result is not empty.
    pub(in crate::gpu) fn gather_commands(
        &self,
        plan: &Plan,
        arguments: [Argument<'_>; 3],
    ) -> Result<Commands, Error> {
        let [source, dest, indices] = &arguments;
        indices.check_tuples(source, dest)?;
        Ok(Commands::Dispatches(self.bound(plan, &arguments)?))
    }

    /// The dispatches of a plan whose result is not empty, with the bind groups of these arguments.
    fn bound(&self, plan: &Plan, arguments: &[Argument<'_>]) -> Result<Bound, Error> {
        let work = self.work_of(plan, arguments)?;
        let groups = self.groups(&work, arguments)?;
        Ok(Bound { work, groups })
    }

    /// Returns the work of a plan whose result is not empty. `arguments` are the source, the result and, for a gather
    /// or a scatter, the index tuples.
    fn work_of(&self, plan: &Plan, arguments: &[Argument<'_>]) -> Result<Arc<Work>, Error> {
        let parts = |number: usize| {
            let mut parts = arguments.get(number).map_or(Parts::ONE, |of| of.parts);
            parts.offset -= self.reach.aligned(parts.offset);
            parts
        };
        let places = Places {
            parts: [SOURCE, DEST, INDICES].map(parts),
            whole: arguments.iter().take(2).all(Argument::is_whole),
        };
        self.work(plan, places, false)
    }

    /// Records all dispatches of a work into `pass`. Not for scatters, which clear scratch memory between passes. The
    /// slots of reports are added to `counts`.
    fn launch(&self, pass: &mut ComputePass<'_>, bound: &Bound, counts: &mut Counts) {
        for (ready, group) in bound.work.dispatches().zip(bound.groups.iter()) {
            self.dispatch(pass, ready, group, counts);
        }
    }

    /// The bind groups of a work's dispatches, in their order, for these arguments. wgpu refuses buffers that are
    /// destroyed or of another device.
    fn groups(
        &self,
        work: &Arc<Work>,
        arguments: &[Argument<'_>],
    ) -> Result<Arc<[wgpu::BindGroup]>, Error> {
        let group = |Ready {
                         dispatch, pipeline, ..
                     }: &Ready| {
            let bind = |(binding, bound): (u32, &dispatch::Bound)| {
                let (buffer, offset) = match (bound.argument, &work.tables) {
                    (dispatch::TABLES, Some(tables)) => (tables, 0),
                    (number, _) => {
                        let argument = &arguments[number];
                        let offset = self.reach.aligned(argument.parts.offset);
                        (
                            &argument.buffers[bound.span.part],
                            bound.span.offset + offset,
                        )
                    }
                };
                wgpu::BindGroupEntry {
                    binding,
                    resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                        buffer,
                        offset,
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
        let make = || {
            let made = self
                .device
                .guarded(RECORDING, || work.dispatches().map(group).collect());
            made.map_err(|error| self.refused(arguments, error))
        };
        self.cache.groups(work, arguments, make)
    }

    /// The error for arguments for which no bind groups could be made: names the buffer that is to blame, if one is.
    fn refused(&self, arguments: &[Argument<'_>], error: Error) -> Error {
        let Error::Device { .. } = error else {
            return error;
        };
        let device = &self.device.wgpu;
        let makes = |buffer: &wgpu::Buffer| {
            let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: None,
                entries: &[wgpu::BindGroupLayoutEntry {
                    binding: 0,
                    visibility: wgpu::ShaderStages::COMPUTE,
                    ty: wgpu::BindingType::Buffer {
                        ty: wgpu::BufferBindingType::Storage { read_only: true },
                        has_dynamic_offset: false,
                        min_binding_size: None,
                    },
                    count: None,
                }],
            });
            let _ = device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout: &layout,
                entries: &[wgpu::BindGroupEntry {
                    binding: 0,
                    resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                        buffer,
                        offset: 0,
                        size: wgpu::BufferSize::new(4),
                    }),
                }],
            });
        };
        let is_refused = |buffer: &wgpu::Buffer| scoped(device, || makes(buffer)).1.is_some();
        let to_blame = |argument: &&Argument<'_>| argument.buffers.iter().any(is_refused);
        match arguments.iter().find(to_blame) {
            None => error,
            Some(argument) => argument.problem(
                "is destroyed, or belongs to another device: pass a live one of the device of this Gpu"
                    .into(),
            ),
        }
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

/// Fails if a plan converts and its arguments do not begin at an element of the source and at a word of the result.
pub(in crate::gpu) fn check_conversion(
    plan: &Plan,
    source: &Argument<'_>,
    dest: &Argument<'_>,
) -> Result<(), Error> {
    if plan.conversion.is_none() {
        return Ok(());
    }
    for (argument, whole) in [(source, plan.source_dtype().size()), (dest, 4)] {
        let offset = argument.parts.offset;
        if !offset.is_multiple_of(whole as u64) {
            let problem = format!(
                "begins at byte {offset}: where elements are converted it must be a multiple of {whole}"
            );
            return Err(argument.problem(problem));
        }
    }
    Ok(())
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
