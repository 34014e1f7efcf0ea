//! A plan: an operation on arrays of known shapes, as steps between arrays, independent of any device.
//!
//! An [`Operand`] is an input, an output, temporary memory, or values that the plan holds. A step is a [`Move`] from
//! one operand to another. The CPU and the GPU run the steps in order. All code that runs, explains, estimates or
//! prepares a plan uses its inputs, outputs and steps.

mod values;
mod works;

use crate::prelude::*;
pub use values::{Values, ValuesMut};
pub(crate) use works::Works;

use crate::{
    DType, Error, Report, View,
    cpu::{self, Dest, Indices, Pieces, Threads, Weave},
    element::zeroed,
    error,
    moves::{Effect, Find, Move, Operation},
    ops::{
        array_index::Outer,
        index::IndexType,
        index_update::SelectedSlices,
        mask::{COUNT_WORDS, Found},
    },
    report::Missing,
    shape::check_elements,
    text::{Shape, counted},
};
use alloc::{borrow::Cow, sync::Arc};
use core::{fmt, mem};

/// An operation on arrays of known shapes, ready to run on the CPU or a GPU.
///
/// A plan does not hold the caller's data and does not belong to a device. Its constructors take arrays as shapes or as
/// [`View`]s ([`IntoView`]):
///
/// | operation | constructor |
/// |---|---|
/// | slices, and other views | [`Plan::slice`], [`Plan::contiguous`] |
/// | gathers | [`Plan::gather_nd`], [`Plan::gather`], [`Plan::gather_elements`] |
/// | boxes of one size, each at its own position | [`Plan::crop`], [`Plan::paste`] |
/// | update and gradient of a slice | [`Plan::slice_update`], [`Plan::slice_grad`] |
/// | scatters | [`Plan::scatter_nd`], [`Plan::tensor_scatter_nd`], [`Plan::scatter_elements`] |
/// | by XLA's dimension numbers | [`Plan::xla_gather`], [`Plan::xla_scatter`] |
/// | arrays assembled from other arrays | [`Plan::concat`], [`Plan::stack`], [`Plan::pad`], [`Plan::roll`], [`Plan::tile`], [`Plan::repeat`] |
/// | by index arrays | [`Plan::index`], [`Plan::index_update`] |
/// | by masks | [`Plan::nonzero`], [`Plan::boolean_mask`], [`Plan::compress`], [`Plan::select`], [`Plan::masked_update`], [`Plan::masked_scatter`] |
///
/// [`Backend::run`](crate::Backend::run) runs a plan on host values, [`Tensor::run`](crate::Tensor::run) on tensors,
/// [`Gpu::encode`](crate::Gpu::encode) records it for a GPU, and [`Plan::run_cpu`] runs it on the CPU in the caller's
/// memory. All take the plan's [inputs](Plan::inputs) and [outputs](Plan::outputs) in order.
///
/// ```
/// use wgslice::{slice, DType, Plan};
///
/// let plan = Plan::slice(&[64, 480, 640, 3], &slice![.., 16..464, ..; -1], DType::U8)?;
/// assert_eq!(plan.shape(), [64, 448, 640, 3]);
/// println!("{plan}");
/// # Ok::<(), wgslice::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Plan {
    form: Form,
    works: Works,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Form {
    /// One step from the first input to the only output, with index tuples, if any, as the second input. This form has
    /// no lists of steps and arrays, so planning a slice allocates little more memory than the move needs.
    One {
        step_move: Move,
        /// The layout of the first input. `None` if the input is all of its memory in row-major order.
        layout: Option<Box<View>>,
    },
    Many(Steps),
}

/// A plan with any number of steps.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Steps {
    /// The operation, for names in errors, labels and reports.
    operation: Operation,
    inputs: Vec<ArraySpec>,
    /// The outputs, at least one.
    outputs: Vec<ArraySpec>,
    /// True if the plan changes the first output in place and keeps the elements that it does not write. Every element
    /// of other outputs is written.
    in_place: bool,
    /// Memory between steps.
    temps: Vec<Temp>,
    steps: Vec<(Move, Operands)>,
    /// The loop that the CPU runs instead of all steps.
    shortcut: Option<Shortcut>,
}

/// A loop that the CPU runs instead of all steps of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Shortcut {
    Outer(Arc<Outer>),
    /// Writes the elements of this view of the first input to these slices of the output.
    Write(Box<View>, Arc<SelectedSlices>),
    Weave(Weave),
    /// Selects pieces of this many bytes by a mask.
    Keep(usize),
}

/// An array that a plan reads, makes or changes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ArraySpec {
    /// The name of the array in error messages.
    pub name: &'static str,
    /// The shape of the memory that is passed. If an input was planned as a [`View`], this is [`View::source_shape`].
    pub shape: Vec<usize>,
    /// The element type. For indices, the type on a GPU, which was passed to the constructor.
    pub dtype: DType,
    /// The part of the memory that the plan reads. `None` if it reads everything, in row-major order.
    layout: Option<Box<View>>,
    kind: ArrayKind,
}

/// The content of an array. It determines the element types that the caller's array can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ArrayKind {
    /// Elements of the type that the plan was made for.
    Elements,
    /// Index tuples of i32, i64 or u32.
    Indices,
    /// A mask of bool or u8.
    Mask,
}

impl ArrayKind {
    fn check(
        self,
        name: &'static str,
        found_dtype: DType,
        needed_dtype: DType,
    ) -> Result<(), Error> {
        match self {
            Self::Elements if found_dtype == needed_dtype => Ok(()),
            Self::Elements => Err(error::value::dtype_mismatch(
                name,
                found_dtype,
                needed_dtype,
            )),
            Self::Indices => IndexType::from_dtype(found_dtype, name).map(drop),
            Self::Mask => error::mask::check(found_dtype),
        }
    }
}

/// Memory between the steps of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Temp {
    /// If the memory needs several buffers, each buffer has whole rows of the last dimension.
    pub(crate) shape: Vec<usize>,
    pub(crate) dtype: DType,
}

/// An array of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operand {
    Input(usize),
    Output(usize),
    Temp(usize),
    /// Index tuples that the plan itself holds.
    Const(HeldTuples),
}

/// Index tuples that a plan holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum HeldTuples {
    Bytes(Arc<[u8]>),
    /// The numbers of slices, up to one for each element. Only GPUs need them. So the plan does not keep them, and each
    /// recording computes them.
    Slices(Arc<SelectedSlices>),
}

impl HeldTuples {
    pub(crate) fn bytes(&self) -> Result<Arc<[u8]>, Error> {
        match self {
            Self::Bytes(bytes) => Ok(bytes.clone()),
            Self::Slices(slices) => slices.numbers(),
        }
    }
}

/// The arrays of a step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Operands {
    /// The source. Never an output, because a dispatch must not read memory that it writes.
    pub(crate) from: Operand,
    /// The index tuples or the mask. For a search, the output for the number of true elements, if the caller wants this
    /// number.
    pub(crate) by: Option<Operand>,
    /// The destination: an output or temporary memory.
    pub(crate) to: Operand,
    /// True if the step reports its tuples that are out of range. At most one step of a plan does.
    pub(crate) reports: bool,
}

static SINGLE_STEP: Operands = Operands {
    from: Operand::Input(0),
    by: None,
    to: Operand::Output(0),
    reports: false,
};

static SINGLE_STEP_WITH_TUPLES: Operands = Operands {
    from: Operand::Input(0),
    by: Some(Operand::Input(1)),
    to: Operand::Output(0),
    reports: true,
};

/// An argument that describes an array: a shape, or a [`View`] of memory.
pub trait IntoView {
    /// Returns the view of a whole array of this shape, or the view itself.
    ///
    /// # Errors
    ///
    /// [`Error::ShapeTooLarge`].
    fn into_view(self) -> Result<View, Error>;
}

impl IntoView for &[usize] {
    fn into_view(self) -> Result<View, Error> {
        View::new(self)
    }
}

impl<const N: usize> IntoView for &[usize; N] {
    fn into_view(self) -> Result<View, Error> {
        View::new(self)
    }
}

impl IntoView for &Vec<usize> {
    fn into_view(self) -> Result<View, Error> {
        View::new(self)
    }
}

impl IntoView for View {
    fn into_view(self) -> Result<View, Error> {
        Ok(self)
    }
}

impl IntoView for &View {
    fn into_view(self) -> Result<View, Error> {
        Ok(self.clone())
    }
}

impl ArraySpec {
    /// Makes the specification of an array of elements. The plan reads `view` of this array.
    pub(crate) fn new(name: &'static str, view: &View, dtype: DType) -> Self {
        Self {
            layout: layout(view),
            ..Self::whole(name, &view.source, dtype, ArrayKind::Elements)
        }
    }

    fn whole(name: &'static str, shape: &[usize], dtype: DType, kind: ArrayKind) -> Self {
        Self {
            name,
            shape: shape.to_vec(),
            dtype,
            layout: None,
            kind,
        }
    }

    pub(crate) fn mask(name: &'static str, shape: &[usize]) -> Self {
        Self::whole(name, shape, DType::U8, ArrayKind::Mask)
    }

    /// Makes the specification of an array of index tuples. The plan reads `view` of this array.
    pub(crate) fn indices(name: &'static str, view: &View, dtype: DType) -> Self {
        Self {
            kind: ArrayKind::Indices,
            ..Self::new(name, view, dtype)
        }
    }

    /// Makes the specification of a plan's first output.
    pub(crate) fn result(shape: &[usize], dtype: DType) -> Self {
        Self::whole("dest", shape, dtype, ArrayKind::Elements)
    }

    /// Returns whether the plan reads a tensor of this layout without a copy.
    pub(crate) fn reads(&self, layout: &View) -> bool {
        match &self.layout {
            Some(view) => **view == *layout,
            None => self.shape == layout.source && layout.is_all(),
        }
    }

    pub(crate) fn check_dtype(&self, found: DType) -> Result<(), Error> {
        self.kind.check(self.name, found, self.dtype)
    }

    /// Returns the size of the memory in bytes.
    pub fn bytes(&self) -> usize {
        self.shape.iter().product::<usize>() * self.dtype.size()
    }
}

/// Returns a copy of the view, or `None` if the view is all of its memory in row-major order.
pub(crate) fn layout(view: &View) -> Option<Box<View>> {
    (!view.is_all()).then(|| Box::new(view.clone()))
}

impl Temp {
    pub(crate) fn bytes(&self) -> usize {
        self.shape.iter().product::<usize>() * self.dtype.size()
    }
}

impl Move {
    /// Returns the argument name of the index tuples or of the mask, and which of the two they are.
    fn index_kind(&self) -> (&'static str, ArrayKind) {
        match self.operation {
            Operation::Crop | Operation::Paste => ("begins", ArrayKind::Indices),
            Operation::MaskedUpdate => ("mask", ArrayKind::Mask),
            _ => ("indices", ArrayKind::Indices),
        }
    }

    /// Returns the parameters of the search, or `None` if the move does not search a mask.
    pub(crate) fn find(&self) -> Option<Find> {
        match self.effect {
            Effect::Find(find) => Some(find),
            _ => None,
        }
    }
}

/// Methods that operations use to make plans.
impl Steps {
    /// Makes a plan that has one output and no steps yet.
    pub(crate) fn new(operation: Operation, inputs: Vec<ArraySpec>, output: ArraySpec) -> Self {
        Self {
            operation,
            inputs,
            outputs: vec![output],
            in_place: false,
            temps: Vec::new(),
            // A list with capacity for more than two steps would be too large for the C library's cache of freed
            // blocks.
            steps: Vec::with_capacity(2),
            shortcut: None,
        }
    }

    /// Reserves memory for this number of steps.
    pub(crate) fn reserve(&mut self, step_count: usize) {
        self.steps.reserve_exact(step_count);
    }

    /// Adds a step that reports nothing.
    pub(crate) fn push(
        &mut self,
        step_move: Move,
        from: Operand,
        by: Option<Operand>,
        to: Operand,
    ) {
        let reports = false;
        self.steps.push((
            step_move,
            Operands {
                from,
                by,
                to,
                reports,
            },
        ));
    }

    /// Adds a step that reports which of its tuples are out of range.
    pub(crate) fn push_reporting(
        &mut self,
        step_move: Move,
        from: Operand,
        by: Operand,
        to: Operand,
    ) {
        self.push(step_move, from, Some(by), to);
        if let Some((_, operands)) = self.steps.last_mut() {
            operands.reports = true;
        }
    }

    /// Adds a step from a view of an input to a view of the first output. Adds nothing if the view is empty.
    pub(crate) fn put(&mut self, input_index: usize, from: &View, to: View) {
        if !from.is_empty() {
            let ArraySpec { shape, dtype, .. } = &self.outputs[0];
            let mut update_move = Move::of_update(from, to, *dtype);
            update_move.operation = self.operation;
            if update_move.shape != *shape {
                update_move.shape.clone_from(shape);
            }
            self.push(
                update_move,
                Operand::Input(input_index),
                None,
                Operand::Output(0),
            );
        }
    }

    /// Makes the plan change its first output in place.
    pub(crate) fn in_place(mut self) -> Self {
        self.in_place = true;
        self
    }

    /// Adds temporary memory between steps.
    pub(crate) fn temp(&mut self, shape: &[usize], dtype: DType) -> Operand {
        let shape = shape.to_vec();
        self.temps.push(Temp { shape, dtype });
        Operand::Temp(self.temps.len() - 1)
    }

    /// Sets the loop that the CPU runs instead of all steps, or `None` if there is no such loop.
    pub(crate) fn with_shortcut(mut self, shortcut: Option<Shortcut>) -> Self {
        self.shortcut = shortcut;
        self
    }

    pub(crate) fn plan(self) -> Plan {
        Plan {
            form: Form::Many(self),
            works: Works::default(),
        }
    }

    /// Returns the shape of the first output.
    pub(crate) fn shape(&self) -> &[usize] {
        &self.outputs[0].shape
    }
}

impl Plan {
    /// Makes a plan of one step. Its source is a whole array in row-major order.
    pub(crate) fn from_move(step_move: Move) -> Self {
        let layout = None;
        Self {
            form: Form::One { step_move, layout },
            works: Works::default(),
        }
    }

    /// Makes a plan of one step, from a view of its source.
    pub(crate) fn from_view(step_move: Move, view: &View) -> Self {
        Self::with_layout(step_move, layout(view))
    }

    /// Makes a plan of one step, from a source of this [`layout`].
    pub(crate) fn with_layout(step_move: Move, layout: Option<Box<View>>) -> Self {
        Self {
            form: Form::One { step_move, layout },
            works: Works::default(),
        }
    }

    /// Returns the works that a GPU prepared for the plan.
    #[cfg(feature = "gpu")]
    pub(crate) fn works(&self) -> &Works {
        &self.works
    }

    /// Returns the same plan with the works that a GPU prepared for it.
    #[cfg(feature = "gpu")]
    pub(crate) fn with_works(&self, works: Works) -> Self {
        Self {
            works,
            ..self.clone()
        }
    }

    /// Returns the steps in order.
    pub(crate) fn steps(&self) -> impl ExactSizeIterator<Item = (&Move, &Operands)> {
        let (single_step, listed_steps) = match &self.form {
            Form::One { step_move, .. } => {
                let operands = match step_move.indices {
                    Some(_) => &SINGLE_STEP_WITH_TUPLES,
                    None => &SINGLE_STEP,
                };
                (Some((step_move, operands)), &[][..])
            }
            Form::Many(steps) => (None, &steps.steps[..]),
        };
        let count = usize::from(single_step.is_some()) + listed_steps.len();
        let mut all_steps = single_step.into_iter().chain(
            listed_steps
                .iter()
                .map(|(step_move, operands)| (step_move, operands)),
        );
        (0..count).map(move |_| all_steps.next().expect("as many steps as counted"))
    }

    /// Returns the memory between the steps.
    #[cfg(feature = "gpu")]
    pub(crate) fn temps(&self) -> &[Temp] {
        match &self.form {
            Form::One { .. } => &[],
            Form::Many(steps) => &steps.temps,
        }
    }

    /// Returns the move of a plan that was made from a single move, or `None` for other plans.
    pub(crate) fn single_move(&self) -> Option<&Move> {
        match &self.form {
            Form::One { step_move, .. } => Some(step_move),
            Form::Many(_) => None,
        }
    }

    /// Returns the pieces that [`Self::run_steps`] copies to a new first output.
    pub(crate) fn pieces(&self) -> Pieces {
        match &self.form {
            Form::One { step_move, .. } => step_move.pieces(),
            Form::Many(steps) if steps.shortcut.is_some() => Pieces::WithZeros,
            Form::Many(steps) => {
                let mut writing_moves = steps
                    .steps
                    .iter()
                    .filter(|(_, operands)| operands.to == Operand::Output(0))
                    .map(|(step_move, _)| step_move);
                match (writing_moves.next(), writing_moves.next()) {
                    (Some(only_move), None) => only_move.pieces(),
                    _ => Pieces::WithZeros,
                }
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn only_move(self) -> Move {
        self.into_single_move().expect("a plan of one step")
    }

    pub(crate) fn into_single_move(self) -> Option<Move> {
        match self.form {
            Form::One { step_move, .. } => Some(step_move),
            Form::Many(_) => None,
        }
    }

    /// Returns the same plan with a change to the only step that writes the first output: a conversion, or a view as
    /// destination. Fails if `change` fails, or unless exactly one step writes the first output.
    pub(crate) fn map(
        &self,
        change_name: &'static str,
        change: impl Fn(&Move) -> Result<Move, Error>,
    ) -> Result<Self, Error> {
        let mut plan = self.clone();
        match &mut plan.form {
            Form::One { step_move, .. } => *step_move = change(step_move)?,
            Form::Many(plan) => {
                let mut steps = plan.steps.iter_mut();
                let mut writing_steps = steps
                    .by_ref()
                    .filter(|step| step.1.to == Operand::Output(0));
                let (Some((step_move, _)), None) = (writing_steps.next(), writing_steps.next())
                else {
                    return Err(error::value::steps(change_name, self.name()));
                };
                let renamed_move = || Move {
                    operation: plan.operation,
                    ..step_move.clone()
                };
                // If the change fails, it is repeated with the plan's name, so that the error message has this name
                // instead of the step's.
                *step_move = change(step_move).or_else(|_| change(&renamed_move()))?;
                plan.outputs[0] = ArraySpec::result(&step_move.shape, step_move.dtype);
                plan.in_place = step_move.is_in_place();
                plan.shortcut = None;
            }
        }
        Ok(plan)
    }

    /// Returns the arrays that the caller passes, in order.
    ///
    /// ```
    /// use wgslice::{options::GatherOptions, DType, Plan};
    ///
    /// let plan = Plan::gather(&[100, 8], &[5], GatherOptions::default(), DType::F32)?;
    /// let inputs = plan.inputs();
    /// assert_eq!((inputs[0].dtype, &inputs[0].shape[..]), (DType::F32, &[100, 8][..]));
    /// assert_eq!((inputs[1].dtype, &inputs[1].shape[..]), (DType::I32, &[5][..]));
    /// assert_eq!(plan.outputs()[0].shape, [5, 8]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    pub fn inputs(&self) -> Cow<'_, [ArraySpec]> {
        match &self.form {
            Form::One { step_move, layout } => {
                let mut inputs = Vec::with_capacity(2);
                let (dtype, kind) = (step_move.source_dtype(), ArrayKind::Elements);
                inputs.push(ArraySpec {
                    layout: layout.clone(),
                    ..ArraySpec::whole("source", &step_move.source, dtype, kind)
                });
                if let Some(tuples) = step_move.tuples() {
                    let (name, kind) = step_move.index_kind();
                    let dtype = step_move.index_dtype();
                    inputs.push(ArraySpec::whole(name, tuples.indices, dtype, kind));
                }
                Cow::Owned(inputs)
            }
            Form::Many(steps) => Cow::Borrowed(&steps.inputs),
        }
    }

    /// Returns the arrays that the plan makes or changes, in order. The first is the result.
    pub fn outputs(&self) -> Cow<'_, [ArraySpec]> {
        match &self.form {
            Form::One { step_move, .. } => {
                Cow::Owned(vec![ArraySpec::result(&step_move.shape, step_move.dtype)])
            }
            Form::Many(steps) => Cow::Borrowed(&steps.outputs),
        }
    }

    /// Returns the shape of the result, or of the array that a plan changes in place.
    pub fn shape(&self) -> &[usize] {
        match &self.form {
            Form::One { step_move, .. } => &step_move.shape,
            Form::Many(steps) => steps.shape(),
        }
    }

    /// Returns the shape of the first output.
    pub(crate) fn into_shape(self) -> Vec<usize> {
        match self.form {
            Form::One { step_move, .. } => step_move.shape,
            Form::Many(mut steps) => steps.outputs.swap_remove(0).shape,
        }
    }

    /// Returns the element type of the result, and of the source unless the plan [converts](Plan::converted).
    pub fn dtype(&self) -> DType {
        match &self.form {
            Form::One { step_move, .. } => step_move.dtype,
            Form::Many(steps) => steps.outputs[0].dtype,
        }
    }

    /// Returns the size of the first output in bytes.
    pub(crate) fn result_bytes(&self) -> usize {
        self.shape().iter().product::<usize>() * self.dtype().size()
    }

    /// Returns whether the plan changes its first output in place and keeps the elements that it does not write.
    /// Otherwise it writes every element of its outputs.
    pub fn is_in_place(&self) -> bool {
        match &self.form {
            Form::One { step_move, .. } => step_move.is_in_place(),
            Form::Many(steps) => steps.in_place,
        }
    }

    /// Returns the name of the operation.
    pub(crate) fn name(&self) -> &'static str {
        self.operation().name()
    }

    fn operation(&self) -> Operation {
        match &self.form {
            Form::One { step_move, .. } => step_move.operation,
            Form::Many(steps) => steps.operation,
        }
    }

    /// Returns whether the plan is a slice or a view that moves bytes unchanged.
    #[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
    pub(crate) fn is_slice(&self) -> bool {
        self.single_move().is_some_and(Move::is_slice)
    }

    /// Returns the policy of the caller's tuples, or the default policy if no step reports.
    #[cfg(feature = "gpu")]
    pub(crate) fn policy(&self) -> crate::ops::index::Policy {
        let mut reporting = self.steps().filter(|(_, operands)| operands.reports);
        let first_reporting = reporting.next();
        first_reporting
            .map(|(step_move, _)| step_move.policy())
            .unwrap_or_default()
    }

    /// Returns this plan for indices of this element type. Fails if the indices cannot have this type.
    fn for_indices(mut self, dtype: DType) -> Result<Self, Error> {
        match &mut self.form {
            Form::One { step_move, .. } => {
                let index_type = step_move.index_type_of(dtype, "indices")?;
                step_move.set_index_type(index_type);
            }
            Form::Many(steps) => {
                for (input_index, input) in steps.inputs.iter_mut().enumerate() {
                    match input.kind {
                        ArrayKind::Elements => {}
                        ArrayKind::Mask => input.check_dtype(dtype)?,
                        ArrayKind::Indices => {
                            input.check_dtype(dtype)?;
                            input.dtype = dtype;
                            // The memory to which a first step, if there is one, copies the tuples in row-major order.
                            let mut ordered_indices = None;
                            for (step_move, operands) in &mut steps.steps {
                                if operands.from == Operand::Input(input_index) {
                                    if let Some(view) = &input.layout {
                                        *step_move = Move::from_view(View::clone(view), dtype);
                                    }
                                    if let Operand::Temp(n) = operands.to {
                                        steps.temps[n].dtype = dtype;
                                    }
                                    ordered_indices = Some(operands.to.clone());
                                }
                                let tuples = operands.by.as_ref();
                                if tuples == Some(&Operand::Input(input_index))
                                    || tuples.is_some() && tuples == ordered_indices.as_ref()
                                {
                                    step_move
                                        .set_index_type(step_move.index_type_of(dtype, "indices")?);
                                }
                            }
                        }
                    }
                }
            }
        }
        Ok(self)
    }

    /// Adds an output to a plan that searches a mask: the number of true elements, as 8 values of u32. The output
    /// stays on the device. The [report](Report::found) has this number with or without the output.
    ///
    /// Values 0 to 2 are the numbers of workgroups for an indirect dispatch with one invocation for each row, in
    /// workgroups of 64, at most 65,535 along the first dimension. Value 3 is the number of rows that were kept. Values
    /// 4 and 5 are the number of true elements, lower half first. The other values are 0.
    ///
    /// ```
    /// use wgslice::{DType, Plan};
    ///
    /// let plan = Plan::nonzero(&[4], None, DType::I32)?.with_count()?;
    /// let (mut rows, mut count) = ([0i32; 4], [0u32; 8]);
    /// plan.run_cpu(&[(&[true, false, true, true]).into()], &mut [(&mut rows).into(), (&mut count).into()])?;
    /// assert_eq!((rows, count[3]), ([0, 2, 3, -1], 3));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`Count`) if the plan does not search a mask or already has this output.
    pub fn with_count(mut self) -> Result<Self, Error> {
        let name = self.name();
        if let Form::Many(steps) = &mut self.form {
            let mut searches = steps.steps.iter_mut();
            let search = searches
                .find(|(step_move, operands)| step_move.find().is_some() && operands.by.is_none());
            if let Some((_, operands)) = search {
                operands.by = Some(Operand::Output(steps.outputs.len()));
                steps.outputs.push(ArraySpec {
                    name: "count",
                    ..ArraySpec::result(&[COUNT_WORDS], DType::U32)
                });
                return Ok(self);
            }
        }
        Err(error::mask::no_count(name))
    }

    /// Returns this plan for inputs of these types. Returns a changed copy if a step copies index tuples to row-major
    /// order and the type of these tuples differs from the plan's.
    pub(crate) fn with_types(
        &self,
        input_type: impl Fn(usize) -> Option<DType>,
    ) -> Result<Cow<'_, Self>, Error> {
        if let Form::Many(steps) = &self.form {
            for (_, operands) in &steps.steps {
                if let Operand::Input(input_index) = operands.from
                    && let ArraySpec {
                        kind: ArrayKind::Indices,
                        dtype,
                        ..
                    } = steps.inputs[input_index]
                    && let Some(passed_type) =
                        input_type(input_index).filter(|passed_type| *passed_type != dtype)
                {
                    return self.clone().for_indices(passed_type).map(Cow::Owned);
                }
            }
        }
        Ok(Cow::Borrowed(self))
    }

    /// Returns the move of a step for tuples of this element type. `tuple_type` is `None` for steps without the
    /// caller's tuples.
    #[cfg(feature = "gpu")]
    pub(crate) fn move_for_tuples(
        step_move: &Move,
        tuple_type: Option<DType>,
    ) -> Result<Cow<'_, Move>, Error> {
        match tuple_type {
            Some(dtype) if step_move.indices.is_some() => {
                Ok(step_move.with_indices_of(step_move.index_type_of(dtype, "indices")?))
            }
            _ => Ok(Cow::Borrowed(step_move)),
        }
    }

    /// Runs the plan on the CPU. `inputs` and `outputs` are in the order of [`Plan::inputs`] and [`Plan::outputs`].
    ///
    /// For small arrays, keep the plan and the memory of the result: planning a slice of a few hundred bytes and
    /// allocating its result take several times as long as moving the bytes.
    ///
    /// ```
    /// use wgslice::{options::GatherOptions, slice, DType, Plan};
    ///
    /// let flip = Plan::slice(&[2, 3], &slice![.., ..; -1], DType::F32)?;
    /// let mut flipped = [0.0f32; 6];
    /// flip.run_cpu(&[(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]).into()], &mut [(&mut flipped).into()])?;
    /// assert_eq!(flipped, [3.0, 2.0, 1.0, 6.0, 5.0, 4.0]);
    ///
    /// let rows = Plan::gather(&[3, 2], &[2], GatherOptions::default(), DType::F32)?;
    /// let mut gathered = [0.0f32; 4];
    /// let report = rows.run_cpu(&[(&flipped).into(), (&[1i32, 7]).into()], &mut [(&mut gathered).into()])?;
    /// assert_eq!((gathered, report.out_of_range), ([1.0, 6.0, 0.0, 0.0], 1));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// The report counts the tuples that are out of range. If the plan's policy makes such tuples an error, a gather or
    /// a crop has nevertheless written its result, with zeros for the elements out of range, and a scatter has changed
    /// nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] if the plan needs another number of inputs or outputs, or other element types;
    /// [`Error::Length`] if an input or output has more or fewer elements than its shape; [`Error::InvalidIndices`] if
    /// a tuple is out of range and the plan's policy makes that an error; [`Error::OutOfHostMemory`] if there is too
    /// little memory for the values between steps.
    pub fn run_cpu(
        &self,
        inputs: &[Values<'_>],
        outputs: &mut [ValuesMut<'_>],
    ) -> Result<Report, Error> {
        if let (Form::One { step_move, .. }, [output]) = (&self.form, &mut *outputs) {
            check_output_dtype(output.dtype, step_move.dtype)?;
            return output.with_bytes(|bytes| {
                run_one(step_move, inputs, Dest::Old(bytes), Threads::default())
            });
        }
        let output_specs = self.outputs();
        check_number("outputs", outputs.len(), output_specs.len())?;
        for (spec, output) in output_specs.iter().zip(&*outputs) {
            check_output_dtype(output.dtype, spec.dtype)?;
            check_elements(spec.name, &spec.shape, output.len())?;
        }
        self.check_inputs(inputs)?;
        values::with_all_bytes(outputs, |bytes| {
            let mut dests: Vec<Dest<'_>> = bytes.into_iter().map(Dest::Old).collect();
            self.run_steps(inputs, &mut dests, Threads::default())
        })
    }

    /// Fails if the number of `inputs`, or the type or the length of one of them, does not fit the plan.
    pub(crate) fn check_inputs(&self, inputs: &[Values<'_>]) -> Result<(), Error> {
        let check_input = |input: &Values<'_>, name, shape: &[usize], dtype, kind: ArrayKind| {
            kind.check(name, input.dtype, dtype)?;
            check_elements(name, shape, input.len())
        };
        let step_move = match &self.form {
            Form::One { step_move, .. } => step_move,
            Form::Many(steps) => {
                check_number("inputs", inputs.len(), steps.inputs.len())?;
                let mut input_pairs = steps.inputs.iter().zip(inputs);
                return input_pairs.try_for_each(|(spec, input)| {
                    let (dtype, kind) = (spec.dtype, spec.kind);
                    check_input(input, spec.name, &spec.shape, dtype, kind)
                });
            }
        };
        check_number(
            "inputs",
            inputs.len(),
            1 + usize::from(step_move.indices.is_some()),
        )?;
        let dtype = step_move.source_dtype();
        check_input(
            &inputs[0],
            "source",
            &step_move.source,
            dtype,
            ArrayKind::Elements,
        )?;
        match step_move.tuples() {
            Some(tuples) => {
                let (name, kind) = step_move.index_kind();
                check_input(
                    &inputs[1],
                    name,
                    tuples.indices,
                    step_move.index_dtype(),
                    kind,
                )
            }
            None => Ok(()),
        }
    }

    /// Runs the steps on the CPU. `inputs` and `outputs` must match the plan's inputs and outputs.
    pub(crate) fn run_steps(
        &self,
        inputs: &[Values<'_>],
        outputs: &mut [Dest<'_>],
        threads: Threads,
    ) -> Result<Report, Error> {
        let steps = match &self.form {
            Form::One { step_move, .. } => {
                return run_one(step_move, inputs, mem::take(&mut outputs[0]), threads);
            }
            Form::Many(steps) => steps,
        };
        if let Cow::Owned(plan) = self.with_types(|input| Some(inputs[input].dtype))? {
            return plan.run_steps(inputs, outputs, threads);
        }
        if let Some(shortcut) = &steps.shortcut {
            let dest = mem::take(&mut outputs[0]);
            let mut search_result = None;
            match shortcut {
                Shortcut::Outer(outer) => {
                    outer.run(self.dtype(), inputs[0].bytes, dest, threads);
                }
                Shortcut::Write(value, slices) => {
                    slices.write(value, self.dtype(), inputs[0].bytes, dest.all())?;
                }
                Shortcut::Weave(weave) => {
                    let arrays: Vec<&[u8]> = inputs.iter().map(|input| input.bytes).collect();
                    weave.run(&arrays, dest, threads);
                }
                &Shortcut::Keep(piece) => {
                    let capacity = steps.shape()[0];
                    let (x, mask) = (inputs[0].bytes, inputs[1].bytes);
                    let count = cpu::keep::run(piece, x, mask, dest, threads);
                    let found = Found { count, capacity };
                    if let Some(output) = outputs.get_mut(1) {
                        mem::take(output).copy_from(bytemuck::cast_slice(&found.words()), threads);
                    }
                    search_result = Some(found);
                }
            }
            return Ok(self.report(None, search_result));
        }
        let mut temps = Vec::with_capacity(steps.temps.len());
        for temp in &steps.temps {
            temps.push(zeroed::<u8>(temp.bytes())?);
        }
        let (mut tuples_report, mut search_result) = (None, None);
        for (step_index, (step_move, operands)) in steps.steps.iter().enumerate() {
            // While the step runs, the memory that it writes is moved out of `temps` or `outputs`, so that the step can
            // read other memory in these lists.
            let mut temp = Vec::new();
            let mut old_dest: &mut [u8] = &mut [];
            let dest = match operands.to {
                Operand::Temp(n) => {
                    temp = mem::take(&mut temps[n]);
                    Dest::Old(&mut temp)
                }
                Operand::Output(n) => {
                    let dest = mem::take(&mut outputs[n]);
                    let later_steps = &steps.steps[step_index + 1..];
                    let is_last_write = !later_steps
                        .iter()
                        .any(|(_, later_operands)| later_operands.to == operands.to);
                    // New memory can stay uninitialized if no later step writes it. Otherwise the first step that
                    // writes it initializes all of it.
                    match is_last_write {
                        true => dest,
                        false => {
                            old_dest = dest.all();
                            Dest::Old(&mut *old_dest)
                        }
                    }
                }
                _ => continue,
            };
            let read = |operand: &'_ Operand| -> Values<'_> {
                match operand {
                    Operand::Input(n) => inputs[*n],
                    Operand::Temp(n) => Values {
                        dtype: steps.temps[*n].dtype,
                        bytes: &temps[*n],
                    },
                    _ => Values::NONE,
                }
            };
            let from = read(&operands.from);
            if let Some(find) = step_move.find() {
                let count = cpu::mask::find(
                    from.bytes,
                    &step_move.source,
                    dest.all(),
                    find.index_type.bytes(),
                );
                let capacity = find.capacity;
                search_result = Some(Found { count, capacity });
            } else {
                let tuples = match &operands.by {
                    Some(Operand::Const(tuples)) => tuples.bytes()?,
                    _ => Arc::default(),
                };
                let tuple_values = operands.by.as_ref().map(|operand| match operand {
                    Operand::Const(_) => Values {
                        dtype: step_move.index_dtype(),
                        bytes: &tuples,
                    },
                    operand => read(operand),
                });
                let report = run_move(step_move, from.bytes, tuple_values, dest, threads)?;
                if operands.reports {
                    tuples_report = Some(report);
                }
            }
            match operands.to {
                Operand::Temp(n) => temps[n] = temp,
                Operand::Output(n) => outputs[n] = Dest::Old(old_dest),
                _ => {}
            }
            if let (Some(Operand::Output(n)), Some(found), Some(_)) =
                (&operands.by, search_result, step_move.find())
            {
                let count = mem::take(&mut outputs[*n]);
                count.copy_from(bytemuck::cast_slice(&found.words()), threads);
            }
        }
        Ok(self.report(tuples_report, search_result))
    }

    /// Describes in one line the loop that the CPU runs instead of the steps. Returns `None` if there is no such loop.
    pub(crate) fn explain_shortcut(&self, threads: Threads) -> Option<String> {
        let Form::Many(Steps { shortcut, .. }) = &self.form else {
            return None;
        };
        let bytes = self.result_bytes();
        let suffix = match shortcut.as_ref()? {
            Shortcut::Outer(_) | Shortcut::Write(..) => " by all lists at once".into(),
            Shortcut::Weave(weave) => weave.explain(bytes, threads),
            Shortcut::Keep(piece) => cpu::keep::explain(bytes, *piece, threads),
        };
        Some(format!("{}{suffix}", counted(bytes, "byte", "bytes")))
    }

    /// Makes the report of a run from the report on the caller's tuples and the result of a search, as far as the plan
    /// has them.
    pub(crate) fn report(
        &self,
        tuples_report: Option<Report>,
        search_result: Option<Found>,
    ) -> Report {
        let mut report = tuples_report.unwrap_or_else(|| {
            let rows = self.steps().map(|(step_move, _)| step_move.rows()).sum();
            Report::for_rows(rows, self.operation())
        });
        if let Some(search_result) = search_result {
            report.count(search_result);
        }
        report
    }

    /// Makes the report of a run that had no tuple out of range and searched no mask.
    pub(crate) fn report_without_findings(&self) -> Result<Report, Error> {
        match self.single_move() {
            Some(step_move) => step_move.report(Missing::default(), |_| Vec::new()),
            None => Ok(self.report(None, None)),
        }
    }
}

/// Fails if the number of arrays differs from the number that the plan needs.
pub(crate) fn check_number(
    list_name: &'static str,
    found_count: usize,
    needed_count: usize,
) -> Result<(), Error> {
    match found_count == needed_count {
        true => Ok(()),
        false => Err(error::value::arguments(
            list_name,
            found_count,
            needed_count,
        )),
    }
}

fn check_output_dtype(found_dtype: DType, needed_dtype: DType) -> Result<(), Error> {
    match found_dtype == needed_dtype {
        true => Ok(()),
        false => Err(error::value::dtype_mismatch(
            "the result",
            found_dtype,
            needed_dtype,
        )),
    }
}

/// Runs a plan of one step on its inputs.
fn run_one(
    step_move: &Move,
    inputs: &[Values<'_>],
    dest: Dest<'_>,
    threads: Threads,
) -> Result<Report, Error> {
    let (source, tuples) = match (inputs, &step_move.indices) {
        ([source], None) => (source, None),
        ([source, tuples], Some(_)) => (source, Some(*tuples)),
        _ => {
            let needed_count = 1 + usize::from(step_move.indices.is_some());
            return Err(error::value::arguments(
                "inputs",
                inputs.len(),
                needed_count,
            ));
        }
    };
    let needed_type = step_move.source_dtype();
    if source.dtype != needed_type {
        return Err(error::value::dtype_mismatch(
            "source",
            source.dtype,
            needed_type,
        ));
    }
    run_move(step_move, source.bytes, tuples, dest, threads)
}

fn run_move(
    step_move: &Move,
    source: &[u8],
    tuples: Option<Values<'_>>,
    dest: Dest<'_>,
    threads: Threads,
) -> Result<Report, Error> {
    let Some(tuples) = tuples else {
        return step_move.run_on_threads(source, Indices::I32(&[]), dest, threads);
    };
    let index_type = step_move.index_type_of(tuples.dtype, "indices")?;
    tuples.with_indices(index_type, |indices| {
        step_move.run_on_threads(source, indices, dest, threads)
    })
}

/// Prints one line: the operation, its shapes, and its rows and units, or the number of its steps.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.form {
            Form::One { step_move, .. } => step_move.fmt(f),
            Form::Many(steps) if steps.steps.len() == 1 => steps.steps[0].0.fmt(f),
            Form::Many(steps) => {
                let (name, shape) = (self.name(), Shape(self.shape()));
                write!(f, "{name}")?;
                for input in &steps.inputs {
                    write!(f, " {}", Shape(&input.shape))?;
                }
                write!(f, " -> {shape}: {} steps", steps.steps.len())
            }
        }
    }
}
