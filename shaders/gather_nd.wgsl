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
    var base = row / params.map.batch_rows * params.map.batch_stride;
    var state = FOUND;
    var word = params.map.index_base + row * params.map.depth * INDEX_WORDS;
    let outer_high = select(vec2(0u), params.map.axes[3].zw, params.map.depth < 8u);
    for (var d = 0u; d < params.map.depth; d++) {
        // Two words; a negative index is a large unsigned one.
        var index = indices[word];
        var index_high = 0u - (index >> 31u);
        if INDEX_WORDS == 2u {
            index_high = indices[word + 1u];
        }
        let at = axis(d);
        let size_high = select(0u, outer_high.x, d == 0u);
        if index_high > size_high || (index_high == size_high && index >= at.size) {
            state = MISSING;
        }
        if d == 0u {
            let borrow = select(0u, 1u, index < params.first);
            index_high -= outer_high.y + borrow;
            index -= params.first;
            if (index_high != 0u || index >= params.count) && state == FOUND {
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
