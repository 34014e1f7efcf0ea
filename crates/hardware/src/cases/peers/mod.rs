//! Kernels modelled on the kernels of ONNX Runtime's WebGPU provider, tfjs and burn. They differ from the originals in
//! their source, but not in the work of an invocation, the way to find its element, the workgroup sizes and the order
//! of divisions.
//!
//! | | elements per invocation | workgroup | coordinates |
//! |---|---|---|---|
//! | ONNX Runtime | 1; 4 if the last axis is contiguous and its size is a multiple of 4 | 64 | division by each stride, then a division by each size (for the carry) |
//! | tfjs | 1 | 64 | division by each stride, signed |
//! | burn | 1 | 256 | division by each size, innermost first; a branch on the step's sign |
//!
//! All kernels read the shapes from a uniform buffer.

mod gather;
mod slice;

pub(super) use gather::gather_launch;
pub(super) use slice::slice_launch;

use super::{HashedIndices, buffer};
use std::fmt;
use wgpu::util::DeviceExt as _;
use wgslice::Gpu;

/// Another project that runs slices and gathers on WebGPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Peer {
    OnnxRuntime,
    Tfjs,
    Burn,
}

impl Peer {
    pub(crate) const ALL: [Self; 3] = [Self::OnnxRuntime, Self::Tfjs, Self::Burn];

    fn workgroup_size(self) -> usize {
        match self {
            Self::OnnxRuntime | Self::Tfjs => 64,
            Self::Burn => 256,
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::OnnxRuntime => "ONNX Runtime",
            Self::Tfjs => "tfjs",
            Self::Burn => "burn",
        })
    }
}

/// Python's start, stop and step of a dimension.
pub(super) type Bounds = [Option<i64>; 3];

/// A dispatch of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    source: String,
    workgroup: usize,
    invocations: usize,
    /// The members of `Uniforms` in [`SHADER_HEAD`], in their order.
    uniforms: Vec<[u32; 4]>,
    input_bytes: usize,
    output_bytes: usize,
    indices: Option<HashedIndices>,
}

/// The declarations at the beginning of all kernels. `head.x` is the number of invocations. The other
/// components of `head` depend on the kernel.
const SHADER_HEAD: &str = "\
struct Uniforms {
    head: vec4<u32>,
    out_shape: vec4<u32>,
    out_strides: vec4<u32>,
    in_shape: vec4<u32>,
    in_strides: vec4<u32>,
    starts: vec4<u32>,
    steps: vec4<i32>,
}
@group(0) @binding(0) var<storage, read> source: array<ELEMENT>;
@group(0) @binding(1) var<storage, read_write> dest: array<ELEMENT>;
@group(0) @binding(2) var<uniform> u: Uniforms;
";

const MAIN: &str = "
@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let id = (group.y * groups.x + group.x) * WORKGROUPu + local;
    if id >= u.head.x {
        return;
    }
";

fn row_major_strides(shape: &[usize]) -> Vec<usize> {
    let stride_of = |dim: usize| shape[dim + 1..].iter().product();
    (0..shape.len()).map(stride_of).collect()
}

fn to_four_words(values: impl IntoIterator<Item = i64>) -> [u32; 4] {
    let mut four_values = [1; 4];
    for (word, value) in four_values.iter_mut().zip(values) {
        // Negative values are stored in two's complement.
        *word = u32::try_from(value & i64::from(u32::MAX)).unwrap_or_default();
    }
    four_values
}

fn to_four_numbers(values: &[usize]) -> [u32; 4] {
    to_four_words(
        values
            .iter()
            .map(|&value| i64::try_from(value).unwrap_or_default()),
    )
}

fn assemble_shader(peer: Peer, element: &str, extra_bindings: &str, body: &str) -> String {
    let head = SHADER_HEAD.replace("ELEMENT", element);
    let main = MAIN.replace("WORKGROUP", &peer.workgroup_size().to_string());
    [&head, extra_bindings, &main, body, "}\n"].concat()
}

/// Returns WGSL that computes coordinate `dim` of the result: it divides by the dimension's stride.
fn onnx_runtime_coordinate(dim: usize, rank: usize) -> String {
    if dim + 1 == rank {
        return format!("    let c{dim} = rest;\n");
    }
    format!(
        "    let c{dim} = rest / u.out_strides[{dim}];\n    rest = rest % u.out_strides[{dim}];\n"
    )
}

/// Like [`onnx_runtime_coordinate`], but with signed numbers, and with a subtraction in place of the remainder.
fn tfjs_coordinate(dim: usize, rank: usize) -> String {
    if dim + 1 == rank {
        return format!("    let c{dim} = rest;\n");
    }
    format!(
        "    let c{dim} = rest / i32(u.out_strides[{dim}]);\n    \
         rest = rest - c{dim} * i32(u.out_strides[{dim}]);\n"
    )
}

impl Launch {
    /// Records the dispatch with new buffers.
    pub(super) fn record(&self, label: &str, gpu: &Gpu, encoder: &mut wgpu::CommandEncoder) {
        let input = buffer(gpu, self.input_bytes);
        let output = buffer(gpu, self.output_bytes);
        self.record_on(label, gpu, encoder, [&input, &output]);
    }

    fn record_on(
        &self,
        label: &str,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
        [input, output]: [&wgpu::Buffer; 2],
    ) {
        let device = gpu.device();
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(self.source.as_str().into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(label),
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let bytes = self
            .uniforms
            .iter()
            .flatten()
            .flat_map(|word| word.to_le_bytes());
        let uniforms = device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: None,
            contents: &bytes.collect::<Vec<u8>>(),
            usage: wgpu::BufferUsages::UNIFORM,
        });
        let indices = self.indices.as_ref().map(|indices| indices.upload(gpu));
        let buffers = [Some(input), Some(output), Some(&uniforms), indices.as_ref()];
        let entries: Vec<_> = (0..)
            .zip(buffers.into_iter().flatten())
            .map(|(binding, buffer)| wgpu::BindGroupEntry {
                binding,
                resource: buffer.as_entire_binding(),
            })
            .collect();
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &entries,
        });
        let [width, height] = self.grid_size();
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(width, height, 1);
    }

    /// Returns the grid: one row of workgroups or, if a row cannot hold them all, an almost square grid.
    fn grid_size(&self) -> [u32; 2] {
        const MAX_WORKGROUPS: u32 = 65_535;
        let groups = self.invocations.div_ceil(self.workgroup);
        let groups = u32::try_from(groups).unwrap_or(u32::MAX);
        match groups {
            ..=MAX_WORKGROUPS => [groups, 1],
            _ => {
                let width = groups.isqrt() + 1;
                [width, groups.div_ceil(width)]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;
    use wgslice::{Backend, DType, SliceSpec, Tensor, options::GatherNdOptions};

    const LABEL: &str = "a peer's";

    fn numbers_from_0(backend: &Backend, shape: &[usize]) -> Tensor {
        let values: Vec<f32> = (0..shape.iter().product())
            .map(|i: usize| i as f32)
            .collect();
        backend.upload((&values, shape)).unwrap()
    }

    /// Runs a kernel on an array of the numbers from 0 on and returns the bytes of its result. The device panics at
    /// out-of-bounds accesses.
    fn run_kernel(launch: &Launch, shape: &[usize], count: usize) -> Vec<u8> {
        let device = Device::new(None);
        let backend = Backend::from(device.gpu.clone());
        let input = numbers_from_0(&backend, shape);
        let output = backend.upload((&vec![-1.0f32; count], &[count])).unwrap();
        let mut encoder = device
            .gpu
            .device()
            .create_command_encoder(&Default::default());
        let buffers = [&input.buffers().unwrap()[0], &output.buffers().unwrap()[0]];
        launch.record_on(LABEL, &device.gpu, &mut encoder, buffers);
        device.gpu.queue().submit([encoder.finish()]);
        output.bytes().unwrap().into_owned()
    }

    #[test]
    fn slices_are_right() {
        let unbounded = [None, None, None];
        let cases: [(&[usize], &[Bounds], &str); 5] = [
            (
                &[5, 6, 7, 8],
                &[
                    [Some(1), Some(4), None],
                    [Some(2), None, None],
                    [Some(1), Some(6), None],
                    unbounded,
                ],
                "1:4, 2:, 1:6, :",
            ),
            (&[9, 10], &[unbounded, [None, None, Some(-1)]], ":, ::-1"),
            (
                &[3, 8, 9],
                &[unbounded, [None, None, Some(2)], [None, None, Some(2)]],
                ":, ::2, ::2",
            ),
            (&[20, 8], &[[None, None, Some(3)], unbounded], "::3, :"),
            (
                &[40, 4],
                &[[None, None, Some(-2)], [Some(1), Some(3), Some(1)]],
                "::-2, 1:3",
            ),
        ];
        for (shape, slices, text) in cases {
            let spec: SliceSpec = text.parse().unwrap();
            let expected = numbers_from_0(&Backend::cpu(), shape).slice(&spec).unwrap();
            let count = expected.shape().iter().product();
            for peer in Peer::ALL {
                let launch = slice_launch(peer, shape, slices).unwrap();
                let result = run_kernel(&launch, shape, count);
                assert_eq!(result, *expected.bytes().unwrap(), "{peer}, {text}");
            }
        }
    }

    #[test]
    fn gathers_are_right() {
        let cases: [(&[usize], [usize; 2]); 4] = [
            (&[9, 5], [7, 1]),
            (&[4, 5], [70, 2]),
            (&[4, 5, 2, 3], [30, 2]),
            (&[6, 2, 3], [4, 1]),
        ];
        for (shape, indices) in cases {
            for peer in Peer::ALL {
                let Some(launch) = gather_launch(peer, shape, indices) else {
                    assert_eq!((peer, indices[1]), (Peer::Burn, 2));
                    continue;
                };
                let tuples = launch.indices.as_ref().unwrap().coordinates();
                let tuples: Vec<i64> = tuples.map(u64::cast_signed).collect();
                let cpu = Backend::cpu();
                let tuples = cpu.upload((&tuples, &indices)).unwrap();
                let params = numbers_from_0(&cpu, shape);
                let (expected, _) = params
                    .gather_nd(&tuples, GatherNdOptions::default())
                    .unwrap();
                assert_eq!(expected.dtype(), DType::F32);
                let count = expected.shape().iter().product();
                let result = run_kernel(&launch, shape, count);
                assert_eq!(
                    result,
                    *expected.bytes().unwrap(),
                    "{peer}, {shape:?} by {indices:?}"
                );
            }
        }
    }
}
