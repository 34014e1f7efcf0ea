//! Functions on masks. The elements of a mask are booleans, or bytes that are true unless they are 0:
//!
//! - `boolean_mask(x, mask, capacity [, options])`: the slices of each tensor that a mask selects.
//! - `nonzero(mask, capacity [, options])`: the positions of the true elements of each mask.
//! - `count_nonzero(mask)`: the number of true elements of each mask.
//! - `tensor_select(mask, x, y)`: the elements of x where a mask is true, and the elements of y elsewhere.
//!
//! All rows of a result have one shape, so the first two functions need a capacity: the maximum number of true
//! elements. It can only be left out if the mask is a literal, whose true elements can be counted.

use super::*;
use datafusion::{arrow::buffer::MutableBuffer, common::internal_err};

/// The options of `boolean_mask`. `nonzero` has only `surplus`.
const OPTION_NAMES: &[&str] = &["axis", "surplus"];

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct BooleanMask;

impl TensorFunction for BooleanMask {
    const USAGE: Usage = Usage::of_indices(
        "boolean_mask",
        "boolean_mask(x, mask, '10', 'axis=1, surplus=drop')",
        0..=2,
    );

    fn result_type(call: &Call) -> Result<TensorType> {
        let (x, mask) = call.two_tensors();
        mask.check_mask("mask")?;
        let axis = axis(call)?;
        let limit = MaskCapacity::of(call, 1, OPTION_NAMES)?;
        // The shape of the result comes from the library's plan for one tensor.
        let (axis, capacity) = (axis.cast_signed(), Some(limit.capacity));
        let plan = Plan::boolean_mask(x.shape(), mask.shape(), axis, capacity, x.dtype());
        x.with_shape(plan.map_err(refused)?.shape())
    }

    fn run(call: &Call, batch: &Batch, result: &mut [u8]) -> Result<Option<RowProblem>> {
        let (x, mask) = call.two_tensors();
        let axis = axis(call)?;
        let limit = MaskCapacity::of(call, 1, OPTION_NAMES)?;
        let mask_elements = mask.elements();
        if mask_elements == 0 {
            // Nothing can be selected, so the result keeps its zeros.
            return Ok(None);
        }
        let is_shared = batch.columns[1].repeats();
        let mask_count = if is_shared { 1 } else { batch.rows };
        // For each slice of the result, the position of its true element in the flattened mask. After the last true
        // element the positions are out of range, so the gather writes zeros.
        let mut positions =
            MutableBuffer::from_len_zeroed(mask_count * limit.capacity * size_of::<u32>());
        let surplus_mask = find_positions(
            (&[mask_elements], DType::U32),
            &batch.columns[1].bytes(),
            limit,
            positions.as_slice_mut(),
        )?;
        if let Some(surplus_mask) = surplus_mask {
            return Ok(Some(surplus_mask.into_problem(is_shared)));
        }
        let (outer_sizes, other_sizes) = x.shape().split_at(axis);
        let inner_sizes = &other_sizes[mask.shape().len()..];
        let outer = outer_sizes.iter().product();
        let row_shape = [outer, mask_elements, inner_sizes.iter().product()];
        let batch_shape = [&[batch.rows], &row_shape[..]].concat();
        let view = match batch.columns[0].repeats() {
            true => View::new(&row_shape).and_then(|view| view.broadcast_to(&batch_shape)),
            false => View::new(&batch_shape),
        };
        let options = GatherOptions {
            axis: Some(2),
            batch_dims: isize::from(!is_shared),
            out_of_range: OutOfRange::Ignore,
            ..GatherOptions::default()
        };
        let indices_shape = match is_shared {
            true => vec![limit.capacity],
            false => vec![batch.rows, limit.capacity],
        };
        let plan = view.and_then(|view| Plan::gather(view, &indices_shape, options, x.dtype()));
        let indices = Values::from(positions.typed_data::<u32>());
        batch.run(&plan.map_err(failed)?, Some(indices), result)?;
        Ok(None)
    }
}

/// Returns the first dimension of x that the mask covers. A negative value of the option counts from the end.
fn axis(call: &Call) -> Result<usize> {
    let options = Options::parse(call.text(1), OPTION_NAMES)?;
    let axis = options.integer("axis")?.unwrap_or(0);
    let rank = call.tensors[0].shape().len();
    let from_start = if axis < 0 {
        axis + rank.cast_signed()
    } else {
        axis
    };
    match usize::try_from(from_start) {
        Ok(from_start) if from_start <= rank => Ok(from_start),
        _ => plan_err!("option axis is {axis}, but x has {rank} dimensions"),
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Nonzero;

impl TensorFunction for Nonzero {
    const USAGE: Usage = Usage {
        names_rows: true,
        ..Usage::of_tensor("nonzero", "nonzero(mask, '10', 'surplus=drop')", 0..=2)
    };

    fn result_type(call: &Call) -> Result<TensorType> {
        let mask = &call.tensors[0];
        mask.check_mask("mask")?;
        let limit = MaskCapacity::of(call, 0, &OPTION_NAMES[1..])?;
        let plan = Plan::nonzero(mask.shape(), Some(limit.capacity), DType::I64);
        TensorType::new(DataType::Int64, plan.map_err(refused)?.shape())
    }

    fn run(call: &Call, batch: &Batch, result: &mut [u8]) -> Result<Option<RowProblem>> {
        let limit = MaskCapacity::of(call, 0, &OPTION_NAMES[1..])?;
        let masks = batch.repeated_bytes(0);
        let shape = call.tensors[0].shape();
        if shape.contains(&0) {
            // No element is true, so all positions are -1.
            result.fill(0xff);
            return Ok(None);
        }
        let surplus_mask = find_positions((shape, DType::I64), &masks, limit, result)?;
        Ok(surplus_mask.map(|mask| mask.into_problem(batch.columns[0].repeats())))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct CountNonzero;

impl TensorFunction for CountNonzero {
    const USAGE: Usage = Usage::of_tensor("count_nonzero", "count_nonzero(mask)", 0..=0);
    const RUNS_ON_NULL_ROWS: bool = true;

    fn result_type(call: &Call) -> Result<TensorType> {
        call.tensors[0].check_mask("mask")?;
        TensorType::new(DataType::Int64, &[])
    }

    fn run(call: &Call, batch: &Batch, result: &mut [u8]) -> Result<Option<RowProblem>> {
        let masks = batch.repeated_bytes(0);
        let (counts, _) = result.as_chunks_mut();
        // A mask without elements has no bytes, so the result keeps its zeros.
        let masks = masks.chunks_exact(call.tensors[0].elements().max(1));
        for (count, mask) in counts.iter_mut().zip(masks) {
            *count = (count_true(mask) as i64).to_ne_bytes();
        }
        Ok(None)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TensorSelect;

impl TensorFunction for TensorSelect {
    const USAGE: Usage = Usage {
        tensor_count: 3,
        ..Usage::of_tensor("tensor_select", "tensor_select(mask, x, y)", 0..=0)
    };
    const RUNS_ON_NULL_ROWS: bool = true;

    fn result_type(call: &Call) -> Result<TensorType> {
        let [mask, x, y] = &call.tensors[..] else {
            return internal_err!("tensor_select has other tensors");
        };
        mask.check_mask("mask")?;
        if x.element() != y.element() {
            return plan_err!(
                "x is {} and y is {}, but both must be of one type: arrow_cast makes one of the other",
                x.element(),
                y.element()
            );
        }
        let dtype = call.tensors[1].dtype();
        let plan = Plan::select(mask.shape(), x.shape(), y.shape(), dtype).map_err(refused)?;
        x.with_shape(plan.shape())
    }

    fn run(call: &Call, batch: &Batch, result: &mut [u8]) -> Result<Option<RowProblem>> {
        let ranks = call.tensors.iter().map(|tensor| tensor.shape().len());
        let rank = ranks.max().unwrap_or(0);
        // The shapes get the same rank, with the rows first, so that rows are not broadcast against tensor dimensions.
        let shape = |number: usize| {
            let own_shape = call.tensors[number].shape();
            let rows = if batch.columns[number].repeats() {
                1
            } else {
                batch.rows
            };
            [&[rows], &vec![1; rank - own_shape.len()][..], own_shape].concat()
        };
        let dtype = call.tensors[1].dtype();
        let plan = Plan::select(&shape(0), &shape(1), &shape(2), dtype).map_err(failed)?;
        let [mask, x, y] = [0, 1, 2].map(|number| batch.columns[number].bytes());
        let [x, y] = [&x, &y].map(|bytes| Values::from_bytes(dtype, bytes));
        let inputs = [Values::from_bytes(DType::U8, &mask), x, y];
        plan.run_cpu(&inputs, &mut [ValuesMut::from_bytes(dtype, result)])
            .map_err(failed)?;
        Ok(None)
    }
}

/// The capacity of a result, and whether true elements above it are dropped. Otherwise they are an error.
#[derive(Clone, Copy)]
struct MaskCapacity {
    capacity: usize,
    drops_surplus: bool,
}

impl MaskCapacity {
    /// Parses the capacity and the options in `option_names`. The mask is tensor `mask_number`.
    fn of(call: &Call, mask_number: usize, option_names: &[&str]) -> Result<Self> {
        let options = Options::parse(call.text(1), option_names)?;
        let capacity = match (call.text(0).trim(), call.true_count(mask_number)) {
            ("", Some(count)) => count,
            ("", None) => {
                return plan_err!(
                    "the capacity is left out, which is possible only for a mask that is a literal: give the most \
                     true elements that a mask has, as in '10'"
                );
            }
            (text, _) => match text.parse() {
                Ok(capacity) => capacity,
                Err(_) => {
                    return plan_err!("the capacity is {text:?}, but must be an integer in range");
                }
            },
        };
        Ok(Self {
            capacity,
            drops_surplus: options.drops_surplus()?,
        })
    }
}

/// The first mask of a batch with more true elements than the capacity.
struct SurplusMask {
    row: usize,
    true_count: usize,
    capacity: usize,
    /// The number of masks with too many true elements, and the number of all masks.
    mask_counts: [usize; 2],
}

impl SurplusMask {
    fn into_problem(self, is_shared: bool) -> RowProblem {
        let Self {
            row,
            true_count,
            capacity,
            mask_counts: [surplus, all],
        } = self;
        RowProblem {
            row: (!is_shared).then_some(row),
            problem: format!(
                "the mask has {true_count} true elements, which is above the capacity {capacity} ({surplus} of the {all} \
                 masks of the batch have too many): give a larger one, or choose 'surplus=drop'"
            ),
        }
    }
}

/// Finds the true elements of several masks of this shape, and writes their positions to `positions` as numbers of this
/// type. Returns the first mask with too many true elements, if that is an error.
fn find_positions(
    (shape, dtype): (&[usize], DType),
    masks: &[u8],
    limit: MaskCapacity,
    positions: &mut [u8],
) -> Result<Option<SurplusMask>> {
    let capacity = limit.capacity;
    let nonzero = Plan::nonzero(shape, Some(capacity), dtype).map_err(failed)?;
    let masks = masks.chunks_exact(shape.iter().product());
    let [mut surplus_count, mask_count] = [0, masks.len()];
    let mut first = None;
    let bytes_per_mask = capacity * nonzero.shape()[1] * dtype.size();
    for (row, mask) in masks.enumerate() {
        let mask_positions = &mut positions[row * bytes_per_mask..][..bytes_per_mask];
        let outputs = &mut [ValuesMut::from_bytes(dtype, mask_positions)];
        let report = nonzero.run_cpu(&[mask.into()], outputs);
        let true_count = report.map_err(failed)?.found.unwrap_or(0);
        if true_count > capacity && !limit.drops_surplus {
            surplus_count += 1;
            first = first.or(Some((row, true_count)));
        }
    }
    Ok(first.map(|(row, true_count)| SurplusMask {
        row,
        true_count,
        capacity,
        mask_counts: [surplus_count, mask_count],
    }))
}

fn count_true(mask: &[u8]) -> usize {
    mask.iter().filter(|&&byte| byte != 0).count()
}
