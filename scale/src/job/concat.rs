//! Concatenates arrays along a dimension. Each array is copied as a slice that fills a box of the result.

use super::{expression::Expression, prepared::OpenedOperation, slice::Slice};
use crate::zarr::{Error, Source};
use std::ops::Range;
use wgslice::{
    SliceSpec,
    spec::{IndexSpec, SliceItem},
};

/// Returns the slices that fill the result, and the shape of the result. `axis` is as in NumPy's `concatenate` or,
/// if `is_new`, in NumPy's `stack`. There must be at least one source.
///
/// # Errors
///
/// [`Error::Usage`] for a wrong axis, or for sources that do not fit each other.
pub(super) fn slices(
    sources: Vec<Source>,
    axis: isize,
    is_new: bool,
) -> Result<(OpenedOperation, Vec<usize>), Error> {
    let mut result_shape = sources[0].shape().to_vec();
    let rank = result_shape.len() + usize::from(is_new);
    let from_start = axis.checked_add_unsigned(if axis < 0 { rank } else { 0 });
    let joined_dim = from_start.and_then(|axis| usize::try_from(axis).ok());
    let Some(joined_dim) = joined_dim.filter(|&axis| axis < rank) else {
        return Err(Error::usage(format_args!(
            "--axis is {axis}, but the result has {rank} dimensions: it must be below {rank}, and from -{rank} on counts \
             from the end; arrays without dimensions can be stacked",
        )));
    };
    if is_new {
        result_shape.insert(joined_dim, 1);
    }
    result_shape[joined_dim] = 0;
    let mut items = vec![SliceItem::Ellipsis];
    if is_new {
        items.splice(0..0, [SliceItem::from(..)].repeat(joined_dim));
        items.insert(joined_dim, SliceItem::NewAxis);
    }
    let spec = IndexSpec::from(&SliceSpec::new(items));
    let data_type = sources[0].data_type().to_owned();
    let first_path = sources[0].path().display().to_string();
    let mut slices = Vec::with_capacity(sources.len());
    for (number, source) in sources.into_iter().enumerate() {
        let mut shape = source.shape().to_vec();
        if is_new {
            shape.insert(joined_dim.min(shape.len()), 1);
        }
        let has_same_size = |dim: usize| dim == joined_dim || shape[dim] == result_shape[dim];
        if source.data_type() != data_type || shape.len() != rank || !(0..rank).all(has_same_size) {
            let rule = match is_new {
                true => "the same shape".to_owned(),
                false => format!("the same sizes in all dimensions but {joined_dim}"),
            };
            return Err(Error::usage(format_args!(
                "{} has shape {:?} of {}, but must have {rule} and type as {first_path}: slice or convert it first",
                source.path().display(),
                source.shape(),
                source.data_type()
            )));
        }
        let begin = result_shape[joined_dim];
        result_shape[joined_dim] = begin.checked_add(shape[joined_dim]).ok_or_else(|| {
            Error::usage(format_args!(
                "the sizes of the arrays in dimension {joined_dim} are too large to add up"
            ))
        })?;
        let mut place: Vec<Range<usize>> = shape.iter().map(|&size| 0..size).collect();
        place[joined_dim] = begin..result_shape[joined_dim];
        let slice = Slice::new(Expression::new(&spec, source.shape())?, None, place)?;
        slices.push((source.numbered(number), slice));
    }
    Ok((OpenedOperation::Slices(slices), result_shape))
}
