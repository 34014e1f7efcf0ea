// The grid: how an invocation knows its number, and what all kernels share.
// Defines: FOUR, NONE, HIGH, workgroup_number, extended. Needs: nothing.

// The number of invocations in a workgroup. The host makes it a constant.
override WORKGROUP: u32 = 256u;

const FOUR: vec4<u32> = vec4(0u, 1u, 2u, 3u);
const NONE: u32 = 0xffffffffu;
const HIGH: u32 = 0x80000000u;

// The number of a workgroup in a grid that is `width` workgroups wide.
fn workgroup_number(group: vec3<u32>, width: u32) -> u32 {
    return group.y * width + group.x;
}

// The range from `range.x` to below `range.y`, extended to those of four numbers that are `some`.
fn extended(range: vec2<u32>, numbers: vec4<u32>, some: vec4<bool>) -> vec2<u32> {
    let low = select(vec4(NONE), numbers, some);
    let high = select(vec4(0u), numbers + 1u, some);
    let lowest = min(min(low.x, low.y), min(low.z, low.w));
    let highest = max(max(high.x, high.y), max(high.z, high.w));
    return vec2(min(range.x, lowest), max(range.y, highest));
}
