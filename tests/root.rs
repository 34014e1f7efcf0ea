//! All integration tests except the soak, growth and large tests are one binary, so that wgpu is linked once and
//! devices are opened once.

mod array_index;
#[cfg(feature = "gpu")]
mod browser;
mod concat;
#[cfg(all(feature = "gpu", feature = "half"))]
mod conversions;
mod convert;
mod cpu;
mod crop;
mod devices;
mod documents;
#[cfg(feature = "gpu")]
mod encode;
#[cfg(feature = "gpu")]
mod failures;
mod gather;
mod gather_elements;
mod gather_nd;
#[cfg(target_pointer_width = "64")]
mod giants;
mod golden;
#[cfg(feature = "gpu")]
mod gpu;
mod harness;
mod imports;
mod index_update;
#[cfg(feature = "gpu")]
mod limits;
mod mask;
mod names;
#[cfg(feature = "ndarray")]
mod ndarray;
mod onnx;
mod onnx_nodes;
mod pad;
mod part;
mod paste;
mod plans;
#[cfg(feature = "gpu")]
mod prepare;
mod property;
mod public_api;
mod reference;
mod roll;
mod scatter_elements;
mod scatter_nd;
mod slice;
mod spec;
#[cfg(feature = "std")]
mod stream;
#[cfg(feature = "gpu")]
mod stress;
#[cfg(feature = "gpu")]
mod strict;
mod strided_slice;
mod strided_slice_grad;
mod strided_slice_update;
#[cfg(feature = "half")]
mod suites_of_others;
#[cfg(feature = "gpu")]
mod texture;
mod threads;
mod tile;
mod view;
mod written_to;
mod xla;
