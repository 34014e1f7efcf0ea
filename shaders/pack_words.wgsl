// Packs short rows of 4-byte parts into 16-byte units: in gathers of single parts on every adapter, and other rows on
// software adapters, where each invocation, loop and store has a cost of its own. An invocation builds one or two units
// of four parts, which may span rows, without loops or branches. The whole source is bound.
//
// All rows are looked up before the first part is fetched, and nothing comes between the fetches, so that as many cache
// misses overlap as the processor keeps in flight.

// Parts of a row; 0 if only the uniform says.
override RUN: u32;

// Units that an invocation builds: 2 in a gather on a software adapter, so that eight cache misses overlap; otherwise
// 1.
override UNITS: u32;

@group(0) @binding(0) var<storage, read> source: array<Part>;
@group(0) @binding(1) var<storage, read_write> dest: array<Unit>;

// Four parts of the result: where each lies in the source, and whether it has one; and the rows that begin among them,
// with those that have no source.
struct Parts {
    from_part: vec4<u32>,
    found: vec4<bool>,
    rows: vec4<u32>,
    gone: vec4<bool>,
}

// The four parts from `first` on.
fn four_parts(first: u32) -> Parts {
    var parts: Parts;
    if RUN == 1u { parts = of_four_rows(first); }
    if RUN != 1u { parts = of_two_rows(first); }
    return parts;
}

fn of_four_rows(first: u32) -> Parts {
    let at = four(first);
    let states = vec4(at.a.state, at.b.state, at.c.state, at.d.state);
    return Parts(
        vec4(at.a.base, at.b.base, at.c.base, at.d.base),
        states == vec4(FOUND),
        first + vec4(0u, 1u, 2u, 3u),
        states == vec4(MISSING),
    );
}

// Four parts lie in at most two rows: `first` is a multiple of four, so a row of two begins there.
fn of_two_rows(first: u32) -> Parts {
    let run = select(RUN, uniforms.run, RUN == 0u);
    let row = first / run;
    let j = first - row * run + vec4(0u, 1u, 2u, 3u);
    let near = source_row(row);
    let far = source_row(row + 1u);
    let ends = j >= vec4(run);
    return Parts(
        select(near.base + j * uniforms.step, far.base + (j - run) * uniforms.step, ends),
        select(vec4(near.state), vec4(far.state), ends) == vec4(FOUND),
        vec4(row, row + 1u, 0u, 0u),
        vec4(j.x == 0u && near.state == MISSING, ends.w && far.state == MISSING, false, false),
    );
}

fn fetch_four(parts: Parts) -> vec4<Part> {
    let from_part = select(vec4(0u), uniforms.source_base + parts.from_part, parts.found);
    let values = vec4<Part>(
        source[from_part.x],
        source[from_part.y],
        source[from_part.z],
        source[from_part.w],
    );
    return select(vec4<Part>(), values, parts.found);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tile = invocation(group, local);
    if tile >= uniforms.tiles {
        return;
    }
    if UNITS == 1u {
        let parts = four_parts(tile * PARTS);
        dest[uniforms.dest_base + tile] = fetch_four(parts);
        four_missing(parts.rows, parts.gone);
        return;
    }
    // If the last invocation has only one unit, it builds that one twice.
    let first = tile * 2u;
    let second = min(first + 1u, uniforms.units / PARTS - 1u);
    let low = four_parts(first * PARTS);
    let high = four_parts(second * PARTS);
    let first_unit = fetch_four(low);
    let second_unit = fetch_four(high);
    dest[uniforms.dest_base + first] = first_unit;
    dest[uniforms.dest_base + second] = second_unit;
    eight_missing(low.rows, low.gone, high.rows, high.gone & vec4(second != first));
}
