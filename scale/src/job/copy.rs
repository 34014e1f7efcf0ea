//! Copies boxes between arrays in row-major order.

/// A dimension of a box. `from` is the distance in elements between neighbouring positions of this dimension in the
/// array that is read, negative if the array is read backwards. `to` is this distance in the array that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dim {
    pub(crate) size: usize,
    pub(crate) from: isize,
    pub(crate) to: usize,
}

/// Drops dimensions of size 1, and joins neighbouring dimensions if, in both arrays, one dimension can describe the
/// same elements in the same order.
fn joined(dims: impl IntoIterator<Item = Dim>) -> Vec<Dim> {
    let mut joined: Vec<Dim> = Vec::new();
    for dim in dims {
        if dim.size == 1 {
            continue;
        }
        match joined.last_mut() {
            Some(last)
                if last.from == dim.from * dim.size.cast_signed()
                    && last.to == dim.to * dim.size =>
            {
                *last = Dim {
                    size: last.size * dim.size,
                    ..dim
                };
            }
            _ => joined.push(dim),
        }
    }
    joined
}

/// Calls `each` for every run of elements of a box that is contiguous in both arrays. The arguments are in bytes: where
/// the run begins in the array that is read, where it begins in the array that is written, and its length. The box's
/// first element is at byte `from` of the array that is read, and at byte `to` of the array that is written.
///
/// The distances in `dims` are in elements of `element_bytes` bytes.
pub(crate) fn for_each_run(
    (mut from, mut to): (usize, usize),
    dims: impl IntoIterator<Item = Dim>,
    element_bytes: usize,
    mut each: impl FnMut(usize, usize, usize),
) {
    let mut dims = joined(dims);
    if dims.iter().any(|dim| dim.size == 0) {
        return;
    }
    let mut run_bytes = element_bytes;
    if let Some(last) = dims.pop_if(|dim| dim.from == 1 && dim.to == 1) {
        run_bytes *= last.size;
    }
    for dim in &mut dims {
        dim.from *= element_bytes.cast_signed();
        dim.to *= element_bytes;
    }
    let inner = dims.pop().unwrap_or(Dim {
        size: 1,
        from: 0,
        to: 0,
    });
    let mut at = vec![0; dims.len()];
    loop {
        for index in 0..inner.size {
            let read_offset = inner.from.wrapping_mul(index.cast_signed());
            each(
                from.wrapping_add_signed(read_offset),
                to + index * inner.to,
                run_bytes,
            );
        }
        let mut outer_dim = dims.len();
        loop {
            if outer_dim == 0 {
                return;
            }
            outer_dim -= 1;
            let dim = dims[outer_dim];
            at[outer_dim] += 1;
            from = from.wrapping_add_signed(dim.from);
            to += dim.to;
            if at[outer_dim] < dim.size {
                break;
            }
            from = from.wrapping_add_signed(-dim.from * dim.size.cast_signed());
            to -= dim.to * dim.size;
            at[outer_dim] = 0;
        }
    }
}

/// Copies a box from `source`, where its first element has the number `from`, to `dest`, where its first element gets
/// the number `to`. An element has `element_bytes` bytes.
pub(crate) fn copy_box(
    (source, from): (&[u8], usize),
    (dest, to): (&mut [u8], usize),
    dims: impl IntoIterator<Item = Dim>,
    element_bytes: usize,
) {
    for_each_run(
        (from * element_bytes, to * element_bytes),
        dims,
        element_bytes,
        |from, to, length| {
            dest[to..][..length].copy_from_slice(&source[from..][..length]);
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The box has shape [2, 2]. It is copied from an array of shape [3, 4] to an array of shape [2, 3].
    #[test]
    fn a_box_is_copied_between_arrays_of_different_shapes() {
        let source: Vec<u8> = (0..24).collect();
        let mut dest = [99; 12];
        let dims = [
            Dim {
                size: 2,
                from: 4,
                to: 3,
            },
            Dim {
                size: 2,
                from: 1,
                to: 1,
            },
        ];
        copy_box((&source, 5), (&mut dest, 1), dims, 2);
        assert_eq!(dest, [99, 99, 10, 11, 12, 13, 99, 99, 18, 19, 20, 21]);
    }

    /// Copies the middle two elements of the rows 2, 1 and 0 of an array of shape [3, 4].
    #[test]
    fn a_box_is_read_towards_the_beginning() {
        let source: Vec<u8> = (0..12).collect();
        let mut dest = [99; 6];
        let dims = [(3, -4, 2), (2, 1, 1)];
        let dims = dims.map(|(size, from, to)| Dim { size, from, to });
        copy_box((&source, 9), (&mut dest, 0), dims, 1);
        assert_eq!(dest, [9, 10, 5, 6, 1, 2]);
    }

    #[test]
    fn contiguous_dimensions_are_one_run() {
        let mut runs = Vec::new();
        let dims = [(5, 12, 24), (3, 4, 4), (4, 1, 1)];
        let dims = dims.map(|(size, from, to)| Dim { size, from, to });
        for_each_run((0, 0), dims, 2, |from, to, length| {
            runs.push((from, to, length))
        });
        let expected: Vec<_> = (0..5).map(|row| (row * 24, row * 48, 24)).collect();
        assert_eq!(runs, expected);
    }
}
