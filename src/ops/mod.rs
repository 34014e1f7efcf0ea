//! The operations. Each is a file here, a file in `shaders/` and a file in `tests/`, all of one
//! name, and a variant of [`Map`](crate::plan::Map); the gathers share theirs, `indexed`. `slice` is a
//! strided_slice said in another way, and has neither a map nor a shader.

pub(crate) mod gather;
pub(crate) mod gather_nd;
pub(crate) mod index;
pub(crate) mod indexed;
pub(crate) mod scatter_nd;
pub(crate) mod slice;
pub(crate) mod strided_slice;
pub(crate) mod strided_slice_grad;
pub(crate) mod strided_slice_update;
