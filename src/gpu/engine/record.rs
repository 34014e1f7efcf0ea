//! Records the commands of plans.

use super::{
    Engine,
    argument::Argument,
    aside::check_steps,
    caps::Parts,
    copy::{clear, copy, copyable},
    dispatch::{Bound, DEST, INDICES, Places, SCRATCH, SOURCE, TABLES},
    find::COUNT_BYTES,
    group::{bind_group, group_layout},
    program::{BUFFERS_GROUP, REPORT_GROUP, UNIFORMS_GROUP},
    report::{self, Counts},
    route::{Route, route},
    rule::Rule,
    scoped,
    slots::{Slot, hold},
    work::{Ready, Work},
};
use crate::{
    DType, Error, Pending, Plan, Report,
    moves::{Effect, Move},
    plan::Operand,
    walk::Walk,
};
use std::sync::Arc;
use wgpu::{
    BufferBindingType, CommandEncoder, ComputePass, ComputePassDescriptor,
    util::{BufferInitDescriptor, DeviceExt},
};

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
    /// Holds a slot until the commands finish or are dropped.
    fn hold(&mut self, slot: Slot) {
        let hold = move || drop(slot);
        match self {
            Self::Encoder(encoder) => encoder.on_submitted_work_done(hold),
            Self::Pass(pass) => pass.on_submitted_work_done(hold),
        }
    }

    /// Calls `record` with the open pass, or with a new one that is labelled with `operation`.
    fn in_pass(&mut self, operation: &str, record: impl FnOnce(&mut ComputePass<'_>)) {
        match self {
            Self::Encoder(encoder) => {
                record(&mut encoder.begin_compute_pass(&ComputePassDescriptor {
                    label: Some(&format!("wgslice {operation}")),
                    timestamp_writes: None,
                }));
            }
            Self::Pass(pass) => record(pass),
        }
    }
}

/// The arguments of a plan.
#[derive(Clone, Copy, Debug)]
pub(in crate::gpu) struct Arguments<'r, 'a> {
    /// The element types of the inputs. Empty if they are those of the plan.
    pub(in crate::gpu) types: &'r [DType],
    pub(in crate::gpu) inputs: &'r [Argument<'a>],
    pub(in crate::gpu) outputs: &'r [Argument<'a>],
    /// The bytes of outputs that were copied because their memory was shared.
    pub(in crate::gpu) copied: usize,
}

/// The commands of a plan for its arguments. To record them fails no more.
#[derive(Debug)]
pub(in crate::gpu) struct Commands<'a> {
    operation: &'static str,
    how: How,
    source: Argument<'a>,
    dest: Argument<'a>,
}

/// What a step reads or writes besides inputs, outputs and temps.
enum Own {
    Nothing,
    /// Values of the plan: so many bytes in a buffer.
    Values(wgpu::Buffer, usize),
    /// Where a search counts if the caller has no output for the number.
    Count(Slot),
}

impl Own {
    fn argument(&self) -> Argument<'_> {
        match self {
            Self::Nothing => Argument::NONE,
            Self::Values(buffer, bytes) => Argument::own("indices", buffer.slice(..), *bytes),
            Self::Count(slot) => {
                Argument::own("count", slot.first(COUNT_BYTES as u64), COUNT_BYTES)
            }
        }
    }
}

/// How a plan is recorded: see `route`.
#[derive(Debug)]
enum How {
    Nothing,
    Copies(Walk),
    Clear,
    Dispatches(Grouped),
}

/// The passes of a work with the bind groups of its dispatches.
#[derive(Debug)]
struct Grouped {
    work: Arc<Work>,
    groups: Arc<[wgpu::BindGroup]>,
    /// What the steps of a scatter or of a search leave for later steps.
    scratch: Option<wgpu::Buffer>,
    /// What clears this memory before each pass that wants it cleared, if only dispatches may be recorded.
    zeros: Vec<Self>,
}

impl Engine {
    /// Records the steps of a plan, in as few passes as their order allows. A failed call leaves the target as it was.
    pub(in crate::gpu) fn record(
        &self,
        mut target: Target<'_, '_>,
        plan: &Plan,
        arguments: &Arguments<'_, '_>,
    ) -> Result<Pending<Report>, Error> {
        let &Arguments {
            types,
            inputs,
            outputs,
            copied,
        } = arguments;
        let may_copy = matches!(target, Target::Encoder(_));
        if plan.only().is_none() {
            check_steps(plan, inputs, outputs)?;
        }
        let temps = self.temps(plan)?;
        // What each step reads besides these: values of the plan, or the number of true elements, which it writes.
        let mut own = Vec::with_capacity(plan.steps().len());
        for (what, operands) in plan.steps() {
            own.push(match (&operands.by, what.find()) {
                (Some(Operand::Const(bytes)), _) => Own::Values(self.values(bytes)?, bytes.len()),
                (None, Some(_)) => {
                    let argument = |operand: &Operand| match operand {
                        Operand::Temp(n) => temps[*n].argument(),
                        Operand::Output(n) => outputs[*n],
                        Operand::Input(n) => inputs[*n],
                        Operand::Const(_) => Argument::NONE,
                    };
                    let places = [&operands.from, &operands.to].map(argument);
                    Own::Count(self.count_slot(what, &places)?)
                }
                _ => Own::Nothing,
            });
        }
        let mut steps = Vec::with_capacity(own.len());
        for ((what, operands), own) in plan.steps().zip(&own) {
            let argument = |operand: &Operand| match operand {
                Operand::Input(n) => inputs[*n],
                Operand::Output(n) => outputs[*n],
                Operand::Temp(n) => temps[*n].argument(),
                Operand::Const(_) => own.argument(),
            };
            let typed = match operands.by {
                Some(Operand::Input(n)) => types.get(n).copied(),
                _ => None,
            };
            let what = Plan::typed(what, typed)?;
            let [from, to] = [&operands.from, &operands.to].map(argument);
            let mut by = operands.by.as_ref().map(argument);
            if what.find().is_some() {
                let count = by.unwrap_or_else(|| own.argument());
                steps.push((what, operands, from, Some(count), to, [None, None]));
                continue;
            }
            if let Some(tuples) = &mut by {
                tuples.needed = what.index_bytes() as u64;
            }
            check_conversion(&what, &from, &to)?;
            let aside = self.aside(&what, &from, by.as_ref(), &to)?;
            steps.push((what, operands, from, by, to, aside));
        }
        let mut commands = Vec::with_capacity(steps.len());
        for (what, _, from, by, to, [of_source, of_indices]) in &steps {
            let mut copies = Vec::new();
            let made = match (what.find(), by) {
                (Some(_), Some(count)) => self.search(what, *from, *to, *count)?,
                _ => {
                    let from = self.moved(of_source, *from, may_copy, &mut copies)?;
                    let by = by.map(|by| self.moved(of_indices, by, may_copy, &mut copies));
                    let by = by.transpose()?;
                    let arguments = [from, *to, by.unwrap_or(from)];
                    let arguments = &arguments[..2 + usize::from(by.is_some())];
                    self.commands(what, arguments, may_copy)?
                }
            };
            copies.push(made);
            commands.push(copies);
        }
        let reporting = plan.steps().position(|(_, operands)| operands.reports);
        let counted = reporting.and_then(|number| commands[number].last());
        let mut counts = Counts::default();
        let all: Vec<&Commands<'_>> = commands.iter().flatten().collect();
        self.put_all(&mut target, &all, counted, &mut counts);
        let tuples = reporting.and_then(|number| {
            let (what, _, _, by, ..) = &steps[number];
            // Where no row moves, the commands are those of zeros.
            let what = match commands[number].last().map(|commands| &commands.how) {
                Some(How::Dispatches(grouped)) if what.walk().is_some() => {
                    Arc::clone(&grouped.work.plan)
                }
                _ => Arc::new(what.clone().into_owned()),
            };
            // The report reads a tuple from `by`: the same tuples, but not in scratch memory.
            Some((what, counts, (*by)?))
        });
        let searches = steps.iter().zip(&own);
        let found = searches.filter_map(|((what, _, _, by, ..), own)| {
            let slot = match own {
                Own::Count(slot) => Some(slot.clone()),
                _ => None,
            };
            Some((what.find()?.capacity, (*by)?, slot))
        });
        let found = found.last();
        if let Some((_, _, Some(slot))) = &found {
            target.hold(slot.clone());
        }
        report::pending(&self.device, plan, copied, tuples, found)
    }

    /// Records commands in their order. Those that are only dispatches share a pass. `counts` are those of one command.
    fn put_all(
        &self,
        target: &mut Target<'_, '_>,
        commands: &[&Commands<'_>],
        counted: Option<&Commands<'_>>,
        counts: &mut Counts,
    ) {
        let in_pass = |commands: &&Commands<'_>| match &commands.how {
            How::Dispatches(grouped) => grouped.work.passes.iter().all(|pass| pass.cleared == 0),
            _ => false,
        };
        let mut others = Counts::default();
        let mut put = |target: &mut Target<'_, '_>, commands: &Commands<'_>| {
            let is_counted = counted.is_some_and(|counted| std::ptr::eq(counted, commands));
            let counts = if is_counted {
                &mut *counts
            } else {
                &mut others
            };
            self.put(target, commands, counts);
        };
        for some in commands.chunk_by(|one, other| in_pass(one) && in_pass(other)) {
            match some {
                [commands] => put(target, commands),
                _ => target.in_pass(some[0].operation, |pass| {
                    for commands in some {
                        put(&mut Target::Pass(pass), commands);
                    }
                }),
            }
        }
    }

    /// A slot for the number of true elements that a search in these arguments finds.
    fn count_slot(&self, what: &Move, arguments: &[Argument<'_>]) -> Result<Slot, Error> {
        // The work is that of the search, since slots begin at a multiple of every alignment.
        let work = self.work_of(what, arguments)?;
        let pipeline = work.dispatches().next().map(|ready| &ready.pipeline);
        let doing = "allocating the number of true elements";
        let pipeline = pipeline.ok_or(Error::OutOfDeviceMemory { doing })?;
        let layout = || pipeline.get_bind_group_layout(REPORT_GROUP);
        Ok(self.pipelines.reports.lend(layout))
    }

    /// The commands of a search for the true elements of a mask.
    fn search<'a>(
        &self,
        plan: &Move,
        mask: Argument<'a>,
        rows: Argument<'a>,
        count: Argument<'a>,
    ) -> Result<Commands<'a>, Error> {
        rows.check_tuples(&mask, &count)?;
        mask.check(&rows)?;
        count.check_word_aligned()?;
        for (one, other) in [(&mask, &rows), (&mask, &count), (&rows, &count)] {
            one.check_apart(other)?;
        }
        Ok(Commands {
            operation: plan.name(),
            how: How::Dispatches(self.grouped(plan, &[mask, rows, count], false)?),
            source: mask,
            dest: rows,
        })
    }

    /// Values that a plan holds, in a buffer.
    fn values(&self, bytes: &[u8]) -> Result<wgpu::Buffer, Error> {
        let mut contents = bytes.to_vec();
        contents.resize(bytes.len().max(1).next_multiple_of(16), 0);
        let descriptor = BufferInitDescriptor {
            label: Some("wgslice values"),
            contents: &contents,
            usage: wgpu::BufferUsages::STORAGE,
        };
        let make = || self.device.wgpu.create_buffer_init(&descriptor);
        self.device
            .guarded("allocating the index tuples of a plan", make)
    }

    /// Decides on the commands of a plan for the source, the result and, if the plan has index tuples, these: buffer
    /// copies and clears if it may be `copies`. All errors of recording occur here, so a failed call leaves the encoder as
    /// it was.
    pub(in crate::gpu) fn commands<'a>(
        &self,
        plan: &Move,
        arguments: &[Argument<'a>],
        copies: bool,
    ) -> Result<Commands<'a>, Error> {
        let (source, dest) = (arguments[SOURCE], arguments[DEST]);
        let how = match (plan.tuples(), arguments.get(INDICES)) {
            (Some(_), Some(tuples)) => {
                let (moves, bytes) = (plan.walk().is_some(), plan.result_bytes());
                let is_nothing = match plan.effect() {
                    Effect::Scatter(scatter) => {
                        tuples.check_tuples(&source, &dest)?;
                        if scatter.fresh && !moves && bytes > 0 {
                            return self.commands(&Move::zeros(bytes), &[source, dest], copies);
                        }
                        !moves
                    }
                    _ => bytes == 0 || plan.is_in_place() && !moves,
                };
                if is_nothing {
                    How::Nothing
                } else {
                    tuples.check_tuples(&source, &dest)?;
                    if let Some(rule) = Rule::of(plan)? {
                        source.check_multiple(rule.number, "combined")?;
                        dest.check_multiple(rule.number, "combined")?;
                    }
                    How::Dispatches(self.grouped(plan, arguments, !copies)?)
                }
            }
            _ => {
                let copies = copies && copyable(&source, &dest);
                let route = route(plan, &self.reach.tuning, copies);
                if !matches!(route, Route::Nothing) {
                    source.check(&dest)?;
                }
                match route {
                    Route::Nothing => How::Nothing,
                    Route::Copies(walk) => How::Copies(walk.clone()),
                    Route::Clear => How::Clear,
                    Route::Dispatches => {
                        source.check_storage()?;
                        dest.check_storage()?;
                        How::Dispatches(self.grouped(plan, arguments, false)?)
                    }
                }
            }
        };
        Ok(Commands {
            operation: plan.name(),
            how,
            source,
            dest,
        })
    }

    /// Records commands. The slots of their reports are added to `counts`.
    pub(in crate::gpu) fn put(
        &self,
        target: &mut Target<'_, '_>,
        commands: &Commands<'_>,
        counts: &mut Counts,
    ) {
        let Commands { source, dest, .. } = commands;
        match (&commands.how, &mut *target) {
            (How::Copies(walk), Target::Encoder(encoder)) => copy(encoder, walk, source, dest),
            (How::Clear, Target::Encoder(encoder)) => clear(encoder, dest),
            (How::Dispatches(grouped), _) => {
                self.launch(target, commands.operation, grouped, counts);
            }
            _ => {}
        }
    }

    /// The dispatches of a plan whose result is not empty, with the bind groups of these arguments and of the memory between
    /// the steps of a scatter or a search. That belongs to the engine and serves every recording, since wgpu runs
    /// submissions in order. It is cleared by dispatches if they are all that an open pass takes, `in_pass`.
    fn grouped(
        &self,
        plan: &Move,
        arguments: &[Argument<'_>],
        in_pass: bool,
    ) -> Result<Grouped, Error> {
        let work = self.work_of(plan, arguments)?;
        if work.scratch == 0 {
            return Ok(Grouped {
                groups: self.groups(&work, arguments)?,
                work,
                scratch: None,
                zeros: Vec::new(),
            });
        }
        debug_assert_eq!(arguments.len(), SCRATCH);
        let scratch = self.scratch(work.scratch)?;
        let memory = Argument::own("scratch", scratch.slice(..), 0);
        let groups = self.groups(&work, &[arguments, &[memory]].concat())?;
        let cleared = work.passes.iter().map(|pass| pass.cleared);
        let cleared = cleared.filter(|&bytes| in_pass && bytes > 0);
        let zeros = cleared.map(|bytes| {
            let part = Argument::own("scratch", scratch.slice(..bytes as u64), bytes);
            self.grouped(&Move::zeros(bytes), &[arguments[SOURCE], part], in_pass)
        });
        Ok(Grouped {
            zeros: zeros.collect::<Result<_, _>>()?,
            groups,
            work,
            scratch: Some(scratch),
        })
    }

    /// Returns the work of a plan whose result is not empty. `arguments` are the source, the result and, for a gather
    /// or a scatter, the index tuples.
    fn work_of(&self, plan: &Move, arguments: &[Argument<'_>]) -> Result<Arc<Work>, Error> {
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

    /// Records all passes of a work. The slots of reports are added to `counts`.
    ///
    /// In the last step of a scatter, no two invocations write the same bytes, unless by atomics whose order makes no
    /// difference. So results depend on scheduling only if the options let rows be combined in any order.
    fn launch(
        &self,
        target: &mut Target<'_, '_>,
        operation: &str,
        grouped: &Grouped,
        counts: &mut Counts,
    ) {
        let (mut groups, mut zeros) = (grouped.groups.iter(), grouped.zeros.iter());
        for pass in &grouped.work.passes {
            let clears = grouped.scratch.as_ref().filter(|_| pass.cleared > 0);
            if let (Target::Encoder(encoder), Some(scratch)) = (&mut *target, clears) {
                encoder.clear_buffer(scratch, 0, Some(pass.cleared as u64));
            }
            target.in_pass(operation, |open| {
                if let Some(zeros) = clears.and_then(|_| zeros.next()) {
                    self.launch(&mut Target::Pass(open), operation, zeros, counts);
                }
                for (ready, group) in pass.dispatches.iter().zip(&mut groups) {
                    self.dispatch(open, ready, group, counts);
                }
            });
        }
    }

    /// The bind groups of a work's dispatches, in their order, for these arguments. wgpu refuses buffers that are
    /// destroyed or of another device.
    fn groups(
        &self,
        work: &Arc<Work>,
        arguments: &[Argument<'_>],
    ) -> Result<Arc<[wgpu::BindGroup]>, Error> {
        let group = |ready: &Ready| {
            let bind = |&Bound { argument, span }: &Bound| match &work.tables {
                Some(tables) if argument == TABLES => (tables, 0, span.bytes),
                _ => {
                    let Argument { buffers, parts, .. } = arguments[argument];
                    let begin = self.reach.aligned(parts.offset);
                    (&buffers[span.part], begin + span.offset, span.bytes)
                }
            };
            let label = format!("wgslice {}", ready.dispatch.program.kernel.name());
            let layout = ready.pipeline.get_bind_group_layout(BUFFERS_GROUP);
            let ranges = ready.dispatch.bound.iter().map(bind);
            bind_group(&self.device.wgpu, Some(&label), &layout, ranges)
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
            let storage = BufferBindingType::Storage { read_only: true };
            let layout = group_layout(device, None, &[(storage, false)]);
            bind_group(device, None, &layout, [(buffer, 0, 4)]);
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
        let report = match dispatch.reports() || dispatch.is_strict() {
            true => counts.slot(dispatch, || self.pipelines.reports.lend(layout)),
            false => self.pipelines.unread(layout),
        };
        report.bind(pass, REPORT_GROUP);
        hold(pass, [uniforms.clone(), report]);
        pass.dispatch_workgroups(dispatch.uniforms.groups_x, dispatch.height, 1);
    }
}

/// Fails if a plan converts and its arguments do not begin at an element of the source and at a word of the result.
pub(in crate::gpu) fn check_conversion(
    plan: &Move,
    source: &Argument<'_>,
    dest: &Argument<'_>,
) -> Result<(), Error> {
    if plan.conversion.is_none() {
        return Ok(());
    }
    source.check_multiple(plan.source_dtype().size(), "converted")?;
    dest.check_multiple(4, "converted")
}
