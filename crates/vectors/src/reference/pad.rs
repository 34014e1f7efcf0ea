//! `pad`: adds positions around an array.

use super::{
    ReferenceError, all_coordinates, check_length, fail_with, format_shape, value_at, vec_for_shape,
};

/// The values that `pad` adds: see `wgslice::options::Pad`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are TensorFlow's and NumPy's")]
pub enum PadMode {
    Constant,
    Edge,
    Reflect,
    Symmetric,
    Wrap,
}

/// Returns the shape and the values of an array with `paddings[d][0]` positions before dimension d and `paddings[d][1]`
/// after it. In the mode `Constant`, these positions have the value `constant`.
///
/// ```
/// use wgslice_vectors::reference::{PadMode, pad};
///
/// let letters = ["a", "b", "c"];
/// let (_, values) = pad(&letters, &[3], &[[2, 2]], PadMode::Reflect, &"-")?;
/// assert_eq!(values.concat(), "cbabcba");
/// # Ok::<(), wgslice_vectors::reference::ReferenceError>(())
/// ```
///
/// # Errors
///
/// Fails with `data_length`, `entries`, `padding` or `too_large`.
pub fn pad<T: Clone>(
    values: &[T],
    shape: &[usize],
    paddings: &[[usize; 2]],
    mode: PadMode,
    constant: &T,
) -> Result<(Vec<usize>, Vec<T>), ReferenceError> {
    check_length("values", values.len(), shape)?;
    if paddings.len() != shape.len() {
        return fail_with(
            "entries",
            format!("{} paddings of {}", paddings.len(), format_shape(shape)),
        );
    }
    let mut padded_shape = Vec::new();
    for (&size, &[before, after]) in shape.iter().zip(paddings) {
        let max_padding = before.max(after);
        let is_allowed = match mode {
            PadMode::Constant => true,
            PadMode::Edge => size > 0 || max_padding == 0,
            PadMode::Reflect => max_padding < size || max_padding == 0,
            PadMode::Symmetric | PadMode::Wrap => max_padding <= size,
        };
        if !is_allowed {
            return fail_with(
                "padding",
                format!("{size} positions are padded by {max_padding}"),
            );
        }
        padded_shape.push(before + size + after);
    }
    let mut result = vec_for_shape(&padded_shape)?;
    for element in all_coordinates(&padded_shape) {
        let mut source_coordinates = Vec::new();
        for ((&coordinate, &size), &[before, _]) in element.iter().zip(shape).zip(paddings) {
            let (position, size) = (coordinate as i64 - before as i64, size as i64);
            let is_inside = (0..size).contains(&position);
            source_coordinates.push(match mode {
                PadMode::Constant => Some(position).filter(|_| is_inside),
                PadMode::Edge => Some(position.clamp(0, size - 1)),
                PadMode::Reflect if position < 0 => Some(-position),
                PadMode::Reflect if !is_inside => Some(2 * size - 2 - position),
                PadMode::Symmetric if position < 0 => Some(-position - 1),
                PadMode::Symmetric if !is_inside => Some(2 * size - 1 - position),
                PadMode::Wrap => Some(position.rem_euclid(size)),
                PadMode::Reflect | PadMode::Symmetric => Some(position),
            });
        }
        let to_usize =
            |position: Option<i64>| position.and_then(|position| usize::try_from(position).ok());
        let source_coordinates: Option<Vec<usize>> =
            source_coordinates.into_iter().map(to_usize).collect();
        result.push(
            source_coordinates
                .map_or(constant, |source_coordinates| {
                    value_at(values, shape, &source_coordinates)
                })
                .clone(),
        );
    }
    Ok((padded_shape, result))
}
