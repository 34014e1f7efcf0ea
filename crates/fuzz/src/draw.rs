//! Draws shapes, bounds and indices from the fuzzer's bytes. Most are valid, and some are near the limits of their
//! types.

use arbitrary::{Result, Unstructured};
use wgslice::spec::TfStridedSlice;
use wgslice_vectors::{Step, Tensor};

/// Integers whose sums or products overflow 64 or 32 bits.
const OVERFLOWING_INTEGERS: [i64; 10] = [
    i64::MIN,
    i64::MIN / 2,
    i32::MIN as i64,
    -1 << 16,
    1 << 16,
    i32::MAX as i64,
    u32::MAX as i64,
    1 << 48,
    i64::MAX / 2,
    i64::MAX,
];

/// Draws a small integer, an integer near a type's limit, or any integer.
pub fn integer(u: &mut Unstructured<'_>) -> Result<i64> {
    let small_integer = u.int_in_range(-7..=7)?;
    Ok(match u.int_in_range(0..=9)? {
        0 => u.arbitrary()?,
        1 | 2 => u
            .choose(&OVERFLOWING_INTEGERS)?
            .saturating_add(small_integer),
        _ => small_integer,
    })
}

/// Draws a size: the magnitude of an integer from [`integer`] or, sometimes, its bits, which are a huge size if the
/// integer is negative.
pub fn size(u: &mut Unstructured<'_>) -> Result<usize> {
    let value = integer(u)?;
    Ok(match u.ratio(1, 8)? {
        true => value as usize,
        false => value.unsigned_abs() as usize,
    })
}

/// Draws a shape of up to seven dimensions. An array of this shape can exceed any memory.
pub fn sizes(u: &mut Unstructured<'_>) -> Result<Vec<usize>> {
    let rank = u.int_in_range(0..=7)?;
    (0..rank).map(|_| size(u)).collect()
}

/// Draws a shape of up to `max_rank` dimensions, with at most `max_elements` elements.
pub fn shape(u: &mut Unstructured<'_>, max_rank: usize, max_elements: usize) -> Result<Vec<usize>> {
    let rank = u.int_in_range(0..=max_rank)?;
    let mut elements = 1;
    let mut shape = Vec::new();
    for _ in 0..rank {
        let size = u.int_in_range(0..=9)?;
        let size = if elements * size > max_elements {
            1
        } else {
            size
        };
        elements *= size.max(1);
        shape.push(size);
    }
    Ok(shape)
}

/// Makes a tensor that repeats the values from 0 to 99, which every element type can hold. A misplaced element is
/// detected unless it moved by a multiple of 100.
pub fn tensor(shape: &[usize]) -> Tensor {
    let count = shape.iter().product();
    Tensor {
        shape: shape.to_vec(),
        data: (0..100).cycle().take(count).collect(),
    }
}

/// Draws a tensor of indices, each from [`integer`].
pub fn indices(u: &mut Unstructured<'_>, shape: &[usize]) -> Result<Tensor> {
    let count = shape.iter().product();
    let data = (0..count).map(|_| integer(u)).collect::<Result<_>>()?;
    Ok(Tensor {
        shape: shape.to_vec(),
        data,
    })
}

/// Draws `usual_count` integers, sometimes one more.
pub fn integers(u: &mut Unstructured<'_>, usual_count: usize) -> Result<Vec<i64>> {
    let count = usual_count + usize::from(u.ratio(1, 16)?);
    (0..count).map(|_| integer(u)).collect()
}

fn draw_mask(u: &mut Unstructured<'_>, entry_count: usize) -> Result<i32> {
    Ok(match u.int_in_range(0..=5)? {
        0 => u.arbitrary()?,
        1 | 2 => u.int_in_range(0..=(1_i32 << entry_count.min(20)) - 1)?,
        _ => 0,
    })
}

/// Draws a slice of up to `rank + 2` entries. Sometimes its vectors differ in length.
pub fn slice(u: &mut Unstructured<'_>, rank: usize) -> Result<TfStridedSlice> {
    let entry_count = u.int_in_range(0..=rank + 2)?;
    Ok(TfStridedSlice {
        begin: integers(u, entry_count)?,
        end: integers(u, entry_count)?,
        strides: integers(u, entry_count)?,
        begin_mask: draw_mask(u, entry_count)?,
        end_mask: draw_mask(u, entry_count)?,
        ellipsis_mask: draw_mask(u, entry_count)?,
        new_axis_mask: draw_mask(u, entry_count)?,
        shrink_axis_mask: draw_mask(u, entry_count)?,
    })
}

/// Draws a permutation of `rank` dimensions, sometimes with one number too many.
pub fn permutation(u: &mut Unstructured<'_>, rank: usize) -> Result<Vec<usize>> {
    let mut permutation: Vec<usize> = (0..rank).collect();
    for at in 1..rank {
        permutation.swap(at, u.int_in_range(0..=at)?);
    }
    if u.ratio(1, 12)? {
        permutation.push(size(u)?);
    }
    Ok(permutation)
}

/// Draws up to five steps of a view on an array of this shape. The result of each step has at most
/// `max_elements` elements if the array has at most `max_elements` elements.
pub fn steps(u: &mut Unstructured<'_>, shape: &[usize], max_elements: usize) -> Result<Vec<Step>> {
    // The view only tracks the shape after each step, so that most of the following steps fit it.
    let mut view = wgslice::View::new(shape).ok();
    let mut steps = Vec::new();
    for _ in 0..u.int_in_range(0..=5)? {
        let view_shape = view.as_ref().map_or(&[][..], |view| view.shape()).to_vec();
        let step = match u.int_in_range(0..=3)? {
            0 => Step::Transpose(permutation(u, view_shape.len())?),
            1 => {
                let mut wide_shape = self::shape(u, 2, 8)?;
                wide_shape.extend(&view_shape);
                for size in &mut wide_shape {
                    if *size == 1 {
                        *size = u.int_in_range(0..=4)?;
                    }
                }
                let elements = wide_shape.iter().map(|&n| n.max(1)).product::<usize>();
                Step::Broadcast(if elements > max_elements {
                    view_shape
                } else {
                    wide_shape
                })
            }
            _ => Step::Slice(slice(u, view_shape.len())?),
        };
        view = view.and_then(|view| step.of_view(&view).ok());
        steps.push(step);
    }
    Ok(steps)
}
