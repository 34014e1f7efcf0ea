//! Elements that a job converts match naive loops.

use crate::{
    gather::save,
    random::Random,
    zarr::{HOW, devices, files, form, read, run, write},
};
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use wgslice::DType;
use wgslice_scale::{
    job::{Conversion, Fingerprint, Form, How, Job, Operation, OutOfRange},
    zarr::{Codec, Error},
};

const SHAPE: [usize; 2] = [13, 20];

/// The path of an array, and its elements.
type Known = (PathBuf, Vec<i16>);

/// Writes an array in chunks of [5, 4]. One chunk is missing and has the fill value 7.
fn write_source(path: &Path, dtype: &str, to_bytes: impl Fn(i16) -> Vec<u8>) -> Known {
    let mut numbers: Vec<i16> = (0..13 * 20).map(|n: i16| n.wrapping_mul(577)).collect();
    if dtype == "uint8" {
        numbers.iter_mut().for_each(|number| *number &= 255);
    }
    let metadata = json!({
        "zarr_format": 3, "node_type": "array", "shape": SHAPE, "data_type": dtype,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [5, 4]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 7,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": {}
    });
    let elements: Vec<_> = numbers.iter().map(|&number| to_bytes(number)).collect();
    write(path, metadata, &elements);
    fs::remove_file(path.join("c/1/0")).unwrap();
    for row in 5..10 {
        numbers[row * 20..][..4].fill(7);
    }
    (path.to_owned(), numbers)
}

/// A naive conversion of one element.
type NaiveConversion = fn(i16) -> Vec<u8>;

/// Returns cases. Each has an array, a conversion of its elements, and the naive conversion of one element.
fn conversions<'a>(
    bytes: &'a Known,
    words: &'a Known,
) -> [(&'a Known, Conversion, NaiveConversion); 5] {
    [
        (
            bytes,
            Conversion::new(DType::F32, Some(0.1), Some(-3.0)),
            |n| (f32::from(n) * 0.1 + -3.0).to_ne_bytes().to_vec(),
        ),
        (bytes, Conversion::new(DType::U8, Some(1.5), None), |n| {
            vec![(f32::from(n) * 1.5).round_ties_even().min(255.0) as u8]
        }),
        (bytes, Conversion::new(DType::I8, None, None), |n| {
            vec![n.min(127) as u8]
        }),
        (words, Conversion::new(DType::U8, None, None), |n| {
            vec![n.clamp(0, 255) as u8]
        }),
        (words, Conversion::new(DType::F32, None, None), |n| {
            f32::from(n).to_ne_bytes().to_vec()
        }),
    ]
}

#[test]
fn converted_elements_match_naive_loops() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = write_source(&folder.path().join("u8.zarr"), "uint8", |n| vec![n as u8]);
    let words = write_source(&folder.path().join("i16.zarr"), "int16", |n| {
        n.to_le_bytes().to_vec()
    });
    let conversions = conversions(&bytes, &words);
    let all_positions = |size: usize| (0..size).collect::<Vec<_>>();
    let selections = [
        (":, :", false, all_positions(13), all_positions(20)),
        ("5:10, 4:", false, (5..10).collect(), (4..20).collect()),
        (
            "::-1, 3::2",
            false,
            (0..13).rev().collect(),
            (3..20).step_by(2).collect(),
        ),
        (
            "[3, 8, -1], [0, 17, 17]",
            true,
            vec![3, 8, 12],
            vec![0, 17, 17],
        ),
    ];
    for (conversion_number, ((source, numbers), conversion, naive)) in
        conversions.iter().enumerate()
    {
        for (selection_number, (text, is_index, rows, columns)) in selections.iter().enumerate() {
            for axes in [None, Some(vec![1, 0])] {
                let (spec, conversion) = ((*text).to_owned(), Some(conversion.clone()));
                let is_transposed = axes.is_some();
                let operation = if *is_index {
                    Operation::Index {
                        spec,
                        outer: true,
                        axes,
                        conversion,
                    }
                } else {
                    Operation::Slice {
                        spec,
                        axes,
                        conversion,
                    }
                };
                let (outer, inner) = if is_transposed {
                    (columns, rows)
                } else {
                    (rows, columns)
                };
                let mut expected = Vec::new();
                for &first in outer {
                    for &second in inner {
                        let (row, column) = if is_transposed {
                            (second, first)
                        } else {
                            (first, second)
                        };
                        expected.extend(naive(numbers[row * SHAPE[1] + column]));
                    }
                }
                let form = Form {
                    chunk: Some(vec![5, 4]),
                    codec: Some([Codec::None, Codec::Zstd][selection_number % 2]),
                    ..Form::default()
                };
                let result_path = |device_number: usize| {
                    folder.path().join(format!(
                        "{conversion_number}-{selection_number}-{is_transposed}-{device_number}.zarr"
                    ))
                };
                for (device_number, device) in devices().into_iter().enumerate() {
                    let result = result_path(device_number);
                    let job = Job::new(operation.clone(), source, &result, &form).unwrap();
                    run(&job, How { device, ..HOW }).unwrap();
                    let description = format!(
                        "{conversion:?} of {text}, is_transposed: {is_transposed}, {device:?}",
                        conversion = job.operation
                    );
                    if device_number == 0 {
                        let shape = vec![outer.len(), inner.len()];
                        assert!(read(&result) == (shape, expected.clone()), "{description}");
                    } else {
                        assert!(files(&result) == files(&result_path(0)), "{description}");
                    }
                }
            }
        }
    }
}

#[test]
fn converted_random_crops_match_naive_loops() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = write_source(&folder.path().join("u8.zarr"), "uint8", |n| vec![n as u8]);
    let words = write_source(&folder.path().join("i16.zarr"), "int16", |n| {
        n.to_le_bytes().to_vec()
    });
    let conversions = conversions(&bytes, &words);
    let mut random = Random::new(31);
    let mut outside_box_count = 0;
    for case in 0..100 {
        let ((source, numbers), conversion, naive) = &conversions[case % conversions.len()];
        // Boxes limit both dimensions, or only the rows.
        let cropped_dims = random.within(1, 2) as usize;
        let clamp = random.within(0, 1) == 0;
        let beyond = if clamp { 0 } else { 3 };
        let sizes: Vec<usize> = SHAPE[..cropped_dims]
            .iter()
            .map(|&whole| random.within(1, whole as i64 + beyond) as usize)
            .collect();
        let box_count = random.within(1, 6) as usize;
        let begins: Vec<i64> = (0..box_count * cropped_dims)
            .map(|index| random.within(-4, SHAPE[index % cropped_dims] as i64 + 2))
            .collect();
        let case_folder = folder.path().join(case.to_string());
        fs::create_dir(&case_folder).unwrap();
        let begins_file = save(
            &case_folder,
            &[box_count, cropped_dims],
            &begins,
            case % 2 == 0,
        );
        let height = sizes[0];
        let width = sizes.get(1).copied().unwrap_or(SHAPE[1]);
        let element_width = naive(0).len();
        let mut expected = Vec::new();
        for begin in begins.chunks(cropped_dims) {
            let begin = [begin[0], begin.get(1).copied().unwrap_or(0)];
            let last = [
                (SHAPE[0] as i64 - height as i64),
                SHAPE[1] as i64 - width as i64,
            ];
            let begin = [0, 1].map(|dim| {
                if clamp {
                    begin[dim].clamp(0, last[dim])
                } else {
                    begin[dim]
                }
            });
            outside_box_count +=
                usize::from((0..2).any(|dim| begin[dim] < 0 || begin[dim] > last[dim]));
            for row in begin[0]..begin[0] + height as i64 {
                for column in begin[1]..begin[1] + width as i64 {
                    let is_inside = (0..SHAPE[0] as i64).contains(&row)
                        && (0..SHAPE[1] as i64).contains(&column);
                    expected.extend(if is_inside {
                        naive(numbers[row as usize * SHAPE[1] + column as usize])
                    } else {
                        vec![0; element_width]
                    });
                }
            }
        }
        let operation = Operation::Crop {
            begins: begins_file,
            begins_fingerprint: Fingerprint::Metadata(0),
            sizes: sizes.clone(),
            out_of_range: if clamp {
                OutOfRange::Clamp
            } else {
                OutOfRange::Zero
            },
            conversion: Some(conversion.clone()),
        };
        let shape = vec![box_count, height, width];
        let form = form(&mut random, &shape);
        let description =
            format!("case {case}: {conversion:?} of {sizes:?} at {begins:?}, {form:?}");
        for (device_number, device) in devices().into_iter().enumerate() {
            let result = case_folder.join(format!("{device_number}.zarr"));
            let job = Job::new(operation.clone(), source, &result, &form).expect(&description);
            run(&job, How { device, ..HOW }).expect(&description);
            assert!(
                read(&result) == (shape.clone(), expected.clone()),
                "{description}: {device:?}"
            );
        }
    }
    assert!(
        outside_box_count > 30,
        "{outside_box_count} boxes were outside"
    );
}

#[test]
fn complex_numbers_and_wrong_options_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let (words, _) = write_source(&folder.path().join("i16.zarr"), "int16", |n| {
        n.to_le_bytes().to_vec()
    });
    for (conversion, expected) in [
        (Conversion::new(DType::Complex64, None, None), "complex64"),
        (
            Conversion::new(DType::Complex128, Some(2.0), None),
            "complex numbers are not converted",
        ),
    ] {
        let operation = Operation::Slice {
            spec: ":".to_owned(),
            axes: None,
            conversion: Some(conversion),
        };
        let job = Job::new(
            operation,
            &words,
            &folder.path().join("b.zarr"),
            &Form::default(),
        );
        assert!(
            matches!(&job, Err(Error::Usage(text)) if text.contains("--as") && text.contains(expected)),
            "{job:?}"
        );
    }
    let run_slice = |options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wgslice-scale"));
        let result = folder.path().join("c.zarr");
        command
            .arg("slice")
            .arg(&words)
            .arg("::5")
            .arg("-o")
            .arg(result);
        command.args(options).output().unwrap()
    };
    for options in [&["--scale", "2"][..], &["--as", "string"]] {
        let output = run_slice(options);
        assert_eq!(output.status.code(), Some(2), "{options:?}: {output:?}");
    }
    let output = run_slice(&["--as", "f32"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(read(&folder.path().join("c.zarr")).1.len(), 3 * 20 * 4);
}
