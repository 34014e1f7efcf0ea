// Copies units of 4, 8, 12 or 16 bytes. `lanes` neighbouring invocations take neighbouring units of a row, so that
// their accesses coalesce. An invocation loads four units before it stores any.
//
// If ROWS is 1, the four units belong to one row: a tile is `segment` units of a row and has `lanes` invocations. If
// ROWS is 4, the four units belong to four rows: a workgroup with lanes for n rows takes `lanes` units of each of
// 4 · n neighbouring rows. The host sets ROWS to 4 for short rows and for transposes. In a transpose, neighbouring rows
// are neighbours in the source. If `lanes` units fill a memory sector of the result (32 bytes), the workgroup uses
// every byte of each sector that it reads or writes.
// Needs: `Unit`, a type of the unit's size.
#import walk.wgsl

override ROWS: u32 = 1u;

@group(0) @binding(1) var<storage, read> source: array<Unit>;
@group(0) @binding(2) var<storage, read_write> dest: array<Unit>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lanes = 1u << walk.lanes_log2;
    let lane = local & (lanes - 1u);
    // The number of rows for which a workgroup has lanes, and the row of this lane among them.
    let lane_rows = WORKGROUP >> walk.lanes_log2;
    let lane_row = local >> walk.lanes_log2;
    let workgroup_index = workgroup_number(group, walk.groups_x);
    if ROWS == 1u {
        let tile = workgroup_index * lane_rows + lane_row;
        let row = tile / walk.segments;
        let first_unit = (tile - row * walk.segments) * walk.segment;
        let end = min(first_unit + walk.segment, walk.run);
        if row >= walk.rows { return; }
        let at = locate(row);
        if first_unit + lane == 0u && may_report(at) { report_tuple(at.tuple); }
        var units = first_unit + lane + lanes * ZERO_TO_THREE;
        for (; !LOOPS || units.x < end; units += 4u * lanes) {
            move_four(at, at, at, at, units, units < vec4(end));
            if !LOOPS { break; }
        }
    } else {
        let block = workgroup_index / walk.segments;
        let rows = block * lane_rows * 4u + lane_row + lane_rows * ZERO_TO_THREE;
        let unit = (workgroup_index - block * walk.segments) * lanes + lane;
        let rows_exist = rows < vec4(walk.rows);
        if !rows_exist.x { return; }
        // The last row replaces rows beyond it. Nothing is reported or written for them.
        let existing_rows = min(rows, vec4(walk.rows - 1u));
        let a = locate(existing_rows.x);
        let b = locate(existing_rows.y);
        let c = locate(existing_rows.z);
        let d = locate(existing_rows.w);
        report_four(a, b, c, d, rows_exist & vec4(unit == 0u));
        move_four(a, b, c, d, vec4(unit), rows_exist & vec4(unit < walk.run));
    }
}

// Copies one unit of each of four rows, except the units that are not `inside`. The four rows can be the same row.
fn move_four(a: Row, b: Row, c: Row, d: Row, units: vec4<u32>, inside: vec4<bool>) {
    let have_source = vec4(has_source(a, units.x), has_source(b, units.y), has_source(c, units.z), has_source(d, units.w));
    let are_found = inside & have_source;
    let at = vec4(a.base, b.base, c.base, d.base) + units * vec4(a.step, b.step, c.step, d.step);
    let fetched = select(vec4(0u), at, are_found);
    var unit_a = source[fetched.x];
    var unit_b = source[fetched.y];
    var unit_c = source[fetched.z];
    var unit_d = source[fetched.w];
    let to = vec4(a.to, b.to, c.to, d.to) + units * walk.run_to;
    // Nearly all invocations take this branch, which keeps the four loads in flight together.
    if !LOOPS && all(are_found) {
        dest[to.x] = unit_a;
        dest[to.y] = unit_b;
        dest[to.z] = unit_c;
        dest[to.w] = unit_d;
        return;
    }
    if !are_found.x { unit_a = Unit(); }
    if !are_found.y { unit_b = Unit(); }
    if !are_found.z { unit_c = Unit(); }
    if !are_found.w { unit_d = Unit(); }
    let written = inside & (vec4(a.state, b.state, c.state, d.state) != vec4(ELSEWHERE));
    if written.x { dest[to.x] = unit_a; }
    if written.y { dest[to.y] = unit_b; }
    if written.z { dest[to.z] = unit_c; }
    if written.w { dest[to.w] = unit_d; }
}
