//! The operations. Each is a file here, a file in `shaders/` and a file in `tests/`, all of one
//! name, and a variant of [`Map`](crate::plan::Map); the gathers share theirs, `indexed`.

pub(crate) mod gather;
pub(crate) mod gather_nd;
pub(crate) mod index;
pub(crate) mod indexed;
pub(crate) mod strided_slice;
