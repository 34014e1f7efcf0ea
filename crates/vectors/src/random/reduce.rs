//! Reduces a failing case by small changes, as long as it still fails.
//!
//! A candidate differs from the case in one respect, such as a size (everywhere or in one place), an entry of a list,
//! an index, a bit of a mask or an optional argument. The caller's function returns whether a candidate still fails. A
//! candidate that is not a valid case of the operation should count as passing. None of the candidates of the final
//! case fails, unless the limit on candidates is reached first.

use crate::{
    case::{Case, Tensor},
    combine::float_type,
};
use serde_json::{Map, Value};

/// Returns the smallest failing case that is found from `case`, after trying at most `max_tries` candidates.
pub fn reduce(case: &Case, max_tries: usize, fails: impl Fn(&Case) -> bool) -> Case {
    let mut smallest_case = case.clone();
    let mut tries = 0;
    loop {
        let smaller_case = smaller_cases(&smallest_case).find(|candidate| {
            tries += 1;
            tries <= max_tries && fails(candidate)
        });
        match smaller_case {
            Some(smaller_case) => smallest_case = smaller_case,
            None => return smallest_case,
        }
    }
}

/// Returns the cases that are one change smaller: first in arguments, then in ranks, sizes and values.
fn smaller_cases(case: &Case) -> impl Iterator<Item = Case> {
    let with_shorter_args = shorter_args(&case.args).into_iter().map(|args| Case {
        args,
        ..case.clone()
    });
    let with_smaller_tensors = smaller_sizes(case)
        .into_iter()
        .flat_map(|(size, smaller_size)| {
            // Dimensions of equal size may have to stay equal, so they first change together, and then one at a time.
            let resized_case = resized_everywhere(case, size, smaller_size);
            [resized_case]
                .into_iter()
                .chain(resized_once(case, size, smaller_size))
        });
    let with_smaller_ranks = dropped_dimensions(case);
    let with_simpler_values = simpler_values(case);
    with_shorter_args
        .chain(with_smaller_ranks)
        .chain(with_smaller_tensors)
        .chain(with_simpler_values)
}

/// Returns pairs of a size that occurs in a tensor and a smaller size to replace it. The largest sizes come first.
fn smaller_sizes(case: &Case) -> Vec<(usize, usize)> {
    let mut sizes: Vec<usize> = case
        .tensors
        .values()
        .flat_map(|t| t.shape.clone())
        .collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes.dedup();
    let size_pairs = |&size: &usize| {
        let mut new_sizes = vec![1, size / 2, size.saturating_sub(1)];
        new_sizes.retain(|&new_size| 0 < new_size && new_size < size);
        new_sizes.dedup();
        new_sizes
            .into_iter()
            .map(move |new_size| (size, new_size))
            .collect::<Vec<_>>()
    };
    sizes.iter().flat_map(size_pairs).collect()
}

fn resized_everywhere(case: &Case, size: usize, new_size: usize) -> Case {
    let mut smaller_case = case.clone();
    for tensor in smaller_case.tensors.values_mut() {
        let shape = tensor
            .shape
            .iter()
            .map(|&s| if s == size { new_size } else { s });
        *tensor = crop_tensor(tensor, &shape.collect::<Vec<_>>());
    }
    if let Some(Value::Array(shape)) = smaller_case.args.get_mut("shape") {
        let equal_sizes = shape.iter_mut().filter(|s| s.as_u64() == Some(size as u64));
        equal_sizes.for_each(|s| *s = new_size.into());
    }
    smaller_case
}

fn resized_once(case: &Case, size: usize, new_size: usize) -> impl Iterator<Item = Case> {
    let names_and_dims = case.tensors.iter().flat_map(move |(name, tensor)| {
        let has_size = move |&dim: &usize| tensor.shape[dim] == size;
        (0..tensor.shape.len())
            .filter(has_size)
            .map(move |dim| (name, dim))
    });
    names_and_dims.map(move |(name, dim)| {
        let mut smaller_case = case.clone();
        if let Some(tensor) = smaller_case.tensors.get_mut(name) {
            let mut shape = tensor.shape.clone();
            shape[dim] = new_size;
            *tensor = crop_tensor(tensor, &shape);
        }
        smaller_case
    })
}

/// Returns the block of this shape at the start of a tensor. The shape has the tensor's rank, and none of its sizes is
/// larger than the tensor's.
fn crop_tensor(tensor: &Tensor, shape: &[usize]) -> Tensor {
    let mut data = Vec::new();
    let mut coordinates = vec![0; shape.len()];
    for _ in 0..shape.iter().product::<usize>() {
        let position = coordinates
            .iter()
            .zip(&tensor.shape)
            .fold(0, |sum, (c, s)| sum * s + c);
        data.push(tensor.data[position]);
        for (c, s) in coordinates.iter_mut().zip(shape).rev() {
            *c += 1;
            if *c < *s {
                break;
            }
            *c = 0;
        }
    }
    let shape = shape.to_vec();
    Tensor { shape, data }
}

/// Returns cases in which one tensor lacks one of its dimensions of size 1.
fn dropped_dimensions(case: &Case) -> impl Iterator<Item = Case> {
    case.tensors.iter().flat_map(move |(name, tensor)| {
        let has_size_1 = move |&dim: &usize| tensor.shape[dim] == 1;
        (0..tensor.shape.len()).filter(has_size_1).map(move |dim| {
            let mut smaller_case = case.clone();
            if let Some(tensor) = smaller_case.tensors.get_mut(name) {
                tensor.shape.remove(dim);
            }
            smaller_case
        })
    })
}

/// Returns cases with one index nearer to 0, or with the values 1, 2, 3, … in one tensor. Floating-point numbers stay
/// as they are, because those integers are the bits of subnormal numbers.
fn simpler_values(case: &Case) -> impl Iterator<Item = Case> {
    case.tensors.iter().flat_map(move |(name, tensor)| {
        let ascending_values: Vec<i64> = (1..).take(tensor.data.len()).collect();
        let ascending_case = (name != "indices"
            && float_type(&case.dtype).is_none()
            && tensor.data.len() < 128
            && tensor.data != ascending_values)
            .then(|| with_data(case, name, ascending_values));
        let index_count = if name == "indices" {
            tensor.data.len()
        } else {
            0
        };
        let nearer_cases = (0..index_count).flat_map(move |position| {
            let value = tensor.data[position];
            let mut nearer_values = vec![0, value / 2, value - value.signum()];
            nearer_values.retain(|new_value| new_value.unsigned_abs() < value.unsigned_abs());
            nearer_values.dedup();
            nearer_values.into_iter().map(move |new_value| {
                let mut data = tensor.data.clone();
                data[position] = new_value;
                with_data(case, name, data)
            })
        });
        ascending_case.into_iter().chain(nearer_cases)
    })
}

fn with_data(case: &Case, name: &str, data: Vec<i64>) -> Case {
    let mut smaller_case = case.clone();
    if let Some(tensor) = smaller_case.tensors.get_mut(name) {
        tensor.data = data;
    }
    smaller_case
}

/// Returns a copy of the arguments for each possible reduction of one argument.
fn shorter_args(args: &Map<String, Value>) -> Vec<Map<String, Value>> {
    let with_arg = |name: &str, value: Value| {
        let mut args = args.clone();
        args.insert(name.to_owned(), value);
        args
    };
    let mut reduced_args = Vec::new();
    for optional_name in ["view", "negative", "out_of_range"] {
        if args.contains_key(optional_name) {
            let mut args = args.clone();
            args.remove(optional_name);
            reduced_args.push(args);
        }
    }
    let entry_count = args
        .get("begin")
        .and_then(Value::as_array)
        .map_or(0, Vec::len);
    reduced_args.extend((0..entry_count).map(|entry_index| without_entry(args, entry_index)));
    for (name, value) in args {
        match value {
            Value::Array(list) if name == "steps" || name == "view" => {
                for (step_index, step) in list.iter().enumerate() {
                    let mut shorter_list = list.clone();
                    shorter_list.remove(step_index);
                    reduced_args.push(with_arg(name, shorter_list.into()));
                    let Some(Value::Object(spec)) = step.get("strided_slice") else {
                        continue;
                    };
                    for spec in shorter_args(spec) {
                        let mut steps = list.clone();
                        steps[step_index] = serde_json::json!({ "strided_slice": spec });
                        reduced_args.push(with_arg(name, steps.into()));
                    }
                }
            }
            Value::Array(list) if name != "shape" => {
                for (entry_index, value) in list.iter().enumerate() {
                    for new_value in simpler_integers(value.as_i64().unwrap_or(0), name) {
                        let mut list = list.clone();
                        list[entry_index] = new_value.into();
                        reduced_args.push(with_arg(name, list.into()));
                    }
                }
            }
            Value::Number(number) => {
                let old_number = number.as_i64().unwrap_or(0);
                reduced_args.extend(
                    simpler_integers(old_number, name)
                        .into_iter()
                        .map(|new_value| with_arg(name, new_value.into())),
                );
            }
            _ => {}
        }
    }
    reduced_args
}

/// Returns simpler integers than `value`. For a mask, returns one mask for each set bit, without this bit. For other
/// integers, returns 0 (1 for strides), half of `value` and the next integer towards 0, if they are nearer to 0 than
/// `value`. For a stride of 0, returns 1.
fn simpler_integers(value: i64, name: &str) -> Vec<i64> {
    if name.ends_with("_mask") {
        // A mask is a signed 32-bit integer. A value that does not fit becomes 0.
        let Ok(mask) = i32::try_from(value) else {
            return vec![0];
        };
        let set_bits = (0..32).map(|bit| 1 << bit).filter(|bit| mask & bit != 0);
        return set_bits.map(|bit: i32| (mask & !bit).into()).collect();
    }
    let simplest = i64::from(name == "strides");
    let mut new_values = vec![simplest, value / 2, value - value.signum()];
    new_values.retain(|&new_value| {
        new_value.unsigned_abs() < value.unsigned_abs() || value == 0 && new_value == 1
    });
    new_values.dedup();
    new_values
}

/// Returns the arguments of a slice without one entry. In masks, the bit of this entry is removed, and the bits above
/// it move down.
fn without_entry(args: &Map<String, Value>, entry_index: usize) -> Map<String, Value> {
    let mut args = args.clone();
    for (name, value) in &mut args {
        match value {
            Value::Array(list)
                if ["begin", "end", "strides", "size"].contains(&name.as_str())
                    && entry_index < list.len() =>
            {
                list.remove(entry_index);
            }
            Value::Number(number) if name.ends_with("_mask") => {
                let mask = number.as_i64().unwrap_or(0);
                let low_bits = (1_i64 << entry_index) - 1;
                *value = (mask & low_bits | mask >> 1 & !low_bits).into();
            }
            _ => {}
        }
    }
    args
}
