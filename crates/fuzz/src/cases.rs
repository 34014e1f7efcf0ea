//! Draws calls of every operation on small tensors, and compares them with the naive reference.

use crate::draw;
use arbitrary::{Error, Result, Unstructured};
use libfuzzer_sys::Corpus;
use serde_json::{Map, Value, json};
use wgslice::{Backend, SliceSpec, spec::TfStridedSlice};
use wgslice_vectors::{
    Call, Case, Operation, Step, Tensor, check_all,
    random::{answered, case_of},
};

/// The maximum number of elements of the first array in a call.
const MAX_ELEMENTS: usize = 512;
/// The maximum number of elements of a tensor whose shape was changed. The limit is small because three such tensors
/// can be broadcast together to 32³ elements.
const MAX_CHANGED_ELEMENTS: usize = 32;

/// Draws a case from bytes and checks it. Rejects bytes from which no case can be drawn.
pub fn fuzz(bytes: &[u8], draw: fn(&mut Unstructured<'_>) -> Result<Case>) -> Corpus {
    match draw(&mut Unstructured::new(bytes)) {
        Ok(case) => check(case),
        Err(_) => return Corpus::Reject,
    }
    Corpus::Keep
}

/// Runs the call of a case on the CPU, in all its variants: element types, index types and policies.
///
/// # Panics
///
/// Panics if a result differs from the reference's.
fn check(case: Case) {
    let line = case.to_line();
    let case = answered(case).unwrap_or_else(|error| panic!("{error}: {line}"));
    let call = Call::of(&case).expect("it was answered");
    if let Err(difference) = check_all(&case, &call, &Backend::cpu()) {
        panic!("{difference:?}\n{}", case.to_line());
    }
}

fn spec_arguments(spec: &TfStridedSlice) -> Map<String, Value> {
    let value = json!({
        "begin": spec.begin, "end": spec.end, "strides": spec.strides,
        "begin_mask": spec.begin_mask, "end_mask": spec.end_mask,
        "ellipsis_mask": spec.ellipsis_mask, "new_axis_mask": spec.new_axis_mask,
        "shrink_axis_mask": spec.shrink_axis_mask,
    });
    into_map(value)
}

fn into_map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => unreachable!("it is written as an object"),
    }
}

fn encoded_steps(steps: &[Step]) -> Value {
    let encode_step = |step: &Step| match step {
        Step::Slice(spec) => json!({ "strided_slice": spec_arguments(spec) }),
        Step::Transpose(permutation) => json!({ "transpose": permutation }),
        Step::Broadcast(shape) => json!({ "broadcast_to": shape }),
    };
    steps.iter().map(encode_step).collect()
}

/// Draws a shape: in most cases the shape that `spec` selects from an array of `shape`, otherwise another small shape.
/// Sometimes the first size becomes 1.
fn draw_slice_shape(
    u: &mut Unstructured<'_>,
    shape: &[usize],
    spec: &TfStridedSlice,
) -> Result<Vec<usize>> {
    let view = SliceSpec::try_from(spec).and_then(|spec| spec.view(shape));
    let mut sliced = match view {
        Ok(view) if u.ratio(7, 8)? => view.shape().to_vec(),
        _ => draw::shape(u, 4, MAX_ELEMENTS)?,
    };
    if let Some(size) = sliced.first_mut()
        && u.ratio(1, 8)?
    {
        *size = 1;
    }
    Ok(sliced)
}

/// Draws a slice with vectors and masks, its gradient or its update, or a block with starts and sizes.
pub fn slice(u: &mut Unstructured<'_>) -> Result<Case> {
    let shape = draw::shape(u, 5, MAX_ELEMENTS)?;
    let input = draw::tensor(&shape);
    if u.ratio(1, 5)? {
        let (begin, size) = (
            draw::integers(u, shape.len())?,
            draw::integers(u, shape.len())?,
        );
        let args = into_map(json!({ "begin": begin, "size": size }));
        return Ok(Case::new(Operation::Slice, [("input", input)], args));
    }
    let spec = draw::slice(u, shape.len())?;
    let mut args = spec_arguments(&spec);
    Ok(match u.int_in_range(0..=3)? {
        0 => {
            let dy = draw::tensor(&draw_slice_shape(u, &shape, &spec)?);
            args.insert("shape".into(), shape.into());
            Case::new(Operation::StridedSliceGrad, [("dy", dy)], args)
        }
        1 => {
            let value = draw::tensor(&draw_slice_shape(u, &shape, &spec)?);
            let tensors = [("input", input), ("value", value)];
            Case::new(Operation::StridedSliceUpdate, tensors, args)
        }
        _ => Case::new(Operation::StridedSlice, [("input", input)], args),
    })
}

/// Draws a chain of slices, transposes and broadcasts.
pub fn view(u: &mut Unstructured<'_>) -> Result<Case> {
    let shape = draw::shape(u, 5, MAX_ELEMENTS)?;
    let steps = draw::steps(u, &shape, 4 * MAX_ELEMENTS)?;
    let args = into_map(json!({ "steps": encoded_steps(&steps) }));
    Ok(Case::new(
        Operation::View,
        [("input", draw::tensor(&shape))],
        args,
    ))
}

/// Draws a gather, a crop, a paste or a scatter, whose indices and axes can be out of range.
pub fn indexed(u: &mut Unstructured<'_>) -> Result<Case> {
    let shape = draw::shape(u, 4, MAX_ELEMENTS)?;
    let mut args = Map::new();
    for (name, word) in [("negative", "wrap"), ("out_of_range", "clamp")] {
        if u.ratio(1, 3)? {
            args.insert(name.into(), word.into());
        }
    }
    Ok(match u.int_in_range(0..=8)? {
        choice @ 0..=4 => draw_gather(u, choice, &shape, args)?,
        choice => draw_scatter(u, choice, &shape, args)?,
    })
}

fn draw_gather(
    u: &mut Unstructured<'_>,
    choice: u8,
    shape: &[usize],
    mut args: Map<String, Value>,
) -> Result<Case> {
    let mut params_shape = shape.to_vec();
    if u.ratio(1, 4)? {
        let steps = draw::steps(u, shape, MAX_ELEMENTS)?;
        let whole_view = wgslice::View::new(shape);
        let view = steps.iter().try_fold(whole_view, |view, step| match view {
            Ok(view) => Some(step.of_view(&view)),
            Err(_) => None,
        });
        if let Some(Ok(view)) = view {
            params_shape = view.shape().to_vec();
        }
        args.insert("view".into(), encoded_steps(&steps));
    }
    let params = draw::tensor(shape);
    if choice == 4 {
        return draw_crop(u, &params_shape, params, args);
    }
    let indices_shape = match choice {
        3 => draw_near_shape(u, &params_shape)?,
        _ => {
            let shared_dims = u.int_in_range(0..=params_shape.len())?;
            let mut shape = params_shape[..shared_dims].to_vec();
            shape.extend(draw::shape(u, 2, 8)?);
            shape
        }
    };
    let indices = draw::indices(u, &bounded_shape(indices_shape, 64))?;
    let operation = match choice {
        0 => {
            args.insert("batch_dims".into(), u.int_in_range(0..=5_u64)?.into());
            Operation::GatherNd
        }
        1 => {
            args.insert("axis".into(), draw::integer(u)?.into());
            args.insert("batch_dims".into(), draw::integer(u)?.into());
            Operation::Gather
        }
        2 => Operation::BatchGather,
        _ => {
            args.insert("axis".into(), draw::integer(u)?.into());
            Operation::GatherElements
        }
    };
    let tensors = [("params", params), ("indices", indices)];
    Ok(Case::new(operation, tensors, args))
}

fn draw_crop(
    u: &mut Unstructured<'_>,
    params_shape: &[usize],
    params: Tensor,
    mut args: Map<String, Value>,
) -> Result<Case> {
    args.remove("negative");
    let mut sizes = draw::shape(u, 3, 64)?;
    if u.ratio(7, 8)? {
        sizes.truncate(params_shape.len().saturating_sub(1));
    }
    let strides = match u.ratio(1, 2)? {
        true => vec![1; sizes.len()],
        false => sizes
            .iter()
            .map(|_| draw::integer(u))
            .collect::<Result<_>>()?,
    };
    let (has_box_indices, has_flips): (bool, bool) = (u.arbitrary()?, u.arbitrary()?);
    for (name, is_given) in [("box_indices", has_box_indices), ("flips", has_flips)] {
        if is_given {
            args.insert(name.into(), "yes".into());
        }
    }
    let first_flip = usize::from(has_box_indices) + sizes.len();
    let column_count = first_flip + if has_flips { sizes.len() } else { 0 };
    let box_count = match params_shape.first() {
        Some(&first) if !has_box_indices && u.ratio(7, 8)? => first,
        _ => u.int_in_range(0..=4)?,
    };
    let mut indices = draw::indices(u, &[box_count, column_count])?;
    for row in indices.data.chunks_exact_mut(column_count.max(1)) {
        row[first_flip.min(column_count)..]
            .iter_mut()
            .for_each(|flip| *flip &= 1);
    }
    let inner_sizes = params_shape.get(1 + sizes.len()..).unwrap_or_default();
    let boxes_shape = [&[box_count], &sizes[..], inner_sizes].concat();
    args.insert("sizes".into(), sizes.into());
    args.insert("strides".into(), strides.into());
    let tensors = [("params", params), ("indices", indices)];
    if u.ratio(1, 2)? {
        if u.arbitrary()? {
            args.insert("circular".into(), "yes".into());
        }
        let mut case = Case::new(Operation::Paste, tensors, args);
        let patches = match u.ratio(7, 8)? {
            true => draw::tensor(&bounded_shape(boxes_shape, 4 * MAX_ELEMENTS)),
            false => draw::tensor(&draw_near_shape(u, &boxes_shape)?),
        };
        case.tensors.insert("patches".into(), patches);
        return Ok(case);
    }
    Ok(Case::new(Operation::Crop, tensors, args))
}

fn draw_scatter(
    u: &mut Unstructured<'_>,
    choice: u8,
    shape: &[usize],
    mut args: Map<String, Value>,
) -> Result<Case> {
    let tensor = draw::tensor(shape);
    if choice == 5 {
        let shape = bounded_shape(draw_near_shape(u, shape)?, 64);
        let indices = draw::indices(u, &shape)?;
        let updates = match u.ratio(7, 8)? {
            true => draw::tensor(&shape),
            false => draw::tensor(&draw_near_shape(u, &shape)?),
        };
        args.insert("axis".into(), draw::integer(u)?.into());
        if u.arbitrary()? {
            args.insert("combine".into(), "add".into());
        }
        let tensors = [
            ("tensor", tensor),
            ("indices", indices),
            ("updates", updates),
        ];
        return Ok(Case::new(Operation::ScatterElements, tensors, args));
    }
    let leading_sizes = draw::shape(u, 2, 8)?;
    let depth = match u.ratio(1, 8)? {
        true => u.int_in_range(0..=9)?,
        false => u.int_in_range(0..=shape.len())?,
    };
    let indices = draw::indices(u, &[&leading_sizes[..], &[depth]].concat())?;
    let mut updates_shape = [&leading_sizes[..], &shape[depth.min(shape.len())..]].concat();
    if u.ratio(1, 8)? {
        updates_shape = draw_near_shape(u, &updates_shape)?;
    }
    let mut updates = draw::tensor(&bounded_shape(updates_shape, 8 * MAX_ELEMENTS));
    // The values are small, so that sums of many values fit the smallest element type.
    updates.data.iter_mut().for_each(|value| *value %= 2);
    let tensors = [("indices", indices), ("updates", updates)];
    Ok(match choice {
        6 => {
            args.insert("shape".into(), shape.into());
            Case::new(Operation::ScatterNd, tensors, args)
        }
        choice => {
            let [indices, updates] = tensors;
            let operation = match choice {
                7 => Operation::TensorScatterNdUpdate,
                _ => Operation::TensorScatterNdAdd,
            };
            Case::new(operation, [("tensor", tensor), indices, updates], args)
        }
    })
}

/// Draws a random case of any operation, then changes a few numbers in its arguments and a few shapes of its tensors.
pub fn changed(u: &mut Unstructured<'_>) -> Result<Case> {
    let operation = *u.choose(Operation::ALL)?;
    let mut case = case_of(operation, u.arbitrary()?, 0);
    for _ in 0..u.int_in_range(0..=3)? {
        if u.ratio(1, 4)? {
            let tensor_index = u.choose_index(case.tensors.len())?;
            if let Some(tensor) = case.tensors.values_mut().nth(tensor_index) {
                let shape = bounded_shape(draw_near_shape(u, &tensor.shape)?, MAX_CHANGED_ELEMENTS);
                // The new values repeat the old ones, so that masks stay masks and most indices stay in range.
                let old_values = if tensor.data.is_empty() {
                    &[0][..]
                } else {
                    &tensor.data
                };
                let data = old_values
                    .iter()
                    .copied()
                    .cycle()
                    .take(shape.iter().product());
                *tensor = Tensor {
                    data: data.collect(),
                    shape,
                };
            }
            continue;
        }
        let mut numbers = Vec::new();
        case.args
            .values_mut()
            .for_each(|value| collect_integers(value, &mut numbers));
        if !numbers.is_empty() {
            let number_index = u.choose_index(numbers.len())?;
            *numbers.swap_remove(number_index) = u.int_in_range(-9..=9_i64)?.into();
        }
    }
    // Rejects changed arguments that are no longer valid, because some arguments accept only certain numbers.
    match answered(case.clone()) {
        Ok(_) => Ok(case),
        Err(_) => Err(Error::IncorrectFormat),
    }
}

/// Collects the integers in a value.
fn collect_integers<'a>(value: &'a mut Value, integers: &mut Vec<&'a mut Value>) {
    match value {
        Value::Array(values) => values
            .iter_mut()
            .for_each(|value| collect_integers(value, integers)),
        Value::Object(map) => map
            .values_mut()
            .for_each(|value| collect_integers(value, integers)),
        Value::Number(number) if number.is_i64() => integers.push(value),
        _ => {}
    }
}

/// Returns the shape with some sizes changed, and sometimes with one more dimension.
fn draw_near_shape(u: &mut Unstructured<'_>, shape: &[usize]) -> Result<Vec<usize>> {
    let mut similar_shape = shape.to_vec();
    for size in &mut similar_shape {
        if u.ratio(1, 4)? {
            *size = u.int_in_range(0..=*size + 1)?;
        }
    }
    if u.ratio(1, 16)? {
        similar_shape.push(u.int_in_range(0..=3)?);
    }
    Ok(similar_shape)
}

/// Returns the shape with 1 instead of each size that would raise the number of elements above `max_elements`. A size
/// of 0 counts as 1.
fn bounded_shape(mut shape: Vec<usize>, max_elements: usize) -> Vec<usize> {
    let mut elements = 1;
    for size in &mut shape {
        if elements * *size > max_elements {
            *size = 1;
        }
        elements *= (*size).max(1);
    }
    shape
}
