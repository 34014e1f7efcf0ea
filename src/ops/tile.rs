//! tile repeats an array as a whole, and repeat each of its positions along an axis, as in TensorFlow's `tf.tile`, and
//! `tf.repeat` with one number of times. `[1, 2]` tiled twice is `[1, 2, 1, 2]`, and repeated twice `[1, 1, 2, 2]`.

use super::concat::check_axis;
use crate::{
    Array, ArrayRef, Assembly, Backend, DType, Element, Error, Tensor, TensorView, View, error,
    plan::Operation, shape,
};

impl Assembly {
    /// `multiples[d]` copies of `x` along each dimension d.
    ///
    /// ```
    /// use wgslice::{Assembly, DType, View};
    ///
    /// let tiled = Assembly::tile(&View::new(&[2])?, &[2], DType::I32)?;
    /// let mut result = [0; 4];
    /// tiled.run_cpu(&[&[1, 2]], &mut result)?;
    /// assert_eq!(result, [1, 2, 1, 2]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`entries`) if there is not a multiple for each dimension; [`Error::ShapeTooLarge`].
    pub fn tile(x: &View, multiples: &[usize], dtype: DType) -> Result<Self, Error> {
        let (found, rank) = (multiples.len(), x.shape.len());
        if found != rank {
            return Err(error::assembly::entries("multiples", found, rank));
        }
        // Each dimension has its copies as an outer dimension, along which the source does not move.
        let mut walked = x.clone();
        for (d, &multiple) in multiples.iter().enumerate() {
            walked.shape.insert(2 * d, multiple);
            walked.strides.insert(2 * d, 0);
        }
        let shape = x.shape.iter().zip(multiples);
        let shape = shape.map(|(&size, &multiple)| size.saturating_mul(multiple));
        Self::repeated(Operation::Tile, walked, shape.collect(), dtype)
    }

    /// Each position of `x` along `axis`, `times` times. A negative `axis` counts from the end. A scalar is repeated as an
    /// array of one element.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`axis`); [`Error::ShapeTooLarge`].
    pub fn repeat(x: &View, times: usize, axis: isize, dtype: DType) -> Result<Self, Error> {
        let mut walked = x.clone();
        if walked.shape.is_empty() {
            walked.shape.push(1);
            walked.strides.push(0);
        }
        let axis = check_axis(axis, walked.shape.len())?;
        let mut shape = walked.shape.clone();
        walked.shape.insert(axis + 1, times);
        walked.strides.insert(axis + 1, 0);
        shape[axis] = shape[axis].saturating_mul(times);
        Self::repeated(Operation::Repeat, walked, shape, dtype)
    }

    /// The elements of a view with repeated ones, as an array of this shape.
    fn repeated(
        operation: Operation,
        mut walked: View,
        shape: Vec<usize>,
        dtype: DType,
    ) -> Result<Self, Error> {
        shape::elements(&shape)?;
        shape::elements(&walked.shape)?;
        walked.normalize();
        let mut assembly = Self::new(operation, shape, dtype);
        assembly.put(0, &walked, &View::whole(&walked.shape));
        Ok(assembly)
    }
}

impl Backend {
    /// Tiles host values: see [`Assembly::tile`].
    ///
    /// # Errors
    ///
    /// As [`Assembly::tile`]; [`Error::Length`]; or an error of the device.
    pub fn tile<'a, T: Element>(
        &self,
        x: impl Into<ArrayRef<'a, T>>,
        multiples: &[usize],
    ) -> Result<Array<T>, Error> {
        let (values, view) = x.into().memory("x")?;
        self.assemble(&Assembly::tile(&view, multiples, T::DTYPE)?, &[&values])
    }

    /// Repeats positions of host values: see [`Assembly::repeat`].
    ///
    /// ```
    /// use wgslice::Backend;
    ///
    /// let wide = Backend::cpu().repeat((&[1, 2, 3, 4], &[2, 2]), 2, 1)?;
    /// assert_eq!((wide.shape, wide.data), (vec![2, 4], vec![1, 1, 2, 2, 3, 3, 4, 4]));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Assembly::repeat`]; [`Error::Length`]; or an error of the device.
    pub fn repeat<'a, T: Element>(
        &self,
        x: impl Into<ArrayRef<'a, T>>,
        times: usize,
        axis: isize,
    ) -> Result<Array<T>, Error> {
        let (values, view) = x.into().memory("x")?;
        self.assemble(&Assembly::repeat(&view, times, axis, T::DTYPE)?, &[&values])
    }
}

impl Tensor {
    /// Tiles this tensor: see [`Assembly::tile`].
    ///
    /// # Errors
    ///
    /// As [`Assembly::tile`], or an error of the device.
    pub fn tile(&self, multiples: &[usize]) -> Result<Self, Error> {
        self.view().tile(multiples)
    }

    /// Repeats positions of this tensor: see [`Assembly::repeat`].
    ///
    /// # Errors
    ///
    /// As [`Assembly::repeat`], or an error of the device.
    pub fn repeat(&self, times: usize, axis: isize) -> Result<Self, Error> {
        self.view().repeat(times, axis)
    }
}

impl TensorView {
    /// Tiles the selection, as [`Tensor::tile`] does, without copying it first.
    ///
    /// # Errors
    ///
    /// As [`Tensor::tile`].
    pub fn tile(&self, multiples: &[usize]) -> Result<Tensor, Error> {
        let assembly = Assembly::tile(self.view(), multiples, self.dtype())?;
        Tensor::assemble(&assembly, &[self.tensor()])
    }

    /// Repeats positions of the selection, as [`Tensor::repeat`] does, without copying it first.
    ///
    /// # Errors
    ///
    /// As [`Tensor::repeat`].
    pub fn repeat(&self, times: usize, axis: isize) -> Result<Tensor, Error> {
        let assembly = Assembly::repeat(self.view(), times, axis, self.dtype())?;
        Tensor::assemble(&assembly, &[self.tensor()])
    }
}
