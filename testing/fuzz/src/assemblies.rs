//! Puts arrays together, of shapes and by arguments of any size.

use crate::{
    draw::{integers, size, sizes},
    plans::{SMALL, check_plan, checked, dtype, number, view},
};
use arbitrary::{Result, Unstructured};
use wgslice::{Assembly, Error, View, options::Pad};

/// Makes an assembly, and runs it if its arrays are small: its pieces write every byte of the result.
pub fn check(u: &mut Unstructured<'_>) -> Result<()> {
    let Some((assembly, sources)) = checked(assembly(u)?) else {
        return Ok(());
    };
    let bytes = assembly.shape().iter().product::<usize>() * assembly.dtype().size();
    let mut pieces = 0;
    for (source, plan) in assembly.pieces().take(64) {
        assert!(source < sources.len());
        assert_eq!(plan.result_bytes(), bytes);
        check_plan(plan);
        pieces += 1;
    }
    assert_eq!(pieces == 0, bytes == 0);
    let of_source = assembly.dtype().size();
    let lengths = sources.iter().map(|view| view.source_shape().iter());
    let lengths: Vec<_> = lengths
        .map(|shape| shape.product::<usize>() * of_source)
        .collect();
    if bytes > SMALL || lengths.iter().any(|&length| length > SMALL) {
        return Ok(());
    }
    let sources: Vec<_> = lengths.iter().map(|&length| vec![7; length]).collect();
    let mut dest = vec![9; bytes];
    for (source, plan) in assembly.pieces() {
        plan.run_cpu_bytes(&sources[source], None, &mut dest)
            .expect("buffers that fit");
    }
    assert!(dest.iter().all(|&byte| byte == 7), "{assembly:?}");
    Ok(())
}

/// An assembly of any shape, and the views of its sources.
fn assembly(u: &mut Unstructured<'_>) -> Result<std::result::Result<(Assembly, Vec<View>), Error>> {
    let (shape, dtype) = (sizes(u)?, dtype(u)?);
    let Ok(x) = view(u, &shape)? else {
        return Ok(Err(View::new(&[usize::MAX]).unwrap_err()));
    };
    let rank = x.shape().len();
    let count = |u: &mut Unstructured<'_>| u.int_in_range(0..=3_usize);
    Ok(match u.int_in_range(0..=6)? {
        kind @ (0 | 1) => {
            let mut arrays = vec![x.clone(); count(u)?];
            if u.ratio(1, 8)? {
                arrays.extend(view(u, &shape)?);
            }
            let make = if kind == 0 {
                Assembly::concat
            } else {
                Assembly::stack
            };
            make(&arrays, number(u)?, dtype).map(|assembly| (assembly, arrays))
        }
        2 => {
            let parts = sizes(u)?;
            let axis = number(u)?;
            let split = x.split(&parts, axis);
            // What was taken apart is put together again.
            split.and_then(|parts| Ok((Assembly::concat(&parts, axis, dtype)?, parts)))
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
            let padded = Assembly::pad(&x, &paddings, mode, dtype);
            padded.and_then(|assembly| Ok((assembly, vec![x, View::new(&[])?])))
        }
        4 => {
            let shifts = integers(u, rank)?;
            let axes = shifts.iter().map(|_| number(u));
            let axes: Vec<_> = axes.collect::<Result<_>>()?;
            Assembly::roll(&x, &shifts, &axes, dtype).map(|assembly| (assembly, vec![x]))
        }
        5 => {
            let multiples = (0..rank).map(|_| size(u));
            let multiples: Vec<_> = multiples.collect::<Result<_>>()?;
            Assembly::tile(&x, &multiples, dtype).map(|assembly| (assembly, vec![x]))
        }
        _ => {
            let (times, axis) = (size(u)?, number(u)?);
            Assembly::repeat(&x, times, axis, dtype).map(|assembly| (assembly, vec![x]))
        }
    })
}
