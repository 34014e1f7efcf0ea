// The grid: the number of a workgroup, and constants that all kernels share.
// Defines: WORKGROUP, ZERO_TO_THREE, NONE, SIGN_BIT, workgroup_number. Needs: no other names.

// The number of invocations in a workgroup. The host replaces this value with a constant.
override WORKGROUP: u32 = 256u;

const ZERO_TO_THREE: vec4<u32> = vec4(0u, 1u, 2u, 3u);
// The number that means "there is none", and a word with all bits set.
const NONE: u32 = 0xffffffffu;
// The sign bit of an i32 or an f32, and 2^31.
const SIGN_BIT: u32 = 0x80000000u;

// Returns the number of a workgroup in a grid that is `width` workgroups wide.
fn workgroup_number(group: vec3<u32>, width: u32) -> u32 {
    return group.y * width + group.x;
}
