// Step 1 of a search in a mask: counts the true elements of each chunk. See `mask.wgsl`.
// Needs: no other names.
#import mask.wgsl

@group(0) @binding(1) var<storage, read_write> counts: array<u32>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let chunk = workgroup_number(group, search.groups_x);
    var count = 0u;
    for (var n = 0u; n < WORDS; n++) {
        count += countOneBits(true_flags((chunk * WORDS + n) * WORKGROUP + local));
    }
    let count_before = sum_before(count, local);
    if local == WORKGROUP - 1u && chunk < search.chunks { counts[search.first_chunk + chunk] = count_before + count; }
}
