// gather_nd: a row begins where its index tuple points, or has no source if one coordinate is not
// within its dimension.

struct Map {
    // Coordinates of a tuple, and words of a coordinate: 1 for i32, 2 for i64.
    depth: u32,
    index_words: u32,
    // Rows of a batch, and units of params in a batch.
    batch_rows: u32,
    batch_stride: u32,
    axes: array<vec4<u32>, 4>,
}

struct Report {
    count: atomic<u32>,
    first: atomic<u32>,
}

@group(0) @binding(2) var<storage, read> indices: array<u32>;
@group(0) @binding(3) var<storage, read_write> report: Report;

fn source_row(row: u32) -> Row {
    var base = row / params.map.batch_rows * params.map.batch_stride;
    var found = true;
    var word = row * params.map.depth * params.map.index_words;
    for (var d = 0u; d < params.map.depth; d++) {
        // A negative index is a large unsigned one. The high word of an i64 must be 0.
        let index = indices[word];
        let at = axis(d);
        found = found && index < at.size;
        if params.map.index_words == 2u {
            found = found && indices[word + 1u] == 0u;
        }
        base += index * at.stride;
        word += params.map.index_words;
    }
    return Row(base, found);
}

fn missing(row: u32) {
    atomicAdd(&report.count, 1u);
    atomicMin(&report.first, row);
}
