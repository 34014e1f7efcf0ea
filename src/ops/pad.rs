//! pad: an array with additional positions at both ends of each dimension, filled with a constant or with elements of
//! the array. The semantics are the same as in TensorFlow 2.21's `tf.pad`, and as in `numpy.pad` for modes that
//! TensorFlow lacks.

use super::{
    assembly::PositionRun,
    methods::{InputList, host_methods, tensor_methods},
};
use crate::prelude::*;
use crate::{
    DType, Element, Error, IntoView, Plan, Tensor, Values, View, error,
    moves::Operation,
    plan::{ArraySpec, Steps},
    shape,
};
use core::slice;

/// The content of the positions that `pad` adds. With three positions at each end, `a b c d` becomes:
///
/// | mode | result | `tf.pad`, `numpy.pad` |
/// |---|---|---|
/// | `Constant(0)` | `0 0 0 a b c d 0 0 0` | `CONSTANT`, `constant` |
/// | `Edge` | `a a a a b c d d d d` | -, `edge` |
/// | `Reflect` | `d c b a b c d c b a` | `REFLECT`, `reflect` |
/// | `Symmetric` | `c b a a b c d d c b` | `SYMMETRIC`, `symmetric` |
/// | `Wrap` | `b c d a b c d a b c` | -, `wrap` |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pad<T> {
    /// A constant: a value for host values, a tensor of shape `[]` for tensors, and `()` for a [`Plan`], where it
    /// is the second input.
    Constant(T),
    /// The nearest element of the array.
    Edge,
    /// The array, mirrored at its first and its last element. Each end can grow by at most one position less than the
    /// dimension has, as in TensorFlow. A dimension without positions can be padded by 0, as in NumPy; TensorFlow
    /// rejects that.
    Reflect,
    /// The array, mirrored before its first and after its last element. Each end can grow by at most as many positions
    /// as the dimension has, as in TensorFlow.
    Symmetric,
    /// The array, repeated. Each end can grow by at most as many positions as the dimension has.
    Wrap,
}

impl<T> Pad<T> {
    /// Returns the same mode with the constant replaced by the result of a function.
    pub(crate) fn map<U>(self, constant: impl FnOnce(T) -> U) -> Pad<U> {
        match self {
            Self::Constant(value) => Pad::Constant(constant(value)),
            Self::Edge => Pad::Edge,
            Self::Reflect => Pad::Reflect,
            Self::Symmetric => Pad::Symmetric,
            Self::Wrap => Pad::Wrap,
        }
    }
}

impl Pad<()> {
    /// Returns the positions of the array that fill the positions `to..to + count` of the result, before or after the
    /// array. The array has `size` positions in this dimension. Returns `None` for a constant, and if `count` is 0.
    fn position_run(
        self,
        size: usize,
        count: usize,
        to: usize,
        is_before: bool,
    ) -> Option<PositionRun> {
        let last_position = size.saturating_sub(1);
        let (first, step) = match (self, is_before) {
            (Self::Constant(()), _) => return None,
            (Self::Edge, true) => (0, 0),
            (Self::Edge, false) => (last_position, 0),
            (Self::Reflect, true) => (count, -1),
            (Self::Reflect, false) => (last_position.saturating_sub(1), -1),
            (Self::Symmetric, true) => (count.saturating_sub(1), -1),
            (Self::Symmetric, false) => (last_position, -1),
            (Self::Wrap, true) => (size - count, 1),
            (Self::Wrap, false) => (0, 1),
        };
        (count > 0).then_some(PositionRun {
            first,
            step,
            to,
            count,
        })
    }

    /// Returns the largest number of positions that can be added at an end of a dimension of `size` positions, and a
    /// verb for the error message.
    fn max_padding(self, size: usize) -> (usize, &'static str) {
        match self {
            Self::Constant(()) => (usize::MAX, "filled"),
            Self::Edge if size > 0 => (usize::MAX, "repeated"),
            Self::Edge => (0, "repeated"),
            Self::Reflect => (size.saturating_sub(1), "reflected"),
            Self::Symmetric => (size, "mirrored"),
            Self::Wrap => (size, "wrapped"),
        }
    }
}

impl Plan {
    /// Plans `x` with `paddings[d][0]` additional positions at the beginning of dimension d and `paddings[d][1]` at its
    /// end. The inputs are `x` and the constant, if there is one.
    ///
    /// ```
    /// use wgslice::{options::Pad, DType, Plan};
    ///
    /// let padded = Plan::pad(&[3], &[[2, 1]], Pad::Reflect, DType::I32)?;
    /// let mut result = [0; 6];
    /// padded.run_cpu(&[(&[1, 2, 3]).into()], &mut [(&mut result).into()])?;
    /// assert_eq!(result, [3, 2, 1, 2, 3, 2]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`Entries` if there is not one pair for each dimension, then `Padding` if a padding is
    /// longer than the mode allows, then `Pieces` if there are too many pieces, for example if 11 dimensions are padded
    /// with elements of the array at both ends); [`Error::ShapeTooLarge`].
    pub fn pad(
        x: impl IntoView,
        paddings: &[[usize; 2]],
        mode: Pad<()>,
        dtype: DType,
    ) -> Result<Self, Error> {
        let x = x.into_view()?;
        let rank = x.shape.len();
        if paddings.len() != rank {
            return Err(error::assembly::wrong_entry_count(
                "paddings",
                paddings.len(),
                rank,
            ));
        }
        for (dimension, (&size, padding)) in x.shape.iter().zip(paddings).enumerate() {
            let (limit, verb) = mode.max_padding(size);
            let padding = padding[0].max(padding[1]);
            if padding > limit {
                return Err(error::assembly::padding_too_long(
                    dimension, size, padding, limit, verb,
                ));
            }
        }
        let padded_size = |(&size, [before, after]): (&usize, &[usize; 2])| {
            size.saturating_add(*before).saturating_add(*after)
        };
        let shape: Vec<usize> = x.shape.iter().zip(paddings).map(padded_size).collect();
        shape::elements(&shape)?;
        let mut inputs = vec![ArraySpec::new("x", &x, dtype)];
        if mode == Pad::Constant(()) {
            inputs.push(ArraySpec::new("constant", &View::whole(&[]), dtype));
        }
        let mut plan = Steps::new(
            Operation::Named("pad"),
            inputs,
            ArraySpec::result(&shape, dtype),
        );
        let runs = x
            .shape
            .iter()
            .zip(paddings)
            .map(|(&size, &[before, after])| {
                let inner_run = PositionRun {
                    first: 0,
                    step: 1,
                    to: before,
                    count: size,
                };
                let dim_runs = [
                    mode.position_run(size, before, 0, true),
                    Some(inner_run),
                    mode.position_run(size, after, before + size, false),
                ];
                dim_runs.into_iter().flatten().collect()
            });
        plan.put_runs(&x, &runs.collect::<Vec<_>>())?;
        if mode == Pad::Constant(()) {
            plan.put_borders(&x, paddings);
        }
        Ok(plan.plan())
    }
}

impl Steps {
    /// Adds the pieces around `x`, which are filled with the only element of input 1. Each dimension has two slabs,
    /// which extend between the slabs of earlier dimensions.
    fn put_borders(&mut self, x: &View, paddings: &[[usize; 2]]) {
        let mut unwritten_view = View::whole(self.shape());
        for (d, (&size, &[before, after])) in x.shape.iter().zip(paddings).enumerate() {
            for (first, count) in [(0, before), (before + size, after)] {
                let slab = unwritten_view.along(d, first, 1, count);
                let constant = View {
                    source: Vec::new(),
                    offset: 0,
                    strides: vec![0; slab.shape.len()],
                    shape: slab.shape.clone(),
                };
                self.put(1, &constant, slab);
            }
            unwritten_view = unwritten_view.along(d, before, 1, size);
        }
    }
}

host_methods! {
    /// Pads host values: see [`Plan::pad`].
    ///
    /// ```
    /// use wgslice::{options::Pad, Backend};
    ///
    /// let padded = Backend::cpu().pad((&[1, 2], &[1, 2]), &[[0, 1], [1, 0]], Pad::Constant(9))?;
    /// assert_eq!((padded.shape, padded.data), (vec![2, 3], vec![9, 1, 2, 9, 9, 9]));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Plan::pad`]; [`Error::Length`]; or an error of the device.
    fn pad(view x: T, by paddings: &[[usize; 2]], by mode: Pad<T>)
        -> made = |dtype| Plan::pad(x, paddings, mode.map(|_| ()), dtype), [x | mode];
}

impl<'s, T: Element> InputList<'s, Values<'s>> for ((), Pad<T>) {
    fn add_to(&'s self, inputs: &mut Vec<Values<'s>>) {
        if let (_, Pad::Constant(constant)) = self {
            inputs.push(slice::from_ref(constant).into());
        }
    }
}

tensor_methods! {
    /// Pads this tensor, in one submission: see [`Plan::pad`].
    ///
    /// # Errors
    ///
    /// The errors of [`Plan::pad`]; [`Error::Argument`] for a constant that is not a scalar of this tensor's element
    /// type and device; or an error of the device.
    fn pad(self x, by paddings: &[[usize; 2]], by mode: Pad<&Tensor>)
        -> made = |dtype| check_constant(x, mode)
            .and_then(|()| Plan::pad(x.layout(), paddings, mode.map(|_| ()), dtype)),
        [x | mode];
}

impl<'t> InputList<'_, &'t Tensor> for Pad<&'t Tensor> {
    fn add_to(&self, inputs: &mut Vec<&'t Tensor>) {
        if let Self::Constant(constant) = self {
            inputs.push(constant);
        }
    }
}

/// Fails unless the constant is a scalar with the device and the element type of `x`.
fn check_constant(x: &Tensor, mode: Pad<&Tensor>) -> Result<(), Error> {
    let Pad::Constant(constant) = mode else {
        return Ok(());
    };
    x.check_goes_with("constant", constant)?;
    match constant.shape() {
        [] => Ok(()),
        shape => Err(error::assembly::constant_not_scalar(shape)),
    }
}
