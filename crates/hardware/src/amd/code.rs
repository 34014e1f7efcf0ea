//! Counts the instructions that a lane executes in AMD machine code, as RADV prints it.
//!
//! The program counts one path through the code, from its beginning to its end: the path that stores the most bytes. If
//! several paths store as much, the program chooses the path that loads the most bytes, and then the path with the
//! fewest instructions. So the path enters an `if` around a store or a load, avoids code with neither, such as the
//! report of an invalid index, and takes the shorter of two ways to move the same bytes. If a kernel stores outside of
//! loops, stores within loops are considered exceptions (words that contain several rows) and do not count in this
//! choice. The same holds for loads. If nothing is stored, an atomic access counts as a store of 4 bytes. The body of a
//! loop counts once.
//!
//! So the path can be too short, if loops run many times or if lanes also execute code outside the path. It can be too
//! long if the compiler has unrolled an exception: its stores are then outside of loops, and the path goes through all
//! of them. Therefore `estimate` also uses the operations that the interpreter ran.
//!
//! The path is the path of one lane, and all other lanes of its wave are assumed to take the same path. If lanes
//! diverge, the lane executes one of two sides only, although the machine code runs through both: RADV removes lanes
//! from the mask `exec`, jumps over code for which no lane is active, inverts the mask for the `else`, and restores it
//! at the end.

use std::collections::HashMap;

/// The instructions and accesses on the counted path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CountedPath {
    /// The number of vector instructions, which each lane executes.
    pub(crate) vector_instructions: usize,
    /// The number of vector instructions that multiply whole words. They run at a quarter of the rate of other vector
    /// instructions.
    pub(crate) multiplications: usize,
    /// The number of scalar instructions, which a wave executes once.
    pub(crate) scalar_instructions: usize,
    /// The number of loads of uniform values.
    pub(crate) scalar_loads: usize,
    /// The size of each load of a lane in bytes, in order.
    pub(crate) loads: Vec<usize>,
    /// The size of each store of a lane in bytes, in order.
    pub(crate) stores: Vec<usize>,
    pub(crate) atomics: usize,
    /// The number of accesses to workgroup memory.
    pub(crate) shared_accesses: usize,
    pub(crate) branches: usize,
    pub(crate) barriers: usize,
    /// The maximum number of bytes that a lane loads at the same time.
    pub(crate) bytes_in_flight: usize,
    /// True if a part of the path is in a loop.
    pub(crate) has_loop: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instruction {
    Vector,
    Multiplication,
    Scalar,
    ScalarLoad,
    Load(usize),
    Store(usize),
    Atomic,
    Shared,
    Barrier,
    /// Waits until at most this many loads are in flight.
    Wait(usize),
    /// Jumps to the instruction with index `to`, or continues with the next.
    Branch {
        to: usize,
        condition: BranchCondition,
    },
    /// A scalar instruction that swaps active and inactive lanes.
    Invert,
    /// A scalar instruction that reactivates the lanes that were active before they diverged.
    Restore,
    End,
    /// A hint, or a wait for a counter other than the counter of loads. Neither is counted.
    Hint,
}

/// The condition for taking a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BranchCondition {
    Always,
    /// If no lane is active.
    NoLane,
    /// If a condition holds that the program does not evaluate.
    Condition,
}

/// A position on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PathPosition {
    /// The index of the instruction.
    at: usize,
    /// True if the lane is active.
    is_active: bool,
}

/// The accesses that the hardware's counter of loads in flight counts: loads and, before RDNA, also stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadCounter {
    Loads,
    LoadsAndStores,
}

impl CountedPath {
    /// Finds the counted path through the machine code in `text`.
    ///
    /// # Errors
    ///
    /// The error names an unknown instruction.
    pub(crate) fn from_text(text: &str, counter: LoadCounter) -> Result<Self, String> {
        let code = parse(text)?;
        let (positions, in_loop) = (counted_path(&code), loop_flags(&code));
        let mut path = Self {
            has_loop: positions.iter().any(|place| in_loop[place.at]),
            ..Self::default()
        };
        // The bytes of each access in flight, oldest first. A store counts as 0 bytes.
        let mut pending_loads = Vec::new();
        for &PathPosition { at, is_active } in &positions {
            match code[at] {
                Instruction::Load(_)
                | Instruction::Store(_)
                | Instruction::Atomic
                | Instruction::Shared
                    if !is_active => {}
                Instruction::Vector => path.vector_instructions += 1,
                Instruction::Multiplication => {
                    path.vector_instructions += 1;
                    path.multiplications += 1;
                }
                Instruction::Scalar | Instruction::Invert | Instruction::Restore => {
                    path.scalar_instructions += 1;
                }
                Instruction::ScalarLoad => path.scalar_loads += 1,
                Instruction::Load(bytes) => {
                    path.loads.push(bytes);
                    pending_loads.push(bytes);
                    path.bytes_in_flight = path.bytes_in_flight.max(pending_loads.iter().sum());
                }
                Instruction::Store(bytes) => {
                    path.stores.push(bytes);
                    if counter == LoadCounter::LoadsAndStores {
                        pending_loads.push(0);
                    }
                }
                Instruction::Atomic => path.atomics += 1,
                Instruction::Shared => path.shared_accesses += 1,
                Instruction::Barrier => path.barriers += 1,
                Instruction::Branch { .. } => path.branches += 1,
                Instruction::Wait(max_pending) => {
                    let finished_count = pending_loads.len().saturating_sub(max_pending);
                    pending_loads.drain(..finished_count);
                }
                Instruction::End | Instruction::Hint => {}
            }
        }
        Ok(path)
    }
}

fn parse(text: &str) -> Result<Vec<Instruction>, String> {
    let mut labels = HashMap::new();
    let mut lines = Vec::new();
    for line in text.lines() {
        let line = line.split(';').next().unwrap_or_default().trim();
        match line.strip_suffix(':') {
            Some(label) => {
                labels.insert(label, lines.len());
            }
            None if line.is_empty() => {}
            None => lines.push(line),
        }
    }
    lines.iter().map(|line| parse_line(line, &labels)).collect()
}

fn parse_line(line: &str, labels: &HashMap<&str, usize>) -> Result<Instruction, String> {
    let unknown_instruction = || format!("cannot count the instruction {line:?}");
    let (name, operands) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if let Some((unit, access)) = memory_access(name) {
        return match (unit, access) {
            ("ds", _) => Ok(Instruction::Shared),
            (_, access) if access.starts_with("atomic") => Ok(Instruction::Atomic),
            (_, access) => {
                let (verb, width) = access.split_once('_').ok_or_else(unknown_instruction)?;
                let bytes = bytes_of_width(width).ok_or_else(unknown_instruction)?;
                match verb {
                    "load" => Ok(Instruction::Load(bytes)),
                    "store" => Ok(Instruction::Store(bytes)),
                    _ => Err(unknown_instruction()),
                }
            }
        };
    }
    if name == "s_branch" || name.starts_with("s_cbranch") {
        let to = *labels
            .get(operands.trim())
            .ok_or_else(unknown_instruction)?;
        let condition = match name {
            "s_branch" => BranchCondition::Always,
            "s_cbranch_execz" => BranchCondition::NoLane,
            _ => BranchCondition::Condition,
        };
        return Ok(Instruction::Branch { to, condition });
    }
    if let Some(mask) = mask_change(name, operands) {
        return Ok(mask);
    }
    Ok(match name {
        "s_endpgm" => Instruction::End,
        "s_barrier" => Instruction::Barrier,
        "s_waitcnt" => match operands.split("vmcnt(").nth(1) {
            None => Instruction::Hint,
            Some(rest) => {
                let pending_count = rest.split(')').next().unwrap_or_default();
                Instruction::Wait(pending_count.parse().map_err(|_| unknown_instruction())?)
            }
        },
        "s_waitcnt_vscnt"
        | "s_clause"
        | "s_nop"
        | "s_delay_alu"
        | "s_inst_prefetch"
        | "s_set_inst_prefetch_distance"
        | "s_sendmsg"
        | "s_waitcnt_depctr"
        | "s_code_end"
        | "s_sleep"
        | "s_setprio" => Instruction::Hint,
        _ if name.starts_with("buffer_gl") || name.starts_with("s_dcache") => Instruction::Hint,
        _ if name.starts_with("s_load") || name.starts_with("s_buffer_load") => {
            Instruction::ScalarLoad
        }
        _ if name.starts_with("s_") => Instruction::Scalar,
        _ if ["v_mul_lo_", "v_mul_hi_", "v_mad_u64_", "v_mad_i64_"]
            .iter()
            .any(|prefix| name.starts_with(prefix)) =>
        {
            Instruction::Multiplication
        }
        _ if name.starts_with("v_") => Instruction::Vector,
        _ => return Err(unknown_instruction()),
    })
}

/// Splits a memory instruction's name into its unit and its access, such as `buffer` and `load_dword`. Returns `None`
/// for cache instructions, scalar loads and instructions that do not access memory.
fn memory_access(name: &str) -> Option<(&str, &str)> {
    let (unit, access) = name.split_once('_')?;
    let is_cache_instruction = access.starts_with("gl") || access.starts_with("wb");
    (["buffer", "global", "flat", "scratch", "ds"].contains(&unit) && !is_cache_instruction)
        .then_some((unit, access))
}

/// Returns how an instruction changes the mask of active lanes. Returns `None` if it does not change the mask, or if it
/// only removes lanes.
fn mask_change(name: &str, operands: &str) -> Option<Instruction> {
    let mut operands = operands.split(',').map(|operand| operand.trim());
    let is_mask = |operand: &str| matches!(operand, "exec" | "exec_lo");
    if !is_mask(operands.next()?) {
        return None;
    }
    let operation = name.strip_prefix("s_")?.rsplit_once('_')?.0;
    match operation {
        "mov" | "or" => Some(Instruction::Restore),
        "andn2" | "and_not1" | "xor" if operands.next_back().is_some_and(is_mask) => {
            Some(Instruction::Invert)
        }
        _ => None,
    }
}

/// Returns the size of an access in bytes, from the end of the instruction's name: `dwordx4` before RDNA 3, `b128` from
/// RDNA 3 on.
fn bytes_of_width(width: &str) -> Option<usize> {
    // `d16`, and any part after the width, tell which half of the register is used.
    let width = width.split('_').find(|part| *part != "d16")?;
    match width {
        "dword" | "b32" => Some(4),
        "dwordx2" | "b64" => Some(8),
        "dwordx3" | "b96" => Some(12),
        "dwordx4" | "b128" => Some(16),
        "ushort" | "sshort" | "short" | "u16" | "i16" | "b16" => Some(2),
        "ubyte" | "sbyte" | "byte" | "u8" | "i8" | "b8" => Some(1),
        _ => None,
    }
}

/// The value of a path: bytes stored, bytes loaded, and the negated number of instructions. Values are compared by
/// these numbers in this order, and the larger value is better.
type PathValue = [isize; 3];

/// Returns the path with the largest [`PathValue`].
fn counted_path(code: &[Instruction]) -> Vec<PathPosition> {
    let in_loop = loop_flags(code);
    let has_outside_loop = |is_wanted: fn(&Instruction) -> bool| {
        let mut instructions = code
            .iter()
            .zip(&in_loop)
            .filter(|(_, in_a_loop)| !**in_a_loop);
        instructions.any(|(instruction, _)| is_wanted(instruction))
    };
    let stores_outside_loop =
        has_outside_loop(|instruction| matches!(instruction, Instruction::Store(_)));
    let loads_outside_loop =
        has_outside_loop(|instruction| matches!(instruction, Instruction::Load(_)));
    let has_store = code
        .iter()
        .any(|instruction| matches!(instruction, Instruction::Store(_)));
    let position_value = |PathPosition { at, is_active }: PathPosition| -> PathValue {
        let (stored, loaded) = match code[at] {
            _ if !is_active => (0, 0),
            Instruction::Store(bytes) if !(stores_outside_loop && in_loop[at]) => (bytes, 0),
            Instruction::Load(bytes) if !(loads_outside_loop && in_loop[at]) => (0, bytes),
            Instruction::Atomic if !has_store => (4, 0),
            _ => (0, 0),
        };
        [stored.cast_signed(), loaded.cast_signed(), -1]
    };
    // The value of the best path from each position, and the next position on that path. The first index is the index
    // of the instruction; the second is 1 if the lane is active.
    let mut best_values = vec![[[0; 3]; 2]; code.len() + 1];
    let mut next_positions_on_best = vec![[None; 2]; code.len()];
    for at in (0..code.len()).rev() {
        for is_active in [false, true] {
            let place = PathPosition { at, is_active };
            let best_rest =
                |place: &PathPosition| best_values[place.at][usize::from(place.is_active)];
            let next_places = next_positions(code, place).into_iter().flatten();
            let best_next = next_places.max_by_key(best_rest);
            let (own_value, rest_value) = (
                position_value(place),
                best_next.as_ref().map_or([0; 3], best_rest),
            );
            best_values[at][usize::from(is_active)] =
                [0, 1, 2].map(|i| own_value[i] + rest_value[i]);
            next_positions_on_best[at][usize::from(is_active)] =
                best_next.filter(|best_next| best_next.at < code.len());
        }
    }
    let start_position = (!code.is_empty()).then_some(PathPosition {
        at: 0,
        is_active: true,
    });
    let next_on_best =
        |place: &PathPosition| next_positions_on_best[place.at][usize::from(place.is_active)];
    std::iter::successors(start_position, next_on_best).collect()
}

/// Returns the positions that can follow `place`.
fn next_positions(code: &[Instruction], place: PathPosition) -> [Option<PathPosition>; 2] {
    let PathPosition { at, is_active } = place;
    let step = PathPosition {
        at: at + 1,
        is_active,
    };
    match code[at] {
        Instruction::End => [None, None],
        // A branch back to the beginning of a loop is not taken, because the body of a loop counts once.
        Instruction::Branch { to, .. } if to <= at => [Some(step), None],
        Instruction::Branch { to, condition } => {
            // A branch on `NoLane` is taken if no lane is active, so a lane that takes it is not active.
            let jump_target = PathPosition {
                at: to,
                is_active: is_active && condition != BranchCondition::NoLane,
            };
            match condition {
                BranchCondition::Always => [Some(jump_target), None],
                BranchCondition::NoLane if !is_active => [Some(jump_target), None],
                BranchCondition::NoLane | BranchCondition::Condition => {
                    [Some(step), Some(jump_target)]
                }
            }
        }
        Instruction::Invert => [
            Some(PathPosition {
                is_active: !is_active,
                ..step
            }),
            None,
        ],
        Instruction::Restore => [
            Some(PathPosition {
                is_active: true,
                ..step
            }),
            None,
        ],
        _ => [Some(step), None],
    }
}

/// Returns, for each instruction, whether it is in a loop: between a backward branch and its target.
fn loop_flags(code: &[Instruction]) -> Vec<bool> {
    let mut in_loop = vec![false; code.len()];
    for (from, instruction) in code.iter().enumerate() {
        if let Instruction::Branch { to, .. } = *instruction
            && to <= from
        {
            in_loop[to..=from].fill(true);
        }
    }
    in_loop
}

#[cfg(test)]
#[path = "code_tests.rs"]
mod tests;
