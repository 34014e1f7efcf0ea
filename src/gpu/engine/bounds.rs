//! The contract of a dispatch. In tests and debug builds, every dispatch is checked before it is recorded.
//!
//! Shaders add and multiply modulo 2^32 and compare few of the results with a bound. A contract between host and
//! shaders keeps the shaders' accesses inside the bindings. This is its only complete statement. [`check_cut`] rejects
//! a dispatch that breaks the contract.
//!
//! 1. **Spans.** A binding begins at a multiple of the device's alignment, is a positive number of words long, and is
//!    no longer than the device allows. It belongs to the part of its argument that its span names.
//! 2. **Grid.** Width and height of the grid are within the device's limits and less than 2^16. There are enough
//!    workgroups for all tiles, and fewer than 2^32 invocations.
//! 3. **Digits.** No dimension has size 0, and the product of all sizes is the number of rows, so each digit is less
//!    than its dimension's size. A walk with crops has at most the number of dimensions for which shaders can keep
//!    digits.
//! 4. **Walk.** The lowest and the highest unit that any row reads are in the source's binding, and the lowest and the
//!    highest unit that any row writes are in the destination's binding. Offsets are sums of digits times strides, so
//!    the extremes occur where each digit is 0 or at its maximum. A coordinate can add any position of its window;
//!    `add` and `lies_inside` in `walk.wgsl` reject all other positions. For the kernels that combine, neighbouring
//!    rows and neighbouring slices are `pitch` units apart.
//! 5. **Dense results.** `copy_words` writes its groups of four elements in the order of rows, starting with group 0.
//! 6. **Tuples.** The words of all index tuples are in their binding, and no coordinate reads a column beyond the end
//!    of a tuple.
//! 7. **Words.** Kernels for small elements load and store whole words. Every word that contains a byte of a source or
//!    of a result is in the binding.
//! 8. **Arguments.** The moved bytes are in the arguments of the move. It is not enough that they are in the bindings,
//!    which can begin before an argument and end after it.
//!
//! Like the shaders, the check reads a dispatch from the words of its uniforms. It uses none of the code that computed
//! these words. Kernels with a walk differ only in their [`KernelUnits`], in the unit of a segment and in their lists
//! of rows (`chain.wgsl`). The kernels that search masks have no walk; [`mask_accesses`] lists their accesses.

use super::{
    caps::{BufferParts, DispatchLimits},
    dispatch::{ArgumentPlaces, Cut, Dispatch},
    find::COUNT_BYTES,
    program::{Constant, Kernel, Prelude},
    uniforms::{
        CoordinateWords, MAX_COORDINATES, MAX_CROPPED_DIMS, MAX_DIMS, MaskDimWords, NO_NUMBER,
        RUN_DIMENSION, SearchWords, Uniforms, WalkWords,
    },
};
use crate::moves::{Effect, Move};
use std::ops::Range;

/// The reason why a dispatch is rejected.
type Refusal = String;

/// Returns `Err(why())` unless `holds`.
fn require(holds: bool, why: impl FnOnce() -> String) -> Result<(), Refusal> {
    if holds { Ok(()) } else { Err(why()) }
}

fn signed_word(word: u32) -> i128 {
    word.cast_signed().into()
}

fn divide_up(number: i128, divisor: i128) -> i128 {
    -(-number).div_euclid(divisor)
}

/// Returns the value of a constant that the kernel reads. Fails if the host does not set it.
pub(super) fn constant_value(dispatch: &Dispatch, constant: Constant) -> Result<i128, Refusal> {
    let value = dispatch.program.constant_value(constant).map(i128::from);
    value.ok_or_else(|| format!("{} is not set", constant.name()))
}

/// The sizes of the units in which a kernel counts.
#[derive(Clone, Copy, Debug)]
struct KernelUnits {
    /// The number of bytes in a distance of 1.
    unit: i128,
    /// The number of bytes that the kernel moves at each position.
    element: i128,
    /// The size in bytes of the aligned blocks in which a kernel loads and stores.
    block: i128,
    /// The number of elements in a group of a dense result, or 0 if the walk determines the positions of rows.
    group: i128,
}

impl KernelUnits {
    fn from_dispatch(dispatch: &Dispatch) -> Result<Self, Refusal> {
        let kernel_units = |unit, element, block, group| Self {
            unit,
            element,
            block,
            group,
        };
        let element = || constant_value(dispatch, Constant::Element);
        Ok(match (dispatch.program.kernel, dispatch.program.prelude) {
            (Kernel::Copy, Prelude::Unit(unit)) | (Kernel::Combine, Prelude::Words(unit)) => {
                let unit = unit as i128;
                kernel_units(unit, unit, unit, 0)
            }
            (Kernel::CopyWords, Prelude::None) => kernel_units(1, element()?, 4, 4),
            (Kernel::UpdateWords, Prelude::None) => kernel_units(1, element()?, 4, 0),
            (Kernel::Convert, Prelude::None) => {
                let bytes = constant_value(dispatch, Constant::ToBytes)?;
                kernel_units(bytes, bytes, 4, 0)
            }
            (Kernel::CombineParts, Prelude::None) => kernel_units(element()?, element()?, 4, 0),
            (Kernel::Atomic, Prelude::Integer(_))
            | (Kernel::Last | Kernel::Link | Kernel::Order, Prelude::None) => {
                kernel_units(4, 4, 4, 0)
            }
            (kernel, prelude) => return Err(format!("{kernel:?} in {prelude:?}")),
        })
    }

    /// Returns the range of the bytes that these units cover.
    fn bytes(self, units: NumberRange) -> Range<i128> {
        units.low * self.unit..units.high * self.unit + self.element
    }
}

/// A range of numbers from the lowest to the highest, inclusive.
#[derive(Clone, Copy, Debug)]
struct NumberRange {
    low: i128,
    high: i128,
}

impl NumberRange {
    const ZERO: Self = Self { low: 0, high: 0 };

    /// Returns the range of `number + digit * stride` for each number of this range and each digit from `first` to
    /// `last`.
    fn extend_along(self, first: i128, last: i128, stride: i128) -> Self {
        let (a, b) = (first * stride, last * stride);
        Self {
            low: self.low + a.min(b),
            high: self.high + a.max(b),
        }
    }

    /// Adds a number to the range modulo 2^32, as the shaders do.
    fn add_base(self, base: u32) -> Self {
        let low = (i128::from(base) + self.low).rem_euclid(1 << 32);
        Self {
            low,
            high: low + self.high - self.low,
        }
    }
}

/// An access of a dispatch: the number of the binding, the range of bytes that are accessed, and the size of the blocks
/// in which they are loaded and stored.
type Access = (usize, Range<i128>, i128);

/// Returns the access to `count` words, starting with word `first`.
fn word_access(binding: usize, first: u32, count: i128) -> Access {
    let first = i128::from(first);
    (binding, first * 4..(first + count) * 4, 4)
}

/// Returns the place and the size in bytes of each argument, in the order of the arguments' numbers.
pub(super) fn argument_memory(
    step_move: &Move,
    places: &ArgumentPlaces,
    scratch_bytes: u64,
) -> Vec<(BufferParts, u64)> {
    let indices = match step_move.effect() {
        Effect::Find(_) => COUNT_BYTES,
        _ => step_move.index_bytes(),
    };
    let table = step_move
        .conversion
        .as_ref()
        .and_then(|conversion| conversion.table.as_ref());
    let tables = table.map_or(0, |table| 4 * table.entries.len());
    let move_bytes = [step_move.source_bytes(), step_move.result_bytes(), indices];
    let [source, dest, indices] = move_bytes.map(|bytes| bytes as u64);
    let sizes = [source, dest, indices, scratch_bytes, tables as u64];
    let sizes = sizes.into_iter().enumerate();
    sizes
        .map(|(number, bytes)| (places.parts_of(number), bytes))
        .collect()
}

/// Returns an error if a dispatch of the passes breaks the contract at the top of this file.
pub(super) fn check_cut(
    limits: &DispatchLimits,
    step_move: &Move,
    places: &ArgumentPlaces,
    cut: &Cut,
) -> Result<(), Refusal> {
    let memory = argument_memory(step_move, places, cut.scratch_bytes);
    for dispatch in cut.dispatches() {
        check_dispatch(limits, &memory, dispatch)
            .map_err(|why| format!("{}: {why}\n{dispatch:#?}", dispatch.program))?;
    }
    Ok(())
}

pub(super) fn check_dispatch(
    limits: &DispatchLimits,
    memory: &[(BufferParts, u64)],
    dispatch: &Dispatch,
) -> Result<(), Refusal> {
    for bound in &dispatch.bound {
        let span = bound.span;
        let is_valid = span.offset.is_multiple_of(limits.alignment)
            && span.bytes > 0
            && span.bytes.is_multiple_of(4)
            && span.bytes <= limits.max_binding_bytes;
        require(is_valid, || {
            format!("argument {} is bound as {span:?}", bound.argument)
        })?;
    }
    let groups = workgroup_count(limits, dispatch)?;
    let accesses = match &dispatch.uniforms {
        Uniforms::Search(search) => mask_accesses(dispatch, search, groups)?,
        Uniforms::Walk(walk) => {
            let kernel_units = KernelUnits::from_dispatch(dispatch)?;
            check_grid(dispatch, walk, kernel_units, groups)?;
            accesses(dispatch, walk, kernel_units)?
        }
    };
    for (binding, byte_range, block) in accesses {
        let bound = dispatch.bound[binding];
        let span = bound.span;
        let is_bound =
            byte_range.start >= 0 && divide_up(byte_range.end, block) * block <= span.bytes.into();
        require(is_bound, || {
            format!("bytes {byte_range:?} outside of {span:?}")
        })?;
        // The bytes of the argument's part, counted from the beginning of the binding.
        let (parts, bytes) = memory[bound.argument];
        let begin = i128::from(parts.offset) - i128::from(span.offset);
        let bytes_before = i128::from(parts.bytes) * span.part as i128;
        let end = begin + (i128::from(bytes) - bytes_before).min(parts.bytes.into());
        require(begin <= byte_range.start && byte_range.end <= end, || {
            format!("bytes {byte_range:?} outside of the argument, {begin} to {end}")
        })?;
    }
    Ok(())
}

/// Returns the number of workgroups. Fails if the grid is larger than item 2 of the contract allows.
fn workgroup_count(limits: &DispatchLimits, dispatch: &Dispatch) -> Result<i128, Refusal> {
    let (width, height) = (dispatch.uniforms.groups_x(), dispatch.height);
    require(
        width <= limits.max_groups && height <= limits.max_groups && width.max(height) < 1 << 16,
        || format!("{width} by {height} workgroups"),
    )?;
    let groups = i128::from(width) * i128::from(height);
    require(
        groups * i128::from(dispatch.program.workgroup) < 1 << 32,
        || format!("{groups} workgroups"),
    )?;
    Ok(groups)
}

/// Checks that the grid has enough workgroups.
fn check_grid(
    dispatch: &Dispatch,
    walk: &WalkWords,
    kernel_units: KernelUnits,
    groups: i128,
) -> Result<(), Refusal> {
    let kernel = dispatch.program.kernel;
    let workgroup = i128::from(dispatch.program.workgroup);
    let lanes = 1_i128 << walk.lanes_log2;
    require(lanes <= workgroup && workgroup % lanes == 0, || {
        format!("{lanes} lanes in workgroups of {workgroup}")
    })?;
    let [rows, run, head, slices] = [walk.rows, walk.run, walk.head, walk.slices].map(i128::from);
    let element = kernel_units.element;
    // The number of units that the segments of a row must cover. A row that can begin anywhere in a word can touch one
    // word more than its bytes fill.
    let units = match kernel {
        Kernel::UpdateWords => divide_up((run - 1) * i128::from(walk.run_to) + element + 3, 4),
        Kernel::CombineParts => divide_up(run * element + 4 - element, 4),
        Kernel::Convert => divide_up(i128::from(walk.to_base) % (4 / element) + run, 4 / element),
        Kernel::Last | Kernel::Link | Kernel::Order => 0,
        _ => divide_up(run + head, kernel_units.group.max(1)),
    };
    let segments = i128::from(walk.segments);
    let total_words = divide_up(
        i128::from(walk.to_base) % (4 / element).max(1) + rows * run,
        (4 / element).max(1),
    );
    let is_short = match kernel {
        Kernel::CopyWords => constant_value(dispatch, Constant::Short)? == 1,
        Kernel::Convert => constant_value(dispatch, Constant::Edges)? == 2,
        _ => false,
    };
    require(
        is_short || segments * i128::from(walk.segment) >= units,
        || format!("{segments} segments of {} for {units} units", walk.segment),
    )?;
    let takes_four_rows = match kernel {
        Kernel::Copy | Kernel::CopyWords => constant_value(dispatch, Constant::Rows)? == 4,
        _ => kernel == Kernel::Link,
    };
    let takes_slices = matches!(kernel, Kernel::Combine | Kernel::CombineParts)
        && constant_value(dispatch, Constant::ByRows)? == 0;
    // A group of lanes moves one segment of an owner: a row or, in some kernels, a slice, a word or a group of
    // elements.
    let (owners, segments) = match kernel {
        Kernel::CopyWords if is_short => (divide_up(rows * run + head, 4), 1),
        Kernel::Convert if is_short => (total_words, 1),
        // The four rows are neighbours along the innermost dimension.
        Kernel::CopyWords if takes_four_rows => {
            let last_dim = walk.dims[..walk.dims_used as usize].last();
            let innermost_size = last_dim.map_or(0, |dim| i128::from(dim.size)).max(1);
            (
                rows / innermost_size * divide_up(innermost_size, 4) * 4,
                segments,
            )
        }
        Kernel::Combine if takes_slices => (slices, segments),
        Kernel::CombineParts if takes_slices => {
            let word_elements = 4 / element;
            let elements = (slices - 1) * i128::from(walk.pitch) + run;
            (
                divide_up(
                    i128::from(walk.to_base) % word_elements + elements,
                    word_elements,
                ),
                1,
            )
        }
        _ => (rows, segments.max(1)),
    };
    let lane_rows = workgroup / lanes;
    let needed_groups = match takes_four_rows {
        true => divide_up(owners, 4 * lane_rows) * segments,
        false => divide_up(owners * segments, lane_rows),
    };
    require(groups >= needed_groups, || {
        format!("{groups} workgroups, {needed_groups} needed")
    })
}

/// Returns all accesses of a step of a search in a mask. Fails if the step breaks items 2 to 4 of the contract, as far
/// as they apply to `mask.wgsl`.
fn mask_accesses(
    dispatch: &Dispatch,
    search: &SearchWords,
    groups: i128,
) -> Result<Vec<Access>, Refusal> {
    let chunk_elements = i128::from(dispatch.program.workgroup) * 16;
    let begin = i128::from(search.begin);
    let [elements, chunks, rows] = [search.elements, search.chunks, search.rows].map(i128::from);
    let head = begin % 4;
    let counts = word_access(1, search.first_chunk, chunks);
    let result = word_access(2, search.result, rows * i128::from(search.row_words));
    let kernel = dispatch.program.kernel;
    match kernel {
        Kernel::MaskScan => {
            require(groups == 1, || format!("{groups} workgroups of a scan"))?;
            return Ok(vec![word_access(0, search.number, 8), counts]);
        }
        Kernel::MaskRows if constant_value(dispatch, Constant::Fills)? == 1 => {
            let needed_groups = divide_up(rows, chunk_elements);
            require(groups >= needed_groups, || {
                format!("{needed_groups} workgroups needed")
            })?;
            return Ok(vec![word_access(0, search.number, 8), result]);
        }
        Kernel::MaskCount | Kernel::MaskRows => {}
        _ => return Err("the kernel does not search a mask".into()),
    }
    require(
        elements > 0 && chunks == divide_up(head + elements, chunk_elements),
        || format!("{elements} elements from byte {begin} on in {chunks} chunks"),
    )?;
    require(groups >= chunks && head + elements < (1 << 31) + 4, || {
        format!("{groups} workgroups, {chunks} needed")
    })?;
    let mut accesses = vec![(0, begin..begin + elements, 4), counts];
    if kernel == Kernel::MaskRows {
        let rank = constant_value(dispatch, Constant::Dims)?;
        require(rank <= MAX_DIMS as i128, || format!("{rank} dimensions"))?;
        let row_words = rank * i128::from(search.index_words);
        let is_valid_dim = |(column, dim): (u32, &MaskDimWords)| {
            dim.column == column * search.index_words
                && (dim.size == 0 || dim.first < dim.size && dim.size < 1 << 31)
        };
        let dims = (0..)
            .zip(&search.dims)
            .take_while(|&(d, _)| i128::from(d) < rank);
        require(
            row_words == search.row_words.into() && dims.clone().all(is_valid_dim),
            || {
                format!(
                    "positions of {:?} in rows of {row_words} words",
                    search.dims
                )
            },
        )?;
        require(i128::from(search.first_row) + rows < 1 << 31, || {
            format!("{rows} rows after {}", search.first_row)
        })?;
        accesses.push(result);
    }
    Ok(accesses)
}

/// Returns all accesses of a dispatch.
fn accesses(
    dispatch: &Dispatch,
    walk: &WalkWords,
    kernel_units: KernelUnits,
) -> Result<Vec<Access>, Refusal> {
    let mut accesses = list_accesses(dispatch, walk)?;
    let (source_range, dest_range, reads) = match dispatch.program.kernel {
        Kernel::Order => return Ok(accesses),
        Kernel::Last | Kernel::Link => {
            // In these kernels a position is the number of a slice, and the shaders check that it is in the bound
            // range. So only the accesses to tuples are added here.
            reached_units(dispatch, walk, &mut accesses)?;
            return Ok(accesses);
        }
        kernel @ (Kernel::Combine | Kernel::CombineParts | Kernel::Atomic) => {
            if kernel == Kernel::Atomic || constant_value(dispatch, Constant::Unique)? == 1 {
                reached_units(dispatch, walk, &mut accesses)?;
            }
            let pitched_range = |count: u32, base| {
                let rows =
                    NumberRange::ZERO.extend_along(0, i128::from(count) - 1, walk.pitch.into());
                rows.extend_along(0, i128::from(walk.run) - 1, 1)
                    .add_base(base)
            };
            let (source_range, dest_range) = (
                pitched_range(walk.rows, walk.updates),
                pitched_range(walk.slices, walk.to_base),
            );
            (source_range, dest_range, true)
        }
        _ => {
            let (source_range, dest_range, reads) = reached_units(dispatch, walk, &mut accesses)?;
            (
                source_range.add_base(walk.from_base),
                dest_range.add_base(walk.to_base),
                reads,
            )
        }
    };
    let (block, group) = (kernel_units.block, kernel_units.group);
    let head_units = i128::from(walk.head);
    require(head_units < group.max(1), || {
        format!("a head of {head_units} in groups of {group}")
    })?;
    let mut dest = kernel_units.bytes(dest_range);
    if group > 0 {
        let begin = signed_word(walk.to_base) * block + head_units * kernel_units.element;
        dest = begin..begin + i128::from(walk.rows) * i128::from(walk.run) * kernel_units.element;
    }
    accesses.push((2, dest, block));
    let source_units = match dispatch.program.kernel {
        Kernel::Convert => {
            let bytes = constant_value(dispatch, Constant::FromBytes)?;
            accesses.extend(table_access(dispatch, walk, source_range)?);
            KernelUnits {
                unit: bytes,
                element: bytes,
                ..kernel_units
            }
        }
        _ => kernel_units,
    };
    if reads {
        accesses.push((1, source_units.bytes(source_range), block));
    }
    // For rows without a source, shaders load the first unit of the binding. This unit can be outside the argument, but
    // not outside the binding.
    let is_first_unit_bound = i128::from(dispatch.bound[1].span.bytes) >= block;
    require(reads || is_first_unit_bound, || {
        format!("the first unit of {block} bytes is not bound")
    })?;
    Ok(accesses)
}

/// Returns the access to the tables of a conversion, if it has tables. Checks that the numbers of elements do not wrap,
/// because the shader computes the number of a table from them.
fn table_access(
    dispatch: &Dispatch,
    walk: &WalkWords,
    source_range: NumberRange,
) -> Result<Option<Access>, Refusal> {
    if constant_value(dispatch, Constant::Tables)? == 0 {
        let is_placeholder = dispatch.bound[3] == dispatch.bound[1];
        require(is_placeholder, || {
            "the source is not bound in place of tables".into()
        })?;
        return Ok(None);
    }
    require(walk.table_inner > 0 && walk.tables > 0, || {
        format!(
            "{} tables, each for {} elements",
            walk.tables, walk.table_inner
        )
    })?;
    let last_element = source_range.high + i128::from(walk.table_shift);
    require(last_element < 1 << 32, || {
        format!("element {last_element} of the source")
    })?;
    Ok(Some(word_access(3, 0, i128::from(walk.tables) * 256)))
}

/// Returns the accesses of a step of a scatter to the lists of `chain.wgsl`.
fn list_accesses(dispatch: &Dispatch, walk: &WalkWords) -> Result<Vec<Access>, Refusal> {
    let kernel = dispatch.program.kernel;
    let [rows, slices, lists] = [walk.rows, walk.slices, walk.lists].map(i128::from);
    require(i128::from(walk.first_row) + rows < 1 << 32, || {
        format!("{rows} rows after {}", walk.first_row)
    })?;
    let unique = || constant_value(dispatch, Constant::Unique);
    let binding = match kernel {
        Kernel::Last | Kernel::Link => 1,
        Kernel::Order => 0,
        Kernel::Combine | Kernel::CombineParts if unique()? == 0 => 0,
        _ => return Ok(Vec::new()),
    };
    if kernel == Kernel::Last {
        let choice_words = constant_value(dispatch, Constant::Chooses)? * rows;
        return Ok(vec![word_access(binding, 0, slices + choice_words)]);
    }
    let is_ordered = kernel != Kernel::Link || constant_value(dispatch, Constant::Ordered)? == 1;
    let last_list = (rows - 1) >> walk.list_shift;
    let chunk = 4 * i128::from(dispatch.program.workgroup);
    let is_listed = match lists {
        0 => {
            let takes_rows = match kernel {
                Kernel::Combine | Kernel::CombineParts => {
                    constant_value(dispatch, Constant::ByRows)? == 1
                }
                _ => kernel == Kernel::Link,
            };
            is_ordered && rows <= chunk && takes_rows
        }
        _ if is_ordered => last_list < lists,
        _ => lists == 1,
    };
    require(is_listed, || {
        format!("list {last_list} of {lists} for {rows} rows")
    })?;
    Ok(vec![word_access(binding, 0, slices * lists + 3 * rows)])
}

/// Returns the units of source and destination that the rows of a walk can access, relative to its bases, and whether
/// any unit is read. Adds the access to the tuples to `accesses`.
fn reached_units(
    dispatch: &Dispatch,
    walk: &WalkWords,
    accesses: &mut Vec<Access>,
) -> Result<(NumberRange, NumberRange, bool), Refusal> {
    let dims = &walk.dims[..walk.dims_used as usize];
    let coordinates = &walk.coordinates[..walk.coordinates_used as usize];
    for (constant, max_count, count) in [
        (Constant::Dims, MAX_DIMS, dims.len()),
        (Constant::Coordinates, MAX_COORDINATES, coordinates.len()),
    ] {
        let known_count = constant_value(dispatch, constant)?;
        require(
            known_count == max_count as i128 || known_count == count as i128,
            || format!("{constant:?} is {known_count}, and there are {count}"),
        )?;
    }
    let crops = constant_value(dispatch, Constant::Crops)? == 1;
    require(!crops || dims.len() <= MAX_CROPPED_DIMS, || {
        format!("a crop of {} dimensions", dims.len())
    })?;
    let rows: i128 = dims.iter().map(|dim| i128::from(dim.size)).product();
    require(rows > 0 && rows == walk.rows.into() && walk.run > 0, || {
        format!("{rows} rows of {} in {dims:?}", walk.run)
    })?;
    let is_along_run = |coordinate: &CoordinateWords| coordinate.along == RUN_DIMENSION;
    let last_of_run = i128::from(walk.run) - 1;
    let mut source_range = match coordinates.iter().any(is_along_run) {
        true => NumberRange::ZERO,
        false => NumberRange::ZERO.extend_along(0, last_of_run, signed_word(walk.run_from)),
    };
    let mut dest_range = NumberRange::ZERO.extend_along(0, last_of_run, signed_word(walk.run_to));
    let mut last_tuple = 0;
    for dim in dims {
        let last_position = i128::from(dim.size) - 1;
        source_range = source_range.extend_along(0, last_position, signed_word(dim.from_stride));
        dest_range = dest_range.extend_along(0, last_position, signed_word(dim.to_stride));
        last_tuple += last_position * i128::from(dim.tuple_stride);
    }
    let (mut reads, mut columns) = (true, 0);
    for coordinate in coordinates {
        let [first, count, size] = [
            u64::from(coordinate.first) | u64::from(coordinate.high >> 16) << 32,
            coordinate.count.into(),
            u64::from(coordinate.size) | u64::from(coordinate.high & 0xffff) << 32,
        ]
        .map(i128::from);
        let is_whole = count == size || !is_along_run(coordinate);
        let is_countable = size < 1 << 32 || constant_value(dispatch, Constant::Long)? == 1;
        require(first + count <= size && is_whole && is_countable, || {
            format!("{coordinate:?} takes more than it has, a part of a run, or too long numbers")
        })?;
        reads &= count > 0;
        let side_range = match constant_value(dispatch, Constant::Scatters)? {
            0 => &mut source_range,
            _ => &mut dest_range,
        };
        *side_range =
            side_range.extend_along(first, first + count - 1, signed_word(coordinate.stride));
        for column in [coordinate.column, coordinate.flip] {
            let column_count = if column == NO_NUMBER { 0 } else { column + 1 };
            columns = columns.max(column_count.into());
        }
    }
    if columns > 0 {
        let tuple_words = i128::from(walk.tuple_words);
        if constant_value(dispatch, Constant::Masked)? == 1 {
            let first_tuple = i128::from(walk.tuples);
            require(columns == 1 && tuple_words == 1, || {
                format!("{columns} columns of a mask")
            })?;
            accesses.push((0, first_tuple..first_tuple + last_tuple + 1, 4));
            return Ok((source_range, dest_range, reads));
        }
        require(
            columns * i128::from(walk.index_words) <= tuple_words,
            || format!("column {columns} of tuples of {tuple_words} words"),
        )?;
        accesses.push(word_access(0, walk.tuples, (last_tuple + 1) * tuple_words));
    }
    Ok((source_range, dest_range, reads))
}
