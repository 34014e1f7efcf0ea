// Loads rows that lie close together, at ascending or descending addresses. An invocation loads whole vectors of the
// source, and takes its rows from them. If ROWS does not divide the size of the innermost dimension (EVEN is false),
// the rows of a few invocations lie at two positions of the other dimensions, and are loaded in two parts.

// The distance in bytes from the beginning of one row to that of the next; negative if the rows lie in reverse order.
// If the rows of an invocation are evenly spaced, they lie within 64 bytes. A row has at most 4 bytes.
override STRIDE: i32;

// Whether a workgroup whose rows are evenly spaced stages them: it copies the range of the source that they lie in to
// workgroup memory, so that neighbouring invocations load neighbouring vectors, each once. STRIDE is then positive.
// Without staging, each invocation loads its own vectors, which lie in sectors that its neighbours load, too.
override STAGED: bool;

@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;

// The distance in vectors from the first row of an invocation to the first row of the next invocation: 2 to 4 if rows
// are staged.
override PITCH: u32 = (ROWS * u32(abs(STRIDE))) >> 4u;

// The most vectors that a workgroup stages: PITCH for each invocation, and one more because the first row may begin
// within a vector. The limit is four for each invocation, with which 256 invocations fill the 16 KiB of workgroup
// memory that every device has. If STAGED is false, the number is 1, the smallest size of an array.
override STAGED_VECTORS: u32 = 1u + u32(STAGED) * min(PITCH * WORKGROUP, 4u * WORKGROUP - 1u);
var<workgroup> staged: array<vec4<u32>, STAGED_VECTORS>;

// What `stage` returns if rows are not staged. Otherwise it returns the number of a byte in a vector, 0 to 15.
const NOT_STAGED: u32 = 16u;

// The 64 bytes of the source, in 16 words, that begin with the byte of the invocation's rows at the lowest address.
alias Window = array<u32, 16>;

// Takes row `n` of the invocation from the window and stores it in `rows`, if `n` is within `begin` to `end - 1`.
fn near_row(n: u32, begin: u32, end: u32, window: ptr<function, Window>, rows: ptr<function, Rows>) {
    if n < begin || n >= end {
        return;
    }
    let at = select(n, ROWS - 1u - n, STRIDE < 0) * u32(abs(STRIDE));
    let shift = (at & 3u) * 8u;
    var word = (*window)[at >> 2u] >> shift;
    if shift + 8u * ROW_BYTES > 32u {
        word |= (*window)[(at >> 2u) + 1u] << (32u - shift);
    }
    (*rows)[2u * n] = word & (0xffffffffu >> (32u - 8u * ROW_BYTES));
}

fn near_four(n: u32, begin: u32, end: u32, window: ptr<function, Window>, rows: ptr<function, Rows>) {
    near_row(n, begin, end, window, rows);
    near_row(n + 1u, begin, end, window, rows);
    near_row(n + 2u, begin, end, window, rows);
    near_row(n + 3u, begin, end, window, rows);
}

// Takes rows `begin` to `end - 1` of the invocation from five vectors. The window begins with byte `address & 15` of
// the first vector.
fn take_rows(begin: u32, end: u32, address: u32, vectors: array<vec4<u32>, 5>, rows: ptr<function, Rows>) {
    var a = vectors[0];
    var b = vectors[1];
    var c = vectors[2];
    var d = vectors[3];
    if (address & 15u) != 0u {
        a = shifted(a, b, address);
        b = shifted(b, c, address);
        c = shifted(c, d, address);
        d = shifted(d, vectors[4], address);
    }
    var window = Window(a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w, c.x, c.y, c.z, c.w, d.x, d.y, d.z, d.w);
    near_four(0u, begin, end, &window, rows);
    near_four(4u, begin, end, &window, rows);
    if ROWS > 8u {
        near_four(8u, begin, end, &window, rows);
        near_four(12u, begin, end, &window, rows);
    }
}

// Loads rows `begin` to `end - 1` of the invocation, which are evenly spaced, into `rows`. The number of the
// invocation's first row is `first`. The window begins where it would if all rows of the invocation were evenly spaced.
// Indices are clamped to the vectors that hold bytes of rows `begin` to `end - 1`, because others may lie outside the
// binding.
fn load_part(first: u32, begin: u32, end: u32, rows: ptr<function, Rows>) {
    let of_begin = i32(row_address(first + begin));
    let of_last = of_begin + i32(end - 1u - begin) * STRIDE;
    let low = min(of_begin, of_last) >> 4u;
    let high = (max(of_begin, of_last) + i32(ROW_BYTES) - 1) >> 4u;
    let address = of_begin - i32(begin) * STRIDE - select(0, i32(ROWS - 1u) * abs(STRIDE), STRIDE < 0);
    let at = address >> 4u;
    let vectors = array<vec4<u32>, 5>(
        source[clamp(at, low, high)],
        source[clamp(at + 1, low, high)],
        source[clamp(at + 2, low, high)],
        source[clamp(at + 3, low, high)],
        source[clamp(at + 4, low, high)],
    );
    take_rows(begin, end, u32(address), vectors, rows);
}

fn row_address(row: u32) -> u32 {
    return (uniforms.source_base + source_row(row).base) * UNIT_BYTES;
}

// Stages the rows of a workgroup, which begin with row `first`, if they are evenly spaced and fit in `staged`. Returns
// the byte of `staged` at which row `first` begins, or NOT_STAGED.
fn stage(first: u32, local: u32) -> u32 {
    var head = NOT_STAGED;
    if STAGED {
        let rows = min(first + WORKGROUP * ROWS, uniforms.units) - min(first, uniforms.units);
        let inner = axis(dims() - 1u).size;
        if rows > 0u && first % inner + rows <= inner {
            let address = row_address(first);
            let last = ((address & 15u) + (rows - 1u) * u32(STRIDE) + ROW_BYTES - 1u) >> 4u;
            if last < STAGED_VECTORS {
                head = address & 15u;
                stage_vectors(address >> 4u, last, local);
            }
        }
        workgroupBarrier();
    }
    return head;
}

// Copies vectors `begin` to `begin + last` of the source to `staged`. The last vector is loaded again in place of those
// after it, which may lie outside the binding.
fn stage_vectors(begin: u32, last: u32, local: u32) {
    let a = source[begin + min(local, last)];
    let b = source[begin + min(local + WORKGROUP, last)];
    var c = vec4(0u);
    var d = vec4(0u);
    if PITCH > 2u { c = source[begin + min(local + 2u * WORKGROUP, last)]; }
    if PITCH > 3u { d = source[begin + min(local + 3u * WORKGROUP, last)]; }
    let end = source[begin + last];
    staged[local] = a;
    staged[local + WORKGROUP] = b;
    if PITCH > 2u { staged[local + 2u * WORKGROUP] = c; }
    if PITCH > 3u { staged[local + 3u * WORKGROUP] = d; }
    if PITCH < 4u && local == 0u { staged[local + PITCH * WORKGROUP] = end; }
}

fn load_rows(first: u32, local: u32, head: u32, rows: ptr<function, Rows>) {
    let between = (ROWS - 1u) * u32(abs(STRIDE));
    // The number of vectors that the rows lie in, if the row at the lowest address begins at the beginning of a vector.
    // If it begins within a vector, the rows may lie in one vector more.
    let bytes = between + ROW_BYTES;
    let vectors = (bytes + 15u) >> 4u;
    var address = head;
    var a = vec4(0u);
    var b = vec4(0u);
    var c = vec4(0u);
    var d = vec4(0u);
    var e = vec4(0u);
    if STAGED && head != NOT_STAGED {
        let at = local * PITCH;
        a = staged[at];
        b = staged[at + 1u];
        c = staged[at + 2u];
        if vectors > 2u { d = staged[at + 3u]; }
        // If the index is clamped, no byte of `e` is used.
        if vectors > 3u { e = staged[min(at + 4u, STAGED_VECTORS - 1u)]; }
    } else {
        if !EVEN {
            let inner = axis(dims() - 1u).size;
            let left = inner - first % inner;
            if left < ROWS {
                let count = min(ROWS, uniforms.units - first);
                load_part(first, 0u, left, rows);
                if left < count { load_part(first, left, count, rows); }
                return;
            }
        }
        address = row_address(first) - select(0u, between, STRIDE < 0);
        let at = address >> 4u;
        let last = (address + bytes - 1u) >> 4u;
        a = source[at];
        b = source[select(at + 1u, last, vectors == 1u)];
        if vectors > 1u { c = source[select(at + 2u, last, vectors == 2u)]; }
        if vectors > 2u { d = source[select(at + 3u, last, vectors == 3u)]; }
        if vectors > 3u { e = source[last]; }
    }
    take_rows(0u, ROWS, address, array<vec4<u32>, 5>(a, b, c, d, e), rows);
}
