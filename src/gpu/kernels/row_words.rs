//! Rows of 1-byte, 2-byte or, in gradients on hardware, 4-byte units that go to places of their own, or are zeros but for some units:
//! `shaders/row_words.wgsl`.

use super::{
    Form, Grid, Job, Kernel, Kind, Launch, MAX_PAIR_AXES, MOST_LANES, Op, PairAxis, Prelude, Reach,
    RowMap, Rows, Source, Span, Units, Vectors,
};

pub(super) const KERNEL: Kernel = Kernel {
    source: Source {
        name: "row words",
        text: include_str!("../../../shaders/row_words.wgsl"),
    },
    accepts: |job| match &job.map {
        RowMap::Update(_) => job.rows.unit < 4,
        RowMap::Scatter(map) => job.rows.unit < 4 && !map.combines,
        // On a software adapter the serial walker is faster from 4 bytes on.
        RowMap::Gradient(_) => {
            job.rows.unit < 4 || job.rows.unit == 4 && job.reach.kind == Kind::Hardware
        }
        _ => false,
    },
    launch,
    forms,
};

/// Words that an invocation writes together.
const TOGETHER: usize = 4;

/// How often it does, where words are enough for so many invocations: 32 bytes on their way to each are 2 MiB, as much
/// as the fastest memory moves in the time that it takes to answer.
const ROUNDS: usize = 8;
const FILLED: usize = 1 << 16;

/// Invocations that share a row, at least, if it is long enough: they access 64 bytes side by side.
const LEAST_LANES: usize = 16;

/// Rounds of an invocation of a software adapter, which has a tile for itself.
const ROUNDS_ALONE: usize = 16;

/// Bytes that the units of a row lie apart in the destination, at most; what lies further apart is rows of its own.
/// The words between are read and written too: up to here that is less than it takes to look up a row, and they
/// are in sectors that are touched anyway.
const APART: usize = 16;

/// Whether units of so many bytes, so many of which lie from one to the next, are one row in the destination.
fn is_row(unit: usize, spacing: usize) -> bool {
    unit * spacing <= APART
}

/// Whether the shader's addresses reach all of the bindings, and some words beyond either end.
pub(crate) fn reaches(spans: &[Span]) -> bool {
    let most = i32::MAX as u64 - (1 << 14);
    spans.iter().all(|span| span.bytes <= most)
}

/// Words that a row of `bytes` bytes lies in, at most, if rows begin multiples of `strides` bytes behind byte `begin`.
fn words(bytes: usize, begin: usize, strides: impl Iterator<Item = usize>) -> usize {
    let aligned = strides.fold(4, |all, stride| all | stride);
    let aligned = 1 << aligned.trailing_zeros();
    let furthest = 4 - aligned + begin % aligned;
    (furthest + bytes).div_ceil(4)
}

/// Words from one of these to the next, at most, where units lie far apart.
const FURTHEST: usize = 1 << 12;

/// The grid for rows in up to `words` words each, of units of `unit` bytes that lie apart as in `run`; and the words from
/// one of the four that an invocation writes together to the next.
fn grid(
    rows: usize,
    words: usize,
    unit: usize,
    run: PairAxis,
    reach: &Reach,
) -> Option<(Grid, usize)> {
    let (lanes, rounds) = match reach.kind {
        Kind::Software => (1, ROUNDS_ALONE),
        Kind::Hardware => {
            let rounds = (rows * words).div_ceil(TOGETHER * FILLED).min(ROUNDS);
            let lanes = words.div_ceil(TOGETHER * rounds).next_power_of_two();
            (lanes.clamp(LEAST_LANES, MOST_LANES), rounds)
        }
    };
    let repeats = repeats(unit, run);
    let (quarter, segment) = if repeats <= FURTHEST {
        let most = (lanes / repeats * repeats).max(repeats);
        let quarter = words.div_ceil(TOGETHER).next_multiple_of(repeats).min(most);
        let round = TOGETHER * quarter;
        (quarter, round * rounds.min(words.div_ceil(round)))
    } else {
        // All but the first of the four lie behind the segment.
        let words = words.min(lanes * rounds);
        (words, words)
    };
    let lanes = quarter.next_power_of_two().min(lanes);
    let tiles = rows * words.div_ceil(segment);
    Some((Grid::new(reach, 1, lanes, segment, tiles)?, quarter))
}

/// The least number of words so that words so far apart have their units at the same bytes, and these lie whole words
/// apart in the source.
fn repeats(unit: usize, run: PairAxis) -> usize {
    // What divides both a number and the bytes of a word.
    let common = |number: usize| 1 << number.trailing_zeros().min(2);
    let step = run.to * unit;
    let units = 4 / common(step);
    step / common(step) * (4 / common(units * run.from.unsigned_abs() * unit))
}

/// The rows as the kernel takes them.
struct Deal {
    rows: Rows,
    /// How the units of a row lie apart.
    run: PairAxis,
    /// Bytes from the first to the last unit of a row, and from one row to another.
    bytes: usize,
    strides: Vec<usize>,
    /// Whether each unit of the job is a row.
    splits: bool,
}

fn deal(job: &Job<'_>) -> Deal {
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
        // As long as there is room for another dimension.
        if apart && map.axes.len() < MAX_PAIR_AXES {
            strides.push(run.to * unit);
            return Deal {
                rows: Rows {
                    count: job.rows.units(),
                    run: 1,
                    step: 1,
                    ..job.rows
                },
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
    Deal {
        rows: job.rows,
        run,
        bytes: ((job.rows.run - 1) * spacing + 1) * unit,
        strides,
        splits: false,
    }
}

fn launch(job: &Job<'_>) -> Option<Launch> {
    if !reaches(&[job.source.span, job.dest.span]) {
        return None;
    }
    let deal = deal(job);
    let begin = usize::try_from(job.dest.base).ok()? * job.rows.unit;
    let words = words(deal.bytes, begin, deal.strides.into_iter());
    let (grid, quarter) = grid(deal.rows.count, words, job.rows.unit, deal.run, job.reach)?;
    let units = Vectors {
        rows: deal.rows,
        ..job.units()
    };
    let launch = Launch::of(job, &units, Form::of(Prelude::None), grid);
    let split_run = match &job.map {
        RowMap::Update(map) if deal.splits => Some(map.run.source()),
        _ => None,
    };
    Some(Launch {
        run: words,
        units: deal.rows.run,
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

    /// The words that any of the rows lies in are as many as are said, and one row lies in as many.
    #[test]
    fn rows_lie_in_so_many_words() {
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
                    let (grid, quarter) = grid(rows, words, 1, run, &reach).unwrap();
                    let (lanes, segment) = (1 << grid.lanes_log2, grid.segment as usize);
                    assert_eq!(grid.tiles as usize, rows * words.div_ceil(segment));
                    let invocations = grid.width * grid.height * workgroup;
                    assert!(invocations as usize >= grid.tiles as usize * lanes);
                    // As the shader numbers the words of a segment: four of these at a time.
                    let mut written: Vec<_> = (0..lanes)
                        .flat_map(|lane| (lane..quarter).step_by(lanes))
                        .flat_map(|word| (word..segment).step_by(quarter))
                        .collect();
                    written.sort_unstable();
                    assert_eq!(written, Vec::from_iter(0..segment));
                    let fours = segment.is_multiple_of(quarter * TOGETHER) && quarter * 4 % to == 0;
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
                    words * 4 % (to * unit) == 0 && bytes.is_multiple_of(4)
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
