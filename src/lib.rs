// The README's examples use the GPU.
#![cfg_attr(feature = "gpu", doc = include_str!("../README.md"))]
#![cfg_attr(
    not(feature = "gpu"),
    doc = "Slices and gathers n-dimensional arrays on the CPU."
)]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

// | path | content |
// |---|---|
// | `backend`, `tensor` | calls on host values and on tensors, by operation; `host_pool` their memory on the host |
// | `spec`, `ndarray` | the notations for slices, and their common form |
// | `view`, `layout` | offset, shape and strides of a selection; axes |
// | `pairs` | source and destination units of a copy, and the passes that reduce them to few axes and large units |
// | `plan`, `ops` | an operation on known shapes, independent of a device; `report` its out-of-range indices |
// | `cpu`, `gpu` | the two executors |
// | `stream`, `cost` | slices in pieces; the choice of a device for host data |
// | `dtype`, `element`, `combine`, `shape` | element types, their arithmetic in scatters, shapes |
// | `error`, `explain`, `text` | errors, and descriptions of plans |
// | `reference`, `guide` | the naive reference; documentation for users of other APIs |

mod backend;
mod combine;
#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
mod cost;
mod cpu;
mod dtype;
mod element;
mod error;
mod explain;
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod guide;
mod host_pool;
mod layout;
#[cfg(feature = "ndarray")]
mod ndarray;
mod ops;
mod pairs;
mod plan;
pub mod reference;
mod report;
mod shape;
mod spec;
#[cfg(not(target_arch = "wasm32"))]
mod stream;
mod tensor;
mod text;
mod view;

pub use backend::Backend;
pub use combine::Combine;
#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
pub use cost::{Costs, Estimate, Moving, Place};
pub use cpu::Indices;
pub use dtype::DType;
pub use element::Element;
pub use error::{BadRow, Error, GatherError, ParseError, ScatterError, SpecError, ViewError};
#[cfg(feature = "gpu")]
pub use gpu::Gpu;
pub use ops::{
    gather::Gather,
    gather_elements::GatherElements,
    gather_nd::GatherNd,
    index::{Negative, OutOfRange},
    scatter_elements::ScatterElements,
    scatter_nd::{Order, Scatter},
};
pub use plan::Plan;
pub use report::Report;
pub use spec::{Ellipsis, NewAxis, SliceItem, SliceSpec, StridedSlice};
#[cfg(not(target_arch = "wasm32"))]
pub use stream::{Stream, Streamed};
pub use tensor::{Array, Gathered, ScatterReport, Tensor, TensorView};
pub use view::View;
