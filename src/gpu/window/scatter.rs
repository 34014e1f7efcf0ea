//! A scatter is cut into blocks: some rows, some slices, and a stretch of each.
//!
//! Every block goes through all steps before the next begins, and the rows of a later block come later:
//! what the blocks add up to is what all rows do one after the other. So the device keeps no more about
//! rows than those of one block.

use super::{Bound, Dispatch, Places, Reach, RowMap, Span, kernels, stretch::Stretch};
use crate::{
    Error,
    gpu::{
        caps::Kind,
        job::Job,
        maps::{Atomic, Resolve, Scatter, Sort},
        params::{self, IndexedMap, wrap},
        rule::Rule,
        scratch::Scratch,
    },
    ops::{
        index::OutOfRange,
        scatter_nd::{Map, Order},
    },
    plan::Rows,
};

/// Rows that find their slices together.
const FOUR: usize = 4;

/// Rows of a block, at most, where they are combined: one invocation may have to walk them all, `run` times,
/// which must not be taken for a hang.
///
/// Lavapipe seems to leave every loop of an invocation after 65 535 rounds of them all. Sorting
/// takes one and a half rounds for each row and each doubling of what is sorted: 41 000 for 2048 rows.
fn most_combined(kind: Kind, sorts: bool, run: usize) -> usize {
    match kind {
        Kind::Hardware => 1 << 16,
        Kind::Software if sorts => (ROUNDS / run).clamp(1, 1 << 11),
        Kind::Software => (ROUNDS / run).max(1),
    }
}

/// Rounds of loops that walk rows, at most, in an invocation of a software adapter.
const ROUNDS: usize = 1 << 15;

/// Elements of a row, at most, that are combined by atomics, one after the other.
const MOST_ATOMIC: usize = 4;

/// What is done for a scatter, in this order.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    /// Look at all rows, where a bad one forbids everything.
    pub(crate) checks: Vec<Dispatch>,
    pub(crate) blocks: Vec<Step>,
    pub(crate) scratch: Scratch,
    /// The block before which `head` was cleared last.
    cleared: Option<Block>,
}

impl Steps {
    /// Numbers the rows of a block so that those of earlier ones need not be cleared: they are less. Where
    /// others left something in `head`, or numbers would become too large, it begins anew.
    fn number(&mut self, block: &Block, before: &mut Before, apply: &mut Dispatch) {
        let continued = self.cleared.filter(|cleared| {
            let end = block.rows.first + block.rows.len;
            (cleared.slices, cleared.run) == (block.slices, block.run)
                && end - cleared.rows.first < i32::MAX as usize
        });
        if continued.is_some() {
            before.cleared = 0;
        }
        let cleared = *self.cleared.insert(continued.unwrap_or(*block));
        let number = wrap((block.rows.first - cleared.rows.first) as i64);
        before.resolve.params.dest_base = number;
        apply.params.first = number;
        if let Some(sort) = &mut before.sort {
            sort.params.first = number;
        }
    }
}

/// What is done for a block.
#[derive(Debug)]
pub(crate) struct Step {
    /// None where rows need to know nothing of each other.
    pub(crate) before: Option<Before>,
    /// The last dispatch, which changes the destination.
    pub(crate) apply: Dispatch,
}

/// What is found out about the rows of a block.
#[derive(Debug)]
pub(crate) struct Before {
    /// Bytes of `head` that must be zeros before.
    pub(crate) cleared: u64,
    pub(crate) resolve: Dispatch,
    pub(crate) sort: Option<Dispatch>,
}

/// The steps of a scatter that is not empty, combined by `rule` unless they only move.
pub(crate) fn scatter_steps(
    reach: &Reach,
    rows: &Rows,
    map: &Map,
    places: &Places,
    rule: Rule,
) -> Result<Steps, Error> {
    let chains = map.options.combine.computes();
    let cutter = Cutter {
        reach,
        rows,
        places,
        tuple: map.axes.len() as u64 * places.index.bytes() as u64,
        map,
        axes: params::resolve_map(map)?,
        chains,
        atomic: chains
            && rule.is_atomic()
            && rows.unit == 4
            && rows.run <= MOST_ATOMIC
            && map.options.out_of_range != OutOfRange::Error,
        sorts: chains && rule.depends_on_order() && map.options.order == Order::Deterministic,
        rule,
    };
    let mut steps = Steps::default();
    let all = Block {
        rows: Stretch::all(rows.count),
        slices: Stretch::all(map.slices),
        run: Stretch::all(rows.run),
    };
    if map.options.out_of_range == OutOfRange::Error {
        cutter.checks(all.rows, &mut steps.checks)?;
    }
    cutter.blocks(&all, &mut steps)?;
    Ok(steps)
}

struct Cutter<'a> {
    reach: &'a Reach,
    rows: &'a Rows,
    places: &'a Places,
    /// Bytes of an index tuple.
    tuple: u64,
    map: &'a Map,
    /// Where the shader looks for slices, but for the first tuple.
    axes: IndexedMap,
    chains: bool,
    /// Whether rows are combined with no regard to each other.
    atomic: bool,
    sorts: bool,
    rule: Rule,
}

/// What is too large.
enum Cut {
    Rows,
    Slices,
}

impl Cutter<'_> {
    /// Pushes the dispatches that look at all rows.
    fn checks(&self, rows: Stretch, out: &mut Vec<Dispatch>) -> Result<(), Error> {
        // They need not be bound to check.
        let slices = Stretch { first: 0, len: 0 };
        if let Some(dispatch) = self.resolve(rows, slices, true, Default::default()) {
            out.push(dispatch);
            return Ok(());
        }
        let [head, tail] = rows.halves().ok_or_else(|| self.too_small())?;
        self.checks(head, out)?;
        self.checks(tail, out)
    }

    /// Pushes the steps of a block.
    fn blocks(&self, block: &Block, out: &mut Steps) -> Result<(), Error> {
        let halves = match self.step(block) {
            Ok((mut step, scratch)) => {
                out.scratch = out.scratch.max(scratch);
                if let Some(before) = &mut step.before {
                    out.number(block, before, &mut step.apply);
                }
                out.blocks.push(step);
                return Ok(());
            }
            Err(Cut::Rows) => block.halves(|block| &mut block.rows),
            Err(Cut::Slices) => block.halves(|block| &mut block.slices),
        };
        let halves = halves.or_else(|| block.halves(|block| &mut block.run));
        let [head, tail] = halves.ok_or_else(|| self.too_small())?;
        self.blocks(&head, out)?;
        self.blocks(&tail, out)
    }

    fn step(&self, block: &Block) -> Result<(Step, Scratch), Cut> {
        let Block { rows, slices, run } = *block;
        let counts = slices.first == 0
            && run.first == 0
            && self.map.options.out_of_range != OutOfRange::Error;
        // Each row is looked at by several blocks, and counted by one.
        let moved = rows.len as u64 * run.len as u64;
        if self.bytes(moved) > self.reach.dispatch {
            return Err(Cut::Rows);
        }
        if self.atomic {
            return self.atomic_step(block, counts);
        }
        let words = if self.chains { 2 } else { 1 };
        let scratch = Scratch {
            head: (slices.len as u64 + 1) * 4,
            rows: rows.len.next_multiple_of(FOUR) as u64 * words * 4,
        };
        if scratch.rows > self.reach.binding {
            return Err(Cut::Rows);
        }
        if scratch.head > self.reach.binding {
            return Err(Cut::Slices);
        }
        let whole = |bytes| Span {
            part: 0,
            offset: 0,
            bytes,
        };
        let scratch_spans = [whole(scratch.head), whole(scratch.rows)];
        let [source, dest] = self.bound(block)?;
        let moves_bytes = self.rows.unit < 4 && !self.chains;
        if moves_bytes && !kernels::reaches(&[dest.span]) {
            return Err(Cut::Slices);
        }
        let map = Scatter {
            pitch: self.rows.run,
            first: 0,
            strict: self.map.options.out_of_range == OutOfRange::Error,
            combines: self.chains,
            rule: self.rule,
        };
        let updates = Rows {
            count: rows.len,
            run: run.len,
            step: 1,
            ..*self.rows
        };
        let apply = Job {
            others: scratch_spans,
            ..self.job(updates, RowMap::Scatter(map), [source, dest])
        };
        let apply = self.dispatch(&apply).ok_or(Cut::Rows)?;
        let walked = apply.params.segment.min(apply.params.run) as usize;
        if self.chains && rows.len > most_combined(self.reach.kind, self.sorts, walked) {
            return Err(Cut::Rows);
        }
        let resolve = self
            .resolve(rows, slices, false, scratch_spans)
            .ok_or(Cut::Rows)?;
        let [head, entries] = scratch_spans.map(|span| Bound { span, base: 0 });
        let sort = match self.sorts {
            false => None,
            true => {
                let job = self.job(
                    tuples(rows),
                    RowMap::Sort(Sort { first: 0 }),
                    [head, entries],
                );
                Some(self.dispatch(&job).ok_or(Cut::Rows)?)
            }
        };
        let before = Before {
            cleared: scratch.head,
            resolve: Dispatch { counts, ..resolve },
            sort,
        };
        let apply = Dispatch {
            first_tuple: rows.first,
            ..apply
        };
        let step = Step {
            before: Some(before),
            apply,
        };
        Ok((step, scratch))
    }

    /// The step of a block whose rows are combined as they are resolved.
    fn atomic_step(&self, block: &Block, counts: bool) -> Result<(Step, Scratch), Cut> {
        let Block { rows, slices, run } = *block;
        let (resolve, indices) = self.tuples(rows, slices, false).ok_or(Cut::Rows)?;
        let map = Atomic {
            resolve,
            run: run.len,
            pitch: self.rows.run,
            rule: self.rule,
        };
        let job = Job {
            others: [indices, Span::default()],
            ..self.job(tuples(rows), RowMap::Atomic(map), self.bound(block)?)
        };
        let apply = Dispatch {
            counts,
            first_tuple: rows.first,
            ..self.dispatch(&job).ok_or(Cut::Rows)?
        };
        let step = Step {
            before: None,
            apply,
        };
        Ok((step, Scratch::default()))
    }

    /// The dispatch that finds where rows go, if their tuples fit in a binding.
    fn resolve(
        &self,
        rows: Stretch,
        slices: Stretch,
        checks: bool,
        scratch: [Span; 2],
    ) -> Option<Dispatch> {
        let (map, indices) = self.tuples(rows, slices, checks)?;
        let bound = scratch.map(|span| Bound { span, base: 0 });
        let job = Job {
            others: [indices, Span::default()],
            ..self.job(tuples(rows), RowMap::Resolve(map), bound)
        };
        Some(Dispatch {
            counts: true,
            first_tuple: rows.first,
            ..self.dispatch(&job)?
        })
    }

    /// How slices are found by the tuples of some rows, and the binding of these, if they fit in one.
    fn tuples(&self, rows: Stretch, slices: Stretch, checks: bool) -> Option<(Resolve, Span)> {
        let (from, to) = (rows.first as u64, (rows.first + rows.len) as u64);
        let (indices, residue) =
            self.reach
                .span(self.places.indices, from * self.tuple, to * self.tuple)?;
        if indices.bytes / 4 > self.reach.units {
            return None;
        }
        let index_base = residue / 4;
        let policy = self.map.policy();
        let resolve = Resolve {
            map: self.axes,
            depth: self.map.axes.len(),
            policy,
            is_plain: params::is_plain(&self.map.axes, 0, u32::MAX, policy),
            index: self.places.index,
            index_base: wrap(index_base.cast_signed()),
            whole_fours: rows.len.is_multiple_of(FOUR) && index_base.is_multiple_of(4),
            slices: (slices.first, slices.len),
            checks,
            chains: self.chains && !checks,
        };
        Some((resolve, indices))
    }

    /// What one dispatch has to do.
    fn job(&self, rows: Rows, map: RowMap, [source, dest]: [Bound; 2]) -> Job<'_> {
        Job {
            reach: self.reach,
            rows,
            map,
            source,
            dest,
            others: Default::default(),
            whole_vectors: false,
        }
    }

    /// The maps of a scatter have no more dimensions than shaders hold: `resolve_map` has seen to it.
    fn dispatch(&self, job: &Job<'_>) -> Option<Dispatch> {
        kernels::dispatch(job).ok().flatten()
    }

    /// The bindings of a block's updates and slices, and the place of the first unit in each.
    fn bound(&self, block: &Block) -> Result<[Bound; 2], Cut> {
        let Block { rows, slices, run } = *block;
        let source = self.stretch(self.places.source, rows, run);
        let dest = self.stretch(self.places.dest, slices, run);
        Ok([source.ok_or(Cut::Rows)?, dest.ok_or(Cut::Slices)?])
    }

    /// The binding of a stretch of some slices or updates, and the first unit in it.
    fn stretch(&self, parts: super::Parts, of: Stretch, run: Stretch) -> Option<Bound> {
        let whole = self.rows.run as u64;
        let begin = of.first as u64 * whole + run.first as u64;
        let length = (of.len as u64 - 1) * whole + run.len as u64;
        let (span, residue) =
            self.reach
                .span(parts, self.bytes(begin), self.bytes(begin + length))?;
        let base = residue / self.rows.unit as u64;
        (base + length <= self.reach.units).then_some(Bound {
            span,
            base: base.cast_signed(),
        })
    }

    fn bytes(&self, units: u64) -> u64 {
        units * self.rows.unit as u64
    }

    fn too_small(&self) -> Error {
        self.reach.too_small(self.rows.unit)
    }
}

/// Rows as their tuples are looked up.
fn tuples(rows: Stretch) -> Rows {
    Rows {
        unit: 4,
        count: rows.len,
        run: 1,
        step: 1,
    }
}

/// Some rows as far as they go to some slices, and of those a stretch.
#[derive(Clone, Copy, Debug)]
struct Block {
    rows: Stretch,
    slices: Stretch,
    run: Stretch,
}

impl Block {
    /// Halves of one of its stretches.
    fn halves(mut self, stretch: impl Fn(&mut Self) -> &mut Stretch) -> Option<[Self; 2]> {
        let halves = stretch(&mut self).halves()?;
        Some(halves.map(|half| {
            *stretch(&mut self) = half;
            self
        }))
    }
}
