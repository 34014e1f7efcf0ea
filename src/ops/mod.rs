//! The operations. Each is a file here, a file in `shaders/` and a file in `tests/`, all of one
//! name, and a variant of [`Map`](crate::plan::Map). `slice` is another way to ask for a
//! strided_slice, and has no map or shader of its own.

pub(crate) mod gather_nd;
pub(crate) mod slice;
pub(crate) mod strided_slice;
pub(crate) mod strided_slice_grad;
pub(crate) mod strided_slice_update;
