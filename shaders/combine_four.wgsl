// Combines rows of a single unit with slices of the destination, on a CPU adapter, which pays for every
// invocation, loop and load: four rows at once, and with them all other rows of their slices.

@group(0) @binding(0) var<storage, read> source: array<Unit>;
@group(0) @binding(1) var<storage, read_write> dest: array<Unit>;

fn update(link: u32) -> vec4<u32> {
    return words(source[params.source_base + (link - 1u) * stride()]);
}

fn combine(to: u32, link: u32, behind: u32, found: bool) {
    if !found {
        return;
    }
    var result = combined(words(dest[to]), update(link));
    for (var at = behind; at != 0u; at = next(at)) {
        result = combined(result, update(at));
    }
    dest[to] = unit(result);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tile = invocation(group, local);
    if tile >= params.tiles {
        return;
    }
    let at = four_places(tile);
    let found = at.found;
    let behind = at.next;
    let to = params.dest_base + at.slices * stride();
    let link = tile * 4u + 1u;
    combine(to.x, link, behind.x, found.x);
    combine(to.y, link + 1u, behind.y, found.y);
    combine(to.z, link + 2u, behind.z, found.z);
    combine(to.w, link + 3u, behind.w, found.w);
}
