// Loads rows that lie close together, in either direction: loads whole vectors of the source and takes the rows from
// them. ROWS divides the innermost dimension, so that the rows of an invocation are evenly spaced.

// Bytes from one row to the next. The rows of an invocation lie within 64 bytes and have at most 4 bytes each.
override STRIDE: i32;

@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;

// The words from the beginning of the lowest row on.
alias Window = array<u32, 16>;

fn near_row(n: u32, window: ptr<function, Window>, rows: ptr<function, Rows>) {
    let begin = select(n, ROWS - 1u - n, STRIDE < 0) * u32(abs(STRIDE));
    let shift = (begin & 3u) * 8u;
    var word = (*window)[begin >> 2u] >> shift;
    if shift + 8u * ROW_BYTES > 32u {
        word |= (*window)[(begin >> 2u) + 1u] << (32u - shift);
    }
    (*rows)[2u * n] = word & (0xffffffffu >> (32u - 8u * ROW_BYTES));
}

fn near_four(n: u32, window: ptr<function, Window>, rows: ptr<function, Rows>) {
    near_row(n, window, rows);
    near_row(n + 1u, window, rows);
    near_row(n + 2u, window, rows);
    near_row(n + 3u, window, rows);
}

fn load_rows(first: u32, rows: ptr<function, Rows>) {
    let between = (ROWS - 1u) * u32(abs(STRIDE));
    let lowest = select(0u, between, STRIDE < 0);
    let address = (uniforms.source_base + source_row(first).base) * UNIT_BYTES - lowest;
    let at = address >> 4u;
    // Vectors that the rows lie in if the lowest row begins a vector; otherwise they may lie in one more.
    let bytes = between + ROW_BYTES;
    let vectors = (bytes + 15u) >> 4u;
    let last = (address + bytes - 1u) >> 4u;
    var a = source[at];
    var b = source[select(at + 1u, last, vectors == 1u)];
    var c = vec4(0u);
    var d = vec4(0u);
    var e = vec4(0u);
    if vectors > 1u { c = source[select(at + 2u, last, vectors == 2u)]; }
    if vectors > 2u { d = source[select(at + 3u, last, vectors == 3u)]; }
    if vectors > 3u { e = source[last]; }
    if (address & 15u) != 0u {
        a = shifted(a, b, address);
        b = shifted(b, c, address);
        c = shifted(c, d, address);
        d = shifted(d, e, address);
    }
    var window = Window(a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w, c.x, c.y, c.z, c.w, d.x, d.y, d.z, d.w);
    near_four(0u, &window, rows);
    near_four(4u, &window, rows);
    if ROWS > 8u {
        near_four(8u, &window, rows);
        near_four(12u, &window, rows);
    }
}
