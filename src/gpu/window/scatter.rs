//! A scatter is cut into blocks: some rows, some slices, and a interval of each.
//!
//! Every block goes through all steps before the next begins, and the rows of a later block come later:
//! what the blocks add up to is what all rows do one after the other. So the device keeps no more about
//! rows than those of one block.

use super::{
    Bound, Dispatch, Places, Reach, RowMap, Span,
    interval::Interval,
    kernels,
    steps::{Before, Block, Step, Steps},
};
use crate::{
    Error,
    gpu::{
        job::Job,
        lists::{FOUR, Lists, most_rows},
        maps::{Atomic, Order, Resolve, Scatter, Sort},
        params::{self, IndexedMap, wrap},
        rule::Rule,
        scratch::Scratch,
    },
    ops::{
        index::OutOfRange,
        scatter_nd::{self, Map},
    },
    plan::Rows,
};

/// Elements of a row, at most, that are combined by atomics, one after the other.
const MOST_ATOMIC: usize = 4;

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
        sorts: chains
            && rule.depends_on_order()
            && map.options.order == scatter_nd::Order::Deterministic,
        rule,
    };
    let mut steps = Steps::default();
    let all = Block {
        rows: Interval::all(rows.count),
        slices: Interval::all(map.slices),
        run: Interval::all(rows.run),
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
    fn checks(&self, rows: Interval, out: &mut Vec<Dispatch>) -> Result<(), Error> {
        // They need not be bound to check.
        let slices = Interval { first: 0, len: 0 };
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
            Ok((step, scratch)) => {
                out.push(block, step, scratch);
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
        let lists = Lists::of(self.reach.kind, rows.len);
        let scratch = Scratch {
            head: (slices.len as u64 + 1) * 4,
            rows: lists.bytes(self.chains),
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
            links: lists.links(),
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
        if self.chains && rows.len > most_rows(self.reach.kind, self.sorts, walked) {
            return Err(Cut::Rows);
        }
        let resolve = self
            .resolve(rows, slices, false, scratch_spans)
            .ok_or(Cut::Rows)?;
        let bound = scratch_spans.map(|span| Bound { span, base: 0 });
        let mut order = Vec::new();
        if self.sorts {
            for step in [Order::Short, Order::Middle, Order::Long] {
                let job = self.job(
                    tuples(rows),
                    RowMap::Sort(Sort {
                        step,
                        lists,
                        first: 0,
                    }),
                    bound,
                );
                let dispatch = self.dispatch(&job).ok_or(Cut::Rows)?;
                // A step that can find nothing to do has no tiles.
                if dispatch.params.tiles > 0 {
                    order.push(dispatch);
                }
            }
        }
        let before = Before {
            cleared: scratch.head,
            resolve: Dispatch { counts, ..resolve },
            order,
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
        rows: Interval,
        slices: Interval,
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
    fn tuples(&self, rows: Interval, slices: Interval, checks: bool) -> Option<(Resolve, Span)> {
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
        let source = self.interval(self.places.source, rows, run);
        let dest = self.interval(self.places.dest, slices, run);
        Ok([source.ok_or(Cut::Rows)?, dest.ok_or(Cut::Slices)?])
    }

    /// The binding of a interval of some slices or updates, and the first unit in it.
    fn interval(&self, parts: super::Parts, of: Interval, run: Interval) -> Option<Bound> {
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
fn tuples(rows: Interval) -> Rows {
    Rows {
        unit: 4,
        count: rows.len,
        run: 1,
        step: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        DType, Plan, Scatter,
        gpu::caps::{Kind, Parts},
        ops::index::IndexType,
        plan,
    };

    /// The steps of adding `rows` single f32 to as many slices.
    fn steps(kind: Kind, rows: usize) -> Steps {
        let reach = Reach {
            binding: 1 << 30,
            alignment: 256,
            groups: 65_535,
            dispatch: 512 << 20,
            units: 1 << 31,
            kind,
            workgroup: if kind == Kind::Hardware { 256 } else { 64 },
        };
        let places = Places {
            source: Parts::ONE,
            dest: Parts::ONE,
            indices: Parts::ONE,
            index: IndexType::I32,
            whole: false,
        };
        let (options, shape) = (Scatter::default(), [rows]);
        let plan = Plan::tensor_scatter_nd(&shape, &[rows, 1], &shape, options, DType::F32);
        let plan = plan.unwrap();
        let plan::Map::ScatterNd(map) = &plan.map else {
            panic!("{plan} is no scatter");
        };
        let (rule, _) = Rule::of(options.combine, DType::F32).unwrap();
        scatter_steps(&reach, &plan.rows, map, &places, rule).unwrap()
    }

    #[test]
    fn a_million_rows_take_few_dispatches() {
        let million = steps(Kind::Hardware, 1 << 20);
        println!(
            "{} dispatches for 2^20 rows on hardware",
            million.dispatches()
        );
        assert!(million.dispatches() <= 6);
        println!(
            "{} on a software adapter",
            steps(Kind::Software, 1 << 20).dispatches()
        );
        // Where no list can be long none is looked for.
        let few = [16, 17, 256, 257].map(|rows| steps(Kind::Hardware, rows).dispatches());
        assert_eq!(few, [3, 4, 4, 5]);
    }
}
