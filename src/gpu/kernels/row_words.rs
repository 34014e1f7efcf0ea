//! Writes rows of 1-byte or 2-byte units in updates, gradients and scatters that replace slices, and on hardware also
//! rows of 4-byte units in gradients: `shaders/row_words.wgsl`.
//!
//! A word has 4 bytes. A tile is a segment of the words that a row lies in. The lanes of a tile write the tile in
//! rounds: each lane writes four words at once, which are `quarter` words apart, so a round is 4 · `quarter` words
//! long.

use super::{
    Form, Grid, Job, Kernel, Kind, Launch, MAX_PAIR_AXES, MOST_LANES, Op, PairAxis, Prelude, Reach,
    RowMap, Rows, Source, Span, Units, Vectors,
};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "row words",
        text: include_str!("../../../shaders/row_words.wgsl"),
    },
    launch,
    forms,
};

fn accepts(job: &Job<'_>) -> bool {
    let unit = job.rows.unit;
    match &job.map {
        RowMap::Update(_) => unit < 4,
        RowMap::Scatter(map) => unit < 4 && !map.combines,
        // For units of 4 bytes, `rows_serial` is faster on software adapters.
        RowMap::Gradient(_) => unit < 4 || unit == 4 && job.reach.kind == Kind::Hardware,
        _ => false,
    }
}

/// The number of words that an invocation writes at once, unless [`repeats`] is larger than [`MAX_QUARTER`].
const WORDS: usize = 4;

/// The most rounds of a tile on hardware. With more rounds, more words share one look-up of their row, but a dispatch
/// has fewer invocations. So a tile has fewer rounds if there would otherwise be fewer than [`FILLED`] invocations.
const ROUNDS: usize = 8;
/// The number of invocations that keep memory busy: with 32 bytes in flight each, they have 2 MiB in flight, about as
/// much as the fastest memory transfers within its latency.
const FILLED: usize = 1 << 16;

/// The smallest number of lanes of a tile on hardware, unless rows are too short for it: 16 lanes access 64 contiguous
/// bytes.
const LEAST_LANES: usize = 16;

/// The most rounds of a tile on a software adapter, where one invocation writes the whole tile.
const SERIAL_ROUNDS: usize = 16;

/// The largest distance in bytes between units of a row in the destination. Units further apart are rows of one unit
/// each. The words between the units of a row are read and written too. Up to this distance, that costs less than
/// looking up another row, and the sectors of these words are accessed anyway.
const MAX_SPACING: usize = 16;

/// Whether units of `unit` bytes, `spacing` units apart in the destination, form one row.
fn is_row(unit: usize, spacing: usize) -> bool {
    unit * spacing <= MAX_SPACING
}

/// Whether the shader's signed 32-bit byte addresses cover the bindings, and also the addresses that an invocation
/// computes beyond them: the last of its four words may lie up to 3 · `quarter` words after the end of a row.
pub(crate) fn reaches(spans: &[Span]) -> bool {
    let most = i32::MAX as u64 - (WORDS * MAX_QUARTER * 4) as u64;
    spans.iter().all(|span| span.bytes <= most)
}

/// The most words that a row of `bytes` bytes touches, if rows begin at byte `begin` plus sums of multiples of
/// `strides`, which are in bytes.
fn words(bytes: usize, begin: usize, strides: impl Iterator<Item = usize>) -> usize {
    let aligned = strides.fold(4, |all, stride| all | stride);
    let aligned = 1 << aligned.trailing_zeros();
    let furthest = 4 - aligned + begin % aligned;
    (furthest + bytes).div_ceil(4)
}

/// The largest `quarter` at which an invocation writes four words at once. If [`repeats`] is larger than this, an
/// invocation writes one word at a time.
const MAX_QUARTER: usize = 1 << 12;

/// Returns the grid and `quarter` for `rows` rows of up to `words` words each, whose units of `unit` bytes are spaced
/// as in `run`. The grid is `None` if it has more workgroups than the device allows.
fn grid(
    rows: usize,
    words: usize,
    unit: usize,
    run: PairAxis,
    reach: &Reach,
) -> (Option<Grid>, usize) {
    let (lanes, rounds) = match reach.kind {
        Kind::Software => (1, SERIAL_ROUNDS),
        Kind::Hardware => {
            let rounds = (rows * words).div_ceil(WORDS * FILLED).min(ROUNDS);
            let lanes = words.div_ceil(WORDS * rounds).next_power_of_two();
            (lanes.clamp(LEAST_LANES, MOST_LANES), rounds)
        }
    };
    let repeats = repeats(unit, run);
    let (quarter, segment) = if repeats <= MAX_QUARTER {
        let most = (lanes / repeats * repeats).max(repeats);
        let quarter = words.div_ceil(WORDS).next_multiple_of(repeats).min(most);
        let round = WORDS * quarter;
        (quarter, round * rounds.min(words.div_ceil(round)))
    } else {
        // `quarter` is the length of the segment, so that of an invocation's four words only the first lies in the
        // segment.
        let words = words.min(lanes * rounds);
        (words, words)
    };
    let lanes = quarter.next_power_of_two().min(lanes);
    let tiles = rows * words.div_ceil(segment);
    (Grid::new(reach, 1, lanes, segment, tiles), quarter)
}

/// The smallest distance in words between two words of the destination that are assembled by the same shifts: units
/// begin at the same bytes of both words, and the sources of these units are whole words apart.
fn repeats(unit: usize, run: PairAxis) -> usize {
    // The greatest common divisor of a number and 4, the bytes of a word.
    let common = |number: usize| 1 << number.trailing_zeros().min(2);
    let step = run.to * unit;
    let units = 4 / common(step);
    step / common(step) * (4 / common(units * run.from.unsigned_abs() * unit))
}

/// The rows as the kernel processes them.
struct Layout {
    rows: Rows,
    /// The distances between neighbouring units of a row on both sides, in units.
    run: PairAxis,
    /// The length of a row in the destination in bytes, from the beginning of its first unit to the end of its last.
    bytes: usize,
    /// The distances in bytes between rows in the destination, one for each dimension.
    strides: Vec<usize>,
    /// Whether each unit of the job is a row here, because the units of the job's rows lie too far apart.
    splits: bool,
}

fn layout(job: &Job<'_>) -> Layout {
    let unit = job.rows.unit;
    let (run, mut strides) = match &job.map {
        RowMap::Update(map) => (
            map.run,
            map.axes.iter().map(|axis| axis.to * unit).collect(),
        ),
        RowMap::Scatter(map) => (PairAxis::ONE, vec![map.pitch * unit]),
        RowMap::Gradient(map) if job.rows.count > 1 => (map.run, vec![map.row * unit]),
        RowMap::Gradient(map) => (map.run, Vec::new()),
        _ => (PairAxis::ONE, Vec::new()),
    };
    if let RowMap::Update(map) = &job.map {
        let apart = run.size > 1 && !is_row(unit, run.to);
        // The run becomes one more dimension of the map.
        if apart && map.axes.len() < MAX_PAIR_AXES {
            strides.push(run.to * unit);
            return Layout {
                rows: Rows::single(job.rows.unit, job.rows.units()),
                run: PairAxis::ONE,
                bytes: unit,
                strides,
                splits: true,
            };
        }
    }
    let spacing = match &job.map {
        RowMap::Update(_) => run.to,
        _ => 1,
    };
    Layout {
        rows: job.rows,
        run,
        bytes: ((job.rows.run - 1) * spacing + 1) * unit,
        strides,
        splits: false,
    }
}

fn launch(job: &Job<'_>, _: &Vectors) -> Option<Launch> {
    if !accepts(job) {
        return None;
    }
    let layout = layout(job);
    let begin = usize::try_from(job.dest.base).unwrap_or_default() * job.rows.unit;
    let words = words(layout.bytes, begin, layout.strides.into_iter());
    let (grid, quarter) = grid(
        layout.rows.count,
        words,
        job.rows.unit,
        layout.run,
        job.reach,
    );
    let grid = grid.filter(|_| reaches(&[job.source.span, job.dest.span]));
    let units = Vectors {
        rows: layout.rows,
        ..job.units()
    };
    let launch = Launch::of(job, &units, Form::of(Prelude::None), grid);
    let split_run = match &job.map {
        RowMap::Update(map) if layout.splits => Some(map.run.source()),
        _ => None,
    };
    Some(Launch {
        run: words,
        units: layout.rows.run,
        element: job.rows.unit,
        tile_unit: 4,
        counts: Units {
            split_run,
            quarter,
            ..launch.counts
        },
        ..launch
    })
}

fn forms(op: Op, _: Kind) -> Vec<Form> {
    match op {
        Op::StridedSliceUpdate | Op::StridedSliceGrad | Op::ScatterMove => {
            vec![Form::of(Prelude::None)]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_words_that_a_row_touches_are_counted() {
        for unit in [1, 2, 4] {
            for bytes in (unit..40).step_by(unit) {
                for begin in (0..8).step_by(unit) {
                    for stride in (unit..24).step_by(unit) {
                        let rows = (0..4).map(|row| begin + row * stride);
                        let lie = rows.map(|row| (row + bytes).div_ceil(4) - row / 4);
                        let said = words(bytes, begin, [stride].into_iter());
                        assert_eq!(lie.max(), Some(said), "{bytes} {begin} {stride}");
                    }
                }
            }
        }
        assert_eq!(words(4096, 0, [4096].into_iter()), 1024);
        assert_eq!(words(7, 1, [].into_iter()), 2);
    }

    #[test]
    fn every_word_is_written_once() {
        for (kind, workgroup) in [
            (Kind::Hardware, 256),
            (Kind::Hardware, 64),
            (Kind::Software, 64),
        ] {
            let reach = Reach::of_tests(kind, workgroup);
            for (from, to) in [(1, 1), (-1, 1), (1, 2), (3, 5), (1, 90), (1, 5000)] {
                for (rows, words) in [
                    (1, 1),
                    (1, 10_001),
                    (409, 1000),
                    (70, 3),
                    (3, 17),
                    (3, 1025),
                ] {
                    let run = PairAxis { size: 1, from, to };
                    let (grid, quarter) = grid(rows, words, 1, run, &reach);
                    let grid = grid.unwrap();
                    let (lanes, segment) = (1 << grid.lanes_log2, grid.segment as usize);
                    assert_eq!(grid.tiles as usize, rows * words.div_ceil(segment));
                    let invocations = grid.width * grid.height * workgroup;
                    assert!(invocations as usize >= grid.tiles as usize * lanes);
                    // The words that the shader writes: a lane takes every `lanes`-th word of the first quarter and,
                    // beginning at each of these, every `quarter`-th word of the segment, four at a time.
                    let mut written: Vec<_> = (0..lanes)
                        .flat_map(|lane| (lane..quarter).step_by(lanes))
                        .flat_map(|word| (word..segment).step_by(quarter))
                        .collect();
                    written.sort_unstable();
                    assert_eq!(written, Vec::from_iter(0..segment));
                    let fours = segment.is_multiple_of(quarter * WORDS) && quarter * 4 % to == 0;
                    assert!(fours || quarter == segment);
                }
            }
        }
    }

    #[test]
    fn units_repeat() {
        for unit in [1, 2, 4] {
            for (from, to) in [
                (1, 1),
                (-1, 1),
                (0, 1),
                (1, 2),
                (-2, 3),
                (3, 4),
                (1, 6),
                (1, 100),
            ] {
                let repeats = repeats(unit, PairAxis { size: 9, from, to });
                let is_whole = |words: usize| {
                    let units = words * 4 / (to * unit);
                    let bytes = units * from.unsigned_abs() * unit;
                    (words * 4).is_multiple_of(to * unit) && bytes.is_multiple_of(4)
                };
                assert_eq!((1..).find(|&words| is_whole(words)), Some(repeats));
            }
        }
    }

    #[test]
    fn addresses_have_31_bits() {
        let span = |bytes| Span {
            bytes,
            ..Span::default()
        };
        assert!(reaches(&[span(4), span(1 << 30)]));
        assert!(!reaches(&[span(4), span(1 << 31)]));
        assert!(is_row(1, 16) && is_row(2, 8) && !is_row(2, 9) && !is_row(1, 17));
    }
}
