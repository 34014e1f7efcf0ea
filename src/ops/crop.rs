//! crop: boxes of one size from the items of x, each at its own begin.
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
//! A box has one index tuple: its box index, its begins and its flips. The box index and the flips may be left out. A
//! shader therefore binds a single index tensor, as for all gathers. Devices with the smallest limits have no binding
//! for a second index tensor.

use super::{
    index::{OutOfRange, Policy},
    indexed::{indexed, kept},
    methods::{host_methods, tensor_methods},
};
use crate::{
    DType, Error, IntoView, Plan, Tensor, View, error,
    moves::{IndexTensor, Move, Operation},
    plan::{ArraySpec, Operand, Steps},
    shape, slice,
    walk::{Along, Coordinate, Dim},
};

/// Options of a crop: the size and the strides of the boxes, and the treatment of elements outside of x.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CropOptions {
    /// The number of elements of a box in each cropped dimension. The cropped dimensions follow the first dimension of
    /// x, which numbers the items.
    pub sizes: Vec<usize>,
    /// The distance between neighbouring elements of a box in each cropped dimension. A negative distance runs towards
    /// the beginning of the dimension, and 0 is an error. Empty if all distances are 1.
    pub strides: Vec<isize>,
    /// The treatment of boxes that reach outside of their item, and of box indices that name no item. A negative begin
    /// lies before the item; it never counts from the end.
    ///
    /// | policy | elements outside | a box index out of range |
    /// |---|---|---|
    /// | [`OutOfRange::Zero`] | become zeros; the report counts the box | the box becomes zeros, and is counted |
    /// | [`OutOfRange::Clamp`] | the box is shifted inside, as in `lax.dynamic_slice` | the nearest item is used |
    /// | [`OutOfRange::Error`] | [`Error::OutOfRange`] | [`Error::OutOfRange`] |
    ///
    /// Under [`OutOfRange::Clamp`], boxes that no shift brings inside are an error, [`Error::Argument`].
    pub out_of_range: OutOfRange,
}

impl CropOptions {
    /// The distance between neighbouring elements of a box in cropped dimension `d`.
    fn step(&self, d: usize) -> isize {
        self.strides.get(d).copied().unwrap_or(1)
    }
}

/// The number of boxes of a crop or a paste, and which integers the index tuple of a box has. With `box_indices` the box index
/// comes first. The begin in each cropped dimension follows. With `flips`, an integer for each cropped dimension comes
/// last, and an integer other than 0 reverses the box along its dimension. [`Tensor::crop`] and [`Backend::crop`](crate::Backend::crop) make
/// these tuples; [`Plan::run_cpu`] and [`Gpu::encode`](crate::Gpu::encode) take them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Boxes {
    /// The number of boxes.
    pub count: usize,
    /// Whether a tuple begins with a box index. If not, box n lies in item n.
    pub box_indices: bool,
    /// Whether a tuple ends with flips.
    pub flips: bool,
}

impl Boxes {
    /// The number of integers of a tuple, if `dims` dimensions are cropped.
    fn depth(self, dims: usize) -> usize {
        usize::from(self.box_indices) + dims * (1 + usize::from(self.flips))
    }

    /// The index tensor of boxes with `dims` cropped dimensions.
    pub(super) fn indices(self, dims: usize, policy: Policy) -> Result<IndexTensor, Error> {
        let tuples = [self.count, self.depth(dims)];
        shape::elements(&tuples)?;
        Ok(IndexTensor::of(&tuples, 1, policy))
    }

    /// The distance between the items of neighbouring boxes: box n lies in item n. 0 with box indices, by which the tuple
    /// says where the item begins.
    pub(super) fn item_stride(self, x: &View) -> isize {
        if self.box_indices { 0 } else { x.strides[0] }
    }

    /// The positions in `x` that a tuple has columns for. Dimension 1 + d of the walk goes along cropped dimension d.
    pub(super) fn coordinates(
        self,
        x: &View,
        options: &CropOptions,
    ) -> impl Iterator<Item = Coordinate> {
        let (first, dims) = (usize::from(self.box_indices), options.sizes.len());
        let cropped = indexed(x, 1..1 + dims, first).zip(&options.sizes);
        let cropped = cropped.enumerate().map(move |(d, (coordinate, &extent))| {
            let along = Along {
                dim: 1 + d,
                step: options.step(d),
                extent,
                first: 0,
                flip: self.flips.then_some(first + dims + d),
            };
            Coordinate {
                along: Some(along),
                ..coordinate
            }
        });
        indexed(x, 0..first, 0).chain(cropped)
    }

    /// The boxes of begins, box indices and flips of these shapes. Fails unless the tensors are of the right types, and on
    /// one device.
    pub(super) fn of_tensors(
        begins: &Tensor,
        box_indices: Option<&Tensor>,
        flips: Option<&Tensor>,
        options: &CropOptions,
    ) -> Result<Self, Error> {
        let items = box_indices.map(Tensor::shape);
        let boxes = check_boxes(options, begins.shape(), items, flips.map(Tensor::shape))?;
        if box_indices.is_none() && flips.is_none() {
            return Ok(boxes);
        }
        let dtype = begins.dtype();
        if !matches!(dtype, DType::I32 | DType::U32 | DType::I64) {
            return Err(error::value::index_dtype("begins", dtype));
        }
        if let Some(items) = box_indices {
            begins.check_goes_with("box_indices", items)?;
        }
        if let Some(flips) = flips {
            begins.check_same_device("flips", flips)?;
            if !matches!(flips.dtype(), DType::Bool | DType::U8) {
                let found = flips.dtype();
                return Err(error::value::dtype_mismatch("flips", found, DType::U8));
            }
        }
        Ok(boxes)
    }

    /// The plan that takes the index tuples of boxes from an array for each of their parts: from begins, box indices and
    /// flips, in this order, which are its inputs behind the first. Its first steps join them. `plan` takes them as one
    /// array.
    pub(super) fn joining(
        self,
        plan: Plan,
        options: &CropOptions,
        dtype: DType,
    ) -> Result<Plan, Error> {
        if !self.box_indices && !self.flips {
            return Ok(plan);
        }
        let dims = options.sizes.len();
        let (count, depth) = (self.count, self.depth(dims));
        let (first, bytes) = (usize::from(self.box_indices), dtype.size());
        let begins = View::new(&[count, dims])?;
        let tuples = View::new(&[count, depth])?;
        // Bytes of the tuples, of which a flip is one: those of the others are zeros.
        let of_tuples = View::new(&[count, depth, bytes])?;
        let plan = plan.for_indices(dtype)?;
        let mut inputs = vec![
            plan.inputs()[0].clone(),
            ArraySpec::new("begins", &begins, dtype),
        ];
        let output = plan.outputs()[0].clone();
        let items = self.box_indices.then(|| {
            inputs.push(ArraySpec::new("box_indices", &View::whole(&[count]), dtype));
            Operand::Input(inputs.len() - 1)
        });
        let flips = self.flips.then(|| {
            inputs.push(ArraySpec::mask("flips", &[count, dims]));
            Operand::Input(inputs.len() - 1)
        });
        let Some(what) = plan.into_only() else {
            return Err(error::value::steps("joined", "a crop"));
        };
        let mut steps = Steps::new(what.operation, inputs, output);
        if what.is_in_place() {
            steps = steps.in_place();
        }
        let temp = steps.temp(&[count, depth], dtype);
        if self.flips && count > 0 && dims > 0 {
            // Zeros, like the gradient of no element of begins.
            let [from, to] = [dims, depth].map(|depth| [count * depth * bytes]);
            let zeros = Move::of_grad(&to, DType::U8, &from, None);
            steps.push(zeros, Operand::Input(1), None, temp.clone());
        }
        let mut put = |operand, from: &View, to: View, dtype| {
            if !to.is_empty() {
                steps.push(
                    Move::of_update(from, to, dtype),
                    operand,
                    None,
                    temp.clone(),
                );
            }
        };
        if let Some(items) = items {
            put(
                items,
                &View::whole(&[count]),
                tuples.slice(&slice![.., 0])?,
                dtype,
            );
        }
        let columns = slice![.., first..first + dims];
        put(Operand::Input(1), &begins, tuples.slice(&columns)?, dtype);
        if let Some(flips) = flips {
            let lowest = if cfg!(target_endian = "big") {
                bytes - 1
            } else {
                0
            };
            let to = of_tuples.slice(&slice![.., first + dims.., lowest])?;
            put(flips, &begins, to, DType::U8);
        }
        steps.push_reporting(what, Operand::Input(0), temp, Operand::Output(0));
        Ok(steps.plan())
    }
}

impl Plan {
    /// Plans a crop of the array `x` with `boxes`. The inputs are x and the index tuples of the boxes. A view is not copied
    /// first.
    ///
    /// ```
    /// use wgslice::{options::{Boxes, CropOptions}, DType, Plan};
    ///
    /// // Of one image of 3 by 3 pixels, the box of 2 by 2 that begins at (1, 0), and one that reaches outside.
    /// let boxes = Boxes { count: 2, box_indices: true, flips: false };
    /// let options = CropOptions { sizes: vec![2, 2], ..CropOptions::default() };
    /// let plan = Plan::crop(&[1, 3, 3], boxes, &options, DType::I32)?;
    /// assert_eq!(plan.shape(), [2, 2, 2]);
    ///
    /// let mut result = [0; 8];
    /// let tuples = [0, 1, 0, 0, 2, 1];
    /// let report = plan.run_cpu(&[(&[1, 2, 3, 4, 5, 6, 7, 8, 9]).into(), (&tuples).into()], &mut [(&mut result).into()])?;
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
        boxes: Boxes,
        options: &CropOptions,
        dtype: DType,
    ) -> Result<Self, Error> {
        let x = x.into_view()?;
        let clamps = options.out_of_range == OutOfRange::Clamp;
        check(&x.shape, boxes, options, clamps)?;
        let dims = options.sizes.len();
        let policy = Policy {
            out_of_range: options.out_of_range,
            ..Policy::default()
        };
        let indices = boxes.indices(dims, policy)?;
        let item = boxes.item_stride(&x);
        let within = options.sizes.iter().map(|&size| Dim::shared(size, 0));
        let walked = [Dim::own(boxes.count, item)].into_iter().chain(within);
        let walked = walked.chain(kept(&x, 1 + dims..x.shape.len()));
        let coordinates = boxes.coordinates(&x, options);
        let crop = Move::of_gather(Operation::Crop, &x, walked, coordinates, indices, dtype)?;
        Ok(Self::from_view(crop, &x))
    }
}

host_methods! {
    /// Crops a batch of host values, such as images at random positions. Box n begins at `begins[n]` in item
    /// `box_indices[n]` of `x`, or in item n without `box_indices`, and is reversed along each dimension d for which `flips[n, d]` is true. If `options.sizes` has k
    /// numbers, `begins` and `flips` have shape `[N, k]`, and `box_indices` has shape `[N]`. The report counts the
    /// boxes that reach outside of their item or name no item.
    ///
    /// ```
    /// use wgslice::{options::CropOptions, Backend};
    ///
    /// let lines = (&[1, 2, 3, 4, 5, 6], &[2, 3]); // two items of three elements
    /// let begins = (&[1, 2], &[2, 1]);
    /// let flips = (&[true, false], &[2, 1]);
    /// let options = CropOptions { sizes: vec![2], ..CropOptions::default() };
    /// let (array, report) = Backend::cpu().crop(lines, begins, None, Some(flips.into()), &options)?;
    /// assert_eq!(array.data, [3, 2, 6, 0]); // the second box has an element beyond its item
    /// assert_eq!(report.out_of_range, 1);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`], [`Error::Length`], or an error of the device.
    #[doc(alias("random_crop", "dynamic_slice", "crop_to_bounding_box"))]
    fn crop<I: IndexElement>(
        view x: T, rows begins: I, maybe box_indices: I, maybe flips: bool, by options: &CropOptions)
        -> reported = |dtype| check_boxes(options, begins, box_indices, flips).and_then(|boxes| {
            let plan = Plan::crop(x, boxes, options, dtype)?;
            boxes.joining(plan, options, I::DTYPE)
        }),
        [x, begins | box_indices, flips];
}

tensor_methods! {
    /// Crops this tensor, such as a batch of images at random positions, as [`Backend::crop`](crate::Backend::crop) does. `flips` are of type bool or uint8; `box_indices` have the type of
    /// `begins`, which may be int32, int64 or uint32.
    ///
    /// On a GPU the work is submitted, not waited for, unless the policy is [`OutOfRange::Error`] and the backend has
    /// no late errors. One dispatch makes all boxes, unless the device's limits require more. If there are
    /// `box_indices` or `flips`, earlier dispatches of the same submission join them with `begins`.
    ///
    /// ```
    /// use wgslice::{options::CropOptions, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let frame = backend.upload((&[1u8, 2, 3, 4, 5, 6, 7, 8, 9], &[1, 3, 3]))?;
    /// let begins = backend.upload((&[0i32, 1, 1, 0], &[2, 2]))?;
    /// let frames = backend.upload((&[0i32, 0], &[2]))?; // both boxes are of the one frame
    /// let options = CropOptions { sizes: vec![2, 2], ..CropOptions::default() };
    /// let (crops, _) = frame.crop(&begins, Some(&frames), None, &options)?;
    /// assert_eq!(crops.to_array::<u8>()?.data, [2, 3, 5, 6, 4, 5, 7, 8]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for begins, box
    /// indices or flips of another type or device; or an error of the device.
    #[doc(alias("random_crop", "dynamic_slice", "crop_to_bounding_box"))]
    fn crop(self x, rows begins, maybe box_indices, maybe flips, by options: &CropOptions)
        -> reported = |dtype| Boxes::of_tensors(begins, box_indices, flips, options).and_then(|boxes| {
            let plan = Plan::crop(x.layout(), boxes, options, dtype)?;
            boxes.joining(plan, options, begins.dtype())
        }),
        [x, begins | box_indices, flips];
}

/// Checks the shapes of begins, box indices and flips. Returns the boxes that these arguments describe.
pub(super) fn check_boxes(
    options: &CropOptions,
    begins: &[usize],
    box_indices: Option<&[usize]>,
    flips: Option<&[usize]>,
) -> Result<Boxes, Error> {
    let dims = options.sizes.len();
    let count = begins.first().copied().unwrap_or(0);
    for (argument, found, needed) in [
        ("begins", Some(begins), &[count, dims][..]),
        ("box_indices", box_indices, &[count]),
        ("flips", flips, &[count, dims]),
    ] {
        if let Some(found) = found.filter(|&found| found != needed) {
            return Err(error::crop::shape(argument, found, needed, &options.sizes));
        }
    }
    Ok(Boxes {
        count,
        box_indices: box_indices.is_some(),
        flips: flips.is_some(),
    })
}

/// Checks the options of a crop of an array of shape `x`. `bounded` says whether boxes may not be longer than dimensions.
pub(super) fn check(
    x: &[usize],
    boxes: Boxes,
    options: &CropOptions,
    bounded: bool,
) -> Result<(), Error> {
    let CropOptions { sizes, strides, .. } = options;
    let dims = sizes.len();
    if x.len() <= dims {
        return Err(error::crop::rank(x, sizes));
    }
    if !strides.is_empty() && strides.len() != dims {
        return Err(error::crop::strides(strides, sizes));
    }
    if !boxes.box_indices && boxes.count != x[0] {
        return Err(error::crop::items(boxes.count, x[0]));
    }
    for (d, &size) in sizes.iter().enumerate() {
        let step = options.step(d);
        if step == 0 {
            return Err(error::crop::stride_zero(1 + d));
        }
        let last = size.saturating_sub(1) as u128 * step.unsigned_abs() as u128;
        let long = size > 0 && last >= x[1 + d] as u128;
        if long && bounded {
            return Err(error::crop::box_size(1 + d, size, step, x));
        }
    }
    Ok(())
}
