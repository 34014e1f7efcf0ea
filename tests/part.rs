//! Tests parts of plans for slices, views and gathers. Each part makes its box of the reference's result and reads only
//! its box of the source. Unless a tuple is out of range, the box of the source is as small as possible.

use crate::harness::{kind, run_bytes};
use std::ops::Range;
use wgslice::{
    DType, Error, Part, Plan, Values, View,
    options::{GatherElementsOptions, GatherNdOptions, GatherOptions, NegativeIndex, OutOfRange},
    slice,
};
use wgslice_vectors::{
    Call, Case, Expectation, Gathering, Operation, Tensor,
    random::{answered, case_of},
};

/// A generator of pseudorandom numbers, which are the same in every run.
struct RandomNumbers(u64);

impl RandomNumbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1);
        (self.0 >> 33) as usize % end.max(1)
    }
}

/// A plan, the shape of its source, its indices, and its known result. The source holds the numbers 1, 2, 3, …, so
/// zeros in the result do not come from the source.
struct KnownPlan {
    plan: Plan,
    source_shape: Vec<usize>,
    indices: Option<Tensor>,
    result: Tensor,
}

/// Plans a gather from a view. Calls `make_plan` with the view, the shape of the indices and the options. Returns
/// `None` if `make_plan` fails.
fn plan_gather(
    from: &Gathering<'_>,
    axis: Option<i64>,
    batch_dims: i64,
    make_plan: impl FnOnce(&View, &[usize], GatherOptions) -> Result<Plan, Error>,
) -> Option<(Plan, Option<Tensor>)> {
    let whole = View::new(&from.params.tensor.shape).unwrap();
    let step = |view: View, step: &wgslice_vectors::Step| step.of_view(&view).unwrap();
    let view = from.params.view.iter().fold(whole, step);
    let options = GatherOptions {
        axis: axis.map(|axis| axis.try_into().unwrap()),
        batch_dims: batch_dims.try_into().unwrap(),
        out_of_range: if from.indexing.clamp {
            OutOfRange::Clamp
        } else {
            OutOfRange::Ignore
        },
        negative: if from.indexing.wrap {
            NegativeIndex::Wrap
        } else {
            NegativeIndex::Invalid
        },
    };
    let plan = make_plan(&view, &from.indices.shape, options).ok()?;
    Some((plan, Some(from.indices.clone())))
}

impl KnownPlan {
    /// Plans a case. Returns `None` if the case is an error and has no result even with zeros for out-of-range tuples.
    fn of(mut case: Case, dtype: DType) -> Option<Self> {
        let name = if case.tensors.contains_key("params") {
            "params"
        } else {
            "input"
        };
        let tensor = case.tensors.get_mut(name)?;
        tensor.data = (1..).take(tensor.data.len()).collect();
        let source_shape = tensor.shape.clone();
        let case = answered(case).ok()?;
        let result = match &case.expected {
            Expectation::Success(result) => result.clone(),
            Expectation::Error { zero_fill, .. } => zero_fill.clone()?,
        };
        let (plan, indices) = match Call::of(&case).ok()? {
            Call::StridedSlice(call) => {
                let spec = wgslice::SliceSpec::try_from(&call.spec).ok()?;
                (Plan::slice(&source_shape, &spec, dtype).ok()?, None)
            }
            Call::View(call) => {
                let whole = View::new(&source_shape).unwrap();
                let view = call
                    .steps
                    .iter()
                    .try_fold(whole, |view, step| step.of_view(&view));
                (Plan::contiguous(view.ok()?, dtype).unwrap(), None)
            }
            Call::GatherNd(call) => {
                let plan = |view: &View, indices_shape: &[usize], options: GatherOptions| {
                    let options = GatherNdOptions {
                        batch_dims: options.batch_dims,
                        out_of_range: options.out_of_range,
                        negative: options.negative,
                    };
                    Plan::gather_nd(view, indices_shape, options, dtype)
                };
                plan_gather(&call.from, None, call.batch_dims as i64, plan)?
            }
            Call::Gather(call) => {
                let plan = |view: &View, indices_shape: &[usize], options| {
                    Plan::gather(view, indices_shape, options, dtype)
                };
                plan_gather(&call.from, Some(call.axis), call.batch_dims, plan)?
            }
            Call::GatherElements(call) => {
                let axis = call.axis.try_into().unwrap();
                let plan = |view: &View, indices_shape: &[usize], options: GatherOptions| {
                    let options = GatherElementsOptions {
                        out_of_range: options.out_of_range,
                        negative: options.negative,
                    };
                    Plan::gather_elements(view, indices_shape, axis, options, dtype)
                };
                plan_gather(&call.from, Some(call.axis), 0, plan)?
            }
            _ => panic!("{} has no parts", case.line),
        };
        Some(Self {
            plan,
            source_shape,
            indices,
            result,
        })
    }

    fn part(&self, ranges: &[Range<usize>]) -> Part {
        let cut = |indices| cut_box(indices, &self.plan.part_of_indices(ranges).unwrap()).data;
        let indices = self.indices.as_ref().map(cut);
        let indices = indices.as_ref().map(Values::from);
        self.plan.part(ranges, indices).unwrap()
    }

    /// Checks the part that gives a box of the result.
    fn check(&self, ranges: &[Range<usize>], dtype: DType) {
        let part = self.part(ranges);
        let expected = cut_box(&self.result, ranges);
        assert_eq!(part.plan.shape(), expected.shape);
        // The smallest box of the source that contains every element in `expected`. Element n of the source, counted
        // from 0 in row-major order, has the value n + 1. Zeros in `expected` do not come from the source.
        let mut smallest_box: Vec<Option<Range<usize>>> = vec![None; self.source_shape.len()];
        for &number in expected.data.iter().filter(|&&number| number > 0) {
            let mut remaining = usize::try_from(number).unwrap() - 1;
            for (range, &size) in smallest_box.iter_mut().zip(&self.source_shape).rev() {
                let position = remaining % size;
                remaining /= size;
                let covered = range.take().unwrap_or(position..position + 1);
                *range = Some(covered.start.min(position)..covered.end.max(position + 1));
            }
        }
        let smallest_box: Vec<_> = smallest_box
            .into_iter()
            .map(Option::unwrap_or_default)
            .collect();
        // If tuples are out of range, the box also covers the positions that they select in other dimensions.
        if expected.data.contains(&0) {
            let is_inside = |(inner, outer): (&Range<usize>, &Range<usize>)| {
                inner.is_empty() || outer.start <= inner.start && inner.end <= outer.end
            };
            assert!(smallest_box.iter().zip(&part.source).all(is_inside));
        } else {
            assert_eq!(part.source, smallest_box, "{} at {ranges:?}", self.plan);
        }
        let numbers = Tensor {
            shape: self.source_shape.clone(),
            data: (1..).take(self.source_shape.iter().product()).collect(),
        };
        let source = low_bytes(&cut_box(&numbers, &part.source).data, dtype);
        let mut dest = vec![0xa5; part.plan.outputs()[0].bytes()];
        let indices = Values::from(&part.indices);
        let indices = self.indices.as_ref().map(|_| indices);
        run_bytes(&part.plan, &source, indices, &mut dest).unwrap();
        assert_eq!(
            dest,
            low_bytes(&expected.data, dtype),
            "{} at {ranges:?}",
            self.plan
        );
    }
}

/// Returns the elements of a box, read one at a time.
fn cut_box(tensor: &Tensor, ranges: &[Range<usize>]) -> Tensor {
    let shape: Vec<usize> = ranges.iter().map(Range::len).collect();
    let element = |mut number: usize| {
        let (mut index, mut stride) = (0, 1);
        for (range, &size) in ranges.iter().zip(&tensor.shape).rev() {
            index += (range.start + number % range.len()) * stride;
            number /= range.len();
            stride *= size;
        }
        tensor.data[index]
    };
    let data = (0..shape.iter().product()).map(element).collect();
    Tensor { shape, data }
}

/// Returns the low bytes of each number, as many as an element of this type has.
fn low_bytes(numbers: &[i64], dtype: DType) -> Vec<u8> {
    let bytes = |&number: &i64| {
        let bytes = i128::from(number).to_le_bytes();
        bytes.into_iter().take(dtype.size())
    };
    numbers.iter().flat_map(bytes).collect()
}

/// Returns boxes that together are the whole result. Each dimension is cut into three ranges, which can be empty.
fn random_partition(shape: &[usize], numbers: &mut RandomNumbers) -> Vec<Vec<Range<usize>>> {
    let mut boxes = vec![Vec::new()];
    for &size in shape {
        let mut cuts = [0, numbers.below(size + 1), numbers.below(size + 1), size];
        cuts.sort();
        let ranges = cuts.windows(2).map(|pair| pair[0]..pair[1]);
        boxes = boxes
            .iter()
            .flat_map(|outer_ranges| {
                ranges
                    .clone()
                    .map(|range| [&outer_ranges[..], &[range]].concat())
            })
            .collect();
    }
    boxes
}

#[test]
fn parts_cover_the_result_and_read_the_smallest_boxes() {
    let dtypes = [
        DType::U8,
        DType::U16,
        DType::F32,
        DType::I64,
        DType::Complex128,
    ];
    let operations = [
        Operation::StridedSlice,
        Operation::View,
        Operation::GatherNd,
        Operation::Gather,
        Operation::GatherElements,
    ];
    for operation in operations {
        let (mut checked_count, mut cut_count) = (0, 0);
        for number in 0..300 {
            let dtype = dtypes[number % dtypes.len()];
            let Some(known) = KnownPlan::of(case_of(operation, 3, number), dtype) else {
                continue;
            };
            let mut numbers = RandomNumbers(number as u64);
            let whole: Vec<_> = known.result.shape.iter().map(|&size| 0..size).collect();
            known.check(&whole, dtype);
            let boxes = random_partition(&known.result.shape, &mut numbers);
            let boxes: Vec<_> = boxes.into_iter().take(40).collect();
            cut_count += usize::from(boxes.len() > 2);
            boxes.iter().for_each(|ranges| known.check(ranges, dtype));
            checked_count += 1;
        }
        assert!(
            checked_count > 100 && cut_count > 50,
            "{operation:?}: {checked_count}, {cut_count}"
        );
    }
}

#[test]
fn an_index_out_of_range_names_its_place_in_all_indices() {
    let options = GatherOptions {
        out_of_range: OutOfRange::Error,
        ..GatherOptions::default()
    };
    let plan = Plan::gather(&[10, 4], &[3, 5], options, DType::F32).unwrap();
    let ranges = [1..3, 2..4, 0..4];
    assert_eq!(plan.part_of_indices(&ranges).unwrap(), [1..3, 2..4]);
    let error = plan
        .part(&ranges, Some((&[1, 2, 3, 10]).into()))
        .unwrap_err();
    let Error::InvalidIndices(report) = error else {
        panic!("{error}")
    };
    let invalid = report.first.unwrap();
    assert_eq!(
        (invalid.tuple, &invalid.position[..], &invalid.index[..]),
        (13, &[2, 3][..], &[10][..])
    );
    let part = plan.part(&ranges, Some((&[4, 2, 3, 9]).into())).unwrap();
    assert_eq!(
        (&part.source[..], &part.indices[..]),
        (&[2..10, 0..4][..], &[2, 0, 1, 7][..])
    );
}

#[test]
fn a_box_outside_of_the_result_and_a_plan_without_parts_are_errors() {
    let plan = Plan::slice(&[4, 4], &slice![1..], DType::U8).unwrap();
    let reversed = Range { start: 2, end: 1 };
    for ranges in [
        &[][..],
        &[0..4, 0..4],
        &[0..3, reversed],
        &[0..1, 0..1, 0..1],
    ] {
        let error = plan.part(ranges, None).unwrap_err();
        assert_eq!(kind(&error), "box", "{error}");
    }
    let update = Plan::slice_update(&[4, 4], &slice![1..], &[3, 4], DType::U8).unwrap();
    let error = update.part(&[0..2, 0..2], None).unwrap_err();
    assert_eq!(kind(&error), "no_parts", "{error}");
    let gather = Plan::gather(&[4, 3], &[2], GatherOptions::default(), DType::U8).unwrap();
    assert!(
        gather.part(&[0..2, 0..3], None).is_err() && plan.part_of_indices(&[0..3, 0..4]).is_err()
    );
    let error = gather.part(&[0..2, 0..3], Some((&[1]).into())).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Length {
                argument: "indices",
                ..
            }
        ),
        "{error}"
    );
}
