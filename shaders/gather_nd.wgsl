// gather_nd: a row begins where its index tuple points, or has no source if one coordinate is not
// within its dimension.

// Words of an index: 1 for i32, 2 for i64.
override INDEX_WORDS: u32;

// Coordinates of a tuple, and whether there are several batches. Constants, so that a CPU adapter
// runs no loop and no division for every row.
override DIMS: u32;
override BATCHED: bool;

struct Map {
    // The first word of the tuples within their binding.
    index_base: u32,
    // Rows of a batch, and units of params in a batch.
    batch_rows: u32,
    batch_stride: u32,
    // With fewer than 8 coordinates the last pair holds high words: of the first dimension's size,
    // and of the first index into it that this dispatch looks at.
    axes: array<vec4<u32>, 4>,
}

// `first` is the complement of the row's number, so that a report begins as zeros and the first
// row is the largest.
struct Report {
    count: atomic<u32>,
    first: atomic<u32>,
}

@group(0) @binding(2) var<storage, read> indices: array<u32>;
@group(1) @binding(0) var<storage, read_write> report: Report;

fn source_row(row: u32) -> Row {
    var at = Row(0u, FOUND);
    if BATCHED {
        at.base = row / params.map.batch_rows * params.map.batch_stride;
    }
    let tuple = params.map.index_base + row * DIMS * INDEX_WORDS;
    if DIMS > 0u { at = coordinate(0u, tuple, at); }
    if DIMS > 1u { at = coordinate(1u, tuple, at); }
    if DIMS > 2u { at = coordinate(2u, tuple, at); }
    if DIMS > 3u { at = coordinate(3u, tuple, at); }
    if DIMS > 4u { at = coordinate(4u, tuple, at); }
    if DIMS > 5u { at = coordinate(5u, tuple, at); }
    if DIMS > 6u { at = coordinate(6u, tuple, at); }
    if DIMS > 7u { at = coordinate(7u, tuple, at); }
    return at;
}

// Where a row begins after one more coordinate of its tuple.
fn coordinate(d: u32, tuple: u32, so_far: Row) -> Row {
    let word = tuple + d * INDEX_WORDS;
    let size_and_stride = axis(d);
    // Two words; a negative index is a large unsigned one.
    var index = indices[word];
    var index_high = 0u - (index >> 31u);
    if INDEX_WORDS == 2u {
        index_high = indices[word + 1u];
    }
    var high = vec2(0u);
    if d == 0u && DIMS < 8u {
        high = params.map.axes[3].zw;
    }
    let bad = (index_high > high.x)
        | ((index_high == high.x) & (index >= size_and_stride.size));
    var state = so_far.state;
    if d == 0u {
        index_high -= high.y + select(0u, 1u, index < params.first);
        index -= params.first;
        state = select(ELSEWHERE, FOUND, (index_high == 0u) & (index < params.count));
    }
    return Row(so_far.base + index * size_and_stride.stride, select(state, MISSING, bad));
}

// The row `n` behind another.
fn neighbour(first: Row, row: u32, n: u32) -> Row {
    return source_row(row + n);
}

fn within(unit: u32) -> bool {
    return unit < params.window;
}

fn missing(row: u32) {
    atomicAdd(&report.count, 1u);
    atomicMax(&report.first, ~row);
}
