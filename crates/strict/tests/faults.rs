//! Runs small shaders on a strict device. The device must compute the right results of correct shaders and report the
//! faults of incorrect shaders.

use strict_gpu::{Access, Counting, Depends, Fault, Options, Outside, StrictGpu, Wrong};
use wgpu::util::DeviceExt;

/// Runs a shader with this body in one workgroup of `lanes` invocations. The shader may read `source` and write to
/// `dest`, a buffer of `dest_words` words that are unwritten at first. Returns the words of `dest`, and the faults.
fn run_shader(
    options: Options,
    lanes: u32,
    source: &[u32],
    dest_words: u64,
    body: &str,
) -> (Vec<u32>, Vec<Fault>) {
    let gpu = StrictGpu::new(Options {
        panics: false,
        ..options
    });
    let (device, queue) = (gpu.device(), gpu.queue());
    let wgsl = format!(
        "@group(0) @binding(0) var<storage, read> source: array<u32>;
         @group(0) @binding(1) var<storage, read_write> dest: array<u32>;
         var<workgroup> shared_words: array<u32, 64>;
         fn increment(x: ptr<function, u32>) {{ *x += 1u; }}
         @compute @workgroup_size({lanes})
         fn main(@builtin(local_invocation_index) lane: u32) {{
             _ = source[0];
             {body}
         }}"
    );
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(wgsl.into()),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some("the shader"),
        layout: None,
        module: &module,
        entry_point: None,
        compilation_options: wgpu::PipelineCompilationOptions {
            zero_initialize_workgroup_memory: false,
            ..Default::default()
        },
        cache: None,
    });
    let contents: Vec<u8> = source.iter().flat_map(|word| word.to_le_bytes()).collect();
    let source = device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
        label: None,
        contents: &contents,
        usage: wgpu::BufferUsages::STORAGE,
    });
    let dest = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: dest_words * 4,
        usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[
            wgpu::BindGroupEntry {
                binding: 0,
                resource: source.as_entire_binding(),
            },
            wgpu::BindGroupEntry {
                binding: 1,
                resource: dest.as_entire_binding(),
            },
        ],
    });
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
    pass.set_pipeline(&pipeline);
    pass.set_bind_group(0, &group, &[]);
    pass.dispatch_workgroups(1, 1, 1);
    drop(pass);
    queue.submit([encoder.finish()]);
    dest.map_async(wgpu::MapMode::Read, .., |mapped| mapped.unwrap());
    device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    let bytes = dest.get_mapped_range(..).unwrap();
    let (words, _) = bytes.as_chunks::<4>();
    let words = words.iter().map(|&word| u32::from_le_bytes(word)).collect();
    (words, gpu.take_faults())
}

fn run_body(body: &str) -> (Vec<u32>, Vec<Fault>) {
    run_shader(Options::default(), 4, &[10, 20, 30, 40], 4, body)
}

#[track_caller]
fn check_result(body: &str, expected: &[u32]) {
    let (words, faults) = run_body(body);
    assert_eq!(
        (words.as_slice(), faults.as_slice()),
        (expected, &[][..]),
        "{body}"
    );
}

#[track_caller]
fn check_fault(body: &str, expected: &Wrong) {
    let (_, faults) = run_body(body);
    let reported: Vec<_> = faults.iter().map(|fault| &fault.wrong).collect();
    assert!(reported.contains(&expected), "{body}: {reported:?}");
}

#[test]
fn shaders_compute_the_results_that_wgsl_defines() {
    check_result("dest[lane] = source[3u - lane] * 2u;", &[80, 60, 40, 20]);
    check_result(
        "dest[lane] = select(7u, source[lane] / (lane - lane), lane > 1u) % 11u;",
        &[7, 7, 8, 7],
    );
    check_result(
        "var sum = 0u; for (var i = 0u; i <= lane; i++) { if i == 2u { continue; } sum += source[i]; } dest[lane] = sum;",
        &[10, 30, 30, 70],
    );
    check_result(
        "var i = 0u; loop { if i == lane { break; } i++; } dest[lane] = i;",
        &[0, 1, 2, 3],
    );
    check_result(
        "var x = 0u; switch lane { case 1u, 2u: { x = 5u; } case 3u: { x = 6u; } default: { x = 9u; } } dest[lane] = x;",
        &[9, 5, 5, 6],
    );
    check_result(
        "var x = vec4(1u, 2u, 3u, 4u); x[lane] = 0u; dest[lane] = x.x + x.y * 10u + x.z * 100u + x.w * 1000u;",
        &[4320, 4301, 4021, 321],
    );
    check_result(
        "var x = array<u32, 4>(); x[lane] = lane; increment(&x[lane]); dest[lane] = x[lane];",
        &[1, 2, 3, 4],
    );
    check_result("dest[lane] = u32(f32(lane) * -1.5 + 6.0);", &[6, 4, 3, 1]);
    check_result(
        "dest[lane] = bitcast<u32>(i32(lane) - 2) >> 28u;",
        &[15, 15, 0, 0],
    );
    check_result(
        "let wide = (u64(source[lane]) << 40u) + u64(lane); dest[lane] = u32(wide >> 40u) + u32(wide);",
        &[10, 21, 32, 43],
    );
    check_result(
        "dest[lane] = arrayLength(&source) + min(lane, 1u);",
        &[4, 5, 5, 5],
    );
    check_result(
        "dest[lane] = u32(any(vec2(lane, 1u) == vec2(0u, 2u))) + dot(vec2(lane), vec2(1u, 2u));",
        &[1, 3, 6, 9],
    );
}

#[test]
fn accesses_outside_are_faults_unless_they_are_dropped_or_clamped() {
    let body = "dest[lane + 1u] = lane;";
    check_fault(
        body,
        &Wrong::Outside {
            access: Access::Write,
            at: 16,
            size: 16,
        },
    );
    check_fault(
        "dest[lane] = source[lane * 2u];",
        &Wrong::Outside {
            access: Access::Read,
            at: 16,
            size: 16,
        },
    );
    check_fault(
        "var x = array<u32, 2>(); x[lane] = 1u; dest[lane] = x[0];",
        &Wrong::Outside {
            access: Access::Write,
            at: 2,
            size: 2,
        },
    );
    let run_with = |outside| {
        run_shader(
            Options {
                outside,
                ..Options::default()
            },
            4,
            &[1],
            4,
            body,
        )
    };
    assert_eq!(run_with(Outside::Drop), (vec![0, 0, 1, 2], vec![]));
    assert_eq!(run_with(Outside::Clamp), (vec![0, 0, 1, 3], vec![]));
    // The index of an inactive lane is not a fault.
    check_result(
        "if lane == 0u { dest[lane * 100u] = 1u; } else { dest[lane] = 2u; }",
        &[1, 2, 2, 2],
    );
}

#[test]
fn a_fault_names_its_line() {
    let (_, faults) = run_body("dest[lane] = 1u;\ndest[lane + 1u] = 2u;");
    let [fault, ..] = &faults[..] else {
        panic!("no fault")
    };
    let (_, line) = fault.line.clone().unwrap();
    assert_eq!(line.trim(), "dest[lane + 1u] = 2u;");
    assert_eq!(
        (&fault.variable[..], &fault.pipeline[..]),
        ("dest", "the shader")
    );
}

#[test]
fn uses_of_unwritten_memory_are_faults() {
    check_fault(
        "if dest[lane] == 0u { dest[lane] = 1u; }",
        &Wrong::Unwritten {
            what: Depends::Condition,
        },
    );
    check_fault(
        "dest[lane] = source[dest[lane]];",
        &Wrong::Unwritten {
            what: Depends::Index,
        },
    );
    check_fault(
        "dest[lane] = dest[lane] + 1u;",
        &Wrong::Unwritten {
            what: Depends::Stored,
        },
    );
    check_fault(
        "dest[lane] = shared_words[lane];",
        &Wrong::Unwritten {
            what: Depends::Stored,
        },
    );
    check_fault(
        "var x = array<u32, 2>(); x[1] = dest[lane]; let y = x; dest[lane] = y[1];",
        &Wrong::Unwritten {
            what: Depends::Stored,
        },
    );
    check_fault(
        "shared_words[lane] = dest[lane]; dest[lane] = shared_words[lane] + 1u;",
        &Wrong::Unwritten {
            what: Depends::Stored,
        },
    );
    // Storing an unwritten number in workgroup memory is not a fault.
    check_result(
        "shared_words[lane] = dest[lane]; dest[lane] = lane;",
        &[0, 1, 2, 3],
    );
    // Writing back an unwritten part of a word unchanged is not a fault. Neither is an unwritten number that `select`
    // does not choose.
    check_result(
        "dest[lane] = (dest[lane] & 0xffff0000u) | lane;",
        &[0, 1, 2, 3],
    );
    check_result(
        "let unknown = dest[lane]; dest[lane] = select(unknown, 3u, lane < 4u);",
        &[3, 3, 3, 3],
    );
    check_result(
        "shared_words[lane] = lane; dest[lane] = shared_words[lane];",
        &[0, 1, 2, 3],
    );
}

#[test]
fn races_are_faults_unless_barriers_order_them() {
    check_fault(
        "dest[0] = 1u;",
        &Wrong::Race {
            access: Access::Write,
            with: Access::Write,
            at: 0,
        },
    );
    check_fault(
        "dest[lane] = 1u; dest[(lane + 1u) % 4u] = 2u;",
        &Wrong::Race {
            access: Access::Write,
            with: Access::Write,
            at: 4,
        },
    );
    check_fault(
        "shared_words[lane] = lane; dest[lane] = shared_words[lane ^ 1u];",
        &Wrong::Race {
            access: Access::Read,
            with: Access::Write,
            at: 4,
        },
    );
    check_result(
        "shared_words[lane] = lane; workgroupBarrier(); dest[lane] = shared_words[lane ^ 1u];",
        &[1, 0, 3, 2],
    );
    check_result(
        "dest[lane] = lane; storageBarrier(); let other = dest[lane ^ 1u]; storageBarrier(); dest[lane] = other;",
        &[1, 0, 3, 2],
    );
    // A barrier for buffers does not order accesses to workgroup memory.
    check_fault(
        "shared_words[lane] = lane; storageBarrier(); dest[lane] = shared_words[lane ^ 1u];",
        &Wrong::Race {
            access: Access::Read,
            with: Access::Write,
            at: 4,
        },
    );
}

#[test]
fn indices_that_wrap_are_faults_but_negative_strides_are_not() {
    // A `step` of 2^32 - 1 represents -1, as in the strides of reversed rows. The index is 3 - lane, although the
    // product and the sum wrap in `u32`.
    check_result(
        "let step = 0xffffffffu; dest[lane] = source[3u + lane * step];",
        &[40, 30, 20, 10],
    );
    check_fault(
        "dest[lane] = source[lane * 0x40000001u * 4u];",
        &Wrong::Wrapped { index: 4 },
    );
    check_fault(
        "dest[lane] = source[lane + 0x7fffffffu + 0x7fffffffu + 2u];",
        &Wrong::Wrapped { index: 0 },
    );
}

#[test]
fn endless_loops_and_divergent_barriers_are_faults() {
    check_fault(
        "var i = 0u; while i < 1u { i *= 2u; } dest[lane] = i;",
        &Wrong::LongLoop { most: 65_535 },
    );
    let barrier = Wrong::DivergentBarrier {
        arrived: 2,
        invocations: 4,
    };
    check_fault(
        "dest[lane] = 1u; if lane > 1u { return; } workgroupBarrier();",
        &barrier,
    );
}

#[test]
fn an_unsupported_shader_is_a_validation_error() {
    let gpu = StrictGpu::new(Options::default());
    let device = gpu.device();
    let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(
            "@compute @workgroup_size(1) fn main() { var x = mat2x2<f32>(); _ = x; }".into(),
        ),
    });
    let _refused = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some("matrices"),
        layout: None,
        module: &module,
        entry_point: None,
        compilation_options: Default::default(),
        cache: None,
    });
    let error = pollster::block_on(scope.pop())
        .expect("an error")
        .to_string();
    assert!(
        error.contains("matrices") && error.contains("Matrix"),
        "{error}"
    );
}

/// Only the workgroup memory that the entry point uses counts towards `max_compute_workgroup_storage_size`. wgpu does
/// not check this limit, but browsers do.
#[test]
fn workgroup_memory_beyond_the_limit_is_a_validation_error() {
    let error_with_limit = |bytes: u32| {
        let mut options = Options::default();
        options.limits.max_compute_workgroup_storage_size = bytes;
        let device = StrictGpu::new(options).device();
        let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let wgsl = "
            var<workgroup> used: array<u32, 33>;
            var<workgroup> unused: array<u32, 1000>;
            @compute @workgroup_size(1) fn main() { used[0] = 1u; }
        ";
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(wgsl.into()),
        });
        let _ = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: None,
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let error = pollster::block_on(scope.pop());
        error.map(|error| error.to_string())
    };
    assert_eq!(error_with_limit(144), None);
    let error = error_with_limit(143).expect("an error");
    assert!(
        error.contains("144 bytes of workgroup memory, more than 143"),
        "{error}"
    );
}

/// wgpu rejects the same clears.
#[test]
fn only_whole_words_inside_the_buffer_are_cleared() {
    let gpu = StrictGpu::new(Options::default());
    let (device, queue) = (gpu.device(), gpu.queue());
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 16,
        usage: wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let clear = |offset, size| {
        let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.clear_buffer(&buffer, offset, size);
        queue.submit([encoder.finish()]);
        pollster::block_on(scope.pop()).map(|error| error.to_string())
    };
    assert_eq!(clear(0, None), None);
    assert_eq!(clear(4, Some(12)), None);
    let rejected_clears = [
        (2, Some(4), "multiples of 4 bytes, which 2 is not"),
        (4, Some(7), "multiples of 4 bytes, which 7 is not"),
        (8, Some(12), "12 bytes at 8, beyond the 16"),
        (20, None, "beyond the 16"),
    ];
    for (offset, size, message) in rejected_clears {
        let error = clear(offset, size).expect("an error");
        assert!(error.contains(message), "{offset}, {size:?}: {error}");
    }
}

#[test]
fn only_workgroups_that_ran_are_counted() {
    let gpu = StrictGpu::new(Options {
        panics: false,
        counting: Some(Counting {
            subgroup: 32,
            most_workgroups: u64::MAX,
        }),
        ..Options::default()
    });
    let (device, queue) = (gpu.device(), gpu.queue());
    // The third workgroup writes outside the binding.
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(
            "@group(0) @binding(0) var<storage, read_write> dest: array<u32>;
             @compute @workgroup_size(4)
             fn main(@builtin(global_invocation_id) id: vec3<u32>) { dest[id.x] = 1u; }"
                .into(),
        ),
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
        size: 32,
        usage: wgpu::BufferUsages::STORAGE,
        mapped_at_creation: false,
    });
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
    pass.dispatch_workgroups(5, 1, 1);
    drop(pass);
    queue.submit([encoder.finish()]);
    assert!(!gpu.take_faults().is_empty());
    let counts = &gpu.take_counts()[0];
    let run_counts = [counts.workgroups_run, counts.invocations, counts.subgroups];
    assert_eq!(run_counts, [3, 12, 3]);
}
