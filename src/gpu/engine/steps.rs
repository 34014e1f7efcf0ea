//! Decides the steps of a scatter. Each row of updates goes to a slice: the part of the destination that the row's
//! index tuple selects. The comments of the kernels describe each step:
//!
//! | combination | steps |
//! |---|---|
//! | update | `last`, then a gather of each slice's last row |
//! | update by few rows | `last` twice, then a copy of the last rows |
//! | update by one chunk of rows | `link`, then a copy of the last rows |
//! | integers of one word | `atomic` |
//! | others | `link`; `order` if the order of rows matters and there are several chunks; `combine` or `combine_parts` |
//! | update, no two tuples equal | a copy of the rows to the slices that their tuples select, unless the rows are many and not whole words |
//! | others, no two tuples equal | `combine` or `combine_parts`, which look up each row's tuple themselves |
//!
//! A chunk is the rows of one workgroup of `link`: 1,024 rows on a GPU. Under `OutOfRange::Error`, `last` first checks
//! all tuples.
//!
//! Scratch memory has one number or a few for each slice, and they are cleared first. So a scatter writes at least 4
//! bytes for each slice of the destination, unless all rows are one chunk or the caller promises unique tuples.
//!
//! A scatter that exceeds the device's limits is halved until its blocks fit: along the rows, the slices or, if a
//! single row or slice is too long, the run of units of each. A block finishes all its steps before the next block
//! begins, and blocks with the same slices and units follow the order of rows. So cutting does not change the order in
//! which a slice gets its rows.

use super::{
    cut::{Cutter, check_coordinates},
    dispatch::{Bound, Cut, DEST, Pass, SCRATCH, SOURCE, WalkDispatch},
    launch::{RunWalk, walk_constants},
    program::{Constant, Kernel, Prelude, Program},
    rule::{Rule, SIGNED},
    slices::{SliceRows, Slices},
    tuples::{Tuples, set_tuples},
    uniforms::{Uniforms, WalkWords, check_positions, count, flags},
};
use crate::{
    Error,
    layout::middle,
    moves::{Move, Operation, Scatter},
    ops::index::{IndexType, OutOfRange, Policy},
    shape::common_power_of_two,
    walk::{Coordinate, Dim, Walk},
};
use std::ops::Range;

/// If there are fewer rows than slices / FEW_ROWS, the last steps go through rows instead of slices. Going through
/// slices costs a number of 4 bytes for each slice, whereas a row that is written alone costs a sector of 32 bytes.
const FEW_ROWS: usize = 8;

/// The number of bytes of scratch memory that are bound even if none are used.
const LEAST_SCRATCH: u64 = 4;

/// The largest number of linked lists among which the rows of one slice are divided.
const MOST_LISTS: usize = 64;

/// The largest number of units in a row that atomics combine. An atomic moves a word, whereas the other kernels move 16
/// bytes.
const MOST_ATOMIC: usize = 16;

/// The way in which rows are combined with their slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Update,
    Atomic,
    Lists {
        ordered: bool,
    },
    /// Each row is the only row of its slice.
    Unique,
}

/// The steps of a scatter.
#[derive(Debug, Default)]
struct ScatterSteps {
    /// A pass for each block. Its last dispatch changes the destination.
    cut: Cut,
    /// Dispatches with which the next pass begins.
    first: Vec<WalkDispatch>,
    /// The use of the numbers at the beginning of scratch memory, and the row from which they count.
    numbers: Option<(Numbers, usize)>,
}

/// The use of the numbers at the beginning of scratch memory: `lists` numbers for each slice.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Numbers {
    slices: Range<usize>,
    run: Range<usize>,
    lists: usize,
}

/// A part of a scatter: the rows that go to some slices, and of each row the units `run`.
#[derive(Clone, Debug)]
struct Block {
    rows: SliceRows,
    /// Moves each row to the slice that the row's own tuple selects. Its first dimensions are the dimensions of `rows`.
    moves: Walk,
    slices: Range<usize>,
    run: Range<usize>,
}

/// The reason why a block has no pass.
enum NoPass {
    /// The rows or the slices must be halved first.
    Rows,
    Slices,
    Failed(Error),
}

/// Decides the steps of a scatter that has rows: a pass for each block, whose last dispatch changes the destination.
/// The rows of a paste belong to boxes.
pub(super) fn steps(
    cutter: Cutter<'_>,
    what: &Move,
    walk: &Walk,
    scatter: Scatter,
) -> Result<Cut, Error> {
    let Some(tuples) = cutter.tuples else {
        // A scatter without tuples has no rows.
        return Ok(Cut::default());
    };
    // `None` if rows replace slices.
    let rule = Rule::of(what)?;
    let boxes = what.operation == Operation::Paste;
    check_coordinates(walk, scatter.options.policy.circular)?;
    // The dimensions that number rows.
    let of_rows = match boxes {
        true => {
            let is_inner = |&d: &usize| walk.dims[d].tuple == 0 && !walk.is_cropped(d);
            let inner = (0..walk.dims.len()).rev().take_while(is_inner);
            walk.dims.len() - inner.count()
        }
        false => RunWalk::of(walk.clone()).walk.dims.len(),
    };
    let pitch: usize = walk.dims[of_rows..].iter().map(|dim| dim.size).product();
    let slices = match boxes {
        true => Slices::of_boxes(walk),
        false => Slices {
            count: scatter.slices,
            apart: pitch,
            lowest: 0,
        },
    };
    let most = u64::from(u32::MAX - 1);
    check_positions(slices.count, most)?;
    let options = scatter.options;
    // If rows are not whole words, moving a row alone changes words by atomics, whereas a gather makes whole words. So
    // such rows are moved alone only if they are few.
    let rows = walk.units() / pitch;
    let straight = rule.is_some() || boxes || walk.unit >= 4 || rows * FEW_ROWS < slices.count;
    let way = match rule {
        _ if options.unique && straight => Way::Unique,
        None => Way::Update,
        Some(rule) if rule.is_atomic && pitch <= MOST_ATOMIC => Way::Atomic,
        Some(rule) => Way::Lists {
            ordered: rule.depends_on_order && !options.any_order,
        },
    };
    let scatterer = Scatterer {
        cutter,
        tuples,
        scatter,
        rule: rule.unwrap_or_default(),
        way,
        unit: walk.unit,
        pitch,
        apart: slices.apart,
        boxes,
    };
    let (rows, moves) = SliceRows::of(walk, of_rows, slices);
    let block = Block {
        rows,
        moves,
        slices: 0..slices.count,
        run: 0..pitch,
    };
    let mut steps = ScatterSteps::default();
    let is_empty = walk.coordinates.iter().any(|c| c.size == 0);
    if walk.columns > 0 && (scatterer.is_strict() || is_empty) {
        check_positions(block.rows.count(), most)?;
        scatterer.checks(&block.of_tuples(), &mut steps.first)?;
        steps.cut.scratch = LEAST_SCRATCH;
    }
    if is_empty {
        steps.push(0, Vec::new());
        return Ok(steps.cut);
    }
    if scatter.fresh && scatterer.is_direct() {
        let zeros = Walk::zeros(walk.unit, scatter.slices * pitch);
        let cutter = Cutter {
            source_bytes: 4,
            ..cutter
        };
        cutter.cut(&zeros, &mut steps.first)?;
    }
    match (way, rule) {
        (Way::Unique, None) => {
            let mut moves = Vec::new();
            scatterer.cutter.cut(walk, &mut moves)?;
            if scatterer.is_strict() {
                moves.iter_mut().for_each(forbidding);
            }
            steps.push(0, moves);
        }
        _ => scatterer.blocks(&block, &mut steps)?,
    }
    Ok(steps.cut)
}

/// Makes a dispatch change nothing if an earlier dispatch reports a tuple.
fn forbidding(dispatch: &mut WalkDispatch) {
    dispatch.uniforms.flags &= !flags::REPORTS;
    dispatch.uniforms.flags |= flags::STRICT;
}

impl ScatterSteps {
    fn push(&mut self, cleared: usize, dispatches: Vec<WalkDispatch>) {
        let mut all = std::mem::take(&mut self.first);
        all.extend(dispatches);
        let pass = Pass::of(cleared, all, Uniforms::Walk);
        self.cut.passes.push(pass);
    }

    /// Returns the first of the numbers of these rows minus one. It is 0 if these rows do not follow others with the
    /// same slices and units, so that `numbers` must be cleared.
    fn first_row(&self, numbers: &Numbers, rows: &Range<usize>) -> usize {
        match &self.numbers {
            Some((same, from)) if same == numbers && rows.end - from < i32::MAX as usize => {
                rows.start - from
            }
            _ => 0,
        }
    }
}

impl Block {
    /// Returns the block with one row for each tuple.
    fn of_tuples(&self) -> Self {
        Self {
            rows: self.rows.of_tuples(),
            ..self.clone()
        }
    }

    fn halves_of_rows(&self) -> Option<[Self; 2]> {
        let (d, middle) = self.rows.middle()?;
        let mut halves = [self.clone(), self.clone()];
        let [first, second] = &mut halves;
        [first.rows, second.rows] = self.rows.split(d, middle);
        [first.moves, second.moves] = self.moves.split(d, middle);
        Some(halves)
    }

    /// Splits the block in the middle of the range that `of` returns: its slices or its run.
    fn halves(&self, of: impl Fn(&mut Self) -> &mut Range<usize>) -> Option<[Self; 2]> {
        let mut halves = [self.clone(), self.clone()];
        let Range { start, end } = of(&mut halves[0]).clone();
        let middle = start + middle(end - start)?;
        of(&mut halves[0]).end = middle;
        of(&mut halves[1]).start = middle;
        Some(halves)
    }
}

/// The data that all blocks of a scatter share.
struct Scatterer<'a> {
    cutter: Cutter<'a>,
    tuples: Tuples,
    scatter: Scatter,
    /// The rule by which numbers are combined. Not used for updates.
    rule: Rule,
    way: Way,
    /// The number of bytes of a unit. `pitch` is the number of units of a row.
    unit: usize,
    pitch: usize,
    /// The distance between neighbouring slices, in units.
    apart: usize,
    /// Whether rows belong to boxes, which can be in views of source and destination.
    boxes: bool,
}

impl Scatterer<'_> {
    fn is_strict(&self) -> bool {
        self.scatter.options.policy.out_of_range == OutOfRange::Error
    }

    /// Returns whether each row goes straight to its slice, without scratch memory.
    fn is_direct(&self) -> bool {
        matches!(self.way, Way::Atomic | Way::Unique)
    }

    fn too_small(&self) -> Error {
        self.cutter.reach.too_small(self.unit)
    }

    /// Adds the dispatches that only report the tuples out of range. They share a report, so their numbers of rows
    /// count all rows.
    fn checks(&self, block: &Block, out: &mut Vec<WalkDispatch>) -> Result<(), Error> {
        let first = block.rows.first_tuple();
        let site = self.site(block, first, LEAST_SCRATCH);
        if let Some(dispatch) =
            site.and_then(|site| site.of_rows(Kernel::Last, &[(Constant::Chooses, 0)]))
        {
            out.push(reporting(dispatch, 0));
            return Ok(());
        }
        let halves = block.halves_of_rows().ok_or_else(|| self.too_small())?;
        halves.iter().try_for_each(|half| self.checks(half, out))
    }

    /// Adds the pass of a block or, if the block exceeds the device's limits, the passes of its halves.
    fn blocks(&self, block: &Block, steps: &mut ScatterSteps) -> Result<(), Error> {
        let halves = match self.pass(block, steps) {
            Ok(()) => return Ok(()),
            Err(NoPass::Failed(error)) => return Err(error),
            Err(NoPass::Rows) => block.halves_of_rows(),
            Err(NoPass::Slices) => block.halves(|block| &mut block.slices),
        };
        let halves = halves.or_else(|| block.halves(|block| &mut block.run));
        let halves = halves.ok_or_else(|| self.too_small())?;
        halves.iter().try_for_each(|half| self.blocks(half, steps))
    }

    /// Adds the pass of a block.
    fn pass(&self, block: &Block, steps: &mut ScatterSteps) -> Result<(), NoPass> {
        let (rows, slices) = (block.rows.numbers(), block.slices.len());
        let fresh = self.scatter.fresh && rows.start == 0 && !self.is_direct();
        // A fresh destination is written whole, because all of its slices become zeros.
        let one_chunk = !fresh && !self.is_direct() && rows.len() <= self.chunk().min(slices);
        let few = self.boxes || !fresh && rows.len() * FEW_ROWS < slices;
        let by_rows = self.is_direct() || one_chunk || few;
        let (lists, list_shift) = match one_chunk {
            true => (0, 31),
            false => self.lists(rows.len(), slices),
        };
        let heads = if self.is_direct() { 0 } else { slices * lists };
        let links = match self.way {
            Way::Atomic | Way::Unique => 0,
            Way::Update if !by_rows => 0,
            Way::Update if !one_chunk => rows.len(),
            Way::Update | Way::Lists { .. } => 3 * rows.len(),
        };
        let scratch = (heads + links) as u64 * 4;
        if scratch > self.cutter.reach.binding || scratch / 4 > self.cutter.reach.units {
            let are_rows = links > heads;
            return Err(if are_rows {
                NoPass::Rows
            } else {
                NoPass::Slices
            });
        }
        let numbers = Numbers {
            slices: block.slices.clone(),
            run: block.run.clone(),
            lists,
        };
        if one_chunk {
            // Links occupy the memory of the numbers.
            steps.numbers = None;
        }
        let first_row = steps.first_row(&numbers, &rows);
        let mut site = self
            .site(block, first_row, scratch.max(LEAST_SCRATCH))
            .ok_or(NoPass::Rows)?;
        (site.by_rows, site.fresh) = (by_rows, fresh);
        site.words.slices = count(slices);
        site.words.lists = count(lists);
        site.words.list_shift = list_shift;
        let mut dispatches = Vec::new();
        let of_rows = |kernel, constants: &[_]| site.of_rows(kernel, constants).ok_or(NoPass::Rows);
        match self.way {
            Way::Update => {
                if one_chunk {
                    dispatches.push(of_rows(
                        Kernel::Link,
                        &[(Constant::Ordered, 1), (Constant::Lasts, 1)],
                    )?);
                } else {
                    let last = |chooses| of_rows(Kernel::Last, &[(Constant::Chooses, chooses)]);
                    dispatches.push(last(0)?);
                    if by_rows {
                        dispatches.push(last(1)?);
                    }
                }
                site.move_rows(&mut dispatches).map_err(NoPass::Failed)?;
            }
            Way::Atomic | Way::Unique => dispatches.push(site.combine()?),
            Way::Lists { ordered } => {
                if rows.len() > self.most_rows() {
                    return Err(NoPass::Rows);
                }
                let in_order = u32::from(ordered || one_chunk);
                let constants = [(Constant::Ordered, in_order), (Constant::Lasts, 0)];
                dispatches.push(of_rows(Kernel::Link, &constants)?);
                if ordered && !one_chunk {
                    dispatches.push(of_rows(Kernel::Order, &[])?);
                }
                dispatches.push(site.combine()?);
            }
        }
        // Several blocks can have the same rows. Only one of them reports the tuples out of range.
        let is_first = block.slices.start == 0 && block.run.start == 0 && block.rows.counts();
        if !self.is_strict() && is_first {
            let first_tuple = block.rows.first_tuple().wrapping_sub(first_row);
            dispatches[0] = reporting(dispatches[0].clone(), first_tuple);
        }
        let cleared = match first_row {
            0 if heads > 0 => {
                steps.numbers = Some((numbers, rows.start));
                heads * 4
            }
            _ => 0,
        };
        steps.cut.scratch = steps.cut.scratch.max(scratch);
        steps.push(cleared, dispatches);
        Ok(())
    }

    /// The number of lists of each slice, and the logarithm of the number of rows that share a list: see `chain.wgsl`.
    fn lists(&self, rows: usize, slices: usize) -> (usize, u32) {
        if self.way != (Way::Lists { ordered: true }) {
            return (1, 31);
        }
        let most = (rows / slices).clamp(1, MOST_LISTS);
        let of = |shift: u32| ((rows - 1) >> shift) + 1;
        let shift = (self.chunk().trailing_zeros()..31).find(|&shift| of(shift) <= most);
        let shift = shift.unwrap_or(31);
        (of(shift), shift)
    }

    /// The number of rows of a workgroup of `link.wgsl`.
    fn chunk(&self) -> usize {
        4 * self.cutter.reach.tuning.workgroup as usize
    }

    /// The number of units of a slice that an invocation combines.
    fn segment(&self) -> usize {
        if self.cutter.reach.tuning.loops { 4 } else { 1 }
    }

    /// The largest number of rows that are linked together. All of them can go to one slice, and an invocation follows
    /// their links for each of its units.
    ///
    /// On a GPU, an invocation waits half a microsecond for each link, so half a second for a million rows. A driver
    /// might mistake a longer wait for a hang. Lavapipe seems to leave every loop of an invocation after 65,535
    /// iterations in total.
    fn most_rows(&self) -> usize {
        match self.cutter.reach.tuning.loops {
            true => (1 << 15) / self.segment(),
            false => 1 << 20,
        }
    }

    /// Returns the data that the dispatches of a block share. Its rows have the numbers from `first_row` + 1 on. `None`
    /// if the block has too many rows.
    fn site<'a>(
        &'a self,
        block: &'a Block,
        first_row: usize,
        scratch: u64,
    ) -> Option<BlockPass<'a>> {
        let mut walk = block.rows.walk();
        let (indices, begin) = self.cutter.bind_tuples(&walk, self.tuples)?;
        // In this walk a row is a unit, even along a box.
        walk.dims.push(Dim::ONE);
        let rows = RunWalk::of(walk);
        let mut words = rows.words()?;
        set_tuples(&mut words, &rows.walk, self.tuples, begin);
        words.flags |= if self.is_strict() { flags::STRICT } else { 0 };
        words.first_row = u32::try_from(first_row).ok()?;
        words.first_slice = count(block.slices.start);
        Some(BlockPass {
            scatterer: self,
            block,
            words,
            of_walk: walk_constants(
                &rows.walk,
                rows.walk.units() * block.run.len(),
                &self.cutter.reach.tuning,
                Some(self.tuples),
            ),
            indices,
            scratch: Bound::first(SCRATCH, scratch),
            by_rows: false,
            fresh: false,
        })
    }
}

/// Makes a dispatch report tuples. Its first tuple has the number `first_tuple`.
fn reporting(mut dispatch: WalkDispatch, first_tuple: usize) -> WalkDispatch {
    dispatch.first_tuple = first_tuple;
    dispatch.uniforms.flags |= flags::REPORTS;
    dispatch
}

/// The data that the dispatches of a block share.
struct BlockPass<'a> {
    scatterer: &'a Scatterer<'a>,
    block: &'a Block,
    words: WalkWords,
    /// The constants of kernels that read tuples.
    of_walk: [(Constant, u32); 8],
    indices: Bound,
    scratch: Bound,
    /// Whether the last step goes through rows instead of slices.
    by_rows: bool,
    /// Whether the slices start as zeros.
    fresh: bool,
}

impl BlockPass<'_> {
    fn program(&self, kernel: Kernel, prelude: Prelude) -> Program {
        let workgroup = self.scatterer.cutter.reach.tuning.workgroup;
        let program = Program::new(kernel, prelude, workgroup);
        match kernel {
            Kernel::Order => program,
            Kernel::Combine | Kernel::CombineParts if self.scatterer.way != Way::Unique => program,
            _ => program.with(&self.of_walk),
        }
    }

    /// Makes the dispatch of a kernel whose invocations take rows and that writes to scratch memory.
    fn of_rows(&self, kernel: Kernel, constants: &[(Constant, u32)]) -> Option<WalkDispatch> {
        let rows = self.block.rows.count();
        let (together, bound) = match kernel {
            Kernel::Link => (self.scatterer.chunk(), vec![self.indices, self.scratch]),
            Kernel::Order => (self.workgroup(), vec![self.scratch]),
            _ => (self.workgroup(), vec![self.indices, self.scratch]),
        };
        let program = self.program(kernel, Prelude::None).with(constants);
        let (reach, groups) = (self.scatterer.cutter.reach, rows.div_ceil(together));
        WalkDispatch::of_walk(reach, program, self.words, groups, bound)
    }

    fn workgroup(&self) -> usize {
        self.scatterer.cutter.reach.tuning.workgroup as usize
    }

    /// Adds the dispatches of the last step of an update. Scratch memory holds their index tuples: the number of a row
    /// for each slice or, if rows are few, the number of a slice for each row.
    fn move_rows(&self, out: &mut Vec<WalkDispatch>) -> Result<(), Error> {
        let Scatterer {
            unit, pitch, apart, ..
        } = *self.scatterer;
        let slices = &self.block.slices;
        let (mut walk, positions, distance) = match self.by_rows {
            true => {
                let mut walk = self.block.moves.clone();
                walk.to += (slices.start * apart).cast_signed();
                walk.tuple = slices.len() * self.words.lists as usize;
                (walk, slices.len(), apart)
            }
            false => {
                let rows = self.block.rows.numbers();
                let outer = Dim {
                    to: pitch.cast_signed(),
                    ..Dim::own(slices.len(), 0)
                };
                let inner = Dim {
                    size: pitch,
                    ..Dim::ONE
                };
                let [from, to] = [&rows, slices].map(|all| (all.start * pitch).cast_signed());
                let mut walk = Walk::strided(unit, from, to, vec![outer, inner]);
                walk.columns = 1;
                (walk, rows.len(), pitch)
            }
        };
        walk.coordinates = vec![Coordinate::indexed(positions, distance.cast_signed(), 0)];
        let of_slices = self.words.first_row + 1;
        let tuples = Tuples {
            argument: SCRATCH,
            index: IndexType::U32,
            policy: Policy::default(),
            keeps: !self.fresh,
            first_index: if self.by_rows { 0 } else { of_slices },
        };
        let cutter = Cutter {
            tuples: Some(tuples),
            ..self.scatterer.cutter
        };
        cutter.cut(&walk, out)
    }

    /// Makes the dispatch that combines rows with slices.
    fn combine(&self) -> Result<WalkDispatch, NoPass> {
        let Scatterer { rule, way, .. } = *self.scatterer;
        let (unit, pitch) = (self.scatterer.unit, self.scatterer.pitch);
        let Cutter { reach, places, .. } = self.scatterer.cutter;
        let Block { slices, run, .. } = self.block;
        let (rows, number) = (self.block.rows.numbers(), rule.number);
        let bind = |argument, of: &Range<usize>| {
            let first = ((of.start * pitch + run.start) * unit) as u64;
            let end = (((of.end - 1) * pitch + run.end) * unit) as u64;
            let bound = places.bind(reach, argument, first, end);
            bound.filter(|(bound, _)| bound.span.bytes / number as u64 <= reach.units)
        };
        let (source, from) = bind(SOURCE, &rows).ok_or(NoPass::Rows)?;
        let (dest, to) = bind(DEST, slices).ok_or(NoPass::Slices)?;
        let (owners, stop) = match self.by_rows {
            true => (rows.len(), NoPass::Rows),
            false => (slices.len(), NoPass::Slices),
        };
        let bytes = run.len() * unit;
        let is_long = |rows: usize| (rows * bytes) as u64 > reach.dispatch;
        if is_long(rows.len()) {
            return Err(NoPass::Rows);
        }
        if is_long(owners) {
            return Err(stop);
        }
        let wide = match common_power_of_two(16, [bytes, pitch * unit, from, to]) {
            whole @ 4.. if way != Way::Atomic => whole,
            _ => number,
        };
        let [units, apart, updates, to_base] =
            [bytes, pitch * unit, from, to].map(|bytes| bytes / wide);
        let of_word = 4 / wide;
        let (segments, segment) = match of_word {
            0 | 1 => {
                let segment = self.scatterer.segment();
                (units.div_ceil(segment), segment)
            }
            // The largest number of words that a slice touches: it can begin anywhere in a word.
            _ => ((units - 1).div_ceil(of_word) + 1, 1),
        };
        let invocations = match of_word {
            // One invocation for each word of all slices.
            2.. if !self.by_rows => {
                let elements = (slices.len() - 1) * apart + units;
                (to_base % of_word + elements).div_ceil(of_word)
            }
            _ => owners * segments,
        };
        let words = WalkWords {
            run: count(units),
            pitch: count(apart),
            updates: count(updates),
            to_base: count(to_base),
            segments: count(segments),
            segment: count(segment),
            ..self.words
        };
        let parts = [
            (Constant::Element, count(number.min(2))),
            (Constant::Rule, rule.parts),
            (Constant::ByRows, u32::from(self.by_rows)),
            (Constant::Fresh, u32::from(self.fresh)),
            (Constant::Unique, u32::from(way == Way::Unique)),
        ];
        let combine = (Constant::Combine, rule.combine);
        let loops = (Constant::Loops, u32::from(reach.tuning.loops));
        let program = match way {
            Way::Atomic => self
                .program(Kernel::Atomic, Prelude::Integer(rule.numbers == SIGNED))
                .with(&[combine]),
            _ if wide < 4 => self
                .program(Kernel::CombineParts, Prelude::None)
                .with(&parts),
            _ => self
                .program(Kernel::Combine, Prelude::Words(wide))
                .with(&[combine, (Constant::Numbers, rule.numbers), loops])
                .with(&parts),
        };
        let first = match self.scatterer.is_direct() {
            true => self.indices,
            false => self.scratch,
        };
        // Shaders count invocations in 32 bits.
        if i32::try_from(invocations).is_err() {
            return Err(stop);
        }
        let groups = invocations.div_ceil(self.workgroup());
        let bound = vec![first, source, dest];
        WalkDispatch::of_walk(reach, program, words, groups, bound).ok_or(stop)
    }
}
