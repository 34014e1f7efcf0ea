//! Control flow: blocks, branches, loops, calls and barriers, for all lanes at once. A mask holds, for each lane,
//! whether it is active.

use super::{
    Frame, Machine, Mask,
    order::Random,
    value::{Data, Value, low},
    variable::Variable,
};
use crate::{Depends, Wrong};
use naga::{Expression, Function, Handle, Range, Statement, SwitchValue, valid::FunctionInfo};

/// The lanes that left a loop or a switch by `break`, and those that left a round of a loop by `continue`.
struct Left {
    broken: Vec<bool>,
    continued: Vec<bool>,
}

impl Left {
    fn none(lanes: usize) -> Self {
        Self {
            broken: vec![false; lanes],
            continued: vec![false; lanes],
        }
    }
}

fn any(mask: &[bool]) -> bool {
    mask.contains(&true)
}

fn join(mask: &mut [bool], others: &[bool]) {
    for (lane, &other) in mask.iter_mut().zip(others) {
        *lane |= other;
    }
}

impl<'a> Machine<'a> {
    pub(super) fn call(
        &mut self,
        function: &'a Function,
        info: &'a FunctionInfo,
        arguments: Vec<Value>,
        mask: &Mask,
    ) -> Option<Data> {
        let locals = self.stack.len();
        let mut frame = Frame {
            function,
            info,
            values: vec![None; function.expressions.len()],
            arguments,
            locals,
            result: None,
        };
        for (_, local) in function.local_variables.iter() {
            let zeros = Data::uniform(vec![0; self.components(local.ty)]);
            self.stack.push(Variable::new(&zeros, self.lanes));
        }
        for (handle, local) in function.local_variables.iter() {
            if let Some(init) = local.init {
                let data = self.data(&mut frame, init, mask);
                self.stack[locals + handle.index()] = Variable::new(&data, self.lanes);
            }
        }
        let mut active = mask.clone();
        self.block(&mut frame, &function.body, &mut active, None);
        self.stack.truncate(locals);
        frame.result
    }

    /// Runs a block. Afterwards, `mask` has the lanes that continue with the code after the block.
    fn block(
        &mut self,
        frame: &mut Frame<'a>,
        block: &'a naga::Block,
        mask: &mut Mask,
        mut left: Option<&mut Left>,
    ) {
        for statement in block {
            if !any(mask) {
                return;
            }
            match statement {
                Statement::Emit(range) => self.emit(frame, range.clone(), mask),
                Statement::Block(inner) => self.block(frame, inner, mask, left.as_deref_mut()),
                Statement::If {
                    condition,
                    accept,
                    reject,
                } => {
                    let condition = self.decision(frame, *condition, mask);
                    let side = |wanted: i64| -> Mask {
                        let lanes = mask.iter().enumerate();
                        lanes
                            .map(|(lane, &on)| on && condition.at(0, lane, self.lanes) == wanted)
                            .collect()
                    };
                    let (mut yes, mut no) = (side(1), side(0));
                    let mut sides = [(accept, &mut yes), (reject, &mut no)];
                    if self.random.as_mut().is_some_and(Random::coin) {
                        sides.reverse();
                    }
                    for (side, mask) in sides {
                        self.block(frame, side, mask, left.as_deref_mut());
                    }
                    join(&mut yes, &no);
                    *mask = yes;
                }
                Statement::Switch { selector, cases } => {
                    let selector = self.decision(frame, *selector, mask);
                    self.switch(frame, &selector, cases, mask, left.as_deref_mut());
                }
                Statement::Loop {
                    body,
                    continuing,
                    break_if,
                } => {
                    self.rounds(frame, (body, continuing, *break_if), mask);
                }
                Statement::Break => {
                    join(
                        &mut left
                            .as_deref_mut()
                            .expect("naga puts `break` into loops")
                            .broken,
                        mask,
                    );
                    mask.fill(false);
                }
                Statement::Continue => {
                    join(
                        &mut left
                            .as_deref_mut()
                            .expect("naga puts `continue` into loops")
                            .continued,
                        mask,
                    );
                    mask.fill(false);
                }
                Statement::Return { value } => {
                    if let Some(value) = value {
                        let value = self.data(frame, *value, mask);
                        self.give(frame, &value, mask);
                    }
                    mask.fill(false);
                }
                Statement::ControlBarrier(barrier) => self.barrier(*barrier, mask),
                Statement::MemoryBarrier(_) => {}
                Statement::Store { pointer, value } => {
                    let to = self.pointer(frame, *pointer, mask);
                    let value = self.data(frame, *value, mask);
                    let inner = self.pointee(frame, *pointer);
                    self.store(frame, *pointer, &to, &inner, &value, mask);
                }
                Statement::Atomic {
                    pointer,
                    fun,
                    value,
                    result,
                } => {
                    self.atomic(frame, (*pointer, fun, *value, *result), mask);
                }
                Statement::WorkGroupUniformLoad { pointer, result } => {
                    self.barrier(naga::Barrier::WORK_GROUP, mask);
                    let from = self.pointer(frame, *pointer, mask);
                    let inner = self.pointee(frame, *pointer);
                    let value = self.load(frame, *pointer, &from, &inner, mask);
                    frame.values[result.index()] = Some(Value::Data(value));
                    self.barrier(naga::Barrier::WORK_GROUP, mask);
                }
                Statement::Call {
                    function,
                    arguments,
                    result,
                } => {
                    let values = arguments
                        .iter()
                        .map(|&argument| self.value(frame, argument, mask))
                        .collect();
                    let program = self.program;
                    let (callee, info) = (
                        &program.module.functions[*function],
                        &program.info[*function],
                    );
                    let value = self.call(callee, info, values, mask);
                    if let Some(result) = result {
                        frame.values[result.index()] = value.map(Value::Data);
                    }
                }
                other => unreachable!("a shader with {other:?} is not supported"),
            }
        }
    }

    fn emit(&mut self, frame: &mut Frame<'a>, range: Range<Expression>, mask: &Mask) {
        for handle in range {
            let value = self.evaluate(frame, handle, mask);
            self.count(frame, handle, &value, mask);
            frame.values[handle.index()] = Some(value);
        }
    }

    /// Returns the value of an expression that decides a branch. Records a fault if the value depends on unwritten
    /// memory.
    fn decision(&mut self, frame: &mut Frame<'a>, handle: Handle<Expression>, mask: &Mask) -> Data {
        let data = self.data(frame, handle, mask);
        self.depends(frame, handle, &data, Depends::Condition, mask);
        data
    }

    /// Makes a value the result of the function in the active lanes.
    fn give(&self, frame: &mut Frame<'a>, value: &Data, mask: &Mask) {
        let lanes = self.lanes;
        let before = frame.result.take();
        frame.result = Some(match before {
            // No lane has returned before. The inactive lanes get this value too, but those of the call replace it when
            // they return.
            None => value.clone(),
            Some(before) => {
                let mut all = Variable::new(&before, lanes);
                for n in (0..all.words.len()).filter(|n| mask[n % lanes]) {
                    let (component, lane) = (n / lanes, n % lanes);
                    let unknown = value.unknown_at(component, lane, lanes);
                    all.set(n, value.at(component, lane, lanes), unknown);
                }
                all.part(0, value.components(lanes), lanes)
            }
        });
    }

    fn switch(
        &mut self,
        frame: &mut Frame<'a>,
        selector: &Data,
        cases: &'a [naga::SwitchCase],
        mask: &mut Mask,
        left: Option<&mut Left>,
    ) {
        let lanes = self.lanes;
        let mut rest = mask.clone();
        let mut out = Left::none(lanes);
        let mut falling = vec![false; lanes];
        // The default takes the lanes that no other case takes, even if it precedes other cases.
        let taken = |value: SwitchValue, lane: usize| {
            let number = low(selector.at(0, lane, lanes));
            match value {
                SwitchValue::I32(n) => n.cast_unsigned() == number,
                SwitchValue::U32(n) => n == number,
                SwitchValue::Default => !cases.iter().any(|case| match case.value {
                    SwitchValue::I32(n) => n.cast_unsigned() == number,
                    SwitchValue::U32(n) => n == number,
                    SwitchValue::Default => false,
                }),
            }
        };
        for case in cases {
            let mut active = falling.clone();
            for lane in 0..lanes {
                if rest[lane] && taken(case.value, lane) {
                    (active[lane], rest[lane]) = (true, false);
                }
            }
            self.block(frame, &case.body, &mut active, Some(&mut out));
            falling = match case.fall_through {
                true => active,
                false => {
                    join(&mut out.broken, &active);
                    vec![false; lanes]
                }
            };
        }
        join(&mut out.broken, &falling);
        join(&mut out.broken, &rest);
        if let Some(left) = left {
            join(&mut left.continued, &out.continued);
        }
        *mask = out.broken;
    }

    fn rounds(
        &mut self,
        frame: &mut Frame<'a>,
        (body, continuing, break_if): (
            &'a naga::Block,
            &'a naga::Block,
            Option<Handle<Expression>>,
        ),
        mask: &mut Mask,
    ) {
        let mut behind = vec![false; self.lanes];
        let mut active = mask.clone();
        let most = self.options.most_rounds;
        for round in 0_u64.. {
            if round > most.into() {
                self.fault(Wrong::LongLoop { most }, "", &active, None);
                // The shader has not ended the loop, so the interpreter ends it.
                break;
            }
            let mut left = Left::none(self.lanes);
            self.block(frame, body, &mut active, Some(&mut left));
            join(&mut active, &left.continued);
            join(&mut behind, &left.broken);
            if !any(&active) {
                break;
            }
            self.block(frame, continuing, &mut active, None);
            if let Some(condition) = break_if {
                let condition = self.decision(frame, condition, &active);
                for lane in 0..self.lanes {
                    if active[lane] && condition.at(0, lane, self.lanes) == 1 {
                        (active[lane], behind[lane]) = (false, true);
                    }
                }
                if !any(&active) {
                    break;
                }
            }
        }
        *mask = behind;
    }

    fn barrier(&mut self, barrier: naga::Barrier, mask: &Mask) {
        let arrived = mask.iter().filter(|&&on| on).count();
        if arrived < self.lanes {
            let invocations = self.lanes;
            self.fault(
                Wrong::DivergentBarrier {
                    arrived,
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
