//! Implements a paged cache of keys or values: each step appends a token to every sequence and gathers the blocks of
//! all sequences.
//!
//! Instead of this: two shaders with their pipelines and bind groups. One writes 16-bit numbers, two in a word, to the
//! slots of the new tokens. The other follows a table of blocks and writes zeros for its unused entries, which are -1.
//!
//! Write this: prepare two plans once, and record both in each step. An index out of range, such as -1, gives zeros.
//!
//! ```sh
//! cargo run --example kv_cache
//! ```

mod common;

use wgslice::{
    DType, Gpu, Plan,
    options::{GatherOptions, ScatterOptions},
};

/// 16 blocks of 4 tokens with 6 elements each.
const CACHE_SHAPE: [usize; 3] = [16, 4, 6];
/// 3 sequences of at most 5 blocks.
const TABLE_SHAPE: [usize; 2] = [3, 5];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (device, queue) = common::open()?;
    let gpu = Gpu::new(&device, &queue);
    let ([blocks, tokens, width], [sequences, columns]) = (CACHE_SHAPE, TABLE_SHAPE);
    let (cache_shape, rows_shape) = ([blocks * tokens, width], [sequences, width]);
    let options = ScatterOptions::default();
    let append = Plan::tensor_scatter_nd(
        &cache_shape,
        &[sequences, 1],
        &rows_shape,
        options,
        DType::F16,
    )?;
    let options = GatherOptions::default();
    let gather = Plan::gather(&CACHE_SHAPE, &TABLE_SHAPE, options, DType::F16)?;
    let (append, gather) = (gpu.prepare(&append)?, gpu.prepare(&gather)?);
    let buffer = |bytes| common::buffer(&device, &vec![0; bytes]);
    let [cache, gathered] = [&append, &gather].map(|plan| buffer(plan.outputs()[0].bytes()));
    let [rows, slots, table] = [width * 2, 4, columns * 4].map(|bytes| buffer(sequences * bytes));

    let mut tables = [[-1i32; TABLE_SHAPE[1]]; TABLE_SHAPE[0]];
    let mut free_blocks = (0..16i32).rev();
    let mut expected = vec![0u16; sequences * columns * tokens * width];
    for step in 0..columns * tokens {
        // The program makes new tokens and chooses their slots.
        let (block, token) = (step / tokens, step % tokens);
        let first_value = u16::try_from(step * 100)?;
        let new_rows: Vec<u16> = (first_value..).take(sequences * width).collect();
        let mut new_slots = Vec::new();
        for (sequence, row) in new_rows.chunks(width).enumerate() {
            if token == 0 {
                tables[sequence][block] = free_blocks.next().ok_or("all blocks are used")?;
            }
            let slot = usize::try_from(tables[sequence][block])? * tokens + token;
            new_slots.push(i32::try_from(slot)?);
            let place = (sequence * columns + block) * tokens + token;
            expected[place * width..][..width].copy_from_slice(row);
        }
        queue.write_buffer(&rows, 0, bytemuck::cast_slice(&new_rows));
        queue.write_buffer(&slots, 0, bytemuck::cast_slice(&new_slots));
        queue.write_buffer(&table, 0, bytemuck::cast_slice(&tables));

        let mut encoder = device.create_command_encoder(&Default::default());
        let inputs = [rows.slice(..), slots.slice(..)];
        drop(gpu.encode(&mut encoder, &append, &inputs, &[cache.slice(..)])?);
        let inputs = [cache.slice(..), table.slice(..)];
        drop(gpu.encode(&mut encoder, &gather, &inputs, &[gathered.slice(..)])?);
        queue.submit([encoder.finish()]);

        let gathered_bytes = common::read_buffer(&device, &queue, &gathered)?;
        let expected: &[u8] = bytemuck::cast_slice(&expected);
        assert_eq!(gathered_bytes, expected, "in step {step}");
    }
    println!("{sequences} sequences are right in every step");
    Ok(())
}
