// Combines rows with slices of the destination: all rows of a slice, one after the other, unit by unit.
//
// A tile is a segment of one row. Its lanes take neighbouring units.

// Where a row of updates begins, and its slice; and whether the row has one, and is the one that does the
// work for it.
struct Places {
    source: u32,
    dest: u32,
    found: bool,
}

@group(0) @binding(0) var<storage, read> source: array<Unit>;
@group(0) @binding(1) var<storage, read_write> dest: array<Unit>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = invocation(group, local);
    let tile = id >> params.lanes_log2;
    if tile >= params.tiles {
        return;
    }
    let lanes = 1u << params.lanes_log2;
    let lane = id & (lanes - 1u);
    let segments = (params.run + params.segment - 1u) / params.segment;
    let row = tile / segments;
    let first = (tile - row * segments) * params.segment;
    let end = min(first + params.segment, params.run);

    let at = row_places(row);
    if !at.found {
        return;
    }
    let to = params.dest_base + at.dest;
    for (var j = first + lane; j < end; j += lanes) {
        var result = words(dest[to + j]);
        for (var link = row + 1u; link != 0u; link = next(link)) {
            let origin = params.source_base + (link - 1u) * stride() + j;
            result = combined(result, words(source[origin]));
        }
        dest[to + j] = unit(result);
    }
}
