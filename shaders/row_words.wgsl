// Writes rows of 1-byte, 2-byte or 4-byte units word by word. The row map says which units of a row have a source, and
// whether the other units become zeros (`ZEROS`) or keep their values.
//
// A tile is a segment of the words that one row lies in. Neighbouring invocations take neighbouring words. Each
// invocation has the loads for four words in flight; these four words are `quarter` words apart. The host chooses
// `quarter` so that units begin at the same bytes of all four words, and so that the sources of these units are whole
// words apart. If such a `quarter` would be too large, the host sets `quarter` to the length of the segment. Of the
// four words only the first then lies in the segment, so an invocation writes one word at a time.
//
// Rows may share words. Where only part of a word belongs to a row, an invocation clears the row's bits with one atomic
// and sets them with another, so it never changes bits that another invocation writes. No other row touches the bytes
// between the first and the last unit of a row.
//
// Addresses are in bytes, and the host keeps them below 2^31.

@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> dest: array<atomic<u32>>;

const ALL: u32 = 0xffffffffu;

// Loads the four words of the source whose indices are `at`. If `whole` is true, the row reads all four. Otherwise the
// indices are clamped to `low..=high`, the words that the row reads, because other words may lie outside the binding.
// The caller uses no bit of a word that is loaded in place of another.
fn fetch_words(at: vec4<i32>, low: i32, high: i32, whole: bool) -> vec4<u32> {
    var near = at;
    if !whole { near = clamp(at, vec4(low), vec4(high)); }
    return vec4(source[near.x], source[near.y], source[near.z], source[near.w]);
}

// Returns four words with ones in bytes `first` to 3 of each. The shift takes two steps, because shift counts are
// modulo 32: one shift by 32 would be a shift by 0.
fn bytes_from(first: vec4<i32>) -> vec4<u32> {
    let half = vec4<u32>(clamp(first, vec4(0), vec4(4)) * 4);
    return (vec4(ALL) << half) << half;
}

// Returns ones in those bytes of four words that lie at places 0 to `end - 1`. `places` holds the place at which each
// word begins. The caller counts places, in bytes, from the beginning of a row or of its units with a source.
fn bytes_within(places: vec4<i32>, end: i32) -> vec4<u32> {
    if places.x >= 0 && places.w + 4 <= end {
        return vec4(ALL);
    }
    return bytes_from(-places) & ~bytes_from(end - places);
}

// Writes the bits `owned` of word `to`. All other bits of `value` are zeros.
fn put(to: u32, value: u32, owned: u32) {
    if owned == ALL {
        atomicStore(&dest[to], value);
    } else if owned != 0u {
        atomicAnd(&dest[to], ~owned);
        atomicOr(&dest[to], value);
    }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = invocation(group, local);
    let tile = id >> lanes_log2();
    if tile >= uniforms.tiles {
        return;
    }
    let at = segment(tile);
    let start = row_start(at.row);
    if start.state != FOUND && !ZEROS {
        return;
    }
    let lanes = 1u << lanes_log2();
    let unit = element_bytes();
    let begin = (uniforms.dest_base + start.to) * unit;
    let origin = (uniforms.source_base + start.from_part) * unit;
    // The place in the row at which the first unit with a source begins. This number and the next three are in bytes.
    let first = i32(first_unit() * unit);
    // The distance in the destination between neighbouring units with a source.
    let step = i32(spacing() * unit);
    // The distance between these units in the source.
    let from_step = i32(uniforms.step * unit);
    // The distance in the destination from the beginning of the first unit with a source to the end of the last.
    let extent = i32(source_units() - 1u) * step + i32(unit);
    let together = spacing() == 1u && uniforms.step == 1u;
    // `low` and `high` are the lowest and the highest word of the source that the row reads.
    let last = i32(origin) + i32(source_units() - 1u) * from_step;
    let low = min(i32(origin), last) >> 2u;
    let high = (max(i32(origin), last) + i32(unit) - 1) >> 2u;

    // Places are in bytes from the beginning of the row. Words are numbered from the word in which the row begins.
    let head = i32(begin & 3u);
    let end = min(i32(row_units() * unit), i32(at.end * 4u) - head);
    // The distance between neighbouring words of the four, in words of the destination.
    let quarter = uniforms.map.quarter;
    let quarters = vec4(0, 1, 2, 3) * i32(quarter);
    // The distance between the sources of these words, in words.
    let from_words = i32(quarter * 4u / u32(step)) * from_step / 4;
    let from_quarters = vec4(0, 1, 2, 3) * from_words;

    for (var w = at.first + (id & (lanes - 1u)); w < min(at.first + quarter, at.end); w += lanes) {
        // `number` is `place / step`, rounded up for either sign. It is the number, among the units with a source, of
        // the first unit that does not begin before the word.
        let place = i32(w * 4u) - head - first;
        let steps = i32(u32(select(place + step - 1, -place, place < 0)) / u32(step));
        let number = select(steps, -steps, place < 0);
        let byte = number * step - place;
        var address = i32(origin) + number * from_step;

        for (var word = w; word < at.end; word += 4u * quarter) {
            let places = i32(word * 4u) - head + quarters * 4;
            var value = vec4(0u);
            // A mask of the bits from the first to the last unit with a source.
            var within = vec4(0u);
            // If gaps between units keep their values, a mask of the bits that belong to units rather than to gaps. It
            // is the same for all four words.
            var units = ALL;
            // Whether all four words lie between the beginning of the first unit with a source and the end of the
            // last.
            let whole = start.state == FOUND && places.x >= first && places.w - first + 4 <= extent;
            if whole {
                within = vec4(ALL);
            } else if start.state == FOUND {
                within = bytes_within(places - first, extent);
            }
            if whole || any(within != vec4(0u)) {
                if together {
                    let from_byte = i32(origin) + places.x - first;
                    let at = (from_byte >> 2u) + quarters;
                    let bits = u32(from_byte & 3) * 8u;
                    // `behind` is shifted in two steps, because shift counts are modulo 32: one shift by 32 would be a
                    // shift by 0. The row's source may end in the first of the two words, so the index of the second
                    // is always clamped.
                    let behind = (fetch_words(at + 1, low, high, false) << vec4(1u)) << vec4(31u - bits);
                    value = (fetch_words(at, low, high, whole) >> vec4(bits)) | behind;
                } else {
                    units = 0u;
                    let bits = ALL >> (32u - 8u * unit);
                    var from_byte = address;
                    var fetched = vec4(0u);
                    // The index of the word of the source that was last loaded for the first of the four words.
                    var held = (address >> 2u) - 1;
                    // Each iteration takes one unit for each of the four words.
                    for (var at = byte; at < 4; at += step) {
                        if from_byte >> 2u != held {
                            held = from_byte >> 2u;
                            fetched = fetch_words(held + from_quarters, low, high, whole);
                        }
                        let shift = u32(at) * 8u;
                        value |= ((fetched >> vec4(u32(from_byte) << 3u)) & vec4(bits)) << vec4(shift);
                        if !ZEROS { units |= bits << shift; }
                        from_byte += from_step;
                    }
                }
                if !whole { value &= within; }
            }
            address += 4 * 4 * from_words;
            let to = (begin >> 2u) + word + vec4<u32>(quarters);
            if places.x >= 0 && places.w + 4 <= end {
                if !ZEROS && !together {
                    value |= vec4(~units) & vec4(
                        atomicLoad(&dest[to.x]),
                        atomicLoad(&dest[to.y]),
                        atomicLoad(&dest[to.z]),
                        atomicLoad(&dest[to.w]),
                    );
                }
                atomicStore(&dest[to.x], value.x);
                atomicStore(&dest[to.y], value.y);
                atomicStore(&dest[to.z], value.z);
                atomicStore(&dest[to.w], value.w);
            } else {
                let owned = bytes_within(places, end) & select(within & vec4(units), vec4(ALL), ZEROS);
                put(to.x, value.x, owned.x);
                put(to.y, value.y, owned.y);
                put(to.z, value.z, owned.z);
                put(to.w, value.w, owned.w);
            }
        }
    }
}
