// crop: rows are numbered in row-major order over boxes, the positions within a box along each cropped dimension, and
// the kept dimensions. Each box has one index tuple. It holds, in this order: the index of the box's item, if there are
// box indices; the position at which the box begins along each cropped dimension; and, if there are flips, a number for
// each cropped dimension, which is not 0 if the box is reversed along it.
//
// A row is outside, and has no source, if its position along a cropped dimension is outside the item, or if the item
// does not exist. If rows of a box are outside, the first of them reports the box.

// The number of words per index: 1 for i32 and u32, 2 for i64.
override INDEX_WORDS: u32;

struct Map {
    // Bits 0 to 3: the number of cropped dimensions. Bits 4 to 7: the number of kept dimensions. The other bits are the
    // flags below.
    flags: u32,
    // The word at which the tuples begin in their binding.
    index_base: u32,
    // The number of the first row of this dispatch, counted from the first row of its first box.
    first_row: u32,
    // The number of bound units of the source, `x`: no access goes beyond them.
    bound: u32,
    // The number of items, and the distance in units between neighbouring items. Without box indices, box n crops item
    // n.
    items: u32,
    item_stride: u32,
    // This dispatch accepts the `count` items from number `first` on. Other dispatches, with other parts of `x` bound,
    // accept the other items.
    first: u32,
    count: u32,
    // A vector for each cropped dimension holds: the size of a box; the number of positions in `x`; the distance in
    // units between these positions; and the distance in positions between neighbouring elements of a box, which wraps
    // if negative. The vectors after these hold the size and the stride in units of the kept dimensions, two such pairs
    // each.
    axes: array<vec4<u32>, 4>,
}

// Tuples begin with a box index.
const ITEMS: u32 = 0x100u;
// Tuples end with flips.
const FLIPS: u32 = 0x200u;
// Indices are signed.
const SIGNED_INDICES: u32 = 0x400u;
// Boxes that reach outside are shifted until they lie inside, and box indices are clamped to those of existing items.
const CLAMPS: u32 = 0x800u;

fn flag(bit: u32) -> bool {
    return (uniforms.map.flags & bit) != 0u;
}

// The number of cropped dimensions.
fn dims() -> u32 {
    return uniforms.map.flags & 15u;
}

// The number of kept dimensions.
fn kept() -> u32 {
    return (uniforms.map.flags >> 4u) & 15u;
}

fn kept_axis(d: u32) -> Axis {
    let pair = uniforms.map.axes[dims() + (d >> 1u)];
    if (d & 1u) == 0u {
        return Axis(pair.x, pair.y);
    }
    return Axis(pair.z, pair.w);
}

// The boxes that reach outside.
struct Report {
    // The number of such boxes.
    count: atomic<u32>,
    // The complement of the number of the first such box. The host clears the report to zeros. The first box has the
    // largest complement, which is the one that `atomicMax` keeps.
    first: atomic<u32>,
}

@group(1) @binding(0) var<storage, read_write> report: Report;

// A row's position in its box.
struct Place {
    // The number of the box, and the word at which its tuple begins.
    box: u32,
    tuple: u32,
    // The row-major number, along the cropped dimensions, of the row's position in its box.
    position: u32,
    // The sum of the row's positions times strides along the kept dimensions.
    base: u32,
    // Whether the row's position along every kept dimension is 0.
    is_first: bool,
}

fn place_of(row: u32) -> Place {
    var at = Place(0u, 0u, row + uniforms.map.first_row, 0u, true);
    for (var d = kept(); d > 0u; d--) {
        let axis = kept_axis(d - 1u);
        let outer = at.position / axis.size;
        let digit = at.position - outer * axis.size;
        at.base += digit * axis.stride;
        at.is_first &= digit == 0u;
        at.position = outer;
    }
    var positions = 1u;
    for (var d = 0u; d < dims(); d++) {
        positions *= uniforms.map.axes[d].x;
    }
    at.box = at.position / positions;
    at.position -= at.box * positions;
    let depth = select(0u, 1u, flag(ITEMS)) + dims() * select(1u, 2u, flag(FLIPS));
    at.tuple = uniforms.map.index_base + at.box * (depth * INDEX_WORDS);
    return at;
}

// The two words of a 64-bit index, which is negative if its highest bit is set.
struct Index {
    low: u32,
    high: u32,
}

// Loads index `d` of the tuple that begins at word `tuple`.
fn index(tuple: u32, d: u32) -> Index {
    let at = tuple + d * INDEX_WORDS;
    let low = word(at);
    if INDEX_WORDS == 2u {
        return Index(low, word(at + 1u));
    }
    return Index(low, select(0u, 0u - (low >> 31u), flag(SIGNED_INDICES)));
}

// Clamps an index to `low..=high`. If its high word is not 0, the index is negative or larger than `high`.
fn clamped(at: Index, low: u32, high: u32) -> Index {
    if (at.high >> 31u) != 0u {
        return Index(low, 0u);
    }
    if at.high != 0u {
        return Index(high, 0u);
    }
    return Index(clamp(at.low, low, high), 0u);
}

// Returns where element `j` of a box lies along cropped dimension `d`: `base` is its position in `x`, and the state is
// FOUND or MISSING.
fn element(tuple: u32, d: u32, j: u32) -> Row {
    let axis = uniforms.map.axes[d];
    let columns = select(0u, 1u, flag(ITEMS)) + d;
    var begin = index(tuple, columns);
    if flag(CLAMPS) {
        let reach = i32((axis.x - 1u) * axis.w);
        begin = clamped(begin, u32(max(-reach, 0)), u32(i32(axis.y) - 1 - max(reach, 0)));
    }
    var along = j;
    if flag(FLIPS) {
        let flips = index(tuple, columns + dims());
        along = select(j, axis.x - 1u - j, (flips.low | flips.high) != 0u);
    }
    // The position, a sum of two 64-bit numbers. It overflows only if `begin` is so far away that the position is
    // outside anyway.
    let offset = along * axis.w;
    let low = begin.low + offset;
    let high = begin.high + (0u - (offset >> 31u)) + u32(low < offset);
    return Row(low, select(MISSING, FOUND, high == 0u && low < axis.y));
}

// Returns where the item of a box begins, relative to `source_base`, and the item's state.
fn item(at: Place) -> Row {
    if !flag(ITEMS) {
        return Row(at.box * uniforms.map.item_stride, FOUND);
    }
    var number = index(at.tuple, 0u);
    let items = uniforms.map.items;
    if flag(CLAMPS) && items > 0u {
        number = clamped(number, 0u, items - 1u);
    }
    let distance = number.low - uniforms.map.first;
    let accepted = number.low >= uniforms.map.first && distance < uniforms.map.count;
    let bad = number.high != 0u || number.low >= items;
    return Row(distance * uniforms.map.item_stride, select(select(ELSEWHERE, FOUND, accepted), MISSING, bad));
}

fn source_row(row: u32) -> Row {
    let place = place_of(row);
    var at = item(place);
    at.base += place.base;
    var rest = place.position;
    for (var d = dims(); d > 0u; d--) {
        let axis = uniforms.map.axes[d - 1u];
        var j = rest;
        // What is left of the number is the position along the outermost dimension.
        if d > 1u {
            rest /= axis.x;
            j -= rest * axis.x;
        }
        let found = element(place.tuple, d - 1u, j);
        at.base += found.base * axis.z;
        at.state = select(at.state, MISSING, found.state == MISSING);
    }
    return at;
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

fn within(unit: u32) -> bool {
    return unit < uniforms.map.bound;
}

// Whether a row that is outside is the first such row of its box in row-major order. If row 0 of the box is outside, it
// is the first. Otherwise element 0 is inside along every dimension. Row-major order then reaches the first row outside
// while only one position is not 0: the one along the innermost dimension that has elements outside.
fn is_first_outside(at: Place) -> bool {
    if !at.is_first || at.position == 0u {
        return at.is_first;
    }
    var rest = at.position;
    // Whether element 0, and whether the last element, is inside along each dimension visited so far. If both are, so
    // are all elements between them. `first_inside` is also false if the item does not exist.
    var first_inside = item(at).state != MISSING;
    var all_inside = true;
    // The number of dimensions visited so far along which the row's position is not 0. For the last of these, `is_edge`
    // says whether the position is the first one outside while all elements of inner dimensions are inside.
    var others = 0u;
    var is_edge = false;
    for (var d = dims(); d > 0u; d--) {
        let size = uniforms.map.axes[d - 1u].x;
        let outer = rest / size;
        let j = rest - outer * size;
        rest = outer;
        if j > 0u {
            others++;
            is_edge = all_inside
                && element(at.tuple, d - 1u, j).state == MISSING
                && element(at.tuple, d - 1u, j - 1u).state == FOUND;
        }
        first_inside &= element(at.tuple, d - 1u, 0u).state == FOUND;
        all_inside &= element(at.tuple, d - 1u, size - 1u).state == FOUND;
    }
    return others == 1u && is_edge && first_inside;
}

// Reports the box of a row that is outside, if the row is the first such row of the box.
fn missing(row: u32) {
    let at = place_of(row);
    if is_first_outside(at) {
        atomicAdd(&report.count, 1u);
        atomicMax(&report.first, ~at.box);
    }
}

// Calls `missing` for those of four rows whose component of `gone` is true.
fn four_missing(rows: vec4<u32>, gone: vec4<bool>) {
    for (var n = 0u; n < 4u; n++) {
        if gone[n] {
            missing(rows[n]);
        }
    }
}

fn eight_missing(rows: vec4<u32>, gone: vec4<bool>, more: vec4<u32>, more_gone: vec4<bool>) {
    four_missing(rows, gone);
    four_missing(more, more_gone);
}
