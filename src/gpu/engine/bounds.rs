//! The contract of a dispatch, checked for every dispatch before it is recorded, in tests and debug builds.
//!
//! Shaders add and multiply modulo 2^32, and compare few of their results with a bound. A contract between host and
//! shaders keeps the shaders' accesses inside the bindings. It is stated in full only here. [`check`] refuses a
//! dispatch that breaks it.
//!
//! 1. **Spans.** A binding begins at a multiple of the device's alignment, is a positive number of words long, and is
//!    no longer than the device allows. It belongs to the part of its argument that its span names.
//! 2. **Grid.** Width and height of the grid are at most what the device allows and less than 2^16. There are enough
//!    workgroups for all tiles, and fewer than 2^32 invocations.
//! 3. **Digits.** No dimension has size 0, and the sizes of all dimensions make up the number of rows, so each digit is
//!    less than its dimension's size.
//! 4. **Walk.** The lowest and the highest unit that any row reads lie in the source's binding, and those that any row
//!    writes lie in the destination's. Offsets are sums of digits times strides, so these units are reached where each
//!    digit is 0 or the largest. A coordinate contributes any position of its window, since `add` and `lies_inside` let
//!    no other position pass.
//! 5. **Dense results.** `copy_words` and `copy_unaligned` write their groups in the order of rows, from the beginning
//!    of group 0 on.
//! 6. **Tuples.** The words of all index tuples lie in their binding, and no column lies beyond a tuple.
//! 7. **Words.** Kernels for small elements load and store whole words or vectors. Those that hold a byte of a source
//!    or of a result lie in the binding.
//! 8. **Arguments.** The bytes that are moved lie in the arguments of the plan, not only in the bindings, which may
//!    begin before an argument and end after it.
//!
//! The check reads a dispatch as the shaders do, from the words of its uniforms, and uses none of the code that
//! computed these words.

use super::{
    caps::{Parts, Reach},
    cut::{DEST, Dispatch, INDICES, Places, SOURCE},
    program::{Kernel, Prelude},
    uniforms::{CoordinateWords, MOST_COORDINATES, MOST_DIMS, NONE, RUN},
    work::Pass,
};
use crate::Plan;

/// Why a dispatch is refused.
type Refusal = String;

/// Returns `Err(why())` unless `holds`.
fn require(holds: bool, why: impl FnOnce() -> String) -> Result<(), Refusal> {
    if holds { Ok(()) } else { Err(why()) }
}

fn signed(word: u32) -> i128 {
    word.cast_signed().into()
}

/// A range of numbers, given by its lowest and its highest number, both included.
#[derive(Clone, Copy, Debug)]
struct Hull {
    low: i128,
    high: i128,
}

impl Hull {
    const ZERO: Self = Self { low: 0, high: 0 };

    /// The range of `number + digit * stride` for each number of this range and each digit from `first` to `last`.
    fn along(self, first: i128, last: i128, stride: i128) -> Self {
        let (a, b) = (first * stride, last * stride);
        Self {
            low: self.low + a.min(b),
            high: self.high + a.max(b),
        }
    }

    /// The range plus a number modulo 2^32, as the shaders add it.
    fn based(self, base: u32) -> Self {
        let low = (i128::from(base) + self.low).rem_euclid(1 << 32);
        Self {
            low,
            high: low + self.high - self.low,
        }
    }

    /// The bytes of units of `unit` bytes.
    fn bytes(self, unit: i128) -> Bytes {
        Bytes {
            begin: self.low * unit,
            end: (self.high + 1) * unit,
        }
    }
}

/// Bytes `begin..end`, counted from the beginning of a binding.
#[derive(Clone, Copy, Debug)]
struct Bytes {
    begin: i128,
    end: i128,
}

impl Bytes {
    /// The whole blocks of `size` bytes that hold these bytes.
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

/// An access of a dispatch to a binding: the bytes that are moved or read as indices, and the blocks of `block` bytes in
/// which they are loaded and stored.
#[derive(Clone, Copy, Debug)]
struct Access {
    binding: usize,
    moved: Bytes,
    block: i128,
}

/// The size of each argument in bytes and its place, by the numbers of arguments.
fn memory(plan: &Plan, places: &Places, scratch: u64) -> Vec<(Parts, u64)> {
    let mut memory = vec![(Parts::ONE, 0); 3];
    memory[SOURCE] = (places.source, plan.source_bytes() as u64);
    memory[DEST] = (places.dest, plan.result_bytes() as u64);
    memory[INDICES] = (places.indices, plan.index_bytes() as u64);
    memory.push((Parts::ONE, scratch));
    memory
}

/// Returns an error if a dispatch of the passes breaks the contract at the top of this file.
pub(super) fn check(
    reach: &Reach,
    plan: &Plan,
    places: &Places,
    scratch: u64,
    passes: &[Pass<Dispatch>],
) -> Result<(), Refusal> {
    let memory = memory(plan, places, scratch);
    for dispatch in passes.iter().flat_map(|pass| &pass.dispatches) {
        one(reach, &memory, dispatch)
            .map_err(|why| format!("{}: {why}\n{dispatch:#?}", dispatch.program))?;
    }
    Ok(())
}

fn one(reach: &Reach, memory: &[(Parts, u64)], dispatch: &Dispatch) -> Result<(), Refusal> {
    for bound in &dispatch.bound {
        let span = bound.span;
        let fits = span.offset.is_multiple_of(reach.alignment)
            && span.bytes > 0
            && span.bytes.is_multiple_of(4)
            && span.bytes <= reach.binding;
        require(fits, || {
            format!("argument {} is bound as {span:?}", bound.argument)
        })?;
    }
    grid(reach, dispatch)?;
    for access in accesses(dispatch)? {
        let bound = dispatch.bound[access.binding];
        let (span, touched) = (bound.span, access.moved.whole(access.block));
        let whole = Bytes {
            begin: 0,
            end: span.bytes.into(),
        };
        require(touched.is_in(whole), || {
            format!("{access:?} outside of {whole:?}")
        })?;
        // The bytes of the argument's part, counted from the beginning of the binding.
        let (parts, bytes) = memory[bound.argument];
        let begin = i128::from(parts.offset) - i128::from(span.offset);
        let before = i128::from(parts.bytes) * span.part as i128;
        let argument = Bytes {
            begin,
            end: begin + (i128::from(bytes) - before).min(parts.bytes.into()),
        };
        require(access.moved.is_in(argument), || {
            format!("{access:?} outside of the argument, {argument:?}")
        })?;
    }
    Ok(())
}

fn constant(dispatch: &Dispatch, name: &str) -> i128 {
    dispatch.program.constant(name).unwrap_or_default().into()
}

/// Checks item 2 of the contract.
fn grid(reach: &Reach, dispatch: &Dispatch) -> Result<(), Refusal> {
    let walk = &dispatch.uniforms;
    let (width, height) = (walk.groups_x, dispatch.height);
    let workgroup = i128::from(dispatch.program.workgroup);
    let lanes = 1_i128 << walk.lanes_log2;
    require(
        width <= reach.groups && height <= reach.groups && width.max(height) < 1 << 16,
        || format!("{width} by {height} workgroups"),
    )?;
    require(lanes <= workgroup && workgroup % lanes == 0, || {
        format!("{lanes} lanes in workgroups of {workgroup}")
    })?;
    let groups = i128::from(width) * i128::from(height);
    require(groups * workgroup < 1 << 32, || {
        format!("{groups} workgroups")
    })?;
    let rows = i128::from(walk.rows);
    let run = i128::from(walk.run);
    let (segments, segment) = (i128::from(walk.segments), i128::from(walk.segment));
    let side = workgroup / lanes;
    let head = i128::from(walk.head);
    let abreast = constant(dispatch, "ABREAST").max(1);
    let tiles = (rows + abreast - 1) / abreast * abreast * segments;
    let slices = i128::from(walk.slices);
    let owners = if constant(dispatch, "BY_ROWS") == 1 {
        rows
    } else {
        slices
    };
    // The units of a row that a segment counts.
    let units = match dispatch.program.kernel {
        Kernel::Copy => run,
        Kernel::CopyWords => (run + head + 3) / 4,
        Kernel::CopyUnaligned => (run + head + 15) / 16,
        Kernel::UpdateWords => {
            let bytes = (run - 1) * i128::from(walk.run_to) + constant(dispatch, "ELEMENT");
            (bytes + 6) / 4
        }
        Kernel::Combine | Kernel::Atomic => run,
        // The words of a slice that begins anywhere in its first word.
        Kernel::CombineParts => ((run + 2) * constant(dispatch, "ELEMENT") + 1) / 4,
        Kernel::Last | Kernel::Link | Kernel::Order => 0,
    };
    let needed = match dispatch.program.kernel {
        Kernel::CopyWords if constant(dispatch, "SHORT") == 1 => {
            ((rows * run + head + 3) / 4 + workgroup - 1) / workgroup
        }
        // A workgroup takes a segment of four rows for each of its groups of lanes.
        Kernel::Copy if constant(dispatch, "ROWS") == 4 => {
            (rows + 4 * side - 1) / (4 * side) * segments
        }
        // The four rows are neighbours along the innermost dimension.
        Kernel::CopyWords if constant(dispatch, "ROWS") == 4 => {
            let along = walk.dims[..walk.dims_used as usize].last();
            let size = along.map_or(0, |dim| i128::from(dim.size)).max(1);
            let quads = rows / size * ((size + 3) / 4);
            (quads + side - 1) / side * segments
        }
        Kernel::Last | Kernel::Order => (rows + workgroup - 1) / workgroup,
        Kernel::Link => (rows + 4 * workgroup - 1) / (4 * workgroup),
        Kernel::Combine => (owners * segments + workgroup - 1) / workgroup,
        Kernel::CombineParts if constant(dispatch, "BY_ROWS") == 0 => {
            let of_word = 4 / constant(dispatch, "ELEMENT");
            let elements = (slices - 1) * i128::from(walk.pitch) + run;
            let words = (i128::from(walk.to_base) % of_word + elements + of_word - 1) / of_word;
            (words + workgroup - 1) / workgroup
        }
        _ => (tiles + side - 1) / side,
    };
    let short = constant(dispatch, "SHORT") == 1;
    require(short || segments * segment >= units, || {
        format!("{segments} segments of {segment} for {units} units")
    })?;
    require(groups >= needed, || {
        format!("{groups} workgroups, {needed} needed")
    })
}

/// Everything that a dispatch accesses.
fn accesses(dispatch: &Dispatch) -> Result<Vec<Access>, Refusal> {
    match dispatch.program.kernel {
        Kernel::Order | Kernel::Combine | Kernel::CombineParts => scatter(dispatch),
        Kernel::Last | Kernel::Link | Kernel::Atomic => {
            let mut accesses = of_walk(dispatch)?;
            accesses.extend(scatter(dispatch)?);
            Ok(accesses)
        }
        _ => of_walk(dispatch),
    }
}

/// What a step of a scatter accesses beside the index tuples.
fn scatter(dispatch: &Dispatch) -> Result<Vec<Access>, Refusal> {
    let walk = &dispatch.uniforms;
    let kernel = dispatch.program.kernel;
    let rows = i128::from(walk.rows);
    let (slices, lists) = (i128::from(walk.slices), i128::from(walk.lists));
    require(i128::from(walk.first_row) + rows < 1 << 32, || {
        format!("{rows} rows after {}", walk.first_row)
    })?;
    let units = |binding, begin: i128, units: i128, unit: i128| Access {
        binding,
        moved: Bytes {
            begin: begin * unit,
            end: (begin + units) * unit,
        },
        block: unit.max(4),
    };
    let mut accesses = Vec::new();
    if kernel == Kernel::Last {
        let chosen = constant(dispatch, "CHOOSES") * rows;
        accesses.push(units(1, 0, slices + chosen, 4));
    } else if kernel != Kernel::Atomic {
        let ordered = kernel != Kernel::Link || constant(dispatch, "ORDERED") == 1;
        let list = (rows - 1) >> walk.list_shift;
        require(if ordered { list < lists } else { lists == 1 }, || {
            format!("list {list} of {lists}")
        })?;
        let binding = usize::from(kernel == Kernel::Link);
        accesses.push(units(binding, 0, slices * lists + 3 * rows, 4));
    }
    let unit = match (kernel, dispatch.program.prelude) {
        (Kernel::Combine, Prelude::Words(unit)) => unit as i128,
        (Kernel::Atomic, Prelude::Integer(_)) => 4,
        (Kernel::CombineParts, Prelude::None) => constant(dispatch, "ELEMENT"),
        (Kernel::Last | Kernel::Link | Kernel::Order, Prelude::None) => return Ok(accesses),
        (kernel, prelude) => return Err(format!("{kernel:?} in {prelude:?}")),
    };
    for (binding, begin, count) in [(1, walk.updates, rows), (2, walk.to_base, slices)] {
        let reach = (count - 1) * i128::from(walk.pitch) + i128::from(walk.run);
        accesses.push(units(binding, begin.into(), reach, unit));
    }
    Ok(accesses)
}

/// What a dispatch accesses that looks up rows.
fn of_walk(dispatch: &Dispatch) -> Result<Vec<Access>, Refusal> {
    let walk = &dispatch.uniforms;
    let dims = &walk.dims[..walk.dims_used as usize];
    let known = constant(dispatch, "DIMS");
    require(
        known == MOST_DIMS as i128 || known == dims.len() as i128,
        || format!("{} dimensions, {known} of which are looked at", dims.len()),
    )?;
    let coordinates = &walk.coordinates[..walk.coordinates_used as usize];
    let looked_at = constant(dispatch, "COORDINATES");
    let all = looked_at == MOST_COORDINATES as i128 || looked_at == coordinates.len() as i128;
    require(all, || {
        format!("{} of {} coordinates", looked_at, coordinates.len())
    })?;
    let rows = dims
        .iter()
        .map(|dim| i128::from(dim.size))
        .product::<i128>();
    require(rows > 0 && rows == walk.rows.into() && walk.run > 0, || {
        format!("{rows} rows of {} in {dims:?}", walk.run)
    })?;
    let last_of_run = i128::from(walk.run) - 1;
    let along_run = |coordinate: &&CoordinateWords| coordinate.along == RUN;
    let run_is_cropped = coordinates.iter().any(|coordinate| along_run(&coordinate));
    let (mut from, mut to) = (Hull::ZERO, Hull::ZERO);
    let mut last_tuple = 0;
    for dim in dims {
        let last = i128::from(dim.size) - 1;
        from = from.along(0, last, signed(dim.from_stride));
        to = to.along(0, last, signed(dim.to_stride));
        last_tuple += last * i128::from(dim.tuple_stride);
    }
    if !run_is_cropped {
        from = from.along(0, last_of_run, signed(walk.run_from));
    }
    to = to.along(0, last_of_run, signed(walk.run_to));
    let mut reads = true;
    let mut columns = 0;
    for coordinate in coordinates {
        let CoordinateWords {
            size, first, count, ..
        } = *coordinate;
        let end = i128::from(first) + i128::from(count);
        require(end <= i128::from(size), || {
            format!("{coordinate:?} takes more than it has")
        })?;
        require(!along_run(&coordinate) || count == size, || {
            format!("a window of a run, {coordinate:?}")
        })?;
        reads &= count > 0;
        let side = match constant(dispatch, "SCATTERS") {
            0 => &mut from,
            _ => &mut to,
        };
        *side = side.along(first.into(), end - 1, signed(coordinate.stride));
        for column in [coordinate.column, coordinate.flip] {
            columns = columns.max(if column == NONE {
                0
            } else {
                i128::from(column) + 1
            });
        }
    }
    let mut accesses = match dispatch.program.kernel {
        // The units of these are slices, which the shaders compare with those that are bound.
        Kernel::Last | Kernel::Link | Kernel::Atomic => Vec::new(),
        _ => moved(dispatch, from, to, reads)?,
    };
    if columns > 0 {
        let words = i128::from(walk.tuple_words);
        require(columns * i128::from(walk.index_words) <= words, || {
            format!("column {columns} of tuples of {words} words")
        })?;
        let begin = i128::from(walk.tuples);
        accesses.push(Access {
            binding: 0,
            moved: Hull {
                low: begin,
                high: begin + (last_tuple + 1) * words - 1,
            }
            .bytes(4),
            block: 4,
        });
    }
    Ok(accesses)
}

/// What a dispatch reads of its source and writes to its destination, whose units, relative to the bases of the walk,
/// are `from` and `to`. If it `reads` nothing, shaders load the first unit all the same.
fn moved(dispatch: &Dispatch, from: Hull, to: Hull, reads: bool) -> Result<Vec<Access>, Refusal> {
    let walk = &dispatch.uniforms;
    let element = constant(dispatch, "ELEMENT");
    let units = i128::from(walk.rows) * i128::from(walk.run);
    let elements = |hull: Hull, base| Bytes {
        begin: hull.based(base).low,
        end: hull.based(base).high + element,
    };
    // The bytes of a dense result that begins in group 0, in groups of `unit` elements of `element` bytes.
    let dense = |unit: i128, element: i128, word: i128| {
        let begin = signed(walk.to_base) * word;
        let head = i128::from(walk.head);
        require(head < unit, || {
            format!("a head of {head} in groups of {unit}")
        })?;
        Ok::<_, Refusal>(Bytes {
            begin: begin + head * element,
            end: begin + (head + units) * element,
        })
    };
    let (source, dest, block) = match (dispatch.program.kernel, dispatch.program.prelude) {
        (Kernel::Copy, Prelude::Unit(unit)) => {
            let unit = unit as i128;
            (
                from.based(walk.from_base).bytes(unit),
                to.based(walk.to_base).bytes(unit),
                unit,
            )
        }
        (Kernel::CopyWords, _) => (elements(from, walk.from_base), dense(4, element, 4)?, 4),
        (Kernel::CopyUnaligned, _) => (from.based(walk.from_base).bytes(1), dense(16, 1, 16)?, 16),
        (Kernel::UpdateWords, _) => (
            elements(from, walk.from_base),
            elements(to, walk.to_base),
            4,
        ),
        (kernel, prelude) => return Err(format!("{kernel:?} in {prelude:?}")),
    };
    let first = Bytes { begin: 0, end: 1 };
    let mut accesses = vec![Access {
        binding: 2,
        moved: dest,
        block,
    }];
    if reads {
        accesses.push(Access {
            binding: 1,
            moved: source,
            block,
        });
    } else {
        // It lies in the binding, if not in the argument.
        let span = dispatch.bound[1].span.bytes;
        require(first.whole(block).end <= span.into(), || {
            format!("the first unit of {block} bytes is not bound")
        })?;
    }
    Ok(accesses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        DType,
        gpu::{Gpu, engine::kernel_tests::strict},
        options::{Boxes, Combine, CropOptions, GatherOptions, ScatterOptions},
        slice,
    };

    fn plans() -> Vec<Plan> {
        let add = ScatterOptions {
            combine: Some(Combine::Add),
            ..ScatterOptions::default()
        };
        let update = ScatterOptions {
            combine: Some(Combine::Update),
            ..ScatterOptions::default()
        };
        let boxes = Boxes {
            count: 3,
            box_indices: true,
            flips: true,
        };
        let sizes = CropOptions {
            sizes: vec![4, 5],
            ..CropOptions::default()
        };
        let gather = GatherOptions::default();
        vec![
            Plan::slice(&[40, 64], &slice![1..; 3, ..; -1], DType::F32).unwrap(),
            Plan::slice(&[40, 67], &slice![1.., 3..], DType::U8).unwrap(),
            Plan::slice(&[40, 67], &slice![1.., 3..; 2], DType::U16).unwrap(),
            Plan::slice_update(&[40, 67], &slice![1..; 2, 3..; 2], &[20, 32], DType::U8).unwrap(),
            Plan::slice_grad(&[9, 8], &slice![2.., 1..7], &[7, 6], DType::F32).unwrap(),
            Plan::gather_nd(&[7, 9, 3], &[20, 2], gather, DType::I64).unwrap(),
            Plan::gather_nd(&[7, 9, 1], &[20, 2], gather, DType::U8).unwrap(),
            Plan::crop(&[5, 9, 8, 3], boxes, &sizes, DType::U8).unwrap(),
            Plan::tensor_scatter_nd(&[9, 4], &[30, 1], &[30, 4], add, DType::F32).unwrap(),
            Plan::tensor_scatter_nd(&[9, 4], &[30, 1], &[30, 4], add, DType::I32).unwrap(),
            Plan::tensor_scatter_nd(&[9, 3], &[30, 1], &[30, 3], add, DType::U8).unwrap(),
            Plan::tensor_scatter_nd(&[9, 3], &[30, 1], &[30, 3], update, DType::U8).unwrap(),
            Plan::tensor_scatter_nd(&[900, 3], &[30, 1], &[30, 3], update, DType::U8).unwrap(),
        ]
    }

    fn is_copy(kernel: Kernel) -> bool {
        use Kernel::{Copy, CopyUnaligned, CopyWords, UpdateWords};
        matches!(kernel, Copy | CopyWords | CopyUnaligned | UpdateWords)
    }

    /// Ways to break a dispatch. Each says whether it changed anything that the dispatch's kernel reads.
    type Fault = fn(&mut Dispatch) -> bool;

    const FAULTS: [(&str, Fault); 13] = [
        ("a binding is too short", |dispatch| {
            let span = &mut dispatch.bound.last_mut().unwrap().span;
            span.bytes = 4;
            true
        }),
        ("a binding begins between aligned offsets", |dispatch| {
            dispatch.bound[0].span.offset += 4;
            true
        }),
        ("a workgroup is missing", |dispatch| {
            dispatch.uniforms.groups_x -= 1;
            true
        }),
        ("the grid is too wide", |dispatch| {
            dispatch.uniforms.groups_x = 1 << 17;
            true
        }),
        ("lanes are more than a workgroup", |dispatch| {
            dispatch.uniforms.lanes_log2 = 12;
            true
        }),
        ("a row is missing", |dispatch| {
            dispatch.uniforms.rows += 1 << 20;
            true
        }),
        ("a dimension has another position", |dispatch| {
            dispatch.uniforms.dims[0].size += 1;
            dispatch.uniforms.dims_used > 0 && is_copy(dispatch.program.kernel)
        }),
        ("a stride is longer", |dispatch| {
            let stride = &mut dispatch.uniforms.dims[0].from_stride;
            *stride = stride.wrapping_add(1 << 20);
            dispatch.uniforms.dims_used > 0
                && dispatch.uniforms.dims[0].size > 1
                && is_copy(dispatch.program.kernel)
        }),
        ("the source begins elsewhere", |dispatch| {
            let base = &mut dispatch.uniforms.from_base;
            *base = base.wrapping_sub(1 << 20);
            is_copy(dispatch.program.kernel)
        }),
        ("the destination begins elsewhere", |dispatch| {
            let base = &mut dispatch.uniforms.to_base;
            *base = base.wrapping_add(1 << 20);
            is_copy(dispatch.program.kernel)
                || matches!(
                    dispatch.program.kernel,
                    Kernel::Atomic | Kernel::Combine | Kernel::CombineParts
                )
        }),
        ("a run is longer", |dispatch| {
            dispatch.uniforms.run += 1 << 20;
            is_copy(dispatch.program.kernel)
        }),
        ("more positions are taken than there are", |dispatch| {
            dispatch.uniforms.coordinates[0].count += 1;
            dispatch.uniforms.coordinates_used > 0 && is_copy(dispatch.program.kernel)
        }),
        ("tuples begin elsewhere", |dispatch| {
            dispatch.uniforms.tuples += 1 << 20;
            let column = dispatch.uniforms.coordinates[0].column;
            dispatch.uniforms.coordinates_used > 0
                && column != NONE
                && !matches!(
                    dispatch.program.kernel,
                    Kernel::Order | Kernel::Combine | Kernel::CombineParts
                )
        }),
    ];

    /// Sound dispatches are accepted, and each of them is refused with each fault.
    #[test]
    fn every_fault_is_refused() {
        let places = Places::at_begin(true);
        let gpu: Gpu = strict(wgpu::DeviceType::DiscreteGpu);
        let reach = &gpu.engine.reach;
        let mut tried = [0; FAULTS.len()];
        for plan in plans() {
            let (passes, scratch) = gpu.engine.cut(&plan, &places).unwrap();
            check(reach, &plan, &places, scratch, &passes).unwrap();
            let memory = memory(&plan, &places, scratch);
            for dispatch in passes.iter().flat_map(|pass| &pass.dispatches) {
                for (tried, (name, fault)) in tried.iter_mut().zip(FAULTS) {
                    let mut broken = dispatch.clone();
                    if fault(&mut broken) {
                        *tried += 1;
                        let refused = one(reach, &memory, &broken).is_err();
                        assert!(refused, "{name}: {plan}\n{broken:#?}");
                    }
                }
            }
        }
        assert!(tried.iter().all(|&count| count >= 3), "{tried:?}");
    }
}
