// The benchmark's floor: reads and writes as many bytes as the skin pass does for a vertex alone, and computes nothing.

struct Copy {
    vertex_count: u32,
    // Workgroups in a row of the 2-D grid.
    grid_width: u32,
    // Vertices of the source, read again and again.
    source_count: u32,
    reserved: u32,
}

@group(0) @binding(0) var<uniform> work: Copy;
// Seven words per vertex.
@group(0) @binding(1) var<storage, read> source: array<u32>;
// Five words per vertex.
@group(0) @binding(2) var<storage, read_write> target_words: array<u32>;

@compute @workgroup_size(64)
fn copy(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let vertex = (id.y * work.grid_width + id.x) * 64u + lane;
    if (vertex >= work.vertex_count) {
        return;
    }
    let first = 7u * (vertex % work.source_count);
    let out = 5u * vertex;
    target_words[out] = source[first] ^ source[first + 5u];
    target_words[out + 1u] = source[first + 1u] ^ source[first + 6u];
    target_words[out + 2u] = source[first + 2u];
    target_words[out + 3u] = source[first + 3u];
    target_words[out + 4u] = source[first + 4u];
}
