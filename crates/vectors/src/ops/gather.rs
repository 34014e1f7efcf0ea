//! Gathers, and the code that they share with crops.

use super::*;

/// The arrays of a gather or a crop, and how its indices are interpreted.
#[derive(Clone, Debug)]
pub struct Gathering<'a> {
    /// The params.
    pub params: Params<'a>,
    /// The indices, or index tuples in the last dimension.
    pub indices: &'a Tensor,
    /// The meaning of negative and out-of-range indices.
    pub indexing: Indexing,
}

type TensorWithReport = Result<(wgslice::Tensor, Pending<Report>), Error>;

impl<'a> Gathering<'a> {
    pub(super) fn from_case(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            params: Params::from_case(case)?,
            indices: case.tensor("indices")?,
            indexing: case.arguments().indexing()?,
        })
    }

    /// Returns the answer of `gather`, which is called with the params, the indices and their interpretation.
    pub(super) fn reference_answer(
        &self,
        gather: impl FnOnce(&Tensor, &Tensor, Indexing) -> Result<Gathered<i64>, ReferenceError>,
    ) -> Result<Answer, ReferenceError> {
        let params = self.params.reference_array()?;
        gather(&params, self.indices, self.indexing).map(gather_answer)
    }

    /// Runs `gather` on a device, with the params, the indices, and the policies of the variant and the case.
    pub(super) fn run(
        &self,
        run: &DeviceRun<'_>,
        gather: impl FnOnce(
            &wgslice::Tensor,
            &wgslice::Tensor,
            GatherElementsOptions,
        ) -> TensorWithReport,
    ) -> Result<Started, Error> {
        let policies = self.case_policies(run);
        let (params, indices) = (self.params.upload(run)?, run.upload_indices(self.indices)?);
        let (tensor, report) = gather(&params, &indices, policies)?;
        Ok(Started::new(tensor, report))
    }

    /// Returns the policies of the variant and the case.
    pub(super) fn case_policies(&self, run: &DeviceRun<'_>) -> GatherElementsOptions {
        GatherElementsOptions {
            out_of_range: run.out_of_range_policy(),
            negative: run.negative_policy(self.indexing),
        }
    }

    pub(super) fn tuples_and_indexing(&self) -> Option<(&'a Tensor, Indexing)> {
        Some((self.indices, self.indexing))
    }
}

/// Draws the shape of a tensor. In a third of the calls, also draws an argument with the steps of a view of the tensor.
/// Returns the tensor's shape, the view's shape, and the arguments.
pub(super) fn random_params(rng: &mut Rng) -> (Vec<usize>, Vec<usize>, Map<String, Value>) {
    let source_shape = draw_shape(rng, 5, 1);
    let mut args = Map::new();
    let params_shape = random_view(rng, &source_shape, &mut args);
    (source_shape, params_shape, args)
}

/// A gather of slices of `params` along an axis.
#[derive(Clone, Debug)]
pub struct Gather<'a> {
    /// The params, and the indices along `axis`. Each index chooses a slice of the params.
    pub from: Gathering<'a>,
    /// The indexed dimension of `params`. A negative value counts from the end.
    pub axis: i64,
    /// The number of leading dimensions that `params` and `indices` share. The rank of `indices` is added to a negative
    /// value.
    pub batch_dims: i64,
}

impl Gather<'_> {
    /// Returns the options, with these policies.
    pub(super) fn gather_options(&self, policies: GatherElementsOptions) -> GatherOptions {
        GatherOptions {
            axis: Some(narrow(self.axis)),
            batch_dims: narrow(self.batch_dims),
            out_of_range: policies.out_of_range,
            negative: policies.negative,
        }
    }
}

impl<'a> Op<'a> for Gather<'a> {
    fn from_case(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            from: Gathering::from_case(case)?,
            axis: case.arguments().integer("axis")?,
            batch_dims: case.arguments().integer("batch_dims")?,
        })
    }

    fn reference_answer(&self) -> Result<Answer, ReferenceError> {
        self.from.reference_answer(|params, indices, indexing| {
            reference::gather(
                &params.data,
                &params.shape,
                &indices.data,
                &indices.shape,
                self.axis,
                self.batch_dims,
                indexing,
            )
        })
    }

    fn run(&self, run: &DeviceRun<'_>) -> Result<Started, Error> {
        self.from.run(run, |params, indices, policies| {
            params.gather(indices, self.gather_options(policies))
        })
    }

    fn random_case(operation: Operation, rng: &mut Rng) -> Case {
        let (source_shape, params_shape, mut args) = random_params(rng);
        let axis = rng.usize(..params_shape.len());
        let batch_dims = if rng.bool() { 0 } else { rng.usize(..=axis) };
        let mut indices_shape = params_shape[..batch_dims].to_vec();
        indices_shape.extend(draw_few_dims(rng, 2));
        let sometimes_from_end = |rng: &mut Rng, at: usize, rank: usize| match rng.u8(..4) {
            0 if at < rank => at as i64 - rank as i64,
            _ => at as i64,
        };
        args.insert(
            "axis".into(),
            sometimes_from_end(rng, axis, params_shape.len()).into(),
        );
        args.insert(
            "batch_dims".into(),
            sometimes_from_end(rng, batch_dims, indices_shape.len()).into(),
        );
        draw_policy(rng, &mut args);
        let mut tuples = draw_tuples(rng, &indices_shape, &params_shape[axis..=axis]);
        tuples.shape = indices_shape;
        let tensors = [
            ("params", draw_tensor(rng, &source_shape)),
            ("indices", tuples),
        ];
        Case::new(operation, tensors, args)
    }

    fn tuples_and_indexing(&self) -> Option<(&'a Tensor, Indexing)> {
        self.from.tuples_and_indexing()
    }
}

/// A gather of the slices of `params` that index tuples point at.
#[derive(Clone, Debug)]
pub struct GatherNd<'a> {
    /// The params and the index tuples.
    pub from: Gathering<'a>,
    /// The number of leading dimensions that `params` and `indices` share.
    pub batch_dims: usize,
}

impl GatherNd<'_> {
    /// Returns the options, with these policies.
    pub(super) fn options(&self, policies: GatherElementsOptions) -> GatherNdOptions {
        GatherNdOptions {
            batch_dims: narrow(self.batch_dims as i64),
            out_of_range: policies.out_of_range,
            negative: policies.negative,
        }
    }
}

impl<'a> Op<'a> for GatherNd<'a> {
    const RANDOM_WEIGHT: usize = 2;

    fn from_case(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            from: Gathering::from_case(case)?,
            batch_dims: case.arguments().size("batch_dims")?,
        })
    }

    fn reference_answer(&self) -> Result<Answer, ReferenceError> {
        self.from.reference_answer(|params, indices, indexing| {
            reference::gather_nd(
                &params.data,
                &params.shape,
                &indices.data,
                &indices.shape,
                self.batch_dims,
                indexing,
            )
        })
    }

    fn run(&self, run: &DeviceRun<'_>) -> Result<Started, Error> {
        self.from.run(run, |params, indices, policies| {
            params.gather_nd(indices, self.options(policies))
        })
    }

    fn random_case(operation: Operation, rng: &mut Rng) -> Case {
        let (source_shape, params_shape, mut args) = random_params(rng);
        let batch_dims = match params_shape.len() {
            2.. if rng.u8(..3) == 0 => rng.usize(..params_shape.len()),
            _ => 0,
        };
        let depth = rng.usize(..=params_shape.len() - batch_dims);
        let mut indices_shape = params_shape[..batch_dims].to_vec();
        indices_shape.extend(draw_few_dims(rng, 3));
        let indices = draw_tuples(
            rng,
            &indices_shape,
            &params_shape[batch_dims..batch_dims + depth],
        );
        args.insert("batch_dims".into(), batch_dims.into());
        draw_policy(rng, &mut args);
        let tensors = [
            ("params", draw_tensor(rng, &source_shape)),
            ("indices", indices),
        ];
        Case::new(operation, tensors, args)
    }

    fn tuples_and_indexing(&self) -> Option<(&'a Tensor, Indexing)> {
        self.from.tuples_and_indexing()
    }
}

/// A gather in which all dimensions of `indices` except the last are batch dimensions. The indexed dimension of
/// `params` follows the batch dimensions.
#[derive(Clone, Debug)]
pub struct BatchGather<'a> {
    /// The params, and the indices into their dimension after the batch dimensions.
    pub from: Gathering<'a>,
}

impl<'a> Op<'a> for BatchGather<'a> {
    fn from_case(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            from: Gathering::from_case(case)?,
        })
    }

    fn reference_answer(&self) -> Result<Answer, ReferenceError> {
        self.from.reference_answer(|params, indices, indexing| {
            reference::batch_gather(
                &params.data,
                &params.shape,
                &indices.data,
                &indices.shape,
                indexing,
            )
        })
    }

    fn run(&self, run: &DeviceRun<'_>) -> Result<Started, Error> {
        let batch_dims = narrow(self.from.indices.shape.len() as i64 - 1);
        self.from.run(run, |params, indices, policies| {
            let options = GatherOptions {
                axis: None,
                batch_dims,
                out_of_range: policies.out_of_range,
                negative: policies.negative,
            };
            params.gather(indices, options)
        })
    }

    fn random_case(operation: Operation, rng: &mut Rng) -> Case {
        let params_shape = draw_shape(rng, 4, 1);
        let batch_dims = rng.usize(..params_shape.len());
        let mut indices_shape = params_shape[..batch_dims].to_vec();
        indices_shape.push(rng.usize(..6));
        let mut args = Map::new();
        draw_policy(rng, &mut args);
        let mut tuples = draw_tuples(rng, &indices_shape, &params_shape[batch_dims..=batch_dims]);
        tuples.shape = indices_shape;
        let tensors = [
            ("params", draw_tensor(rng, &params_shape)),
            ("indices", tuples),
        ];
        Case::new(operation, tensors, args)
    }

    fn tuples_and_indexing(&self) -> Option<(&'a Tensor, Indexing)> {
        self.from.tuples_and_indexing()
    }
}

/// A gather of single elements. Each index chooses an element along an axis of `params`. The index's own position gives
/// the other coordinates.
#[derive(Clone, Debug)]
pub struct GatherElements<'a> {
    /// The params, and the indices along `axis`, one for each element of the result.
    pub from: Gathering<'a>,
    /// The indexed dimension of `params`. A negative value counts from the end.
    pub axis: i64,
}

impl<'a> Op<'a> for GatherElements<'a> {
    fn from_case(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            from: Gathering::from_case(case)?,
            axis: case.arguments().integer("axis")?,
        })
    }

    fn reference_answer(&self) -> Result<Answer, ReferenceError> {
        self.from.reference_answer(|params, indices, indexing| {
            reference::gather_elements(
                &params.data,
                &params.shape,
                &indices.data,
                &indices.shape,
                self.axis,
                indexing,
            )
        })
    }

    fn run(&self, run: &DeviceRun<'_>) -> Result<Started, Error> {
        self.from.run(run, |params, indices, policies| {
            params.gather_elements(indices, narrow(self.axis), policies)
        })
    }

    fn random_case(operation: Operation, rng: &mut Rng) -> Case {
        let (source_shape, params_shape, mut args) = random_params(rng);
        let axis = rng.usize(..params_shape.len());
        let mut sizes = params_shape.clone();
        for size in &mut sizes {
            if rng.u8(..3) == 0 {
                *size = rng.usize(..=*size);
            }
        }
        sizes[axis] = rng.usize(..6);
        let mut indices = draw_tuples(rng, &sizes, &params_shape[axis..=axis]);
        disturb_shape(rng, &mut sizes);
        indices.data.resize(sizes.iter().product(), 0);
        indices.shape = sizes;
        let from_end = if rng.bool() {
            params_shape.len() as i64
        } else {
            0
        };
        args.insert("axis".into(), (axis as i64 - from_end).into());
        draw_policy(rng, &mut args);
        let tensors = [
            ("params", draw_tensor(rng, &source_shape)),
            ("indices", indices),
        ];
        Case::new(operation, tensors, args)
    }

    fn tuples_and_indexing(&self) -> Option<(&'a Tensor, Indexing)> {
        self.from.tuples_and_indexing()
    }
}
