// Moves rows of units of 4 bytes or more, on a software adapter. One invocation moves a segment of a row.
//
// `load_reversed.wgsl` or generated text defines `Part`, the type of the source's elements; `Unit`, the type of the
// result's elements; and `fetch`, which builds a unit from PARTS parts.

@group(0) @binding(0) var<storage, read> source: array<Part>;
@group(0) @binding(1) var<storage, read_write> dest: array<Unit>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tile = invocation(group, local);
    if tile >= uniforms.tiles {
        return;
    }
    let at = segment(tile);
    let start = row_start(at.row);
    if start.state == MISSING && at.first == 0u {
        missing(at.row);
    }
    let to = uniforms.dest_base + start.to;
    for (var j = at.first; j < at.end; j++) {
        let place = unit_at(start, j);
        let found = place.state == FOUND && within(place.base);
        var unit = Unit();
        if found {
            unit = fetch(place.base);
        }
        // One store serves units with and without a source: a software adapter pays for each store, even if no lane
        // executes it.
        if found || place.state == MISSING {
            dest[to + j * dest_step()] = unit;
        }
    }
}
