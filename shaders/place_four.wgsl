// Moves rows of a single unit to places of the destination, on a CPU adapter, which pays for every
// invocation and load: four rows at once.

@group(0) @binding(0) var<storage, read> source: array<Unit>;
@group(0) @binding(1) var<storage, read_write> dest: array<Unit>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tile = invocation(group, local);
    if tile >= params.tiles {
        return;
    }
    let at = four_places(tile);
    let found = at.found;
    let to = params.dest_base + at.slices * stride();
    let origin = params.source_base + (tile * 4u + vec4(0u, 1u, 2u, 3u)) * stride();
    if found.x {
        dest[to.x] = source[origin.x];
    }
    if found.y {
        dest[to.y] = source[origin.y];
    }
    if found.z {
        dest[to.z] = source[origin.z];
    }
    if found.w {
        dest[to.w] = source[origin.w];
    }
}
