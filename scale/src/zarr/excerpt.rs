//! Copies parts of chunks.

use super::{
    Chunk,
    allocate::{self, Purpose},
    product, strides,
};
use crate::job::copy::{Dim, copy_box};

/// Equally spaced positions in one dimension of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Positions {
    pub(crate) begin: usize,
    pub(crate) step: usize,
    /// The number of positions, at least 1.
    pub(crate) count: usize,
}

impl Positions {
    fn last(&self) -> usize {
        self.begin + (self.count - 1) * self.step
    }

    fn contain(&self, other: &Self) -> bool {
        let is_position = |at: usize| {
            (self.begin..=self.last()).contains(&at) && (at - self.begin).is_multiple_of(self.step)
        };
        let fits = other.count == 1 || other.step.is_multiple_of(self.step);
        is_position(other.begin) && is_position(other.last()) && fits
    }
}

/// A chunk, or a box of it.
#[derive(Clone, Debug)]
pub(crate) struct Excerpt {
    /// The elements in row-major order.
    pub(crate) elements: Chunk,
    /// The positions of the box in each dimension of the chunk. `None` if it is the whole chunk.
    pub(crate) positions: Option<Vec<Positions>>,
}

impl Excerpt {
    /// Returns all elements of a chunk.
    pub(crate) fn whole(elements: Chunk) -> Self {
        Self {
            elements,
            positions: None,
        }
    }

    /// Copies a box of a chunk of this shape. Along the last dimension, copies all positions from the box's first to
    /// its last. Uses the chunk itself if there is no memory for the copy, or if the copy would have more than half of
    /// the chunk's elements: it would then take longer than allocating memory for the next chunk.
    pub(crate) fn cut(
        chunk: &Chunk,
        shape: &[usize],
        mut positions: Vec<Positions>,
        element_bytes: usize,
    ) -> Self {
        if let Some(last) = positions.last_mut() {
            last.count = last.last() - last.begin + 1;
            last.step = 1;
        }
        let counts: Vec<usize> = positions.iter().map(|positions| positions.count).collect();
        let purpose = Purpose {
            content: "a part of a chunk",
            way_out: "write the array anew with smaller chunks",
        };
        let element_count = product(&counts);
        let memory = (2 * element_count <= product(shape))
            .then(|| allocate::zeros(element_count * element_bytes, purpose));
        let Some(Ok(mut elements)) = memory else {
            return Self::whole(chunk.clone());
        };
        let sides = positions.iter().zip(strides(shape));
        let from = sides
            .clone()
            .map(|(side, stride)| side.begin * stride)
            .sum();
        let dims = sides.zip(strides(&counts)).map(|((side, stride), to)| Dim {
            size: side.count,
            from: (side.step * stride).cast_signed(),
            to,
        });
        copy_box(
            (chunk.as_ref(), from),
            (&mut elements, 0),
            dims,
            element_bytes,
        );
        Self {
            elements: Chunk::new(elements),
            positions: Some(positions),
        }
    }

    /// Returns whether the excerpt contains all elements of a box of the chunk.
    pub(crate) fn has(&self, box_positions: &[Positions]) -> bool {
        let Some(positions) = &self.positions else {
            return true;
        };
        let mut sides = positions.iter().zip(box_positions);
        sides.all(|(own, needed)| own.contain(needed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(sides: [(usize, usize, usize); 2]) -> Vec<Positions> {
        let sides = sides.map(|(begin, step, count)| Positions { begin, step, count });
        sides.to_vec()
    }

    #[test]
    fn a_box_is_cut_out_of_a_chunk() {
        let chunk = Chunk::new((0..24).collect());
        let cut = |sides| Excerpt::cut(&chunk, &[6, 4], positions(sides), 1);
        // The part has rows 1 and 4, and elements 0 to 2 of each.
        let part = cut([(1, 3, 2), (0, 2, 2)]);
        assert_eq!(part.elements.as_ref(), [4, 5, 6, 16, 17, 18]);
        assert_eq!(part.positions, Some(positions([(1, 3, 2), (0, 1, 3)])));
        for (sides, is_in) in [
            ([(1, 3, 2), (0, 2, 2)], true),
            ([(4, 3, 1), (2, 1, 1)], true),
            ([(1, 1, 1), (1, 1, 2)], true),
            ([(1, 1, 2), (0, 1, 1)], false),
            ([(2, 3, 1), (0, 1, 1)], false),
            ([(1, 3, 1), (1, 1, 3)], false),
            ([(1, 6, 2), (0, 1, 1)], false),
            ([(0, 1, 1), (0, 1, 1)], false),
        ] {
            assert_eq!(part.has(&positions(sides)), is_in, "{sides:?}");
        }
        // With all positions along the last dimension, both boxes have exactly half of the elements.
        let widened = cut([(0, 2, 3), (0, 3, 2)]);
        let half = cut([(0, 2, 3), (0, 1, 4)]);
        assert!(half.positions.is_some() && half.elements.as_ref()[4] == 8);
        assert_eq!(widened.positions, Some(positions([(0, 2, 3), (0, 1, 4)])));
        // This box has more than half of the elements.
        let whole = cut([(0, 1, 4), (0, 1, 4)]);
        assert!(whole.positions.is_none() && whole.has(&positions([(5, 1, 1), (3, 1, 1)])));
        assert_eq!(whole.elements.as_ref(), chunk.as_ref());
    }
}
