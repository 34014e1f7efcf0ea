//! Runs statements on symbolic terms: both sides of each branch, and each iteration of a loop.

use super::{
    machine::{BranchState, CallFrame, FormulaMachine, UnsupportedReason, Value, VariableRoot},
    terms::Term,
};
use naga::{Block, Expression, Handle, Statement};

/// The maximum number of iterations to which a loop is unrolled.
const MAX_ITERATIONS: usize = 32;

impl<'a> FormulaMachine<'a> {
    /// Runs the statements of a block in order. A statement has an effect only if no statement before it has left the
    /// block.
    pub(super) fn run_block(
        &mut self,
        frame: &mut CallFrame<'a>,
        block: &'a [Statement],
        state: &mut BranchState,
    ) -> Result<(), UnsupportedReason> {
        for (number, statement) in block.iter().enumerate() {
            self.run_statement(frame, statement, state)?;
            let has_left = self.pool.or(state.returned, state.broken);
            let has_left = self.pool.or(has_left, state.continued);
            match self.pool.known_truth(has_left) {
                Some(false) => {}
                Some(true) => return Ok(()),
                None => {
                    let mut state_after = state.clone();
                    let false_term = self.pool.truth_term(false);
                    (
                        state_after.returned,
                        state_after.broken,
                        state_after.continued,
                    ) = (false_term, false_term, false_term);
                    self.run_block(frame, &block[number + 1..], &mut state_after)?;
                    *state = self.merge_states(has_left, state.clone(), state_after)?;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn merge_states(
        &mut self,
        condition: Term,
        yes: BranchState,
        no: BranchState,
    ) -> Result<BranchState, UnsupportedReason> {
        let locals = yes.locals.into_iter().zip(no.locals);
        let locals = locals.map(|(yes, no)| self.select_value(condition, yes, no));
        let locals = locals.collect::<Result<_, _>>()?;
        let result = match (yes.result, no.result) {
            (Some(yes), Some(no)) => Some(self.select_value(condition, yes, no)?),
            (yes, no) => yes.or(no),
        };
        Ok(BranchState {
            locals,
            result,
            returned: self.pool.select(condition, yes.returned, no.returned),
            broken: self.pool.select(condition, yes.broken, no.broken),
            continued: self.pool.select(condition, yes.continued, no.continued),
        })
    }

    pub(super) fn select_value(
        &mut self,
        condition: Term,
        yes: Value,
        no: Value,
    ) -> Result<Value, UnsupportedReason> {
        Ok(match (yes, no) {
            (Value::Term(yes), Value::Term(no)) => {
                Value::Term(self.pool.select(condition, yes, no))
            }
            (Value::Parts(yes), Value::Parts(no)) => {
                let parts = yes.into_iter().zip(no);
                let parts = parts.map(|(yes, no)| self.select_value(condition, yes, no));
                Value::Parts(parts.collect::<Result<_, _>>()?)
            }
            (yes, no) if yes == no => yes,
            _ => return Err("pointers that differ".to_owned()),
        })
    }

    fn run_statement(
        &mut self,
        frame: &mut CallFrame<'a>,
        statement: &'a Statement,
        state: &mut BranchState,
    ) -> Result<(), UnsupportedReason> {
        match statement {
            Statement::Emit(range) => {
                for handle in range.clone() {
                    let value = self.evaluate(frame, handle, state)?;
                    frame.values.insert(handle, value);
                }
                Ok(())
            }
            Statement::Block(block) => self.run_block(frame, block, state),
            Statement::If {
                condition,
                accept,
                reject,
            } => {
                let condition = self.evaluate_scalar(frame, *condition, state)?;
                match self.pool.known_truth(condition) {
                    Some(true) => self.run_block(frame, accept, state),
                    Some(false) => self.run_block(frame, reject, state),
                    None => {
                        let mut reject_state = state.clone();
                        self.run_block(frame, accept, state)?;
                        self.run_block(frame, reject, &mut reject_state)?;
                        // Removes the variables of functions that only one side has called, because nothing uses them
                        // after the branch.
                        let shared_local_count = state.locals.len().min(reject_state.locals.len());
                        state.locals.truncate(shared_local_count);
                        reject_state.locals.truncate(shared_local_count);
                        *state = self.merge_states(condition, state.clone(), reject_state)?;
                        Ok(())
                    }
                }
            }
            Statement::Loop {
                body,
                continuing,
                break_if,
            } => self.run_loop(frame, (body, continuing, *break_if), state),
            Statement::Break => {
                state.broken = self.pool.truth_term(true);
                Ok(())
            }
            Statement::Continue => {
                state.continued = self.pool.truth_term(true);
                Ok(())
            }
            Statement::Return { value } => {
                if let Some(value) = value {
                    state.result = Some(self.evaluate_once(frame, *value, state)?);
                }
                state.returned = self.pool.truth_term(true);
                Ok(())
            }
            Statement::Store { pointer, value } => {
                let value = self.evaluate_once(frame, *value, state)?;
                let place = self.evaluate_pointer(frame, *pointer, state)?;
                let VariableRoot::Local(number) = place.root else {
                    return Err("a store to a buffer".to_owned());
                };
                let old_value = state.locals[number].clone();
                state.locals[number] = self.with_stored_part(old_value, &place.path, value)?;
                Ok(())
            }
            Statement::Call {
                function,
                arguments,
                result,
            } => {
                let arguments = arguments
                    .iter()
                    .map(|&argument| self.evaluate_once(frame, argument, state));
                let arguments = arguments.collect::<Result<_, _>>()?;
                let value = self.call_function(*function, arguments, state)?;
                if let (Some(handle), Some(value)) = (result, value) {
                    frame.values.insert(*handle, value);
                }
                Ok(())
            }
            other => Err(format!("the statement {other:?}")),
        }
    }

    fn run_loop(
        &mut self,
        frame: &mut CallFrame<'a>,
        (body, continuing, break_if): (&'a Block, &'a Block, Option<Handle<Expression>>),
        state: &mut BranchState,
    ) -> Result<(), UnsupportedReason> {
        let false_term = self.pool.truth_term(false);
        for _ in 0..MAX_ITERATIONS {
            self.run_block(frame, body, state)?;
            let has_left = self.pool.or(state.broken, state.returned);
            match self.pool.known_truth(has_left) {
                Some(true) => {
                    state.broken = false_term;
                    return Ok(());
                }
                Some(false) => {}
                None => return Err("a loop whose end is not known".to_owned()),
            }
            state.continued = false_term;
            self.run_block(frame, continuing, state)?;
            if let Some(condition) = break_if {
                let condition = self.evaluate_scalar(frame, condition, state)?;
                match self.pool.known_truth(condition) {
                    Some(true) => return Ok(()),
                    Some(false) => {}
                    None => return Err("a loop whose end is not known".to_owned()),
                }
            }
        }
        Err(format!("a loop of more than {MAX_ITERATIONS} iterations"))
    }
}
