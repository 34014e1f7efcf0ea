// What both texts of the last step of a scatter know, whether they take rows one by one or by fours.

// Whether nothing is changed where a row is bad.
override STRICT: bool;

// Whether rows are chained.
override CHAINS: bool;

// The first word is the units of a slice, which are as many in an update.
struct Map {
    axes: array<vec4<u32>, 5>,
}

fn stride() -> u32 {
    return params.map.axes[0].x;
}

// A slice that is not bound.
const NONE: u32 = 0xffffffffu;

// In `head`: the rows of the slice are sorted.
const SORTED: u32 = 0x80000000u;

@group(0) @binding(2) var<storage, read> head: array<u32>;
