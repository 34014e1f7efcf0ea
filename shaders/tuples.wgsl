// Index tuples: the integers of a tuple, the positions that they select in the dimensions of an array, and out-of-range
// checks.
// Defines: tuples, Number, plain_number_at, number_at, begin_of, is_flipped, reach_of, size_of, is_below, plus,
// remainder, report_tuple, and constants. Needs: no other names.
#import uniforms.wgsl

// True if coordinates can have boxes, which extend along dimensions, or starts that are not in tuples, as in crops and
// gradients of slices.
override CROPS: bool = true;
// If true, all coordinates have boxes with starts that are not in tuples, as in gradients of slices. Sizes and extents
// are then less than 2^30, and this dispatch takes all positions, so 32 bits suffice.
override FIXED: bool = false;
// If true, an integer of a tuple is in range exactly when, as an unsigned integer, it is less than its dimension's
// size. This requires that integers are neither wrapped nor clamped, that each dimension has fewer than 2^31 positions,
// and that this dispatch takes all positions.
override PLAIN: bool = false;
// True if a coordinate has 2^32 positions or more.
override LONG: bool = false;
// True if tuples are bytes of a mask. The only integer of such a tuple is NONE if the byte is 0, otherwise 0. `tuples`
// and `tuple_words` then count bytes.
override MASKED: bool = false;

@group(0) @binding(0) var<storage, read> tuples: array<u32>;

// A 64-bit integer in two words.
struct Number {
    low: u32,
    high: u32,
}

// Returns the integer in column `column` of the tuple that begins at word `tuple`.
fn number_at(tuple: u32, column: u32) -> Number {
    if MASKED { return Number(mask_at(tuple), 0u); }
    let at = tuple + column * walk.index_words;
    let low = tuples[at] - walk.first_index;
    if walk.index_words == 2u { return Number(low, tuples[at + 1u]); }
    return Number(low, select(0u, NONE, flag(SIGNED_INDICES) && low >= SIGN_BIT));
}

// Returns the integer of `number_at` in one word. Tuples must be PLAIN, so an integer that is negative or longer than a
// word can become any number of at least 2^31.
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

// Returns the number of positions of coordinate `c`.
fn size_of(c: u32) -> Number {
    return Number(walk.coordinates[c].size, select(0u, walk.coordinates[c].high & 0xffffu, LONG));
}

// Returns whether `number` is at least 0 and less than `limit`. `limit` must not be negative.
fn is_below(number: Number, limit: Number) -> bool {
    return number.high < limit.high || (number.high == limit.high && number.low < limit.low);
}

fn add_numbers(a: Number, b: Number) -> Number {
    let low = a.low + b.low;
    return Number(low, a.high + b.high + select(0u, 1u, low < b.low));
}

// Returns the sum of `a` and the signed 32-bit integer `b`.
fn plus(a: Number, b: u32) -> Number {
    return add_numbers(a, Number(b, select(0u, NONE, b >= SIGN_BIT)));
}

// Returns the remainder of `number` divided by `size`, which is less than 2^31. The remainder is never negative.
fn remainder(number: Number, size: u32) -> Number {
    // The remainder of a negative number is `size` - 1 minus the remainder of its complement, which is not negative.
    let sign = select(0u, NONE, number.high >= SIGN_BIT);
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

// Returns the start index of coordinate `c`: its integer in the tuple, or `begin` of the uniforms if it has no column.
// Depending on the flags, negative integers are wrapped and out-of-range integers are clamped. `reach` is the signed
// distance from a box's first to its last position.
fn begin_of(c: u32, tuple: u32, reach: u32) -> Number {
    let column = walk.coordinates[c].column;
    let size = size_of(c);
    if FIXED || (CROPS && column == NONE) {
        let begin = walk.coordinates[c].begin;
        return Number(begin, select(0u, NONE, begin >= SIGN_BIT));
    }
    var number = number_at(tuple, column);
    if flag(WRAPS) && number.high >= SIGN_BIT { number = add_numbers(number, size); }
    if flag(CLAMPS) && (size.low | size.high) != 0u {
        let backwards = reach >= SIGN_BIT;
        let lowest = Number(select(0u, 0u - reach, backwards), 0u);
        let highest = plus(size, NONE - select(reach, 0u, backwards));
        if number.high >= SIGN_BIT || is_below(number, lowest) {
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
    let flip_number = number_at(tuple, flip);
    return (flip_number.low | flip_number.high) != 0u;
}

fn reach_of(c: u32) -> u32 {
    return (walk.coordinates[c].extent - 1u) * walk.coordinates[c].step;
}

// Reports tuple number `tuple` of this dispatch if it is out of range.
fn report_tuple(tuple: u32) {
    if COORDINATES > 0u && is_out_of_range(walk.tuples + tuple * walk.tuple_words) {
        atomicAdd(&report.count, 1u);
        atomicMax(&report.first, ~(walk.first_row + tuple));
    }
}

// Returns whether a coordinate of the tuple at word `tuple` is out of range, or its box is partly out of range.
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
