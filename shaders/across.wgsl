// Moves rows of a few parts of 4 or 8 bytes, on a CPU adapter, which pays for every invocation, loop
// and store. An invocation builds one unit of four parts, whatever rows they belong to, and no part
// of it is a loop or a branch. The whole source is bound.

@group(0) @binding(0) var<storage, read> source: array<Part>;
@group(0) @binding(1) var<storage, read_write> dest: array<Unit>;

// A part of the result: its row, and its place there.
struct Place {
    row: u32,
    j: u32,
}

fn after(place: Place) -> Place {
    let j = place.j + 1u;
    let ends = j == params.run;
    return Place(place.row + u32(ends), select(j, 0u, ends));
}

fn part(place: Place) -> Part {
    let begin = source_row(place.row);
    if begin.state == MISSING && place.j == 0u {
        missing(place.row);
    }
    let value = source[params.source_base + begin.base + place.j * params.step];
    return select(Part(), value, begin.state == FOUND);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tile = invocation(group, local);
    if tile >= params.tiles {
        return;
    }
    let first = tile * 4u;
    let row = first / params.run;
    let a = Place(row, first - row * params.run);
    let b = after(a);
    let c = after(b);
    let d = after(c);
    dest[params.dest_base + tile] = Unit(part(a), part(b), part(c), part(d));
}
