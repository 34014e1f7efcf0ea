//! Cuts scatters into blocks. Each row of updates goes to a slice: the part of the destination that the row's index
//! tuple points at. A block is an interval of the rows, an interval of the slices, and an interval of the units of each
//! row.
//!
//! Every block finishes all its steps before the next block begins, and blocks with the same slices and units follow
//! the order of rows. So cutting does not change the order in which a slice gets its rows. Scratch memory holds the
//! lists of only one block.

use super::{
    Bound, Cutter, Dispatch, Places, Reach, RowMap, Span,
    interval::Interval,
    kernels,
    steps::{Block, Steps},
};
use crate::{
    Error,
    gpu::{
        caps::VECTOR,
        job::Job,
        lists::{FOUR, Lists, most_rows},
        maps::{Atomic, IndexedMap, Order, Resolve, Scatter, Sort, is_plain, resolve_map},
        rule::Rule,
        scratch::Scratch,
        uniforms::wrap,
        work::Pass,
    },
    layout::middle,
    ops::{
        index::OutOfRange,
        scatter_nd::{self, Map},
        strided_slice::Odometer,
    },
    plan::Rows,
};

/// The most elements of a row that atomics combine: with atomics, one invocation combines all elements of a row,
/// whereas otherwise several invocations share a long row.
const MOST_ATOMIC: usize = 4;

/// Cuts a scatter that is not empty into steps. `rule` says how elements are combined. A scatter that replaces slices
/// does not use it.
pub(crate) fn scatter_steps(
    reach: &Reach,
    rows: &Rows,
    map: &Map,
    places: &Places,
    rule: Rule,
) -> Result<Steps, Error> {
    let chains = map.options.combine.computes();
    // Rows of 8-byte units that replace slices are moved in units of 4 bytes: see `Job::vectors`.
    let rows = &match rows.unit {
        8 if !chains => Rows {
            unit: 4,
            run: 2 * rows.run,
            ..*rows
        },
        _ => *rows,
    };
    let cutter = ScatterCutter {
        plan: Cutter {
            reach,
            rows,
            places,
        },
        tuple: map.axes.len() as u64 * places.index.bytes() as u64,
        map,
        axes: resolve_map(map)?,
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

struct ScatterCutter<'a> {
    plan: Cutter<'a>,
    /// The size of an index tuple in bytes.
    tuple: u64,
    map: &'a Map,
    /// The sizes and strides by which the shader finds the slice that a tuple points at.
    axes: IndexedMap,
    /// Whether rows are combined with slices, by atomics or in lists. Otherwise the last row that goes to a slice
    /// replaces the slice.
    chains: bool,
    /// Whether atomics combine rows with slices, each row independently of the others.
    atomic: bool,
    /// Whether the list of each slice's rows is sorted: the result depends on the order of rows, and the options ask
    /// for a deterministic one.
    sorts: bool,
    rule: Rule,
}

/// Which interval of a block must be halved because the block exceeds the device's limits.
enum Cut {
    Rows,
    Slices,
}

impl ScatterCutter<'_> {
    /// Pushes the dispatches that check whether the tuples of `rows` are in range.
    fn checks(&self, rows: Interval, out: &mut Vec<Dispatch>) -> Result<(), Error> {
        // Checks change no slices, so none are bound.
        let slices = Interval { first: 0, len: 0 };
        // The checks use only the count in `head`, and nothing of `rows`. Both bindings get sizes nevertheless, because
        // a binding without a size is the whole buffer, which may exceed the largest binding.
        let scratch = [4, VECTOR as u64].map(|bytes| Span {
            bytes,
            ..Span::default()
        });
        if let Some(dispatch) = self.resolve(rows, slices, None, scratch) {
            out.push(dispatch);
            return Ok(());
        }
        let [head, tail] = self.halves(rows).ok_or_else(|| self.too_small())?;
        self.checks(head, out)?;
        self.checks(tail, out)
    }

    /// Pushes the pass of a block or, if the block exceeds the device's limits, those of its halves.
    fn blocks(&self, block: &Block, out: &mut Steps) -> Result<(), Error> {
        let halves = match self.pass(block, out.number(block)) {
            Ok((pass, scratch)) => {
                out.push(block, pass, scratch);
                return Ok(());
            }
            Err(Cut::Rows) => self
                .halves(block.rows)
                .map(|halves| halves.map(|rows| Block { rows, ..*block })),
            Err(Cut::Slices) => block
                .slices
                .halves()
                .map(|halves| halves.map(|slices| Block { slices, ..*block })),
        };
        let of_run = || {
            let halves = block.run.halves()?;
            Some(halves.map(|run| Block { run, ..*block }))
        };
        let halves = halves.or_else(of_run);
        let [head, tail] = halves.ok_or_else(|| self.too_small())?;
        self.blocks(&head, out)?;
        self.blocks(&tail, out)
    }

    /// Cuts the rows about in half. If dimensions number the rows, the cut lies between positions of the outermost
    /// dimension in which the rows differ. `None` if there is only one row.
    fn halves(&self, rows: Interval) -> Option<[Interval; 2]> {
        let mut each = 1;
        for axis in self.map.walk.iter().rev() {
            let more = each * axis.size;
            if more >= rows.len {
                break;
            }
            each = more;
        }
        Some(rows.split(middle(rows.len / each)? * each))
    }

    /// The pass of a block and the scratch memory that the pass needs. An error says which interval of the block must
    /// be halved first. `first` is the number of the block's first row in `head`.
    fn pass(&self, block: &Block, first: u32) -> Result<(Pass<Dispatch>, Scratch), Cut> {
        let Block { rows, slices, run } = *block;
        // Several blocks may process the same row. Only one of them counts the row if it is out of range.
        let counts = slices.first == 0
            && run.first == 0
            && self.map.options.out_of_range != OutOfRange::Error;
        let moved = rows.len as u64 * run.len as u64;
        if self.plan.bytes(moved) > self.plan.reach.dispatch {
            return Err(Cut::Rows);
        }
        if self.atomic {
            return self.atomic_pass(block, counts);
        }
        let lists = Lists::of(self.plan.reach.kind, rows.len);
        let scratch = Scratch {
            head: (slices.len as u64 + 1) * 4,
            rows: lists.bytes(self.chains),
        };
        if scratch.rows > self.plan.reach.binding {
            return Err(Cut::Rows);
        }
        if scratch.head > self.plan.reach.binding {
            return Err(Cut::Slices);
        }
        let whole = |bytes| Span {
            part: 0,
            offset: 0,
            bytes,
        };
        let scratch_spans = [whole(scratch.head), whole(scratch.rows)];
        let [source, dest] = self.bound(block)?;
        let moves_bytes = self.plan.rows.unit < 4 && !self.chains;
        if moves_bytes && !kernels::reaches(&[dest.span]) {
            return Err(Cut::Slices);
        }
        let map = Scatter {
            pitch: self.plan.rows.run,
            links: lists.links(),
            first,
            strict: self.map.options.out_of_range == OutOfRange::Error,
            combines: self.chains,
            rule: self.rule,
        };
        let updates = Rows {
            count: rows.len,
            run: run.len,
            step: 1,
            ..*self.plan.rows
        };
        let apply = Job {
            others: scratch_spans,
            ..self.plan.job(updates, RowMap::Scatter(map), source, dest)
        };
        let apply = self.dispatch(&apply).ok_or(Cut::Rows)?;
        let walked = apply.uniforms.segment.min(apply.uniforms.run) as usize;
        if self.chains && rows.len > most_rows(self.plan.reach.kind, walked) {
            return Err(Cut::Rows);
        }
        let resolve = self
            .resolve(rows, slices, Some(first), scratch_spans)
            .ok_or(Cut::Rows)?;
        let mut dispatches = vec![Dispatch { counts, ..resolve }];
        let [head, links] = scratch_spans.map(|span| Bound { span, base: 0 });
        if self.sorts {
            for step in [Order::Short, Order::Long] {
                let job = self.plan.job(
                    tuples(rows),
                    RowMap::Sort(Sort { step, lists, first }),
                    head,
                    links,
                );
                let dispatch = self.dispatch(&job).ok_or(Cut::Rows)?;
                // If no list can be too long for one invocation, the dispatch for long lists has no tiles and is left
                // out.
                if dispatch.uniforms.tiles > 0 {
                    dispatches.push(dispatch);
                }
            }
        }
        dispatches.push(Dispatch {
            first_tuple: rows.first,
            ..apply
        });
        let pass = Pass {
            // The first word is not cleared, because it counts the rows out of range for all blocks together.
            cleared: 4..scratch.head,
            dispatches,
        };
        Ok((pass, scratch))
    }

    /// The pass of a block whose rows atomics combine: one dispatch, which finds the slice of each row and combines the
    /// two. `counts` says whether its report of tuples that are out of range is read.
    fn atomic_pass(&self, block: &Block, counts: bool) -> Result<(Pass<Dispatch>, Scratch), Cut> {
        let Block { rows, slices, run } = *block;
        let (resolve, indices) = self.tuples(rows, slices, false).ok_or(Cut::Rows)?;
        let [source, dest] = self.bound(block)?;
        let map = Atomic {
            resolve,
            run: run.len,
            pitch: self.plan.rows.run,
            rule: self.rule,
        };
        let job = Job {
            others: [indices, Span::default()],
            ..self
                .plan
                .job(tuples(rows), RowMap::Atomic(map), source, dest)
        };
        let apply = Dispatch {
            counts,
            first_tuple: rows.first,
            ..self.dispatch(&job).ok_or(Cut::Rows)?
        };
        let pass = Pass {
            cleared: 0..0,
            dispatches: vec![apply],
        };
        Ok((pass, Scratch::default()))
    }

    /// The dispatch that finds the slice of each row, and notes the row in `head` and `rows`, whose bindings are
    /// `scratch`. `first` is the number of the first row in `head`. If `first` is `None`, the rows are only checked.
    /// Returns `None` if `rows` must be halved first.
    fn resolve(
        &self,
        rows: Interval,
        slices: Interval,
        first: Option<u32>,
        scratch: [Span; 2],
    ) -> Option<Dispatch> {
        let (map, indices) = self.tuples(rows, slices, first.is_none())?;
        let base = first.unwrap_or_default().into();
        let [head, links] = scratch.map(|span| Bound { span, base });
        let job = Job {
            others: [indices, Span::default()],
            ..self
                .plan
                .job(tuples(rows), RowMap::Resolve(map), head, links)
        };
        Some(Dispatch {
            counts: true,
            first_tuple: rows.first,
            ..self.dispatch(&job)?
        })
    }

    /// The row map from the tuples of `rows` to `slices`, and the binding of the tuples. If `checks`, the dispatch
    /// only checks the tuples. `None` if no single binding holds the tuples, or if their offsets are larger than
    /// shaders can compute.
    fn tuples(&self, rows: Interval, slices: Interval, checks: bool) -> Option<(Resolve, Span)> {
        let (from, to) = (rows.first as u64, (rows.first + rows.len) as u64);
        let (indices, residue) =
            self.plan
                .reach
                .span(self.plan.places.indices, from * self.tuple, to * self.tuple)?;
        if indices.bytes / 4 > self.plan.reach.units {
            return None;
        }
        let index_base = residue / 4;
        let policy = self.map.policy();
        let begin = Odometer::at(&self.map.walk, 0, rows.first).next();
        let resolve = Resolve {
            map: self.axes,
            walked: match self.map.walk.len() {
                0 => 0,
                walked => walked + 1,
            },
            depth: self.map.axes.len(),
            policy,
            is_plain: is_plain(&self.map.axes, 0, u32::MAX, policy),
            index: self.plan.places.index,
            index_base: wrap(index_base.cast_signed()),
            whole_fours: rows.len.is_multiple_of(FOUR) && index_base.is_multiple_of(4),
            slices: (
                slices.first as i64 - begin.unwrap_or_default() as i64,
                slices.len,
            ),
            checks,
            chains: self.chains && !checks,
        };
        Some((resolve, indices))
    }

    /// The dispatch of a job. `None` if the job exceeds the device's limits. There is no other error, because
    /// `resolve_map` has made sure that shaders have room for the map's dimensions.
    fn dispatch(&self, job: &Job<'_>) -> Option<Dispatch> {
        kernels::dispatch(job).ok().flatten()
    }

    /// The bindings of a block's rows in updates and of its slices in the destination, with the position of the block's
    /// first unit in each. An error says which interval must be halved first.
    fn bound(&self, block: &Block) -> Result<[Bound; 2], Cut> {
        let Block { rows, slices, run } = *block;
        let bound = |parts, of: Interval| {
            let pitch = self.plan.rows.run as u64;
            let begin = of.first as u64 * pitch + run.first as u64;
            let end = begin + (of.len as u64 - 1) * pitch + run.len as u64;
            self.plan.bound(parts, begin, end)
        };
        let source = bound(self.plan.places.source, rows).ok_or(Cut::Rows)?;
        let dest = bound(self.plan.places.dest, slices).ok_or(Cut::Slices)?;
        Ok([source, dest])
    }

    fn too_small(&self) -> Error {
        self.plan.reach.too_small(self.plan.rows.unit)
    }
}

/// The rows of a job that processes index tuples or lists: each row is one unit, which stands for a whole row of
/// updates.
fn tuples(rows: Interval) -> Rows {
    Rows::single(4, rows.len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        DType, Plan,
        gpu::caps::{Kind, Parts},
        ops::index::IndexType,
        options::ScatterOptions,
        plan,
    };

    /// The steps of a scatter that adds `rows` rows of one f32 to as many slices, on an adapter of this kind.
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
        let (options, shape) = (ScatterOptions::default(), [rows]);
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
        assert_eq!(million.dispatches(), 4);
        println!(
            "{} on a software adapter",
            steps(Kind::Software, 1 << 20).dispatches()
        );
        // If no list can be long, there is no step for long lists.
        let few = [16, 17].map(|rows| steps(Kind::Hardware, rows).dispatches());
        assert_eq!(few, [3, 4]);
    }
}
