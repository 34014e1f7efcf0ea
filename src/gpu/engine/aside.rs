//! Handles sources and index tuples that are in the buffer of the destination. Examples are a caller's cache that moves
//! its own rows, and a buffer that a program divides among its arrays.
//!
//! wgpu does not allow one dispatch to read and write the same buffer, whatever the offsets. So the bytes that a move
//! reads from the destination's buffer are first copied to scratch memory. A move that also writes these bytes is
//! rejected, because the result would depend on which invocation runs first.

use super::{Engine, argument::Argument, caps::BufferParts, commands::Commands};
use crate::{
    Error, Plan,
    moves::{Effect, Move, Scatter},
    plan::Operand,
    text::counted,
    walk::Side,
};
use std::{ops::Range, slice};

/// An argument and its copy in scratch memory have the same offset modulo this many bytes, so that elements of up to 16
/// bytes stay aligned.
const PLACE_ALIGNMENT: u64 = 256;

/// The place in scratch memory of a copy that is read instead of an argument.
#[derive(Debug)]
pub(super) struct CopyPlace {
    memory: wgpu::Buffer,
    offset: u64,
    /// The range of bytes that are read, counted from the beginning of the argument.
    read_range: Range<u64>,
}

impl Engine {
    /// Allocates scratch memory for copies of the source and the indices if they are in the buffer of `dest`. The
    /// result has `None` for an argument that is not copied.
    pub(super) fn allocate_copies(
        &self,
        step_move: &Move,
        source: &Argument<'_>,
        indices: Option<&Argument<'_>>,
        dest: &Argument<'_>,
    ) -> Result<[Option<CopyPlace>; 2], Error> {
        // Only tensors can have several buffers or no buffer, and tensors do not share buffers.
        let shares_buffer = |argument: &&Argument<'_>| {
            let first_buffer = argument.buffers.first();
            first_buffer.is_some_and(|buffer| dest.buffers.contains(buffer))
        };
        let [source, indices] =
            [Some(source), indices].map(|argument| argument.filter(shares_buffer));
        if source.is_none() && indices.is_none() || step_move.result_bytes() == 0 {
            return Ok([None, None]);
        }
        dest.check_words()?;
        let source_range = reached_range(step_move, Side::Source);
        let indices_range = 0..step_move
            .walk()
            .map_or(0, |_| step_move.index_bytes() as u64);
        let mut memory_bytes = 0;
        let mut place_copy = |argument: Option<&Argument<'_>>, read_range: Range<u64>| {
            let Some(argument) = argument else {
                return Ok(None);
            };
            argument.check_words()?;
            check_apart(argument, &read_range, dest, &written_range(step_move))?;
            let offset = memory_bytes + argument.parts.offset % PLACE_ALIGNMENT;
            // An empty argument also needs a place inside the memory.
            memory_bytes =
                (offset + argument.needed_bytes.max(1)).next_multiple_of(PLACE_ALIGNMENT);
            Ok::<_, Error>(Some((offset, read_range)))
        };
        let places = [
            place_copy(source, source_range)?,
            place_copy(indices, indices_range)?,
        ];
        let doing = "allocating memory for a source in the buffer of dest";
        let memory = self.grown_buffer(&self.scratch.aside, memory_bytes, doing)?;
        let memory_place = |(offset, read_range)| CopyPlace {
            memory: memory.clone(),
            offset,
            read_range,
        };
        Ok(places.map(|place| place.map(memory_place)))
    }

    /// Returns the copy of `argument` at a place in scratch memory. Adds the command that makes the copy to `copies`: a
    /// dispatch, or a buffer copy if `may_copy` allows it. Without a place, returns `argument`.
    pub(super) fn copy_argument<'a>(
        &self,
        place: &'a Option<CopyPlace>,
        argument: Argument<'a>,
        may_copy: bool,
        copies: &mut Vec<Commands<'a>>,
    ) -> Result<Argument<'a>, Error> {
        let Some(place) = place else {
            return Ok(argument);
        };
        let (read_range, memory) = (&place.read_range, &place.memory);
        let argument_copy = Argument {
            buffers: slice::from_ref(memory),
            parts: BufferParts {
                offset: place.offset,
                ..BufferParts::ONE_PART
            },
            keeps_groups: false,
            ..argument
        };
        if !read_range.is_empty() {
            // `check_words` has checked that these whole words are in the buffer.
            let words = |argument: Argument<'a>| {
                let first_byte = (argument.parts.offset + read_range.start) / 4 * 4;
                let end = (argument.parts.offset + read_range.end).next_multiple_of(4);
                let bytes = end - first_byte;
                Argument {
                    parts: BufferParts {
                        offset: first_byte,
                        ..BufferParts::ONE_PART
                    },
                    passed_bytes: bytes,
                    needed_bytes: bytes,
                    ..argument
                }
            };
            let (from, to) = (words(argument), words(argument_copy));
            let copy = Move::copy(usize::try_from(from.needed_bytes).unwrap_or(usize::MAX));
            copies.push(self.choose_commands(&copy, &[], &[from, to], may_copy)?);
        }
        Ok(argument_copy)
    }
}

/// Fails if a step reads bytes of an input that another step writes in the same buffer. [`Engine::allocate_copies`]
/// checks each step separately.
pub(super) fn check_steps(
    plan: &Plan,
    inputs: &[Argument<'_>],
    outputs: &[Argument<'_>],
) -> Result<(), Error> {
    let union = |total: Option<Range<u64>>, range: Range<u64>| match total {
        _ if range.is_empty() => total,
        None => Some(range),
        Some(total) => Some(total.start.min(range.start)..total.end.max(range.end)),
    };
    let shares_buffer = |one: &Argument<'_>, other: &Argument<'_>| {
        one.buffers
            .iter()
            .any(|buffer| other.buffers.contains(buffer))
    };
    for (m, dest) in outputs.iter().enumerate() {
        let writing_steps = plan
            .steps()
            .filter(|(_, step)| step.to == Operand::Output(m));
        let Some(written_bytes) = writing_steps
            .map(|(step_move, _)| written_range(step_move))
            .fold(None, union)
        else {
            continue;
        };
        let numbered_inputs = inputs.iter().enumerate();
        for (n, input) in numbered_inputs.filter(|(_, input)| shares_buffer(input, dest)) {
            let operand = Operand::Input(n);
            let reads = plan.steps().filter_map(|(step_move, step)| match step {
                step if step.from == operand => Some(reached_range(step_move, Side::Source)),
                step if step.by.as_ref() == Some(&operand) => {
                    Some(0..step_move.index_bytes() as u64)
                }
                _ => None,
            });
            if let Some(read_bytes) = reads.fold(None, union) {
                check_apart(input, &read_bytes, dest, &written_bytes)?;
            }
        }
    }
    Ok(())
}

/// Fails if bytes that are read from `argument` overlap bytes that are written to `dest` in the same buffer.
fn check_apart(
    argument: &Argument<'_>,
    read_bytes: &Range<u64>,
    dest: &Argument<'_>,
    written_bytes: &Range<u64>,
) -> Result<(), Error> {
    let [from, to] = [(argument, read_bytes), (dest, written_bytes)].map(|(argument, bytes)| {
        argument.parts.offset + bytes.start..argument.parts.offset + bytes.end
    });
    if from.start.max(to.start) >= from.end.min(to.end) {
        return Ok(());
    }
    let problem = format!(
        "is in the buffer of dest, and the bytes that are read, {from:?}, overlap those that are written, {to:?}: \
         record into another buffer, and copy the result back with copy_buffer_to_buffer if it must be in place"
    );
    Err(argument.argument_error(problem))
}

/// Describes the cost of a source in the buffer of the destination, for a move that changes its destination in place.
/// Returns `None` for all other moves, and for moves without rows.
pub(in crate::gpu) fn describe_cost(step_move: &Move) -> Option<String> {
    let bytes = reached_range(step_move, Side::Source);
    let bytes = counted(
        usize::try_from(bytes.end - bytes.start).ok()?,
        "byte",
        "bytes",
    );
    (step_move.is_in_place() && step_move.walk().is_some()).then(|| {
        format!("; from a source in the same buffer, {bytes} go through scratch memory first")
    })
}

/// Returns the range from the first to the last byte that a move can write in its destination.
fn written_range(step_move: &Move) -> Range<u64> {
    match step_move.effect() {
        Effect::Update => reached_range(step_move, Side::Dest),
        Effect::Scatter(Scatter {
            starts_from_zeros: false,
            ..
        }) if step_move.walk().is_none() => 0..0,
        _ => 0..step_move.result_bytes() as u64,
    }
}

/// Returns the range from the first to the last byte that a move's walk can access in the source or the destination,
/// depending on `side`.
fn reached_range(step_move: &Move, side: Side) -> Range<u64> {
    let Some(walk) = step_move.walk() else {
        return 0..0;
    };
    let Range { start, end } = walk.span(side);
    let bytes = |units: isize| (units.max(0).cast_unsigned() * walk.unit) as u64;
    bytes(start)..bytes(end)
}
