//! Tests on wgpu's noop backend, which needs no driver, that repeated recording creates no device objects, for every
//! space of params.

use super::{DeviceIndices, Gpu, program::UniformSpace};
use crate::{Backend, DType, Error, GatherNd, Plan, Scatter, slice};

/// A device of the noop backend, which is treated as a software adapter.
fn noop(features: wgpu::Features, storage_buffers: u32) -> Gpu {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = wgpu::Backends::NOOP;
    descriptor.backend_options.noop.enable = true;
    let instance = wgpu::Instance::new(descriptor);
    let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::NOOP));
    let immediates = features.contains(wgpu::Features::IMMEDIATES);
    let (device, queue) = pollster::block_on(adapters[0].request_device(&wgpu::DeviceDescriptor {
        required_features: features,
        required_limits: wgpu::Limits {
            max_immediate_size: if immediates { 128 } else { 0 },
            max_storage_buffers_per_shader_stage: storage_buffers,
            ..wgpu::Limits::default()
        },
        ..Default::default()
    }))
    .unwrap();
    Gpu::new(&device, &queue)
}

/// A device for each space of params.
fn gpus() -> [Gpu; 3] {
    let none = wgpu::Features::empty();
    let gpus = [
        noop(wgpu::Features::IMMEDIATES, 8),
        noop(none, 4),
        noop(none, 8),
    ];
    let spaces = gpus.each_ref().map(|gpu| gpu.inner.pipelines.space());
    use UniformSpace::{Immediate, Storage, Uniform};
    assert_eq!(spaces, [Immediate, Uniform, Storage]);
    gpus
}

fn buffers(gpu: &Gpu, count: usize) -> Vec<wgpu::Buffer> {
    let buffer = |_| {
        gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 1024,
            usage: wgpu::BufferUsages::STORAGE,
            mapped_at_creation: false,
        })
    };
    (0..count).map(buffer).collect()
}

impl Gpu {
    /// The objects that recording has created: the number of bind groups, the last slot of params, and the number of
    /// strips of reports.
    fn made(&self) -> (usize, Option<(wgpu::Buffer, u32)>, usize) {
        let pipelines = &self.inner.pipelines;
        let (groups, reports) = (&self.inner.groups, &pipelines.reports);
        (groups.made(), pipelines.uniforms.last(), reports.strips())
    }

    /// Records slices and gathers between many buffers, into new passes and into an open one, and submits or drops
    /// them.
    fn round(&self, buffers: &[wgpu::Buffer], submit: bool) {
        let slice = Plan::strided_slice(&[16, 16], &slice![4..12, ..; -1], DType::F32).unwrap();
        let gather = Plan::gather_nd(&[16, 16], &[4, 1], GatherNd::default(), DType::F32).unwrap();
        let mut encoder = self.device().create_command_encoder(&Default::default());
        for three in buffers.chunks_exact(3) {
            let [source, dest, tuples] = [0, 1, 2].map(|number: usize| three[number].slice(..));
            let tuples = DeviceIndices::I32(tuples);
            self.encode(&mut encoder, &slice, source, dest).unwrap();
            self.encode_gather(&mut encoder, &gather, source, tuples, dest)
                .unwrap();
            let mut pass = encoder.begin_compute_pass(&Default::default());
            self.encode_in_pass(&mut pass, &slice, source, dest)
                .unwrap();
            self.encode_gather_in_pass(&mut pass, &gather, source, tuples, dest)
                .unwrap();
        }
        let commands = encoder.finish();
        if submit {
            self.queue().submit([commands]);
            self.device()
                .poll(wgpu::PollType::wait_indefinitely())
                .unwrap();
        }
    }
}

#[test]
fn repeated_slices_and_gathers_create_no_objects() {
    for gpu in gpus() {
        let buffers = buffers(&gpu, 300);
        gpu.round(&buffers, true);
        gpu.round(&buffers, false);
        let made = gpu.made();
        assert!(made.0 > 0 && made.2 > 0, "{made:?}");
        for submit in [true, false, true, true] {
            gpu.round(&buffers, submit);
            assert_eq!(gpu.made(), made);
        }
    }
}

/// The scratch memory of a scatter is created once.
#[test]
fn repeated_updates_gradients_and_scatters_create_no_objects() {
    let (shape, add) = ([16, 16], Scatter::default());
    let update = Plan::strided_slice_update(&shape, &slice![..; 2], &[16], DType::F32).unwrap();
    let grad = Plan::strided_slice_grad(&shape, &slice![..; 2], &[8, 16], DType::F32).unwrap();
    let scatter = Plan::tensor_scatter_nd(&shape, &[4, 1], &[4, 16], add, DType::F32).unwrap();
    for gpu in gpus() {
        let buffers = buffers(&gpu, 30);
        let round = || {
            let mut encoder = gpu.device().create_command_encoder(&Default::default());
            for three in buffers.chunks_exact(3) {
                let [source, dest, tuples] = [0, 1, 2].map(|number: usize| three[number].slice(..));
                let tuples = DeviceIndices::I32(tuples);
                gpu.encode(&mut encoder, &update, source, dest).unwrap();
                gpu.encode(&mut encoder, &grad, source, dest).unwrap();
                gpu.encode_scatter(&mut encoder, &scatter, source, tuples, dest)
                    .unwrap();
            }
            gpu.queue().submit([encoder.finish()]);
            gpu.device()
                .poll(wgpu::PollType::wait_indefinitely())
                .unwrap();
        };
        round();
        round();
        let (made, memory) = (gpu.made(), gpu.inner.scatter.kept());
        assert!(made.0 > 0 && memory.is_some(), "{made:?}");
        for _ in 0..3 {
            round();
            assert_eq!(
                (gpu.made(), gpu.inner.scatter.kept()),
                (made.clone(), memory.clone())
            );
        }
        gpu.trim();
        assert_eq!(gpu.inner.scatter.kept(), None);
    }
}

#[test]
fn groups_of_buffers_that_do_not_recur_are_not_kept() {
    for gpu in gpus() {
        for _ in 0..3 {
            gpu.round(&buffers(&gpu, 3), true);
        }
        // Each round records one slice and one gather twice, and the second time keeps the group.
        assert_eq!(gpu.inner.groups.kept(), 6);
        gpu.trim();
        assert_eq!(gpu.inner.groups.kept(), 0);
    }
}

#[test]
fn no_bind_group_holds_the_memory_of_tensors() {
    for gpu in gpus() {
        let backend = Backend::from(gpu.clone());
        let tensor = backend.upload(&[1u32; 256], &[16, 16]).unwrap();
        let mut dest = tensor.slice(&slice![..; -1, ..; -1]).unwrap();
        for _ in 0..3 {
            tensor.slice_into(&slice![.., ..; -1], &mut dest).unwrap();
        }
        assert_eq!(gpu.inner.groups.kept(), 0);
    }
}

#[test]
fn tensors_reuse_the_buffers_of_dropped_tensors() {
    for gpu in gpus() {
        let backend = Backend::from(gpu.clone());
        let kept = || gpu.inner.pool.kept();
        let tensor = backend.upload(&[1u32; 256], &[16, 16]).unwrap();
        let flip = || tensor.slice(&slice![.., ..; -1]).unwrap();
        drop(flip());
        assert_eq!(kept(), 1024);
        let (first, second) = (flip(), flip());
        assert_eq!(kept(), 0);
        drop((first, second));
        assert_eq!(kept(), 2048);
        // Buffers that the caller may have cloned are not pooled.
        let shown = flip().buffers().to_vec();
        assert_eq!(kept(), 1024);
        let others = [flip(), flip()];
        assert!(others.iter().all(|other| other.buffers() != shown));
        drop(others);
        drop(flip());
        assert_eq!(kept(), 1024);
        gpu.trim();
        assert_eq!(kept(), 0);
    }
}

/// Allocations are simulated, so that they fail a given number of times.
#[test]
fn the_pool_is_emptied_once_if_memory_runs_out() {
    let short = || Error::OutOfDeviceMemory { doing: "this" };
    for gpu in gpus() {
        let backend = Backend::from(gpu.clone());
        let pool = &gpu.inner.pool;
        // The outcome if the first `failures` tries fail, the number of tries, and the bytes in the pool.
        let outcome = |failures| {
            let mut tries = 0;
            let create = || {
                tries += 1;
                if tries > failures {
                    Ok(tries)
                } else {
                    Err(short())
                }
            };
            let outcome = pool.make_room(create, || {
                assert_eq!(
                    pool.kept(),
                    0,
                    "the pool is empty before the device frees memory"
                );
                gpu.poll()
            });
            (outcome, tries, pool.kept())
        };
        let keep = || drop(backend.upload(&[1u32; 256], &[16, 16]).unwrap());
        keep();
        assert_eq!(outcome(0), (Ok(1), 1, 1024));
        assert_eq!(outcome(1), (Ok(2), 2, 0));
        keep();
        assert_eq!(outcome(2), (Err(short()), 2, 0));
        assert_eq!(outcome(1), (Err(short()), 1, 0), "the pool was empty");

        keep();
        let mut tries = 0;
        let other = Error::Device {
            doing: "this",
            message: "another failure".to_owned(),
        };
        let create = || {
            tries += 1;
            Err::<(), _>(other.clone())
        };
        assert_eq!(pool.make_room(create, || Ok(())), Err(other));
        assert_eq!((tries, pool.kept()), (1, 1024));
    }
}

#[test]
fn a_held_report_keeps_its_slot() {
    let gpu = noop(wgpu::Features::empty(), 8);
    let reports = &gpu.inner.pipelines.reports;
    let lend = || reports.lend(gpu.device(), gpu.queue());
    let held = lend();
    let place = |slot: &super::slots::Slot| (slot.buffer().clone(), slot.offset());
    let mut places = vec![place(&held)];
    for _ in 0..1000 {
        let slot = lend();
        assert_ne!(place(&slot), place(&held));
        places.push(place(&slot));
    }
    assert_eq!(reports.strips(), 2, "the held one, and one for all others");
    drop(held);
    (0..64).for_each(|_| drop(lend()));
    assert!((0..64).any(|_| place(&lend()) == places[0]));
}
