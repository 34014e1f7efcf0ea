//! Random cases: the arguments of each operation mostly match, and sometimes do not.

use super::draw::{MOST, disturb, few, integer, policy, rarely, shape, spec, tensor, tuples};
use crate::{
    arguments::Arguments,
    case::{Case, Tensor},
    operation::Operation,
    oracle,
};
use fastrand::Rng;
use serde_json::{Map, Value, json};

/// The operations, repeated by the number of ways in which they can go wrong.
const OFTEN: [Operation; 13] = [
    Operation::StridedSlice,
    Operation::StridedSlice,
    Operation::View,
    Operation::Slice,
    Operation::StridedSliceGrad,
    Operation::StridedSliceUpdate,
    Operation::GatherNd,
    Operation::GatherNd,
    Operation::Gather,
    Operation::BatchGather,
    Operation::ScatterNd,
    Operation::TensorScatterNdUpdate,
    Operation::TensorScatterNdAdd,
];

/// Case `number` of a seed, independent of the cases before it.
pub fn case(seed: u64, number: usize) -> Case {
    let mut rng = rng(seed, number);
    let operation = OFTEN[rng.usize(..OFTEN.len())];
    made(operation, &mut rng, number)
}

/// Case `number` of a seed, of an operation.
pub fn case_of(operation: Operation, seed: u64, number: usize) -> Case {
    made(operation, &mut rng(seed, number), number)
}

/// Neighbouring seeds give unrelated sequences.
fn rng(seed: u64, number: usize) -> Rng {
    let mut rng = Rng::with_seed(seed);
    Rng::with_seed(rng.u64(..).wrapping_add(number as u64))
}

fn made(operation: Operation, rng: &mut Rng, number: usize) -> Case {
    let mut case = match operation {
        Operation::StridedSlice => strided_slice(rng),
        Operation::View => view(rng),
        Operation::Slice => slice(rng),
        Operation::StridedSliceGrad => strided_slice_grad(rng),
        Operation::StridedSliceUpdate => strided_slice_update(rng),
        Operation::GatherNd => gather_nd(rng),
        Operation::Gather => gather(rng),
        Operation::BatchGather => batch_gather(rng),
        Operation::ScatterNd => scatter_nd(rng),
        Operation::TensorScatterNdUpdate | Operation::TensorScatterNdAdd => {
            tensor_scatter_nd(operation, rng)
        }
    };
    case.line = number;
    case
}

fn strided_slice(rng: &mut Rng) -> Case {
    let shape = shape(rng, 8, 0);
    let args = spec(rng, &shape);
    Case::new(
        Operation::StridedSlice,
        [("input", tensor(rng, &shape))],
        args,
    )
}

fn view(rng: &mut Rng) -> Case {
    let shape = shape(rng, 5, 0);
    let mut args = Map::new();
    args.insert("steps".into(), steps(rng, &shape).into());
    Case::new(Operation::View, [("input", tensor(rng, &shape))], args)
}

fn slice(rng: &mut Rng) -> Case {
    let shape = shape(rng, 6, 0);
    let (mut begin, mut size) = (Vec::new(), Vec::new());
    for &dim in &shape {
        let first = integer(rng, 0, dim);
        let left = dim.saturating_sub(usize::try_from(first).unwrap_or(0));
        begin.push(rarely(rng, first, -1));
        let taken = integer(rng, 0, left);
        size.push(match rng.u8(..10) {
            0..3 => -1,
            _ => rarely(rng, taken, left as i64 + 1),
        });
    }
    let mut args = Map::new();
    args.insert("begin".into(), begin.into());
    args.insert("size".into(), size.into());
    Case::new(Operation::Slice, [("input", tensor(rng, &shape))], args)
}

fn strided_slice_grad(rng: &mut Rng) -> Case {
    let shape = shape(rng, 8, 0);
    let mut args = spec(rng, &shape);
    let mut dy = forward(&shape, &args);
    disturb(rng, &mut dy);
    args.insert("shape".into(), shape.into());
    Case::new(
        Operation::StridedSliceGrad,
        [("dy", tensor(rng, &dy))],
        args,
    )
}

fn strided_slice_update(rng: &mut Rng) -> Case {
    let shape = shape(rng, 8, 0);
    let args = spec(rng, &shape);
    let mut value = forward(&shape, &args);
    for size in &mut value {
        if rng.u8(..6) == 0 {
            *size = 1;
        }
    }
    match rng.u8(..6) {
        0 => value = value.split_off(rng.usize(..=value.len())),
        1 => value.insert(0, 1),
        _ => disturb(rng, &mut value),
    }
    let tensors = [
        ("input", tensor(rng, &shape)),
        ("value", tensor(rng, &value)),
    ];
    Case::new(Operation::StridedSliceUpdate, tensors, args)
}

fn gather_nd(rng: &mut Rng) -> Case {
    let source = shape(rng, 5, 1);
    let mut args = Map::new();
    let params = viewed(rng, &source, &mut args);
    let batch_dims = match params.len() {
        2.. if rng.u8(..3) == 0 => rng.usize(..params.len()),
        _ => 0,
    };
    let depth = rng.usize(..=params.len() - batch_dims);
    let mut lead = params[..batch_dims].to_vec();
    lead.extend(few(rng, 3));
    let indices = tuples(rng, &lead, &params[batch_dims..batch_dims + depth]);
    args.insert("batch_dims".into(), batch_dims.into());
    policy(rng, &mut args);
    let tensors = [("params", tensor(rng, &source)), ("indices", indices)];
    Case::new(Operation::GatherNd, tensors, args)
}

fn gather(rng: &mut Rng) -> Case {
    let source = shape(rng, 5, 1);
    let mut args = Map::new();
    let params = viewed(rng, &source, &mut args);
    let axis = rng.usize(..params.len());
    let batch_dims = if rng.bool() { 0 } else { rng.usize(..=axis) };
    let mut indices = params[..batch_dims].to_vec();
    indices.extend(few(rng, 2));
    let rank = |rng: &mut Rng, at: usize, rank: usize| match rng.u8(..4) {
        0 if at < rank => at as i64 - rank as i64,
        _ => at as i64,
    };
    args.insert("axis".into(), rank(rng, axis, params.len()).into());
    args.insert(
        "batch_dims".into(),
        rank(rng, batch_dims, indices.len()).into(),
    );
    policy(rng, &mut args);
    let mut tuples = tuples(rng, &indices, &params[axis..=axis]);
    tuples.shape = indices;
    let tensors = [("params", tensor(rng, &source)), ("indices", tuples)];
    Case::new(Operation::Gather, tensors, args)
}

fn batch_gather(rng: &mut Rng) -> Case {
    let params = shape(rng, 4, 1);
    let batch_dims = rng.usize(..params.len());
    let mut indices = params[..batch_dims].to_vec();
    indices.push(rng.usize(..6));
    let mut args = Map::new();
    policy(rng, &mut args);
    let mut tuples = tuples(rng, &indices, &params[batch_dims..=batch_dims]);
    tuples.shape = indices;
    let tensors = [("params", tensor(rng, &params)), ("indices", tuples)];
    Case::new(Operation::BatchGather, tensors, args)
}

fn scatter_nd(rng: &mut Rng) -> Case {
    let shape = shape(rng, 4, 1);
    let mut args = Map::new();
    let (indices, updates) = scattered(rng, &shape, &mut args);
    args.insert("shape".into(), shape.into());
    Case::new(
        Operation::ScatterNd,
        [("indices", indices), ("updates", updates)],
        args,
    )
}

fn tensor_scatter_nd(operation: Operation, rng: &mut Rng) -> Case {
    let shape = shape(rng, 4, 1);
    let mut args = Map::new();
    let (indices, updates) = scattered(rng, &shape, &mut args);
    let tensor = tensor(rng, &shape);
    let tensors = [
        ("tensor", tensor),
        ("indices", indices),
        ("updates", updates),
    ];
    Case::new(operation, tensors, args)
}

/// Index tuples into a shape, and the updates. Duplicates are frequent.
fn scattered(rng: &mut Rng, shape: &[usize], args: &mut Map<String, Value>) -> (Tensor, Tensor) {
    let depth = 1 + rng.usize(..shape.len());
    let lead = match rng.bool() {
        true => vec![rng.usize(..40)],
        false => few(rng, 3),
    };
    let mut updates = [&lead, &shape[depth..]].concat();
    if updates.iter().product::<usize>() > MOST {
        updates = [&lead[..0], &shape[depth..]].concat();
        updates.insert(0, 1);
        let indices = tuples(rng, &[1], &shape[..depth]);
        return (indices, tensor(rng, &updates));
    }
    // Half of them have few positions, with many rows each.
    let mut places = shape[..depth].to_vec();
    if rng.bool() {
        places.iter_mut().for_each(|size| *size = (*size).min(4));
    }
    let indices = tuples(rng, &lead, &places);
    disturb(rng, &mut updates);
    policy(rng, args);
    let mut updates = tensor(rng, &updates);
    // Sums of a few fit the smallest elements.
    updates.data.iter_mut().for_each(|value| *value %= 8);
    (indices, updates)
}

/// Steps of a view on params of this shape, if any, and the resulting shape.
fn viewed(rng: &mut Rng, source: &[usize], args: &mut Map<String, Value>) -> Vec<usize> {
    if rng.u8(..3) > 0 {
        return source.to_vec();
    }
    let steps = steps(rng, source);
    let shape = viewed_shape(source, &steps);
    match shape {
        // A gather needs at least one dimension.
        Some(shape) if !shape.is_empty() => {
            args.insert("view".into(), steps.into());
            shape
        }
        _ => source.to_vec(),
    }
}

/// One to three steps of a view: slices, transposes and broadcasts.
fn steps(rng: &mut Rng, source: &[usize]) -> Vec<Value> {
    let mut steps = Vec::new();
    let mut shape = source.to_vec();
    for _ in 0..rng.usize(1..=3) {
        let step = match rng.u8(..4) {
            0 => {
                let mut permutation: Vec<usize> = (0..shape.len()).collect();
                rng.shuffle(&mut permutation);
                json!({ "transpose": permutation })
            }
            1 => {
                let mut to = shape.clone();
                for size in &mut to {
                    if *size == 1 {
                        *size = rng.usize(..4);
                    }
                }
                if to.iter().product::<usize>() * 3 < MOST && rng.bool() {
                    to.insert(0, rng.usize(1..4));
                }
                json!({ "broadcast_to": to })
            }
            _ => json!({ "strided_slice": spec(rng, &shape) }),
        };
        steps.push(step);
        match viewed_shape(source, &steps) {
            Some(after) => shape = after,
            // Stops at an error, because later steps would not run.
            None => break,
        }
    }
    steps
}

/// The shape of a view after these steps. `None` if one is an error.
fn viewed_shape(source: &[usize], steps: &[Value]) -> Option<Vec<usize>> {
    let args = Map::from_iter([("steps".to_owned(), steps.to_vec().into())]);
    let args = Arguments {
        line: 0,
        args: &args,
    };
    let source = Tensor {
        shape: source.to_vec(),
        data: vec![0; source.iter().product()],
    };
    let viewed = oracle::viewed(&source, &args.steps("steps").ok()?);
    viewed.ok().map(|viewed| viewed.shape)
}

/// The shape of a slice, or any shape if the slice is an error.
fn forward(shape: &[usize], args: &Map<String, Value>) -> Vec<usize> {
    let step = json!({ "strided_slice": args });
    viewed_shape(shape, &[step]).unwrap_or_default()
}
