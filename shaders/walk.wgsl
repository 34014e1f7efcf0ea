// The walk: computes where each row of a dispatch begins in the source and in the destination. Every kernel that runs a
// walk imports this file.
//
// Rows are numbered in row-major order over `dims`, outermost first; a digit is the position of a row along one
// dimension. A row has `run` units, `run_from` apart in the source and `run_to` apart in the destination. Unit j of a
// row is at
//
//     from = from_base + sum(digit[d] * dims[d].from_stride) + j * run_from + sum(position[c] * coordinates[c].stride)
//     to   = to_base   + sum(digit[d] * dims[d].to_stride)   + j * run_to
//
// where position[c] is an integer of the row's index tuple. In a crop, it is that integer plus a multiple of the row's
// digit along one dimension. If tuples select positions in the destination (SCATTERS), the sum over coordinates is
// added to `to` instead. `slice_of`, which several steps of a scatter call, uses `from` as the number of a slice of the
// destination.
//
// Distances are in units of the kernel: bytes in `copy_words.wgsl` and `update_words.wgsl`, elements in `convert.wgsl`
// and `combine_parts.wgsl`. Sums wrap modulo 2^32, and negative distances are in two's complement.
// Defines: Row, locate, locate_along, has_source, lies_inside, are_inside, may_report, report_four, slice_of, and
// constants. Needs: no other names.
#import tuples.wgsl

// True if index tuples select positions in the destination.
override SCATTERS: bool = false;

// The states of a row. FOUND: it has a source. MISSING: it has no source and becomes zeros. ELSEWHERE: this dispatch
// does not write it.
const FOUND: u32 = 0u;
const MISSING: u32 = 1u;
const ELSEWHERE: u32 = 2u;

// The largest number of dimensions of a walk with crops.
const CROPPED_DIMS: u32 = 8u;

struct Row {
    // The position of unit 0 of the row in the source.
    base: u32,
    // The distance between neighbouring units of the row in the source.
    step: u32,
    // The position of unit 0 of the row in the destination.
    to: u32,
    state: u32,
    // The number of the row's tuple.
    tuple: u32,
    // 0 for the first row with this tuple. This row reports the tuple.
    later: u32,
    // If the run is cropped, unit j is inside the array if place + j * place_step is less than `places`.
    place: u32,
    place_step: u32,
    places: u32,
}

fn locate(number: u32) -> Row {
    return locate_along(number, false, 0u);
}

// Locates a row like `locate`. If `has_innermost`, the row's innermost digit is `innermost`, and `number` has only its
// outer digits.
fn locate_along(number: u32, has_innermost: bool, innermost: u32) -> Row {
    var row = Row(walk.from_base, walk.run_from, walk.to_base, FOUND, 0u, 0u, 0u, 0u, 1u);
    var rest = number;
    // A crop reads the digits of the row again to find its positions.
    var digits: array<u32, CROPPED_DIMS>;
    for (var n = 0u; n < dims(); n++) {
        let d = dims() - 1u - n;
        var digit = rest;
        // The outermost digit is the rest of the number.
        if n == 0u && has_innermost {
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
            let position = plain_number_at(begin, walk.coordinates[c].column);
            if position >= walk.coordinates[c].size { row.state = select(MISSING, ELSEWHERE, flag(KEEPS)); }
            move_along(c, position, &row);
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
    // A tuple that is out of range in one coordinate is out of range as a whole.
    if !inside {
        (*row).state = select(MISSING, ELSEWHERE, flag(KEEPS));
    } else if !FIXED && !is_taken(c, position) && (*row).state == FOUND {
        (*row).state = ELSEWHERE;
    }
    move_along(c, position.low, row);
}

// Returns whether this dispatch takes `position` of coordinate `c`. The position must be in range.
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

// Adds coordinate `c`, along which boxes extend, to a row. The row's tuple begins at word `tuple`.
fn extend(c: u32, tuple: u32, digits: ptr<function, array<u32, CROPPED_DIMS>>, row: ptr<function, Row>) {
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
    // The run itself is cropped: each of its units is checked as a 32-bit number. The host allows this only if sizes
    // and extents are less than 2^30. If the start is farther away than 2^30, no unit is inside the array, so 2^31 can
    // replace the start.
    let is_near = (begin.high == 0u && begin.low < 0x40000000u) || (begin.high == NONE && begin.low >= 0xc0000000u);
    (*row).place = select(SIGN_BIT, begin.low, FIXED || is_near);
    (*row).place_step = step;
    (*row).places = walk.coordinates[c].size;
    (*row).step = step * walk.coordinates[c].stride;
    (*row).base += (*row).place * walk.coordinates[c].stride;
}

// Returns whether unit `j` of a row has a source.
fn has_source(row: Row, j: u32) -> bool {
    return row.state == FOUND && lies_inside(row, j);
}

fn lies_inside(row: Row, j: u32) -> bool {
    return !CROPS || row.place + j * row.place_step < row.places;
}

fn are_inside(row: Row, j: vec4<u32>) -> vec4<bool> {
    return vec4(lies_inside(row, j.x), lies_inside(row, j.y), lies_inside(row, j.z), lies_inside(row, j.w));
}

// Returns whether the row's tuple must be checked for the report. This is done only for the first row with the tuple
// and, without crops, only if the row is not FOUND.
fn may_report(row: Row) -> bool {
    return COORDINATES > 0u && flag(REPORTS) && row.later == 0u && (CROPS || row.state != FOUND);
}

// Reports the out-of-range tuples of the rows for which `reports` is true.
fn report_four(a: Row, b: Row, c: Row, d: Row, reports: vec4<bool>) {
    let rows_may_report = reports & vec4(may_report(a), may_report(b), may_report(c), may_report(d));
    let bits = select(vec4(0u), vec4(1u, 2u, 4u, 8u), rows_may_report);
    let list = vec4(a.tuple, b.tuple, c.tuple, d.tuple);
    for (var left = bits.x | bits.y | bits.z | bits.w; left != 0u; left &= left - 1u) {
        report_tuple(list[firstTrailingBit(left)]);
    }
}

// Returns the slice of row `number`, counted from the first bound slice, or NONE if this slice is not bound or the row
// must not be written. `reports` is true for one invocation of each row. This invocation reports the row's tuple if the
// tuple is out of range.
fn slice_of(number: u32, reports: bool) -> u32 {
    let row = locate(number);
    if reports && may_report(row) { report_tuple(row.tuple); }
    let slice = row.base - walk.first_slice;
    let is_forbidden = flag(STRICT) && atomicLoad(&report.count) != 0u;
    return select(NONE, slice, row.state == FOUND && slice < walk.slices && !is_forbidden);
}
