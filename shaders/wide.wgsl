// Moves rows of units of 4 bytes or more.
//
// A tile is a segment of one row. Its lanes take neighbouring units, so that a GPU's accesses
// coalesce; with a single lane an invocation walks the tile alone, which a CPU adapter prefers.
//
// `Unit`, the `Part` that the source is read in, and `fetch`, which puts PARTS of them together, come
// from a file of their own or are generated.

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
    if begin.state == FOUND {
        let origin = params.source_base + begin.base;
        let step = params.step * PARTS;
        for (var j = first + lane; j < end; j += lanes) {
            let from_part = origin + j * step;
            if within(from_part) {
                dest[to + j] = fetch(from_part);
            }
        }
    } else if begin.state == MISSING {
        if first + lane == 0u {
            missing(row);
        }
        for (var j = first + lane; j < end; j += lanes) {
            dest[to + j] = Unit();
        }
    }
}
