// What the kernels that search a mask share. A search has three steps: `mask_count` counts the true elements of each
// chunk, `mask_scan` makes of the counts where in the result each chunk begins, and `mask_rows` writes positions there.
//
// A mask has a byte for each element, which is true unless it is 0. A dispatch takes `walk.rows` of them, which begin at
// byte `walk.head` of word `walk.from_base`. A chunk is what a workgroup takes: four words for each invocation. The number
// of a dispatch's chunks is `walk.segments`, and `walk.first_row` is the place of the first among those that are bound.
// Defines: trues, sum_before. Needs: nothing.
#import walk.wgsl

// The words of a mask that an invocation takes.
const WORDS: u32 = 4u;

@group(0) @binding(0) var<storage, read> mask: array<u32>;

var<workgroup> sums: array<u32, WORKGROUP>;

// A bit for each true element in word `word` of those that the dispatch takes.
fn trues(word: u32) -> u32 {
    if word * 4u >= walk.head + walk.rows { return 0u; }
    let bytes = (vec4(mask[walk.from_base + word]) >> (FOUR * 8u)) & vec4(0xffu);
    // The number of a byte before the first wraps.
    let inside = word * 4u + FOUR - walk.head < vec4(walk.rows);
    let bits = select(vec4(0u), vec4(1u, 2u, 4u, 8u), (bytes != vec4(0u)) & inside);
    return bits.x | bits.y | bits.z | bits.w;
}

// The sum of `own` over the invocations of the workgroup before this one. `sums` then has the sums with their own.
fn sum_before(own: u32, local: u32) -> u32 {
    sums[local] = own;
    workgroupBarrier();
    for (var apart = 1u; apart < WORKGROUP; apart *= 2u) {
        var before = 0u;
        if local >= apart { before = sums[local - apart]; }
        workgroupBarrier();
        sums[local] += before;
        workgroupBarrier();
    }
    return sums[local] - own;
}
