//! Tests that recordings and tensors reuse buffers, bind groups and slots, on wgpu's noop backend, which needs no
//! driver.

use super::{
    Gpu, Texels,
    device::{
        group::group_layout,
        slots::{Slot, Slots},
    },
    engine::{program::UniformSpace, report::REPORT_BYTES},
};
use crate::{
    Backend, Conversion, DType, Error, Plan,
    options::{Combine, GatherNdOptions, ScatterOptions},
    slice,
};

/// Opens a device of the noop backend. [`Gpu`] treats it as a software adapter.
pub(super) fn open_noop(storage_buffers: u32) -> Gpu {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = wgpu::Backends::NOOP;
    descriptor.backend_options.noop.enable = true;
    let instance = wgpu::Instance::new(descriptor);
    let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::NOOP));
    let (device, queue) = pollster::block_on(adapters[0].request_device(&wgpu::DeviceDescriptor {
        required_limits: wgpu::Limits {
            max_storage_buffers_per_shader_stage: storage_buffers,
            ..wgpu::Limits::default()
        },
        ..Default::default()
    }))
    .unwrap();
    Gpu::new(&device, &queue)
}

/// Opens a device for each [`UniformSpace`].
fn open_gpus() -> [Gpu; 2] {
    let gpus = [open_noop(4), open_noop(8)];
    let spaces = gpus.each_ref().map(|gpu| gpu.engine.pipelines.space);
    assert_eq!(spaces, [UniformSpace::Uniform, UniformSpace::Storage]);
    // A conversion with tables binds five storage buffers, so a sixth is needed for uniforms.
    assert_eq!(open_noop(5).engine.pipelines.space, UniformSpace::Uniform);
    gpus
}

fn make_buffers(gpu: &Gpu, count: usize) -> Vec<wgpu::Buffer> {
    let buffer = |_| {
        gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 2048,
            usage: wgpu::BufferUsages::STORAGE,
            mapped_at_creation: false,
        })
    };
    (0..count).map(buffer).collect()
}

/// Records a plan into a new encoder, with the first buffer as source and the second as destination.
fn encode_plan(gpu: &Gpu, plan: &Plan, buffers: &[wgpu::Buffer]) {
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    let (from, to) = (buffers[0].slice(..), buffers[1].slice(..));
    gpu.encode(&mut encoder, plan, &[from], &[to]).unwrap();
}

/// Returns a plan that is never recorded as a buffer copy.
fn flip_plan(size: usize) -> Plan {
    Plan::slice(&[size], &slice![..; -1], DType::U32).unwrap()
}

fn make_texels(gpu: &Gpu, width: u32, format: wgpu::TextureFormat) -> Texels {
    let texture = gpu.device().create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d {
            width,
            height: 4,
            depth_or_array_layers: 1,
        },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage: wgpu::TextureUsages::COPY_SRC,
        view_formats: &[],
    });
    Texels::new(&texture).unwrap()
}

/// Records slices, gathers, updates and scatters between many buffers, in new passes and in an open pass.
fn record_many(gpu: &Gpu, buffers: &[wgpu::Buffer]) -> wgpu::CommandBuffer {
    let add = ScatterOptions {
        combine: Some(Combine::Add),
        ..ScatterOptions::default()
    };
    let shape = [16, 16];
    let slice = Plan::slice(&shape, &slice![4..12, ..; -1], DType::F32).unwrap();
    let gather = Plan::gather_nd(&shape, &[4, 1], GatherNdOptions::default(), DType::F32).unwrap();
    let update = Plan::slice_update(&shape, &slice![..; 2], &[16], DType::F32).unwrap();
    let scatter = Plan::tensor_scatter_nd(&shape, &[4, 1], &[4, 16], add, DType::F32).unwrap();
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    for triple in buffers.chunks_exact(3) {
        let [source, dest, indices] = [0, 1, 2].map(|n| triple[n].slice(..));
        let (plain_inputs, indexed_inputs) = (&[source][..], &[source, indices][..]);
        for (plan, inputs) in [
            (&slice, plain_inputs),
            (&update, plain_inputs),
            (&scatter, indexed_inputs),
        ] {
            gpu.encode(&mut encoder, plan, inputs, &[dest]).unwrap();
        }
        let mut pass = encoder.begin_compute_pass(&Default::default());
        for (plan, inputs) in [(&slice, plain_inputs), (&gather, indexed_inputs)] {
            gpu.encode(&mut pass, plan, inputs, &[dest]).unwrap();
        }
    }
    encoder.finish()
}

#[test]
fn repeated_recording_creates_no_objects() {
    for gpu in open_gpus() {
        let buffers = make_buffers(&gpu, 300);
        let record_round = |submit| {
            let commands = record_many(&gpu, &buffers);
            if submit {
                gpu.queue().submit([commands]);
                gpu.open_device().wait_for_submissions().unwrap();
            }
            let engine = &gpu.engine;
            let pipelines = &engine.pipelines;
            let strips = [&pipelines.uniforms, &pipelines.reports].map(Slots::strip_count);
            let scatter_memory = engine.scratch.steps.lock().unwrap().clone();
            (strips, scatter_memory, engine.cache.kept_groups())
        };
        record_round(true);
        let kept_objects = record_round(true);
        assert_eq!(kept_objects.0, [1, 4], "200 reports");
        assert_eq!(kept_objects.1.len(), 1);
        for submit in [true, false, true, true] {
            assert_eq!(record_round(submit), kept_objects);
        }
        gpu.trim();
        assert_eq!(*gpu.engine.scratch.steps.lock().unwrap(), []);
        assert_eq!(gpu.engine.cache.kept_groups(), 0);
    }
}

/// Scratch memory for texels grows to the size of the largest box. It is kept until `trim` frees it.
#[test]
fn memory_for_texels_is_kept() {
    let gpu = open_noop(8);
    let all_texels = make_texels(&gpu, 65, wgpu::TextureFormat::Rgba8Unorm);
    let corner_texels = all_texels.slice(&slice![.., ..2, ..2]).unwrap();
    let dest = &make_buffers(&gpu, 2)[1];
    let kept_bytes = |texels: &Texels| {
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        gpu.encode_from_texture(&mut encoder, texels, dest.slice(..))
            .unwrap();
        gpu.engine.scratch.texels.lock().unwrap().clone()
    };
    let [small, large] = [&corner_texels, &all_texels].map(kept_bytes);
    assert_eq!([small[0].size(), large[0].size()], [2 * 256, 4 * 512]);
    assert_eq!(kept_bytes(&corner_texels), large);
    gpu.trim();
    assert_eq!(*gpu.engine.scratch.texels.lock().unwrap(), []);
}

/// One dispatch converts texels, even if no slice selects their channels in the wanted order. All recordings share one
/// work and its conversion tables.
#[test]
fn texels_are_converted_by_one_dispatch() {
    let gpu = open_noop(8);
    let texels = make_texels(&gpu, 5, wgpu::TextureFormat::Bgra8Unorm);
    let texels = texels.channels(&[2, 1, 0, 3]).unwrap();
    let dest = &make_buffers(&gpu, 2)[1];
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    let scaling = Conversion::scaled(DType::F32, -1, &[1.0, 2.0, 3.0, 4.0], &[0.0]);
    let planar = texels.transpose(&[0, 3, 1, 2]).unwrap();
    let planar = planar.converted(&scaling).unwrap();
    for _ in 0..3 {
        gpu.encode_from_texture(&mut encoder, &planar, dest.slice(..))
            .unwrap();
        assert_eq!(gpu.engine.cache.kept_works(), 1);
    }
}

/// When a work is recorded with the same buffers for the second time, its bind groups are kept. For each three buffers,
/// `record_many` records the slice twice, and the update and the gather once. The groups of its scatter are not kept.
#[test]
fn groups_are_kept_if_buffers_recur_and_dropped_if_they_do_not() {
    let gpu = open_noop(8);
    let kept_groups = || gpu.engine.cache.kept_groups();
    let recurring_buffers = make_buffers(&gpu, 3);
    drop(record_many(&gpu, &recurring_buffers));
    assert_eq!(kept_groups(), 1, "both slices");
    drop(record_many(&gpu, &recurring_buffers));
    assert_eq!(kept_groups(), 3);
    let other_buffers = make_buffers(&gpu, 300);
    (0..2).for_each(|_| drop(record_many(&gpu, &other_buffers)));
    assert_eq!(kept_groups(), 303);
    (0..1000).for_each(|_| drop(record_many(&gpu, &recurring_buffers)));
    assert_eq!(kept_groups(), 3);
}

#[test]
fn no_group_holds_the_memory_of_tensors() {
    for gpu in open_gpus() {
        let backend = Backend::from(gpu.clone());
        let tensor = backend.upload((&[1u32; 256], &[16, 16])).unwrap();
        let mut dest = tensor.slice(&slice![..; -1, ..; -1]).unwrap();
        for _ in 0..3 {
            tensor.slice_into(&slice![.., ..; -1], &mut dest).unwrap();
        }
        assert_eq!(gpu.engine.cache.kept_groups(), 0);
    }
}

/// The uniforms of a plan's dispatches are written once for repeated recordings. They are freed when the plan is no
/// longer recorded.
#[test]
fn slots_of_uniforms_are_bounded() {
    let gpu = open_noop(8);
    let buffers = make_buffers(&gpu, 2);
    let record = |size| encode_plan(&gpu, &flip_plan(size), &buffers);
    let strips = || gpu.engine.pipelines.uniforms.strip_count();
    (0..10).for_each(|_| record(7));
    assert_eq!(strips(), 1);
    for _ in 0..20 {
        (2..512).for_each(record);
    }
    assert!(strips() <= 10, "{} for 510 plans", strips());
    gpu.trim();
    assert_eq!(strips(), 0);
}

/// The works of a prepared plan are kept as long as the plan exists.
#[test]
fn a_prepared_plan_stays_prepared() {
    let gpu = open_noop(8);
    let prepared = gpu.prepare(&flip_plan(7)).unwrap();
    let works = gpu.engine.cache.kept_works();
    assert_eq!(works, 1);
    gpu.trim();
    assert_eq!(gpu.engine.cache.kept_works(), 1);
    let buffers = make_buffers(&gpu, 2);
    (0..10_000).for_each(|_| encode_plan(&gpu, &flip_plan(8), &buffers));
    assert_eq!(gpu.engine.cache.kept_works(), 2);
    // The works are used only on the device and with the limits for which they were prepared.
    let ready_count = |gpu: &Gpu| gpu.engine.ready_works(prepared.works(), 0).len();
    assert_eq!(
        [ready_count(&gpu), ready_count(&gpu.with_dispatch_bytes(16))],
        [1, 0]
    );
    assert_eq!(
        [ready_count(&gpu.clone()), ready_count(&open_noop(8))],
        [1, 0]
    );
    drop(prepared);
    gpu.trim();
    assert_eq!(gpu.engine.cache.kept_works(), 0);
    // Prepared works are kept even if they have more dispatches than the limit for works that are not prepared.
    let gpu = gpu.with_dispatch_bytes(16);
    let prepared = gpu.prepare(&flip_plan(500)).unwrap();
    assert_eq!(gpu.engine.cache.kept_works(), 1);
    drop(prepared);
}

/// Plans with equal conversion tables share a work. A plan with other tables has its own work.
#[test]
fn conversions_are_found_again_by_their_tables() {
    let gpu = open_noop(8);
    let buffers = make_buffers(&gpu, 2);
    let record = |plan: &Plan| {
        encode_plan(&gpu, plan, &buffers);
        gpu.engine.cache.kept_works()
    };
    let plan = |scale: &[f32]| {
        let flip_plan = Plan::slice(&[8, 3], &slice![..; -1], DType::U8).unwrap();
        let scaling = Conversion::scaled(DType::F32, -1, scale, &[0.5]);
        flip_plan.converted(&scaling).unwrap()
    };
    let first_plan = plan(&[1.0, 2.0, 3.0]);
    assert_eq!(record(&first_plan), 1);
    assert_eq!(record(&first_plan.clone()), 1, "shared tables");
    assert_eq!(record(&plan(&[1.0, 2.0, 3.0])), 1, "equal tables");
    assert_eq!(record(&plan(&[1.0, 2.0, 4.0])), 2);
}

/// A prepared search is recorded without computing or compiling anything.
#[test]
fn a_search_is_prepared() {
    let gpu = open_noop(8);
    let nonzero = Plan::nonzero(&[3, 40], Some(16), DType::I32).unwrap();
    gpu.supports(&nonzero).unwrap();
    let prepared = gpu.prepare(&nonzero).unwrap();
    let compiled_count = gpu.engine.pipelines.compiled_programs().len();
    assert!(
        compiled_count >= 3,
        "to count, to add up and to write: {compiled_count}"
    );
    let works = gpu.engine.cache.kept_works();
    let [mask, rows, count] = make_buffers(&gpu, 3).try_into().unwrap();
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    let outputs = [rows.slice(..), count.slice(..)];
    let plan_with_count = (*prepared).clone().with_count().unwrap();
    gpu.encode(&mut encoder, &plan_with_count, &[mask.slice(..)], &outputs)
        .unwrap();
    gpu.encode(&mut encoder, &prepared, &[mask.slice(..)], &outputs[..1])
        .unwrap();
    assert_eq!(gpu.engine.cache.kept_works(), works);
    assert_eq!(
        gpu.engine.pipelines.compiled_programs().len(),
        compiled_count
    );
    // A search with capacity 0, which only counts, can also be prepared.
    let counting_plan = Plan::nonzero(&[3, 41], Some(0), DType::I32).unwrap();
    let _prepared = gpu.prepare(&counting_plan).unwrap();
    assert!(gpu.engine.cache.kept_works() > works);
    let deep_plan = Plan::nonzero(&[1; 31], None, DType::I32).unwrap();
    assert!(matches!(
        gpu.supports(&deep_plan),
        Err(Error::DeviceLimit { .. })
    ));
}

/// Returns the buffer of a slot and the offset of the slot in this buffer.
fn slot_buffer(slot: &Slot) -> (wgpu::Buffer, u64) {
    let first_bytes = slot.first_bytes(4);
    (first_bytes.buffer().clone(), first_bytes.offset())
}

#[test]
fn a_held_report_keeps_its_slot() {
    let gpu = open_noop(8);
    let binding = (wgpu::BufferBindingType::Storage { read_only: false }, true);
    let reports = Slots::new(gpu.device(), gpu.queue(), REPORT_BYTES);
    let lend = || reports.lend_slot(|| group_layout(gpu.device(), None, &[binding]));
    let held_slot = lend();
    let mut places = vec![slot_buffer(&held_slot)];
    for _ in 0..1000 {
        let slot = lend();
        assert_ne!(slot_buffer(&slot), slot_buffer(&held_slot));
        places.push(slot_buffer(&slot));
    }
    assert_eq!(
        reports.strip_count(),
        2,
        "the held one, and one for all others"
    );
    drop(held_slot);
    (0..64).for_each(|_| drop(lend()));
    assert!((0..64).any(|_| slot_buffer(&lend()) == places[0]));
}

#[test]
fn tensors_reuse_the_buffers_of_dropped_tensors() {
    for gpu in open_gpus() {
        let backend = Backend::from(gpu.clone());
        let pool_bytes = || gpu.open_device().shared.pool.kept_bytes();
        let tensor = backend.upload((&[1u32; 256], &[16, 16])).unwrap();
        let flip_tensor = || {
            let view = tensor.slice(&slice![.., ..; -1]).unwrap();
            view.contiguous().unwrap()
        };
        drop(flip_tensor());
        assert_eq!(pool_bytes(), 1024);
        let (first, second) = (flip_tensor(), flip_tensor());
        assert_eq!(pool_bytes(), 0);
        drop((first, second));
        assert_eq!(pool_bytes(), 2048);
        // Buffers that the caller might have cloned are not pooled.
        let exposed_buffers = flip_tensor().buffers().unwrap().to_vec();
        assert_eq!(pool_bytes(), 1024);
        let other_tensors = [flip_tensor(), flip_tensor()];
        assert!(
            other_tensors
                .iter()
                .all(|other| other.buffers().unwrap() != exposed_buffers)
        );
        drop(other_tensors);
        drop(flip_tensor());
        assert_eq!(pool_bytes(), 1024);
        gpu.trim();
        assert_eq!(pool_bytes(), 0);
    }
}

#[test]
fn the_pool_is_bounded() {
    let gpu = open_noop(8);
    let lend = |bytes| gpu.open_device().allocate_array(&[bytes], 1).unwrap();
    let pool_bytes = || gpu.open_device().shared.pool.kept_bytes();
    drop([lend(32), lend(48)]);
    // A buffer that is not reused is freed.
    (0..32).for_each(|_| drop(lend(32)));
    assert_eq!(pool_bytes(), 80);
    drop(lend(32));
    assert_eq!(pool_bytes(), 32);
    // Pooled buffers and tensors together never hold more bytes than tensors alone have held.
    drop([lend(32), lend(48)]);
    assert_eq!(pool_bytes(), 80);
    // A tensor of another size makes the pool free buffers, the oldest first.
    let other_buffer = lend(16);
    assert_eq!(pool_bytes(), 48);
    drop(other_buffer);
    assert_eq!(pool_bytes(), 64);
    let large = lend(800);
    assert_eq!(pool_bytes(), 0);
    drop(large);
    // The pool holds at most 64 buffers.
    drop(Vec::from_iter((0..100).map(|_| lend(16))));
    assert_eq!(pool_bytes(), 64 * 16);
}

/// If an allocation runs out of memory and the pool holds buffers, the pool is emptied and the allocation is tried once
/// more. Other errors are returned immediately.
#[test]
fn the_pool_is_emptied_once_if_memory_runs_out() {
    let gpu = open_noop(8);
    let pool = &gpu.open_device().shared.pool;
    let out_of_memory = Error::OutOfDeviceMemory { doing: "this" };
    let other_error = Error::Device {
        doing: "this",
        source: std::io::Error::other("another failure").into(),
    };
    // Inputs: the number of allocations that fail, their error, and whether a buffer is pooled. Expected results:
    // whether an allocation succeeds, the number of tries, and the number of bytes left in the pool.
    for (failures, error, is_pooled, succeeds, tries, kept_bytes) in [
        (0, &out_of_memory, true, true, 1, 1024),
        (1, &out_of_memory, true, true, 2, 0),
        (2, &out_of_memory, true, false, 2, 0),
        (1, &out_of_memory, false, false, 1, 0),
        (1, &other_error, true, false, 1, 1024),
    ] {
        pool.clear();
        if is_pooled {
            drop(gpu.open_device().allocate_array(&[1024], 1).unwrap());
        }
        let mut try_count = 0;
        let create = || {
            try_count += 1;
            if try_count > failures {
                Ok(())
            } else {
                Err(error.clone())
            }
        };
        let outcome = pool.make_room(create, || {
            assert_eq!(
                pool.kept_bytes(),
                0,
                "emptied before the device frees memory"
            );
            gpu.open_device().poll_callbacks()
        });
        assert_eq!(outcome, if succeeds { Ok(()) } else { Err(error.clone()) });
        assert_eq!((try_count, pool.kept_bytes()), (tries, kept_bytes));
    }
}
