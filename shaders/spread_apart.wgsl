// Writes rows of units of 4 bytes or more, of which only some have a source, on a CPU adapter, which
// pays for every load and store and little for arithmetic. An invocation builds four units at once and
// loads as many as can lie among them; a row is as many times four units long.
//
// A tile is a segment of one row.

// How many of four neighbours have a source at most.
override COUNT: u32;

@group(0) @binding(0) var<storage, read> source: array<Part>;
@group(0) @binding(1) var<storage, read_write> dest: array<Unit>;

// Four units, and how many of the sources of the row have been used up.
struct Apart {
    unit: Unit,
    used: u32,
}

// The `n`th source behind `next`, if there is one, in its place among the four.
fn put(n: u32, begin: Row, next: Next, four: ptr<function, Apart>) {
    let i = next.number + n;
    let place = next.place + n * row_step();
    let found = begin.state == FOUND && i < row_sources();
    let value = source[select(0u, params.source_base + begin.base + i * params.step, found)];
    let here = vec4<bool>(vec4<u32>(place) == vec4<u32>(0u, 1u, 2u, 3u)) & vec4<bool>(found);
    (*four).unit = select((*four).unit, Unit(value), here);
    (*four).used += u32(place < 4u);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tile = invocation(group, local);
    if tile >= params.tiles {
        return;
    }
    let segments = (params.run + params.segment - 1u) / params.segment;
    let row = tile / segments;
    let first = (tile - row * segments) * params.segment;
    let end = min(first + params.segment, params.run);

    let begin = source_row(row);
    let to = params.dest_base + row * params.run;
    var next = next_source(first * 4u);
    for (var j = first; j < end; j++) {
        var four = Apart(Unit(), 0u);
        put(0u, begin, next, &four);
        if COUNT > 1u { put(1u, begin, next, &four); }
        if COUNT > 2u { put(2u, begin, next, &four); }
        if COUNT > 3u { put(3u, begin, next, &four); }
        dest[to + j] = four.unit;
        next = after(next, four.used, 4u);
    }
}
