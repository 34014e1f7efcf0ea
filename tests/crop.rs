//! Runs crops on drawn devices and compares the results with the reference. An item is the part of the source at one
//! position along the first dimension.

use crate::harness::{boxes_of, check_crop, kind};
use wgslice::{
    Backend, DType, Error, Plan,
    options::{Boxes, CropOptions, OutOfRange},
};
use wgslice_vectors::reference::Indexing;
use wgslice_vectors::{BoxTuples, Crop, Gathering, Params, Step, Tensor};

/// The arguments of a crop, most of which a test can leave out. Without box indices there is one box for each item.
/// Without flips no box is reversed. Without strides all strides are 1.
#[derive(Clone, Default)]
struct CropArguments<'a> {
    shape: &'a [usize],
    steps: &'a [Step],
    sizes: &'a [usize],
    strides: &'a [i64],
    begins: Vec<i64>,
    box_indices: Option<Vec<i64>>,
    flips: Option<Vec<bool>>,
}

impl CropArguments<'_> {
    /// Checks the crop under the policy `Clamp`, and under the policy `Ignore` or `Error`, as `case_number` chooses.
    #[track_caller]
    fn check(&self, case_number: usize) {
        let dims = self.sizes.len();
        let box_count = match &self.box_indices {
            Some(box_indices) => box_indices.len(),
            None => self.begins.len() / dims,
        };
        let mut tuples = Vec::new();
        for box_number in 0..box_count {
            let range = box_number * dims..(box_number + 1) * dims;
            tuples.extend(
                self.box_indices
                    .iter()
                    .map(|box_indices| box_indices[box_number]),
            );
            tuples.extend(&self.begins[range.clone()]);
            let flips = self.flips.iter().flat_map(|flips| &flips[range.clone()]);
            tuples.extend(flips.map(|&flip| i64::from(flip)));
        }
        let flips = usize::from(self.flips.is_some());
        let depth = usize::from(self.box_indices.is_some()) + dims * (1 + flips);
        let tensor = Tensor {
            shape: self.shape.to_vec(),
            data: vec![0; self.shape.iter().product()],
        };
        let indices = Tensor {
            shape: vec![box_count, depth],
            data: tuples,
        };
        let strides = match self.strides {
            [] => vec![1; dims],
            strides => strides.to_vec(),
        };
        for clamp in [false, true] {
            let crop = Crop {
                from: Gathering {
                    params: Params {
                        tensor: &tensor,
                        view: self.steps.to_vec(),
                    },
                    indices: &indices,
                    indexing: Indexing { wrap: false, clamp },
                },
                boxes: BoxTuples {
                    count: box_count,
                    box_indices: self.box_indices.is_some(),
                    flips: self.flips.is_some(),
                },
                sizes: self.sizes.to_vec(),
                strides: strides.clone(),
            };
            check_crop(case_number, &crop);
        }
    }
}

/// Returns flips for `count` boxes. Successive boxes have successive combinations of flips in `dims` dimensions.
fn make_flips(count: usize, dims: usize) -> Option<Vec<bool>> {
    let flip = |at: usize| (at / dims) >> (at % dims) & 1 == 1;
    Some((0..count * dims).map(flip).collect())
}

/// Tests start indices from before the first position to beyond the last, in both cropped dimensions, for every element
/// size.
#[test]
fn begins_around_every_edge() {
    let begins: Vec<[i64; 2]> = (-4..=7)
        .flat_map(|y| (-3..=5).map(move |x| [y, x]))
        .collect();
    let box_indices = (0..begins.len() as i64).map(|n| n % 3 % 2);
    let arguments = CropArguments {
        shape: &[2, 6, 5, 3],
        sizes: &[4, 3],
        begins: begins.concat(),
        box_indices: Some(box_indices.collect()),
        flips: make_flips(begins.len(), 2),
        ..CropArguments::default()
    };
    for case_number in 0..5 {
        arguments.check(case_number);
    }
}

/// Tests uncropped dimensions of few and of many bytes, which different kernels move.
#[test]
fn every_size_of_uncropped_dimensions() {
    for (number, uncropped_size) in [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 31, 33]
        .into_iter()
        .enumerate()
    {
        for turn in 0..3 {
            CropArguments {
                shape: &[4, 5, 9, uncropped_size],
                sizes: &[3, 8],
                begins: vec![0, 0, 2, 1, -1, 1, 1, 3],
                flips: make_flips(4, 2),
                ..CropArguments::default()
            }
            .check(number + 4 * turn);
        }
    }
}

#[test]
fn any_number_of_dimensions() {
    let shape = [3, 4, 5, 3, 4];
    for dims in 0..=4 {
        for case_number in 0..5 {
            CropArguments {
                shape: &shape,
                sizes: &[2, 3, 2, 2][..dims],
                strides: &[1, -1, 2, -3][..dims],
                begins: (0..4 * dims).map(|at| (at * 5 % 7) as i64 - 1).collect(),
                box_indices: Some(vec![2, 0, 1, 2]),
                flips: make_flips(4, dims.max(1)).filter(|_| dims > 0),
                ..CropArguments::default()
            }
            .check(case_number);
        }
    }
}

#[test]
fn strides_of_any_length() {
    for (number, stride) in [2, -1, -2, 3, -7, 100, i64::MAX, i64::MIN]
        .into_iter()
        .enumerate()
    {
        for size in [1, 2, 4] {
            CropArguments {
                shape: &[6, 7, 2],
                sizes: &[size],
                strides: &[stride],
                begins: vec![0, 6, 3, -2, 7, 1],
                flips: make_flips(6, 1),
                ..CropArguments::default()
            }
            .check(number);
        }
    }
}

#[test]
fn begins_and_box_indices_beyond_32_bits() {
    let far = [1 << 32, (1 << 32) + 1, -1 << 32, i64::MAX, i64::MIN, 1];
    for case_number in 0..6 {
        CropArguments {
            shape: &[2, 7, 3],
            sizes: &[3],
            begins: far.to_vec(),
            box_indices: Some(vec![0, 1, 0, 1, 0, 1 << 32]),
            ..CropArguments::default()
        }
        .check(case_number);
    }
    // As int32, these start indices would be negative, and the boxes would be before their items instead of after them.
    for case_number in 0..15 {
        CropArguments {
            shape: &[2, 7, 3],
            sizes: &[3],
            begins: vec![u32::MAX.into(), 1 << 31],
            ..CropArguments::default()
        }
        .check(case_number);
    }
}

#[test]
fn views_are_not_copied() {
    let steps = [
        Step::Transpose(vec![3, 1, 0, 2]),
        Step::Broadcast(vec![2, 3, 6, 4, 5]),
    ];
    for dims in 1..=3 {
        for case_number in 0..5 {
            CropArguments {
                shape: &[4, 6, 5, 3],
                steps: &steps,
                sizes: &[2, 4, 3][..dims],
                begins: (0..4 * dims).map(|at| (at * 5 % 6) as i64 - 1).collect(),
                box_indices: Some(vec![1, 0, 0, 1]),
                flips: make_flips(4, dims),
                ..CropArguments::default()
            }
            .check(case_number);
        }
    }
}

#[test]
fn nothing_to_read_or_to_write() {
    let arguments = CropArguments {
        shape: &[2, 0, 3],
        sizes: &[2],
        begins: vec![0, -1],
        ..CropArguments::default()
    };
    for case_number in 0..5 {
        arguments.check(case_number);
        let sizes = &[0];
        CropArguments {
            sizes,
            ..arguments.clone()
        }
        .check(case_number);
        let shape = &[2, 4, 0];
        CropArguments {
            shape,
            ..arguments.clone()
        }
        .check(case_number);
        // The boxes have no item to read from.
        CropArguments {
            shape: &[0, 4, 3],
            box_indices: Some(vec![0, 1]),
            ..arguments.clone()
        }
        .check(case_number);
        CropArguments {
            box_indices: Some(Vec::new()),
            begins: Vec::new(),
            ..arguments.clone()
        }
        .check(case_number);
    }
}

/// Tests results of more bytes than one thread writes. The parts of threads begin and end within rows.
#[test]
fn large_results() {
    for (case_number, sizes) in [[300, 1], [40, 65], [1, 90]].into_iter().enumerate() {
        CropArguments {
            shape: &[40, 50, 64, 3],
            sizes: &sizes,
            begins: (0..80).map(|at| at * 7 % 29 - 6).collect(),
            flips: make_flips(40, 2),
            ..CropArguments::default()
        }
        .check(case_number);
    }
}

/// A plan can have any number of boxes. Explaining the plan needs no memory for the boxes.
#[test]
fn more_boxes_than_memory_can_be_explained() {
    let boxes = Boxes::of_tuples(&[1 << 48, 2], true, false);
    let options = CropOptions {
        sizes: vec![2],
        ..CropOptions::default()
    };
    let plan = Plan::crop(&[3, 4], boxes, &options, DType::U8).unwrap();
    let explained = Backend::cpu().explain(&plan);
    assert!(
        explained.contains(": 562949953421312 bytes on "),
        "{explained}"
    );
}

/// Tests boxes whose ends are beyond the range of 64-bit integers.
#[test]
fn boxes_that_are_larger_than_any_array() {
    for (number, step) in [1 << 61, i64::MAX, -1 << 61, i64::MIN + 1]
        .into_iter()
        .enumerate()
    {
        CropArguments {
            shape: &[3, 4, 5],
            sizes: &[2, 9],
            strides: &[1, step],
            begins: vec![0, 1, 1, 3, 2, -2],
            flips: make_flips(3, 2),
            ..CropArguments::default()
        }
        .check(number);
    }
}

#[test]
fn shapes_that_do_not_match_are_errors() {
    let with_items = |count| Boxes::of_tuples(&[count, 2], true, false);
    let without_items = |count| Boxes::new(&[count, 1]);
    let one_box = Boxes::of_tuples(&[1, 1], true, false);
    for (source_shape, boxes, sizes, strides, expected_kind) in [
        (&[][..], one_box, &[][..], &[][..], "crop_rank"),
        (&[3], with_items(1), &[2], &[], "crop_rank"),
        (&[3, 4], with_items(1), &[2], &[1, 1], "crop_strides"),
        (&[3, 4], without_items(2), &[2], &[], "crop_items"),
        (&[3, 4], without_items(3), &[2], &[0], "stride_zero"),
        (&[3, 4], without_items(3), &[5], &[], "crop_box_size"),
        (
            &[3, 4],
            without_items(3),
            &[2],
            &[isize::MIN],
            "crop_box_size",
        ),
        (&[3, 4], without_items(3), &[2, 2], &[], "crop_shape"),
        (
            &[3, 4],
            with_items(3).of_items(&[3]),
            &[2],
            &[],
            "crop_shape",
        ),
        (
            &[3, 4],
            without_items(3).of_items(&[2]),
            &[2],
            &[],
            "crop_shape",
        ),
        (
            &[3, 4],
            without_items(3).of_items((&[3], DType::I64)),
            &[2],
            &[],
            "dtype_mismatch",
        ),
        (
            &[3, 4],
            Boxes::new((&[3, 1], DType::F32)),
            &[2],
            &[],
            "index_dtype",
        ),
    ] {
        let options = CropOptions {
            sizes: sizes.to_vec(),
            strides: strides.to_vec(),
            out_of_range: OutOfRange::Clamp,
        };
        let error = Plan::crop(source_shape, boxes, &options, DType::F32).unwrap_err();
        assert_eq!(kind(&error), expected_kind, "{error}");
    }
}

#[test]
fn arguments_that_do_not_match_are_errors() {
    let backend = Backend::cpu();
    let x = backend.upload((&[1u8; 12], &[3, 4])).unwrap();
    let upload = |values: &[i32], shape: &[usize]| backend.upload((values, shape)).unwrap();
    let begins = upload(&[0, 1, 2], &[3, 1]);
    let options = CropOptions {
        sizes: vec![2],
        ..CropOptions::default()
    };
    let check_error = |error: Error, argument: &str, needed_shape: &str| {
        let text = error.to_string();
        assert_eq!(kind(&error), "crop_shape", "{text}");
        assert!(
            text.contains(argument) && text.contains(needed_shape),
            "{text}"
        );
    };
    let flat_begins = upload(&[0, 1, 2], &[3]);
    let error = x.crop(Boxes::new(&flat_begins), &options).unwrap_err();
    check_error(error, "begins", "[3,1]");
    let error = x
        .crop(Boxes::new(&begins).of_items(&begins), &options)
        .unwrap_err();
    check_error(error, "box_indices", "[3]");
    let mask = backend.upload((&[true; 3], &[3])).unwrap();
    let error = x
        .crop(Boxes::new(&begins).flipped(&mask), &options)
        .unwrap_err();
    check_error(error, "flips", "[3,1]");
    let error = x
        .crop(Boxes::new(&begins).flipped(&begins), &options)
        .unwrap_err();
    assert!(
        error.to_string().starts_with("flips is i32, but"),
        "{error}"
    );
    let wide_items = backend.upload((&[0i64, 1, 2], &[3])).unwrap();
    let error = x
        .crop(Boxes::new(&begins).of_items(&wide_items), &options)
        .unwrap_err();
    assert!(
        error.to_string().starts_with("box_indices is i64, but"),
        "{error}"
    );
    let floats = backend.upload((&[0.0f32; 3], &[3, 1])).unwrap();
    for items in [None, Some(&flat_begins)] {
        let error = x
            .crop(boxes_of(&floats, items, None), &options)
            .unwrap_err();
        assert!(kind(&error) == "index_dtype", "{error}");
        assert!(error.to_string().contains("begins"), "{error}");
    }
}

#[test]
fn an_error_names_the_first_box_outside() {
    let options = CropOptions {
        sizes: vec![2],
        out_of_range: OutOfRange::Error,
        ..CropOptions::default()
    };
    let x = (&[1u8; 12], &[3, 4]);
    let begins = (&[0i64, 3, -1], &[3, 1]);
    let flips = (&[true; 3], &[3, 1]);
    let error = Backend::cpu()
        .crop(
            x,
            Boxes::new(begins)
                .of_items((&[0, 1, 2], &[3]))
                .flipped(flips),
            &options,
        )
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "2 of 3 boxes extend beyond x [3,4], the first at indices[1] = [1, 3]: correct them, or \
         choose OutOfRange::Ignore or OutOfRange::Clamp"
    );
}

/// `into_result` turns a report into the error that the crop returns under `OutOfRange::Error`.
#[test]
fn a_report_becomes_the_error_of_the_crop() {
    let error = |out_of_range| {
        let options = CropOptions {
            sizes: vec![2],
            out_of_range,
            ..CropOptions::default()
        };
        let (x, begins) = ((&[1u8; 4], &[1, 4]), (&[3i64], &[1, 1]));
        let cropped = Backend::cpu().crop(x, Boxes::new(begins), &options);
        cropped
            .and_then(|(_, report)| report.into_result())
            .unwrap_err()
    };
    let crop_error = error(OutOfRange::Error);
    assert!(
        crop_error.to_string().contains("1 of 1 boxes"),
        "{crop_error}"
    );
    assert_eq!(error(OutOfRange::Ignore), crop_error);
}

/// If tuples and boxes are empty, their number can be so large that a loop over them would never end.
#[test]
fn boxes_without_coordinates_or_elements() {
    let (x, begins) = ([0u8; 0], [0i32; 0]);
    let x = (&x[..], &[1 << 40, 0][..]);
    let begins = (&begins[..], &[1 << 40, 0][..]);
    let options = CropOptions::default();
    let (cropped, report) = Backend::cpu()
        .crop(x, Boxes::new(begins), &options)
        .unwrap();
    assert_eq!(cropped.shape, [1 << 40, 0]);
    assert_eq!(report.out_of_range, 0);
}
