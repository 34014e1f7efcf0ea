// Writes rows of units of 4 bytes or more, of which only some have a source and the others become zeros, on a
// CPU adapter: an invocation walks a segment of a row alone.

@group(0) @binding(0) var<storage, read> source: array<Part>;
@group(0) @binding(1) var<storage, read_write> dest: array<Unit>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tile = invocation(group, local);
    if tile >= params.tiles {
        return;
    }
    let at = segment(tile);
    let start = row_start(at.row);
    let to = params.dest_base + start.to;
    for (var j = at.first; j < at.end; j++) {
        let from_unit = unit_at(start, j);
        var unit = Unit();
        if from_unit.state == FOUND {
            unit = fetch(from_unit.base);
        }
        dest[to + j] = unit;
    }
}
