//! The plain loops that a user would write for a workload, on one thread.

use super::{data::Loaded, workload::Operation};
use wgslice::{Error, SliceSpec, View, spec::SliceItem};

/// Nested dimensions, outermost first: a size, and the distances between neighbours in the source and in the
/// destination.
type Dims = Vec<[usize; 3]>;

/// Writes the result of the workload to `dest`.
pub(crate) fn run(loaded: &Loaded<'_>, dest: &mut [u8]) -> Result<(), Error> {
    match loaded.work.values.dtype().size() {
        1 => of::<1>(loaded, dest),
        2 => of::<2>(loaded, dest),
        4 => of::<4>(loaded, dest),
        _ => of::<8>(loaded, dest),
    }
}

/// Does the work of [`run`] for elements of `N` bytes.
fn of<const N: usize>(loaded: &Loaded<'_>, dest: &mut [u8]) -> Result<(), Error> {
    let work = loaded.work;
    let (from, to) = (
        loaded.input.as_ref().as_chunks::<N>().0,
        dest.as_chunks_mut::<N>().0,
    );
    let whole = View::new(&work.shape)?;
    let sliced = |spec: &SliceSpec| whole.slice(spec);
    match &work.operation {
        Operation::Slice { spec, .. } => copy(from, &sliced(spec)?, to),
        Operation::Transpose { axes } => copy(from, &whole.transpose(axes)?, to),
        Operation::Update { spec, value, .. } => {
            let part = sliced(spec)?;
            let value = dims(&View::new(value)?, &part);
            let from = loaded.value.as_ref().as_chunks::<N>().0;
            walk(from, to, 0, part.offset(), &value);
        }
        Operation::Gather { depth, .. } => {
            let row = work.shape[*depth..].iter().product();
            let tuples = loaded.indices.chunks(*depth);
            for (tuple, to) in tuples.zip(to.chunks_mut(row)) {
                let place = |at: usize, (index, size): (&i32, &usize)| {
                    at * size + usize::try_from(*index).unwrap_or_default()
                };
                let at = tuple.iter().zip(&work.shape).fold(0, place) * row;
                to.copy_from_slice(&from[at..][..row]);
            }
        }
        Operation::Crop { options } => {
            let sizes = &options.sizes;
            let columns = loaded.indices.chunks(2 * sizes.len());
            let of_box = to.len() / work.shape[0];
            for ((n, tuple), to) in columns.enumerate().zip(to.chunks_mut(of_box)) {
                let (begins, flips) = tuple.split_at(sizes.len());
                let item = SliceSpec::default().with(n as i64);
                let spec = begins.iter().zip(flips).zip(sizes).fold(
                    item,
                    |spec, ((&begin, &flip), &size)| {
                        let (begin, last) = (i64::from(begin), i64::from(begin) + size as i64 - 1);
                        let (begin, end, stride) = match flip {
                            0 => (begin, Some(last + 1), 1),
                            _ => (last, (begin > 0).then(|| begin - 1), -1),
                        };
                        spec.with(SliceItem::Range {
                            begin: Some(begin),
                            end,
                            stride,
                        })
                    },
                );
                copy(from, &sliced(&spec)?, to);
            }
        }
    }
    Ok(())
}

/// Copies the elements of a view.
fn copy<const N: usize>(from: &[[u8; N]], view: &View, to: &mut [[u8; N]]) {
    let dense = View::new(view.shape()).map(|dense| dims(view, &dense));
    walk(from, to, view.offset(), 0, &dense.unwrap_or_default());
}

/// The dimensions of two views of the same shape. Distances may be negative: sums wrap.
fn dims(from: &View, to: &View) -> Dims {
    let strides = from.strides().iter().zip(to.strides());
    let dims = from.shape().iter().zip(strides);
    dims.map(|(&size, (from, to))| [size, from.cast_unsigned(), to.cast_unsigned()])
        .collect()
}

fn walk<const N: usize>(
    from: &[[u8; N]],
    to: &mut [[u8; N]],
    mut at: usize,
    mut dest: usize,
    dims: &[[usize; 3]],
) {
    match dims {
        [] => to[dest] = from[at],
        &[[size, 1, 1]] => to[dest..][..size].copy_from_slice(&from[at..][..size]),
        &[[size, step, step_to]] => {
            for i in 0..size {
                to[dest.wrapping_add(i.wrapping_mul(step_to))] =
                    from[at.wrapping_add(i.wrapping_mul(step))];
            }
        }
        [[size, step, step_to], inner @ ..] => {
            for _ in 0..*size {
                walk(from, to, at, dest, inner);
                (at, dest) = (at.wrapping_add(*step), dest.wrapping_add(*step_to));
            }
        }
    }
}
