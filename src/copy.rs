//! [`copy`] makes a view contiguous in one call.

use crate::{
    Error, Values, ValuesMut, View,
    cpu::{Dest, Threads},
    error,
    shape::check_length,
};

/// Copies the elements that `view` selects from `source` to `dest`, in row-major order, on the CPU: "make this
/// contiguous" in one call. `source` and `dest` are slices of Rust types, or bytes of any type
/// ([`Values::from_bytes`]). The call makes no plan and is as fast as [`Plan::run_cpu`](crate::Plan::run_cpu) with the
/// plan of [`Plan::contiguous`](crate::Plan::contiguous).
///
/// ```
/// use wgslice::View;
///
/// // The transpose of a matrix of 2 rows, by shape, strides and offset.
/// let view = View::from_strides(&[3, 2], &[1, 3], 0, 6)?;
/// let mut columns = [0.0f32; 6];
/// wgslice::copy(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &view, &mut columns)?;
/// assert_eq!(columns, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// # Ok::<(), wgslice::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Length`] if `source` has another size than the view's source, or `dest` another size than the view;
/// [`Error::Argument`] (`DtypeMismatch`) if `source` and `dest` have different types.
#[doc(alias = "ascontiguousarray")]
pub fn copy<'s, 'd>(
    source: impl Into<Values<'s>>,
    view: &View,
    dest: impl Into<ValuesMut<'d>>,
) -> Result<(), Error> {
    let (source, mut dest) = (source.into(), dest.into());
    let dtype = source.dtype;
    if dest.dtype != dtype {
        return Err(error::value::dtype_mismatch("dest", dest.dtype, dtype));
    }
    let element_bytes = dtype.size();
    let needed_bytes = view.source.iter().product::<usize>() * element_bytes;
    check_length(
        "source",
        &view.source,
        "bytes",
        needed_bytes,
        source.bytes.len(),
    )?;
    dest.with_bytes(|bytes| {
        check_length(
            "dest",
            &view.shape,
            "bytes",
            view.len() * element_bytes,
            bytes.len(),
        )?;
        view.copy(dtype, source.bytes, Dest::Old(bytes), Threads::default());
        Ok(())
    })
}
