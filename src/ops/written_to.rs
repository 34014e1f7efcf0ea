//! Slices, gathers and crops that write their result into a view of a larger array.

use crate::{
    Error, Plan, View, error,
    moves::{Effect, Move, Operation},
    view::strided::Repeats,
};

impl Plan {
    /// Returns the same slice, gather or crop with another destination: it writes its result to the elements that
    /// `dest` selects from an existing array, and the other elements keep their values. `dest` has the shape of the
    /// result. On a GPU this takes no more dispatches than the plan itself. On the CPU a gather or a crop takes a
    /// second pass over its result, unless `dest` is contiguous.
    ///
    /// The plan then changes its destination [in place](Plan::is_in_place): pass the whole array that `dest` is a view
    /// of. A plan of several steps can be changed like this if one step writes its result, such as
    /// [`Plan::boolean_mask`] and [`Plan::index`].
    ///
    /// ```
    /// use wgslice::{options::GatherOptions, slice, DType, Plan, View};
    ///
    /// // Rows 2 and 0 of a table become the last two columns of a larger table.
    /// let place = View::new(&[2, 4])?.slice(&slice![.., 2..])?.transpose(&[1, 0])?;
    /// let rows = Plan::gather(&[3, 2], &[2], GatherOptions::default(), DType::I32)?.written_to(&place)?;
    /// let mut larger = [0; 8];
    /// rows.run_cpu(&[(&[1, 2, 3, 4, 5, 6]).into(), (&[2, 0]).into()], &mut [(&mut larger).into()])?;
    /// assert_eq!(larger, [0, 0, 5, 1, 0, 0, 6, 2]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`WrittenTo` if this plan already changes an array, scatters or converts; then `DestShape`
    /// if the shape of `dest` differs from the shape of the result; then `Repeats` if `dest` selects an element twice,
    /// as a broadcast does, or `Undecided` if the search for such an element takes too long; `Steps` if several steps
    /// write the result).
    pub fn written_to(&self, dest: &View) -> Result<Self, Error> {
        self.map("put into a view", |step_move| step_move.placed_in(dest))
    }
}

impl Move {
    fn placed_in(&self, dest: &View) -> Result<Self, Error> {
        if self.effect != Effect::Make || self.conversion.is_some() {
            let operation = match self.conversion {
                Some(_) => "a plan that converts",
                None => self.name(),
            };
            return Err(error::view::written_to(operation));
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
            walk: walk.map(|walk| walk.placed_in(dest, self.dtype.size())),
            effect: Effect::Update,
            ..self.clone()
        })
    }
}

impl View {
    /// Fails if this view selects an element twice, or if the search for such an element takes too long.
    pub(super) fn check_no_repeats(&self) -> Result<(), Error> {
        match self.repeats() {
            Repeats::Never => Ok(()),
            Repeats::Somewhere => Err(error::view::repeated_element(&self.shape)),
            Repeats::Undecided => Err(error::view::undecided_repeats(&self.shape, &self.strides)),
        }
    }
}
