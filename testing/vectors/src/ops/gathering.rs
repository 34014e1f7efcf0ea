//! What gathers and crops have in common.

use super::*;

/// The arrays of a gather or a crop, and how its indices are read.
#[derive(Clone, Debug)]
pub struct Gathering<'a> {
    /// The tensor that the params are a view of.
    pub tensor: &'a Tensor,
    /// The steps of the view. Empty for the whole tensor.
    pub view: Vec<Step>,
    /// The indices, or index tuples in the last dimension.
    pub indices: &'a Tensor,
    /// Whether negative indices count from the end, and whether out-of-range ones are clamped.
    pub indexing: Indexing,
}

type Gather = fn(&TensorView, &wgslice::Tensor, GatherOptions) -> Reported;
type Reported = Result<(wgslice::Tensor, Pending<Report>), Error>;

impl<'a> Gathering<'a> {
    pub(super) fn of(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            tensor: case.tensor("params")?,
            view: case.arguments().steps("view")?,
            indices: case.tensor("indices")?,
            indexing: case.arguments().indexing()?,
        })
    }

    /// Returns the answer of `gather`, which is given the params, the indices and how these are read.
    pub(super) fn answer(
        &self,
        gather: impl FnOnce(&Tensor, &Tensor, Indexing) -> Result<Gathered<i64>, ReferenceError>,
    ) -> Result<Answer, ReferenceError> {
        let params = viewed(self.tensor, &self.view)?;
        gather(&params, self.indices, self.indexing).map(gathered)
    }

    /// Starts `gather` on a device, with the policies of the variant and the case.
    pub(super) fn run(
        &self,
        run: &Run<'_>,
        axis: Option<i64>,
        batch_dims: i64,
        gather: Gather,
    ) -> Result<Started, Error> {
        let narrow = |number| isize::try_from(number).unwrap_or(isize::MAX);
        let options = GatherOptions {
            axis: axis.map(narrow),
            batch_dims: narrow(batch_dims),
            out_of_range: run.policy(),
            negative: run.negative(self.indexing),
        };
        let (tensor, report) = gather(&self.on(run)?, &run.indices(self.indices)?, options)?;
        Ok(Started::new(tensor, report))
    }

    pub(super) fn on(&self, run: &Run<'_>) -> Result<TensorView, Error> {
        run.view(self.tensor, &self.view)
    }

    pub(super) fn tuples(&self) -> Option<(&'a Tensor, Indexing)> {
        Some((self.indices, self.indexing))
    }
}

/// Draws the shape of a tensor and, in a third of the calls, steps that make a view of it, as an argument. Returns the
/// tensor's shape, the shape of the params, and the arguments.
pub(super) fn random_params(rng: &mut Rng) -> (Vec<usize>, Vec<usize>, Map<String, Value>) {
    let source = shape(rng, 5, 1);
    let mut args = Map::new();
    let mut params = source.clone();
    if rng.u8(..3) == 0 {
        let steps = steps(rng, &source);
        // A gather needs at least one dimension. Steps that make a scalar are left out, and so are steps that fail.
        if let Some(shape) = viewed_shape(&source, &steps).filter(|shape| !shape.is_empty()) {
            args.insert("view".into(), steps.into());
            params = shape;
        }
    }
    (source, params, args)
}
