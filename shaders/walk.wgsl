// The walk: where each row of a dispatch begins in the source and in the destination. Every kernel imports this file.
//
// Rows are numbered in row-major order over `dims`, outermost first; a digit is a row's position along one of them. A
// row is `run` units, `run_from` apart in the source and `run_to` apart in the destination. Unit j of a row lies at
//
//     from = from_base + sum(digit[d] * dims[d].from_stride) + j * run_from + sum(position[c] * coordinates[c].stride)
//     to   = to_base   + sum(digit[d] * dims[d].to_stride)   + j * run_to
//
// where position[c] is a number of the row's index tuple or, in a crop, that number plus a multiple of the row's digit
// along one dimension. Where rows go by their tuples (SCATTERS), the coordinates are added to `to` instead. In the other
// steps of a scatter, `slice_of` takes the sum of `from` for the number of a slice of the destination.
//
// Distances are in units of the kernel: bytes in kernels for elements of 1 to 3 bytes. Sums wrap modulo 2^32, and a
// negative distance is its complement. The host's struct is in src/gpu/engine/uniforms.rs; a test compares the two.
// Defines: walk, report, Row, locate, locate_along, has_source, lies_inside, are_inside, may_report, report_four,
// report_row, slice_of, extended, workgroup_number. Needs: nothing.

// The number of `dims` if it is known to the compiler, so that loops over them unroll; otherwise MANY_DIMS, and the
// walk has the number.
override DIMS: u32 = 8u;
// The same for the number of coordinates. If it is 0, the dispatch has no tuples.
override COORDINATES: u32 = 9u;
// Whether coordinates may extend along dimensions: crops, and gradients of slices.
override CROPS: bool = true;
// Whether all coordinates extend along dimensions, from positions that no tuple names: gradients of slices. Sizes and
// reaches are less than 2^30, and this dispatch takes all positions, so 32 bits suffice.
override FIXED: bool = false;
// Whether a number of a tuple is in range exactly if it is less than its dimension's size, as an unsigned number: it is
// neither wrapped nor clamped, no dimension has 2^31 positions, and this dispatch takes all of them.
override PLAIN: bool = false;
// Whether a coordinate has 2^32 positions or more.
override LONG: bool = false;
// Whether tuples are bytes of a mask, whose one number is 0, or NONE if the byte is 0. `tuples` and `tuple_words` then
// count bytes.
override MASKED: bool = false;
// Whether index tuples point into the destination.
override SCATTERS: bool = false;
// Whether an invocation does all of its segment in a loop: on adapters on which invocations cost more than loops. They
// also execute a branch that no invocation takes, and discard what it stores, so such branches stand after the loop.
override LOOPS: bool = false;
// The number of invocations in a workgroup. The host makes it a constant.
override WORKGROUP: u32 = 256u;

struct Dim {
    size: u32,
    // The distance between neighbours in the source, in the destination, and in the list of tuples.
    from_stride: u32,
    to_stride: u32,
    tuple_stride: u32,
}

struct Coordinate {
    // The number of positions, and their distance.
    size: u32,
    stride: u32,
    // This dispatch takes the `count` positions from `first` on; rows at other positions are other dispatches'.
    first: u32,
    count: u32,
    // The number of the tuple's column, or NONE: then the position is `begin`, a signed number.
    column: u32,
    begin: u32,
    // The dimension along which boxes extend, RUN or NONE. Neighbours in a box are `step`
    // positions apart, and a box has `extent` of them along the dimension, of which this dispatch takes those from
    // `digit` on. If column `flip` of the tuple, unless it is NONE, is not 0, the box is reversed.
    along: u32,
    step: u32,
    extent: u32,
    digit: u32,
    flip: u32,
    // `size` and `first` have 48 bits: the low half of this word has the upper 16 bits of `size`, the high half those of
    // `first`.
    high: u32,
}

struct Walk {
    from_base: u32,
    to_base: u32,
    run: u32,
    run_from: u32,
    run_to: u32,
    rows: u32,
    // Bits that the constants below name.
    flags: u32,
    // The numbers of dimensions and coordinates.
    dims_used: u32,
    coordinates_used: u32,
    // The word at which tuples begin, and the words of a tuple and of one of its numbers (2 for i64).
    tuples: u32,
    tuple_words: u32,
    index_words: u32,
    // How invocations share the work: a group of 2^lanes_log2 neighbouring invocations takes a segment of `segment`
    // units of a row, which has `segments` of them. See each kernel.
    lanes_log2: u32,
    segments: u32,
    segment: u32,
    // The number of workgroups in the first dimension of the grid.
    groups_x: u32,
    // In `copy_words.wgsl` and `copy_unaligned.wgsl`: the elements or bytes before the result in its first group.
    head: u32,
    // In a scatter: a row's number is its position plus `first_row` plus 1; numbers up to `first_row` are of earlier
    // dispatches. `slices` slices of the destination, from number `first_slice` on, are bound.
    first_row: u32,
    slices: u32,
    first_slice: u32,
    // The lists of a slice (0 if one workgroup links all rows), and the logarithm of the number of rows that share a
    // list: see `link.wgsl`.
    lists: u32,
    list_shift: u32,
    // The distance between rows in the updates and between slices, and where the first row begins in the updates.
    pitch: u32,
    updates: u32,
    // The number of a tuple that stands for position 0. Only tuples of the numbers of rows, which `last.wgsl` writes,
    // have one that is not 0.
    first_index: u32,
    // In `convert.wgsl`: the elements of the source that share a table, the number of tables, and what must be added to the
    // number of an element so that the first table begins at 0.
    table_inner: u32,
    tables: u32,
    table_shift: u32,
    dims: array<Dim, 8>,
    coordinates: array<Coordinate, 9>,
}

// Index numbers have a sign.
const SIGNED_INDICES: u32 = 1u;
// Negative numbers count from the end; those outside move to the nearest end, or a box to where it lies inside.
const WRAPS: u32 = 2u;
const CLAMPS: u32 = 4u;
// This dispatch reports tuples that are out of range.
const REPORTS: u32 = 8u;
// A row without a source keeps its values instead of becoming zeros.
const KEEPS: u32 = 16u;
// If any tuple was reported, nothing may change: all rows count as out of range.
const STRICT: u32 = 32u;
// Positions of boxes are taken modulo the sizes of dimensions.
const CIRCULAR: u32 = 64u;

struct Report {
    // The number of tuples out of range.
    count: atomic<u32>,
    // The complement of the number of the first of them. The host clears the report to zeros.
    first: atomic<u32>,
}

@group(0) @binding(0) var<storage, read> tuples: array<u32>;
@group(1) @binding(0) var<storage, read_write> report: Report;
@group(2) @binding(0) var<uniform> walk: Walk;

const FOUR: vec4<u32> = vec4(0u, 1u, 2u, 3u);
const NONE: u32 = 0xffffffffu;
// In place of a dimension: the run.
const RUN: u32 = 0xfffffffeu;
// From this many dimensions and coordinates on, their number is the walk's.
const MANY_DIMS: u32 = 8u;
const MANY_COORDINATES: u32 = 9u;
const HIGH: u32 = 0x80000000u;

// The row has a source; it has none and becomes zeros; another dispatch writes it, or none does.
const FOUND: u32 = 0u;
const MISSING: u32 = 1u;
const ELSEWHERE: u32 = 2u;

struct Row {
    // Where unit 0 of the row lies in the source, and the distance to the next.
    base: u32,
    step: u32,
    // Where unit 0 of the row lies in the destination.
    to: u32,
    state: u32,
    // The number of the row's tuple, and 0 for the first row that has it. That row reports it.
    tuple: u32,
    later: u32,
    // If the run is cropped: unit j lies inside if place + j * place_step is less than `places`.
    place: u32,
    place_step: u32,
    places: u32,
}

fn dims() -> u32 {
    return select(DIMS, walk.dims_used, DIMS == MANY_DIMS);
}

fn coordinates() -> u32 {
    return select(COORDINATES, walk.coordinates_used, COORDINATES == MANY_COORDINATES);
}

fn flag(bit: u32) -> bool {
    return (walk.flags & bit) != 0u;
}

// A 64-bit number in two words.
struct Number {
    low: u32,
    high: u32,
}

// The number in column `column` of the tuple that begins at word `tuple`.
fn number_at(tuple: u32, column: u32) -> Number {
    if MASKED { return Number(mask_at(tuple), 0u); }
    let at = tuple + column * walk.index_words;
    let low = tuples[at] - walk.first_index;
    if walk.index_words == 2u { return Number(low, tuples[at + 1u]); }
    return Number(low, select(0u, NONE, flag(SIGNED_INDICES) && low >= HIGH));
}

// The same number if it is PLAIN: its low word, or NONE if the high word is not 0.
fn plain_number_at(tuple: u32, column: u32) -> u32 {
    if MASKED { return mask_at(tuple); }
    let at = tuple + column * walk.index_words;
    let low = tuples[at] - walk.first_index;
    if walk.index_words == 2u { return select(NONE, low, tuples[at + 1u] == 0u); }
    return low;
}

fn mask_at(byte: u32) -> u32 {
    return select(NONE, 0u, ((tuples[byte >> 2u] >> ((byte & 3u) * 8u)) & 0xffu) != 0u);
}

// The number of positions of coordinate `c`.
fn size_of(c: u32) -> Number {
    return Number(walk.coordinates[c].size, select(0u, walk.coordinates[c].high & 0xffffu, LONG));
}

// Whether a number is less than a `limit` that is not negative, and not negative itself.
fn is_below(number: Number, limit: Number) -> bool {
    return number.high < limit.high || (number.high == limit.high && number.low < limit.low);
}

fn sum(a: Number, b: Number) -> Number {
    let low = a.low + b.low;
    return Number(low, a.high + b.high + select(0u, 1u, low < b.low));
}

// The sum of a number and a signed one of 32 bits.
fn plus(a: Number, b: u32) -> Number {
    return sum(a, Number(b, select(0u, NONE, b >= HIGH)));
}

// The remainder of a number divided by `size`, which is less than 2^31: 0 or more, also of a negative number.
fn remainder(number: Number, size: u32) -> Number {
    // The complement of a negative number is not negative, and its remainders count from the end.
    let sign = select(0u, NONE, number.high >= HIGH);
    let high = number.high ^ sign;
    var rest = number.low ^ sign;
    if high != 0u {
        let low = rest;
        rest = high % size;
        for (var n = 0u; n < 32u; n++) { rest = (rest * 2u + ((low >> (31u - n)) & 1u)) % size; }
    }
    rest %= size;
    return Number(select(rest, size - 1u - rest, sign != 0u), 0u);
}

// Where coordinate `c` begins: the number of the tuple, after negative numbers are wrapped and those outside clamped.
// `reach` is the signed distance from a box's first to its last position.
fn begin_of(c: u32, tuple: u32, reach: u32) -> Number {
    let column = walk.coordinates[c].column;
    let size = size_of(c);
    if FIXED || (CROPS && column == NONE) {
        let begin = walk.coordinates[c].begin;
        return Number(begin, select(0u, NONE, begin >= HIGH));
    }
    var number = number_at(tuple, column);
    if flag(WRAPS) && number.high >= HIGH { number = sum(number, size); }
    if flag(CLAMPS) && (size.low | size.high) != 0u {
        let backwards = reach >= HIGH;
        let lowest = Number(select(0u, 0u - reach, backwards), 0u);
        let highest = plus(size, NONE - select(reach, 0u, backwards));
        if number.high >= HIGH || is_below(number, lowest) {
            number = lowest;
        } else if is_below(highest, number) {
            number = highest;
        }
    }
    return number;
}

fn is_flipped(c: u32, tuple: u32) -> bool {
    let flip = walk.coordinates[c].flip;
    if FIXED || flip == NONE { return false; }
    let number = number_at(tuple, flip);
    return (number.low | number.high) != 0u;
}

fn reach_of(c: u32) -> u32 {
    return (walk.coordinates[c].extent - 1u) * walk.coordinates[c].step;
}

fn locate(number: u32) -> Row {
    return locate_along(number, false, 0u);
}

// The same for the row whose innermost digit is `innermost`, if that is `known`; then `number` counts the other digits.
fn locate_along(number: u32, known: bool, innermost: u32) -> Row {
    var row = Row(walk.from_base, walk.run_from, walk.to_base, FOUND, 0u, 0u, 0u, 0u, 1u);
    var rest = number;
    // The digits that a crop needs again.
    var digits: array<u32, 8>;
    for (var n = 0u; n < dims(); n++) {
        let d = dims() - 1u - n;
        var digit = rest;
        // What is left of the number is the digit of the outermost dimension.
        if n == 0u && known {
            digit = innermost;
        } else if d > 0u {
            rest = rest / walk.dims[d].size;
            digit -= rest * walk.dims[d].size;
        }
        row.base += digit * walk.dims[d].from_stride;
        row.to += digit * walk.dims[d].to_stride;
        if COORDINATES > 0u && !FIXED {
            row.tuple += digit * walk.dims[d].tuple_stride;
            row.later |= select(digit, 0u, walk.dims[d].tuple_stride != 0u);
        }
        if CROPS { digits[d] = digit; }
    }
    let begin = walk.tuples + row.tuple * walk.tuple_words;
    for (var c = 0u; c < coordinates(); c++) {
        if PLAIN {
            let number = plain_number_at(begin, walk.coordinates[c].column);
            if number >= walk.coordinates[c].size { row.state = select(MISSING, ELSEWHERE, flag(KEEPS)); }
            move_along(c, number, &row);
        } else if FIXED || (CROPS && walk.coordinates[c].along != NONE) {
            extend(c, begin, &digits, &row);
        } else {
            add(c, begin_of(c, begin, 0u), &row);
        }
    }
    if SCATTERS && flag(STRICT) && atomicLoad(&report.count) != 0u { row.state = ELSEWHERE; }
    return row;
}

// Adds coordinate `c` at `position` to a row.
fn add(c: u32, position: Number, row: ptr<function, Row>) {
    var inside = position.low < walk.coordinates[c].size;
    if !FIXED { inside = is_below(position, size_of(c)); }
    // A tuple that is out of range in one coordinate is so whatever the others are.
    if !inside {
        (*row).state = select(MISSING, ELSEWHERE, flag(KEEPS));
    } else if !FIXED && !is_taken(c, position) && (*row).state == FOUND {
        (*row).state = ELSEWHERE;
    }
    move_along(c, position.low, row);
}

// Whether this dispatch takes a position of coordinate `c`, one of those that there are.
fn is_taken(c: u32, position: Number) -> bool {
    let distance = position.low - walk.coordinates[c].first;
    let carry = select(0u, 1u, distance > position.low);
    let is_near = !LONG || position.high == (walk.coordinates[c].high >> 16u) + carry;
    return is_near && distance < walk.coordinates[c].count;
}

// Moves a row to a position of coordinate `c`.
fn move_along(c: u32, position: u32, row: ptr<function, Row>) {
    if SCATTERS {
        (*row).to += position * walk.coordinates[c].stride;
    } else {
        (*row).base += position * walk.coordinates[c].stride;
    }
}

// Adds coordinate `c`, along which boxes extend, for the tuple that begins at word `tuple`.
fn extend(c: u32, tuple: u32, digits: ptr<function, array<u32, 8>>, row: ptr<function, Row>) {
    let d = walk.coordinates[c].along;
    var step = walk.coordinates[c].step;
    var begin = begin_of(c, tuple, reach_of(c));
    if !FIXED && flag(CIRCULAR) {
        begin = remainder(number_at(tuple, walk.coordinates[c].column), walk.coordinates[c].size);
    }
    if is_flipped(c, tuple) {
        begin = plus(begin, reach_of(c));
        step = 0u - step;
    }
    begin = plus(begin, walk.coordinates[c].digit * step);
    if d != RUN {
        begin = plus(begin, (*digits)[d] * step);
        if !FIXED && flag(CIRCULAR) { begin = remainder(begin, walk.coordinates[c].size); }
        add(c, begin, row);
        return;
    }
    // The run itself is cropped: its units are checked one by one, as 32-bit numbers. Where the host lets the run be
    // cropped, sizes and reaches are less than 2^30, so a begin farther away than that may as well be 2^31.
    let near = (begin.high == 0u && begin.low < 0x40000000u) || (begin.high == NONE && begin.low >= 0xc0000000u);
    (*row).place = select(HIGH, begin.low, FIXED || near);
    (*row).place_step = step;
    (*row).places = walk.coordinates[c].size;
    (*row).step = step * walk.coordinates[c].stride;
    (*row).base += (*row).place * walk.coordinates[c].stride;
}

// Whether unit `j` of a row has a source.
fn has_source(row: Row, j: u32) -> bool {
    return row.state == FOUND && lies_inside(row, j);
}

fn lies_inside(row: Row, j: u32) -> bool {
    return !CROPS || row.place + j * row.place_step < row.places;
}

fn are_inside(row: Row, j: vec4<u32>) -> vec4<bool> {
    return vec4(lies_inside(row, j.x), lies_inside(row, j.y), lies_inside(row, j.z), lies_inside(row, j.w));
}

// Whether this dispatch reports tuples, and a row may be the one that reports its tuple: the first that has it.
fn may_report(row: Row) -> bool {
    return COORDINATES > 0u && flag(REPORTS) && row.later == 0u && (CROPS || row.state != FOUND);
}

// Reports the tuples of those of four rows that `speak`, if they are out of range.
fn report_four(a: Row, b: Row, c: Row, d: Row, speak: vec4<bool>) {
    let may = speak & vec4(may_report(a), may_report(b), may_report(c), may_report(d));
    let bits = select(vec4(0u), vec4(1u, 2u, 4u, 8u), may);
    let list = vec4(a.tuple, b.tuple, c.tuple, d.tuple);
    for (var left = bits.x | bits.y | bits.z | bits.w; left != 0u; left &= left - 1u) {
        report_row(list[firstTrailingBit(left)]);
    }
}

// Reports the tuple with number `tuple` if it is out of range.
fn report_row(tuple: u32) {
    if COORDINATES > 0u && is_out_of_range(walk.tuples + tuple * walk.tuple_words) {
        atomicAdd(&report.count, 1u);
        atomicMax(&report.first, ~(walk.first_row + tuple));
    }
}

// Whether a coordinate of the tuple at word `tuple`, or the box there, lies partly outside.
fn is_out_of_range(tuple: u32) -> bool {
    for (var c = 0u; c < coordinates(); c++) {
        let size = size_of(c);
        if flag(CIRCULAR) && walk.coordinates[c].along != NONE { continue; }
        let reach = select(0u, reach_of(c), walk.coordinates[c].along != NONE);
        let begin = begin_of(c, tuple, reach);
        let end = plus(begin, reach);
        if !is_below(begin, size) || !is_below(end, size) { return true; }
    }
    return false;
}

// The slice that row `number` of a scatter goes to, counted from the first that is bound. NONE if the row goes to none of
// them. One invocation of a row `speaks` for it.
fn slice_of(number: u32, speaks: bool) -> u32 {
    let row = locate(number);
    if speaks && may_report(row) { report_row(row.tuple); }
    let slice = row.base - walk.first_slice;
    let forbidden = flag(STRICT) && atomicLoad(&report.count) != 0u;
    return select(NONE, slice, row.state == FOUND && slice < walk.slices && !forbidden);
}

// The range from `range.x` to below `range.y`, extended to those of four numbers that are `some`.
fn extended(range: vec2<u32>, numbers: vec4<u32>, some: vec4<bool>) -> vec2<u32> {
    let low = select(vec4(NONE), numbers, some);
    let high = select(vec4(0u), numbers + 1u, some);
    let lowest = min(min(low.x, low.y), min(low.z, low.w));
    let highest = max(max(high.x, high.y), max(high.z, high.w));
    return vec2(min(range.x, lowest), max(range.y, highest));
}

// The number of the workgroup in the grid.
fn workgroup_number(group: vec3<u32>) -> u32 {
    return group.y * walk.groups_x + group.x;
}
