//! A scatter is cut into blocks: some rows, some slices, and a stretch of each.
//!
//! Every block goes through all steps before the next begins, and the rows of a later block come later:
//! what the blocks add up to is what all rows do one after the other. So the device keeps no more about
//! rows than those of one block.

use super::{Dispatch, Places, Reach, Span, wrap};
use crate::{
    Error,
    gpu::{
        grid::Grid,
        params::{self, Params, ScatterMap},
        rule::Rule,
        variant::{Kernel, Scattering},
        width::Width,
    },
    ops::{
        index::{OutOfRange, Policy},
        scatter_nd::{Map, Order},
    },
    plan::Rows,
};

/// Words that are kept of a row of a block: `Entry` in the shaders.
const ENTRY_WORDS: u64 = 3;

/// Rows of a block, at most, where they are combined: one invocation may have to walk them all, which must
/// not be taken for a hang.
const MOST_COMBINED: usize = 1 << 16;

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
}

/// What is done for a block.
#[derive(Debug)]
pub(crate) struct Step {
    /// The stretch of `head` that must be zeros before.
    pub(crate) cleared: Scratch,
    pub(crate) resolve: Dispatch,
    pub(crate) sort: Option<Dispatch>,
    pub(crate) apply: Dispatch,
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
        map: params::scatter_map(map, rows.run)?,
        dims: map.axes.len(),
        scatter: Scattering {
            index: places.index,
            policy: map.policy(),
            checks: false,
            chains,
            sorted: chains && rule.depends_on_order() && map.options.order == Order::Deterministic,
            rule,
        },
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
    map: ScatterMap,
    dims: usize,
    scatter: Scattering,
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
        let (head, tail) = rows.halves().ok_or_else(|| self.too_small())?;
        self.checks(head, out)?;
        self.checks(tail, out)
    }

    /// Pushes the steps of a block.
    fn blocks(&self, block: &Block, out: &mut Steps) -> Result<(), Error> {
        let halves = match self.step(block) {
            Ok((step, scratch)) => {
                out.scratch = out.scratch.max(scratch);
                out.blocks.push(step);
                return Ok(());
            }
            Err(Cut::Rows) => block.halves(|block| &mut block.rows),
            Err(Cut::Slices) => block.halves(|block| &mut block.slices),
        };
        let halves = halves.or_else(|| block.halves(|block| &mut block.run));
        let (head, tail) = halves.ok_or_else(|| self.too_small())?;
        self.blocks(&head, out)?;
        self.blocks(&tail, out)
    }

    fn step(&self, block: &Block) -> Result<(Step, Scratch), Cut> {
        let Block { rows, slices, run } = *block;
        let resolve = self.resolve(rows, slices, false).ok_or(Cut::Rows)?;
        let scratch = Scratch {
            head: (slices.len as u64 + 1) * 4,
            rows: rows.len as u64 * ENTRY_WORDS * 4,
        };
        let whole = |bytes| Span {
            part: 0,
            offset: 0,
            bytes,
        };
        let (head, entries) = (whole(scratch.head), whole(scratch.rows));
        let moved = rows.len as u64 * run.len as u64;
        let combined = self.scatter.chains;
        if self.bytes(moved) > self.reach.dispatch
            || scratch.rows > self.reach.binding
            || combined && rows.len > MOST_COMBINED
        {
            return Err(Cut::Rows);
        }
        if scratch.head > self.reach.binding {
            return Err(Cut::Slices);
        }
        let (source, source_base) = self
            .stretch(self.places.source, rows, run)
            .ok_or(Cut::Rows)?;
        let (dest, dest_base) = self
            .stretch(self.places.dest, slices, run)
            .ok_or(Cut::Slices)?;
        let (grid, grid_run) = self.grid(rows.len, run.len).ok_or(Cut::Rows)?;
        let sort = self.scatter.sorted.then(|| Dispatch {
            kernel: Kernel::of(Width::whole(4), 0, resolve.kernel.grid),
            spans: [head, entries, Span::default(), Span::default()],
            counts: false,
            ..resolve
        });
        let apply = Dispatch {
            kernel: Kernel {
                scatter: self.applying(),
                ..Kernel::of(Width::whole(self.rows.unit), 0, grid.shape)
            },
            params: Params {
                run: wrap(grid_run as i64),
                units: wrap(run.len as i64),
                tiles: grid.tiles,
                segment: grid.segment,
                lanes_log2: grid.lanes_log2,
                grid_width: grid.width,
                source_base: wrap(source_base.cast_signed()),
                dest_base: wrap(dest_base.cast_signed()),
                ..resolve.params
            },
            height: grid.height,
            spans: [source, dest, head, entries],
            counts: false,
            first_tuple: rows.first,
        };
        let step = Step {
            cleared: scratch,
            // Each row is looked at by several blocks, and counted by one.
            resolve: Dispatch {
                spans: [resolve.spans[0], head, entries, Span::default()],
                counts: slices.first == 0
                    && run.first == 0
                    && self.scatter.policy.out_of_range != OutOfRange::Error,
                ..resolve
            },
            sort,
            apply,
        };
        Ok((step, scratch))
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
        let tuples = Rows {
            unit: 4,
            count: rows.len,
            run: 1,
            step: 1,
        };
        let grid = Grid::one_by_one(&tuples, self.reach)?;
        let word = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        let map = ScatterMap {
            index_base: wrap((residue / 4).cast_signed()),
            first_slice: word(slices.first),
            slices: word(slices.len),
            ..self.map
        };
        Some(Dispatch {
            kernel: Kernel {
                scatter: self.resolving(checks),
                ..Kernel::of(Width::whole(4), self.dims, grid.shape)
            },
            params: Params {
                run: 1,
                step: 1,
                units: 1,
                tiles: grid.tiles,
                segment: grid.segment,
                lanes_log2: grid.lanes_log2,
                grid_width: grid.width,
                window: u32::MAX,
                source_base: 0,
                dest_base: 0,
                first: 0,
                count: u32::MAX,
                map: bytemuck::cast(map),
            },
            height: grid.height,
            spans: [indices, Span::default(), Span::default(), Span::default()],
            counts: true,
            first_tuple: rows.first,
        })
    }

    /// What the shader that finds where rows go is told, and nothing else, so that few are made.
    fn resolving(&self, checks: bool) -> Scattering {
        let Scattering {
            index,
            mut policy,
            chains,
            ..
        } = self.scatter;
        if policy.out_of_range == OutOfRange::Error {
            policy.out_of_range = OutOfRange::Zero;
        }
        Scattering {
            index,
            policy,
            checks,
            chains: chains && !checks,
            ..Scattering::default()
        }
    }

    /// The same for the one that takes them there.
    fn applying(&self) -> Scattering {
        let strict = self.scatter.policy.out_of_range == OutOfRange::Error;
        let out_of_range = if strict {
            OutOfRange::Error
        } else {
            OutOfRange::Zero
        };
        let Scattering {
            sorted,
            rule,
            chains,
            ..
        } = self.scatter;
        Scattering {
            policy: Policy {
                out_of_range,
                ..Policy::default()
            },
            sorted,
            rule: if chains { rule } else { Rule::default() },
            ..Scattering::default()
        }
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
    fn grid(&self, rows: usize, run: usize) -> Option<(Grid, usize)> {
        let unit = self.rows.unit;
        let per_word = 4usize.div_ceil(unit);
        // Wherever in a word a row begins, it lies in at most so many.
        let words = (run - 1).div_ceil(per_word) + 1;
        let rows = Rows {
            unit: unit.max(4),
            count: rows,
            run: if unit < 4 { words } else { run },
            step: 1,
        };
        let grid = match self.scatter.chains || unit < 4 {
            true => Grid::one_by_one(&rows, self.reach),
            false => Grid::of(&rows, 0, self.reach),
        };
        Some((grid?, rows.run))
    }

    fn bytes(&self, units: u64) -> u64 {
        units * self.rows.unit as u64
    }

    fn too_small(&self) -> Error {
        self.reach.too_small(self.rows.unit)
    }
}

/// A stretch of a dimension.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    first: usize,
    len: usize,
}

impl Stretch {
    fn all(len: usize) -> Self {
        Self { first: 0, len }
    }

    fn halves(self) -> Option<(Self, Self)> {
        let half = self.len / 2;
        let head = Self { len: half, ..self };
        let tail = Self {
            first: self.first + half,
            len: self.len - half,
        };
        (half > 0).then_some((head, tail))
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
    fn halves(&self, stretch: impl Fn(&mut Self) -> &mut Stretch) -> Option<(Self, Self)> {
        let (mut head, mut tail) = (*self, *self);
        let (first, second) = stretch(&mut head).halves()?;
        *stretch(&mut head) = first;
        *stretch(&mut tail) = second;
        Some((head, tail))
    }
}
