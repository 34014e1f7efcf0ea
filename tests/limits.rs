//! What does not fit a device is an error that names the limit; seen on small data by lowering the
//! limits, and on wgpu's noop backend, which needs no driver.

use crate::harness::{elements, gpu::request_device, to_bytes};
use wgslice::{Backend, DType, Error, GatherNd, Gpu, Plan, gpu::AdapterOptions, slice};

/// A device of wgpu's noop backend with these limits. It runs no shader.
fn noop(limits: impl FnOnce(&mut wgpu::Limits)) -> Gpu {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = wgpu::Backends::NOOP;
    descriptor.backend_options.noop.enable = true;
    let instance = wgpu::Instance::new(descriptor);
    let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::NOOP));
    let mut lowered = wgpu::Limits::default();
    limits(&mut lowered);
    request_device(&adapters[0], wgpu::Features::empty(), lowered).unwrap()
}

fn limit(error: Error) -> (&'static str, u64, u64) {
    match error {
        Error::DeviceLimit {
            limit,
            needed,
            allowed,
            ..
        } => (limit, needed, allowed),
        other => panic!("{other}"),
    }
}

#[test]
fn a_tensor_above_the_binding_limit_is_refused_by_name() {
    let gpu = noop(|limits| limits.max_storage_buffer_binding_size = 1024);
    let backend = Backend::from(gpu);
    let bytes = to_bytes(&elements(2000), 1);
    let tensor = backend.adopt(DType::U8, &[2000], bytes).unwrap();
    let error = tensor.slice(&slice![..; 2]).unwrap_err();
    assert!(error.to_string().contains("--device cpu"), "{error}");
    assert_eq!(
        limit(error),
        ("max_storage_buffer_binding_size", 2000, 1024)
    );
    let indices = backend.upload(&[0i32], &[1, 1]).unwrap();
    let error = tensor.gather_nd(&indices, GatherNd::default()).unwrap_err();
    assert_eq!(
        limit(error),
        ("max_storage_buffer_binding_size", 2000, 1024)
    );
}

#[test]
fn a_tensor_above_the_buffer_limit_is_refused_by_name() {
    let backend = Backend::from(noop(|limits| {
        limits.max_buffer_size = 1024;
        limits.max_storage_buffer_binding_size = 1024;
    }));
    let error = backend.upload(&vec![0u8; 1025], &[1025]).unwrap_err();
    assert_eq!(limit(error), ("max_buffer_size", 1040, 1024));
    assert!(backend.upload(&vec![0u8; 1024], &[1024]).is_ok());
}

#[test]
fn more_workgroups_than_two_dimensions_hold_are_refused_by_name() {
    let gpu = noop(|limits| limits.max_compute_workgroups_per_dimension = 2);
    let backend = Backend::from(gpu);
    let tensor = backend.upload(&vec![0u32; 2000], &[2000, 1]).unwrap();
    assert!(tensor.slice(&slice![1..]).is_ok());
    let wide = backend.upload(&vec![0u32; 200_000], &[100_000, 2]).unwrap();
    let (name, needed, allowed) = limit(wide.slice(&slice![.., 1]).unwrap_err());
    assert!(
        name.contains("max_compute_workgroups_per_dimension"),
        "{name}"
    );
    assert!(needed > 4 && allowed == 4, "{needed} {allowed}");
}

/// A contiguous slice is copied and needs no binding, whatever its size.
#[test]
fn a_contiguous_slice_is_a_copy() {
    let gpu = noop(|limits| limits.max_storage_buffer_binding_size = 1024);
    let backend = Backend::from(gpu);
    let values: Vec<u32> = (0..2000).collect();
    let tensor = backend.upload(&values, &[20, 100]).unwrap();
    let rows = tensor.slice(&slice![3..17]).unwrap();
    assert_eq!(rows.to_array::<u32>().unwrap().data, values[300..1700]);
}

/// Planning needs no device: what a plan says of a huge tensor is arithmetic.
#[test]
fn offsets_beyond_32_bits_are_refused_on_a_gpu() {
    let gpu = noop(|_| {});
    let plan = Plan::strided_slice(&[3 << 30], &slice![..; 2], DType::U8).unwrap();
    let buffer = gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 64,
        usage: wgpu::BufferUsages::STORAGE,
        mapped_at_creation: false,
    });
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    let error = gpu
        .encode(&mut encoder, &plan, buffer.slice(..), buffer.slice(..))
        .unwrap_err();
    assert!(
        matches!(error, Error::Buffer { .. } | Error::DeviceLimit { .. }),
        "{error}"
    );
}

#[test]
fn an_adapter_that_is_not_there_is_an_error_that_lists_what_is() {
    let options = AdapterOptions {
        name: Some("no such adapter".into()),
        ..AdapterOptions::default()
    };
    let error = Backend::open_gpu(&options).unwrap_err().to_string();
    assert!(error.contains("no such adapter"), "{error}");
    let there = pollster::block_on(AdapterOptions::default().adapters()).unwrap();
    for candidate in there {
        assert!(error.contains(&candidate.to_string()), "{error}");
    }
    // `auto` falls back, and says so.
    let auto = Backend::auto_with(&options);
    assert!(
        auto.is_cpu() && auto.reason().contains("no hardware GPU"),
        "{}",
        auto.reason()
    );
}
