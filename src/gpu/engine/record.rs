//! Records the commands of plans.

use super::{
    Engine,
    argument::Argument,
    aside::check_steps,
    commands::{Commands, Target, check_conversion},
    find::COUNT_BYTES,
    program::REPORT_GROUP,
    report::{self, ReportSlots},
    scratch::ScratchMemory,
    slots::Slot,
    work::Work,
};
use crate::{DType, Error, Pending, Plan, Report, moves::Move, plan::Operand};
use std::sync::Arc;

/// The arguments of a plan.
#[derive(Clone, Copy, Debug)]
pub(in crate::gpu) struct PlanArguments<'r, 'a> {
    /// The element types of the inputs. Empty if they are the same as in the plan.
    pub(in crate::gpu) types: &'r [DType],
    pub(in crate::gpu) inputs: &'r [Argument<'a>],
    pub(in crate::gpu) outputs: &'r [Argument<'a>],
    /// The number of bytes of outputs that were copied because their memory was shared.
    pub(in crate::gpu) copied_bytes: usize,
}

/// The memory that a step reads or writes in addition to inputs, outputs and temps.
enum OwnMemory {
    Nothing,
    /// Values that the plan holds.
    Values(ScratchMemory),
    /// The slot to which a search writes the number of true elements, if the caller has no output for this number.
    Count(Slot),
}

impl OwnMemory {
    fn argument(&self) -> Argument<'_> {
        match self {
            Self::Nothing => Argument::EMPTY_ARGUMENT,
            // No later recording uses this memory, so its bind groups are not kept.
            Self::Values(memory) => Argument {
                name: "indices",
                keeps_groups: false,
                ..memory.argument()
            },
            Self::Count(slot) => {
                Argument::own_memory("count", slot.first_bytes(COUNT_BYTES as u64), COUNT_BYTES)
            }
        }
    }
}

impl Engine {
    /// Records the steps of a plan in as few passes as their order allows. A failed call leaves the target unchanged.
    pub(in crate::gpu) fn record_plan(
        &self,
        mut target: Target<'_, '_>,
        plan: &Plan,
        arguments: &PlanArguments<'_, '_>,
    ) -> Result<Pending<Report>, Error> {
        let &PlanArguments {
            types,
            inputs,
            outputs,
            copied_bytes,
        } = arguments;
        let may_copy = matches!(target, Target::Encoder(_));
        let ready_works = |step| self.ready_works(plan.works(), step);
        if plan.single_move().is_none() {
            check_steps(plan, inputs, outputs)?;
        }
        let temps = self.allocate_temps(plan)?;
        // Some steps also read values that the plan holds. A search can write the number of true elements to its own
        // memory.
        let mut own_memory = Vec::with_capacity(plan.steps().len());
        for (step_number, (step_move, operands)) in plan.steps().enumerate() {
            own_memory.push(match (&operands.by, step_move.find()) {
                (Some(Operand::Const(tuples)), _) => {
                    let tuple_bytes = step_move.depth() * step_move.index_type().bytes();
                    OwnMemory::Values(self.values_memory(&tuples.bytes()?, tuple_bytes)?)
                }
                (None, Some(_)) => {
                    let argument = |operand: &Operand| match operand {
                        Operand::Temp(n) => temps[*n].argument(),
                        Operand::Output(n) => outputs[*n],
                        Operand::Input(n) => inputs[*n],
                        Operand::Const(_) => Argument::EMPTY_ARGUMENT,
                    };
                    let mask_and_rows = [&operands.from, &operands.to].map(argument);
                    OwnMemory::Count(self.count_slot(
                        step_move,
                        ready_works(step_number),
                        &mask_and_rows,
                    )?)
                }
                _ => OwnMemory::Nothing,
            });
        }
        let mut steps = Vec::with_capacity(own_memory.len());
        for ((step_move, operands), own_memory) in plan.steps().zip(&own_memory) {
            let argument = |operand: &Operand| match operand {
                Operand::Input(n) => inputs[*n],
                Operand::Output(n) => outputs[*n],
                Operand::Temp(n) => temps[*n].argument(),
                Operand::Const(_) => own_memory.argument(),
            };
            let tuple_type = match operands.by {
                Some(Operand::Input(n)) => types.get(n).copied(),
                _ => None,
            };
            let step_move = Plan::move_for_tuples(step_move, tuple_type)?;
            let [source, dest] = [&operands.from, &operands.to].map(argument);
            let mut tuples_or_count = operands.by.as_ref().map(argument);
            if step_move.find().is_some() {
                let count = tuples_or_count.unwrap_or_else(|| own_memory.argument());
                steps.push((step_move, operands, source, Some(count), dest, [None, None]));
                continue;
            }
            if let Some(tuples) = &mut tuples_or_count {
                tuples.needed_bytes = step_move.index_bytes() as u64;
            }
            check_conversion(&step_move, &source, &dest)?;
            let copy_places =
                self.allocate_copies(&step_move, &source, tuples_or_count.as_ref(), &dest)?;
            steps.push((
                step_move,
                operands,
                source,
                tuples_or_count,
                dest,
                copy_places,
            ));
        }
        // A copy between dispatches would split their pass into two.
        let may_copy = may_copy
            && (steps.len() == 1
                || steps.iter().all(|(step_move, _, source, _, dest, _)| {
                    self.needs_no_dispatch(step_move, source, dest)
                }));
        let mut commands = Vec::with_capacity(steps.len());
        for (
            step_number,
            (step_move, _, source, tuples_or_count, dest, [source_copy, indices_copy]),
        ) in steps.iter().enumerate()
        {
            let mut copies = Vec::new();
            let step_commands = match (step_move.find(), tuples_or_count) {
                (Some(_), Some(count)) => self.search_commands(
                    step_move,
                    ready_works(step_number),
                    *source,
                    *dest,
                    *count,
                )?,
                _ => {
                    let source = self.copy_argument(source_copy, *source, may_copy, &mut copies)?;
                    let tuples = tuples_or_count.map(|tuples| {
                        self.copy_argument(indices_copy, tuples, may_copy, &mut copies)
                    });
                    let tuples = tuples.transpose()?;
                    let arguments = [source, *dest, tuples.unwrap_or(source)];
                    let arguments = &arguments[..2 + usize::from(tuples.is_some())];
                    self.choose_commands(step_move, ready_works(step_number), arguments, may_copy)?
                }
            };
            copies.push(step_commands);
            commands.push(copies);
        }
        let reporting_step = plan.steps().position(|(_, operands)| operands.reports);
        let counted_commands = reporting_step.and_then(|number| commands[number].last());
        let mut report_slots = ReportSlots::default();
        let all_commands: Vec<&Commands<'_>> = commands.iter().flatten().collect();
        self.record_all(
            &mut target,
            &all_commands,
            counted_commands,
            &mut report_slots,
        );
        let tuples = reporting_step.and_then(|number| {
            let (step_move, _, _, tuples_or_count, ..) = &steps[number];
            // Without rows, the dispatched move only writes zeros and has no tuples, so the step's own move makes the
            // report.
            let dispatched = commands[number].last().and_then(Commands::dispatched_move);
            let step_move = match dispatched.filter(|_| step_move.walk().is_some()) {
                Some(step_move) => step_move,
                None => Arc::new(step_move.clone().into_owned()),
            };
            // The report reads a tuple from the argument, not from a copy in scratch memory, which later recordings can
            // overwrite.
            Some((step_move, report_slots, (*tuples_or_count)?))
        });
        let steps_with_memory = steps.iter().zip(&own_memory);
        let mut searches =
            steps_with_memory.filter_map(|((step_move, _, _, tuples_or_count, ..), own_memory)| {
                let slot = match own_memory {
                    OwnMemory::Count(slot) => Some(slot.clone()),
                    _ => None,
                };
                Some((step_move.find()?.capacity, (*tuples_or_count)?, slot))
            });
        let search = searches.next_back();
        if let Some((_, _, Some(slot))) = &search {
            target.hold_slot(slot.clone());
        }
        report::pending_report(&self.device, plan, copied_bytes, tuples, search)
    }

    /// Records commands in order. Neighbouring commands that consist only of dispatches share a pass. Adds the report
    /// slots of the commands in `counted_commands` to `report_slots`.
    fn record_all(
        &self,
        target: &mut Target<'_, '_>,
        commands: &[&Commands<'_>],
        counted_commands: Option<&Commands<'_>>,
        report_slots: &mut ReportSlots,
    ) {
        let mut other_slots = ReportSlots::default();
        let mut record_one = |target: &mut Target<'_, '_>, commands: &Commands<'_>| {
            let is_counted =
                counted_commands.is_some_and(|counted| std::ptr::eq(counted, commands));
            let report_slots = if is_counted {
                &mut *report_slots
            } else {
                &mut other_slots
            };
            self.record_commands(target, commands, report_slots);
        };
        for group in commands.chunk_by(|one, other| one.are_dispatches() && other.are_dispatches())
        {
            match group {
                [commands] => record_one(target, commands),
                _ => target.in_pass(group[0].operation, |pass| {
                    for commands in group {
                        record_one(&mut Target::Pass(pass), commands);
                    }
                }),
            }
        }
    }

    /// Lends a slot for the number of true elements that a search with these arguments finds.
    fn count_slot(
        &self,
        step_move: &Move,
        ready_works: &[Arc<Work>],
        arguments: &[Argument<'_>],
    ) -> Result<Slot, Error> {
        // The search uses the same work: a slot begins at a multiple of every alignment, so its reduced offset is 0.
        let work = self.work_of(step_move, ready_works, arguments)?;
        let pipeline = work.dispatches().next().map(|ready| &ready.pipeline);
        let doing = "allocating the number of true elements";
        let pipeline = pipeline.ok_or(Error::OutOfDeviceMemory { doing })?;
        let layout = || pipeline.get_bind_group_layout(REPORT_GROUP);
        Ok(self.pipelines.reports.lend_slot(layout))
    }
}
