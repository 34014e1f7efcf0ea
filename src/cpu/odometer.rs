//! Loops over nested dimensions without divisions.

use crate::prelude::*;
use crate::{layout::along, walk::Dim};

/// Iterates over the positions of nested dimensions, in row-major order. The item for a position is a sum: each digit
/// times its dimension's stride. As in an odometer, the innermost digit advances and carries into the next, so no
/// position needs a division. The iteration does not end: after the last position it starts again at the first.
pub(super) struct Odometer<'a, F> {
    dims: &'a [Dim],
    /// Returns the stride of a dimension: its distance in the source, in the destination, or between tuples.
    stride: F,
    /// The digits of the next position, innermost first.
    digits: Vec<usize>,
    sum: usize,
}

impl<'a, F: Fn(&Dim) -> isize> Odometer<'a, F> {
    /// Starts at the position with number `first`. The sum at position 0 is 0.
    pub(super) fn at(dims: &'a [Dim], stride: F, mut first: usize) -> Self {
        let mut sum = 0;
        let next_digit = |dim: &Dim| {
            let digit = first % dim.size;
            first /= dim.size;
            sum = along(sum, stride(dim), digit);
            digit
        };
        let digits = dims.iter().rev().map(next_digit).collect();
        Self {
            dims,
            stride,
            digits,
            sum,
        }
    }
}

impl<F: Fn(&Dim) -> isize> Iterator for Odometer<'_, F> {
    type Item = usize;

    // A negative sum wraps. The sums between two positions, while digits carry, can also wrap.
    fn next(&mut self) -> Option<usize> {
        let sum = self.sum;
        for (dim, digit) in self.dims.iter().rev().zip(&mut self.digits) {
            let stride = (self.stride)(dim);
            *digit += 1;
            self.sum = self.sum.wrapping_add_signed(stride);
            if *digit < dim.size {
                break;
            }
            self.sum = along(self.sum, stride.wrapping_neg(), dim.size);
            *digit = 0;
        }
        Some(sum)
    }
}
