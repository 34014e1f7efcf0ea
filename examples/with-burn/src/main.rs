//! burn's tensors, sliced and gathered by wgslice on burn's device, without a copy.
//!
//! A tensor of burn is a range of a wgpu buffer. wgslice reads the ranges of the arguments, and writes to the range of
//! a new tensor, with which burn then computes. Nothing waits until the values are read: burn submits what it has
//! recorded, wgslice's commands follow, and the device runs both in this order.
//!
//! ```sh
//! cargo run
//! ```

use burn::{
    backend::{
        Wgpu,
        wgpu::{AutoCompiler, CubeTensor},
    },
    cubecl::wgpu::{WgpuResource, WgpuServer},
    tensor::{
        BackendPrimitive, Device, Int, Tensor,
        kind::Basic,
        wgpu::{MemoryConfiguration, wgpu},
    },
};
use wgslice::{DType, Gpu, Pending, Plan, Report, SliceSpec, options::GatherOptions, slice};

type Server = WgpuServer<AutoCompiler>;
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    // wgpu does not let a dispatch write to a buffer that it also reads, and by default burn keeps several tensors in
    // one buffer. So each tensor gets its own buffer.
    let options = Device::wgpu_options().memory_config(MemoryConfiguration::ExclusivePages);
    let (device, setup) = options.init_with_setup()?;
    let gpu = Gpu::new(&setup.device, &setup.queue);
    println!("on {gpu}");

    // burn computes x[i, j] = 10 · i + j.
    let x = Tensor::<1, Int>::arange(0..60, &device)
        .reshape([6, 10])
        .float();
    let flipped = sliced(&gpu, x, &slice![1..; 2, ..; -1])?;
    let rows = Tensor::<1, Int>::from_ints([2, 0, 2], &device);
    let (picked, report) = gathered(&gpu, flipped.clone(), rows)?;
    let sums = (flipped + picked).into_data().try_to_vec::<f32>()?;

    let flipped = |i: usize, j: usize| 10 * (1 + 2 * i) + 9 - j;
    let sum = |(i, j)| flipped(i, j) + flipped([2, 0, 2][i], j);
    let places = (0..3).flat_map(|i| (0..10).map(move |j| (i, j)));
    let expected: Vec<f32> = places.map(|place| sum(place) as f32).collect();
    if sums != expected || report.wait()?.out_of_range != 0 {
        return Err(format!("burn has {sums:?}, plain loops {expected:?}").into());
    }
    println!("burn's tensors have the values that plain loops compute");
    Ok(())
}

/// Returns `x[spec]`, which must have two dimensions, like `x`.
fn sliced(gpu: &Gpu, x: Tensor<2>, spec: &SliceSpec) -> Result<Tensor<2>> {
    let device = x.device();
    let plan = Plan::slice(&x.dims(), spec, DType::F32)?;
    let shape: [usize; 2] = plan.shape().try_into()?;
    let x = elements(x)?;
    let result = elements(Tensor::<2>::empty(shape, &device))?;

    // While `source` and `dest` are held, burn neither frees nor moves their memory.
    let source = x.client.get_resource::<Server>(x.handle)?;
    let dest = x.client.get_resource::<Server>(result.handle.clone())?;
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    let (source, dest) = (range(source.resource()), range(dest.resource()));
    gpu.encode(&mut encoder, &plan, &[source], &[dest])?;
    x.client.flush()?;
    gpu.queue().submit([encoder.finish()]);
    Ok(Tensor::from_primitive::<Wgpu>(result))
}

/// Returns the rows of `params` whose numbers are in `indices`, and the pending report of numbers that are out of
/// range.
fn gathered(
    gpu: &Gpu,
    params: Tensor<2>,
    indices: Tensor<1, Int>,
) -> Result<(Tensor<2>, Pending<Report>)> {
    let device = params.device();
    let options = GatherOptions::default();
    let plan = Plan::gather(&params.dims(), &indices.dims(), options, DType::F32)?;
    let shape: [usize; 2] = plan.shape().try_into()?;
    let params = elements(params)?;
    let indices = elements(indices)?;
    let result = elements(Tensor::<2>::empty(shape, &device))?;

    let client = params.client;
    let source = client.get_resource::<Server>(params.handle)?;
    let numbers = client.get_resource::<Server>(indices.handle)?;
    let dest = client.get_resource::<Server>(result.handle.clone())?;
    let plan = plan.for_indices(match indices.dtype {
        burn::tensor::DType::I32 => DType::I32,
        burn::tensor::DType::I64 => DType::I64,
        burn::tensor::DType::U32 => DType::U32,
        other => return Err(format!("indices are i32, i64 or u32, not {other:?}").into()),
    })?;
    let numbers = range(numbers.resource());
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    let (source, dest) = (range(source.resource()), range(dest.resource()));
    let report = gpu.encode(&mut encoder, &plan, &[source, numbers], &[dest])?;
    client.flush()?;
    gpu.queue().submit([encoder.finish()]);
    Ok((Tensor::from_primitive::<Wgpu>(result), report))
}

/// Returns the tensor of CubeCL, burn's runtime, that a tensor wraps. Fails unless its elements are in row-major order
/// without gaps, as plans expect them, which those of a transposed tensor are not.
fn elements<const D: usize, K>(tensor: Tensor<D, K>) -> Result<CubeTensor>
where
    K: Basic + BackendPrimitive<Wgpu, Primitive = CubeTensor>,
{
    let tensor = tensor.try_into_primitive::<Wgpu>();
    let tensor = tensor.map_err(|error| format!("{error:?}"))?;
    match tensor.is_contiguous() {
        true => Ok(tensor),
        false => Err(format!("not contiguous: {tensor:?}").into()),
    }
}

fn range(resource: &WgpuResource) -> wgpu::BufferSlice<'_> {
    let WgpuResource {
        buffer,
        offset,
        size,
        ..
    } = resource;
    buffer.slice(*offset..offset + size)
}
