//! Control flow: blocks, branches, loops, calls and barriers, each for all lanes of a workgroup at the same time. A
//! mask holds, for each lane, whether it is active.

use super::{
    CallFrame, Machine, Mask,
    order::Random,
    value::{Data, Value, low_word},
    variable::PrivateVariable,
};
use crate::{Depends, Wrong};
use naga::{Expression, Function, Handle, Range, Statement, SwitchValue, valid::FunctionInfo};

/// The lanes that left a loop or a switch by `break`, and the lanes that left an iteration of a loop by `continue`.
struct LeftLanes {
    broken: Vec<bool>,
    continued: Vec<bool>,
}

impl LeftLanes {
    fn no_lanes(lane_count: usize) -> Self {
        Self {
            broken: vec![false; lane_count],
            continued: vec![false; lane_count],
        }
    }
}

fn is_any_set(mask: &[bool]) -> bool {
    mask.contains(&true)
}

fn add_lanes(mask: &mut [bool], added_mask: &[bool]) {
    for (is_set, &is_added) in mask.iter_mut().zip(added_mask) {
        *is_set |= is_added;
    }
}

impl<'a> Machine<'a> {
    pub(super) fn call_function(
        &mut self,
        function: &'a Function,
        info: &'a FunctionInfo,
        arguments: Vec<Value>,
        mask: &Mask,
    ) -> Option<Data> {
        let first_local = self.stack.len();
        let mut frame = CallFrame {
            function,
            info,
            values: vec![None; function.expressions.len()],
            arguments,
            first_local,
            result: None,
        };
        for (_, local) in function.local_variables.iter() {
            let zeros = Data::uniform(vec![0; self.component_count(local.ty)]);
            self.stack
                .push(PrivateVariable::new(&zeros, self.lane_count));
        }
        for (handle, local) in function.local_variables.iter() {
            if let Some(init) = local.init {
                let data = self.data_of(&mut frame, init, mask);
                self.stack[first_local + handle.index()] =
                    PrivateVariable::new(&data, self.lane_count);
            }
        }
        let mut active_lanes = mask.clone();
        self.run_block(&mut frame, &function.body, &mut active_lanes, None);
        self.stack.truncate(first_local);
        frame.result
    }

    /// Runs a block. Afterwards, `mask` has the lanes that continue with the code after the block.
    fn run_block(
        &mut self,
        frame: &mut CallFrame<'a>,
        block: &'a naga::Block,
        mask: &mut Mask,
        mut left_lanes: Option<&mut LeftLanes>,
    ) {
        for statement in block {
            if !is_any_set(mask) {
                return;
            }
            match statement {
                Statement::Emit(range) => self.emit_expressions(frame, range.clone(), mask),
                Statement::Block(inner) => {
                    self.run_block(frame, inner, mask, left_lanes.as_deref_mut());
                }
                Statement::If {
                    condition,
                    accept,
                    reject,
                } => {
                    let condition = self.branch_value(frame, *condition, mask);
                    let lanes_of_branch = |wanted: i64| -> Mask {
                        let lane_flags = mask.iter().enumerate();
                        lane_flags
                            .map(|(lane, &is_active)| {
                                is_active && condition.word_at(0, lane, self.lane_count) == wanted
                            })
                            .collect()
                    };
                    let (mut accept_mask, mut reject_mask) =
                        (lanes_of_branch(1), lanes_of_branch(0));
                    let mut sides = [(accept, &mut accept_mask), (reject, &mut reject_mask)];
                    if self.random.as_mut().is_some_and(Random::random_bool) {
                        sides.reverse();
                    }
                    for (branch, mask) in sides {
                        self.run_block(frame, branch, mask, left_lanes.as_deref_mut());
                    }
                    add_lanes(&mut accept_mask, &reject_mask);
                    *mask = accept_mask;
                }
                Statement::Switch { selector, cases } => {
                    let selector = self.branch_value(frame, *selector, mask);
                    self.run_switch(frame, &selector, cases, mask, left_lanes.as_deref_mut());
                }
                Statement::Loop {
                    body,
                    continuing,
                    break_if,
                } => {
                    self.run_loop(frame, (body, continuing, *break_if), mask);
                }
                Statement::Break => {
                    add_lanes(
                        &mut left_lanes
                            .as_deref_mut()
                            .expect("naga puts `break` into loops")
                            .broken,
                        mask,
                    );
                    mask.fill(false);
                }
                Statement::Continue => {
                    add_lanes(
                        &mut left_lanes
                            .as_deref_mut()
                            .expect("naga puts `continue` into loops")
                            .continued,
                        mask,
                    );
                    mask.fill(false);
                }
                Statement::Return { value } => {
                    if let Some(value) = value {
                        let value = self.data_of(frame, *value, mask);
                        self.set_result(frame, &value, mask);
                    }
                    mask.fill(false);
                }
                Statement::ControlBarrier(barrier) => self.run_barrier(*barrier, mask),
                Statement::MemoryBarrier(_) => {}
                Statement::Store { pointer, value } => {
                    let to = self.pointer_of(frame, *pointer, mask);
                    let value = self.data_of(frame, *value, mask);
                    let pointee = self.pointee_type(frame, *pointer);
                    self.store_value(frame, *pointer, &to, &pointee, &value, mask);
                }
                Statement::Atomic {
                    pointer,
                    fun,
                    value,
                    result,
                } => {
                    self.run_atomic(frame, (*pointer, fun, *value, *result), mask);
                }
                Statement::WorkGroupUniformLoad { pointer, result } => {
                    self.run_barrier(naga::Barrier::WORK_GROUP, mask);
                    let from = self.pointer_of(frame, *pointer, mask);
                    let pointee = self.pointee_type(frame, *pointer);
                    let value = self.load_value(frame, *pointer, &from, &pointee, mask);
                    frame.values[result.index()] = Some(Value::Data(value));
                    self.run_barrier(naga::Barrier::WORK_GROUP, mask);
                }
                Statement::Call {
                    function,
                    arguments,
                    result,
                } => {
                    let values = arguments
                        .iter()
                        .map(|&argument| self.value_of(frame, argument, mask))
                        .collect();
                    let program = self.program;
                    let (callee, info) = (
                        &program.module.functions[*function],
                        &program.info[*function],
                    );
                    let value = self.call_function(callee, info, values, mask);
                    if let Some(result) = result {
                        frame.values[result.index()] = value.map(Value::Data);
                    }
                }
                other => unreachable!("a shader with {other:?} is not supported"),
            }
        }
    }

    fn emit_expressions(
        &mut self,
        frame: &mut CallFrame<'a>,
        range: Range<Expression>,
        mask: &Mask,
    ) {
        for handle in range {
            let value = self.evaluate(frame, handle, mask);
            self.count_operations(frame, handle, &value, mask);
            frame.values[handle.index()] = Some(value);
        }
    }

    /// Returns the value of an expression that decides a branch. Records a fault if the value depends on unwritten
    /// memory.
    fn branch_value(
        &mut self,
        frame: &mut CallFrame<'a>,
        handle: Handle<Expression>,
        mask: &Mask,
    ) -> Data {
        let data = self.data_of(frame, handle, mask);
        self.check_is_written(frame, handle, &data, Depends::Condition, mask);
        data
    }

    /// Makes a value the result of the function in the active lanes.
    fn set_result(&self, frame: &mut CallFrame<'a>, value: &Data, mask: &Mask) {
        let lane_count = self.lane_count;
        let earlier_result = frame.result.take();
        frame.result = Some(match earlier_result {
            // No lane has returned before, so all lanes get this value. Lanes that return later replace it.
            None => value.clone(),
            Some(earlier_result) => {
                let mut merged_result = PrivateVariable::new(&earlier_result, lane_count);
                for n in (0..merged_result.words.len()).filter(|n| mask[n % lane_count]) {
                    let (component, lane) = (n / lane_count, n % lane_count);
                    let unknown_bits = value.unknown_at(component, lane, lane_count);
                    merged_result.set(n, value.word_at(component, lane, lane_count), unknown_bits);
                }
                merged_result.part(0, value.component_count(lane_count), lane_count)
            }
        });
    }

    fn run_switch(
        &mut self,
        frame: &mut CallFrame<'a>,
        selector: &Data,
        cases: &'a [naga::SwitchCase],
        mask: &mut Mask,
        outer_left_lanes: Option<&mut LeftLanes>,
    ) {
        let lane_count = self.lane_count;
        let mut unmatched_lanes = mask.clone();
        let mut left_lanes = LeftLanes::no_lanes(lane_count);
        let mut falling_lanes = vec![false; lane_count];
        // The default takes the lanes that no other case takes, even if it precedes other cases.
        let matches_case = |value: SwitchValue, lane: usize| {
            let selector_value = low_word(selector.word_at(0, lane, lane_count));
            match value {
                SwitchValue::I32(n) => n.cast_unsigned() == selector_value,
                SwitchValue::U32(n) => n == selector_value,
                SwitchValue::Default => !cases.iter().any(|case| match case.value {
                    SwitchValue::I32(n) => n.cast_unsigned() == selector_value,
                    SwitchValue::U32(n) => n == selector_value,
                    SwitchValue::Default => false,
                }),
            }
        };
        for case in cases {
            let mut active_lanes = falling_lanes.clone();
            for lane in 0..lane_count {
                if unmatched_lanes[lane] && matches_case(case.value, lane) {
                    (active_lanes[lane], unmatched_lanes[lane]) = (true, false);
                }
            }
            self.run_block(frame, &case.body, &mut active_lanes, Some(&mut left_lanes));
            falling_lanes = match case.fall_through {
                true => active_lanes,
                false => {
                    add_lanes(&mut left_lanes.broken, &active_lanes);
                    vec![false; lane_count]
                }
            };
        }
        add_lanes(&mut left_lanes.broken, &falling_lanes);
        add_lanes(&mut left_lanes.broken, &unmatched_lanes);
        if let Some(outer_left_lanes) = outer_left_lanes {
            add_lanes(&mut outer_left_lanes.continued, &left_lanes.continued);
        }
        *mask = left_lanes.broken;
    }

    fn run_loop(
        &mut self,
        frame: &mut CallFrame<'a>,
        (body, continuing, break_if): (
            &'a naga::Block,
            &'a naga::Block,
            Option<Handle<Expression>>,
        ),
        mask: &mut Mask,
    ) {
        let mut exited_lanes = vec![false; self.lane_count];
        let mut active_lanes = mask.clone();
        let max_rounds = self.options.most_rounds;
        for round in 0_u64.. {
            if round > max_rounds.into() {
                self.record_fault(
                    Wrong::LongLoop { most: max_rounds },
                    "",
                    &active_lanes,
                    None,
                );
                // The shader has not ended the loop, so the interpreter ends it.
                break;
            }
            let mut left_lanes = LeftLanes::no_lanes(self.lane_count);
            self.run_block(frame, body, &mut active_lanes, Some(&mut left_lanes));
            add_lanes(&mut active_lanes, &left_lanes.continued);
            add_lanes(&mut exited_lanes, &left_lanes.broken);
            if !is_any_set(&active_lanes) {
                break;
            }
            self.run_block(frame, continuing, &mut active_lanes, None);
            if let Some(condition) = break_if {
                let condition = self.branch_value(frame, condition, &active_lanes);
                for lane in 0..self.lane_count {
                    if active_lanes[lane] && condition.word_at(0, lane, self.lane_count) == 1 {
                        (active_lanes[lane], exited_lanes[lane]) = (false, true);
                    }
                }
                if !is_any_set(&active_lanes) {
                    break;
                }
            }
        }
        *mask = exited_lanes;
    }

    fn run_barrier(&mut self, barrier: naga::Barrier, mask: &Mask) {
        let arrived_count = mask.iter().filter(|&&is_active| is_active).count();
        if arrived_count < self.lane_count {
            let invocations = self.lane_count;
            self.record_fault(
                Wrong::DivergentBarrier {
                    arrived: arrived_count,
                    invocations,
                },
                "",
                mask,
                None,
            );
        }
        self.storage_phase += u32::from(barrier.contains(naga::Barrier::STORAGE));
        self.workgroup_phase += u32::from(barrier.contains(naga::Barrier::WORK_GROUP));
    }
}
