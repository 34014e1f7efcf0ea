//! Tests that golden vectors and random cases run every variant of the shaders: every text and, for each text, every
//! value that the library gives a constant. On each kind of device, an interpreter runs the shaders and the test checks
//! the results. The test prints how many cases ran each variant.

use super::{
    caps::Tuning,
    program::{
        Constant,
        Kernel::{self, Convert, Copy, CopyWords, Last, UpdateWords},
        Prelude, Program, UniformSpace,
    },
    shader_formats::possible_values,
    shader_tests::{all_programs, override_constants},
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    env, fs,
    sync::LazyLock,
    thread,
};
use strict_gpu::{Options, StrictGpu};
use wgslice_vectors::{
    Call, Case, Expectation, judge, parse,
    random::{answered, case as random_case, variant as random_variant},
    run as run_call, variants as call_variants,
    wgslice::{Backend, Error, Gpu},
};

/// The seed of the random cases. Each kind of device draws random cases until it has run every variant: at least
/// [`MIN_RANDOM`] cases and at most [`MAX_RANDOM`].
static RANDOM_SEED: LazyLock<u64> = LazyLock::new(|| {
    let seed = env::var("WGSLICE_TEST_SEED");
    seed.map_or(1, |seed| seed.parse().expect("a number"))
});
const MIN_RANDOM: usize = 1000;
const MAX_RANDOM: usize = 20_000;

/// A kind of adapter. The shaders for different kinds differ in their texts or in `LOOPS`.
struct AdapterKind {
    name: &'static str,
    device_type: wgpu::DeviceType,
    space: UniformSpace,
    /// The size of workgroups, which is a part of the text.
    workgroup: u32,
}

const fn gpu_kind(name: &'static str, workgroup: u32) -> AdapterKind {
    AdapterKind {
        name,
        device_type: wgpu::DeviceType::DiscreteGpu,
        space: UniformSpace::Uniform,
        workgroup,
    }
}

const fn software_kind(name: &'static str, space: UniformSpace) -> AdapterKind {
    AdapterKind {
        name,
        device_type: wgpu::DeviceType::Cpu,
        space,
        workgroup: 64,
    }
}

const ADAPTER_KINDS: [AdapterKind; 5] = [
    software_kind("software", UniformSpace::Storage),
    software_kind(
        "software, uniforms in a uniform buffer",
        UniformSpace::Uniform,
    ),
    gpu_kind("GPU, workgroups of 64", 64),
    gpu_kind("GPU, workgroups of 128", 128),
    gpu_kind("GPU, workgroups of 256", 256),
];

/// Returns cases of variants that random cases seldom run. The comment on a case names the constant with the rare
/// value. A naive reference computes the expected results, and each case runs on all devices.
fn rare_cases() -> Vec<Case> {
    let tensor_json = |shape: &[usize], data: &str| json!({ "shape": shape, "data": data });
    let bits = |count: usize| (0..count).map(|n| n * n % 7 % 2).collect::<Vec<_>>();
    let with_zero_masks = |mut spec: Value| {
        for mask in ["begin", "end", "ellipsis", "new_axis", "shrink_axis"] {
            spec[format!("{mask}_mask")] = 0.into();
        }
        spec
    };
    let mut case_lines = vec![
        // Rows of 12 bytes in reversed order, between rows of zeros: FIXED.
        json!({
            "op": "strided_slice_grad",
            "tensors": { "dy": tensor_json(&[5, 3], "arange1") },
            "args": with_zero_masks(json!({ "shape": [9, 3], "begin": [6], "end": [1], "strides": [-1] })),
        }),
        // Rows in 4 dimensions that cannot be merged: DIMS in `convert`.
        json!({
            "op": "convert",
            "dtype": "float32",
            "tensors": { "input": tensor_json(&[3, 3, 3, 3, 8], "arange1") },
            "args": { "of": "view", "from": "float32", "to": "float16", "steps": [
                { "strided_slice": with_zero_masks(json!({
                    "begin": [0, 0, 0, 0, 0], "end": [2, 2, 2, 2, 8], "strides": [1, 1, 1, 1, 3],
                })) },
            ] },
        }),
        // Tuples of 3 numbers, for rows of 4: COORDINATES in `combine`.
        json!({
            "op": "tensor_scatter_nd_add",
            "tensors": {
                "tensor": tensor_json(&[2, 2, 2, 4], "arange1"),
                "indices": { "shape": [3, 3], "data": [0, 1, 0, 1, 1, 1, 0, 0, 1] },
                "updates": tensor_json(&[3, 4], "arange1"),
            },
        }),
        // Additions of the f16 numbers 1.0 and 2.0: RULE in units of 8 bytes.
        json!({
            "op": "tensor_scatter_nd_add",
            "dtype": "float16",
            "tensors": {
                "tensor": { "shape": [3, 4], "data": vec![15_360; 12] },
                "indices": { "shape": [2, 1], "data": [1, 1] },
                "updates": { "shape": [2, 4], "data": vec![16_384; 8] },
            },
        }),
        // The source extends beyond a small binding, which leaves gaps in the result: MASKED in `update_words`.
        json!({
            "op": "select",
            "tensors": {
                "params": tensor_json(&[800], "arange"),
                "mask": { "shape": [2, 200], "data": bits(400) },
                "other": tensor_json(&[2, 200], "arange1"),
            },
            "args": { "view": [{ "strided_slice": with_zero_masks(json!({
                "begin": [0], "end": [800], "strides": [4],
            })) }] },
        }),
    ];
    // Rows of booleans in whole words: RULE.
    for op in ["tensor_scatter_nd_min", "tensor_scatter_nd_max"] {
        for length in [4, 8, 16] {
            case_lines.push(json!({
                "op": op,
                "tensors": {
                    "tensor": { "shape": [3, length], "data": bits(3 * length) },
                    "indices": { "shape": [4, 1], "data": [1, 0, 1, 1] },
                    "updates": { "shape": [4, length], "data": bits(4 * length) },
                },
            }));
        }
    }
    // Rows that no tuple selects: COORDINATES 0 in `atomic` and `combine`.
    for (combine, length) in [("add", 3), ("add", 4), ("min", 4)] {
        case_lines.push(json!({
            "op": "xla_scatter",
            "tensors": {
                "tensor": tensor_json(&[3, length], "arange1"),
                "indices": { "shape": [0, 3], "data": [] },
                "updates": tensor_json(&[3, length], "arange1"),
            },
            "args": {
                "combine": combine, "update_window_dims": [1], "inserted_window_dims": [],
                "input_batching_dims": [0], "scatter_indices_batching_dims": [1],
                "scatter_dims_to_operand_dims": [], "index_vector_dim": 0,
            },
        }));
    }
    // Products of rows in units of 8 and 16 bytes: COMBINE.
    for length in [2, 4] {
        case_lines.push(json!({
            "op": "xla_scatter",
            "tensors": {
                "tensor": tensor_json(&[3, length], "arange1"),
                "indices": { "shape": [2, 1], "data": [1, 1] },
                "updates": tensor_json(&[2, length], "arange1"),
            },
            "args": {
                "combine": "mul", "update_window_dims": [1], "inserted_window_dims": [0],
                "input_batching_dims": [], "scatter_indices_batching_dims": [],
                "scatter_dims_to_operand_dims": [0], "index_vector_dim": 1,
            },
        }));
    }
    let text = case_lines.into_iter().map(|mut line| {
        line["dtype"] = line["dtype"].as_str().unwrap_or("int32").into();
        line["args"] = line["args"].as_object().cloned().unwrap_or_default().into();
        line["expected"] = tensor_json(&[0], "arange");
        format!("{line}\n")
    });
    let text: String = text.collect();
    parse(&text)
        .map(|case| answered(case.unwrap()).unwrap())
        .collect()
}

/// Variants that no case can run, and the reason. The test fails if a case runs one of them.
const UNREACHABLE_VARIANTS: [(Constant, u32, &[Kernel], &str); 1] = [(
    Constant::Long,
    1,
    &[Copy, CopyWords, UpdateWords, Convert, Last],
    "an array with 2^32 positions, which only `bash tests/run large` has",
)];

/// The number of a text in [`all_programs`], and a constant with its value. `None` means the text with any constants.
type Variant = (usize, Option<(Constant, u32)>);

impl AdapterKind {
    fn tuning(&self) -> Tuning {
        Tuning::for_device(
            self.device_type == wgpu::DeviceType::Cpu,
            &wgpu::Limits::default(),
        )
    }

    /// Returns each variant that a device of this kind can have, with a count of 0.
    fn possible_variants(&self) -> BTreeMap<Variant, usize> {
        let variants_of = |(text_number, program): (usize, Program)| {
            let declared_constants = override_constants(&program.text(self.space)).1;
            let variants = declared_constants.into_iter().flat_map(|constant| {
                let values =
                    possible_values(&program, constant, &self.tuning()).unwrap_or_default();
                values.into_iter().map(move |value| Some((constant, value)))
            });
            let numbered_variants: Vec<_> = variants
                .chain([None])
                .map(|constant| ((text_number, constant), 0))
                .collect();
            numbered_variants
        };
        all_programs()
            .into_iter()
            .enumerate()
            .flat_map(variants_of)
            .collect()
    }

    /// Opens an adapter and four devices on it that choose different constants. The first two differ in their
    /// pipelines: compiled for each walk, as for arrays of many elements, or shared, as for arrays of few elements. The
    /// last two have small bindings, and the fourth also has small dispatches, so that walks are cut.
    fn open_devices(&self) -> (StrictGpu, [Backend; 4]) {
        let mut options = Options {
            shuffle: Some(*RANDOM_SEED),
            keeps_pipelines: true,
            ..Options::default()
        };
        options.info.device_type = self.device_type;
        options.limits.max_compute_invocations_per_workgroup = self.workgroup;
        if self.space == UniformSpace::Uniform {
            // If the device allows only one dynamic storage buffer, the uniforms cannot be in a storage buffer.
            options
                .limits
                .max_dynamic_storage_buffers_per_pipeline_layout = 1;
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
        let (large_bindings, small_bindings) =
            (open(1 << 27), open(1024).without_shared_pipelines());
        let devices = [
            large_bindings.without_shared_pipelines(),
            large_bindings,
            small_bindings.clone(),
            small_bindings.with_dispatch_bytes(16),
        ];
        (strict, devices.map(Backend::from))
    }

    /// Returns how many cases ran each variant, and how many random cases were drawn.
    fn count_cases(&self, vectors: &[Case]) -> (BTreeMap<Variant, usize>, usize) {
        let (strict, devices) = self.open_devices();
        let texts = all_programs().into_iter().map(|program| Program {
            workgroup: self.workgroup,
            ..program
        });
        let texts: HashMap<String, usize> = texts
            .map(|program| program.text(self.space))
            .zip(0..)
            .collect();
        // The variants of each pipeline, by its label.
        let mut variants_by_label: HashMap<String, Vec<Variant>> = HashMap::new();
        let mut counts = self.possible_variants();
        let mut run_case = |case: &Case,
                            variant: &wgslice_vectors::Variant,
                            device_number: usize| {
            let call = Call::of(case).unwrap();
            let mut device = &devices[device_number];
            let mut outcome = run_call(&call, device, variant);
            if device_number >= 2 && matches!(outcome, Err(Error::DeviceLimit { .. })) {
                device = &devices[device_number - 2];
                outcome = run_call(&call, device, variant);
            }
            let verdict = judge(case, &call, device, variant, outcome);
            verdict.unwrap_or_else(|problem| {
                panic!("{}, {variant}: {problem}\n{}", self.name, case.to_line())
            });
            for pipeline in strict.take_pipelines() {
                let text = texts[&pipeline.source];
                let constants = pipeline.constants.iter().map(|(name, value)| {
                    let mut constants = Constant::ALL.iter();
                    let constant = constants
                        .find(|constant| constant.name() == name)
                        .expect("a constant");
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "it was u32"
                    )]
                    (text, Some((*constant, *value as u32)))
                });
                variants_by_label.insert(pipeline.label, constants.chain([(text, None)]).collect());
            }
            let labels = strict.take_labels();
            let run_variants = labels
                .iter()
                .filter_map(|label| label.strip_prefix("dispatch "));
            let run_variants: BTreeSet<Variant> = run_variants
                .flat_map(|label| variants_by_label[label].clone())
                .collect();
            for variant in run_variants {
                *counts.entry(variant).or_default() += 1;
            }
            counts.values().filter(|&&count| count == 0).count()
        };
        for case in rare_cases() {
            for variant in call_variants(&case, &Call::of(&case).unwrap()) {
                for device in 0..devices.len() {
                    run_case(&case, &variant, device);
                }
            }
        }
        let mut run_random_variant = |case: &Case, number: usize| {
            let device_number = match number % devices.len() {
                small_device @ 2.. if dispatch_estimate(case) > 400 => small_device - 2,
                device_number => device_number,
            };
            random_variant(case).map_or(usize::MAX, |variant| {
                run_case(case, &variant, device_number)
            })
        };
        for (number, case) in vectors.iter().enumerate() {
            run_random_variant(case, number);
        }
        let exempt_count = self
            .possible_variants()
            .keys()
            .filter(|&&variant| is_exempt(variant))
            .count();
        let mut random_count = 0;
        while random_count < MAX_RANDOM {
            let case = answered(random_case(*RANDOM_SEED, random_count)).unwrap();
            let unreached_count = run_random_variant(&case, random_count);
            random_count += 1;
            if random_count >= MIN_RANDOM && unreached_count <= exempt_count {
                break;
            }
        }
        (counts, random_count)
    }
}

/// Estimates the number of dispatches of a case on a device where a dispatch binds 1 KiB and writes 16 bytes, for
/// elements of 16 bytes.
fn dispatch_estimate(case: &Case) -> usize {
    let read_elements: usize = case.tensors.values().map(|tensor| tensor.data.len()).sum();
    let written_elements = match &case.expected {
        Expectation::Success(tensor) => tensor.data.len(),
        Expectation::Error { .. } => read_elements,
    };
    (read_elements / 64 + 1) * (written_elements + 1)
}

fn is_exempt((text, setting): Variant) -> bool {
    let kernel = all_programs()[text].kernel;
    UNREACHABLE_VARIANTS
        .iter()
        .any(|&(constant, value, kernels, _)| {
            setting == Some((constant, value)) && kernels.contains(&kernel)
        })
}

/// Returns the reason why this number of cases is wrong for a variant, or `None` if it is right. `possible_variants`
/// has only some of the numbers of dimensions between the minimum and the maximum.
fn wrong_count(
    possible_variants: &BTreeMap<Variant, usize>,
    variant: Variant,
    case_count: usize,
) -> Option<&'static str> {
    let (text, setting) = variant;
    let is_between = matches!(setting, Some((Constant::Dims, value)) if value < 30)
        && possible_variants.contains_key(&(text, Some((Constant::Dims, 30))));
    match (case_count > 0, is_exempt(variant)) {
        (true, false) if possible_variants.contains_key(&variant) || is_between => None,
        (true, false) => Some("is not one of the `possible_values` in shader_formats.rs"),
        (true, true) => Some("is reached, although an exemption says that it cannot be"),
        (false, true) => None,
        (false, false) => Some("is never reached"),
    }
}

fn golden_cases() -> Vec<Case> {
    let files = fs::read_dir("tests/vectors").unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    let call_files = files.iter().filter(|file| {
        file.extension()
            .is_some_and(|extension| extension == "jsonl")
            && !file.ends_with("onnx.jsonl")
    });
    let texts = call_files.map(|file| fs::read_to_string(file).unwrap());
    texts
        .flat_map(|text| parse(&text).map(Result::unwrap).collect::<Vec<_>>())
        .collect()
}

#[test]
#[ignore = "a minute: bash tests/run variants"]
fn every_variant_is_reached() {
    let vectors = golden_cases();
    let thread_results: Vec<(BTreeMap<Variant, usize>, usize)> = thread::scope(|scope| {
        let threads = ADAPTER_KINDS
            .each_ref()
            .map(|kind| scope.spawn(|| kind.count_cases(&vectors)));
        threads.map(|thread| thread.join().unwrap()).into()
    });
    let programs = all_programs();
    let variant_name = |(text, setting): Variant| {
        let Program {
            kernel, prelude, ..
        } = programs[text];
        let constant = setting.map(|(constant, value)| format!(" {} {value}", constant.name()));
        let prelude = Some(format!(" {prelude:?}")).filter(|_| prelude != Prelude::None);
        let details = [prelude, constant].into_iter().flatten();
        format!("{}{}", kernel.name(), details.collect::<String>())
    };
    println!(
        "Cases that ran each variant, of {} vectors and",
        vectors.len()
    );
    for (kind, (_, random_count)) in ADAPTER_KINDS.iter().zip(&thread_results) {
        println!(
            "{random_count:7} random cases of seed {}: {}",
            *RANDOM_SEED, kind.name
        );
    }
    let mut faults = Vec::new();
    let possible = ADAPTER_KINDS.each_ref().map(AdapterKind::possible_variants);
    let counts = thread_results
        .iter()
        .flat_map(|(counts, _)| counts.keys().copied());
    let variants: BTreeSet<Variant> = counts.collect();
    for &variant in &variants {
        let mut line = String::new();
        for ((kind, possible), (counts, _)) in
            ADAPTER_KINDS.iter().zip(&possible).zip(&thread_results)
        {
            let cases = counts.get(&variant);
            line += &cases.map_or(format!("{:>7}", "-"), |cases| format!("{cases:7}"));
            let fault = cases.and_then(|&cases| wrong_count(possible, variant, cases));
            faults.extend(
                fault.map(|fault| format!("{} on {} {fault}", variant_name(variant), kind.name)),
            );
        }
        println!("{line}  {}", variant_name(variant));
    }
    for (constant, value, kernels, why) in UNREACHABLE_VARIANTS {
        println!("exempt: {} {value} of {kernels:?}: {why}", constant.name());
    }
    let cases = thread_results
        .iter()
        .map(|(_, random_count)| vectors.len() + random_count);
    println!("cases: {} passed", cases.sum::<usize>());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
