// All gathers (gather_nd, gather, gather_elements): rows are numbered in row-major order over the walked dimensions (see src/ops/indexed.rs). Index
// tuples are numbered over some of these; rows that differ only along the others have the same tuple. A tuple consists
// of coordinates, each of which is an index into one dimension of params. If a coordinate is outside its dimension, the
// row has no source. In a scatter, tuples point at slices of the destination, and the `base` of a `Row` is the number
// of a slice rather than of a unit of params.

// The number of coordinates in a tuple if it is a constant: PLAIN must be set, row n must have tuple n, and tuples must
// have 1 or 2 coordinates. The look-up then has no loop, so the indices of several rows are loaded together. Otherwise
// DIMS is 0, and `dims` returns the number.
override DIMS: u32;

// The number of words per index: 1 for i32 and u32, 2 for i64.
override INDEX_WORDS: u32;

// Whether an index is in bounds exactly if its low word, as an unsigned number, is less than the dimension's size, and
// the high word of a 64-bit index is 0. This holds if the dispatch accepts all indices into the first dimension, every
// dimension is shorter than 2^31, and indices neither wrap nor are clamped.
override PLAIN: bool;

struct Map {
    // Bits that the functions and constants below name.
    flags: u32,
    // The low word of the first index into the first dimension that this dispatch accepts. Other dispatches, with
    // other parts of params bound, accept the other indices.
    first: u32,
    // The number of consecutive indices into the first dimension that this dispatch accepts.
    count: u32,
    // The number of bound units of params, or of bound slices in a scatter: no access goes beyond them.
    bound: u32,
    // Ten pairs of numbers, two per vector.
    // Pair 0: the word at which the tuples begin in their binding, and the stride of the outermost walked dimension or,
    // in a scatter, the number of the first bound slice.
    // From pair 1: the size and the stride of each dimension that coordinates index, then those of each walked
    // dimension but the outermost.
    // Pair 9, unless a dimension takes it: the high word of the first indexed dimension's size, and that of `first`.
    axes: array<vec4<u32>, 5>,
}

// Returns pair `d` of `axes`. A vector holds two pairs, because the elements of uniform arrays are 16 bytes apart.
fn axis(d: u32) -> Axis {
    let pair = uniforms.map.axes[d >> 1u];
    if (d & 1u) == 0u {
        return Axis(pair.x, pair.y);
    }
    return Axis(pair.z, pair.w);
}

// The number of coordinates in an index tuple.
fn dims() -> u32 {
    return uniforms.map.flags & 15u;
}

// The number of walked dimensions; 0 if row n has tuple n.
fn walked_dims() -> u32 {
    return (uniforms.map.flags >> 4u) & 15u;
}

// Whether rows that differ only along walked dimension `d` have the same tuple.
fn repeats(d: u32) -> bool {
    return ((uniforms.map.flags >> (8u + d)) & 1u) != 0u;
}

fn any_repeats() -> bool {
    return (uniforms.map.flags & 0x3ff00u) != 0u;
}

// The code of the operation by which `combine_atomic.wgsl` combines elements, from `combine_number` in src/gpu/rule.rs.
fn atomic_combine() -> u32 {
    return uniforms.map.flags >> 28u;
}

fn flag(bit: u32) -> bool {
    return (uniforms.map.flags & bit) != 0u;
}

// Indices are signed.
const SIGNED_INDICES: u32 = 0x40000u;
// Negative indices count from the end of the dimension.
const WRAPS: u32 = 0x80000u;
// Indices outside a dimension are clamped to its nearest position.
const CLAMPS: u32 = 0x100000u;
// The dispatch only checks the index tuples of a scatter, because one tuple out of range forbids all changes.
const CHECKS: u32 = 0x200000u;
// A scatter links all rows that go to a slice. Otherwise it keeps only the last of them.
const CHAINS: u32 = 0x400000u;

// The number of the last pair of `axes`.
const LAST: u32 = 9u;

// The index tuples that are out of range.
struct Report {
    // The number of such tuples.
    count: atomic<u32>,
    // The complement of the number of the first such tuple. The host clears the report to zeros. The first tuple has
    // the largest complement, which is the one that `atomicMax` keeps.
    first: atomic<u32>,
}

@group(1) @binding(0) var<storage, read_write> report: Report;

// The state of `walk`, which takes the walked dimensions from the innermost to the outermost.
struct Walk {
    // The row's number divided by the sizes of the dimensions taken so far.
    rest: u32,
    // The sum of the row's positions times strides in the source.
    base: u32,
    // The sum of the row's positions times strides in tuples: at the end, the number of the row's tuple.
    tuple: u32,
    // The stride of the next dimension, in tuples.
    tuple_stride: u32,
    // Whether an earlier row has the same tuple.
    again: bool,
}

fn walk(row: u32) -> Walk {
    var at = Walk(row, 0u, 0u, 1u, false);
    if DIMS > 0u {
        at.tuple = row;
        return at;
    }
    for (var d = max(walked_dims(), 1u) - 1u; d > 0u; d--) {
        turn(d, &at);
    }
    // `rest` is now the position along the outermost dimension, which therefore needs no division.
    if walked_dims() > 0u {
        advance(0u, at.rest, Axis(0u, axis(0u).stride), &at);
    }
    if !any_repeats() {
        at.tuple = row;
    }
    return at;
}

// Divides the rest of the row's number by the size of walked dimension `d`. The remainder is the position along this
// dimension.
fn turn(d: u32, at: ptr<function, Walk>) {
    let dimension = axis(dims() + d);
    let outer = (*at).rest / dimension.size;
    let digit = (*at).rest - outer * dimension.size;
    (*at).rest = outer;
    advance(d, digit, dimension, at);
}

// Adds position `digit` along walked dimension `d` to the sums of the walk.
fn advance(d: u32, digit: u32, dimension: Axis, at: ptr<function, Walk>) {
    (*at).base += digit * dimension.stride;
    if repeats(d) {
        (*at).again |= digit != 0u;
    } else {
        (*at).tuple += digit * (*at).tuple_stride;
        (*at).tuple_stride *= dimension.size;
    }
}

fn source_row(row: u32) -> Row {
    let place = walk(row);
    let depth = select(dims(), DIMS, DIMS > 0u);
    let tuple = axis(0u).size + place.tuple * (depth * INDEX_WORDS);
    var at = Row(place.base, FOUND);
    if DIMS > 0u { at = coordinate(0u, index(tuple, 0u), at); }
    if DIMS > 1u { at = coordinate(1u, index(tuple, 1u), at); }
    if DIMS == 0u {
        for (var d = 0u; d < dims(); d++) {
            at = coordinate(d, index(tuple, d), at);
        }
    }
    return at;
}

// The two words of a 64-bit index. A negative index is large as an unsigned number.
struct Index {
    low: u32,
    high: u32,
}

// Returns where a row begins in source and result. The rows of the result are contiguous.
fn row_start(row: u32) -> Start {
    let at = source_row(row);
    return Start(at.base, row * uniforms.run, at.state);
}

fn dest_step() -> u32 {
    return 1u;
}

// Returns where unit `j` of a row lies in the source.
fn unit_at(start: Start, j: u32) -> Row {
    return Row(uniforms.source_base + start.from_part + j * uniforms.step * PARTS, start.state);
}

// Loads index `d` of the tuple that begins at word `tuple`.
fn index(tuple: u32, d: u32) -> Index {
    let at = tuple + d * INDEX_WORDS;
    let low = word(at);
    if INDEX_WORDS == 2u {
        return Index(low, word(at + 1u));
    }
    return extended(low);
}

fn extended(low: u32) -> Index {
    return Index(low, select(0u, 0u - (low >> 31u), flag(SIGNED_INDICES)));
}

// Adds coordinate `d`, whose index is `at`, to `so_far`, the result of looking up the coordinates before `d`. The state
// becomes MISSING if the index is out of bounds, and ELSEWHERE if it is in bounds but another dispatch accepts it.
fn coordinate(d: u32, at: Index, so_far: Row) -> Row {
    let size_and_stride = axis(1u + d);
    var index = at.low;
    var index_high = at.high;
    let size = size_and_stride.size;
    var high = vec2(0u);
    if !PLAIN && d == 0u && dims() + max(walked_dims(), 1u) <= LAST {
        let last = axis(LAST);
        high = vec2(last.size, last.stride);
    }
    if !PLAIN && flag(WRAPS) {
        let negative = index_high >> 31u;
        index += size * negative;
        index_high += (high.x + u32(index < size)) * negative;
    }
    // In plain dispatches sizes are less than 2^31, so a negative 32-bit index, taken as unsigned, is out of bounds.
    var bad = index >= size;
    if !PLAIN {
        bad = (index_high > high.x) | ((index_high == high.x) & bad);
    } else if INDEX_WORDS == 2u {
        bad |= index_high != 0u;
    }
    if !PLAIN && flag(CLAMPS) {
        let negative = (index_high >> 31u) != 0u;
        let end_high = high.x - u32(size == 0u);
        index = select(index, select(size - 1u, 0u, negative), bad);
        index_high = select(index_high, select(end_high, 0u, negative), bad);
        // A dimension of size 0 has no position to clamp to.
        bad = (size | high.x) == 0u;
    }
    var state = so_far.state;
    if !PLAIN && d == 0u {
        index_high -= high.y + select(0u, 1u, index < uniforms.map.first);
        index -= uniforms.map.first;
        state = select(ELSEWHERE, FOUND, (index_high == 0u) & (index < uniforms.map.count));
    }
    return Row(so_far.base + index * size_and_stride.stride, select(state, MISSING, bad));
}

fn within(unit: u32) -> bool {
    return unit < uniforms.map.bound;
}

// Reports the tuple of a row without a source. Of several rows with the same tuple, only the first one reports it.
fn missing(row: u32) {
    let at = walk(row);
    if !at.again {
        atomicAdd(&report.count, 1u);
        atomicMax(&report.first, ~at.tuple);
    }
}

// The tuples to report.
struct Counted {
    // The number of tuples.
    count: u32,
    // The complement of the first tuple's number, as in `Report`.
    first: u32,
}

fn counted(rows: vec4<u32>, gone: vec4<bool>) -> Counted {
    let a = walk(rows.x);
    let b = walk(rows.y);
    let c = walk(rows.z);
    let d = walk(rows.w);
    let counts = gone & !vec4(a.again, b.again, c.again, d.again);
    let ones = select(vec4(0u), vec4(1u), counts);
    let first = select(vec4(0u), ~vec4(a.tuple, b.tuple, c.tuple, d.tuple), counts);
    return Counted(
        ones.x + ones.y + ones.z + ones.w,
        max(max(first.x, first.y), max(first.z, first.w)),
    );
}

fn count(tuples: Counted) {
    if tuples.count != 0u {
        atomicAdd(&report.count, tuples.count);
        atomicMax(&report.first, tuples.first);
    }
}

// Does what `missing` does, for those of four rows whose component of `gone` is true.
fn four_missing(rows: vec4<u32>, gone: vec4<bool>) {
    if any(gone) {
        count(counted(rows, gone));
    }
}

// Does what `four_missing` does, for eight rows in one branch. A software adapter executes the atomics of every branch,
// even if no row is missing.
fn eight_missing(rows: vec4<u32>, gone: vec4<bool>, more: vec4<u32>, more_gone: vec4<bool>) {
    if any(gone | more_gone) {
        let a = counted(rows, gone);
        let b = counted(more, more_gone);
        count(Counted(a.count + b.count, max(a.first, b.first)));
    }
}
