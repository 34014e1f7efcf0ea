// Step 2 of a search in a mask: one workgroup replaces the count of each chunk by the number of true elements before
// the chunk. It also writes the total. See `mask.wgsl`.
//
// Numbers of 2^32 or more become NONE, because they exceed the capacity of every result. Only the total has two words.
// If a search has too many chunks for one binding, several dispatches take the chunks in order. Each dispatch after the
// first (CONTINUES) continues from the total so far.
// Needs: no other names.
#import mask.wgsl

override CONTINUES: bool = false;
// The number of result rows that each workgroup of the caller's indirect dispatch takes.
const ROWS: u32 = 64u;
// The largest number of workgroups along the first dimension of the indirect dispatch.
const WIDTH: u32 = 65535u;

// The words from `search.number` on: the three arguments of an indirect dispatch, the number of rows, the number of
// true elements in two words, and two zeros.
@group(0) @binding(0) var<storage, read_write> number: array<u32>;
@group(0) @binding(1) var<storage, read_write> counts: array<u32>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) local: u32) {
    var low = 0u;
    var high = 0u;
    if CONTINUES {
        low = number[search.number + 4u];
        high = number[search.number + 5u];
        // All invocations must read the total before one of them overwrites it.
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
