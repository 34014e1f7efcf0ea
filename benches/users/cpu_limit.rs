//! What the CPU path costs beside the machine's own limit: `memcpy`, plain loops and ndarray.
//!
//! | argument | times |
//! |---|---|
//! | `loader` | batches of rows of a memory-mapped `.npy` file, for one epoch |
//! | `small` | slices of 512 bytes to 64 KiB, gathers of 256 bytes to 2 MiB |
//! | `large [THREADS]` | slices, gathers and transposes with results of about 64 MiB |
//! | `crop` | 64 random crops of images |
//! | `paste` | the same boxes written back, and tokens appended to a cache |
//! | `sum` | transposes, and a sum of their results right after them |
//! | `assemble` | concat, stack, pad, roll, tile and repeat with results of 64 to 128 MiB |
//! | `select [THREADS]` | masks, index expressions with arrays, boxes, and XLA's gather and scatter |
//!
//! Without an argument it times all of them. `README.md` says how to run it.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "sizes and positions are small"
)]

use ndarray::{ArrayView2, Axis, s};
use rayon::prelude::*;
use std::{
    cell::RefCell,
    error::Error,
    fs::File,
    hint::black_box,
    io::{BufWriter, Write},
    time::{Duration, Instant},
};
use wgslice::{
    Backend, DType, Plan, Report, SliceSpec, Tensor, Values, ValuesMut, View,
    options::{
        Boxes, Combine, CropOptions, GatherDims, GatherOptions, OutOfRange, Pad, PasteOptions,
        ScatterDims, XlaScatterOptions,
    },
    slice,
    spec::{IndexItem, IndexSpec},
};

/// Runs a plan on the CPU, on bytes.
fn run_bytes(
    plan: &Plan,
    source: &[u8],
    indices: Option<Values<'_>>,
    dest: &mut [u8],
) -> Result<Report, wgslice::Error> {
    let source = Values::from_bytes(plan.inputs()[0].dtype, source);
    let inputs = [source, indices.unwrap_or(source)];
    let inputs = &inputs[..1 + usize::from(indices.is_some())];
    plan.run_cpu(inputs, &mut [ValuesMut::from_bytes(plan.dtype(), dest)])
}

/// The least time of `n` calls.
fn best<R>(n: usize, mut f: impl FnMut() -> R) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..n {
        let start = Instant::now();
        let result = f();
        best = best.min(start.elapsed());
        drop(black_box(result));
    }
    best
}

/// The time of a short call in nanoseconds: the least mean of 200 calls.
fn latency<R>(mut f: impl FnMut() -> R) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..300 {
        let start = Instant::now();
        for _ in 0..200 {
            black_box(f());
        }
        best = best.min(start.elapsed().as_nanos() as f64 / 200.0);
    }
    best
}

/// The least of some times, and how many percent longer the quarter with the least took at most: the noise of the least.
fn least(mut times: Vec<Duration>) -> (Duration, f64) {
    times.sort_unstable();
    let quartile = times[times.len() / 4].as_secs_f64();
    (times[0], 100.0 * (quartile / times[0].as_secs_f64() - 1.0))
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A generator of numbers that look random.
struct Mixed(u32);

impl Mixed {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1664525).wrapping_add(1013904223);
        self.0
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let which = arguments.next().unwrap_or("all".into());
    let threads = arguments.next().map_or(Ok(1), |threads| threads.parse())?;
    let wanted = |name: &str| which == "all" || which == name;
    if wanted("loader") {
        loader()?;
    }
    if wanted("small") {
        small()?;
    }
    if wanted("large") {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()?;
        pool.install(|| large(threads)).expect("large results");
    }
    if wanted("sum") {
        sum()?;
    }
    if wanted("crop") {
        crop()?;
    }
    if wanted("paste") {
        paste()?;
    }
    if wanted("assemble") {
        assemble()?;
    }
    if wanted("select") {
        select(threads)?;
    }
    Ok(())
}

/// The bytes of a crop of 224 x 224 pixels.
const CROP: usize = 224 * 224 * 3;

fn crop() -> Result<(), Box<dyn Error>> {
    println!("-- 64 random crops [64,256,256,3] u8 -> 224 x 224, one thread, reused output, ms");
    let images: Vec<u8> = (0..64usize * 256 * 256 * 3)
        .map(|i| (i * 31 % 251) as u8)
        .collect();
    let mut out = vec![0u8; 64 * CROP];
    let mut mixed = Mixed(3);
    let mut random = |n: u32| ((mixed.next() >> 8) % n) as i32;
    // The row and the column at which each crop begins, and whether it is flipped.
    let crops: Vec<[i32; 3]> = (0..64)
        .map(|_| [random(33), random(33), random(2)])
        .collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    pool.install(|| {
        for policy in [OutOfRange::Ignore, OutOfRange::Clamp, OutOfRange::Error] {
            for flips in [false, true] {
                for chw in [false, true] {
                    let (plan, ids) = crop_plan(&crops, policy, flips, chw);
                    let [mut time, mut by_loop] = [Duration::MAX; 2];
                    let mut expected = Vec::new();
                    for _ in 0..40 {
                        time = time.min(best(1, || {
                            let ids = Values::from(&ids);
                            run_bytes(&plan, &images, Some(ids), &mut out)
                                .expect("crops")
                        }));
                        if expected.is_empty() {
                            expected.clone_from(&out);
                        }
                        by_loop = by_loop.min(best(1, || {
                            for (n, out) in out.chunks_exact_mut(CROP).enumerate() {
                                let [y, x, flip] = crops[n].map(|number| number as usize);
                                let image = &images[((n * 256 + y) * 256 + x) * 3..];
                                crop_by_hand(image, flips && flip == 1, chw, out);
                            }
                        }));
                    }
                    assert!(out == expected, "the loop does something else");
                    println!(
                        "{policy:?} flips {flips} CHW {chw}: {:.2} ms, plain loop {:.2} ms   ({plan})",
                        ms(time),
                        ms(by_loop)
                    );
                }
            }
        }
    });
    Ok(())
}

/// Crops an image by loops. `image` begins with the first pixel of the crop, and its rows are 256 pixels apart.
fn crop_by_hand(image: &[u8], flip: bool, chw: bool, out: &mut [u8]) {
    let rows = image.chunks(768).map(|row| &row[..672]);
    if chw {
        for (c, out) in out.chunks_exact_mut(CROP / 3).enumerate() {
            for (out, row) in out.chunks_exact_mut(224).zip(rows.clone()) {
                let pixels = row.as_chunks::<3>().0.iter().map(|pixel| pixel[c]);
                match flip {
                    true => fill(out, pixels.rev()),
                    false => fill(out, pixels),
                }
            }
        }
    } else {
        for (out, row) in out.chunks_exact_mut(672).zip(rows) {
            match flip {
                true => fill(
                    out.as_chunks_mut::<3>().0,
                    row.as_chunks::<3>().0.iter().copied().rev(),
                ),
                false => out.copy_from_slice(row),
            }
        }
    }
}

/// Boxes written into pictures, and tokens behind those that a cache has.
fn paste() -> Result<(), Box<dyn Error>> {
    println!("-- boxes written in place, one thread, ms");
    let mut mixed = Mixed(3);
    let mut random = |n: u32| ((mixed.next() >> 8) % n) as i32;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    for (name, shape, sizes, dtype) in [
        (
            "64 boxes of 224 x 224 pixels",
            &[64, 256, 256, 3][..],
            &[224, 224][..],
            DType::U8,
        ),
        (
            "64 boxes of 224 x 224 grey pixels",
            &[64, 256, 256],
            &[224, 224],
            DType::U8,
        ),
        (
            "32 sequences, 16 tokens each",
            &[32, 2048, 512],
            &[16],
            DType::F16,
        ),
        (
            "65,536 boxes of one token",
            &[65536, 4, 32],
            &[1],
            DType::F16,
        ),
    ] {
        let count = shape[0];
        let begins: Vec<Vec<i32>> = (0..shape[0])
            .map(|_| {
                let ends = shape[1..].iter().zip(sizes);
                ends.map(|(&end, &size)| random((end - size + 1) as u32))
                    .collect()
            })
            .collect();
        let tuples = begins.concat();
        let element = dtype.size();
        let mut x = vec![0u8; shape.iter().product::<usize>() * element];
        // A row of a box lies together in x.
        let rest = shape[1 + sizes.len()..].iter().product::<usize>() * element;
        let row = sizes[sizes.len() - 1] * rest;
        let rows = shape[0] * sizes[..sizes.len() - 1].iter().product::<usize>();
        let patches: Vec<u8> = (0..rows * row).map(|i| (i * 31 % 251) as u8).collect();
        let by_hand = best(9, || {
            let item = x.len() / shape[0];
            let of_box = rows / shape[0];
            for (number, patch) in patches.chunks_exact(row).enumerate() {
                let (n, y) = (number / of_box, number % of_box);
                let at = match begins[n][..] {
                    [begin] => begin as usize,
                    [first, begin, ..] => (first as usize + y) * shape[2] + begin as usize,
                    [] => 0,
                };
                x[n * item + at * rest..][..row].copy_from_slice(patch);
            }
        });
        let expected =
            std::mem::replace(&mut x, vec![0; shape.iter().product::<usize>() * element]);
        for out_of_range in [OutOfRange::Ignore, OutOfRange::Clamp] {
            for circular in [false, true] {
                let options = PasteOptions {
                    out_of_range,
                    circular,
                    ..PasteOptions::default()
                };
                let boxes = Boxes::new(&[count, sizes.len()]);
                let of_patches = [&[count], sizes, &shape[1 + sizes.len()..]].concat();
                let plan = Plan::paste(shape, &of_patches, boxes, &options, dtype)?;
                let time = pool.install(|| {
                    best(9, || {
                        let tuples = Values::from(&tuples);
                        run_bytes(&plan, &patches, Some(tuples), &mut x).expect("boxes")
                    })
                });
                assert!(x == expected, "{plan}");
                println!(
                    "{name}: {out_of_range:?} circular {circular} {:.3} ms",
                    ms(time)
                );
            }
        }
        println!("{name}: hand loop {:.3} ms", ms(by_hand));
    }
    Ok(())
}

/// The plan of 64 crops, with channels first or last, and its indices.
fn crop_plan(crops: &[[i32; 3]], policy: OutOfRange, flips: bool, chw: bool) -> (Plan, Vec<i32>) {
    let sizes = if chw {
        vec![3, 224, 224]
    } else {
        vec![224, 224]
    };
    let options = CropOptions {
        sizes,
        out_of_range: policy,
        ..CropOptions::default()
    };
    let images = View::new(&[64, 256, 256, 3]).expect("images");
    let images = match chw {
        true => images.transpose(&[0, 3, 1, 2]).expect("channels first"),
        false => images,
    };
    let depth = options.sizes.len() * if flips { 2 } else { 1 };
    let boxes = Boxes::of_tuples(&[64, depth], false, flips);
    let plan = Plan::crop(images, boxes, &options, DType::U8).expect("crops");
    let mut ids = vec![];
    let channel: &[i32] = if chw { &[0] } else { &[] };
    for &[y, x, flip] in crops {
        ids.extend(channel);
        ids.extend([y, x]);
        if flips {
            ids.extend(channel);
            ids.extend([0, flip]);
        }
    }
    (plan, ids)
}

const ROWS: usize = 100_000;
const COLS: usize = 256;

/// A memory-mapped file without its header.
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
    // SAFETY: only this program knows the file, and it does not write to it again.
    let map = unsafe { memmap2::Mmap::map(&File::open(path)?)? };
    let head = 10 + usize::from(u16::from_le_bytes([map[8], map[9]]));
    Ok(Tail(map, head))
}

thread_local! {
    static OUT: RefCell<Vec<f32>> = const { RefCell::new(vec![]) };
}

/// Calls `f` with memory for a batch, which is used again by the next batch on this thread.
fn reused<R>(rows: usize, f: impl FnOnce(&mut [f32]) -> R) -> R {
    OUT.with_borrow_mut(|out| {
        out.resize(rows * COLS, 0.0);
        f(out)
    })
}

fn loader() -> Result<(), Box<dyn Error>> {
    let mapped = table()?;
    let values: &[f32] = bytemuck::cast_slice(mapped.as_ref());
    let backend = Backend::cpu();
    let tensor = Tensor::from_bytes(&backend, table()?, DType::F32, &[ROWS, COLS])?;

    let mut order: Vec<u32> = (0..ROWS as u32).collect();
    let mut mixed = Mixed(9);
    for i in (1..ROWS).rev() {
        order.swap(i, (mixed.next() >> 4) as usize % (i + 1));
    }
    let strict = GatherOptions {
        axis: Some(0),
        out_of_range: OutOfRange::Error,
        ..GatherOptions::default()
    };
    let row = |id: u32| &values[id as usize * COLS..][..COLS];
    // Touches the batch, so that no compiler leaves the work out.
    let sum = |batch: &[f32]| f64::from(batch[0]) + f64::from(batch[batch.len() - 1]);
    let one = backend.clone().with_threads(1);
    for batch in [256usize, 4096] {
        println!("-- batches of {batch} rows of {COLS} f32, one epoch");
        let array = ArrayView2::from_shape((ROWS, COLS), values)?;
        for ids in order.chunks(batch) {
            let (rows, _) = backend.gather((values, &[ROWS, COLS]), (ids, &[ids.len()]), strict)?;
            assert_eq!(rows.data.len(), ids.len() * COLS);
            for (found, &id) in rows.data.chunks_exact(COLS).zip(ids) {
                assert_eq!(found, row(id));
            }
        }
        let plan = Plan::gather(&[ROWS, COLS], &[batch], strict, DType::F32)?;
        for parallel in [false, true] {
            let run = |f: &(dyn Fn(&[u32]) -> f64 + Sync)| {
                best(7, || match parallel {
                    true => order.par_chunks(batch).map(f).sum::<f64>(),
                    false => order.chunks(batch).map(f).sum(),
                })
            };
            let by = |backend: &Backend, ids: &[u32]| {
                let rows = backend.gather((values, &[ROWS, COLS]), (ids, &[ids.len()]), strict);
                sum(&rows.expect("a batch").0.data)
            };
            let called = run(&|ids| by(&backend, ids));
            let one_thread = run(&|ids| by(&one, ids));
            let of_tensor = run(&|ids| {
                let ids = backend.upload((ids, &[ids.len()])).expect("indices");
                let (rows, _) = tensor.gather(&ids, strict).expect("a batch");
                sum(bytemuck::cast_slice(&rows.bytes().expect("bytes")))
            });
            let planned = run(&|ids| {
                reused(ids.len(), |out| {
                    let last;
                    let plan = if ids.len() == batch {
                        &plan
                    } else {
                        last = Plan::gather(&[ROWS, COLS], &[ids.len()], strict, DType::F32)
                            .expect("a plan");
                        &last
                    };
                    let (source, dest) =
                        (bytemuck::cast_slice(values), bytemuck::cast_slice_mut(out));
                    run_bytes(plan, source, Some(ids.into()), dest).expect("a batch");
                    sum(out)
                })
            });
            let selected = run(&|ids| {
                let ids: Vec<usize> = ids.iter().map(|id| *id as usize).collect();
                sum(array
                    .select(Axis(0), &ids)
                    .as_slice()
                    .expect("contiguous rows"))
            });
            let looped = run(&|ids| {
                let mut out = Vec::with_capacity(ids.len() * COLS);
                for &id in ids {
                    out.extend_from_slice(row(id));
                }
                sum(&out)
            });
            let looped_reused = run(&|ids| {
                reused(ids.len(), |out| {
                    for (out, &id) in out.chunks_exact_mut(COLS).zip(ids) {
                        out.copy_from_slice(row(id));
                    }
                    sum(out)
                })
            });
            println!(
                "rayon par_chunks {parallel}: Backend::gather {called:.2?}, with_threads(1) {one_thread:.2?}, \
                 Tensor(mmap)::gather {of_tensor:.2?}, Plan::run_cpu reused out {planned:.2?}, \
                 ndarray select {selected:.2?}, loop {looped:.2?}, loop reused out {looped_reused:.2?}"
            );
        }
    }
    Ok(())
}

fn small() -> Result<(), Box<dyn Error>> {
    println!("-- small slices and gathers, ns, minimum of 300 x 200 calls");
    let backend = Backend::cpu();
    for (r, c) in [(16usize, 8usize), (16, 16), (128, 128)] {
        let (h, w) = (r * 2, c * 3);
        let x: Vec<f32> = (0..h * w).map(|i| i as f32).collect();
        let array = ArrayView2::from_shape((h, w), &x)?;
        let (rows, cols) = (r as i64, c as i64);
        let crop = slice![4..4 + rows, 3..3 + cols];
        let reversed = slice![4..4 + rows, 2 + cols..2; -1];
        let second = slice![4..4 + rows, 0..2 * cols; 2];
        for (name, spec) in [("crop", crop), ("reversed", reversed), ("::2", second)] {
            let plan = Plan::slice(&[h, w], &spec, DType::F32)?;
            let mut out = vec![0f32; r * c];
            let (row, long_row) = (
                |y: usize| &x[y * w + 3..][..c],
                |y: usize| &x[y * w..][..2 * c],
            );
            let called = latency(|| backend.slice((&x, &[h, w]), &spec).expect("a slice"));
            let with_macro = match name {
                "crop" => latency(|| {
                    let spec = slice![4..4 + rows, 3..3 + cols];
                    backend.slice((&x, &[h, w]), &spec).expect("a slice")
                }),
                _ => f64::NAN,
            };
            let reused = latency(|| {
                plan.run_cpu(&[(&x).into()], &mut [(&mut out).into()])
                    .expect("a slice");
            });
            let planned = latency(|| Plan::slice(&[h, w], &spec, DType::F32).expect("a plan"));
            let of_ndarray = match name {
                "crop" => latency(|| array.slice(s![4..4 + r, 3..3 + c]).to_owned()),
                "reversed" => latency(|| array.slice(s![4..4 + r, 3..3 + c; -1]).to_owned()),
                _ => latency(|| array.slice(s![4..4 + r, 0..2 * c; 2]).to_owned()),
            };
            let rows_of_crop = 4..4 + r;
            let new_loop = match name {
                "crop" => latency(|| {
                    let mut out: Vec<f32> = Vec::with_capacity(r * c);
                    for y in rows_of_crop.clone() {
                        out.extend_from_slice(row(y));
                    }
                    out
                }),
                "reversed" => latency(|| {
                    let mut out: Vec<f32> = Vec::with_capacity(r * c);
                    for y in rows_of_crop.clone() {
                        out.extend(row(y).iter().rev());
                    }
                    out
                }),
                _ => latency(|| {
                    let mut out: Vec<f32> = Vec::with_capacity(r * c);
                    for y in rows_of_crop.clone() {
                        out.extend(long_row(y).iter().step_by(2));
                    }
                    out
                }),
            };
            let reused_loop = match name {
                "crop" => latency(|| {
                    for (out, y) in out.chunks_exact_mut(c).zip(4..) {
                        out.copy_from_slice(row(y));
                    }
                    out[0]
                }),
                "reversed" => latency(|| {
                    for (out, y) in out.chunks_exact_mut(c).zip(4..) {
                        fill(out, row(y).iter().copied().rev());
                    }
                    out[0]
                }),
                _ => latency(|| {
                    for (out, y) in out.chunks_exact_mut(c).zip(4..) {
                        fill(out, long_row(y).iter().copied().step_by(2));
                    }
                    out[0]
                }),
            };
            let bytes = r * c * 4;
            println!(
                "{r}x{c} f32 ({bytes} B) {name:9}: Backend::slice {called:.0} (slice! each call \
                 {with_macro:.0}), Plan::slice alone {planned:.0}, plan.run_cpu reused {reused:.0} | \
                 ndarray to_owned {of_ndarray:.0}, loop new Vec {new_loop:.0}, loop reused \
                 {reused_loop:.0}"
            );
        }
    }
    for (rows, bytes) in [(16, 16), (128, 512), (512, 4096)] {
        let width = bytes / 4;
        let x: Vec<f32> = (0..4096 * width).map(|i| i as f32).collect();
        let indices: Vec<i32> = (0..rows).map(|i| i * 1237 % 4096).collect();
        let (of, options) = (indices.len(), GatherOptions::default());
        let called = latency(|| {
            let gathered = backend.gather((&x, &[4096, width]), (&indices, &[of]), options);
            gathered.expect("a gather")
        });
        let new_loop = latency(|| {
            let mut out: Vec<f32> = Vec::with_capacity(of * width);
            for &index in &indices {
                out.extend_from_slice(&x[index as usize * width..][..width]);
            }
            out
        });
        println!(
            "{rows} rows of {bytes} B: Backend::gather {called:.0}, loop new Vec {new_loop:.0}"
        );
    }
    Ok(())
}

fn fill<T>(out: &mut [T], values: impl Iterator<Item = T>) {
    for (out, value) in out.iter_mut().zip(values) {
        *out = value;
    }
}

/// The number of `f32` of a large result, about.
const LARGE: usize = 16 * 1024 * 1024;

fn large(threads: usize) -> Result<(), Box<dyn Error + Send + Sync>> {
    println!(
        "-- large, results of about 64 MiB, warm output, rayon pool of {threads}; percent of copy_from_slice \
         (of as many result bytes)"
    );
    let src: Vec<f32> = (0..LARGE * 2).map(|i| i as f32).collect();
    let mut out = vec![0f32; LARGE];
    // Copies as many bytes as the result has, by as many threads.
    let copy = |out: &mut [u8], src: &[u8]| match threads {
        1 => out.copy_from_slice(src),
        _ => {
            let part = out.len().div_ceil(threads);
            let parts = out.par_chunks_mut(part).zip(src.par_chunks(part));
            parts.for_each(|(out, src)| out.copy_from_slice(src));
        }
    };
    let one = best(40, || out.copy_from_slice(&src[..LARGE]));
    let all = match threads {
        1 => one,
        _ => best(40, || {
            let src = bytemuck::cast_slice(&src[..LARGE]);
            copy(bytemuck::cast_slice_mut(&mut out), src);
        }),
    };
    let rate = |time: Duration| LARGE as f64 * 4.0 / time.as_nanos() as f64;
    println!(
        "memcpy 1 thread {:.1} GB/s; {threads} threads {:.1} GB/s (result bytes)",
        rate(one),
        rate(all)
    );
    let k = LARGE / 128;
    let mut mixed = Mixed(1);
    let ids: Vec<u32> = (0..k)
        .map(|_| (mixed.next() >> 5) % (2 * k) as u32)
        .collect();
    // A copy of so many bytes writes past the caches. It runs before the plan and before the loop, so that neither must first
    // write back what the other left in a cache.
    let mut show = |name: &str, plan: Plan, by_hand: Loop| {
        let bytes = plan.outputs()[0].bytes();
        let indices = name.starts_with("gather").then_some(Values::from(&ids));
        let mut copied = Duration::MAX;
        let (mut times, mut by_loop) = (Vec::new(), Vec::new());
        let mut expected = Vec::new();
        for _ in 0..40 {
            let all: &[u8] = bytemuck::cast_slice(&src);
            let from = &all[..plan.inputs()[0].bytes()];
            let to = &mut bytemuck::cast_slice_mut(&mut out)[..bytes];
            copied = copied.min(best(1, || copy(to, &all[..bytes])));
            times.push(best(1, || {
                let ran = run_bytes(&plan, from, indices, to);
                ran.map(drop).expect("it fits");
            }));
            if expected.is_empty() {
                expected = to.to_vec();
            }
            copied = copied.min(best(1, || copy(to, &all[..bytes])));
            by_loop.push(best(1, || by_hand(&src, &mut out, &ids)));
        }
        let ((time, noise), (by_loop, of_loop)) = (least(times), least(by_loop));
        let found: &[u8] = bytemuck::cast_slice(&out);
        assert!(
            found.starts_with(&expected),
            "{name}: the loop does something else"
        );
        println!(
            "{name:32} {:5.2} ms {:4.1} GB/s, {:3.0} % of memcpy; loop {:5.2} ms, {:4.2} of it; \
             noise {noise:.0} and {of_loop:.0} %",
            ms(time),
            bytes as f64 / time.as_nanos() as f64,
            100.0 * copied.as_secs_f64() / time.as_secs_f64(),
            ms(by_loop),
            time.as_secs_f64() / by_loop.as_secs_f64(),
        );
    };
    let sliced = |shape: &[usize], spec: SliceSpec, dtype| Plan::slice(shape, &spec, dtype);
    let transposed = |shape: &[usize], axes: &[usize], dtype| -> Result<Plan, wgslice::Error> {
        Plan::contiguous(View::new(shape)?.transpose(axes)?, dtype)
    };
    let of_rows = GatherOptions {
        axis: Some(0),
        ..GatherOptions::default()
    };
    let (f32, u8) = (DType::F32, DType::U8);
    let images = [64, 480, 640, 3];
    let plan = sliced(&[4096, 4096], slice![..], f32)?;
    show("identity copy [..]", plan, |src, out, _| {
        for (out, src) in out.iter_mut().zip(src) {
            *out = *src;
        }
    });
    let plan = sliced(&[4096, 8192], slice![.., 64..4064], f32)?;
    show("crop, rows of 4000 of 8192 f32", plan, |src, out, _| {
        for (out, src) in out.chunks_exact_mut(4000).zip(src.chunks_exact(8192)) {
            out.copy_from_slice(&src[64..4064]);
        }
    });
    let plan = sliced(&[320, 256, 256], slice![8..312, 20..236, 28..228], f32)?;
    show("crop of 3D, rows of 200 f32", plan, |src, out, _| {
        let planes = out.chunks_exact_mut(216 * 200).take(304);
        for (out, src) in planes.zip(src[8 << 16..].chunks_exact(1 << 16)) {
            for (out, src) in out
                .chunks_exact_mut(200)
                .zip(src[20 << 8..].chunks_exact(256))
            {
                out.copy_from_slice(&src[28..228]);
            }
        }
    });
    let plan = Plan::gather(&[2 * k, 128], &[k], of_rows, f32)?;
    show("gather of random rows, 128 f32", plan, |src, out, ids| {
        for (out, id) in out.chunks_exact_mut(128).zip(ids) {
            out.copy_from_slice(&src[*id as usize * 128..][..128]);
        }
    });
    let plan = sliced(&[4096, 8192], slice![.., ..; 2], f32)?;
    show("::2 of the last axis", plan, |src, out, _| {
        for (out, src) in out.iter_mut().zip(src.as_chunks::<2>().0) {
            *out = src[0];
        }
    });
    let plan = sliced(&[4096, 8192], slice![..; 2, ..; 2], f32)?;
    show("::2 of both axes", plan, |src, out, _| {
        for (out, src) in out.chunks_exact_mut(4096).zip(src.chunks_exact(16384)) {
            for (out, src) in out.iter_mut().zip(src[..8192].as_chunks::<2>().0) {
                *out = src[0];
            }
        }
    });
    let plan = sliced(&[1 << 20, 28], slice![.., ..; 2], f32)?;
    show("::2 of rows of 28 f32", plan, |src, out, _| {
        for (out, src) in out
            .as_chunks_mut::<14>()
            .0
            .iter_mut()
            .zip(src.as_chunks::<28>().0)
        {
            fill(out, src.iter().copied().step_by(2));
        }
    });
    let plan = sliced(&[3_000_000, 20], slice![.., ..13], u8)?;
    show("rows of 13 of 20 bytes", plan, rows_by_hand::<13>);
    let plan = sliced(&[3_000_000, 20], slice![.., ..15], u8)?;
    show("rows of 15 of 20 bytes", plan, rows_by_hand::<15>);
    let plan = sliced(
        &[64, 64, 64, 8, 8],
        slice![..; 2, ..; 2, ..; 2, ..2, ..4; 2],
        f32,
    )?;
    show("blocks of 2 x 2, five dimensions", plan, |src, out, _| {
        let places = (0..1 << 15).map(|n| (n >> 10 << 13) + (n >> 5 & 31) * 128 + (n & 31) * 2);
        for (out, place) in out.as_chunks_mut::<4>().0.iter_mut().zip(places) {
            let block = &src[place * 64..][..16];
            *out = [block[0], block[2], block[8], block[10]];
        }
    });
    let grad = |spec: SliceSpec| {
        let dy = View::new(&[4096, 4096])?.slice(&spec)?;
        Plan::slice_grad(&[4096, 4096], &spec, dy.shape(), f32)
    };
    let plan = grad(slice![.., ..; 2])?;
    show("gradient of ::2 of the last axis", plan, |src, out, _| {
        for (out, src) in out.as_chunks_mut::<2>().0.iter_mut().zip(src) {
            *out = [*src, 0.0];
        }
    });
    let plan = grad(slice![.., ..; 5])?;
    show("gradient of ::5 of the last axis", plan, |src, out, _| {
        out.fill(0.0);
        for (out, src) in out.chunks_exact_mut(4096).zip(src.chunks_exact(820)) {
            fill_every::<5>(out, src);
        }
    });
    let plan = sliced(&[4096, 4096], slice![.., ..; -1], f32)?;
    show("last axis reversed", plan, |src, out, _| {
        for (out, src) in out.chunks_exact_mut(4096).zip(src.chunks_exact(4096)) {
            fill(out, src.iter().copied().rev());
        }
    });
    let plan = transposed(&[4096, 4096], &[1, 0], f32)?;
    show("transpose 4096 x 4096 f32", plan, |src, out, _| {
        transpose_by_hand::<4096>(out, src);
    });
    let plan = transposed(&[64, 512, 512], &[0, 2, 1], f32)?;
    show("transposes of 64 x 512 x 512 f32", plan, |src, out, _| {
        for (out, src) in out.chunks_exact_mut(1 << 18).zip(src.chunks_exact(1 << 18)) {
            transpose_by_hand::<512>(out, src);
        }
    });
    let plan = transposed(&images, &[0, 3, 1, 2], u8)?;
    show("NHWC -> NCHW u8 [64,480,640,3]", plan, |src, out, _| {
        let images = bytemuck::cast_slice(src).chunks_exact(3 * PLANE).take(64);
        let out = bytemuck::cast_slice_mut::<_, u8>(out);
        for (out, src) in out.chunks_exact_mut(3 * PLANE).zip(images) {
            let (red, others) = out.split_at_mut(PLANE);
            let (green, blue) = others.split_at_mut(PLANE);
            let pixels = src.as_chunks::<3>().0.iter();
            for (((pixel, red), green), blue) in pixels.zip(red).zip(green).zip(blue) {
                [*red, *green, *blue] = *pixel;
            }
        }
    });
    let plan = transposed(&[64, 3, 480, 640], &[0, 2, 3, 1], u8)?;
    show("NCHW -> NHWC u8", plan, |src, out, _| {
        let images = bytemuck::cast_slice(src).chunks_exact(3 * PLANE).take(64);
        let out = bytemuck::cast_slice_mut::<_, u8>(out);
        for (out, src) in out.chunks_exact_mut(3 * PLANE).zip(images) {
            let (red, others) = src.split_at(PLANE);
            let (green, blue) = others.split_at(PLANE);
            let pixels = out.as_chunks_mut::<3>().0.iter_mut();
            for (((pixel, red), green), blue) in pixels.zip(red).zip(green).zip(blue) {
                *pixel = [*red, *green, *blue];
            }
        }
    });
    let plan = transposed(&[32, 128, 16, 64], &[0, 2, 1, 3], f32)?;
    show("heads swapped [32,128,16,64] f32", plan, |src, out, _| {
        let (src, out) = (src.as_chunks::<64>().0, out.as_chunks_mut::<64>().0);
        for b in 0..32 {
            for token in 0..128 {
                for head in 0..16 {
                    out[(b * 16 + head) * 128 + token] = src[(b * 128 + token) * 16 + head];
                }
            }
        }
    });
    let plan = sliced(&images, slice![.., .., ..; -1], u8)?;
    show("flip of pixels u8 [64,480,640,3]", plan, |src, out, _| {
        let rows = bytemuck::cast_slice_mut::<_, u8>(out)[..192 * PLANE].chunks_exact_mut(1920);
        for (out, src) in rows.zip(bytemuck::cast_slice(src).chunks_exact(1920)) {
            let pixels = src.as_chunks::<3>().0.iter().rev();
            for (out, pixel) in out.as_chunks_mut::<3>().0.iter_mut().zip(pixels) {
                *out = *pixel;
            }
        }
    });
    Ok(())
}

/// Copies the first `N` of every 20 bytes.
fn rows_by_hand<const N: usize>(src: &[f32], out: &mut [f32], _: &[u32]) {
    let (src, out) = (bytemuck::cast_slice(src), bytemuck::cast_slice_mut(out));
    let (src, out): (&[u8], &mut [u8]) = (&src[..60_000_000], &mut out[..N * 3_000_000]);
    for (out, src) in out
        .as_chunks_mut::<N>()
        .0
        .iter_mut()
        .zip(src.as_chunks::<20>().0)
    {
        out.copy_from_slice(&src[..N]);
    }
}

fn fill_every<const STEP: usize>(out: &mut [f32], values: &[f32]) {
    for (out, value) in out.iter_mut().step_by(STEP).zip(values) {
        *out = *value;
    }
}

/// Does by hand what a plan does: from the source, to the result, by the numbers of rows.
type Loop = fn(&[f32], &mut [f32], &[u32]);

/// The pixels of an image.
const PLANE: usize = 480 * 640;

/// Transposes a matrix of `SIZE` rows and columns in tiles of 16 rows and 16 columns, which took half as long as 16 rows and
/// 128 columns.
fn transpose_by_hand<const SIZE: usize>(out: &mut [f32], src: &[f32]) {
    for y in (0..SIZE).step_by(16) {
        for x in (0..SIZE).step_by(16) {
            for i in y..y + 16 {
                let row = &mut out[i * SIZE + x..][..16];
                for (j, out) in row.iter_mut().enumerate() {
                    *out = src[(x + j) * SIZE + i];
                }
            }
        }
    }
}

/// Whether results that go around the caches pay for readers, who find less of them in a cache.
fn sum() -> Result<(), Box<dyn Error>> {
    println!("-- transposes of f32, reused output, ms");
    for n in [512, 2048, 4096, 6000] {
        let plan = Plan::contiguous(View::new(&[n, n])?.transpose(&[1, 0])?, DType::F32)?;
        let (src, mut out) = (vec![1f32; n * n], vec![0f32; n * n]);
        let alone = best(20, || {
            plan.run_cpu(&[(&src).into()], &mut [(&mut out).into()])
                .expect("a transpose")
        });
        let summed = best(20, || {
            plan.run_cpu(&[(&src).into()], &mut [(&mut out).into()])
                .expect("a transpose");
            let bits = out.iter().map(|value| value.to_bits());
            bits.fold(0u32, u32::wrapping_add)
        });
        let mib = (n * n * 4) >> 20;
        println!(
            "{n} x {n} ({mib} MiB): {:.2}, with a sum {:.2}",
            ms(alone),
            ms(summed)
        );
    }
    Ok(())
}

/// The share of a copy of the result's bytes into warm memory. The results are tensors, whose memory is used again.
fn assemble() -> Result<(), Box<dyn Error>> {
    println!(
        "-- arrays put together, one thread; percent of copy_from_slice of the result's bytes"
    );
    let backend = Backend::cpu().with_threads(1);
    let values: Vec<f32> = (0..1 << 24).map(|n| n as f32).collect();
    let x = backend.upload((&values, &[4096, 4096]))?;
    let tile = backend.upload((&values[..1 << 20], &[1024, 1024]))?;
    let bytes: Vec<u8> = (0..64 * 512 * 682 * 3).map(|n| n as u8).collect();
    let images = backend.upload((&bytes, &[64, 512, 682, 3]))?;
    let (zero, black) = (
        backend.upload((&[0f32], &[]))?,
        backend.upload((&[0u8], &[]))?,
    );
    let plane = images.slice(&slice![.., .., .., 0])?.contiguous()?;
    let frame = [[0, 0], [8, 8], [8, 8], [0, 0]];
    let cases: [Case<'_>; 13] = [
        (
            "concat f32, axis 0",
            Box::new(|| Tensor::concat(&[&x, &x], 0)),
        ),
        (
            "concat f32, axis 1",
            Box::new(|| Tensor::concat(&[&x, &x], 1)),
        ),
        (
            "stack f32, axis 0",
            Box::new(|| Tensor::stack(&[&x, &x], 0)),
        ),
        (
            "stack f32, last axis",
            Box::new(|| Tensor::stack(&[&x, &x], -1)),
        ),
        (
            "3 planes to pixels, u8",
            Box::new(|| Tensor::stack(&[&plane; 3], -1)),
        ),
        (
            "pad f32 by zeros",
            Box::new(|| x.pad(&[[8, 8]; 2], Pad::Constant(&zero))),
        ),
        (
            "pad f32, reflected",
            Box::new(|| x.pad(&[[8, 8]; 2], Pad::Reflect)),
        ),
        (
            "pad pixels by zeros",
            Box::new(|| images.pad(&frame, Pad::Constant(&black))),
        ),
        (
            "pad pixels, reflected",
            Box::new(|| images.pad(&frame, Pad::Reflect)),
        ),
        ("roll f32, axis 1", Box::new(|| x.roll(&[101], &[1]))),
        ("tile f32, 4 x 4", Box::new(|| tile.tile(&[4, 4]))),
        ("repeat f32, axis 0", Box::new(|| tile.repeat(16, 0))),
        ("repeat f32, last axis", Box::new(|| x.repeat(2, 1))),
    ];
    report(&cases)
}

/// A name, and a call that makes a tensor.
type Case<'a> = (
    &'a str,
    Box<dyn Fn() -> Result<Tensor, wgslice::Error> + 'a>,
);

fn report(cases: &[Case<'_>]) -> Result<(), Box<dyn Error>> {
    for (name, run) in cases {
        let made = run()?.bytes()?.into_owned();
        let mut out = vec![0u8; made.len()];
        let copy = best(9, || out.copy_from_slice(&made));
        let time = best(9, || run().expect("arrays that fit"));
        let share = 100.0 * copy.as_secs_f64() / time.as_secs_f64();
        match made.len() {
            // A call that changes a tensor in place returns a scalar.
            ..=4 => println!("{name:24} {:6.2} ms", ms(time)),
            _ => println!("{name:24} {:6.2} ms, {share:4.0} %", ms(time)),
        }
    }
    Ok(())
}

/// Operations that select elements by masks, arrays and begins, as `benches/compare/assemble.py` calls them elsewhere. What
/// changes a tensor in place changes one that is changed again by the next call.
fn select(threads: usize) -> Result<(), Box<dyn Error>> {
    println!(
        "-- elements selected, {threads} threads; percent of copy_from_slice of the result's bytes"
    );
    let backend = Backend::cpu().with_threads(threads);
    let values: Vec<f32> = (0..1 << 24).map(|n| n as f32).collect();
    let x = backend.upload((&values, &[4096, 4096]))?;
    let y = x.slice(&slice![..; -1, ..])?.contiguous()?;
    let mut random = Mixed(1);
    let mut flags =
        |count: usize| -> Vec<u8> { (0..count).map(|_| (random.next() >> 31) as u8).collect() };
    let mask = backend.upload((&flags(1 << 24), &[4096, 4096]))?;
    let chosen = flags(1 << 18);
    let count = chosen.iter().filter(|&&flag| flag > 0).count();
    let chosen = backend.upload((&chosen, &[1 << 18]))?;
    let trues = mask.bytes()?.iter().filter(|&&flag| flag > 0).count();
    let table = x.reshape(&[1 << 18, 64])?;
    let zero = backend.upload((&[0f32], &[]))?;
    let places = |step: i64| -> Vec<i64> { (0..2048).map(|n| n * step % 4096).collect() };
    let outer = IndexSpec::new([IndexItem::from(places(1531)), places(2087).into()]).outer();
    let full = || IndexItem::Slice(slice![..].items()[0]);
    let cube = x.reshape(&[256, 256, 256])?;
    let of_cube = |step: i64| -> Vec<i64> { (0..1 << 16).map(|n| n * step % 256).collect() };
    let mixed = IndexSpec::new([of_cube(77).into(), full(), IndexItem::from(of_cube(31))]);
    // Caches of 64 sequences of 1,024 tokens, and 16 new tokens of each.
    let caches = x.reshape(&[64, 1024, 256])?;
    let tokens = caches.slice(&slice![.., ..16])?.contiguous()?;
    let begins: Vec<i32> = (0..64).map(|n| n * 613 % 1008).collect();
    let begins = backend.upload((&begins, &[64, 1]))?;
    let pasted = RefCell::new(caches.clone());
    let options = PasteOptions::default();
    // Windows of 64 by 64 at 4,096 places.
    let starts: Vec<i32> = (0..8192).map(|n| n * 1871 % 4033).collect();
    let starts = backend.upload((&starts, &[4096, 2]))?;
    let dims = GatherDims {
        offset_dims: vec![1, 2],
        start_index_map: vec![0, 1],
        index_vector_dim: 1,
        slice_sizes: vec![64, 64],
        ..GatherDims::default()
    };
    let windows = x.xla_gather(&starts, &dims, OutOfRange::Clamp)?.0;
    let into = ScatterDims {
        update_window_dims: vec![1, 2],
        scatter_dims_to_operand_dims: vec![0, 1],
        index_vector_dim: 1,
        ..ScatterDims::default()
    };
    let sums = RefCell::new(x.clone());
    let adds = XlaScatterOptions {
        combine: Some(Combine::Add),
        ..XlaScatterOptions::default()
    };
    let updated = RefCell::new(x.clone());
    let ids: Vec<i64> = (0..1 << 16).map(|n| n * 2087 % (1 << 18)).collect();
    let rows = IndexSpec::new([IndexItem::from(ids)]);
    let of_rows = table.slice(&slice![..1 << 16])?.contiguous()?;
    let (written, added) = (RefCell::new(x.clone()), RefCell::new(table.clone()));
    let cases: [Case<'_>; 12] = [
        ("nonzero", Box::new(|| Ok(mask.nonzero(Some(trues))?.0))),
        (
            "boolean_mask of rows",
            Box::new(|| Ok(table.boolean_mask(&chosen, 0, Some(count))?.0)),
        ),
        (
            "boolean_mask of elements",
            Box::new(|| Ok(x.boolean_mask(&mask, 0, Some(trues))?.0)),
        ),
        ("select", Box::new(|| Tensor::select(&mask, &x, &y))),
        (
            "masked_update",
            Box::new(|| {
                updated.borrow_mut().masked_update(&mask, &zero)?;
                Ok(zero.clone())
            }),
        ),
        ("index, outer", Box::new(|| x.index(&outer))),
        ("index, mixed", Box::new(|| cube.index(&mixed))),
        (
            "index_update, outer",
            Box::new(|| {
                let mut x = written.borrow_mut();
                x.index_update(&outer, &zero, Combine::Update)?;
                Ok(zero.clone())
            }),
        ),
        (
            "index_update, add",
            Box::new(|| {
                let mut table = added.borrow_mut();
                table.index_update(&rows, &of_rows, Combine::Add)?;
                Ok(zero.clone())
            }),
        ),
        (
            "paste",
            Box::new(|| {
                pasted
                    .borrow_mut()
                    .paste(&tokens, Boxes::new(&begins), &options)?;
                Ok(zero.clone())
            }),
        ),
        (
            "xla_gather",
            Box::new(|| Ok(x.xla_gather(&starts, &dims, OutOfRange::Clamp)?.0)),
        ),
        (
            "xla_scatter, add",
            Box::new(|| {
                sums.borrow_mut()
                    .xla_scatter(&starts, &windows, &into, adds)?;
                Ok(zero.clone())
            }),
        ),
    ];
    report(&cases)
}
