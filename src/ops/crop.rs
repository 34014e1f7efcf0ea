//! crop: boxes of one size from the items of x, each with its own start indices.
//!
//! ```text
//! x      [B, d1 … dk, rest…]
//! begins [N, k]
//! result [N, sizes…, rest…]      result[n, j1 … jk] = x[item, begin1 + j1 · stride1 … begink + jk · stridek]
//! ```
//!
//! `item` is `box_indices[n]`, or n without `box_indices`. Where `flips[n, d]` is true, the elements of box n along
//! dimension d come in reverse order. A crop is JAX's `lax.dynamic_slice` for each box, with strides and flips.
//!
//! A box has one index tuple: an optional box index, its start indices (begins), and optional flips. So a shader binds
//! a single index tensor, as for all gathers: devices with the smallest limits have no binding for a second index
//! tensor. Separate arrays are joined first.

use super::{
    index::{IndexShape, OutOfRange, Policy},
    indexed::{coordinates_for, kept_dims},
    methods::{InputList, host_methods, tensor_methods},
};
use crate::prelude::*;
use crate::{
    ArrayRef, Backend, DType, Element, Error, IntoView, Plan, Tensor, Values, View, error,
    moves::{IndexTensor, Move, Operation},
    plan::{ArraySpec, Operand, Steps, layout},
    shape, slice,
    walk::{BoxExtent, Coordinate, Dim},
};
use alloc::borrow::Cow;

/// Options of a crop: the size and the strides of the boxes, and the treatment of elements outside of x.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CropOptions {
    /// The number of elements of a box in each cropped dimension. The cropped dimensions follow the first dimension of
    /// x, which numbers the items.
    pub sizes: Vec<usize>,
    /// The distance between neighbouring elements of a box in each cropped dimension. A negative distance runs towards
    /// the beginning of the dimension, and 0 is an error. Empty if all distances are 1.
    pub strides: Vec<isize>,
    /// The treatment of boxes that extend beyond their item, and of box indices that are out of range. A negative start
    /// index is before the item; it never counts from the end.
    ///
    /// | policy | elements outside the item | a box index out of range |
    /// |---|---|---|
    /// | [`OutOfRange::Ignore`] | become zeros; the report counts the box | the box becomes zeros; the report counts it |
    /// | [`OutOfRange::Clamp`] | the box is shifted into the item, as in `lax.dynamic_slice` | the nearest item is used |
    /// | [`OutOfRange::Error`] | [`Error::InvalidIndices`] | [`Error::InvalidIndices`] |
    ///
    /// Under [`OutOfRange::Clamp`], boxes that are larger than the item return [`Error::Argument`].
    pub out_of_range: OutOfRange,
}

impl CropOptions {
    /// Returns the distance between neighbouring elements of a box in cropped dimension `d`.
    fn step(&self, d: usize) -> isize {
        self.strides.get(d).copied().unwrap_or(1)
    }
}

/// The boxes of a crop or a paste: the start indices of each box (its begins), the item that it belongs to, and the
/// dimensions in which it is reversed. The arrays are host values or tensors; for a [`Plan`] they are shapes and types.
///
/// If boxes have begins in k dimensions, the begins and the flips of N boxes have shape `[N, k]`. Box indices have
/// shape `[N]` and the type of the begins. After its first input, a plan has an input for each of these arrays that is
/// given: the begins, the box indices and the flips, in this order.
///
/// ```
/// use wgslice::{options::{Boxes, CropOptions}, Backend};
///
/// // From one line: elements 1 and 2, and elements 0 and 1 in reverse order.
/// let boxes = Boxes::new((&[1, 0], &[2, 1])).of_items((&[0, 0], &[2])).flipped((&[false, true], &[2, 1]));
/// let options = CropOptions { sizes: vec![2], ..CropOptions::default() };
/// let (crops, _) = Backend::cpu().crop((&[7, 8, 9], &[1, 3]), boxes, &options)?;
/// assert_eq!(crops.data, [8, 9, 8, 7]);
/// # Ok::<(), wgslice::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Boxes<A, F = A> {
    /// The begins, or index tuples. A row of tuples also has the box index before the begins, the flips after them, or
    /// both.
    begins: A,
    /// The optional integers that a row of `begins` has in addition to its begins.
    extra_columns: TupleColumns,
    box_indices: Option<A>,
    flips: Option<F>,
}

/// The optional integers that a tuple has in addition to the begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct TupleColumns {
    has_box_index: bool,
    has_flips: bool,
}

impl TupleColumns {
    /// Returns the number of integers in a tuple if boxes have begins in `dim_count` dimensions.
    fn depth(self, dim_count: usize) -> usize {
        usize::from(self.has_box_index) + dim_count * (1 + usize::from(self.has_flips))
    }
}

impl<A, F> Boxes<A, F> {
    /// Makes boxes with these begins. Box n belongs to item n.
    pub fn new(begins: impl Into<A>) -> Self {
        Self::of_tuples(begins, false, false)
    }

    /// Sets the item of each box.
    #[must_use]
    pub fn of_items(self, box_indices: impl Into<A>) -> Self {
        let box_indices = Some(box_indices.into());
        Self {
            box_indices,
            ..self
        }
    }

    /// Adds flips: box n is reversed in dimension d if `flips[n, d]` is true. Flips are bool; in tensors they can also
    /// be u8.
    #[must_use]
    pub fn flipped(self, flips: impl Into<F>) -> Self {
        let flips = Some(flips.into());
        Self { flips, ..self }
    }

    /// Makes boxes from one array of tuples. A tuple has the box index, if there are `box_indices`, then the begins,
    /// and then, if there are `flips`, an integer for each dimension. Any integer except 0 reverses the box. On a GPU
    /// this saves the small dispatches that join separate arrays.
    pub fn of_tuples(tuples: impl Into<A>, box_indices: bool, flips: bool) -> Self {
        Self {
            begins: tuples.into(),
            extra_columns: TupleColumns {
                has_box_index: box_indices,
                has_flips: flips,
            },
            box_indices: None,
            flips: None,
        }
    }

    /// Replaces each array by the result of a function.
    fn map<B, G>(
        self,
        mut map_array: impl FnMut(&'static str, A) -> Result<B, Error>,
        map_flips: impl FnOnce(F) -> Result<G, Error>,
    ) -> Result<Boxes<B, G>, Error> {
        let box_indices = self.box_indices;
        Ok(Boxes {
            begins: map_array("begins", self.begins)?,
            extra_columns: self.extra_columns,
            box_indices: box_indices
                .map(|box_indices| map_array("box_indices", box_indices))
                .transpose()?,
            flips: self.flips.map(map_flips).transpose()?,
        })
    }
}

impl Boxes<&Tensor> {
    /// Returns the shapes and types of the arrays. Fails unless the tensors are on the device of `x` and the flips are
    /// a mask.
    pub(super) fn shapes_and_types(self, x: &Tensor) -> Result<Boxes<IndexShape>, Error> {
        let checked_shape = |name, tensor: &Tensor| {
            x.check_same_device(name, tensor)?;
            Ok(tensor.into())
        };
        self.map(checked_shape, |flips| {
            x.check_same_device("flips", flips)?;
            match flips.dtype() {
                DType::Bool | DType::U8 => Ok(flips.into()),
                dtype => Err(error::value::dtype_mismatch("flips", dtype, DType::U8)),
            }
        })
    }
}

impl<'t> InputList<'_, &'t Tensor> for Boxes<&'t Tensor> {
    fn add_to(&self, inputs: &mut Vec<&'t Tensor>) {
        inputs.push(self.begins);
        inputs.extend(self.box_indices.iter().chain(&self.flips));
    }
}

/// Boxes with arrays in host memory: only their values, in row-major order and without shapes.
pub(super) type HostBoxes<'a, I> = Boxes<Cow<'a, [I]>, Cow<'a, [bool]>>;

impl<'a, I: Element> Boxes<ArrayRef<'a, I>, ArrayRef<'a, bool>> {
    /// Returns the values in row-major order, and their shapes and types.
    pub(super) fn read(
        self,
        backend: &Backend,
    ) -> Result<(HostBoxes<'a, I>, Boxes<IndexShape>), Error> {
        let values_with_shapes = self.map(
            |name, array| array.row_major(name, backend),
            |flips| flips.row_major("flips", backend),
        )?;
        let index_shape = |shape: &[usize]| IndexShape::from((shape, I::DTYPE));
        let shapes = Boxes {
            begins: index_shape(&values_with_shapes.begins.1),
            extra_columns: values_with_shapes.extra_columns,
            box_indices: values_with_shapes
                .box_indices
                .as_ref()
                .map(|box_indices| index_shape(&box_indices.1)),
            flips: values_with_shapes
                .flips
                .as_ref()
                .map(|flips| index_shape(&flips.1)),
        };
        let values = values_with_shapes.map(|_, array| Ok(array.0), |flips| Ok(flips.0))?;
        Ok((values, shapes))
    }
}

impl<'s, I: Element, S> InputList<'s, Values<'s>> for (HostBoxes<'_, I>, S) {
    fn add_to(&'s self, inputs: &mut Vec<Values<'s>>) {
        let boxes = &self.0;
        inputs.push(Values::from(&boxes.begins[..]));
        inputs.extend(
            boxes
                .box_indices
                .iter()
                .map(|box_indices| Values::from(&box_indices[..])),
        );
        inputs.extend(boxes.flips.iter().map(|flips| Values::from(&flips[..])));
    }
}

impl Boxes<IndexShape> {
    /// Returns the number of dimensions for which boxes have start indices. Fails if no such number fits the shape of
    /// the begins.
    pub(super) fn begin_dims(&self) -> Result<usize, Error> {
        let columns_per_dim = 1 + usize::from(self.extra_columns.has_flips);
        match self.begins.shape[..] {
            [_, depth] => depth.checked_sub(usize::from(self.extra_columns.has_box_index)),
            _ => None,
        }
        .filter(|columns| columns.is_multiple_of(columns_per_dim))
        .map(|columns| columns / columns_per_dim)
        .ok_or_else(|| error::crop::wrong_begins_shape(&self.begins.shape))
    }

    /// Returns the number of boxes and the columns of their tuples. Fails unless the arrays have the shapes for boxes
    /// of these sizes.
    pub(super) fn tuples(&self, sizes: &[usize]) -> Result<BoxTuples, Error> {
        let begins_shape = &self.begins.shape[..];
        let (dim_count, box_count) = (sizes.len(), begins_shape.first().copied().unwrap_or(0));
        let box_indices = self.box_indices.as_ref();
        let flips_shape = self.flips.as_ref().map(|flips| &flips.shape[..]);
        for (argument, found_shape, needed_shape) in [
            (
                "begins",
                Some(begins_shape),
                &[box_count, self.extra_columns.depth(dim_count)][..],
            ),
            (
                "box_indices",
                box_indices.map(|box_indices| &box_indices.shape[..]),
                &[box_count],
            ),
            ("flips", flips_shape, &[box_count, dim_count]),
        ] {
            if let Some(found_shape) =
                found_shape.filter(|&found_shape| found_shape != needed_shape)
            {
                return Err(error::crop::wrong_shape(
                    argument,
                    found_shape,
                    needed_shape,
                    sizes,
                ));
            }
        }
        for (argument, is_in_tuples, is_separate) in [
            (
                "box_indices",
                self.extra_columns.has_box_index,
                box_indices.is_some(),
            ),
            ("flips", self.extra_columns.has_flips, flips_shape.is_some()),
        ] {
            if is_in_tuples && is_separate {
                return Err(error::crop::passed_twice(argument));
            }
        }
        self.begins.index_type("begins")?;
        let dtype = self.begins.dtype;
        match box_indices
            .map(|box_indices| box_indices.dtype)
            .filter(|&found_dtype| found_dtype != dtype)
        {
            Some(found_dtype) => Err(error::value::dtype_mismatch(
                "box_indices",
                found_dtype,
                dtype,
            )),
            None => Ok(BoxTuples {
                box_count,
                dim_count,
                columns: TupleColumns {
                    has_box_index: self.extra_columns.has_box_index || box_indices.is_some(),
                    has_flips: self.extra_columns.has_flips || flips_shape.is_some(),
                },
                dtype,
            }),
        }
    }

    /// Returns a plan that takes the arrays of boxes as separate inputs. Its first steps join these arrays to the index
    /// tuples that the only step of `plan` reads. Returns `plan` if the begins are the only array.
    pub(super) fn join_box_inputs(&self, plan: Plan, tuples: BoxTuples) -> Result<Plan, Error> {
        if self.box_indices.is_none() && self.flips.is_none() {
            return Ok(plan);
        }
        let BoxTuples {
            box_count,
            dim_count,
            dtype,
            ..
        } = tuples;
        let (depth, integer_bytes) = (tuples.depth(), dtype.size());
        let begins = View::new(&self.begins.shape)?;
        let joined_view = View::new(&[box_count, depth])?;
        // The tuples as bytes. A flip is written to one byte of its integer; the other bytes are zeros.
        let tuple_bytes = View::new(&[box_count, depth, integer_bytes])?;
        let mut inputs = vec![
            plan.inputs()[0].clone(),
            ArraySpec::new("begins", &begins, dtype),
        ];
        let output = plan.outputs()[0].clone();
        let box_indices = self.box_indices.is_some().then(|| {
            inputs.push(ArraySpec::new(
                "box_indices",
                &View::whole(&[box_count]),
                dtype,
            ));
            Operand::Input(inputs.len() - 1)
        });
        let flips = self.flips.is_some().then(|| {
            inputs.push(ArraySpec::mask("flips", &[box_count, dim_count]));
            Operand::Input(inputs.len() - 1)
        });
        let Some(step_move) = plan.into_single_move() else {
            return Err(error::value::steps("joined", "a crop"));
        };
        let mut steps = Steps::new(step_move.operation, inputs, output);
        if step_move.is_in_place() {
            steps = steps.in_place();
        }
        let joined_tuples = steps.temp(&[box_count, depth], dtype);
        if flips.is_some() && box_count > 0 && dim_count > 0 {
            // The gradient of an empty slice writes zeros to the whole destination.
            let [from, to] =
                [begins.len(), joined_view.len()].map(|integers| [integers * integer_bytes]);
            let zeros = Move::of_grad(&to, DType::U8, &from, None);
            steps.push(zeros, Operand::Input(1), None, joined_tuples.clone());
        }
        let mut copy_columns = |operand, from: &View, to: View, dtype| {
            if !to.is_empty() {
                steps.push(
                    Move::of_update(from, to, dtype),
                    operand,
                    None,
                    joined_tuples.clone(),
                );
            }
        };
        let first_column = usize::from(box_indices.is_some());
        if let Some(box_indices) = box_indices {
            copy_columns(
                box_indices,
                &View::whole(&[box_count]),
                joined_view.slice(&slice![.., 0])?,
                dtype,
            );
        }
        let columns = slice![.., first_column..first_column + begins.shape[1]];
        copy_columns(
            Operand::Input(1),
            &begins,
            joined_view.slice(&columns)?,
            dtype,
        );
        if let Some(flips) = flips {
            let low_byte = if cfg!(target_endian = "big") {
                integer_bytes - 1
            } else {
                0
            };
            let to = tuple_bytes.slice(&slice![.., depth - dim_count.., low_byte])?;
            copy_columns(flips, &View::whole(&[box_count, dim_count]), to, DType::U8);
        }
        steps.push_reporting(
            step_move,
            Operand::Input(0),
            joined_tuples,
            Operand::Output(0),
        );
        Ok(steps.plan())
    }
}

/// The index tuples of boxes. A tuple has the start indices of a box and, as `columns` states, its box index and its
/// flips.
#[derive(Clone, Copy, Debug)]
pub(super) struct BoxTuples {
    pub(super) box_count: usize,
    /// The number of dimensions that have a start index in each box.
    dim_count: usize,
    columns: TupleColumns,
    dtype: DType,
}

impl BoxTuples {
    /// Returns the number of integers of a tuple.
    fn depth(self) -> usize {
        self.columns.depth(self.dim_count)
    }

    /// Returns whether each box belongs to its own item.
    pub(super) fn has_own_items(self) -> bool {
        !self.columns.has_box_index
    }

    pub(super) fn indices(self, policy: Policy) -> Result<IndexTensor, Error> {
        let tuples_shape = [self.box_count, self.depth()];
        shape::elements(&tuples_shape)?;
        IndexTensor::new((&tuples_shape, self.dtype).into(), 1, policy)
    }

    /// Returns the distance between the items of neighbouring boxes. With box indices it is 0, because the tuple
    /// selects the item.
    pub(super) fn item_stride(self, x: &View) -> isize {
        match self.has_own_items() {
            true => x.strides[0],
            false => 0,
        }
    }

    /// Returns the coordinates in `x` for the columns of a tuple. Dimension 1 + d of the walk is cropped dimension d.
    pub(super) fn coordinates(
        self,
        x: &View,
        options: &CropOptions,
    ) -> impl Iterator<Item = Coordinate> {
        let (first_begin_column, dim_count) =
            (usize::from(self.columns.has_box_index), self.dim_count);
        let cropped = coordinates_for(x, 1..1 + dim_count, first_begin_column).zip(&options.sizes);
        let cropped = cropped.enumerate().map(move |(d, (coordinate, &extent))| {
            let box_extent = BoxExtent {
                dim: 1 + d,
                step: options.step(d),
                extent,
                first: 0,
                flip: self
                    .columns
                    .has_flips
                    .then_some(first_begin_column + dim_count + d),
            };
            Coordinate {
                along: Some(box_extent),
                ..coordinate
            }
        });
        coordinates_for(x, 0..first_begin_column, 0).chain(cropped)
    }
}

impl Plan {
    /// Plans a crop of the array or view `x` with `boxes`. The inputs are `x`, which can be a view and is not copied,
    /// and the arrays of the boxes.
    ///
    /// ```
    /// use wgslice::{options::{Boxes, CropOptions}, DType, Plan};
    ///
    /// // Two boxes of 2 by 2 pixels from one image of 3 by 3: the second box extends beyond the image.
    /// let boxes = Boxes::new(&[2, 2]).of_items(&[2]);
    /// let options = CropOptions { sizes: vec![2, 2], ..CropOptions::default() };
    /// let plan = Plan::crop(&[1, 3, 3], boxes, &options, DType::I32)?;
    /// assert_eq!(plan.shape(), [2, 2, 2]);
    ///
    /// let (image, begins, items) = ([1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 0, 2, 1], [0, 0]);
    /// let mut result = [0; 8];
    /// let report =
    ///     plan.run_cpu(&[(&image).into(), (&begins).into(), (&items).into()], &mut [(&mut result).into()])?;
    /// assert_eq!(result, [4, 5, 7, 8, 8, 9, 0, 0]);
    /// assert_eq!(report.first.unwrap().index, [0, 2, 1]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`]; [`Error::ShapeTooLarge`].
    #[doc(alias("random_crop", "dynamic_slice", "crop_to_bounding_box"))]
    pub fn crop(
        x: impl IntoView,
        boxes: Boxes<IndexShape>,
        options: &CropOptions,
        dtype: DType,
    ) -> Result<Self, Error> {
        let x = x.into_view()?;
        let tuples = boxes.tuples(&options.sizes)?;
        let clamps = options.out_of_range == OutOfRange::Clamp;
        check_options(&x.shape, tuples, options, clamps)?;
        let dim_count = options.sizes.len();
        let policy = Policy {
            out_of_range: options.out_of_range,
            ..Policy::default()
        };
        let indices = tuples.indices(policy)?;
        let item_stride = tuples.item_stride(&x);
        let box_walk_dims = options.sizes.iter().map(|&size| Dim::shared(size, 0));
        let walk_dims = [Dim::with_own_tuples(tuples.box_count, item_stride)]
            .into_iter()
            .chain(box_walk_dims);
        let walk_dims = walk_dims
            .chain(kept_dims(&x, 1 + dim_count..x.shape.len()))
            .collect();
        let coordinates = tuples.coordinates(&x, options).collect();
        let layout = layout(&x);
        let crop = Move::of_gather(Operation::Crop, x, walk_dims, coordinates, indices, dtype)?;
        boxes.join_box_inputs(Self::with_layout(crop, layout), tuples)
    }
}

host_methods! {
    /// Crops a batch of host values, such as images at random positions. Box n begins at `begins[n]` in item
    /// `box_indices[n]` of `x`, or in item n without box indices. It is reversed along each dimension d for which
    /// `flips[n, d]` is true: see [`Boxes`]. The report counts boxes that extend beyond their item and boxes whose
    /// index is out of range.
    ///
    /// ```
    /// use wgslice::{options::{Boxes, CropOptions}, Backend};
    ///
    /// let lines = (&[1, 2, 3, 4, 5, 6], &[2, 3]); // two items of three elements
    /// let boxes = Boxes::new((&[1, 2], &[2, 1])).flipped((&[true, false], &[2, 1]));
    /// let options = CropOptions { sizes: vec![2], ..CropOptions::default() };
    /// let (array, report) = Backend::cpu().crop(lines, boxes, &options)?;
    /// assert_eq!(array.data, [3, 2, 6, 0]); // the second box has an element beyond its item
    /// assert_eq!(report.out_of_range, 1);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Backend::gather_nd`](crate::Backend::gather_nd).
    #[doc(alias("random_crop", "dynamic_slice", "crop_to_bounding_box"))]
    fn crop<I: IndexElement>(view x: T, boxes boxes: I, by options: &CropOptions)
        -> reported = |dtype| Plan::crop(x, boxes, options, dtype), [x | boxes];
}

tensor_methods! {
    /// Crops this tensor like [`Backend::crop`](crate::Backend::crop), for example a batch of images at random
    /// positions. Flips are bool or uint8. The begins are int32, int64 or uint32, and box indices have the same type.
    ///
    /// On a GPU the call submits the work and does not wait for it, unless the policy is [`OutOfRange::Error`] and the
    /// backend has no late errors. One dispatch crops all boxes, unless the device's limits require more. Earlier
    /// dispatches of the same submission join box indices and flips with the begins.
    ///
    /// ```
    /// use wgslice::{options::{Boxes, CropOptions}, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let frame = backend.upload((&[1u8, 2, 3, 4, 5, 6, 7, 8, 9], &[1, 3, 3]))?;
    /// let begins = backend.upload((&[0i32, 1, 1, 0], &[2, 2]))?;
    /// let frames = backend.upload((&[0i32, 0], &[2]))?; // both boxes are in the only frame
    /// let options = CropOptions { sizes: vec![2, 2], ..CropOptions::default() };
    /// let (crops, _) = frame.crop(Boxes::new(&begins).of_items(&frames), &options)?;
    /// assert_eq!(crops.to_array::<u8>()?.data, [2, 3, 5, 6, 4, 5, 7, 8]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`], for example for begins, box indices or flips of another type, device or shape;
    /// [`Error::ShapeTooLarge`]; [`Error::InvalidIndices`] if the policy makes boxes that are out of range an error and
    /// the backend has no late errors; or an error of the device.
    #[doc(alias("random_crop", "dynamic_slice", "crop_to_bounding_box"))]
    fn crop(self x, by boxes: Boxes<&Tensor>, by options: &CropOptions)
        -> reported = |dtype| boxes.shapes_and_types(x)
            .and_then(|boxes| Plan::crop(x.layout(), boxes, options, dtype)), [x | boxes];
}

/// Checks the options of a crop of an array of shape `x_shape`. If `is_bounded`, boxes must not be longer than the
/// dimensions of the array.
pub(super) fn check_options(
    x_shape: &[usize],
    boxes: BoxTuples,
    options: &CropOptions,
    is_bounded: bool,
) -> Result<(), Error> {
    let CropOptions { sizes, strides, .. } = options;
    let dim_count = sizes.len();
    if x_shape.len() <= dim_count {
        return Err(error::crop::rank_too_low(x_shape, sizes));
    }
    if !strides.is_empty() && strides.len() != dim_count {
        return Err(error::crop::wrong_stride_count(strides, sizes));
    }
    if boxes.has_own_items() && boxes.box_count != x_shape[0] {
        return Err(error::crop::wrong_item_count(boxes.box_count, x_shape[0]));
    }
    for (d, &size) in sizes.iter().enumerate() {
        let step = options.step(d);
        if step == 0 {
            return Err(error::crop::stride_zero(1 + d));
        }
        let last_distance = size.saturating_sub(1) as u128 * step.unsigned_abs() as u128;
        let is_too_long = size > 0 && last_distance >= x_shape[1 + d] as u128;
        if is_too_long && is_bounded {
            return Err(error::crop::box_size(1 + d, size, step, x_shape));
        }
    }
    Ok(())
}
