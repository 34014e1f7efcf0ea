// Gathers single 4-byte units along the innermost axis of params, on a GPU. Where many tuples point into a short row
// of params, most sectors of the row are needed several times. So a workgroup loads the row into workgroup memory,
// each sector once, and takes from there the units that its segment of the tuples points at.

const PARTS: u32 = 1u;

@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> dest: array<u32>;

// With 256 invocations these take 16 KiB, the workgroup memory that every device has.
const STAGED_VECTORS: u32 = 4u * WORKGROUP;
var<workgroup> staged: array<vec4<u32>, STAGED_VECTORS>;

// Copies vectors `begin` to `begin + last` of the source to `staged`. The last vector is loaded again in place of those
// after it, which may lie outside the binding.
fn stage(begin: u32, last: u32, local: u32) {
    let a = source[begin + min(local, last)];
    let b = source[begin + min(local + WORKGROUP, last)];
    let c = source[begin + min(local + 2u * WORKGROUP, last)];
    let d = source[begin + min(local + 3u * WORKGROUP, last)];
    staged[local] = a;
    staged[local + WORKGROUP] = b;
    staged[local + 2u * WORKGROUP] = c;
    staged[local + 3u * WORKGROUP] = d;
}

// Looks up the unit of the staged row that a tuple points at: `base` is the unit's number in the row.
fn pointed_at(tuple: u32) -> Row {
    return coordinate(0u, index(axis(0u).size + tuple * INDEX_WORDS, 0u), Row(0u, FOUND));
}

fn store(to: u32, at: Row, inside: bool) {
    let unit = select(0u, at.base, at.state == FOUND);
    if inside {
        dest[to] = select(0u, staged[unit >> 2u][unit & 3u], at.state == FOUND);
    }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tile = group_number(group);
    let at = segment(min(tile, uniforms.tiles - 1u));
    let first = at.row * uniforms.run;
    let place = walk(first);
    stage((uniforms.source_base + place.base) >> 2u, (axis(1u).size >> 2u) - 1u, local);
    workgroupBarrier();
    if tile >= uniforms.tiles {
        return;
    }
    for (var j = at.first + local; j < at.end; j += 4u * WORKGROUP) {
        let js = j + WORKGROUP * vec4(0u, 1u, 2u, 3u);
        let inside = js < vec4(at.end);
        let tuples = place.tuple + js;
        let a = pointed_at(tuples.x);
        let b = pointed_at(tuples.y);
        let c = pointed_at(tuples.z);
        let d = pointed_at(tuples.w);
        let rows = first + js;
        let to = uniforms.dest_base + rows;
        store(to.x, a, inside.x);
        store(to.y, b, inside.y);
        store(to.z, c, inside.z);
        store(to.w, d, inside.w);
        let states = vec4(a.state, b.state, c.state, d.state);
        four_missing(rows, inside & (states == vec4(MISSING)));
    }
}
