use super::{
    caps::Tuning,
    program::{Constant, Program, UniformSpace},
    shader_formats::settings,
    shader_tests::programs,
};
use crate::gpu::device::adapter::STORAGE_BUFFERS;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs, thread,
};
use strict_gpu::StrictGpu;
use wgslice_vectors::{
    Call, Case, check, parse,
    random::{answered, case, variant},
    wgslice::{Backend, Gpu},
};

struct Kind {
    name: &'static str,
    device: wgpu::DeviceType,
    space: UniformSpace,
    workgroup: u32,
}

const KINDS: [Kind; 5] = [
    Kind { name: "software", device: wgpu::DeviceType::Cpu, space: UniformSpace::Storage, workgroup: 64 },
    Kind { name: "software, uniform", device: wgpu::DeviceType::Cpu, space: UniformSpace::Uniform, workgroup: 64 },
    Kind { name: "GPU, 64", device: wgpu::DeviceType::DiscreteGpu, space: UniformSpace::Uniform, workgroup: 64 },
    Kind { name: "GPU, 128", device: wgpu::DeviceType::DiscreteGpu, space: UniformSpace::Uniform, workgroup: 128 },
    Kind { name: "GPU, 256", device: wgpu::DeviceType::DiscreteGpu, space: UniformSpace::Uniform, workgroup: 256 },
];

impl Kind {
    fn open(&self) -> (StrictGpu, [Backend; 2]) {
        let mut options = strict_gpu::Options {
            shuffle: Some(1),
            keeps_pipelines: true,
            ..strict_gpu::Options::default()
        };
        options.info.device_type = self.device;
        options.limits.max_compute_invocations_per_workgroup = self.workgroup;
        if self.space == UniformSpace::Uniform {
            options.limits.max_storage_buffers_per_shader_stage = STORAGE_BUFFERS;
        }
        let strict = StrictGpu::new(options);
        let gpu = pollster::block_on(Gpu::from_adapter(&strict.adapter())).unwrap();
        (strict, [gpu.without_shared_pipelines(), gpu].map(Backend::from))
    }
}

/// A text's place among [`programs`], and the value of one of its constants.
type Variant = (usize, Option<(String, u32)>);

fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    let mut files: Vec<_> = fs::read_dir("tests/vectors").unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    for file in files {
        if file.extension().is_some_and(|e| e == "jsonl") && !file.ends_with("onnx.jsonl") {
            all.extend(parse(&fs::read_to_string(&file).unwrap()).map(|case| case.unwrap()));
        }
    }
    let n: usize = std::env::var("N").ok().and_then(|n| n.parse().ok()).unwrap_or(3000);
    let seed: u64 = std::env::var("WGSLICE_TEST_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    println!("{} vectors", all.len());
    all.extend((0..n).map(|number| answered(case(seed, number)).unwrap()));
    all
}

fn seen(kind: &Kind, cases: &[Case]) -> (BTreeMap<Variant, usize>, BTreeSet<String>) {
    let (strict, backends) = kind.open();
    let texts: HashMap<String, usize> = programs().into_iter().map(|p| Program { workgroup: kind.workgroup, ..p }.text(kind.space)).zip(0..).collect();
    let mut of: HashMap<String, BTreeSet<Variant>> = HashMap::new();
    let mut counts = BTreeMap::new();
    let start = std::time::Instant::now();
    for (n, case) in cases.iter().enumerate() {
        let call = Call::of(case).unwrap();
        let Some(variant) = variant(case) else { continue };
        if let Err(e) = check(case, &call, &backends[n % 2], &variant) {
            println!("{}: {} {e}", kind.name, case.to_line());
        }
        for p in strict.take_pipelines() {
            let text = texts[&p.source];
            let set = p.constants.iter().map(|(n, v)| (text, Some((n.clone(), *v as u32))));
            of.insert(p.label, set.chain([(text, None)]).collect());
        }
        let labels = strict.take_labels();
        let ran = labels.iter().filter_map(|l| l.strip_prefix("dispatch "));
        let ran: BTreeSet<&Variant> = ran.flat_map(|l| &of[l]).collect();
        for v in ran { *counts.entry(v.clone()).or_insert(0) += 1; }
    }
    println!("{}: {:?}", kind.name, start.elapsed());
    (counts, of.into_keys().collect())
}

#[test]
#[ignore = "a minute"]
fn every_variant_is_reached() {
    let cases = cases();
    let found: Vec<_> = thread::scope(|scope| {
        let t: Vec<_> = KINDS.iter().map(|k| { let cases = &cases; scope.spawn(move || seen(k, cases)) }).collect();
        t.into_iter().map(|t| t.join().unwrap()).collect()
    });
    for (kind, (_, labels)) in KINDS.iter().zip(&found) { println!("{}: {} programs", kind.name, labels.len()); }
    let mut all: BTreeMap<Variant, [Option<usize>; 5]> = BTreeMap::new();
    for (k, kind) in KINDS.iter().enumerate() {
        for (t, p) in programs().into_iter().enumerate() {
            all.entry((t, None)).or_default()[k] = Some(0);
            for setting in settings(p.kernel, &p.text(kind.space), kind.space) {
                for (c, v) in setting {
                    if c == Constant::Loops && v != u32::from(kind.device == wgpu::DeviceType::Cpu) { continue; }
                    let mut vs = vec![v];
                    if c == Constant::Dims && v == 0 && p.kernel != super::program::Kernel::MaskRows { vs.extend([1,2,3,4]); }
                    if c == Constant::Coordinates && v == 1 { vs.extend([2,3]); }
                    for v in vs { all.entry((t, Some((c.name().to_owned(), v)))).or_default()[k] = Some(0); }
                }
            }
        }
    }
    let _ = Tuning::of;
    for (k, (counts, _)) in found.iter().enumerate() {
        for (v, n) in counts {
            let e = all.entry(v.clone()).or_default();
            if e[k].is_none() { println!("not listed: {v:?} {}", KINDS[k].name); }
            e[k] = Some(*n);
        }
    }
    let names: Vec<_> = programs().iter().map(|p| p.to_string()).collect();
    for ((t, v), n) in &all {
        let v = v.as_ref().map_or(String::new(), |(c, v)| format!("{c} {v}"));
        let n: String = n.iter().map(|n| n.map_or("      -".into(), |n| format!("{n:7}"))).collect();
        println!("{:70} {v:14} {n}{}", names[*t], if n.contains(" 0") { "  MISSING" } else { "" });
    }
}
