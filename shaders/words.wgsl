// Indices of any number.

@group(0) @binding(2) var<storage, read> indices: array<u32>;

fn word(at: u32) -> u32 {
    return indices[at];
}

fn quad(at: u32) -> vec4<u32> {
    return vec4(indices[at], indices[at + 1u], indices[at + 2u], indices[at + 3u]);
}
