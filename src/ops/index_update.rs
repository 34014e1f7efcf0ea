//! `index_update`: NumPy's `x[…] = value` with arrays, NumPy's `add.at`, and JAX's `x.at[…]`.
//!
//! A plan holds all positions of its expression. It divides x into numbered slices of one length, the longest for which
//! the expression selects only whole slices. The update is a scatter of rows by the numbers of the selected slices. The
//! value is first broadcast to the selection, unless it has the selection's shape. If the expression has no arrays, a
//! single move replaces the view that it selects.
//!
//! If a value replaces short slices, the CPU can compute the location of each slice while it writes. Then only GPUs
//! need the list of numbers.

use super::{
    array_index::{ArraySelector, SelectedElements},
    methods::{host_methods, tensor_methods},
    scatter_nd::{Combine, ScatterOptions},
    strided_slice_update::broadcast_to_slice,
};
use crate::prelude::*;
use crate::{
    DType, Error, IntoView, Plan, View,
    cpu::{Dest, Threads, outer},
    element::zeroed,
    error,
    moves::{Move, Operation},
    plan::{ArraySpec, HeldTuples, Operand, Shortcut, Steps},
    shape,
    spec::{IndexItem, IndexSpec},
};
use alloc::sync::Arc;
use bytemuck::Pod;
use core::{fmt::Debug, ops::Add};

/// The maximum size in bytes of slices that `SelectedSlices::write` writes. For longer slices a scatter is as fast and
/// uses several threads.
const MAX_WRITTEN_BYTES: usize = 64;

impl Plan {
    /// Plans NumPy's `x[…] = value` in place, or another combination of the value with the selected elements, such as
    /// NumPy's `add.at` and JAX's `x.at[…].add`. The only input is the value; the plan holds the arrays of the
    /// expression. If `x` is a view, the other elements of its memory keep their values.
    ///
    /// The value is broadcast to the shape of the selection, which is the shape of the result of [`Plan::index`]. If it
    /// has more dimensions, leading dimensions of size 1 are dropped first. If an element is selected more than once,
    /// its values apply in row-major order of the selection: the last value replaces the others, and other combinations
    /// use all values.
    ///
    /// ```
    /// use wgslice::{options::Combine, DType, Plan};
    ///
    /// // numpy.add.at(x, [0, 2, 0], [1, 10, 100])
    /// let plan = Plan::index_update(&[3], &"[0, 2, 0]".parse()?, &[3], Combine::Add, DType::I32)?;
    /// let mut x = [5, 5, 5];
    /// plan.run_cpu(&[(&[1, 10, 100]).into()], &mut [(&mut x).into()])?;
    /// assert_eq!(x, [106, 5, 15]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`]: the kinds of [`Plan::index`], then `Broadcast` for the value, then `Repeats` if `x` selects
    /// an element twice, as a broadcast does, or `Undecided` if the search for such an element takes too long, then
    /// `Undefined` for a combination that the element type does not have; [`Error::ShapeTooLarge`];
    /// [`Error::OutOfHostMemory`].
    #[doc(alias("index_put", "add_at"))]
    pub fn index_update(
        x: impl IntoView,
        spec: &IndexSpec,
        value: impl IntoView,
        combine: Combine,
        dtype: DType,
    ) -> Result<Self, Error> {
        let (x, value) = (x.into_view()?, value.into_view()?);
        let selection = x.selected_elements(spec)?;
        let from = broadcast_to_slice(&value, &selection.shape)?;
        x.check_no_repeats()?;
        if !combine.is_defined_for(dtype) {
            return Err(error::scatter::undefined_combination(combine, dtype));
        }
        if let (Some(dest), Combine::Update) = (&selection.view, combine) {
            let update = Move::of_update(&from, dest.clone(), dtype);
            return Ok(Self::from_view(update, &value));
        }
        let input = ArraySpec::new("value", &value, dtype);
        let output = ArraySpec::result(&x.source, dtype);
        let operation = Operation::Named("index_update");
        let mut plan = Steps::new(operation, vec![input], output).in_place();
        if !from.is_empty() {
            let elements = shape::elements(&x.source)?;
            let slices = selection.slices(elements);
            let (slice_length, count) = (slices.length, slices.count());
            let updates_shape = [count, slice_length];
            let mut updates = Operand::Input(0);
            if !from.is_whole() {
                let broadcast_value = plan.temp(&updates_shape, dtype);
                plan.push(
                    Move::from_view(from.clone(), dtype),
                    updates,
                    None,
                    broadcast_value.clone(),
                );
                updates = broadcast_value;
            }
            let options = ScatterOptions {
                combine: Some(combine),
                // Masks and slices select no element twice.
                unique: !spec
                    .items()
                    .iter()
                    .any(|item| matches!(item, IndexItem::Positions { .. })),
                ..ScatterOptions::default()
            };
            let shape = [elements / slice_length, slice_length];
            let scatter =
                Self::tensor_scatter_nd(&shape, &[count, 1], &updates_shape, options, dtype)?;
            let Some(scatter) = scatter.into_single_move() else {
                return Err(error::value::steps("a step of an update", "a scatter"));
            };
            let index_dtype = slices.index_dtype;
            // If only one dimension has several positions, its list is as long as the list of numbers, so writing by
            // lists would save no memory.
            let has_several_lists = slices
                .number_lists
                .iter()
                .filter(|list| list.len() > 1)
                .count()
                > 1;
            if combine == Combine::Update
                && has_several_lists
                && slice_length * dtype.size() <= MAX_WRITTEN_BYTES
            {
                let slices = Arc::new(slices);
                let tuples = HeldTuples::Slices(slices.clone());
                plan.push_tuples(scatter, (index_dtype, tuples), updates, Operand::Output(0))?;
                plan = plan.with_shortcut(Some(Shortcut::Write(Box::new(from), slices)));
            } else {
                let tuples = HeldTuples::Bytes(slices.numbers()?);
                plan.push_tuples(scatter, (index_dtype, tuples), updates, Operand::Output(0))?;
            }
        }
        Ok(plan.plan())
    }
}

/// A selection as slices of one length.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SelectedSlices {
    /// The length of a slice in elements.
    length: usize,
    /// The integer type of slice numbers: 32 bits if these are enough for all slices of the array.
    index_dtype: DType,
    /// The number of a slice is `first_number` plus one entry of each list in `number_lists`.
    first_number: i64,
    /// A list for each selector of slices, outermost first: the number that each of its positions adds.
    number_lists: Vec<Vec<i64>>,
}

impl SelectedElements {
    /// Returns the longest slices that the selection consists of, in an array of `elements` elements. The selection
    /// must not be empty.
    fn slices(&self, elements: usize) -> SelectedSlices {
        let (mut run, mut selectors) = (1, &self.selectors[..]);
        while let [outer_selectors @ .., ArraySelector::Dim(size, stride)] = selectors
            && (*size == 1 || *stride == usize::cast_signed(run))
        {
            (run, selectors) = (run * size, outer_selectors);
        }
        let mut length = common_divisor(common_divisor(run, elements), self.offset);
        for selector in selectors {
            let distances = match selector {
                ArraySelector::Dim(1, _) => &[],
                ArraySelector::Dim(_, stride) => core::slice::from_ref(stride),
                ArraySelector::List(list) => &list[..],
            };
            for distance in distances {
                length = common_divisor(length, distance.unsigned_abs());
            }
        }
        let dim_selector = ArraySelector::Dim(run / length, length.cast_signed());
        let divisor = length as i64;
        let numbers_of_selector = |selector: &ArraySelector| match selector {
            ArraySelector::Dim(size, stride) => {
                let number_step = *stride as i64 / divisor;
                (0..*size as i64).map(|at| at * number_step).collect()
            }
            ArraySelector::List(list) => list.iter().map(|&at| at as i64 / divisor).collect(),
        };
        SelectedSlices {
            length,
            index_dtype: match i32::try_from(elements / length) {
                Ok(_) => DType::I32,
                Err(_) => DType::I64,
            },
            first_number: self.offset as i64 / divisor,
            number_lists: selectors
                .iter()
                .chain([&dim_selector])
                .map(numbers_of_selector)
                .collect(),
        }
    }
}

impl SelectedSlices {
    /// Returns the number of slices.
    fn count(&self) -> usize {
        let sizes = self.number_lists.iter().map(Vec::len);
        sizes.fold(1, usize::saturating_mul)
    }

    /// Returns the numbers of the slices, in row-major order of the selection.
    pub(crate) fn numbers(&self) -> Result<Arc<[u8]>, Error> {
        match self.index_dtype {
            DType::I32 => self.bytes::<i32>(),
            _ => self.bytes::<i64>(),
        }
    }

    /// Writes the elements of `value`, a view of `source`, to the slices in `dest`, on the CPU.
    pub(crate) fn write(
        &self,
        value: &View,
        dtype: DType,
        source: &[u8],
        dest: &mut [u8],
    ) -> Result<(), Error> {
        let element_bytes = dtype.size();
        let slice_bytes = self.length * element_bytes;
        let broadcast_bytes;
        let (values, step) = if value.is_whole() {
            (source, slice_bytes)
        } else if value.strides.iter().all(|&stride| stride == 0) {
            broadcast_bytes =
                source[value.offset * element_bytes..][..element_bytes].repeat(self.length);
            (&broadcast_bytes[..], 0)
        } else {
            let mut value_bytes = zeroed(value.len() * element_bytes)?;
            value.copy(
                dtype,
                source,
                Dest::Old(&mut value_bytes),
                Threads::default(),
            );
            broadcast_bytes = value_bytes;
            (&broadcast_bytes[..], slice_bytes)
        };
        // Converts a distance in slices to a distance in bytes. A negative distance wraps.
        let distance = |&number: &i64| {
            let slices = isize::try_from(number).expect("slices are in memory");
            (slices * slice_bytes.cast_signed()).cast_unsigned()
        };
        let distance_lists: Vec<Vec<usize>> = self
            .number_lists
            .iter()
            .map(|list| list.iter().map(distance).collect())
            .collect();
        let first_slice = (distance(&self.first_number), slice_bytes);
        outer::write(first_slice, &distance_lists, (values, step), dest);
        Ok(())
    }

    fn bytes<N: Pod + Add<Output = N> + TryFrom<i64, Error: Debug>>(
        &self,
    ) -> Result<Arc<[u8]>, Error> {
        let to_index = |number: i64| N::try_from(number).expect("no more than there are slices");
        let mut numbers = zeroed::<N>(self.count())?;
        numbers[0] = to_index(self.first_number);
        // The numbers from the inner lists are repeated for each position of the next outer list. The first position
        // comes last: it overwrites the numbers from which the numbers of the other positions are made.
        let mut count = 1;
        for list in self.number_lists.iter().rev() {
            for (position, &distance) in list.iter().enumerate().rev() {
                let distance = to_index(distance);
                if position == 0 {
                    numbers[..count]
                        .iter_mut()
                        .for_each(|to| *to = *to + distance);
                } else {
                    let (earlier_numbers, later_numbers) = numbers.split_at_mut(position * count);
                    let pairs = later_numbers[..count]
                        .iter_mut()
                        .zip(&earlier_numbers[..count]);
                    pairs.for_each(|(to, from)| *to = *from + distance);
                }
            }
            count *= list.len();
        }
        Ok(bytemuck::cast_slice(&numbers).into())
    }
}

/// Returns the greatest common divisor.
fn common_divisor(mut a: usize, mut b: usize) -> usize {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

host_methods! {
    /// Returns a copy of `x` in which a value replaces the elements that an expression selects, or is combined with
    /// them: NumPy's `x[…] = value` and `add.at`. See [`Plan::index_update`].
    ///
    /// ```
    /// use wgslice::{options::Combine, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let (x, spec) = ((&[1, 2, 3, 4, 5, 6], &[2, 3]), ":, [0, 2]".parse()?);
    /// let changed = backend.index_update(x, &spec, (&[0, 9], &[2]), Combine::Update)?;
    /// assert_eq!(changed.data, [0, 2, 9, 0, 5, 9]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Plan::index_update`]; [`Error::Length`]; or an error of the device, such as
    /// [`Error::DTypeOnDevice`] for element types that the device cannot combine.
    #[doc(alias("index_put", "add_at"))]
    fn index_update(rows x: T, by spec: &IndexSpec, view value: T, by combine: Combine)
        -> made = |dtype| Plan::index_update(x, spec, value, combine, dtype), [value, x];
}

tensor_methods! {
    /// Writes a value to the elements of this tensor that an expression selects, or combines it with them, in place:
    /// NumPy's `x[…] = value` and `add.at`. See [`Plan::index_update`].
    ///
    /// Only this tensor changes: memory shared with another tensor, such as a clone or a slice, is copied first. On a
    /// GPU the call submits the work and does not wait for it.
    ///
    /// ```
    /// use wgslice::{options::Combine, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let mut votes = backend.upload((&[0u32; 4], &[4]))?;
    /// let one = backend.upload((&[1u32], &[]))?;
    /// votes.index_update(&"[3, 1, 3]".parse()?, &one, Combine::Add)?;
    /// assert_eq!(votes.to_vec::<u32>()?, [0, 1, 0, 2]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Plan::index_update`]; [`Error::Argument`] for a value of another type or on another device; or
    /// an error of the device, such as [`Error::DTypeOnDevice`] for element types that the device cannot combine. An
    /// error leaves the tensor unchanged.
    #[doc(alias("index_put", "add_at"))]
    fn index_update(self x, by spec: &IndexSpec, like value, by combine: Combine)
        -> changed = |dtype| Plan::index_update(x.shape(), spec, value.layout(), combine, dtype), [value];
}
