// Moves rows of units of 4 bytes or more, on a CPU adapter: an invocation walks a segment of a row alone.
//
// `Unit`, the `Part` that the source is read in, and `fetch`, which puts PARTS of them together, come
// from a file of their own or are generated.

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
    if start.state == FOUND {
        let origin = params.source_base + start.from_part;
        let step = params.step * PARTS;
        for (var j = at.first; j < at.end; j++) {
            let from_part = origin + j * step;
            if within(from_part) {
                dest[to + j * dest_step()] = fetch(from_part);
            }
        }
    } else if start.state == MISSING {
        if at.first == 0u {
            missing(at.row);
        }
        for (var j = at.first; j < at.end; j++) {
            dest[to + j * dest_step()] = Unit();
        }
    }
}
