// Transposes units of 1 or 2 bytes: source, result and tile are arrays of words.

override UNIT_BYTES: u32;
override PER_WORD: u32 = 4u / UNIT_BYTES;
override PER_WORD_LOG2: u32 = 3u - UNIT_BYTES;
// Whether lines may begin at any unit of a word.
override LINES_SHIFT: bool;

fn is_stretch() -> bool {
    return false;
}

// Loads one word of a line. With LINES_SHIFT, a line may begin at any unit of a source word, so that each of its words
// may straddle two words of the source; the second is read only if it holds units of the line. A load outside the lines
// of the tile reads word 0 of the source instead, which is always bound; its value never reaches the result.
fn load(load: Load, allowed: Inside) -> u32 {
    let is_inside = load.index < allowed.end;
    if !LINES_SHIFT {
        return source[select(0u, load.at, is_inside)];
    }
    let begins = load.at & (PER_WORD - 1u);
    let word = select(0u, word_of(load.at) + allowed.column, is_inside);
    let next = select(word, word + 1u, is_inside && allowed.left > PER_WORD - begins);
    return funnel(source[word], source[next], begins * UNIT_BYTES * 8u);
}

// Returns the 32 bits that begin at bit `bits` of two words. `high` is shifted twice, because shift counts are modulo
// 32: one shift by 32 would be a shift by 0.
fn funnel(low: u32, high: u32, bits: u32) -> u32 {
    return (low >> bits) | ((high << 1u) << (31u - bits));
}

// A square of units: one word of each of PER_WORD rows. `behind` returns differences instead, which `sum` adds to the
// first square of an invocation to get a later one.
struct Square {
    // Where the square's first word lies in the tile.
    place: u32,
    // Where the square's first word lies in the result.
    to: u32,
    // The near position of the first row.
    near: u32,
}

fn behind(next_row: u32, squares: u32) -> Square {
    let elements = squares * WORKGROUP;
    let column = elements >> words_log2();
    let word = elements & ((1u << words_log2()) - 1u);
    return Square(place(line_of(word) + column), column * PER_WORD * next_row + word, column * PER_WORD);
}

// Returns where the line of the first unit of `word` begins in the tile, in words.
fn line_of(word: u32) -> u32 {
    return (word * PER_WORD) << line_log2();
}

fn sum(a: Square, b: Square) -> Square {
    return Square(a.place ^ b.place, a.to + b.to, a.near + b.near);
}

// Returns PER_WORD neighbouring units of line `line` of a square.
fn take(square: Square, line: u32) -> u32 {
    return tile[square.place ^ place(line << line_log2())];
}

// Transposes and stores a square: each of PER_WORD rows gets one unit of each line.
fn turn(at: Tile, next_row: u32, full: bool, square: Square) {
    let a = take(square, 0u);
    let b = take(square, 1u);
    if UNIT_BYTES == 2u {
        let some = vec2((a & 0xffffu) | (b << 16u), (a >> 16u) | (b & 0xffff0000u));
        if full {
            dest[square.to] = some.x;
            dest[square.to + next_row] = some.y;
        } else {
            store(at, square, next_row, 0u, some.x);
            store(at, square, next_row, 1u, some.y);
        }
        return;
    }
    let c = take(square, 2u);
    let d = take(square, 3u);
    let even = (vec2(a, c) & vec2(0x00ff00ffu)) | ((vec2(b, d) & vec2(0x00ff00ffu)) << vec2(8u));
    let odd = ((vec2(a, c) >> vec2(8u)) & vec2(0x00ff00ffu)) | (vec2(b, d) & vec2(0xff00ff00u));
    let all = vec4(
        (even.x & 0xffffu) | (even.y << 16u),
        (odd.x & 0xffffu) | (odd.y << 16u),
        (even.x >> 16u) | (even.y & 0xffff0000u),
        (odd.x >> 16u) | (odd.y & 0xffff0000u),
    );
    if full {
        dest[square.to] = all.x;
        dest[square.to + next_row] = all.y;
        dest[square.to + 2u * next_row] = all.z;
        dest[square.to + 3u * next_row] = all.w;
    } else {
        store(at, square, next_row, 0u, all.x);
        store(at, square, next_row, 1u, all.y);
        store(at, square, next_row, 2u, all.z);
        store(at, square, next_row, 3u, all.w);
    }
}

fn store(at: Tile, square: Square, next_row: u32, row: u32, word: u32) {
    if square.near + row < at.near {
        dest[square.to + row * next_row] = word;
    }
}

// Shifts a word so that the unit whose number is `unit` lies at the low end.
fn unit_of(word: u32, unit: u32) -> u32 {
    return word >> ((unit & (PER_WORD - 1u)) * UNIT_BYTES * 8u);
}

// Builds and stores a word unit by unit. The first word of a row may also hold the last units of the row before it.
fn build(at: Tile, lines: Lines, number: u32) {
    let near = number >> words_log2();
    let column = number & ((1u << words_log2()) - 1u);
    if column >= tile_words() || at.first_near + near >= at.near {
        return;
    }
    let row = at.row + (at.first_near + near) * at.next_row;
    let begin = uniforms.dest_base + row * uniforms.run;
    let end = begin + uniforms.run;
    let first = begin >> PER_WORD_LOG2;
    // The word in which a row ends is written with the next row, except after the last row.
    let is_last = (row + 1u) * uniforms.run == uniforms.units;
    let behind = (end + select(0u, PER_WORD - 1u, is_last)) >> PER_WORD_LOG2;
    let word_in_row = at.first_word + column;
    if word_in_row >= behind - first {
        return;
    }
    let place_in_word = begin & (PER_WORD - 1u);
    let to = first + word_in_row;
    var word = 0u;
    var written = 0u;
    for (var j = 0u; j < PER_WORD; j++) {
        let unit = (word_in_row << PER_WORD_LOG2) + j - place_in_word;
        var bits = 0u;
        var is_unit = true;
        if unit < uniforms.run {
            let from_unit = lines.origin + (unit - at.first_unit) * lines.pitch + near;
            bits = unit_of(tile[place(from_unit >> PER_WORD_LOG2)], from_unit);
        } else if i32(unit) < 0 && row > 0u {
            let from_unit = uniforms.source_base + source_row(row - 1u).base + (uniforms.run + unit) * uniforms.step;
            bits = unit_of(source[from_unit >> PER_WORD_LOG2], from_unit);
        } else {
            is_unit = false;
        }
        let mask = select(0u, 0xffffffffu >> (32u - 8u * UNIT_BYTES), is_unit);
        word |= (bits & mask) << (j * UNIT_BYTES * 8u);
        written |= mask << (j * UNIT_BYTES * 8u);
    }
    if written != 0xffffffffu {
        word |= dest[to] & ~written;
    }
    dest[to] = word;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let at = tile_at(group_number(group));
    let lines = lines_of(at);
    load_tile(lines, local);

    if !at.exists {
        return;
    }
    // Nearly all tiles write only words that lie within one row.
    let first = i32(at.first_unit);
    let whole = !rows_shift() && first >= 0 && first + i32(PER_WORD << words_log2()) <= i32(uniforms.run);
    if !whole {
        for (var n = 0u; n < LOADS; n++) {
            build(at, lines, local + n * WORKGROUP);
        }
        return;
    }
    let column = local >> words_log2();
    let word = local & ((1u << words_log2()) - 1u);
    let next_row = at.next_row * (uniforms.run / PER_WORD);
    let near = at.first_near + column * PER_WORD;
    let row_word = uniforms.dest_base / PER_WORD + at.row * (uniforms.run / PER_WORD) + near * next_row;
    let a = Square(place(line_of(word) + column), row_word + at.first_word + word, near);
    let b = sum(a, behind(next_row, 1u));
    turn(at, next_row, lines.full, a);
    turn(at, next_row, lines.full, b);
    if UNIT_BYTES == 2u {
        let two_behind = behind(next_row, 2u);
        turn(at, next_row, lines.full, sum(a, two_behind));
        turn(at, next_row, lines.full, sum(b, two_behind));
    }
}
