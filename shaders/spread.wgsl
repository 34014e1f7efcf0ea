// Writes rows of units of 4 bytes or more, of which only some have a source: the others become zeros.
//
// A tile is a segment of one row. Its lanes take neighbouring units.

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

    let begin = source_row(row);
    let to = params.dest_base + row * params.run;
    for (var j = first + lane; j < end; j += lanes) {
        let from_unit = source_unit(begin, j);
        var unit = Unit();
        if from_unit.state == FOUND {
            unit = fetch(params.source_base + from_unit.base);
        }
        dest[to + j] = unit;
    }
}
