//! Tests views of few elements that span more than 2^32 bytes, with strides of more than 2^31 bytes. On devices with
//! smaller buffers, the views span almost a whole buffer. Pages that are never touched take no physical memory, so
//! these tests are cheap.

use std::collections::BTreeSet;
use wgslice::{
    Backend, DType, Plan, Values, ValuesMut, View,
    options::{GatherNdOptions, GatherOptions},
};

/// The size in bytes of the memory that the views span, unless a device has smaller buffers.
const MEMORY_BYTES: usize = (1 << 32) + (3 << 28);

const TESTED_TYPES: [DType; 4] = [DType::U8, DType::U16, DType::F32, DType::Complex128];

/// Returns the byte at a place of the memory. It is never 0, unlike bytes that were not written.
fn byte(place: usize) -> u8 {
    let bits = (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits.to_be_bytes()[0] | 1
}

/// Returns views of a memory of `memory_bytes` bytes, with elements of `element_size` bytes. Each view spans almost all
/// of the memory.
fn views(memory_bytes: usize, element_size: usize) -> Vec<View> {
    let element_count = memory_bytes / element_size;
    let distance = element_count / 2 - 3_000_000;
    let view = |shape: &[usize], strides: &[isize], offset| {
        View::from_strides(shape, strides, offset, element_count).unwrap()
    };
    let stride = distance.cast_signed();
    vec![
        view(&[3, 4, 2], &[stride, 5, 1001], 7),
        view(&[3, 2, 5], &[-stride, 70_001, 1], 2 * distance + 50),
        view(&[2, 7, 3], &[1, 2, stride], 1_000_003),
        view(&[2, 2, 3], &[stride - 9, stride + 1, 1], 12),
        view(&[2, 2, 4], &[-stride, stride, -3], distance + 9),
        view(&[3, 3, 2], &[stride, 0, 2], 1),
    ]
}

/// Returns the place of each element of the view, in row-major order. A place is an offset in bytes.
fn places(view: &View, element_size: usize) -> Vec<usize> {
    let mut places = vec![view.offset()];
    for (&count, &stride) in view.shape().iter().zip(view.strides()) {
        let places_along = |&place: &usize| {
            (0..count.cast_signed()).map(move |n| place.wrapping_add_signed(n * stride))
        };
        places = places.iter().flat_map(places_along).collect();
    }
    places
        .into_iter()
        .map(|place| place * element_size)
        .collect()
}

/// Returns the places of the words that contain the elements at `places`, and of the words that would be moved instead
/// if the high bits of a number were dropped.
fn word_places(memory_bytes: usize, places: &[usize], element_size: usize) -> BTreeSet<usize> {
    let mut word_places = BTreeSet::new();
    for &place in places {
        for bits in [31, 32] {
            for unit in [1, 4, element_size] {
                let dropped_bits = (unit as i128) << bits;
                for times in -3..=3 {
                    let shifted_place = place as i128 + times * dropped_bits;
                    if let Ok(shifted_place) = usize::try_from(shifted_place)
                        && shifted_place + element_size <= memory_bytes
                    {
                        word_places.extend(
                            (shifted_place / 4 * 4..shifted_place + element_size).step_by(4),
                        );
                    }
                }
            }
        }
    }
    word_places
}

enum Indices {
    None,
    I32(Vec<i32>),
    I64(Vec<i64>),
}

/// A plan that reads the memory, with its indices and the expected result.
struct ReadPlan {
    plan: Plan,
    indices: Indices,
    expected: Vec<u8>,
}

fn read_plans(view: &View, dtype: DType) -> Vec<ReadPlan> {
    let element_size = dtype.size();
    let shape = view.shape().to_vec();
    let selected: Vec<Vec<u8>> = places(view, element_size)
        .into_iter()
        .map(|place| (place..place + element_size).map(byte).collect())
        .collect();
    let mut reads = vec![ReadPlan {
        plan: Plan::contiguous(view, dtype).unwrap(),
        indices: Indices::None,
        expected: selected.concat(),
    }];
    let zeros = vec![0; element_size];
    for (axis, &axis_size) in shape.iter().enumerate() {
        let last_index = i32::try_from(axis_size).unwrap() - 1;
        let indices = vec![last_index, 0, last_index + 1, 1, last_index];
        let options = GatherOptions {
            axis: Some(axis.cast_signed()),
            ..GatherOptions::default()
        };
        let inner_size: usize = shape[axis + 1..].iter().product();
        let mut expected = Vec::new();
        for outer in 0..selected.len() / (axis_size * inner_size) {
            for &index in &indices {
                for offset in 0..inner_size {
                    let number =
                        (outer * axis_size + index.unsigned_abs() as usize) * inner_size + offset;
                    let element = (index <= last_index).then(|| &selected[number]);
                    expected.extend_from_slice(element.unwrap_or(&zeros));
                }
            }
        }
        reads.push(ReadPlan {
            plan: Plan::gather(view, &[indices.len()], options, dtype).unwrap(),
            indices: Indices::I32(indices),
            expected,
        });
    }
    let tuple_count = 40;
    let index = |tuple: usize, d: usize| (tuple * (2 * d + 3) + tuple / 3) % shape[d];
    let mut expected = Vec::new();
    let mut indices = Vec::new();
    for tuple in 0..tuple_count {
        let number = (0..shape.len()).fold(0, |number, d| number * shape[d] + index(tuple, d));
        expected.extend_from_slice(&selected[number]);
        indices.extend((0..shape.len()).map(|d| index(tuple, d) as i64));
    }
    let options = GatherNdOptions::default();
    reads.push(ReadPlan {
        plan: Plan::gather_nd(
            view,
            (&[tuple_count, shape.len()], DType::I64),
            options,
            dtype,
        )
        .unwrap(),
        indices: Indices::I64(indices),
        expected,
    });
    reads
}

/// A plan that writes to the view of the memory, with its source, its indices, and the expected elements of the view.
struct WritePlan {
    plan: Plan,
    source: Vec<u8>,
    indices: Indices,
    expected: Vec<u8>,
}

fn write_plans(view: &View, dtype: DType) -> Vec<WritePlan> {
    let element_size = dtype.size();
    let shape = view.shape().to_vec();
    let row_bytes = shape[1..].iter().product::<usize>() * element_size;
    let source: Vec<u8> = (0..5 * row_bytes).map(|n| byte(n * 77 + 5)).collect();
    let indices: Vec<i32> = [4, 1, 0].into_iter().cycle().take(shape[0]).collect();
    let rows = indices
        .iter()
        .map(|&index| &source[index.unsigned_abs() as usize * row_bytes..][..row_bytes]);
    let gathered = rows.collect::<Vec<_>>().concat();
    let params = [&[5], &shape[1..]].concat();
    let gather = Plan::gather(&params, &[shape[0]], GatherOptions::default(), dtype).unwrap();
    let whole = Plan::contiguous(&shape, dtype).unwrap();
    let values = source[..shape[0] * row_bytes].to_vec();
    vec![
        WritePlan {
            plan: whole.written_to(view).unwrap(),
            source: values.clone(),
            indices: Indices::None,
            expected: values,
        },
        WritePlan {
            plan: gather.written_to(view).unwrap(),
            source,
            indices: Indices::I32(indices),
            expected: gathered,
        },
    ]
}

/// Returns every view in every type. If `for_writing`, leaves out views that select an element twice.
fn typed_views(memory_bytes: usize, for_writing: bool) -> impl Iterator<Item = (View, DType)> {
    let views_of = move |dtype: DType| {
        views(memory_bytes, dtype.size())
            .into_iter()
            .map(move |view| (view, dtype))
    };
    let typed_views = TESTED_TYPES.into_iter().flat_map(views_of);
    typed_views.filter(move |(view, _)| {
        !for_writing || !view.strides().contains(&0) && view.shape() != [2, 2, 4]
    })
}

fn zeroed_memory() -> Vec<u8> {
    vec![0; MEMORY_BYTES]
}

/// Runs a plan on the CPU, by `Plan::run_cpu` or by a backend that cuts even few bytes into parts for its threads.
fn run_cpu(
    thread_count: Option<usize>,
    plan: &Plan,
    source: &[u8],
    indices: &Indices,
    dest: &mut [u8],
) {
    let dtype = plan.inputs()[0].dtype;
    let mut inputs = vec![Values::from_bytes(dtype, source)];
    match indices {
        Indices::None => {}
        Indices::I32(indices) => inputs.push(Values::from(&indices[..])),
        Indices::I64(indices) => inputs.push(Values::from(&indices[..])),
    }
    let report = match thread_count {
        None => plan.run_cpu(&inputs, &mut [ValuesMut::from_bytes(dtype, dest)]),
        Some(thread_count) => {
            let backend = Backend::cpu().with_threads_for_any_work(thread_count);
            match dtype {
                DType::U8 => backend.run_into(plan, &inputs, dest),
                DType::U16 => {
                    backend.run_into::<u16>(plan, &inputs, bytemuck::cast_slice_mut(dest))
                }
                DType::F32 => {
                    backend.run_into::<f32>(plan, &inputs, bytemuck::cast_slice_mut(dest))
                }
                _ => backend.run_into::<[f64; 2]>(plan, &inputs, bytemuck::cast_slice_mut(dest)),
            }
        }
    };
    report.unwrap();
}

const THREAD_COUNTS: [Option<usize>; 3] = [None, Some(1), Some(3)];

#[test]
fn far_elements_are_read_on_the_cpu() {
    let mut memory = zeroed_memory();
    for (view, dtype) in typed_views(MEMORY_BYTES, false) {
        let places = places(&view, dtype.size());
        for word_place in word_places(MEMORY_BYTES, &places, dtype.size()) {
            (word_place..word_place + 4).for_each(|place| memory[place] = byte(place));
        }
    }
    for (view, dtype) in typed_views(MEMORY_BYTES, false) {
        for ReadPlan {
            plan,
            indices,
            expected,
        } in read_plans(&view, dtype)
        {
            for thread_count in THREAD_COUNTS {
                let mut result = vec![0; expected.len()];
                run_cpu(thread_count, &plan, &memory, &indices, &mut result);
                assert_eq!(
                    result, expected,
                    "{plan} of {view:?} on {thread_count:?} threads"
                );
            }
        }
        let mut result = vec![0; view.len() * dtype.size()];
        let source = Values::from_bytes(dtype, &memory);
        wgslice::copy(source, &view, ValuesMut::from_bytes(dtype, &mut result)).unwrap();
        assert_eq!(result, read_plans(&view, dtype)[0].expected, "{view:?}");
    }
}

#[test]
fn far_elements_are_written_on_the_cpu() {
    let mut memory = zeroed_memory();
    for (view, dtype) in typed_views(MEMORY_BYTES, true) {
        let element_size = dtype.size();
        let places = places(&view, element_size);
        for write in write_plans(&view, dtype) {
            for thread_count in THREAD_COUNTS {
                run_cpu(
                    thread_count,
                    &write.plan,
                    &write.source,
                    &write.indices,
                    &mut memory,
                );
                for (place, expected) in places.iter().zip(write.expected.chunks(element_size)) {
                    let element = &mut memory[*place..][..element_size];
                    assert_eq!(
                        element, expected,
                        "{} of {view:?} on {thread_count:?} threads",
                        write.plan
                    );
                    element.fill(0);
                }
            }
        }
    }
    let zeros = vec![0; 1 << 20];
    let mut chunks = memory.chunks(zeros.len());
    assert!(chunks.all(|chunk| chunk == &zeros[..chunk.len()]));
}

#[cfg(feature = "gpu")]
mod gpu {
    use super::{
        BTreeSet, DType, Indices, MEMORY_BYTES, Plan, byte, places, read_plans, typed_views, views,
        word_places, write_plans,
    };
    use crate::harness::gpu::{adapters, request_device, strict_options};
    use crate::harness::read_buffer::read_buffer;
    use wgslice::Gpu;

    /// Bindings of WebGPU's default size, and of more than 2^31 bytes.
    const BINDING_SIZES: [u64; 2] = [128 << 20, (1 << 32) - 4];

    /// Opens a device that runs shaders in an interpreter and allows buffers as large as the memory.
    fn open_strict(binding_bytes: u64) -> Gpu {
        let mut options = strict_options();
        options.limits.max_buffer_size = 1 << 33;
        options.limits.max_storage_buffer_binding_size = binding_bytes;
        options.limits.max_compute_invocations_per_workgroup = 64;
        let limits = options.limits.clone();
        let adapter = strict_gpu::StrictGpu::new(options).adapter();
        request_device(&adapter, wgpu::Features::empty(), limits).unwrap()
    }

    fn buffer(gpu: &Gpu, size: usize) -> wgpu::Buffer {
        gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: size.next_multiple_of(4) as u64,
            usage: wgpu::BufferUsages::STORAGE
                | wgpu::BufferUsages::COPY_SRC
                | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        })
    }

    fn filled_buffer(gpu: &Gpu, bytes: &[u8]) -> wgpu::Buffer {
        let buffer = buffer(gpu, bytes.len());
        let mut bytes = bytes.to_vec();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        gpu.queue().write_buffer(&buffer, 0, &bytes);
        buffer
    }

    fn fill_words(gpu: &Gpu, memory: &wgpu::Buffer, word_places: &BTreeSet<usize>) {
        for &word_place in word_places {
            let bytes: Vec<u8> = (word_place..word_place + 4).map(byte).collect();
            gpu.queue().write_buffer(memory, word_place as u64, &bytes);
        }
    }

    fn encode_plan(
        gpu: &Gpu,
        plan: &Plan,
        from: &wgpu::Buffer,
        indices: &Indices,
        to: &wgpu::Buffer,
    ) {
        let indices = match indices {
            Indices::None => None,
            Indices::I32(indices) => Some(filled_buffer(gpu, bytemuck::cast_slice(indices))),
            Indices::I64(indices) => Some(filled_buffer(gpu, bytemuck::cast_slice(indices))),
        };
        let mut inputs = vec![from.slice(..)];
        inputs.extend(indices.iter().map(|buffer| buffer.slice(..)));
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        let report = gpu.encode(&mut encoder, plan, &inputs, &[to.slice(..)]);
        let report = report.unwrap_or_else(|error| panic!("{plan}: {error}"));
        gpu.queue().submit([encoder.finish()]);
        report.wait().unwrap();
    }

    /// Checks reads of views that span `memory_bytes` bytes.
    fn check_reads(gpu: &Gpu, memory_bytes: usize) {
        let memory = buffer(gpu, memory_bytes);
        for (view, dtype) in typed_views(memory_bytes, false) {
            let places = places(&view, dtype.size());
            fill_words(
                gpu,
                &memory,
                &word_places(memory_bytes, &places, dtype.size()),
            );
        }
        for (view, dtype) in typed_views(memory_bytes, false) {
            for read in read_plans(&view, dtype) {
                let dest = buffer(gpu, read.expected.len());
                encode_plan(gpu, &read.plan, &memory, &read.indices, &dest);
                let result = &read_buffer(gpu, &dest)[..read.expected.len()];
                assert_eq!(result, read.expected, "{} of {view:?}", read.plan);
            }
        }
    }

    /// Checks writes to views that span `memory_bytes` bytes.
    fn check_writes(gpu: &Gpu, memory_bytes: usize) {
        let memory = buffer(gpu, memory_bytes);
        for (view, dtype) in typed_views(memory_bytes, true) {
            let element_size = dtype.size();
            let places = places(&view, element_size);
            let word_places = word_places(memory_bytes, &places, element_size);
            for write in write_plans(&view, dtype) {
                fill_words(gpu, &memory, &word_places);
                let source = filled_buffer(gpu, &write.source);
                encode_plan(gpu, &write.plan, &source, &write.indices, &memory);
                let result = read_words(gpu, &memory, &word_places);
                let expected = |place: usize| {
                    let number = places.iter().position(|element_place| {
                        (*element_place..element_place + element_size).contains(&place)
                    });
                    number.map_or(byte(place), |n| {
                        write.expected[n * element_size + place - places[n]]
                    })
                };
                let expected: Vec<u8> = word_places
                    .iter()
                    .flat_map(|&word_place| (word_place..word_place + 4).map(expected))
                    .collect();
                assert_eq!(result, expected, "{} of {view:?}", write.plan);
            }
        }
    }

    #[test]
    fn far_elements_are_read() {
        for binding_bytes in BINDING_SIZES {
            check_reads(&open_strict(binding_bytes), MEMORY_BYTES);
        }
    }

    #[test]
    fn far_elements_are_written() {
        for binding_bytes in BINDING_SIZES {
            check_writes(&open_strict(binding_bytes), MEMORY_BYTES);
        }
    }

    /// Calls `check` with devices of lavapipe, if it is installed, and the size of their largest buffers, almost 2^31
    /// bytes. Only memory that is bound or copied becomes resident.
    fn on_lavapipe(check: impl Fn(&Gpu, usize)) {
        let all_adapters = adapters().into_iter();
        for adapter in all_adapters.filter(|adapter| adapter.get_info().name.contains("llvmpipe")) {
            let limits = adapter.limits();
            let memory_bytes = usize::try_from(limits.max_buffer_size).unwrap();
            let memory_bytes = memory_bytes.min(MEMORY_BYTES) / 16 * 16;
            assert!(memory_bytes >= (1 << 31) - 16, "{memory_bytes}");
            for binding_bytes in [1 << 20, limits.max_storage_buffer_binding_size] {
                let limits = wgpu::Limits {
                    max_storage_buffer_binding_size: binding_bytes,
                    ..limits.clone()
                };
                let gpu = request_device(&adapter, wgpu::Features::empty(), limits).unwrap();
                check(&gpu, memory_bytes);
            }
        }
    }

    /// Checks that plans of views that exceed the largest buffer are rejected. The error has the argument's name,
    /// and the sizes of the memory and of the largest buffer.
    fn check_refusals(gpu: &Gpu, memory_bytes: usize) {
        let (memory, small_buffer) = (buffer(gpu, memory_bytes), buffer(gpu, 1 << 10));
        for view in views(MEMORY_BYTES, 1) {
            let plan = Plan::contiguous(&view, DType::U8).unwrap();
            let mut encoder = gpu.device().create_command_encoder(&Default::default());
            let outcome = gpu.encode(
                &mut encoder,
                &plan,
                &[memory.slice(..)],
                &[small_buffer.slice(..)],
            );
            let Err(error) = outcome else {
                panic!("a plan of 5 GB was recorded");
            };
            let error = error.to_string();
            let expected_parts = [
                "source",
                &MEMORY_BYTES.to_string(),
                &memory_bytes.to_string(),
            ];
            assert!(
                expected_parts.iter().all(|part| error.contains(part)),
                "{error}"
            );
        }
    }

    #[test]
    fn far_elements_are_read_on_lavapipe() {
        on_lavapipe(check_reads);
    }

    #[test]
    fn far_elements_are_written_on_lavapipe() {
        on_lavapipe(check_writes);
    }

    #[test]
    fn views_beyond_the_largest_buffer_are_refused_on_lavapipe() {
        on_lavapipe(check_refusals);
    }

    fn read_words(gpu: &Gpu, memory: &wgpu::Buffer, word_places: &BTreeSet<usize>) -> Vec<u8> {
        let copied_words = buffer(gpu, word_places.len() * 4);
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        for (number, &word_place) in (0..).zip(word_places) {
            encoder.copy_buffer_to_buffer(memory, word_place as u64, &copied_words, number * 4, 4);
        }
        gpu.queue().submit([encoder.finish()]);
        read_buffer(gpu, &copied_words)
    }
}
