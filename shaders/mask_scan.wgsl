// Searches of masks, step 2: one workgroup replaces the count of each chunk by the number of true elements before the
// chunk, and writes the total. See `mask.wgsl`.
//
// Numbers of 2^32 or more become NONE, since they exceed the capacity of every result; only the total has two words. If
// a search has too many chunks for a binding, several dispatches take them in order, and each continues (CONTINUES)
// from the total so far.
// Needs: nothing.
#import mask.wgsl

override CONTINUES: bool = false;
// The number of rows for each workgroup of an indirect dispatch. WIDTH is the largest number of workgroups along the
// first dimension.
const ROWS: u32 = 64u;
const WIDTH: u32 = 65535u;

// From word `search.number` on: the arguments of an indirect dispatch, the number of rows, the number of true elements in two
// words, and two zeros.
@group(0) @binding(0) var<storage, read_write> number: array<u32>;
@group(0) @binding(1) var<storage, read_write> counts: array<u32>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) local: u32) {
    var low = 0u;
    var high = 0u;
    if CONTINUES {
        low = number[search.number + 4u];
        high = number[search.number + 5u];
        // All have read before one writes.
        storageBarrier();
    }
    for (var first = 0u; first < search.chunks; first += WORKGROUP) {
        let chunk = first + local;
        var own = 0u;
        if chunk < search.chunks { own = counts[search.first_chunk + chunk]; }
        let found_before = sum_before(own, local);
        if chunk < search.chunks {
            let begin = low + found_before;
            counts[search.first_chunk + chunk] = select(begin, NONE, high > 0u || begin < low);
        }
        let next_sum = low + sums[WORKGROUP - 1u];
        high += select(0u, 1u, next_sum < low);
        low = next_sum;
        workgroupBarrier();
    }
    if local == 0u {
        let kept_count = select(min(low, search.capacity), search.capacity, high > 0u);
        let groups = kept_count / ROWS + select(0u, 1u, kept_count % ROWS > 0u);
        number[search.number + 0u] = min(groups, WIDTH);
        number[search.number + 1u] = groups / WIDTH + select(0u, 1u, groups % WIDTH > 0u);
        number[search.number + 2u] = 1u;
        number[search.number + 3u] = kept_count;
        number[search.number + 4u] = low;
        number[search.number + 5u] = high;
        number[search.number + 6u] = 0u;
        number[search.number + 7u] = 0u;
    }
}
