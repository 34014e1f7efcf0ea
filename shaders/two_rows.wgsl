// Moves rows that begin anywhere in memory, of units of 16 bytes or more, on a CPU adapter: two rows for each
// invocation. Before any unit is moved, a word of each cache line of both is read. So lines are fetched side
// by side, and not each behind the moving of the one before.

// Units of a cache line.
override LINE: u32;

@group(0) @binding(0) var<storage, read> source: array<Part>;
@group(0) @binding(1) var<storage, read_write> dest: array<Unit>;

fn line_at(start: Start, j: u32) -> u32 {
    let at = unit_at(start, j).base;
    return u32(source[select(0u, at, start.state == FOUND && within(at))].x);
}

fn move_row(row: u32, start: Start, end: u32) {
    let to = params.dest_base + start.to;
    if start.state == FOUND {
        for (var j = 0u; j < end; j++) {
            let from_part = unit_at(start, j).base;
            if within(from_part) {
                dest[to + j] = fetch(from_part);
            }
        }
    } else if start.state == MISSING {
        missing(row);
        for (var j = 0u; j < end; j++) {
            dest[to + j] = Unit();
        }
    }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tile = invocation(group, local);
    if tile >= params.tiles {
        return;
    }
    let row = tile * 2u;
    let is_last = (row + 1u) * params.run >= params.units;
    let a = row_start(row);
    var b = row_start(row + select(1u, 0u, is_last));
    if is_last {
        b.state = ELSEWHERE;
    }
    var read = 0u;
    for (var j = 0u; j < params.run; j += LINE) {
        read |= line_at(a, j) | line_at(b, j);
    }
    // The step is 1, so this adds nothing; but what was read must have been.
    let end = params.run + (read & (params.step - 1u));
    move_row(row, a, end);
    move_row(row + 1u, b, end);
}
