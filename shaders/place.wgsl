// Moves rows of units of 4 bytes or more to places of the destination.
//
// A tile is a segment of one row. Its lanes take neighbouring units.

// Where a row begins on both sides, and whether it goes anywhere.
struct Places {
    source: u32,
    dest: u32,
    found: bool,
}

@group(0) @binding(0) var<storage, read> source: array<Part>;
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
    let origin = params.source_base + at.source;
    let to = params.dest_base + at.dest;
    for (var j = first + lane; j < end; j += lanes) {
        dest[to + j * dest_step()] = fetch(origin + j * params.step);
    }
}
