// Transposes units of 1 or 2 bytes. Source, result and tile are arrays of words, and lines and rows may begin at any
// unit of a word. An invocation moves LOADS words in three steps, each of which puts words in order for the next:
//
// 1. It loads whole words of lines. Where lines begin within words, a tile loads one more word of each than it has
//    columns for, so no word is loaded twice.
// 2. It turns squares, PER_WORD units of each of PER_WORD lines, which it shifts out of two neighbouring words of each
//    line. A square becomes a word of each of PER_WORD rows.
// 3. It stores words of rows, which it shifts out of two neighbouring words of the second step.
//
// Lines whose numbers differ by PER_WORD begin at the same unit of a word, and so do rows. So all shifts are the same
// for all invocations. A word that is not within one row is left to `store_edges`.

const PER_WORD: u32 = 4u / UNIT_BYTES;
const PER_WORD_LOG2: u32 = 3u - UNIT_BYTES;

// Whether lines or rows may begin at any unit of a word. If false, all of them begin at the beginning of a word, and
// none is shifted.
override SHIFTS: bool;

// The tile in PER_WORD blocks. Accesses name a block by a constant, because compilers compare every index that is not
// constant with the length of the array.
const BLOCK: u32 = TILE / PER_WORD;
var<workgroup> tile: array<array<u32, BLOCK>, PER_WORD>;

// The numbers of the four words in a vector, which belong to four lines, squares or rows.
const FOUR: vec4<u32> = vec4(0u, 1u, 2u, 3u);

// Whether lines may begin at any unit of a word of the source.
fn lines_shift() -> bool {
    return (uniforms.map.tiling.x & 0x40000u) != 0u;
}

// Returns the number of the word that unit number `units` lies in. Negative numbers wrap.
fn word_of(units: u32) -> u32 {
    return u32(i32(units) >> PER_WORD_LOG2);
}

// The number of near positions of a tile.
fn columns() -> u32 {
    return ((1u << line_log2()) - u32(lines_shift())) << PER_WORD_LOG2;
}

// Returns the number of bits that precede unit number `units` in its word.
fn bits_before(units: u32) -> u32 {
    return (units & (PER_WORD - 1u)) * UNIT_BYTES * 8u;
}

// Returns, for each of four pairs of words, the 32 bits that begin at bit `bits` of the pair. `high` is shifted twice,
// because shift counts are modulo 32: one shift by 32 would be a shift by 0.
fn funnel(low: vec4<u32>, high: vec4<u32>, bits: u32) -> vec4<u32> {
    return (low >> vec4(bits)) | ((high << vec4(1u)) << vec4(31u - bits));
}

// Returns where the first line begins in the source, in units.
fn lines_begin(at: Tile) -> u32 {
    return at.base + at.first_near + at.first_unit * uniforms.step;
}

// Loads word `column` of each of four lines. `line` holds the numbers of the lines, and `begin` the units of the source
// at which the lines begin. A word without units of the tile's lines may lie outside the binding: word 0, which is
// always bound, is loaded in its place, and its value never reaches the result.
fn load_four(at: Tile, full: bool, column: u32, line: vec4<u32>, begin: vec4<u32>) -> vec4<u32> {
    let word = vec4<u32>(vec4<i32>(begin) >> vec4(PER_WORD_LOG2)) + column;
    if full {
        return vec4(source[word.x], source[word.y], source[word.z], source[word.w]);
    }
    // `near` is the near position of the word's first unit plus PER_WORD - 1, because a word that begins before
    // position 0 may hold units of the line.
    let near = at.first_near + column * PER_WORD + PER_WORD - 1u - (begin & vec4(PER_WORD - 1u));
    let inside = (line < vec4(uniforms.run)) & (near < vec4(at.near + PER_WORD - 1u));
    let bound = select(vec4(0u), word, inside);
    return vec4(source[bound.x], source[bound.y], source[bound.z], source[bound.w]);
}

fn load_lines(at: Tile, local: u32) {
    let line = i32(at.first_unit);
    let near = i32(at.first_near);
    let full = line >= 0 && line + i32(PER_WORD << words_log2()) <= i32(uniforms.run)
        && near >= 0 && near + i32(PER_WORD << line_log2()) <= i32(at.near);
    let column = local & ((1u << line_log2()) - 1u);
    let apart = WORKGROUP >> line_log2();
    let line_a = at.first_unit + (local >> line_log2()) + FOUR * apart;
    let begin_a = lines_begin(at) + (local >> line_log2()) * uniforms.step + FOUR * (apart * uniforms.step);
    let line_more = vec4(4u * apart);
    let begin_more = vec4(4u * apart * uniforms.step);
    // All loads are issued before the first is used.
    let a = load_four(at, full, column, line_a, begin_a);
    let b = load_four(at, full, column, line_a + line_more, begin_a + begin_more);
    let c = load_four(at, full, column, line_a + 2u * line_more, begin_a + 2u * begin_more);
    let d = load_four(at, full, column, line_a + 3u * line_more, begin_a + 3u * begin_more);
    put_words(local, 0u, a);
    put_words(local, 4u, b);
    put_words(local, 8u, c);
    put_words(local, 12u, d);
}

fn put_words(local: u32, first: u32, words: vec4<u32>) {
    put_word(local, first, words.x);
    put_word(local, first + 1u, words.y);
    put_word(local, first + 2u, words.z);
    put_word(local, first + 3u, words.w);
}

// Puts word number `load` of an invocation in the tile.
fn put_word(local: u32, load: u32, word: u32) {
    tile[load / (LOADS / PER_WORD)][local + (load % (LOADS / PER_WORD)) * WORKGROUP] = word;
}

// Returns line `line` of squares `first` to `first + 3` of an invocation.
fn take_four(begin: u32, local: u32, line: u32, first: u32) -> vec4<u32> {
    let last = (1u << line_log2()) - 1u;
    let column = local & last;
    let from_line = ((local >> line_log2()) * PER_WORD + line) << line_log2();
    let low = words_of(from_line + column, first);
    if !SHIFTS {
        return low;
    }
    // Column 0 stands in for the column after the last one. No unit of it is used.
    let high = words_of(from_line + ((column + 1u) & last), first);
    return funnel(low, high, bits_before(begin + line * uniforms.step));
}

// Returns one word of each of the squares `first` to `first + 3` of an invocation. The word of square 0 is word `place`
// of block 0 of the tile, and the words of the other squares follow at fixed distances.
fn words_of(place: u32, first: u32) -> vec4<u32> {
    return vec4(
        word_of_square(place, first),
        word_of_square(place, first + 1u),
        word_of_square(place, first + 2u),
        word_of_square(place, first + 3u),
    );
}

fn word_of_square(place: u32, square: u32) -> u32 {
    let each = LOADS / PER_WORD / PER_WORD;
    return tile[square / each][place + (square % each) * (PER_WORD * WORKGROUP)];
}

// Words of squares. A vector holds the same line, or the same row, of four squares. For units of 2 bytes, `c` and `d`
// belong to other squares than `a` and `b`.
struct Squares {
    a: vec4<u32>,
    b: vec4<u32>,
    c: vec4<u32>,
    d: vec4<u32>,
}

fn turned_bytes(lines: Squares) -> Squares {
    let bytes = vec4(0x00ff00ffu);
    let even_ab = (lines.a & bytes) | ((lines.b & bytes) << vec4(8u));
    let even_cd = (lines.c & bytes) | ((lines.d & bytes) << vec4(8u));
    let odd_ab = ((lines.a >> vec4(8u)) & bytes) | (lines.b & ~bytes);
    let odd_cd = ((lines.c >> vec4(8u)) & bytes) | (lines.d & ~bytes);
    let first = turned_halves(Squares(even_ab, even_cd, odd_ab, odd_cd));
    return Squares(first.a, first.c, first.b, first.d);
}

fn turned_halves(lines: Squares) -> Squares {
    let low = vec4(0xffffu);
    return Squares(
        (lines.a & low) | (lines.b << vec4(16u)),
        (lines.a >> vec4(16u)) | (lines.b & ~low),
        (lines.c & low) | (lines.d << vec4(16u)),
        (lines.c >> vec4(16u)) | (lines.d & ~low),
    );
}

// Takes the squares of an invocation from the lines, and turns them.
fn turn(at: Tile, local: u32) -> Squares {
    let begin = lines_begin(at);
    let a = take_four(begin, local, 0u, 0u);
    let b = take_four(begin, local, 1u, 0u);
    if UNIT_BYTES == 2u {
        return turned_halves(Squares(a, b, take_four(begin, local, 0u, 4u), take_four(begin, local, 1u, 4u)));
    }
    return turned_bytes(Squares(a, b, take_four(begin, local, 2u, 0u), take_four(begin, local, 3u, 0u)));
}

// After the turn, block n of the tile holds row n of every square. Returns where in its block word `word` of such a row
// lies, for the squares in column `column`. The order of words differs from column to column, so that invocations that
// turn neighbouring columns access different banks. Setting more bits of `column` or of `word` changes the place by an
// XOR that depends on these bits alone.
fn place(column: u32, word: u32) -> u32 {
    return (column << words_log2()) | (word ^ (column & ((1u << words_log2()) - 1u)));
}

// Puts row `row` of squares `first` to `first + 3` of an invocation.
fn put_rows(local: u32, row: u32, first: u32, words: vec4<u32>) {
    let from_place = place(local & ((1u << line_log2()) - 1u), local >> line_log2());
    let to = vec4(from_place) ^ ((FOUR + first) * (WORKGROUP >> line_log2()));
    tile[row][to.x] = words.x;
    tile[row][to.y] = words.y;
    tile[row][to.z] = words.z;
    tile[row][to.w] = words.w;
}

// Returns the number of the unit of the result with which a row begins, counted from the beginning of the binding.
fn row_begin(at: Tile, near: u32) -> u32 {
    return uniforms.dest_base + (at.row + near * at.next_row) * uniforms.run;
}

// Stores a word of each of four rows: row `row` of squares `first` to `first + 3`, numbered in the order of the result.
fn store_four(at: Tile, local: u32, row: u32, first: u32) {
    let last = (1u << words_log2()) - 1u;
    let word = local & last;
    let begin = row_begin(at, at.first_near + row);
    let unit = (at.first_word + word) * PER_WORD - (begin & (PER_WORD - 1u));
    if unit > uniforms.run - PER_WORD || word >= tile_words() {
        return;
    }
    let square = local >> words_log2();
    let more = (FOUR + first) * (WORKGROUP >> words_log2());
    let more_places = (more << vec4(words_log2())) | (more & vec4(last));
    let low = vec4(place(square, word)) ^ more_places;
    var words = vec4(tile[row][low.x], tile[row][low.y], tile[row][low.z], tile[row][low.w]);
    if SHIFTS {
        let high = vec4(place(square, (word + 1u) & last)) ^ more_places;
        let behind = vec4(tile[row][high.x], tile[row][high.y], tile[row][high.z], tile[row][high.w]);
        words = funnel(words, behind, bits_before(head() - begin));
    }
    let next_row = at.next_row * uniforms.run;
    let to = word_of(begin) + at.first_word + word + square * next_row + more * next_row;
    let column = row + (square + more) * PER_WORD;
    if i32(at.first_near) >= 0 && at.first_near + columns() <= at.near {
        // Of the four columns, only the last may lie beyond those of the tile.
        dest[to.x] = words.x;
        dest[to.y] = words.y;
        dest[to.z] = words.z;
        if column.w < columns() { dest[to.w] = words.w; }
        return;
    }
    let inside = (column < vec4(columns())) & (at.first_near + column < vec4(at.near));
    if inside.x { dest[to.x] = words.x; }
    if inside.y { dest[to.y] = words.y; }
    if inside.z { dest[to.z] = words.z; }
    if inside.w { dest[to.w] = words.w; }
}

// Stores those words of the tile's rows that also hold units of another row, or bytes outside the result: the first
// word of each row that begins within a word, and the last word of the result if the result ends within it.
fn store_edges(at: Tile, local: u32) {
    let first = i32(at.first_unit);
    if first >= 0 && first + i32(PER_WORD << words_log2()) <= i32(uniforms.run) {
        return;
    }
    for (var column = local; column < columns(); column += WORKGROUP) {
        let near = at.first_near + column;
        let begin = row_begin(at, near);
        let head = begin & (PER_WORD - 1u);
        if near < at.near {
            let row = at.row + near * at.next_row;
            if head != 0u { store_first(at, column, row, head); }
            let tail = (head + uniforms.run) & (PER_WORD - 1u);
            if (row + 1u) * uniforms.run == uniforms.units && tail != 0u {
                store_edge(at, column, (head + uniforms.run) >> PER_WORD_LOG2, ~(0xffffffffu << bits_before(tail)), 0u);
            }
        }
    }
}

// Stores the first word of a row. Unless the row is the first of the result, this word begins with the last `head`
// units of the row before, which are loaded one by one.
fn store_first(at: Tile, column: u32, row: u32, head: u32) {
    var before = 0u;
    let mask = 0xffffffffu << bits_before(head);
    if row == 0u {
        store_edge(at, column, 0u, mask, 0u);
        return;
    }
    let last = uniforms.source_base + source_row(row - 1u).base + (uniforms.run - 1u) * uniforms.step;
    for (var n = 0u; n < head; n++) {
        let unit = last - (head - 1u - n) * uniforms.step;
        let bits = source[unit >> PER_WORD_LOG2] >> bits_before(unit);
        before |= (bits & (0xffffffffu >> (32u - 8u * UNIT_BYTES))) << bits_before(n);
    }
    store_edge(at, column, 0u, mask, before);
}

// Stores word `number` of a row if the word belongs to the tile. The bits `mask` come from the tile. The other bits
// come from `before` or, at the ends of the result, keep their values.
fn store_edge(at: Tile, column: u32, number: u32, mask: u32, before: u32) {
    let word = number - at.first_word;
    if word >= tile_words() {
        return;
    }
    let begin = row_begin(at, at.first_near + column);
    let block = column & (PER_WORD - 1u);
    let low = tile[block][place(column >> PER_WORD_LOG2, word)];
    let high = tile[block][place(column >> PER_WORD_LOG2, (word + 1u) & ((1u << words_log2()) - 1u))];
    let to = word_of(begin) + number;
    let words = funnel(vec4(low), vec4(high), bits_before(head() - begin)).x;
    let row = at.row + (at.first_near + column) * at.next_row;
    var kept = before;
    if number != 0u || row == 0u {
        kept = dest[to] & ~mask;
    }
    dest[to] = (words & mask) | kept;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let at = tile_at(group_number(group));
    load_lines(at, local);
    workgroupBarrier();
    let rows = turn(at, local);
    workgroupBarrier();
    // The third and the fourth vector hold rows 2 and 3 of the same squares if units have 1 byte, or rows 0 and 1 of
    // four other squares if they have 2.
    let row_c = PER_WORD - 2u;
    let first_c = 8u - 2u * PER_WORD;
    put_rows(local, 0u, 0u, rows.a);
    put_rows(local, 1u, 0u, rows.b);
    put_rows(local, row_c, first_c, rows.c);
    put_rows(local, row_c + 1u, first_c, rows.d);
    workgroupBarrier();
    if !at.exists {
        return;
    }
    store_four(at, local, 0u, 0u);
    store_four(at, local, 1u, 0u);
    store_four(at, local, row_c, first_c);
    store_four(at, local, row_c + 1u, first_c);
    if SHIFTS {
        store_edges(at, local);
    }
}
