//! Times small slices and gathers, and compares them with ndarray and loops.

use crate::common::{fill, latency};
use ndarray::{ArrayView2, s};
use std::error::Error;
use wgslice::{Backend, DType, Plan, options::GatherOptions, slice};

pub(crate) fn small() -> Result<(), Box<dyn Error>> {
    println!("-- small slices and gathers, ns, minimum of 300 x 200 calls");
    let backend = Backend::cpu();
    for (r, c) in [(16usize, 8usize), (16, 16), (128, 128)] {
        let (h, w) = (r * 2, c * 3);
        let x: Vec<f32> = (0..h * w).map(|i| i as f32).collect();
        let array = ArrayView2::from_shape((h, w), &x)?;
        let (rows, cols) = (r as i64, c as i64);
        let crop = slice![4..4 + rows, 3..3 + cols];
        let reversed = slice![4..4 + rows, 2 + cols..2; -1];
        let every_second = slice![4..4 + rows, 0..2 * cols; 2];
        for (name, spec) in [
            ("crop", crop),
            ("reversed", reversed),
            ("::2", every_second),
        ] {
            let plan = Plan::slice(&[h, w], &spec, DType::F32)?;
            let mut out = vec![0f32; r * c];
            let (row, long_row) = (
                |y: usize| &x[y * w + 3..][..c],
                |y: usize| &x[y * w..][..2 * c],
            );
            let slice_time = latency(|| backend.slice((&x, &[h, w]), &spec).expect("a slice"));
            let macro_time = match name {
                "crop" => latency(|| {
                    let spec = slice![4..4 + rows, 3..3 + cols];
                    backend.slice((&x, &[h, w]), &spec).expect("a slice")
                }),
                _ => f64::NAN,
            };
            let reused_time = latency(|| {
                plan.run_cpu(&[(&x).into()], &mut [(&mut out).into()])
                    .expect("a slice");
            });
            let plan_time = latency(|| Plan::slice(&[h, w], &spec, DType::F32).expect("a plan"));
            let ndarray_time = match name {
                "crop" => latency(|| array.slice(s![4..4 + r, 3..3 + c]).to_owned()),
                "reversed" => latency(|| array.slice(s![4..4 + r, 3..3 + c; -1]).to_owned()),
                _ => latency(|| array.slice(s![4..4 + r, 0..2 * c; 2]).to_owned()),
            };
            let rows_of_crop = 4..4 + r;
            let new_loop_time = match name {
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
            let reused_loop_time = match name {
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
                "{r}x{c} f32 ({bytes} B) {name:9}: Backend::slice {slice_time:.0} (slice! each call \
                 {macro_time:.0}), Plan::slice alone {plan_time:.0}, plan.run_cpu reused {reused_time:.0} | \
                 ndarray to_owned {ndarray_time:.0}, loop new Vec {new_loop_time:.0}, loop reused \
                 {reused_loop_time:.0}"
            );
        }
    }
    for (rows, bytes) in [(16, 16), (128, 512), (512, 4096)] {
        let width = bytes / 4;
        let x: Vec<f32> = (0..4096 * width).map(|i| i as f32).collect();
        let indices: Vec<i32> = (0..rows).map(|i| i * 1237 % 4096).collect();
        let (count, options) = (indices.len(), GatherOptions::default());
        let gather_time = latency(|| {
            let gathered = backend.gather((&x, &[4096, width]), (&indices, &[count]), options);
            gathered.expect("a gather")
        });
        let new_loop_time = latency(|| {
            let mut out: Vec<f32> = Vec::with_capacity(count * width);
            for &index in &indices {
                out.extend_from_slice(&x[index as usize * width..][..width]);
            }
            out
        });
        println!(
            "{rows} rows of {bytes} B: Backend::gather {gather_time:.0}, loop new Vec {new_loop_time:.0}"
        );
    }
    Ok(())
}
