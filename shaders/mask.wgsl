// What the kernels that search a mask share. A search has three steps: `mask_count` counts the true elements of each
// chunk, `mask_scan` makes of the counts where in the result each chunk begins, and `mask_rows` writes positions there.
//
// A mask has a byte for each element, which is true unless it is 0. A chunk is what a workgroup takes: four words for each
// invocation. The host's struct is in src/gpu/engine/uniforms.rs; a test compares the two.
// Defines: search, mask, trues, sum_before. Needs: nothing.
#import grid.wgsl

// A dimension of the mask.
struct MaskDim {
    // The number of positions, or 0 of the dimension in which all elements of the dispatch have one row.
    size: u32,
    // The position of the first element of the dispatch, in two words.
    first: u32,
    first_high: u32,
    // The word of a row of the result that a position along this dimension begins with.
    column: u32,
}

struct Search {
    // The byte of the mask at which the elements of the dispatch begin, and how many they are.
    begin: u32,
    elements: u32,
    // The place of the dispatch's first chunk among those that are bound, and the number of its chunks.
    first_chunk: u32,
    chunks: u32,
    // The word at which `mask_scan` writes what it counted: see there.
    number: u32,
    // The most rows that the result has room for.
    capacity: u32,
    // The word at which the rows of the result begin that are bound, the number of the first, and how many they are.
    result: u32,
    first_row: u32,
    rows: u32,
    // The words of a row of the result, and of one of its numbers (2 for i64).
    row_words: u32,
    index_words: u32,
    // The number of workgroups in the first dimension of the grid.
    groups_x: u32,
    dims: array<MaskDim, 30>,
}

// The words of a mask that an invocation takes.
const WORDS: u32 = 4u;

@group(0) @binding(0) var<storage, read> mask: array<u32>;
@group(2) @binding(0) var<uniform> search: Search;

var<workgroup> sums: array<u32, WORKGROUP>;

// A bit for each true element in word `word` of those that the dispatch takes.
fn trues(word: u32) -> u32 {
    // The bytes before the first element in its word.
    let head = search.begin & 3u;
    if word * 4u >= head + search.elements { return 0u; }
    let bytes = (vec4(mask[(search.begin >> 2u) + word]) >> (FOUR * 8u)) & vec4(0xffu);
    // The number of a byte before the first wraps.
    let inside = word * 4u + FOUR - head < vec4(search.elements);
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
