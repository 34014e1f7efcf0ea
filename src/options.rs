//! The options of the operations. The defaults are TensorFlow's if TensorFlow has the operation.
//!
//! ```
//! use wgslice::options::{GatherOptions, NegativeIndex, OutOfRange};
//!
//! // NumPy's take along the last dimension: negative indices count from the end, and others must be in range.
//! let options = GatherOptions {
//!     axis: Some(-1),
//!     negative: NegativeIndex::Wrap,
//!     out_of_range: OutOfRange::Error,
//!     ..GatherOptions::default()
//! };
//! # let _ = options;
//! ```

pub use crate::{
    combine::Combine,
    ops::{
        crop::{Boxes, CropOptions},
        gather::GatherOptions,
        gather_elements::GatherElementsOptions,
        gather_nd::GatherNdOptions,
        index::{NegativeIndex, OutOfRange},
        scatter_elements::ScatterElementsOptions,
        scatter_nd::{Order, ScatterOptions},
    },
};
