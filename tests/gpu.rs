//! Tests of tensors on GPUs.

use crate::harness::{
    DTYPE_OF_EACH_SIZE, elements,
    gpu::{adapters, request_device, strict_options},
    gpu_devices, kind, to_bytes,
};
use std::error::Error as _;
use wgslice::{
    Backend, Error, Gpu, Tensor,
    gpu::AdapterOptions,
    options::{Boxes, CropOptions, GatherNdOptions, ScatterOptions},
    slice,
};

#[test]
fn a_whole_tensor_is_not_moved() {
    for gpu in gpu_devices() {
        let backend = Backend::from(gpu.clone());
        let tensor = backend.upload((&[1u8, 2, 3, 4, 5, 6], &[2, 3])).unwrap();
        let whole = tensor
            .slice(&slice![.., .., wgslice::spec::SliceItem::NewAxis])
            .unwrap();
        assert_eq!(whole.shape(), [2, 3, 1]);
        assert_eq!(whole.buffers().unwrap(), tensor.buffers().unwrap());
    }
}

#[test]
fn tensors_slice_on_their_device() {
    for gpu in gpu_devices() {
        let backend = Backend::from(gpu.clone());
        for dtype in DTYPE_OF_EACH_SIZE {
            let bytes = to_bytes(&elements(60), dtype.size());
            let tensor = Tensor::from_bytes(&backend, bytes.clone(), dtype, &[3, 4, 5]).unwrap();
            assert_eq!(*tensor.bytes().unwrap(), bytes);
            let spec = slice![1.., 2, ..; -2];
            let on_cpu = Tensor::from_bytes(&Backend::cpu(), bytes, dtype, &[3, 4, 5]).unwrap();
            let (got, expected) = (tensor.slice(&spec).unwrap(), on_cpu.slice(&spec).unwrap());
            assert_eq!(got.shape(), expected.shape());
            assert_eq!(got.bytes().unwrap(), expected.bytes().unwrap());
        }
    }
}

/// Tensors reuse the memory of dropped tensors. In this test every bit of that memory is 1, so that unwritten bytes
/// show.
#[test]
fn results_in_reused_memory_have_no_old_values() {
    let check = |backend: &Backend| {
        let drop_memory_of_ones =
            || drop(backend.upload((&[u32::MAX; 4 << 8], &[4, 256])).unwrap());
        let x = backend.upload((&[7u32; 512], &[2, 256])).unwrap();
        let ids = backend.upload((&[1i32, 9, 0, -1], &[4, 1])).unwrap();
        let scatter_ids = backend.upload((&[3i32, 1], &[2, 1])).unwrap();
        drop_memory_of_ones();
        let (gathered, _) = x.gather_nd(&ids, GatherNdOptions::default()).unwrap();
        drop_memory_of_ones();
        let gradient = Tensor::slice_grad(&[4, 256], &slice![..; 2], &x).unwrap();
        drop_memory_of_ones();
        let (scattered, _) =
            Tensor::scatter_nd(&[4, 256], &scatter_ids, &x, ScatterOptions::default()).unwrap();
        let rows = |tensor: &Tensor| {
            let values = tensor.to_array::<u32>().unwrap().data;
            let rows = values.chunks(256).map(|row| {
                assert!(row.iter().all(|value| *value == row[0]));
                row[0]
            });
            rows.collect::<Vec<_>>()
        };
        assert_eq!(rows(&gathered), [7, 0, 7, 0]);
        assert_eq!(rows(&gradient), [7, 0, 7, 0]);
        assert_eq!(rows(&scattered), [0, 7, 0, 7]);
    };
    check(&Backend::cpu());
    for gpu in gpu_devices() {
        check(&Backend::from(gpu.clone()));
    }
}

#[test]
fn tensors_are_read_into_existing_memory() {
    let check = |backend: &Backend| {
        let values: Vec<u16> = (0..1000).collect();
        let tensor = backend.upload((&values, &[10, 100])).unwrap();
        let mut read = vec![9u16; 1000];
        tensor.read_into(&mut read).unwrap();
        assert_eq!(read, values);
        let flags = backend.upload((&[true, false, true], &[3])).unwrap();
        let mut read = [false; 3];
        flags.read_into(&mut read).unwrap();
        assert_eq!(read, [true, false, true]);

        let error = flags.read_into(&mut [false; 2]).unwrap_err().to_string();
        assert!(error.contains("values"), "{error}");
        let error = flags.read_into(&mut [0u8; 3]).unwrap_err();
        assert!(kind(&error) == "dtype", "{error}");
    };
    check(&Backend::cpu());
    for gpu in gpu_devices() {
        check(&Backend::from(gpu.clone()));
    }
}

/// A tensor that is overwritten keeps its buffers, so that bind groups of the caller stay valid. If another tensor
/// shares the buffers, the overwritten tensor gets new buffers.
#[test]
fn a_tensor_that_is_written_over_keeps_its_buffers() {
    for gpu in gpu_devices() {
        let backend = Backend::from(gpu.clone());
        let tensor = backend.upload((&[1u8, 2, 3, 4, 5, 6], &[3, 2])).unwrap();
        let mut row = tensor.slice(&slice![0]).unwrap().contiguous().unwrap();
        let old_buffers = row.buffers().unwrap().to_vec();
        tensor.slice_into(&slice![2, ..; -1], &mut row).unwrap();
        assert_eq!(row.buffers().unwrap(), old_buffers);
        assert_eq!(row.to_array::<u8>().unwrap().data, [6, 5]);

        let clone = row.clone();
        tensor.slice_into(&slice![1], &mut row).unwrap();
        assert_ne!(row.buffers().unwrap(), old_buffers);
        assert_eq!(clone.buffers().unwrap(), old_buffers);
        assert_eq!(row.to_array::<u8>().unwrap().data, [3, 4]);
        assert_eq!(clone.to_array::<u8>().unwrap().data, [6, 5]);
    }
}

#[test]
fn indices_on_another_device_are_named() {
    let params = Backend::cpu().upload((&[1.0f32, 2.0], &[2])).unwrap();
    for gpu in gpu_devices() {
        let gpu_ids = Backend::from(gpu.clone())
            .upload((&[0i32], &[1, 1]))
            .unwrap();
        let error = params
            .gather_nd(&gpu_ids, GatherNdOptions::default())
            .unwrap_err();
        assert_eq!(kind(&error), "device_mismatch");
        assert!(
            error
                .to_string()
                .starts_with("indices lives on another device")
        );
        let options = CropOptions {
            sizes: vec![1],
            ..CropOptions::default()
        };
        let item = Backend::cpu().upload((&[1.0f32, 2.0], &[1, 2])).unwrap();
        let error = item.crop(Boxes::new(&gpu_ids), &options).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("begins lives on another device")
        );
    }
}

/// Reports of gathers from tensors can be awaited. An awaited report equals one that a thread waits for.
#[test]
fn reports_of_tensors_are_awaited() {
    for gpu in gpu_devices() {
        let backend = Backend::from(gpu.clone());
        let params = backend.upload((&[1u32, 2, 3], &[3])).unwrap();
        let indices = backend.upload((&[2i32, 3, -1], &[3, 1])).unwrap();
        let gather = || {
            let options = GatherNdOptions::default();
            params.gather_nd(&indices, options).unwrap().1
        };
        let report = pollster::block_on(gather()).unwrap();
        assert_eq!((report.out_of_range, report.tuples), (2, 3));
        assert_eq!(gather().wait().unwrap(), report);
    }
}

/// A report names the tuple as it was at the time of the gather, even if the tensor of indices is overwritten before
/// the report is read.
#[test]
fn reports_of_indices_that_are_written_over() {
    for gpu in gpu_devices() {
        let backend = Backend::from(gpu.clone());
        let params = backend.upload((&[1u32, 2, 3], &[3])).unwrap();
        let mut indices = backend.upload((&[0i32, 7], &[2, 1])).unwrap();
        let next = backend.upload((&[5i32, 6], &[2, 1])).unwrap();
        let gathered = params
            .gather_nd(&indices, GatherNdOptions::default())
            .unwrap();
        next.slice_into(&slice![..; -1], &mut indices).unwrap();
        assert_eq!(indices.to_array::<i32>().unwrap().data, [6, 5]);
        assert_eq!(gathered.1.wait().unwrap().first.unwrap().index, [7]);
    }
}

/// An operation on a lost device returns an error, and another device can be opened.
#[test]
fn a_lost_device_is_an_error() {
    let Ok(gpu) = Gpu::open(&AdapterOptions::default()) else {
        return assert!(adapters().is_empty());
    };
    let backend = Backend::from(gpu.clone());
    let tensor = backend.upload((&[1u32, 2, 3], &[3])).unwrap();
    gpu.device().destroy();
    let sliced = tensor
        .slice(&slice![..; -1])
        .and_then(|tensor| tensor.to_array::<u32>());
    let error = sliced.unwrap_err();
    assert!(matches!(error, Error::DeviceLost { .. }), "{error:?}");
    let new_backend = Backend::open_gpu(&AdapterOptions::default()).unwrap();
    let tensor = new_backend.upload((&[1u32, 2, 3], &[3])).unwrap();
    let sliced = tensor.slice(&slice![..; -1]).unwrap();
    assert_eq!(sliced.to_array::<u32>().unwrap().data, [3, 2, 1]);
}

/// Pipelines are made with the caller's pipeline cache: with a cache of another device, no pipeline can be made.
#[test]
fn pipelines_of_a_cache() {
    for adapter in adapters() {
        let open = || pollster::block_on(Gpu::from_adapter(&adapter)).unwrap();
        let (gpu, other_gpu) = (open(), open());
        if !adapter.features().contains(wgpu::Features::PIPELINE_CACHE) {
            assert_ne!(adapter.get_info().backend, wgpu::Backend::Vulkan);
            continue;
        }
        let descriptor = wgpu::PipelineCacheDescriptor {
            label: None,
            data: None,
            fallback: true,
        };
        // SAFETY: no data is passed, so none can be invalid.
        let cache = unsafe { gpu.device().create_pipeline_cache(&descriptor) };
        let reversed = |gpu: &Gpu| {
            let backend = Backend::from(gpu.with_pipeline_cache(cache.clone()));
            let tensor = backend.upload((&[1u32, 2, 3], &[3]))?;
            tensor.slice(&slice![..; -1])?.to_array::<u32>()
        };
        assert_eq!(reversed(&gpu).unwrap().data, [3, 2, 1]);
        assert!(cache.get_data().is_some_and(|data| !data.is_empty()));
        let error = reversed(&other_gpu).unwrap_err();
        assert!(matches!(error, Error::Pipeline { .. }), "{error:?}");
        // An error of the library that is caused by an error of wgpu has wgpu's error as its source.
        let source = error.source().and_then(|source| source.downcast_ref());
        let Some(wgpu::Error::Validation { description, .. }) = source else {
            panic!("{source:?}");
        };
        assert!(error.to_string().contains(description), "{error}");
    }
}

/// Uploads more bytes than staging memory holds, as a whole tensor and as a slice, and reads them back.
#[test]
fn long_tensors_are_uploaded_and_read_back() {
    let mut gpus: Vec<Gpu> = gpu_devices().cloned().collect();
    for adapter in adapters() {
        let limits = wgpu::Limits {
            max_buffer_size: 1 << 20,
            max_storage_buffer_binding_size: 1 << 20,
            ..wgpu::Limits::default()
        };
        gpus.extend(request_device(&adapter, wgpu::Features::empty(), limits));
    }
    // The values take more than twice the bytes of the staging memory in either direction, and not a whole number of
    // words.
    let values: Vec<u8> = (0..=250).cycle().take(19_000_003).collect();
    for gpu in gpus {
        let backend = Backend::from(gpu);
        let tensor = backend.upload((&values, &[values.len()])).unwrap();
        assert!(*tensor.bytes().unwrap() == values, "{backend}");
        let spec = slice![7..; 2];
        let sliced = backend
            .upload_slice((&values, &[values.len()]), &spec)
            .unwrap();
        let expected: Vec<u8> = values[7..].iter().step_by(2).copied().collect();
        assert!(*sliced.bytes().unwrap() == expected, "{backend}");
    }
}

/// Transposes run on devices with the limits of `downlevel_defaults`, which allow little workgroup memory.
#[test]
fn transposes_run_with_little_workgroup_memory() {
    let strict = strict_gpu::StrictGpu::new(strict_options()).adapter();
    for adapter in adapters().into_iter().chain([strict]) {
        let limits = wgpu::Limits::downlevel_defaults().or_worse_values_from(&adapter.limits());
        let gpu = request_device(&adapter, wgpu::Features::empty(), limits).unwrap();
        let backend = Backend::from(gpu.as_hardware());
        for dtype in DTYPE_OF_EACH_SIZE {
            let bytes = to_bytes(&elements(70 * 91), dtype.size());
            let transposed = |backend: &Backend| {
                let tensor = Tensor::from_bytes(backend, bytes.clone(), dtype, &[70, 91])?;
                let tensor = tensor.transpose(&[1, 0])?.contiguous()?;
                tensor.bytes().map(|bytes| bytes.into_owned())
            };
            assert_eq!(
                transposed(&backend).unwrap(),
                transposed(&Backend::cpu()).unwrap()
            );
        }
    }
}

/// Slices of params that are too large for the offsets of shaders are gathered correctly.
#[test]
fn slices_beyond_the_reach_of_offsets() {
    let params: Vec<u8> = (0..=250).cycle().take(3 * 2001).collect();
    let indices = [2i32, 0, -1, 1, 3, 2];
    for gpu in gpu_devices() {
        let backend = Backend::from(gpu.with_offset_limit(600));
        let tensor = backend.upload((&params, &[3, 2001])).unwrap();
        for (shape, depth) in [([6, 1], 1), ([6, 0], 0)] {
            let indices = backend.upload((&indices[..6 * depth], &shape)).unwrap();
            let gathered = tensor
                .gather_nd(&indices, GatherNdOptions::default())
                .unwrap();
            let rows: Vec<Option<usize>> = match depth {
                0 => vec![None; 6],
                _ => vec![Some(2), Some(0), Some(9), Some(1), Some(9), Some(2)],
            };
            let expected: Vec<u8> = rows
                .iter()
                .flat_map(|row| match row {
                    None => params.clone(),
                    Some(9) => vec![0; 2001],
                    Some(row) => params[row * 2001..][..2001].to_vec(),
                })
                .collect();
            assert!(*gathered.0.bytes().unwrap() == expected, "depth {depth}");
            assert_eq!(gathered.1.wait().unwrap().out_of_range, 2 * depth);
        }
    }
}
