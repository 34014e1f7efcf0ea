//! Where the selected texels lie in rows of whole multiples of 256 bytes, as wgpu copies them.
//!
//! The smallest box that contains the selection is copied. The rows of the box are an array of shape
//! `[layers, rows, columns and padding, channels]`, and the selection is a view of it. If the order of channels is not
//! that of a slice, the selection is several views, each of which is a part of the tensor.

use super::Texels;
use crate::{Error, Plan, View, layout::along, shape};

/// The size in bytes of what wgpu wants rows to be multiples of.
const ROW_ALIGNMENT: usize = wgpu::COPY_BYTES_PER_ROW_ALIGNMENT as usize;

/// The dimension of the channels in the array of all texels.
const CHANNELS: usize = 3;

/// The copied box, its rows, and the selection from them.
#[derive(Debug)]
pub(super) struct Rows {
    /// The first layer, row and column of the box.
    pub(super) origin: [usize; 3],
    /// The number of layers, rows and columns of the box.
    pub(super) size: [usize; 3],
    /// The distance from row to row in bytes.
    pub(super) pitch: usize,
    /// Whether the selection is all that the box contains.
    pub(super) is_whole: bool,
    /// The size of an element in bytes.
    element: usize,
    pieces: Vec<Piece>,
}

/// A part of the selection whose channels are those of a slice.
#[derive(Debug)]
struct Piece {
    /// The view of the rows.
    rows: View,
    /// The part of the tensor: the dimension of its channels and the first of them. `None` if all channels of the
    /// tensor, or the only one, are in this piece.
    part: Option<(usize, usize)>,
}

impl Piece {
    /// This piece's part of a view that has the shape of the whole selection.
    fn of(&self, tensor: &View) -> View {
        let mut part = tensor.clone();
        if let Some((dimension, first)) = self.part {
            let stride = &mut part.strides[dimension];
            part.offset = along(part.offset, *stride, first);
            if self.rows.shape[dimension] == 1 {
                *stride = 0;
            }
            part.shape.clone_from(&self.rows.shape);
        }
        part
    }
}

impl Rows {
    /// The rows of a selection. `None` if it is empty.
    pub(super) fn of(texels: &Texels) -> Result<Option<Self>, Error> {
        let (view, element) = (&texels.view, texels.dtype.size());
        if view.is_empty() {
            return Ok(None);
        }
        // The first texel, and by how much each dimension moves along each dimension of the texture. Strides connect
        // existing texels along one dimension, so their coordinates are those of the distance.
        let first = shape::coordinates(view.offset, &view.source);
        let steps: Vec<Vec<isize>> = (view.strides.iter())
            .map(|stride| {
                let distance = shape::coordinates(stride.unsigned_abs(), &view.source);
                let signed = distance
                    .into_iter()
                    .map(|at| at.cast_signed() * stride.signum());
                signed.collect()
            })
            .collect();
        let (mut origin, mut size) = ([0; 3], [0; 3]);
        for axis in 0..CHANNELS {
            let (mut low, mut high) = (first[axis], first[axis]);
            for (steps, &count) in steps.iter().zip(&view.shape) {
                let reach = steps[axis] * (count - 1).cast_signed();
                low = low.saturating_add_signed(reach.min(0));
                high = high.saturating_add_signed(reach.max(0));
            }
            (origin[axis], size[axis]) = (low, high - low + 1);
        }
        let texel = texels.channels * element;
        let pitch = (size[2] * texel).next_multiple_of(ROW_ALIGNMENT);
        let shape = [size[0], size[1], pitch / texel, texels.channels];
        shape::elements(&shape)?;
        let strides = shape::strides(&shape);
        let distance = |steps: &[isize]| {
            let steps = steps.iter().zip(&strides).take(CHANNELS);
            steps
                .map(|(step, stride)| step * stride.cast_signed())
                .sum()
        };
        let whole = View {
            source: shape.to_vec(),
            offset: (0..CHANNELS)
                .map(|axis| (first[axis] - origin[axis]) * strides[axis])
                .sum(),
            shape: view.shape.clone(),
            strides: steps.iter().map(|steps| distance(steps)).collect(),
        };
        let dimension = steps.iter().position(|steps| steps[CHANNELS] != 0);
        let channels: Vec<usize> = match dimension {
            Some(dimension) => (0..view.shape[dimension])
                .map(|count| {
                    texels.order[along(first[CHANNELS], steps[dimension][CHANNELS], count)]
                })
                .collect(),
            None => vec![texels.order[first[CHANNELS]]],
        };
        let piece = |(begin, count): (usize, usize)| {
            let mut rows = whole.clone();
            rows.offset += channels[begin];
            if let Some(dimension) = dimension {
                rows.shape[dimension] = count;
                rows.strides[dimension] = match count {
                    1 => 0,
                    _ => channels[begin + 1].cast_signed() - channels[begin].cast_signed(),
                };
            }
            let part = dimension.filter(|_| count < channels.len());
            let part = part.map(|dimension| (dimension, begin));
            Piece { rows, part }
        };
        Ok(Some(Self {
            origin,
            size,
            pitch,
            is_whole: view.len() == size.iter().product::<usize>() * texels.channels,
            element,
            pieces: progressions(&channels).into_iter().map(piece).collect(),
        }))
    }

    /// The number of rows of all layers.
    pub(super) fn count(&self) -> usize {
        self.size[0] * self.size[1]
    }

    /// Whether the rows are the tensor, byte for byte.
    pub(super) fn is_tensor(&self) -> bool {
        match &self.pieces[..] {
            [piece] => Plan::of_view(piece.rows.clone(), self.element).is_identity(),
            _ => false,
        }
    }

    /// The plans that copy the selection from the rows to a tensor of this shape.
    pub(super) fn to_tensor(&self, shape: &[usize]) -> Vec<Plan> {
        let plan = |piece: &Piece| match piece.part {
            None => Plan::of_view(piece.rows.clone(), self.element),
            Some(_) => Plan::of_update(&piece.rows, &piece.of(&View::whole(shape)), self.element),
        };
        self.pieces.iter().map(plan).collect()
    }

    /// The plans that copy a view of a tensor to the selected elements of the rows.
    pub(super) fn of_tensor(&self, tensor: &View) -> Result<Vec<Plan>, Error> {
        let plan = |piece: &Piece| {
            // The rows are written in their own order, not in that of the tensor.
            let mut order: Vec<usize> = (0..tensor.shape.len()).collect();
            order.sort_by_key(|&dimension| {
                std::cmp::Reverse(piece.rows.strides[dimension].unsigned_abs())
            });
            let (from, to) = (
                piece.of(tensor).transpose(&order)?,
                piece.rows.transpose(&order)?,
            );
            Ok(Plan::of_update(&from, &to, self.element))
        };
        self.pieces.iter().map(plan).collect()
    }
}

/// Cuts numbers into parts in which neighbours differ by the same, as few as possible: the first and the length of
/// each part.
fn progressions(numbers: &[usize]) -> Vec<(usize, usize)> {
    let mut parts = Vec::new();
    let mut begin = 0;
    while begin < numbers.len() {
        let rest = &numbers[begin..];
        let step = |pair: &[usize]| pair[1].cast_signed() - pair[0].cast_signed();
        let pairs = || rest.windows(2).map(step);
        let same = pairs().take_while(|&step| Some(step) == pairs().next());
        let count = same.count() + 1;
        parts.push((begin, count));
        begin += count;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::progressions;

    #[test]
    fn channels_are_cut_where_their_distance_changes() {
        assert_eq!(progressions(&[0, 1, 2, 3]), [(0, 4)]);
        assert_eq!(progressions(&[2, 1, 0, 3]), [(0, 3), (3, 1)]);
        assert_eq!(progressions(&[3, 0, 1, 2]), [(0, 2), (2, 2)]);
        assert_eq!(progressions(&[1]), [(0, 1)]);
        assert_eq!(progressions(&[0, 2, 1, 3]), [(0, 2), (2, 2)]);
    }
}
