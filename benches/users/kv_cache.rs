//! A program with a paged cache of keys and values, as in a language model. For each token of each sequence, the
//! program appends a row to a block of the cache, and it gathers the blocks of all sequences by a table.
//!
//! The program runs 1,000 steps on plans that are prepared once and recorded into the program's own commands, prints
//! the host's times and wgpu's counters, and compares the cache and the gathered blocks with a model in memory. Then it
//! times 300 steps with calls on tensors, without checking their results. All of it runs twice, on a device without
//! immediates and, if the adapter has them, on one with immediates. `README.md` describes how to run it.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "sizes and positions are small, and values are cut to 16 bits"
)]

use std::{
    collections::{BTreeSet, HashSet},
    error::Error,
    time::{Duration, Instant},
};
use wgpu::{
    Buffer, BufferDescriptor, BufferUsages, CommandEncoderDescriptor, ComputePassDescriptor,
    Device, DeviceDescriptor, Instance, InstanceDescriptor, MapMode, PollType, Queue,
    RequestAdapterOptions,
};
use wgslice::{
    Backend, DType, Gpu, Plan, SliceSpec, Tensor, View,
    options::{GatherOptions, ScatterOptions},
    slice,
};

/// The number of blocks of the cache.
const BLOCKS: usize = 256;
/// The number of tokens in a block.
const BLOCK_TOKENS: usize = 16;
const HEADS: usize = 4;
/// The number of elements in a head.
const HEAD_SIZE: usize = 64;
/// The number of sequences.
const SEQS: usize = 8;
/// The maximum number of blocks of a sequence.
const MAX_BLOCKS: usize = 16;
/// The size of a token in bytes. Its elements are `f16`.
const TOKEN_BYTES: usize = HEADS * HEAD_SIZE * 2;
const STEPS: usize = 1000;

/// Returns the bits of an element of a token.
fn bits(seq: usize, pos: usize, h: usize, d: usize) -> u16 {
    (seq * 7919 + pos * 131 + h * 17 + d) as u16
}

fn counters(device: &Device) -> String {
    let c = device.get_internal_counters().hal;
    format!(
        "buffers {} textures {} bind groups {} layouts {} pipelines {} modules {} encoders {} fences {} qsets {} \
         mem {} allocs {}",
        c.buffers.read(),
        c.textures.read(),
        c.bind_groups.read(),
        c.bind_group_layouts.read(),
        c.compute_pipelines.read(),
        c.shader_modules.read(),
        c.command_encoders.read(),
        c.fences.read(),
        c.query_sets.read(),
        c.buffer_memory.read(),
        c.memory_allocations.read()
    )
}

fn time_statistics(mut times: Vec<Duration>) -> String {
    times.sort();
    format!(
        "min {:?} median {:?} p99 {:?} max {:?}",
        times[0],
        times[times.len() / 2],
        times[times.len() * 99 / 100],
        times[times.len() - 1]
    )
}

/// Returns options that promise unique rows, because each token has its own row of the cache.
fn update_options() -> ScatterOptions {
    ScatterOptions {
        unique: true,
        ..ScatterOptions::default()
    }
}

fn gather_options(axis: isize) -> GatherOptions {
    GatherOptions {
        axis: Some(axis),
        ..GatherOptions::default()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let instance = Instance::new(InstanceDescriptor::new_without_display_handle_from_env());
    let adapter = pollster::block_on(instance.request_adapter(&RequestAdapterOptions::default()))?;
    for (name, descriptor) in [
        ("WebGPU's default limits", DeviceDescriptor::default()),
        (
            "wgslice's features and limits",
            Gpu::device_descriptor(&adapter),
        ),
    ] {
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))?;
        println!("== {name}");
        run(&device, &queue)?;
    }
    Ok(())
}

/// The blocks of the sequences, and the expected content of the cache.
struct Model {
    /// The number of the block for each run of `BLOCK_TOKENS` tokens of each sequence, or -1 if the run has no block.
    tables: Vec<i32>,
    free_blocks: Vec<i32>,
    lens: [usize; SEQS],
    cache: Vec<u16>,
}

impl Model {
    fn new() -> Self {
        let mut free_blocks: Vec<i32> = (0..BLOCKS as i32).collect();
        let mut state = 12345u32;
        for i in (1..free_blocks.len()).rev() {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            free_blocks.swap(i, (state >> 8) as usize % (i + 1));
        }
        Self {
            tables: vec![-1; SEQS * MAX_BLOCKS],
            free_blocks,
            lens: [0; SEQS],
            cache: vec![0; BLOCKS * BLOCK_TOKENS * HEADS * HEAD_SIZE],
        }
    }

    /// Appends a token to each sequence. Returns the tokens and their rows of the cache.
    fn step(&mut self, step: usize) -> (Vec<u16>, [u32; SEQS]) {
        let mut rows = vec![0u16; SEQS * HEADS * HEAD_SIZE];
        let mut slots = [0u32; SEQS];
        for q in 0..SEQS {
            let table = &mut self.tables[q * MAX_BLOCKS..(q + 1) * MAX_BLOCKS];
            // Sequences end at different lengths, and their blocks are reused.
            if self.lens[q] == MAX_BLOCKS * BLOCK_TOKENS - q * 13 {
                for block in table.iter_mut().filter(|block| **block >= 0) {
                    self.free_blocks.push(*block);
                    *block = -1;
                }
                self.lens[q] = 0;
            }
            let p = self.lens[q];
            if p.is_multiple_of(BLOCK_TOKENS) {
                table[p / BLOCK_TOKENS] = self.free_blocks.pop().expect("a free block");
            }
            slots[q] =
                table[p / BLOCK_TOKENS] as u32 * BLOCK_TOKENS as u32 + (p % BLOCK_TOKENS) as u32;
            for h in 0..HEADS {
                for d in 0..HEAD_SIZE {
                    let value = bits(q, p + step, h, d);
                    rows[(q * HEADS + h) * HEAD_SIZE + d] = value;
                    self.cache[(slots[q] as usize * HEADS + h) * HEAD_SIZE + d] = value;
                }
            }
            self.lens[q] += 1;
        }
        (rows, slots)
    }
}

fn run(device: &Device, queue: &Queue) -> Result<(), Box<dyn Error>> {
    let gpu = Gpu::new(device, queue);
    let buffer = |label, size: usize, usage| {
        device.create_buffer(&BufferDescriptor {
            label: Some(label),
            size: size as u64,
            usage,
            mapped_at_creation: false,
        })
    };
    let result_usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
    let written_usage = result_usage | BufferUsages::COPY_DST;
    let gathered_bytes = SEQS * MAX_BLOCKS * BLOCK_TOKENS * TOKEN_BYTES;
    let cache = buffer("cache", BLOCKS * BLOCK_TOKENS * TOKEN_BYTES, written_usage);
    let rows = buffer("new rows", SEQS * TOKEN_BYTES, written_usage);
    let slots = buffer("slots", SEQS * 4, written_usage);
    let table = buffer("block tables", SEQS * MAX_BLOCKS * 4, written_usage);
    let gathered = buffer("gathered, padded", gathered_bytes, result_usage);
    let heads = buffer("heads first", gathered_bytes, result_usage);
    let ragged = buffer("ragged", gathered_bytes, result_usage);
    let ragged_ids = buffer("ragged ids", SEQS * MAX_BLOCKS * 4, written_usage);

    let append = Plan::tensor_scatter_nd(
        &[BLOCKS * BLOCK_TOKENS, HEADS * HEAD_SIZE],
        (&[SEQS, 1], DType::U32),
        &[SEQS, HEADS * HEAD_SIZE],
        update_options(),
        DType::F16,
    )?;
    // A table entry of -1 is out of range, so the result is padded with zeros.
    let paged = Plan::gather(
        &[BLOCKS, BLOCK_TOKENS, HEADS, HEAD_SIZE],
        &[SEQS, MAX_BLOCKS],
        gather_options(0),
        DType::F16,
    )?;
    // This plan gathers the same blocks from a view of shape [HEADS, BLOCKS, BLOCK_TOKENS, HEAD_SIZE].
    let heads_first =
        View::new(&[BLOCKS, BLOCK_TOKENS, HEADS, HEAD_SIZE])?.transpose(&[2, 0, 1, 3])?;
    let heads_first = Plan::gather(
        heads_first,
        &[SEQS, MAX_BLOCKS],
        gather_options(1),
        DType::F16,
    )?;
    println!(
        "{}\n{}\n{}",
        gpu.explain(&append),
        gpu.explain(&paged),
        gpu.explain(&heads_first)
    );
    println!("heads first {:?}", heads_first.shape());
    let start = Instant::now();
    let append = gpu.prepare(&append)?;
    let (paged, heads_first) = (gpu.prepare(&paged)?, gpu.prepare(&heads_first)?);
    println!("prepare of three {:?}", start.elapsed());

    let mut model = Model::new();
    println!("before: {}", counters(device));
    let (mut append_times, mut gather_times, mut plan_times) = (vec![], vec![], vec![]);
    let (mut ragged_times, mut submit_times, mut write_times) = (vec![], vec![], vec![]);
    let (mut seen_counts, mut first_times) = (HashSet::new(), vec![]);
    let mut pending = vec![];
    for step in 0..STEPS {
        let (new_rows, new_slots) = model.step(step);
        let tables = model.tables.iter().copied();
        let ids: Vec<i32> = tables.filter(|block| *block >= 0).collect();
        let start = Instant::now();
        queue.write_buffer(&rows, 0, bytemuck::cast_slice(&new_rows));
        queue.write_buffer(&slots, 0, bytemuck::cast_slice(&new_slots));
        queue.write_buffer(&table, 0, bytemuck::cast_slice(&model.tables));
        queue.write_buffer(&ragged_ids, 0, bytemuck::cast_slice(&ids));
        write_times.push(start.elapsed());
        let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
        let start = Instant::now();
        let append_report = gpu.encode(
            &mut pass,
            &append,
            &[rows.slice(..), slots.slice(..)],
            &[cache.slice(..)],
        )?;
        append_times.push(start.elapsed());
        let start = Instant::now();
        let table_slice = table.slice(..);
        let dest = gathered.slice(..);
        let padded_report =
            gpu.encode(&mut pass, &paged, &[cache.slice(..), table_slice], &[dest])?;
        let table_slice = table.slice(..);
        let dest = heads.slice(..);
        let heads_report = gpu.encode(
            &mut pass,
            &heads_first,
            &[cache.slice(..), table_slice],
            &[dest],
        )?;
        gather_times.push(start.elapsed());
        // Without padding, the shape changes whenever a sequence gets a block.
        let start = Instant::now();
        let plan = Plan::gather(
            &[BLOCKS, BLOCK_TOKENS, HEADS, HEAD_SIZE],
            &[ids.len()],
            gather_options(0),
            DType::F16,
        )?;
        plan_times.push(start.elapsed());
        let start = Instant::now();
        let ids_slice = ragged_ids.slice(..);
        let (source, dest) = (cache.slice(..), ragged.slice(..));
        drop(gpu.encode(&mut pass, &plan, &[source, ids_slice], &[dest])?);
        let time = start.elapsed();
        ragged_times.push(time);
        if seen_counts.insert(ids.len()) {
            first_times.push(time);
        }
        drop(pass);
        let start = Instant::now();
        queue.submit([encoder.finish()]);
        submit_times.push(start.elapsed());
        pending.push((append_report, padded_report, heads_report));
        if step % 16 == 15 {
            device.poll(PollType::wait_indefinitely())?;
            pending.clear();
        }
        if [0, 9, 99, 999].contains(&step) {
            println!("after step {step}: {}", counters(device));
        }
    }
    println!("write_buffer x4   {}", time_statistics(write_times));
    println!("append record     {}", time_statistics(append_times));
    println!("2 gathers record  {}", time_statistics(gather_times));
    println!("Plan::gather      {}", time_statistics(plan_times));
    println!("ragged record     {}", time_statistics(ragged_times));
    println!(
        "  new shapes      {} ({} shapes)",
        time_statistics(first_times.clone()),
        first_times.len()
    );
    println!("finish + submit   {}", time_statistics(submit_times));

    if !check(device, queue, &model, [&cache, &gathered, &heads])? {
        return Err("the cache differs from the model".into());
    }
    println!(
        "the results are right; the last report: {:?}",
        pending
            .last()
            .map(|(_, padded_report, _)| padded_report.wait())
    );
    run_on_tensors(device, queue, &gpu, [&cache, &slots, &rows, &table])
}

fn read(device: &Device, queue: &Queue, buffer: &Buffer) -> Result<Vec<u16>, Box<dyn Error>> {
    let staging = device.create_buffer(&BufferDescriptor {
        label: None,
        size: buffer.size(),
        usage: BufferUsages::COPY_DST | BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor::default());
    encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, buffer.size());
    queue.submit([encoder.finish()]);
    staging.map_async(MapMode::Read, .., |mapped| mapped.expect("mapped"));
    device.poll(PollType::wait_indefinitely())?;
    Ok(bytemuck::pod_collect_to_vec(&staging.get_mapped_range(..)?))
}

/// Compares the cache and the gathered blocks with the model. Returns whether the cache is correct. Panics if the
/// gathered blocks are wrong.
fn check(
    device: &Device,
    queue: &Queue,
    model: &Model,
    [cache, gathered, heads]: [&Buffer; 3],
) -> Result<bool, Box<dyn Error>> {
    let (actual, expected_cache) = (read(device, queue, cache)?, &model.cache);
    let differing = (0..actual.len()).filter(|&i| actual[i] != expected_cache[i]);
    let wrong_rows: BTreeSet<usize> = differing.map(|i| i / (HEADS * HEAD_SIZE)).collect();
    let ends = |row: &usize| {
        let (first, last) = (row * 256, row * 256 + 255);
        (
            *row,
            actual[first],
            expected_cache[first],
            actual[last],
            expected_cache[last],
        )
    };
    println!(
        "rows of the cache that differ: {} of {}; the first {:?}",
        wrong_rows.len(),
        BLOCKS * BLOCK_TOKENS,
        wrong_rows.iter().take(6).map(ends).collect::<Vec<_>>()
    );
    if !wrong_rows.is_empty() {
        return Ok(false);
    }
    let (gathered, heads) = (read(device, queue, gathered)?, read(device, queue, heads)?);
    for (entry, &block) in model.tables.iter().enumerate() {
        for token in 0..BLOCK_TOKENS {
            for h in 0..HEADS {
                for d in 0..HEAD_SIZE {
                    let expected = match usize::try_from(block) {
                        Ok(block) => {
                            expected_cache
                                [((block * BLOCK_TOKENS + token) * HEADS + h) * HEAD_SIZE + d]
                        }
                        Err(_) => 0,
                    };
                    assert_eq!(
                        gathered[((entry * BLOCK_TOKENS + token) * HEADS + h) * HEAD_SIZE + d],
                        expected
                    );
                    let heads_row = (h * SEQS * MAX_BLOCKS + entry) * BLOCK_TOKENS + token;
                    assert_eq!(heads[heads_row * HEAD_SIZE + d], expected);
                }
            }
        }
    }
    Ok(true)
}

/// Times steps with calls on tensors, which share the buffers of [`run`]. Then times single operations.
fn run_on_tensors(
    device: &Device,
    queue: &Queue,
    gpu: &Gpu,
    [cache, slots, rows, table]: [&Buffer; 4],
) -> Result<(), Box<dyn Error>> {
    let backend = Backend::from(gpu.clone());
    let tensor = |buffer: &Buffer, dtype, shape: &[usize]| {
        Tensor::from_buffer(&backend, buffer.clone(), dtype, shape)
    };
    let mut cache = tensor(
        cache,
        DType::F16,
        &[BLOCKS * BLOCK_TOKENS, HEADS * HEAD_SIZE],
    )?;
    let slots = tensor(slots, DType::U32, &[SEQS, 1])?;
    let rows = tensor(rows, DType::F16, &[SEQS, HEADS * HEAD_SIZE])?;
    let table = tensor(table, DType::I32, &[SEQS, MAX_BLOCKS])?;
    println!("tensors before: {}", counters(device));
    let (mut scatter_times, mut gather_times, mut update_times) = (vec![], vec![], vec![]);
    for step in 0..300 {
        let start = Instant::now();
        cache.tensor_scatter_nd(&slots, &rows, update_options())?;
        scatter_times.push(start.elapsed());
        let start = Instant::now();
        let blocks = cache.reshape(&[BLOCKS, BLOCK_TOKENS, HEADS, HEAD_SIZE])?;
        let (gathered, _) = blocks.gather(&table, gather_options(0))?;
        gather_times.push(start.elapsed());
        // Tensors that share the cache's memory would make the next change copy it.
        drop((gathered, blocks));
        let start = Instant::now();
        let at = (step % (BLOCKS * BLOCK_TOKENS)) as i64;
        let one = rows.slice(&slice![0..1])?.contiguous()?;
        let block = SliceSpec::block(
            &[BLOCKS * BLOCK_TOKENS, HEADS * HEAD_SIZE],
            &[at, 0],
            &[1, -1],
        )?;
        cache.slice_update(&block, &one)?;
        update_times.push(start.elapsed());
        if step % 16 == 15 {
            backend.wait()?;
        }
        if [0, 99, 299].contains(&step) {
            println!("tensors after {step}: {}", counters(device));
        }
    }
    println!(
        "t: scatter call {}\nt: gather call {}\nslice+slice_update call {}",
        time_statistics(scatter_times),
        time_statistics(gather_times),
        time_statistics(update_times)
    );

    let one = rows.slice(&slice![0..1])?.contiguous()?;
    backend.wait()?;
    for case_name in [
        "slice_update, positions vary, same value",
        "slice_update, one position",
        "slice only",
        "slice_update after slice, waited between",
        "tensor_scatter_nd, waited between",
        "empty submit",
    ] {
        let mut times = vec![];
        for step in 0..200usize {
            let at = match case_name {
                "slice_update, one position" => 7,
                _ => (step % 4096) as i64,
            };
            let spec = slice![at..at + 1];
            let start = Instant::now();
            match case_name {
                "slice only" => drop(rows.slice(&slice![0..1])?.contiguous()?),
                "slice_update after slice, waited between" => {
                    let other = rows.slice(&slice![1..2])?.contiguous()?;
                    cache.slice_update(&spec, &other)?;
                }
                "tensor_scatter_nd, waited between" => {
                    cache.tensor_scatter_nd(&slots, &rows, update_options())?;
                }
                "empty submit" => {
                    let encoder =
                        device.create_command_encoder(&CommandEncoderDescriptor::default());
                    queue.submit([encoder.finish()]);
                }
                _ => drop(cache.slice_update(&spec, &one)?),
            }
            times.push(start.elapsed());
            if case_name.contains("waited") || step % 16 == 15 {
                backend.wait()?;
            }
        }
        println!("{case_name}: {}", time_statistics(times));
    }
    Ok(())
}
