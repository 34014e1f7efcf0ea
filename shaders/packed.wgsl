// Moves units of 1 or 2 bytes. A tile is a stretch of words, whatever rows they hold.

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = invocation(group, local);
    let tile = id >> params.lanes_log2;
    if tile >= params.tiles {
        return;
    }
    let lanes = 1u << params.lanes_log2;
    let end = min((tile + 1u) * params.segment, words());
    var at = AtHand(0u, 0u, Row(0u, ELSEWHERE));
    for (var w = tile * params.segment + (id & (lanes - 1u)); w < end; w += lanes) {
        build(w, &at);
    }
}
