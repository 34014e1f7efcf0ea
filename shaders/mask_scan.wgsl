// Searches of masks, step 2: one workgroup replaces the count of each chunk by the number of true elements before it, and
// writes how many there are in all. See `mask.wgsl`.
//
// Numbers of 2^32 or more become NONE, as no result has room for so many; only the number of all has two words. If a search
// has too many chunks for a binding, dispatches take them in turn, and each goes on (CONTINUES) from the number so far.
// Needs: nothing.
#import mask.wgsl

override CONTINUES: bool = false;
// The workgroups of an indirect dispatch: each takes this many rows, and at most so many lie along the first dimension.
const ROWS: u32 = 64u;
const WIDTH: u32 = 65535u;

// From word `walk.to_base` on: the arguments of an indirect dispatch, the number of rows, the number of true elements in two
// words, and two zeros.
@group(0) @binding(0) var<storage, read_write> number: array<u32>;
@group(0) @binding(1) var<storage, read_write> counts: array<u32>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) local: u32) {
    var low = 0u;
    var high = 0u;
    if CONTINUES {
        low = number[walk.to_base + 4u];
        high = number[walk.to_base + 5u];
    }
    for (var first = 0u; first < walk.segments; first += WORKGROUP) {
        let chunk = first + local;
        var own = 0u;
        if chunk < walk.segments { own = counts[walk.first_row + chunk]; }
        let before = sum_before(own, local);
        if chunk < walk.segments {
            let begin = low + before;
            counts[walk.first_row + chunk] = select(begin, NONE, high > 0u || begin < low);
        }
        let next = low + sums[WORKGROUP - 1u];
        high += select(0u, 1u, next < low);
        low = next;
        workgroupBarrier();
    }
    if local == 0u {
        let kept = select(min(low, walk.slices), walk.slices, high > 0u);
        let groups = kept / ROWS + select(0u, 1u, kept % ROWS > 0u);
        number[walk.to_base + 0u] = min(groups, WIDTH);
        number[walk.to_base + 1u] = groups / WIDTH + select(0u, 1u, groups % WIDTH > 0u);
        number[walk.to_base + 2u] = 1u;
        number[walk.to_base + 3u] = kept;
        number[walk.to_base + 4u] = low;
        number[walk.to_base + 5u] = high;
        number[walk.to_base + 6u] = 0u;
        number[walk.to_base + 7u] = 0u;
    }
}
