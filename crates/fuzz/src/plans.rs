//! Makes plans of slices, gathers, crops, pastes, scatters and masks, with shapes and arguments of any size.

use crate::draw::{integer, integers, permutation, size, sizes, slice};
use arbitrary::{Result, Unstructured};
use wgslice::{
    Backend, Conversion, DType, Error, Plan, Report, SliceSpec, Values, ValuesMut, View,
    options::{
        Boxes, Combine, CropOptions, GatherDims, GatherElementsOptions, GatherNdOptions,
        GatherOptions, NegativeIndex, OutOfRange, PasteOptions, ScatterDims, ScatterOptions,
        XlaScatterOptions,
    },
};

/// The maximum size in bytes of the source and of the result of a plan that is also run. [`check`] also limits the
/// number of indices, to 256.
pub const MAX_RUN_BYTES: usize = 1 << 16;

/// A plan or an error, and the shape of the indices if the plan takes any.
type DrawnPlan = (std::result::Result<Plan, Error>, Option<Vec<usize>>);

/// Makes a plan, calls its methods, and runs it if its arrays are small.
pub fn check(u: &mut Unstructured<'_>) -> Result<()> {
    let (plan, indices_shape) = draw(u)?;
    let plan = match (u.int_in_range(0..=3)?, plan) {
        (0, Ok(plan)) => plan.converted(&draw_conversion(u)?),
        (1, Ok(plan)) => written_to(u, &plan)?,
        (_, plan) => plan,
    };
    let Some(plan) = ok_value(plan) else {
        return Ok(());
    };
    check_plan(&plan);
    let index_count = indices_shape.as_ref().map_or(Some(0), |shape| {
        shape
            .iter()
            .try_fold(1_usize, |count, &n| count.checked_mul(n))
    });
    if plan.inputs()[0].bytes() > MAX_RUN_BYTES
        || plan.outputs()[0].bytes() > MAX_RUN_BYTES
        || index_count.is_none_or(|n| n > 256)
    {
        return Ok(());
    }
    if let [mask, x, y] = &*plan.inputs() {
        let bytes = [mask, x, y].map(|input| vec![7; input.bytes().min(MAX_RUN_BYTES)]);
        let inputs = [mask, x, y].into_iter().zip(&bytes);
        let inputs = inputs.map(|(input, bytes)| Values::from_bytes(input.dtype, bytes));
        let inputs: Vec<_> = inputs.collect();
        let mut dest = vec![9; plan.outputs()[0].bytes()];
        let outputs = &mut [ValuesMut::from_bytes(plan.dtype(), &mut dest)];
        if let Ok(_) = plan.run_cpu(&inputs, outputs) {
            assert!(dest.iter().all(|&byte| byte == 7), "{plan:?}");
        }
        return Ok(());
    }
    let source = vec![7; plan.inputs()[0].bytes()];
    let mut dest = vec![9; plan.outputs()[0].bytes()];
    if indices_shape.is_none() {
        run(&plan, &source, None, &mut dest).expect("buffers that fit");
        return Ok(());
    }
    let values = (0..index_count.unwrap_or(0)).map(|_| integer(u));
    let values = values.collect::<Result<Vec<i64>>>()?;
    let mask: Vec<u8> = values.iter().map(|value| u8::from(*value > 0)).collect();
    let indices = match plan.inputs().iter().any(|input| input.name == "mask") {
        true => Values::from(&mask),
        false => Values::from(&values),
    };
    // Most indices are out of range. Depending on the drawn policy, the plan fails, ignores or clamps the indices.
    match run(&plan, &source, Some(indices), &mut dest) {
        Ok(report) => assert!(report.out_of_range <= values.len()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    Ok(())
}

/// Runs a plan on the CPU, on bytes.
pub fn run(
    plan: &Plan,
    source: &[u8],
    indices: Option<Values<'_>>,
    dest: &mut [u8],
) -> std::result::Result<Report, Error> {
    let source = Values::from_bytes(plan.inputs()[0].dtype, source);
    let inputs: Vec<_> = [Some(source), indices].into_iter().flatten().collect();
    plan.run_cpu(&inputs, &mut [ValuesMut::from_bytes(plan.dtype(), dest)])
}

/// Returns the value of a result, or `None` for an error. Checks that the error has a message.
pub fn ok_value<T>(result: std::result::Result<T, Error>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

pub fn check_plan(plan: &Plan) {
    let elements: usize = plan.shape().iter().product();
    assert!(elements == 0 || plan.outputs()[0].bytes().is_multiple_of(elements));
    assert!(isize::try_from(plan.outputs()[0].bytes()).is_ok());
    let _ = (plan.is_in_place(), plan.to_string());
    assert!(!Backend::cpu().explain(plan).is_empty());
}

/// Redirects a plan to write into a view of an array. The array is usually larger than the plan's result. The shape of
/// the view can differ from the shape of the result.
fn written_to(u: &mut Unstructured<'_>, plan: &Plan) -> Result<std::result::Result<Plan, Error>> {
    let mut dest_shape = plan.shape().to_vec();
    let spec = slice(u, dest_shape.len())?;
    if u.ratio(3, 4)? {
        dest_shape
            .iter_mut()
            .for_each(|size| *size = size.saturating_add(2));
    }
    let dest_view = match SliceSpec::try_from(&spec) {
        Ok(spec) if u.ratio(1, 4)? => View::new(&dest_shape).and_then(|view| view.slice(&spec)),
        _ => {
            let begins = vec![1; dest_shape.len()];
            let sizes: Vec<_> = plan.shape().iter().map(|&n| n as i64).collect();
            let spec = SliceSpec::block(&dest_shape, &begins, &sizes);
            View::new(&dest_shape).and_then(|view| view.slice(&spec?))
        }
    };
    Ok(dest_view.and_then(|dest_view| plan.written_to(&dest_view)))
}

/// Draws a list of dimensions of an array of this rank. Most lists ascend without duplicates. Some are reversed or
/// contain any number.
fn draw_dims(u: &mut Unstructured<'_>, rank: usize) -> Result<Vec<usize>> {
    let mut dims = Vec::new();
    for d in 0..rank {
        if u.ratio(1, 3)? {
            dims.push(d);
        }
    }
    if u.ratio(1, 8)? {
        dims.push(size(u)?);
    }
    if u.ratio(1, 8)? {
        dims.reverse();
    }
    Ok(dims)
}

/// Draws an XLA gather or scatter of an operand of this shape, and the shape of its indices. In most cases the
/// dimension numbers use each dimension of the operand once, as XLA demands.
fn draw_xla(u: &mut Unstructured<'_>, shape: &[usize], dtype: DType) -> Result<DrawnPlan> {
    let rank = shape.len();
    let mut indices_shape = draw_similar_sizes(u, shape)?;
    let leading_dims = indices_shape.len();
    let (dropped_dims, index_map) = (draw_dims(u, rank)?, draw_dims(u, rank)?);
    let mut batching_dims = draw_dims(u, rank)?;
    if u.ratio(7, 8)? {
        batching_dims.retain(|d| !dropped_dims.contains(d) && !index_map.contains(d));
    }
    let mut indices_batching_dims = draw_dims(u, leading_dims)?;
    if u.ratio(7, 8)? {
        indices_batching_dims = (0..batching_dims.len()).collect();
        for (&d, size) in batching_dims.iter().zip(&mut indices_shape) {
            *size = shape.get(d).copied().unwrap_or(*size);
        }
    }
    if u.ratio(7, 8)? {
        indices_shape.push(index_map.len());
    }
    let kept_dims = (0..rank).filter(|d| !dropped_dims.contains(d) && !batching_dims.contains(d));
    let kept_dims: Vec<_> = kept_dims.collect();
    let first_dim = u.int_in_range(0..=leading_dims)?;
    let window_dims: Vec<_> = match u.ratio(7, 8)? {
        true => (first_dim..first_dim + kept_dims.len()).collect(),
        false => draw_dims(u, leading_dims + rank)?,
    };
    let mut window_sizes = vec![1; rank];
    for &d in &kept_dims {
        window_sizes[d] = match u.ratio(1, 2)? {
            true => shape[d],
            false => size(u)?.min(shape[d]),
        };
    }
    let (out_of_range, _) = draw_policies(u)?;
    let plan = match u.arbitrary()? {
        true => {
            let dims = GatherDims {
                offset_dims: window_dims,
                collapsed_slice_dims: dropped_dims,
                operand_batching_dims: batching_dims,
                start_indices_batching_dims: indices_batching_dims,
                start_index_map: index_map,
                index_vector_dim: leading_dims,
                slice_sizes: window_sizes,
            };
            let x = view(u, shape)?;
            x.and_then(|x| Plan::xla_gather(x, &indices_shape, &dims, out_of_range, dtype))
        }
        false => {
            let mut updates_shape: Vec<_> = indices_shape[..leading_dims].to_vec();
            let kept_sizes = kept_dims.iter().map(|&d| window_sizes[d]);
            updates_shape.splice(first_dim..first_dim, kept_sizes);
            let dims = ScatterDims {
                update_window_dims: window_dims,
                inserted_window_dims: dropped_dims,
                input_batching_dims: batching_dims,
                scatter_indices_batching_dims: indices_batching_dims,
                scatter_dims_to_operand_dims: index_map,
                index_vector_dim: leading_dims,
            };
            let options = XlaScatterOptions {
                combine: Some(*u.choose(&Combine::ALL)?),
                out_of_range,
                ..XlaScatterOptions::default()
            };
            Plan::xla_scatter(shape, &indices_shape, &updates_shape, &dims, options, dtype)
        }
    };
    Ok((plan, Some(indices_shape)))
}

fn draw_conversion(u: &mut Unstructured<'_>) -> Result<Conversion> {
    let to = *u.choose(&DType::ALL)?;
    Ok(match u.arbitrary()? {
        true => Conversion::to(to),
        false => {
            let (axis, count) = (u.int_in_range(-4..=4)?, u.int_in_range(0..=4)?);
            Conversion::scaled(to, axis, &vec![f32::NAN; count], &[u.arbitrary()?])
        }
    })
}

pub fn dtype(u: &mut Unstructured<'_>) -> Result<DType> {
    let dtypes = [
        DType::U8,
        DType::F16,
        DType::I32,
        DType::I64,
        DType::Complex128,
    ];
    Ok(*u.choose(&dtypes)?)
}

fn draw_policies(u: &mut Unstructured<'_>) -> Result<(OutOfRange, NegativeIndex)> {
    let range_policies = [OutOfRange::Ignore, OutOfRange::Error, OutOfRange::Clamp];
    let negative_policies = [NegativeIndex::Wrap, NegativeIndex::Invalid];
    Ok((*u.choose(&range_policies)?, *u.choose(&negative_policies)?))
}

pub fn number(u: &mut Unstructured<'_>) -> Result<isize> {
    Ok(integer(u)? as isize)
}

/// Draws a list of any sizes, which can begin with the first sizes of `shape`.
fn draw_similar_sizes(u: &mut Unstructured<'_>, shape: &[usize]) -> Result<Vec<usize>> {
    let shared_dims = u.int_in_range(0..=shape.len())?;
    let mut similar_sizes = shape[..shared_dims].to_vec();
    if u.ratio(2, 3)? {
        similar_sizes.extend(sizes(u)?);
    }
    Ok(similar_sizes)
}

pub fn view(u: &mut Unstructured<'_>, shape: &[usize]) -> Result<std::result::Result<View, Error>> {
    let mut view = View::new(shape);
    for _ in 0..u.int_in_range(0..=3)? {
        let Ok(current_view) = &view else { break };
        let rank = current_view.shape().len();
        view = match u.int_in_range(0..=3)? {
            0 => current_view.transpose(&permutation(u, rank)?),
            1 => {
                let mut wide_shape = sizes(u)?;
                wide_shape.extend(current_view.shape());
                current_view.broadcast_to(&wide_shape)
            }
            2 => SliceSpec::block(
                current_view.shape(),
                &integers(u, rank)?,
                &integers(u, rank)?,
            )
            .and_then(|spec| current_view.slice(&spec)),
            _ => SliceSpec::try_from(&slice(u, rank)?).and_then(|spec| current_view.slice(&spec)),
        };
    }
    Ok(view)
}

fn draw(u: &mut Unstructured<'_>) -> Result<DrawnPlan> {
    let (shape, dtype) = (sizes(u)?, dtype(u)?);
    let spec = |u: &mut Unstructured<'_>| Ok(SliceSpec::try_from(&slice(u, shape.len())?));
    let (out_of_range, negative) = draw_policies(u)?;
    Ok(match u.int_in_range(0..=16)? {
        0 => (
            spec(u)?.and_then(|spec| Plan::slice(&shape, &spec, dtype)),
            None,
        ),
        1 => {
            let value_shape = draw_similar_sizes(u, &shape)?;
            (
                spec(u)?.and_then(|spec| Plan::slice_update(&shape, &spec, &value_shape, dtype)),
                None,
            )
        }
        2 => {
            let dy_shape = draw_similar_sizes(u, &shape)?;
            (
                spec(u)?.and_then(|spec| Plan::slice_grad(&shape, &spec, &dy_shape, dtype)),
                None,
            )
        }
        3 => (
            view(u, &shape)?.and_then(|view| Plan::contiguous(view, dtype)),
            None,
        ),
        4 => {
            let (axes, steps) = (integers(u, shape.len())?, integers(u, shape.len())?);
            let (starts, ends) = (integers(u, shape.len())?, integers(u, shape.len())?);
            let axes = u.arbitrary::<bool>()?.then_some(&axes[..]);
            let steps = u.arbitrary::<bool>()?.then_some(&steps[..]);
            let spec = SliceSpec::onnx(&shape, &starts, &ends, axes, steps);
            (
                spec.and_then(|spec| Plan::slice(&shape, &spec, dtype)),
                None,
            )
        }
        5 => {
            let indices_shape = draw_similar_sizes(u, &shape)?;
            let options = GatherNdOptions {
                batch_dims: number(u)?,
                out_of_range,
                negative,
            };
            let plan = view(u, &shape)?;
            let plan = plan.and_then(|view| Plan::gather_nd(view, &indices_shape, options, dtype));
            (plan, Some(indices_shape))
        }
        6 => {
            let indices_shape = draw_similar_sizes(u, &shape)?;
            let options = GatherOptions {
                axis: u.arbitrary::<bool>()?.then_some(number(u)?),
                batch_dims: number(u)?,
                out_of_range,
                negative,
            };
            let plan = view(u, &shape)?;
            let plan = plan.and_then(|view| Plan::gather(view, &indices_shape, options, dtype));
            (plan, Some(indices_shape))
        }
        7 => {
            let (indices_shape, axis) = (draw_similar_sizes(u, &shape)?, number(u)?);
            let options = GatherElementsOptions {
                out_of_range,
                negative,
            };
            let plan = view(u, &shape)?
                .and_then(|view| Plan::gather_elements(view, &indices_shape, axis, options, dtype));
            (plan, Some(indices_shape))
        }
        8 => {
            let (box_count, has_box_indices, has_flips) =
                (size(u)?, u.arbitrary()?, u.arbitrary()?);
            let sizes = sizes(u)?;
            let strides = (0..sizes.len()).map(|_| number(u));
            let options = CropOptions {
                strides: strides.collect::<Result<_>>()?,
                sizes,
                out_of_range,
            };
            let column_count =
                usize::from(has_box_indices) + options.sizes.len() * (1 + usize::from(has_flips));
            let boxes = Boxes::of_tuples(&[box_count, column_count], has_box_indices, has_flips);
            let x = view(u, &shape)?;
            let plan = match u.arbitrary()? {
                true => x.and_then(|x| Plan::crop(x, boxes, &options, dtype)),
                false => {
                    let sizes = options.sizes;
                    let options = PasteOptions {
                        strides: options.strides,
                        out_of_range,
                        circular: u.arbitrary()?,
                        unique: u.arbitrary()?,
                    };
                    let patches_shape = match u.arbitrary()? {
                        true => {
                            let inner_sizes = shape.get(1 + sizes.len()..).unwrap_or_default();
                            [&[box_count], &sizes[..], inner_sizes].concat()
                        }
                        false => draw_similar_sizes(u, &shape)?,
                    };
                    x.and_then(|x| Plan::paste(x, &patches_shape, boxes, &options, dtype))
                }
            };
            (plan, Some(vec![box_count, column_count]))
        }
        9 => {
            let (indices_shape, axis) = (draw_similar_sizes(u, &shape)?, number(u)?);
            let options = ScatterOptions {
                combine: Some(*u.choose(&Combine::ALL)?),
                out_of_range,
                negative,
                any_order: false,
                ..ScatterOptions::default()
            };
            let plan = Plan::scatter_elements(
                &shape,
                &indices_shape,
                &indices_shape,
                axis,
                options,
                dtype,
            );
            (plan, Some(indices_shape))
        }
        10 => {
            let (mask_shape, dest) = (draw_similar_sizes(u, &shape)?, view(u, &shape)?);
            let value_shape = draw_similar_sizes(u, &shape)?;
            let plan =
                dest.and_then(|dest| Plan::masked_update(&value_shape, &mask_shape, dest, dtype));
            (plan, Some(mask_shape))
        }
        11 => {
            let (mask_shape, axis, capacity) =
                (draw_similar_sizes(u, &shape)?, number(u)?, size(u)?);
            let capacity = u.arbitrary::<bool>()?.then_some(capacity);
            let x = view(u, &shape)?;
            let plan = x.and_then(|x| Plan::boolean_mask(x, &mask_shape, axis, capacity, dtype));
            (plan, Some(mask_shape))
        }
        12 => {
            let (condition_shape, axis) = (draw_similar_sizes(u, &shape)?, number(u)?);
            let axis = u.arbitrary::<bool>()?.then_some(axis);
            let capacity = size(u)?;
            let capacity = u.arbitrary::<bool>()?.then_some(capacity);
            let x = view(u, &shape)?;
            let plan = x.and_then(|x| Plan::compress(x, &condition_shape, axis, capacity, dtype));
            (plan, Some(condition_shape))
        }
        13 => {
            let (mask_shape, y) = (draw_similar_sizes(u, &shape)?, view(u, &shape)?);
            let plan = view(u, &shape)?.and_then(|x| Plan::select(&mask_shape, x, y?, dtype));
            (plan, Some(mask_shape))
        }
        14 | 15 => draw_xla(u, &shape, dtype)?,
        _ => {
            let (indices_shape, updates_shape) = (
                draw_similar_sizes(u, &shape)?,
                draw_similar_sizes(u, &shape)?,
            );
            let options = ScatterOptions {
                combine: Some(*u.choose(&Combine::ALL)?),
                out_of_range,
                negative,
                any_order: false,
                ..ScatterOptions::default()
            };
            let plan = match u.arbitrary::<bool>()? {
                true => Plan::scatter_nd(&shape, &indices_shape, &updates_shape, options, dtype),
                false => {
                    Plan::tensor_scatter_nd(&shape, &indices_shape, &updates_shape, options, dtype)
                }
            };
            (plan, Some(indices_shape))
        }
    })
}
