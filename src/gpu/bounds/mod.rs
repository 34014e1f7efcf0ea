//! The contract of a dispatch, checked for every dispatch before it is recorded, in tests and debug builds.
//!
//! Shaders add and multiply modulo 2^32, and compare few of their results with a bound. A contract between host and
//! shaders keeps the shaders' accesses inside the bindings. It is stated in full only here. [`check`] refuses a
//! dispatch that breaks it.
//!
//! 1. **Spans.** A binding begins at a multiple of the device's alignment, is a positive number of words long, and is
//!    no longer than the device allows. It belongs to the part of its argument that its span names.
//! 2. **Ids.** Width and height of the grid are less than 2^16, workgroups consist of whole tiles, there are enough
//!    workgroups for all tiles, and the numbers of tiles and invocations are at most 2^32.
//! 3. **Segments.** Where tiles are segments of rows, `run + segment` is less than 2^32, and the number of tiles is
//!    the number of rows times the number of segments in each row.
//! 4. **Digits.** No dimension by whose size a row number is divided has size 0. Thus each digit is less than its
//!    dimension's size. The outermost digit is at most the number of the last row divided by the product of the other
//!    sizes.
//! 5. **Sources.** The lowest and the highest unit of the source that any row reads lie in the binding. Offsets are
//!    sums of digits times strides, so these two units are reached where each digit is 0 or the largest. An index
//!    contributes any position of its dimension that the dispatch accepts, since `coordinate` lets no other position
//!    pass. Where shaders compare units with `bound` and skip those beyond it, `bound` units lie in the binding, and
//!    no unit outside equals one inside modulo 2^32.
//! 6. **Results.** The lowest and the highest unit that any row writes lie in the binding. In a scatter, a row goes to
//!    a slice that has an entry in `head`.
//! 7. **Tuples.** The words of all index tuples lie in their binding. Where tuples are read as vectors, so do the words
//!    up to the next multiple of four rows.
//! 8. **Words.** Kernels for small units load and store whole words or vectors. The words or vectors that hold a byte
//!    of a source or of a result lie in the binding. Where shaders compute signed byte addresses, these are less than
//!    2^31.
//! 9. **Arguments.** The bytes that are moved lie in the arguments of the plan, not only in the bindings, which may
//!    begin before an argument and end after it.
//! 10. **Lists.** In a block of a scatter, all steps agree on where the links begin, and there is room for all lists.
//!
//! The check reads a dispatch as the shaders do, from the words of its uniforms, and uses none of the code that
//! computed these words. What the shaders do with the words is proved or tested elsewhere: see `docs/DEVELOPING.md`.

mod kernels;
mod lists;
mod rows;
#[cfg(test)]
mod tests;
mod transpose;

use super::{
    caps::{Parts, Reach},
    kernels::Dispatch,
    scratch::Scratch,
    window::Places,
    work::Pass,
};
use crate::Plan;

/// A range of numbers, given by its lowest and its highest number, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hull {
    low: i128,
    high: i128,
}

impl Hull {
    /// The numbers from 0 to `last`, both included.
    fn to(last: i128) -> Self {
        Self { low: 0, high: last }
    }

    /// The range of `number + digit * stride` for each number of this range and each digit from 0 to `last`.
    fn along(self, last: i128, stride: i128) -> Self {
        let reached = last * stride;
        Self {
            low: self.low + reached.min(0),
            high: self.high + reached.max(0),
        }
    }

    fn plus(self, offset: i128) -> Self {
        Self {
            low: self.low + offset,
            high: self.high + offset,
        }
    }

    /// The bytes of the units in this range, each of which has `unit` bytes.
    fn bytes(self, unit: i128) -> Bytes {
        Bytes {
            begin: self.low * unit,
            end: (self.high + 1) * unit,
        }
    }
}

/// Bytes `begin..end`, counted from the beginning of a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bytes {
    begin: i128,
    end: i128,
}

impl Bytes {
    /// The whole blocks of `size` bytes, counted from byte 0, that hold these bytes.
    fn whole(self, size: i128) -> Self {
        Self {
            begin: self.begin.div_euclid(size) * size,
            end: -(-self.end).div_euclid(size) * size,
        }
    }

    fn is_in(self, other: Self) -> bool {
        other.begin <= self.begin && self.end <= other.end
    }
}

/// An access of a dispatch to one binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Access {
    what: &'static str,
    /// The number of the binding in the shader's group of buffers.
    binding: usize,
    /// The bytes that are loaded or stored, whole words or vectors.
    touched: Bytes,
    /// Those of the touched bytes that are moved, combined or read as indices or lists. `None` if the shader does not
    /// use the loaded value.
    moved: Option<Bytes>,
}

/// Why a dispatch is refused.
type Refusal = String;

/// Returns `Err(why())` unless `holds`.
fn require(holds: bool, why: impl FnOnce() -> String) -> Result<(), Refusal> {
    if holds { Ok(()) } else { Err(why()) }
}

/// The arguments of a plan, whose bytes the plan's dispatches may move.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    /// The place and the size in bytes of each argument, in the order of their numbers in [`Buffer`](super::maps::Buffer).
    arguments: [(Parts, u64); 5],
}

impl Memory {
    pub(super) fn of(plan: &Plan, places: &Places, scratch: Scratch) -> Self {
        Self {
            arguments: [
                (places.source, plan.source_bytes() as u64),
                (places.dest, plan.result_bytes() as u64),
                (places.indices, plan.index_bytes(places.index) as u64),
                (Parts::ONE, scratch.head),
                (Parts::ONE, scratch.rows),
            ],
        }
    }
}

/// Returns an error if a dispatch of the passes breaks the contract at the top of this file.
pub(super) fn check(
    reach: &Reach,
    memory: &Memory,
    passes: &[Pass<Dispatch>],
) -> Result<(), Refusal> {
    for pass in passes {
        for dispatch in &pass.dispatches {
            one(reach, memory, dispatch)
                .map_err(|why| format!("{}: {why}\n{dispatch:#?}", dispatch.program))?;
        }
        lists::agree(&pass.dispatches)?;
        let (_, head) = memory.arguments[3];
        require(
            pass.cleared.is_empty() || pass.cleared.end <= head.max(4),
            || format!("{:?} of `head` cleared, which has {head}", pass.cleared),
        )?;
    }
    Ok(())
}

fn one(reach: &Reach, memory: &Memory, dispatch: &Dispatch) -> Result<(), Refusal> {
    grid(reach, dispatch)?;
    let buffers = dispatch.program.op.facts().buffers;
    for (buffer, span) in buffers.iter().zip(&dispatch.spans) {
        require(
            span.offset.is_multiple_of(reach.alignment)
                && span.bytes > 0
                && span.bytes.is_multiple_of(4)
                && span.bytes <= reach.binding,
            || format!("argument {} is bound as {span:?}", buffer.argument),
        )?;
    }
    for access in kernels::accesses(dispatch)? {
        let span = dispatch.spans[access.binding];
        let bound = Bytes {
            begin: 0,
            end: span.bytes.into(),
        };
        require(access.touched.is_in(bound), || {
            format!("{access:?} outside of {bound:?}")
        })?;
        let Some(moved) = access.moved else { continue };
        // The bytes of the argument's part, counted from the beginning of the binding.
        let (parts, bytes) = memory.arguments[buffers[access.binding].argument];
        let begin = i128::from(parts.offset) - i128::from(span.offset);
        let before = i128::from(parts.bytes) * span.part as i128;
        let length = (i128::from(bytes) - before).min(parts.bytes.into());
        let argument = Bytes {
            begin,
            end: begin + length,
        };
        require(moved.is_in(argument), || {
            format!("{access:?} outside of the argument, {argument:?}")
        })?;
    }
    Ok(())
}

/// Checks item 2 of the contract.
fn grid(reach: &Reach, dispatch: &Dispatch) -> Result<(), Refusal> {
    let uniforms = &dispatch.uniforms;
    let (width, height) = (uniforms.grid & 0xffff, dispatch.height);
    let workgroup = i128::from(dispatch.program.workgroup);
    let lanes = 1_i128 << (uniforms.grid >> 16 & 15);
    require(
        width <= reach.groups && height <= reach.groups && height < 1 << 16,
        || format!("{width} by {height} workgroups"),
    )?;
    require(lanes <= workgroup && workgroup % lanes == 0, || {
        format!("{lanes} lanes in workgroups of {workgroup}")
    })?;
    let groups = i128::from(width) * i128::from(height);
    // Every invocation of `rows_coalesced.wgsl` moves units of ROWS tiles.
    let each = match dispatch.program.source.name {
        "coalesced rows" => kernels::constant(dispatch, "ROWS")?,
        _ => 1,
    };
    let tiles = groups * (workgroup / lanes) * each;
    require(groups * workgroup <= 1 << 32 && tiles <= 1 << 32, || {
        format!("{groups} workgroups have too many invocations")
    })?;
    require(tiles >= uniforms.tiles.into(), || {
        format!("room for {tiles} tiles, but there are {}", uniforms.tiles)
    })
}
