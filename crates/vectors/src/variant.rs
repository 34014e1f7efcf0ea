//! The variants of a call, and runs of a call in one variant.

use crate::reference::Indexing;
use crate::{
    case::{Case, Expectation, Tensor},
    elements::{self, TYPES_BY_WIDTH},
    ops::Call,
    step::Step,
};
use std::fmt;
use wgslice::{
    Backend, DType, Error, Pending, Report,
    options::{Combine, NegativeIndex, OutOfRange, ScatterOptions},
};

/// A way to run a case: the type of its elements and, for a gather, crop or scatter, the index type and a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The type of the elements. In a case of integers, it usually represents all types of the same size.
    pub dtype: DType,
    /// The index type and the policy for out-of-range tuples, in a gather, a crop or a scatter. `None` for other
    /// operations.
    pub indices: Option<(DType, OutOfRange)>,
    /// True if the caller promises that no two rows of a scatter go to the same slice.
    pub unique: bool,
}

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The shape of the result.
    pub shape: Vec<usize>,
    /// The result's elements, read as integers in two's complement.
    pub values: Vec<i128>,
    /// The number of index tuples that are reported out of range.
    pub bad: usize,
}

/// Returns all variants of a case: all combinations of an element type, an index type and a policy for out-of-range
/// indices. A case of floating-point numbers or of a conversion has one element type. A case of integers has a type for
/// each width that can hold the values. If the operation computes with values, the case does not have elements of 16
/// bytes, but it has `bool` and `u32` where they give the same result. The index types can hold all indices, and the
/// case allows the policies. Scatters with unique rows also run with a promise of unique rows.
pub fn variants(case: &Case, call: &Call<'_>) -> Vec<Variant> {
    let expected = match &case.expected {
        Expectation::Success(tensor) => Some(tensor),
        Expectation::Error {
            zero_fill, ignore, ..
        } => zero_fill.as_ref().or(ignore.as_ref()),
    };
    let data = case.tensors.iter().filter(|(name, _)| *name != "indices");
    let tensors: Vec<&Tensor> = data.map(|(_, tensor)| tensor).chain(expected).collect();
    let are_values_within = |max_value: i64| {
        let mut values = tensors.iter().flat_map(|tensor| &tensor.data);
        values.all(|value| (0..=max_value).contains(value))
    };
    let combine = call.combination();
    let computes = combine != Combine::Update;
    let is_usable = |dtype: &DType| {
        let can_encode =
            |tensor: &&Tensor| elements::encode_elements(&tensor.data, *dtype).is_some();
        match dtype {
            // The library computes with elements of 16 bytes as complex numbers, but the values of cases are encoded as
            // integers.
            DType::Complex128 if computes => false,
            // Products, minima and maxima are the same for 0 and 1 as for booleans.
            DType::Bool => {
                matches!(combine, Combine::Mul | Combine::Min | Combine::Max)
                    && are_values_within(1)
            }
            DType::U32 => computes && are_values_within(i32::MAX.into()),
            _ => tensors.iter().all(can_encode),
        }
    };
    let dtypes: Vec<DType> = match call.float_type() {
        Some(float) => vec![float],
        None => {
            let other_types = [DType::Bool, DType::U32];
            TYPES_BY_WIDTH
                .into_iter()
                .chain(other_types)
                .filter(is_usable)
                .collect()
        }
    };
    let Some((indices, indexing)) = call.tuples_and_indexing() else {
        let variant = |dtype| Variant {
            dtype,
            indices: None,
            unique: false,
        };
        return dtypes.into_iter().map(variant).collect();
    };
    let policies: &[OutOfRange] = match indexing.clamp {
        true => &[OutOfRange::Clamp],
        false => &[OutOfRange::Error, OutOfRange::Ignore],
    };
    let index_variants: Vec<_> = [DType::I32, DType::I64, DType::U32]
        .into_iter()
        .filter(|&index_type| native_bytes(&indices.data, index_type).is_some())
        .flat_map(|index_type| policies.iter().map(move |&policy| (index_type, policy)))
        .collect();
    let unique_promises: &[bool] = match call.is_unique() {
        true => &[false, true],
        false => &[false],
    };
    let variants_of = |dtype| {
        let with_promises = move |&index_variant: &_| {
            unique_promises.iter().map(move |&unique| Variant {
                dtype,
                indices: Some(index_variant),
                unique,
            })
        };
        index_variants.iter().flat_map(with_promises)
    };
    dtypes.into_iter().flat_map(variants_of).collect()
}

/// A call that has been given to a device. The device may not have run it yet.
#[derive(Debug)]
pub struct Started {
    /// The result, a tensor on the device.
    pub result: wgslice::Tensor,
    /// The report on the index tuples. `None` for a call without index tuples.
    pub report: Option<Pending<Report>>,
}

/// Runs a call on a device.
///
/// # Errors
///
/// Fails with the errors of the operation, and of the device.
pub fn run(call: &Call<'_>, device: &Backend, variant: &Variant) -> Result<Outcome, Error> {
    let Started { result, report } = start(call, device, variant)?;
    let report = report.map(|report| report.wait()).transpose()?;
    Ok(Outcome::new(&result, &result.bytes()?, report.as_ref()))
}

/// Starts a call without waiting for its result. In a browser, await the result's bytes and pass them to
/// [`Outcome::new`].
///
/// # Errors
///
/// Fails with the errors of the operation.
pub fn start(call: &Call<'_>, device: &Backend, variant: &Variant) -> Result<Started, Error> {
    call.run(&DeviceRun { device, variant })
}

impl Started {
    pub(crate) fn new(result: wgslice::Tensor, report: Pending<Report>) -> Self {
        let report = Some(report);
        Self { result, report }
    }
}

impl From<wgslice::Tensor> for Started {
    fn from(result: wgslice::Tensor) -> Self {
        let report = None;
        Self { result, report }
    }
}

impl Outcome {
    /// Makes the outcome of a run from its result, the result's bytes, and the report if there is one.
    pub fn new(result: &wgslice::Tensor, bytes: &[u8], report: Option<&Report>) -> Self {
        Self {
            shape: result.shape().to_vec(),
            values: elements::decode_elements(bytes, result.dtype()),
            bad: report.map_or(0, |report| report.out_of_range),
        }
    }
}

/// A device, and the variant in which a call runs on it.
pub(crate) struct DeviceRun<'a> {
    device: &'a Backend,
    variant: &'a Variant,
}

impl DeviceRun<'_> {
    pub(crate) fn upload_tensor(&self, tensor: &Tensor) -> Result<wgslice::Tensor, Error> {
        let dtype = self.variant.dtype;
        let bytes = elements::encode_elements(&tensor.data, dtype).unwrap_or_default();
        wgslice::Tensor::from_bytes(self.device, bytes, dtype, &tensor.shape)
    }

    pub(crate) fn upload_bytes(
        &self,
        bytes: Vec<u8>,
        dtype: DType,
        shape: &[usize],
    ) -> Result<wgslice::Tensor, Error> {
        wgslice::Tensor::from_bytes(self.device, bytes, dtype, shape)
    }

    pub(crate) fn upload_view(
        &self,
        input: &Tensor,
        steps: &[Step],
    ) -> Result<wgslice::Tensor, Error> {
        let whole_tensor = self.upload_tensor(input)?;
        steps
            .iter()
            .try_fold(whole_tensor, |view, step| step.of_tensor(&view))
    }

    pub(crate) fn upload_indices(&self, tensor: &Tensor) -> Result<wgslice::Tensor, Error> {
        let index_type = self
            .variant
            .indices
            .map_or(DType::I64, |(index_type, _)| index_type);
        let bytes = native_bytes(&tensor.data, index_type).unwrap_or_default();
        wgslice::Tensor::from_bytes(self.device, bytes, index_type, &tensor.shape)
    }

    pub(crate) fn out_of_range_policy(&self) -> OutOfRange {
        self.variant
            .indices
            .map_or_else(OutOfRange::default, |(_, policy)| policy)
    }

    /// Returns whether the caller promises that no two rows of a scatter go to the same slice, or that no two boxes
    /// overlap.
    pub(crate) fn is_unique(&self) -> bool {
        self.variant.unique
    }

    pub(crate) fn negative_policy(&self, indexing: Indexing) -> NegativeIndex {
        match indexing.wrap {
            true => NegativeIndex::Wrap,
            false => NegativeIndex::Invalid,
        }
    }

    /// Returns the options of a scatter with this combination and the policies of the variant and the case. The order
    /// is the default.
    pub(crate) fn scatter_options(&self, combine: Combine, indexing: Indexing) -> ScatterOptions {
        ScatterOptions {
            combine: Some(combine),
            out_of_range: self.out_of_range_policy(),
            negative: self.negative_policy(indexing),
            unique: self.variant.unique,
            ..ScatterOptions::default()
        }
    }
}

/// Returns the bytes of indices, or `None` if an index does not fit in the type. The byte order is the machine's,
/// because the library reads indices as numbers.
fn native_bytes(indices: &[i64], index_type: DType) -> Option<Vec<u8>> {
    fn collect_bytes<const N: usize>(
        bytes: impl Iterator<Item = Option<[u8; N]>>,
    ) -> Option<Vec<u8>> {
        bytes
            .collect::<Option<Vec<_>>>()
            .map(|bytes| bytes.concat())
    }
    let indices = indices.iter().copied();
    match index_type {
        DType::I32 => collect_bytes(indices.map(|i| i32::try_from(i).ok().map(i32::to_ne_bytes))),
        DType::U32 => collect_bytes(indices.map(|i| u32::try_from(i).ok().map(u32::to_ne_bytes))),
        _ => collect_bytes(indices.map(|i| Some(i.to_ne_bytes()))),
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.dtype {
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 | DType::Bool | DType::U32 => {
                write!(f, "{} elements", self.dtype)?;
            }
            _ => write!(f, "{}-byte elements", self.dtype.size())?,
        }
        if let Some((index_type, policy)) = self.indices {
            let policy = match policy {
                OutOfRange::Ignore => "ignore",
                OutOfRange::Error => "error",
                OutOfRange::Clamp => "clamp",
            };
            write!(f, ", {index_type} indices, out of range {policy}")?;
        }
        if self.unique {
            f.write_str(", unique")?;
        }
        Ok(())
    }
}
