//! Host time to record operations, beside the barest wgpu commands of the same kind.
//!
//! Every figure is for as many operations as its group says, `finish` included: milliseconds for 1000
//! are microseconds for one. Unless a name says "submitted", submission and device time are outside of it; they come
//! after each measurement, so that what the commands held comes back as in a program. All slices are
//! small: on a software adapter the device would otherwise run on the cores that are measured.
//!
//! The bare commands set the pipeline, the bind groups and 128 bytes of params for every dispatch, as
//! a recorder must that does not know what else is in the pass. Their shader does next to nothing.

use criterion::{Bencher, Criterion, criterion_group, criterion_main};
use std::time::{Duration, Instant};
use wgpu::{BufferUsages, CommandEncoder, ComputePass};
use wgslice::{
    DType, GatherNd, Gpu, Plan,
    gpu::{AdapterOptions, Candidate, DeviceIndices},
    slice,
};

/// Operations in a figure.
const OPERATIONS: usize = 1000;

/// The shader's params, in bytes.
const PARAMS: u32 = 128;

/// The size of each buffer: 32 x 32 elements of 4 bytes.
const BYTES: u64 = 32 * 32 * 4;

/// A device, with what the bare commands need.
struct Rig {
    gpu: Gpu,
    slice: Bare,
    gather: Bare,
}

/// A pipeline and the groups that every dispatch sets.
struct Bare {
    pipeline: wgpu::ComputePipeline,
    buffers: wgpu::BindGroupLayout,
    /// The report of a gather, at an offset that each dispatch sets.
    report: Option<wgpu::BindGroup>,
    /// The params where there are no immediates.
    params: Option<wgpu::BindGroup>,
}

/// A pair of buffers, and the group that binds them for the bare dispatch.
struct Pair {
    source: wgpu::Buffer,
    dest: wgpu::Buffer,
    group: wgpu::BindGroup,
}

impl Rig {
    fn new(adapter: &wgpu::Adapter, immediates: bool) -> Self {
        let descriptor = if immediates {
            wgpu::DeviceDescriptor {
                required_features: wgpu::Features::IMMEDIATES,
                required_limits: adapter.limits(),
                ..Default::default()
            }
        } else {
            wgpu::DeviceDescriptor::default()
        };
        let (device, queue) =
            pollster::block_on(adapter.request_device(&descriptor)).expect("a device");
        let bare = |gather| Bare::new(&device, gather, immediates);
        let (slice, gather) = (bare(false), bare(true));
        let gpu = Gpu::new(&device, &queue);
        Self { gpu, slice, gather }
    }

    fn device(&self) -> &wgpu::Device {
        self.gpu.device()
    }

    fn buffer(&self) -> wgpu::Buffer {
        buffer(self.device(), BYTES, BufferUsages::STORAGE)
    }

    fn pair(&self) -> Pair {
        let (source, dest) = (self.buffer(), self.buffer());
        let group = self.slice.group(self.device(), &[&source, &dest]);
        Pair {
            source,
            dest,
            group,
        }
    }

    /// Submits and waits.
    fn run(&self, commands: wgpu::CommandBuffer) {
        self.gpu.queue().submit([commands]);
        let wait = wgpu::PollType::wait_indefinitely();
        self.device().poll(wait).expect("the device");
    }

    /// Measures what `record` records for what `prepare` makes; neither that nor the submission is
    /// counted.
    fn measure<T>(
        &self,
        bencher: &mut Bencher<'_>,
        mut prepare: impl FnMut() -> T,
        mut record: impl FnMut(&T, &mut CommandEncoder),
    ) {
        let mut once = || {
            let prepared = prepare();
            let mut encoder = self.device().create_command_encoder(&Default::default());
            let start = Instant::now();
            record(&prepared, &mut encoder);
            let commands = encoder.finish();
            let taken = start.elapsed();
            self.run(commands);
            taken
        };
        bencher.iter_custom(|times| (0..times).map(|_| once()).sum::<Duration>());
    }

    /// Measures what `record` records in one pass.
    fn measure_pass(
        &self,
        bencher: &mut Bencher<'_>,
        mut record: impl FnMut(&mut ComputePass<'_>),
    ) {
        self.measure(
            bencher,
            || (),
            |(), encoder| {
                record(&mut encoder.begin_compute_pass(&Default::default()));
            },
        );
    }
}

impl Bare {
    fn new(device: &wgpu::Device, gather: bool, immediates: bool) -> Self {
        let layout = |buffers: &[(wgpu::BufferBindingType, bool)]| {
            let entries: Vec<_> = (0..)
                .zip(buffers)
                .map(
                    |(binding, &(ty, has_dynamic_offset))| wgpu::BindGroupLayoutEntry {
                        binding,
                        visibility: wgpu::ShaderStages::COMPUTE,
                        ty: wgpu::BindingType::Buffer {
                            ty,
                            has_dynamic_offset,
                            min_binding_size: None,
                        },
                        count: None,
                    },
                )
                .collect();
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: None,
                entries: &entries,
            })
        };
        let storage = |read_only| (wgpu::BufferBindingType::Storage { read_only }, false);
        let mut buffers = vec![storage(true), storage(false)];
        if gather {
            buffers.push(storage(true));
        }
        let buffers = layout(&buffers);
        let report = layout(&[(wgpu::BufferBindingType::Storage { read_only: false }, true)]);
        let params = layout(&[(wgpu::BufferBindingType::Uniform, true)]);
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[
                Some(&buffers),
                gather.then_some(&report),
                (!immediates).then_some(&params),
            ],
            immediate_size: if immediates { PARAMS } else { 0 },
        });
        let space = if immediates {
            "var<immediate>"
        } else {
            "@group(2) @binding(0) var<uniform>"
        };
        let (declared, used) = if gather {
            (
                "@group(0) @binding(2) var<storage> indices: array<u32>;
                 @group(1) @binding(0) var<storage, read_write> report: array<u32>;",
                "report[0] = indices[0];",
            )
        } else {
            ("", "")
        };
        let source = format!(
            "struct Params {{ words: array<vec4<u32>, 8> }}
             {space} params: Params;
             @group(0) @binding(0) var<storage> source: array<u32>;
             @group(0) @binding(1) var<storage, read_write> dest: array<u32>;
             {declared}
             @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) at: vec3<u32>) {{
                 dest[at.x] = source[at.x] + params.words[7].x;
                 {used}
             }}"
        );
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(source.into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: None,
            compilation_options: Default::default(),
            cache: None,
        });
        let group = |layout, bytes, usage| {
            let buffer = buffer(device, 2 * bytes, usage);
            group(device, layout, &[(&buffer, Some(bytes))])
        };
        Self {
            report: gather.then(|| group(&report, 256, BufferUsages::STORAGE)),
            params: (!immediates).then(|| group(&params, 256, BufferUsages::UNIFORM)),
            pipeline,
            buffers,
        }
    }

    fn group(&self, device: &wgpu::Device, buffers: &[&wgpu::Buffer]) -> wgpu::BindGroup {
        let buffers: Vec<_> = buffers.iter().map(|&buffer| (buffer, None)).collect();
        group(device, &self.buffers, &buffers)
    }

    fn dispatch(&self, pass: &mut ComputePass<'_>, group: &wgpu::BindGroup) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, group, &[]);
        if let Some(report) = &self.report {
            pass.set_bind_group(1, report, &[256]);
        }
        match &self.params {
            Some(params) => pass.set_bind_group(2, params, &[256]),
            None => pass.set_immediates(0, &[0; PARAMS as usize]),
        }
        pass.dispatch_workgroups(1, 1, 1);
    }
}

fn buffer(device: &wgpu::Device, size: u64, usage: BufferUsages) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size,
        usage: usage | BufferUsages::COPY_SRC | BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

fn group(
    device: &wgpu::Device,
    layout: &wgpu::BindGroupLayout,
    buffers: &[(&wgpu::Buffer, Option<u64>)],
) -> wgpu::BindGroup {
    let entries: Vec<_> = (0..)
        .zip(buffers)
        .map(|(binding, &(buffer, bytes))| wgpu::BindGroupEntry {
            binding,
            resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer,
                offset: 0,
                size: bytes.and_then(wgpu::BufferSize::new),
            }),
        })
        .collect();
    device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout,
        entries: &entries,
    })
}

fn record(c: &mut Criterion) {
    let candidates = pollster::block_on(AdapterOptions::default().adapters()).expect("adapters");
    let Some(Candidate { adapter, .. }) = candidates.iter().find(|candidate| candidate.fits())
    else {
        return eprintln!("no figures: no adapter");
    };
    eprintln!("on {:?}", adapter.get_info());
    if adapter.features().contains(wgpu::Features::IMMEDIATES) {
        record_on(c, "immediates", &Rig::new(adapter, true));
    }
    record_on(c, "no immediates", &Rig::new(adapter, false));
}

fn record_on(c: &mut Criterion, space: &str, rig: &Rig) {
    let mut bench = c.benchmark_group(format!("1000 operations, {space}"));
    bench.sample_size(10);
    let (gpu, bare) = (&rig.gpu, &rig.slice);
    let plan = Plan::strided_slice(&[32, 32], &slice![4..20, ..; 2], DType::F32).expect("a slice");
    let recorded = "it fits";
    let pair = rig.pair();
    let (source, dest) = (pair.source.slice(..), pair.dest.slice(..));
    let slices = |pass: &mut ComputePass<'_>| {
        for _ in 0..OPERATIONS {
            gpu.encode_in_pass(pass, &plan, source, dest)
                .expect(recorded);
        }
    };
    let bare_dispatches = |pass: &mut ComputePass<'_>| {
        for _ in 0..OPERATIONS {
            bare.dispatch(pass, &pair.group);
        }
    };

    bench.bench_function("slices in one pass", |b| rig.measure_pass(b, slices));
    bench.bench_function("slices in one pass, bare", |b| {
        rig.measure_pass(b, bare_dispatches);
    });

    bench.bench_function("slices in a pass each", |b| {
        rig.measure(
            b,
            || (),
            |(), encoder| {
                for _ in 0..OPERATIONS {
                    gpu.encode(encoder, &plan, source, dest).expect(recorded);
                }
            },
        );
    });
    bench.bench_function("slices in a pass each, bare", |b| {
        rig.measure(
            b,
            || (),
            |(), encoder| {
                for _ in 0..OPERATIONS {
                    let mut pass = encoder.begin_compute_pass(&Default::default());
                    bare.dispatch(&mut pass, &pair.group);
                }
            },
        );
    });

    let rows = Plan::strided_slice(&[32, 32], &slice![4..20], DType::F32).expect("a slice");
    bench.bench_function("copies", |b| {
        rig.measure(
            b,
            || (),
            |(), encoder| {
                for _ in 0..OPERATIONS {
                    gpu.encode(encoder, &rows, source, dest).expect(recorded);
                }
            },
        );
    });
    bench.bench_function("copies, bare", |b| {
        rig.measure(
            b,
            || (),
            |(), encoder| {
                for _ in 0..OPERATIONS {
                    let bytes = rows.result_bytes() as u64;
                    encoder.copy_buffer_to_buffer(&pair.source, 4 * 128, &pair.dest, 0, bytes);
                }
            },
        );
    });

    let tuples = rig.buffer();
    let gather =
        Plan::gather_nd(&[32, 32], &[16, 1], GatherNd::default(), DType::F32).expect("a gather");
    bench.bench_function("gathers in one pass", |b| {
        rig.measure_pass(b, |pass| {
            for _ in 0..OPERATIONS {
                let tuples = DeviceIndices::I32(tuples.slice(..));
                gpu.encode_gather_in_pass(pass, &gather, source, tuples, dest)
                    .expect(recorded);
            }
        });
    });
    let buffers = [&pair.source, &pair.dest, &tuples];
    let group = rig.gather.group(rig.device(), &buffers);
    bench.bench_function("gathers in one pass, bare", |b| {
        rig.measure_pass(b, |pass| {
            for _ in 0..OPERATIONS {
                rig.gather.dispatch(pass, &group);
            }
        });
    });

    let pairs: Vec<_> = (0..OPERATIONS).map(|_| rig.pair()).collect();
    let slices_of = |pairs: &[Pair], pass: &mut ComputePass<'_>| {
        for Pair { source, dest, .. } in pairs {
            gpu.encode_in_pass(pass, &plan, source.slice(..), dest.slice(..))
                .expect(recorded);
        }
    };
    bench.bench_function("slices of 1000 pairs of buffers", |b| {
        rig.measure_pass(b, |pass| slices_of(&pairs, pass));
    });
    bench.bench_function("slices of 1000 pairs of buffers, bare", |b| {
        rig.measure_pass(b, |pass| {
            for pair in &pairs {
                bare.dispatch(pass, &pair.group);
            }
        });
    });
    drop(pairs);

    let fresh = || (0..OPERATIONS).map(|_| rig.pair()).collect::<Vec<_>>();
    bench.bench_function("slices of new buffers", |b| {
        rig.measure(b, fresh, |pairs, encoder| {
            slices_of(pairs, &mut encoder.begin_compute_pass(&Default::default()));
        });
    });
    bench.bench_function("slices of new buffers, bare", |b| {
        rig.measure(b, fresh, |pairs, encoder| {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            for Pair { source, dest, .. } in pairs {
                let group = bare.group(rig.device(), &[source, dest]);
                bare.dispatch(&mut pass, &group);
            }
        });
    });
    gpu.trim();

    let submitted = |record: &dyn Fn(&mut ComputePass<'_>)| {
        let mut encoder = rig.device().create_command_encoder(&Default::default());
        record(&mut encoder.begin_compute_pass(&Default::default()));
        rig.run(encoder.finish());
    };
    bench.bench_function("slices in one pass, submitted and waited for", |b| {
        b.iter(|| submitted(&slices));
    });
    bench.bench_function("slices in one pass, submitted and waited for, bare", |b| {
        b.iter(|| submitted(&bare_dispatches));
    });
    bench.finish();

    // As a program that computes one thing at a time, and then waits for all.
    let mut bench = c.benchmark_group(format!("100 operations, {space}"));
    bench.sample_size(10);
    let queued = |record: &dyn Fn(&mut CommandEncoder)| {
        for _ in 0..100 {
            let mut encoder = rig.device().create_command_encoder(&Default::default());
            record(&mut encoder);
            gpu.queue().submit([encoder.finish()]);
        }
        let wait = wgpu::PollType::wait_indefinitely();
        rig.device().poll(wait).expect("the device");
    };
    bench.bench_function("slices submitted one by one, one wait", |b| {
        b.iter(|| {
            queued(&|encoder| gpu.encode(encoder, &plan, source, dest).expect(recorded));
        });
    });
    bench.bench_function("slices submitted one by one, one wait, bare", |b| {
        b.iter(|| {
            queued(&|encoder| {
                let mut pass = encoder.begin_compute_pass(&Default::default());
                bare.dispatch(&mut pass, &pair.group);
            });
        });
    });
    let together = |record: &dyn Fn(&mut CommandEncoder)| {
        let mut encoder = rig.device().create_command_encoder(&Default::default());
        (0..100).for_each(|_| record(&mut encoder));
        rig.run(encoder.finish());
    };
    bench.bench_function("slices in one submission, one wait", |b| {
        b.iter(|| {
            together(&|encoder| gpu.encode(encoder, &plan, source, dest).expect(recorded));
        });
    });
    bench.bench_function("slices in one submission, one wait, bare", |b| {
        b.iter(|| {
            together(&|encoder| {
                let mut pass = encoder.begin_compute_pass(&Default::default());
                bare.dispatch(&mut pass, &pair.group);
            });
        });
    });
    bench.finish();
}

criterion_group!(benches, record);
criterion_main!(benches);
