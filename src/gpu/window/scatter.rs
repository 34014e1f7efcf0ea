//! A scatter is cut into blocks: some rows, some slices, and a stretch of each.
//!
//! Every block goes through all steps before the next begins, and the rows of a later block come later:
//! what the blocks add up to is what all rows do one after the other. So the device keeps no more about
//! rows than those of one block.

use super::{Dispatch, Places, Reach, Span, stretch::Stretch, wrap};
use crate::{
    Error,
    gpu::{
        caps::Kind,
        grid::Grid,
        kernel::{Indexed, Kernel, Scattering},
        op::Op,
        params::{self, Flags, IndexedMap, Params},
        rule::Rule,
        width::Width,
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

/// Rows that an invocation looks at to sort those of their slices. See `scatter_sort.wgsl`.
fn looked_at(kind: Kind) -> usize {
    match kind {
        Kind::Hardware => 1,
        Kind::Software => 16,
    }
}

/// Elements of a row, at most, that are combined by atomics, one after the other.
const MOST_ATOMIC: usize = 4;

/// What a scatter needs of the device while it runs, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scratch {
    /// A word for each slice of a block, behind one more.
    pub(crate) head: u64,
    /// What is kept of each row of a block.
    pub(crate) rows: u64,
}

impl Scratch {
    fn max(self, other: Self) -> Self {
        Self {
            head: self.head.max(other.head),
            rows: self.rows.max(other.rows),
        }
    }
}

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
    /// The operation of the last dispatch, which changes the destination.
    pub(crate) op: Op,
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
        if let Some(dispatch) = self.resolve(rows, slices, true) {
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
        let resolve = self.resolve(rows, slices, false).ok_or(Cut::Rows)?;
        let counts = slices.first == 0
            && run.first == 0
            && self.map.options.out_of_range != OutOfRange::Error;
        if self.atomic {
            return self.atomic_step(block, Dispatch { counts, ..resolve });
        }
        let words = if self.chains { 2 } else { 1 };
        let scratch = Scratch {
            head: (slices.len as u64 + 1) * 4,
            rows: rows.len.next_multiple_of(FOUR) as u64 * words * 4,
        };
        let whole = |bytes| Span {
            part: 0,
            offset: 0,
            bytes,
        };
        let (head, entries) = (whole(scratch.head), whole(scratch.rows));
        let moved = rows.len as u64 * run.len as u64;
        if self.bytes(moved) > self.reach.dispatch || scratch.rows > self.reach.binding {
            return Err(Cut::Rows);
        }
        if scratch.head > self.reach.binding {
            return Err(Cut::Slices);
        }
        let [(source, source_base), (dest, dest_base)] = self.bound(block)?;
        let sort = if self.sorts {
            let looked_at = looked_at(self.reach.kind);
            let grid = self.tiles(rows.len.div_ceil(looked_at)).ok_or(Cut::Rows)?;
            Some(Dispatch {
                kernel: Kernel::of(Width::whole(4), grid.shape),
                params: Params {
                    segment: wrap(looked_at as i64),
                    map: params::scatter_map(self.rows.run),
                    ..dealt(&grid, resolve.params)
                },
                height: grid.height,
                spans: [head, entries, Span::default(), Span::default()],
                counts: false,
                ..resolve
            })
        } else {
            None
        };
        let factor = self.factor(source_base | dest_base | run.len as u64);
        let unit = self.rows.unit * factor;
        let dealt_out = self.grid(rows.len, run.len / factor, unit);
        let (grid, grid_run) = dealt_out.ok_or(Cut::Rows)?;
        let walked = (grid.segment as usize).min(grid_run);
        if self.chains && rows.len > most_combined(self.reach.kind, self.sorts, walked) {
            return Err(Cut::Rows);
        }
        let apply = Dispatch {
            kernel: Kernel {
                scatter: Scattering {
                    rule: self.rule,
                    ..Scattering::default()
                },
                ..Kernel::of(Width::whole(unit), grid.shape)
            },
            params: Params {
                flags: Flags {
                    strict: self.map.options.out_of_range == OutOfRange::Error,
                    ..Flags::default()
                }
                .word(),
                run: wrap(grid_run as i64),
                units: wrap((run.len / factor) as i64),
                source_base: wrap((source_base / factor as u64).cast_signed()),
                dest_base: wrap((dest_base / factor as u64).cast_signed()),
                map: params::scatter_map(self.rows.run / factor),
                ..dealt(&grid, resolve.params)
            },
            height: grid.height,
            spans: [source, dest, head, entries],
            counts: false,
            first_tuple: rows.first,
        };
        let before = Before {
            cleared: scratch.head,
            // Each row is looked at by several blocks, and counted by one.
            resolve: Dispatch {
                spans: [head, entries, resolve.spans[2], Span::default()],
                counts,
                ..resolve
            },
            sort,
        };
        let op = match self.chains {
            true => Op::ScatterCombine,
            false => Op::ScatterMove,
        };
        let step = Step {
            before: Some(before),
            op,
            apply,
        };
        Ok((step, scratch))
    }

    /// The step of a block whose rows are combined as they are resolved.
    fn atomic_step(&self, block: &Block, resolve: Dispatch) -> Result<(Step, Scratch), Cut> {
        let Block { rows, run, .. } = *block;
        if self.bytes(rows.len as u64 * run.len as u64) > self.reach.dispatch {
            return Err(Cut::Rows);
        }
        let [(source, source_base), (dest, dest_base)] = self.bound(block)?;
        let apply = Dispatch {
            kernel: Kernel {
                scatter: Scattering {
                    rule: self.rule,
                    ..Scattering::default()
                },
                ..resolve.kernel
            },
            params: Params {
                run: wrap(run.len as i64),
                step: wrap(self.rows.run as i64),
                source_base: wrap(source_base.cast_signed()),
                dest_base: wrap(dest_base.cast_signed()),
                ..resolve.params
            },
            spans: [source, dest, resolve.spans[2], Span::default()],
            ..resolve
        };
        let step = Step {
            before: None,
            op: Op::ScatterAtomic,
            apply,
        };
        Ok((step, Scratch::default()))
    }

    /// The dispatch that finds where rows go, if their tuples fit in a binding. What it binds of the
    /// device's own is left open.
    fn resolve(&self, rows: Stretch, slices: Stretch, checks: bool) -> Option<Dispatch> {
        let (from, to) = (rows.first as u64, (rows.first + rows.len) as u64);
        let (indices, residue) =
            self.reach
                .span(self.places.indices, from * self.tuple, to * self.tuple)?;
        if indices.bytes / 4 > self.reach.units {
            return None;
        }
        let grid = self.tiles(rows.len.div_ceil(FOUR))?;
        let index_base = residue / 4;
        // The same pipeline serves where bad rows are dropped and where they forbid everything.
        let mut policy = self.map.policy();
        if policy.out_of_range == OutOfRange::Error {
            policy.out_of_range = OutOfRange::Zero;
        }
        let depth = self.map.axes.len();
        let quads = rows.len.is_multiple_of(FOUR) && index_base.is_multiple_of(4);
        let mut map = self.axes;
        map.axes[0] = [index_base, slices.first as u64].map(|word| wrap(word.cast_signed()));
        let params = Params {
            run: 1,
            step: 1,
            units: wrap(rows.len as i64),
            tiles: 0,
            segment: 0,
            grid: 0,
            flags: Flags {
                dims: depth,
                index: self.places.index,
                policy,
                checks,
                combine: self.rule.combine_number(),
                ..Flags::default()
            }
            .word(),
            window: wrap(slices.len as i64),
            source_base: 0,
            dest_base: 0,
            first: 0,
            count: u32::MAX,
            map: bytemuck::cast(map),
        };
        Some(Dispatch {
            kernel: Kernel {
                indexed: match params::is_plain(&self.map.axes, 0, u32::MAX, policy) {
                    true if Indexed::UNROLLED.contains(&depth) => Indexed::of(self.places.index)
                        .plain(depth, true)
                        .quads(quads),
                    _ => Indexed::of(self.places.index),
                },
                scatter: Scattering {
                    chains: self.chains && !checks,
                    looks: self.reach.kind == Kind::Software,
                    ..Scattering::default()
                },
                ..Kernel::of(Width::whole(4), grid.shape)
            },
            params: dealt(&grid, params),
            height: grid.height,
            spans: [Span::default(), Span::default(), indices, Span::default()],
            counts: true,
            first_tuple: rows.first,
        })
    }

    /// How many units are moved or combined as one, if places and lengths are multiples of as many.
    fn factor(&self, common: u64) -> usize {
        if self.rows.unit < 4 {
            return 1;
        }
        let common = common | self.rows.run as u64;
        1 << common
            .trailing_zeros()
            .min((Width::MAX / self.rows.unit).ilog2())
    }

    /// The bindings of a block's updates and slices, and the place of the first unit in each.
    fn bound(&self, block: &Block) -> Result<[(Span, u64); 2], Cut> {
        let Block { rows, slices, run } = *block;
        let source = self.stretch(self.places.source, rows, run);
        let dest = self.stretch(self.places.dest, slices, run);
        Ok([source.ok_or(Cut::Rows)?, dest.ok_or(Cut::Slices)?])
    }

    /// The binding of a stretch of some slices or updates, and the place of the first unit in it.
    fn stretch(&self, parts: super::Parts, of: Stretch, run: Stretch) -> Option<(Span, u64)> {
        let whole = self.rows.run as u64;
        let begin = of.first as u64 * whole + run.first as u64;
        let length = (of.len as u64 - 1) * whole + run.len as u64;
        let (span, residue) =
            self.reach
                .span(parts, self.bytes(begin), self.bytes(begin + length))?;
        let base = residue / self.rows.unit as u64;
        (base + length <= self.reach.units).then_some((span, base))
    }

    /// The grid for rows of `run` units that go to places of their own, and what the shader takes for the
    /// run: words, where units are smaller.
    fn grid(&self, rows: usize, run: usize, unit: usize) -> Option<(Grid, usize)> {
        let per_word = 4usize.div_ceil(unit);
        // Wherever in a word a row begins, it lies in at most so many.
        let words = (run - 1).div_ceil(per_word) + 1;
        let rows = Rows {
            unit: unit.max(4),
            count: rows,
            run: if unit < 4 { words } else { run },
            step: 1,
        };
        let grid = match self.chains || unit < 4 {
            true => Grid::one_by_one(&rows, self.reach),
            false => Grid::of(&rows, 0, self.reach),
        };
        Some((grid?, rows.run))
    }

    /// The grid for so many tiles, an invocation each.
    fn tiles(&self, count: usize) -> Option<Grid> {
        let rows = Rows {
            unit: 4,
            count,
            run: 1,
            step: 1,
        };
        Grid::one_by_one(&rows, self.reach)
    }

    fn bytes(&self, units: u64) -> u64 {
        units * self.rows.unit as u64
    }

    fn too_small(&self) -> Error {
        self.reach.too_small(self.rows.unit)
    }
}

/// The same, dealt out so.
fn dealt(grid: &Grid, params: Params) -> Params {
    Params {
        tiles: grid.tiles,
        segment: grid.segment,
        grid: grid.word(),
        ..params
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
