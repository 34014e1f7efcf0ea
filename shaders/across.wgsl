// Moves rows of a few parts of 4 or 8 bytes, on a CPU adapter, which pays for every invocation, loop
// and store. An invocation builds one unit or two of four or eight parts, whatever rows they belong to,
// and no part of it is a loop or a branch. The whole source is bound.
//
// All rows are looked up before anything is fetched, and nothing comes between the fetches: as many
// cache misses as the processor keeps in flight then overlap.

// Parts of a row.
override RUN: u32;

// Units that an invocation builds: one or two.
override UNITS: u32;

@group(0) @binding(0) var<storage, read> source: array<Part>;
@group(0) @binding(1) var<storage, read_write> dest: array<Unit>;

// Four parts of the result: where each lies in the source, and whether it has one; and the rows that
// begin with one of them and have none.
struct Parts {
    from_part: vec4<u32>,
    found: vec4<bool>,
    rows: vec4<u32>,
    gone: vec4<bool>,
}

// The parts from `first` on.
fn four_parts(first: u32) -> Parts {
    if RUN == 1u {
        let at = four(first);
        let states = vec4(at.a.state, at.b.state, at.c.state, at.d.state);
        return Parts(
            params.source_base + vec4(at.a.base, at.b.base, at.c.base, at.d.base),
            states == vec4(FOUND),
            first + vec4(0u, 1u, 2u, 3u),
            states == vec4(MISSING),
        );
    }
    // They lie in two rows at most: an even number of parts begins where a row of two does.
    let row = first / RUN;
    let j = first - row * RUN + vec4(0u, 1u, 2u, 3u);
    let near = source_row(row);
    let far = source_row(row + 1u);
    let ends = j >= vec4(RUN);
    let from_part = select(near.base + j * params.step, far.base + (j - RUN) * params.step, ends);
    return Parts(
        params.source_base + from_part,
        select(vec4(near.state), vec4(far.state), ends) == vec4(FOUND),
        vec4(row, row + 1u, 0u, 0u),
        vec4(j.x == 0u && near.state == MISSING, ends.w && far.state == MISSING, false, false),
    );
}

fn fetch_four(parts: Parts) -> vec4<Part> {
    return vec4<Part>(
        source[parts.from_part.x],
        source[parts.from_part.y],
        source[parts.from_part.z],
        source[parts.from_part.w],
    );
}

// The parts of a unit, and what was fetched for them; of four parts the high ones are not used.
struct Place {
    low: Parts,
    high: Parts,
}

struct Fetched {
    low: vec4<Part>,
    high: vec4<Part>,
}

fn look_up(unit: u32) -> Place {
    let low = four_parts(unit * PARTS);
    if PARTS == 8u {
        return Place(low, four_parts(unit * PARTS + 4u));
    }
    return Place(low, low);
}

fn fetch_all(place: Place) -> Fetched {
    let low = fetch_four(place.low);
    if PARTS == 8u {
        return Fetched(low, fetch_four(place.high));
    }
    return Fetched(low, low);
}

fn store(unit: u32, place: Place, fetched: Fetched) {
    let low = select(vec4<Part>(), fetched.low, place.low.found);
    let high = select(vec4<Part>(), fetched.high, place.high.found);
    dest[params.dest_base + unit] = together(low, high);
    four_missing(place.low.rows, place.low.gone);
    if PARTS == 8u {
        four_missing(place.high.rows, place.high.gone);
    }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tile = invocation(group, local);
    if tile >= params.tiles {
        return;
    }
    let unit = tile * UNITS;
    if UNITS == 2u {
        let first = look_up(unit);
        let second = look_up(unit + 1u);
        let at_first = fetch_all(first);
        let at_second = fetch_all(second);
        store(unit, first, at_first);
        store(unit + 1u, second, at_second);
    } else {
        let only = look_up(unit);
        store(unit, only, fetch_all(only));
    }
}
