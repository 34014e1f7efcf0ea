//! Times batches of rows from a memory-mapped file, and compares them with ndarray and loops.

use crate::common::{Random, min_time, run_bytes};
use ndarray::{ArrayView2, Axis};
use rayon::prelude::*;
use std::{
    cell::RefCell,
    error::Error,
    fs::File,
    io::{BufWriter, Write},
};
use wgslice::{
    Backend, DType, Plan, Tensor,
    options::{GatherOptions, OutOfRange},
};

const ROWS: usize = 100_000;
const COLS: usize = 256;

/// A memory-mapped file, and the number of bytes to skip at its start.
struct Tail(memmap2::Mmap, usize);

impl AsRef<[u8]> for Tail {
    fn as_ref(&self) -> &[u8] {
        &self.0[self.1..]
    }
}

/// Writes a table as a `.npy` file, and maps it.
fn table() -> Result<Tail, Box<dyn Error>> {
    let path = &std::env::temp_dir().join("wgslice_loader.npy");
    let mut header =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({ROWS}, {COLS}), }}");
    while !(10 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut file = BufWriter::new(File::create(path)?);
    file.write_all(b"\x93NUMPY\x01\x00")?;
    file.write_all(&(header.len() as u16).to_le_bytes())?;
    file.write_all(header.as_bytes())?;
    for i in 0..ROWS * COLS {
        file.write_all(&((i % 16777213) as f32).to_le_bytes())?;
    }
    file.flush()?;
    // SAFETY: only this program uses the file. A later call writes the same bytes again while nothing reads this map.
    let map = unsafe { memmap2::Mmap::map(&File::open(path)?)? };
    let header_size = 10 + usize::from(u16::from_le_bytes([map[8], map[9]]));
    Ok(Tail(map, header_size))
}

thread_local! {
    static OUT: RefCell<Vec<f32>> = const { RefCell::new(vec![]) };
}

/// Calls `f` with memory for a batch, which the next batch on this thread reuses.
fn with_reused<R>(rows: usize, f: impl FnOnce(&mut [f32]) -> R) -> R {
    OUT.with_borrow_mut(|out| {
        out.resize(rows * COLS, 0.0);
        f(out)
    })
}

pub(crate) fn loader() -> Result<(), Box<dyn Error>> {
    let mapped = table()?;
    let values: &[f32] = bytemuck::cast_slice(mapped.as_ref());
    let backend = Backend::cpu();
    let tensor = Tensor::from_bytes(&backend, table()?, DType::F32, &[ROWS, COLS])?;

    let mut order: Vec<u32> = (0..ROWS as u32).collect();
    let mut generator = Random(9);
    for i in (1..ROWS).rev() {
        order.swap(i, (generator.next() >> 4) as usize % (i + 1));
    }
    let strict_options = GatherOptions {
        axis: Some(0),
        out_of_range: OutOfRange::Error,
        ..GatherOptions::default()
    };
    let row = |id: u32| &values[id as usize * COLS..][..COLS];
    // Reads from the batch, so that the compiler cannot remove the work.
    let sum = |batch: &[f32]| f64::from(batch[0]) + f64::from(batch[batch.len() - 1]);
    let one_thread = backend.clone().with_threads(1);
    for batch_size in [256usize, 4096] {
        println!("-- batches of {batch_size} rows of {COLS} f32, one epoch");
        let array = ArrayView2::from_shape((ROWS, COLS), values)?;
        for ids in order.chunks(batch_size) {
            let (rows, _) =
                backend.gather((values, &[ROWS, COLS]), (ids, &[ids.len()]), strict_options)?;
            assert_eq!(rows.data.len(), ids.len() * COLS);
            for (batch_row, &id) in rows.data.chunks_exact(COLS).zip(ids) {
                assert_eq!(batch_row, row(id));
            }
        }
        let plan = Plan::gather(&[ROWS, COLS], &[batch_size], strict_options, DType::F32)?;
        for is_parallel in [false, true] {
            let run = |f: &(dyn Fn(&[u32]) -> f64 + Sync)| {
                min_time(7, || match is_parallel {
                    true => order.par_chunks(batch_size).map(f).sum::<f64>(),
                    false => order.chunks(batch_size).map(f).sum(),
                })
            };
            let gather_sum = |backend: &Backend, ids: &[u32]| {
                let rows =
                    backend.gather((values, &[ROWS, COLS]), (ids, &[ids.len()]), strict_options);
                sum(&rows.expect("a batch").0.data)
            };
            let gather_time = run(&|ids| gather_sum(&backend, ids));
            let one_thread_time = run(&|ids| gather_sum(&one_thread, ids));
            let tensor_time = run(&|ids| {
                let ids = backend.upload((ids, &[ids.len()])).expect("indices");
                let (rows, _) = tensor.gather(&ids, strict_options).expect("a batch");
                sum(bytemuck::cast_slice(&rows.bytes().expect("bytes")))
            });
            let plan_time = run(&|ids| {
                with_reused(ids.len(), |out| {
                    let last_plan;
                    let plan = if ids.len() == batch_size {
                        &plan
                    } else {
                        last_plan =
                            Plan::gather(&[ROWS, COLS], &[ids.len()], strict_options, DType::F32)
                                .expect("a plan");
                        &last_plan
                    };
                    let (source, dest) =
                        (bytemuck::cast_slice(values), bytemuck::cast_slice_mut(out));
                    run_bytes(plan, source, Some(ids.into()), dest).expect("a batch");
                    sum(out)
                })
            });
            let ndarray_time = run(&|ids| {
                let ids: Vec<usize> = ids.iter().map(|id| *id as usize).collect();
                sum(array
                    .select(Axis(0), &ids)
                    .as_slice()
                    .expect("contiguous rows"))
            });
            let loop_time = run(&|ids| {
                let mut out = Vec::with_capacity(ids.len() * COLS);
                for &id in ids {
                    out.extend_from_slice(row(id));
                }
                sum(&out)
            });
            let reused_loop_time = run(&|ids| {
                with_reused(ids.len(), |out| {
                    for (out, &id) in out.chunks_exact_mut(COLS).zip(ids) {
                        out.copy_from_slice(row(id));
                    }
                    sum(out)
                })
            });
            println!(
                "rayon par_chunks {is_parallel}: Backend::gather {gather_time:.2?}, \
                 with_threads(1) {one_thread_time:.2?}, Tensor(mmap)::gather {tensor_time:.2?}, \
                 Plan::run_cpu reused out {plan_time:.2?}, ndarray select {ndarray_time:.2?}, \
                 loop {loop_time:.2?}, loop reused out {reused_loop_time:.2?}"
            );
        }
    }
    Ok(())
}
