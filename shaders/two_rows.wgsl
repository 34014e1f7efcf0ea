// Moves rows that begin anywhere in memory, on a CPU adapter, two for each invocation. Before the first unit
// is moved, a word of every cache line of both is read: lines are then fetched side by side, and not one
// after the other, each behind the moving of the one before.

// Units of a cache line.
override LINE: u32;

@group(0) @binding(0) var<storage, read> source: array<Part>;
@group(0) @binding(1) var<storage, read_write> dest: array<Unit>;

fn move_row(row: u32, start: Start, end: u32) {
    let to = params.dest_base + start.to;
    if start.state == FOUND {
        let origin = params.source_base + start.from_part;
        for (var j = 0u; j < end; j++) {
            let from_part = origin + j;
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
    let a = row_start(row);
    let b = row_start(row + 1u);
    var read = 0u;
    for (var j = 0u; j < params.run; j += LINE) {
        read |= touch(params.source_base + select(0u, a.from_part + j, a.state == FOUND));
        read |= touch(params.source_base + select(0u, b.from_part + j, b.state == FOUND));
    }
    // Adds nothing, since the step is 1, but compilers do not know.
    let end = params.run + (read & (params.step - 1u));
    move_row(row, a, end);
    move_row(row + 1u, b, end);
}
