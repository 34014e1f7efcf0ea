//! Which operation a case is, and the ways it can be run.

use super::{
    case::{BadLine, Case, Expectation, Tensor},
    elements::{self, WIDTHS},
};
use std::fmt;
use wgslice::{Backend, DType, Error, Gather, GatherNd, OutOfRange, SliceSpec, StridedSlice};

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
    Gather {
        params: Tensor,
        indices: Tensor,
        how: How,
        /// Whether the case says what zeros for indices out of range come to.
        zeros: bool,
    },
}

/// Which gather.
#[derive(Clone, Copy, Debug)]
pub(crate) enum How {
    GatherNd { batch_dims: usize },
    Gather { axis: isize, batch_dims: isize },
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
            "gather" => Self::gather(case)?,
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
        let batch_dims = usize::try_from(batch_dims).map_err(|_| {
            case.bad(format!(
                "argument `batch_dims` is {batch_dims}, but must be 0 or more"
            ))
        })?;
        Self::indexed(case, How::GatherNd { batch_dims }, true)
    }

    fn gather(case: &Case) -> Result<Self, BadLine> {
        let integer = |name| {
            let value = case.arguments().integer(name)?;
            isize::try_from(value)
                .map_err(|_| case.bad(format!("argument `{name}` is {value}, too large here")))
        };
        let how = How::Gather {
            axis: integer("axis")?,
            batch_dims: integer("batch_dims")?,
        };
        // Of params without elements TensorFlow gives no zeros.
        let zeros = !matches!(
            &case.expected,
            Expectation::Error { kind, zero_fill: None, .. } if kind == "out_of_range"
        );
        Self::indexed(case, how, zeros)
    }

    fn indexed(case: &Case, how: How, zeros: bool) -> Result<Self, BadLine> {
        Ok(Self::Gather {
            params: case.tensor("params")?.clone(),
            indices: case.tensor("indices")?.clone(),
            how,
            zeros,
        })
    }

    /// Every way to run it: all widths that hold the values and all index types that hold the
    /// indices, each gather with zeros for what is out of range and with an error.
    pub(crate) fn variants(&self) -> Vec<Variant> {
        let source = match self {
            Self::StridedSlice { input, .. } => input,
            Self::Gather { params, .. } => params,
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
            Self::Gather { indices, zeros, .. } => {
                let policies = [OutOfRange::Error, OutOfRange::Zero];
                let policies = &policies[..1 + usize::from(*zeros)];
                let kinds: Vec<_> = [DType::I32, DType::I64, DType::U32]
                    .into_iter()
                    .filter(|&kind| native_indices(&indices.data, kind).is_some())
                    .flat_map(|kind| policies.iter().map(move |&policy| (kind, policy)))
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
            Self::Gather {
                params,
                indices,
                how,
                ..
            } => {
                let (kind, out_of_range) = variant.gather.unwrap_or((DType::I64, OutOfRange::Zero));
                let tuples = upload(indices, native_indices(&indices.data, kind), kind)?;
                let params = source(params)?;
                let gathered = match *how {
                    How::GatherNd { batch_dims } => {
                        let options = GatherNd {
                            batch_dims,
                            out_of_range,
                            ..GatherNd::default()
                        };
                        params.gather_nd(&tuples, options)?
                    }
                    How::Gather { axis, batch_dims } => {
                        let options = Gather {
                            axis: Some(axis),
                            batch_dims,
                            out_of_range,
                            ..Gather::default()
                        };
                        params.gather(&tuples, options)?
                    }
                };
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
/// None where one does not fit.
fn native_indices(indices: &[i64], kind: DType) -> Option<Vec<u8>> {
    let narrow = |bytes: &dyn Fn(i64) -> Option<[u8; 4]>| {
        let indices: Option<Vec<_>> = indices.iter().map(|&index| bytes(index)).collect();
        indices.map(|indices| indices.concat())
    };
    match kind {
        DType::I32 => narrow(&|index| i32::try_from(index).ok().map(i32::to_ne_bytes)),
        DType::U32 => narrow(&|index| u32::try_from(index).ok().map(u32::to_ne_bytes)),
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
                OutOfRange::Clamp => "clamp",
            };
            write!(f, ", {kind} indices, out of range {policy}")?;
        }
        Ok(())
    }
}
