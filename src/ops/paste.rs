//! paste: writes boxes of one size into the items of x, each at its own start indices. It is the inverse of a crop.
//!
//! ```text
//! x       [B, d1 … dk, rest…]
//! begins  [N, k]
//! patches [N, sizes…, rest…]     x[item, begin1 + j1 · stride1 … begink + jk · stridek] = patches[n, j1 … jk]
//! ```
//!
//! `item`, the flips and the index tuples are the same as in [`crop`](super::crop). Boxes are written as if in order:
//! where boxes overlap, the elements of the last box remain. A paste is JAX's `lax.dynamic_update_slice` for each box,
//! with strides and flips, and ONNX's `TensorScatter`.

use super::{
    crop::{Boxes, CropOptions, check_options},
    index::{IndexShape, OutOfRange, Policy},
    methods::{host_methods, tensor_methods},
};
use crate::prelude::*;
use crate::{
    DType, Error, IntoView, Plan, Tensor,
    combine::Combine,
    error,
    moves::{CombineOptions, Effect, IndexTensor, Move, Operation, Scatter},
    walk::{Dim, MAX_UNIT, Side, Walk},
};

/// Options of a paste: the strides of the boxes, and the treatment of boxes that extend beyond their item or overlap.
/// The shape of the patches determines the sizes of boxes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PasteOptions {
    /// The distance between neighbouring elements of a box in each dimension for which boxes have start indices. A
    /// negative distance runs towards the beginning of the dimension, and 0 is an error. Empty if all distances are 1.
    pub strides: Vec<isize>,
    /// The treatment of boxes that extend beyond their item, and of box indices that are out of range.
    ///
    /// | policy | elements outside the item | a box index out of range |
    /// |---|---|---|
    /// | [`OutOfRange::Ignore`] | are not written; the report counts the box | the box is not written; the report counts it |
    /// | [`OutOfRange::Clamp`] | the box is shifted into the item, as in `lax.dynamic_update_slice` | the nearest item is used |
    /// | [`OutOfRange::Error`] | nothing is written | nothing is written |
    pub out_of_range: OutOfRange,
    /// True if positions wrap around: a box that extends beyond the end of a dimension continues at its beginning, as
    /// in a ring buffer. Then no start index is out of range. Boxes must not be longer than the dimension.
    pub circular: bool,
    /// The caller's promise that no two boxes overlap. A GPU then writes all boxes in one dispatch. Without box
    /// indices, a GPU does so in any case, because each box has its own item.
    ///
    /// If two boxes overlap nevertheless, the elements in both get unspecified values on a GPU. All other elements are
    /// correct.
    pub unique: bool,
}

impl Plan {
    /// Plans writing boxes into the array `x`, in place. The inputs are the contents of the boxes, `patches`, with the
    /// shape of a crop of the same boxes, and the arrays of `boxes`. `x` and the patches can be views. If x is a view,
    /// the other elements of its memory keep their values.
    ///
    /// ```
    /// use wgslice::{options::{Boxes, PasteOptions}, DType, Plan};
    ///
    /// // A cache of two sequences of 3 tokens: each sequence gets its next token, at its own position.
    /// let boxes = Boxes::new(&[2, 1]);
    /// let plan = Plan::paste(&[2, 3, 2], &[2, 1, 2], boxes, &PasteOptions::default(), DType::I32)?;
    /// let mut cache = [0; 12];
    /// plan.run_cpu(&[(&[1, 2, 3, 4]).into(), (&[2, 0]).into()], &mut [(&mut cache).into()])?;
    /// assert_eq!(cache, [0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`], for example if `x` selects an element twice, as a broadcast does;
    /// [`Error::ShapeTooLarge`].
    #[doc(alias("kv_cache", "append", "dynamic_update_slice", "TensorScatter"))]
    pub fn paste(
        x: impl IntoView,
        patches: impl IntoView,
        boxes: Boxes<IndexShape>,
        options: &PasteOptions,
        dtype: DType,
    ) -> Result<Self, Error> {
        let (x, patches) = (x.into_view()?, patches.into_view()?);
        let dim_count = boxes.begin_dims()?;
        let Some(sizes) = patches.shape.get(1..=dim_count) else {
            return Err(error::crop::patches_rank_too_low(&patches.shape, dim_count));
        };
        let tuples = boxes.tuples(sizes)?;
        // The options of the crop that would read the same boxes.
        let crop_options = CropOptions {
            sizes: sizes.to_vec(),
            strides: options.strides.clone(),
            out_of_range: options.out_of_range,
        };
        let is_bounded = options.circular || options.out_of_range == OutOfRange::Clamp;
        check_options(&x.shape, tuples, &crop_options, is_bounded)?;
        let needed_shape = [&[tuples.box_count], sizes, &x.shape[1 + dim_count..]].concat();
        if patches.shape != needed_shape {
            let found_shape = &patches.shape;
            return Err(error::crop::wrong_shape(
                "patches",
                found_shape,
                &needed_shape,
                sizes,
            ));
        }
        x.check_no_repeats()?;
        let policy = Policy {
            out_of_range: options.out_of_range,
            circular: options.circular,
            ..Policy::default()
        };
        let indices = tuples.indices(policy)?;
        let walk = (!patches.is_empty()).then(|| {
            let dim = |(d, (&size, &from))| Dim {
                to: match d {
                    0 => tuples.item_stride(&x),
                    d if d <= dim_count => 0,
                    d => x.strides[d],
                },
                tuple: usize::from(d == 0),
                ..Dim::shared(size, from)
            };
            let patch_dims = patches.shape.iter().zip(&patches.strides).enumerate();
            let (from, to) = (patches.offset.cast_signed(), x.offset.cast_signed());
            let mut walk = Walk::strided(dtype.size(), from, to, patch_dims.map(dim).collect());
            walk.coordinates = tuples.coordinates(&x, &crop_options).collect();
            walk.columns = indices.shape[1];
            walk.points = Side::Dest;
            walk.counts_tuples = true;
            walk.reduce(MAX_UNIT);
            walk
        });
        let paste = Move {
            operation: Operation::Paste,
            shape: x.source.clone(),
            dtype,
            source: patches.source.clone(),
            walk,
            effect: Effect::Scatter(Scatter {
                slices: 0,
                starts_from_zeros: false,
                dtype,
                options: CombineOptions {
                    combine: Combine::Update,
                    policy,
                    any_order: false,
                    unique: options.unique || tuples.has_own_items() || tuples.box_count <= 1,
                },
            }),
            conversion: None,
            indices: Some(IndexTensor {
                target: Some(x.shape.clone()),
                ..indices
            }),
        };
        boxes.join_box_inputs(Self::from_view(paste, &patches), tuples)
    }
}

host_methods! {
    /// Writes boxes into a copy of `x`, for example new tokens into a KV cache. Box n begins at `begins[n]` in item
    /// `box_indices[n]`, or in item n without box indices. It is reversed along each dimension d for which `flips[n,
    /// d]` is true: see [`Boxes`]. `patches` have the shape of the result of [`Backend::crop`](crate::Backend::crop).
    /// The report counts boxes that extend beyond their item and boxes whose index is out of range.
    ///
    /// ```
    /// use wgslice::{options::{Boxes, PasteOptions}, Backend};
    ///
    /// // Two boxes of one item overlap. The second replaces the first.
    /// let (line, patches) = ((&[0, 0, 0, 0, 0], &[1, 5]), (&[1, 2, 3, 4, 5, 6], &[2, 3]));
    /// let boxes = Boxes::new((&[0, 2], &[2, 1])).of_items((&[0, 0], &[2]));
    /// let (array, _) = Backend::cpu().paste(line, patches, boxes, &PasteOptions::default())?;
    /// assert_eq!(array.data, [1, 2, 4, 5, 6]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Backend::gather_nd`](crate::Backend::gather_nd).
    #[doc(alias("kv_cache", "append", "dynamic_update_slice", "TensorScatter"))]
    fn paste<I: IndexElement>(rows x: T, view patches: T, boxes boxes: I, by options: &PasteOptions)
        -> reported = |dtype| Plan::paste(x, patches, boxes, options, dtype), [patches | boxes; x];
}

tensor_methods! {
    /// Writes boxes into this tensor, in place, like [`Backend::paste`](crate::Backend::paste), for example new tokens
    /// into a KV cache. Flips are bool or uint8. The begins are int32, int64 or uint32, and box indices have the same
    /// type. Returns the report of boxes that are out of range.
    ///
    /// Only this tensor changes: memory shared with another tensor, such as a clone, is copied first. On a GPU the call
    /// submits the work and does not wait for it, unless the policy is [`OutOfRange::Error`] and the backend has no
    /// late errors. If no two boxes can overlap, one dispatch writes all boxes, otherwise at most three dispatches do.
    /// The device's limits can require more dispatches.
    ///
    /// ```
    /// use wgslice::{options::{Boxes, PasteOptions}, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let mut cache = backend.upload((&[0.0f32; 8], &[2, 4]))?; // two sequences, in rings of 4 tokens
    /// let tokens = backend.upload((&[1.0f32, 2.0, 3.0, 4.0], &[2, 2]))?;
    /// let begins = backend.upload((&[1i32, 7], &[2, 1]))?;
    /// let options = PasteOptions { circular: true, ..PasteOptions::default() };
    /// cache.paste(&tokens, Boxes::new(&begins), &options)?;
    /// assert_eq!(cache.to_vec::<f32>()?, [0.0, 1.0, 2.0, 0.0, 4.0, 0.0, 0.0, 3.0]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`], for example for an argument of another type or shape or on another device;
    /// [`Error::ShapeTooLarge`]; [`Error::InvalidIndices`] if the policy makes boxes that are out of range an error and
    /// the backend has no late errors; or an error of the device. An error leaves the tensor unchanged.
    #[doc(alias("kv_cache", "append", "dynamic_update_slice", "TensorScatter"))]
    fn paste(self x, like patches, by boxes: Boxes<&Tensor>, by options: &PasteOptions)
        -> changed = |dtype| boxes.shapes_and_types(x)
            .and_then(|boxes| Plan::paste(x.shape(), patches.layout(), boxes, options, dtype)), [patches | boxes];
}
