//! A program that does everything wrong: it passes wrong arguments and buffers that are too short, foreign or
//! destroyed, and loses its device. Each mistake must give an error that explains it, in terms of the library and not
//! of the command line. wgpu's handler of uncaptured errors, which panics, must never run. `README.md` describes how to
//! run the program.

use std::{error::Error, process::ExitCode};
use wgpu::{
    Adapter, BufferDescriptor, BufferUsages, CommandEncoder, Device, Queue, RequestDeviceError,
};
use wgslice::{
    Backend, DType, Gpu, Plan, SliceSpec, Tensor,
    gpu::AdapterOptions,
    options::{GatherOptions, OutOfRange, ScatterOptions},
    slice,
};

/// Counts the attempts that go wrong. An attempt must fail with a message that contains the given words.
struct Attempts {
    wrong_count: usize,
}

impl Attempts {
    fn expect_failure<T>(
        &mut self,
        name: &str,
        outcome: Result<T, wgslice::Error>,
        words: &[&str],
    ) {
        let message = match outcome {
            Ok(_) => "no error".into(),
            Err(error) => error.to_string(),
        };
        let is_expected =
            words.iter().all(|word| message.contains(word)) && !message.contains("--");
        self.wrong_count += usize::from(!is_expected);
        println!(
            "{} {name}: {message}",
            if is_expected { "ok   " } else { "WRONG" }
        );
    }
}

fn open(adapter: &Adapter) -> Result<(Device, Queue), RequestDeviceError> {
    pollster::block_on(adapter.request_device(&Gpu::device_descriptor(adapter)))
}

fn buffer(device: &Device, size: u64, usage: BufferUsages) -> wgpu::Buffer {
    device.create_buffer(&BufferDescriptor {
        label: Some("mine"),
        size,
        usage,
        mapped_at_creation: false,
    })
}

fn try_wrong_arguments(attempts: &mut Attempts, backend: &Backend) -> Result<(), wgslice::Error> {
    let x = [1, 2, 3, 4, 5, 6];
    let table = backend.upload((&x, &[3, 2]))?;
    let ids = backend.upload((&[0, 7], &[2]))?;
    let (gather, scatter) = (GatherOptions::default(), ScatterOptions::default());
    let strict = GatherOptions {
        out_of_range: OutOfRange::Error,
        ..gather
    };
    attempts.expect_failure(
        "a short slice",
        backend.slice((&x[..5], &[3, 2]), &slice![1]),
        &["5", "6"],
    );
    attempts.expect_failure(
        "an index outside",
        table.slice(&slice![3]),
        &["index 3", "[-3, 3)"],
    );
    attempts.expect_failure("too many entries", table.slice(&slice![0, 0, 0]), &["3"]);
    attempts.expect_failure(
        "a stride of 0",
        table.slice(&slice![..; 0]),
        &["stride", "0"],
    );
    attempts.expect_failure("a text", "1, 2:x".parse::<SliceSpec>(), &["1, 2:x", "^"]);
    attempts.expect_failure("an axis", table.transpose(&[0, 0]), &["0"]);
    attempts.expect_failure("a shape", table.reshape(&[4, 2]), &["[4,2]", "[3,2]"]);
    attempts.expect_failure("a type", table.to_vec::<f32>(), &["f32", "i32"]);
    attempts.expect_failure(
        "a row outside",
        table.gather(&ids, strict),
        &["[7]", "indices[1]"],
    );
    let floats = backend.upload((&[0.0f32], &[1]))?;
    attempts.expect_failure(
        "float indices",
        table.gather(&floats, gather),
        &["indices", "f32"],
    );
    let mut changed = table.clone();
    let outcome = changed.tensor_scatter_nd(&ids, &table, scatter);
    attempts.expect_failure("updates of another shape", outcome, &["[3,2]"]);
    if backend.is_cpu() {
        return Ok(());
    }
    let cpu_indices = Backend::cpu().upload((&[0], &[1]))?;
    attempts.expect_failure(
        "another device",
        table.gather(&cpu_indices, gather),
        &["indices"],
    );
    Ok(())
}

fn encoder(device: &Device) -> CommandEncoder {
    device.create_command_encoder(&Default::default())
}

fn try_wrong_buffers(
    attempts: &mut Attempts,
    device: &Device,
    other_device: &Device,
    gpu: &Gpu,
) -> Result<(), Box<dyn Error>> {
    let storage = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
    let [x, y] = [64, 64].map(|size| buffer(device, size, storage));
    let short = buffer(device, 16, storage);
    let mappable = buffer(device, 64, BufferUsages::COPY_DST | BufferUsages::MAP_READ);
    let destroyed = buffer(device, 64, storage);
    destroyed.destroy();
    let foreign = buffer(other_device, 64, storage);
    let flip = Plan::slice(&[4, 4], &slice![.., ..; -1], DType::F32)?;
    let mut encode = |name, plan: &Plan, from: &wgpu::Buffer, to: &wgpu::Buffer, words: &[&str]| {
        let (inputs, outputs) = ([from.slice(..)], [to.slice(..)]);
        attempts.expect_failure(
            name,
            gpu.encode(&mut encoder(device), plan, &inputs, &outputs),
            words,
        );
    };
    encode("a short source", &flip, &short, &y, &["source", "16", "64"]);
    encode("a short result", &flip, &x, &short, &["dest", "16", "64"]);
    encode(
        "a buffer that is not storage",
        &flip,
        &x,
        &mappable,
        &["dest", "STORAGE"],
    );
    encode("source and result in one", &flip, &x, &x, &["also dest"]);
    encode("a destroyed buffer", &flip, &destroyed, &y, &["destroyed"]);
    encode("a foreign buffer", &flip, &x, &foreign, &["device"]);
    let gather = Plan::gather(&[4, 4], &[4], GatherOptions::default(), DType::F32)?;
    encode("no indices", &gather, &x, &y, &["1 inputs", "2"]);
    let i64_indices = (&[4], DType::I64);
    let gather = Plan::gather(&[4, 4], i64_indices, GatherOptions::default(), DType::F32)?;
    let (inputs, outputs) = ([x.slice(..), short.slice(..)], [y.slice(..)]);
    let outcome = gpu.encode(&mut encoder(device), &gather, &inputs, &outputs);
    attempts.expect_failure("short indices", outcome, &["indices", "16", "32"]);
    let backend = Backend::from(gpu.clone());
    let foreign = Tensor::from_buffer(&backend, foreign, DType::F32, &[16]);
    let outcome = foreign.and_then(|tensor| tensor.slice(&slice![..; -1])?.to_vec::<f32>());
    attempts.expect_failure("a tensor of a foreign buffer", outcome, &["device"]);
    let outcome = Tensor::from_buffer(&backend, short, DType::F32, &[16]);
    attempts.expect_failure("a tensor of a short buffer", outcome, &["16", "64", "f32"]);
    Ok(())
}

fn lose_device(attempts: &mut Attempts, device: &Device, gpu: &Gpu) -> Result<(), Box<dyn Error>> {
    let backend = Backend::from(gpu.clone());
    let table = backend.upload((&[1.0f32; 16], &[4, 4]))?;
    let storage = BufferUsages::STORAGE;
    let [x, y] = [64, 64].map(|size| buffer(device, size, storage));
    device.destroy();
    // This plan has another shape than all earlier plans, so its pipeline is not compiled yet.
    let new_plan = Plan::slice(&[2, 2, 2, 2], &slice![..; -1, .., ..; -1], DType::F32)?;
    let (inputs, outputs) = ([x.slice(..)], [y.slice(..)]);
    let outcome = gpu.encode(&mut encoder(device), &new_plan, &inputs, &outputs);
    attempts.expect_failure("lost: a plan not yet compiled", outcome, &["lost"]);
    attempts.expect_failure("lost: prepare", gpu.prepare(&new_plan), &["lost"]);
    attempts.expect_failure("lost: wait", backend.wait(), &["lost"]);
    attempts.expect_failure("lost: a tensor", table.to_vec::<f32>(), &["lost"]);
    attempts.expect_failure(
        "lost: a slice",
        table.slice(&slice![..; -1]).and_then(|y| y.to_vec::<f32>()),
        &["lost"],
    );
    let host = ([1, 2, 3], [3]);
    let outcome = backend.slice((&host.0, &host.1), &slice![..; -1]);
    attempts.expect_failure("lost: host values", outcome, &["lost"]);
    let fallback_backend = backend.with_fallback();
    let result = fallback_backend.slice((&host.0, &host.1), &slice![..; -1])?;
    println!("ok    lost, with a fallback: {:?}", result.data);
    Ok(())
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut attempts = Attempts { wrong_count: 0 };
    let candidates = pollster::block_on(AdapterOptions::default().adapters())?;
    let fitting_adapter = candidates
        .iter()
        .find(|candidate| candidate.refused.is_none());
    let adapter = &fitting_adapter.ok_or("there is no adapter")?.adapter;
    let (device, queue) = open(adapter)?;
    let (other_device, _queue) = open(adapter)?;
    let gpu = Gpu::new(&device, &queue);
    for backend in [Backend::cpu(), Backend::from(gpu.clone())] {
        println!("== {backend}");
        try_wrong_arguments(&mut attempts, &backend)?;
    }
    try_wrong_buffers(&mut attempts, &device, &other_device, &gpu)?;
    let no_adapter = AdapterOptions {
        name: Some("no such adapter".into()),
        ..AdapterOptions::default()
    };
    attempts.expect_failure("no adapter", Gpu::open(&no_adapter), &["no such adapter"]);
    lose_device(&mut attempts, &device, &gpu)?;
    println!("{} wrong", attempts.wrong_count);
    Ok(match attempts.wrong_count {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}
