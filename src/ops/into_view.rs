//! Results put where they belong: a slice, gather or crop that writes its result into a view of a larger array.

use crate::{
    Error, Pending, Plan, Report, Tensor, View, error,
    plan::{Effect, Operation},
};

impl Plan {
    /// The same slice, gather or crop, with its result written to the elements that `dest` selects from another array,
    /// whose other elements keep their values. `dest` has the shape of the result. On a GPU this takes no more dispatches
    /// than the plan itself. On the CPU a gather or a crop takes a second pass over its result, unless `dest` is contiguous.
    ///
    /// The plan then changes its destination [in place](Plan::is_in_place): pass the whole array that `dest` is a view of.
    ///
    /// ```
    /// use wgslice::{options::GatherOptions, slice, DType, Indices, Plan, View};
    ///
    /// // Rows 2 and 0 of a table go to the last two columns of a larger one, one row in each column.
    /// let place = View::new(&[2, 4])?.slice(&slice![.., 2..])?.transpose(&[1, 0])?;
    /// let rows = Plan::gather(&[3, 2], &[2], GatherOptions::default(), DType::I32)?.into_view(&place)?;
    /// let mut larger = [0; 8];
    /// rows.run_cpu(&[1, 2, 3, 4, 5, 6], Some(Indices::I32(&[2, 0])), &mut larger)?;
    /// assert_eq!(larger, [0, 0, 5, 1, 0, 0, 6, 2]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`into_view` if this plan already changes an array, or scatters; then `dest_shape` if `dest` has
    /// another shape than the result; then `repeats` if `dest` was broadcast, so that it selects an element twice).
    pub fn into_view(&self, dest: &View) -> Result<Self, Error> {
        if self.effect != Effect::Make || self.conversion.is_some() {
            let operation = match self.conversion {
                Some(_) => "a plan that converts",
                None => self.name(),
            };
            return Err(error::view::into_view(operation));
        }
        if self.shape != dest.shape {
            return Err(error::view::dest_shape(&dest.shape, &self.shape));
        }
        dest.check_no_repeats()?;
        let operation = match self.operation {
            Operation::StridedSlice => Operation::StridedSliceUpdate,
            operation => operation,
        };
        let walk = self.walk.as_ref();
        Ok(Self {
            operation,
            shape: dest.source.clone(),
            walk: walk.map(|walk| walk.placed(dest, self.dtype.size())),
            effect: Effect::Update,
            ..self.clone()
        })
    }
}

impl View {
    /// Fails if this view was broadcast, so that it selects an element twice.
    pub(super) fn check_no_repeats(&self) -> Result<(), Error> {
        let mut dims = self.shape.iter().zip(&self.strides);
        if !self.is_empty() && dims.any(|(&size, &stride)| size > 1 && stride == 0) {
            return Err(error::view::repeats(&self.shape));
        }
        Ok(())
    }
}

impl Tensor {
    /// Runs a plan that changes an array in place, such as one of [`Plan::into_view`] or [`Plan::slice_update`], with this
    /// tensor as that array. `source` and `indices` are the plan's; `indices` are `None` if it has none.
    ///
    /// Only this tensor changes: memory shared with another tensor is copied first. On a GPU the work is submitted, not
    /// waited for, unless the plan's policy makes an out-of-range index an error.
    ///
    /// ```
    /// use wgslice::{slice, Backend, DType, Plan, View};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let frame = backend.upload((&[1u8, 2, 3, 4], &[2, 2]))?;
    /// let mut atlas = backend.upload((&[0u8; 8], &[2, 4]))?;
    /// let place = View::new(&[2, 4])?.slice(&slice![.., 2..])?;
    /// let flipped = Plan::slice(&[2, 2], &slice![.., ..; -1], DType::U8)?.into_view(&place)?;
    /// atlas.run_in_place(&flipped, &frame, None)?;
    /// assert_eq!(atlas.to_vec::<u8>()?, [0, 0, 2, 1, 0, 0, 4, 3]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for a plan that does not change an array of this tensor's shape and type in place, and for a
    /// `source` or `indices` of another type, device or shape; [`Error::OutOfRange`]; or an error of the device.
    pub fn run_in_place(
        &mut self,
        plan: &Plan,
        source: &Self,
        indices: Option<&Self>,
    ) -> Result<Pending<Report>, Error> {
        let (shape, dtype) = (self.shape(), self.dtype());
        if !plan.is_in_place() || plan.shape != shape || plan.dtype != dtype {
            return Err(error::view::in_place(plan, shape));
        }
        self.check_goes_with("source", source)?;
        plan.check_shapes(source, indices)?;
        self.change(plan, source, indices)
    }
}

impl Plan {
    /// Fails if tensors that the plan runs on have other shapes than it needs.
    pub(super) fn check_shapes(
        &self,
        source: &Tensor,
        indices: Option<&Tensor>,
    ) -> Result<(), Error> {
        let needed = self.tuples().map(|tuples| tuples.indices);
        for (argument, found, needed) in [
            ("source", Some(source.shape()), Some(&self.source[..])),
            ("indices", indices.map(Tensor::shape), needed),
        ] {
            if found != needed {
                return Err(error::view::plan_argument(argument, found, needed));
            }
        }
        Ok(())
    }
}
