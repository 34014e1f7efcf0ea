// Packs short rows of 4-byte parts into 16-byte units. GPUs use it for gathers in which row n has tuple n and rows have
// one part. Software adapters, where each invocation, loop and store costs time, use it for rows of up to 8 parts that
// together fill whole units. An invocation builds one or two units of four parts, which may span rows. The whole source
// is bound.
//
// All rows are looked up before the first part is fetched, and nothing comes between the fetches, so that as many
// cache misses overlap as the processor can keep in flight.

// The number of parts in a row, or 0 if the shader must read this number from `uniforms.run`.
override RUN: u32;

// The number of units that an invocation builds: 2 in a gather or crop on a software adapter, so that eight cache
// misses overlap; otherwise 1.
override UNITS: u32;

@group(0) @binding(0) var<storage, read> source: array<Part>;
@group(0) @binding(1) var<storage, read_write> dest: array<Unit>;

// Four consecutive parts of the result.
struct Parts {
    // Where each part lies in the source, in parts from `source_base`.
    from_part: vec4<u32>,
    // Whether each part has a source.
    found: vec4<bool>,
    // The numbers of the rows that the parts may belong to: four rows, or two rows followed by zeros.
    rows: vec4<u32>,
    // Which of `rows` have no source and begin with one of the four parts, so that this invocation reports them.
    gone: vec4<bool>,
}

// Looks up the four parts that begin with part `first`.
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

// Looks up four parts. They belong to at most two rows, because rows have at least two parts. If rows have exactly two
// parts, one begins at `first`, which is a multiple of four.
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
    // If only one unit is left for the last invocation, it builds and stores that unit twice.
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
