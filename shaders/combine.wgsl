// Combines rows with slices of the destination: all rows of a slice, one after the other, unit by unit.
//
// A tile is a segment of one row. Its lanes take neighbouring units.

@group(0) @binding(0) var<storage, read> source: array<Unit>;
@group(0) @binding(1) var<storage, read_write> dest: array<Unit>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = invocation(group, local);
    let tile = id >> lanes_log2();
    if tile >= uniforms.tiles {
        return;
    }
    let lanes = 1u << lanes_log2();
    let lane = id & (lanes - 1u);
    let at = segment(tile);

    let start = row_start(at.row);
    if start.state != FOUND {
        return;
    }
    let to = uniforms.dest_base + start.to;
    for (var j = at.first + lane; j < at.end; j += lanes) {
        var result = words(dest[to + j]);
        // The next link is on its way while a row is combined.
        for (var link = at.row + 1u; link != 0u;) {
            let update = source[uniforms.source_base + (link - 1u) * stride() + j];
            link = next(link);
            result = combined(result, words(update));
        }
        dest[to + j] = unit(result);
    }
}
