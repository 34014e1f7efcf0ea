// Combines slices of the destination with rows of a few one-word integers, by atomics. The order in which integers are
// combined does not change the result, so rows need no lists. Minima and maxima are those of signed integers; the sign
// makes no difference to sums and differences.
//
// `indexed.wgsl` finds the slice that a tuple points at: here the `base` of a `Row` is the number of the row's slice. A
// tile is four rows of `run` integers. Neighbouring rows begin `step` integers apart, and so do neighbouring slices.

const PARTS: u32 = 1u;

const ADD: u32 = 0u;
const SUB: u32 = 1u;
const MIN: u32 = 3u;

@group(0) @binding(0) var<storage, read> source: array<i32>;
@group(0) @binding(1) var<storage, read_write> dest: array<atomic<i32>>;

fn combine_row(row: u32, slice: u32, bound: bool) {
    if !bound {
        return;
    }
    let combine = atomic_combine();
    let origin = uniforms.source_base + row * uniforms.step;
    let to = uniforms.dest_base + slice * uniforms.step;
    for (var j = 0u; j < uniforms.run; j++) {
        let update = source[origin + j];
        if combine == ADD {
            atomicAdd(&dest[to + j], update);
        } else if combine == SUB {
            atomicSub(&dest[to + j], update);
        } else if combine == MIN {
            atomicMin(&dest[to + j], update);
        } else {
            atomicMax(&dest[to + j], update);
        }
    }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tile = invocation(group, local);
    if tile >= uniforms.tiles {
        return;
    }
    let row = tile * 4u;
    let found = four(row);
    let numbers = row + vec4(0u, 1u, 2u, 3u);
    let states = vec4(found.a.state, found.b.state, found.c.state, found.d.state);
    let there = numbers < vec4(uniforms.units);
    four_missing(numbers, there & (states == vec4(MISSING)));
    // The stride of axis 0 is the number of the first bound slice, from which slices are counted here. For earlier
    // slices the difference wraps to a number that is not less than `bound`.
    let slices = vec4(found.a.base, found.b.base, found.c.base, found.d.base) - axis(0u).stride;
    let bound = there & (states == vec4(FOUND)) & (slices < vec4(uniforms.map.bound));
    combine_row(row, slices.x, bound.x);
    combine_row(row + 1u, slices.y, bound.y);
    combine_row(row + 2u, slices.z, bound.z);
    combine_row(row + 3u, slices.w, bound.w);
}
