// Moves rows of units of 4 bytes or more, on a GPU. A group of `lanes` neighbouring invocations takes neighbouring
// units of a row, so that their accesses coalesce. Each invocation loads four units before it stores any. The four
// units belong to ROWS rows: one or four. Apart from the look-ups of rows there are no loops, and no load of a unit
// depends on a branch: an invocation without a unit to read loads the first unit of the source.
//
// A workgroup has lanes for `side` tiles at once, and takes `side * ROWS` consecutive tiles. If ROWS is 1 a tile is a
// segment of a row; if it is 4 a tile is a whole row, and the four rows of an invocation are `side` tiles apart.

override ROWS: u32;

@group(0) @binding(0) var<storage, read> source: array<Part>;
@group(0) @binding(1) var<storage, read_write> dest: array<Unit>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lanes = 1u << lanes_log2();
    let lane = local & (lanes - 1u);
    let side = WORKGROUP >> lanes_log2();
    let tile = group_number(group) * side * ROWS + (local >> lanes_log2());

    // The tiles of the four units. Invocations for tiles after the last one look up a row of the last tile, and write
    // nothing.
    var tiles = vec4(tile);
    if ROWS == 4u { tiles += side * vec4(0u, 1u, 2u, 3u); }
    var rows = min(tiles, vec4(uniforms.tiles - 1u));
    var at = Segment(rows.x, 0u, uniforms.run);
    if ROWS == 1u {
        at = segment(rows.x);
        rows = vec4(at.row);
    }
    var units = vec4(at.first + lane);
    if ROWS == 1u { units += lanes * vec4(0u, 1u, 2u, 3u); }

    let a = row_start(rows.x);
    var b = a;
    var c = a;
    var d = a;
    if ROWS == 4u {
        b = row_start(rows.y);
        c = row_start(rows.z);
        d = row_start(rows.w);
    }

    let from_a = unit_at(a, units.x);
    let from_b = unit_at(b, units.y);
    let from_c = unit_at(c, units.z);
    let from_d = unit_at(d, units.w);
    let from_part = vec4(from_a.base, from_b.base, from_c.base, from_d.base);
    let states = vec4(from_a.state, from_b.state, from_c.state, from_d.state);
    let inside = (units < vec4(at.end)) & (tiles < vec4(uniforms.tiles));
    let bound = vec4(within(from_part.x), within(from_part.y), within(from_part.z), within(from_part.w));
    let found = inside & (states == vec4(FOUND)) & bound;
    let zeroed = inside & (states == vec4(MISSING));
    let written = found | zeroed;

    let fetched = select(vec4(0u), from_part, found);
    let moved = fetch_four(fetched);

    let to = uniforms.dest_base + vec4(a.to, b.to, c.to, d.to) + units * dest_step();
    // Nearly all invocations have four units to move. One branch keeps their loads in flight together: compilers move
    // a load that only one branch uses into that branch, where the load waits for the store before it.
    if all(found) {
        dest[to.x] = moved.a;
        dest[to.y] = moved.b;
        dest[to.z] = moved.c;
        dest[to.w] = moved.d;
        return;
    }
    if written.x {
        dest[to.x] = select(Unit(), moved.a, found.x);
    }
    if written.y {
        dest[to.y] = select(Unit(), moved.b, found.y);
    }
    if written.z {
        dest[to.z] = select(Unit(), moved.c, found.z);
    }
    if written.w {
        dest[to.w] = select(Unit(), moved.d, found.w);
    }

    // Each row without a source is reported once: by the invocation that writes its unit 0.
    let gone = zeroed & (units == vec4(0u));
    if any(gone) {
        four_missing(rows, gone);
    }
}
