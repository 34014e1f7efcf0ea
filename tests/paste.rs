//! Runs pastes on drawn devices and compares the results with the reference, in addition to golden vectors and random
//! cases. An item is the part of the destination at one position along the first dimension.

use crate::harness::{
    DTYPE_OF_EACH_SIZE, assert_same, boxes_of, devices, elements, kind, to_bytes,
};
use wgslice::{
    Backend, DType, Error, Plan, Tensor, Values, View,
    options::{Boxes, OutOfRange, PasteOptions},
    slice,
};
use wgslice_vectors::reference::{self, paste};

/// The arguments of a paste, most of which a test can leave out. Without strides all strides are 1.
#[derive(Clone, Debug, Default)]
struct PasteArguments<'a> {
    shape: &'a [usize],
    sizes: &'a [usize],
    strides: &'a [i64],
    begins: Vec<i64>,
    box_indices: Option<Vec<i64>>,
    flips: Option<Vec<bool>>,
    circular: bool,
    unique: bool,
}

impl PasteArguments<'_> {
    /// Checks a paste on drawn devices, under every policy. `case_number` chooses the element size.
    #[track_caller]
    fn check(&self, case_number: usize) {
        let dtype = DTYPE_OF_EACH_SIZE[case_number % DTYPE_OF_EACH_SIZE.len()];
        let dims = self.sizes.len();
        let box_count = self.begins.len() / dims;
        let patches_shape = [&[box_count], self.sizes, &self.shape[1 + dims..]].concat();
        let values = elements(self.shape.iter().product());
        let patches: Vec<u128> = elements(patches_shape.iter().product());
        let patches: Vec<u128> = patches.iter().map(|element| !element | 1).collect();
        let ones = vec![1; dims];
        // On a device with buffers of 1 KiB, a tuple of 5 integers can be in two parts of a tensor, which the library
        // rejects.
        let can_split_tuples = self.flips.is_some() && box_count * 5 * 8 > 1024;
        for policy in [OutOfRange::Ignore, OutOfRange::Clamp, OutOfRange::Error] {
            let reference_boxes = reference::Boxes {
                begins: &self.begins,
                box_indices: self.box_indices.as_deref(),
                flips: self.flips.as_deref(),
                count: box_count,
                sizes: self.sizes,
                strides: if self.strides.is_empty() {
                    &ones
                } else {
                    self.strides
                },
                clamp: policy == OutOfRange::Clamp,
                circular: self.circular,
            };
            let expected = paste(
                &values,
                self.shape,
                &patches,
                &patches_shape,
                reference_boxes,
            )
            .unwrap();
            let must_fail = policy == OutOfRange::Error && !expected.bad_rows.is_empty();
            let result = if must_fail { &values } else { &expected.values };
            let result = to_bytes(result, dtype.size());
            let can_run =
                |bytes: usize| move |device: &&crate::harness::Device| device.can_run(bytes, bytes);
            for device in devices().iter().filter(can_run(result.len())) {
                let describe = || format!("{}: {dtype} {policy:?} {self:?}", device.name);
                let upload = |elements: &[u128], shape: &[usize]| {
                    let bytes = to_bytes(elements, dtype.size());
                    Tensor::from_bytes(&device.backend, bytes, dtype, shape).unwrap()
                };
                let mut x = upload(&values, self.shape);
                let (original, patches) = (x.clone(), upload(&patches, &patches_shape));
                let report = self.paste(&mut x, &patches, policy);
                let report = match report {
                    Err(Error::InvalidIndices(report)) if must_fail => *report,
                    Ok(report) if !must_fail => report,
                    Err(Error::DeviceLimit { .. }) if can_split_tuples && device.is_tiny() => {
                        continue;
                    }
                    outcome => panic!("{}: {outcome:?}", describe()),
                };
                assert_same(&result, &x.bytes().unwrap(), dtype.size(), &describe);
                assert_eq!(
                    report.out_of_range,
                    expected.bad_rows.len(),
                    "{}",
                    describe()
                );
                let first = report.first.map(|first| first.tuple);
                assert_eq!(first, expected.bad_rows.first().copied(), "{}", describe());
                let original = original.bytes().unwrap();
                assert_same(
                    &to_bytes(&values, dtype.size()),
                    &original,
                    dtype.size(),
                    &describe,
                );
            }
        }
    }

    fn paste(
        &self,
        x: &mut Tensor,
        patches: &Tensor,
        out_of_range: OutOfRange,
    ) -> Result<wgslice::Report, Error> {
        let backend = x.backend().clone();
        let dims = self.sizes.len();
        let begins = backend.upload((&self.begins, &[patches.shape()[0], dims]))?;
        let box_indices = self.box_indices.as_ref();
        let box_indices =
            box_indices.map(|box_indices| backend.upload((box_indices, &[box_indices.len()])));
        let flips = self.flips.as_ref();
        let flips = flips.map(|flips| backend.upload((flips, &[patches.shape()[0], dims])));
        let strides = self
            .strides
            .iter()
            .map(|&stride| stride.try_into().unwrap());
        let options = PasteOptions {
            strides: strides.collect(),
            out_of_range,
            circular: self.circular,
            unique: self.unique,
        };
        let (box_indices, flips) = (box_indices.transpose()?, flips.transpose()?);
        let boxes = boxes_of(&begins, box_indices.as_ref(), flips.as_ref());
        let report = x.paste(patches, boxes, &options)?;
        report.wait()
    }
}

/// Returns `count` scattered numbers from 0 to `end - 1`, the same in every call.
fn mixed_numbers(count: usize, end: i64) -> impl Iterator<Item = i64> {
    (0..count as i64).map(move |n| (n * 7919 + n * n * 31) % end)
}

fn make_flips(count: usize) -> Vec<bool> {
    (0..count).map(|n| n % 3 == 1 || n % 7 == 2).collect()
}

/// Tests overlapping boxes in several items: with so few elements that one workgroup finds the last row of each slice,
/// and with many elements. Rows are one element, a pixel, or whole words.
#[test]
fn boxes_that_overlap_are_written_in_their_order() {
    for (number, uncropped_size) in [1, 3, 4].into_iter().enumerate() {
        for box_count in [3, 60] {
            let arguments = PasteArguments {
                shape: &[3, 24, 19, uncropped_size],
                sizes: &[5, 7],
                begins: mixed_numbers(2 * box_count, 15).collect(),
                box_indices: Some(mixed_numbers(box_count, 3).collect()),
                flips: Some(make_flips(2 * box_count)),
                ..PasteArguments::default()
            };
            for turn in 0..5 {
                arguments.check(number + turn);
            }
        }
    }
}

/// In both dimensions of a box, some boxes begin before the first position, and some after the last.
#[test]
fn boxes_reach_over_every_edge() {
    let begins: Vec<i64> = (-4..=7)
        .flat_map(|y| (-3..=5).flat_map(move |x| [y, x]))
        .collect();
    let box_count = begins.len() / 2;
    for (case_number, strides) in [[1, 1], [2, -1], [-1, 2]].into_iter().enumerate() {
        for circular in [false, true] {
            let arguments = PasteArguments {
                shape: &[4, 6, 5, 3],
                sizes: &[3, 2],
                strides: &strides,
                begins: begins.clone(),
                box_indices: Some((0..box_count as i64).map(|n| n % 6 - 1).collect()),
                flips: Some(make_flips(begins.len())),
                circular,
                ..PasteArguments::default()
            };
            arguments.check(case_number);
            arguments.check(case_number + 2);
        }
    }
}

/// Each item has its own box, as in a KV cache.
#[test]
fn boxes_of_their_own_items() {
    for (case_number, uncropped_size) in [1, 2, 5, 16, 33].into_iter().enumerate() {
        for circular in [false, true] {
            PasteArguments {
                shape: &[7, 9, uncropped_size],
                sizes: &[4],
                begins: vec![0, 5, 6, -1, 8, 2, 100],
                circular,
                ..PasteArguments::default()
            }
            .check(case_number);
        }
    }
}

/// The caller promises that no boxes overlap.
#[test]
fn boxes_that_do_not_overlap_take_one_step() {
    let begins = (0..12).flat_map(|n| [n / 4 * 6, n % 4 * 5]);
    for case_number in 0..5 {
        PasteArguments {
            shape: &[2, 20, 20, 2],
            sizes: &[6, 5],
            begins: begins.clone().collect(),
            box_indices: Some(vec![1; 12]),
            unique: true,
            ..PasteArguments::default()
        }
        .check(case_number);
    }
}

#[test]
fn begins_beyond_32_bits() {
    let begins = [
        1 << 32,
        (1 << 32) + 1,
        -1 << 32,
        i64::MAX,
        i64::MIN,
        1,
        -7,
        1 << 62,
    ];
    for (case_number, circular) in [false, true].into_iter().enumerate() {
        PasteArguments {
            shape: &[2, 7, 3],
            sizes: &[3],
            begins: begins.to_vec(),
            box_indices: Some(vec![0, 1, 0, 1, 0, 1 << 32, 1, 0]),
            circular,
            ..PasteArguments::default()
        }
        .check(case_number);
    }
}

/// Tests boxes with more bytes than one thread writes: one box for each item, and some boxes in few items.
#[test]
fn large_boxes() {
    let arguments = PasteArguments {
        shape: &[20, 50, 64, 3],
        sizes: &[40, 60],
        begins: (0..40).map(|at| at * 7 % 17 - 4).collect(),
        flips: Some(make_flips(40)),
        ..PasteArguments::default()
    };
    arguments.check(3);
    PasteArguments {
        begins: arguments.begins[..16].to_vec(),
        box_indices: Some(vec![3, 1, 3, 3, 1, 0, 3, 2]),
        flips: Some(make_flips(16)),
        circular: true,
        ..arguments
    }
    .check(4);
}

#[test]
fn an_array_without_positions_takes_nothing() {
    let shape = [2, 0, 3];
    for device in devices() {
        let mut x = device.backend.upload((&[0u8; 0], &shape)).unwrap();
        let patches = device.backend.upload((&[1u8; 12], &[2, 2, 3])).unwrap();
        let begins = device.backend.upload((&[0, -1], &[2, 1])).unwrap();
        let options = PasteOptions::default();
        let report = x.paste(&patches, Boxes::new(&begins), &options).unwrap();
        let report = report.wait().unwrap();
        assert_eq!(
            (report.tuples, report.out_of_range),
            (2, 2),
            "{}",
            device.name
        );
    }
}

/// Boxes without cropped dimensions are whole items. Tests such boxes in an array without items and in a view with
/// gaps.
#[test]
fn boxes_of_whole_items() {
    let boxes = || Boxes::of_tuples(&[3, 1], true, false);
    let (options, patches) = (PasteOptions::default(), [1i32, 2, 3, 4, 5, 6]);
    for device in devices() {
        let backend = &device.backend;
        let empty = Plan::paste(&[0, 2], &[3, 2], boxes(), &options, DType::I32).unwrap();
        let box_indices = Values::from(&[0, 1, -1]);
        let report = backend.run_into::<i32>(&empty, &[(&patches).into(), box_indices], &mut []);
        assert_eq!(report.unwrap().out_of_range, 3, "{}", device.name);
        let view = View::new(&[4, 5]).unwrap();
        let view = view.slice(&slice![..; 2, 1..; 3]).unwrap();
        let gaps = Plan::paste(view, &[3, 2], boxes(), &options, DType::I32).unwrap();
        let (mut x, box_indices) = ([0; 20], Values::from(&[1, 7, 0]));
        let report = backend.run_into(&gaps, &[(&patches).into(), box_indices], &mut x);
        let mut expected = [0; 20];
        [expected[11], expected[14], expected[1], expected[4]] = [1, 2, 5, 6];
        assert_eq!(
            (report.unwrap().out_of_range, x),
            (1, expected),
            "{}",
            device.name
        );
    }
}

/// Tests views on both sides: a transposed view of every second row as the destination, and a transposed view as the
/// patches.
#[test]
fn views_take_boxes_and_are_boxes() {
    for dtype in DTYPE_OF_EACH_SIZE {
        let old_values = elements(8 * 10);
        let patch_values = elements(3 * 2 * 4 * 2);
        // The destination is x[1::2].T[::-1], of shape [10, 4]. The patches are a transposed view of shape [3, 2, 4].
        let dest = View::new(&[8, 10]).unwrap().slice(&slice![1..; 2]).unwrap();
        let dest = dest
            .transpose(&[1, 0])
            .unwrap()
            .slice(&slice![..; -1])
            .unwrap();
        let dest = dest.slice(&"None".parse().unwrap()).unwrap();
        let source = View::new(&[3, 4, 2, 2])
            .unwrap()
            .slice(&slice![.., .., .., 1])
            .unwrap();
        let source = source.transpose(&[0, 2, 1]).unwrap();
        let boxes = Boxes::of_tuples(&[3, 3], true, true);
        let options = PasteOptions::default();
        let plan = Plan::paste(&dest, &source, boxes, &options, dtype).unwrap();
        let tuples = [0, 3, 0, 0, 4, 1, 0, 9, 0];
        let mut expected = old_values.clone();
        for (n, begin, flip) in [(0, 3, false), (1, 4, true), (2, 9, false)] {
            for j in 0..2 {
                for k in 0..4 {
                    let position = begin + if flip { 1 - j } else { j };
                    if position < 10 {
                        // Row 1 + 2k of x, and column 9 - place.
                        expected[(1 + 2 * k) * 10 + 9 - position] =
                            patch_values[((n * 4 + k) * 2 + j) * 2 + 1];
                    }
                }
            }
        }
        for device in devices() {
            let upload = |elements: &[u128], shape: &[usize]| {
                let bytes = to_bytes(elements, dtype.size());
                Tensor::from_bytes(&device.backend, bytes, dtype, shape).unwrap()
            };
            let mut x = upload(&old_values, &[8, 10]);
            let patches = upload(&patch_values, &[3, 4, 2, 2]);
            let tuples = device.backend.upload((&tuples, &[3, 3])).unwrap();
            let report = Tensor::run_into(&plan, &[&patches, &tuples], &mut [&mut x]).unwrap();
            assert_eq!(report.wait().unwrap().out_of_range, 1, "{}", device.name);
            let describe = || format!("{}: {plan}", device.name);
            let expected = to_bytes(&expected, dtype.size());
            assert_same(&expected, &x.bytes().unwrap(), dtype.size(), &describe);
        }
    }
}

#[test]
fn arguments_that_do_not_match_are_errors() {
    let options = PasteOptions {
        circular: true,
        ..PasteOptions::default()
    };
    let plan = |x: &View, patches_shape: &[usize]| {
        Plan::paste(x, patches_shape, Boxes::new(&[2, 1]), &options, DType::U8)
    };
    let x = View::new(&[2, 3, 4]).unwrap();
    assert!(plan(&x, &[2, 2, 4]).is_ok());
    assert_eq!(kind(&plan(&x, &[2, 2, 5]).unwrap_err()), "crop_shape");
    assert_eq!(kind(&plan(&x, &[2, 2]).unwrap_err()), "crop_shape");
    assert_eq!(kind(&plan(&x, &[2]).unwrap_err()), "crop_shape");
    let repeated = View::new(&[1, 3, 4])
        .unwrap()
        .broadcast_to(&[2, 3, 4])
        .unwrap();
    assert_eq!(kind(&plan(&repeated, &[2, 2, 4]).unwrap_err()), "repeats");
    let x = View::new(&[2, 3]).unwrap();
    let error = plan(&x, &[2, 4]).unwrap_err();
    assert_eq!(kind(&error), "crop_box_size");
    for (boxes, expected_kind) in [
        (Boxes::new(&[2]), "crop_shape"),
        (Boxes::of_tuples(&[2, 3], false, true), "crop_shape"),
        (Boxes::of_tuples(&[2, 0], true, false), "crop_shape"),
    ] {
        let error = Plan::paste(&x, &[2, 2], boxes, &options, DType::U8).unwrap_err();
        assert_eq!(kind(&error), expected_kind, "{error}");
    }

    let backend = Backend::cpu();
    let mut x = backend.upload((&[0u8; 12], &[2, 6])).unwrap();
    let begins = backend.upload((&[0, 0], &[2, 1])).unwrap();
    let wide_patches = backend.upload((&[0u16; 4], &[2, 2])).unwrap();
    let error = x
        .paste(&wide_patches, Boxes::new(&begins), &PasteOptions::default())
        .unwrap_err();
    assert_eq!(kind(&error), "dtype_mismatch", "{error}");
    let flat_patches = backend.upload((&[0u8; 2], &[2])).unwrap();
    let error = x
        .paste(&flat_patches, Boxes::new(&begins), &PasteOptions::default())
        .unwrap_err();
    assert_eq!(kind(&error), "crop_shape", "{error}");
}

#[test]
fn an_error_names_the_first_box_outside() {
    let options = PasteOptions {
        out_of_range: OutOfRange::Error,
        ..PasteOptions::default()
    };
    let (x, patches) = ((&[1u8; 12], &[3, 4]), (&[2u8; 6], &[3, 2]));
    let begins = (&[0i64, 3, -1], &[3, 1]);
    let error = Backend::cpu()
        .paste(x, patches, Boxes::new(begins), &options)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "2 of 3 boxes extend beyond x [3,4], the first at indices[1] = [3]: correct them, or \
         choose OutOfRange::Ignore or OutOfRange::Clamp"
    );
}
