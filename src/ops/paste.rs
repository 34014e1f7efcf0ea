//! paste: boxes of one size written into the items of x, each at its own begin. The inverse of a crop.
//!
//! ```text
//! x       [B, d1 … dk, rest…]
//! begins  [N, k]
//! patches [N, sizes…, rest…]     x[item, begin1 + j1 · stride1 … begink + jk · stridek] = patches[n, j1 … jk]
//! ```
//!
//! `item`, the flips and the index tuples are those of [`crop`](super::crop). Boxes are written as if one after the
//! other: of boxes that overlap, the last one stays. A paste is JAX's `lax.dynamic_update_slice` for each box, with
//! strides and flips, and ONNX's `TensorScatter`.

use super::{
    crop::{Boxes, CropOptions, check, check_boxes},
    index::{OutOfRange, Policy},
    methods::{host_methods, tensor_methods},
};
use crate::{
    DType, Error, IntoView, Plan,
    combine::Combine,
    error,
    moves::{Combining, Effect, IndexTensor, Move, Operation, Scatter},
    walk::{Dim, MAX_UNIT, Side, Walk},
};

/// Options of a paste: those of the crop that would take the boxes out again, and how boxes meet the ends of dimensions
/// and each other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PasteOptions {
    /// The sizes and strides of the boxes, and the treatment of boxes that reach outside of their item. Calls that are
    /// given patches take the sizes from these if `sizes` is empty.
    ///
    /// | policy | elements outside | a box index out of range |
    /// |---|---|---|
    /// | [`OutOfRange::Zero`] | are not written; the report counts the box | the box is not written, and is counted |
    /// | [`OutOfRange::Clamp`] | the box is shifted inside, as in `lax.dynamic_update_slice` | the nearest item is used |
    /// | [`OutOfRange::Error`] | nothing is written | nothing is written |
    pub crop: CropOptions,
    /// Whether each position is taken modulo the size of its dimension, so that a box that reaches the end goes on at the
    /// beginning, as in a ring buffer. Then no begin is out of range. Boxes must not be longer than the dimension.
    pub circular: bool,
    /// The caller's promise that no two boxes overlap. A GPU then takes one dispatch. Without box indices it does so
    /// anyway, since each box has an item of its own.
    ///
    /// If two boxes overlap nevertheless, the elements that both have get unspecified values on a GPU. Nothing else
    /// changes.
    pub unique: bool,
}

impl PasteOptions {
    /// The options with the sizes of the boxes, given the shapes of `begins` and `patches`.
    fn sized(&self, begins: &[usize], patches: &[usize]) -> Self {
        let mut options = self.clone();
        if let (true, [_, dims], [_, sizes @ ..]) = (self.crop.sizes.is_empty(), begins, patches) {
            options.crop.sizes = sizes.get(..*dims).unwrap_or_default().to_vec();
        }
        options
    }
}

impl Plan {
    /// Plans writing boxes into the array `x`, in place. The inputs are the boxes, `patches`, which have the shape of the
    /// crop of the same boxes, and their index tuples. Both arrays may be views. If x is a view, the other elements of its
    /// memory keep their values.
    ///
    /// ```
    /// use wgslice::{options::{Boxes, CropOptions, PasteOptions}, DType, Plan};
    ///
    /// // A cache of two sequences of 3 tokens: the next token of each goes to its own place.
    /// let boxes = Boxes { count: 2, ..Boxes::default() };
    /// let crop = CropOptions { sizes: vec![1], ..CropOptions::default() };
    /// let options = PasteOptions { crop, ..Default::default() };
    /// let plan = Plan::paste(&[2, 3, 2], &[2, 1, 2], boxes, &options, DType::I32)?;
    /// let mut cache = [0; 12];
    /// plan.run_cpu(&[(&[1, 2, 3, 4]).into(), (&[2, 0]).into()], &mut [(&mut cache).into()])?;
    /// assert_eq!(cache, [0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`], also if `x` is a view that was broadcast, so that it selects an element twice;
    /// [`Error::ShapeTooLarge`].
    #[doc(alias("kv_cache", "append", "dynamic_update_slice", "TensorScatter"))]
    pub fn paste(
        x: impl IntoView,
        patches: impl IntoView,
        boxes: Boxes,
        options: &PasteOptions,
        dtype: DType,
    ) -> Result<Self, Error> {
        let (x, patches) = (x.into_view()?, patches.into_view()?);
        let CropOptions {
            ref sizes,
            out_of_range,
            ..
        } = options.crop;
        let bounded = options.circular || out_of_range == OutOfRange::Clamp;
        check(&x.shape, boxes, &options.crop, bounded)?;
        let needed = shape(&x.shape, boxes, options);
        if patches.shape != needed {
            let found = &patches.shape;
            return Err(error::crop::shape("patches", found, &needed, sizes));
        }
        x.check_no_repeats()?;
        let policy = Policy {
            out_of_range,
            circular: options.circular,
            ..Policy::default()
        };
        let indices = boxes.indices(sizes.len(), policy)?;
        let walk = (!patches.is_empty()).then(|| {
            let dim = |(d, (&size, &from))| Dim {
                to: match d {
                    0 => boxes.item_stride(&x),
                    d if d <= sizes.len() => 0,
                    d => x.strides[d],
                },
                tuple: usize::from(d == 0),
                ..Dim::shared(size, from)
            };
            let dims = patches.shape.iter().zip(&patches.strides).enumerate();
            let (from, to) = (patches.offset.cast_signed(), x.offset.cast_signed());
            let mut walk = Walk::strided(dtype.size(), from, to, dims.map(dim).collect());
            walk.coordinates = boxes.coordinates(&x, &options.crop).collect();
            walk.columns = indices.shape[1];
            walk.points = Side::Dest;
            walk.counts = true;
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
                fresh: false,
                dtype,
                options: Combining {
                    combine: Combine::Update,
                    policy,
                    any_order: false,
                    unique: options.unique || !boxes.box_indices || boxes.count <= 1,
                },
            }),
            conversion: None,
            indices: Some(IndexTensor {
                target: Some(x.shape.clone()),
                ..indices
            }),
        };
        Ok(Self::from_view(paste, &patches))
    }
}

/// The shape of the boxes of an array of shape `x`.
fn shape(x: &[usize], boxes: Boxes, options: &PasteOptions) -> Vec<usize> {
    let sizes = &options.crop.sizes;
    let rest = x.get(1 + sizes.len()..).unwrap_or_default();
    [&[boxes.count], &sizes[..], rest].concat()
}

host_methods! {
    /// Writes boxes into a copy of `x`, such as new tokens into a KV cache. Box n begins at `begins[n]` in item
    /// `box_indices[n]`, or in item n without `box_indices`, and is reversed along each dimension d for which `flips[n, d]` is true. The arguments are those of
    /// [`Backend::crop`](crate::Backend::crop), and `patches` have the shape of its result. The report counts the boxes that reach outside of
    /// their item or name no item.
    ///
    /// ```
    /// use wgslice::{options::PasteOptions, Backend};
    ///
    /// // The second of two boxes of one item lies upon the first.
    /// let (line, patches) = ((&[0, 0, 0, 0, 0], &[1, 5]), (&[1, 2, 3, 4, 5, 6], &[2, 3]));
    /// let (begins, items) = ((&[0, 2], &[2, 1]), (&[0, 0], &[2]));
    /// let options = PasteOptions::default();
    /// let (array, _) = Backend::cpu().paste(line, patches, begins, Some(items.into()), None, &options)?;
    /// assert_eq!(array.data, [1, 2, 4, 5, 6]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`], [`Error::Length`], or an error of the device.
    #[doc(alias("kv_cache", "append", "dynamic_update_slice", "TensorScatter"))]
    fn paste<I: IndexElement>(
        rows x: T, view patches: T, rows begins: I, maybe box_indices: I, maybe flips: bool, by options: &PasteOptions)
        -> reported = |dtype| {
            let options = options.sized(begins, &patches.shape);
            check_boxes(&options.crop, begins, box_indices, flips).and_then(|boxes| {
                let plan = Plan::paste(x, patches, boxes, &options, dtype)?;
                boxes.joining(plan, &options.crop, I::DTYPE)
            })
        },
        [patches, begins | box_indices, flips; x];
}

tensor_methods! {
    /// Writes boxes into this tensor, in place, such as new tokens into a KV cache: see
    /// [`Backend::paste`](crate::Backend::paste). `flips` are of type bool or uint8;
    /// `box_indices` have the type of `begins`, which may be int32, int64 or uint32. Returns the report of boxes that
    /// reach outside.
    ///
    /// Only this tensor changes: memory shared with another tensor, such as a clone, is copied first. On a GPU the work
    /// is submitted, not waited for, unless the policy is [`OutOfRange::Error`] and the backend has no late errors. One
    /// dispatch writes all boxes if no two can overlap, at most three otherwise, unless the device's limits require more.
    ///
    /// ```
    /// use wgslice::{options::PasteOptions, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let mut cache = backend.upload((&[0.0f32; 8], &[2, 4]))?; // two sequences, in rings of 4 tokens
    /// let tokens = backend.upload((&[1.0f32, 2.0, 3.0, 4.0], &[2, 2]))?;
    /// let begins = backend.upload((&[1i32, 7], &[2, 1]))?;
    /// let options = PasteOptions { circular: true, ..PasteOptions::default() };
    /// cache.paste(&tokens, &begins, None, None, &options)?;
    /// assert_eq!(cache.to_vec::<f32>()?, [0.0, 1.0, 2.0, 0.0, 4.0, 0.0, 0.0, 3.0]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for an argument of another type, device or shape; or an error of the device. An error leaves
    /// the tensor unchanged.
    #[doc(alias("kv_cache", "append", "dynamic_update_slice", "TensorScatter"))]
    fn paste(self x, like patches, rows begins, maybe box_indices, maybe flips, by options: &PasteOptions)
        -> changed = |dtype| {
            let options = options.sized(begins.shape(), patches.shape());
            Boxes::of_tensors(begins, box_indices, flips, &options.crop).and_then(|boxes| {
                let plan = Plan::paste(x.shape(), patches.layout(), boxes, &options, dtype)?;
                boxes.joining(plan, &options.crop, begins.dtype())
            })
        },
        [patches, begins | box_indices, flips];
}
