// Indices that begin at a multiple of four words and fill four words each time.

@group(0) @binding(2) var<storage, read> indices: array<vec4<u32>>;

fn word(at: u32) -> u32 {
    return indices[at >> 2u][at & 3u];
}

// From a multiple of four on.
fn quad(at: u32) -> vec4<u32> {
    return indices[at >> 2u];
}
