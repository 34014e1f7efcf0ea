// `front.md` links to items that exist only with the feature `gpu`.
#![cfg_attr(feature = "gpu", doc = include_str!("front.md"))]
#![cfg_attr(
    not(feature = "gpu"),
    doc = "Slices and gathers n-dimensional arrays on the CPU."
)]
#![deny(unsafe_code)]
// Unit tests use the standard library even if the feature `std` is off.
#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]

// | path | content |
// |---|---|
// | `array` | values in host memory with their shape, as arguments and as results |
// | `backend`, `tensor` | run plans on host values and on tensors; `host_pool` reuses host memory for results |
// | `spec`, `ndarray` | the notations for slices, which are all read into a `SliceSpec`; conversions from and to ndarray's types |
// | `view`, `layout` | a selection of elements as offset, shape and strides; helpers for positions along a dimension |
// | `walk` | the pairs of units, one of the source and one of the destination, that a move copies: few dimensions and large units |
// | `plan` | an operation on known shapes, independent of a device: steps that read and write inputs, outputs and temporary memory |
// | `moves` | the work of one step |
// | `part` | the box of the source that a box of a result needs, and the plan that makes the result's box from it |
// | `ops` | one file for each operation, with its methods of `Plan`, `Backend` and `Tensor`; the module `options` |
// | `copy` | makes a view contiguous in one call |
// | `report`, `pending` | the out-of-range indices of a call; a value, such as a report, that a device delivers later |
// | `cpu`, `gpu` | run plans on the CPU and on a GPU |
// | `stream`, `cost` | run slices piece by piece in bounded memory; estimate which device is faster for host values |
// | `dtype`, `element`, `shape` | element types, shapes |
// | `combine`, `number`, `wide` | how scatters combine elements; conversions to and from `f32`; conversions between all types |
// | `error`, `explain`, `text` | errors, descriptions of plans, and the formatting that both use |
// | `lock` | values that threads share behind a lock |
// | `prelude` | names of `std`'s prelude that `core`'s prelude lacks, imported from `alloc` |
// | `guide` | documentation for users of other APIs |

// rustdoc lists the methods of a type in the order of the modules, so the modules with constructors come first.
mod backend;
#[cfg(feature = "gpu")]
pub mod gpu;
mod tensor;
mod view;

mod ops;

extern crate alloc;

mod array;
mod combine;
mod copy;
#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
pub mod cost;
mod cpu;
mod dtype;
mod element;
pub mod error;
mod explain;
#[cfg(any(doc, doctest))]
pub mod guide;
mod host_pool;
mod layout;
mod lock;
mod moves;
#[cfg(feature = "ndarray")]
mod ndarray;
mod number;
mod part;
mod pending;
mod plan;
mod prelude;
mod report;
mod shape;
pub mod spec;
#[cfg(all(feature = "std", not(target_arch = "wasm32")))]
pub mod stream;
mod text;
mod walk;
mod wide;

pub use array::{Array, ArrayRef};
pub use backend::Backend;
pub use copy::copy;
pub use cpu::IndexElement;
pub use dtype::DType;
pub use element::Element;
pub use error::any::Error;
#[cfg(feature = "gpu")]
pub use gpu::open::Gpu;
pub use ops::{convert::Conversion, mask::MaskElement, options};
pub use part::Part;
pub use pending::Pending;
pub use plan::{ArraySpec, IntoView, Plan, Values, ValuesMut};
pub use report::Report;
pub use spec::items::SliceSpec;
pub use tensor::Tensor;
pub use view::View;
/// The version of wgpu that this crate's interface uses.
#[cfg(feature = "gpu")]
pub use wgpu;

/// The README, with examples that `cargo test` runs as doctests.
#[cfg(all(doctest, feature = "gpu"))]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
