//! Times transposes, and a sum of their results.

use crate::common::{min_time, ms};
use std::error::Error;
use wgslice::{DType, Plan, View};

/// Measures whether stores that bypass the caches pay off if the result is read right after them. Such stores leave
/// less of the result in the caches.
pub(crate) fn sum() -> Result<(), Box<dyn Error>> {
    println!("-- transposes of f32, reused output, ms");
    for n in [512, 2048, 4096, 6000] {
        let plan = Plan::contiguous(View::new(&[n, n])?.transpose(&[1, 0])?, DType::F32)?;
        let (src, mut out) = (vec![1f32; n * n], vec![0f32; n * n]);
        let time_alone = min_time(20, || {
            plan.run_cpu(&[(&src).into()], &mut [(&mut out).into()])
                .expect("a transpose")
        });
        let time_with_sum = min_time(20, || {
            plan.run_cpu(&[(&src).into()], &mut [(&mut out).into()])
                .expect("a transpose");
            let bits = out.iter().map(|value| value.to_bits());
            bits.fold(0u32, u32::wrapping_add)
        });
        let mib = (n * n * 4) >> 20;
        println!(
            "{n} x {n} ({mib} MiB): {:.2}, with a sum {:.2}",
            ms(time_alone),
            ms(time_with_sum)
        );
    }
    Ok(())
}
