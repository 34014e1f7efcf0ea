//! The operations. Each checks its arguments and makes a [`Plan`](crate::Plan).
//!
//! | file | operation |
//! |---|---|
//! | `strided_slice` | strided_slice |
//! | `slice` | slice by begin and size, planned as a strided_slice |
//! | `strided_slice_update`, `strided_slice_grad` | the operations of these names |
//! | `gather_nd`, `gather`, `gather_elements` | gather_nd; gather; gather_elements |
//! | `array_index` | NumPy's `x[…]` with arrays, planned as gathers |
//! | `index_update` | NumPy's `x[…] = value` with arrays, and `add.at`, planned as scatters |
//! | `crop`, `paste` | crop; paste |
//! | `concat`, `pad`, `roll`, `tile` | concat, stack and split; pad; roll; tile and repeat |
//! | `assembly` | none: the common part of concat, stack, pad and roll |
//! | `convert` | none: slices, gathers and crops that convert elements |
//! | `written_to` | none: slices, gathers and crops that write to a view of a larger array |
//! | `mask` | nonzero, boolean_mask, compress, select, masked_update and masked_scatter |
//! | `indexed` | none: the common part of gathers and crops |
//! | `scatter_nd`, `scatter_elements` | scatter_nd and tensor_scatter_nd; scatter_elements |
//! | `xla` | XLA's general gather and scatter |
//! | `methods` | none: macros that declare the methods of backends and tensors |
//! | `index` | none: the policies for negative and out-of-range indices |
//!
//! `src/cpu` runs plans on the CPU, `src/gpu` and `shaders` on a GPU.

// rustdoc lists the methods of `Plan` in this order: slices first, and methods that change a plan last.
pub(crate) mod strided_slice;

pub(crate) mod array_index;
pub(crate) mod assembly;
mod concat;
pub(crate) mod crop;
pub(crate) mod gather;
pub(crate) mod gather_elements;
pub(crate) mod gather_nd;
pub(crate) mod index;
pub(crate) mod index_update;
pub(crate) mod indexed;
pub(crate) mod mask;
mod methods;
pub(crate) mod pad;
mod paste;
mod roll;
pub(crate) mod scatter_elements;
pub(crate) mod scatter_nd;
pub(crate) mod slice;
pub(crate) mod strided_slice_grad;
pub(crate) mod strided_slice_update;
mod tile;
pub(crate) mod xla;

pub(crate) mod convert;
mod written_to;

/// The options of the operations. The defaults are TensorFlow's if TensorFlow has the operation.
///
/// ```
/// use wgslice::options::{GatherOptions, NegativeIndex, OutOfRange};
///
/// // NumPy's take along the last dimension: negative indices count from the end, and indices out of range are errors.
/// let options = GatherOptions {
///     axis: Some(-1),
///     negative: NegativeIndex::Wrap,
///     out_of_range: OutOfRange::Error,
///     ..GatherOptions::default()
/// };
/// # let _ = options;
/// ```
pub mod options {
    pub use crate::{
        combine::Combine,
        ops::{
            crop::{Boxes, CropOptions},
            gather::GatherOptions,
            gather_elements::GatherElementsOptions,
            gather_nd::GatherNdOptions,
            index::{IndexShape, NegativeIndex, OutOfRange},
            pad::Pad,
            paste::PasteOptions,
            scatter_nd::ScatterOptions,
            xla::{GatherDims, ScatterDims, XlaScatterOptions},
        },
    };
}
