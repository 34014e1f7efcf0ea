//! Draws the parts of cases.
//!
//! | part | distribution |
//! |---|---|
//! | shapes | at most 3000 elements; sizes are mostly below 9, 1 is frequent, and some last dimensions are long |
//! | values | from -127 to 127, which fits every element size; never 0, the value of an out-of-range row |
//! | values of a scatter | in 5 of 16 cases, floating-point numbers whose sums depend on the order of the rows |
//! | begin, end | inside the dimension, up to 2 beyond either end, or the lowest or highest 64-bit integer |
//! | indices | mostly inside the dimension; some are negative, too large or beyond 32 bits |

use super::Rng;
use crate::{
    arguments::Arguments,
    case::{Case, Tensor},
    combine::bits_of_number,
    oracle,
};
use serde_json::{Map, Value, json};
use wgslice::DType;

/// The maximum number of elements of a drawn shape. A size of 0 counts as 1.
pub(crate) const MAX_ELEMENTS: usize = 3000;

/// Draws begin, end, strides and masks for a shape.
pub(crate) fn draw_spec(rng: &mut Rng, shape: &[usize]) -> Map<String, Value> {
    // There are rarely more entries than dimensions.
    let max_entries = shape.len() + usize::from(rng.u8(..3) == 0) * 2;
    // In at least a third of the specs, every dimension has an entry. In half of these, the last dimension has a small
    // step, because most special paths are for units that are close together.
    let entry_count = match rng.u8(..3) {
        0 => shape.len(),
        _ => rng.usize(..=max_entries),
    };
    let has_small_step = entry_count == shape.len() && rng.bool();
    let (mut begin, mut end, mut strides) = (Vec::new(), Vec::new(), Vec::new());
    for entry in 0..entry_count {
        let size = shape.get(entry).copied().unwrap_or(3);
        let mut draw_bound = || match rng.u8(..60) {
            0 => i64::MIN,
            1 => i64::MAX,
            _ => draw_integer(rng, 0, 2 * size + 4) - size as i64 - 2,
        };
        begin.push(draw_bound());
        end.push(draw_bound());
        strides.push(match rng.u8(..60) {
            _ if has_small_step && entry + 1 == entry_count => [-2, -1, 2, 2, 3][rng.usize(..5)],
            0 => 0,
            1 => i64::MIN,
            2 => i64::MAX,
            3..33 => 1,
            33..45 => -1,
            _ => rng.i64(-4..=4),
        });
    }
    // In some specs, masks also have bits beyond the entries, which have no effect.
    let bit_count = match rng.u8(..8) {
        0 => 32,
        _ => entry_count,
    };
    let mut draw_mask = |percent: u8| {
        let set_bits = (0..bit_count).filter(|_| rng.u8(..100) < percent);
        set_bits.fold(0, |mask, bit| mask | 1_i32 << bit)
    };
    let masks = [draw_mask(50), draw_mask(50), draw_mask(6), draw_mask(6)];
    let ellipsis_mask = match rng.u8(..3) {
        0 => 1_i64 << rng.usize(..entry_count + 1),
        _ => 0,
    };
    let json = json!({
        "begin": begin,
        "end": end,
        "strides": strides,
        "begin_mask": masks[0],
        "end_mask": masks[1],
        "ellipsis_mask": ellipsis_mask,
        "new_axis_mask": masks[2],
        "shrink_axis_mask": masks[3],
    });
    match json {
        Value::Object(args) => args,
        _ => Map::new(),
    }
}

/// Draws index tuples that point into dimensions of these sizes: one tuple for each position of the shape
/// `leading_sizes`.
pub(crate) fn draw_tuples(rng: &mut Rng, leading_sizes: &[usize], sizes: &[usize]) -> Tensor {
    let shape = [leading_sizes, &[sizes.len()]].concat();
    let has_bad_rows = rng.u8(..2) == 0;
    let row_count: usize = leading_sizes.iter().product();
    let mut data = Vec::with_capacity(row_count * sizes.len());
    for _ in 0..row_count {
        for &size in sizes {
            let size = size as i64;
            data.push(match rng.u8(..if has_bad_rows { 25 } else { 1 }) {
                20 => rng.i64(-2 * size - 1..=2 * size + 1),
                21 => -1 - rng.i64(0..=size),
                22 => size,
                23 => (1 << 32) + rng.i64(0..=size),
                24 => [i64::MIN, i64::MAX, -1 << 32][rng.usize(..3)],
                _ => rng.i64(0..size.max(1)),
            });
        }
    }
    Tensor { shape, data }
}

/// Makes tuples point at different positions in random order, if there are enough positions. `sizes` are the sizes of
/// the indexed dimensions.
pub(crate) fn make_tuples_differ(rng: &mut Rng, tuples: &mut [i64], sizes: &[usize]) {
    let depth = sizes.len().max(1);
    let mut places: Vec<usize> = (0..sizes.iter().product()).collect();
    if tuples.len() / depth > places.len() {
        return;
    }
    rng.shuffle(&mut places);
    for (tuple, mut place) in tuples.chunks_exact_mut(depth).zip(places) {
        for (index, &size) in tuple.iter_mut().zip(sizes).rev() {
            *index = (place % size) as i64;
            place /= size;
        }
    }
}

/// Sometimes inserts arguments with policies for indices, which differ from TensorFlow's policies.
pub(crate) fn draw_policy(rng: &mut Rng, args: &mut Map<String, Value>) {
    if rng.u8(..3) == 0 {
        args.insert("negative".into(), "wrap".into());
    }
    if rng.u8(..4) == 0 {
        args.insert("out_of_range".into(), "clamp".into());
    }
}

pub(crate) fn draw_tensor(rng: &mut Rng, shape: &[usize]) -> Tensor {
    let draw_value = |_| match rng.i64(-127..127) {
        0 => 127,
        value => value,
    };
    let data = (0..shape.iter().product::<usize>())
        .map(draw_value)
        .collect();
    let shape = shape.to_vec();
    Tensor { shape, data }
}

/// In a fifth of the calls, makes all values except indices 0 or 1, like booleans. In another fifth, makes them
/// positive.
pub(crate) fn sometimes_unsigned(rng: &mut Rng, mut case: Case) -> Case {
    let change: fn(i64) -> i64 = match rng.u8(..5) {
        0 => |value| value & 1,
        1 => i64::abs,
        _ => return case,
    };
    let values = case
        .tensors
        .iter_mut()
        .filter(|(name, _)| *name != "indices");
    for value in values.flat_map(|(_, tensor)| &mut tensor.data) {
        *value = change(*value);
    }
    case
}

/// Makes the values of 5 of 16 scatters floating-point numbers. Devices can differ in subnormal numbers and in
/// infinities, so no sum can overflow, or be subnormal in the type in which devices compute it.
pub(crate) fn sometimes_floats(rng: &mut Rng, mut case: Case) -> Case {
    let dtype = match rng.u8(..16) {
        0 | 1 => DType::F32,
        2 | 3 => DType::F16,
        4 => DType::BF16,
        _ => return case,
    };
    dtype.name().clone_into(&mut case.dtype);
    let values = case
        .tensors
        .iter_mut()
        .filter(|(name, _)| *name != "indices");
    // Small f16 numbers can be subnormal. Devices add them as f32, in which they are normal, so the sums do not differ.
    let is_small = dtype == DType::F16 && rng.bool();
    for value in values.flat_map(|(_, tensor)| &mut tensor.data) {
        let mut scale = f64::from(1 << value.rem_euclid(8)) / 3.0;
        if is_small {
            scale /= f64::from(1 << 22);
        }
        *value = bits_of_number(dtype, *value as f64 * scale);
    }
    case
}

/// Draws a shape of `min_rank` to `max_rank` dimensions. The product of its sizes other than 0 is limited to
/// [`MAX_ELEMENTS`], because other tensors of the case may lack the empty dimensions.
pub(crate) fn draw_shape(rng: &mut Rng, max_rank: usize, min_rank: usize) -> Vec<usize> {
    let rank = rng.usize(min_rank..=max_rank);
    let draw_size = |_| match rng.u8(..24) {
        0 => 0,
        1..4 => 1,
        4..7 => rng.usize(10..40),
        _ => rng.usize(1..9),
    };
    let mut shape: Vec<usize> = (0..rank).map(draw_size).collect();
    // Sometimes makes the last dimension long. Its rows then have so many units that tiles end within rows.
    if let Some(last) = shape.last_mut() {
        match rng.u8(..16) {
            0 | 1 => *last = rng.usize(64..1500),
            // Pixels of three channels.
            2 => *last = 3,
            _ => {}
        }
    }
    while shape.iter().map(|&size| size.max(1)).product::<usize>() > MAX_ELEMENTS {
        let dim = rng.usize(..rank);
        shape[dim] = shape[dim].div_ceil(2);
    }
    shape
}

/// Draws up to `max_rank` dimensions, each with a size from 0 to 5.
pub(crate) fn draw_few_dims(rng: &mut Rng, max_rank: usize) -> Vec<usize> {
    (0..rng.usize(..=max_rank))
        .map(|_| rng.usize(..6))
        .collect()
}

/// Changes a shape in 3 of 40 calls. Most cases with a changed shape are invalid.
pub(crate) fn disturb_shape(rng: &mut Rng, shape: &mut Vec<usize>) {
    match rng.u8(..40) {
        0 => shape.push(1),
        1 => drop(shape.pop()),
        2 => shape.iter_mut().for_each(|size| *size += 1),
        _ => {}
    }
}

/// Draws an integer of `low..=high`.
pub(crate) fn draw_integer(rng: &mut Rng, low: usize, high: usize) -> i64 {
    rng.usize(low..=high) as i64
}

pub(crate) fn draw_rarely(rng: &mut Rng, usual_value: i64, rare_value: i64) -> i64 {
    match rng.u8(..40) {
        0 => rare_value,
        _ => usual_value,
    }
}

/// Draws one to three steps of a view: slices, transposes and broadcasts.
pub(crate) fn draw_view_steps(rng: &mut Rng, source_shape: &[usize]) -> Vec<Value> {
    let mut steps = Vec::new();
    let mut shape = source_shape.to_vec();
    for _ in 0..rng.usize(1..=3) {
        let step = match rng.u8(..4) {
            0 => {
                let mut permutation: Vec<usize> = (0..shape.len()).collect();
                rng.shuffle(&mut permutation);
                json!({ "transpose": permutation })
            }
            1 => {
                let mut new_shape = shape.clone();
                for size in &mut new_shape {
                    if *size == 1 {
                        *size = rng.usize(..4);
                    }
                }
                if new_shape.iter().product::<usize>() * 3 < MAX_ELEMENTS && rng.bool() {
                    new_shape.insert(0, rng.usize(1..4));
                }
                json!({ "broadcast_to": new_shape })
            }
            _ => json!({ "strided_slice": draw_spec(rng, &shape) }),
        };
        steps.push(step);
        match viewed_shape(source_shape, &steps) {
            Some(next_shape) => shape = next_shape,
            // Stops at an error, because later steps would not run.
            None => break,
        }
    }
    steps
}

/// Returns the shape of a view after these steps, or `None` if a step fails.
pub(crate) fn viewed_shape(source_shape: &[usize], steps: &[Value]) -> Option<Vec<usize>> {
    let args = Map::from_iter([("steps".to_owned(), steps.to_vec().into())]);
    let args = Arguments {
        line: 0,
        args: &args,
    };
    let source = Tensor {
        shape: source_shape.to_vec(),
        data: vec![0; source_shape.iter().product()],
    };
    let view_values = oracle::apply_view_steps(&source, &args.steps("steps").ok()?);
    view_values.ok().map(|view_values| view_values.shape)
}

/// Returns the shape of a slice, or the shape of a scalar if the slice fails.
pub(crate) fn shape_of_slice(shape: &[usize], args: &Map<String, Value>) -> Vec<usize> {
    let step = json!({ "strided_slice": args });
    viewed_shape(shape, &[step]).unwrap_or_default()
}
