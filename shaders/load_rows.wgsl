// Loads rows that lie anywhere in the source. An invocation loads the words that contain each of its rows. Nothing is
// staged in workgroup memory, so `stage`, which `pack_rows.wgsl` calls for the sake of `load_near.wgsl`, does nothing
// here, and `load_rows` ignores its result, `head`.

@group(0) @binding(0) var<storage, read> source: array<u32>;

// Loads the words that contain the row at `at`, and stores the row's bytes in `rows` as row `n`, shifted so that the
// first byte of the row is the lowest of its word. A row without a source is loaded from byte 0, and `clear_four` zeros
// it afterwards.
fn load_row(n: u32, at: Row, rows: ptr<function, Rows>) {
    let address = select(0u, (uniforms.source_base + at.base) * UNIT_BYTES, at.state == FOUND);
    let word = address >> 2u;
    let shift = address << 3u;
    // The number of words that a row lies in if it begins at the last unit of a word. Other rows may end one word
    // earlier. Their last word may be outside the binding, so its index is clamped, and none of its bits are used.
    let words = (ROW_BYTES + 7u - UNIT_BYTES) >> 2u;
    var last = word + words - 1u;
    if words > (ROW_BYTES + 3u) >> 2u { last = min(last, arrayLength(&source) - 1u); }
    let a = source[word];
    var b = 0u;
    var c = 0u;
    if words == 2u { b = source[last]; }
    if words == 3u {
        b = source[word + 1u];
        c = source[last];
    }
    (*rows)[2u * n] = funnel(a, b, shift) & first_bytes(ROW_BYTES);
    if ROW_BYTES > 4u { (*rows)[2u * n + 1u] = funnel(b, c, shift) & first_bytes(ROW_BYTES - 4u); }
}

// Returns the 32 bits that begin at bit `bits` modulo 32 of two words. `high` is shifted twice, because shift counts
// are modulo 32: one shift by 32 would be a shift by 0.
fn funnel(low: u32, high: u32, bits: u32) -> u32 {
    return (low >> bits) | ((high << 1u) << ~bits);
}

// Returns ones in the low `count` bytes of a word, or in all its bytes if `count` is larger than 4.
fn first_bytes(count: u32) -> u32 {
    return 0xffffffffu >> (32u - 8u * min(count, 4u));
}

fn load_four(n: u32, at: Four, rows: ptr<function, Rows>) {
    load_row(n, at.a, rows);
    load_row(n + 1u, at.b, rows);
    load_row(n + 2u, at.c, rows);
    load_row(n + 3u, at.d, rows);
}

fn any_gone(at: Four) -> bool {
    return any(vec4(at.a.state, at.b.state, at.c.state, at.d.state) == vec4(MISSING));
}

// Zeros those of rows `n` to `n + 3` of the invocation that have no source, and reports them. Rows after the last row
// of the result are not reported. `first` is the number of the invocation's first row.
fn clear_four(n: u32, first: u32, at: Four, rows: ptr<function, Rows>) {
    let gone = vec4(at.a.state, at.b.state, at.c.state, at.d.state) == vec4(MISSING);
    clear(n, gone.x, rows);
    clear(n + 1u, gone.y, rows);
    clear(n + 2u, gone.z, rows);
    clear(n + 3u, gone.w, rows);
    four_missing(first + n + vec4(0u, 1u, 2u, 3u), gone & vec4(first + n < uniforms.units));
}

fn clear(n: u32, gone: bool, rows: ptr<function, Rows>) {
    (*rows)[2u * n] = select((*rows)[2u * n], 0u, gone);
    (*rows)[2u * n + 1u] = select((*rows)[2u * n + 1u], 0u, gone);
}

fn stage(first: u32, local: u32) -> u32 {
    return 0u;
}

fn load_rows(first: u32, local: u32, head: u32, rows: ptr<function, Rows>) {
    // If the last invocation has fewer rows than ROWS, it looks up the last four again in place of those after the end.
    let last = uniforms.units - 4u;
    let a = four(first);
    let b = four(min(first + 4u, last));
    var c = a;
    var d = a;
    if ROWS > 8u {
        c = four(min(first + 8u, last));
        d = four(min(first + 12u, last));
    }
    load_four(0u, a, rows);
    load_four(4u, b, rows);
    if ROWS > 8u {
        load_four(8u, c, rows);
        load_four(12u, d, rows);
    }
    if any_gone(a) | any_gone(b) | any_gone(c) | any_gone(d) {
        clear_four(0u, first, a, rows);
        clear_four(4u, first, b, rows);
        if ROWS > 8u {
            clear_four(8u, first, c, rows);
            clear_four(12u, first, d, rows);
        }
    }
}
