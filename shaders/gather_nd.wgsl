// gather_nd: a row begins where its index tuple points, or has no source if one coordinate is not
// within its dimension.

// Words of an index: 1 for i32, 2 for i64.
override INDEX_WORDS: u32;

struct Map {
    // Coordinates of a tuple, and the first word of the tuples within their binding.
    depth: u32,
    index_base: u32,
    // Rows of a batch, and units of params in a batch.
    batch_rows: u32,
    batch_stride: u32,
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
    var base = row / params.map.batch_rows * params.map.batch_stride;
    var state = FOUND;
    var word = params.map.index_base + row * params.map.depth * INDEX_WORDS;
    for (var d = 0u; d < params.map.depth; d++) {
        // A negative index is a large unsigned one. The high word of an i64 must be 0.
        var index = indices[word];
        let at = axis(d);
        if index >= at.size || (INDEX_WORDS == 2u && indices[word + 1u] != 0u) {
            state = MISSING;
        }
        if d == 0u {
            index -= params.first;
            if index >= params.count && state == FOUND {
                state = ELSEWHERE;
            }
        }
        base += index * at.stride;
        word += INDEX_WORDS;
    }
    return Row(base, state);
}

fn within(unit: u32) -> bool {
    return unit < params.window;
}

fn missing(row: u32) {
    atomicAdd(&report.count, 1u);
    atomicMax(&report.first, ~row);
}
