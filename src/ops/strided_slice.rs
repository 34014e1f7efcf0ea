//! strided_slice: the copy of a view into a row-major result.
//!
//! The semantics are the same as in TensorFlow 2.21, for any rank (TensorFlow accepts at most 8).

use crate::prelude::*;
use crate::{
    Array, ArrayRef, Backend, DType, Element, Error, IntoView, Plan, SliceSpec, ValuesMut, View,
    cpu,
    moves::{Effect, Move, Operation},
    shape::check_elements,
    walk::{Dim, Walk},
};

impl Plan {
    /// Plans the slice `spec` of an input of this element type.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`]: the error that TensorFlow raises; [`Error::ShapeTooLarge`].
    #[doc(alias("strided_slice", "flip", "reverse", "narrow"))]
    pub fn slice(input: impl IntoView, spec: &SliceSpec, dtype: DType) -> Result<Self, Error> {
        let mut view = input.into_view()?;
        if view.is_all() {
            view.narrow(spec)?;
            return Ok(Self::from_move(Move::from_view(view, dtype)));
        }
        let slice = Move::from_view(view.slice(spec)?, dtype);
        Ok(Self::from_view(slice, &view))
    }

    /// Plans the copy of a view into a row-major result: slices, transposes and broadcasts in one pass over the data.
    ///
    /// ```
    /// use wgslice::{slice, Backend, DType, Plan, View};
    ///
    /// let transposed = View::new(&[2, 3])?.transpose(&[1, 0])?;
    /// let last = Plan::contiguous(transposed.slice(&slice![-1])?, DType::I32)?;
    /// let (array, _) = Backend::cpu().run::<i32>(&last, &[(&[1, 2, 3, 4, 5, 6]).into()])?;
    /// assert_eq!(array.data, [3, 6]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ShapeTooLarge`].
    #[doc(alias = "ascontiguousarray")]
    pub fn contiguous(view: impl IntoView, dtype: DType) -> Result<Self, Error> {
        Ok(Self::from_layout(&view.into_view()?, dtype))
    }

    /// Plans the copy of a view, which is also the layout of the input.
    pub(crate) fn from_layout(view: &View, dtype: DType) -> Self {
        Self::from_view(Move::from_view(view.clone(), dtype), view)
    }
}

impl Move {
    /// Plans the copy of a view of an array of elements of this type.
    pub(crate) fn from_view(view: View, dtype: DType) -> Self {
        let walk = (!view.is_empty()).then(|| Walk::from_view(&view, dtype.size()));
        Self {
            operation: Operation::StridedSlice,
            shape: view.shape,
            dtype,
            source: view.source,
            walk,
            effect: Effect::Make,
            conversion: None,
            indices: None,
        }
    }
}

impl Backend {
    /// Slices host values into a new array.
    ///
    /// ```
    /// use wgslice::{slice, Backend};
    ///
    /// let x = (&[1, 2, 3, 4, 5, 6], &[2, 3]);
    /// let flipped = Backend::cpu().slice(x, &slice![.., ..; -1])?;
    /// assert_eq!((flipped.shape, flipped.data), (vec![2, 3], vec![3, 2, 1, 6, 5, 4]));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// A program that slices arrays of the same shape repeatedly on the CPU should keep the plan and the memory of the
    /// result. For a few hundred bytes this saves most of the time:
    ///
    /// ```
    /// use wgslice::{slice, DType, Plan};
    ///
    /// let flip = Plan::slice(&[2, 3], &slice![.., ..; -1], DType::I32)?;
    /// let mut flipped = [0; 6];
    /// for x in [[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]] {
    ///     flip.run_cpu(&[(&x).into()], &mut [(&mut flipped).into()])?;
    /// }
    /// assert_eq!(flipped, [9, 8, 7, 12, 11, 10]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// A program that makes large results repeatedly should reuse their memory with [`Backend::slice_into`], or slice a
    /// [`Tensor`](crate::Tensor), because its backend keeps the memory of the last large tensor that was dropped. New
    /// memory of 32 MiB or more comes from the system each time.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`], [`Error::Length`], or an error of the device.
    #[doc(alias("strided_slice", "flip", "reverse", "narrow"))]
    pub fn slice<'a, T: Element>(
        &self,
        input: impl Into<ArrayRef<'a, T>>,
        spec: &SliceSpec,
    ) -> Result<Array<T>, Error> {
        let input = input.into();
        if self.is_cpu()
            && let Some((values, shape)) = input.as_row_major("input")?
        {
            // This path makes no view, because allocating a view's lists of sizes and strides takes a large part of the
            // time of a small slice.
            let mut dims = Dim::from_shape(shape);
            let first_position = spec.narrow(&mut dims, 0)?;
            let shape: Vec<usize> = dims.iter().map(|dim| dim.size).collect();
            let pieces = cpu::pieces(&dims, T::DTYPE);
            let (data, ()) = T::collect(shape.iter().product(), pieces, |result| {
                let values = T::as_bytes(values);
                cpu::copy(
                    (dims, first_position),
                    T::DTYPE,
                    values,
                    result,
                    self.threads,
                );
                Ok(())
            })?;
            return Ok(Array { shape, data });
        }
        let (memory, view) = input.sliced("input", spec)?;
        self.select_elements(&memory, view)
    }

    /// Slices like [`Backend::slice`], but into the caller's memory. [`Backend::run_into`] does the same for plans of
    /// all operations.
    ///
    /// ```
    /// use wgslice::{slice, Backend};
    ///
    /// let x = (&[1, 2, 3, 4, 5, 6], &[2, 3]);
    /// let mut flipped = vec![0; 6];
    /// Backend::cpu().slice_into(x, &slice![.., ..; -1], &mut flipped)?;
    /// assert_eq!(flipped, [3, 2, 1, 6, 5, 4]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Backend::slice`]; [`Error::Length`] if `result` does not have the number of elements of the
    /// slice.
    pub fn slice_into<'a, T: Element>(
        &self,
        input: impl Into<ArrayRef<'a, T>>,
        spec: &SliceSpec,
        result: &mut [T],
    ) -> Result<(), Error> {
        let (memory, view) = input.into().sliced("input", spec)?;
        if !self.is_cpu() {
            let plan = Plan::from_layout(&view, T::DTYPE);
            return self
                .run_into(&plan, &[(&memory[..]).into()], result)
                .map(drop);
        }
        check_elements("result", &view.shape, result.len())?;
        ValuesMut::from(result).with_bytes(|bytes| {
            view.copy(T::DTYPE, T::as_bytes(&memory), bytes.into(), self.threads);
            Ok(())
        })
    }

    /// Returns the elements that a view selects from `input`.
    pub(super) fn select_elements<T: Element>(
        &self,
        input: &[T],
        view: View,
    ) -> Result<Array<T>, Error> {
        if !self.is_cpu() {
            let plan = Plan::from_layout(&view, T::DTYPE);
            return Ok(self.run(&plan, &[input.into()])?.0);
        }
        let (data, ()) = T::collect(view.len(), view.pieces(T::DTYPE), |result| {
            view.copy(T::DTYPE, T::as_bytes(input), result, self.threads);
            Ok(())
        })?;
        let shape = view.shape;
        Ok(Array { shape, data })
    }
}
