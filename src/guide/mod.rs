//! Start with the tour. If you know your task, these links lead to it:
//!
//! | task | page |
//! |---|---|
//! | crop a batch at random positions; append to a KV cache | [`boxes`] |
//! | `x[mask]` on the device | [`masks`] |
//! | record into your own encoder | [the front page](crate#record-into-your-own-encoder) |
//! | upload once, slice many times | [`views`] |
//! | normalise images | [`conversions`] |
//!
//! All pages, in order:
//!
//! | page | shows |
//! |---|---|
//! | 1. [`tour`] | the ways to call the crate: host values, tensors, your own encoder, streams |
//! | 2. [`views`] | how slices, transposes and broadcasts compose before anything is copied |
//! | 3. [`assembly`] | arrays assembled from other arrays, and results written directly into a larger array |
//! | 4. [`masks`] | elements where a mask is true, without a readback |
//! | 5. [`conversions`] | conversions in the same dispatch: pictures to normalised floats, casts, quantised rows |
//! | 6. [`texture`](texture/index.html) | from a texture to a tensor and back |
//! | 7. [`browser`](browser/index.html) | a program on WebGPU in a browser |
//! | 8. [`testing`](testing/index.html) | how to test GPU code on machines without a GPU |
//!
//! Complete programs, each with the code that it replaces:
//!
//! | instead of | write |
//! |---|---|
//! | a shader that turns RGB bytes into planes of `f32` | `examples/rgb_to_planes.rs` |
//! | a copy of each slice of a tensor to a texture, on the CPU | `examples/tensor_slider.rs` |
//! | a mask that is read back to select rows of several arrays | `examples/prune_by_mask.rs` |
//! | a loop or a pass for each step of normalising a batch of images | `examples/image_batch.rs` |
//! | a shader that crops, mirrors and normalises each image of a batch | `examples/normalised_crops.rs` |
//! | two shaders for a paged cache of keys and values | `examples/kv_cache.rs` |
//! | a shader or a loop that separates the planes of an NV12 video frame | `examples/nv12_planes.rs` |
//!
//! Coming from TensorFlow, NumPy, PyTorch …? Find the matching call on these pages. Tests run their examples on
//! `Backend::cpu()`; other backends give bit-identical results.
//!
//! | coming from | page |
//! |---|---|
//! | TensorFlow in Python, Java and C++: `tf.strided_slice`, `x[…]`, `tf.slice`, `tf.gather_nd`, `tf.gather`, `tf.scatter_nd`, … | [`tensorflow`] |
//! | MindSpore: `ops.StridedSlice` | [`mindspore`] |
//! | ONNX: `Slice`, `Gather`, `GatherElements`, `GatherND`, `ScatterElements`, `ScatterND`, `TensorScatter` | [`onnx`] |
//! | NumPy: `x[…]`, `take`, `take_along_axis`, `add.at` | [`numpy`] |
//! | PyTorch: `select`, `narrow`, `flip`, `index_select`, `gather`, `scatter_` | [`pytorch`] |
//! | candle: `narrow`, `permute`, `contiguous`, `index_select`, `gather`, `scatter_add` | [`candle`] |
//! | image and ort: crops, flips, planes, batches | [`image`] |
//! | ndarray: `s![]`, `slice`, `select` | [`ndarray`](ndarray/index.html), with the feature of this name |
//! | StableHLO, XLA and `jax.lax`: `gather` and `scatter` with dimension numbers | [`stablehlo`] |
//! | WebNN: `slice`, `gather`, `gatherND`, `scatterElements`, `pad`, `where`, … | [`webnn`] |
//! | JAX and `tf.image`: `dynamic_slice`, `dynamic_update_slice`, `crop_to_bounding_box` | [`boxes`] |

pub mod assembly {
    #![doc = include_str!("assembly.md")]
}
pub mod boxes {
    #![doc = include_str!("boxes.md")]
}
#[cfg(feature = "gpu")]
#[cfg_attr(docsrs, doc(cfg(feature = "gpu")))]
pub mod browser {
    #![doc = include_str!("browser.md")]
}
pub mod candle {
    #![doc = include_str!("candle.md")]
}
pub mod conversions {
    #![doc = include_str!("conversions.md")]
}
pub mod image {
    #![doc = include_str!("image.md")]
}
pub mod masks {
    #![doc = include_str!("masks.md")]
}
pub mod mindspore {
    #![doc = include_str!("mindspore.md")]
}
#[cfg(feature = "ndarray")]
#[cfg_attr(docsrs, doc(cfg(feature = "ndarray")))]
pub mod ndarray {
    #![doc = include_str!("ndarray.md")]
}
pub mod numpy {
    #![doc = include_str!("numpy.md")]
}
pub mod onnx {
    #![doc = include_str!("onnx.md")]
}
pub mod pytorch {
    #![doc = include_str!("pytorch.md")]
}
pub mod stablehlo {
    #![doc = include_str!("stablehlo.md")]
}
pub mod tensorflow {
    #![doc = include_str!("tensorflow.md")]
    #![doc = include_str!("tensorflow_java.md")]
    #![doc = include_str!("tensorflow_cpp.md")]
}
#[cfg(feature = "gpu")]
#[cfg_attr(docsrs, doc(cfg(feature = "gpu")))]
pub mod testing {
    #![doc = include_str!("testing.md")]
}
#[cfg(feature = "gpu")]
#[cfg_attr(docsrs, doc(cfg(feature = "gpu")))]
pub mod texture {
    #![doc = include_str!("texture.md")]
}
pub mod tour {
    #![doc = include_str!("tour.md")]
}
pub mod views {
    #![doc = include_str!("views.md")]
}
pub mod webnn {
    #![doc = include_str!("webnn.md")]
}
