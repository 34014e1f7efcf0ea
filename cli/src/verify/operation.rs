//! Which operation a case is, and the ways it can be run.

use super::{
    case::{BadLine, Case, Expectation, Tensor},
    elements::{self, WIDTHS},
};
use std::fmt;
use wgslice::{
    Backend, Combine, DType, Error, Gather, GatherNd, OutOfRange, Scatter, SliceSpec, StridedSlice,
};

/// A case of an operation that exists here.
#[derive(Debug)]
pub(crate) enum Operation {
    StridedSlice {
        input: Tensor,
        spec: Spec,
    },
    StridedSliceUpdate {
        input: Tensor,
        spec: Spec,
        value: Tensor,
    },
    StridedSliceGrad {
        shape: Vec<usize>,
        spec: Spec,
        dy: Tensor,
    },
    Slice {
        input: Tensor,
        begin: Vec<i64>,
        size: Vec<i64>,
    },
    Scatter {
        dest: Dest,
        indices: Tensor,
        updates: Tensor,
        /// The values that come of it, which must fit where they are added.
        expected: Vec<i64>,
    },
    Gather {
        params: Tensor,
        indices: Tensor,
        how: How,
        /// Whether the case says what zeros for indices out of range come to.
        zeros: bool,
    },
}

/// The arguments of a strided_slice.
#[derive(Debug)]
pub(crate) struct Spec {
    /// begin, end, strides.
    vectors: [Vec<i64>; 3],
    /// In the order of [`MASKS`].
    masks: [i64; 5],
}

/// What is scattered into.
#[derive(Debug)]
pub(crate) enum Dest {
    /// Zeros of a shape, to which rows are added.
    Zeros(Vec<usize>),
    /// A tensor, in which rows replace others.
    Tensor(Tensor),
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
    /// The index type and the policy, of a gather or a scatter.
    pub(crate) indices: Option<(DType, OutOfRange)>,
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
            "strided_slice" => Self::StridedSlice {
                input: case.tensor("input")?.clone(),
                spec: Spec::of(case)?,
            },
            "tensor_strided_slice_update" => Self::StridedSliceUpdate {
                input: case.tensor("input")?.clone(),
                spec: Spec::of(case)?,
                value: case.tensor("value")?.clone(),
            },
            "strided_slice_grad" => Self::StridedSliceGrad {
                shape: sizes(case, "shape")?,
                spec: Spec::of(case)?,
                dy: case.tensor("dy")?.clone(),
            },
            "slice" => Self::Slice {
                input: case.tensor("input")?.clone(),
                begin: case.integers("begin")?,
                size: case.integers("size")?,
            },
            "scatter_nd" => Self::scatter(case, Dest::Zeros(sizes(case, "shape")?))?,
            "tensor_scatter_nd_update" => {
                Self::scatter(case, Dest::Tensor(case.tensor("tensor")?.clone()))?
            }
            "gather_nd" => Self::gather_nd(case)?,
            "gather" => Self::gather(case)?,
            _ => return Ok(None),
        };
        Ok(Some(operation))
    }

    fn scatter(case: &Case, dest: Dest) -> Result<Self, BadLine> {
        let expected = match &case.expected {
            Expectation::Success(tensor)
            | Expectation::Error {
                ignore: Some(tensor),
                ..
            } => tensor.data.clone(),
            Expectation::Error { kind, .. } if kind == "out_of_range" => {
                return Err(case.bad("an index out of range needs an `ignore`"));
            }
            Expectation::Error { .. } => Vec::new(),
        };
        Ok(Self::Scatter {
            dest,
            indices: case.tensor("indices")?.clone(),
            updates: case.tensor("updates")?.clone(),
            expected,
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
        let batch_dims = case.integer("batch_dims")?;
        let batch_dims = usize::try_from(batch_dims).map_err(|_| {
            case.bad(format!(
                "argument `batch_dims` is {batch_dims}, but must be 0 or more"
            ))
        })?;
        Self::indexed(case, How::GatherNd { batch_dims }, true)
    }

    fn gather(case: &Case) -> Result<Self, BadLine> {
        let integer = |name| {
            let value = case.integer(name)?;
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
    /// indices, each gather and scatter with what is out of range left out and with an error.
    pub(crate) fn variants(&self) -> Vec<Variant> {
        let mut dtypes = WIDTHS.to_vec();
        let fits = |values: &[i64]| {
            let values = values.to_vec();
            move |dtype: &DType| elements::encode(&values, *dtype).is_some()
        };
        let (indices, leaves_out) = match self {
            Self::StridedSlice { input, .. } | Self::Slice { input, .. } => {
                dtypes.retain(fits(&input.data));
                (None, false)
            }
            Self::StridedSliceUpdate { input, value, .. } => {
                dtypes.retain(fits(&input.data));
                dtypes.retain(fits(&value.data));
                (None, false)
            }
            Self::StridedSliceGrad { dy, .. } => {
                dtypes.retain(fits(&dy.data));
                (None, false)
            }
            Self::Gather {
                params,
                indices,
                zeros,
                ..
            } => {
                dtypes.retain(fits(&params.data));
                (Some(indices), *zeros)
            }
            Self::Scatter {
                dest,
                indices,
                updates,
                expected,
            } => {
                dtypes.retain(fits(&updates.data));
                dtypes.retain(fits(expected));
                match dest {
                    Dest::Tensor(tensor) => dtypes.retain(fits(&tensor.data)),
                    // The widest is a number in two parts, which are added each by itself.
                    Dest::Zeros(_) => dtypes.retain(|dtype| dtype.size() <= 8),
                }
                (Some(indices), true)
            }
        };
        let Some(indices) = indices else {
            let variant = |dtype| Variant {
                dtype,
                indices: None,
            };
            return dtypes.into_iter().map(variant).collect();
        };
        let policies = [OutOfRange::Error, OutOfRange::Zero];
        let policies = &policies[..1 + usize::from(leaves_out)];
        let kinds: Vec<_> = [DType::I32, DType::I64, DType::U32]
            .into_iter()
            .filter(|&kind| native_indices(&indices.data, kind).is_some())
            .flat_map(|kind| policies.iter().map(move |&policy| (kind, policy)))
            .collect();
        let variants = dtypes.into_iter().flat_map(|dtype| {
            let variant = move |&indices| Variant {
                dtype,
                indices: Some(indices),
            };
            kinds.iter().map(variant)
        });
        variants.collect()
    }

    /// Runs it on a device.
    pub(crate) fn run(&self, device: &Backend, variant: &Variant) -> Result<Outcome, Error> {
        let values = |tensor: &Tensor| {
            let bytes = elements::encode(&tensor.data, variant.dtype).unwrap_or_default();
            device.adopt(variant.dtype, &tensor.shape, bytes)
        };
        let (kind, out_of_range) = variant.indices.unwrap_or((DType::I64, OutOfRange::Zero));
        let tuples = |tensor: &Tensor| {
            let bytes = native_indices(&tensor.data, kind).unwrap_or_default();
            device.adopt(kind, &tensor.shape, bytes)
        };
        let (result, bad) = match self {
            Self::StridedSlice { input, spec } => (values(input)?.slice(&spec.get()?)?, 0),
            Self::StridedSliceUpdate { input, spec, value } => {
                let mut tensor = values(input)?;
                tensor.update(&spec.get()?, &values(value)?)?;
                (tensor, 0)
            }
            Self::StridedSliceGrad { shape, spec, dy } => {
                (values(dy)?.strided_slice_grad(shape, &spec.get()?)?, 0)
            }
            Self::Slice { input, begin, size } => (values(input)?.slice_block(begin, size)?, 0),
            Self::Scatter {
                dest,
                indices,
                updates,
                ..
            } => {
                let (tuples, updates) = (tuples(indices)?, values(updates)?);
                let options = Scatter {
                    out_of_range,
                    ..Scatter::default()
                };
                let (result, report) = match dest {
                    Dest::Zeros(shape) => updates.scatter_nd(&tuples, shape, options)?,
                    Dest::Tensor(tensor) => {
                        let combine = Combine::Update;
                        let options = Scatter { combine, ..options };
                        let mut tensor = values(tensor)?;
                        let report = tensor.scatter(&tuples, &updates, options)?;
                        (tensor, report)
                    }
                };
                (result, report.report()?.bad)
            }
            Self::Gather {
                params,
                indices,
                how,
                ..
            } => {
                let (tuples, params) = (tuples(indices)?, values(params)?);
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

impl Spec {
    fn of(case: &Case) -> Result<Self, BadLine> {
        let mut masks = [0; 5];
        for (mask, name) in masks.iter_mut().zip(MASKS) {
            *mask = case.integer(name)?;
        }
        Ok(Self {
            vectors: [
                case.integers("begin")?,
                case.integers("end")?,
                case.integers("strides")?,
            ],
            masks,
        })
    }

    fn get(&self) -> Result<SliceSpec, Error> {
        let [begin, end, strides] = self.vectors.clone();
        let mask = |at: usize| StridedSlice::mask(MASKS[at], self.masks[at]);
        SliceSpec::try_from(StridedSlice {
            begin,
            end,
            strides,
            begin_mask: mask(0)?,
            end_mask: mask(1)?,
            ellipsis_mask: mask(2)?,
            new_axis_mask: mask(3)?,
            shrink_axis_mask: mask(4)?,
        })
    }
}

/// An argument that is a shape.
fn sizes(case: &Case, name: &str) -> Result<Vec<usize>, BadLine> {
    let sizes = case.integers(name)?.into_iter();
    let size = |size| {
        let negative = |_| case.bad(format!("argument `{name}` has the size {size}, below 0"));
        usize::try_from(size).map_err(negative)
    };
    sizes.map(size).collect()
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
        if let Some((kind, policy)) = self.indices {
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
