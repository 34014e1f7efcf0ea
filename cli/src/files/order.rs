//! Converts elements to native byte order and row-major order, which the rest of the command expects.

use std::borrow::Cow;

use wgslice::DType;
use wgslice_npy::{ByteOrder, Kind, Type};

use super::bytes::{Bytes, zeroed_bytes};
use super::error::Problem;

/// Converts elements to native byte order. Copies nothing if they already have it.
pub(super) fn to_native(bytes: Bytes, element: &Type) -> Result<Bytes, Problem> {
    if element.byte_order == ByteOrder::NATIVE {
        return Ok(bytes);
    }
    let mut bytes = bytes.into_vec()?;
    swap_bytes(&mut bytes, element);
    Ok(Bytes::Owned(bytes))
}

/// Returns elements in native byte order.
pub(crate) fn in_native_order<'a>(bytes: &'a [u8], element: &Type) -> Cow<'a, [u8]> {
    let mut bytes = Cow::Borrowed(bytes);
    if element.byte_order != ByteOrder::NATIVE {
        swap_bytes(bytes.to_mut(), element);
    }
    bytes
}

/// Reverses the bytes of each number, unless they are in native byte order.
pub(super) fn swap_bytes(bytes: &mut [u8], element: &Type) {
    if element.byte_order == ByteOrder::NATIVE {
        return;
    }
    match number_size(element) {
        2 => reverse_each::<2>(bytes),
        4 => reverse_each::<4>(bytes),
        8 => reverse_each::<8>(bytes),
        size => bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse),
    }
}

/// Returns the number of bytes that are reversed together: the size of a character of a text, of one of the two numbers
/// of a complex element, or of any other element.
fn number_size(element: &Type) -> usize {
    match element.kind {
        Kind::Text => 4,
        Kind::Number(DType::Complex64 | DType::Complex128) | Kind::LongComplex => element.size / 2,
        _ => element.size,
    }
}

fn reverse_each<const N: usize>(bytes: &mut [u8]) {
    for number in bytes.as_chunks_mut::<N>().0 {
        number.reverse();
    }
}

/// Returns whether Fortran order differs from row-major order for this shape. Dimensions of size 1 make no difference.
pub(super) fn orders_differ(shape: &[usize]) -> bool {
    shape.iter().filter(|&&n| n != 1).count() > 1
}

/// Converts a column-major (Fortran) array with elements of `size` bytes to a row-major array.
pub(super) fn row_major(bytes: &[u8], size: usize, shape: &[usize]) -> Result<Vec<u8>, Problem> {
    let shape: Vec<usize> = shape.iter().copied().filter(|&n| n != 1).collect();
    let mut rows = zeroed_bytes(bytes.len())?;
    if bytes.is_empty() {
        return Ok(rows);
    }
    match size {
        1 => reverse_axes::<1>(bytes, &mut rows, &shape),
        2 => reverse_axes::<2>(bytes, &mut rows, &shape),
        4 => reverse_axes::<4>(bytes, &mut rows, &shape),
        8 => reverse_axes::<8>(bytes, &mut rows, &shape),
        16 => reverse_axes::<16>(bytes, &mut rows, &shape),
        _ => reverse_axes_of(size, bytes, &mut rows, &shape),
    }
    Ok(rows)
}

/// The side of a tile, in elements. Both the rows and the columns of a tile stay in a cache while it is transposed.
const TILE: usize = 32;

/// Copies the column-major array `from` to the row-major array `to`. Transposes the first axis, which is contiguous in
/// `from`, and the last, which is contiguous in `to`, in tiles. Repeats this for every position along the other axes.
fn reverse_axes<const N: usize>(from: &[u8], to: &mut [u8], shape: &[usize]) {
    let (from, to) = (from.as_chunks::<N>().0, to.as_chunks_mut::<N>().0);
    for_each_reversed(from.len(), shape, |from_at, to_at| {
        to[to_at] = from[from_at];
    });
}

/// Does the same as `reverse_axes` for elements of any size.
fn reverse_axes_of(size: usize, from: &[u8], to: &mut [u8], shape: &[usize]) {
    for_each_reversed(from.len() / size, shape, |from_at, to_at| {
        let from = &from[from_at * size..][..size];
        to[to_at * size..][..size].copy_from_slice(from);
    });
}

/// Calls `copy` with the positions of each of the `len` elements: in column-major order, and in row-major order.
fn for_each_reversed(len: usize, shape: &[usize], mut copy: impl FnMut(usize, usize)) {
    let (first_size, last_size) = (shape[0], shape[shape.len() - 1]);
    let inner_shape = &shape[1..shape.len() - 1];
    let (from_step, to_step) = (len / last_size, len / first_size);

    let mut position = vec![0; inner_shape.len()];
    loop {
        let (mut from_start, mut stride) = (0, first_size);
        for (p, n) in position.iter().zip(inner_shape) {
            from_start += p * stride;
            stride *= n;
        }
        let (mut to_start, mut stride) = (0, last_size);
        for (p, n) in position.iter().zip(inner_shape).rev() {
            to_start += p * stride;
            stride *= n;
        }
        for i0 in (0..first_size).step_by(TILE) {
            for j0 in (0..last_size).step_by(TILE) {
                for i in i0..first_size.min(i0 + TILE) {
                    for j in j0..last_size.min(j0 + TILE) {
                        copy(from_start + i + j * from_step, to_start + i * to_step + j);
                    }
                }
            }
        }
        if !advance_position(&mut position, inner_shape) {
            return;
        }
    }
}

/// Advances to the next position within `shape`. Returns false after the last position.
fn advance_position(position: &mut [usize], shape: &[usize]) -> bool {
    for (p, &n) in position.iter_mut().zip(shape) {
        *p += 1;
        if *p < n {
            return true;
        }
        *p = 0;
    }
    false
}
