//! Checks results by a checksum: the sum of all elements, where element i is multiplied by i % 97 + 1.
//!
//! The expected sum follows from the formula of the data. It is computed by plain arithmetic on positions, without the
//! library. All terms are integers, so 64-bit floating point holds sums below 2^53 exactly.

use super::{
    data,
    workload::{Bounds, Operation, Workload},
};
use std::collections::BTreeMap;
use wgslice::DType;

/// The weights repeat after this many elements.
const WEIGHTS: usize = 97;

/// Computes the expected checksum of a workload from the formula.
pub(crate) fn expected(work: &Workload) -> f64 {
    let mut sum = Sum::default();
    match &work.operation {
        Operation::Slice { bounds, .. } => {
            let dims = bounds.iter().zip(&work.shape);
            let walks: Vec<Walk> = dims.map(|(bounds, &size)| walk(bounds, size)).collect();
            let strides = strides(&work.shape);
            let begin = walks
                .iter()
                .zip(&strides)
                .map(|(walk, stride)| walk.first * stride);
            let dims = walks.iter().zip(&strides).map(|(walk, stride)| Dim {
                count: walk.count,
                // With a step longer than the dimension, there is one position, and the stride does not matter.
                stride: walk.step.wrapping_mul(*stride),
            });
            add_all(&mut sum, work, &dims.collect::<Vec<_>>(), begin.sum());
        }
        Operation::Transpose { axes } => {
            let strides = strides(&work.shape);
            let dims = axes.iter().map(|&axis| Dim {
                count: signed(work.shape[axis]),
                stride: strides[axis],
            });
            add_all(&mut sum, work, &dims.collect::<Vec<_>>(), 0);
        }
        Operation::Crop { options } => {
            let strides = strides(&work.shape);
            for n in 0..work.shape[0] {
                let (begins, flips) = data::crop_box(&work.shape, &options.sizes, n);
                let mut begin = signed(n) * strides[0];
                let mut dims = Vec::new();
                for (d, &size) in options.sizes.iter().enumerate() {
                    let (count, stride) = (signed(size), strides[1 + d]);
                    begin += signed(begins[d]) * stride;
                    if flips[d] {
                        begin += (count - 1) * stride;
                    }
                    let stride = if flips[d] { -stride } else { stride };
                    dims.push(Dim { count, stride });
                }
                let kept = 1 + options.sizes.len()..;
                let sizes = work.shape[kept.clone()].iter().zip(&strides[kept]);
                dims.extend(sizes.map(|(&size, &stride)| Dim {
                    count: signed(size),
                    stride,
                }));
                add_all(&mut sum, work, &dims, begin);
            }
        }
        Operation::Update { bounds, .. } => {
            let dims = bounds.iter().zip(&work.shape).zip(strides(&work.shape));
            let mut places = vec![0];
            for ((bounds, &size), stride) in dims {
                let Walk { first, step, count } = walk(bounds, size);
                let along = |at: i64| (0..count).map(move |i| at + (first + i * step) * stride);
                places = places.into_iter().flat_map(along).collect();
            }
            let numbered = places.into_iter().zip(0..);
            let changed: BTreeMap<i64, usize> = numbered.collect();
            let mut changed = changed.into_iter().peekable();
            for i in 0..work.shape.iter().product() {
                let value = changed.next_if(|&(place, _)| place == signed(i));
                sum.add(value.map_or_else(|| work.values.at(i), |(_, n)| work.values.update(n)));
            }
        }
        &Operation::Gather { rows, depth } => {
            let run: usize = work.shape[depth..].iter().product();
            for row in 0..rows {
                let tuple = (row * depth..).take(depth);
                let begin = tuple.zip(&work.shape).fold(0, |at, (i, &size)| {
                    at * size + data::index(&work.shape, depth, i)
                });
                for i in begin * run..(begin + 1) * run {
                    sum.add(work.values.at(i));
                }
            }
        }
    }
    sum.total as f64
}

#[derive(Debug, Default)]
struct Sum {
    total: u64,
    at: usize,
}

impl Sum {
    fn add(&mut self, value: u32) {
        self.total += u64::from(value) * (self.at as u64 + 1);
        self.at = (self.at + 1) % WEIGHTS;
    }
}

/// The positions that a slice selects along one dimension: `first + i * step` for every `i` below `count`.
#[derive(Clone, Copy, Debug)]
struct Walk {
    first: i64,
    step: i64,
    count: i64,
}

/// A dimension of the result: its size, and its stride in the data, in elements.
#[derive(Clone, Copy, Debug)]
struct Dim {
    count: i64,
    stride: i64,
}

fn signed(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// Returns the row-major strides of an array, in elements.
fn strides(shape: &[usize]) -> Vec<i64> {
    let inner = |dim| shape[dim + 1..].iter().map(|&size| signed(size)).product();
    (0..shape.len()).map(inner).collect()
}

/// Applies Python's rules: a negative bound counts from the end, and every bound is clamped to the dimension.
fn walk(&[start, stop, step]: &Bounds, size: usize) -> Walk {
    let length = signed(size);
    let step = step.unwrap_or(1);
    let (low, high) = if step > 0 {
        (0, length)
    } else {
        (-1, length - 1)
    };
    let cut = |at: i64| {
        (if at < 0 {
            at.saturating_add(length)
        } else {
            at
        })
        .clamp(low, high)
    };
    let first = start.map_or(if step > 0 { low } else { high }, cut);
    let end = stop.map_or(if step > 0 { high } else { low }, cut);
    let gap = if step > 0 { end - first } else { first - end };
    let count = gap.max(0).unsigned_abs();
    let count = count.div_ceil(step.unsigned_abs().max(1));
    Walk {
        first,
        step,
        count: i64::try_from(count).unwrap_or(i64::MAX),
    }
}

/// Adds the elements along `dims` to `sum`, in the order of the result. The first is element `at` of the data.
fn add_all(sum: &mut Sum, work: &Workload, dims: &[Dim], at: i64) {
    match dims.split_first() {
        None => sum.add(work.values.at(usize::try_from(at).unwrap_or(usize::MAX))),
        Some((dim, inner)) => {
            for i in 0..dim.count {
                add_all(sum, work, inner, at + i * dim.stride);
            }
        }
    }
}

/// A result with a wrong checksum.
#[derive(Debug, thiserror::Error)]
#[error("wrong result: its checksum is {found}, but {whose} says {expected}")]
pub(crate) struct Wrong {
    found: f64,
    expected: f64,
    whose: &'static str,
}

/// Compares the checksum of a result with `expected`, the checksum from the formula, and with the checksum in the
/// workloads file if there is one.
pub(crate) fn verify(work: &Workload, expected: f64, result: &[u8]) -> Result<(), Wrong> {
    let found = of(result, work.values.dtype());
    let wanted = [
        (Some(expected), "the formula of its data"),
        (work.checksum, "the workloads file"),
    ];
    for (expected, whose) in wanted {
        if let Some(expected) = expected.filter(|&expected| expected != found) {
            return Err(Wrong {
                found,
                expected,
                whose,
            });
        }
    }
    Ok(())
}

/// Returns the checksum of a result, given as bytes.
fn of(bytes: &[u8], dtype: DType) -> f64 {
    match dtype {
        DType::F16 => sum(bytes, |&bytes: &[u8; 2]| half(u16::from_ne_bytes(bytes))),
        DType::F32 => sum(bytes, |&bytes: &[u8; 4]| f32::from_ne_bytes(bytes).into()),
        DType::F64 => sum(bytes, |&bytes: &[u8; 8]| f64::from_ne_bytes(bytes)),
        _ => sum(bytes, |&[byte]: &[u8; 1]| byte.into()),
    }
}

fn sum<const N: usize>(bytes: &[u8], value: impl Fn(&[u8; N]) -> f64) -> f64 {
    let (elements, _) = bytes.as_chunks();
    let mut total = 0.0;
    for run in elements.chunks(WEIGHTS) {
        for (weight, element) in (1u8..).zip(run) {
            total += value(element) * f64::from(weight);
        }
    }
    total
}

/// Returns the value of a half-precision number, given its bits.
fn half(bits: u16) -> f64 {
    let (exponent, mantissa) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => mantissa * 2f64.powi(-24),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + mantissa) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 {
        -magnitude
    } else {
        magnitude
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{data::Loaded, workload};

    /// NumPy's checksums in the built-in set equal those of the formula.
    #[test]
    fn the_formula_gives_what_numpy_gives() {
        let set = workload::built_in().expect("the set");
        // Larger workloads take seconds in a build without optimization.
        for work in set
            .iter()
            .filter(|work| work.plan.result_bytes() < 20 << 20)
        {
            assert_eq!(Some(expected(work)), work.checksum, "{work}");
        }
    }

    #[test]
    fn elements_come_back_from_their_bytes() {
        for dtype in ["u8", "f16", "f32", "f64"] {
            let text = format!(
                r#"{{"workloads": [{{"id": "A", "op": "slice", "dtype": "{dtype}",
                    "shape": [3, 7000], "slices": [[null, null, null], [-1, null, -2]]}}]}}"#
            );
            let work = &workload::parse(&text).expect("a set")[0];
            let loaded = Loaded::new(work).expect("memory");
            let mut dest = vec![0; work.plan.result_bytes()];
            let outcome = work
                .plan
                .run_cpu_bytes(loaded.input.as_ref(), None, &mut dest);
            outcome.expect("the lengths are right");
            assert_eq!(of(&dest, work.values.dtype()), expected(work), "{dtype}");
            let last = dest.len() - 1;
            dest[last] ^= 1;
            assert_ne!(of(&dest, work.values.dtype()), expected(work), "{dtype}");
        }
    }

    #[test]
    fn a_step_longer_than_the_array_selects_one_position() {
        for step in [i64::MAX, i64::MIN] {
            let text = format!(
                r#"{{"workloads": [{{"id": "A", "op": "slice", "dtype": "f32", "shape": [10, 3],
                    "slices": [[1, null, {step}], [null, null, null]]}}]}}"#
            );
            let work = &workload::parse(&text).expect("a set")[0];
            let row = [3, 4, 5].into_iter().map(|at| work.values.at(at));
            let weighted = row.zip(1..).map(|(value, weight)| value * weight);
            assert_eq!(expected(work), f64::from(weighted.sum::<u32>()), "{step}");
        }
    }

    #[test]
    fn bounds_mean_what_they_mean_in_python() {
        let rows = [
            ([Some(-3), None, Some(1)], vec![4, 5, 6]),
            ([None, None, Some(-3)], vec![6, 3, 0]),
            ([Some(9), Some(-9), Some(-2)], vec![6, 4, 2, 0]),
            ([Some(5), Some(2), Some(1)], vec![]),
            ([Some(2), Some(5), Some(-1)], vec![]),
            ([Some(-9), Some(2), None], vec![0, 1]),
            ([Some(1), None, Some(i64::MAX)], vec![1]),
            ([None, None, Some(i64::MIN)], vec![6]),
        ];
        for (bounds, positions) in rows {
            let Walk {
                first, step, count, ..
            } = walk(&bounds, 7);
            let found: Vec<i64> = (0..count).map(|i| first + i * step).collect();
            assert_eq!(found, positions, "{bounds:?}");
        }
    }
}
