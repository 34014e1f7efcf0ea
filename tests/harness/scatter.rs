//! Runs scatters into zeros and in place on drawn devices, and compares the results with the reference.

use super::{
    DTYPE_OF_EACH_SIZE, Device, Indices, UNWRITTEN, assert_same,
    combine::{combined, is_supported_on_gpu},
    devices, elements, kind, run_bytes, to_bytes,
};
use std::borrow::Cow;
use wgslice::{
    DType, Error, Plan, Report, Tensor,
    options::{Combine, NegativeIndex, OutOfRange, ScatterOptions},
};
use wgslice_vectors::reference::{self, Indexing, ReferenceError, Scattered};

/// The shapes, indices and options of a scatter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScatterCase<'a> {
    pub(crate) shape: &'a [usize],
    /// True if the scatter makes a new array from zeros, rather than changing an array in place.
    pub(crate) starts_from_zeros: bool,
    pub(crate) indices: &'a [i64],
    pub(crate) indices_shape: &'a [usize],
    pub(crate) updates_shape: &'a [usize],
    pub(crate) options: ScatterOptions,
}

impl ScatterCase<'_> {
    fn combine(&self) -> Combine {
        let default = if self.starts_from_zeros {
            Combine::Add
        } else {
            Combine::Update
        };
        self.options.combine.unwrap_or(default)
    }
}

/// Checks a scatter against the reference: with elements of every size if it replaces elements ([`Combine::Update`]),
/// and otherwise with integers of 1, 2, 4 and 8 bytes.
#[track_caller]
pub(crate) fn check_scatter(case: ScatterCase<'_>) {
    let dtypes = match case.combine() {
        Combine::Update => DTYPE_OF_EACH_SIZE.as_slice(),
        _ => &[DType::U8, DType::I16, DType::U32, DType::I64],
    };
    let input = elements(case.shape.iter().product());
    let updates: Vec<u128> = elements(case.updates_shape.iter().product())
        .iter()
        .map(|element| !element | 1)
        .collect();
    for &dtype in dtypes {
        check_scatter_of(case, dtype, &input, &updates);
    }
}

/// Checks a scatter of elements of one type. The elements are given as the lowest bytes of integers.
#[track_caller]
pub(crate) fn check_scatter_of(
    case: ScatterCase<'_>,
    dtype: DType,
    input: &[u128],
    updates: &[u128],
) {
    let expected = naive_scatter(case, input, updates, |old, new| {
        *old = combined(case.combine(), dtype, *old, *new);
    });
    let bytes = |elements: &[u128]| to_bytes(elements, dtype.size());
    let expected = match &expected {
        Ok(Scattered { values, bad_rows }) => Ok((bytes(values), &bad_rows[..])),
        Err(error) => Err(error),
    };
    check_scatter_of_bytes(case, dtype, &bytes(input), &bytes(updates), expected);
}

/// Returns the reference's result of a scatter.
pub(crate) fn naive_scatter<T: Clone + Default>(
    case: ScatterCase<'_>,
    input: &[T],
    updates: &[T],
    combine: impl FnMut(&mut T, &T),
) -> Result<Scattered<T>, ReferenceError> {
    let ScatterCase {
        shape,
        starts_from_zeros,
        indices,
        indices_shape,
        updates_shape,
        options,
    } = case;
    let indexing = Indexing {
        wrap: options.negative == NegativeIndex::Wrap,
        clamp: options.out_of_range == OutOfRange::Clamp,
    };
    let indices = (indices, indices_shape);
    match starts_from_zeros {
        true => reference::scatter_nd(
            indices.0,
            indices.1,
            updates,
            updates_shape,
            shape,
            indexing,
            combine,
        ),
        false => reference::tensor_scatter_nd(
            input,
            shape,
            indices.0,
            indices.1,
            updates,
            updates_shape,
            indexing,
            combine,
        ),
    }
}

/// Runs a scatter of elements of one type on drawn devices. Compares the result and the report with `expected`: the
/// result's bytes and the positions of the out-of-range tuples among all tuples.
#[track_caller]
pub(crate) fn check_scatter_of_bytes(
    case: ScatterCase<'_>,
    dtype: DType,
    input: &[u8],
    updates: &[u8],
    expected: Result<(Vec<u8>, &[usize]), &ReferenceError>,
) {
    let as_i32: Result<Vec<i32>, _> = case.indices.iter().map(|&i| i32::try_from(i)).collect();
    let as_u32: Result<Vec<u32>, _> = case.indices.iter().map(|&i| u32::try_from(i)).collect();
    let typed_indices = [
        Some(Indices::I64(case.indices)),
        as_i32.as_deref().ok().map(Indices::I32),
        as_u32.as_deref().ok().map(Indices::U32),
    ];
    // Every shader takes time and memory to compile, so the case runs with one of the index types.
    let typed_indices: Vec<_> = typed_indices.into_iter().flatten().collect();
    let type_choice = case.indices.len() + case.shape.iter().sum::<usize>() + dtype.size();
    let indices = typed_indices[type_choice % typed_indices.len()];
    let plan = plan_scatter(case, indices.dtype(), dtype);
    let (plan, (expected, bad_rows)) = match (plan, expected) {
        (Ok(plan), Ok(expected)) => (plan, expected),
        (Err(error), Err(expected)) => return assert_eq!(kind(&error), expected.kind, "{case:?}"),
        (plan, expected) => panic!("{case:?}: {plan:?}, {expected:?}"),
    };
    assert_eq!(plan.is_in_place(), !case.starts_from_zeros);
    let must_fail = case.options.out_of_range == OutOfRange::Error && !bad_rows.is_empty();
    let can_run =
        |device: &&Device| device.can_run(updates.len() + case.indices.len() * 8, input.len());
    for device in devices().iter().filter(can_run) {
        let describe = || format!("{}: {case:?}: {plan}", device.name);
        let old_bytes = match case.starts_from_zeros {
            true => &vec![UNWRITTEN; input.len()],
            false => input,
        };
        let outcome = device.scatter(case, dtype, &plan, updates, indices, old_bytes);
        let combine = case.combine();
        if !device.backend.is_cpu() && !is_supported_on_gpu(combine, dtype) {
            check_refusal(
                outcome.and_then(|(_, report)| report),
                combine,
                dtype,
                &describe,
            );
            continue;
        }
        let depth = case.indices_shape.last().copied().unwrap_or(1);
        if let Err(Error::DeviceLimit { .. }) = &outcome
            && device.splits_tuples(depth, case.indices.len())
        {
            continue;
        }
        let (got, report) = outcome.unwrap_or_else(|error| panic!("{}: {error}", describe()));
        match report {
            Ok(report) => {
                assert!(!must_fail, "{}", describe());
                check_report(bad_rows, &report, indices, &describe);
            }
            Err(error) => assert!(
                must_fail && kind(&error) == "out_of_range",
                "{}",
                describe()
            ),
        }
        if !must_fail {
            assert_same(&expected, &got, dtype.size(), &describe);
        } else if !case.starts_from_zeros {
            assert_same(input, &got, dtype.size(), &describe);
        }
    }
}

/// Checks that the error for an unsupported combination names the combination and the type.
#[track_caller]
fn check_refusal(
    outcome: Result<Report, Error>,
    combine: Combine,
    dtype: DType,
    describe: &dyn Fn() -> String,
) {
    let error = outcome.expect_err(&describe());
    assert!(
        matches!(error, Error::DTypeOnDevice { combine: c, dtype: d, .. } if (c, d) == (combine, dtype)),
        "{}: {error}",
        describe()
    );
    let text = error.to_string();
    assert!(text.contains(&format!("{combine:?}")), "{text}");
    assert!(text.contains(&dtype.to_string()), "{text}");
}

fn plan_scatter(case: ScatterCase<'_>, index_type: DType, dtype: DType) -> Result<Plan, Error> {
    let ScatterCase {
        shape,
        starts_from_zeros,
        indices_shape,
        updates_shape,
        options,
        ..
    } = case;
    let indices = (indices_shape, index_type);
    match starts_from_zeros {
        true => Plan::scatter_nd(shape, indices, updates_shape, options, dtype),
        false => Plan::tensor_scatter_nd(shape, indices, updates_shape, options, dtype),
    }
}

impl Device {
    fn scatter(
        &self,
        case: ScatterCase<'_>,
        dtype: DType,
        plan: &Plan,
        updates: &[u8],
        indices: Indices<'_>,
        old_bytes: &[u8],
    ) -> Result<(Vec<u8>, Result<Report, Error>), Error> {
        if self.uses_tensors {
            let updates =
                Tensor::from_bytes(&self.backend, updates.to_vec(), dtype, case.updates_shape)?;
            let indices = match indices {
                Indices::I32(indices) => self.backend.upload((indices, case.indices_shape))?,
                Indices::I64(indices) => self.backend.upload((indices, case.indices_shape))?,
                Indices::U32(indices) => self.backend.upload((indices, case.indices_shape))?,
            };
            if case.starts_from_zeros {
                return Ok(
                    match Tensor::scatter_nd(case.shape, &indices, &updates, case.options) {
                        Ok((sums, report)) => (sums.bytes()?.into_owned(), report.wait()),
                        Err(error) => (Vec::new(), Err(error)),
                    },
                );
            }
            let mut tensor =
                Tensor::from_bytes(&self.backend, old_bytes.to_vec(), dtype, case.shape)?;
            let original = tensor.clone();
            let report = tensor.tensor_scatter_nd(&indices, &updates, case.options);
            assert!(
                original.bytes()? == old_bytes,
                "{plan}: another tensor changed"
            );
            let report = report.and_then(|report| report.wait());
            return Ok((tensor.bytes().map(Cow::into_owned)?, report));
        }
        #[cfg(feature = "gpu")]
        if let Some(gpu) = self.backend.gpu() {
            let run =
                |shift| super::gpu::run_scatter(gpu, plan, updates, indices, old_bytes, shift);
            let (aligned, report) = run(0)?;
            let (shifted, _) = run(dtype.size())?;
            assert!(
                aligned == shifted,
                "{}: {plan}: one element further on",
                self.name
            );
            return Ok((aligned, report));
        }
        let mut dest = old_bytes.to_vec();
        let report = run_bytes(plan, updates, Some(indices.into()), &mut dest);
        Ok((dest, report))
    }
}

#[track_caller]
fn check_report(
    bad_rows: &[usize],
    report: &Report,
    indices: Indices<'_>,
    describe: &dyn Fn() -> String,
) {
    assert_eq!(report.out_of_range, bad_rows.len(), "{}", describe());
    let first_bad_row = report.first.as_ref().map(|first| first.tuple);
    assert_eq!(first_bad_row, bad_rows.first().copied(), "{}", describe());
    if let Some(first) = &report.first {
        let depth = first.index.len();
        let range = first.tuple * depth..(first.tuple + 1) * depth;
        let tuple: Vec<i64> = match indices {
            Indices::I32(indices) => indices[range].iter().map(|&i| i.into()).collect(),
            Indices::I64(indices) => indices[range].to_vec(),
            Indices::U32(indices) => indices[range].iter().map(|&i| i.into()).collect(),
        };
        assert_eq!(first.index, tuple, "{}", describe());
    }
}
