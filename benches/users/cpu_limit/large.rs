//! Times large slices, gathers, gradients and transposes, and compares them with copies and loops.

use crate::common::{Random, fill, min_and_noise, min_time, ms, run_bytes};
use rayon::prelude::*;
use std::{error::Error, time::Duration};
use wgslice::{DType, Plan, SliceSpec, Values, View, options::GatherOptions, slice};

/// The approximate number of `f32` in a large result.
const LARGE_LEN: usize = 16 * 1024 * 1024;

pub(crate) fn large(threads: usize) -> Result<(), Box<dyn Error + Send + Sync>> {
    println!(
        "-- large, results of about 64 MiB, warm output, rayon pool of {threads}; percent of copy_from_slice \
         (of as many result bytes)"
    );
    let src: Vec<f32> = (0..LARGE_LEN * 2).map(|i| i as f32).collect();
    let mut out = vec![0f32; LARGE_LEN];
    // Copies as many bytes as the result has, on `threads` threads.
    let copy = |out: &mut [u8], src: &[u8]| match threads {
        1 => out.copy_from_slice(src),
        _ => {
            let part_len = out.len().div_ceil(threads);
            let parts = out.par_chunks_mut(part_len).zip(src.par_chunks(part_len));
            parts.for_each(|(out, src)| out.copy_from_slice(src));
        }
    };
    let one_thread_time = min_time(40, || out.copy_from_slice(&src[..LARGE_LEN]));
    let all_threads_time = match threads {
        1 => one_thread_time,
        _ => min_time(40, || {
            let src = bytemuck::cast_slice(&src[..LARGE_LEN]);
            copy(bytemuck::cast_slice_mut(&mut out), src);
        }),
    };
    let rate = |time: Duration| LARGE_LEN as f64 * 4.0 / time.as_nanos() as f64;
    println!(
        "memcpy 1 thread {:.1} GB/s; {threads} threads {:.1} GB/s (result bytes)",
        rate(one_thread_time),
        rate(all_threads_time)
    );
    let row_count = LARGE_LEN / 128;
    let mut generator = Random(1);
    let ids: Vec<u32> = (0..row_count)
        .map(|_| (generator.next() >> 5) % (2 * row_count) as u32)
        .collect();
    // A copy of so many bytes bypasses the caches. A copy runs before the plan and before the loop, so that neither has
    // to write back cache lines that the other has changed.
    let mut show = |name: &str, plan: Plan, by_hand: Loop| {
        let bytes = plan.outputs()[0].bytes();
        let indices = name.starts_with("gather").then_some(Values::from(&ids));
        let mut copy_time = Duration::MAX;
        let (mut times, mut loop_times) = (Vec::new(), Vec::new());
        let mut expected = Vec::new();
        for _ in 0..40 {
            let source_bytes: &[u8] = bytemuck::cast_slice(&src);
            let from = &source_bytes[..plan.inputs()[0].bytes()];
            let to = &mut bytemuck::cast_slice_mut(&mut out)[..bytes];
            copy_time = copy_time.min(min_time(1, || copy(to, &source_bytes[..bytes])));
            times.push(min_time(1, || {
                let outcome = run_bytes(&plan, from, indices, to);
                outcome.map(drop).expect("it fits");
            }));
            if expected.is_empty() {
                expected = to.to_vec();
            }
            copy_time = copy_time.min(min_time(1, || copy(to, &source_bytes[..bytes])));
            loop_times.push(min_time(1, || by_hand(&src, &mut out, &ids)));
        }
        let ((time, noise), (loop_time, loop_noise)) =
            (min_and_noise(times), min_and_noise(loop_times));
        let loop_result: &[u8] = bytemuck::cast_slice(&out);
        assert!(
            loop_result.starts_with(&expected),
            "{name}: the loop has another result"
        );
        println!(
            "{name:32} {:5.2} ms {:4.1} GB/s, {:3.0} % of memcpy; loop {:5.2} ms, {:4.2} of it; \
             noise {noise:.0} and {loop_noise:.0} %",
            ms(time),
            bytes as f64 / time.as_nanos() as f64,
            100.0 * copy_time.as_secs_f64() / time.as_secs_f64(),
            ms(loop_time),
            time.as_secs_f64() / loop_time.as_secs_f64(),
        );
    };
    let sliced = |shape: &[usize], spec: SliceSpec, dtype| Plan::slice(shape, &spec, dtype);
    let transposed = |shape: &[usize], axes: &[usize], dtype| -> Result<Plan, wgslice::Error> {
        Plan::contiguous(View::new(shape)?.transpose(axes)?, dtype)
    };
    let row_options = GatherOptions {
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
    let plan = Plan::gather(&[2 * row_count, 128], &[row_count], row_options, f32)?;
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
        let block_numbers =
            (0..1 << 15).map(|n| (n >> 10 << 13) + (n >> 5 & 31) * 128 + (n & 31) * 2);
        for (out, number) in out.as_chunks_mut::<4>().0.iter_mut().zip(block_numbers) {
            let block = &src[number * 64..][..16];
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
        let images = bytemuck::cast_slice(src)
            .chunks_exact(3 * PLANE_PIXELS)
            .take(64);
        let out = bytemuck::cast_slice_mut::<_, u8>(out);
        for (out, src) in out.chunks_exact_mut(3 * PLANE_PIXELS).zip(images) {
            let (red, others) = out.split_at_mut(PLANE_PIXELS);
            let (green, blue) = others.split_at_mut(PLANE_PIXELS);
            let pixels = src.as_chunks::<3>().0.iter();
            for (((pixel, red), green), blue) in pixels.zip(red).zip(green).zip(blue) {
                [*red, *green, *blue] = *pixel;
            }
        }
    });
    let plan = transposed(&[64, 3, 480, 640], &[0, 2, 3, 1], u8)?;
    show("NCHW -> NHWC u8", plan, |src, out, _| {
        let images = bytemuck::cast_slice(src)
            .chunks_exact(3 * PLANE_PIXELS)
            .take(64);
        let out = bytemuck::cast_slice_mut::<_, u8>(out);
        for (out, src) in out.chunks_exact_mut(3 * PLANE_PIXELS).zip(images) {
            let (red, others) = src.split_at(PLANE_PIXELS);
            let (green, blue) = others.split_at(PLANE_PIXELS);
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
        let rows =
            bytemuck::cast_slice_mut::<_, u8>(out)[..192 * PLANE_PIXELS].chunks_exact_mut(1920);
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

/// A loop that computes the result of a plan. Its arguments are the source, the result and the row numbers.
type Loop = fn(&[f32], &mut [f32], &[u32]);

/// The number of pixels of an image.
const PLANE_PIXELS: usize = 480 * 640;

/// Transposes a matrix of `SIZE` rows and columns in tiles of 16 × 16, which took half as long as tiles of 16 × 128.
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
