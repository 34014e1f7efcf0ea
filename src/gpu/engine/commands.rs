//! Chooses the commands of a move for its arguments and records them.

use super::{
    Engine,
    argument::Argument,
    caps::BufferParts,
    copy::{can_copy, record_clear, record_copies},
    dispatch::{ArgumentPlaces, BoundRange, DEST, INDICES, SCRATCH, SOURCE, TABLES},
    group::{bind_group, group_layout},
    program::{BUFFERS_GROUP, REPORT_GROUP, UNIFORMS_GROUP},
    report::ReportSlots,
    route::{Route, choose_route},
    rule::CombineRule,
    run_in_error_scope,
    slots::{Slot, hold_slots},
    work::{ReadyDispatch, Work},
};
use crate::{
    Error,
    moves::{Effect, Move},
    walk::Walk,
};
use std::sync::Arc;
use wgpu::{BufferBindingType, CommandEncoder, ComputePass, ComputePassDescriptor};

const DOING_RECORDING: &str = "recording";

/// The encoder or pass in which commands are recorded.
#[derive(Debug)]
pub enum Target<'a, 'p> {
    /// An encoder without an open pass.
    Encoder(&'a mut CommandEncoder),
    /// An open pass, which takes only dispatches.
    Pass(&'a mut ComputePass<'p>),
}

impl Target<'_, '_> {
    /// Holds a slot until the commands finish or are dropped.
    pub(super) fn hold_slot(&mut self, slot: Slot) {
        let release = move || drop(slot);
        match self {
            Self::Encoder(encoder) => encoder.on_submitted_work_done(release),
            Self::Pass(pass) => pass.on_submitted_work_done(release),
        }
    }

    /// Calls `record` with the open pass, or with a new pass that is labelled with `operation`.
    pub(super) fn in_pass(&mut self, operation: &str, record: impl FnOnce(&mut ComputePass<'_>)) {
        match self {
            Self::Encoder(encoder) => {
                #[cfg(test)]
                crate::gpu::pass_tests::count_pass();
                record(&mut encoder.begin_compute_pass(&ComputePassDescriptor {
                    label: Some(&format!("wgslice {operation}")),
                    timestamp_writes: None,
                }));
            }
            Self::Pass(pass) => record(pass),
        }
    }
}

/// The commands of a move for its arguments. Recording them cannot fail.
#[derive(Debug)]
pub(in crate::gpu) struct Commands<'a> {
    pub(super) operation: &'static str,
    recipe: Recipe,
    source: Argument<'a>,
    dest: Argument<'a>,
}

/// The commands that are recorded for a move: see `route`.
#[derive(Debug)]
enum Recipe {
    Nothing,
    Copies(Walk),
    Clear,
    Dispatches(WorkWithGroups),
}

/// The passes of a work with the bind groups of its dispatches.
#[derive(Debug)]
struct WorkWithGroups {
    work: Arc<Work>,
    groups: Arc<[wgpu::BindGroup]>,
    /// The memory in which the steps of a scatter or a search leave results for later steps.
    scratch: Option<wgpu::Buffer>,
    /// The dispatches that clear the scratch memory, for each pass that needs it cleared. Only used in an open pass,
    /// which takes no other commands.
    clearing_works: Vec<Self>,
}

impl Commands<'_> {
    /// Returns the move of the commands' work, if the commands are dispatches.
    pub(super) fn dispatched_move(&self) -> Option<Arc<Move>> {
        match &self.recipe {
            Recipe::Dispatches(grouped_work) => Some(Arc::clone(&grouped_work.work.step_move)),
            _ => None,
        }
    }

    /// Returns whether the commands are only dispatches, which can share a pass with other dispatches.
    pub(super) fn are_dispatches(&self) -> bool {
        match &self.recipe {
            Recipe::Dispatches(grouped_work) => grouped_work
                .work
                .passes
                .iter()
                .all(|pass| pass.cleared_bytes == 0),
            _ => false,
        }
    }
}

impl Engine {
    /// Returns the commands of a search for the true elements of a mask. Their positions go to `rows`, and their number
    /// goes to `count`.
    pub(super) fn search_commands<'a>(
        &self,
        step_move: &Move,
        ready_works: &[Arc<Work>],
        mask: Argument<'a>,
        rows: Argument<'a>,
        count: Argument<'a>,
    ) -> Result<Commands<'a>, Error> {
        rows.check_tuples(&mask, &count)?;
        mask.check_sizes(&rows)?;
        count.check_word_aligned()?;
        for (one, other) in [(&mask, &rows), (&mask, &count), (&rows, &count)] {
            one.check_apart(other)?;
        }
        Ok(Commands {
            operation: step_move.name(),
            recipe: Recipe::Dispatches(self.work_with_groups(
                step_move,
                ready_works,
                &[mask, rows, count],
                false,
            )?),
            source: mask,
            dest: rows,
        })
    }

    /// Returns whether a move has no tuples and is recorded without a dispatch.
    pub(super) fn needs_no_dispatch(
        &self,
        step_move: &Move,
        source: &Argument<'_>,
        dest: &Argument<'_>,
    ) -> bool {
        let route = choose_route(step_move, &self.limits.tuning, can_copy(source, dest));
        step_move.tuples().is_none() && !matches!(route, Route::Dispatches)
    }

    /// Chooses the commands of a move. `arguments` are the source, the result and, if the move has them, the index
    /// tuples. If `may_copy` is true, the commands can be buffer copies and clears. Dispatches come from a work in
    /// `ready_works` if one fits. All errors of recording occur in this call, so a failed call leaves the encoder
    /// unchanged.
    pub(in crate::gpu) fn choose_commands<'a>(
        &self,
        step_move: &Move,
        ready_works: &[Arc<Work>],
        arguments: &[Argument<'a>],
        may_copy: bool,
    ) -> Result<Commands<'a>, Error> {
        let (source, dest) = (arguments[SOURCE], arguments[DEST]);
        let recipe = match (step_move.tuples(), arguments.get(INDICES)) {
            (Some(_), Some(tuples)) => {
                let (has_walk, bytes) = (step_move.walk().is_some(), step_move.result_bytes());
                let has_no_commands = match step_move.effect() {
                    Effect::Scatter(scatter) => {
                        tuples.check_tuples(&source, &dest)?;
                        if scatter.starts_from_zeros && !has_walk && bytes > 0 {
                            return self.choose_commands(
                                &Move::zeros(bytes),
                                &[],
                                &[source, dest],
                                may_copy,
                            );
                        }
                        !has_walk
                    }
                    _ => bytes == 0 || step_move.is_in_place() && !has_walk,
                };
                if has_no_commands {
                    Recipe::Nothing
                } else {
                    tuples.check_tuples(&source, &dest)?;
                    if let Some(rule) = CombineRule::from_move(step_move)? {
                        source.check_multiple(rule.number_bytes, "combined")?;
                        dest.check_multiple(rule.number_bytes, "combined")?;
                    }
                    Recipe::Dispatches(self.work_with_groups(
                        step_move,
                        ready_works,
                        arguments,
                        !may_copy,
                    )?)
                }
            }
            _ => {
                let may_copy = may_copy && can_copy(&source, &dest);
                let route = choose_route(step_move, &self.limits.tuning, may_copy);
                if !matches!(route, Route::Nothing) {
                    source.check_sizes(&dest)?;
                }
                match route {
                    Route::Nothing => Recipe::Nothing,
                    Route::Copies(walk) => Recipe::Copies(walk.clone()),
                    Route::Clear => Recipe::Clear,
                    Route::Dispatches => {
                        source.check_storage()?;
                        dest.check_storage()?;
                        Recipe::Dispatches(self.work_with_groups(
                            step_move,
                            ready_works,
                            arguments,
                            false,
                        )?)
                    }
                }
            }
        };
        Ok(Commands {
            operation: step_move.name(),
            recipe,
            source,
            dest,
        })
    }

    /// Records commands. Adds the slots of their reports to `report_slots`.
    pub(in crate::gpu) fn record_commands(
        &self,
        target: &mut Target<'_, '_>,
        commands: &Commands<'_>,
        report_slots: &mut ReportSlots,
    ) {
        let Commands { source, dest, .. } = commands;
        match (&commands.recipe, &mut *target) {
            (Recipe::Copies(walk), Target::Encoder(encoder)) => {
                record_copies(encoder, walk, source, dest);
            }
            (Recipe::Clear, Target::Encoder(encoder)) => record_clear(encoder, dest),
            (Recipe::Dispatches(grouped_work), _) => {
                self.record_passes(target, commands.operation, grouped_work, report_slots);
            }
            _ => {}
        }
    }

    /// Returns the dispatches of a move with a non-empty result, and their bind groups. The bind groups also bind the
    /// memory between the steps of a scatter or a search. The engine owns this memory. Every recording can use it,
    /// because wgpu runs submissions in order. If `in_pass` is true, dispatches clear the memory, because an open pass
    /// takes no other commands.
    fn work_with_groups(
        &self,
        step_move: &Move,
        ready_works: &[Arc<Work>],
        arguments: &[Argument<'_>],
        in_pass: bool,
    ) -> Result<WorkWithGroups, Error> {
        let work = self.work_of(step_move, ready_works, arguments)?;
        if work.scratch_bytes == 0 {
            return Ok(WorkWithGroups {
                groups: self.bind_groups(&work, arguments)?,
                work,
                scratch: None,
                clearing_works: Vec::new(),
            });
        }
        debug_assert_eq!(arguments.len(), SCRATCH);
        let scratch = self.scratch_buffer(work.scratch_bytes)?;
        let memory = Argument::own_memory("scratch", scratch.slice(..), 0);
        let groups = self.bind_groups(&work, &[arguments, &[memory]].concat())?;
        let cleared = work.passes.iter().map(|pass| pass.cleared_bytes);
        let cleared = cleared.filter(|&bytes| in_pass && bytes > 0);
        let clearing_works = cleared.map(|bytes| {
            let cleared_memory =
                Argument::own_memory("scratch", scratch.slice(..bytes as u64), bytes);
            self.work_with_groups(
                &Move::zeros(bytes),
                &[],
                &[arguments[SOURCE], cleared_memory],
                in_pass,
            )
        });
        Ok(WorkWithGroups {
            clearing_works: clearing_works.collect::<Result<_, _>>()?,
            groups,
            work,
            scratch: Some(scratch),
        })
    }

    /// Returns the work of a move with a non-empty result: a work in `ready_works` if one fits. `arguments` are the
    /// source, the result and, for a gather or a scatter, the index tuples.
    pub(super) fn work_of(
        &self,
        step_move: &Move,
        ready_works: &[Arc<Work>],
        arguments: &[Argument<'_>],
    ) -> Result<Arc<Work>, Error> {
        let parts_of = |number: usize| {
            let mut parts = arguments
                .get(number)
                .map_or(BufferParts::ONE_PART, |argument| argument.parts);
            parts.offset -= self.limits.align_offset(parts.offset);
            parts
        };
        let places = ArgumentPlaces {
            parts: [SOURCE, DEST, INDICES].map(parts_of),
        };
        let ready_work = ready_works
            .iter()
            .find(|work| work.places == places && *work.step_move == *step_move);
        match ready_work {
            Some(work) => Ok(Arc::clone(work)),
            None => self.make_work(step_move, places, false),
        }
    }

    /// Records all passes of a work. Adds the slots of reports to `report_slots`.
    ///
    /// In the last step of a scatter, no two invocations write the same bytes, except by atomics whose order makes no
    /// difference. So results depend on scheduling only if the options allow rows to be combined in any order.
    fn record_passes(
        &self,
        target: &mut Target<'_, '_>,
        operation: &str,
        grouped_work: &WorkWithGroups,
        report_slots: &mut ReportSlots,
    ) {
        let (mut groups, mut clearing_works) = (
            grouped_work.groups.iter(),
            grouped_work.clearing_works.iter(),
        );
        for pass in &grouped_work.work.passes {
            let scratch_to_clear = grouped_work
                .scratch
                .as_ref()
                .filter(|_| pass.cleared_bytes > 0);
            if let (Target::Encoder(encoder), Some(scratch)) = (&mut *target, scratch_to_clear) {
                encoder.clear_buffer(scratch, 0, Some(pass.cleared_bytes as u64));
            }
            target.in_pass(operation, |open_pass| {
                if let Some(clearing_work) = scratch_to_clear.and_then(|_| clearing_works.next()) {
                    self.record_passes(
                        &mut Target::Pass(open_pass),
                        operation,
                        clearing_work,
                        report_slots,
                    );
                }
                for (ready_dispatch, group) in pass.dispatches.iter().zip(&mut groups) {
                    self.record_dispatch(open_pass, ready_dispatch, group, report_slots);
                }
            });
        }
    }

    /// Returns the bind groups of a work's dispatches for these arguments, in order. Fails if wgpu rejects a buffer
    /// because it is destroyed or belongs to another device.
    fn bind_groups(
        &self,
        work: &Arc<Work>,
        arguments: &[Argument<'_>],
    ) -> Result<Arc<[wgpu::BindGroup]>, Error> {
        let make_group = |ready_dispatch: &ReadyDispatch| {
            let bound_buffer = |&BoundRange { argument, span }: &BoundRange| match &work.tables {
                Some(tables) if argument == TABLES => (tables, 0, span.bytes),
                _ => {
                    let Argument { buffers, parts, .. } = arguments[argument];
                    let begin = self.limits.align_offset(parts.offset);
                    (&buffers[span.part], begin + span.offset, span.bytes)
                }
            };
            let label = format!("wgslice {}", ready_dispatch.dispatch.program.kernel.name());
            let layout = ready_dispatch.pipeline.get_bind_group_layout(BUFFERS_GROUP);
            let ranges = ready_dispatch.dispatch.bound.iter().map(bound_buffer);
            bind_group(&self.device.wgpu, Some(&label), &layout, ranges)
        };
        let make = || {
            let bind_groups = self.device.run_guarded(DOING_RECORDING, || {
                work.dispatches().map(make_group).collect()
            });
            bind_groups.map_err(|error| self.bind_group_error(arguments, error))
        };
        self.cache.cached_groups(work, arguments, make)
    }

    /// Returns the error for arguments that wgpu rejected when bind groups were made. If the buffer of one argument is
    /// the cause, the error names this argument.
    fn bind_group_error(&self, arguments: &[Argument<'_>], error: Error) -> Error {
        let Error::Device { .. } = error else {
            return error;
        };
        let device = &self.device.wgpu;
        let bind_alone = |buffer: &wgpu::Buffer| {
            let storage = BufferBindingType::Storage { read_only: true };
            let layout = group_layout(device, None, &[(storage, false)]);
            bind_group(device, None, &layout, [(buffer, 0, 4)]);
        };
        let is_refused = |buffer: &wgpu::Buffer| {
            run_in_error_scope(device, || bind_alone(buffer))
                .1
                .is_some()
        };
        let has_refused_buffer = |argument: &&Argument<'_>| argument.buffers.iter().any(is_refused);
        match arguments.iter().find(has_refused_buffer) {
            None => error,
            Some(argument) => argument.argument_error(
                "is destroyed, or belongs to another device: pass a live one of the device of this Gpu"
                    .into(),
            ),
        }
    }

    /// Records a dispatch. If it writes a report, adds the report's slot to `report_slots`.
    fn record_dispatch(
        &self,
        pass: &mut ComputePass<'_>,
        ReadyDispatch {
            dispatch,
            pipeline,
            uniforms,
        }: &ReadyDispatch,
        group: &wgpu::BindGroup,
        report_slots: &mut ReportSlots,
    ) {
        pass.set_pipeline(pipeline);
        pass.set_bind_group(BUFFERS_GROUP, group, &[]);
        uniforms.bind_slot(pass, UNIFORMS_GROUP);
        let layout = || pipeline.get_bind_group_layout(REPORT_GROUP);
        let report = match dispatch.is_reporting() || dispatch.is_strict() {
            true => report_slots.report_slot(dispatch, || self.pipelines.reports.lend_slot(layout)),
            false => self.pipelines.unread_slot(layout),
        };
        report.bind_slot(pass, REPORT_GROUP);
        hold_slots(pass, [uniforms.clone(), report]);
        pass.dispatch_workgroups(dispatch.uniforms.groups_x(), dispatch.height, 1);
    }
}

/// For a move that converts, checks that its source begins at a multiple of the element size and its result at a
/// multiple of a word.
pub(in crate::gpu) fn check_conversion(
    step_move: &Move,
    source: &Argument<'_>,
    dest: &Argument<'_>,
) -> Result<(), Error> {
    if step_move.conversion.is_none() {
        return Ok(());
    }
    source.check_multiple(step_move.source_dtype().size(), "converted")?;
    dest.check_multiple(4, "converted")
}
