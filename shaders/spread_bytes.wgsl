// Writes rows of units of 1 or 2 bytes, of which only some have a source, on a CPU adapter. An
// invocation builds four words at once; a row is as many times four words long.
//
// A tile is a segment of one row.

@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> dest: array<vec4<u32>>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tile = invocation(group, local);
    if tile >= params.tiles {
        return;
    }
    let units = 16u / UNIT_BYTES;
    let segments = (params.run + params.segment - 1u) / params.segment;
    let row = tile / segments;
    let first = (tile - row * segments) * params.segment;
    let end = min(first + params.segment, params.run);

    let begin = source_row(row);
    let sources = select(0u, row_sources(), begin.state == FOUND);
    let to = params.dest_base + row * params.run;
    var next = next_source(first * units);
    for (var j = first; j < end; j++) {
        let i = next.number;
        let address = (params.source_base + begin.base + i * params.step) * UNIT_BYTES;
        let left = select(sources - i, 0u, i >= sources);
        let comb = combed(Teeth(address, left, next.place, row_step()));
        dest[to + j] = comb.words;
        next = after(next, comb.used, units);
    }
}
