//! Runs shaders in ascending and in random order. The result of some shaders depends on the order of invocations; the
//! result of all other shaders must not depend on it.

use std::collections::BTreeSet;
use strict_gpu::{Options, StrictGpu};

/// The number of words in the buffer that a shader writes to.
const WORDS: u32 = 1024;

/// Runs a shader with this body in `groups` workgroups of 64 invocations, in the order of this seed. The shader may
/// write to `dest`, a buffer of [`WORDS`] zeros. Returns the words of `dest`.
fn run_groups(shuffle: Option<u64>, groups: u32, body: &str) -> Vec<u32> {
    let gpu = StrictGpu::new(Options {
        shuffle,
        ..Options::default()
    });
    let (device, queue) = (gpu.device(), gpu.queue());
    let wgsl = format!(
        "@group(0) @binding(0) var<storage, read_write> dest: array<atomic<u32>, {WORDS}>;
         var<workgroup> words: array<u32, 64>;
         @compute @workgroup_size(8, 4, 2)
         fn main(
             @builtin(local_invocation_index) lane: u32,
             @builtin(local_invocation_id) local: vec3<u32>,
             @builtin(workgroup_id) group: vec3<u32>,
         ) {{
             let id = group.x * 64u + lane;
             _ = &words;
             {body}
         }}"
    );
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(wgsl.into()),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: None,
        compilation_options: Default::default(),
        cache: None,
    });
    let dest = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: u64::from(WORDS) * 4,
        usage: wgpu::BufferUsages::STORAGE
            | wgpu::BufferUsages::MAP_READ
            | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    queue.write_buffer(&dest, 0, &[0; WORDS as usize * 4]);
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[wgpu::BindGroupEntry {
            binding: 0,
            resource: dest.as_entire_binding(),
        }],
    });
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
    pass.set_pipeline(&pipeline);
    pass.set_bind_group(0, &group, &[]);
    pass.dispatch_workgroups(groups, 1, 1);
    drop(pass);
    queue.submit([encoder.finish()]);
    dest.map_async(wgpu::MapMode::Read, .., |mapped| mapped.unwrap());
    device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    let bytes = dest.get_mapped_range(..).unwrap();
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().map(|&word| u32::from_le_bytes(word)).collect()
}

const SEEDS: std::ops::Range<u64> = 0..8;

/// Returns the results in ascending order and, for all seeds, in random order.
fn results_of_orders(groups: u32, body: &str) -> (Vec<u32>, Vec<Vec<u32>>) {
    let shuffled = SEEDS.map(|seed| run_groups(Some(seed), groups, body));
    (run_groups(None, groups, body), shuffled.collect())
}

/// Checks that ascending order hides a bug: in this order, the wrong shader gives the result of the correct shader.
/// With every seed, the wrong shader gives another result, and the correct shader still gives the same result.
#[track_caller]
fn check_only_shuffle_shows(groups: u32, wrong_body: &str, correct_body: &str) {
    let (expected, correct_results) = results_of_orders(groups, correct_body);
    for shuffled in &correct_results {
        assert_eq!(shuffled, &expected, "{correct_body}");
    }
    let (ascending, shuffled_results) = results_of_orders(groups, wrong_body);
    assert_eq!(ascending, expected, "{wrong_body}");
    for (seed, shuffled) in SEEDS.zip(&shuffled_results) {
        assert_ne!(shuffled, &expected, "{wrong_body}, seed {seed}");
    }
}

#[test]
fn a_store_in_place_of_a_maximum_is_right_in_ascending_order_only() {
    let correct_body = "atomicMax(&dest[id % 8u], id + 1u);";
    let wrong_body = "atomicStore(&dest[id % 8u], id + 1u);";
    // Covers the invocations of one workgroup, then several workgroups.
    check_only_shuffle_shows(1, wrong_body, correct_body);
    let (correct_body, wrong_body) = (
        "atomicMax(&dest[0], group.x + 1u);",
        "atomicStore(&dest[0], group.x + 1u);",
    );
    check_only_shuffle_shows(16, wrong_body, correct_body);
}

#[test]
fn a_list_that_must_be_sorted_is_sorted_by_chance_in_ascending_order() {
    // In the wrong shader, each invocation takes the next free position. In ascending order this is the number of
    // smaller keys, as in a correct sort.
    let correct_body = "atomicAdd(&dest[1023], 1u); atomicStore(&dest[id], id);";
    let wrong_body = "atomicStore(&dest[atomicAdd(&dest[1023], 1u)], id);";
    check_only_shuffle_shows(1, wrong_body, correct_body);
    check_only_shuffle_shows(4, wrong_body, correct_body);
}

#[test]
fn invocations_have_their_own_numbers_and_wait_at_barriers_in_any_order() {
    // Every invocation reads what another invocation wrote before the barrier and writes to its own word.
    let body = "words[lane] = id * 3u;
                workgroupBarrier();
                let other = local.x + 8u * (local.y + 4u * (1u - local.z));
                atomicStore(&dest[id], words[other] + 1000u * other);";
    let (ascending, shuffled) = results_of_orders(16, body);
    for (id, word) in (0..).zip(&ascending) {
        let (lane, group): (u32, u32) = (id % 64, id / 64);
        let other = lane ^ 32;
        assert_eq!(*word, (group * 64 + other) * 3 + 1000 * other);
    }
    for words in shuffled {
        assert_eq!(words, ascending);
    }
}

#[test]
fn some_invocations_end_before_others_begin_unless_there_is_a_barrier() {
    // Word 0 counts the invocations that have begun. Word 1 + `id` stores this count when invocation `id` ends.
    let body = "atomicAdd(&dest[0], 1u); atomicStore(&dest[1u + id], atomicLoad(&dest[0]));";
    let distinct_counts = |words: &[u32]| words[1..65].iter().copied().collect::<BTreeSet<_>>();
    let (ascending, shuffled) = results_of_orders(1, body);
    assert_eq!(distinct_counts(&ascending), BTreeSet::from([64]));
    let part_counts: BTreeSet<usize> = shuffled
        .iter()
        .map(|words| distinct_counts(words).len())
        .collect();
    assert_eq!(part_counts, BTreeSet::from([1, 2]));
    let (_, shuffled) = results_of_orders(1, &format!("{body} storageBarrier();"));
    for words in shuffled {
        assert_eq!(distinct_counts(&words), BTreeSet::from([64]));
    }
}

#[test]
fn either_side_of_a_branch_can_run_first() {
    let body = "if lane < 32u { atomicStore(&dest[0], 1u); } else { atomicStore(&dest[0], 2u); }
                storageBarrier();";
    let (ascending, shuffled) = results_of_orders(1, body);
    assert_eq!(ascending[0], 2);
    let last_stores: BTreeSet<u32> = shuffled.iter().map(|words| words[0]).collect();
    assert_eq!(last_stores, BTreeSet::from([1, 2]));
}

#[test]
fn an_order_is_repeated_by_its_seed_and_differs_between_dispatches() {
    let body = "atomicStore(&dest[atomicAdd(&dest[1023], 1u)], id + 1u);";
    assert_eq!(run_groups(Some(5), 4, body), run_groups(Some(5), 4, body));
    assert_ne!(run_groups(Some(5), 4, body), run_groups(Some(6), 4, body));
    // With another number of workgroups, the common workgroups run in another order.
    let first_id = |groups| run_groups(Some(5), groups, body)[0];
    let first_ids: BTreeSet<u32> = (1..9).map(|groups| first_id(groups) % 64).collect();
    assert!(first_ids.len() > 1, "{first_ids:?}");
}
