//! Which operation a case is, and the ways it can be run.

use super::{
    case::{BadLine, Case, Expectation, Tensor},
    elements::{self, WIDTHS},
};
use std::fmt;
use wgslice::{Backend, DType, Error, GatherNd, OutOfRange, SliceSpec, StridedSlice};

/// A case of an operation that exists here.
#[derive(Debug)]
pub(crate) enum Operation {
    StridedSlice {
        input: Tensor,
        /// begin, end, strides.
        vectors: [Vec<i64>; 3],
        /// In the order of [`MASKS`].
        masks: [i64; 5],
    },
    GatherNd {
        params: Tensor,
        indices: Tensor,
        batch_dims: usize,
    },
}

const MASKS: [&str; 5] = [
    "begin_mask",
    "end_mask",
    "ellipsis_mask",
    "new_axis_mask",
    "shrink_axis_mask",
];

/// One way to run a case.
#[derive(Clone, Debug)]
pub(crate) struct Variant {
    pub(crate) dtype: DType,
    /// The index type and the policy, of a gather.
    pub(crate) gather: Option<(DType, OutOfRange)>,
}

/// What a run gave.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<i128>,
    /// Index tuples that were out of range.
    pub(crate) bad: usize,
}

impl Operation {
    /// The operation of a case. None where there is no such operation here.
    pub(crate) fn of(case: &Case) -> Result<Option<Self>, BadLine> {
        let operation = match case.op.as_str() {
            "strided_slice" => Self::strided_slice(case)?,
            "gather_nd" => Self::gather_nd(case)?,
            _ => return Ok(None),
        };
        Ok(Some(operation))
    }

    fn strided_slice(case: &Case) -> Result<Self, BadLine> {
        let mut masks = [0; 5];
        for (mask, name) in masks.iter_mut().zip(MASKS) {
            *mask = case.arguments().integer(name)?;
        }
        Ok(Self::StridedSlice {
            input: case.tensor("input")?.clone(),
            vectors: [
                case.arguments().integers("begin")?,
                case.arguments().integers("end")?,
                case.arguments().integers("strides")?,
            ],
            masks,
        })
    }

    fn gather_nd(case: &Case) -> Result<Self, BadLine> {
        if let Expectation::Error {
            kind,
            zero_fill: None,
            ..
        } = &case.expected
            && kind == "out_of_range"
        {
            return Err(case.bad("an index out of range needs a `zero_fill`"));
        }
        let batch_dims = case.arguments().integer("batch_dims")?;
        Ok(Self::GatherNd {
            params: case.tensor("params")?.clone(),
            indices: case.tensor("indices")?.clone(),
            batch_dims: usize::try_from(batch_dims).map_err(|_| {
                case.bad(format!(
                    "argument `batch_dims` is {batch_dims}, but must be 0 or more"
                ))
            })?,
        })
    }

    /// Every way to run it: all widths that hold the values and all index types that hold the
    /// indices, each gather under both policies.
    pub(crate) fn variants(&self) -> Vec<Variant> {
        let source = match self {
            Self::StridedSlice { input, .. } => input,
            Self::GatherNd { params, .. } => params,
        };
        let dtypes = WIDTHS
            .into_iter()
            .filter(|&dtype| elements::encode(&source.data, dtype).is_some());
        match self {
            Self::StridedSlice { .. } => dtypes
                .map(|dtype| Variant {
                    dtype,
                    gather: None,
                })
                .collect(),
            Self::GatherNd { indices, .. } => {
                let kinds: Vec<_> = [DType::I32, DType::I64]
                    .into_iter()
                    .filter(|&kind| elements::encode(&indices.data, kind).is_some())
                    .flat_map(|kind| [(kind, OutOfRange::Error), (kind, OutOfRange::Zero)])
                    .collect();
                dtypes
                    .flat_map(|dtype| {
                        let variant = move |&gather| Variant {
                            dtype,
                            gather: Some(gather),
                        };
                        kinds.iter().map(variant)
                    })
                    .collect()
            }
        }
    }

    /// Runs it on a device.
    pub(crate) fn run(&self, device: &Backend, variant: &Variant) -> Result<Outcome, Error> {
        let upload = |tensor: &Tensor, bytes: Option<Vec<u8>>, dtype| {
            device.adopt(dtype, &tensor.shape, bytes.unwrap_or_default())
        };
        let source = |tensor: &Tensor| {
            let bytes = elements::encode(&tensor.data, variant.dtype);
            upload(tensor, bytes, variant.dtype)
        };
        let (result, bad) = match self {
            Self::StridedSlice {
                input,
                vectors,
                masks,
            } => {
                let [begin, end, strides] = vectors.clone();
                let mask = |at: usize| StridedSlice::mask(MASKS[at], masks[at]);
                let spec = SliceSpec::try_from(StridedSlice {
                    begin,
                    end,
                    strides,
                    begin_mask: mask(0)?,
                    end_mask: mask(1)?,
                    ellipsis_mask: mask(2)?,
                    new_axis_mask: mask(3)?,
                    shrink_axis_mask: mask(4)?,
                })?;
                (source(input)?.slice(&spec)?, 0)
            }
            Self::GatherNd {
                params,
                indices,
                batch_dims,
            } => {
                let (kind, out_of_range) = variant.gather.unwrap_or((DType::I64, OutOfRange::Zero));
                let options = GatherNd {
                    batch_dims: *batch_dims,
                    out_of_range,
                };
                let tuples = upload(indices, native_indices(&indices.data, kind), kind)?;
                let gathered = source(params)?.gather_nd(&tuples, options)?;
                let bad = gathered.report()?.bad;
                (gathered.tensor, bad)
            }
        };
        Ok(Outcome {
            shape: result.shape().to_vec(),
            values: elements::decode(&result.bytes()?, variant.dtype),
            bad,
        })
    }
}

/// Indices are the one thing the library reads as numbers, so they have the machine's byte order.
fn native_indices(indices: &[i64], kind: DType) -> Option<Vec<u8>> {
    match kind {
        DType::I32 => indices
            .iter()
            .map(|&index| i32::try_from(index).ok().map(i32::to_ne_bytes))
            .collect::<Option<Vec<_>>>()
            .map(|indices| indices.concat()),
        _ => Some(
            indices
                .iter()
                .flat_map(|index| index.to_ne_bytes())
                .collect(),
        ),
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-byte elements", self.dtype.size())?;
        if let Some((kind, policy)) = self.gather {
            let policy = match policy {
                OutOfRange::Zero => "zero",
                OutOfRange::Error => "error",
            };
            write!(f, ", {kind} indices, out of range {policy}")?;
        }
        Ok(())
    }
}
