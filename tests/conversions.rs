//! Compares the shaders' conversions between f16 and f32, and their sums of bf16, with the crate `half`.
//!
//! The tests extract the functions from `number.wgsl` and `parts.wgsl` and run them alone, because a scatter converts
//! only sums of two f16 numbers to f16, and few f32 values are such sums.

use crate::harness::{
    gpu::{candidates, request_device},
    read_buffer::read_buffer,
};
use half::{bf16, f16};
use wgpu::util::DeviceExt;
use wgslice::Gpu;

const SHADER: &str = concat!(
    include_str!("../shaders/number.wgsl"),
    include_str!("../shaders/parts.wgsl")
);

/// The entry point: it applies a function of the shader to the values `first + index * step`, modulo 2^32.
const MAIN: &str = "
    struct Values { first: u32, step: u32 }
    @group(0) @binding(0) var<uniform> values: Values;
    @group(0) @binding(1) var<storage, read_write> results: array<u32>;

    @compute @workgroup_size(64)
    fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        let index = id.y * 65536u + id.x;
        let value = values.first + index * values.step;
        results[index] = RESULT;
    }
";

/// A function of the shader and its expected result.
struct Conversion {
    functions: &'static [&'static str],
    /// The bits of the result, as a WGSL expression of `value`.
    result: &'static str,
    agrees: fn(value: u32, result: u32) -> bool,
}

const F16_OF_F32: Conversion = Conversion {
    functions: &["rounded", "f16_of_f32"],
    result: "f16_of_f32(bitcast<f32>(value))",
    agrees: |value, result| {
        let single = f32::from_bits(value);
        match single.is_nan() {
            true => f16_of_bits(result).is_nan(),
            false => result == u32::from(f16::from_f32(single).to_bits()),
        }
    },
};

const F32_OF_F16: Conversion = Conversion {
    functions: &["f32_of_f16"],
    result: "bitcast<u32>(f32_of_f16(value))",
    agrees: |value, result| {
        let expected = f16_of_bits(value).to_f32();
        match expected.is_nan() {
            true => f32::from_bits(result).is_nan(),
            false => result == expected.to_bits(),
        }
    },
};

/// The sum of the two bf16 numbers in a value. WGSL does not define a sum in which a subnormal number, an infinity or a
/// NaN occurs, so any result is accepted for such a sum.
const SUM_OF_BF16: Conversion = Conversion {
    functions: &["rounded", "bf16_of_f32", "add_bf16"],
    result: "add_bf16(value >> 16u, value & 0xffffu)",
    agrees: |value, result| {
        let terms = [value & 0xffff_0000, value << 16].map(f32::from_bits);
        let sum = terms[0] + terms[1];
        let is_defined = |number: f32| number == 0.0 || number.is_normal();
        let expected = bf16::from_f32(sum).to_bits();
        ![terms[0], terms[1], sum].into_iter().all(is_defined) || result == u32::from(expected)
    },
};

fn f16_of_bits(bits: u32) -> f16 {
    f16::from_bits(u16::try_from(bits).expect("16 bits"))
}

/// Returns the text of a function of the shader.
fn function_text(name: &str) -> &'static str {
    let begin = SHADER.find(&format!("fn {name}(")).expect(name);
    let length = SHADER[begin..].find("\n}\n").expect(name) + 3;
    &SHADER[begin..begin + length]
}

impl Conversion {
    fn pipeline(&self, device: &wgpu::Device) -> wgpu::ComputePipeline {
        let functions: String = self.functions.iter().copied().map(function_text).collect();
        let text = functions + &MAIN.replace("RESULT", self.result);
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(text.into()),
        });
        device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: None,
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        })
    }

    /// Checks the results for the `count` values `first + index * step`. `count` is a multiple of 64, and above 65,536
    /// a multiple of 65,536.
    fn check(
        &self,
        gpu: &Gpu,
        pipeline: &wgpu::ComputePipeline,
        (first, step): (u32, u32),
        count: u32,
    ) {
        let device = gpu.device();
        let values = device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: None,
            contents: bytemuck::cast_slice(&[first, step]),
            usage: wgpu::BufferUsages::UNIFORM,
        });
        let results = device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: u64::from(count) * 4,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[&values, &results]
                .map(wgpu::Buffer::as_entire_binding)
                .into_iter()
                .zip(0..)
                .map(|(resource, binding)| wgpu::BindGroupEntry { binding, resource })
                .collect::<Vec<_>>(),
        });
        let mut encoder = device.create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(count.min(65_536) / 64, count.div_ceil(65_536), 1);
        drop(pass);
        gpu.queue().submit([encoder.finish()]);
        let bytes = read_buffer(gpu, &results);
        for (index, &result) in (0..count).zip(bytemuck::cast_slice::<u8, u32>(&bytes)) {
            let value = first.wrapping_add(index.wrapping_mul(step));
            assert!(
                (self.agrees)(value, result),
                "{}: {value:#x} -> {result:#x}",
                self.result
            );
        }
    }
}

/// Opens a device of each adapter and returns the devices with the adapters' names. The limits are WebGPU's defaults,
/// or the adapter's where these are worse.
fn open_gpus() -> Vec<(String, Gpu)> {
    candidates()
        .into_iter()
        .map(|candidate| {
            let limits = wgpu::Limits::default().or_worse_values_from(&candidate.adapter.limits());
            let gpu = request_device(&candidate.adapter, wgpu::Features::empty(), limits);
            let gpu = gpu.expect("the adapter's own limits");
            (candidate.to_string(), gpu)
        })
        .collect()
}

/// Tests all f16 values, all sums of a bf16 number and 0, and f32 values with any upper 16 bits. The lower 16 bits are
/// at rounding thresholds or next to them.
#[test]
fn conversions_in_shaders_agree_with_the_crate_half() {
    for (name, gpu) in open_gpus() {
        eprintln!("{name}");
        let pipelines = [F16_OF_F32, F32_OF_F16, SUM_OF_BF16].map(|conversion| {
            let pipeline = conversion.pipeline(gpu.device());
            (conversion, pipeline)
        });
        let [
            (to_f16, f16_pipeline),
            (to_f32, f32_pipeline),
            (sum, sum_pipeline),
        ] = &pipelines;
        to_f32.check(&gpu, f32_pipeline, (0, 1), 65_536);
        sum.check(&gpu, sum_pipeline, (0, 65_536), 65_536);
        for lower_bits in [
            0, 1, 0x0fff, 0x1000, 0x1001, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff,
        ] {
            to_f16.check(&gpu, f16_pipeline, (lower_bits, 65_536), 65_536);
        }
    }
}

/// Tests all 2^32 values of f32, and all 2^32 pairs of bf16 numbers.
#[test]
#[ignore = "minutes on a software adapter; bash tests/run large runs it"]
fn all_conversions_in_shaders_agree_with_the_crate_half() {
    const VALUES_PER_CHECK: u32 = 1 << 23;
    for (name, gpu) in open_gpus() {
        eprintln!("{name}");
        for conversion in [F16_OF_F32, SUM_OF_BF16] {
            let pipeline = conversion.pipeline(gpu.device());
            for first in (0..=u32::MAX).step_by(VALUES_PER_CHECK as usize) {
                conversion.check(&gpu, &pipeline, (first, 1), VALUES_PER_CHECK);
            }
        }
    }
}
