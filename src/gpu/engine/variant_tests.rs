//! A test that golden vectors and random cases run every variant of the shaders: every text, and in each every value that
//! the library gives a constant. It prints how many cases ran each on each kind of device, in the interpreter of
//! shaders, which judges their results, too.

use super::{
    caps::Tuning,
    program::{
        Constant,
        Kernel::{self, Convert, Copy, CopyWords, Last, UpdateWords},
        Program, UniformSpace,
    },
    shader_formats::values,
    shader_tests::{overrides, programs},
};
use std::{
    collections::{BTreeMap, HashMap},
    env, fs,
    sync::LazyLock,
    thread,
};
use strict_gpu::{Options, StrictGpu};
use wgslice_vectors::{
    Call, Case, Expectation, judge, parse,
    random::{answered, case, variant},
    run,
    wgslice::{Backend, Error, Gpu},
};

/// The seed of random cases, which are drawn until every variant has been reached, but no more than `MOST_RANDOM`.
static SEED: LazyLock<u64> = LazyLock::new(|| {
    let seed = env::var("WGSLICE_TEST_SEED");
    seed.map_or(1, |seed| seed.parse().expect("a number"))
});
const MOST_RANDOM: usize = 30_000;
const LEAST_RANDOM: usize = 1000;

/// Adapters whose shaders differ in their texts or in `LOOPS`.
struct Kind {
    name: &'static str,
    device: wgpu::DeviceType,
    space: UniformSpace,
    /// The size of workgroups, which is a part of the text.
    workgroup: u32,
}

const fn gpu(name: &'static str, workgroup: u32) -> Kind {
    Kind {
        name,
        device: wgpu::DeviceType::DiscreteGpu,
        space: UniformSpace::Uniform,
        workgroup,
    }
}

const fn software(name: &'static str, space: UniformSpace) -> Kind {
    Kind {
        name,
        device: wgpu::DeviceType::Cpu,
        space,
        workgroup: 64,
    }
}

const KINDS: [Kind; 5] = [
    software("software", UniformSpace::Storage),
    software("-uniform", UniformSpace::Uniform),
    gpu("GPU 64", 64),
    gpu("128", 128),
    gpu("256", 256),
];

/// Variants that no case can reach, and why. One that a case reaches after all is a failure.
const UNREACHED: [(Constant, u32, &[Kernel], &str); 1] = [(
    Constant::Long,
    1,
    &[Copy, CopyWords, UpdateWords, Convert, Last],
    "an array with 2^32 positions, which only `bash tests/run large` has",
)];

/// The number of a text in [`programs`], and the value of one of its constants.
type Variant = (usize, Option<(Constant, u32)>);

impl Kind {
    fn tuning(&self) -> Tuning {
        Tuning::of(self.device == wgpu::DeviceType::Cpu, &wgpu::Limits::default())
    }

    /// Each variant that a device of this kind can have.
    fn variants(&self) -> BTreeMap<Variant, usize> {
        let of = |(number, program): (usize, Program)| {
            let declared = overrides(&program.text(self.space)).1;
            let of = declared.into_iter().flat_map(|constant| {
                let values = values(&program, constant, &self.tuning()).unwrap_or_default();
                values.into_iter().map(move |value| Some((constant, value)))
            });
            let all: Vec<_> = of.chain([None]).map(|of| ((number, of), 0)).collect();
            all
        };
        programs().into_iter().enumerate().flat_map(of).collect()
    }

    /// Opens an adapter, and devices on it that differ in the constants that they choose: with pipelines for each walk,
    /// as arrays of many elements have them; with those that arrays of few elements share; and with small bindings
    /// or dispatches, so that walks are cut.
    fn open(&self) -> (StrictGpu, [Backend; 4]) {
        let mut options = Options {
            shuffle: Some(*SEED),
            keeps_pipelines: true,
            ..Options::default()
        };
        options.info.device_type = self.device;
        options.limits.max_compute_invocations_per_workgroup = self.workgroup;
        if self.space == UniformSpace::Uniform {
            // Uniforms in a storage buffer need a second one.
            options.limits.max_dynamic_storage_buffers_per_pipeline_layout = 1;
        }
        let strict = StrictGpu::new(options);
        let adapter = strict.adapter();
        let open = |binding| {
            let (device, queue) =
                pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
                    required_limits: wgpu::Limits {
                        max_storage_buffer_binding_size: binding,
                        ..adapter.limits()
                    },
                    ..Default::default()
                }))
                .expect("a device");
            Gpu::new(&device, &queue)
        };
        let (whole, small) = (open(1 << 27), open(1024).without_shared_pipelines());
        let devices = [
            whole.without_shared_pipelines(),
            whole,
            small.clone(),
            small.with_dispatch_bytes(16),
        ];
        (strict, devices.map(Backend::from))
    }

    /// How many cases ran each variant.
    fn run(&self, vectors: &[Case]) -> BTreeMap<Variant, usize> {
        let (strict, devices) = self.open();
        let texts = programs().into_iter().map(|program| Program {
            workgroup: self.workgroup,
            ..program
        });
        let texts: HashMap<String, usize> = texts.map(|of| of.text(self.space)).zip(0..).collect();
        // The variants of a pipeline with this label.
        let mut made: HashMap<String, Vec<Variant>> = HashMap::new();
        let mut counts = self.variants();
        let random = (0..MOST_RANDOM).map(|number| {
            let case = answered(case(*SEED, number));
            case.unwrap_or_else(|bad| panic!("{bad}"))
        });
        for (number, case) in vectors.iter().cloned().chain(random).enumerate() {
            let is_enough = number >= vectors.len() + LEAST_RANDOM;
            if is_enough && number % 100 == 0 && missing(&counts).is_empty() {
                break;
            }
            let call = Call::of(&case).unwrap_or_else(|bad| panic!("{bad}"));
            let Some(variant) = variant(&case) else {
                continue;
            };
            let chosen = match number % devices.len() {
                small @ 2.. if windows(&case) > 400 => small - 2,
                chosen => chosen,
            };
            let mut device = &devices[chosen];
            let mut found = run(&call, device, &variant);
            if chosen >= 2 && matches!(found, Err(Error::DeviceLimit { .. })) {
                device = &devices[chosen - 2];
                found = run(&call, device, &variant);
            }
            let same = judge(&case, &call, device, &variant, found);
            same.unwrap_or_else(|problem| panic!("{}: {problem}\n{}", self.name, case.to_line()));
            for pipeline in strict.take_pipelines() {
                let text = texts[&pipeline.source];
                let constants = pipeline.constants.iter().map(|(name, value)| {
                    let of = Constant::ALL.iter().find(|of| of.name() == name);
                    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was u32")]
                    let value = *value as u32;
                    (text, of.map(|&of| (of, value)))
                });
                made.insert(pipeline.label, constants.chain([(text, None)]).collect());
            }
            let labels = strict.take_labels();
            let ran = labels.iter().filter_map(|label| label.strip_prefix("dispatch "));
            let mut ran: Vec<Variant> = ran.flat_map(|label| made[label].clone()).collect();
            ran.sort_unstable();
            ran.dedup();
            for variant in ran {
                *counts.entry(variant).or_insert(0) += 1;
            }
        }
        println!("{}", self.name);
        counts
    }
}

/// About how many dispatches a case takes where a dispatch binds 1 KiB and writes 16 bytes, of elements of 16 bytes.
fn windows(case: &Case) -> usize {
    let read: usize = case.tensors.values().map(|tensor| tensor.data.len()).sum();
    let written = match &case.expected {
        Expectation::Success(tensor) => tensor.data.len(),
        Expectation::Error { .. } => read,
    };
    (read / 64 + 1) * (written + 1)
}

/// Variants that no case ran although some can, and those that one did although none can.
fn missing(counts: &BTreeMap<Variant, usize>) -> Vec<Variant> {
    let programs = programs();
    let is_exempt = |(text, of): Variant| {
        let kernel = programs[text].kernel;
        UNREACHED
            .iter()
            .any(|(constant, value, kernels, _)| of == Some((*constant, *value)) && kernels.contains(&kernel))
    };
    let wrong = counts.iter().filter(|&(&of, &count)| (count == 0) != is_exempt(of));
    wrong.map(|(&of, _)| of).collect()
}

fn vectors() -> Vec<Case> {
    let mut files: Vec<_> = fs::read_dir("tests/vectors").unwrap().map(|f| f.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|of| of == "jsonl") && !file.ends_with("onnx.jsonl"));
    files.sort();
    files.iter().flat_map(|file| {
        let text = fs::read_to_string(file).unwrap();
        parse(&text).map(|case| case.unwrap()).collect::<Vec<_>>()
    }).collect()
}

#[test]
#[ignore = "a minute: bash tests/run variants"]
fn every_variant_is_reached() {
    let vectors = vectors();
    let counts = thread::scope(|scope| {
        let run = |kind: &'static Kind| {
            let vectors = &vectors;
            scope.spawn(move || kind.run(vectors))
        };
        let threads: Vec<_> = KINDS.iter().map(run).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    let programs = programs();
    let all: std::collections::BTreeSet<Variant> = counts.iter().flat_map(|c| c.keys().copied()).collect();
    for (t, v) in &all {
        let name = v.as_ref().map_or(String::new(), |(c, v)| format!("{} {v}", c.name()));
        let n: String = counts.iter().map(|n| n.get(&(*t, *v)).map_or("      -".into(), |n| format!("{n:7}"))).collect();
        let miss: Vec<_> = KINDS.iter().zip(&counts).filter(|(_, c)| missing(c).contains(&(*t, *v))).map(|k| k.0.name).collect();
        println!("{:70} {name:14} {n} {miss:?}", programs[*t].to_string());
    }
    let is_listed = KINDS.iter().zip(&counts);
    for (kind, counts) in is_listed {
        let listed = kind.variants();
        for v in counts.keys().filter(|v| !listed.contains_key(v)) { println!("not listed {v:?}"); }
    }
}
