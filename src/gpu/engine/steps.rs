//! Decides the steps of a scatter. Each row of updates goes to a slice: the part of the destination that the row's
//! index tuple selects. The comments of the kernels describe each step:
//!
//! | combination | steps |
//! |---|---|
//! | update | `last`, then a gather of each slice's last row |
//! | update by few rows | `last` twice, then a copy of the last rows |
//! | update by one chunk of rows | `link`, then a copy of the last rows |
//! | sums, differences, minima and maxima of integers of one word, in short rows | `atomic` |
//! | all other combinations | `link`; `order` if the order of rows matters and there are several chunks; `combine` or `combine_parts` |
//! | update, no two tuples equal | a copy of the rows to the slices that their tuples select, unless the rows are many and not whole words |
//! | all other combinations, no two tuples equal | `combine` or `combine_parts`, which look up each row's tuple themselves |
//!
//! A chunk is the rows that one workgroup of `link` takes: 1,024 rows on a GPU. Under `OutOfRange::Error`, `last` first
//! checks all tuples.
//!
//! Scratch memory has one or a few numbers for each slice, which are cleared first. So a scatter writes at least 4
//! bytes for each slice of the destination, unless one chunk contains all rows, the kernel is `atomic`, or the caller
//! promises unique tuples.
//!
//! A scatter that exceeds the device's limits is cut into blocks: it is halved until the blocks fit, along the rows,
//! the slices or, if a single row or slice is too long, the units of each row. A block finishes all its steps before
//! the next block begins, and blocks with the same slices and units follow the order of rows. So cutting does not
//! change the order in which rows are combined with a slice.

use super::{
    cut::{Cutter, check_coordinates},
    dispatch::{BoundRange, Cut, DEST, Pass, SCRATCH, SOURCE, WalkDispatch},
    launch::{RunWalk, walk_constants},
    program::{Constant, Kernel, Prelude, Program},
    rule::{CombineRule, NUMBERS_SIGNED},
    slices::{DestSlices, SliceRows},
    tuples::{TupleArgument, set_tuples},
    uniforms::{Uniforms, WalkWords, check_positions, count_word, flags},
};
use crate::{
    Error,
    layout::split_position,
    moves::{Move, Operation, Scatter},
    ops::index::{IndexType, OutOfRange, Policy},
    shape::common_power_of_two,
    walk::{Coordinate, Dim, Walk},
};
use std::ops::Range;

/// If there are more slices than this number for each row, the last step goes through rows instead of slices. A step
/// that goes through slices reads a number of 4 bytes for each slice. A step that goes through rows writes each row
/// separately, which transfers a sector of 32 bytes.
const MIN_SLICES_PER_ROW: usize = 8;

/// The number of bytes of scratch memory that are bound even if none are used.
const MIN_SCRATCH_BYTES: u64 = 4;

/// The maximum number of linked lists for the rows of one slice.
const MAX_LISTS: usize = 64;

/// The largest number of units in a row that atomics combine. An atomic operation changes one word, whereas `combine`
/// loads and stores up to 16 bytes at a time.
const MAX_ATOMIC_UNITS: usize = 16;

/// The way in which rows are combined with their slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CombineWay {
    Update,
    Atomic,
    Lists {
        is_ordered: bool,
    },
    /// The tuples of all rows select different slices, so each slice has at most one row.
    Unique,
}

/// The steps of a scatter.
#[derive(Debug, Default)]
struct ScatterSteps {
    /// A pass for each block. Its last dispatch changes the destination.
    cut: Cut,
    /// Dispatches at the beginning of the next pass.
    next_dispatches: Vec<WalkDispatch>,
    /// The use of the numbers at the beginning of scratch memory, and the row that has number 1. `None` if there are no
    /// such numbers.
    numbers: Option<(ScratchNumbers, usize)>,
}

/// The slices and the units for which row numbers are at the beginning of scratch memory: `lists` numbers for each
/// slice.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ScratchNumbers {
    slices: Range<usize>,
    run: Range<usize>,
    lists: usize,
}

/// A part of a scatter: the rows for some slices, and the units `run` of each of these rows.
#[derive(Clone, Debug)]
struct ScatterBlock {
    rows: SliceRows,
    /// Moves each row to the slice that the row's own tuple selects. Its first dimensions are the dimensions of `rows`.
    moving_walk: Walk,
    slices: Range<usize>,
    run: Range<usize>,
}

/// The reason why no pass can be made for a block.
enum PassFailure {
    /// The rows must be halved first.
    Rows,
    /// The slices must be halved first.
    Slices,
    Failed(Error),
}

/// Decides the steps of a scatter that has rows: a pass for each block. The last dispatch of a pass changes the
/// destination. The rows of a paste belong to boxes.
pub(super) fn scatter_cut(
    cutter: Cutter<'_>,
    step_move: &Move,
    walk: &Walk,
    scatter: Scatter,
) -> Result<Cut, Error> {
    let Some(tuples) = cutter.tuples else {
        // A scatter without tuples has no rows.
        return Ok(Cut::default());
    };
    // `None` if rows replace slices.
    let rule = CombineRule::from_move(step_move)?;
    let has_boxes = step_move.operation == Operation::Paste;
    check_coordinates(walk, scatter.options.policy.circular)?;
    // The number of outer dimensions along which rows are numbered.
    let row_dims = match has_boxes {
        true => {
            let is_inner = |&d: &usize| walk.dims[d].tuple == 0 && !walk.is_cropped(d);
            let inner_dims = (0..walk.dims.len()).rev().take_while(is_inner);
            walk.dims.len() - inner_dims.count()
        }
        false => RunWalk::from_walk(walk.clone()).walk.dims.len(),
    };
    let pitch: usize = walk.dims[row_dims..].iter().map(|dim| dim.size).product();
    let slices = match has_boxes {
        true => DestSlices::from_boxes(walk),
        false => DestSlices {
            count: scatter.slices,
            distance: pitch,
            lowest_unit: 0,
        },
    };
    let max_count = u64::from(u32::MAX - 1);
    check_positions(slices.count, max_count)?;
    let options = scatter.options;
    // If rows are not whole words, a kernel that moves a single row changes the row's first and last word by atomics,
    // whereas a gather writes whole words. So such rows are moved separately only if there are few of them.
    let row_count = walk.units() / pitch;
    let can_be_direct = rule.is_some()
        || has_boxes
        || walk.unit >= 4
        || row_count * MIN_SLICES_PER_ROW < slices.count;
    let combine_way = match rule {
        _ if options.unique && can_be_direct => CombineWay::Unique,
        None => CombineWay::Update,
        Some(rule) if rule.is_atomic && pitch <= MAX_ATOMIC_UNITS => CombineWay::Atomic,
        Some(rule) => CombineWay::Lists {
            is_ordered: rule.depends_on_order && !options.any_order,
        },
    };
    let scatterer = Scatterer {
        cutter,
        tuples,
        scatter,
        rule: rule.unwrap_or_default(),
        way: combine_way,
        unit: walk.unit,
        pitch,
        slice_distance: slices.distance,
        has_boxes,
    };
    let (rows, moving_walk) = SliceRows::from_scatter(walk, row_dims, slices);
    let block = ScatterBlock {
        rows,
        moving_walk,
        slices: 0..slices.count,
        run: 0..pitch,
    };
    let mut steps = ScatterSteps::default();
    let is_empty = walk.coordinates.iter().any(|c| c.size == 0);
    if walk.columns > 0 && (scatterer.is_strict() || is_empty) {
        check_positions(block.rows.row_count(), max_count)?;
        scatterer.add_checks(&block.tuple_block(), &mut steps.next_dispatches)?;
        steps.cut.scratch_bytes = MIN_SCRATCH_BYTES;
    }
    if is_empty {
        steps.push_pass(0, Vec::new());
        return Ok(steps.cut);
    }
    if scatter.starts_from_zeros && scatterer.is_direct() {
        let zeros = Walk::zeros(walk.unit, scatter.slices * pitch);
        let cutter = Cutter {
            source_bytes: 4,
            ..cutter
        };
        cutter.cut_walk(&zeros, &mut steps.next_dispatches)?;
    }
    match (combine_way, rule) {
        (CombineWay::Unique, None) => {
            let mut moves = Vec::new();
            scatterer.cutter.cut_walk(walk, &mut moves)?;
            if scatterer.is_strict() {
                moves.iter_mut().for_each(forbid_after_report);
            }
            steps.push_pass(0, moves);
        }
        _ => scatterer.add_block(&block, &mut steps)?,
    }
    Ok(steps.cut)
}

/// Makes a dispatch write nothing if an earlier dispatch has reported a tuple.
fn forbid_after_report(dispatch: &mut WalkDispatch) {
    dispatch.uniforms.flags &= !flags::FLAG_REPORTS;
    dispatch.uniforms.flags |= flags::FLAG_STRICT;
}

impl ScatterSteps {
    fn push_pass(&mut self, cleared_bytes: usize, dispatches: Vec<WalkDispatch>) {
        let mut all_dispatches = std::mem::take(&mut self.next_dispatches);
        all_dispatches.extend(dispatches);
        let pass = Pass::from_dispatches(cleared_bytes, all_dispatches, Uniforms::Walk);
        self.cut.passes.push(pass);
    }

    /// Returns the number of the first of these rows, minus one. It is 0 if `numbers` must be cleared: if the last
    /// block with numbers had other slices or units, or if the numbers of rows would become too large.
    fn first_row(&self, numbers: &ScratchNumbers, rows: &Range<usize>) -> usize {
        match &self.numbers {
            Some((last_numbers, first_row))
                if last_numbers == numbers && rows.end - first_row < i32::MAX as usize =>
            {
                rows.start - first_row
            }
            _ => 0,
        }
    }
}

impl ScatterBlock {
    /// Returns the block with one row for each tuple.
    fn tuple_block(&self) -> Self {
        Self {
            rows: self.rows.tuple_rows(),
            ..self.clone()
        }
    }

    fn halves_of_rows(&self) -> Option<[Self; 2]> {
        let (d, middle) = self.rows.middle_cut()?;
        let mut halves = [self.clone(), self.clone()];
        let [first, second] = &mut halves;
        [first.rows, second.rows] = self.rows.split_rows(d, middle);
        [first.moving_walk, second.moving_walk] = self.moving_walk.split(d, middle);
        Some(halves)
    }

    /// Splits the block in the middle of the range that `range_of` returns: its slices or its run.
    fn split_range(&self, range_of: impl Fn(&mut Self) -> &mut Range<usize>) -> Option<[Self; 2]> {
        let mut halves = [self.clone(), self.clone()];
        let Range { start, end } = range_of(&mut halves[0]).clone();
        let middle = start + split_position(end - start)?;
        range_of(&mut halves[0]).end = middle;
        range_of(&mut halves[1]).start = middle;
        Some(halves)
    }
}

/// The data shared by all blocks of a scatter.
struct Scatterer<'a> {
    cutter: Cutter<'a>,
    tuples: TupleArgument,
    scatter: Scatter,
    /// The rule by which numbers are combined. Updates do not use it.
    rule: CombineRule,
    way: CombineWay,
    /// The number of bytes in a unit.
    unit: usize,
    /// The number of units in a row.
    pitch: usize,
    /// The distance between neighbouring slices, in units.
    slice_distance: usize,
    /// True if rows belong to boxes. Boxes can be in views of source and destination.
    has_boxes: bool,
}

impl Scatterer<'_> {
    fn is_strict(&self) -> bool {
        self.scatter.options.policy.out_of_range == OutOfRange::Error
    }

    /// Returns whether each row is combined directly with its slice, without scratch memory.
    fn is_direct(&self) -> bool {
        matches!(self.way, CombineWay::Atomic | CombineWay::Unique)
    }

    fn too_small(&self) -> Error {
        self.cutter.limits.too_small(self.unit)
    }

    /// Adds the dispatches that only report out-of-range tuples. They share a report, so each numbers its rows from
    /// the first row of the whole scatter.
    fn add_checks(&self, block: &ScatterBlock, out: &mut Vec<WalkDispatch>) -> Result<(), Error> {
        let first_tuple = block.rows.first_tuple();
        let block_pass = self.block_pass(block, first_tuple, MIN_SCRATCH_BYTES);
        if let Some(dispatch) = block_pass
            .and_then(|block_pass| block_pass.row_dispatch(Kernel::Last, &[(Constant::Chooses, 0)]))
        {
            out.push(make_reporting(dispatch, 0));
            return Ok(());
        }
        let halves = block.halves_of_rows().ok_or_else(|| self.too_small())?;
        halves
            .iter()
            .try_for_each(|half| self.add_checks(half, out))
    }

    /// Adds the pass of a block or, if the block exceeds the device's limits, the passes of its halves.
    fn add_block(&self, block: &ScatterBlock, steps: &mut ScatterSteps) -> Result<(), Error> {
        let halves = match self.try_add_pass(block, steps) {
            Ok(()) => return Ok(()),
            Err(PassFailure::Failed(error)) => return Err(error),
            Err(PassFailure::Rows) => block.halves_of_rows(),
            Err(PassFailure::Slices) => block.split_range(|block| &mut block.slices),
        };
        let halves = halves.or_else(|| block.split_range(|block| &mut block.run));
        let halves = halves.ok_or_else(|| self.too_small())?;
        halves
            .iter()
            .try_for_each(|half| self.add_block(half, steps))
    }

    /// Adds the pass of a block. Fails if the block must be halved first.
    fn try_add_pass(
        &self,
        block: &ScatterBlock,
        steps: &mut ScatterSteps,
    ) -> Result<(), PassFailure> {
        let (rows, slices) = (block.rows.row_numbers(), block.slices.len());
        let is_fresh = self.scatter.starts_from_zeros && rows.start == 0 && !self.is_direct();
        // A scatter that starts from zeros writes every slice, even a slice without rows, because the destination still
        // has its old content.
        let is_one_chunk =
            !is_fresh && !self.is_direct() && rows.len() <= self.rows_per_workgroup().min(slices);
        let has_few_rows = self.has_boxes || !is_fresh && rows.len() * MIN_SLICES_PER_ROW < slices;
        let by_rows = self.is_direct() || is_one_chunk || has_few_rows;
        let (lists, list_shift) = match is_one_chunk {
            true => (0, 31),
            false => self.list_count(rows.len(), slices),
        };
        let head_words = if self.is_direct() { 0 } else { slices * lists };
        let link_words = match self.way {
            CombineWay::Atomic | CombineWay::Unique => 0,
            CombineWay::Update if !by_rows => 0,
            CombineWay::Update if !is_one_chunk => rows.len(),
            CombineWay::Update | CombineWay::Lists { .. } => 3 * rows.len(),
        };
        let scratch_bytes = (head_words + link_words) as u64 * 4;
        if scratch_bytes > self.cutter.limits.max_binding_bytes
            || scratch_bytes / 4 > self.cutter.limits.max_units
        {
            let has_more_links = link_words > head_words;
            return Err(if has_more_links {
                PassFailure::Rows
            } else {
                PassFailure::Slices
            });
        }
        let scratch_numbers = ScratchNumbers {
            slices: block.slices.clone(),
            run: block.run.clone(),
            lists,
        };
        if is_one_chunk {
            // The links of this pass overwrite the numbers, so later passes cannot continue from them.
            steps.numbers = None;
        }
        let first_row = steps.first_row(&scratch_numbers, &rows);
        let mut block_pass = self
            .block_pass(block, first_row, scratch_bytes.max(MIN_SCRATCH_BYTES))
            .ok_or(PassFailure::Rows)?;
        (block_pass.by_rows, block_pass.is_fresh) = (by_rows, is_fresh);
        block_pass.words.slices = count_word(slices);
        block_pass.words.lists = count_word(lists);
        block_pass.words.list_shift = list_shift;
        let mut dispatches = Vec::new();
        let row_dispatch = |kernel, constants: &[_]| {
            block_pass
                .row_dispatch(kernel, constants)
                .ok_or(PassFailure::Rows)
        };
        match self.way {
            CombineWay::Update => {
                if is_one_chunk {
                    dispatches.push(row_dispatch(
                        Kernel::Link,
                        &[(Constant::Ordered, 1), (Constant::Lasts, 1)],
                    )?);
                } else {
                    let last_dispatch =
                        |chooses| row_dispatch(Kernel::Last, &[(Constant::Chooses, chooses)]);
                    dispatches.push(last_dispatch(0)?);
                    if by_rows {
                        dispatches.push(last_dispatch(1)?);
                    }
                }
                block_pass
                    .move_rows(&mut dispatches)
                    .map_err(PassFailure::Failed)?;
            }
            CombineWay::Atomic | CombineWay::Unique => {
                dispatches.push(block_pass.combine_dispatch()?);
            }
            CombineWay::Lists { is_ordered } => {
                if rows.len() > self.max_rows() {
                    return Err(PassFailure::Rows);
                }
                let in_order = u32::from(is_ordered || is_one_chunk);
                let constants = [(Constant::Ordered, in_order), (Constant::Lasts, 0)];
                dispatches.push(row_dispatch(Kernel::Link, &constants)?);
                if is_ordered && !is_one_chunk {
                    dispatches.push(row_dispatch(Kernel::Order, &[])?);
                }
                dispatches.push(block_pass.combine_dispatch()?);
            }
        }
        // Several blocks can have the same rows. Only one of these blocks reports the out-of-range tuples.
        let is_reporting =
            block.slices.start == 0 && block.run.start == 0 && block.rows.are_tuples_counted();
        if !self.is_strict() && is_reporting {
            let first_tuple = block.rows.first_tuple().wrapping_sub(first_row);
            dispatches[0] = make_reporting(dispatches[0].clone(), first_tuple);
        }
        let cleared_bytes = match first_row {
            0 if head_words > 0 => {
                steps.numbers = Some((scratch_numbers, rows.start));
                head_words * 4
            }
            _ => 0,
        };
        steps.cut.scratch_bytes = steps.cut.scratch_bytes.max(scratch_bytes);
        steps.push_pass(cleared_bytes, dispatches);
        Ok(())
    }

    /// Returns the number of lists of each slice, and the binary logarithm of the number of rows that share a list: see
    /// `chain.wgsl`.
    fn list_count(&self, rows: usize, slices: usize) -> (usize, u32) {
        if self.way != (CombineWay::Lists { is_ordered: true }) {
            return (1, 31);
        }
        let max_lists = (rows / slices).clamp(1, MAX_LISTS);
        let lists_for_shift = |shift: u32| ((rows - 1) >> shift) + 1;
        let list_shift = (self.rows_per_workgroup().trailing_zeros()..31)
            .find(|&list_shift| lists_for_shift(list_shift) <= max_lists);
        let list_shift = list_shift.unwrap_or(31);
        (lists_for_shift(list_shift), list_shift)
    }

    /// Returns the number of rows for a workgroup of `link.wgsl`.
    fn rows_per_workgroup(&self) -> usize {
        4 * self.cutter.limits.tuning.workgroup as usize
    }

    /// Returns the number of units of a slice that an invocation combines.
    fn units_per_invocation(&self) -> usize {
        if self.cutter.limits.tuning.loops {
            4
        } else {
            1
        }
    }

    /// Returns the maximum number of rows that are linked together. All of them can belong to one slice, and an
    /// invocation follows their links for each of its units.
    ///
    /// On a GPU, an invocation waits half a microsecond for each link, so half a second for a million rows. A driver
    /// might mistake a longer wait for a hang. Lavapipe seems to exit every loop of an invocation after 65,535
    /// iterations in total.
    fn max_rows(&self) -> usize {
        match self.cutter.limits.tuning.loops {
            true => (1 << 15) / self.units_per_invocation(),
            false => 1 << 20,
        }
    }

    /// Returns the data that the dispatches of a block share. The numbers of its rows begin at `first_row` + 1. Returns
    /// `None` if the block has too many rows, or if no single binding can contain its tuples.
    fn block_pass<'a>(
        &'a self,
        block: &'a ScatterBlock,
        first_row: usize,
        scratch_bytes: u64,
    ) -> Option<BlockPass<'a>> {
        let mut walk = block.rows.lookup_walk();
        let (indices, begin) = self.cutter.bind_tuples(&walk, self.tuples)?;
        // In this walk each row counts as one unit, even if rows belong to boxes.
        walk.dims.push(Dim::ONE_POSITION);
        let run_walk = RunWalk::from_walk(walk);
        let mut words = run_walk.walk_words()?;
        set_tuples(&mut words, &run_walk.walk, self.tuples, begin);
        words.flags |= if self.is_strict() {
            flags::FLAG_STRICT
        } else {
            0
        };
        words.first_row = u32::try_from(first_row).ok()?;
        words.first_slice = count_word(block.slices.start);
        Some(BlockPass {
            scatterer: self,
            block,
            words,
            walk_settings: walk_constants(
                &run_walk.walk,
                run_walk.walk.units() * block.run.len(),
                &self.cutter.limits.tuning,
                Some(self.tuples),
            ),
            indices,
            scratch: BoundRange::first(SCRATCH, scratch_bytes),
            by_rows: false,
            is_fresh: false,
        })
    }
}

/// Makes a dispatch report tuples. `first_tuple` is the number of its first tuple.
fn make_reporting(mut dispatch: WalkDispatch, first_tuple: usize) -> WalkDispatch {
    dispatch.first_tuple = first_tuple;
    dispatch.uniforms.flags |= flags::FLAG_REPORTS;
    dispatch
}

/// The data that the dispatches of a block share.
struct BlockPass<'a> {
    scatterer: &'a Scatterer<'a>,
    block: &'a ScatterBlock,
    words: WalkWords,
    /// The constants of kernels that read tuples.
    walk_settings: [(Constant, u32); 8],
    indices: BoundRange,
    scratch: BoundRange,
    /// True if the last step goes through rows instead of slices.
    by_rows: bool,
    /// True if the slices start as zeros.
    is_fresh: bool,
}

impl BlockPass<'_> {
    fn make_program(&self, kernel: Kernel, prelude: Prelude) -> Program {
        let workgroup = self.scatterer.cutter.limits.tuning.workgroup;
        let program = Program::new(kernel, prelude, workgroup);
        match kernel {
            Kernel::Order => program,
            Kernel::Combine | Kernel::CombineParts if self.scatterer.way != CombineWay::Unique => {
                program
            }
            _ => program.with_constants(&self.walk_settings),
        }
    }

    /// Makes the dispatch of a kernel that writes to scratch memory and whose invocations take rows.
    fn row_dispatch(&self, kernel: Kernel, constants: &[(Constant, u32)]) -> Option<WalkDispatch> {
        let rows = self.block.rows.row_count();
        let (rows_per_group, bound) = match kernel {
            Kernel::Link => (
                self.scatterer.rows_per_workgroup(),
                vec![self.indices, self.scratch],
            ),
            Kernel::Order => (self.workgroup_size(), vec![self.scratch]),
            _ => (self.workgroup_size(), vec![self.indices, self.scratch]),
        };
        let program = self
            .make_program(kernel, Prelude::None)
            .with_constants(constants);
        let (limits, groups) = (self.scatterer.cutter.limits, rows.div_ceil(rows_per_group));
        WalkDispatch::from_walk(limits, program, self.words, groups, bound)
    }

    fn workgroup_size(&self) -> usize {
        self.scatterer.cutter.limits.tuning.workgroup as usize
    }

    /// Adds the dispatches of the last step of an update. Their index tuples are in scratch memory: the number of a row
    /// for each slice or, if there are few rows, the number of a slice for each row.
    fn move_rows(&self, out: &mut Vec<WalkDispatch>) -> Result<(), Error> {
        let Scatterer {
            unit,
            pitch,
            slice_distance,
            ..
        } = *self.scatterer;
        let slices = &self.block.slices;
        let (mut walk, positions, distance) = match self.by_rows {
            true => {
                let mut walk = self.block.moving_walk.clone();
                walk.to += (slices.start * slice_distance).cast_signed();
                walk.tuple = slices.len() * self.words.lists as usize;
                (walk, slices.len(), slice_distance)
            }
            false => {
                let rows = self.block.rows.row_numbers();
                let slice_dim = Dim {
                    to: pitch.cast_signed(),
                    ..Dim::with_own_tuples(slices.len(), 0)
                };
                let pitch_dim = Dim {
                    size: pitch,
                    ..Dim::ONE_POSITION
                };
                let [from, to] =
                    [&rows, slices].map(|numbers| (numbers.start * pitch).cast_signed());
                let mut walk = Walk::strided(unit, from, to, vec![slice_dim, pitch_dim]);
                walk.columns = 1;
                (walk, rows.len(), pitch)
            }
        };
        walk.coordinates = vec![Coordinate::indexed(positions, distance.cast_signed(), 0)];
        let first_row_number = self.words.first_row + 1;
        let tuples = TupleArgument {
            argument: SCRATCH,
            index_type: IndexType::U32,
            policy: Policy::default(),
            keeps: !self.is_fresh,
            first_index: if self.by_rows { 0 } else { first_row_number },
        };
        let cutter = Cutter {
            tuples: Some(tuples),
            ..self.scatterer.cutter
        };
        cutter.cut_walk(&walk, out)
    }

    /// Makes the dispatch that combines rows with slices.
    fn combine_dispatch(&self) -> Result<WalkDispatch, PassFailure> {
        let Scatterer { rule, way, .. } = *self.scatterer;
        let (unit, pitch) = (self.scatterer.unit, self.scatterer.pitch);
        let Cutter { limits, places, .. } = self.scatterer.cutter;
        let ScatterBlock { slices, run, .. } = self.block;
        let (rows, number_bytes) = (self.block.rows.row_numbers(), rule.number_bytes);
        let bind = |argument, numbers: &Range<usize>| {
            let first_byte = ((numbers.start * pitch + run.start) * unit) as u64;
            let end = (((numbers.end - 1) * pitch + run.end) * unit) as u64;
            let bound_range = places.bind_range(limits, argument, first_byte, end);
            bound_range.filter(|(bound_range, _)| {
                bound_range.span.bytes / number_bytes as u64 <= limits.max_units
            })
        };
        let (source, from) = bind(SOURCE, &rows).ok_or(PassFailure::Rows)?;
        let (dest, to) = bind(DEST, slices).ok_or(PassFailure::Slices)?;
        let (owners, failure) = match self.by_rows {
            true => (rows.len(), PassFailure::Rows),
            false => (slices.len(), PassFailure::Slices),
        };
        let bytes = run.len() * unit;
        let is_long = |rows: usize| (rows * bytes) as u64 > limits.max_result_bytes;
        if is_long(rows.len()) {
            return Err(PassFailure::Rows);
        }
        if is_long(owners) {
            return Err(failure);
        }
        let copy_unit = match common_power_of_two(16, [bytes, pitch * unit, from, to]) {
            whole_words @ 4.. if way != CombineWay::Atomic => whole_words,
            _ => number_bytes,
        };
        let [units, unit_pitch, updates, to_base] =
            [bytes, pitch * unit, from, to].map(|bytes| bytes / copy_unit);
        let word_units = 4 / copy_unit;
        let (segments, segment) = match word_units {
            0 | 1 => {
                let segment = self.scatterer.units_per_invocation();
                (units.div_ceil(segment), segment)
            }
            // The largest number of words that a slice can touch: it can begin anywhere in a word.
            _ => ((units - 1).div_ceil(word_units) + 1, 1),
        };
        let invocations = match word_units {
            // One invocation for each word of all slices.
            2.. if !self.by_rows => {
                let elements = (slices.len() - 1) * unit_pitch + units;
                (to_base % word_units + elements).div_ceil(word_units)
            }
            _ => owners * segments,
        };
        let words = WalkWords {
            run: count_word(units),
            pitch: count_word(unit_pitch),
            updates: count_word(updates),
            to_base: count_word(to_base),
            segments: count_word(segments),
            segment: count_word(segment),
            ..self.words
        };
        let shared_constants = [
            (Constant::Element, count_word(number_bytes.min(2))),
            (Constant::Rule, rule.parts),
            (Constant::ByRows, u32::from(self.by_rows)),
            (Constant::Fresh, u32::from(self.is_fresh)),
            (Constant::Unique, u32::from(way == CombineWay::Unique)),
        ];
        let combine = (Constant::Combine, rule.combine);
        let loops = (Constant::Loops, u32::from(limits.tuning.loops));
        let program = match way {
            CombineWay::Atomic => self
                .make_program(
                    Kernel::Atomic,
                    Prelude::Integer(rule.numbers == NUMBERS_SIGNED),
                )
                .with_constants(&[combine]),
            _ if copy_unit < 4 => self
                .make_program(Kernel::CombineParts, Prelude::None)
                .with_constants(&shared_constants),
            _ => self
                .make_program(Kernel::Combine, Prelude::Words(copy_unit))
                .with_constants(&[combine, (Constant::Numbers, rule.numbers), loops])
                .with_constants(&shared_constants),
        };
        let first_argument = match self.scatterer.is_direct() {
            true => self.indices,
            false => self.scratch,
        };
        // Shaders count invocations in 32 bits.
        if i32::try_from(invocations).is_err() {
            return Err(failure);
        }
        let groups = invocations.div_ceil(self.workgroup_size());
        let bound_arguments = vec![first_argument, source, dest];
        WalkDispatch::from_walk(limits, program, words, groups, bound_arguments).ok_or(failure)
    }
}
