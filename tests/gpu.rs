//! What only a GPU has: tensors that stay there, and plans recorded on the caller's buffers.

use crate::harness::{SIZES, elements, gpu::read_buffer, gpu_devices, to_bytes};
use wgslice::{Backend, DType, Error, GatherNd, Plan, slice};

#[test]
fn a_whole_tensor_is_not_moved() {
    for gpu in gpu_devices() {
        let backend = Backend::from(gpu.clone());
        let tensor = backend.upload(&[1u8, 2, 3, 4, 5, 6], &[2, 3]).unwrap();
        let same = tensor.slice(&slice![.., .., wgslice::NewAxis]).unwrap();
        assert_eq!(same.shape(), [2, 3, 1]);
        assert_eq!(same.buffer(), tensor.buffer());
    }
}

#[test]
fn tensors_slice_on_their_device() {
    for gpu in gpu_devices() {
        let backend = Backend::from(gpu.clone());
        for dtype in SIZES {
            let bytes = to_bytes(&elements(60), dtype.size());
            let tensor = backend.adopt(dtype, &[3, 4, 5], bytes.clone()).unwrap();
            assert_eq!(*tensor.bytes().unwrap(), bytes);
            let spec = slice![1.., 2, ..; -2];
            let on_cpu = Backend::cpu().adopt(dtype, &[3, 4, 5], bytes).unwrap();
            let (got, expected) = (tensor.slice(&spec).unwrap(), on_cpu.slice(&spec).unwrap());
            assert_eq!(got.shape(), expected.shape());
            assert_eq!(got.bytes().unwrap(), expected.bytes().unwrap());
        }
    }
}

#[test]
fn buffers_that_do_not_fit_are_named() {
    for gpu in gpu_devices() {
        let device = gpu.device();
        let buffer = |size, usage| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size,
                usage,
                mapped_at_creation: false,
            })
        };
        let storage = wgpu::BufferUsages::STORAGE;
        let plan = Plan::strided_slice(&[64], &slice![..; -1], DType::F32).unwrap();
        let (good, other) = (buffer(512, storage), buffer(512, storage));
        let short = buffer(252, storage);
        let copy = buffer(
            256,
            wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
        );
        let mut encoder = device.create_command_encoder(&Default::default());
        let mut encode = |source: wgpu::BufferSlice<'_>, dest: wgpu::BufferSlice<'_>| {
            gpu.encode(&mut encoder, &plan, source, dest)
                .unwrap_err()
                .to_string()
        };
        let all = |buffer: &'static str, text: String, says: &str| {
            assert!(text.contains(buffer) && text.contains(says), "{text}");
        };
        all(
            "source",
            encode(short.slice(..), good.slice(..)),
            "252 bytes",
        );
        all("dest", encode(good.slice(..), short.slice(..)), "needs 256");
        all(
            "source",
            encode(good.slice(..), good.slice(..)),
            "of its own",
        );
        all("source", encode(copy.slice(..), good.slice(..)), "STORAGE");
        all(
            "dest",
            encode(good.slice(..), other.slice(4..)),
            "begins at byte 4",
        );
        gpu.queue().submit([encoder.finish()]);
    }
}

/// A plan is recorded at an offset of the caller's buffers, and touches nothing else there.
#[test]
fn recorded_into_the_callers_encoder_at_an_offset() {
    use wgpu::util::DeviceExt;
    for gpu in gpu_devices() {
        let plan = Plan::strided_slice(&[5], &slice![..; -1], DType::U8).unwrap();
        let mut contents = vec![7u8; 512];
        contents[256..261].copy_from_slice(&[1, 2, 3, 4, 5]);
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        let make = |contents: &[u8]| {
            let label = None;
            let descriptor = wgpu::util::BufferInitDescriptor {
                label,
                contents,
                usage,
            };
            gpu.device().create_buffer_init(&descriptor)
        };
        let (source, dest) = (make(&contents), make(&[9; 768]));
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        gpu.encode(&mut encoder, &plan, source.slice(256..), dest.slice(512..))
            .unwrap();
        gpu.queue().submit([encoder.finish()]);
        let bytes = read_buffer(gpu, &dest);
        assert_eq!(bytes[512..520], [5, 4, 3, 2, 1, 0, 0, 0]);
        assert!(
            bytes[..512]
                .iter()
                .chain(&bytes[520..])
                .all(|&byte| byte == 9)
        );
    }
}

#[test]
fn indices_on_another_device_are_named() {
    let params = Backend::cpu().upload(&[1.0f32, 2.0], &[2]).unwrap();
    for gpu in gpu_devices() {
        let elsewhere = Backend::from(gpu.clone()).upload(&[0i32], &[1, 1]).unwrap();
        let error = params
            .gather_nd(&elsewhere, GatherNd::default())
            .unwrap_err();
        assert_eq!(
            error,
            Error::OtherDevice {
                argument: "indices"
            }
        );
    }
}
