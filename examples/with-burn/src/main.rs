//! Slices and gathers burn's tensors with wgslice on burn's device, without a copy.
//!
//! A tensor of burn is a range of a wgpu buffer, with a shape and strides. wgslice reads the arguments' ranges with
//! these strides, so burn need not copy transposed tensors first. wgslice writes to the range of a new tensor, and burn
//! then computes with this tensor. Nothing waits until the values are read: burn submits the commands that it has
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
use wgslice::{DType, Gpu, Pending, Plan, Report, SliceSpec, View, options::GatherOptions, slice};

type Server = WgpuServer<AutoCompiler>;
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    // wgpu does not let a dispatch write to a buffer that it also reads, and by default burn keeps several tensors in
    // one buffer. So each tensor gets its own buffer.
    let options = Device::wgpu_options().memory_config(MemoryConfiguration::ExclusivePages);
    let (device, setup) = options.init_with_setup()?;
    let gpu = Gpu::new(&setup.device, &setup.queue);
    println!("on {gpu}");

    // burn computes x[i, j] = i + 6 · j, and transposes without a copy.
    let x = Tensor::<1, Int>::arange(0..60, &device)
        .reshape([10, 6])
        .float()
        .transpose();
    let flipped = slice_tensor(&gpu, x, &slice![1..; 2, ..; -1])?;
    let reversed_ids = [9, 8, 7, 6, 5, 4, 3, 2, 1, 0];
    let columns = Tensor::<1, Int>::from_ints(reversed_ids, &device);
    let (gathered, report) = gather_rows(&gpu, flipped.clone().transpose(), columns)?;
    let sums = (flipped + gathered.transpose())
        .into_data()
        .try_to_vec::<f32>()?;

    let flipped_value = |i: usize, j: usize| 1 + 2 * i + 6 * (9 - j);
    let sum_at = |(i, j)| flipped_value(i, j) + flipped_value(i, reversed_ids[j] as usize);
    let positions = (0..3).flat_map(|i| (0..10).map(move |j| (i, j)));
    let expected: Vec<f32> = positions.map(|position| sum_at(position) as f32).collect();
    if sums != expected || report.wait()?.out_of_range != 0 {
        return Err(format!("burn has {sums:?}, plain loops {expected:?}").into());
    }
    println!("burn's tensors have the values that plain loops compute");
    Ok(())
}

/// Returns `x[spec]`. Fails if the result does not have two dimensions.
fn slice_tensor(gpu: &Gpu, x: Tensor<2>, spec: &SliceSpec) -> Result<Tensor<2>> {
    let device = x.device();
    let x = cube_tensor(x)?;
    // While `source` and `dest` are held, burn neither frees nor moves their memory.
    let source = x.client.get_resource::<Server>(x.handle.clone())?;
    let source = buffer_slice(source.resource());
    let plan = Plan::slice(view(&x, source)?, spec, DType::F32)?;
    let shape: [usize; 2] = plan.shape().try_into()?;
    let result = cube_tensor(Tensor::<2>::empty(shape, &device))?;

    let dest = x.client.get_resource::<Server>(result.handle.clone())?;
    let dest = buffer_slice(dest.resource());
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    gpu.encode(&mut encoder, &plan, &[source], &[dest])?;
    x.client.flush()?;
    gpu.queue().submit([encoder.finish()]);
    Ok(Tensor::from_primitive::<Wgpu>(result))
}

/// Returns the rows of `params` whose numbers are in `indices`, and the pending report of numbers that are out of
/// range.
fn gather_rows(
    gpu: &Gpu,
    params: Tensor<2>,
    indices: Tensor<1, Int>,
) -> Result<(Tensor<2>, Pending<Report>)> {
    let device = params.device();
    let options = GatherOptions::default();
    let params = cube_tensor(params)?;
    let index_shape = indices.dims();
    let indices = cube_tensor(indices)?;
    if !indices.is_contiguous() {
        return Err(format!("indices must be in row-major order without gaps: {indices:?}").into());
    }
    let index_type = match indices.dtype {
        burn::tensor::DType::I32 => DType::I32,
        burn::tensor::DType::I64 => DType::I64,
        burn::tensor::DType::U32 => DType::U32,
        other => return Err(format!("indices are i32, i64 or u32, not {other:?}").into()),
    };
    let client = &params.client;
    let source = client.get_resource::<Server>(params.handle.clone())?;
    let source = buffer_slice(source.resource());
    let plan = Plan::gather(
        view(&params, source)?,
        (&index_shape, index_type),
        options,
        DType::F32,
    )?;
    let shape: [usize; 2] = plan.shape().try_into()?;
    let result = cube_tensor(Tensor::<2>::empty(shape, &device))?;

    let index_memory = client.get_resource::<Server>(indices.handle)?;
    let dest = client.get_resource::<Server>(result.handle.clone())?;
    let (index_memory, dest) = (
        buffer_slice(index_memory.resource()),
        buffer_slice(dest.resource()),
    );
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    let report = gpu.encode(&mut encoder, &plan, &[source, index_memory], &[dest])?;
    client.flush()?;
    gpu.queue().submit([encoder.finish()]);
    Ok((Tensor::from_primitive::<Wgpu>(result), report))
}

/// Returns the tensor of CubeCL, burn's runtime, that a tensor wraps.
fn cube_tensor<const D: usize, K>(tensor: Tensor<D, K>) -> Result<CubeTensor>
where
    K: Basic + BackendPrimitive<Wgpu, Primitive = CubeTensor>,
{
    let tensor = tensor.try_into_primitive::<Wgpu>();
    Ok(tensor.map_err(|error| format!("{error:?}"))?)
}

/// Returns the view of `memory` with the elements of a tensor of `f32`, in the order of the tensor's dimensions.
fn view(tensor: &CubeTensor, memory: wgpu::BufferSlice<'_>) -> Result<View> {
    if tensor.dtype != burn::tensor::DType::F32 || tensor.meta.is_tiled() {
        return Err(format!("not untiled f32: {tensor:?}").into());
    }
    let strides = tensor.meta.strides().iter();
    let strides = strides.map(|stride| stride.cast_signed());
    let strides = strides.collect::<Vec<isize>>();
    let element_count = usize::try_from(memory.size())? / size_of::<f32>();
    let shape = tensor.meta.shape();
    Ok(View::from_strides(shape, &strides, 0, element_count)?)
}

fn buffer_slice(resource: &WgpuResource) -> wgpu::BufferSlice<'_> {
    let WgpuResource {
        buffer,
        offset,
        size,
        ..
    } = resource;
    buffer.slice(*offset..offset + size)
}
