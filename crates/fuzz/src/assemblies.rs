//! Assembles arrays from other arrays, with shapes and arguments of any size.

use crate::{
    draw::{integers, size, sizes},
    plans::{MAX_RUN_BYTES, check_plan, dtype, number, ok_value, view},
};
use arbitrary::{Result, Unstructured};
use wgslice::{Error, Plan, Values, ValuesMut, View, options::Pad};

/// Plans an array that is assembled from other arrays. If these arrays and the result are small, runs the plan and
/// checks that its steps write every byte of the result.
pub fn check(u: &mut Unstructured<'_>) -> Result<()> {
    let Some(plan) = ok_value(draw_assembly(u)?) else {
        return Ok(());
    };
    check_plan(&plan);
    let (bytes, inputs) = (plan.outputs()[0].bytes(), plan.inputs());
    if bytes > MAX_RUN_BYTES || inputs.iter().any(|input| input.bytes() > MAX_RUN_BYTES) {
        return Ok(());
    }
    let sources: Vec<_> = inputs.iter().map(|input| vec![7; input.bytes()]).collect();
    let values = sources
        .iter()
        .map(|bytes| Values::from_bytes(plan.dtype(), bytes));
    let mut dest = vec![9; bytes];
    let outputs = &mut [ValuesMut::from_bytes(plan.dtype(), &mut dest)];
    plan.run_cpu(&values.collect::<Vec<_>>(), outputs)
        .expect("buffers that fit");
    assert!(dest.iter().all(|&byte| byte == 7), "{plan:?}");
    Ok(())
}

/// Draws a plan that assembles arrays of any shapes.
fn draw_assembly(u: &mut Unstructured<'_>) -> Result<std::result::Result<Plan, Error>> {
    let (shape, dtype) = (sizes(u)?, dtype(u)?);
    let Ok(x) = view(u, &shape)? else {
        return Ok(Err(View::new(&[usize::MAX]).unwrap_err()));
    };
    let rank = x.shape().len();
    let draw_count = |u: &mut Unstructured<'_>| u.int_in_range(0..=3_usize);
    Ok(match u.int_in_range(0..=6)? {
        choice @ (0 | 1) => {
            let mut arrays = vec![x.clone(); draw_count(u)?];
            if u.ratio(1, 8)? {
                arrays.extend(view(u, &shape)?);
            }
            let constructor = if choice == 0 {
                Plan::concat
            } else {
                Plan::stack
            };
            constructor(&arrays, number(u)?, dtype)
        }
        2 => {
            let part_sizes = sizes(u)?;
            let axis = number(u)?;
            let split_parts = x.split(&part_sizes, axis);
            // The parts of a split are joined again.
            split_parts.and_then(|parts| Plan::concat(&parts, axis, dtype))
        }
        3 => {
            let paddings = (0..rank).map(|_| Ok([size(u)?, size(u)?]));
            let paddings: Vec<_> = paddings.collect::<Result<_>>()?;
            let modes = [
                Pad::Constant(()),
                Pad::Edge,
                Pad::Reflect,
                Pad::Symmetric,
                Pad::Wrap,
            ];
            let mode = *u.choose(&modes)?;
            Plan::pad(&x, &paddings, mode, dtype)
        }
        4 => {
            let shifts = integers(u, rank)?;
            let axes = shifts.iter().map(|_| number(u));
            let axes: Vec<_> = axes.collect::<Result<_>>()?;
            Plan::roll(&x, &shifts, &axes, dtype)
        }
        5 => {
            let multiples = (0..rank).map(|_| size(u));
            let multiples: Vec<_> = multiples.collect::<Result<_>>()?;
            Plan::tile(&x, &multiples, dtype)
        }
        _ => {
            let (times, axis) = (size(u)?, number(u)?);
            Plan::repeat(&x, times, axis, dtype)
        }
    })
}
