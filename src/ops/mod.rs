//! The operations: how each checks its arguments and becomes a [`Plan`](crate::Plan).
//!
//! | file | operation | [`Map`](crate::plan::Map) |
//! |---|---|---|
//! | `strided_slice` | strided_slice | `StridedSlice` |
//! | `slice` | slice by begin and size | `StridedSlice`: it is planned as a strided_slice |
//! | `strided_slice_update`, `strided_slice_grad` | of the same name | of the same name |
//! | `gather_nd`, `gather` | gather_nd; gather and batch_gather | `Indexed`, in `indexed` |
//! | `scatter_nd` | scatter_nd and tensor_scatter_nd | `ScatterNd` |
//! | `index` | | how negative and out-of-range indices are treated |
//!
//! How the CPU runs a plan is in `src/cpu`, and how a GPU does in `src/gpu` and `shaders`.

pub(crate) mod gather;
pub(crate) mod gather_nd;
pub(crate) mod index;
pub(crate) mod indexed;
pub(crate) mod scatter_nd;
pub(crate) mod slice;
pub(crate) mod strided_slice;
pub(crate) mod strided_slice_grad;
pub(crate) mod strided_slice_update;
