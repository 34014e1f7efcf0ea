use super::*;
use std::{collections::HashSet, ops::Range};
use wgslice::{
    Plan, View,
    options::{Boxes, CropOptions, IndexShape, PasteOptions},
};

/// The number of boxes, and which integers their tuples have in addition to the start indices.
#[derive(Clone, Copy, Debug)]
pub struct BoxTuples {
    /// The number of boxes.
    pub count: usize,
    /// True if a tuple begins with a box index.
    pub box_indices: bool,
    /// True if a tuple ends with flips.
    pub flips: bool,
}

impl BoxTuples {
    /// Returns the boxes that a plan takes as one array of tuples, with start indices of this type in `dim_count`
    /// dimensions.
    pub fn of(self, dim_count: usize, index: DType) -> Boxes<IndexShape> {
        let depth = usize::from(self.box_indices) + dim_count * (1 + usize::from(self.flips));
        let shape = [self.count, depth];
        Boxes::of_tuples((&shape, index), self.box_indices, self.flips)
    }
}

/// A crop: boxes of equal size, cut from the items of `params`.
#[derive(Clone, Debug)]
pub struct Crop<'a> {
    /// The array from which boxes are cut, with the items along its first dimension, and a tuple for each box. A tuple
    /// has a box index (if there are box indices), a start index for each cropped dimension, and a flip for each
    /// cropped dimension (if there are flips). Boxes outside of their items, and box indices outside of the array, can
    /// be clamped; `wrap` has no effect.
    pub from: Gathering<'a>,
    /// The number of boxes, and whether their tuples have box indices and flips.
    pub boxes: BoxTuples,
    /// The size of each box along each cropped dimension, in elements.
    pub sizes: Vec<usize>,
    /// The step from one element of a box to the next, along each cropped dimension, in positions of the item. Can be
    /// negative.
    pub strides: Vec<i64>,
}

impl Crop<'_> {
    /// Returns the crop's options, with this policy for boxes that are out of range.
    pub fn options(&self, out_of_range: OutOfRange) -> CropOptions {
        let to_stride = |&stride: &i64| isize::try_from(stride).unwrap_or_default();
        CropOptions {
            sizes: self.sizes.clone(),
            strides: self.strides.iter().map(to_stride).collect(),
            out_of_range,
        }
    }

    /// Splits the tuples into box indices, start indices and flips. Parts that the tuples lack have no data.
    pub fn parts(&self) -> [Tensor; 3] {
        let (index_columns, dim_count) = (usize::from(self.boxes.box_indices), self.sizes.len());
        let column_count = self.from.indices.shape[1];
        let columns_of = |columns: Range<usize>| {
            let rows = self.from.indices.data.chunks_exact(column_count.max(1));
            Tensor {
                shape: vec![self.boxes.count, columns.len()],
                data: rows.flat_map(|row| row[columns.clone()].to_vec()).collect(),
            }
        };
        let mut box_indices = columns_of(0..index_columns);
        box_indices.shape.truncate(1);
        [
            box_indices,
            columns_of(index_columns..index_columns + dim_count),
            columns_of(index_columns + dim_count..column_count),
        ]
    }

    /// Returns the reference's result for an array with these values and this shape.
    ///
    /// # Errors
    ///
    /// Fails with the errors of the reference.
    pub fn cropped<T: Clone + Default>(
        &self,
        values: &[T],
        shape: &[usize],
    ) -> Result<Gathered<T>, ReferenceError> {
        self.with_boxes(|boxes| reference::crop(values, shape, boxes))
    }

    /// Calls `f` with the boxes in the reference's form.
    fn with_boxes<R>(&self, f: impl FnOnce(reference::Boxes<'_>) -> R) -> R {
        let [box_indices, begins, flips] = self.parts();
        let flips: Vec<bool> = flips.data.iter().map(|&flip| flip != 0).collect();
        f(reference::Boxes {
            begins: &begins.data,
            box_indices: self.boxes.box_indices.then_some(&box_indices.data),
            flips: self.boxes.flips.then_some(&flips),
            count: self.boxes.count,
            sizes: &self.sizes,
            strides: &self.strides,
            clamp: self.from.indexing.clamp,
            circular: false,
        })
    }

    /// Returns the start indices on a device, and the box indices and the flips if there are any.
    fn upload_boxes(&self, run: &DeviceRun<'_>) -> Result<BoxTensors, Error> {
        let [box_indices, begins, flips] = self.parts();
        let box_indices = (self.boxes.box_indices).then(|| run.upload_indices(&box_indices));
        let bytes = flips.data.iter().map(|&flip| u8::from(flip != 0)).collect();
        let flips = (self.boxes.flips).then(|| run.upload_bytes(bytes, DType::Bool, &flips.shape));
        Ok((
            run.upload_indices(&begins)?,
            box_indices.transpose()?,
            flips.transpose()?,
        ))
    }

    /// Returns the options, with the policy of the variant. Leaves out the strides if all of them are 1.
    fn options_of(&self, run: &DeviceRun<'_>) -> CropOptions {
        let mut options = self.options(run.out_of_range_policy());
        if options.strides.iter().all(|&stride| stride == 1) {
            options.strides.clear();
        }
        options
    }
}

type BoxTensors = (
    wgslice::Tensor,
    Option<wgslice::Tensor>,
    Option<wgslice::Tensor>,
);

/// Returns the boxes for these start indices and, if there are any, box indices and flips.
fn make_boxes((begins, box_indices, flips): &BoxTensors) -> Boxes<&wgslice::Tensor> {
    let boxes = Boxes::new(begins);
    let boxes = match box_indices {
        Some(box_indices) => boxes.of_items(box_indices),
        None => boxes,
    };
    match flips {
        Some(flips) => boxes.flipped(flips),
        None => boxes,
    }
}

impl<'a> Op<'a> for Crop<'a> {
    const RANDOM_WEIGHT: usize = 2;

    fn from_case(case: &'a Case) -> Result<Self, BadLine> {
        let args = case.arguments();
        let (from, sizes) = (Gathering::from_case(case)?, args.sizes("sizes")?);
        let indices = from.indices;
        let boxes = BoxTuples {
            count: indices.shape.first().copied().unwrap_or(0),
            box_indices: args.is_given("box_indices", "yes")?,
            flips: args.is_given("flips", "yes")?,
        };
        let depth = usize::from(boxes.box_indices) + sizes.len() * (1 + usize::from(boxes.flips));
        if indices.shape[..] != [boxes.count, depth] {
            return Err(case.bad(format!("the tuples of boxes must have {depth} integers")));
        }
        Ok(Self {
            from,
            boxes,
            sizes,
            strides: args.integers("strides")?,
        })
    }

    fn reference_answer(&self) -> Result<Answer, ReferenceError> {
        self.from
            .reference_answer(|x, _, _| self.cropped(&x.data, &x.shape))
    }

    fn run(&self, run: &DeviceRun<'_>) -> Result<Started, Error> {
        let x = self.from.params.upload(run)?;
        let box_tensors = self.upload_boxes(run)?;
        let (tensor, report) = x.crop(make_boxes(&box_tensors), &self.options_of(run))?;
        Ok(Started::new(tensor, report))
    }

    fn random_case(operation: Operation, rng: &mut Rng) -> Case {
        let (source_shape, params_shape, mut args) = random_params(rng);
        // A shader supports four dimensions in addition to the items' dimension. A pair of uncropped dimensions counts
        // as one.
        let inner_rank = params_shape.len() - 1;
        let max_dims = if inner_rank > 4 {
            8_usize.saturating_sub(inner_rank)
        } else {
            inner_rank
        };
        let dim_count = rng.usize(..=max_dims);
        let has_box_indices = rng.bool();
        let has_flips = rng.bool();
        let box_count = match has_box_indices {
            true => rng.usize(..6),
            false => params_shape[0] + usize::from(rng.u8(..40) == 0),
        };
        let mut sizes: Vec<usize> = params_shape[1..=dim_count]
            .iter()
            .map(|&size| match rng.u8(..12) {
                0 => 0,
                1 => size,
                2 => size + rng.usize(..4),
                _ => rng.usize(1..=size.max(1)),
            })
            .collect();
        let inner_count: usize = params_shape[1 + dim_count..].iter().product();
        // Halves sizes until the result is small enough. If the uncropped dimensions alone are too large, the loop ends
        // when no size is above 1.
        while box_count * inner_count * sizes.iter().product::<usize>() > 2 * MAX_ELEMENTS
            && sizes.iter().any(|&size| size > 1)
        {
            let d = rng.usize(..dim_count);
            sizes[d] = sizes[d].div_ceil(2);
        }
        let strides: Vec<i64> = sizes
            .iter()
            .map(|_| match rng.u8(..40) {
                0 => 0,
                1 => [-1 << 20, 1 << 20][rng.usize(..2)],
                2..20 => 1,
                20..28 => -1,
                _ => rng.i64(-4..=4),
            })
            .collect();
        let may_be_outside = rng.bool();
        let mut data = Vec::new();
        for _ in 0..box_count {
            if has_box_indices {
                let item_count = params_shape[0] as i64;
                data.push(match rng.u8(..if may_be_outside { 12 } else { 1 }) {
                    10 => [-1, item_count, i64::MAX, i64::MIN][rng.usize(..4)],
                    _ => rng.i64(0..item_count.max(1)),
                });
            }
            for d in 0..dim_count {
                let (size, item_size) = (sizes[d] as i64, params_shape[1 + d] as i64);
                let reach = (size - 1).max(0).saturating_mul(strides[d]);
                let (low, high) = match reach < 0 {
                    true => (reach.saturating_neg().min(item_size), item_size - 1),
                    false => (0, item_size.saturating_sub(1).saturating_sub(reach)),
                };
                data.push(match rng.u8(..if may_be_outside { 20 } else { 1 }) {
                    0..8 => rng.i64(low..=high.max(low)),
                    8..16 => rng.i64(-size - 1..=item_size + size),
                    16 => (1 << 32) + rng.i64(-2..=item_size),
                    17 => [i64::MIN, i64::MAX, -1 << 32][rng.usize(..3)],
                    _ => -rng.i64(0..=2 * item_size),
                });
            }
            if has_flips {
                data.extend((0..dim_count).map(|_| i64::from(rng.bool())));
            }
        }
        let depth = usize::from(has_box_indices) + dim_count * (1 + usize::from(has_flips));
        let indices = Tensor {
            shape: vec![box_count, depth],
            data,
        };
        for (name, is_given) in [("box_indices", has_box_indices), ("flips", has_flips)] {
            if is_given {
                args.insert(name.into(), "yes".into());
            }
        }
        args.insert("sizes".into(), sizes.into());
        args.insert("strides".into(), strides.into());
        draw_policy(rng, &mut args);
        args.remove("negative");
        let tensors = [
            ("params", draw_tensor(rng, &source_shape)),
            ("indices", indices),
        ];
        Case::new(operation, tensors, args)
    }

    fn tuples_and_indexing(&self) -> Option<(&'a Tensor, Indexing)> {
        self.from.tuples_and_indexing()
    }
}

/// Boxes of equal size, written into the items of `params`.
#[derive(Clone, Debug)]
pub struct Paste<'a> {
    /// The crop that would cut the boxes out again. If its params have a view, only elements of the view can change.
    pub crop: Crop<'a>,
    /// The elements of the boxes.
    pub patches: &'a Tensor,
    /// True if positions are taken modulo the sizes of the pasted dimensions.
    pub circular: bool,
}

impl Paste<'_> {
    /// Returns the options of the paste. `crop` has the options of the crop.
    pub fn options(&self, crop: CropOptions, unique: bool) -> PasteOptions {
        PasteOptions {
            strides: crop.strides,
            out_of_range: crop.out_of_range,
            circular: self.circular,
            unique,
        }
    }

    /// Returns the params after the reference has written the boxes, and the numbers of the boxes that extend beyond
    /// their items. `values` and `patches` are the elements of the params and of the boxes.
    ///
    /// # Errors
    ///
    /// Fails with the errors of the reference.
    pub fn pasted<T: Clone>(
        &self,
        values: &[T],
        patches: &[T],
    ) -> Result<Scattered<T>, ReferenceError> {
        if self.patches.shape.len() <= self.crop.sizes.len() {
            return Err(ReferenceError {
                kind: "crop_shape",
                message: "patches have too few dimensions".into(),
            });
        }
        let Params { tensor, view } = &self.crop.from.params;
        // After the view's steps, `view_indices` holds the index in the tensor of each element of the view.
        let view_indices = Tensor {
            data: (0..values.len() as i64).collect(),
            shape: tensor.shape.clone(),
        };
        let view_indices = apply_view_steps(&view_indices, view)?;
        let to_place = |&index: &i64| usize::try_from(index).unwrap_or_default();
        let places: Vec<usize> = view_indices.data.iter().map(to_place).collect();
        let old_values: Vec<T> = places.iter().map(|&place| values[place].clone()).collect();
        let pasted_view = self.crop.with_boxes(|boxes| {
            let circular = self.circular;
            let boxes = reference::Boxes { circular, ..boxes };
            let shape = &self.patches.shape;
            reference::paste(&old_values, &view_indices.shape, patches, shape, boxes)
        })?;
        let mut seen_places = HashSet::new();
        if !places.iter().all(|&place| seen_places.insert(place)) {
            return Err(ReferenceError {
                kind: "repeats",
                message: "the view selects an element twice".into(),
            });
        }
        let mut new_values = values.to_vec();
        for (place, value) in places.into_iter().zip(pasted_view.values) {
            new_values[place] = value;
        }
        Ok(Scattered {
            values: new_values,
            bad_rows: pasted_view.bad_rows,
        })
    }
}

impl<'a> Op<'a> for Paste<'a> {
    const DROPS_INVALID_ROWS: bool = true;
    const RANDOM_WEIGHT: usize = 3;

    fn from_case(case: &'a Case) -> Result<Self, BadLine> {
        let (mut crop, patches) = (Crop::from_case(case)?, case.tensor("patches")?);
        // The patches determine the sizes of boxes.
        if let Some(sizes) = patches.shape.get(1..=crop.sizes.len()) {
            crop.sizes = sizes.to_vec();
        }
        Ok(Self {
            crop,
            patches,
            circular: case.arguments().is_given("circular", "yes")?,
        })
    }

    fn reference_answer(&self) -> Result<Answer, ReferenceError> {
        let tensor = self.crop.from.params.tensor;
        let pasted = self.pasted(&tensor.data, &self.patches.data)?;
        Ok(scatter_answer(pasted, &tensor.shape))
    }

    fn run(&self, run: &DeviceRun<'_>) -> Result<Started, Error> {
        let Params { tensor, view } = &self.crop.from.params;
        let options = self.options(self.crop.options_of(run), run.is_unique());
        let (mut tensor, patches) = (run.upload_tensor(tensor)?, run.upload_tensor(self.patches)?);
        let report = if view.is_empty() {
            let box_tensors = self.crop.upload_boxes(run)?;
            tensor.paste(&patches, make_boxes(&box_tensors), &options)?
        } else {
            let whole_view = View::new(tensor.shape())?;
            let dest = view
                .iter()
                .try_fold(whole_view, |view, step| step.of_view(&view))?;
            let tuples = run.upload_indices(self.crop.from.indices)?;
            let boxes = self.crop.boxes.of(self.crop.sizes.len(), tuples.dtype());
            let plan = Plan::paste(dest, patches.shape(), boxes, &options, tensor.dtype())?;
            wgslice::Tensor::run_into(&plan, &[&patches, &tuples], &mut [&mut tensor])?
        };
        Ok(Started::new(tensor, report))
    }

    fn random_case(operation: Operation, rng: &mut Rng) -> Case {
        let mut case = Crop::random_case(operation, rng);
        let crop = Crop::from_case(&case).expect("a random crop is one");
        let x = crop.from.params.reference_array().expect("its view is one");
        let inner_sizes = &x.shape[1 + crop.sizes.len()..];
        let mut shape = [&[crop.boxes.count], &crop.sizes[..], inner_sizes].concat();
        disturb_shape(rng, &mut shape);
        case.tensors
            .insert("patches".into(), draw_tensor(rng, &shape));
        if rng.u8(..4) == 0 {
            case.args.insert("circular".into(), "yes".into());
        }
        case
    }

    fn tuples_and_indexing(&self) -> Option<(&'a Tensor, Indexing)> {
        self.crop.tuples_and_indexing()
    }

    /// Returns whether no element of a box is overwritten by a later box. Elements outside of their items do not count.
    fn is_unique(&self) -> bool {
        let params = self.crop.from.params.tensor;
        let numbers: Vec<i64> = (1..=self.patches.data.len() as i64).collect();
        let Ok(pasted) = self.pasted(&vec![0; params.data.len()], &numbers) else {
            return false;
        };
        let remaining_count = pasted.values.iter().filter(|&&number| number > 0).count();
        let cropped_ones = self.crop.from.params.reference_array().and_then(|x| {
            self.crop.with_boxes(|boxes| {
                let circular = self.circular;
                let boxes = reference::Boxes { circular, ..boxes };
                reference::crop(&vec![1; x.data.len()], &x.shape, boxes)
            })
        });
        cropped_ones
            .is_ok_and(|cropped_ones| cropped_ones.values.iter().sum::<usize>() == remaining_count)
    }
}
