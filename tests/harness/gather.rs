//! Runs gathers on drawn devices and compares the results with the reference. If the params are a view, the reference
//! gathers from a copy of the elements that the view selects.

use super::{
    DEVICES, DTYPE_OF_EACH_SIZE, Device, Indices, assert_same, devices, elements, kind, to_bytes,
};
use std::slice;
use wgslice::{
    DType, Error, Plan, Report, Tensor, View,
    error::InvalidIndex,
    options::{GatherElementsOptions, GatherNdOptions, GatherOptions, NegativeIndex, OutOfRange},
};
use wgslice_vectors::Step;
use wgslice_vectors::reference::{self, Gathered, Indexing, ReferenceError};

/// The operation of a gather, with its options.
#[derive(Clone, Copy, Debug)]
pub(crate) enum GatherForm {
    GatherNd(GatherNdOptions),
    Gather(GatherOptions),
    /// `gather_elements` along this axis.
    GatherElements(isize, GatherElementsOptions),
    /// TensorFlow's `batch_gather`, for which the reference has its own function.
    BatchGather(GatherOptions),
}

impl GatherForm {
    fn plan(
        &self,
        view: &View,
        (indices, index_type): (&[usize], DType),
        dtype: DType,
    ) -> Result<Plan, Error> {
        let indices = (indices, index_type);
        match *self {
            Self::GatherElements(axis, options) => {
                Plan::gather_elements(view, indices, axis, options, dtype)
            }
            Self::GatherNd(options) => Plan::gather_nd(view, indices, options, dtype),
            Self::Gather(options) | Self::BatchGather(options) => {
                Plan::gather(view, indices, options, dtype)
            }
        }
    }

    fn policies(&self) -> (OutOfRange, NegativeIndex) {
        match self {
            Self::GatherNd(options) => (options.out_of_range, options.negative),
            Self::GatherElements(_, options) => (options.out_of_range, options.negative),
            Self::Gather(options) | Self::BatchGather(options) => {
                (options.out_of_range, options.negative)
            }
        }
    }

    /// Returns the same gather with these policies.
    fn with_policies(mut self, out_of_range: OutOfRange, negative: NegativeIndex) -> Self {
        let (range_policy, sign_policy) = match &mut self {
            Self::GatherNd(options) => (&mut options.out_of_range, &mut options.negative),
            Self::GatherElements(_, options) => (&mut options.out_of_range, &mut options.negative),
            Self::Gather(options) | Self::BatchGather(options) => {
                (&mut options.out_of_range, &mut options.negative)
            }
        };
        (*range_policy, *sign_policy) = (out_of_range, negative);
        self
    }

    /// Returns the reference's result for params of this shape and with these values.
    fn expected(
        &self,
        (shape, params): (Vec<usize>, Vec<u128>),
        indices: &[i64],
        indices_shape: &[usize],
    ) -> Result<Gathered<u128>, ReferenceError> {
        let (out_of_range, negative) = self.policies();
        let indexing = Indexing {
            wrap: negative == NegativeIndex::Wrap,
            clamp: out_of_range == OutOfRange::Clamp,
        };
        match self {
            Self::GatherNd(GatherNdOptions { batch_dims, .. }) => {
                let batch_dims = batch_dims.cast_unsigned();
                reference::gather_nd(
                    &params,
                    &shape,
                    indices,
                    indices_shape,
                    batch_dims,
                    indexing,
                )
            }
            Self::GatherElements(axis, _) => reference::gather_elements(
                &params,
                &shape,
                indices,
                indices_shape,
                *axis as i64,
                indexing,
            ),
            Self::Gather(options) => reference::gather(
                &params,
                &shape,
                indices,
                indices_shape,
                options.axis.unwrap_or(options.batch_dims) as i64,
                options.batch_dims as i64,
                indexing,
            ),
            Self::BatchGather(_) => {
                reference::batch_gather(&params, &shape, indices, indices_shape, indexing)
            }
        }
    }

    /// Returns the shape in which the tuples are arranged, and the number of indices in each tuple.
    fn tuple_layout<'a>(&self, indices_shape: &'a [usize]) -> (&'a [usize], usize) {
        match (self, indices_shape) {
            (Self::GatherNd(_), [tuples_shape @ .., depth]) => (tuples_shape, *depth),
            _ => (indices_shape, 1),
        }
    }
}

/// Indices, all of one integer type.
#[derive(Debug)]
pub(super) enum TypedIndices {
    I32(Vec<i32>),
    I64(Vec<i64>),
    U32(Vec<u32>),
}

impl TypedIndices {
    /// Returns the indices in every type that can hold all of the indices.
    pub(super) fn in_all_types(indices: &[i64]) -> Vec<Self> {
        fn converted<T: TryFrom<i64>>(indices: &[i64]) -> Option<Vec<T>> {
            indices.iter().map(|&i| T::try_from(i).ok()).collect()
        }
        let all = [
            Some(Self::I64(indices.to_vec())),
            converted(indices).map(Self::I32),
            converted(indices).map(Self::U32),
        ];
        all.into_iter().flatten().collect()
    }

    /// Returns the indices as i64 and, if all fit, as i32.
    fn signed(indices: &[i64]) -> Vec<Self> {
        let mut typed_indices = Self::in_all_types(indices);
        typed_indices.retain(|indices| !matches!(indices, Self::U32(_)));
        typed_indices
    }

    pub(super) fn borrow(&self) -> Indices<'_> {
        match self {
            Self::I32(indices) => Indices::I32(indices),
            Self::I64(indices) => Indices::I64(indices),
            Self::U32(indices) => Indices::U32(indices),
        }
    }
}

impl Device {
    /// Runs a gather on tensors if `uses_tensors` is true, and otherwise on the caller's memory.
    fn gather(
        &self,
        (dtype, shape, source): (DType, &[usize], &[u8]),
        steps: &[Step],
        (indices, indices_shape): (&TypedIndices, &[usize]),
        form: &GatherForm,
    ) -> Result<(Vec<u8>, Report), Error> {
        if self.uses_tensors {
            let mut params = Tensor::from_bytes(&self.backend, source.to_vec(), dtype, shape)?;
            for step in steps {
                params = step.of_tensor(&params)?;
            }
            let indices = match indices {
                TypedIndices::I32(indices) => self.backend.upload((indices, indices_shape))?,
                TypedIndices::I64(indices) => self.backend.upload((indices, indices_shape))?,
                TypedIndices::U32(indices) => self.backend.upload((indices, indices_shape))?,
            };
            let gathered = match *form {
                GatherForm::GatherNd(options) => params.gather_nd(&indices, options)?,
                GatherForm::GatherElements(axis, options) => {
                    params.gather_elements(&indices, axis, options)?
                }
                GatherForm::Gather(options) | GatherForm::BatchGather(options) => {
                    params.gather(&indices, options)?
                }
            };
            return Ok((gathered.0.bytes()?.into_owned(), gathered.1.wait()?));
        }
        let index_type = indices.borrow().dtype();
        let plan = form.plan(&view(shape, steps)?, (indices_shape, index_type), dtype)?;
        let (bytes, report) = self.run(&plan, source, Some(indices.borrow()))?;
        Ok((bytes, report.expect("a gather reports")))
    }
}

pub(super) fn view(shape: &[usize], steps: &[Step]) -> Result<View, Error> {
    let whole = View::new(shape)?;
    steps
        .iter()
        .try_fold(whole, |view, step| step.of_view(&view))
}

/// Checks `gather_nd` on drawn devices at every element size against the reference. Each size runs with only one index
/// type, alternately i64 and i32 if all indices fit i32, because every shader takes a while to compile.
#[track_caller]
pub(crate) fn check_gather(
    params_shape: &[usize],
    indices: &[i64],
    indices_shape: &[usize],
    batch_dims: usize,
) {
    let case = Case::gather_nd(params_shape, indices, indices_shape, batch_dims);
    let typed_indices = TypedIndices::signed(indices);
    let first_choice = indices.len() + params_shape.iter().sum::<usize>();
    for (size_number, dtype) in DTYPE_OF_EACH_SIZE.into_iter().enumerate() {
        let typed_indices = &typed_indices[(first_choice + size_number) % typed_indices.len()];
        case.check(devices(), &[dtype], slice::from_ref(typed_indices));
    }
}

/// Checks the same as [`check_gather`], but only on the CPU path, with indices as i64 and, if all fit, also as i32.
#[track_caller]
pub(crate) fn check_gather_on_cpu(
    params_shape: &[usize],
    indices: &[i64],
    indices_shape: &[usize],
    batch_dims: usize,
) {
    let case = Case::gather_nd(params_shape, indices, indices_shape, batch_dims);
    case.check(
        &DEVICES[..1],
        &DTYPE_OF_EACH_SIZE,
        &TypedIndices::signed(indices),
    );
}

/// Checks a gather from a view of an array of this shape on drawn devices against the reference. `case_number` chooses
/// the only element size and index type of the check, because every shader takes a while to compile.
#[track_caller]
pub(crate) fn check_gather_from_view(
    case_number: usize,
    (shape, steps): (&[usize], &[Step]),
    (indices, indices_shape): (&[i64], &[usize]),
    form: GatherForm,
) {
    let mut typed_indices = TypedIndices::in_all_types(indices);
    let typed_indices =
        [typed_indices.swap_remove(case_number / DTYPE_OF_EACH_SIZE.len() % typed_indices.len())];
    let case = Case {
        shape,
        steps,
        indices,
        indices_shape,
        form,
    };
    case.check(
        devices(),
        &[DTYPE_OF_EACH_SIZE[case_number % DTYPE_OF_EACH_SIZE.len()]],
        &typed_indices,
    );
}

/// Checks the same as [`check_gather_from_view`], with every combination of policies.
#[track_caller]
pub(crate) fn check_policies(
    case_number: usize,
    params: (&[usize], &[Step]),
    indices: (&[i64], &[usize]),
    form: GatherForm,
) {
    for out_of_range in [OutOfRange::Ignore, OutOfRange::Error, OutOfRange::Clamp] {
        for negative in [NegativeIndex::Invalid, NegativeIndex::Wrap] {
            check_gather_from_view(
                case_number,
                params,
                indices,
                form.with_policies(out_of_range, negative),
            );
        }
    }
}

#[derive(Debug)]
struct Case<'a> {
    shape: &'a [usize],
    steps: &'a [Step],
    indices: &'a [i64],
    indices_shape: &'a [usize],
    form: GatherForm,
}

impl<'a> Case<'a> {
    fn gather_nd(
        shape: &'a [usize],
        indices: &'a [i64],
        indices_shape: &'a [usize],
        batch_dims: usize,
    ) -> Self {
        let options = GatherNdOptions {
            batch_dims: batch_dims.cast_signed(),
            ..GatherNdOptions::default()
        };
        Self {
            shape,
            steps: &[],
            indices,
            indices_shape,
            form: GatherForm::GatherNd(options),
        }
    }

    #[track_caller]
    fn check(&self, devices: &[Device], dtypes: &[DType], typed_indices: &[TypedIndices]) {
        let source = elements(self.shape.iter().product());
        let whole = (self.shape.to_vec(), source.clone());
        let expected = self
            .steps
            .iter()
            .try_fold(whole, |array, step| step.of_values(array))
            .and_then(|params| self.form.expected(params, self.indices, self.indices_shape));
        for &dtype in dtypes {
            let plan = view(self.shape, self.steps).and_then(|params| {
                self.form
                    .plan(&params, (self.indices_shape, DType::I64), dtype)
            });
            let (plan, expected) = match (plan, &expected) {
                (Ok(plan), Ok(expected)) => (plan, expected),
                (Err(error), Err(expected)) => {
                    assert_eq!(kind(&error), expected.kind, "{self:?}");
                    continue;
                }
                (plan, expected) => panic!("{self:?}: {plan:?}, {expected:?}"),
            };
            assert_eq!(plan.shape(), expected.shape, "{self:?}");
            let values = to_bytes(&expected.values, dtype.size());
            let source = to_bytes(&source, dtype.size());
            for indices in typed_indices {
                let can_run = |device: &&Device| device.can_run(source.len(), values.len());
                for device in devices.iter().filter(can_run) {
                    let name = &device.name;
                    let describe = || format!("{name}: {self:?}: {indices:?}: {plan}");
                    let outcome = device.gather(
                        (dtype, self.shape, &source),
                        self.steps,
                        (indices, self.indices_shape),
                        &self.form,
                    );
                    let is_error_policy = self.form.policies().0 == OutOfRange::Error;
                    match outcome {
                        Ok((got, report)) => {
                            assert!(
                                !is_error_policy || expected.bad_rows.is_empty(),
                                "{}",
                                describe()
                            );
                            assert_same(&values, &got, dtype.size(), &describe);
                            self.check_report(&expected.bad_rows, &report, &describe);
                        }
                        Err(Error::InvalidIndices(report)) if is_error_policy => {
                            self.check_report(&expected.bad_rows, &report, &describe);
                        }
                        Err(Error::DeviceLimit { .. })
                            if device.splits_tuples(
                                self.indices_shape.last().copied().unwrap_or(1),
                                self.indices.len(),
                            ) => {}
                        Err(error) => panic!("{}: {error}", describe()),
                    }
                }
            }
        }
    }

    #[track_caller]
    fn check_report(&self, bad_rows: &[usize], report: &Report, describe: &dyn Fn() -> String) {
        let (tuples_shape, depth) = self.form.tuple_layout(self.indices_shape);
        let tuple_count: usize = tuples_shape.iter().product();
        assert_eq!(report.out_of_range, bad_rows.len(), "{}", describe());
        assert!(
            report.tuples == 0 || report.tuples == tuple_count,
            "{}",
            describe()
        );
        let first_bad_row = report.first.as_ref().map(|first| first.tuple);
        assert_eq!(first_bad_row, bad_rows.first().copied(), "{}", describe());
        if let Some(InvalidIndex {
            tuple,
            position,
            index,
            shape,
        }) = report.first.as_deref()
        {
            assert_eq!(
                shape,
                view(self.shape, self.steps).unwrap().shape(),
                "{}",
                describe()
            );
            assert_eq!(
                index[..],
                self.indices[tuple * depth..][..depth],
                "{}",
                describe()
            );
            assert_eq!(position.len(), tuples_shape.len(), "{}", describe());
            let tuple_number = position
                .iter()
                .zip(tuples_shape)
                .fold(0, |number, (&at, &size)| {
                    assert!(at < size, "{}", describe());
                    number * size + at
                });
            assert_eq!(tuple_number, *tuple, "{}", describe());
        }
    }
}
